"""Figures of distributions: of completion times, of metrics over runs, and completion times by size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from ackclock.drawing import defaults, quantities, undone
from ackclock.drawing.averages import Sample
from ackclock.drawing.chart import Chart, Curve, Panel, Scale
from ackclock.drawing.means import Found, found
from ackclock.drawing.remarks import Remark
from ackclock.drawing.selection import Selection
from ackclock.drawing.undone import Open
from ackclock.errors import InputError
from ackclock.results import groups, times

TRANSFER = ("fct_s", "slowdown")
"""Columns of transfers whose distribution can be drawn."""
_MOST = 2000  # steps of a line; more cannot be seen
_ENOUGH = 20  # transfers that make a distribution
_SHOWN = {"median": "p50_fct_s", "p95": "p95_fct_s"}
_UNEVEN = 10
_UNITS = ("B", "kB", "MB", "GB", "TB")


def completed(selection: Selection) -> bool:
    """Whether there are enough transfers for a distribution of their completion times."""
    return _transfers(selection.result.transfers, selection)["fct_s"].count() >= _ENOUGH


def _transfers(table: pl.DataFrame, selection: Selection) -> pl.DataFrame:
    """The transfers that began after the warm-up."""
    runs = selection.result.runs.filter(pl.col("point").is_in(selection.points)).select("run", "warmup_s")
    return table.join(runs, on="run", how="inner", maintain_order="left").filter(
        pl.col("start_s") >= pl.col("warmup_s")
    )


def ecdf(selection: Selection) -> Chart:
    """The share of transfers, or of runs, with so much or less. Transfers that did not end keep a line below 1."""
    names = selection.request.y or (("fct_s",) if completed(selection) else ("goodput_bps",))
    if len(names) > 1:
        raise InputError("only kinds over time draw several of --y", "give one metric", key="y")
    name = names[0] if names[0] in TRANSFER else selection.metric(names[0])
    defaults.beyond_the_line(selection, name)
    panels = []
    parts = selection.panels()
    _together(selection, "transfers" if name in TRANSFER else "runs")
    if name in TRANSFER:
        undone.open_ends(selection)
    for title, points in parts:
        lines = {label: _sorted(selection, own, name) for label, own in selection.samples(points).items()}
        panels.append((title, {label: own for label, own in lines.items() if len(own[0])}))
    every = [value for _, lines in panels for own, _ in lines.values() for value in own]
    if not every:
        what = "no transfer was completed" if name in TRANSFER else f"no run has a value of {name}"
        raise InputError(what, "draw another metric with --y", key="y")
    by, label = quantities.of(name).scaled(every)
    log = min(every) > 0 and max(every) / min(every) >= 30
    made = tuple(
        Panel(title, tuple(_steps(name, own, total, by) for name, (own, total) in lines.items()))
        for title, lines in panels
    )
    share = "share of transfers" if name in TRANSFER else "share of runs"
    looks = selection.looks
    return Chart("", Scale(label, log=log), Scale(share, low=0.0, high=1.02), made, looks)


def _together(selection: Selection, what: str) -> None:
    """Say it if values of a key that has no place are in one distribution."""
    if selection.over:
        selection.remarks.append(Remark(f"{what} of {selection.together} together", selection.apart))


def _sorted(selection: Selection, samples: Sequence[Sample], name: str) -> tuple[list[float], int]:
    """The values that are known, in order, and how many there are with those that are not."""
    if name not in TRANSFER:
        own = sorted(sample.metrics[name] for sample in samples if name in sample.metrics)
        return own, len(own)
    column = _of(selection, samples)[name]
    return sorted(column.drop_nulls().to_list()), len(column)


def _of(selection: Selection, samples: Sequence[Sample]) -> pl.DataFrame:
    """The transfers of some runs, or of groups of flows of them."""
    runs = {sample.run for sample in samples}
    table = _transfers(selection.result.transfers.filter(pl.col("run").is_in(list(runs))), selection)
    if not selection.grouped or not samples:
        return table
    ids = {}
    for entry in selection.result.manifest["points"]:
        for index, group in enumerate(groups.recorded(entry)):
            ids[entry["point"], index] = {str(flow) for flow in group.flows}
    number = list(selection.samples([samples[0].point])).index(samples[0].label)
    mine = set().union(*(ids.get((point, number), set()) for point in {sample.point for sample in samples}))
    return table.filter(pl.col("id").is_in(list(mine)))


def _steps(label: str, own: Sequence[float], total: int, by: float) -> Curve:
    x = np.array(own) * by
    y = np.arange(1, len(own) + 1) / total
    keep = np.unique(np.linspace(0, len(own) - 1, min(len(own), _MOST)).round().astype(int))
    xs, ys = x[keep].tolist(), y[keep].tolist()
    return Curve(label, (xs[0], *xs), (0.0, *ys), steps=True)


def fct(selection: Selection) -> Chart:
    """Completion times by size of the transfer: the median of each run, mean over runs, and dashed the 95th percentile.

    Classes are decades of bytes. A class in which a run has fewer transfers than a percentile needs has no point.
    Transfers that were not done count, as in a ranking: up to a horizon that all runs of the class in a panel have in
    common. How many there are of a class is said.
    """
    sizes = _transfers(selection.result.transfers, selection)["bytes"]
    if not len(sizes):
        problem, remedy = "no transfer was completed", "--kind fct needs transfers: bytes, files or requests"
        raise InputError(problem, remedy, key="kind")
    decades = [_class(size) for size in sizes]
    classes = list(range(min(decades), max(decades) + 1))
    panels = []
    parts = selection.panels()
    _together(selection, "transfers")
    open_ends: dict[str, list[Open]] = {}
    for title, points in parts:
        lines: dict[str, list[tuple[float, Found]]] = {}
        tables = {label: _classed(selection, own) for label, own in selection.samples(points).items()}
        horizons = {decade: _horizon(tables.values(), decade) for decade in classes}
        for label, table in tables.items():
            for place, decade in enumerate(classes):
                own = table.filter(pl.col("class") == decade)
                runs = [times.of_run(*seen, horizons[decade]) for seen in _observed(own)]
                for words, metric in _SHOWN.items():
                    known = [run[metric] for run in runs if metric in run]
                    more = any(longer for _, longer in known)
                    if (each := found([value for value, _ in known], metric, more=more)) is not None:
                        lines.setdefault(f"{words} {label}".strip(), []).append((float(place), each))
                hidden = any(more for run in runs for metric, (_, more) in run.items() if metric in _SHOWN.values())
                open_ends.setdefault(label, []).append(
                    Open(_decade(decade), own["fct_s"].null_count(), len(own), hidden)
                )
        panels.append((title, lines))
    undone.of_classes(selection, open_ends)
    every = [each.mean for _, lines in panels for own in lines.values() for _, each in own]
    if not every:
        problem = "no size has as many transfers in a run as a percentile needs"
        raise InputError(problem, "run longer, or draw --kind ecdf", key="kind")
    by, name = quantities.of("fct_s").scaled(every)
    log = max(every) >= _UNEVEN * min(every)  # short transfers would all lie at zero
    scale = quantities.heights([value * by for value in every], name, log=log or None)
    ends = [each.high for _, lines in panels for own in lines.values() for _, each in own if each.high is not None]
    if math.inf in ends and not scale.log:
        scale = replace(scale, high=1.1 * by * max(*every, *(end for end in ends if math.isfinite(end))))
    drawn = sorted({int(at) for _, lines in panels for own in lines.values() for at, _ in own})
    names = tuple(_decade(classes[place]) for place in drawn)
    at = {float(place): float(rank) for rank, place in enumerate(drawn)}
    made = tuple(
        Panel(
            title, tuple(_line(label, [(at[place], each) for place, each in own], by) for label, own in lines.items())
        )
        for title, lines in panels
    )
    looks = {f"{words} {label}".strip(): look for label, look in selection.looks.items() for words in ("median", "p95")}
    return Chart("", Scale("size of the transfer", ticks=names), scale, made, looks)


def _classed(selection: Selection, samples: Sequence[Sample]) -> pl.DataFrame:
    """The transfers of some runs with their class of sizes, replication, and how long each was seen."""
    table = _of(selection, samples)
    ends = selection.result.runs.select("run", "duration_s")
    seen = pl.col("fct_s").fill_null(pl.col("duration_s") - pl.col("start_s"))
    return table.join(ends, on="run", how="left", maintain_order="left").with_columns(
        pl.Series("class", [_class(size) for size in table["bytes"]], pl.Int64),
        pl.Series("draw", [str(selection.draw_of(run)) for run in table["run"]], pl.String),
        seen=seen,
    )


def _observed(table: pl.DataFrame) -> list[times.Observed]:
    """Of each run how long its transfers were seen, and whether they were done."""
    runs = table.partition_by("draw", maintain_order=True)
    return [(run["seen"].to_numpy(), run["fct_s"].is_not_null().to_numpy()) for run in runs]


def _horizon(tables: Iterable[pl.DataFrame], decade: int) -> float | None:
    """Up to where all runs that are compared know the times of a class: what is beyond is not the same of all."""
    return times.horizon(seen for table in tables for seen in _observed(table.filter(pl.col("class") == decade)))


def _class(size: int) -> int:
    """The decade of a number of bytes. A logarithm would put 10^6 below 10^6."""
    return len(str(max(1, size))) - 1


def _line(label: str, own: Sequence[tuple[float, Found]], by: float) -> Curve:
    ends = [
        tuple(math.nan if end is None else end * by for end in (getattr(each, side) for _, each in own))
        for side in ("low", "high")
    ]
    low, high = ((), ()) if all(map(math.isnan, ends[0])) else ends
    return Curve(label, tuple(at for at, _ in own), tuple(each.mean * by for _, each in own), low, high)


def _decade(exponent: int) -> str:
    """From so many bytes on, to ten times as many: ``10-100 kB``."""
    unit = min(exponent // 3, len(_UNITS) - 1)
    low = 10 ** (exponent - 3 * unit)
    return f"{low}-{10 * low} {_UNITS[unit]}"
