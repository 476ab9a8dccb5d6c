"""Sweeps: every run of a scenario, played once, kept as soon as it is finished, and never repeated."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import host
from ackclock.errors import InputError, unknown
from ackclock.execution import backends, batch, memory, pool
from ackclock.execution import journal as journals
from ackclock.execution import sweep as running
from ackclock.execution.journal import Journal
from ackclock.execution.keys import Texts
from ackclock.results import assemble, manifest, store, summary
from ackclock.results.result import Result
from ackclock.scenario.model import Scenario
from ackclock.scenario.override import Overrides
from ackclock.scenario.plan import Plan, load

if TYPE_CHECKING:
    import polars as pl

Event = running.Event
JOURNAL = journals.NAME
_BATCHES_AT_HAND = 4


@dataclass(frozen=True, slots=True)
class Precision:
    """When a point has been replicated enough.

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

    def wanted(self, n: int, mean: float, half: float | None) -> int:
        """Replications that a point needs whose `n` replications give such a mean; `n` if it has enough."""
        allowed = self.relative * abs(mean)
        if n >= self.most or (half is not None and half <= allowed):
            return n
        if half is None or allowed == 0:
            return min(self.most, 2 * n)
        # The half-width falls with the square root of n. Twice as many at most: it is an estimate itself.
        needed = math.ceil(n * (half / allowed) ** 2)
        return min(self.most, max(n + 1, min(needed, 2 * n)))


