"""Figures of what runs came to: curves over a swept value, boxes, grids, and ellipses in a plane of two metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ackclock.drawing import averages, defaults, quantities, swept, undone
from ackclock.drawing.averages import Sample
from ackclock.drawing.chart import Box, Chart, Cloud, Curve, Grid, Panel, Scale
from ackclock.drawing.means import Found
from ackclock.drawing.remarks import Remark
from ackclock.drawing.selection import Selection
from ackclock.drawing.swept import Key
from ackclock.errors import InputError
from ackclock.results.single_runs import KNOWN
from ackclock.results.summary import GROUP_METRICS

DELAYS = ("p95_delay_s", "p95_queue_delay_s", "mean_queue_delay_s", "mean_rtt_s")
"""What the delay of a candidate is, the first that the runs have."""
REVERSED = ", reversed"
"""What the name of an axis ends with that runs backwards."""
_LEAST = 3  # runs that an ellipse needs
_CORNERS = 72
_SPARE = 1.02
_SPARE_OPEN = 1.1  # of the largest value, above which intervals without an end go on
_NEAR_ONE, _LEAST_ROOM = 0.5, 0.04
_LEAST_COLOURS = 0.25  # of the largest value, or of all that a share can be: what all colours stand for at least
_UNEVEN = 20
_MOST_GRIDS = 12

Place = tuple[float, Found]


def _metric(selection: Selection, *, share: bool = True) -> str:
    names = selection.request.y or (defaults.metric(selection, share=share),)
    if len(names) > 1:
        raise InputError("only kinds over time draw several of --y", "give one metric", key="y")
    return selection.metric(names[0])


def _said(selection: Selection, metric: str, *others: str) -> None:
    """Say what a metric is the mean of, and what is to be known of it."""
    selection.averaged(metric, *others)
    defaults.beyond_the_line(selection, metric)
    for name in (metric, *others):
        undone.said(selection, name)
        undone.pages(selection, name)


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
        raise InputError("a curve needs a swept number for its x axis, and there is none", "try --kind box", key="kind")
    panels = []
    names = () if key.numeric else tuple(selection.steps(key))
    parts = selection.panels(key)
    _said(selection, metric)
    for title, points in parts:
        lines = []
        for label, samples in selection.samples(points).items():
            steps: dict[float, list[Sample]] = {}
            for sample in samples:
                at = float(names.index(key.texts[sample.point])) if names else (key.numbers or {}).get(sample.point)
                if at is not None:
                    steps.setdefault(at, []).append(sample)
            means = [(at, selection.found(own, metric)) for at, own in sorted(steps.items())]
            lines.append((label, [(at, each) for at, each in means if each is not None]))
        panels.append((title, lines))
    if key.numbers and set(selection.points) - key.numbers.keys():
        left = {key.texts[point] for point in selection.points if point not in key.numbers}
        words = f"{', '.join(sorted(left))} of {key.short} is no number and has no place on the axis"
        selection.remarks.append(Remark(words))
    every = [each for _, lines in panels for _, own in lines for _, each in own]
    y = _with_intervals(selection, metric, _scale(metric, [each.mean for each in every]), every)
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
    if quantities.is_share(metric):
        return by, _of_shares(known, label)
    return by, quantities.heights([value * by for value in known], label)


def _with_intervals(
    selection: Selection, metric: str, scale: tuple[float, Scale], every: Sequence[Found]
) -> tuple[float, Scale]:
    """The axis of some means with what their intervals need: their bounds, the whole of those of shares, and an end."""
    by, axis = scale
    lows, highs = ([end for each in every if (end := getattr(each, side)) is not None] for side in ("low", "high"))
    if not lows:
        return scale
    least, most = quantities.bounds(metric)
    if quantities.is_share(metric):
        axis = _of_shares([*(each.mean for each in every), *lows], axis.label)
    if least in lows or most in highs:
        axis = replace(
            axis,
            low=0.0 if least in lows and not axis.log else axis.low,
            least=least * by if least in lows else None,
            most=most * by if most in highs else None,
        )
        name = quantities.of(metric).name
        selection.remarks.append(Remark(f"intervals without a cap end where {name} can go no farther", news=False))
    if math.inf in highs and not axis.log and axis.high is None:
        axis = replace(axis, high=by * _SPARE_OPEN * max(end for end in _ends(every) if math.isfinite(end)))
    return by, axis


def _ends(every: Sequence[Found]) -> list[float]:
    return [end for each in every for end in (each.mean, each.low, each.high) if end is not None]


def _of_shares(known: Sequence[float], label: str) -> Scale:
    """An axis that ends at 1, from zero unless all values are near it: then from where they are told apart."""
    least = min(known, default=0.0)
    if least < _NEAR_ONE or max(known) > 1:
        return Scale(label, low=0.0, high=_SPARE)
    room = max(1 - least, _LEAST_ROOM)
    return Scale(label, low=1 - 1.15 * room, high=1 + 0.05 * room)


def box(selection: Selection) -> Chart:
    """The runs of each candidate, and their mean."""
    metric = _metric(selection)
    panels = [(title, selection.samples(points)) for title, points in selection.panels()]
    _said(selection, metric)
    labels = list(dict.fromkeys(label for _, parts in panels for label in parts))
    drawn = [value for _, parts in panels for own in parts.values() for value in selection.values(own, metric)]
    by, scale = _scale(metric, drawn)
    made = []
    for title, parts in panels:
        boxes = []
        for label, own in parts.items():
            each = selection.found(own, metric)
            if each is not None:
                boxes.append(_box(label, float(labels.index(label)), each, by))
        made.append(Panel(title, boxes=tuple(boxes)))
    return Chart("", scale, Scale("", ticks=tuple(labels)), tuple(made), selection.looks)


def _box(label: str, at: float, each: Found, by: float) -> Box:
    """The runs of a candidate. An interval that has no end is none."""
    known = all(end is not None and math.isfinite(end) for end in (each.low, each.high))
    ends = [end * by if known and end is not None else None for end in (each.low, each.high)]
    return Box(label, at, tuple(value * by for value in each.values), each.mean * by, *ends)


def heatmap(selection: Selection) -> Chart:
    """The mean of a metric over two swept keys, a panel for each candidate."""
    metric = _metric(selection)
    x, y = _two(selection)
    columns, rows = selection.steps(x), selection.steps(y)
    (along, x_label), (up, y_label) = x.named(columns), y.named(rows)
    panels, every = [], []
    parts = selection.panels(x, y, most=max(1, _MOST_GRIDS // _candidates(selection)))
    _said(selection, metric)
    for title, points in parts:
        for label, samples in selection.samples(points).items():
            cells = {}
            for row in rows:
                for column in columns:
                    own = [s for s in samples if (x.texts[s.point], y.texts[s.point]) == (column, row)]
                    each = selection.found(own, metric)
                    cells[column, row] = math.nan if each is None else each.mean
            if not all(map(math.isnan, cells.values())):
                every += [value for value in cells.values() if math.isfinite(value)]
                panels.append((", ".join(part for part in (label, title) if part), cells))
    by, scale = _scale(metric, every)
    made = tuple(
        Panel(
            title,
            grid=Grid(along, up, tuple(tuple(cells[c, r] * by for c in columns) for r in rows)),
        )
        for title, cells in panels
    )
    if len(made) > _MOST_GRIDS:
        raise InputError(f"{len(made)} panels are too many for a figure", "choose some with --where", key="kind")
    low, high = _colours([value * by for value in every], share=quantities.is_share(metric))
    return Chart("", Scale(x_label), Scale(y_label), made, z=replace(scale, low=low, high=high, log=_uneven(every)))


def _colours(drawn: Sequence[float], *, share: bool) -> tuple[float | None, float | None]:
    """The ends of the colours: of the values, and around those that differ little, so that they look alike.

    Shares do not go beyond 1, and nothing beyond 0 that has no value there.
    """
    if not drawn:
        return None, None
    low, high = min(drawn), max(drawn)
    missing = max(0.0, _LEAST_COLOURS * (1.0 if share else max(abs(low), abs(high))) - (high - low))
    least, most = low - missing / 2, high + missing / 2
    if share and most > max(high, 1.0):
        least, most = least - (most - max(high, 1.0)), max(high, 1.0)
    if least < 0 <= low:
        least, most = 0.0, most - least
    return least, most


def _candidates(selection: Selection) -> int:
    """Of how many there is a grid each."""
    return max(1, len(selection.samples(selection.points)))


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
    Gaussian distribution". Axes of what is better when less are reversed: up and to the right is better.
    """
    metric = _metric(selection, share=False)
    asked = selection.request.x
    delay = selection.metric(asked, "x") if asked else next(iter(filter(selection.has, DELAYS)), None)
    if delay is None:
        raise InputError("no run has a delay", "choose what stands on the x axis with --x METRIC", key="x")
    panels = []
    parts = selection.panels()
    _said(selection, metric, delay)
    for title, points in parts:
        runs = {label: selection.rows(own, delay, metric) for label, own in selection.samples(points).items()}
        panels.append((title, {label: own for label, own in runs.items() if own}))
    # Panels have axes of their own: logarithmic where the values of one span decades.
    (across, x), (up, y) = (
        _free(name, [[row[at] for own in p.values() for row in own] for _, p in panels])
        for at, name in ((0, delay), (1, metric))
    )
    return Chart(
        "",
        _better_at_the_end(delay, x),
        _better_at_the_end(metric, y),
        tuple(
            Panel(
                title,
                clouds=tuple(
                    _cloud(label, [a * across for a, _ in own], [b * up for _, b in own], x.log, y.log)
                    for label, own in runs.items()
                ),
            )
            for title, runs in panels
        ),
        selection.looks,
        free=True,
    )


def _free(metric: str, panels: Sequence[Sequence[float]]) -> tuple[float, Scale]:
    """The factor and the axis of a metric where each panel has its own ends."""
    by, label = quantities.of(metric).scaled([value for own in panels for value in own])
    log = any(quantities.heights(own, label).log for own in panels)
    return by, Scale(label, log=log and all(value > 0 for own in panels for value in own))


def _better_at_the_end(metric: str, scale: Scale) -> Scale:
    """An axis on which right, or up, is better."""
    return replace(scale, reversed=True, label=scale.label + REVERSED) if _worse_when_more(metric) else scale


def _worse_when_more(metric: str) -> bool:
    return metric.endswith(("_s", "_percent", "_slowdown")) or metric in ("timeouts", "loss_events", "loss_event_rate")


def _cloud(label: str, x: list[float], y: list[float], log_x: bool, log_y: bool) -> Cloud:
    # The centre of the ellipse: on a logarithmic axis the mean of logarithms.
    mean = (averages.mean(x, geometric=log_x), averages.mean(y, geometric=log_y))
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
    return [name for name in (GROUP_METRICS if selection.grouped else KNOWN) if selection.has(name)]
