"""The finished runs of a plan: which they are, what each cost, and where its rows are. Some sixty bytes each."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from ackclock.assembly import emulated
from ackclock.assembly.emulated import VALID
from ackclock.scenario.plan import Job, Plan, Point

if TYPE_CHECKING:
    from ackclock.engine import Json

BATCH, PLACE, ROWS = "batch", "place", "rows"
"""Columns of the frame: the batch that a run is kept in, its place there, and its rows in all tables."""

_CODES = {"run": "I", "point": "I", "replication": "I", PLACE: "I"} | dict.fromkeys(
    ("events", "packets", ROWS, BATCH), "Q"
)
_TYPES = {"I": pl.UInt32, "Q": pl.UInt64}


class Ledger:
    """Runs in the order of a plan, some of which may be missing."""

    def __init__(self) -> None:
        self._columns = {name: array(code) for name, code in _CODES.items()}
        self._wall_s = array("d")
        self._warnings: dict[int, list[Any]] = {}
        self._distinct: dict[str, list[Any]] = {}
        self._measures: dict[int, list[list[Any]]] = {}
        self._emulations: dict[int, Json] = {}

    def add(self, job: Job, info: Mapping[str, Any], *, rows: int = 0, batch: int = 0, place: int = 0) -> None:
        """Enter a run behind the others: what the engine says of it, and where it is kept."""
        warnings = info.get("warnings")
        if warnings:  # the same in most runs that have any
            self._warnings[len(self)] = self._distinct.setdefault(json.dumps(warnings), list(warnings))
        if measures := info.get("measures"):
            self._measures[len(self)] = list(measures)
        if emulation := info.get("emulation"):
            self._emulations[len(self)] = emulation
        known = {
            "run": job.index,
            "point": job.point.index,
            "replication": job.replication,
            "events": info["events"],
            "packets": info["packets"],
            ROWS: rows,
            BATCH: batch,
            PLACE: place,
        }
        for name, column in self._columns.items():
            column.append(known[name])
        self._wall_s.append(info["wall_s"])

    def __len__(self) -> int:
        return len(self._wall_s)

    def frame(self) -> pl.DataFrame:
        """A row per run, without what it cost in time, which differs from one machine to the next."""
        frame = pl.DataFrame(
            {name: pl.Series(column.tolist(), dtype=_TYPES[column.typecode]) for name, column in self._columns.items()}
        )
        if not self._emulations:
            return frame
        found = (self._emulations.get(at) for at in range(len(self)))
        return frame.with_columns(pl.Series(VALID, [one is None or one["valid"] for one in found], pl.Boolean))

    def records(self, plan: Plan) -> Records:
        """The runs as the manifest has them, each made when it is asked for."""
        return Records(self, plan)

    def record(self, at: int, points: Mapping[int, Point]) -> Json:
        """A run as the manifest has it: what was known of its point goes in front of what the engine said."""
        run, number, replication, events, packets = (
            self._columns[name][at] for name in ("run", "point", "replication", "events", "packets")
        )
        point = points[number]
        measures = self._measures.get(at)
        late = emulated.warnings(self._emulations.get(at), pinned=point.scenario.run.pin is not None)
        return {
            "run": run,
            "point": number,
            "replication": replication,
            "seed": point.scenario.run.seed,
            "wall_s": self._wall_s[at],
            "events": events,
            "packets": packets,
            "warnings": [*point.warnings, *self._warnings.get(at, ()), *late],
            **({} if measures is None else {"measures": measures}),
            **({"emulation": self._emulations[at]} if at in self._emulations else {}),
        }


class Records(Sequence["Json"]):
    """A ledger as a sequence of JSON objects."""

    def __init__(self, ledger: Ledger, plan: Plan) -> None:
        self._ledger, self._points = ledger, {point.index: point for point in plan.points}

    @overload
    def __getitem__(self, at: int) -> Json: ...
    @overload
    def __getitem__(self, at: slice) -> list[Json]: ...
    def __getitem__(self, at: int | slice) -> Json | list[Json]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        return self._ledger.record(range(len(self))[at], self._points)

    def __iter__(self) -> Iterator[Json]:
        return (self._ledger.record(at, self._points) for at in range(len(self)))

    def __len__(self) -> int:
        return len(self._ledger)
