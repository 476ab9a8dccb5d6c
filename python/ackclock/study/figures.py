"""Figures of a study: from its declaration and the results to curves that can be drawn."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ackclock.drawing import quantities
from ackclock.drawing.curves import Chart, Curve, Panel, Scale, Straight
from ackclock.scenario.values.units import DURATION, RATE, SIZE, split
from ackclock.stats import Interval
from ackclock.study.code import Measure
from ackclock.study.model import GOODPUT, Axis, FigureSpec, SeriesSpec
from ackclock.study.runs import Results, Runs
from ackclock.study.times import Times

_MOST = 3000  # points per line; more cannot be seen


@dataclass(frozen=True, slots=True)
class Line(Curve):
    """A line over a swept value. `beyond` marks medians that were not reached: they are more than what is drawn."""

    beyond: tuple[bool, ...] = ()


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
                if series.reference is None:
                    line: Curve = _swept(spec, series, label, part, measures, ticks)
                else:
                    line = _referred(spec, series, label, part, ticks)
                panels.setdefault(title, []).append(line)
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
    writer.writerow(["panel", "series", "x", "y", "low", "high", "more_than"])
    for panel in chart.panels:
        for curve in panel.curves:
            for index, (x, y) in enumerate(zip(curve.x, curve.y, strict=True)):
                name = chart.x.ticks[int(x)] if chart.x.ticks else f"{x:.10g}"
                ends = [_end(end[index]) for end in (curve.low, curve.high)] if curve.low else ["", ""]
                beyond = isinstance(curve, Line) and curve.beyond[index]
                writer.writerow([panel.title, curve.label, name, f"{y:.6g}", *ends, int(beyond)])
    return stream.getvalue()


def _end(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else ""


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
    name = quantities.of(spec.panels).name
    return [(f"{name} = {step}", runs.where({spec.panels: step})) for step in runs.steps(spec.panels)]


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
    for end, beyond in ((spec.x.low, np.less), (spec.x.high, np.greater)):
        if end is not None:
            known &= ~beyond(x * spec.x.scale, end)  # a marker would stand beside the axis
    return Curve(label, tuple((x[known] * spec.x.scale).tolist()), tuple((y[known] * spec.y.scale).tolist()))


def _swept(
    spec: FigureSpec,
    series: SeriesSpec,
    label: str,
    runs: Runs,
    measures: Mapping[str, Measure],
    names: Sequence[str],
) -> Line:
    """Means or medians of a measure over a swept value, with their intervals where there are several replications.

    Where steps are `names`, a point stands at the place of its own among them. A median that was not reached is drawn
    where it is known to be beyond, with an interval that does not end.
    """
    x, found = [], []
    for name, step in _steps(series, runs):
        value = _value(series, runs.where({series.over: step}), measures)
        at = float(names.index(name)) if names else number(step)
        if at is not None and _height(value) is not None:
            x.append(at if names else at * spec.x.scale)
            found.append(value)
    y = [(_height(value) or 0.0) * spec.y.scale for value in found]
    low, high = _ends(found, spec.y)
    return Line(label, tuple(x), tuple(y), low, high, tuple(value.value is None for value in found), bars=spec.bars)


def _value(series: SeriesSpec, runs: Runs, measures: Mapping[str, Measure]) -> Interval:
    """What runs have together: a mean, a median, or by which share they have more than those that they are against."""
    if series.weights:
        weights = [(measures[name], weight) for name, weight in series.weights.items()]
        return runs.gain(weights, runs.beside(series.against))
    measure = measures[series.data]
    if not series.against:
        return runs.median(measure) if series.median else runs.interval(measure)
    ratio = runs.ratio(measure, runs.beside(series.against))
    low, value, high = (None if end is None else end - 1 for end in (ratio.low, ratio.value, ratio.high))
    return Interval(value, low, high, ratio.n)


def _referred(spec: FigureSpec, series: SeriesSpec, label: str, runs: Runs, names: Sequence[str]) -> Curve:
    """What a reference has for the steps of the runs. Its rows are named by the step, and the value of `by`."""
    values = series.reference.values if series.reference else {}
    by = [str(step) for step in runs.steps(series.by)] if series.by else []
    found = []
    for step in runs.steps(series.over):
        value = values.get(", ".join([str(step), *by]), {}).get(series.data)
        at = float(names.index(str(step))) if names else number(step)
        if at is not None and value is not None:
            found.append((at if names else at * spec.x.scale, value * spec.y.scale))
    return Curve(label, tuple(x for x, _ in found), tuple(y for _, y in found))


def _height(value: Interval) -> float | None:
    """Where a value is drawn, if anywhere."""
    return value.beyond if value.value is None and isinstance(value, Times) else value.value


def _names(spec: FigureSpec, results: Results) -> tuple[str, ...]:
    """The steps of all series, in order, if one of them is a name: then each has its place on the axis."""
    steps = [name for each in spec.series for name, _ in _steps(each, results[each.scenario].where(each.where))]
    named = spec.bars or any(each.steps for each in spec.series) or any(number(step) is None for step in steps)
    return tuple(dict.fromkeys(steps)) if named else ()


def _steps(series: SeriesSpec, runs: Runs) -> list[tuple[str, str | int | float]]:
    """The steps that were played, each with its name."""
    played = runs.steps(series.over)
    if not series.steps:
        return [(str(step), step) for step in played]
    known = {str(step): step for step in played}
    return [(name, known[str(step)]) for name, step in series.steps.items() if str(step) in known]


def _ends(values: Sequence[Interval], axis: Axis) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The ends of intervals; not a number where a single value has none, infinite where one is open."""
    ends = [_open(value, axis) for value in values]
    if all(math.isnan(low) for low, _ in ends):
        return (), ()
    return tuple(low * axis.scale for low, _ in ends), tuple(high * axis.scale for _, high in ends)


def _open(value: Interval, axis: Axis) -> tuple[float, float]:
    low, high = value.low, value.high
    if value.value is None and low is None:
        low = _height(value)
    if low is not None and high is not None:
        return low, high
    if (low is None and high is None) or not axis.log:  # an axis without logarithms has no end to draw an arrow at
        return math.nan, math.nan
    return -math.inf if low is None else low, math.inf if high is None else high


def _scale(axis: Axis, ticks: tuple[str, ...]) -> Scale:
    return Scale(axis.label, axis.log, axis.low, axis.high, ticks)
