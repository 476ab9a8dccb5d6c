"""``ackclock compare``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ackclock.cli import console, widths
from ackclock.cli import rank as ranks
from ackclock.cli.exit_codes import FAILED, OK
from ackclock.comparison import text
from ackclock.comparison.compare import Comparison, compare
from ackclock.comparison.margins import read
from ackclock.comparison.values import HEADLINE, INSTEAD
from ackclock.errors import InputError
from ackclock.ranking.conditions import is_condition
from ackclock.ranking.ranking import Ranking, rank
from ackclock.results import excess
from ackclock.results.live import TOTAL, counts
from ackclock.results.store import manifest_of

_MOST = 12
"""Rows that are printed one by one where no metric is named; of more it is counted what they say."""

_LEAST = ("runs", "effect", "p")
"""Columns that a terminal may do without, the least important first."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    a: Path
    b: Path | None
    by: str | None
    base: str | None
    metrics: Sequence[str]
    margins: Sequence[str]
    agreement: bool
    everything: bool
    as_json: bool
    allow_late: bool = False


def run(request: Request) -> int:
    """Compare and print. The exit code is 1 if an agreement was asked for and is not shown."""
    metrics = _metrics(request)
    found = compare(
        request.a,
        request.b,
        by=request.by,
        base=request.base,
        metrics=metrics,
        margin=request.margins or None,
        agreement=request.agreement,
        allow_late=request.allow_late,
        instead=None if request.metrics or metrics is None else INSTEAD,
    )
    notes = list(found.notes)
    ranking = _ranking(request, found, notes)
    if request.as_json:
        console.print_json(found.to_json() | ({} if ranking is None else {"ranking": ranking.to_json()}))
    else:
        if ranking is not None:
            ranks.show(ranking, tradeoff=False)
            console.stdout().print()
        _print(found, request)
    for note in notes:
        console.warn(note)
    return FAILED if found.agrees is False else OK


def _metrics(request: Request) -> Sequence[str] | None:
    """The metrics to compare: those named, or the few that are looked at first; ``None`` is all."""
    if request.metrics or request.everything or request.agreement:
        return request.metrics or None
    together = [TOTAL] if request.by is not None and counts(manifest_of(request.a), request.by) else []
    return list(dict.fromkeys([*together, *HEADLINE, *(name for name in read(request.margins or None) if name)]))


def _key(found: Comparison) -> str:
    """The key whose values are compared within one result."""
    return found.a.partition("=")[0]


def _ranking(request: Request, compared: Comparison, notes: list[str]) -> Ranking | None:
    """The ranking of the values of a key, where nothing else is asked for. Why there is none is noted."""
    if request.b is not None or request.metrics or request.agreement or is_condition(_key(compared)):
        return None
    try:
        found = rank(request.a, by=request.by, base=request.base, allow_late=request.allow_late)
    except InputError as error:
        notes.append(f"not ranked: {error.problem}; {error.remedy}")
        return None
    said = any(excess.is_note(note) for note in notes)
    notes += [note for note in found.notes if note not in notes and not (said and excess.is_note(note))]
    return found


def _print(found: Comparison, request: Request) -> None:
    out = console.stdout()
    console.say(out, text.heading(found.a, found.b))
    short = len(found.rows) > _MOST and not (request.metrics or request.everything or request.agreement)
    if short:
        words = 1 + (len({row.b for row in found.rows}) > 1)
        console.print_table(out, text.counts(found.rows), ["left"] * words, least=[words], squeeze=True)
        kind: text.Shown = "counts"
    else:
        kind = _table(out, found)
    if found.ranks:
        out.print()
        out.print(console.table(text.order(found.ranks), ["left"] * 3))
    for line in text.footing(found.rows, found.family, agreement=found.agreement, shown=kind):
        console.say(out, line)
    if found.agrees is not None:
        shown = sum(bool(row.equivalent) for row in found.rows)
        word = "they agree" if found.agrees else "agreement is not shown"
        console.say(out, f"{word}: {shown} of {len(found.rows)} rows within their margin")
    if short:
        console.say(out, f"point by point: --metric {found.rows[0].metric}, or another; --all has every metric")
    if request.b is None and not is_condition(_key(found)):
        console.next_steps(out, request.a, by=request.by)


def _table(out: console.Output, found: Comparison) -> text.Shown:
    """The rows, as wide as there is room for; A, B, the difference and the verdict stay in any case."""
    wide, narrow = (text.table(found.rows, narrow=narrow) for narrow in (False, True))
    words = text.left(found.rows, narrow=True)
    kept = [at for at, title in enumerate(narrow[0]) if title not in _LEAST]
    if widths.needed(wide, console.GAP) <= out.width:
        out.print(console.table(wide, _sides(wide, text.left(found.rows))))
        return "d"
    point = range(min(words - 1, 1))  # the first column, where there are keys
    if any(widths.needed(cells, console.TIGHT) <= out.width for cells in (narrow, widths.cut(narrow, kept))):
        sides = _sides(narrow, words)
        console.print_table(out, narrow, sides, least=_least(narrow), whole=point, squeeze=True)
        return "p"
    for name, cells in text.by_metric(found.rows):
        console.say(out, f"\n{name}")
        sides = _sides(cells, words - 1)
        console.print_table(out, cells, sides, least=_least(cells), whole=point, squeeze=True)
    return "p"


def _least(cells: text.Cells) -> list[int]:
    return [cells[0].index(name) for name in _LEAST]


def _sides(cells: text.Cells, words: int) -> list[console.Justify]:
    """Words to the left, numbers to the right, and the verdict to the left."""
    numbers: list[console.Justify] = ["right"] * (len(cells[0]) - words - 1)
    first: list[console.Justify] = ["left"] * words
    return [*first, *numbers, "left"]
