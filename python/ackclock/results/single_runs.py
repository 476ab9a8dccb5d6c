"""Every run of a result summarised as a point of its own: a metric means there what it means in the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ackclock.results.summary import PointSummary, summarise

if TYPE_CHECKING:
    from ackclock.results.result import Result


def summaries(result: Result) -> list[PointSummary]:
    """The summary of each finished run; its `point` is the number of the run."""
    of = {entry["point"]: entry for entry in result.manifest["points"]}
    point_of = dict(result.runs.select("run", "point").iter_rows())
    alone = {
        **result.manifest,
        "points": [{**of[point], "point": run} for run, point in point_of.items()],
        "runs": [{**entry, "point": entry["run"]} for entry in result.manifest["runs"]],
    }
    return summarise({**result.tables, "runs": result.runs.with_columns(pl.col("run").alias("point"))}, alone)
