"""What was sampled of a test as the table `series`: the client's clock, base units, the names of every engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

UNKNOWN = (1 << 32) - 1
"""What the kernel says of a smallest round trip before it has one."""

_INFINITE = 0x7FFFFFFF
_UNPACED = (1 << 64) - 1

_US, _BITS = 1e-6, 8.0

_AS_THEY_ARE: Mapping[str, tuple[str, float]] = {
    "srtt": ("srtt", _US),
    "rttvar": ("rttvar", _US),
    "min_rtt": ("min_rtt", _US),
    "rto": ("rto", _US),
    "sent": ("bytes_sent", 1),
    "retransmitted": ("bytes_retrans", 1),
    "timeouts": ("timeouts", 1),
    "pacing_rate": ("pacing_rate", _BITS),
    "delivery_rate": ("delivery_rate", _BITS),
    "delivery_rate_app_limited": ("delivery_rate_app_limited", 1),
    "bytes_acked": ("bytes_acked", 1),
    "total_retrans": ("total_retrans", 1),
    "delivered_segments": ("delivered", 1),
    "delivered_ce": ("delivered_ce", 1),
    "notsent": ("notsent", 1),
    "snd_wnd": ("snd_wnd", 1),
    "busy_time": ("busy_time", _US),
    "rwnd_limited": ("rwnd_limited", _US),
    "sndbuf_limited": ("sndbuf_limited", _US),
    "reordering": ("reordering", 1),
    "reord_seen": ("reord_seen", 1),
    "dsack_dups": ("dsack_dups", 1),
    "ca_state": ("ca_state", 1),
    "ecn_info": ("ecn_info", 1),
}
"""Of the sender: the series, the field, and how much one of it is in base units."""

_SEGMENTS = ("unacked", "sacked", "lost", "retrans")
"""Of the sender, in bytes as those of a scenario's probes: segments of full size."""

_RECEIVER: Mapping[str, tuple[str, float]] = {
    "rcv_space": ("rcv_space", 1),
    "rcv_rtt": ("rcv_rtt", _US),
    "rcv_ooopack": ("rcv_ooopack", 1),
}
"""Of the receiver."""

METRICS = ("cwnd", "ssthresh", "in_flight", "delivered", *_AS_THEY_ARE, *_SEGMENTS, *_RECEIVER)
"""Every series of a measurement."""

SCHEMA: Mapping[str, Any] = {
    "time_s": pl.Float64,
    "kind": pl.Enum(["flow"]),
    "id": pl.String,
    "metric": pl.Enum(METRICS),
    "value": pl.Float64,
}
"""The columns of its own."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A connection as its two ends have seen it; what is to be added to their times, ns, to have the client's."""

    sender: Mapping[str, Any]
    receiver: Mapping[str, Any]
    sender_is: str
    sender_shift: int
    receiver_shift: int


def pairs(found: Mapping[str, Any]) -> Iterator[Pair]:
    """The connections of a test, in order."""
    client, server = (found["ends"][name] for name in ("client", "server"))
    offset = sum(item["offset_ns"] for item in found["clock"]) // len(found["clock"])
    shift = server["begun_ns"] - offset - client["begun_ns"]
    for own, other in zip(client["connections"], server["connections"], strict=True):
        if own["sends"]:
            yield Pair(own, other, "client", 0, shift)
        else:
            yield Pair(other, own, "server", shift, 0)


def of(test: Mapping[str, Any]) -> pl.DataFrame:
    """The rows of a test, those of a connection together, in order of series and time."""
    tables = [_of_pair(number, pair) for number, pair in enumerate(pairs(test["result"]))]
    return pl.concat(tables)


def _of_pair(number: int, pair: Pair) -> pl.DataFrame:
    fields = {name: pl.Series(values, dtype=pl.UInt64) for name, values in pair.sender["fields"].items()}
    sent = pl.DataFrame({"time_ns": pair.sender["time_ns"], **fields})
    mss = pl.col("snd_mss").cast(pl.Float64)
    under_way = sum((pl.col(name).cast(pl.Float64) * sign for name, sign in _UNDER_WAY.items()), pl.lit(0.0))
    known = [
        (pl.col("cwnd") * mss).alias("cwnd"),
        pl.when(pl.col("ssthresh") < _INFINITE).then(pl.col("ssthresh") * mss).alias("ssthresh"),
        (under_way * mss).alias("in_flight"),
        *(pl.col(name).cast(pl.Float64) * mss for name in _SEGMENTS),
        *(
            pl.when(pl.col(field) < (UNKNOWN if field == "min_rtt" else _UNPACED))
            .then(pl.col(field).cast(pl.Float64) * unit)
            .alias(name)
            for name, (field, unit) in _AS_THEY_ARE.items()
        ),
    ]
    got = pl.DataFrame(
        {
            "time_ns": pair.receiver["time_ns"],
            "delivered": pl.Series(pair.receiver["so_far"], dtype=pl.Float64),
            **{name: pl.Series(pair.receiver["fields"][field], dtype=pl.Float64) * unit
               for name, (field, unit) in _RECEIVER.items()},
        }
    )  # fmt: skip
    tables = (
        sent.select((pl.col("time_ns") + pair.sender_shift).alias("time_ns"), *known),
        got.with_columns(pl.col("time_ns") + pair.receiver_shift),
    )
    return pl.concat(
        table.unpivot(index="time_ns", variable_name="metric")
        .drop_nulls("value")
        .select(
            (pl.col("time_ns") * 1e-9).alias("time_s"),
            pl.lit("flow", SCHEMA["kind"]).alias("kind"),
            pl.lit(str(number)).alias("id"),
            pl.col("metric").cast(SCHEMA["metric"]),
            pl.col("value").cast(pl.Float64),
        )
        for table in tables
    )


_UNDER_WAY = {"unacked": 1.0, "sacked": -1.0, "lost": -1.0, "retrans": 1.0}
"""Segments under way, as the kernel reckons them (tcp_packets_in_flight)."""
