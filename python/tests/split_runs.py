"""Small runs of the study split-tcp, with what their captures say."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import ackclock
from ackclock.scenario.plan import Plan, load
from ackclock.study import Results, captured, locate
from ackclock.study.runner import Loaded
from ackclock.study.selections import known
from studies import cached_plans


@dataclass(frozen=True)
class Played:
    """The runs of a scenario."""

    plan: Plan
    result: ackclock.Result
    seen: pl.DataFrame


def planned(loaded: Loaded, name: str, **changes: Any) -> Plan:
    """A scenario of the study with changes; dots in their keys are underscores twice."""
    setting = next(item for item in loaded.study.settings if item.id == name)
    assert setting.captured
    own = {key.replace("__", "."): value for key, value in changes.items()}
    return load(setting.content, set={**setting.changes, **own})  # type: ignore[arg-type]


def played(plan: Plan, name: str) -> Played:
    """Its runs and captures."""
    result = ackclock.run(plan, jobs=1)
    return Played(plan, result, captured.analysed(plan, result, name, jobs=1))


def results(loaded: Loaded, found: Mapping[str, Played]) -> Results:
    """The results of a study of which these scenarios were played and nothing else."""
    full = cached_plans(loaded.study)
    any_one = next(iter(found.values())).result
    nothing = ackclock.Result(
        {**any_one.tables, "runs": any_one.runs.clear()}, {**any_one.manifest, "points": [], "runs": []}
    )
    return Results(
        {**dict.fromkeys(full, nothing), **{name: each.result for name, each in found.items()}},
        quick=True,
        known={name: known(plan) for name, plan in full.items()},
        seen={name: each.seen for name, each in found.items()},
    )


SMALL = (
    'quick = { "topology.hops.0.delay" = ["52.5 ms"], "topology.hops.1.rate" = ["25 Mbit/s"], "app.size" = ["1 MB"], '
    '"run.duration" = "3 s", "run.replications" = 1 }'
)
KEPT = ("lte", "hspa", "mean", "outages", "modern", "sizes")
"""Scenarios and tables: what claims are about, and what any engine plays."""


def small(folder: Path) -> Path:
    """A copy of the study of whose scenarios without captures there is but `modern`: 1 MB from S1 at 25 Mbit/s.

    Readings and figures that need others are left out.
    """
    place = folder / "split-small"
    shutil.copytree(locate.find("split-tcp"), place)
    parts = re.split(r"^(?=\[\[)", (place / "study.toml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    kept = []
    for part in parts:
        drawn = part.startswith("[[figures]]") and set(re.findall(r'scenario = "(.*?)"', part)) - set(KEPT)
        if drawn or part.startswith("[[readings]]"):
            continue
        found = re.match(r'\[\[(scenarios|tables)\]\]\nid = "(.*)"', part)
        if found is None or found[2] in KEPT:
            kept.append(re.sub("quick = .*", SMALL, part) if found is not None and found[2] == "modern" else part)
    (place / "study.toml").write_text("".join(kept), encoding="utf-8")
    return place
