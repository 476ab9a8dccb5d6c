"""From what the engine wrote of each capture to the tables of a result, of which only a part is in memory at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from ackclock import engine
from ackclock.pcaps import columns, views
from ackclock.pcaps.inputs import FILE, LABEL
from ackclock.pcaps.reading import Analysed
from ackclock.results.categories import OWNERS
from ackclock.results.manifest import TABLES

Packing = Literal["zstd", "lz4"]

EVENTS: Mapping[str, Any] = {
    "time_s": pl.Float64,
    "id": pl.String,
    "kind": pl.Enum(columns.KINDS),
    "seq": pl.Int64,
    "bytes": pl.UInt64,
    "cause": pl.Enum(columns.CAUSES),
    "spurious": pl.Enum(columns.PROOFS),
    "packet": pl.UInt64,
}
"""The table `events`."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Captures that make a result together, and which tables are wanted."""

    captures: Sequence[Analysed]
    series: bool = False
    events: bool = False
    labels: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        of = (capture.source.label for capture in self.captures)
        object.__setattr__(self, "labels", tuple(dict.fromkeys(label for label in of if label is not None)))

    @property
    def params(self) -> list[str]:
        """What tells runs apart: labels, or files where there are several."""
        return [LABEL] if self.labels else [FILE] if len(self.captures) > 1 else []

    def point(self, capture: Analysed) -> int:
        """The number of the point that a capture is a run of."""
        label = capture.source.label
        return self.labels.index(label) if label is not None else capture.run

    def replication(self, capture: Analysed) -> int:
        """Its number among those of its point."""
        own = self.point(capture)
        return sum(self.point(other) == own for other in self.captures[: capture.run])

    def keys(self, capture: Analysed) -> dict[str, tuple[Any, Any]]:
        """The columns that say which run a row is of: value and type."""
        param = {LABEL: capture.source.label, FILE: capture.source.name}
        return {
            "run": (capture.run, pl.UInt32),
            **{name: (param[name], pl.String) for name in self.params},
            "seed": (0, pl.UInt64),
            "replication": (self.replication(capture), pl.UInt32),
        }

    def key_schema(self) -> dict[str, Any]:
        """Their names and types."""
        return {name: kind for name, (_, kind) in self.keys(self.captures[0]).items()}


def write(kept: Kept, folder: Path, *, lasting: bool = True) -> None:
    """Write the table files of a result into a folder; packed less, in less time, if they are not to be kept."""
    packing: Packing = "zstd" if lasting else "lz4"
    _put(runs(kept), folder / "runs.parquet", packing)
    _put(captures(kept), folder / "captures.parquet", packing)
    empty = engine.empty_tables()
    for name in TABLES[1:]:
        if name == "flows" or (name == "series" and kept.series):
            _join(name, kept, folder, packing)
        else:
            schema = dict(empty[name].schema)
            if name == "series":
                schema |= {"kind": OWNERS, "metric": pl.Enum(columns.METRICS)}
            _put(pl.DataFrame(schema=kept.key_schema() | schema), folder / f"{name}.parquet", packing)
    if kept.events:
        _join("events", kept, folder, packing)
    else:
        _put(pl.DataFrame(schema=kept.key_schema() | dict(EVENTS)), folder / "events.parquet", packing)


def read(folder: Path) -> dict[str, pl.DataFrame]:
    """The tables of such a folder, in memory."""
    return {file.stem: pl.read_parquet(file, memory_map=False) for file in sorted(folder.glob("*.parquet"))}


def runs(kept: Kept) -> pl.DataFrame:
    """A row per capture."""
    rows = []
    for capture in kept.captures:
        segments = _flows(capture).select(pl.col("sent_segments").sum()).collect().item()
        rows.append(
            {
                **{name: value for name, (value, _) in kept.keys(capture).items()},
                "point": kept.point(capture),
                "duration_s": capture.duration_s,
                "warmup_s": 0.0,
                "events": capture.packets,
                "packets": segments,
                FILE: capture.source.name,
            }
        )
    schema = {"point": pl.UInt32, "duration_s": pl.Float64, "warmup_s": pl.Float64, "events": pl.UInt64}
    return pl.DataFrame(rows, schema=kept.key_schema() | schema | {"packets": pl.UInt64, FILE: pl.String})