@dataclass(frozen=True, slots=True)
class Report:
    """A sweep that came to its end.

    result: what ``out`` holds now.
    played: runs that were played now; the others were there.
    failed: runs without a result; ``result.manifest["failed"]`` says why.
    """

    result: Result
    played: int
    failed: int


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
    precision: replicate each point until it is known so precisely, beginning with the replications of the scenario.
    jobs: processes on this computer. Default: one for each processor.
    cluster: play on Dask instead: the address of a scheduler, or ``local:N``. Needs the extra `cluster`.
    retry_failed: play failed runs again.
    tell: called with every event (docs/sweeps.md).

    Raises
    ------
    InputError: the scenario, `out` or `cluster` cannot be used; nothing was run.
    KeyboardInterrupt: Ctrl-C; what had finished is kept.
    """
    plan = scenario if isinstance(scenario, Plan) else load(scenario, set=set, seed=seed, replications=replications)
    if jobs is not None and jobs < 1:
        raise InputError(f"{jobs} is too few", "give at least 1", key="jobs")
    if jobs is not None and cluster is not None:
        raise InputError("a cluster has its own number of workers", "leave one of the two out", key="jobs")
    tell = tell or _silent
    directory = store.SweepDirectory(out, JOURNAL)
    workers = memory.affordable(plan, jobs or host.cores(), keeping=False)
    played, failed = _swept(plan, directory, workers, cluster, precision, tell, retry=retry_failed)
    return Report(Result.load(directory.path), played, failed)


def _swept(
    plan: Plan,
    directory: store.SweepDirectory,
    workers: int,
    cluster: str | None,
    precision: Precision | None,
    tell: Callable[[Event], None],
    *,
    retry: bool,
) -> tuple[int, int]:
    """Play what is missing and write the result. Returns how many runs were played, and how many have failed."""
    with Journal(directory.path) as journal:
        backend = backends.choose(workers, cluster, plan.folder, functools.partial(pool.portable, plan))
        try:
            campaign = _Campaign(plan, journal, backend, tell, retry=retry)
            plan, played = campaign.play(precision)
        finally:
            backend.close()
        journal.sync()
        runs, errors = campaign.finished(plan)
        record = manifest.build(plan, {ran.job.index: ran.info for ran in runs}, errors)
        manifest.warn(plan, record["runs"])
        directory.finish(lambda folder: assemble.write(plan, runs, campaign.tables, folder), record)
    tell({"event": "end", "runs": len(plan), "played": played, "failed": len(errors)})
    return played, len(errors)


class _Campaign:
    """One sweep: what is wanted, and what is there."""

    def __init__(
        self, plan: Plan, journal: Journal, backend: backends.Backend, tell: running.Tell, *, retry: bool
    ) -> None:
        self._plan, self._journal = plan, journal
        self._texts = Texts(plan)
        self._counts = [point.scenario.run.replications for point in plan.points]
        self._watch = running.Watch(sum(self._counts), tell)
        self._sweep = running.Sweep(self._texts, journal, backend, self._watch, retry=retry)
        self._tables = functools.lru_cache(_BATCHES_AT_HAND)(lambda offset: batch.tables(journal.payload(offset)))
        self._header = functools.lru_cache(_BATCHES_AT_HAND)(lambda offset: batch.header(journal.payload(offset)))

    def play(self, precision: Precision | None) -> tuple[Plan, int]:
        """Play what is missing. Returns the plan as it was played in the end, and how many runs were."""
        missing = self._sweep.missing(running.all_runs(self._counts))
        self._watch.begin(sum(self._counts) - len(missing))
        self._sweep.play(missing)
        unsure = list(range(len(self._counts))) if precision else []
        while precision is not None and unsure:
            wanted = self._wanted(unsure, precision)
            more = [running.Wanted(at, n) for at in unsure for n in range(self._counts[at], wanted[at])]
            unsure = [at for at in unsure if wanted[at] > self._counts[at]]
            for at in unsure:
                self._counts[at] = wanted[at]
            missing = self._sweep.missing(more)
            self._watch.more(len(more), len(more) - len(missing))
            self._sweep.play(missing)
        return _replicated(self._plan, self._counts), self._watch.finished - self._watch.before

    def _wanted(self, points: Sequence[int], precision: Precision) -> dict[int, int]:
        """How many replications each of some points needs, as far as is known now."""
        plan = _replicated(self._plan, self._counts)
        chosen = set(points)
        runs = [ran for ran in self.finished(plan)[0] if ran.job.point.index in chosen]
        record = manifest.build(plan, {ran.job.index: ran.info for ran in runs})
        # A point of which no run has succeeded is not among them; more of the same would fail as well.
        result = {at: self._counts[at] for at in points}
        for point in summary.summarise(assemble.in_memory(plan, runs, self.tables), record) if runs else ():
            found = point.metrics.get(precision.metric)
            if found is None or found.mean is None:
                problem = f"'{precision.metric}' has no value in point {point.point}"
                raise InputError(problem, "name a metric that every point has", key="metric")
            result[point.point] = precision.wanted(self._counts[point.point], found.mean, found.ci95)
        return result

    def finished(self, plan: Plan) -> tuple[list[assemble.Ran], dict[int, Mapping[str, Any]]]:
        """The runs of a plan, all of which have been played: those with a result, and the errors of the others."""
        runs, errors = [], {}
        for job in plan.jobs():
            entry = self._journal.entries[self._texts.key(job.point.index, job.replication)]
            run = self._header(entry.offset).runs[entry.number]
            if entry.failed:
                errors[job.index] = run["error"]
            else:
                runs.append(assemble.Ran(job, run["info"], entry.rows, entry.offset, entry.number))
        return runs, errors

    def tables(self, offset: int) -> Mapping[str, pl.DataFrame]:
        """The tables of the batch that begins there."""
        return self._tables(offset)


def _replicated(plan: Plan, counts: Sequence[int]) -> Plan:
    """The plan with so many replications of each point."""
    points = []
    for point, count in zip(plan.points, counts, strict=True):
        settings = point.scenario.run.model_copy(update={"replications": count})
        points.append(dataclasses.replace(point, scenario=point.scenario.model_copy(update={"run": settings})))
    return dataclasses.replace(plan, points=tuple(points))


def _silent(_event: Event) -> None:
    pass
