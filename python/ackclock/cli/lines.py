"""Lines for people, JSON for machines, progress for those who wait: all without what tables take to load."""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_USUAL = 80
"""Columns of a terminal that does not say."""

_BLANK = "\N{NO-BREAK SPACE}"
_TOGETHER = (
    r"(?<=\d) (?=(?:%|[kMG]?bit/s|[numµ]?s|[kM]?B|BDP|packets?|segments?)(?!\w))"
    r"|(?<=\d) (?=to [-+]?\d)|(?<=\d to) (?=[-+]?\d)|(?<=×) (?=\d)"
)
"""Blanks at which no line is folded: before a unit, and within an interval."""


def width() -> int:
    """Columns of the terminal: what the environment says, or the system."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return int(given)
    for stream in (0, 1, 2):
        try:
            return os.get_terminal_size(stream).columns or _USUAL
        except OSError:
            continue
    return _USUAL


def say(line: str = "") -> None:
    """Print a line of text: folded between words in a terminal, whole in a file or a pipe.

    A number stays with its unit, an interval is whole, and what is longer than a line, as a path, is not split.
    """
    if sys.stdout.isatty():
        columns = width()
        line = "\n".join(fold(part, columns) for part in line.split("\n"))
    sys.stdout.write(f"{line}\n")


def blocks() -> bool:
    """Whether standard output can show more than ASCII."""
    return "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()


def print_json(value: Any) -> None:
    """One JSON object on standard output. What is not a number there, such as an infinity, is null."""
    import json

    json.dump(_finite(value), sys.stdout, allow_nan=False)
    sys.stdout.write("\n")


def warn(message: str) -> None:
    """A line on standard error, folded between words if that is a terminal."""
    print(folded(f"ackclock: {message}", sys.stderr), file=sys.stderr)


def folded(line: str, stream: TextIO) -> str:
    """A line as it is for a file or a pipe; for a terminal in as many lines as it takes, between words."""
    return fold(line, width(), indent="  ") if stream.isatty() else line


def fold(line: str, columns: int, *, indent: str = "") -> str:
    """A line in as many as it takes, the others begun by `indent`: between words, none of which is split."""
    import re
    import textwrap

    glued = re.sub(_TOGETHER, _BLANK, line)
    parts = textwrap.wrap(glued, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(parts).replace(_BLANK, " ")


@contextmanager
def progress(*, several: bool = True) -> Iterator[Callable[[int, int], None]]:
    """A function to report (finished, all) runs to: a bar if standard error is a terminal, else a line a minute.

    Of one that is not `several` nothing is to be seen but its end: it has no bar.
    """
    if not several or not sys.stderr.isatty():
        yield Lines(time.monotonic)
        return
    from rich.console import Console
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
