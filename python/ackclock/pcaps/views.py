"""Which rows of captures stand for a connection, where it was seen from, and what too few samples cannot say."""

from __future__ import annotations

import polars as pl

from ackclock.pcaps.columns import PERCENTILES
from ackclock.results import percentiles

SENDER, MIDDLE, RECEIVER = "sender", "middle", "receiver"
VANTAGES = (SENDER, MIDDLE, RECEIVER)
"""Where a capture may have been taken, the one that sees most first."""

_KEY = "key"


def with_enough_samples(flows: pl.LazyFrame) -> pl.LazyFrame:
    """Flows without the percentiles of RTT that have too few samples, as in every other table."""
    return flows.with_columns(
        pl.when(pl.col("rtt_samples") >= percentiles.PERCENTILES[percent]).then(pl.col(name)).alias(name)
        for percent, name in PERCENTILES.items()
    )


def seen_elsewhere(flows: pl.LazyFrame) -> pl.Series:
    """The ids of connections that another interface saw, too, and nearer to the sender.

    The same connection has the same ends, and packets at the same time.
    """
    ends = [pl.concat_str("src", pl.lit(" "), "sport"), pl.concat_str("dst", pl.lit(" "), "dport")]
    place = pl.col("vantage").replace_strict({name: at for at, name in enumerate(VANTAGES)}, default=len(VANTAGES))
    table = (
        flows.filter(pl.col("main"))
        .select(
            "id",
            "interface",
            "start_s",
            "last_s",
            pl.concat_str(pl.min_horizontal(ends), pl.lit(" "), pl.max_horizontal(ends)).hash().alias(_KEY),
            place.cast(pl.UInt8).alias("place"),
        )
        .collect()
        .sort(_KEY, "start_s", "id")
    )
    until = pl.col("last_s").cum_max().shift(1).over(_KEY)
    table = table.with_columns((pl.col("start_s") > until).fill_null(value=True).cum_sum().over(_KEY).alias("turn"))
    best = pl.col("interface").sort_by("place", "interface").first().over(_KEY, "turn")
    return table.filter(pl.col("interface") != best)["id"]


def vantages(flows: pl.LazyFrame) -> dict[int, tuple[int, str | None]]:
    """Of each interface its connections, and where it was: the place from which most bytes were seen."""
    own = flows.filter(pl.col("main"))
    counts = own.group_by("interface").agg(pl.len()).collect()
    found: dict[int, tuple[int, str | None]] = {number: (count, None) for number, count in counts.iter_rows()}
    known = own.filter(pl.col("vantage").is_not_null()).group_by("interface", "vantage").agg(pl.col("sent_bytes").sum())
    for number, vantage, _ in known.collect().sort("interface", "sent_bytes", "vantage").iter_rows():
        found[number] = (found[number][0], vantage)
    return found
