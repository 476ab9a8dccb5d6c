"""In what the scenarios of two results differ besides what is compared: values of their resolved runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ackclock.comparison.pairing import Match, Side, apart

MOST = 5
"""Differences that are named; of more their number is told."""

_NOT_THE_NETWORK = {"format", "seed", "run", "probes", "id", "link"}
_ALSO = {"rtt": "delay"}  # what a key is called in a resolved run, if it does not begin like it
_UNITS = (("_bps", 1e-6, " Mbit/s"), ("_ns", 1e-9, " s"))

Difference = tuple[str, Any, Any]


def note(a: Side, b: Side, by: str | None, matches: Sequence[Match], *, agreement: bool) -> str | None:
    """What to know about two scenarios, in a line; ``None`` if nothing but what is compared differs.

    That is the key `by`, or the swept keys that tell the results apart, and the controller if there are none: it is
    what results are compared for. Only engines are where an agreement is asked for.
    """
    others = ["engine"] if agreement else apart(a, b) or ["cc"]
    compared = others if by is None else [by]
    last = [key.rpartition(".")[2] for key in compared]
    words = tuple(_ALSO.get(word, word) for word in last)
    found: dict[str, Difference] = {}
    pairs = zip(_resolved(a, [m.runs_a for m in matches]), _resolved(b, [m.runs_b for m in matches]), strict=True)
    for ours, theirs in pairs:
        for name, x, y in _differences(ours, theirs, ""):
            if not any(part.startswith(words) for part in name.split(".")):
                found.setdefault(name, (name, x, y))
    if not found:
        return None
    named = [f"{_label(name)} {_shown(name, x)} / {_shown(name, y)}" for name, x, y in list(found.values())[:MOST]]
    more = f", and {len(found) - MOST} more" if len(found) > MOST else ""
    return f"the scenarios differ: {', '.join(named)}{more} (A / B)"


def _resolved(side: Side, runs: Sequence[tuple[int, ...]]) -> list[Mapping[str, Any]]:
    point_of = {entry["run"]: entry["point"] for entry in side.result.manifest["runs"]}
    of = {entry["point"]: entry["resolved"] for entry in side.result.manifest["points"]}
    return [of[point_of[own[0]]] for own in runs]


def _differences(a: Any, b: Any, name: str) -> Iterator[Difference]:
    """Where two documents differ. Of lists of different lengths the lengths do, and what both have is gone through."""
    if a == b:
        return
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in dict.fromkeys([*a, *b]):
            if key not in _NOT_THE_NETWORK:
                yield from _differences(a.get(key), b.get(key), f"{name}.{key}" if name else key)
    elif _rows(a) and _rows(b):
        if len(a) != len(b):
            yield f"{name}.count", len(a), len(b)
        for x, y in zip(a, b, strict=False):
            yield from _differences(x, y, name)
    else:
        yield name, a, b


def _rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _label(name: str) -> str:
    unit = next((end for end, _, _ in _UNITS if name.endswith(end)), "")
    return name.removesuffix(unit)


def _shown(name: str, value: Any) -> str:
    for end, factor, unit in _UNITS:
        if name.endswith(end) and isinstance(value, int | float):
            return f"{factor * value:.10g}{unit}"
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        value = value.get("kind", value.get("name", "other"))
    text = str(value)
    return text if len(text) <= 30 else f"{text[:27]}..."
