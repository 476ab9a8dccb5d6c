"""Small runs of the study split-tcp, with what their captures say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

import ackclock
from ackclock.scenario.plan import Plan, load
from ackclock.study import Results, captured
from ackclock.study.runner import Loaded, plans
from ackclock.study.selections import known


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
    full = plans(loaded.study)
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
