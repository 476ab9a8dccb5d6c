"""What a study declares in its `study.toml`: where it comes from, what is run, which tables and figures are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Where = Mapping[str, str | int | float | bool]
"""Swept values that select runs: ``{"slow_start": "blbe"}``."""

GOODPUT = "goodput"
"""The name of the rate of `delivered`, bit/s of payload, in figures over time."""


@dataclass(frozen=True, slots=True)
class Citation:
    """The paper. `year` is text, because some are not certain; `note` says what is not known about it."""

    authors: tuple[str, ...]
    title: str
    year: str
    note: str

    def __str__(self) -> str:
        return ", ".join(part for part in (" and ".join(self.authors), self.title, self.year) if part)


@dataclass(frozen=True, slots=True)
class Setting:
    """A scenario of a study: a file, or a table of `study.toml`.

    `changes` are made to it as by ``--set``, and those of `quick` besides for a quick run.
    """

    id: str
    title: str
    content: Path | Mapping[str, Any]
    changes: Mapping[str, Any]
    quick: Mapping[str, Any]
    extend: Mapping[str, tuple[str, ...]]
    """Keys whose lists of controllers take another one, by the kind of controller (`study.extension`)."""
    place: str
    """The key of it in `study.toml`, for messages."""
    captured: bool = False
    """Whether each run is written as a capture and analysed: :attr:`ackclock.study.Run.captured`."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Numbers of the paper, or of another simulator: row label, then measure, then the number."""

    label: str
    values: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: a measure of `claims.py`, times `scale`, with so many decimals; its mean or its median."""

    measure: str
    label: str
    scale: float
    digits: int
    median: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, or one for every combination of the swept values named in `each`."""

    label: str
    scenario: str
    where: Where
    each: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    """What swept values are called in labels; references have the values themselves."""


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table: measures of selected runs, beside what others found."""

    id: str
    title: str
    paper: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    references: tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a figure: its label, the factor of its values, whether it is logarithmic, and its ends."""

    label: str
    scale: float
    log: bool
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class SeriesSpec:
    """A line of a figure, or one for every value of the swept key `by`.

    In a figure over time `data` is a series of the first of the selected runs (``cwnd``, ``queue``, ...) or
    ``goodput``, the rate of ``delivered`` over `bin` seconds, of the flow or link `of`. In a sweep it is a measure of
    `claims.py`, over the swept key `over`: its mean, or its median; with `reference`, what that has for it.
    """

    label: str
    scenario: str
    where: Where
    data: str
    of: str
    bin: float
    over: str
    by: str
    panel: str
    median: bool
    reference: Reference | None = None
    steps: Where = field(default_factory=dict)
    """What steps of `over` are called at the axis, names first: only these are drawn. All, if there are none."""
    against: Where = field(default_factory=dict)
    """Swept values of runs that the selected ones are compared with: what is drawn is by which share they are more."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """In place of `data`, and with `against`: measures, and what the share of each counts in their weighted mean."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A straight line across a figure: a number of the paper."""

    label: str
    x: float | None
    y: float | None
    panel: str


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """A figure. `kind` is ``time``, ``sweep`` or ``overlay``.

    `panels` is a swept key that has a panel for each of its values. `bars`: values of a sweep are bars.
    """

    id: str
    title: str
    paper: str
    kind: str
    x: Axis
    y: Axis
    panels: str
    series: tuple[SeriesSpec, ...]
    marks: tuple[Mark, ...]
    bars: bool = False


@dataclass(frozen=True, slots=True)
class Study:
    """Everything a study declares. Its claims and measures are code: :mod:`ackclock.study.code`."""

    name: str
    folder: Path
    title: str
    summary: str
    citation: Citation
    settings: tuple[Setting, ...]
    tables: tuple[TableSpec, ...]
    figures: tuple[FigureSpec, ...]
