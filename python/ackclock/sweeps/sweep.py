"""Sweeps: every run of a scenario, played once, kept as soon as it is finished, and never repeated."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.assembly import manifest
from ackclock.assembly import tables as assembly
from ackclock.errors import InputError
from ackclock.execution import backends
from ackclock.execution import journal as journals
from ackclock.execution.journal import Journal
from ackclock.execution.scheduler import Event
from ackclock.notebook import progress as notebook
from ackclock.results import incomplete, store
from ackclock.results.result import Result
from ackclock.scenario.model import Scenario
from ackclock.scenario.plan import Plan
from ackclock.scenario.reading.override import Overrides
from ackclock.sweeps.arguments import checked_jobs, checked_path, planned, workers
from ackclock.sweeps.precision import Imprecise, Precision
from ackclock.sweeps.run import counted
from ackclock.sweeps.session import Session

_NOTED_S = 0.5
"""How often it is written down how far a sweep is."""


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
    jobs: processes on this computer. Default: one for each processor, and this process for less than a second of work.
    cluster: play on Dask instead: the address of a scheduler, or ``local:N``. Needs the extra `cluster`.
    retry_failed: play failed runs again.
    tell: called with every event (docs/sweeps.md). By default a notebook shows a bar.

    Raises
    ------
    InputError: the scenario, `out` or `cluster` cannot be used, or `metric` has no value.
    AckclockError: the disk is full, or the cluster is gone or has another engine; what had finished is kept.
    KeyboardInterrupt: Ctrl-C; what had finished is kept.
    """
    plan = planned(scenario, set, seed, replications)
    if checked_jobs(jobs) is not None and cluster is not None:
        raise InputError("a cluster has its own number of workers", "leave one of the two out", key="jobs")
    if precision is not None:
        precision.check(point.scenario.run.replications for point in plan.points)
    directory = store.SweepDirectory(checked_path(out, "out"))
    count = workers(plan, jobs, keeping=False)
    asked = jobs is not None
    report = _swept(plan, directory, count, cluster, precision, tell or _shown(), retry=retry_failed, asked=asked)
    return report(Result.load(directory.path))


def _swept(
    plan: Plan,
    directory: store.SweepDirectory,
    count: int,
    cluster: str | None,
    precision: Precision | None,
    tell: Callable[[Event], None],
    *,
    retry: bool,
    asked: bool,
) -> Callable[[Result], Report]:
    """Play what is missing and write the result. Returns what makes the report of it."""
    with Journal(directory.path) as journal:
        if journal.damaged:
            aside = journal.path.with_name(journals.ASIDE)
            tell({"event": "damaged", "bytes": journal.damaged, "moved_to": str(aside)})
        backend = backends.choose(count, cluster, plan, asked=asked or precision is not None)
        told = _noting(directory.path, tell)
        with contextlib.closing(backend):
            session = Session(plan, journal, backend, told, precision=precision, retry=retry)
            try:
                plan, played = session.play()
            finally:  # whole or not: the tables of all runs may find no place
                incomplete.write_down(directory.path, *session.progress)
        journal.sync()
        runs, errors = session.finished(plan)
        record = manifest.build(plan, runs.records(plan), errors)
        imprecise = tuple(session.imprecise)
        if precision is not None:
            record["precision"] = dataclasses.asdict(precision) | {"imprecise": [*map(dataclasses.asdict, imprecise)]}
        directory.finish(lambda folder: assembly.write(plan, runs, session.tables, folder), record)
        damaged, failed = journal.damaged, len(errors)
    tell({"event": "end", "runs": len(plan), "played": played, "failed": failed})
    return lambda result: Report(result, played, failed, imprecise, damaged)


def _noting(folder: Path, tell: Callable[[Event], None]) -> Callable[[Event], None]:
    """Tells, and writes down now and then how far the sweep is: a process that is killed cannot."""
    last = -math.inf

    def noted(event: Event) -> None:
        nonlocal last
        now = time.monotonic()
        if event.get("finished", 0) < event.get("runs", 0) and now >= last + _NOTED_S:
            incomplete.write_down(folder, event["finished"], event["runs"], playing=True)
            last = now
        tell(event)

    return noted


def _shown() -> Callable[[Event], None]:
    bar = notebook.bar()
    return _silent if bar is None else counted(bar)


def _silent(_event: Event) -> None:
    pass
