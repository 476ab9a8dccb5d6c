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
from ackclock.results.single_runs import Metrics, per_run

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


def counted(result: Result, runs: Mapping[int, Metrics], together: Iterable[Iterable[int]] = ()) -> Counted:
    """The metrics `runs` of a result, which are of the transfers that were done, with all of them.

    Of the times of runs that are compared with each other, those `together`, counts what all of them know.
    """
    return _counted([(result, runs)], [[(0, run) for run in each] for each in together])[0]


def of_groups(
    result: Result, runs: Sequence[Mapping[int, Metrics]], together: Iterable[Iterable[int]]
) -> list[Counted]:
    """:func:`counted` of each group of flows by itself, of which `runs` has the metrics.

    Groups of one run are compared with each other: of the times of all groups in runs that are `together` counts what
    all of them know.
    """
    sides = [(of_group(result, number), own) for number, own in enumerate(runs)]
    places = range(len(sides))
    return _counted(sides, [[(side, run) for run in own for side in places] for own in together])


def compared(results: Sequence[Result], pairs: Iterable[tuple[Sequence[int], Sequence[int]]]) -> list[Counted]:
    """:func:`counted` for results that are compared: runs of the first with runs of the last, a pair for each match."""
    together: dict[tuple[int, ...], set[tuple[int, int]]] = {}
    for ours, theirs in pairs:
        runs = together.setdefault(tuple(ours), {(0, run) for run in ours})
        runs |= {(len(results) - 1, run) for run in theirs}
    return _counted([(result, per_run(result)) for result in results], [sorted(runs) for runs in together.values()])


def _counted(
    sides: Sequence[tuple[Result, Mapping[int, Metrics]]], together: Iterable[Sequence[tuple[int, int]]]
) -> list[Counted]:
    """`together` has runs as the place of their side and their number."""
    values = [{run: dict(own) for run, own in runs.items()} for _, runs in sides]
    bounded: list[set[tuple[int, str]]] = [set() for _ in sides]
    seen = [times.observed(result) for result, _ in sides]

    def put(side: int, run: int, own: times.Times) -> None:
        if run in values[side]:
            for metric, (value, more) in own.items():
                values[side][run][metric] = value
                (bounded[side].add if more else bounded[side].discard)((run, metric))

    for side, (result, _) in enumerate(sides):
        for run, own in times.unfinished(result).items():
            put(side, run, own)
    for runs in together:
        there = {(side, run): seen[side][run] for side, run in runs if run in seen[side]}
        if (until := times.horizon(there.values())) is not None:
            for (side, run), each in there.items():
                put(side, run, times.of_run(*each, until))
    return [
        Counted(own, frozenset(more), left(result))
        for own, more, (result, _) in zip(values, bounded, sides, strict=True)
    ]


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
