"""From tests of other tools to a result: points are tests with the same settings, replications those that are alike."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ackclock import engine
from ackclock.errors import InputError
from ackclock.measure import series
from ackclock.measure.imports.measured import Test
from ackclock.measure.tables import about, columns_of
from ackclock.results.manifest import TABLES, Manifest
from ackclock.results.store import OutputDirectory

_RUN = {
    "point": pl.UInt32,
    "duration_s": pl.Float64,
    "warmup_s": pl.Float64,
    "events": pl.UInt64,
    "packets": pl.UInt64,
    "began_unix_s": pl.Float64,
    "goodput_bps": pl.Float64,
    "file": pl.String,
    "tool": pl.String,
}
"""Columns of `runs`."""


def write(tests: Sequence[Test], out: str | os.PathLike[str]) -> Manifest:
    """Write the result of these tests into a directory. Raises :class:`InputError` where none has a result."""
    if not any(test.problem is None for test in tests):
        problem = tests[0].problem if tests else "no test"
        raise InputError(f"there is no result ({problem})", "give tests that came to their end")
    place = OutputDirectory(out)
    params = _params(tests)
    points = list(
        dict.fromkeys(tuple(test.settings.get(name) for name in params) for test in tests if not test.problem)
    )
    kinds = columns_of([dict(zip(params, point, strict=True)) for point in points])
    runs: list[dict[str, Any]] = []
    rows: dict[str, list[dict[str, Any]]] = {"flows": [], "links": [], "series": []}
    entries, counts = [], dict[int, int]()
    for number, test in enumerate(test for test in tests if test.problem is None):
        setting = tuple(test.settings.get(name) for name in params)
        point = points.index(setting)
        replication = counts.get(point, 0)
        counts[point] = replication + 1
        keys = {"run": number, **dict(zip(params, setting, strict=True)), "seed": 0, "replication": replication}
        runs.append({**keys, **_run(point, test)})
        rows["flows"] += [{**keys, **flow} for flow in test.flows]
        rows["links"] += [{**keys, **link} for link in test.links]
        rows["series"] += [
            {**keys, "time_s": time, "kind": "flow", "id": of, "metric": metric, "value": value}
            for time, of, metric, value in test.samples
        ]
        entries.append(_entry(number, point, replication, test))
    tables = _tables(kinds, runs, rows)
    manifest = _manifest(tests, params, points, entries)
    return place.write(tables, manifest)


def _params(tests: Sequence[Test]) -> list[str]:
    """The settings in which tests differ, in the order in which they have them."""
    good = [test for test in tests if test.problem is None]
    names = dict.fromkeys(name for test in good for name in test.settings)
    return [name for name in names if len({test.settings.get(name) for test in good}) > 1]


def _tables(
    kinds: Mapping[str, Any], runs: list[dict[str, Any]], rows: Mapping[str, list[dict[str, Any]]]
) -> dict[str, pl.DataFrame]:
    found = {"runs": pl.DataFrame(runs, schema={**kinds, **_RUN})}
    for name, empty in engine.empty_tables().items():
        own = series.SCHEMA if name == "series" else empty.schema
        more = {key: kind for key, kind in own.items() if key not in kinds}
        found[name] = pl.DataFrame(rows.get(name, []), schema={**kinds, **more})
    return {name: found[name] for name in TABLES if name in found}


def _run(point: int, test: Test) -> dict[str, Any]:
    return {
        "point": point,
        "duration_s": test.duration_s,
        "warmup_s": test.warmup_s,
        "events": len(test.samples),
        "packets": sum(flow.get("received_packets") or 0 for flow in test.flows),
        "began_unix_s": test.began_unix_s,
        "goodput_bps": test.goodput_bps,
        "file": test.source,
        "tool": test.tool,
    }


def _entry(number: int, point: int, replication: int, test: Test) -> dict[str, Any]:
    return {
        "run": number,
        "point": point,
        "replication": replication,
        "seed": 0,
        "wall_s": test.duration_s,
        "events": len(test.samples),
        "packets": 0,
        "warnings": list(test.notes),
        "file": test.source,
        "tool": test.tool,
        "told": dict(test.told),
    }


def _manifest(
    tests: Sequence[Test], params: list[str], points: list[tuple[Any, ...]], entries: list[dict[str, Any]]
) -> Manifest:
    failed = [test for test in tests if test.problem is not None]
    good = [test for test in tests if test.problem is None]
    first = {entry["point"]: good[entry["run"]] for entry in reversed(entries)}
    return {
        **about(", ".join(dict.fromkeys(test.tool for test in good)), ""),
        "params": params,
        "points": [
            _point(number, dict(zip(params, point, strict=True)), first[number]) for number, point in enumerate(points)
        ],
        "runs": entries,
        "failed": [
            {"run": len(good) + number, "point": 0, "replication": 0, "problem": _told(test), "traceback": None}
            for number, test in enumerate(failed)
        ],
    }


def _told(test: Test) -> str:
    return f"{test.source}: {test.problem}"


def _groups(test: Test) -> list[dict[str, Any]]:
    """The flows of each direction."""
    count = len(test.flows)
    if test.downs is None:
        return [{"first": 0, "count": count, "label": str(test.settings.get("direction", "flows"))}]
    down, up = {"first": 0, "count": test.downs}, {"first": test.downs, "count": count - test.downs}
    return [{**down, "label": "down"}, {**up, "label": "up"}]


def _point(number: int, params: Mapping[str, Any], test: Test) -> dict[str, Any]:
    """A point as manifests have it: of the network nothing is known."""
    return {
        "point": number,
        "params": params,
        "numbers": {},
        "groups": _groups(test),
        "resolved": {
            "links": [],
            "flows": [
                {
                    "id": flow["id"],
                    "app": {"kind": "bulk", "bytes": None},
                    "cc": {"name": flow.get("cc", "unknown")},
                    "mss": 1,
                    "forward": [],
                    "reverse": [],
                }
                for flow in test.flows
            ],
            "probes": {},
            "duration_ns": round(test.duration_s * 1e9),
            "warmup_ns": round(test.warmup_s * 1e9),
            "live": {"tool": test.tool, **test.settings},
        },
    }
