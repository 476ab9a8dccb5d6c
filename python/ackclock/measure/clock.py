"""How far the clocks of the two ends are apart (Cristian, Probabilistic clock synchronization, 1989)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

EXCHANGES = 20
"""Questions for the other clock, before a test and after it."""


@dataclass(frozen=True, slots=True)
class Offset:
    """The server's clock less the client's, ns, and how wrong that can be at most: half the round trip.

    The answer was read somewhere within the round trip; nobody knows where, for the two ways may differ.
    """

    offset_ns: int
    uncertainty_ns: int


def offset(exchanges: Iterable[tuple[int, int, int]]) -> Offset:
    """From questions: asked at (client's clock), answered at (server's), heard at (client's). The fastest counts."""
    asked, answered, heard = min(exchanges, key=lambda item: item[2] - item[0])
    return Offset(answered - (asked + heard) // 2, (heard - asked + 1) // 2)
