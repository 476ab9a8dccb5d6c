"""What a figure says, as data: panels, what is in them, and their axes. Nothing here knows how it is drawn."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ackclock.drawing.shapes import Bundle, BytesOverTime, Map, Schedule


@dataclass(frozen=True, slots=True)
class Curve:
    """A line. `low` and `high` are the ends of the intervals, where there are any.

    `steps`: between two points the value stays, as that of a distribution or a queue does. `area`: what lies between
    `low` and `high` is filled, and no line is drawn. `bare`: without markers. `bars`: each value is a bar from 0.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    steps: bool = field(default=False, kw_only=True)
    area: bool = field(default=False, kw_only=True)
    bare: bool = field(default=False, kw_only=True)
    bars: bool = field(default=False, kw_only=True)

    @property
    def known(self) -> bool:
        """Whether there is anything to draw."""
        return any(math.isfinite(y) for y in self.y)


@dataclass(frozen=True, slots=True)
class Box:
    """The values of some runs at a place of a y axis of names, with their mean and its interval where there is one."""

    label: str
    at: float
    values: Sequence[float]
    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Cloud:
    """Runs in a plane of two metrics, their mean, and the points of an ellipse around it, where there is one."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    mean: tuple[float, float]
    outline: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, slots=True)
class Grid:
    """A value for each pair of names: rows from below, columns from the left. Not a number where there is none."""

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Straight:
    """A straight line at an x or a y, such as a number of a paper."""

    label: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis. `ticks` are the names of 0, 1, 2, ... where the values are no numbers; `reversed`: less is right, or up.

    `least` and `most` are what no value can pass, where intervals end there.
    """

    label: str
    log: bool = False
    low: float | None = None
    high: float | None = None
    ticks: tuple[str, ...] = ()
    reversed: bool = False
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of axes. `y` is its own scale, where not all panels have the same."""

    title: str
    curves: tuple[Curve, ...] = ()
    marks: tuple[Straight, ...] = ()
    boxes: tuple[Box, ...] = ()
    clouds: tuple[Cloud, ...] = ()
    grid: Grid | None = None
    map: Map | None = None
    schedule: Schedule | None = None
    sequence: BytesOverTime | None = None
    y: Scale | None = None
    before: float = 0.0
    """Up to this x is warm-up, which is shaded."""

    @property
    def labels(self) -> list[str]:
        """What has something to draw."""
        parts: Iterable[Curve | Box | Cloud | Bundle] = (
            *(each for each in self.curves if each.known),
            *self.boxes,
            *self.clouds,
            *(self.sequence.bundles if self.sequence else ()),
        )
        return [each.label for each in parts]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        others = (self.grid, self.map, self.schedule)
        return not self.labels and others == (None, None, None) and (self.sequence is None or self.sequence.empty)


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure of several panels with the same axes, or with the same x axis and a y axis for each row.

    `looks` are the algorithms whose colour and marker labels have, where the label does not say it. `across`: so many
    panels stand in a row, where that is not left to the width of the figure. `z` is the scale of grids. `free`: each
    panel has its own ends of the axes. `note`: what of the data it shows, in small letters above the panels.
    `legend`: what labels are values of.
    """

    title: str
    x: Scale
    y: Scale
    panels: tuple[Panel, ...] = field(default=())
    looks: Mapping[str, str] = field(default_factory=dict)
    across: int | None = None
    z: Scale | None = None
    free: bool = False
    note: str = ""
    legend: str = ""

    @property
    def curves(self) -> list[Curve]:
        """The lines of all panels that have something to draw."""
        return [curve for panel in self.panels for curve in panel.curves if curve.known]

    @property
    def labels(self) -> list[str]:
        """The labels of what is drawn, each once."""
        return list(dict.fromkeys(label for panel in self.panels for label in panel.labels))

    @property
    def marks(self) -> list[str]:
        """The labels of the straight lines, each once."""
        return list(dict.fromkeys(mark.label for panel in self.panels for mark in panel.marks))

    def row(self, panel: Panel) -> Chart:
        """The chart of the panels that have the y axis of `panel`."""
        if panel.y is None:
            return self
        alike = tuple(each for each in self.panels if each.y == panel.y)
        return dataclasses.replace(self, y=panel.y, panels=alike)

    def to_json(self, digits: int = 6) -> dict[str, Any]:
        """Everything it says as plain values, numbers rounded to so many significant digits, for tests and pages."""
        found: dict[str, Any] = _plain(self, digits)
        return found


def _plain(value: Any, digits: int) -> Any:
    """Without what is left at its default, which would only be long."""
    if dataclasses.is_dataclass(value):
        digits = getattr(value, "DIGITS", digits)
        fields = [(each, getattr(value, each.name)) for each in dataclasses.fields(value)]
        said = [(each.name, own) for each, own in fields if own != each.default and own not in ("", (), {})]
        return {name: _plain(own, digits) for name, own in said}
    if isinstance(value, Mapping):
        return {str(key): _plain(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, digits) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else str(value)
    return value
