"""From the outputs of single runs to the tables of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from ackclock.scenario.plan import Job, Params, Plan
from ackclock.scenario.settings import FLOW_SERIES, LINK_SERIES

if TYPE_CHECKING:
    from ackclock.engine import Output

NAMES = ("runs", "flows", "links", "transfers", "series")
"""The tables of a result, and the names of their files."""

# Fixed categories, not ones in the order of arrival: the files must not depend on which run finished first.
_REPEATED = {"kind": pl.Enum(["flow", "link"]), "metric": pl.Enum([*FLOW_SERIES, *LINK_SERIES])}


def build(plan: Plan, outputs: Mapping[int, Output]) -> dict[str, pl.DataFrame]:
    """The tables of the runs in `outputs`, by table name. Rows are in the order of the plan, whoever ran them."""
    jobs = [job for job in plan.jobs() if job.index in outputs]
    types = _types([point.params for point in plan.points])
    tables = {"runs": _runs(jobs, outputs, types)}
    for name in NAMES[1:]:
        own = _series_types(plan, types) if name == "series" else types
        tables[name] = pl.concat([_labelled(getattr(outputs[job.index], name), job, own) for job in jobs])
    return tables


def _series_types(plan: Plan, types: Mapping[str, Any]) -> dict[str, Any]:
    """Series are long: the text that repeats in them is stored once."""
    texts = {
        name: pl.Enum(list(dict.fromkeys(str(point.params[name]) for point in plan.points)))
        for name, kind in types.items()
        if kind == pl.String
    }
    return {**types, **texts}


def _runs(jobs: Sequence[Job], outputs: Mapping[int, Output], types: Mapping[str, Any]) -> pl.DataFrame:
    rows = []
    for job in jobs:
        settings, info = job.point.scenario.run, outputs[job.index].info
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
