"""Replications that are the same run: where nothing is drawn, each plays the one before over again."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from ackclock.results.manifest import Manifest

SEEDS = ("run", "seed", "replication")
"""Columns in which runs that are the same may differ."""

_COUNTS = ("events", "packets")  # what nearly all runs differ in that differ at all
_TABLES = (
    "runs",
    "flows",
    "links",
    "transfers",
    "pages",
    "cells",
    "users",
    "legs",
)  # series are samples of what these add up


def repeated(tables: Mapping[str, pl.DataFrame], manifest: Manifest) -> frozenset[int]:
    """The points with several replications that are all the same run.

    What decides: every row of the tables of runs, flows, links and transfers, and what applications measured, is equal
    but for the columns that name the run and its seed. Series are not read: they sample the same run.
    """
    counted = tables["runs"].group_by("point").agg("run", *(pl.col(name).n_unique() for name in _COUNTS))
    likely = counted.filter(pl.col("run").list.len() > 1, *(pl.col(name) == 1 for name in _COUNTS))
    several: dict[int, list[int]] = dict(likely.select("point", "run").iter_rows())
    for name in _TABLES:
        several = _alike(tables[name], several)
    measured = {entry["run"]: entry.get("measures", []) for entry in manifest["runs"]}
    return frozenset(
        point for point, runs in several.items() if all(measured.get(run) == measured.get(runs[0]) for run in runs)
    )


def _alike(table: pl.DataFrame, points: Mapping[int, list[int]]) -> dict[int, list[int]]:
    """The points whose runs have the same rows."""
    if not points or not table.height:
        return dict(points)
    wanted = [run for runs in points.values() for run in runs]
    own = table.filter(pl.col("run").is_in(wanted))
    parts = own.select("run", pl.all().exclude(*SEEDS)).partition_by("run", as_dict=True, include_key=False)
    found: dict[int, list[int]] = {}
    for point, runs in points.items():
        first, *others = (parts.get((run,)) for run in runs)
        if all(_same(first, other) for other in others):
            found[point] = runs
    return found


def note(points: int, among: int, replications: int, *, captured: bool = False, whose: str = "") -> str:
    """What to say, once, where so many points `among` all are one run over and over, or `captured` and one capture.

    whose: of two results the one whose points these are, all of them.
    """
    if captured:
        start = f"at {points} of {among} points the captures" if points < among else f"the {replications} captures"
        return f"{start} are the same: one capture named several times says nothing of a spread, and has no interval"
    if points < among:
        start = f"of {whose} the {replications}" if whose else f"at {points} of {among} points the"
        start = f"{start} replications are the same run"
        return f"{start}: nothing is drawn there, so that these have no interval"
    start = f"the {replications} replications are the same run"
    return f"{start}: nothing in the scenario is drawn, so that there is no interval"


def _same(a: pl.DataFrame | None, b: pl.DataFrame | None) -> bool:
    """Whether two runs have the same rows; ``None`` is none at all."""
    if a is None or b is None:
        return a is b
    return a.equals(b)
