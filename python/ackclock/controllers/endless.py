"""Ends a run whose controller in Python does not return from a call: an endless loop becomes an error that says where."""

from __future__ import annotations

import ctypes
import os
import threading
import time

from ackclock import _ackclock

LIMIT_S = 20.0
"""CPU seconds of this process that one call may take; the environment's ``ACKCLOCK_CALL_CPU_S`` has another limit.

A debugger that waits for its user takes none.
"""


class EndlessCall(RuntimeError):
    """A controller has not returned from one call for :data:`LIMIT_S`."""


_started = threading.Lock()
_is_watching = False


def watch() -> None:
    """Start the thread that looks for such calls, once in a process."""
    global _is_watching
    with _started:
        if _is_watching and _watcher.is_alive():
            return
        _is_watching = True
        _start()


def _start() -> None:
    global _watcher
    _watcher = threading.Thread(target=_look, args=(_limit(),), name="ackclock-calls", daemon=True)
    _watcher.start()


_watcher = threading.Thread()


def _limit() -> float:
    try:
        return max(float(os.environ["ACKCLOCK_CALL_CPU_S"]), 0.1)
    except (KeyError, ValueError):
        return LIMIT_S


def _look(limit_s: float) -> None:
    since: dict[tuple[int, int], tuple[float, float]] = {}
    while True:
        time.sleep(limit_s / 10)
        now = (time.process_time(), time.monotonic())
        since = {call: since.get(call, now) for call in _ackclock.calls_under_way()}
        for (thread, _), (cpu_s, wall_s) in since.items():
            # Other threads take CPU time too: a call that only waits for them has not run so long.
            if now[0] - cpu_s > limit_s and now[1] - wall_s > limit_s / 2:
                _interrupt(thread)


def _interrupt(thread: int) -> None:
    """Raise :class:`EndlessCall` in a thread, between two instructions of Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(EndlessCall))
