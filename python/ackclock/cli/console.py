"""Printing: tables for people, JSON for machines, progress for those who wait."""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import sys
import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ackclock.cli import widths as widths_of

GAP, TIGHT = 3, 1  # characters between the columns of a table
_WIDE = 200  # columns when the output is a file or a pipe: tables are not folded there
_READABLE = 110  # of these: a table that is wider is shown in its narrow form, with all its columns

_BLANK = "\N{NO-BREAK SPACE}"
_TOGETHER = re.compile(
    r"(?<=\d) (?=(?:%|[kMG]?bit/s|[numµ]?s|[kM]?B|BDP|packets?|segments?)(?!\w))"
    r"|(?<=\d) (?=to [-+]?\d)|(?<=\d to) (?=[-+]?\d)|(?<=×) (?=\d)"
)
"""Blanks at which no line is folded: before a unit, and within an interval."""

Justify = Literal["left", "right"]


def stdout() -> Console:
    """A console on standard output: as wide as the terminal, or wide enough for any table."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else _WIDE, highlight=False, soft_wrap=False)


def fits(out: Console, content: Table, *, readable: bool = False) -> bool:
    """Whether a table can be shown without folding its cells; if `readable`, also that it is not wide in a pipe."""
    rows = list(zip(*([str(column.header), *map(str, column.cells)] for column in content.columns), strict=True))
    return widths_of.needed(rows, GAP if any(content.padding) else TIGHT) <= (
        min(out.width, _READABLE) if readable and not sys.stdout.isatty() else out.width
    )


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
    result = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=0 if tight else (0, 1))
    header, *body = rows
    sides = [justify[index] if index < len(justify) else "right" for index in range(len(header))]
    room, gap = stdout().width, TIGHT if tight else GAP
    rigid = [*_numbers(sides), *whole]
    widths = widths_of.fitted(rows, room, gap, rigid) or widths_of.fitted(rows, room, gap)
    for index, title in enumerate(header):
        width = widths[index] if widths is not None and widths_of.needed(rows, gap) > room else None
        result.add_column(Text(title), justify=sides[index], vertical="top", overflow="fold", width=width)
    for row in body:
        result.add_row(*(Text(cell) for cell in row))
    return result


def print_table(
    out: Console,
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


def say(out: Console, line: str | Text) -> None:
    """Print a line of text: folded between words in a terminal, whole in a file or a pipe.

    A number stays with its unit, an interval is whole, and what is longer than a line, as a path, is not split.
    """
    if isinstance(line, str) and sys.stdout.isatty():
        line = "\n".join(fold(part, out.width) for part in line.split("\n"))
    out.print(line, soft_wrap=isinstance(line, str) or not sys.stdout.isatty(), markup=False)


def next_steps(out: Console, directory: Path, by: str | None = None, *, swept: bool = True) -> None:
    """The last line: what to do with a result. One in which nothing is `swept` has nothing to rank."""
    place = shlex.quote(str(directory))
    option = f" --by {shlex.quote(by)}" if by not in (None, "cc") else ""
    steps = [*([f"ackclock rank {place}{option}"] if swept else []), f"ackclock plot {place}{option}"]
    line = f"next: {(' · ' if blocks() else ' or ').join(steps)}"
    lines = [line] if len(line) <= out.width else [f"next: {steps[0]}", *(f"      {step}" for step in steps[1:])]
    for each in lines:
        out.print(each, soft_wrap=True, markup=False)


def blocks() -> bool:
    """Whether standard output can show more than ASCII."""
    return "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()


def print_json(value: Any) -> None:
    """One JSON object on standard output. What is not a number there, such as an infinity, is null."""
    json.dump(_finite(value), sys.stdout, allow_nan=False)
    sys.stdout.write("\n")


def warn(message: str) -> None:
    """A line on standard error, folded between words if that is a terminal."""
    print(folded(f"ackclock: {message}", sys.stderr), file=sys.stderr)


def folded(line: str, stream: TextIO) -> str:
    """A line as it is for a file or a pipe; for a terminal in as many lines as it takes, between words."""
    return fold(line, shutil.get_terminal_size().columns, indent="  ") if stream.isatty() else line


def fold(line: str, columns: int, *, indent: str = "") -> str:
    """A line in as many as it takes, the others begun by `indent`: between words, none of which is split."""
    glued = _TOGETHER.sub(_BLANK, line)
    parts = textwrap.wrap(glued, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(parts).replace(_BLANK, " ")


@contextmanager
def progress() -> Iterator[Callable[[int, int], None]]:
    """A function to report (finished, all) runs to: a bar if standard error is a terminal, else a line a minute."""
    if not sys.stderr.isatty():
        yield Lines(time.monotonic)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("runs", total=None)
        yield lambda finished, total: bar.update(task, completed=finished, total=total)


class Lines:
    """Progress for logs: a line a minute at most, with how long the rest takes at the rate of the last ten of them.

    The first line has no rate: what was finished in an earlier session is reported at once.
    """

    EVERY_S = 60.0

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._begun = clock()
        self._reports: deque[tuple[float, int]] = deque(maxlen=10)

    def __call__(self, finished: int, total: int) -> None:
        """So many of all runs are finished."""
        now = self._clock()
        last = self._reports[-1][0] if self._reports else self._begun
        if now - last < self.EVERY_S or finished == total:
            return
        print(f"{finished} of {total} runs{self._left(now, finished, total)}", file=sys.stderr, flush=True)
        self._reports.append((now, finished))

    def _left(self, now: float, finished: int, total: int) -> str:
        if not self._reports or finished <= self._reports[0][1]:
            return ""
        then, before = self._reports[0]
        seconds = (now - then) * (total - finished) / (finished - before)
        hours, minutes = divmod(math.ceil(seconds / 60), 60)
        return f"; about {f'{hours} h {minutes} min' if hours else f'{minutes} min'} left"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
