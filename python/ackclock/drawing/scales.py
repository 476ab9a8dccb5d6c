"""The axes of a figure of curves: how far they go, their ticks, and which curves stand beside their places."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ackclock.drawing.chart import Chart
from ackclock.drawing.layers import names, turned
from ackclock.drawing.layout import NAMES, slanted
from ackclock.drawing.ticks import log_ticks
from ackclock.drawing.wrapping import ENTRY, inches, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ackclock.drawing.intervals import Ends

FEW = 15
"""Points of a line that have an interval each; of more it is a band."""

_TICKS = 8  # values of a logarithmic axis that are each named
_BEYOND = 10  # a bar goes this many times farther than the points on a logarithmic axis, and no more
_SHARE = 0.6  # of the room between two names, for all curves
# How far a curve may stand from its place, so that nobody reads another x there: docs/studies.md.
_ASIDE = 0.015  # of the width of the axis
_BETWEEN = 1 / 6  # of the distance between neighbouring places
_MORE = math.log10(1.04)  # decades, of a logarithmic axis: 4 % of x
_MARGIN = 0.05
_LEAST_SPAN = 0.02  # of the largest value on a linear axis
_ALONE = 0.3  # decades on both sides of a single place, or the share of it


class Places:
    """The x axis. Curves that have intervals, or names for places, stand side by side.

    Names have no values between them, so curves may stand anywhere near. From a number they are moved very little.
    """

    def __init__(self, chart: Chart) -> None:
        self._scale = chart.x
        self._labels = chart.labels
        self._log = chart.x.log
        self.places = sorted({x for x in _widths(chart) if x > 0 or not chart.x.log})
        over_time = any(panel.y is not None for panel in chart.panels)
        plain = bool(chart.curves) and not any(curve.steps or curve.area or curve.bare for curve in chart.curves)
        beside = bool(chart.x.ticks) or (plain and not over_time)
        self._step = self._apart() if beside and len(self.places) <= FEW else 0.0

    @property
    def moved(self) -> bool:
        """Whether curves stand beside their places, so that none hides another altogether."""
        return self._step > 0 and len(self._labels) > 1

    @property
    def room(self) -> float:
        """How wide a bar of a curve at a place can be: what is between neighbouring curves, or much of a place."""
        return self._step or _SHARE

    def of(self, label: str, x: Sequence[float]) -> list[float]:
        """Where the points of a curve stand."""
        if not self._step:
            return list(x)
        aside = (self._labels.index(label) - (len(self._labels) - 1) / 2) * self._step
        return [self._value(self._place(each) + aside) if each > 0 or not self._log else math.nan for each in x]

    def set(self, panels: Sequence[Axes], width: float) -> None:
        """Set up the axis that panels share, each about so many inches wide."""
        axes = panels[0]
        if self._scale.ticks:
            axes.set_xticks(range(len(self._scale.ticks)), self._scale.ticks)
            axes.set_xlim(-0.5, len(self._scale.ticks) - 0.5)
            for each in panels:
                turned(each, slanted(self._scale.ticks, width))
            return
        if self._log and self.places:
            low, high = self._ends()
            axes.set_xscale("log", nonpositive="mask")
            _named(axes, "x", self.places if self._fit(self.places, width) else self._thin(log_ticks(low, high), width))
            axes.set_xlim(low, high)
        elif self._step and len(self.places) == 1:
            axes.set_xticks(self.places)
            (only,), (low, high) = self.places, axes.get_xlim()  # which are the ends of what little was moved
            axes.set_xlim(min(low, only - self._around()), max(high, only + self._around()))
        if (self._scale.low, self._scale.high) != (None, None):
            axes.set_xlim(self._scale.low, self._scale.high)
        if self._scale.reversed:
            axes.xaxis.set_inverted(True)

    def _place(self, x: float) -> float:
        return math.log10(x) if self._log else x

    def _value(self, place: float) -> float:
        return 10**place if self._log else place

    def _span(self) -> float:
        return self._place(self.places[-1]) - self._place(self.places[0])

    def _apart(self) -> float:
        """How far neighbouring curves are from each other."""
        count = len(self._labels)
        if not self.places:
            return 0.0
        gap = min((self._place(b) - self._place(a) for a, b in itertools.pairwise(self.places)), default=math.inf)
        if self._scale.ticks:
            return _SHARE * min(gap, 2 * self._around()) / count
        most = min(_ASIDE * self._width(), _BETWEEN * gap, _MORE if self._log else math.inf)
        return 2 * most / max(count - 1, 1)

    def _width(self) -> float:
        """How wide the axis is at least."""
        low, high = self._scale.low, self._scale.high
        if low is not None and high is not None and (low > 0 or not self._log):
            return self._place(high) - self._place(low)
        return self._span() or 2 * self._around()

    def _around(self) -> float:
        """What is on each side of a single place."""
        if self._scale.ticks or not self.places:
            return 0.5
        return _ALONE if self._log else _ALONE * abs(self.places[0]) or 1.0

    def _ends(self) -> Ends:
        margin = _MARGIN * self._span() if len(self.places) > 1 else self._around()
        margin += self._step * len(self._labels) / 2
        return self._value(self._place(self.places[0]) - margin), self._value(self._place(self.places[-1]) + margin)

    def _fit(self, places: Sequence[float], width: float) -> bool:
        """Whether each place can have its name."""
        if len(places) > _TICKS:
            return False
        longest = max(inches(plain(place), ENTRY) for place in places)
        gaps = [self._place(b) - self._place(a) for a, b in itertools.pairwise(places)]
        low, high = (self._place(end) for end in self._ends())
        return not gaps or min(gaps) / (high - low) * 0.95 * width > longest

    def _thin(self, ticks: Sequence[float], width: float) -> Sequence[float]:
        """Every so many of some ticks, that their names do not touch."""
        every = next(step for step in range(1, len(ticks) + 2) if self._fit(ticks[::step], width))
        return ticks[::every]


def widened(axes: Axes, chart: Chart) -> None:
    """Linear axes of measured values span 2 % of what they show at least: less would make much of nothing."""
    y_is_free = not chart.y.ticks and (chart.y.low, chart.y.high) == (None, None)
    # The x axis has measured values where it points to what is better.
    for axis, free in ((axes.yaxis, y_is_free), (axes.xaxis, chart.x.reversed)):
        if not free or axis.get_scale() != "linear":
            continue
        low, high = sorted(axis.get_view_interval())
        missing = _LEAST_SPAN * max(abs(low), abs(high)) - (high - low)
        if missing > 0:
            left, right = low - missing / 2, high + missing / 2
            if axis.get_inverted():
                left, right = right, left
            axis.set_view_interval(left, right, ignore=True)


class Heights:
    """The y axis. `ends` is how far intervals are drawn."""

    def __init__(self, chart: Chart) -> None:
        self._scale = chart.y
        self.bounds = chart.y.least, chart.y.most
        every = [y for y in _heights(chart) if math.isfinite(y)]
        values = [y for y in every if y > 0]
        self.log = chart.y.log and bool(values)
        known = values if self.log else every
        self._span = (self._place(min(known)), self._place(max(known))) if known else (0.0, 0.0)
        self.ends = self._log_ends(chart, values) if self.log else self._given(-math.inf, math.inf)

    def drawn(self, y: Sequence[float]) -> list[float]:
        """The values of a line: a logarithmic one has a gap where there is no logarithm."""
        return [value if value > 0 or not self.log else math.nan for value in y]

    def below(self, x: Sequence[float], y: Sequence[float]) -> list[float]:
        """Where the points are that lie below every logarithmic axis."""
        return [at for at, value in zip(x, y, strict=True) if self.log and value <= 0]

    def apart(self, one: float, two: float) -> float:
        """How far two values are from each other, as a share of what all of them span; infinite without a place."""
        if not all(math.isfinite(y) and (y > 0 or not self.log) for y in (one, two)):
            return math.inf
        low, high = self._span
        difference = abs(self._place(one) - self._place(two))
        return difference / (high - low) if high > low else 0.0

    def set(self, axes: Axes) -> None:
        """Set up the axis, once everything is drawn: it ends the automatic scaling."""
        if self._scale.ticks:
            names(axes, self._scale.ticks, NAMES)
        elif self.log:
            axes.set_yscale("log", nonpositive="mask")
            _named(axes, "y", log_ticks(*self.ends))
            axes.set_ylim(*self.ends)
        elif (self._scale.low, self._scale.high) != (None, None):
            axes.set_ylim(self._scale.low, self._scale.high)
        if self._scale.reversed:
            axes.yaxis.set_inverted(True)

    def _place(self, y: float) -> float:
        return math.log10(y) if self.log else y

    def _log_ends(self, chart: Chart, values: list[float]) -> Ends:
        marks = [mark.y for panel in chart.panels for mark in panel.marks if mark.y is not None and mark.y > 0]
        lows = [end for curve in chart.curves for end in curve.low if 0 < end < math.inf]
        highs = [end for curve in chart.curves for end in curve.high if 0 < end < math.inf]
        low = max(min([*values, *lows]), min(values) / _BEYOND)
        high = min(max([*values, *highs]), max(values) * _BEYOND)
        low, high = min([low, *marks]), max([high, *marks])
        margin = max((high / low) ** _MARGIN, 1.1)
        return self._given(low / margin, high * margin)

    def _given(self, low: float, high: float) -> Ends:
        """The ends, as far as the figure does not say them."""
        own = [
            end if end is not None and (end > 0 or not self.log) else None
            for end in (self._scale.low, self._scale.high)
        ]
        return (low if own[0] is None else own[0]), (high if own[1] is None else own[1])


def _widths(chart: Chart) -> Iterator[float]:
    """Every x that is drawn."""
    for panel in chart.panels:
        yield from (x for curve in panel.curves if curve.known for x in curve.x)
        yield from (x for cloud in panel.clouds for x in (*cloud.x, *(x for x, _ in cloud.outline)))
        yield from (x for box in panel.boxes for x in box.values)


def _heights(chart: Chart) -> Iterator[float]:
    """Every y that is drawn, without the ends of intervals."""
    for panel in chart.panels:
        yield from (y for curve in panel.curves if curve.known for y in (curve.high if curve.area else curve.y))
        yield from (y for cloud in panel.clouds for y in (*cloud.y, *(y for _, y in cloud.outline)))


def _named(axes: Axes, which: str, values: Sequence[float]) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(lambda value, _: plain(value))
    axis.set_ticks(values)
    axis.set_ticks([], minor=True)
