"""Lines that ``ackclock proxy`` has written, as tables: its connections, and their samples.

They are observations of connections, not tests that repeat each other, so they become no result: two Parquet files.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import polars as pl

from ackclock.errors import InputError
from ackclock.files import reason, unwritable

TABLES = ("connections", "samples")
"""The tables, and the names of their files without the ending."""

_CHUNK = 50_000
"""Lines that are there as rows before they become a table, which takes less room."""

_UNKNOWN = {2**32 - 1, 2**64 - 1}
"""What the kernel says of a least round trip that it has not measured, and of a rate without a limit."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: its name, its type, and how it is made of what the line has."""

    name: str
    kind: Any
    read: Callable[[Any], Any]


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**64:
        raise ValueError("a whole number, 0 or more")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise ValueError("a number")
    return float(value)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError("a text")
    return value


def _yes_or_no(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("true or false")
    return value


def _moment(value: Any) -> datetime:
    try:
        return datetime.fromtimestamp(_number(value), UTC)
    except (OverflowError, OSError):
        raise ValueError("seconds of 1970") from None


def _microseconds(value: Any) -> float | None:
    return None if _whole(value) in _UNKNOWN else value * 1e-6


def _bits(value: Any) -> int | None:
    return None if _whole(value) in _UNKNOWN else value * 8


def _counts(*names: str) -> dict[str, _Column]:
    return {name: _Column(name, pl.UInt64, _whole) for name in names}


def _seconds(*names: str) -> dict[str, _Column]:
    return {name: _Column(name, pl.Float64, _number) for name in names}


def _texts(*names: str) -> dict[str, _Column]:
    return {name: _Column(name, pl.String, _text) for name in names}


_CARRIED = _counts("to_server_bytes", "to_client_bytes")
_COLUMNS: Mapping[str, Mapping[str, _Column]] = {
    "connections": {
        "id": _Column("connection", pl.UInt64, _whole),
        "opened": _Column("opened", pl.Datetime("us", "UTC"), _moment),
        **_texts("client", "wish", "server"),
        **_seconds("duration_s", "header_s", "client_handshake_s", "server_handshake_s"),
        "client_initcwnd": _Column("client_initcwnd_segments", pl.UInt64, _whole),
        "server_initcwnd": _Column("server_initcwnd_segments", pl.UInt64, _whole),
        **_CARRIED,
        **_counts("undelivered_to_server_bytes", "undelivered_to_client_bytes"),
        **_texts("closed_by", "why", "detail"),
    },
    "samples": {"id": _Column("connection", pl.UInt64, _whole), **_seconds("age_s"), **_CARRIED},
}
"""What is made of the keys of a line."""

_TCP = {
    "rtt": _Column("rtt_s", pl.Float64, _microseconds),
    "rttvar": _Column("rttvar_s", pl.Float64, _microseconds),
    "min_rtt": _Column("min_rtt_s", pl.Float64, _microseconds),
    "snd_cwnd": _Column("cwnd_segments", pl.UInt64, _whole),
    "snd_mss": _Column("mss_bytes", pl.UInt64, _whole),
    "snd_wnd": _Column("peer_window_bytes", pl.UInt64, _whole),
    "rcv_space": _Column("rcv_space_bytes", pl.UInt64, _whole),
    "pacing_rate": _Column("pacing_rate_bps", pl.UInt64, _bits),
    "delivery_rate": _Column("delivery_rate_bps", pl.UInt64, _bits),
    "bytes_sent": _Column("sent_bytes", pl.UInt64, _whole),
    "bytes_acked": _Column("acked_bytes", pl.UInt64, _whole),
    "bytes_retrans": _Column("retransmitted_bytes", pl.UInt64, _whole),
    "bytes_received": _Column("received_bytes", pl.UInt64, _whole),
    "total_retrans": _Column("retransmitted_segments", pl.UInt64, _whole),
    "segs_in": _Column("received_segments", pl.UInt64, _whole),
    "data_segs_in": _Column("received_data_segments", pl.UInt64, _whole),
    "data_segs_out": _Column("sent_data_segments", pl.UInt64, _whole),
    "dsack_dups": _Column("dsack_duplicates", pl.UInt64, _whole),
    "busy_time": _Column("busy_s", pl.Float64, _microseconds),
    "rwnd_limited": _Column("rwnd_limited_s", pl.Float64, _microseconds),
    "sndbuf_limited": _Column("sndbuf_limited_s", pl.Float64, _microseconds),
    "syn_data": _Column("syn_data", pl.Boolean, _yes_or_no),
}
"""The same of the TCP_INFO of a side."""

_SIDES = ("client", "server")
_EVENTS = {"connection": "connections", "sample": "samples", "end": None}
_PLACE = {"file": pl.String, "line": pl.UInt32, "run": pl.UInt32}
"""Where a row is from, and how many proxies of this file had ended before."""


def schema(table: str) -> dict[str, Any]:
    """The columns of a table."""
    own = {column.name: column.kind for column in _COLUMNS[table].values()}
    sides = {f"{side}_{column.name}": column.kind for side in _SIDES for column in _TCP.values()}
    return {**_PLACE, **own, **sides}


@dataclass(slots=True)
class _Rows:
    """The rows of a table, those that came first as tables already."""

    table: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    parts: list[pl.DataFrame] = field(default_factory=list)

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        if len(self.rows) == _CHUNK:
            self.pack()

    def pack(self) -> None:
        self.parts.append(pl.DataFrame(self.rows, schema=schema(self.table)))
        self.rows = []


def read(files: Sequence[Path]) -> dict[str, pl.DataFrame]:
    """The tables of files, zipped or not. Raises :class:`InputError`, with the line that is wrong."""
    found = {table: _Rows(table) for table in TABLES}
    for path in files:
        run = 0
        for number, line in _lines(path):
            if not line.strip():
                continue
            try:
                table, row = _row(line)
            except ValueError as error:
                remedy = "give what ackclock proxy has written, without this line"
                raise InputError(str(error), remedy, source=str(path), line=number) from None
            if table is None:
                run += 1
            else:
                found[table].add({"file": str(path), "line": number, "run": run, **row})
    for rows in found.values():
        rows.pack()
    return {table: pl.concat(rows.parts) for table, rows in found.items()}


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with _opened(path) as file:
            yield from enumerate(file, 1)
    except (OSError, EOFError) as error:
        raise InputError(reason(error), "give a file that can be read", source=str(path)) from None


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as plain:
        zipped = plain.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if zipped else path.open("rb")  # type: ignore[return-value]


def _row(line: bytes) -> tuple[str | None, dict[str, Any]]:
    """The table of a line and its row there; no table for the report at the end."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        whole = line.endswith(b"\n")
        raise ValueError("this is no JSON" if whole else "this line is cut off: it is no JSON") from None
    event = told.get("event") if isinstance(told, dict) else None
    if not isinstance(event, str) or event not in _EVENTS:
        raise ValueError('this is no line about a connection: its "event" is none of connection, sample, end')
    table = _EVENTS[event]
    if table is None:
        return None, {}
    if told.get("id") is None:
        raise ValueError("id is missing: which connection it is about")
    row = _read(told, _COLUMNS[table], "", "")
    for side in _SIDES:
        key = f"{side}_tcp"
        info = told.get(key)
        if info is not None and not isinstance(info, dict):
            raise ValueError(f"{key} is {info!r}, and not what a kernel says of a connection")
        row |= _read(info or {}, _TCP, f"{key}.", f"{side}_")
    return table, row


def _read(told: Mapping[str, Any], columns: Mapping[str, _Column], place: str, prefix: str) -> dict[str, Any]:
    row = {}
    for key, column in columns.items():
        value = told.get(key)
        try:
            row[prefix + column.name] = None if value is None else column.read(value)
        except ValueError as error:
            raise ValueError(f"{place}{key} is {value!r}, and not {error}") from None
    return row


def write(tables: Mapping[str, pl.DataFrame], out: Path) -> None:
    """Write the tables into a directory, in place of those of an earlier time. Raises :class:`InputError`."""
    names = {f"{table}.parquet" for table in tables}
    try:
        out.mkdir(parents=True, exist_ok=True)
        if other := sorted({file.name for file in out.iterdir()} - names):
            problem = f"something else is there: {other[0]}"
            raise InputError(problem, "give --out a directory of its own", source=str(out))
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as partial:
            for table, frame in tables.items():
                frame.write_parquet(Path(partial) / f"{table}.parquet", compression="zstd")
            for name in sorted(names):
                (Path(partial) / name).replace(out / name)
    except OSError as error:
        raise unwritable(out, error) from None
