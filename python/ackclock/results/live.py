"""Results that were measured on lines: what is asked of them where nobody says what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LIVE = "live"
"""Their engine."""

TOTAL = "total_goodput_bps"
"""What all connections of a test have together."""

CONNECTIONS = "connections"
"""The swept key that says how many a test has."""


def counts(manifest: Mapping[str, Any], key: str | None) -> bool:
    """Whether values of a swept key are numbers of connections of a test.

    They share what a line carries, so that of goodputs of each the fewest have the most by construction: what is asked
    is what all of them have together.
    """
    return key == CONNECTIONS and manifest["engine"]["name"] == LIVE


def ways(point: Mapping[str, Any]) -> dict[str | None, frozenset[str] | None]:
    """Of the tests of a point of a manifest that were in both directions at a time: the flows of each.

    Each has a line of its own. Of others all flows are one, without a name.
    """
    groups = point["groups"] if "live" in point["resolved"] else ()
    if [group["label"] for group in groups] != ["down", "up"]:
        return {None: None}
    return {
        group["label"]: frozenset(str(group["first"] + number) for number in range(group["count"])) for group in groups
    }
