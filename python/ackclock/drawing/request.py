"""What of a figure was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

EVERY = "all"
"""In place of the number of a connection."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for; what is left out, the result decides."""

    kind: str | None = None
    x: str | None = None
    y: tuple[str, ...] = ()
    by: str | None = None
    facet: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    user: tuple[int, ...] = ()
    """Users of a cell, or clients, by number: only these. For kinds over time, and one of them for a page."""
    page: int | None = None
    """The number of a page within its client, for its waterfall."""
    connection: tuple[str, ...] = ()
    """Of sequence: connections of a capture by number, or :data:`EVERY`."""
    start: float | None = None
    end: float | None = None
    """Of sequence: only what happened between these times, s."""
