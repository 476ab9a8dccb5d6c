"""What :func:`ackclock.run` and :func:`ackclock.sweep` are given, checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ackclock import host
from ackclock.errors import InputError
from ackclock.execution import limits
from ackclock.scenario.model import Scenario
from ackclock.scenario.plan import Plan, load
from ackclock.scenario.reading.override import Overrides


def planned(
    scenario: Scenario | Mapping[str, Any] | str | Path | Plan,
    set: Overrides | None,
    seed: int | None,
    replications: int | None,
) -> Plan:
    """The plan of a scenario. Raises :class:`InputError`, also if one that was loaded is to be changed."""
    if not isinstance(scenario, Plan):
        return load(scenario, set=set, seed=seed, replications=replications)
    if set is not None or seed is not None or replications is not None:
        raise InputError("a loaded plan cannot be changed", "give set, seed and replications to load")
    return scenario


def checked_path(path: str | os.PathLike[str], key: str) -> str | os.PathLike[str]:
    """The path of a directory, if it is one. Raises :class:`InputError`."""
    given: object = path
    if not isinstance(given, str | os.PathLike) or not os.fspath(given) or isinstance(os.fspath(given), bytes):
        raise InputError(f"{given!r} is no path", "give the name of a directory", key=key)
    return path


def checked_jobs(jobs: int | None) -> int | None:
    """So many processes, if it is a number of them. Raises :class:`InputError`."""
    if jobs is not None and type(jobs) is not int:
        raise InputError(f"{jobs!r} is not a whole number", "give at least 1", key="jobs")
    if jobs is not None and jobs < 1:
        raise InputError(f"{jobs} is too few", "give at least 1", key="jobs")
    return jobs


def workers(plan: Plan, jobs: int | None, *, keeping: bool) -> int:
    """How many processes play: as many as were asked for, or one for each processor, if their runs fit into memory.

    `keeping`: the results of all runs stay in memory. Raises :class:`InputError`.
    """
    return limits.affordable(plan, checked_jobs(jobs) or host.cores(), keeping=keeping)
