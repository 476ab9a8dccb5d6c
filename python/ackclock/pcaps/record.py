"""The record beside the tables of captures."""

from __future__ import annotations

import datetime as dt
from typing import Any

from ackclock import engine, host
from ackclock.pcaps.inputs import FILE, LABEL
from ackclock.pcaps.keep import Kept
from ackclock.pcaps.reading import Analysed
from ackclock.results.manifest import CAPTURE, FORMAT, Manifest

UNKNOWN = "unknown"
"""What nobody can tell from packets: a controller."""


def build(kept: Kept, options: dict[str, Any]) -> Manifest:
    """The manifest of captures that were analysed."""
    catalogue = engine.catalogue()
    captures = kept.captures
    points = {kept.point(capture): capture for capture in reversed(captures)}
    return {
        "format": FORMAT,
        "status": "complete",
        "missing": [],
        "version": catalogue.version,
        "engine": {"name": CAPTURE, "version": catalogue.version, "commit": catalogue.commit},
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "host": host.facts(),
        "scenario": {"source": _source(kept), "text": "", "changes": options},
        "params": kept.params,
        "numbers": {},
        "points": [
            {
                "point": point,
                "params": _params(kept, points[point]),
                "numbers": {},
                "groups": [{"first": 0, "count": 1, "label": "connections"}],
                "resolved": _resolved(),
            }
            for point in sorted(points)
        ],
        "runs": [
            {
                "run": capture.run,
                "point": kept.point(capture),
                "replication": kept.replication(capture),
                "seed": 0,
                "wall_s": capture.wall_s,
                "events": capture.packets,
                "packets": capture.packets,
                "warnings": capture.warnings,
            }
            for capture in captures
        ],
        "failed": [],
        "files": {},
    }


def _source(kept: Kept) -> str:
    names = [capture.source.name for capture in kept.captures]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more captures"


def _params(kept: Kept, capture: Analysed) -> dict[str, Any]:
    own = {LABEL: capture.source.label, FILE: capture.source.name}
    return {name: own[name] for name in kept.params}


def _resolved() -> dict[str, Any]:
    """What stands where simulated runs have all that they were told: nothing is known of the network."""
    flow = {"id": "", "app": {"kind": "captured"}, "cc": {"name": UNKNOWN}, "mss": 1, "forward": [], "reverse": []}
    return {"links": [], "flows": [flow], "probes": {}}
