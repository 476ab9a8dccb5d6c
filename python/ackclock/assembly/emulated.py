"""Runs between real kernels: whether they can be used, and what of their hosts the manifest says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock.results.validity import VALID as VALID

if TYPE_CHECKING:
    from ackclock.engine import Json

_MOST = 3
"""Problems that are told one by one."""


def warnings(emulation: Json | None, *, pinned: bool = False) -> list[str]:
    """What a reader must know of a run, by how it went. pinned: its path has had a processor of its own."""
    if emulation is None or not emulation["problems"]:
        return []
    problems = emulation["problems"]
    more = f"; and {len(problems) - _MOST} more" if len(problems) > _MOST else ""
    told = "; ".join(problems[:_MOST]) + more
    if emulation["valid"]:
        return [f"late, but allowed: {told}"]
    pin = "" if pinned else "--pin 1, "
    return [f"NOT VALID: {told}; give the computer rest, {pin}or --allow-late"]
