"""``ackclock.run``: a sweep into memory, which the first run that fails ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import EngineError, Result, engine
from ackclock.assembly import tables as assembly
from ackclock.execution.store import InMemory
from ackclock.sweeps.run import in_memory

Raw = dict[str, Any]
Write = Callable[..., Path]

TROUBLE = """\
import os
from ackclock import WindowBased

class Trouble(WindowBased):
    def __init__(self, how: str = "") -> None:
        self.how = how

    def grow(self, cx, ack, acked):
        if self.how == "dies":
            os._exit(9)
        if self.how == "raises":
            raise LookupError("no such luck")
        self.cwnd += acked / self.cwnd

    def reduce(self, cx, signal):
        return self.cwnd / 2
"""


def troubled(folder: Path, *how: str) -> dict[str, Any]:
    """A swept controller, of which some values do not end well."""
    (folder / "trouble.py").write_text(TROUBLE, encoding="utf-8")
    return {"cc": [{"name": "python:trouble:Trouble", "how": word} for word in how]}


@pytest.mark.parametrize("most", [1, 500, 10**9])
def test_it_is_what_a_sweep_keeps_and_what_a_directory_gives_back(
    scenario_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(assembly, "_MOST_IN_MEMORY", most)
    change = {"cc": ["reno", "cubic", "bic"], "topology.rtt": ["20 ms", "40 ms"]}
    result = ackclock.run(scenario_file(), set=change, replications=3, jobs=1, out=tmp_path / "run")
    swept = ackclock.sweep(scenario_file(), tmp_path / "sweep", set=change, replications=3, jobs=2).result
    loaded = Result.load(tmp_path / "run")
    for name, table in result.tables.items():
        assert table.equals(swept.tables[name]), name
        assert table.equals(loaded.tables[name]), name
    for by in ("point", "group", "flow"):
        assert result.summary(by).equals(loaded.summary(by)), "to the last bit"


def test_the_first_run_that_fails_is_the_last(
    scenario_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, played = engine.Batch.run, list[str]()

    def count(batch: engine.Batch, number: int, document: str, own: engine.Controllers) -> Any:
        played.append(document)
        return real(batch, number, document, own)

    monkeypatch.setattr(engine.Batch, "run", count)
    change = troubled(tmp_path, "", "", "raises", "well", "well too")
    with pytest.raises(ackclock.ControllerError) as caught:
        ackclock.run(scenario_file(), set=change, jobs=1)
    # The first two are the same run, which is played once.
    assert len(played) == 2
    assert caught.value.result.runs["run"].to_list() == [0, 1]
    assert caught.value.result.manifest["missing"] == [2, 3, 4]
    assert caught.value.result.manifest["failed"] == []


def test_a_run_that_takes_its_process_with_it_is_named(scenario_file: Write, tmp_path: Path) -> None:
    change = troubled(tmp_path, "", "dies")
    with pytest.raises(EngineError, match=r"run 1 \(cc = .*dies.*\): the process that played it died") as caught:
        ackclock.run(scenario_file(), set=change, jobs=2)
    assert not isinstance(caught.value, ackclock.ControllerError)


def test_a_study_keeps_the_other_runs(scenario_file: Write, tmp_path: Path) -> None:
    plan = ackclock.load(scenario_file(), set=troubled(tmp_path, "", "raises", "well"))
    result = in_memory(plan, jobs=1)
    assert result.runs["run"].to_list() == [0, 2]
    assert [(item["run"], item["problem"].split(": ")[-1]) for item in result.manifest["failed"]] == [
        (1, "no such luck")
    ]
    assert result.complete


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_counts_every_run_also_one_that_is_another_again(raw: Raw, jobs: int) -> None:
    raw["flows"] = [{"cc": ["reno", "reno", "cubic"]}]
    told: list[tuple[int, int]] = []
    result = ackclock.run(raw, replications=2, jobs=jobs, progress=lambda *counts: told.append(counts))
    assert (told[0], told[-1], told) == ((0, 6), (6, 6), sorted(told))
    assert result.runs["run"].to_list() == list(range(6))
    same = result.flows["goodput_bytes"].to_list()
    assert same[:2] == same[2:4] != same[4:]


def test_batches_in_memory_begin_at_their_numbers(raw: Raw) -> None:
    from ackclock.execution import batch
    from ackclock.execution.keys import Texts

    plan, store = ackclock.load(raw, replications=3), InMemory()
    texts = Texts(plan)
    for tasks in ([texts.task(0, 0)], [texts.task(0, 1), texts.task(0, 2)]):
        store.append(batch.play(tasks, None))
    places = [store.entries[texts.key(0, number)] for number in range(3)]
    assert [(place.offset, place.number) for place in places] == [(0, 0), (1, 0), (1, 1)]
    assert [run["key"] for run in batch.header(store.payload(1)).runs] == [texts.key(0, 1), texts.key(0, 2)]
