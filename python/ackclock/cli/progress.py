"""Progress for those who wait: a bar in a terminal, lines in a log."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress() -> Iterator[Callable[[int, int], None]]:
    """A function to report (finished, all) runs to: a bar if standard error is a terminal, else a line a minute."""
    if not sys.stderr.isatty():
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
