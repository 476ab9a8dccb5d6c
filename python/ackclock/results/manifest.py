"""The record beside the tables: what was run, by what, where, and what to know about it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ackclock import engine, host
from ackclock.results import groups
from ackclock.scenario.compile import compile_run
from ackclock.scenario.plan import Plan

if TYPE_CHECKING:
    from ackclock.engine import Json

FORMAT = 1

Manifest = dict[str, Any]


def build(plan: Plan, infos: Mapping[int, Json], errors: Mapping[int, Json] | None = None) -> Manifest:
    """The manifest of the runs in `infos`, which has what each cost.

    Runs of the plan that are not among them are listed as failed if `errors` has them, and as missing otherwise.
    """
    jobs, errors = list(plan.jobs()), errors or {}
    missing = [job.index for job in jobs if job.index not in infos and job.index not in errors]
    version, commit = engine.catalogue().version, engine.catalogue().commit
    return {
        "format": FORMAT,
        "status": "interrupted" if missing else "complete",
        "missing": missing,
        "version": version,
        "engine": {"name": "sim", "version": version, "commit": commit},
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "host": host.facts(),
        "scenario": {"source": plan.source, "text": plan.text, "changes": _written(plan.changes)},
        "params": list(plan.params),
        "points": [
            {
                "point": point.index,
                "params": point.params,
                "groups": [dataclasses.asdict(group) for group in groups.of(point.scenario)],
                "resolved": compile_run(point.scenario),
            }
            for point in plan.points
        ],
        "runs": [
            {
                "run": job.index,
                "point": job.point.index,
                "replication": job.replication,
                "seed": job.point.scenario.run.seed,
                **_cost(infos[job.index]),
            }
            for job in jobs
            if job.index in infos
        ],
        "failed": [
            {
                "run": job.index,
                "point": job.point.index,
                "replication": job.replication,
                "problem": errors[job.index]["problem"],
                "traceback": errors[job.index]["traceback"],
            }
            for job in jobs
            if job.index in errors
        ],
        "files": {},
    }


def _written(value: Any) -> Any:
    """A value of a change as JSON has it: what it has no form for, such as an infinity, is text."""
    if isinstance(value, Mapping):
        return {str(key): _written(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    finite = not isinstance(value, float) or math.isfinite(value)
    return value if value is None or (finite and isinstance(value, str | int | float)) else str(value)


def _cost(info: Mapping[str, Any]) -> dict[str, Any]:
    return {key: info[key] for key in ("wall_s", "events", "packets")} | {"warnings": list(info.get("warnings", ()))}


def warn(plan: Plan, runs: Sequence[dict[str, Any]]) -> None:
    """Enter what was known of the points before they were run, in front of what the engine says of each run."""
    for entry in runs:
        entry["warnings"] = [*plan.points[entry["point"]].warnings, *entry["warnings"]]
