"""Sweeps: every run of a scenario, played once, kept as soon as it is finished, and never repeated."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import host
from ackclock.errors import InputError, unknown
from ackclock.execution import backends, batch, memory
from ackclock.execution import journal as journals
from ackclock.execution import sweep as running
from ackclock.execution.journal import Journal
from ackclock.execution.keys import Texts
from ackclock.results import assemble, manifest, store, summary
from ackclock.results.ledger import Ledger
from ackclock.results.result import Result
from ackclock.scenario.model import Scenario
from ackclock.scenario.override import Overrides
from ackclock.scenario.plan import Plan, Point, load

if TYPE_CHECKING:
    import polars as pl

Event = running.Event
JOURNAL = journals.NAME
_BATCHES_AT_HAND = 4
_MOST_ROWS = 200_000
"""Rows whose points are looked at together while it is decided which of them need more replications."""
_OF_SERIES = frozenset({"synchronisation", "smoothness"})
"""Metrics that need the series; all others do without this largest of the tables."""
PILOT = 5
"""Replications that a precision begins with: of fewer, some look alike by chance, and the sweep would stop there."""


@dataclass(frozen=True, slots=True)
class Precision:
    """When a point has been replicated enough. It begins with :data:`PILOT` replications, or more in the scenario.

    relative: the half-width of the 95 % confidence interval of `metric`, as a share of its mean.
    metric: a metric of the summary (docs/results.md).
    most: replications of a point at most.
    """

    relative: float = 0.05
    metric: str = "goodput_bps"
    most: int = 100

    def __post_init__(self) -> None:
        if not 0 < self.relative < 1:
            raise InputError(f"{self.relative} is not between 0 and 1", "give 0.05 for 5 %", key="precision")
        if self.most < 2:
            raise InputError(f"{self.most} is too few", "give at least 2", key="max_replications")
        if self.metric not in summary.METRICS:
            problem = unknown("metric", self.metric, summary.METRICS)
            raise InputError(problem.problem, problem.remedy, key="metric")

    def check(self, replications: Iterable[int]) -> None:
        """Raises :class:`InputError` if a scenario asks for more replications than are allowed."""
        asked = max(replications)
        if asked > self.most:
            problem = f"the scenario asks for {asked} replications, more than {self.most}"
            raise InputError(problem, "allow as many, or give fewer replications", key="max_replications")

    def first(self, replications: int) -> int:
        """How many replications to begin with, of a scenario that asks for so many."""
        return max(replications, min(PILOT, self.most))

    def reached(self, mean: float, half: float | None) -> bool:
        """Whether a mean with such a half-width is precise enough."""
        return half is not None and half <= self.relative * abs(mean)

    def wanted(self, n: int, mean: float, half: float | None) -> int:
        """Replications that a point needs whose `n` replications give such a mean; `n` if it has enough."""
        allowed = self.relative * abs(mean)
        if n >= self.most or self.reached(mean, half):
            return n
        if half is None or allowed == 0:
            return min(self.most, 2 * n)
        # The half-width falls with the square root of n. Twice as many at most: it is an estimate itself.
        needed = math.ceil(n * (half / allowed) ** 2)
        return min(self.most, max(n + 1, min(needed, 2 * n)))


@dataclass(frozen=True, slots=True)
class Imprecise:
    """A point that has the most replications allowed, and is not known as precisely as was asked for.

    relative: the half-width it has reached, as a share of its mean; None if there is no such share.
    """

    point: int
    replications: int
    relative: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """A sweep that came to its end.

    result: what ``out`` holds now.
    played: runs that were played now; the others were there.
    failed: runs without a result; ``result.manifest["failed"]`` says why.
    imprecise: points that are not known as precisely as was asked for.
    damaged: bytes of the journal that were not part of a whole record; their runs are among those played now.
    """

    result: Result
    played: int
    failed: int
    imprecise: tuple[Imprecise, ...] = ()
    damaged: int = 0


def sweep(
    scenario: Scenario | Mapping[str, Any] | str | Path | Plan,
    out: str | os.PathLike[str],
    *,
    set: Overrides | None = None,
    seed: int | None = None,
    replications: int | None = None,
    precision: Precision | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    retry_failed: bool = False,
    tell: Callable[[Event], None] | None = None,
) -> Report:
    """Play every run that a scenario asks for and that `out` does not have yet.

    Runs are kept in `out` as they finish. When everything is there, the tables of a result are written beside them. If
    it is interrupted, by Ctrl-C, by a signal or by the end of the power, the same call goes on where it was.

    Parameters
    ----------
    scenario, set, seed, replications: as for :func:`ackclock.run`.
    out: a directory of its own.
    precision: replicate each point until it is known so precisely, beginning with the replications of the scenario, or
        with :data:`PILOT` if these are fewer.
    jobs: processes on this computer. Default: one for each processor.
    cluster: play on Dask instead: the address of a scheduler, or ``local:N``. Needs the extra `cluster`.
    retry_failed: play failed runs again.
    tell: called with every event (docs/sweeps.md).

    Raises
    ------
    InputError: the scenario, `out` or `cluster` cannot be used, or `metric` has no value.
    AckclockError: the disk is full, or the cluster is gone or has another engine; what had finished is kept.
    KeyboardInterrupt: Ctrl-C; what had finished is kept.
    """
    plan = scenario if isinstance(scenario, Plan) else load(scenario, set=set, seed=seed, replications=replications)
    if jobs is not None and jobs < 1:
        raise InputError(f"{jobs} is too few", "give at least 1", key="jobs")
    if jobs is not None and cluster is not None:
        raise InputError("a cluster has its own number of workers", "leave one of the two out", key="jobs")
    if precision is not None:
        precision.check(point.scenario.run.replications for point in plan.points)
    directory = store.SweepDirectory(out)
    workers = memory.affordable(plan, jobs or host.cores(), keeping=False)
    report = _swept(plan, directory, workers, cluster, precision, tell or _silent, retry=retry_failed)
    return report(Result.load(directory.path))


def _swept(
    plan: Plan,
    directory: store.SweepDirectory,
    workers: int,
    cluster: str | None,
    precision: Precision | None,
    tell: Callable[[Event], None],
    *,
    retry: bool,
) -> Callable[[Result], Report]:
    """Play what is missing and write the result. Returns what makes the report of it."""
    with Journal(directory.path) as journal:
        if journal.damaged:
            aside = journal.path.with_name(journals.ASIDE)
            tell({"event": "damaged", "bytes": journal.damaged, "moved_to": str(aside)})
        backend = backends.choose(workers, cluster, plan)
        try:
            campaign = _Campaign(plan, journal, backend, precision, tell, retry=retry)
            plan, played = campaign.play()
        finally:
            backend.close()
        journal.sync()
        runs, errors = campaign.finished(plan)
        record = manifest.build(plan, runs.records(plan), errors)
        imprecise = tuple(campaign.imprecise)
        if precision is not None:
            record["precision"] = dataclasses.asdict(precision) | {"imprecise": [*map(dataclasses.asdict, imprecise)]}
        directory.finish(lambda folder: assemble.write(plan, runs, campaign.tables, folder), record)
        damaged, failed = journal.damaged, len(errors)
    tell({"event": "end", "runs": len(plan), "played": played, "failed": failed})
    return lambda result: Report(result, played, failed, imprecise, damaged)


class _Campaign:
    """One sweep: what is wanted, and what is there."""

    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        backend: backends.Backend,
        precision: Precision | None,
        tell: running.Tell,
        *,
        retry: bool,
    ) -> None:
        self._plan, self._journal, self._precision, self._tell = plan, journal, precision, tell
        self._texts = Texts(plan)
        asked = [point.scenario.run.replications for point in plan.points]
        self._counts = [precision.first(count) for count in asked] if precision is not None else asked
        self._watch = running.Watch(sum(self._counts), tell)
        self._sweep = running.Sweep(self._texts, journal, backend, self._heard, retry=retry)
        self._measured, self._unmeasured = 0, list[int]()
        self.imprecise: list[Imprecise] = []
        self._tables = functools.lru_cache(_BATCHES_AT_HAND)(lambda offset: batch.tables(journal.payload(offset)))
        self._header = functools.lru_cache(_BATCHES_AT_HAND)(lambda offset: batch.header(journal.payload(offset)))

    def play(self) -> tuple[Plan, int]:
        """Play what is missing. Returns the plan as it was played in the end, and how many runs were."""
        missing = self._sweep.missing(running.all_runs(self._counts))
        self._watch.begin(sum(self._counts) - len(missing))
        if self._precision is not None:
            first = ((at, self._journal.entries.get(self._texts.key(at, 0))) for at in range(len(self._counts)))
            self._has_metric(self._precision, [at for at, entry in first if entry is not None and not entry.failed])
        self._sweep.play(missing)
        if self._precision is not None:
            self._refine(self._precision)
        return _replicated(self._plan, self._counts), self._watch.finished - self._watch.before

    def _heard(self, event: Event) -> None:
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
            runs = [running.Wanted(at, n) for at, wanted in more.items() for n in range(self._counts[at], wanted)]
            for at, wanted in more.items():
                self._counts[at] = wanted
            if runs:
                missing = self._sweep.missing(runs)
                self._watch.more(len(runs), len(runs) - len(missing))
                self._sweep.play(missing)
            unsure = more
        self.imprecise.sort(key=lambda item: item.point)
        for item in self.imprecise:
            self._tell({"event": "imprecise", "metric": precision.metric, **dataclasses.asdict(item)})

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
            tables = assemble.in_memory(plan, runs, lambda at: batch.tables(self._journal.payload(at), without))
            for point in summary.summarise(tables, manifest.build(plan, runs.records(plan))):
                found = point.metrics.get(precision.metric)
                if found is None or found.mean is None:
                    problem = f"'{precision.metric}' has no value in point {point.point}"
                    raise InputError(problem, "name a metric that every point has", key="metric")
                yield point.point, found.mean, found.ci95

    def _windows(self, counts: Mapping[int, int]) -> Iterator[list[int]]:
        """As many points at a time as fit, each with so many replications."""
        window, rows = list[int](), 0
        for at, count in counts.items():
            own = sum(self._journal.entries[self._texts.key(at, number)].rows for number in range(count))
            if window and rows + own > _MOST_ROWS:
                yield window
                window, rows = [], 0
            window.append(at)
            rows += own
        if window:
            yield window

    def finished(self, plan: Plan) -> tuple[Ledger, dict[int, Mapping[str, Any]]]:
        """The runs of a plan, all of which have been played: those with a result, and the errors of the others."""
        runs, errors = Ledger(), {}
        for job in plan.jobs():
            entry = self._journal.entries[self._texts.key(job.point.index, job.replication)]
            run = self._header(entry.offset).runs[entry.number]
            if entry.failed:
                errors[job.index] = run["error"]
            else:
                runs.add(job, run["info"], rows=entry.rows, batch=entry.offset, place=entry.number)
        return runs, errors

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


def _silent(_event: Event) -> None:
    pass
