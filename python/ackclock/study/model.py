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
    """The paper. `year` is text, because some are not certain; `note` says what is not known about it.

    `original_title` and `original_authors` are in the paper's own language and script, where that is not English;
    `institution` is that of the authors, `published` says where and when, as far as the paper itself tells.
    """

    authors: tuple[str, ...]
    title: str
    year: str
    note: str
    original_authors: tuple[str, ...] = ()
    original_title: str = ""
    institution: str = ""
    published: str = ""

    def __str__(self) -> str:
        original = self.original_title and f"{', '.join(self.original_authors)}: {self.original_title}".lstrip(": ")
        parts = (", ".join(self.authors), self.title, original, self.institution, self.published, self.year)
        return ", ".join(part for part in parts if part)

    @property
    def short(self) -> str:
        """First author, title and year, for a row of a table."""
        first = f"{self.authors[0]} et al." if len(self.authors) > 2 else " and ".join(self.authors)
        return ", ".join(part for part in (first, self.title, self.year) if part)

    def bibtex(self, key: str) -> str:
        """An entry for a bibliography, in the paper's own script where it has one."""
        fields = {
            "author": " and ".join(self.original_authors or self.authors),
            "title": f"{self.original_title} ({self.title})" if self.original_title else self.title,
            "institution": self.institution,
            "howpublished": self.published,
            "year": self.year,
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@misc{{{key},", *lines, "}"])


@dataclass(frozen=True, slots=True)
class Reading:
    """A choice of what the paper leaves open, and why it may be what the authors did.

    `scenarios` has what plays in place of a scenario of the claims, by its id; what it does not name is the same as in
    the first reading, which names none. `values` renames swept values that claims select: the controller
    ``cubic`` of the claims may be another variant here. `found` marks a reading that was chosen because its
    results fit; `price` says what it costs elsewhere.
    """

    id: str
    title: str
    reason: str
    found: bool = False
    price: str = ""
    scenarios: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)


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
class Statement:
    """A statement of the paper in our words, and where the paper has it.

    Either `claims` has the ids of the claims that judge it, or `unjudged` the reason why none does.
    """

    text: str
    where: str
    claims: tuple[str, ...]
    unjudged: str


@dataclass(frozen=True, slots=True)
class Statements:
    """All statements of the paper: :mod:`ackclock.study.statements`.

    `beyond` has the claims that judge none of them, `measured` those that only `measured.py` has.
    """

    statements: tuple[Statement, ...]
    beyond: tuple[str, ...]
    measured: tuple[str, ...]


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
    readings: tuple[Reading, ...] = ()
    """Choices of what the paper leaves open, the first of which is that of the scenarios as they are."""
    statements: Statements | None = None
    """What the paper says, statement by statement; `None` for a study without a file of it."""
