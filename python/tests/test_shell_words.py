"""What `ackclock shell` says before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackclock import kernel
from ackclock.cli.app import main
from ackclock.execution import behind


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.toml"
    path.write_text(
        '[topology]\nkind = "dumbbell"\nrate = "5 Mbit/s"\nrtt = "10 ms"\nqueue = "1 BDP"\n'
        '[[flows]]\ncc = "reno"\n[run]\nduration = "1 s"\n',
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize(
    ("found", "arguments", "said"),
    [
        ({"right": None, "problems": ["networks cannot be made: no"]}, [], "networks cannot be made: no"),
        ({"hosts": [False, True], "problems": ["no device; get one"]}, [], "no device; get one"),
        ({"right": "user_namespace"}, ["--nat"], "--nat: who is not root may not change the network around the shell"),
        ({}, ["--nat"], "--nat: this system does not forward packets; allow it: sysctl -w net.ipv4.ip_forward=1"),
    ],
)
def test_a_refusal_is_all_that_is_said(
    found: dict[str, object],
    arguments: list[str],
    said: str,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "forwards").write_text("0\n", encoding="ascii")
    monkeypatch.setattr(behind, "_FORWARDS", tmp_path / "forwards")
    monkeypatch.setattr(kernel, "found", lambda: {"right": "own", "hosts": [True, True], "problems": []} | found)
    assert main(["shell", str(file), *arguments, "--", "true"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ackclock: {said}")


def test_its_usage_and_options_are_those_of_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shell", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "ackclock shell [OPTIONS] FILE [-- COMMAND...]" in told
    assert "engine kernel" not in told
