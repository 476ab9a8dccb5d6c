"""Where the batches of a sweep are played: in this process, in others on this computer, or on a cluster."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from ackclock.controllers import exits
from ackclock.errors import AckclockError, EngineError, InputError, one_line
from ackclock.execution import batch, processes, work
from ackclock.execution.keys import Task
from ackclock.scenario.plan import Plan
from ackclock.scenario.settings import in_real_time

_PATIENCE = "10s"
"""How long a scheduler may be out of reach."""
_WITHOUT_WORKERS_S = 30.0
"""How long a cluster may have no worker at all: one that has lost its process begins another within seconds."""
_LOOK_S = 2.0


class LostWorker(Exception):  # noqa: N818 - an outcome of a batch, not an error of the sweep
    """The process that played a batch is gone, and the batch with it."""


class Withdrawn(LostWorker):
    """A batch is gone for a reason that has nothing to do with its runs."""


class Backend(Protocol):
    """Plays batches; `slots` at a time."""

    slots: int
    cause: BaseException | None
    """What the run raised that failed last, if it was in this process: of others there is only text."""

    def submit(self, tasks: Sequence[Task]) -> Future[bytes]:
        """Begin to play a batch. The future raises :class:`LostWorker` if its process has died."""

    def renew(self) -> None:
        """Carry on after a process has died."""

    def check(self) -> None:
        """Raises :class:`AckclockError` if nothing will ever come of what was submitted."""

    def close(self) -> None:
        """End whatever is going on."""


class Here:
    """In this process, one batch after the other."""

    slots = 1
    cause: BaseException | None = None

    def __init__(self, folder: str | None, *, stop: bool = False) -> None:
        self._folder, self._stop = folder, stop

    def submit(self, tasks: Sequence[Task]) -> Future[bytes]:
        """Play it now."""
        future: Future[bytes] = Future()
        with exits.refused():
            played = batch.play(tasks, self._folder, stop=self._stop, interruptible=True, failed=self._failed)
        future.set_result(played)
        return future

    def _failed(self, error: BaseException) -> None:
        self.cause = error

    def renew(self) -> None:
        """There is no other process."""

    def check(self) -> None:
        """Nothing is ever waited for."""

    def close(self) -> None:
        """Nothing goes on."""


class Processes:
    """Other processes of this computer."""

    cause: BaseException | None = None

    def __init__(self, slots: int, folder: str | None, *, stop: bool = False, reusable: bool = False) -> None:
        """`reusable`: what is played leaves nothing behind in the processes, so that later runs may have them."""
        self.slots = slots
        self._folder, self._stop, self._reusable = folder, stop, reusable
        self._pool = (processes.idle_pool(slots) if reusable else None) or processes.new_pool(slots)
        self._submitted: list[Future[bytes]] = []

    def submit(self, tasks: Sequence[Task]) -> Future[bytes]:
        """Hand it to the next process that is free."""
        try:
            with processes.interrupts_held(), processes.main_module_hidden():
                inner = self._pool.submit(batch.play, list(tasks), self._folder, stop=self._stop)
            self._submitted = [future for future in self._submitted if not future.done()] + [inner]
            return _with_outcome(inner)
        except BrokenProcessPool as error:
            future: Future[bytes] = Future()
            future.set_exception(LostWorker(str(error)))
            return future

    def renew(self) -> None:
        """New processes in place of those of which one has died."""
        processes.stop(self._pool)
        self._pool, self._submitted = processes.new_pool(self.slots), []

    def check(self) -> None:
        """The pool itself says of every batch when a process has died."""

    def close(self) -> None:
        """Stop them, or leave them to later runs if nothing is going on."""
        if self._reusable and all(future.done() for future in self._submitted):
            processes.keep_pool(self.slots, self._pool)
        else:
            processes.stop(self._pool)


class Cluster:
    """Workers of a Dask cluster, which may come and go. They need this package in the same build."""

    cause: BaseException | None = None

    def __init__(self, address: str, folder: str | None) -> None:
        """Join the scheduler at `address`, or begin a cluster of N processes here for ``local:N``."""
        client, local = _client(address)
        self._client, self._local = client, local
        self._address, self._folder = address, folder
        self._executor: Executor = client.get_executor(pure=False)
        self.slots = max(1, sum(client.nthreads().values()))
        self._looked = self._staffed = time.monotonic()

    def submit(self, tasks: Sequence[Task]) -> Future[bytes]:
        """Hand it to the scheduler, which tries again elsewhere when a worker is lost."""
        self.check()
        return _with_outcome(self._executor.submit(batch.play, list(tasks), self._folder))

    def renew(self) -> None:
        """The scheduler does that."""

    def check(self) -> None:
        """A client that has given up its scheduler, or whose workers are gone, says nothing of what it waits for."""
        if self._client.status in ("closing", "closed"):
            remedy = "what had finished is kept; begin a scheduler and call it again"
            raise AckclockError(f"cluster: the Dask scheduler at '{self._address}' is gone; {remedy}")
        now = time.monotonic()
        if now - self._looked < _LOOK_S:
            return
        self._looked = now
        try:
            workers = self._client.nthreads()
        except OSError:  # the client tries for a while to reach its scheduler again, and closes if it cannot
            return
        if workers:
            self._staffed = now
        elif now - self._staffed > _WITHOUT_WORKERS_S:
            remedy = "what had finished is kept; begin workers and call it again"
            raise AckclockError(f"cluster: '{self._address}' has had no workers for {_WITHOUT_WORKERS_S:g} s; {remedy}")

    def close(self) -> None:
        """Cancel what is going on and leave."""
        if self._client.status == "running":
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
            return dask.Client(address, timeout=_PATIENCE), None
        except (OSError, ValueError) as error:
            problem = f"no Dask scheduler answers at '{address}' ({type(error).__name__})"
            raise InputError(problem, "give its address, such as tcp://host:8786, or local:2", key="cluster") from None
    count = address.removeprefix("local:")
    if not count.isdigit() or int(count) < 1:
        raise InputError(f"'{address}' has no number of workers", "write local:2", key="cluster")
    with processes.main_module_hidden():
        cluster = dask.LocalCluster(n_workers=int(count), threads_per_worker=1, dashboard_address=":0")
    return dask.Client(cluster), cluster


def _with_outcome(inner: Future[bytes]) -> Future[bytes]:
    """A future that says :class:`LostWorker` for whatever its backend calls the death of a process."""
    outer: Future[bytes] = Future()

    def done(finished: Future[bytes]) -> None:
        # Whatever it is must come out here: nobody hears an error of this function, and the sweep would wait for ever.
        try:
            error = finished.exception()
        except CancelledError as cancelled:
            error = cancelled
        if error is None:
            outer.set_result(finished.result())
        else:
            outer.set_exception(_outcome(error))

    inner.add_done_callback(done)
    return outer


def _outcome(error: BaseException) -> Exception:
    """What became of a batch. Dask may not be there, so its exceptions are told by their names."""
    kind = type(error).__name__
    words = str(error) or kind
    if isinstance(error, BrokenProcessPool) or kind == "KilledWorker":
        return LostWorker(words)
    if isinstance(error, CancelledError) or kind in ("FutureCancelledError", "FuturesCancelledError"):
        return Withdrawn(words)
    return error if isinstance(error, AckclockError) else EngineError(one_line(f"a worker raised {kind}: {error}"))


def choose(
    workers: int, cluster: str | None, plan: Plan, *, isolate: bool = True, stop: bool = False, asked: bool = True
) -> Backend:
    """The place for so many workers. Raises :class:`InputError`.

    isolate: one worker is a process of its own if the runs have controllers in Python.
    stop: a batch ends with the first run that fails.
    asked: the caller gave the number of workers. Otherwise little work is done in this process.
    """
    portable = processes.portable(plan)
    if cluster is not None and any(point.scenario.run.engine != "sim" for point in plan.points):
        problem = "runs on a kernel are played on this computer"
        raise InputError(problem, 'leave it out, or write engine = "sim"', key="cluster")
    if any(in_real_time(point.scenario.run) for point in plan.points):
        # Two at a time would make each other late.
        return Here(plan.folder, stop=stop)
    if cluster is not None:
        if not portable:
            problem = "other processes cannot import a controller of this script or notebook"
            raise InputError(problem, "put its class into a module of its own", key="cluster")
        return Cluster(cluster, plan.folder)
    # A controller in Python may end the process that it is in, so it gets one of its own.
    python = bool(processes.python_controllers(plan))
    if workers > 1 and not (asked or python) and work.small(plan):
        return Here(plan.folder, stop=stop)
    if portable and (workers > 1 or (isolate and python)):
        # A controller's module stays in the process that has loaded it, whatever becomes of its file.
        reusable = not python and all(point.scenario.run.engine == "sim" for point in plan.points)
        return Processes(workers, plan.folder, stop=stop, reusable=reusable)
    return Here(plan.folder, stop=stop)
