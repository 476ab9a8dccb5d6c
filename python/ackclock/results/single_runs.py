"""The metrics of each run of a result, as the summary defines them: a run is summarised as a point of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from ackclock.results.sources import TRANSFERS
from ackclock.results.summary import METRICS, PointSummary, summarise

if TYPE_CHECKING:
    from ackclock.results.result import Result

RTT = "mean_rtt_s"

KNOWN = (*METRICS, RTT)
"""Metrics of a run: those of the summary of a point, and the RTT, mean over the flows that have one."""

Metrics = Mapping[str, float | None]

_COUNTS = TRANSFERS[:2]


def summaries(result: Result) -> list[PointSummary]:
    """The summary of each finished run; its `point` is the number of the run."""
    of = {entry["point"]: entry for entry in result.manifest["points"]}
    point_of = dict(result.runs.select("run", "point").iter_rows())
    alone = {
        **result.manifest,
        "points": [{**of[point], "point": run} for run, point in point_of.items()],
        "runs": [{**entry, "point": entry["run"]} for entry in result.manifest["runs"]],
    }
    return summarise({**result.tables, "runs": result.runs.with_columns(pl.col("run").alias("point"))}, alone)


def per_run(result: Result, found: Sequence[PointSummary] | None = None) -> dict[int, Metrics]:
    """The metrics of every run, by its number; `found` are their :func:`summaries`, where they are known.

    What the summary has no value of for a point, as some run has too few transfers for a percentile, none of its runs
    has.
    """
    point_of = dict(result.runs.select("run", "point").iter_rows())
    known = {point.point: {name for name, value in point.metrics.items() if value.n} for point in result.points}
    rtts = dict(result.flows.group_by("run").agg(pl.col(RTT).mean()).iter_rows())
    made: dict[int, Metrics] = {}
    for item in summaries(result) if found is None else found:
        there = known[point_of[item.point]]
        own = {name: value.mean for name, value in item.metrics.items() if name in there}
        # The summary counts no transfers as none where other runs of the point have some.
        own |= {name: own.get(name) or 0.0 for name in _COUNTS if name in there}
        made[item.point] = {**own, RTT: rtts.get(item.point)}
    return made
