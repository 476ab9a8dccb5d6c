"""Warnings of runs: one line for each kind.

In a manifest a run has a list of them. One that is alone of its kind is its text. Several of a kind are an object with
`text`, what is true of all of them, `count`, and `examples`, the names of the first of them (docs/results.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ackclock.results.manifest import Manifest

MOST_EXAMPLES = 3
_FAILED = re.compile(r"(?P<count>\d+) transfers of flow (?P<flow>\S+) failed")
_PAGES = "web"
_MOST = 5  # numbers of points or runs that are listed
_NUMBER = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")
"""Warnings that differ in nothing but these are of a kind."""

Entry = str | Mapping[str, Any]
"""A warning as a manifest has it."""


class _Kind:
    """Warnings of a kind: the runs of the first texts, and how many warnings there are in all."""

    def __init__(self) -> None:  # no dataclass: a capture is read in less time than these take to load
        self.runs: dict[str, list[int]] = {}
        self.count = 0


def of(manifest: Manifest) -> list[str]:
    """A line for each kind of warning, in the order of the runs, with the points or runs it is about if not about all.

    Replications, and often points, of one scenario have the same warnings. Several that differ only in numbers are one
    line with a count and examples.
    """
    runs = {entry["run"]: entry["point"] for entry in manifest["runs"]}
    kinds: dict[str, _Kind] = {}
    for run, text in worded(manifest):
        kind = kinds.setdefault(_NUMBER.sub("#", text), _Kind())
        kind.count += 1
        if text in kind.runs or len(kind.runs) < MOST_EXAMPLES:
            kind.runs.setdefault(text, []).append(run)
    return [_of_kind(kind, runs) for kind in kinds.values()]


def render_warning(entry: Entry) -> str:
    """A warning as a line: ``91120 flows (0, 1, 4, ...) delivered nothing within the measurement``."""
    if isinstance(entry, str):
        return entry
    what, _, rest = entry["text"].partition(" ")
    more = ", ..." if entry["count"] > len(entry["examples"]) else ""
    return f"{entry['count']} {what} ({', '.join(entry['examples'])}{more}) {rest}"


def worded(manifest: Manifest) -> Iterator[tuple[int, str]]:
    """The warnings of each run, once each, with its number.

    The engine counts connections that failed. Where each carries a transfer it says so; those of pages carry several
    requests, or a part of a page.
    """
    resolved = {entry["point"]: entry["resolved"] for entry in manifest.get("points", ())}
    for entry in manifest["runs"]:
        for text in dict.fromkeys(map(render_warning, entry["warnings"])):
            found = _FAILED.match(text)
            if found is None:
                yield entry["run"], text
                continue
            count, flow = int(found["count"]), found["flow"]
            apps = {own["id"]: own["app"]["kind"] for own in resolved[entry["point"]]["flows"]}
            what = "connection" if apps.get(flow) == _PAGES else "transfer"
            yield entry["run"], f"{count} {what}{'' if count == 1 else 's'} of flow {flow} failed{text[found.end() :]}"


def _of_kind(kind: _Kind, runs: dict[int, int]) -> str:
    """The line of a kind: as it is if all have the same text, and with a count and examples otherwise."""
    first, *others = [_line(text, about, runs) for text, about in kind.runs.items()]
    return f"{first} ({kind.count} of this kind, also: {'; '.join(others)})" if others else first


def _line(text: str, about: list[int], runs: dict[int, int]) -> str:
    if len(about) == len(runs):
        return text
    points = {runs[run] for run in about}
    if all(run in about for run, point in runs.items() if point in points):
        return f"{_numbers('point', sorted(points))}: {text}"
    return f"{_numbers('run', about)}: {text}"


def _numbers(what: str, numbers: Iterable[int]) -> str:
    first, *others = list(numbers)
    if not others:
        return f"{what} {first}"
    listed = ", ".join(map(str, [first, *others][:_MOST]))
    more = len(others) + 1 - _MOST
    return f"{what}s {listed}" + (f" and {more} more" if more > 0 else "")
