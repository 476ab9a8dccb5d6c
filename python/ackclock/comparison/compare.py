"""The comparison of two results, or of values of a swept key within one."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ackclock.comparison import agreement as agreements
from ackclock.comparison import bounds, differences, margins, names, page, pairing, rows, text
from ackclock.comparison.agreement import Ranks
from ackclock.comparison.margins import Margin
from ackclock.comparison.pairing import Side
from ackclock.comparison.rows import Measured, Row
from ackclock.comparison.values import chosen
from ackclock.errors import InputError
from ackclock.results import excess, incomplete, replications, unfinished, validity
from ackclock.results.live import LIVE
from ackclock.results.result import Result
from ackclock.results.unfinished import Counted

_NAMED = 6  # metrics in a note; of more their number is told

Given = Result | str | os.PathLike[str]

_SCHEMA = {
    "n": pl.UInt32, "paired": pl.Boolean, "mean_a": pl.Float64, "mean_b": pl.Float64, "value": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "percent": pl.Float64, "d": pl.Float64, "p": pl.Float64,
    "p_holm": pl.Float64, "margin": pl.Float64, "p_margin": pl.Float64, "p_margin_holm": pl.Float64,
    "equivalent": pl.Boolean, "low_holm": pl.Float64, "high_holm": pl.Float64,
    "more_a": pl.Boolean, "more_b": pl.Boolean,
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Comparison:
    """What :func:`compare` found. `notes` say what was left out and what weakens it; `ranks` only of an agreement."""

    a: str
    b: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    ranks: tuple[Ranks, ...] = ()
    agreement: bool = False
    family: int = 0
    """How many tests the p-values are adjusted for; none in an agreement."""

    @property
    def frame(self) -> pl.DataFrame:
        """A row per point, pair of values and metric (docs/compare.md has the columns)."""
        flat = [{**row.params, **_flat(row)} for row in self.rows]
        return pl.DataFrame(flat, schema_overrides=_SCHEMA, infer_schema_length=None)

    @property
    def agrees(self) -> bool | None:
        """Whether every row is shown to agree; ``None`` if that was not asked for."""
        return all(row.equivalent for row in self.rows) if self.agreement else None

    def to_json(self) -> dict[str, Any]:
        """Everything, as the command line's ``--json`` prints it."""
        answer: dict[str, Any] = {
            "a": self.a,
            "b": self.b,
            "family": self.family,
            "rows": [{"params": dict(row.params), **_flat(row)} for row in self.rows],
            "notes": list(self.notes),
        }
        if self.agreement:
            answer["agrees"] = self.agrees
            answer["ranks"] = [dataclasses.asdict(item) for item in self.ranks]
        return answer

    def __repr__(self) -> str:
        counted = ", ".join(f"{count} {word}" for word, count in Counter(row.verdict for row in self.rows).items())
        return f"Comparison({self.b} against {self.a}: {counted})"

    def _repr_html_(self) -> str:
        lines = [
            text.heading(self.a, self.b),
            *self.notes,
            *text.footing(self.rows, self.family, agreement=self.agreement),
        ]
        return page.of(self.rows, self.ranks, lines)


