"""Printing: tables for people, JSON for machines, progress for those who wait."""

from __future__ import annotations

import json
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

_WIDE = 200  # columns when the output is a file or a pipe: tables are not folded there

Justify = Literal["left", "right"]


def stdout() -> Console:
    """A console on standard output: as wide as the terminal, or wide enough for any table."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else _WIDE, highlight=False, soft_wrap=False)


def fits(out: Console, content: Table) -> bool:
    """Whether a table can be shown without folding its cells."""
    return Measurement.get(out, out.options.update(max_width=10 * _WIDE), content).maximum <= out.width


def table(rows: Sequence[Sequence[str]], justify: Sequence[Justify] = (), *, tight: bool = False) -> Table:
    """A plain table; the first row is its header. Columns beyond `justify` are aligned to the right."""
    result = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=0 if tight else (0, 1))
    header, *body = rows
    for index, title in enumerate(header):
        side = justify[index] if index < len(justify) else "right"
        result.add_column(Text(title), justify=side, vertical="top", overflow="fold")
    for row in body:
        result.add_row(*(Text(cell) for cell in row))
    return result


def print_json(value: Any) -> None:
    """One JSON object on standard output. What is not a number there, such as an infinity, is null."""
    json.dump(_finite(value), sys.stdout, allow_nan=False)
    sys.stdout.write("\n")


def warn(message: str) -> None:
    """A line on standard error."""
    print(f"ackclock: {message}", file=sys.stderr)


@contextmanager
def progress() -> Iterator[Callable[[int, int], None]]:
    """A function to report (finished, all) runs to: a bar if standard error is a terminal, else a line a minute."""
    if not sys.stderr.isatty():
        yield Lines(time.monotonic)
        return
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
