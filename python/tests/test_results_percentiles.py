"""Percentiles in the tables of a result: none of fewer values than set it apart from the largest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.results.percentiles import PERCENTILES, with_enough_values
from ackclock.results.summary import summarise

# 12 Mbit/s into 10 Mbit/s: 1 packet of 1500 bytes each millisecond, so about as many as milliseconds.
PACKETS: dict[str, Any] = {"app": {"kind": "cbr", "rate": "12 Mbit/s"}}
PATH = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "5 BDP"}


def scenario(stop_ms: int) -> dict[str, Any]:
    return {"topology": PATH, "flows": [PACKETS | {"stop": f"{stop_ms} ms"}], "run": {"duration": "1 s"}}


@pytest.mark.parametrize("stop_ms", [12, 60, 200])
def test_few_packets_have_few_percentiles(stop_ms: int, tmp_path: Path) -> None:
    ran = ackclock.run(scenario(stop_ms), jobs=1)
    swept = ackclock.sweep(scenario(stop_ms), tmp_path / "sweep", jobs=1).result
    for result in (ran, swept):
        link = result.links.filter(pl.col("id") == "bottleneck").row(0, named=True)
        flow = result.flows.row(0, named=True)
        assert link["sent_packets"] == flow["received_packets"]
        for percent, fewest in PERCENTILES.items():
            enough = link["sent_packets"] >= fewest
            assert (link[f"p{percent}_queue_delay_s"] is not None) == enough, percent
            assert (flow[f"p{percent}_delay_s"] is not None) == enough, percent
        assert link["mean_queue_delay_s"] > 0
        few = link["sent_packets"] < PERCENTILES[95]
        assert few == (stop_ms == 12)
        assert (result.summary()["p95_queue_delay_s"].item() is None) == few
        assert ("p95_delay_s" in result.summary().columns) == (not few)


def test_few_transfers_have_few_percentiles() -> None:
    files = {"app": {"kind": "files", "arrivals": {"poisson": 12.0}, "size": "15 kB"}}
    result = ackclock.run({"topology": PATH, "flows": [files], "run": {"duration": "5 s"}}, jobs=1)
    flow = result.flows.row(0, named=True)
    assert 20 <= flow["transfers_completed"] < 100
    assert flow["p50_fct_s"] <= flow["p95_fct_s"]
    assert flow["p99_fct_s"] is None


def test_older_results_have_no_more_in_their_summary() -> None:
    result = ackclock.run(scenario(12), jobs=1)
    links = result.links.with_columns(p95_queue_delay_s=0.01)
    (point,) = summarise({**result.tables, "links": links}, result.manifest)
    assert point.metrics["p95_queue_delay_s"].mean is None


def test_a_percentile_of_some_runs_only_has_no_mean() -> None:
    given = scenario(200)
    result = ackclock.run(given | {"run": {"duration": "1 s", "replications": 2}}, jobs=1)
    assert result.summary()["p95_queue_delay_s"].item() is not None
    one = (pl.col("run") == 1) & (pl.col("id") == "bottleneck")
    links = result.links.with_columns(sent_packets=pl.when(one).then(pl.lit(19, pl.UInt64)).otherwise("sent_packets"))
    (point,) = summarise({**result.tables, "links": links}, result.manifest)
    assert point.metrics["p95_queue_delay_s"].mean is None


@pytest.mark.parametrize(("n", "known"), [(1, []), (2, [50]), (19, [50]), (20, [50, 95]), (100, [50, 95, 99])])
def test_the_rule(n: int, known: list[int]) -> None:
    table = pl.DataFrame({"sent_packets": [n], **{f"p{percent}_queue_delay_s": [1.0] for percent in PERCENTILES}})
    row = with_enough_values("links", table).row(0, named=True)
    assert [percent for percent in PERCENTILES if row[f"p{percent}_queue_delay_s"] is not None] == known
    assert with_enough_values("series", table).equals(table)
