"""Runs in real time of which some are not valid: what is concluded from a result leaves these out, and says so."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import polars as pl

from ackclock.errors import InputError
from ackclock.results.manifest import INVALID, Manifest
from ackclock.results.result import Result

VALID = "valid"
"""The column of the table of runs that says whether a run on a real kernel can be used. Simulated ones always can."""


def only(result: Result, *, allow_late: bool = False) -> Result:
    """The result without runs that are not valid, which its manifest lists; with `allow_late` as it is."""
    bad = runs(result)
    if not bad or allow_late:
        return result
    kept = {name: _without(table, bad) for name, table in result.tables.items()}
    return Result(kept, _without_records(result.manifest, frozenset(bad)))


def given(result: Result | str | os.PathLike[str], *, allow_late: bool = False) -> Result:
    """A result, or the one of a directory, :func:`only` with runs that can be used.

    Raises :class:`ackclock.InputError` if the directory has none, or no run can be used.
    """
    loaded = result if isinstance(result, Result) else Result.load(result)
    found = only(loaded, allow_late=allow_late)
    if loaded.runs.height and not found.runs.height:
        own = loaded.runs.height
        problem = "its run is not valid" if own == 1 else f"none of its {own} runs is valid"
        source = None if isinstance(result, Result) else str(result)
        raise InputError(problem, "measure again on a computer that has rest, or allow late packets", source=source)
    return found


def runs(result: Result) -> list[int]:
    """The numbers of the runs that are not valid."""
    if VALID not in result.runs.columns:
        return []
    return result.runs.filter(~pl.col(VALID))["run"].to_list()


def _without(table: pl.DataFrame, bad: list[int]) -> pl.DataFrame:
    return table.filter(~pl.col("run").is_in(bad)) if "run" in table.columns else table


def _without_records(manifest: Manifest, bad: frozenset[int]) -> Manifest:
    kept: list[Mapping[str, Any]] = [entry for entry in manifest["runs"] if entry["run"] not in bad]
    left = [
        {
            "run": entry["run"],
            "point": entry["point"],
            "replication": entry["replication"],
            "problem": f"not valid: {entry['emulation']['problems'][0]}",
            "traceback": "",
        }
        for entry in manifest["runs"]
        if entry["run"] in bad
    ]
    return {**manifest, "runs": kept, INVALID: left}
