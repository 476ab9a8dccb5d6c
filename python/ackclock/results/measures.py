"""What applications measured themselves: the rows of a result, and means over the flows of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from ackclock.results.groups import Group
from ackclock.results.manifest import Manifest
from ackclock.results.sources import WHOLE, Values

VIDEO = ("stalls", "stalled_s", "startup_s", "bitrate_bps", "switches")

NAMES = VIDEO
"""Metrics of the summary, mean over the flows that have them. What an application measures under another name is among
the rows only."""

COLUMNS = ("run", "point", "replication", "id", "name", "value")

Row = Mapping[str, float]
"""What was measured in one run, by name."""


def rows(manifest: Manifest) -> Iterator[tuple[int, int, int, str, str, float]]:
    """The values of :data:`COLUMNS`, of each finished run."""
    for entry in manifest["runs"]:
        for flow, name, value in entry.get("measures", ()):
            yield entry["run"], entry["point"], entry["replication"], flow, name, value


def of_groups(manifest: Manifest, known: Mapping[int, Sequence[Group]]) -> dict[tuple[int, int], Row]:
    """Means over flows by run and number of group, those over all flows by run and :data:`WHOLE`.

    `known` are the groups of each point.
    """
    of = {
        point: {str(flow): number for number, group in enumerate(groups) for flow in group.flows}
        for point, groups in known.items()
    }
    values: dict[tuple[int, int], dict[str, list[float]]] = {}
    for run, point, _, flow, name, value in rows(manifest):
        if name in NAMES:
            for number in (WHOLE, of[point][flow]):
                values.setdefault((run, number), {}).setdefault(name, []).append(value)
    return {key: {name: fmean(found) for name, found in named.items()} for key, named in values.items()}


def over_runs(found: Sequence[Row | None]) -> Values:
    """The values of some runs of one point, None for those without."""
    there: dict[str, Any] = dict.fromkeys(name for name in NAMES if any(row and name in row for row in found))
    return {name: [row.get(name) if row else None for row in found] for name in there}
