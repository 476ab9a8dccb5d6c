"""The record beside the tables: what was run, by what, where, and what to know about it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ackclock import engine, host
from ackclock.assembly import groups, numbers
from ackclock.engine import Json
from ackclock.results.manifest import FORMAT, Manifest
from ackclock.scenario.compile import compile_run
from ackclock.scenario.plan import Plan


def build(plan: Plan, runs: Sequence[Json], errors: Mapping[int, Json] | None = None) -> Manifest:
    """The manifest of finished runs, which are part of it as they are given: a list, to have it as JSON.

    Runs of the plan that are not among them are listed as failed if `errors` has them, and as missing otherwise.
    """
    errors = errors or {}
    missing: list[int] = []
    if len(runs) + len(errors) < len(plan):
        there = {entry["run"] for entry in runs} | errors.keys()
        missing = [job.index for job in plan.jobs() if job.index not in there]
    columns = numbers.of(plan)
    version, commit = engine.catalogue().version, engine.catalogue().commit
    return {
        "format": FORMAT,
        "status": "interrupted" if missing else "complete",
        "missing": missing,
        "version": version,
        "engine": {"name": _engines(plan), "version": version, "commit": commit},
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "host": host.facts(),
        "scenario": {"source": plan.source, "text": plan.text, "changes": _written(plan.changes)},
        "params": list(plan.params),
        "numbers": {key: list(names) for key, names in columns.columns.items()},
        "points": [
            {
                "point": point.index,
                "params": point.params,
                "numbers": own,
                "groups": [dataclasses.asdict(group) for group in groups.of(point.scenario)],
                "resolved": compile_run(point.scenario),
            }
            for point, own in zip(plan.points, columns.values, strict=True)
        ],
        "runs": runs,
        "failed": [
            {
                "run": job.index,
                "point": job.point.index,
                "replication": job.replication,
                "problem": errors[job.index]["problem"],
                "traceback": errors[job.index]["traceback"],
            }
            for job in plan.jobs()
            if job.index in errors
        ],
        "files": {},
    }


def _engines(plan: Plan) -> str:
    """Who has played: ``sim``, ``kernel``, ``kernel-vt``, or several."""
    return ", ".join(sorted({point.scenario.run.engine for point in plan.points}, reverse=True))


def _written(value: Any) -> Any:
    """A value of a change as JSON has it: what it has no form for, such as an infinity, is text."""
    if isinstance(value, Mapping):
        return {str(key): _written(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    finite = not isinstance(value, float) or math.isfinite(value)
    return value if value is None or (finite and isinstance(value, str | int | float)) else str(value)
