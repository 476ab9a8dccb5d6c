"""What the engine said about runs, each thing once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ackclock.results.manifest import Manifest

_FAILED = re.compile(r"(?P<count>\d+) transfers of flow (?P<flow>\S+) failed")
_PAGES = "web"
_MOST = 5  # numbers of points or runs that are listed


def of(manifest: Manifest) -> list[str]:
    """Every warning, in the order of the runs, with the points or runs it is about if not about all of them.

    Replications, and often points, of one scenario have the same to be warned of.
    """
    runs = {entry["run"]: entry["point"] for entry in manifest["runs"]}
    about: dict[str, list[int]] = {}
    for run, text in worded(manifest):
        about.setdefault(text, []).append(run)
    return [_line(text, those, runs) for text, those in about.items()]


def worded(manifest: Manifest) -> Iterator[tuple[int, str]]:
    """The warnings of each run, once each, with its number.

    The engine counts connections that failed. Where each carries a transfer it says so; those of pages carry several
    requests, or a part of a page.
    """
    resolved = {entry["point"]: entry["resolved"] for entry in manifest.get("points", ())}
    for entry in manifest["runs"]:
        for text in dict.fromkeys(entry["warnings"]):
            found = _FAILED.match(text)
            if found is None:
                yield entry["run"], text
                continue
            count, flow = int(found["count"]), found["flow"]
            apps = {own["id"]: own["app"]["kind"] for own in resolved[entry["point"]]["flows"]}
            what = "connection" if apps.get(flow) == _PAGES else "transfer"
            yield entry["run"], f"{count} {what}{'' if count == 1 else 's'} of flow {flow} failed{text[found.end() :]}"


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
