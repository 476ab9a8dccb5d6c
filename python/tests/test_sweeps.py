"""Sweeps: the result of a run, whoever plays it; nothing is played twice, and a run that fails harms no other."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import InputError, Precision
from ackclock.campaign import Event
from ackclock.cli.app import main
from ackclock.results import assemble

Write = Callable[..., Path]
SWEPT = {"cc": ["reno", "cubic"], "topology.rtt": ["20 ms", "40 ms"], "run.replications": 3}


def _hashes(folder: Path) -> Mapping[str, str]:
    files: dict[str, dict[str, Any]] = json.loads((folder / "manifest.json").read_text())["files"]
    return {name: file["sha256"] for name, file in files.items()}


def test_the_tables_are_those_of_a_run(scenario_file: Write, tmp_path: Path) -> None:
    file = scenario_file()
    usual = ackclock.run(file, set=SWEPT, jobs=1, out=tmp_path / "usual")
    report = ackclock.sweep(file, tmp_path / "sweep", set=SWEPT, jobs=1)
    assert (report.played, report.failed) == (12, 0)
    for name, table in usual.tables.items():
        found = report.result.tables[name]
        assert found.equals(table), name
        assert found.schema == table.schema, name
    assert _hashes(tmp_path / "sweep") == _hashes(tmp_path / "usual")
    assert report.result.manifest["runs"][5]["seed"] == usual.manifest["runs"][5]["seed"]


@pytest.mark.parametrize("where", [{"jobs": 2}, {"cluster": "local:2"}], ids=["processes", "dask"])
def test_the_tables_do_not_depend_on_who_plays(scenario_file: Write, tmp_path: Path, where: Mapping[str, Any]) -> None:
    file = scenario_file()
    ackclock.sweep(file, tmp_path / "alone", set=SWEPT, jobs=1)
    ackclock.sweep(file, tmp_path / "others", set=SWEPT, **where)
    assert _hashes(tmp_path / "alone") == _hashes(tmp_path / "others")


def test_finished_runs_are_not_repeated(scenario_file: Write, tmp_path: Path) -> None:
    file, out = scenario_file(), tmp_path / "out"
    assert ackclock.sweep(file, out, set=SWEPT, jobs=1).played == 12
    before = _hashes(out)
    assert ackclock.sweep(file, out, set=SWEPT, jobs=1).played == 0
    assert _hashes(out) == before
    more = {**SWEPT, "cc": ["reno", "vegas", "cubic"], "run.replications": 4}
    report = ackclock.sweep(file, out, set=more, jobs=1)
    assert (report.played, report.result.runs.height) == (12, 24), "12 of vegas and of fourth replications"
    fresh = tmp_path / "fresh"
    ackclock.sweep(file, fresh, set=more, jobs=1)
    assert _hashes(out) == _hashes(fresh)
    assert ackclock.sweep(file, out, set=SWEPT, jobs=1).played == 0, "the journal keeps what is not wanted now"
    assert _hashes(out) == before


def test_points_that_are_the_same_run_are_played_once(scenario_file: Write, tmp_path: Path) -> None:
    twice = {"flows.0.count": 1, "flows.0.tcp.nagle": [False, True], "run.replications": 2}
    report = ackclock.sweep(
        scenario_file(), tmp_path / "out", set={**twice, "topology.rtt": ["20 ms", "0.02 s"]}, jobs=1
    )
    flows = report.result.flows
    assert (report.played, flows.height) == (4, 8)
    assert flows.filter(pl.col("topology.rtt") == "20 ms")["goodput_bytes"].equals(
        flows.filter(pl.col("topology.rtt") == "0.02 s")["goodput_bytes"]
    )


def test_a_result_too_large_for_memory_is_the_same(
    scenario_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ackclock.sweep(scenario_file(), tmp_path / "a", set=SWEPT, jobs=1).result
    monkeypatch.setattr(assemble, "MOST_ROWS", 1000)
    for folder, jobs in (("b", 1), ("c", 2)):
        parts = ackclock.sweep(scenario_file(), tmp_path / folder, set=SWEPT, jobs=jobs).result
        assert all(parts.tables[name].equals(table) for name, table in whole.tables.items())
        assert {file.suffix for file in (tmp_path / folder).iterdir()} == {".parquet", ".json", ".journal"}
    assert _hashes(tmp_path / "b") == _hashes(tmp_path / "c")


def test_events_say_what_happens(scenario_file: Write, tmp_path: Path) -> None:
    events: list[Event] = []
    ackclock.sweep(scenario_file(), tmp_path / "out", replications=3, jobs=1, tell=events.append)
    assert [event["event"] for event in events] == ["begin", "run", "run", "run", "end"]
    assert events[0] == {"event": "begin", "runs": 3, "finished": 0}
    assert [(event["replication"], event["finished"]) for event in events[1:4]] == [(0, 1), (1, 2), (2, 3)]
    assert events[3]["eta_s"] == 0
    assert events[3]["wall_s"] > 0
    assert events[4] == {"event": "end", "runs": 3, "played": 3, "failed": 0}


FAILS = """\
import os
from ackclock import WindowBased

