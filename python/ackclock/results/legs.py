"""The legs of flows that a relay splits: in a resolved run they stand among the flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Flow = Mapping[str, Any]


def wholes(resolved: Mapping[str, Any]) -> list[Flow]:
    """The flows of a resolved run without those that are legs of others: those that the tables of flows have."""
    flows: list[Flow] = resolved["flows"]
    legs = {name for flow in flows if (relay := flow.get("relay")) is not None for name in relay["legs"]}
    return [flow for flow in flows if flow["id"] not in legs] if legs else flows
