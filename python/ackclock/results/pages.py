"""Web pages: the metrics of those that a run loaded, and tables of results that are older than pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ackclock.results.groups import Group
from ackclock.results.percentiles import PERCENTILES
from ackclock.results.sources import WHOLE, Row, Values, nearest_rank

PARTS = ("handshake_s", "queueing_s", "first_byte_s", "transfer_s", "parse_s")
"""What the time of a page was spent with; they add up to it."""

METRICS = (
    "pages_completed", "pages_unfinished", "pages_unfinished_percent",
    "mean_plt_s", *(f"p{percent}_plt_s" for percent in PERCENTILES),
    *(f"mean_page_{part}" for part in PARTS),
    "mean_page_connections",
)  # fmt: skip
"""Metrics of pages that began after the warm-up; times are of those that were completed."""

_NUMBER, _SECONDS = pl.UInt64, pl.Float64
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "pages": {
        "id": pl.String, "page": _NUMBER, "start_s": _SECONDS, "end_s": _SECONDS, "plt_s": _SECONDS,
        "outcome": pl.String, "deferred": pl.Boolean, "objects": _NUMBER, "objects_done": _NUMBER, "bytes": _NUMBER,
        "connections": _NUMBER, "allowed": _NUMBER, **dict.fromkeys(PARTS, _SECONDS),
    },
    "objects": {
        "id": pl.String, "page": _NUMBER, "object": _NUMBER, "bytes": _NUMBER, "parent": _NUMBER,
        "connection": _NUMBER,
        **dict.fromkeys(
            ("opened_s", "connected_s", "known_s", "requested_s", "first_byte_s", "done_s"), _SECONDS
        ),
    },
}  # fmt: skip
"""The columns of the tables of pages and of their objects, behind the labels of a row."""


def none(name: str, labels: Mapping[str, Any]) -> pl.DataFrame:
    """The table of that name without rows: what a result has that was written before there were pages."""
    return pl.DataFrame(schema={**labels, **SCHEMAS[name]})


def measured(pages: pl.DataFrame, warmup: Mapping[int, float], known: Sequence[Group]) -> dict[tuple[int, int], Row]:
    """The metrics by run and number of group, those of all pages of a run by run and :data:`~sources.WHOLE`.

    All runs have the groups `known`, and `warmup` says when the measurement of each begins, s.
    """
    if not pages.height:
        return {}
    of = {str(number): index for index, group in enumerate(known) for number in group.flows}
    begin = pl.col("run").replace_strict(warmup, return_dtype=pl.Float64)
    within = pages.lazy().filter(pl.col("start_s") >= begin)
    found: dict[tuple[int, int], Row] = {}
    for group in (pl.lit(WHOLE, pl.Int64), pl.col("id").replace_strict(of, return_dtype=pl.Int64)):
        rows = within.group_by("run", group.alias("group")).agg(*_metrics()).cast(dict.fromkeys(METRICS, pl.Float64))
        for run, number, *values in rows.select("run", "group", *METRICS).collect().iter_rows():
            found[run, number] = dict(zip(METRICS, values, strict=True))
    return found


def over_runs(rows: Sequence[Row | None]) -> Values:
    """The values of some runs of one point, None for those without pages."""
    if all(row is None for row in rows):
        return {}
    found = {name: [row[name] if row else None for row in rows] for name in METRICS}
    for name in METRICS:
        # A run with too few values for a percentile has other ones: a mean without it would mislead.
        if name.startswith("p") and name.endswith("_plt_s") and None in found[name]:
            found[name] = [None] * len(rows)
    return found


def _metrics() -> list[pl.Expr]:
    done = pl.col("outcome") == "completed"
    times = pl.col("plt_s").filter(done)
    return [
        done.sum().alias("pages_completed"),
        (~done).sum().alias("pages_unfinished"),
        (100 * (~done).mean()).alias("pages_unfinished_percent"),
        times.mean().alias("mean_plt_s"),
        *(nearest_rank(times, percent).alias(f"p{percent}_plt_s") for percent in PERCENTILES),
        *(pl.col(part).filter(done).mean().alias(f"mean_page_{part}") for part in PARTS),
        pl.col("connections").filter(done).mean().alias("mean_page_connections"),
    ]
