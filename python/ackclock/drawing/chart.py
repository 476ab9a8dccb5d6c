"""What a figure of curves is made of: panels with the same axes, and lines over time or over a swept value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Curve:
    """A line. `low` and `high` are the ends of the intervals, where there are any."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()

    @property
    def known(self) -> bool:
        """Whether there is anything to draw."""
        return any(math.isfinite(y) for y in self.y)


@dataclass(frozen=True, slots=True)
class Straight:
    """A straight line at an x or a y, such as a number of a paper."""

    label: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of axes."""

    title: str
    curves: tuple[Curve, ...]
    marks: tuple[Straight, ...] = ()


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis. `ticks` are the names of 0, 1, 2, ... where the values are no numbers."""

    label: str
    log: bool = False
    low: float | None = None
    high: float | None = None
    ticks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure of several panels with the same axes."""

    title: str
    x: Scale
    y: Scale
    panels: tuple[Panel, ...] = field(default=())

    @property
    def curves(self) -> list[Curve]:
        """The lines of all panels that have something to draw."""
        return [curve for panel in self.panels for curve in panel.curves if curve.known]

    @property
    def labels(self) -> list[str]:
        """Their labels, each once."""
        return list(dict.fromkeys(curve.label for curve in self.curves))

    @property
    def marks(self) -> list[str]:
        """The labels of the straight lines, each once."""
        return list(dict.fromkeys(mark.label for panel in self.panels for mark in panel.marks))
