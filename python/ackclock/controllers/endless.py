"""Ends a run whose controller in Python does not return from a call, with an error that says where it was."""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
from collections.abc import Callable

Calls = Callable[[], list[tuple[int, int]]]
"""Thread and serial number of each call that is under way; the engine has it."""

LIMIT_S = 20.0
"""CPU seconds of this process that one call may take; the environment's ``ACKCLOCK_CALL_CPU_S`` has another limit.

A debugger that waits for its user takes none.
"""


VARIABLE = "ACKCLOCK_CALL_CPU_S"


class EndlessCallError(RuntimeError):
    """A controller has not returned from one call for :data:`LIMIT_S`."""


_lock = threading.Lock()
_watcher: threading.Thread | None = None


def watch(calls: Calls) -> None:
    """Start the thread that looks for such calls, once in a process. The engine does when it makes a controller."""
    global _watcher
    with _lock:
        if _watcher is None or not _watcher.is_alive():
            _watcher = threading.Thread(target=_look, args=(calls, _limit()), name="ackclock-calls", daemon=True)
            _watcher.start()


def _limit() -> float:
    text = os.environ.get(VARIABLE, str(LIMIT_S))
    try:
        limit_s = float(text)
    except ValueError:
        limit_s = math.nan
    if not 0.1 <= limit_s < math.inf:
        raise ValueError(f"{VARIABLE} = {text!r} is not a number of CPU seconds; set it to 0.1 or more, or unset it")
    return limit_s


def _look(calls: Calls, limit_s: float) -> None:
    since: dict[tuple[int, int], tuple[float, float]] = {}
    while True:
        time.sleep(limit_s / 10)
        now = (time.process_time(), time.monotonic())
        since = {call: since.get(call, now) for call in calls()}
        for call, (cpu_s, wall_s) in since.items():
            # Other threads take CPU time too: a call that only waits for them has not run so long.
            if now[0] - cpu_s > limit_s and now[1] - wall_s > limit_s / 2 and call in calls():
                _interrupt(call[0])


def _interrupt(thread: int) -> None:
    """Raise :class:`EndlessCallError` in a thread, between two instructions of Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(EndlessCallError))
