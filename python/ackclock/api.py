"""Running scenarios from Python."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import host
from ackclock.errors import ControllerError, InputError, Interrupted
from ackclock.execution import memory, pool
from ackclock.results import manifest, store, tables
from ackclock.results.ledger import Ledger
from ackclock.results.result import Result
from ackclock.scenario.model import Scenario
from ackclock.scenario.override import Overrides
from ackclock.scenario.plan import Plan, load

if TYPE_CHECKING:
    from ackclock.engine import Output

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
    jobs: worker processes; the tables do not depend on it. Default: the processors of this computer; 1 runs
        everything in this process.
    out: directory to write the result to. An older result there is replaced.
    progress: called with (finished, all) runs, first with 0 finished.

    Raises
    ------
    InputError: the scenario or `out` cannot be used, or does not fit into memory; nothing was run.
    ControllerError: a controller in Python raised. Its `result` has the runs that had finished, also written to `out`.
    EngineError: a run failed.
    AckclockError: `out` became a sweep's directory meanwhile, or the disk is full; the message says where the result
        is.
    Interrupted: Ctrl-C. Its `result` has the finished runs, which were also written to `out`.
    """
    plan = _plan(scenario, set, seed, replications)
    if jobs is not None and type(jobs) is not int:
        raise InputError(f"{jobs!r} is not a whole number", "give at least 1", key="jobs")
    if jobs is not None and jobs < 1:
        raise InputError(f"{jobs} is too few", "give at least 1", key="jobs")
    workers = memory.affordable(plan, jobs or host.cores())
    place = store.OutputDirectory(out) if out is not None else None
    try:
        return _run(plan, workers, place, progress or _silent)
    finally:
        if place is not None:
            place.discard()


def _run(plan: Plan, workers: int, place: store.OutputDirectory | None, progress: Progress) -> Result:
    outputs: dict[int, Output] = {}
    total = len(plan)
    progress(0, total)
    interrupted = False
    try:
        with contextlib.closing(pool.outputs(plan, workers)) as arriving:
            for job, output in arriving:
                outputs[job.index] = output
                progress(len(outputs), total)
    except ControllerError as error:
        if outputs:
            error.result = _kept(plan, outputs, place)
        raise
    except KeyboardInterrupt:
        if not outputs:
            raise
        interrupted = True
    result = _kept(plan, outputs, place)
    if interrupted:
        raise Interrupted(result, total - len(outputs))
    return result


def _kept(plan: Plan, outputs: dict[int, Output], place: store.OutputDirectory | None) -> Result:
    runs = Ledger()
    for job in plan.jobs():
        if job.index in outputs:
            runs.add(job, outputs[job.index].info)
    result = Result(tables.build(plan, outputs, runs), manifest.build(plan, list(runs.records(plan))))
    if place is not None:
        result.manifest = place.write(result.tables, result.manifest)
    return result


def _plan(
    scenario: Scenario | Mapping[str, Any] | str | Path | Plan,
    set: Overrides | None,
    seed: int | None,
    replications: int | None,
) -> Plan:
    if not isinstance(scenario, Plan):
        return load(scenario, set=set, seed=seed, replications=replications)
    if set is not None or seed is not None or replications is not None:
        raise InputError("a loaded plan cannot be changed", "give set, seed and replications to load")
    return scenario


def _silent(finished: int, total: int) -> None:
    pass
