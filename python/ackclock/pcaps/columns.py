"""The columns of the tables of captures: which there are, and what becomes of the engine's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from ackclock.results.categories import OWNERS

METRICS = (
    "in_flight", "pipe", "rwnd", "rtt", "rtt_ts", "delivered", "sent", "retransmitted", "cwnd_estimate", "limit",
)  # fmt: skip
"""What there is a series of."""

KINDS = (
    "new", "gap", "retransmission", "partial", "reordered", "duplicate_packet", "syn_retransmission",
    "fin_retransmission", "keepalive", "probe", "dup_ack", "window_update", "zero_window", "ack_unseen", "sack",
    "dsack", "spurious", "plateau",
)  # fmt: skip
"""What may happen."""

CAUSES = ("rto", "rto_recovery", "tlp", "fast", "unknown")
PROOFS = ("acked", "dsack", "eifel", "early")

SKIPPED = (
    "skipped_link_type", "skipped_not_ip", "skipped_not_tcp", "skipped_fragment", "skipped_tags", "skipped_tunnels",
    "skipped_short", "skipped_interface",
)  # fmt: skip
"""Packets that are not analysed, by what is the reason."""

WHOLE = ("truncated", "malformed", "checksums", "wrong_checksums")
"""What is known of a whole file, in the row of each of its interfaces."""

CAPTURES: Mapping[str, Any] = {
    "file": pl.String,
    "interface": pl.UInt64,
    "name": pl.String,
    "link_type": pl.UInt64,
    "start_unix_s": pl.Float64,
    "duration_s": pl.Float64,
    "packets": pl.UInt64,
    "segments": pl.UInt64,
    **dict.fromkeys(SKIPPED, pl.UInt64),
    "malformed": pl.UInt64,
    "checksums": pl.UInt64,
    "wrong_checksums": pl.UInt64,
    "drops": pl.UInt64,
    "connections": pl.UInt64,
    "vantage": pl.String,
    "truncated": pl.String,
}
"""The table `captures`."""

PERCENTILES = {50: "p50_rtt_s", 95: "p95_rtt_s", 99: "p99_rtt_s"}

_NS = 1e9


def in_seconds(table: pl.LazyFrame, origin: int) -> pl.LazyFrame:
    """A table with its times in seconds from `origin`, ns, in place of those in nanoseconds since the epoch."""
    columns = table.collect_schema().names()
    return table.select(
        ((pl.col(name) - origin) / _NS).alias(f"{name.removesuffix('_ns')}_s") if name.endswith("_ns") else pl.col(name)
        for name in columns
    )


def in_categories(name: str, table: pl.LazyFrame) -> pl.LazyFrame:
    """A table with what repeats in it stored once."""
    kinds = {
        "series": {"kind": OWNERS, "metric": pl.Enum(METRICS)},
        "events": {"kind": pl.Enum(KINDS), "cause": pl.Enum(CAUSES), "spurious": pl.Enum(PROOFS)},
    }
    return table.with_columns(pl.col(column).cast(pl.String).cast(kind) for column, kind in kinds.get(name, {}).items())
