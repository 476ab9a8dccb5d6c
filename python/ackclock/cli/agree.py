"""``ackclock agree``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ackclock.cli import console, lasting, widths
from ackclock.cli.exit_codes import FAILED, OK
from ackclock.cli.options import effective
from ackclock.comparison import text as comparison_text
from ackclock.comparison.margins import read
from ackclock.engines import page, text
from ackclock.engines.agree import Pair, agree, plans
from ackclock.errors import InputError
from ackclock.files import unwritable
from ackclock.sweeps.engines import ENGINES, check_kernel

PAGE = "agree.html"
"""The page, in the directory of the runs."""

_POINTS = 12
"""Points of which is said where they begin to differ."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    file: Path
    engines: str
    out: Path | None
    changes: Sequence[str]
    seed: int | None
    replications: int | None
    margins: Sequence[str]
    jobs: int | None
    pin: int | None
    allow_late: bool
    as_json: bool
    kernel: str | None = None
    of_engine: Sequence[str] = ()
    """What options of engines say, as changes."""


def run(request: Request) -> int:
    """Play, judge, write the page and print. The exit code is 1 if agreement is not shown."""
    names = [name.strip() for name in request.engines.split(",") if name.strip()]
    if wrong := [name for name in names if name not in ENGINES]:
        raise InputError(f"'{wrong[0]}' is no engine", f"known are {', '.join(ENGINES)}", key="--engines")
    effective(request.of_engine, names, "name {} in --engines, too, or leave it out")
    if request.kernel is not None:
        check_kernel(request.kernel)
    read(request.margins or None)
    out = request.out or Path("results") / f"{request.file.stem}-agree"
    asked = plans(request.file, names, set=request.changes, seed=request.seed, replications=request.replications)
    with console.progress() as progress:
        found = agree(
            request.file,
            names,
            set=request.changes,
            seed=request.seed,
            replications=request.replications,
            margin=request.margins or None,
            allow_late=request.allow_late,
            pin=request.pin,
            jobs=request.jobs,
            out=out,
            progress=lasting.announced(asked, progress, refusing=True),
        )
    file = out / PAGE
    try:
        file.write_text(page.of(found), encoding="utf-8")
    except OSError as error:
        raise unwritable(out, error) from None
    if request.as_json:
        console.print_json(found.to_json() | {"page": str(file)})
    else:
        for pair in found.pairs:
            _show(pair)
        console.say(console.stdout(), text.margins(found))
        console.say(console.stdout(), f"page: {file}")
    for note in found.notes:
        console.warn(note)
    return OK if found.agrees else FAILED


def _show(pair: Pair) -> None:
    out = console.stdout()
    if pair.comparison is not None:
        rows = pair.comparison.rows
        wide, narrow = (comparison_text.table(rows, narrow=each) for each in (False, True))
        cells, words = (
            (wide, comparison_text.left(rows))
            if widths.needed(wide, console.GAP) <= out.width
            else (
                narrow,
                comparison_text.left(rows, narrow=True),
            )
        )
        sides: list[console.Justify] = [*["left"] * words, *["right"] * (len(cells[0]) - words - 1), "left"]  # type: ignore[list-item]
        console.print_table(out, cells, sides, squeeze=True)
    lines = list(text.divergences(pair))
    for line in lines[:_POINTS]:
        console.say(out, line)
    if len(lines) > _POINTS:
        console.say(out, f"and {len(lines) - _POINTS} more points; the page has all")
    console.say(out, text.verdict(pair))
