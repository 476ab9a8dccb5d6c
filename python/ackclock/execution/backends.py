"""Where the batches of a sweep are played: in this process, in others on this computer, or on a cluster."""

from __future__ import annotations

import importlib
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from ackclock.errors import EngineError, InputError
from ackclock.execution import batch, pool
from ackclock.execution.keys import Task


class LostWorker(Exception):  # noqa: N818 - an outcome of a batch, not an error of the sweep
    """The process that played a batch is gone, and the batch with it."""


class Backend(Protocol):
    """Plays batches; `slots` at a time."""

    slots: int

    def submit(self, tasks: Sequence[Task]) -> Future[bytes]:
        """Begin to play a batch. The future raises :class:`LostWorker` if its process has died."""

    def renew(self) -> None:
        """Carry on after a process has died."""

    def close(self) -> None:
        """End whatever is going on."""


class Here:
    """In this process, one batch after the other."""

    slots = 1

    def __init__(self, folder: str | None) -> None:
        self._folder = folder

    def submit(self, tasks: Sequence[Task]) -> Future[bytes]:
        """Play it now."""
        future: Future[bytes] = Future()
        future.set_result(batch.play(tasks, self._folder))
        return future

    def renew(self) -> None:
        """There is no other process."""

    def close(self) -> None:
        """Nothing goes on."""


class Processes:
    """Other processes of this computer."""

    def __init__(self, slots: int, folder: str | None) -> None:
        self.slots = slots
        self._folder = folder
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        # Forking would copy the threads' locks of polars; a fresh interpreter has none.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.slots, context, pool.outlive_no_parent, (os.getpid(),))

    def submit(self, tasks: Sequence[Task]) -> Future[bytes]:
        """Hand it to the next process that is free."""
        try:
            with pool.interrupts_held(), pool.main_module_hidden():
                return _told(self._pool.submit(batch.play, list(tasks), self._folder))
        except BrokenProcessPool as error:
            future: Future[bytes] = Future()
            future.set_exception(LostWorker(str(error)))
            return future

    def renew(self) -> None:
        """New processes in place of those of which one has died."""
        pool.stop(self._pool)
        self._pool = self._new()

    def close(self) -> None:
        """Stop them."""
        pool.stop(self._pool)


class Cluster:
    """Workers of a Dask cluster, which may come and go. They need this package in the same build."""

    def __init__(self, address: str, folder: str | None) -> None:
        """Join the scheduler at `address`, or begin a cluster of N processes here for ``local:N``."""
        client, local = _client(address)
        self._client, self._local = client, local
        self._folder = folder
        self._executor: Executor = client.get_executor(pure=False)
        self.slots = max(1, sum(client.nthreads().values()))

    def submit(self, tasks: Sequence[Task]) -> Future[bytes]:
        """Hand it to the scheduler, which tries again elsewhere when a worker is lost."""
        return _told(self._executor.submit(batch.play, list(tasks), self._folder))

    def renew(self) -> None:
        """The scheduler does that."""

    def close(self) -> None:
        """Cancel what is going on and leave."""
        self._executor.shutdown(wait=False)  # which cancels what has not begun
        self._client.close()
        if self._local is not None:
            self._local.close()


def _client(address: str) -> tuple[Any, Any]:
    try:
        dask: Any = importlib.import_module("distributed")
    except ImportError:
        problem = "dask.distributed is not installed"
        raise InputError(problem, "install it with: pip install 'ackclock[cluster]'", key="cluster") from None
    if not address.startswith("local:"):
        try:
            return dask.Client(address, timeout="10s"), None
        except (OSError, ValueError) as error:
            problem = f"no Dask scheduler answers at '{address}' ({type(error).__name__})"
            raise InputError(problem, "give its address, such as tcp://host:8786, or local:2", key="cluster") from None
    count = address.removeprefix("local:")
    if not count.isdigit() or int(count) < 1:
        raise InputError(f"'{address}' has no number of workers", "write local:2", key="cluster")
    with pool.main_module_hidden():
        cluster = dask.LocalCluster(n_workers=int(count), threads_per_worker=1, dashboard_address=None)
    return dask.Client(cluster), cluster


def _told(inner: Future[bytes]) -> Future[bytes]:
    """A future that says :class:`LostWorker` for whatever its backend calls the death of a process."""
    outer: Future[bytes] = Future()

    def done(finished: Future[bytes]) -> None:
        try:
            outer.set_result(finished.result())
        except (BrokenProcessPool, CancelledError) as error:
            outer.set_exception(LostWorker(str(error) or type(error).__name__))
        except Exception as error:
            lost = type(error).__name__ in ("KilledWorker", "FutureCancelledError")  # of Dask, which may not be there
            outer.set_exception(LostWorker(str(error)) if lost else _unexpected(error))

    inner.add_done_callback(done)
    return outer


def _unexpected(error: Exception) -> Exception:
    return error if isinstance(error, EngineError) else EngineError(f"a worker raised {type(error).__name__}: {error}")


def choose(workers: int, cluster: str | None, folder: str | None, portable: Callable[[], bool]) -> Backend:
    """The place for so many workers. Raises :class:`InputError`."""
    if cluster is not None:
        if not portable():
            problem = "other processes cannot import a controller of this script or notebook"
            raise InputError(problem, "put its class into a module of its own", key="cluster")
        return Cluster(cluster, folder)
    if workers <= 1 or not portable():
        return Here(folder)
    return Processes(workers, folder)
