"""From the outputs of single runs to the tables of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from ackclock.results import percentiles
from ackclock.results.ledger import BATCH, PLACE, Ledger
from ackclock.scenario.plan import Params, Plan
from ackclock.scenario.settings import FLOW_SERIES, LINK_SERIES

if TYPE_CHECKING:
    from ackclock.engine import Output

NAMES = ("runs", "flows", "links", "transfers", "series")
"""The tables of a result, and the names of their files."""

# Fixed categories, not ones in the order of arrival: the files must not depend on which run finished first.
_REPEATED = {"kind": pl.Enum(["flow", "link"]), "metric": pl.Enum([*FLOW_SERIES, *LINK_SERIES])}


def build(plan: Plan, outputs: Mapping[int, Output], runs: Ledger) -> dict[str, pl.DataFrame]:
    """The tables of the runs in `outputs`, which `runs` lists, by table name. Rows are in the order of the ledger."""
    labels, frame = Labels(plan), runs.frame()
    keys = labels.keys(frame).drop(BATCH, PLACE)
    result = {"runs": labels.runs(frame)}
    for name in NAMES[1:]:
        parts = [_of_run(getattr(outputs[run], name), run) for run in frame["run"]]
        result[name] = labels.table(name, parts, keys)
    return result


def _of_run(table: pl.DataFrame, run: int) -> pl.DataFrame:
    return table.clone().insert_column(0, pl.Series("run", [run], pl.UInt32).new_from_index(0, table.height))


class Labels:
    """The columns that say which run a row is of."""

    def __init__(self, plan: Plan) -> None:
        self._params = _types([point.params for point in plan.points])
        self._series = _series_types(plan, self._params)
        rows = [
            {
                "point": point.index,
                **{name: _as(self._params[name], value) for name, value in point.params.items()},
                "seed": point.scenario.run.seed,
                "duration_s": point.scenario.run.duration / 1e9,
                "warmup_s": point.scenario.run.warmup / 1e9,
            }
            for point in plan.points
        ]
        schema = {"point": pl.UInt32, **self._key_schema("runs"), "duration_s": pl.Float64, "warmup_s": pl.Float64}
        del schema["run"], schema["replication"]
        self._points = pl.DataFrame(rows, schema=schema)

    def runs(self, runs: pl.DataFrame) -> pl.DataFrame:
        """The table of runs, from the frame of a ledger."""
        more = ("point", "duration_s", "warmup_s", "events", "packets")
        return self._with_points(runs).select(*self._key_schema("runs"), *more)

    def keys(self, runs: pl.DataFrame) -> pl.DataFrame:
        """The labels of runs from the frame of a ledger, and where each is kept."""
        return self._with_points(runs).select(*self._key_schema("runs"), BATCH, PLACE)

    def table(self, name: str, parts: Sequence[pl.DataFrame], keys: pl.DataFrame) -> pl.DataFrame:
        """The whole table in the order of runs, from its parts.

        The parts have a column `run`: the place of the run in the batch that a column `batch` names, and the number of
        the run itself where there is no such column. Rows of runs that are not among `keys` are left out.

        A swept `cc` takes the place of the engine's column of that name: it also tells variants of one controller
        apart.
        """
        schema = self._key_schema(name)
        if not parts:
            return pl.DataFrame(schema=schema)
        rows = pl.concat(parts)
        batched = BATCH in rows.columns
        if batched:
            rows = rows.rename({"run": PLACE})
        place = [BATCH, PLACE] if batched else ["run"]
        own = [column for column in rows.columns if column not in schema and column not in place]
        joined = rows.select(*place, *own).join(keys, on=place, how="inner", maintain_order="left")
        found = joined.select(*schema, *own).sort("run", maintain_order=True)
        texts = {key: kind for key, kind in schema.items() if isinstance(kind, pl.Enum)}
        fixed = {column: kind for column, kind in _REPEATED.items() if column in own}
        return percentiles.told(name, found).cast({key: kind for key, kind in (fixed | texts).items()})  # noqa: C416

    def _with_points(self, runs: pl.DataFrame) -> pl.DataFrame:
        return runs.join(self._points, on="point", how="left", maintain_order="left")

    def _key_schema(self, table: str) -> dict[str, Any]:
        params = self._series if table == "series" else self._params
        return {"run": pl.UInt32, **params, "seed": pl.UInt64, "replication": pl.UInt32}


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
