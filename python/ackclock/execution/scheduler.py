"""Playing every run of a plan once, whatever happens in between.

Runs that are kept already are not repeated. The others are played in batches of about a quarter of a second, so that
short runs cost little more than themselves and little is lost when the process is killed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

from ackclock.errors import AckclockError
from ackclock.execution import batch
from ackclock.execution.backends import Backend, LostWorker, Withdrawn
from ackclock.execution.keys import Task, Texts, engine_identity
from ackclock.execution.store import Store

Event = dict[str, Any]
"""What is reported while a sweep goes on; docs/sweeps.md lists the events."""

Notify = Callable[[Event], None]

BATCH_S = 0.25
MOST_IN_BATCH = 256
_WAKE_S = 0.1
_TRIES = 2
"""How often a run may take its process with it, alone, before it counts as failed."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A run by its point and replication."""

    point: int
    replication: int


class RunFailed(Exception):  # noqa: N818 - an outcome of a run, for whoever wanted it to end everything
    """A run failed, and nothing more is to be played. `error` is what its batch says of it."""

    def __init__(self, run: Wanted, error: Mapping[str, Any]) -> None:
        super().__init__(error["problem"])
        self.run, self.error = run, error


class Scheduler:
    """The runs of a plan on their way into a store."""

    def __init__(
        self, texts: Texts, store: Store, backend: Backend, notify: Notify, *, retry: bool = False, stop: bool = False
    ) -> None:
        """`retry` plays again what failed or is not valid; with `stop` the first failure raises :class:`RunFailed`."""
        self._texts, self._store, self._backend, self._notify = texts, store, backend, notify
        self._retry, self._stop = retry, stop
        self._mean_s = BATCH_S
        self._tries: dict[str, int] = {}
        self._places: dict[str, Wanted] = {}
        self._failed: set[str] = set()
        self._flying: dict[Future[bytes], list[Task]] = {}

    def missing(self, runs: Iterable[Wanted]) -> list[Wanted]:
        """Those of `runs` that the store does not have, each once: two points may be the same run."""
        result = []
        for wanted in runs:
            key = self._texts.key(wanted.point, wanted.replication)
            entry = self._store.entries.get(key)
            again = entry is None or entry.repeat or (self._retry and (entry.failed or entry.invalid))
            if again and key not in self._places and key not in self._failed:
                self._places[key] = wanted
                result.append(wanted)
        return result

    def play(self, runs: Iterable[Wanted]) -> None:
        """Play runs that are missing."""
        todo, suspects = deque(runs), deque[Task]()
        lost = False
        while todo or suspects or self._flying:
            if lost and not self._flying:
                self._backend.renew()
                lost = False
            while todo and not suspects and not lost and len(self._flying) < 2 * self._backend.slots:
                if self._launch(self._next(todo)).done():  # it was played here and now
                    break
            if suspects and not self._flying:  # one at a time, to see which of them kills its process
                self._launch([suspects.popleft()])
            # Waking up now and then lets Ctrl-C in: polars' handler of that signal restarts a wait.
            finished = wait(self._flying, timeout=_WAKE_S, return_when=FIRST_COMPLETED).done
            for future in [future for future in self._flying if future in finished]:
                tasks = self._flying.pop(future)
                try:
                    self._keep(future.result())
                except Withdrawn:
                    suspects.extend(tasks)
                except LostWorker:
                    lost = True
                    suspects.extend(self._not_given_up(tasks))
            self._backend.check()

    def _next(self, todo: deque[Wanted]) -> list[Task]:
        """A batch of about :data:`BATCH_S`, and less when little is left for each worker."""
        fair = max(1, len(todo) // (2 * self._backend.slots))
        size = max(1, min(MOST_IN_BATCH, fair, int(BATCH_S / self._mean_s)))
        return [self._texts.task(w.point, w.replication) for w in (todo.popleft() for _ in range(min(size, len(todo))))]

    def _launch(self, tasks: list[Task]) -> Future[bytes]:
        future = self._backend.submit(tasks)
        self._flying[future] = tasks
        return future

    def _not_given_up(self, tasks: list[Task]) -> Iterator[Task]:
        """The runs of a batch that was lost with its process, but for those that have been so too often."""
        for task in tasks:
            self._tries[task.key] = self._tries.get(task.key, 0) + (len(tasks) == 1)
            if self._tries[task.key] < _TRIES:
                yield task
            else:
                cause = " or because a controller in Python ended it" if task.controllers else ""
                problem = f"the process that played it died, perhaps for want of memory{cause}"
                self._keep(batch.failure(task, problem))

    def _keep(self, payload: bytes) -> None:
        engine, here = batch.header(payload).engine, engine_identity()
        if engine != here:
            played = f"a worker played with {engine or 'an engine that does not say which'}, and here is {here}"
            raise AckclockError(f"cluster: {played}; install the same build everywhere")
        for run in self._store.append(payload).runs:
            wanted = self._places.pop(run["key"])
            where = {"point": wanted.point, "replication": wanted.replication}
            if "error" in run:
                self._failed.add(run["key"])
                self._notify({"event": "failed", **where, "problem": run["error"]["problem"]})
                if self._stop:
                    raise RunFailed(wanted, run["error"]) from self._backend.cause
            else:
                wall_s = run["info"]["wall_s"]
                self._mean_s += 0.2 * (max(wall_s, 1e-6) - self._mean_s)
                self._notify({"event": "run", **where, "wall_s": wall_s})


class Watch:
    """Counts runs and adds to every event how many there are, how many are finished, and when the rest will be."""

    def __init__(self, total: int, notify: Notify) -> None:
        self.total, self._notify = total, notify
        self._begun = time.monotonic()
        self.finished = self.before = 0
        self.failed = 0

    def begin(self, kept: int, least_s: float = 0.0) -> None:
        """So many runs are there already, and those in real time among the others last so long together."""
        self.finished = self.before = kept
        lasting = {"least_s": least_s} if least_s else {}
        self._notify({"event": "begin", "runs": self.total, "finished": kept, **lasting})

    def more(self, runs: int, kept: int) -> None:
        """More runs are wanted than were known, of which `kept` are there already."""
        self.total += runs
        self.finished += kept
        self.before += kept
        self._notify({"event": "more", "runs": self.total, "finished": self.finished})

    def __call__(self, event: Event) -> None:
        """A run has been played, or has failed."""
        self.finished += 1
        self.failed += event["event"] == "failed"
        played, elapsed = self.finished - self.before, time.monotonic() - self._begun
        eta = elapsed / played * (self.total - self.finished)
        self._notify({**event, "runs": self.total, "finished": self.finished, "eta_s": round(eta, 1)})


def all_runs(replications: Sequence[int]) -> Iterator[Wanted]:
    """Every run of points with so many replications each."""
    for point, count in enumerate(replications):
        for replication in range(count):
            yield Wanted(point, replication)
