"""What is known of finished runs in memory: where each is, what it cost, and the tables that are made of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import engine
from ackclock.assembly import manifest
from ackclock.assembly import tables as assembly
from ackclock.assembly.ledger import Ledger
from ackclock.execution.index import Entry, Index
from ackclock.results import store
from ackclock.scenario.plan import load

Raw = dict[str, Any]
Write = Callable[..., Path]

FAILS_AT_TIMES = """\
from ackclock import WindowBased

class Fails(WindowBased):
    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def grow(self, cx, ack, acked):
        if self.seed % 2:
            raise ValueError("odd ones are not liked")
        self.cwnd += acked / self.cwnd

    def reduce(self, cx, signal):
        return self.cwnd / 2
"""


def test_the_last_entry_under_a_key_counts() -> None:
    index = Index()
    first, second = Entry(8, 0, 5, failed=True, repeat=True), Entry(1 << 40, 3, 7, failed=False, repeat=False)
    index.enter("a", first)
    index.enter("b", Entry(8, 1, 0, failed=True, repeat=False))
    assert index["a"] == first
    index.enter("a", second)
    assert index["a"] == second
    assert (len(index), list(index), "a" in index, "c" in index) == (2, ["a", "b"], True, False)
    assert (index["b"].failed, index["b"].repeat) == (True, False)
    with pytest.raises(KeyError):
        index["c"]


def _info(**more: Any) -> dict[str, Any]:
    return {"wall_s": 0.5, "events": 3, "packets": 2, **more}


def test_records_are_what_was_entered(raw: Raw) -> None:
    plan = load(raw, replications=3)
    ledger = Ledger()
    several = {"text": "flows failed", "count": 4, "examples": ["0"]}
    for job, said in zip(plan.jobs(), ([several], ["slow"], ["slow"]), strict=True):
        ledger.add(job, _info(warnings=said))
    records = ledger.records(plan)
    assert [record["run"] for record in records] == [0, 1, 2]
    assert [record["warnings"] for record in records[1:]] == [["slow"], ["slow"]]
    assert records[0]["warnings"] == [several]
    assert records[-1] == records[2]
    assert json.dumps(next(iter(records))) == json.dumps(records[0])
    with pytest.raises(IndexError):
        records[3]
    assert ledger.frame()["events"].to_list() == [3, 3, 3]
    ledger.add(next(plan.jobs()), _info())
    assert len(ledger.frame()) == 4, "a frame is a copy: the ledger grows on"


def test_a_manifest_without_runs_is_written_as_json(raw: Raw, tmp_path: Path) -> None:
    plan = load(raw)
    record = manifest.build(plan, Ledger().records(plan))
    file = tmp_path / "manifest.json"
    store._write_manifest(record, file)
    assert json.loads(file.read_text())["runs"] == []
    assert json.loads(file.read_text())["missing"] == list(range(len(plan)))


@pytest.mark.parametrize("most_rows", [1, 7, 1_000_000])
def test_failed_runs_between_others_leave_no_rows(
    scenario_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_rows: int
) -> None:
    (tmp_path / "fails.py").write_text(FAILS_AT_TIMES)
    monkeypatch.setattr(assembly, "MOST_ROWS", most_rows)
    swept = {"cc": [{"name": "python:fails:Fails", "seed": seed} for seed in range(5)], "run.duration": "1 s"}
    report = ackclock.sweep(scenario_file(), tmp_path / "out", set={**swept, "run.replications": 2}, jobs=1)
    result = report.result
    good = [0, 1, 4, 5, 8, 9]
    assert (report.failed, result.runs["run"].to_list()) == (4, good)
    for name in ("flows", "links", "series"):
        table = result.tables[name]
        assert table["run"].unique(maintain_order=True).to_list() == good
        assert table["run"].is_sorted()
        assert not any(table[column].null_count() for column in ("cc", "seed", "replication"))
    alone = ackclock.run(scenario_file(), set={**swept, "cc": swept["cc"][::2], "run.replications": 2}, jobs=1)
    assert result.flows["goodput_bytes"].to_list() == alone.flows["goodput_bytes"].to_list()


def test_a_sweep_of_which_every_run_failed_has_tables_with_all_columns(scenario_file: Write, tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text(FAILS_AT_TIMES)
    change = {"cc": {"name": "python:fails:Fails", "seed": 1}}
    result = ackclock.sweep(scenario_file(), tmp_path / "out", set=change, jobs=1).result
    assert (result.points, result.runs.height) == ([], 0)
    for name, table in engine.empty_tables().items():
        assert set(table.columns) <= set(result.tables[name].columns)
        assert result.tables[name].height == 0
    assert result.series.schema["metric"] == ackclock.run(scenario_file(), jobs=1).series.schema["metric"]
    assert ackclock.query(tmp_path / "out", "select count(goodput_bps) as n from flows").rows == [(0,)]


def test_labels_of_a_long_series_take_little_memory(raw: Raw) -> None:
    raw["probes"] = {"interval": "1 ms"}
    raw["flows"] = [{"cc": ["reno", "cubic"], "profile": ["rfc", "linux"]}]
    raw["run"] = {"duration": "5 s"}
    series = ackclock.run(raw, jobs=1).series
    kinds = {column: kind for column, kind in series.schema.items() if kind == pl.String}
    assert set(kinds) == {"id"}, "what repeats is a category"
    assert series.estimated_size() / series.height < 60
