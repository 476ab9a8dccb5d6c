"""Groups of flows: those that one [[flows]] table of a scenario made."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Group:
    """`count` flows from number `first` on, and what they are called."""

    first: int
    count: int
    label: str

    @property
    def flows(self) -> range:
        """Its flows, as numbers."""
        return range(self.first, self.first + self.count)

    @property
    def numbers(self) -> str:
        """The numbers of its flows: "3" or "0 to 2"."""
        return str(self.first) if self.count == 1 else f"{self.first} to {self.first + self.count - 1}"


def recorded(entry: Mapping[str, Any]) -> list[Group]:
    """The groups of a manifest's point. A result of an older version names none: flows that are alike make one."""
    if "groups" in entry:
        return [Group(item["first"], item["count"], item["label"]) for item in entry["groups"]]
    found: list[Group] = []
    for (app, cc), flows in itertools.groupby(entry["resolved"]["flows"], lambda flow: (flow["app"], flow["cc"])):
        first, kind = sum(group.count for group in found), app["kind"].replace("_", "-")
        name = kind if cc["name"] == "none" else cc["name"] if kind == "bulk" else f"{kind} {cc['name']}"
        found.append(Group(first, sum(1 for _ in flows), name))
    return found
