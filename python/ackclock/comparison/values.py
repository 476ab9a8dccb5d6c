"""The metrics of each run of a result, as the summary defines them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from ackclock.errors import InputError, unknown
from ackclock.results.result import Result
from ackclock.results.sources import TRANSFERS
from ackclock.results.summary import METRICS, summarise

RTT = "mean_rtt_s"

KNOWN = (*METRICS, RTT)
"""Metrics that can be compared: those of the summary of a point, and the RTT, mean over the flows that have one."""

HEADLINE = ("goodput_bps", "p95_queue_delay_s", "jain", "p95_fct_s")
"""The few that are looked at first: throughput, delay, fairness, and the times of transfers where there are some."""

_COUNTS = TRANSFERS[:2]
_AS_RATIOS = ("_bps", "_s", "_slowdown")

Metrics = Mapping[str, float | None]


def per_run(result: Result) -> dict[int, Metrics]:
    """The metrics of every run, by its number.

    A run is summarised as a point with one replication, so that a metric means here what it means in the summary. What
    the summary has no value of for a point, as some run has too few transfers for a percentile, none of its runs has.
    """
    of = {entry["point"]: entry for entry in result.manifest["points"]}
    point_of = dict(result.runs.select("run", "point").iter_rows())
    alone = {
        **result.manifest,
        "points": [{**of[point], "point": run} for run, point in point_of.items()],
        "runs": [{**entry, "point": entry["run"]} for entry in result.manifest["runs"]],
    }
    tables = {**result.tables, "runs": result.runs.with_columns(pl.col("run").alias("point"))}
    known = {point.point: {name for name, value in point.metrics.items() if value.n} for point in result.points}
    rtts = dict(result.flows.group_by("run").agg(pl.col(RTT).mean()).iter_rows())
    found: dict[int, Metrics] = {}
    for item in summarise(tables, alone):
        there = known[point_of[item.point]]
        own = {name: value.mean for name, value in item.metrics.items() if name in there}
        # The summary counts no transfers as none where other runs of the point have some.
        own |= {name: own.get(name) or 0.0 for name in _COUNTS if name in there}
        found[item.point] = {**own, RTT: rtts.get(item.point)}
    return found


def chosen(names: Iterable[str] | None) -> tuple[str, ...]:
    """The metrics to compare: those named, or all. Raises :class:`InputError` for a name that is none."""
    if names is None:
        return KNOWN
    found = tuple(dict.fromkeys(names))
    for name in found:
        if name not in KNOWN:
            problem = unknown("metric", name, KNOWN)
            raise InputError(problem.problem, problem.remedy, key="metric")
    if not found:
        raise InputError("no metric is named", "name one, such as goodput_bps, or leave it out", key="metric")
    return found


def as_ratio(metric: str) -> bool:
    """Whether a metric is compared by ratios: rates, times and slowdowns. Shares, indices and counts are not."""
    return metric.endswith(_AS_RATIOS)
