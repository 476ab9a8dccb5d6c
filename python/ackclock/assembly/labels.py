"""The tables of a result: their columns, and the labels that say which run a row is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ackclock import engine
from ackclock.assembly import numbers
from ackclock.assembly.emulated import VALID
from ackclock.assembly.ledger import BATCH, PLACE
from ackclock.results import percentiles
from ackclock.results.categories import in_categories
from ackclock.scenario.plan import Params, Plan
from ackclock.series import SERIES

_AT, _ROW = "__at", "__row"


class Labels:
    """The columns that say which run a row is of."""

    def __init__(self, plan: Plan) -> None:
        self._params = _types([point.params for point in plan.points])
        self._series = _series_types(plan, self._params)
        found = numbers.of(plan)
        self._numbers: dict[str, Any] = dict.fromkeys(found.names, pl.Float64)
        rows = [
            {
                "point": point.index,
                **{name: _as(self._params[name], value) for name, value in point.params.items()},
                **own,
                "seed": point.scenario.run.seed,
                "duration_s": point.scenario.run.duration / 1e9,
                "warmup_s": point.scenario.run.warmup / 1e9,
            }
            for point, own in zip(plan.points, found.values, strict=True)
        ]
        schema = {"point": pl.UInt32, **self._key_schema("runs"), "duration_s": pl.Float64, "warmup_s": pl.Float64}
        del schema["run"], schema["replication"]
        self._points = pl.DataFrame(rows, schema=schema)

    def runs(self, runs: pl.DataFrame) -> pl.DataFrame:
        """The table of runs, from the frame of a ledger."""
        more = ["point", "duration_s", "warmup_s", "events", "packets", *(VALID for _ in range(VALID in runs.columns))]
        return self._with_points(runs).select(*self._key_schema("runs"), *more)

    def keys(self, runs: pl.DataFrame) -> pl.DataFrame:
        """The labels of runs from the frame of a ledger, and where each is kept."""
        return self._with_points(runs).select(*self._key_schema("runs"), BATCH, PLACE)

    def of_batches(self, name: str, parts: Mapping[int, pl.DataFrame], keys: pl.DataFrame) -> pl.DataFrame:
        """A table of runs that stand in batches, in the order of `keys`; rows of other runs are left out.

        `parts` are the tables by batch. Their column `run` is the place of a run in its batch. A swept `cc` takes the
        place of the engine's column of that name: it also tells variants of one controller apart.
        """
        schema = self._key_schema(name)
        if not parts:
            parts = {0: engine.empty_tables()[name].with_columns(run=pl.lit(0, pl.UInt32))}
        rows = pl.concat(parts.values())
        own = pl.DataFrame([column for column in rows.get_columns() if column.name not in schema])
        if rows.is_empty():  # most tables of most runs are, and each query takes as long as a short run
            return self._whole(name, pl.DataFrame(schema=schema), own)
        labels = keys.select(pl.col(column).cast(kind) for column, kind in schema.items())
        of = pl.concat(
            pl.Series([batch], dtype=pl.UInt64).new_from_index(0, part.height) for batch, part in parts.items()
        )
        places = pl.DataFrame({BATCH: of, PLACE: rows["run"]}).with_row_index(_AT)
        known = keys.select(BATCH, PLACE).with_row_index(_ROW)
        # Not the rows themselves are joined but their numbers: of a long series a copy may not fit.
        found = places.join(known, on=[BATCH, PLACE], maintain_order="left").select(_AT, _ROW)
        if not found[_ROW].is_sorted():
            found = found.sort(_ROW, _AT)
        if not found[_AT].equals(places[_AT]):
            own = own[found[_AT]]
        return self._whole(name, labels[found[_ROW]], own)

    def _whole(self, name: str, labels: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
        return percentiles.with_enough_values(name, in_categories(pl.concat([labels, own], how="horizontal"), SERIES))

    def _with_points(self, runs: pl.DataFrame) -> pl.DataFrame:
        among = pl.col("point").is_between(runs["point"].min(), runs["point"].max())
        return runs.join(self._points.filter(among), on="point", how="left", maintain_order="left")

    def _key_schema(self, table: str) -> dict[str, Any]:
        params = self._series if table == "series" else self._params
        return {"run": pl.UInt32, **params, **self._numbers, "seed": pl.UInt64, "replication": pl.UInt32}


def _series_types(plan: Plan, types: Mapping[str, Any]) -> dict[str, Any]:
    """Series are long: the text that repeats in them is stored once."""
    texts = {
        name: pl.Enum(list(dict.fromkeys(str(point.params[name]) for point in plan.points)))
        for name, kind in types.items()
        if kind == pl.String
    }
    return {**types, **texts}


def _types(points: Sequence[Params]) -> dict[str, Any]:
    """The column type of each swept key: that of its values if they agree, and text otherwise."""
    result: dict[str, Any] = {}
    for name in points[0]:
        kinds = {type(point[name]) for point in points}
        if kinds == {bool}:
            result[name] = pl.Boolean
        elif kinds == {int}:
            result[name] = pl.Int64
        elif kinds <= {int, float}:
            result[name] = pl.Float64
        else:
            result[name] = pl.String
    return result


def _as(kind: Any, value: Any) -> Any:
    if kind == pl.String or isinstance(kind, pl.Enum):
        return str(value)
    return float(value) if kind == pl.Float64 else value
