"""How far a call is, in the notebook it was made from."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

Progress = Callable[[int, int], None]

_EVERY = 0.1
"""Seconds between two updates: a sweep may finish thousands of runs in one."""


def bar() -> Progress | None:
    """What shows the number of finished runs below the cell; ``None`` if this is no notebook.

    It never fails: a notebook that cannot show it is not told, and the runs go on.
    """
    # A notebook has loaded IPython. A terminal has no kernel, and would print the name of a class.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return _Bar() if getattr(shell, "kernel", None) is not None else None


class _Bar:
    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._shown = -_EVERY
        self._handle: Any = None
        self._broken = False

    def __call__(self, finished: int, total: int) -> None:
        seconds = time.monotonic() - self._begun
        if self._broken or (finished < total and seconds < self._shown + _EVERY):
            return
        self._shown = seconds
        try:
            self._show(text(finished, total, seconds))
        except Exception:  # whatever a notebook raises: progress is no reason to lose runs
            self._broken = True

    def _show(self, content: str) -> None:
        display = importlib.import_module("IPython.display")
        if self._handle is None:
            self._handle = display.display(display.HTML(content), display_id=True)
        else:
            self._handle.update(display.HTML(content))


def text(finished: int, total: int, seconds: float) -> str:
    """A bar as HTML, with the time left once a run is finished, or with the time it took."""
    if finished >= total:
        return f"{total} run{'' if total == 1 else 's'}, {seconds:.1f} s"
    left = f", about {seconds / finished * (total - finished):.0f} s left" if finished else ""
    said = f"{finished} of {total} runs{left}"
    return f'<progress value="{finished}" max="{total}"></progress> {said}'
