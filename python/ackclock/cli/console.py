"""Printing tables, and all else that commands print."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.cli import widths as widths_of
from ackclock.cli.lines import blocks as blocks
from ackclock.cli.lines import fold as fold
from ackclock.cli.lines import folded as folded
from ackclock.cli.lines import print_json as print_json
from ackclock.cli.lines import warn as warn
from ackclock.cli.output import GAP as GAP
from ackclock.cli.output import TIGHT as TIGHT
from ackclock.cli.output import Justify as Justify
from ackclock.cli.output import Output as Output
from ackclock.cli.output import Table as Table
from ackclock.cli.progress import Lines as Lines
from ackclock.cli.progress import progress as progress

if TYPE_CHECKING:
    from rich.text import Text

_READABLE = 110  # columns in a file or a pipe: a table that is wider is shown in its narrow form, with all its columns


def stdout() -> Output:
    """Standard output: as wide as the terminal, or wide enough for any table."""
    return Output()


def fits(out: Output, content: Table, *, readable: bool = False) -> bool:
    """Whether a table can be shown without folding its cells; if `readable`, also that it is not wide in a pipe."""
    room = min(out.width, _READABLE) if readable and not sys.stdout.isatty() else out.width
    return content.needed() <= room


def table(
    rows: Sequence[Sequence[str]],
    justify: Sequence[Justify] = (),
    *,
    tight: bool = False,
    whole: Sequence[int] = (),
) -> Table:
    """A plain table; the first row is its header. Columns beyond `justify` are aligned to the right.

    Where it is wider than standard output, cells are folded at blanks, those on the right last: they are numbers. So
    are those of columns that are to stay `whole`.
    """
    sides = [justify[index] if index < len(justify) else "right" for index in range(len(rows[0]))]
    room, gap = stdout().width, TIGHT if tight else GAP
    rigid = [*_numbers(sides), *whole]
    widths = None
    if widths_of.needed(rows, gap) > room:
        widths = widths_of.fitted(rows, room, gap, rigid) or widths_of.fitted(rows, room, gap)
    return Table(rows, sides, widths, tight=tight)


def print_table(
    out: Output,
    rows: Sequence[Sequence[str]],
    justify: Sequence[Justify] = (),
    *,
    least: Sequence[int] = (),
    whole: Sequence[int] = (),
    rest: str = "--json has all",
    tight: bool = False,
    squeeze: bool = False,
) -> None:
    """Print a table. Where there is no room, columns are left out, those of `least` from its beginning, with a note.

    `rest` says where these are. With `squeeze`, columns move together before one is left out. Cells of columns that are
    to stay `whole` are folded only where nothing else helps.
    """
    sides = [justify[index] if index < len(justify) else "right" for index in range(len(rows[0]))]
    rigid = [*_numbers(sides), *whole]
    tight = tight or (squeeze and widths_of.fitted(rows, out.width, GAP, rigid) is None)
    gap = TIGHT if tight else GAP
    kept, gone = widths_of.chosen(rows, out.width, gap, rigid, least)
    own = [at for at, index in enumerate(kept) if index in whole]
    out.print(table(widths_of.cut(rows, kept), [sides[index] for index in kept], tight=tight, whole=own))
    if gone:
        names = ", ".join(" ".join(rows[0][index].split()) for index in gone)
        say(out, f"left out: {names}; {rest}, or {widths_of.needed(rows, gap)} columns")


def _numbers(sides: Sequence[Justify]) -> list[int]:
    return [index for index, side in enumerate(sides) if side == "right"]


def say(out: Output, line: str | Text) -> None:
    """Print a line of text, as :func:`ackclock.cli.lines.say` does, or one with looks."""
    if isinstance(line, str) and sys.stdout.isatty():
        line = "\n".join(fold(part, out.width) for part in line.split("\n"))
    out.print(line, soft_wrap=isinstance(line, str) or not sys.stdout.isatty(), markup=False)


def next_steps(out: Output, directory: Path, by: str | None = None, *, swept: bool = True) -> None:
    """The last line: what to do with a result. One in which nothing is `swept` has nothing to rank."""
    place = shlex.quote(str(directory))
    option = f" --by {shlex.quote(by)}" if by not in (None, "cc") else ""
    steps = [*([f"ackclock rank {place}{option}"] if swept else []), f"ackclock plot {place}{option}"]
    line = f"next: {(' · ' if blocks() else ' or ').join(steps)}"
    lines = [line] if len(line) <= out.width else [f"next: {steps[0]}", *(f"      {step}" for step in steps[1:])]
    for each in lines:
        out.print(each, soft_wrap=True, markup=False)
