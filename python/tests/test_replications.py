"""Replications that are the same run: what decides it, what is said, and that nothing of them has an interval."""

from __future__ import annotations

from typing import Any

import polars as pl

import ackclock
from ackclock.results import text
from ackclock.results.replications import repeated
from ackclock.study import Run, Runs, measure

Raw = dict[str, Any]
REQUESTS = {"app": {"kind": "request-response", "response": "20 kB"}}


def scenario(*flows: Raw) -> Raw:
    """Three replications; nothing is drawn but what the flows draw."""
    path = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"}
    return {"topology": path, "flows": list(flows), "run": {"duration": "3 s", "warmup": "1 s", "replications": 3}}


def test_replications_that_are_the_same_run_have_no_interval() -> None:
    raw = scenario({"cc": "cubic", "count": 2, "start": ["0 s", {"uniform": ["0 s", "1 s"]}]}, REQUESTS)
    result = ackclock.run(raw, jobs=1)
    same, drawn = result.points
    assert (same.repeated, drawn.repeated) == (True, False)
    every = [*same.metrics.values(), *(m for part in (*same.groups, *same.flows) for m in part.metrics.values())]
    assert every
    assert all(metric.ci95 is None for metric in every)
    assert drawn.metrics["goodput_bps"].ci95 is not None
    note = "the 3 replications are the same run: nothing in the scenario is drawn, so that there is no interval"
    assert text.notes([same]) == [note]
    some = "at 1 of 2 points the replications are the same run: nothing is drawn there, so that these have no interval"
    assert text.notes([same, drawn])[0] == some
    assert text.notes([drawn]) == []
    assert "±" not in "".join(cell for _, rows in text.tables([same], result.params) for row in rows for cell in row)


def test_what_decides_that_replications_are_the_same_run() -> None:
    result = ackclock.run(scenario({"cc": "cubic", "count": 2}), jobs=1)
    assert repeated(result.tables, result.manifest) == {0}
    for name, column in (("flows", "max_rtt_s"), ("links", "max_queue_packets"), ("runs", "events")):
        table = result.tables[name]
        other = table.with_columns(
            pl.when(pl.col("run") == 2).then(pl.col(column) + 1).otherwise(pl.col(column)).alias(column)
        )
        assert repeated({**result.tables, name: other}, result.manifest) == frozenset(), name
    runs = [{**entry, "measures": [["0", "stalls", float(entry["run"])]]} for entry in result.manifest["runs"]]
    assert repeated(result.tables, {**result.manifest, "runs": runs}) == frozenset()
    alone = ackclock.run(scenario({"cc": "cubic"}), replications=1, jobs=1)
    assert repeated(alone.tables, alone.manifest) == frozenset(), "one run repeats nothing"


def test_a_study_has_no_interval_of_them_either() -> None:
    @measure(kind="happened")
    def lost(run: Run) -> bool:
        return run.flows[0]["retransmitted_segments"] > 0

    result = ackclock.run(scenario({"cc": "cubic", "count": 2, "start": ["0 s", {"uniform": ["0 s", "1 s"]}]}), jobs=1)
    every = Runs.of("it", result)
    same, drawn = (every.where({"start": value}) for value in every.steps("start"))
    found = same.interval(lost)
    assert (found.value, found.low, found.high, found.n) == (1.0, None, None, 3)
    assert drawn.interval(lost).low is not None
    goodput = same.interval(lambda run: run.flows[0]["goodput_bps"])
    assert (goodput.low, goodput.high, goodput.n) == (None, None, 3)
