"""Which connections of captures a figure is of, and what passed of each: rows of `events` and `series` as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from ackclock.drawing.request import EVERY
from ackclock.errors import InputError
from ackclock.results import captured
from ackclock.results.result import Result
from ackclock.results.store import Tables

Array = np.ndarray[Any, Any]
Row = dict[str, Any]

_COLUMNS = (
    "run", "id", "connection", "main", "src", "sport", "dst", "dport", "vantage", "start_s", "last_s", "goodput_bytes",
    "sent_bytes",
)  # fmt: skip
_PASSED = ("new", "gap", "retransmission", "partial", "reordered", "duplicate_packet", "probe", "keepalive", "sack")
AGAIN = ("retransmission", "partial")
"""Kinds of events that are segments sent again."""


def lazy(result: Result, name: str) -> pl.LazyFrame:
    """A table, of which only what is asked for is read: events of captures are many."""
    return result.tables.lazy(name) if isinstance(result.tables, Tables) else result.tables[name].lazy()


def connections(result: Result, runs: Sequence[int]) -> list[Row]:
    """The rows of some runs that stand for a connection and carry data, that with most data first."""
    order = ["goodput_bytes", "sent_bytes", "run", "connection"]
    own = captured.carrying(lazy(result, "flows")).filter(pl.col("run").is_in(list(runs))).select(_COLUMNS)
    return own.sort(order, descending=[True, True, False, False]).collect().to_dicts()


def asked(result: Result, runs: Sequence[int], names: Sequence[str]) -> list[Row]:
    """The rows of the connections that were asked for, each of the first run that has it.

    A number is a connection, of which the direction with more data counts, and one with a dot is a direction.
    """
    own = pl.col("run").is_in(list(runs))
    ids = pl.col("connection").cast(pl.String).is_in(list(names)) | pl.col("id").is_in(list(names))
    table = lazy(result, "flows").filter(own & ids).select(_COLUMNS).collect().to_dicts()
    found = []
    for name in names:
        rows = [row for row in table if name in (row["id"], str(row["connection"]))]
        if not rows:
            known = lazy(result, "flows").filter(own)
            last = known.select(pl.col("connection").max()).collect().item()
            there = "there are none" if last is None else "the only one is 0" if not last else f"they are 0 to {last}"
            raise InputError(f"no connection {name}", f"{there}, or {EVERY}", key="connection")
        rows.sort(key=lambda row: (row["run"], not row["main"], -row["goodput_bytes"], row["id"]))
        found.append(rows[0])
    return found


def ends(row: Row) -> str:
    """Who sends to whom: ``192.0.2.1:80 > 192.0.2.2:40000``."""
    src, dst = (f"[{row[at]}]" if ":" in row[at] else row[at] for at in ("src", "dst"))
    return f"{src}:{row['sport']} > {dst}:{row['dport']}"


class Passage:
    """What passed of a direction of a connection: bytes count from 0 at its first one, times as in the tables."""

    def __init__(self, result: Result, row: Row, start: float | None = None, end: float | None = None) -> None:
        self._own = (pl.col("run") == row["run"]) & (pl.col("id") == row["id"])
        self._begin = float(row["start_s"])
        self._start = -np.inf if start is None else start
        self._end = np.inf if end is None else end
        self._events = self._table(result, "events")
        self._series = self._table(result, "series")

    def _table(self, result: Result, name: str) -> pl.DataFrame:
        words = [pl.col(column).cast(pl.String) for column in ("kind", "metric", "cause", "spurious")]
        table = lazy(result, name).filter(self._own)
        there = table.collect_schema().names()
        return table.with_columns(word for word in words if word.meta.output_name() in there).collect()

    @property
    def has_segments(self) -> bool:
        """Whether it is known what each segment was."""
        return bool(self._events["kind"].is_in(list(_PASSED)).any())

    @property
    def has_series(self) -> bool:
        """Whether samples over time were kept."""
        return bool(self._series.height)

    @property
    def has_acknowledgments(self) -> bool:
        """Whether it is known how far acknowledgments came."""
        return bool((self._series["metric"] == "delivered").any())

    def kinds(self, *kinds: str, cause: str | None = None) -> dict[str, Array]:
        """Of events: x (s), low and high (bytes), packet."""
        chosen = self._events.filter(pl.col("kind").is_in(list(kinds)))
        return self._rows(chosen if cause is None else chosen.filter(pl.col("cause") == cause))

    def needless(self) -> dict[str, Array]:
        """The same of segments that were sent again and proved needless, at once or later."""
        later = self._events.filter(pl.col("kind") == "spurious")["packet"]
        proved = pl.col("packet").is_in(later.implode()) | pl.col("spurious").is_not_null()
        return self._rows(self._events.filter(pl.col("kind").is_in(list(AGAIN)) & proved))

    def _rows(self, events: pl.DataFrame) -> dict[str, Array]:
        events = events.filter(pl.col("time_s").is_between(self._start, self._end))
        low = events["seq"].to_numpy().astype(float) - 1.0
        return {
            "x": events["time_s"].to_numpy(),
            "low": low,
            "high": low + events["bytes"].to_numpy().astype(float),
            "packet": events["packet"].to_numpy().astype(np.int64),
        }

    def acknowledged(self) -> tuple[Array, Array]:
        """When how many bytes were acknowledged, from the first packet of the connection on."""
        own = self._values("delivered")
        if own.height and own["time_s"][0] > self._begin:
            own = pl.concat([pl.DataFrame({"time_s": [self._begin], "value": [0.0]}), own])
        found = self._line(own)
        return found["time_s"].to_numpy(), found["value"].to_numpy()

    def window(self) -> tuple[Array, Array]:
        """When up to which byte the receiver's window went."""
        room, done = self._values("rwnd"), self._values("delivered")
        both = room.join_asof(done.rename({"value": "done"}), on="time_s", strategy="backward")
        edge = both.select("time_s", value=pl.col("value") + pl.col("done").fill_null(0.0))
        found = self._line(edge)
        return found["time_s"].to_numpy(), found["value"].to_numpy()

    def _values(self, metric: str) -> pl.DataFrame:
        """A series in the order of times; of those at one time the last counts."""
        own = self._series.filter(pl.col("metric") == metric).select("time_s", "value")
        return own.group_by("time_s", maintain_order=True).last().sort("time_s")

    def _line(self, values: pl.DataFrame) -> pl.DataFrame:
        """The part of a line that is shown, with what it is at its begin and its end."""
        shown = values.filter(pl.col("time_s").is_between(self._start, self._end))
        parts = [shown]
        if (before := values.filter(pl.col("time_s") < self._start).tail(1)).height:
            parts.insert(0, before.with_columns(time_s=pl.lit(self._start)))
        if values.filter(pl.col("time_s") > self._end).height and (last := pl.concat(parts).tail(1)).height:
            parts.append(last.with_columns(time_s=pl.lit(self._end)))
        return pl.concat(parts)
