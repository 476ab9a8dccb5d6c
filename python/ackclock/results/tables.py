"""From the outputs of single runs to the tables of a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from ackclock.results import percentiles
from ackclock.scenario.plan import Job, Params, Plan
from ackclock.scenario.settings import FLOW_SERIES, LINK_SERIES

if TYPE_CHECKING:
    from ackclock.engine import Output

NAMES = ("runs", "flows", "links", "transfers", "series")
"""The tables of a result, and the names of their files."""

_BATCH, _PLACE = "__batch", "__place"

# Fixed categories, not ones in the order of arrival: the files must not depend on which run finished first.
_REPEATED = {"kind": pl.Enum(["flow", "link"]), "metric": pl.Enum([*FLOW_SERIES, *LINK_SERIES])}


def build(plan: Plan, outputs: Mapping[int, Output]) -> dict[str, pl.DataFrame]:
    """The tables of the runs in `outputs`, by table name. Rows are in the order of the plan, whoever ran them."""
    jobs = [job for job in plan.jobs() if job.index in outputs]
    labels = Labels(plan)
    result = {"runs": runs([(job, outputs[job.index].info) for job in jobs], labels)}
    for name in NAMES[1:]:
        parts = [_labelled(getattr(outputs[job.index], name), job, labels.types(name)) for job in jobs]
        result[name] = percentiles.told(name, pl.concat(parts))
    return result


class Labels:
    """The columns that say which run a row is of."""

    def __init__(self, plan: Plan) -> None:
        self._types = _types([point.params for point in plan.points])
        self._series = _series_types(plan, self._types)

    def types(self, table: str) -> Mapping[str, Any]:
        """The types of the swept keys in a table."""
        return self._series if table == "series" else self._types

    def places(self, runs: Iterable[tuple[Job, int, int]]) -> pl.DataFrame:
        """The labels of runs that stand in batches: of each the batch, and the place in it."""
        found = list(runs)
        rows = [{**_key(job, self._types), _BATCH: batch, _PLACE: place} for job, batch, place in found]
        return pl.DataFrame(rows, schema={**_key_schema(self._types), _BATCH: pl.UInt64, _PLACE: pl.UInt32})

    def of_batch(self, table: pl.DataFrame, batch: int, places: pl.DataFrame) -> pl.DataFrame:
        """The rows of a batch whose runs are among `places`, with their labels in front."""
        own = places.filter(pl.col(_BATCH) == batch).drop(_BATCH)
        labels = [name for name in own.columns if name != _PLACE]
        numbered = table.rename({"run": _PLACE}).drop(set(labels) & set(table.columns) - {"run"})
        joined = numbered.join(own, on=_PLACE, how="inner", maintain_order="left")
        return joined.select(*labels, pl.all().exclude(*labels, _PLACE)).cast(
            {name: kind for name, kind in _REPEATED.items() if name in joined.columns}
        )

    def joined(self, name: str, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """The whole table from its parts, in the order of runs."""
        if not parts:
            return pl.DataFrame(schema=_key_schema(self.types(name)))
        table = percentiles.told(name, pl.concat(parts).sort("run", maintain_order=True))
        return table.cast({key: kind for key, kind in self.types(name).items() if isinstance(kind, pl.Enum)})


def _series_types(plan: Plan, types: Mapping[str, Any]) -> dict[str, Any]:
    """Series are long: the text that repeats in them is stored once."""
    texts = {
        name: pl.Enum(list(dict.fromkeys(str(point.params[name]) for point in plan.points)))
        for name, kind in types.items()
        if kind == pl.String
    }
    return {**types, **texts}


def runs(found: Iterable[tuple[Job, Mapping[str, Any]]], labels: Labels) -> pl.DataFrame:
    """The table of runs, from each and what it cost."""
    rows, types = [], labels.types("runs")
    for job, info in found:
        settings = job.point.scenario.run
        rows.append(
            {
                **_key(job, types),
                "point": job.point.index,
                "duration_s": settings.duration / 1e9,
                "warmup_s": settings.warmup / 1e9,
                "events": info["events"],
                "packets": info["packets"],
            }
        )
    schema = {
        **_key_schema(types),
        "point": pl.UInt32,
        "duration_s": pl.Float64,
        "warmup_s": pl.Float64,
        "events": pl.UInt64,
        "packets": pl.UInt64,
    }
    return pl.DataFrame(rows, schema=schema)


def _labelled(table: pl.DataFrame, job: Job, types: Mapping[str, Any]) -> pl.DataFrame:
    """`table` with the columns that say which run it is of in front.

    A swept `cc` takes the place of the engine's column of that name: it also tells variants of one controller apart.
    """
    schema = _key_schema(types)
    key = [pl.lit(value, dtype=schema[name]).alias(name) for name, value in _key(job, types).items()]
    return table.select(*key, pl.all().exclude(*schema)).cast(
        {name: kind for name, kind in _REPEATED.items() if name in table.columns}
    )


def _key(job: Job, types: Mapping[str, Any]) -> dict[str, Any]:
    params = {name: _as(types[name], value) for name, value in job.point.params.items()}
    return {"run": job.index, **params, "seed": job.point.scenario.run.seed, "replication": job.replication}


def _key_schema(types: Mapping[str, Any]) -> dict[str, Any]:
    return {"run": pl.UInt32, **types, "seed": pl.UInt64, "replication": pl.UInt32}


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