def compare(
    a: Given,
    b: Given | None = None,
    *,
    by: str | None = None,
    base: str | None = None,
    metrics: Iterable[str] | None = None,
    margin: Margin | Iterable[str] | None = None,
    agreement: bool = False,
    allow_late: bool = False,
    instead: Mapping[str, str] | None = None,
) -> Comparison:
    """B against A, metric by metric, over runs with the same random numbers.

    Parameters
    ----------
    a, b: results, or directories written by ``ackclock run --out``. Without `b`, values of `by` within `a`.
    by: a swept key, or a part of its name that no other has, as ``"queue"``. Within one result every other value is
        compared with `base`; between two it need not match.
    base: the value of `by` to compare with; by default the first.
    metrics: names of metrics; by default all that both have.
    margin: up to where a difference does not matter, as a share of A: 0.05, ``"5%"`` or ``{"goodput_bps": "5%"}``.
        Metrics with a margin are also tested for equivalence.
    allow_late: use runs on a real kernel that are not valid, too.
    agreement: ask whether two engines agree: equivalence of goodput (5 %) and RTT (10 %), and of the order of points.
    instead: for a metric the one that is compared in its place at points where one side has no value of it.

    Raises :class:`ackclock.InputError` if there is nothing to compare, or but one run of each.
    """
    wanted, margins_of = _asked(metrics, margin, agreement=agreement)
    others = {name: other for name, other in (instead or {}).items() if name in wanted and other not in wanted}
    for name, other in others.items():
        margins_of[other] = margins_of[name]
    first = _side(a, "A" if b is not None else "the result", allow_late=allow_late)
    notes: list[str] = []
    if b is None:
        if by is None:
            problem = "one result has nothing to be compared with"
            swept = ", ".join(first.keys)
            key = f"or a swept key: --by KEY (swept: {swept})" if swept else "as nothing is swept in it but the seed"
            remedy = f"give a second, {key if first.result.params else 'as nothing is swept in it'}"
            raise InputError(problem, remedy, source=first.name)
        sides = [first]
    else:
        if base is not None:
            raise InputError("is of one result", "leave it out, or give one result and --by KEY", key="base")
        sides = [first, _side(b, "B", allow_late=allow_late)]
    if by is not None:
        own = first.result.params if b is None else [key for side in sides for key in side.keys]
        by = names.key(by, own, first.name if b is None else None)
    matches, gaps = pairing.matches(sides, by, None if base is None else str(base), notes)
    notes += [
        note for side in sides for note in incomplete.notes(side.result.manifest, side.name if b is not None else "")
    ]
    points = [point for side in sides for point in side.result.points]
    if same := [point.n for point in points if point.repeated]:
        captures = all(side.captured for side in sides)
        said = replications.note(len(same), len(points), max(same), captured=captures, whose=_fixed(sides))
        notes.append(said)
    if len(sides) > 1 and (note := differences.note(sides[0], sides[1], by, matches, agreement=agreement)):
        notes.append(note)
    known = unfinished.compared([side.result for side in sides], [(each.runs_a, each.runs_b) for each in matches])
    found = _measured(matches, known, wanted, margins_of, others)
    notes += _replaced(found, others, len(matches))
    if not set(excess.METRICS).isdisjoint(item.row.metric for item in found if item.row.value is not None):
        for side, runs in zip(sides, _compared(matches, several=len(sides) > 1), strict=True):
            if note := excess.note(side.result, runs):
                notes.append(f"{side.name}: {note}" if len(sides) > 1 else note)
    if agreement:
        there = [item.row for item in found]
        notes += _without_value(len(matches), wanted, there)
        there += [rows.missing(gap, metric, margins_of[metric]) for gap in gaps for metric in wanted]
    else:
        notes += _on_one_side(item.row for item in found)
        found = [item for item in found if item.row.value is not None]
        there = [item.row for item in found]
    notes += _left_out(found)
    notes += bounds.notes(matches, known[0], known[-1], {row.metric for row in there if row.value is not None})
    if not there:
        raise InputError("no metric has a value on both sides", f"of these: {', '.join(wanted[:6])}", key="metric")
    if all(row.n < 2 for row in there if row.value is not None) and any(row.value is not None for row in there):
        problem = "one replication has no spread, so that nothing can be said of a difference"
        remedy = "run with --replications 10"
        if all(side.engine == LIVE for side in sides):
            problem, remedy = problem.replace("replication", "test of each"), "make several"
        if all(side.captured for side in sides):
            problem = "one capture of each has no spread, so that nothing can be said of a difference"
            remedy = "analyse several captures of each label"
        raise InputError(problem, remedy, source=", ".join(side.name for side in sides))
    labels = (there[0].a, ", ".join(dict.fromkeys(row.b for row in there)))
    if agreement:
        decided = [bounds.judged(row) for row in agreements.judged(there)]
        return Comparison(*labels, tuple(decided), tuple(notes), tuple(agreements.ranks(decided)), agreement=True)
    numbers = [item.numbers for item in found]
    tests = rows.family(there, numbers)
    decided = [bounds.judged(row) for row in rows.with_intervals(rows.judged(there, numbers), found, tests)]
    return Comparison(*labels, tuple(decided), tuple(notes), family=tests)


