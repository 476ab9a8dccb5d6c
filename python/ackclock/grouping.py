"""Resolved runs as files have them: flows that are equal except for their names are written once, with a `count`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Document = dict[str, Any]


def group_flows(flows: Iterable[Mapping[str, Any]]) -> list[Document]:
    """Flows that are equal but for their names, consecutive numbers, as one with the first name and a `count`."""
    groups: list[Document] = []
    rest: Document = {}
    following = ""
    for flow in flows:
        own = dict(flow)
        name = own.pop("id", "")
        if name and name == following and own == rest:
            groups[-1]["count"] = groups[-1].get("count", 1) + 1
        else:
            groups.append(dict(flow))
            rest = own
        following = str(int(name) + 1) if name.isdecimal() and name == str(int(name)) else ""
    return groups


def expand_flows(groups: Iterable[Mapping[str, Any]]) -> Iterator[Document]:
    """Every flow by itself, with its name."""
    for group in groups:
        count = group.get("count")
        if count is None:
            yield dict(group)
            continue
        shared = {key: value for key, value in group.items() if key != "count"}
        first = int(group["id"])
        for number in range(first, first + count):
            flow = shared.copy()
            flow["id"] = str(number)
            yield flow


def grouped(document: Mapping[str, Any]) -> Document:
    """A resolved run with its flows in groups. Other documents, as those of captures, stay as they are."""
    return {**document, "flows": group_flows(document["flows"])} if "flows" in document else dict(document)


def expanded(document: Mapping[str, Any]) -> Document:
    """A resolved run with every flow by itself."""
    if all("count" not in flow for flow in document.get("flows", ())):
        return dict(document)
    return {**document, "flows": list(expand_flows(document["flows"]))}


def count_flows(document: Mapping[str, Any]) -> int:
    """The number of flows of a resolved run, whether they are in groups or not."""
    return sum(flow.get("count", 1) for flow in document["flows"])
