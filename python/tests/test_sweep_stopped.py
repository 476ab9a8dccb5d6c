"""A sweep that did not finish says how far it came, and what of an earlier one is still in its directory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.cli.exit_codes import OK
from ackclock.errors import EarlierResultWarning
from ackclock.files import STOPPED
from ackclock.results import incomplete

Write = Callable[..., Path]
SMALL = {"cc": ["cubic", "reno"]}


def stopping(after: int) -> Callable[[dict[str, Any]], None]:
    """Ctrl-C after so many runs."""
    played = 0

    def tell(event: dict[str, Any]) -> None:
        nonlocal played
        played += event["event"] == "run"
        if played == after:
            raise KeyboardInterrupt

    return tell


@pytest.fixture
def enlarged(scenario_file: Write, tmp_path: Path) -> tuple[Path, Path]:
    """Eight runs that are finished, and a sweep of sixteen over them that was stopped at eleven."""
    file, out = scenario_file(), tmp_path / "out"
    ackclock.sweep(file, out, set=SMALL, replications=4, jobs=1)
    with pytest.raises(KeyboardInterrupt):
        ackclock.sweep(file, out, set=SMALL, replications=8, jobs=1, tell=stopping(3))
    return file, out


def test_the_result_of_an_earlier_sweep_is_said_to_be_one(enlarged: tuple[Path, Path]) -> None:
    file, out = enlarged
    with pytest.warns(EarlierResultWarning, match=r"out are those of an earlier sweep with 8 runs: .* \(11 of 16 runs"):
        result = ackclock.Result.load(out)
    assert repr(result) == "Result(8 runs, 2 points, of an earlier sweep)"
    assert "an earlier sweep with 8 runs" in result._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copied = out.with_name("copy")
        result.save(copied)
        assert repr(ackclock.Result.load(copied)) == "Result(8 runs, 2 points)", "a copy is what it is"
        ackclock.sweep(file, out, set=SMALL, replications=8, jobs=1)
        assert ackclock.Result.load(out).runs.height == 16
    assert not (out / STOPPED).exists()


@pytest.mark.parametrize(
    "command", ["rank OUT", "compare OUT --by cc", "plot OUT --kind box", "query OUT|select count(*) from runs"]
)
def test_commands_say_it_once_in_a_line(
    command: str, enlarged: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words, _, sql = command.replace("OUT", str(enlarged[1])).partition("|")
    assert main([*words.split(), *([sql] if sql else [])]) == OK
    said = [line for line in capsys.readouterr().err.splitlines() if "earlier sweep" in line]
    assert len(said) == 1
    assert said[0].startswith("ackclock: the tables")
    assert "(11 of 16 runs are done)" in said[0]


def test_the_figure_says_it_too(enlarged: tuple[Path, Path]) -> None:
    from ackclock.drawing.plot import specify

    with pytest.warns(EarlierResultWarning):
        result = ackclock.Result.load(enlarged[1])
    assert "an earlier sweep with 8 runs" in specify(result).chart.note


def test_a_sweep_that_goes_on_says_how_many_are_there(
    enlarged: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = enlarged
    again = ["sweep", str(file), "--set", 'cc=["cubic","reno"]', "--replications", "8", "--out", str(out)]
    assert main(again) == OK
    done = capsys.readouterr()
    assert "11 of 16 runs are there, and the others are played" in done.err
    assert "5 runs were played, the others were there" in done.out
    assert main(again) == OK
    done = capsys.readouterr()
    assert "are there" not in done.err
    assert "nothing was played: all runs were there" in done.out


def test_after_a_kill_it_is_known_how_many_are_there(scenario_file: Write, tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = scenario_file(("3 s", "40 s"))
    command = [sys.executable, "-m", "ackclock", "sweep", str(file), "--replications", "400", "--json", "--jobs", "1"]
    with subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = 0
        while not told and (line := process.stdout.readline()):
            told = json.loads(line)["finished"] if incomplete.stopped(out) > "at least 1 of" else 0
        process.kill()
    assert process.returncode == -signal.SIGKILL
    there = incomplete.stopped(out)
    assert there.startswith("at least ")
    assert there.endswith(" of 400 runs")
    assert int(there.split()[2]) >= 1
    with pytest.raises(ackclock.InputError, match=rf"has not finished: {there} are done; the command"):
        ackclock.Result.load(out)


def test_what_cannot_be_read_of_it_is_not_said(tmp_path: Path) -> None:
    (tmp_path / STOPPED).write_text("{", encoding="utf-8")
    assert incomplete.stopped(tmp_path) == ""
    incomplete.write_down(tmp_path, 3, 9)
    assert incomplete.stopped(tmp_path) == "3 of 9 runs"
    assert {item.name for item in tmp_path.iterdir()} == {STOPPED}
