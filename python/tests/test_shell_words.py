"""What `ackclock shell` says before anything is started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ackclock import kernel
from ackclock.cli.app import main


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.toml"
    path.write_text(
        '[topology]\nkind = "dumbbell"\nrate = "5 Mbit/s"\nrtt = "10 ms"\nqueue = "1 BDP"\n'
        '[[flows]]\ncc = "reno"\n[run]\nduration = "1 s"\n',
        encoding="utf-8",
    )
    return path


PROGRAM = """#!{python}
import os, sys
asked, tell = map(int, sys.argv[2:])
with os.fdopen(asked) as orders, os.fdopen(tell, "w") as told:
    wanted, run = orders.readline(), orders.readline()
    if {ready}:
        print(file=told, flush=True)
        assert orders.read(1)
    told.write('{{"error": "no device; get one", "exit": 2}}')
"""
"""In place of the program that plays: what it is asked for it refuses."""


@pytest.mark.parametrize(("ready", "lines"), [(False, 1), (True, 3)])
def test_nothing_is_said_before_nothing_is_refused_any_more(
    ready: bool,
    lines: int,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = tmp_path / "program"
    program.write_text(PROGRAM.format(python=sys.executable, ready=ready), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(kernel, "program", lambda: str(program))
    assert main(["shell", str(file), "--", "true"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert (said[-1], len(said)) == ("ackclock: no device; get one", lines)


def test_its_usage_and_options_are_those_of_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shell", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "ackclock shell [OPTIONS] FILE [-- COMMAND...]" in told
    assert "engine kernel" not in told
