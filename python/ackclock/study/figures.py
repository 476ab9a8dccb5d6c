"""Figures of a study: from its declaration and the results to curves that can be drawn."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence

import numpy as np

from ackclock.drawing.curves import Chart, Curve, Panel, Scale, Straight
from ackclock.scenario.units import DURATION, RATE, SIZE, split
from ackclock.stats import Interval
from ackclock.study.code import Measure
from ackclock.study.model import GOODPUT, Axis, FigureSpec, SeriesSpec
from ackclock.study.runs import Results, Runs

_MOST = 3000  # points per line; more cannot be seen


def build(spec: FigureSpec, results: Results, measures: Mapping[str, Measure]) -> Chart:
    """The curves of a figure."""
    panels: dict[str, list[Curve]] = {}
    ticks = _names(spec, results) if spec.kind == "sweep" else ()
    for series in spec.series:
        runs = results[series.scenario].where(series.where)
        if spec.kind == "time":
            for label, part in _lines(series, runs):
                panels.setdefault(series.panel, []).append(_over_time(spec, series, label, part))
            continue
        for title, group in _panels(spec, series, runs):
            for label, part in _lines(series, group):
                panels.setdefault(title, []).append(_swept(spec, series, label, part, measures[series.data], ticks))
    marks = [(mark.panel, Straight(mark.label, mark.x, mark.y)) for mark in spec.marks]
    return Chart(
        title=f"{spec.title} ({spec.paper})" if spec.paper else spec.title,
        x=_scale(spec.x, ticks),
        y=_scale(spec.y, ()),
        panels=tuple(
            Panel(title, tuple(curves), tuple(mark for where, mark in marks if where in ("", title)))
            for title, curves in panels.items()
        ),
    )


def data(chart: Chart) -> str:
    """The numbers of a figure as CSV, scaled as they are drawn."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["panel", "series", "x", "y", "low", "high"])
    for panel in chart.panels:
        for curve in panel.curves:
            for index, (x, y) in enumerate(zip(curve.x, curve.y, strict=True)):
                name = chart.x.ticks[int(x)] if chart.x.ticks else f"{x:.10g}"
                ends = [f"{end[index]:.6g}" for end in (curve.low, curve.high)] if curve.low else ["", ""]
                writer.writerow([panel.title, curve.label, name, f"{y:.6g}", *ends])
    return stream.getvalue()


def number(value: object) -> float | None:
    """A swept value as a number: seconds, bit/s, bytes, or without its unit. ``None`` if it is not one."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    found, unit = split(str(value))
    if found is None:
        return None
    for quantity, base in ((DURATION, 1e-9), (RATE, 1.0), (SIZE, 1.0)):
        if unit in quantity.units:
            return float(found) * float(quantity.units[unit]) * base
    return float(found)


def _panels(spec: FigureSpec, series: SeriesSpec, runs: Runs) -> list[tuple[str, Runs]]:
    if not spec.panels:
        return [(series.panel, runs)]
    return [(str(step), runs.where({spec.panels: step})) for step in runs.steps(spec.panels)]


def _lines(series: SeriesSpec, runs: Runs) -> list[tuple[str, Runs]]:
    if not series.by:
        return [(series.label, runs)]
    steps = runs.steps(series.by)
    return [(f"{series.label} {step}".strip(), runs.where({series.by: step})) for step in steps]


def _over_time(spec: FigureSpec, series: SeriesSpec, label: str, runs: Runs) -> Curve:
    """A series of the first of the selected runs."""
    run = next(iter(runs), None)
    if run is None:
        return Curve(label, (), ())
    if series.data == GOODPUT:
        delivered = run.series("delivered", series.of)
        begins = np.arange(0.0, run.duration - series.bin / 2, series.bin)
        x = begins + series.bin / 2
        y = np.array([8 * delivered.between(begin, begin + series.bin) / series.bin for begin in begins])
    else:
        found = run.series(series.data, series.of)
        keep = np.unique(np.linspace(0, len(found.time) - 1, min(len(found.time), _MOST)).astype(int))
        x, y = found.time[keep], found.value[keep]
    known = np.isfinite(y)
    return Curve(label, tuple((x[known] * spec.x.scale).tolist()), tuple((y[known] * spec.y.scale).tolist()))


def _swept(
    spec: FigureSpec, series: SeriesSpec, label: str, runs: Runs, measure: Measure, names: Sequence[str]
) -> Curve:
    """Means or medians of a measure over a swept value, with their intervals where there are several replications.

    Where steps are `names`, a point stands at the place of its own among them.
    """
    parts = [(step, runs.where({series.over: step})) for step in runs.steps(series.over)]
    found = [(step, part.median(measure) if series.median else part.interval(measure)) for step, part in parts]
    kept = [(step, value) for step, value in found if value.value is not None]
    if names:
        x = [float(names.index(str(step))) for step, _ in kept]
    else:
        x = [value * spec.x.scale for step, _ in kept if (value := number(step)) is not None]
    low, high = _ends([value for _, value in kept], spec.y.scale)
    return Curve(label, tuple(x), tuple((value.value or 0.0) * spec.y.scale for _, value in kept), low, high)


def _names(spec: FigureSpec, results: Results) -> tuple[str, ...]:
    """The steps of all series, in order, if one of them is a name: then each has its place on the axis."""
    steps = [step for series in spec.series for step in results[series.scenario].where(series.where).steps(series.over)]
    return tuple(dict.fromkeys(map(str, steps))) if any(number(step) is None for step in steps) else ()


def _ends(values: Sequence[Interval], scale: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if not any(value.low is not None for value in values):
        return (), ()
    ends = [value.ends or (math.nan, math.nan) for value in values]
    return tuple(low * scale for low, _ in ends), tuple(high * scale for _, high in ends)


def _scale(axis: Axis, ticks: tuple[str, ...]) -> Scale:
    return Scale(axis.label, axis.log, axis.low, axis.high, ticks)
