"""Who plays a scenario: an engine, perhaps with something changed; and what it made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from ackclock.results import validity
from ackclock.results.incomplete import BEHIND
from ackclock.results.result import Result


@dataclass(frozen=True, slots=True)
class Variant:
    """An engine by name. `changes` are made to the scenario for it alone: to compare profiles, or draws."""

    name: str
    engine: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Played:
    """What an engine made of the scenario.

    result: the runs that it played, with those that are not valid.
    refused: what it cannot play: for each reason the points.
    """

    variant: Variant
    result: Result
    refused: Mapping[str, tuple[int, ...]]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.variant.name

    @property
    def able(self) -> frozenset[int]:
        """The points that it could play."""
        not_able = {point for points in self.refused.values() for point in points}
        return frozenset(entry["point"] for entry in self.result.manifest["points"]) - not_able

    def lines(self) -> list[str]:
        """In words: what it cannot play and why, and which of its runs are not valid."""
        total = len(self.result.manifest["points"])
        found = []
        for problem, points in self.refused.items():
            what = "this" if total == 1 else "any point" if len(points) == total else f"{len(points)} of {total} points"
            found.append(f"{self.name} cannot play {what}: {problem}")
        if bad := len(validity.runs(self.result)):
            of = self.result.runs.height
            runs = f"{bad} of {of} runs {'is' if bad == 1 else 'are'}" if of > 1 else "the run is"
            found.append(f"{self.name}: {runs} not valid, as {BEHIND}")
        return found


def played(variant: Variant, result: Result) -> Played:
    """What an engine made of it. A point of which every run failed is one that it cannot play."""
    tried = Counter(dict(result.runs["point"].value_counts().iter_rows())) if result.runs.height else Counter[int]()
    refused: dict[str, list[int]] = {}
    for failure in result.manifest["failed"]:
        if not tried[failure["point"]]:
            points = refused.setdefault(failure["problem"], [])
            if failure["point"] not in points:
                points.append(failure["point"])
    return Played(variant, result, {problem: tuple(points) for problem, points in refused.items()})


def of_points(result: Result, points: frozenset[int]) -> Result:
    """A result of some of its points."""
    manifest = result.manifest
    runs = {entry["run"] for entry in manifest["runs"] if entry["point"] in points}
    tables = {
        name: table.filter(pl.col("run").is_in(sorted(runs))) if "run" in table.columns else table
        for name, table in result.tables.items()
    }
    parts = {
        name: [entry for entry in manifest[name] if entry["point"] in points] for name in ("points", "runs", "failed")
    }
    return Result(tables, {**manifest, **parts})
