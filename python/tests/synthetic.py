"""Results whose numbers a test chooses: rows of a small run, with other values in them."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

import ackclock
from ackclock import Result
from ackclock.assembly import numbers

Params = dict[str, str | int | float | bool]
Columns = Mapping[str, Any]
"""Values of columns of the tables of flows and links, by their names."""

SCENARIO = {
    "topology": {"kind": "dumbbell", "rate": "2 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"},
    "flows": [{"cc": "cubic"}],
    "run": {"duration": "1 s"},
}


@functools.cache
def _base() -> Result:
    return ackclock.run(SCENARIO, jobs=1)


def made(points: Sequence[Params], runs: Sequence[Sequence[Columns]], line: float = 1e15) -> Result:
    """A result of these points, of each a row for each of its runs. A point without runs has failed.

    The links are said to have a rate of `line` bit/s.
    """
    base = _base()
    keys = list(points[0])
    columns, values = _numbers(points)
    tables: dict[str, list[dict[str, Any]]] = {"runs": [], "flows": [], "links": []}
    manifest = copy.deepcopy(base.manifest)
    entry = manifest["points"][0]
    for link in entry["resolved"]["links"]:
        link["rate_bps"] = link["rate_bps"] and line
    manifest |= {"params": keys, "numbers": {key: [name] for key, name in columns.items()}, "points": [], "runs": []}
    for number, (params, own, found) in enumerate(zip(points, values, runs, strict=True)):
        manifest["points"].append({**copy.deepcopy(entry), "point": number, "params": params, "numbers": own})
        for replication, changes in enumerate(found):
            run = len(manifest["runs"])
            keyed = {"run": run, **params, **own, "replication": replication}
            manifest["runs"].append(
                {**manifest_run(base), **{k: keyed[k] for k in ("run", "replication")}, "point": number}
            )
            for name, rows in tables.items():
                for row in base.tables[name].to_dicts():
                    known = {key: value for key, value in changes.items() if key in row}
                    rows.append({**row, **known, **keyed, **({"point": number} if name == "runs" else {})})
    made = {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in tables.items()}
    return Result({**base.tables, **made}, manifest)


def manifest_run(base: Result) -> dict[str, Any]:
    """The entry of a run."""
    return dict(base.manifest["runs"][0])


def _numbers(points: Sequence[Params]) -> tuple[dict[str, str], list[dict[str, float | None]]]:
    columns: dict[str, str] = {}
    values: list[dict[str, float | None]] = [{} for _ in points]
    for key in points[0]:
        known = [numbers.parsed(point[key]) if isinstance(point[key], str) else None for point in points]
        if all(known):
            columns[key] = f"{key}_{known[0][0]}"  # type: ignore[index]
            for own, each in zip(values, known, strict=True):
                own[columns[key]] = each[1]  # type: ignore[index]
    return columns, values
