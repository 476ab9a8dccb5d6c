"""The record beside the tables: what was run, by what, where, and what to know about it."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ackclock import engine, host
from ackclock.results import groups
from ackclock.scenario.compile import compile_run
from ackclock.scenario.plan import Plan

if TYPE_CHECKING:
    from ackclock.engine import Output

FORMAT = 1

Manifest = dict[str, Any]


def build(plan: Plan, outputs: Mapping[int, Output]) -> Manifest:
    """The manifest of the runs in `outputs`; runs of the plan that are not among them are listed as missing."""
    jobs = list(plan.jobs())
    missing = [job.index for job in jobs if job.index not in outputs]
    version, commit = engine.catalogue().version, engine.catalogue().commit
    return {
        "format": FORMAT,
        "status": "interrupted" if missing else "complete",
        "missing": missing,
        "version": version,
        "engine": {"name": "sim", "version": version, "commit": commit},
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "host": host.facts(),
        "scenario": {"source": plan.source, "text": plan.text},
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
                **_cost(outputs[job.index].info),
            }
            for job in jobs
            if job.index in outputs
        ],
        "files": {},
    }


def _cost(info: Mapping[str, Any]) -> dict[str, Any]:
    return {key: info[key] for key in ("wall_s", "events", "packets")} | {"warnings": list(info.get("warnings", ()))}
