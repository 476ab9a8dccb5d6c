"""One group of flows of a result: those that a `[[flows]]` table made, as if the others were not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from ackclock.errors import InputError
from ackclock.results.groups import Group, recorded
from ackclock.results.result import Result

NOT_OF_A_GROUP = ("max_min_index",)
"""Metrics that only all flows of a run have: what is a fair share depends on the others."""


def named(result: Result, name: str, source: str) -> tuple[int, str]:
    """The number of a group, from 0, and what it is called: ``1 (bbr3 or cubic)``.

    `name` is the number of its `[[flows]]` table, or its label where that is the same at every point. Raises
    :class:`ackclock.InputError` for one that is none.
    """
    labels: dict[int, list[str]] = {}
    for entry in result.manifest["points"]:
        for number, group in enumerate(recorded(entry)):
            labels.setdefault(number, []).append(_plain(group))
    own = {number: list(dict.fromkeys(words)) for number, words in labels.items()}
    called = {number: f"{number} ({' or '.join(words)})" for number, words in own.items()}
    meant = [number for number, words in own.items() if words == [name]]
    if name.strip().isdigit() and int(name) in own:
        meant = [int(name)]
    if len(meant) != 1:
        problem = (
            f"'{name}' may be {' or '.join(called[number] for number in meant)}" if meant else f"no group '{name}'"
        )
        listed = ", ".join(called.values())
        raise InputError(problem, f"the groups of flows are {listed}: give a number", source=source, key="group")
    return meant[0], called[meant[0]]


def only(result: Result, number: int) -> Result:
    """The result with the flows of this group only; links, and what crosses them, stay as they were."""
    flows: dict[int, frozenset[str]] = {}
    points = []
    for entry in result.manifest["points"]:
        known = recorded(entry)
        own = known[number] if number < len(known) else Group(0, 0, "")
        flows[entry["point"]] = frozenset(map(str, own.flows))
        group = {"first": own.first, "count": own.count, "label": own.label}
        points.append({**entry, "groups": [group], "resolved": _reduced(entry["resolved"], flows[entry["point"]])})
    point_of = dict(result.runs.select("run", "point").iter_rows())
    runs = [
        entry | {"measures": [item for item in entry["measures"] if item[0] in flows[entry["point"]]]}
        if "measures" in entry
        else entry
        for entry in result.manifest["runs"]
    ]
    wanted = pl.DataFrame(
        [(run, flow) for run, point in point_of.items() for flow in flows[point]],
        {"run": pl.UInt32, "id": pl.String},
        orient="row",
    )
    tables = dict(result.tables)
    for name in ("flows", "transfers"):
        table = tables[name]
        tables[name] = table.join(wanted.cast({"run": table.schema["run"]}), on=["run", "id"], how="semi")
    return Result(tables, {**result.manifest, "points": points, "runs": runs})


def _reduced(resolved: Mapping[str, Any], flows: frozenset[str]) -> dict[str, Any]:
    return {**resolved, "flows": [flow for flow in resolved["flows"] if flow["id"] in flows]}


def _plain(group: Group) -> str:
    """The label without the number that tells equal ones apart."""
    return group.label.partition(", no. ")[0]
