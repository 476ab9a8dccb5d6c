"""Running many independent runs, in this process or in several.

A run never depends on another, so the results are the same for any number of workers; only the order in which
they arrive differs, and callers sort by index.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ackclock import engine
from ackclock.controllers import loading
from ackclock.errors import ControllerError, EngineError
from ackclock.scenario.plan import Job, Plan

_WAKE_S = 0.1
_WATCH_S = 1.0


def outputs(plan: Plan, workers: int) -> Generator[tuple[Job, engine.Output]]:
    """The output of every run of `plan`, as each finishes.

    With one worker the runs happen in this process, in order. Raises :class:`EngineError`, naming the run, if
    one fails. Ctrl-C arrives as `KeyboardInterrupt`, after the worker processes have been stopped.
    """
    if min(workers, len(plan)) <= 1 or not portable(plan):
        for job in plan.jobs():
            try:
                yield job, _play(job.text(), job.controllers(), plan.folder)
            except EngineError as error:
                raise _named(job, error) from error.__cause__ or error
    else:
        yield from _in_processes(plan, min(workers, len(plan)))


def _play(text: str, controllers: Sequence[str], folder: str | None) -> engine.Output:
    """Play one run; the classes of its controllers in Python are imported in the process that does it."""
    return engine.run(text, {name: loading.find(name, folder).cls for name in controllers})


def portable(plan: Plan) -> bool:
    """Whether other processes can import what the runs need; a class of a script or notebook they cannot."""
    return all(loading.find(name, plan.folder).importable for name in python_controllers(plan))


def python_controllers(plan: Plan) -> set[str]:
    """The names of the controllers in Python that the runs need."""
    names = {flow.cc.name for point in plan.points for flow in point.scenario.flows}
    return {name for name in names if name.startswith(loading.PREFIX)}


def _in_processes(plan: Plan, workers: int) -> Generator[tuple[Job, engine.Output]]:
    # Forking would copy the threads' locks of polars; a fresh interpreter has none.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, outlive_no_parent, (os.getpid(),))
    waiting: dict[Future[engine.Output], Job] = {}
    todo = plan.jobs()
    try:
        while True:
            # A few more than the workers: none idles, and a long plan does not sit in memory as text.
            while len(waiting) < 2 * workers and (job := next(todo, None)) is not None:
                with interrupts_held(), main_module_hidden():
                    waiting[pool.submit(_play, job.text(), job.controllers(), plan.folder)] = job
            if not waiting:
                break
            # Waking up now and then lets Ctrl-C in: once polars has computed something, its own handler of that
            # signal restarts a wait instead of ending it.
            for future in wait(waiting, timeout=_WAKE_S, return_when=FIRST_COMPLETED).done:
                job = waiting.pop(future)
                yield job, _result(future, job)
    except BaseException:
        stop(pool)
        raise
    pool.shutdown()


def _result(future: Future[engine.Output], job: Job) -> engine.Output:
    try:
        return future.result()
    except EngineError as error:
        raise _named(job, error) from error.__cause__ or error
    except BrokenProcessPool as error:
        raise EngineError("a worker process died, perhaps for want of memory; use fewer --jobs") from error


def _named(job: Job, error: Exception) -> EngineError:
    inside = ", ".join(f"{key} = {value}" for key, value in job.point.params.items())
    name = f"run {job.index}{f' ({inside})' if inside else ''}"
    if isinstance(error, ControllerError):
        return error.of_run(name)
    return EngineError(f"{name}: {error}")


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
