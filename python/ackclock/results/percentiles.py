"""Percentiles in tables, and of how few values there is none."""

from __future__ import annotations

import polars as pl

from ackclock.stats.samples.percentiles import least

PERCENTILES = {percent: least(percent) for percent in (50, 95, 99)}
"""The percentiles that tables and summaries have, and of how many values at least."""

# What is counted, of each kind of percentile. A packet that is under way as the window begins or ends may be in one of
# the two only, so of a link the count is right within one.
_COUNTS = {
    "links": {"queue_delay_s": "sent_packets", "l_queue_delay_s": "l_packets"},
    "users": {"wait_s": "delivered_packets", "up_wait_s": "up_delivered_packets"},
    "legs": {"delay_s": "received_packets"},
    "flows": {"delay_s": "received_packets", "fct_s": "transfers_completed"},
}


def with_enough_values(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """The table of that name without the percentiles that have too few values: the engine gives the largest then."""
    columns = [
        pl.when(pl.col(count) >= fewest).then(pl.col(column)).alias(column)
        for kind, count in _COUNTS.get(name, {}).items()
        for percent, fewest in PERCENTILES.items()
        if (column := f"p{percent}_{kind}") in table.columns and count in table.columns
    ]
    return table.with_columns(columns) if columns and not table.is_empty() else table