def _fixed(sides: Sequence[Side]) -> str:
    """The one of two results of which every point is one run over and over, and none of the other's is."""
    kinds = [{bool(point.repeated) for point in side.result.points} for side in sides]
    if kinds == [{True}, {False}]:
        return "A"
    return "B" if kinds == [{False}, {True}] else ""


def _asked(
    metrics: Iterable[str] | None, margin: Margin | Iterable[str] | None, *, agreement: bool
) -> tuple[tuple[str, ...], dict[str, float | None]]:
    """The metrics to compare, and the margin of each."""
    given = margins.read(margin)
    asked = list(metrics) if metrics is not None else None
    if agreement and asked is None:
        asked = list(dict.fromkeys([*margins.AGREEMENT, *(name for name in given if name)]))
    wanted = chosen(asked)
    found = {
        name: given.get(name, given.get(None, margins.AGREEMENT.get(name) if agreement else None)) for name in wanted
    }
    if agreement and (bare := [name for name in wanted if found[name] is None]):
        raise InputError(f"'{bare[0]}' has no margin to agree within", f"give one: {bare[0]}=5%", key="margin")
    return wanted, found


def _side(given: Given, name: str, *, allow_late: bool) -> Side:
    return Side(name if isinstance(given, Result) else str(given), validity.given(given, allow_late=allow_late))


def _compared(matches: Sequence[pairing.Match], *, several: bool) -> list[set[int]]:
    """The runs that are compared, of each result."""
    runs = [
        {run for match in matches for run in match.runs_a},
        {run for match in matches for run in match.runs_b},
    ]
    return runs if several else [runs[0] | runs[1]]


def _measured(
    matches: Sequence[pairing.Match],
    values: Sequence[Counted],
    wanted: Sequence[str],
    margins_of: dict[str, float | None],
    instead: Mapping[str, str],
) -> list[Measured]:
    """The rows, not yet judged. A metric that neither side has a value of has none."""
    ours, theirs = values[0], values[-1]

    def row(match: pairing.Match, metric: str) -> Measured | None:
        found = rows.measure(match, metric, ours.runs, theirs.runs, margins_of[metric])
        if metric not in instead or (found is not None and found.row.value is not None):
            return found
        other = row(match, instead[metric])
        return found if other is None or other.row.value is None else other

    every = ((match, row(match, metric)) for match in matches for metric in wanted)
    return [bounds.marked(item, match, ours, theirs) for match, item in every if item is not None]


def _replaced(found: Iterable[Measured], instead: Mapping[str, str], points: int) -> list[str]:
    """The metrics that another one is compared in place of."""
    taken = Counter(item.row.metric for item in found)
    return [
        f"{other} in place of {name}, which has no value"
        + (f" at {taken[other]} of {points} points" if points > 1 else "")
        + (": fewer than 20 transfers are done in some run" if name == "p95_fct_s" else "")
        for name, other in instead.items()
        if taken[other]
    ]


def _left_out(found: Iterable[Measured]) -> list[str]:
    left: Counter[str] = Counter()
    for item in found:
        left[item.row.metric] += item.left
    return [f"{metric}: {count} without a value left out" for metric, count in left.items() if count]


def _on_one_side(found: Iterable[Row]) -> list[str]:
    """The metrics that are not compared at some point, as only one side has them."""
    metrics: dict[str, list[str]] = {}
    for row in found:
        if row.value is None:
            metrics.setdefault(row.verdict, []).append(row.metric)
    listed = {why: list(dict.fromkeys(names)) for why, names in metrics.items()}
    return [
        f"{why}, so left out: {', '.join(those[:_NAMED])}"
        + (f" and {len(those) - _NAMED} more" if len(those) > _NAMED else "")
        for why, those in listed.items()
    ]


def _without_value(points: int, wanted: Sequence[str], there: Sequence[Row]) -> list[str]:
    """The metrics that neither side has at some point: there is nothing to agree on."""
    left = {metric: points - sum(row.metric == metric for row in there) for metric in wanted}
    return [f"{metric}: no value on either side at {n} of {points} points" for metric, n in left.items() if n]


def _flat(row: Row) -> dict[str, Any]:
    return {
        field.name: getattr(row, field.name) for field in dataclasses.fields(row) if field.name != "params"
    }  # asdict would copy every value
