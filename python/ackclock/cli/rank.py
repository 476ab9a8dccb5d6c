"""``ackclock rank``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ackclock.cli import console
from ackclock.cli.exit_codes import OK
from ackclock.ranking import text
from ackclock.ranking.ranking import Ranking, each


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    directory: Path
    by: str | None
    base: str | None
    goal: str | None
    metrics: Sequence[str]
    group: str | None
    as_json: bool
    allow_late: bool = False
    engine: str | None = None
    kernel: str | None = None


def run(request: Request) -> int:
    """Rank and print."""
    every, without = each(
        request.directory,
        by=request.by,
        base=request.base,
        goal=request.goal,
        metrics=request.metrics or None,
        group=request.group,
        allow_late=request.allow_late,
        engine=request.engine,
        kernel=request.kernel,
    )
    if request.as_json:
        console.print_json(
            every[0].to_json() if len(every) + len(without) == 1 else {"rankings": [one.to_json() for one in every]}
        )
    else:
        for one in every:
            if len(every) + len(without) > 1:
                console.say(console.stdout(), f"\n{one.played}")
            show(one)
    for note in dict.fromkeys([*without, *(note for one in every for note in one.notes)]):
        console.warn(note)
    return OK


def show(found: Ranking, *, tradeoff: bool = True) -> None:
    """The tables of a ranking and its sentence."""
    out = console.stdout()
    for build in (text.table, text.tradeoff) if tradeoff else (text.table,):
        if cells := build(found):
            words: list[console.Justify] = ["left"] * text.left(cells)
            table = console.table(cells, words)
            if console.fits(out, table):
                out.print(table)
            else:
                console.print_table(out, build(found, narrow=True), words, least=text.least(cells), squeeze=True)
            out.print()
    for line in [*text.footing(found, trade=tradeoff), found.sentence]:
        console.say(out, line)
