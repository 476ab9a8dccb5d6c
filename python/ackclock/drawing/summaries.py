"""Figures of what runs came to: curves over a swept value, boxes, grids, and ellipses in a plane of two metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ackclock.drawing import quantities, swept
from ackclock.drawing.chart import Box, Chart, Cloud, Curve, Grid, Panel, Scale
from ackclock.drawing.selection import Found, Selection, found, values
from ackclock.drawing.swept import Key
from ackclock.errors import InputError
from ackclock.results.single_runs import KNOWN

GOODPUT = "goodput_bps"
_SHARES = frozenset({"jain", "utilisation", "max_min_index"})
"""Metrics between 0 and 1, whose axis ends there."""
DELAYS = ("p95_delay_s", "p95_queue_delay_s", "mean_queue_delay_s", "mean_rtt_s")
"""What the delay of a candidate is, the first that the runs have."""
_LEAST = 3  # runs that an ellipse needs
_CORNERS = 72
_SPARE = 1.02
_UNEVEN = 20

Place = tuple[float, Found]


def _metric(selection: Selection, fallback: str = GOODPUT) -> str:
    names = selection.request.y or (fallback,)
    if len(names) > 1:
        raise InputError("only kinds over time draw several of --y", "give one metric", key="y")
    return selection.metric(names[0])


def axis_key(selection: Selection) -> Key | None:
    """The swept key along the x axis: the one asked for, or the number with the most values."""
    if selection.request.x is not None:
        return swept.chosen(selection.result, selection.keys, selection.request.x, "x")
    return next(iter(selection.numeric), None)


def curve(selection: Selection) -> Chart:
    """Means of a metric over a swept value, with their intervals."""
    key = axis_key(selection)
    metric = _metric(selection)
    if key is None:
        raise InputError("a curve needs a swept number, and none was swept", "try --kind box", key="kind")
    panels = []
    names = () if key.numeric else tuple(selection.steps(key))
    for title, points in selection.panels(key):
        lines = []
        for label, samples in selection.samples(points).items():
            steps: dict[float, list[float]] = {}
            for sample in samples:
                at = float(names.index(key.texts[sample.point])) if names else (key.numbers or {}).get(sample.point)
                if at is not None and metric in sample.metrics:
                    steps.setdefault(at, []).append(sample.metrics[metric])
            lines.append((label, [(at, each) for at, own in sorted(steps.items()) if (each := found(own)) is not None]))
        panels.append((title, lines))
    if key.numbers and set(selection.points) - key.numbers.keys():
        left = {key.texts[point] for point in selection.points if point not in key.numbers}
        selection.notes.append(f"{', '.join(sorted(left))} of {key.name} is no number and has no place on the axis")
    every = [each for _, lines in panels for _, own in lines for _, each in own]
    y = _scale(metric, [each.mean for each in every])
    if min((each.mean for each in every), default=-1.0) >= 0 > min((each.low or 0.0 for each in every), default=0.0):
        y = (y[0], replace(y[1], low=0.0))  # an interval below it is no reason to show rates that cannot be
    by, x = _positions(key, names, [at for _, lines in panels for _, own in lines for at, _ in own])
    return Chart(
        "",
        x,
        y[1],
        tuple(Panel(title, tuple(_line(label, own, by, y[0]) for label, own in lines)) for title, lines in panels),
        selection.looks,
    )


def _positions(key: Key, names: tuple[str, ...], places: Sequence[float]) -> tuple[float, Scale]:
    if names:
        return 1.0, Scale(key.short, ticks=names)
    by, label = key.quantity.scaled(places)
    return by, quantities.positions(places, label)


def _line(label: str, places: Sequence[Place], by: float, scale: float) -> Curve:
    low = [math.nan if each.low is None else each.low * scale for _, each in places]
    high = [math.nan if each.high is None else each.high * scale for _, each in places]
    none = all(map(math.isnan, low))
    return Curve(
        label,
        tuple(_round(at * by) for at, _ in places),
        tuple(each.mean * scale for _, each in places),
        () if none else tuple(low),
        () if none else tuple(high),
    )


def _round(value: float) -> float:
    """Without what binary fractions leave: 0.3 and not 0.30000000000000004 is the name of a tick."""
    return float(f"{value:.12g}")


def _scale(metric: str, drawn: Iterable[float]) -> tuple[float, Scale]:
    """The factor and the axis of a metric."""
    known = list(drawn)
    by, label = quantities.of(metric).scaled(known)
    if metric in _SHARES:
        return by, Scale(label, low=0.0, high=_SPARE)
    return by, quantities.heights([value * by for value in known], label)


def box(selection: Selection) -> Chart:
    """The runs of each candidate, and their mean."""
    metric = _metric(selection)
    panels = [(title, selection.samples(points)) for title, points in selection.panels()]
    labels = list(dict.fromkeys(label for _, parts in panels for label in parts))
    drawn = [value for _, parts in panels for own in parts.values() for value in values(own, metric)]
    by, scale = _scale(metric, drawn)
    made = []
    for title, parts in panels:
        boxes = []
        for label, own in parts.items():
            each = found(values(own, metric))
            if each is not None:
                boxes.append(_box(label, float(labels.index(label)), each, by))
        made.append(Panel(title, boxes=tuple(boxes)))
    return Chart("", scale, Scale("", ticks=tuple(labels)), tuple(made), selection.looks)


def _box(label: str, at: float, each: Found, by: float) -> Box:
    ends = [None if end is None else end * by for end in (each.low, each.high)]
    return Box(label, at, tuple(value * by for value in each.values), each.mean * by, *ends)


def heatmap(selection: Selection) -> Chart:
    """The mean of a metric over two swept keys, a panel for each candidate."""
    metric = _metric(selection)
    x, y = _two(selection)
    columns, rows = selection.steps(x), selection.steps(y)
    panels, every = [], []
    for title, points in selection.panels(x, y):
        for label, samples in selection.samples(points).items():
            cells = {}
            for row in rows:
                for column in columns:
                    own = [s for s in samples if (x.texts[s.point], y.texts[s.point]) == (column, row)]
                    each = found(values(own, metric))
                    cells[column, row] = math.nan if each is None else each.mean
            if not all(map(math.isnan, cells.values())):
                every += [value for value in cells.values() if math.isfinite(value)]
                panels.append((", ".join(part for part in (label, title) if part), cells))
    by, scale = _scale(metric, every)
    made = tuple(
        Panel(
            title,
            grid=Grid(tuple(columns), tuple(rows), tuple(tuple(cells[c, r] * by for c in columns) for r in rows)),
        )
        for title, cells in panels
    )
    if len(made) > 9:
        raise InputError(f"{len(made)} panels are too many for a figure", "choose some with --where", key="kind")
    return Chart("", Scale(x.short), Scale(y.short), made, z=replace(scale, low=None, high=None, log=_uneven(every)))


def _uneven(drawn: Sequence[float]) -> bool:
    """Whether colours of a linear scale would show only the largest values."""
    return min(drawn, default=0.0) > 0 and max(drawn) / min(drawn) >= _UNEVEN


def _two(selection: Selection) -> tuple[Key, Key]:
    """The keys along and up a grid. `by` names the second one, where it is a number."""
    request = selection.request
    by = selection.by if request.by is not None and selection.by is not None and selection.by.numeric else None
    if by is not None:
        selection.by = swept.candidates({key.name: key for key in selection.varying()})
    x = axis_key(selection)
    others = [key for key in selection.numeric if x is None or key.name != x.name]
    y = by or next(iter(others), None)
    if x is None or y is None:
        there = ", ".join(key.name for key in selection.numeric) or "none"
        raise InputError(
            f"a heatmap needs two swept numbers, and there are: {there}", "try --kind curve or box", key="kind"
        )
    return x, y


def pareto(selection: Selection) -> Chart:
    """Goodput against delay: the mean of each candidate, and the ellipse of one standard deviation of its runs.

    K. Winstein, H. Balakrishnan, TCP ex Machina, 2013: "the 1-sigma elliptic contour of the maximum-likelihood 2D
    Gaussian distribution". The axis of delays is reversed: up and to the right is better.
    """
    metric = _metric(selection)
    asked = selection.request.x
    delay = selection.metric(asked, "x") if asked else next(iter(filter(selection.has, DELAYS)), None)
    if delay is None:
        raise InputError("no run has a delay", "choose what stands on the x axis with --x METRIC", key="x")
    panels = []
    for title, points in selection.panels():
        runs = {
            label: [s.metrics for s in samples if metric in s.metrics and delay in s.metrics]
            for label, samples in selection.samples(points).items()
        }
        panels.append((title, {label: own for label, own in runs.items() if own}))
    xs, ys = ([m[name] for _, p in panels for own in p.values() for m in own] for name in (delay, metric))
    across, x = _scale(delay, xs)
    up, y = _scale(metric, ys)
    reverse = _worse_when_more(delay)
    return Chart(
        "",
        replace(x, reversed=reverse, low=None, high=None),
        replace(y, low=None, high=None),
        tuple(
            Panel(
                title,
                clouds=tuple(
                    _cloud(label, [m[delay] * across for m in own], [m[metric] * up for m in own], x.log, y.log)
                    for label, own in runs.items()
                ),
            )
            for title, runs in panels
        ),
        selection.looks,
        free=True,
    )


def _worse_when_more(metric: str) -> bool:
    return metric.endswith(("_s", "_percent", "_slowdown")) or metric in ("timeouts", "loss_events", "loss_event_rate")


def _cloud(label: str, x: list[float], y: list[float], log_x: bool, log_y: bool) -> Cloud:
    mean = (math.fsum(x) / len(x), math.fsum(y) / len(y))
    return Cloud(label, tuple(x), tuple(y), mean, _ellipse(x, y, log_x, log_y))


def _ellipse(x: list[float], y: list[float], log_x: bool, log_y: bool) -> tuple[tuple[float, float], ...]:
    """The outline of one standard deviation, in logarithms on a logarithmic axis; nothing of runs that are the same."""
    if len(x) < _LEAST or (log_x and min(x) <= 0) or (log_y and min(y) <= 0):
        return ()
    plane = np.array([np.log10(x) if log_x else x, np.log10(y) if log_y else y], dtype=float)
    variances, axes = np.linalg.eigh(np.cov(plane, ddof=0))
    if not variances.max() > 0:
        return ()
    turn = np.linspace(0, 2 * np.pi, _CORNERS, endpoint=False)
    radii = np.sqrt(np.clip(variances, 0, None))
    points = plane.mean(axis=1)[:, None] + axes @ (radii[:, None] * np.array([np.cos(turn), np.sin(turn)]))
    ends = [10**row if log else row for row, log in zip(points, (log_x, log_y), strict=True)]
    return tuple((float(a), float(b)) for a, b in zip(*ends, strict=True))


def metrics_of(selection: Selection) -> list[str]:
    """The metrics that the runs have."""
    return [name for name in KNOWN if selection.has(name)]
