"""Worker processes: which runs they can play, and how they begin and end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ackclock.controllers import loading
from ackclock.scenario.plan import Plan

_WATCH_S = 1.0

_idle: dict[tuple[int, int], ProcessPoolExecutor] = {}
"""The pool that waits for further runs, by the process that started it and its number of workers: one at most."""
_lock = threading.Lock()


def portable(plan: Plan) -> bool:
    """Whether other processes can import what the runs need; a class of a script or notebook they cannot."""
    return all(loading.find(name, plan.folder).importable for name in python_controllers(plan))


def python_controllers(plan: Plan) -> set[str]:
    """The names of the controllers in Python that the runs need."""
    names = {flow.cc.name for point in plan.points for flow in point.scenario.flows}
    return {name for name in names if name.startswith(loading.PREFIX)}


def new_pool(slots: int) -> ProcessPoolExecutor:
    """A pool of so many processes, which start when there is work."""
    # Forking would copy the threads' locks of polars; a fresh interpreter has none.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(slots, context, outlive_no_parent, (os.getpid(),))


def idle_pool(slots: int) -> ProcessPoolExecutor | None:
    """The pool of so many processes that an earlier call has left, all of them alive; it belongs to the caller now."""
    with _lock:
        pool = _idle.pop((os.getpid(), slots), None)
    if pool is None:
        return None
    if not pool._broken and all(process.is_alive() for process in (pool._processes or {}).values()):
        return pool
    stop(pool)
    return None


def keep_pool(slots: int, pool: ProcessPoolExecutor) -> None:
    """Leave a pool without work to later calls, in place of one that waits already."""
    with _lock:
        before = [_idle.pop(key) for key in list(_idle) if key[0] == os.getpid()]
        _idle[os.getpid(), slots] = pool
    for other in before:
        stop(other)


def stop(pool: ProcessPoolExecutor) -> None:
    """End the processes at once."""
    processes = list((pool._processes or {}).values())  # no public access before Python 3.14
    results: Any = pool._result_queue
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()
    # A process may have died in the middle of a result. The thread that reads it, for which the interpreter waits at
    # its end, would wait for the rest for ever, because this process could write to the same pipe.
    if results is not None:
        results._writer.close()


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Start workers that never see Ctrl-C, which a terminal sends to every process.

    Only the parent decides what becomes of the runs. A new process inherits the blocked signals of its parent; one
    that arrives here in the meantime is delivered afterwards.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def main_module_hidden() -> Iterator[None]:
    """Keep new workers from importing the caller's main module.

    They need only this package; without this, a script that calls :func:`ackclock.run` at its top level would
    run again in every worker.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def outlive_no_parent(parent: int) -> None:
    """End this process when the one that began it is gone, whatever killed it."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
