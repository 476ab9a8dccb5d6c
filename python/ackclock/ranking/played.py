"""Who played the runs that are ranked. An engine is no path that a choice meets: what each plays is ranked by itself.

Engines share no random numbers, and the same path played twice is no second path: means over both would count it so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from ackclock.errors import InputError
from ackclock.results.result import Result

ENGINE, KERNEL = "run.engine", "run.kernel"
"""Swept keys that say who played."""


@dataclass(frozen=True, slots=True)
class Who:
    """An engine and, of those that play on kernels that were built, the kernel. What is the same for all is None."""

    engine: str | None = None
    kernel: str | None = None

    def __str__(self) -> str:
        given = {"engine": self.engine, "kernel": self.kernel}
        return ", ".join(f"{key} {value}" for key, value in given.items() if value is not None)

    def to_json(self) -> dict[str, str | None]:
        """As ``--json`` prints it."""
        return {"engine": self.engine, "kernel": self.kernel}

    def meets(self, engine: str | None, kernel: str | None) -> bool:
        """Whether this is who is asked for."""
        return engine in (None, self.engine) and kernel in (None, self.kernel)


NOBODY = Who()
"""Nobody in particular: all was played by the same."""


def who(result: Result, by: str) -> list[Who]:
    """Everybody who played, in the order of the points; one where all runs were played by the same.

    Where kernels are what is ranked (`by`), only engines are told apart, and only those that play on such kernels.
    """
    return list(dict.fromkeys(_shown(result, by).values()))


def only(result: Result, by: str, asked: tuple[str | None, str | None], source: str) -> tuple[Result, Who]:
    """What one of them played, as if nobody else had; `asked` are an engine and a kernel, if they are given.

    Raises :class:`ackclock.InputError` where that is nobody, or several.
    """
    engine, kernel = asked
    of = _shown(result, by)
    actual = {number: _played(entry) for number, entry in _points(result).items() if number in of}
    chosen = [number for number in of if actual[number].meets(engine, kernel)]
    if not chosen:
        there = " or ".join(dict.fromkeys(map(str, actual.values())))
        raise InputError(f"nothing here was played by {Who(engine, kernel)}", f"it was {there}", source=source)
    found = dict.fromkeys(of[number] for number in chosen)
    if len(found) > 1:
        named = next(iter(found))
        given = {"engine": named.engine, "kernel": named.kernel}
        remedy = ", ".join(f"--{key} {value}" for key, value in given.items() if value is not None)
        problem = f"it was played by {' and by '.join(map(str, found))}, of which each is ranked by itself"
        raise InputError(problem, f"say which: {remedy}", source=source)
    if len(chosen) == len(_points(result)):
        return result, next(iter(found))
    return _of_points(result, frozenset(chosen), {ENGINE, KERNEL} - {by}), next(iter(found))


def _shown(result: Result, by: str) -> dict[int, Who]:
    """Who played each point, of which those are left out that another engine played once more for another kernel."""
    points = {number: _played(entry) for number, entry in _points(result).items()}
    if not {ENGINE, KERNEL} & set(result.params):
        return dict.fromkeys(points, NOBODY)
    if by == KERNEL:
        points = {number: each for number, each in points.items() if each.kernel is not None} or points
    engines, kernels = ({getattr(each, name) for each in points.values()} - {None} for name in ("engine", "kernel"))
    several = len(engines) > 1, len(kernels) > 1 and by != KERNEL
    seen: set[tuple[Any, ...]] = set()
    found = {}
    for number, each in points.items():
        params = {key: value for key, value in _points(result)[number]["params"].items() if key not in (ENGINE, KERNEL)}
        once = (each, *map(str, params.values()))
        if once not in seen or by == KERNEL:
            found[number] = Who(each.engine if several[0] else None, each.kernel if several[1] else None)
        seen.add(once)
    return found


def _points(result: Result) -> dict[int, Mapping[str, Any]]:
    return {entry["point"]: entry for entry in result.manifest["points"]}


def _played(entry: Mapping[str, Any]) -> Who:
    engine = entry.get("resolved", {}).get("engine") or {"kind": "sim"}
    return Who(engine["kind"], engine["kernel"][0] if "kernel" in engine else None)


def _of_points(result: Result, points: frozenset[int], without: set[str]) -> Result:
    """A result of some of its points, of which these keys are no swept ones."""
    manifest = result.manifest
    parts: dict[str, Any] = {
        name: [entry for entry in manifest.get(name, ()) if entry["point"] in points] for name in ("runs", "failed")
    }
    parts["points"] = [
        {**entry, "params": {key: value for key, value in entry["params"].items() if key not in without}}
        for entry in manifest["points"]
        if entry["point"] in points
    ]
    parts["params"] = [key for key in manifest["params"] if key not in without]
    kept = result.runs.filter(pl.col("point").is_in(sorted(points)))["run"].to_list()
    tables = {
        name: table.filter(pl.col("run").is_in(kept)) if "run" in table.columns else table
        for name, table in result.tables.items()
    }
    return Result(tables, {**manifest, **parts})
