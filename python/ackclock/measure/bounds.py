"""What is wrong with a test that no server makes, in the words of a campaign file: its keys, its values, its units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ackclock.errors import Problem
from ackclock.scenario.values import units

_S = 10**9
_QUANTITIES = {
    "duration": units.DURATION,
    "warmup": units.DURATION,
    "interval": units.DURATION,
    "rcvbuf": units.SIZE,
    "sndbuf": units.SIZE,
    "notsent_lowat": units.SIZE,
    "pacing": units.RATE,
}
_BOUNDS = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most")}


def problem(error: ValidationError, written: Mapping[str, Any]) -> Problem:
    """The first thing that is wrong, with the key that was written; `written` has the values as they were."""
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][-1]).removesuffix("_ns")
    value = written.get(name, first["input"])
    said = f"'{value}'" if isinstance(value, str) else str(value)
    if first["type"] in _BOUNDS:
        key, words = _BOUNDS[first["type"]]
        return Problem(f"{said} is out of range", f"give {words} {_shown(name, first['ctx'][key])}", name)
    if first["type"] == "multiple_of":
        rest = value - value % first["ctx"]["multiple_of"]
        return Problem(f"{said} has bits of ECN, which TCP sets by itself", f"give {rest} for the same DSCP", name)
    if name == "cc":
        return Problem(f"{said} is no name of a controller", 'write one as the kernel does: "cubic"', name)
    return Problem(f"{said}: {first['msg'].lower()}", "ask for a test as docs/measure.md describes it", name)


def _shown(name: str, bound: int) -> str:
    quantity = _QUANTITIES.get(name)
    if quantity is None:
        return str(bound)
    if quantity is units.DURATION and bound >= _S and bound % _S == 0:
        return f"{bound // _S} s"  # as docs/measure.md has it
    return quantity.format(bound)
