"""The split-TCP study where much is sent again: captures and the simulator must say the same."""

from __future__ import annotations

import importlib
from types import ModuleType

import polars as pl
import pytest

import split_runs
from ackclock import study
from ackclock.study.runner import Loaded, judge
from split_runs import Played

SAME = ("sent_bytes", "sent_segments", "retransmitted_bytes", "retransmitted_segments", "timeouts", "acks", "dup_acks")


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return study.load("split-tcp")


@pytest.fixture(scope="module")
def measures(loaded: Loaded) -> ModuleType:
    assert loaded.code.claims
    return importlib.import_module("ackclock_study_split_tcp.measures")


@pytest.fixture(scope="module")
def outages(loaded: Loaded) -> Played:
    return split_runs.played(split_runs.planned(loaded, "outages", run__replications=2), "outages")


def test_captures_count_what_the_simulator_counts_where_much_is_lost(outages: Played) -> None:
    split = outages.result.legs["run"].unique()
    whole = outages.result.flows.filter(~pl.col("run").is_in(split.implode()))
    own = pl.concat([table.select("run", "id", *SAME) for table in (whole, outages.result.legs)])
    assert own.height == 2 * 6 + 2 * 6 * 2, "six downloads, off and on: there each has two legs"
    id_of = pl.col("place").str.extract(r"^flows\.(.*)\.source$").alias("id")
    both = own.join(outages.seen.with_columns(id_of), on=["run", "id"], suffix="_seen", how="left")
    assert both.height == own.height
    for name in SAME:
        assert both[name].to_list() == both[f"{name}_seen"].to_list(), name
    totals = {name: both[name].sum() for name in SAME}
    assert all(total > 0 for total in totals.values())
    assert totals["retransmitted_bytes"] > 1_000_000
    assert totals["timeouts"] > 50


def test_x1_hears_of_a_single_byte_and_of_a_timeout(loaded: Loaded, outages: Played, measures: ModuleType) -> None:
    (x1,) = (item for item in loaded.code.claims if item.id == "X1")

    def verdict(seen: pl.DataFrame) -> str:
        found = split_runs.results(loaded, {"outages": Played(outages.plan, outages.result, seen)})
        (judged,) = judge([x1], found)
        assert not judged.broken, judged.verdict.detail
        return judged.verdict.outcome

    assert verdict(outages.seen) == "inconclusive", "of the other scenarios nothing is known"
    at = (pl.col("run") == 3) & (pl.col("place") == "flows.4/sink.source")
    for name in measures.COUNTED:
        assert verdict(outages.seen.with_columns(pl.when(at).then(pl.col(name) + 1).otherwise(pl.col(name)))) == "fail"
    other = pl.when(pl.col("place") == "flows.2.sink").then(pl.col("fct_s") * 1.001).otherwise(pl.col("fct_s"))
    assert verdict(outages.seen.with_columns(other.alias("fct_s"))) == "fail"
