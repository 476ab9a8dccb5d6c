"""The runs of a plan in one call: which are wanted, which are there, and what they are together."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ackclock.assembly import manifest
from ackclock.assembly import tables as assembly
from ackclock.assembly.ledger import Ledger
from ackclock.errors import InputError
from ackclock.execution import backends, batch
from ackclock.execution import scheduler as scheduling
from ackclock.execution.keys import Texts
from ackclock.execution.scheduler import Event
from ackclock.execution.store import Store
from ackclock.results import summary, validity
from ackclock.results.result import Result
from ackclock.scenario import settings
from ackclock.scenario.plan import Plan, Point
from ackclock.sweeps.precision import Imprecise, Precision

if TYPE_CHECKING:
    import polars as pl

_BATCHES_AT_HAND = 4
_MOST_ROWS = 200_000
"""Rows whose points are looked at together while it is decided which of them need more replications."""
_OF_SERIES = frozenset({"synchronisation", "smoothness"})
"""Metrics that need the series; all others do without this largest of the tables."""


class Session:
    """The runs of one plan, in a store that has some of them already."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        backend: backends.Backend,
        notify: scheduling.Notify,
        *,
        precision: Precision | None = None,
        retry: bool = False,
        stop: bool = False,
    ) -> None:
        """`retry` and `stop` are those of the :class:`Scheduler`."""
        self._plan, self._store, self._precision, self._notify = plan, store, precision, notify
        self._texts = Texts(plan)
        asked = [point.scenario.run.replications for point in plan.points]
        self._counts = [precision.first(count) for count in asked] if precision is not None else asked
        self._watch = scheduling.Watch(sum(self._counts), notify)
        self._scheduler = scheduling.Scheduler(self._texts, store, backend, self._on_event, retry=retry, stop=stop)
        self._stop = stop
        self._measured, self._unmeasured = 0, list[int]()
        self.imprecise: list[Imprecise] = []
        self._tables = functools.lru_cache(_BATCHES_AT_HAND)(lambda offset: batch.tables(store.payload(offset)))
        self._header = functools.lru_cache(_BATCHES_AT_HAND)(lambda offset: batch.header(store.payload(offset)))

    def play(self) -> tuple[Plan, int]:
        """Play what is missing. Returns the plan as it was played in the end, and how many runs were."""
        missing = self._scheduler.missing(scheduling.all_runs(self._counts))
        self._watch.begin(sum(self._counts) - len(missing), self._lasting(missing))
        if self._precision is not None:
            first = ((at, self._store.entries.get(self._texts.key(at, 0))) for at in range(len(self._counts)))
            self._has_metric(self._precision, [at for at, entry in first if entry is not None and not entry.failed])
        self._scheduler.play(missing)
        if self._precision is not None:
            self._refine(self._precision)
        return _replicated(self._plan, self._counts), self._watch.finished - self._watch.before

    def _lasting(self, runs: Iterable[scheduling.Wanted]) -> float:
        """How long those in real time last, one after the other, s."""
        return sum(settings.in_real_time(self._plan.points[run.point].scenario.run) for run in runs)

    @property
    def progress(self) -> tuple[int, int]:
        """How many of how many runs have finished."""
        return self._watch.finished, self._watch.total

    def _on_event(self, event: Event) -> None:
        self._watch(event)
        if self._precision is not None and event["event"] == "run" and event["replication"] == 0:
            self._unmeasured.append(event["point"])
            if len(self._unmeasured) >= self._measured:  # the first at once, and then more and more together
                self._measured += len(self._unmeasured)
                self._has_metric(self._precision, self._unmeasured)
                self._unmeasured = []

    def _has_metric(self, precision: Precision, points: Iterable[int]) -> None:
        """Whether the metric has a value in the first replication of some points. Raises :class:`InputError`."""
        for _ in self._estimates(precision, dict.fromkeys(points, 1)):
            pass

    def _refine(self, precision: Precision) -> None:
        """Replicate points until they are known as precisely as was asked for."""
        unsure: Iterable[int] = range(len(self._counts))
        while unsure:
            more: dict[int, int] = {}
            # A point of which no run has succeeded is not among them; more of the same would fail as well.
            for at, mean, half in self._estimates(precision, {at: self._counts[at] for at in unsure}):
                wanted = precision.wanted(self._counts[at], mean, half)
                if wanted > self._counts[at]:
                    more[at] = wanted
                elif not precision.reached(mean, half):
                    share = half / abs(mean) if half is not None and mean else None
                    self.imprecise.append(Imprecise(at, self._counts[at], share))
            runs = [scheduling.Wanted(at, n) for at, wanted in more.items() for n in range(self._counts[at], wanted)]
            for at, wanted in more.items():
                self._counts[at] = wanted
            if runs:
                missing = self._scheduler.missing(runs)
                self._watch.more(len(runs), len(runs) - len(missing))
                self._scheduler.play(missing)
            unsure = more
        self.imprecise.sort(key=lambda item: item.point)
        for item in self.imprecise:
            self._notify({"event": "imprecise", "metric": precision.metric, **dataclasses.asdict(item)})

    def _estimates(self, precision: Precision, counts: Mapping[int, int]) -> Iterator[tuple[int, float, float | None]]:
        """Points, mean and half-width of the metric in so many replications. Raises :class:`InputError`."""
        without = () if precision.metric in _OF_SERIES else ("series",)
        for window in self._windows(counts):
            plan = dataclasses.replace(
                self._plan, points=tuple(_of(self._plan.points[at], counts[at]) for at in window)
            )
            runs, _ = self.finished(plan)
            if not runs:
                continue
            tables = assembly.in_memory(plan, runs, lambda at: batch.tables(self._store.payload(at), without))
            # With what is not valid nothing is known: who compares and ranks leaves it out.
            used = validity.only(Result(tables, manifest.build(plan, runs.records(plan))))
            if not used.runs.height:
                continue
            for point in summary.summarise(used.tables, used.manifest):
                found = point.metrics.get(precision.metric)
                if found is None or found.mean is None:
                    problem = f"'{precision.metric}' has no value in point {point.point}"
                    raise InputError(problem, "name a metric that every point has", key="metric")
                # Values that are all the same have no interval, and more replications would give none either.
                yield point.point, found.mean, 0.0 if found.ci95 is None and found.n > 1 else found.ci95

    def _windows(self, counts: Mapping[int, int]) -> Iterator[list[int]]:
        """As many points at a time as fit, each with so many replications."""
        window, rows = list[int](), 0
        for at, count in counts.items():
            own = sum(self._store.entries[self._texts.key(at, number)].rows for number in range(count))
            if window and rows + own > _MOST_ROWS:
                yield window
                window, rows = [], 0
            window.append(at)
            rows += own
        if window:
            yield window

    def finished(self, plan: Plan) -> tuple[Ledger, dict[int, Mapping[str, Any]]]:
        """The runs of a plan that have been played: those with a result, and the errors of the others."""
        runs, errors = Ledger(), {}
        for job in plan.jobs():
            entry = self._store.entries.get(self._texts.key(job.point.index, job.replication))
            if entry is None:
                continue
            run = self._header(entry.offset).runs[entry.number]
            if entry.failed:
                errors[job.index] = run["error"]
            else:
                runs.add(job, run["info"], rows=entry.rows, batch=entry.offset, place=entry.number)
        return runs, errors

    def result(self, plan: Plan) -> Result:
        """The result of a plan in memory: of its runs that have been played."""
        runs, errors = self.finished(plan)
        return Result(
            assembly.in_memory(plan, runs, lambda at: batch.tables(self._store.payload(at))),
            manifest.build(plan, list(runs.records(plan)), {} if self._stop else errors),
        )

    def tables(self, offset: int) -> Mapping[str, pl.DataFrame]:
        """The tables of the batch that begins there."""
        return self._tables(offset)


def _replicated(plan: Plan, counts: Sequence[int]) -> Plan:
    """The plan with so many replications of each point."""
    return dataclasses.replace(plan, points=tuple(map(_of, plan.points, counts)))


def _of(point: Point, count: int) -> Point:
    """A point with so many replications."""
    settings = point.scenario.run.model_copy(update={"replications": count})
    return dataclasses.replace(point, scenario=point.scenario.model_copy(update={"run": settings}))
