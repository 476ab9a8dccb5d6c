"""What the engine said about runs, each thing once."""

from __future__ import annotations

from collections.abc import Iterable

from ackclock.results.manifest import Manifest

_MOST = 5  # numbers of points or runs that are listed


def of(manifest: Manifest) -> list[str]:
    """Every warning, in the order of the runs, with the points or runs it is about if not about all of them.

    Replications, and often points, of one scenario have the same to be warned of.
    """
    runs = {entry["run"]: entry["point"] for entry in manifest["runs"]}
    about: dict[str, list[int]] = {}
    for entry in manifest["runs"]:
        for text in dict.fromkeys(entry["warnings"]):
            about.setdefault(text, []).append(entry["run"])
    return [_line(text, those, runs) for text, those in about.items()]


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