class Fails(WindowBased):
    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def grow(self, cx, ack, acked):
        if self.seed == 1:
            raise ValueError("one is not liked")
        self.cwnd += acked / self.cwnd

    def reduce(self, cx, signal):
        if self.seed == 2:
            os._exit(9)
        return self.cwnd / 2
"""


def test_a_run_that_fails_is_recorded_and_the_others_go_on(scenario_file: Write, tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text(FAILS)
    file = scenario_file()
    change = {"cc": [{"name": "python:fails:Fails", "seed": seed} for seed in (0, 1, 3)]}
    report = ackclock.sweep(file, tmp_path / "out", set=change, jobs=1)
    assert (report.played, report.failed, report.result.runs.height) == (3, 1, 2)
    (failed,) = report.result.manifest["failed"]
    assert failed["run"] == 1
    assert "one is not liked" in failed["problem"]
    assert "Traceback" in failed["traceback"]
    assert report.result.complete
    assert report.result.runs["run"].to_list() == [0, 2]
    assert ackclock.sweep(file, tmp_path / "out", set=change, jobs=1).played == 0
    assert ackclock.sweep(file, tmp_path / "out", set=change, jobs=1, retry_failed=True).played == 1


def test_a_process_that_dies_costs_only_the_run_that_killed_it(scenario_file: Write, tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text(FAILS)
    change = {"cc": [{"name": "python:fails:Fails", "seed": seed} for seed in (0, 2, 3, 4)], "run.replications": 2}
    report = ackclock.sweep(scenario_file(), tmp_path / "out", set=change, jobs=2)
    assert (report.failed, report.result.runs["run"].to_list()) == (2, [0, 1, 4, 5, 6, 7])
    assert all("the process that played it died" in item["problem"] for item in report.result.manifest["failed"])


def test_points_are_replicated_until_they_are_known(scenario_file: Write, tmp_path: Path) -> None:
    wish = Precision(0.03, "loss_percent", most=12)
    change = {"topology.rtt": ["20 ms", "60 ms"], "run.replications": 3}
    report = ackclock.sweep(scenario_file(), tmp_path / "a", set=change, precision=wish, jobs=1)
    counts = [point.n for point in report.result.points]
    assert max(counts) > 3
    for point in report.result.points:
        loss = point.metrics["loss_percent"]
        assert loss.mean is not None
        assert loss.ci95 is not None
        assert loss.ci95 <= 0.03 * loss.mean or point.n == 12
    again = ackclock.sweep(scenario_file(), tmp_path / "b", set=change, precision=wish, jobs=2)
    assert [point.n for point in again.result.points] == counts
    assert _hashes(tmp_path / "a") == _hashes(tmp_path / "b")


@pytest.mark.parametrize(("n", "mean", "half", "wanted"), [
    (5, 10.0, 0.4, 5), (5, 10.0, 0.6, 8), (5, 10.0, 5.0, 10), (60, 1.0, 0.2, 100), (1, 10.0, None, 2), (4, 0.0, 0.1, 8),
    (100, 1.0, 9.0, 100),
])  # fmt: skip
def test_how_many_replications_a_precision_needs(n: int, mean: float, half: float | None, wanted: int) -> None:
    assert Precision(0.05).wanted(n, mean, half) == wanted


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--precision", "5"], "precision: '5' is not a percentage; write 5%"),
        (["--precision", "0%"], "is not between 0 and 1"),
        (["--precision", "5%", "--metric", "goodput"], "unknown metric 'goodput'; did you mean 'goodput_bps'?"),
        (["--max-replications", "5"], "max_replications: has no meaning without a precision"),
        (["--jobs", "0"], "jobs: 0 is too few"),
        (["--jobs", "2", "--cluster", "local:2"], "a cluster has its own number of workers"),
        (["--cluster", "local:x"], "cluster: 'local:x' has no number of workers; write local:2"),
    ],
)
def test_wrong_wishes_are_refused_in_a_line(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], problem: str
) -> None:
    assert main(["sweep", str(scenario_file()), "--out", str(tmp_path / "out"), *options]) == 2
    printed = capsys.readouterr().err
    assert problem in printed
    assert printed.count("\n") == 1


def test_what_is_not_a_sweep_is_left_alone(scenario_file: Write, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"holds something other than a sweep \('thesis\.tex'\)"):
        ackclock.sweep(scenario_file(), tmp_path / "out", jobs=1)
    ackclock.sweep(scenario_file(), tmp_path / "sweep", jobs=1)
    with pytest.raises(InputError, match=r"holds something other than a result \('runs\.journal'\)"):
        ackclock.run(scenario_file(), out=tmp_path / "sweep", jobs=1)


def test_the_command_prints_tables_and_goes_on(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["sweep", str(scenario_file()), "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert main([*asked, "--replications", "2"]) == 0
    assert "2 runs" in capsys.readouterr().out
    assert main([*asked, "--replications", "3"]) == 0
    assert "1 runs were played, the others were there" in capsys.readouterr().out
    assert main([*asked, "--replications", "4", "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in events] == ["begin", "run", "end"]
