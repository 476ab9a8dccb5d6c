"""Runs on a real kernel that are not valid are left out of what is concluded, and that is said, or used."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from ackclock.assembly import emulated
from ackclock.cli.app import main
from ackclock.cli.run import not_valid
from ackclock.results.result import Result
from ackclock.sweeps.run import run

SMALL = """
[topology]
kind = "dumbbell"
rate = "10 Mbit/s"
rtt = "20 ms"
loss = "0.5 %"
queue = { kind = "droptail", limit = "1 BDP" }
[[flows]]
cc = ["cubic", "reno"]
[run]
duration = "3 s"
replications = 4
"""
LATE = "a packet of link bottleneck was 9000 us late"
COMMANDS = [["compare", "--by", "cc"], ["rank"], ["plot"]]


@pytest.fixture
def played(tmp_path: Path) -> Callable[[list[int]], str]:
    """A sweep of two points, four replications each, of which these runs are said to be late as emulated ones are."""

    def saved(numbers: list[int]) -> str:
        result = run(tomllib.loads(SMALL))
        runs = [
            {**entry, "emulation": {"valid": entry["run"] not in numbers, "problems": [LATE]}}
            for entry in result.manifest["runs"]
        ]
        tables = dict(result.tables) | {"runs": result.runs.with_columns(valid=~pl.col("run").is_in(numbers))}
        Result(tables, {**result.manifest, "runs": runs}).save(tmp_path / "late")
        return str(tmp_path / "late")

    return saved


@pytest.mark.parametrize("command", COMMANDS)
def test_runs_that_are_not_valid_are_left_out_and_that_is_said(
    command: list[str], played: Callable[[list[int]], str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, (name, *more) = played([0, 1]), command
    assert main([name, folder, *more, "--json"]) == 0
    without = capsys.readouterr()
    assert main([name, folder, *more, "--json", "--allow-late"]) == 0
    with_late = capsys.readouterr()
    said = "2 of 8 runs are not valid and left out: the computer did not keep up"
    assert said in without.out + without.err
    assert "not valid" not in with_late.out + with_late.err
    assert without.out != with_late.out, "the same from four runs as from two"


def test_who_asks_the_tables_is_told_that_such_runs_are_in_them(
    played: Callable[[list[int]], str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = played([0, 1])
    assert main(["query", folder, "select count(*) as n from flows"]) == 0
    said = capsys.readouterr().err.splitlines()
    leaves = "where run in (select run from runs where valid)"
    assert said == [
        f"ackclock: 2 of 8 runs are not valid, as the computer did not keep up: {leaves} leaves such runs out"
    ]
    assert main(["query", folder, f"select count(*) as n from flows {leaves}", "--csv"]) == 0
    said_then = capsys.readouterr()
    assert (said_then.out.splitlines(), said_then.err) == (["n", "6"], "")


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (
            [1],
            "1 of 8 runs is not valid, and is in the tables: the computer did not keep up; AGAIN plays it again; see",
        ),
        (
            [0, 1],
            "2 of 8 runs are not valid, and are in the tables: the computer did not keep up; AGAIN plays them again",
        ),
    ],
)
def test_it_is_said_what_measures_them_again(
    numbers: list[int], said: str, played: Callable[[list[int]], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert not_valid(Result.load(played(numbers)), "AGAIN")
    assert capsys.readouterr().err.startswith(f"ackclock: {said}")


def test_whoever_has_pinned_the_path_is_not_told_to() -> None:
    late = {"valid": False, "problems": ["the applications waited 5039 us for a processor, more than 4000 us"]}
    assert emulated.warnings(late) == [
        f"NOT VALID: {late['problems'][0]}; give the computer rest, --pin 1, or --allow-late"
    ]
    (line,) = emulated.warnings(late, pinned=True)
    assert line.endswith("; give the computer rest, or --allow-late")


def test_a_candidate_with_one_run_left_is_not_said_to_have_none(
    played: Callable[[list[int]], str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = played([5, 6, 7])
    assert main(["rank", folder]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"ackclock: {folder}: of cc=reno there is one run with goodput_bps (3 not valid")
    assert said.endswith("one cannot be ranked; have 2 runs of each that can be used, or more")


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_concluded_from_late_runs_alone(
    command: list[str], played: Callable[[list[int]], str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, (name, *more) = played(list(range(8))), command
    assert main([name, folder, *more]) == 2
    assert f"{folder}: none of its 8 runs is valid; measure again" in capsys.readouterr().err
    assert main([name, folder, *more, "--allow-late"]) == 0
