"""Transfers that were still under way when their run ended, in the metrics of runs and in words.

Completion times count them (:mod:`ackclock.results.times`), so that figures, comparisons and rankings say the same.
Slowdowns are of those that were done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from ackclock.results import groups, times
from ackclock.results.result import Result
from ackclock.results.single_runs import Metrics

Left = Mapping[int, tuple[int, int]]
"""Of each run that has transfers how many were not done, and how many there are."""

SLOWDOWNS = "slowdown"
"""What the names of metrics end with that leave out what was not done."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The metrics of runs, those of :data:`times.METRICS` with the transfers that were not done.

    `bounded` are runs and metrics whose value is only known to be larger.
    """

    runs: Mapping[int, Metrics]
    bounded: frozenset[tuple[int, str]]
    left: Left


def counted(result: Result, runs: Mapping[int, Metrics]) -> Counted:
    """The metrics `runs` of a result, which are of the transfers that were done, with all of them."""
    found = {run: dict(own) for run, own in runs.items()}
    bounded = set()
    for run, own in times.unfinished(result).items():
        if run in found:
            found[run] |= {metric: value for metric, (value, _) in own.items()}
            bounded |= {(run, metric) for metric, (_, more) in own.items() if more}
    return Counted(found, frozenset(bounded), left(result))


def of_group(result: Result, number: int | None) -> Result:
    """A result with the transfers of one group of flows alone; without a number with all."""
    if number is None:
        return result
    entries = {entry["point"]: groups.recorded(entry) for entry in result.manifest["points"]}
    rows = [
        (run, str(flow))
        for run, point in result.runs.select("run", "point").iter_rows()
        for group in entries[point][number : number + 1]
        for flow in group.flows
    ]
    there = pl.DataFrame(rows, schema={key: result.transfers.schema[key] for key in ("run", "id")}, orient="row")
    own = result.transfers.join(there, on=["run", "id"], how="semi", maintain_order="left")
    return Result({**result.tables, "transfers": own}, result.manifest)


def left(result: Result) -> Left:
    """The transfers that began after the warm-up and were not done, by run."""
    windows = result.runs.select("run", "warmup_s")
    table = result.transfers.select("run", "start_s", "fct_s").join(windows, on="run")
    own = table.filter(pl.col("start_s") >= pl.col("warmup_s")).group_by("run")
    rows = own.agg(pl.col("fct_s").null_count(), pl.len())
    return {run: (open_, every) for run, open_, every in rows.iter_rows()}


def said(name: str, own: Left, runs: Iterable[int]) -> str:
    """How many transfers of some runs were not done; empty if all were. `name` is what the runs are called."""
    found = [own[run] for run in runs if run in own]
    count, every = sum(open_ for open_, _ in found), sum(every for _, every in found)
    if not count:
        return ""
    return f"{f'{name}: ' if name else ''}{count} of {every} transfers were not done at the end"


def part(own: Counted, runs: Sequence[int], metric: str) -> str:
    """What a metric of some runs makes of the transfers that were not done."""
    if metric.endswith(SLOWDOWNS):
        return "left out"
    if all(own.runs[run].get(metric) is None for run in runs):
        return "too few for a percentile"
    more = any((run, metric) in own.bounded for run in runs)
    return "\u2265 what is shown" if more else "counted"
