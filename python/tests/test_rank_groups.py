"""Ranking by one group of flows, and what is said where goodput is above the rate of the line."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import ackclock
from ackclock import InputError, Result
from ackclock.ranking.conditions import is_condition
from ackclock.ranking.ranking import rank
from ackclock.results import excess

_NEIGHBOURS = """\
[topology]
kind = "dumbbell"
rate = "8 Mbit/s"
rtt = ["20 ms", "40 ms"]
queue = "1 BDP"

[[flows]]
cc = "reno"
count = 2
start = { uniform = ["0 s", "100 ms"] }

[[flows]]
cc = ["reno", "cubic", "vegas"]
start = { uniform = ["0 s", "100 ms"] }

[run]
duration = "3 s"
replications = 6
"""


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Two flows of Reno beside one of three controllers."""
    path = tmp_path_factory.mktemp("groups") / "neighbours.toml"
    path.write_text(_NEIGHBOURS, encoding="utf-8")
    return ackclock.run(path, jobs=1)


def test_a_group_is_ranked_by_its_own_flows(beside: Result) -> None:
    own, all_flows = rank(beside, group=1), rank(beside)
    assert (own.by, own.group, all_flows.group) == ("flows.1.cc", "1 (reno or cubic or vegas)", None)
    third = (
        beside.flows.filter(pl.col("id") == "2").group_by("flows.1.cc").agg(pl.col("goodput_bps").log().mean().exp())
    )
    expected = dict(third.iter_rows())
    for item in own.candidates:
        assert item.metrics["goodput_bps"].value == pytest.approx(expected[item.name])
    mean = beside.flows.group_by("run", "flows.1.cc").agg(pl.col("goodput_bps").mean())
    whole = dict(mean.group_by("flows.1.cc").agg(pl.col("goodput_bps").log().mean().exp()).iter_rows())
    for item in all_flows.candidates:
        assert item.metrics["goodput_bps"].value == pytest.approx(whole[item.name])
    assert "goodput of the flows of group 1 (reno or cubic or vegas)" in own.sentence
    assert "jain" not in own.candidates[0].metrics, "a flow alone is no share"
    assert not any("metrics are of all flows" in note for note in own.notes)
    assert own.to_json()["group"] == own.group


def test_what_the_queue_did_is_that_of_all(beside: Result) -> None:
    metric = "p95_queue_delay_s"
    own, all_flows = (rank(beside, group=group, metrics=[metric]) for group in ("0", None))
    values = [{item.name: item.metrics[metric].value for item in found.candidates} for found in (own, all_flows)]
    assert values[0] == values[1]


def test_a_group_by_its_label(beside: Result) -> None:
    assert rank(beside, group="reno").group == "0 (reno)", "the second is Reno only at some points"
    with pytest.raises(
        InputError, match=re.escape("group: no group '2'; the groups of flows are 0 (reno), 1 (reno or")
    ):
        rank(beside, group=2)
    with pytest.raises(InputError, match="group: no group 'vegas'"):
        rank(beside, group="vegas")


def test_metrics_that_depend_on_the_others_are_not_of_a_group(beside: Result) -> None:
    with pytest.raises(InputError, match="no run has a value of max_min_index"):
        rank(beside, group=1, goal="max_min_index up")


def test_goodput_of_flows_that_ask_for_little_is_spoken_of(tmp_path: Path) -> None:
    path = tmp_path / "mixed.toml"
    requests = '[[flows]]\ncc = "reno"\nbytes = "20 kB"\nstart = { uniform = ["0 s", "100 ms"] }\n\n[run]'
    path.write_text(_NEIGHBOURS.replace("[run]", requests).replace("= 6", "= 2"), encoding="utf-8")
    result = ackclock.run(path, jobs=1)
    said = "goodput_bps is of flows that send all they can and of others"
    assert any(note.startswith(said) for note in rank(result).notes)
    assert not any(note.startswith(said) for note in rank(result, group=1).notes)


def test_goodput_above_the_rate_is_said_once(beside: Result) -> None:
    assert excess.over_line(beside) == {}
    # 8 Mbit/s for 3 s are 3 MB, of which 1448 of 1500 are payload; 5 % more in two of the runs.
    line = 8e6 / 8 * 3 * 1448 / 1500
    share = pl.when(pl.col("run").is_in([1, 4])).then(1.05 * line / 3).otherwise(0.9 * line / 3)
    flows = beside.flows.with_columns(goodput_bytes=share.cast(pl.UInt64))
    above = Result({**beside.tables, "flows": flows}, beside.manifest)
    found = excess.over_line(above)
    assert sorted(found) == [1, 4]
    assert list(found.values()) == pytest.approx([0.05, 0.05], abs=0.002)  # two packets of 3 MB are 0.1 %
    (said,) = [note for note in rank(above).notes if excess.is_note(note)]
    assert said.startswith("goodput is above what the line carries in 2 of 36 runs, by up to 4.9 %: data behind a hole")
    assert any(map(excess.is_note, rank(above, group=1).notes)), "all flows share the line, whichever are ranked"
    (said,) = [note for note in ackclock.compare(above, by="flows.1.cc").notes if excess.is_note(note)]
    assert "in 2 of 36 runs" in said
    assert not any(map(excess.is_note, ackclock.compare(above, by="flows.1.cc", metrics=["jain"]).notes))


@pytest.mark.parametrize(
    ("key", "condition"),
    [
        ("topology.rtt", True), ("topology.rate", True), ("topology.loss", True), ("topology.hops.0.delay", True),
        ("flows.1.count", True), ("count", True), ("flows.0.start", True), ("run.duration", True),
        ("cc", False), ("flows.1.cc", False), ("topology.queue", False), ("topology.queue.limit", False),
        ("app.connections", False), ("flows.1.app.protocol", False), ("app.connections.most", False),
        ("app.interval", True), ("flows.1.app.page", True), ("app", True),
        ("topology.hops.0.queue.kind", False), ("profile", False), ("flows.0.tcp.sack", False), ("slow_start", False),
    ],
)  # fmt: skip
def test_conditions_are_met_and_choices_made(key: str, condition: bool) -> None:
    assert is_condition(key) is condition


def test_nothing_finished_is_said(beside: Result, tmp_path: Path) -> None:
    gone = {entry["run"] for entry in beside.manifest["runs"]}
    kept = set(beside.runs.filter(pl.col("flows.1.cc") == "vegas")["run"])

    def without(runs: set[int]) -> Result:
        tables = {name: table.filter(~pl.col("run").is_in(list(runs))) for name, table in beside.tables.items()}
        failed = [{"run": run, "problem": "it failed"} for run in sorted(runs)]
        entries = [entry for entry in beside.manifest["runs"] if entry["run"] not in runs]
        return Result(tables, {**beside.manifest, "runs": entries, "failed": failed})

    with pytest.raises(
        InputError, match=r"no run finished \(36 failed\), so that there are no two to rank; its manifest"
    ):
        rank(without(gone))
    one = r"no run of flows\.1\.cc=reno or cubic finished \(24 failed\), so that there are no two to rank"
    with pytest.raises(InputError, match=one):
        rank(without(gone - kept))
    goodput = pl.when(pl.col("flows.1.cc") == "vegas").then(pl.col("goodput_bps")).otherwise(float("nan"))
    nan = Result({**beside.tables, "flows": beside.flows.with_columns(goodput_bps=goodput)}, beside.manifest)
    alone = "goal: no run has a value of goodput_bps but those of flows.1.cc=vegas, so that there are no two to rank"
    with pytest.raises(InputError, match=alone):
        rank(nan)
