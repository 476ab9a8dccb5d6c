"""``ackclock compare``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from ackclock.cli import console
from ackclock.cli import rank as ranks
from ackclock.cli.exit_codes import FAILED, OK
from ackclock.comparison import text
from ackclock.comparison.compare import Comparison, compare
from ackclock.comparison.margins import read
from ackclock.comparison.values import HEADLINE
from ackclock.errors import InputError
from ackclock.ranking.ranking import Ranking, rank


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


def run(request: Request) -> int:
    """Compare and print. The exit code is 1 if an agreement was asked for and is not shown."""
    found = compare(
        request.a,
        request.b,
        by=request.by,
        base=request.base,
        metrics=_metrics(request),
        margin=request.margins or None,
        agreement=request.agreement,
    )
    notes = list(found.notes)
    ranking = _ranking(request, notes)
    if request.as_json:
        console.print_json(found.to_json() | ({} if ranking is None else {"ranking": ranking.to_json()}))
    else:
        if ranking is not None:
            ranks.show(ranking, tradeoff=False)
            console.stdout().print()
        _print(found)
    for note in notes:
        console.warn(note)
    return FAILED if found.agrees is False else OK


def _metrics(request: Request) -> Sequence[str] | None:
    """The metrics to compare: those named, or the few that are looked at first; ``None`` is all."""
    if request.metrics or request.everything or request.agreement:
        return request.metrics or None
    return list(dict.fromkeys([*HEADLINE, *(name for name in read(request.margins or None) if name)]))


def _ranking(request: Request, notes: list[str]) -> Ranking | None:
    """The ranking of the values of a key, where nothing else is asked for. Why there is none is noted."""
    if request.b is not None or request.metrics or request.agreement:
        return None
    try:
        found = rank(request.a, by=request.by, base=request.base)
    except InputError as error:
        notes.append(f"not ranked: {error.problem}; {error.remedy}")
        return None
    notes += [note for note in found.notes if note not in notes]
    return found


def _print(found: Comparison) -> None:
    out = console.stdout()
    console.say(out, text.heading(found.a, found.b))
    words: list[console.Justify] = ["left"] * text.left(found.rows)
    wide, narrow = (text.table(found.rows, narrow=narrow) for narrow in (False, True))
    table = _table(wide, words)
    if console.fits(out, table):
        out.print(table)
    else:
        left_out = [narrow[0].index(name) for name in ("runs", "effect", "p", "A", "B")]
        sides = _sides(narrow, ["left"] * text.left(found.rows, narrow=True))
        console.print_table(out, narrow, sides, least=left_out)
    if found.ranks:
        out.print()
        out.print(console.table(text.order(found.ranks), ["left"] * 3))
    for line in text.footing(found.rows, found.family, agreement=found.agreement):
        console.say(out, line)
    if found.agrees is not None:
        shown = sum(bool(row.equivalent) for row in found.rows)
        word = "they agree" if found.agrees else "agreement is not shown"
        console.say(out, f"{word}: {shown} of {len(found.rows)} rows within their margin")


def _table(cells: text.Cells, words: list[console.Justify]) -> Table:
    """Words to the left, numbers to the right, and the verdict to the left."""
    return console.table(cells, _sides(cells, words))


def _sides(cells: text.Cells, words: list[console.Justify]) -> list[console.Justify]:
    numbers: list[console.Justify] = ["right"] * (len(cells[0]) - len(words) - 1)
    return [*words, *numbers, "left"]