def captures(kept: Kept) -> pl.DataFrame:
    """A row per interface of a capture: what was in it, and where it was taken."""
    rows = []
    for capture in kept.captures:
        seen = views.vantages(_flows(capture))
        first = capture.known["first_ns"]
        for entry in capture.known["interfaces"]:
            number = entry["interface"]
            count, vantage = seen.get(number, (0, None))
            rows.append(
                {
                    **{name: value for name, (value, _) in kept.keys(capture).items()},
                    **{name: entry.get(name) for name in columns.CAPTURES},
                    FILE: capture.source.name,
                    "start_unix_s": None if first is None else first / 1e9,
                    "duration_s": capture.duration_s,
                    "connections": count,
                    "vantage": vantage,
                    **{name: capture.known[name] for name in columns.WHOLE},
                    **{name: capture.known["skipped"].get(name, 0) for name in columns.SKIPPED},
                }
            )
    return pl.DataFrame(rows, schema=kept.key_schema() | dict(columns.CAPTURES))


def flows_of(kept: Kept, capture: Analysed) -> Iterator[pl.DataFrame]:
    """The connections of a capture as the table `flows` has them, some thousand at a time.

    They are in the order of their first packets, and come from the engine as they end.
    """
    every = columns.in_seconds(_flows(capture), capture.origin)
    doubles = views.seen_elsewhere(every) if capture.several else None
    for _, files in itertools.groupby(_files(capture), key=lambda file: file.name.partition("-")[0]):
        table = views.with_enough_samples(columns.in_seconds(pl.scan_ipc(list(files)), capture.origin))
        if doubles is not None:
            table = table.with_columns(main=pl.col("main") & ~pl.col("id").is_in(doubles.implode()))
        yield _labelled("flows", table, kept, capture).collect().sort("connection", "id")


def rows_of(name: str, kept: Kept, capture: Analysed) -> pl.LazyFrame:
    """The rows of `series` or `events` of a capture."""
    table = pl.scan_ipc(Path(capture.folder, f"{name}.arrow"))
    return _labelled(name, columns.in_categories(name, columns.in_seconds(table, capture.origin)), kept, capture)


def _flows(capture: Analysed) -> pl.LazyFrame:
    return pl.scan_ipc(_files(capture))


def _files(capture: Analysed) -> list[Path]:
    """The files with rows of connections, those of the first connections first: each has rows of some thousand."""
    return sorted(Path(capture.folder, "flows").iterdir())


def _labelled(name: str, table: pl.LazyFrame, kept: Kept, capture: Analysed) -> pl.LazyFrame:
    keys = kept.keys(capture)
    own = [pl.lit(value, kind).alias(key) for key, (value, kind) in keys.items()]
    if name == "flows" and FILE not in keys:
        own.append(pl.lit(capture.source.name).alias(FILE))
    return table.select(*own, pl.all())


def _join(name: str, kept: Kept, folder: Path, packing: Packing) -> None:
    """Write a table of all captures, piece by piece."""
    parts = [folder / f"{name}.{number}.part" for number, _ in enumerate(_pieces(name, kept, folder, packing))]
    target = folder / f"{name}.parquet"
    if len(parts) == 1:
        parts[0].rename(target)
        return
    pl.scan_parquet(parts).sink_parquet(target, compression=packing, statistics=True)
    for part in parts:
        part.unlink()


def _pieces(name: str, kept: Kept, folder: Path, packing: Packing) -> Iterator[None]:
    """Write the pieces of a table, numbered; yields after each."""
    number = 0
    for capture in kept.captures:
        tables: Iterable[pl.LazyFrame] = (
            (table.lazy() for table in flows_of(kept, capture)) if name == "flows" else [rows_of(name, kept, capture)]
        )
        for table in tables:
            table.sink_parquet(folder / f"{name}.{number}.part", compression=packing, statistics=True)
            number += 1
            yield


def _put(table: pl.DataFrame, file: Path, packing: Packing) -> None:
    table.write_parquet(file, compression=packing, statistics=True)
