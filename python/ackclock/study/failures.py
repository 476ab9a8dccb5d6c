"""Runs without a result: they are listed, and whatever rests on them says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ackclock.results.manifest import INVALID
from ackclock.results.result import Result

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Failure:
    """A run that failed: where it stood, and what it said."""

    scenario: str
    run: int
    replication: int
    params: Mapping[str, Any] = field(compare=False)
    problem: str

    def to_json(self) -> dict[str, Any]:
        """What ``ackclock study run --json`` prints of it."""
        return {
            "scenario": self.scenario,
            "run": self.run,
            "replication": self.replication,
            "params": dict(self.params),
            "problem": self.problem,
        }


@dataclass(frozen=True)
class Failures:
    """The failed runs of a selection, and where to note that they were missed."""

    here: tuple[Failure, ...] = ()
    noted: set[Failure] = field(default_factory=set)

    @classmethod
    def of(cls, scenario: str, result: Result, noted: set[Failure]) -> Failures:
        """Those of a scenario's result."""
        points = result.manifest["points"]
        found = (
            Failure(scenario, row["run"], row["replication"], points[row["point"]]["params"], row["problem"])
            for row in (*result.manifest.get("failed", ()), *result.manifest.get(INVALID, ()))
        )
        return cls(tuple(found), noted)

    def where(self, chosen: Callable[[Failure], bool]) -> Failures:
        """Some of them."""
        return Failures(tuple(failure for failure in self.here if chosen(failure)), self.noted)

    def missed(self) -> None:
        """Somebody asked for the runs of the selection."""
        self.noted.update(self.here)


def reason(failed: tuple[Failure, ...] | set[Failure]) -> str:
    """In words: how many failed, and what the first of them said."""
    if not failed:
        return ""
    first = min(failed, key=lambda failure: (failure.scenario, failure.run))
    runs = "1 of its runs" if len(failed) == 1 else f"{len(failed)} of its runs"
    return f"{runs} failed: {first.scenario}, run {first.run}: {first.problem}"


def by_problem(failed: tuple[Failure, ...]) -> dict[str, list[Failure]]:
    """The failures that say the same, whatever number it has."""
    found: dict[str, list[Failure]] = {}
    for failure in failed:
        found.setdefault(_NUMBER.sub("0", failure.problem), []).append(failure)
    return {same[0].problem: same for same in found.values()}


def grouped(failed: tuple[Failure, ...]) -> list[tuple[Failure, int]]:
    """The first failure of each swept point, and how many there are of it."""
    found: dict[tuple[object, ...], tuple[Failure, int]] = {}
    for failure in failed:
        key = (failure.scenario, *failure.params.items())
        first, count = found.get(key, (failure, 0))
        found[key] = (first, count + 1)
    return list(found.values())
