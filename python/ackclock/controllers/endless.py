"""Ends a run whose controller in Python does not return from a call, with an error that says where it was."""

from __future__ import annotations

import ctypes
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
    try:
        return max(float(os.environ["ACKCLOCK_CALL_CPU_S"]), 0.1)
    except (KeyError, ValueError):
        return LIMIT_S


def _look(calls: Calls, limit_s: float) -> None:
    since: dict[tuple[int, int], tuple[float, float]] = {}
    while True:
        time.sleep(limit_s / 10)
        now = (time.process_time(), time.monotonic())
        since = {call: since.get(call, now) for call in calls()}
        for (thread, _), (cpu_s, wall_s) in since.items():
            # Other threads take CPU time too: a call that only waits for them has not run so long.
            if now[0] - cpu_s > limit_s and now[1] - wall_s > limit_s / 2:
                _interrupt(thread)


def _interrupt(thread: int) -> None:
    """Raise :class:`EndlessCallError` in a thread, between two instructions of Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(EndlessCallError))
