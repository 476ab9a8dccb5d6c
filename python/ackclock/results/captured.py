"""What captures of a run add up to: of each connection the direction that carries its data, seen from one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from ackclock.results import sources
from ackclock.results.sources import Row, nearest_rank

SHARES = ("app_percent", "rwnd_percent", "network_percent")
"""Who limits, % of the time of connections."""

METRICS = ("dup_ack_percent", "reordered_percent", "spurious_percent", *SHARES)
"""Metrics that only captures have."""

RTTS = ("p50_rtt_s", "p95_rtt_s")
"""Percentiles of RTT, of groups of captures alone: a summary has the mean, as every engine does."""

LOSSES = ("retransmitted_percent", "dup_ack_percent", "reordered_percent", "spurious_percent")
"""Metrics that depend on where a capture was taken."""

_TIMES = ("mean_fct_s", *(f"p{percent}_fct_s" for percent in sources.PERCENTILES))
_COUNTS = ("transfers_completed", "transfers_unfinished")
_EVENTS = ("loss_events", "loss_event_rate", "timeouts_per_mb")
ALL = ("goodput_bps", "total_goodput_bps", "retransmitted_percent", "mean_rtt_s", "timeouts", *_COUNTS, *_TIMES,
       *METRICS, *RTTS, *_EVENTS)  # fmt: skip
"""Every metric that captures have."""


def carrying(flows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows that count: of each connection one, if it carries data."""
    return flows.filter(pl.col("main") & ((pl.col("goodput_bytes") > 0) | (pl.col("sent_bytes") > 0)))


def per_run(flows: pl.DataFrame, durations: Mapping[int, float]) -> dict[int, Row]:
    """The metrics of each run, by its number; `durations` are those of the runs, s."""
    rows = carrying(flows.lazy()).group_by("run").agg(*_metrics()).collect()
    found: dict[int, Row] = {run: dict.fromkeys(ALL) for run in durations}
    for row in rows.iter_rows(named=True):
        run, delivered = row.pop("run"), row.pop("delivered")
        seconds = durations[run]
        found[run] = {**row, "total_goodput_bps": 8 * delivered / seconds if seconds > 0 else None}
    return found


def over_runs(rows: Sequence[Row]) -> dict[str, list[float | None]]:
    """The values of some runs of one point."""
    return {name: [row[name] for row in rows] for name in ALL}


def _metrics() -> list[pl.Expr]:
    total = {name: pl.col(name).sum() for name in (
        "retransmitted_bytes", "sent_bytes", "sent_segments", "dup_acks", "pure_acks", "reordered_segments",
        "spurious_segments", "retransmitted_segments", "timeouts", "recoveries",
    )}  # fmt: skip
    spent = pl.sum_horizontal(*(pl.col(f"{who}_s").sum() for who in ("handshake", "app", "rwnd", "network")))
    times = pl.col("fct_s").filter(pl.col("completed") & pl.col("fct_s").is_not_null())
    events = total["timeouts"] + total["recoveries"]
    return [
        pl.col("goodput_bps").mean(),
        pl.col("goodput_bytes").sum().alias("delivered"),
        _percent(total["retransmitted_bytes"], total["sent_bytes"]).alias("retransmitted_percent"),
        pl.col("mean_rtt_s").mean(),
        total["timeouts"].cast(pl.Float64).alias("timeouts"),
        times.len().cast(pl.Float64).alias("transfers_completed"),
        (pl.len() - times.len()).cast(pl.Float64).alias("transfers_unfinished"),
        times.mean().alias("mean_fct_s"),
        *(nearest_rank(times, percent).alias(f"p{percent}_fct_s") for percent in sources.PERCENTILES),
        _percent(total["dup_acks"], total["pure_acks"]).alias("dup_ack_percent"),
        _percent(total["reordered_segments"], total["sent_segments"]).alias("reordered_percent"),
        _percent(total["spurious_segments"], total["retransmitted_segments"]).alias("spurious_percent"),
        *(pl.col(f"p{percent}_rtt_s").mean() for percent in (50, 95)),
        *(_percent(pl.col(f"{who}_s").sum(), spent).alias(f"{who}_percent") for who in ("app", "rwnd", "network")),
        events.cast(pl.Float64).alias("loss_events"),
        pl.when(total["sent_segments"] > 0).then(events / total["sent_segments"]).alias("loss_event_rate"),
        pl.when(total["sent_bytes"] > 0).then(total["timeouts"] / (total["sent_bytes"] / 1e6)).alias("timeouts_per_mb"),
    ]


def _percent(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(whole > 0).then(100 * part / whole)
