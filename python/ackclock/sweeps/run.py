"""Running a scenario: a sweep into memory, which a run that fails ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ackclock.errors import ControllerError, EngineError, Interrupted
from ackclock.execution import backends
from ackclock.execution.scheduler import Event, RunFailed
from ackclock.execution.store import InMemory
from ackclock.notebook import progress as notebook
from ackclock.results import store
from ackclock.results.result import Result
from ackclock.scenario.model import Scenario
from ackclock.scenario.plan import Plan
from ackclock.scenario.reading.override import Overrides
from ackclock.sweeps.arguments import checked_path, planned, workers
from ackclock.sweeps.session import Session

Progress = Callable[[int, int], None]


def run(
    scenario: Scenario | Mapping[str, Any] | str | Path | Plan,
    *,
    set: Overrides | None = None,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run everything a scenario asks for.

    Parameters
    ----------
    scenario: path of a TOML file, the same content as a mapping, a :class:`Scenario`, or what :func:`load` returned.
    set: changes before sweeps are expanded: ``{"topology.rtt": "40 ms"}`` or ``["cc=cubic"]``. A bare key of a flow
        changes every group of flows; a list is a sweep.
    seed, replications: in place of those under ``[run]``.
    jobs: worker processes; the tables do not depend on it, and they wait for later calls. 1 runs everything in this
        process. Default: the processors of this computer, and this process for less than a second of work.
    out: directory to write the result to. An older result there is replaced.
    progress: called with (finished, all) runs, first with 0 finished. By default a notebook shows a bar.

    Raises
    ------
    InputError: the scenario or `out` cannot be used, or does not fit into memory; nothing was run.
    ControllerError: a controller in Python raised. Its `result` has the runs that had finished, also written to `out`.
    EngineError: a run failed.
    AckclockError: `out` became a sweep's directory meanwhile, or the disk is full; the message says where the result
        is.
    Interrupted: Ctrl-C. Its `result` has the finished runs, which were also written to `out`.
    """
    return _placed(planned(scenario, set, seed, replications), jobs, out, progress, isolate=False)


def apart(
    plan: Plan,
    *,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """As :func:`run`, for a command: what a controller in Python does to its process is not done to the caller's.

    With `jobs` 1 everything still runs in this process, where a debugger can look at it. Raises as :func:`run` does;
    :class:`EngineError` also where a run ended its process.
    """
    return _placed(plan, jobs, out, progress, isolate=jobs != 1)


def _placed(
    plan: Plan, jobs: int | None, out: str | os.PathLike[str] | None, progress: Progress | None, *, isolate: bool
) -> Result:
    count = workers(plan, jobs, keeping=True)
    place = store.OutputDirectory(checked_path(out, "out")) if out is not None else None
    try:
        played = progress or notebook.bar() or _silent
        return _run(plan, count, place, played, isolate=isolate, asked=jobs is not None)
    finally:
        if place is not None:
            place.discard()


def in_memory(plan: Plan, *, jobs: int | None = None, progress: Progress | None = None) -> Result:
    """Run everything, as :func:`run` does, but a run that fails is recorded and leaves the others alone."""
    count = min(workers(plan, jobs, keeping=True), len(plan))
    backend = backends.choose(count, None, plan, asked=jobs is not None)
    try:
        session = Session(plan, InMemory(), backend, counted(progress or _silent))
        session.play()
    finally:
        backend.close()
    return session.result(plan)


def _run(
    plan: Plan, count: int, place: store.OutputDirectory | None, progress: Progress, *, isolate: bool, asked: bool
) -> Result:
    progress(0, len(plan))
    backend = backends.choose(min(count, len(plan)), None, plan, isolate=isolate, stop=True, asked=asked)
    session = Session(plan, InMemory(), backend, counted(progress), stop=True)
    interruption: KeyboardInterrupt | None = None
    try:
        session.play()
    except RunFailed as failure:
        cause = failure.__cause__
        raise _named(plan, session, failure, place) from (cause and cause.__cause__) or cause
    except KeyboardInterrupt as error:
        interruption = error
    finally:
        backend.close()
    result = session.result(plan)
    if interruption is not None and not result.runs.height:
        raise interruption
    if place is not None:
        result.manifest = place.write(result.tables, result.manifest)
    if interruption is not None:
        raise Interrupted(result, len(plan) - result.runs.height) from None
    return result


def _named(plan: Plan, session: Session, failure: RunFailed, place: store.OutputDirectory | None) -> EngineError:
    """The error of a run with its name and parameters; one of a controller keeps what had finished."""
    run = failure.run
    job = next(job for job in plan.jobs() if (job.point.index, job.replication) == (run.point, run.replication))
    inside = ", ".join(f"{key} = {value}" for key, value in job.point.params.items())
    name = f"run {job.index}{f' ({inside})' if inside else ''}"
    raised = failure.error["raised"]
    if raised is None:
        return EngineError(f"{name}: {failure}")
    error = ControllerError(**raised).of_run(name)
    result = session.result(plan)
    if result.runs.height:
        if place is not None:
            result.manifest = place.write(result.tables, result.manifest)
        error.result = result
    return error


def counted(progress: Progress) -> Callable[[Event], None]:
    """Events as numbers of finished and of all runs."""

    def tell(event: Event) -> None:
        if "finished" in event and (event["event"] != "begin" or event["finished"]):
            progress(event["finished"], event["runs"])

    return tell


def _silent(finished: int, total: int) -> None:
    pass
