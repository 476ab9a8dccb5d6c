"""Reports that are kept beside the code: tables and figures of a full run, and a few of its runs to be played again.

A report says by which commit it was made. That alone does not tell whether it still holds: most changes move nothing.
So the flows of some cheap runs are kept as a digest. Played again, they tell whether the numbers would be others now.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock import engine
from ackclock.errors import InputError
from ackclock.results.result import Result
from ackclock.scenario.plan import Job, Plan
from ackclock.study.place import CLAIMS

STAMP = "stamp.json"
"""What a kept report was made of: commit, command, scenarios, and the digests of runs to be played again."""

_DEAR_S = 1.5
"""Seconds that a run may have taken to be one of those that are played again."""
_MOST = 8
"""How many are, of all scenarios together."""


def keep(results: Path, place: Path, plans: Mapping[str, Plan]) -> dict[str, Any]:
    """Copy the report of a full run from `results` to `place`, and return its stamp.

    Raises :class:`InputError` where there is none, where it is of a quick run, or where runs failed.
    """
    try:
        claims = json.loads((results / CLAIMS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"has no {CLAIMS}", "give the directory of ackclock study run", source=str(results)) from None
    if claims["quick"] or claims["failed"]:
        what = "is of a quick run" if claims["quick"] else "has runs that failed"
        raise InputError(what, "run the whole study", source=str(results))
    shutil.rmtree(place, ignore_errors=True)
    for pattern in ("report.md", "claims.json", "tables/*.csv", "figures/*.svg", "figures/*.csv"):
        for source in sorted(results.glob(pattern)):
            target = place / source.relative_to(results)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    origin = claims["provenance"]
    stamp = {
        "commit": origin["engine"]["commit"],
        "command": origin["command"],
        "runs": origin["runs"],
        "again": [digest(job) for job in _chosen(results, plans)],
    }
    (place / STAMP).write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")
    return stamp


def digest(named: tuple[str, Job]) -> dict[str, Any]:
    """A run, played again, as the stamp has it: its scenario, what was swept, and a digest of the rows of its flows."""
    name, job = named
    played = engine.run(job.text())
    rows = json.dumps(played.flows.to_dicts(), default=str, sort_keys=True)
    return {
        "scenario": name,
        "params": dict(job.point.params),
        "replication": job.replication,
        "flows": hashlib.sha256(rows.encode()).hexdigest()[:16],
    }


def moved(place: Path, plans: Mapping[str, Plan]) -> list[str]:
    """What of a kept report would be other numbers today: a line for each of its runs that differs or is not there."""
    stamp = json.loads((place / STAMP).read_text(encoding="utf-8"))
    return [line for each in stamp["again"] for line in _moved(each, plans)]


def _moved(kept: Mapping[str, Any], plans: Mapping[str, Plan]) -> Iterator[str]:
    what = f"{kept['scenario']}, {kept['params']}"
    plan = plans.get(kept["scenario"])
    jobs = [job for job in plan.jobs() if job.replication == kept["replication"]] if plan else []
    found = [job for job in jobs if dict(job.point.params) == kept["params"]]
    if not found:
        yield f"{what}: the study has no such run any more"
    elif digest((kept["scenario"], found[0])) != kept:
        yield f"{what}: its flows are others now"


def _chosen(results: Path, plans: Mapping[str, Plan]) -> Sequence[tuple[str, Job]]:
    """The cheapest run of each scenario, if that is cheap, of scenarios spread over the study."""
    found: list[tuple[str, Job]] = []
    for name, plan in plans.items():
        manifest = Result.load(results / "runs" / name).manifest
        walls = {run["run"]: run["wall_s"] for run in manifest["runs"]}
        jobs = [job for job in plan.jobs() if walls.get(job.index, _DEAR_S) < _DEAR_S and not job.controllers()]
        if jobs:
            found.append((name, min(jobs, key=lambda job: (walls[job.index], job.index))))
    step = max(1, -(-len(found) // _MOST))
    return found[::step]
