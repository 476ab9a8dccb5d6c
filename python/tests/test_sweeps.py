"""Sweeps: the result of a run, whoever plays it; nothing is played twice, and a run that fails harms no other."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import InputError
from ackclock.assembly import tables as assembly
from ackclock.cli.app import main
from ackclock.errors import AckclockError
from ackclock.execution.journal import Journal
from ackclock.execution.scheduler import Event
from ackclock.results import store

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
    monkeypatch.setattr(assembly, "MOST_ROWS", 1000)
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


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--precision", "5"], "ackclock: --precision: '5' is not a percentage; write 5%"),
        (["--precision", "0.05"], "ackclock: --precision: '0.05' is not a percentage; write 5%, or 0.05%"),
        (["--precision", "ten"], "ackclock: --precision: 'ten' is not a percentage; write 5%"),
        (["--precision", "500"], "ackclock: --precision: '500' is not between 0% and 100%; write 5%"),
        (["--precision", "0%"], "ackclock: --precision: '0%' is not between 0% and 100%; write 5%"),
        (["--precision", "nan%"], "ackclock: --precision: 'nan%' is not between 0% and 100%; write 5%"),
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
    with pytest.raises(InputError, match=r"sweep: is the directory of a sweep; give --out another name"):
        ackclock.run(scenario_file(), out=tmp_path / "sweep", jobs=1)


def test_a_run_does_not_remove_a_sweep_that_began_meanwhile(scenario_file: Write, tmp_path: Path) -> None:
    file, out = scenario_file(), tmp_path / "out"
    ackclock.run(file, out=out, jobs=1)  # an older result, which both may replace

    def meanwhile(finished: int, total: int) -> None:
        if finished == total:
            ackclock.sweep(file, out, set={"cc": "reno"}, jobs=1)

    with pytest.raises(InputError, match=rf"is the directory of a sweep; the result is in '{out}-2'"):
        ackclock.run(file, out=out, jobs=1, progress=meanwhile)
    assert ackclock.Result.load(out).flows["cc"][0] == "reno"
    assert ackclock.sweep(file, out, set={"cc": "reno"}, jobs=1).played == 0, "its runs are all there"
    assert ackclock.Result.load(tmp_path / "out-2").flows["cc"][0] == "cubic"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["out", "out-2", "scenario.toml"]


def test_a_run_does_not_remove_a_sweep_that_begins_at_the_last_moment(
    scenario_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = scenario_file(), tmp_path / "out"
    ackclock.run(file, out=out, jobs=1)
    real = store.tempfile.mkdtemp

    def mkdtemp(prefix: str, dir: Path) -> str:
        if ".old-" in prefix:
            opened.append(Journal(out))
        return real(prefix=prefix, dir=dir)

    opened: list[Journal] = []
    monkeypatch.setattr(store.tempfile, "mkdtemp", mkdtemp)
    with pytest.raises(InputError, match="is the directory of a sweep; the result is in"):
        ackclock.run(file, out=out, jobs=1)
    (journal,) = opened
    assert journal.path.samefile(out / "runs.journal")
    with pytest.raises(InputError, match="another sweep is writing there"):
        ackclock.sweep(file, out, jobs=1)
    journal.close()
    assert ackclock.sweep(file, out, jobs=1).played == 1


HELPED = """\
from ackclock import WindowBased
from helpers.steps import step

class Helped(WindowBased):
    def grow(self, cx, ack, acked):
        self.cwnd += step() * acked / self.cwnd

    def reduce(self, cx, signal):
        return self.cwnd / 2
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_change_in_a_module_that_a_controller_imports_is_played(
    scenario_file: Write, tmp_path: Path, jobs: int
) -> None:
    """One module is named by the controller, another one by that; in this process the classes are fresh as well."""
    name = f"helped{jobs}"  # what a process has imported stays there
    (tmp_path / f"{name}.py").write_text(HELPED.replace("helpers", f"helpers{jobs}"))
    helpers = tmp_path / f"helpers{jobs}"
    helpers.mkdir()
    (helpers / "__init__.py").touch()
    (helpers / "steps.py").write_text("from . import sizes\n\ndef step():\n    return sizes.SIZE\n")
    (helpers / "other.py").write_text("SIZE = 1\n")
    file, out, change = scenario_file(), tmp_path / "out", {"cc": f"python:{name}:Helped"}
    found = []
    for size in ("1", "2.25", "1"):
        (helpers / "sizes.py").write_text(f"SIZE = {size}\n")
        report = ackclock.sweep(file, out, set=change, jobs=jobs)
        usual = ackclock.run(file, set=change, jobs=1)
        assert usual.resolved() == report.result.resolved()
        assert usual.flows.equals(report.result.flows), size
        found.append((report.played, report.result.flows["goodput_bps"][0]))
    assert [played for played, _ in found] == [1, 1, 0], "the third is the first again"
    assert found[0][1] == found[2][1] != found[1][1]
    (helpers / "other.py").write_text("SIZE = 2\n")
    assert ackclock.sweep(file, out, set=change, jobs=jobs).played == 0, "nobody imports it"


def test_a_class_without_source_is_always_played(scenario_file: Write, tmp_path: Path) -> None:
    for keep in (0.5, 0.8):
        names: dict[str, Any] = {"__name__": "nowhere", "keep": keep}
        exec(HELPED.replace("from helpers.steps import step", "step = lambda: keep"), names)
        report = ackclock.sweep(scenario_file(), tmp_path / "out", set={"cc": names["Helped"]}, jobs=1)
        assert report.played == 1


def test_a_source_that_changes_under_way_is_noticed(scenario_file: Write, tmp_path: Path) -> None:
    module = tmp_path / "moving.py"
    module.write_text(HELPED.replace("from helpers.steps import step", "step = float"))
    plan = ackclock.load(scenario_file(), set={"cc": "python:moving:Helped"})
    module.write_text(HELPED.replace("from helpers.steps import step", "step = int"))
    with pytest.raises(AckclockError, match="python:moving:Helped is not here what it was when the sweep began"):
        ackclock.sweep(plan, tmp_path / "out", jobs=1)


def test_the_command_prints_tables_and_goes_on(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["sweep", str(scenario_file()), "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert main([*asked, "--replications", "2"]) == 0
    assert "2 runs" in capsys.readouterr().out
    assert main([*asked, "--replications", "3"]) == 0
    assert "1 run was played, the others were there" in capsys.readouterr().out
    assert main([*asked, "--replications", "4", "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in events] == ["begin", "run", "end"]
