"""What is asked for advice about: the connection as it is, the two of a proxy at each place, and how it is played."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ackclock.models import split
from ackclock.models.split import Leg, Opening
from ackclock.scenario.plan import Plan

SIZES = (100_000, 1_000_000, 10_000_000)
"""Bytes of the downloads that advice is about, unless it is asked for others."""
LEAST_BUFFER = 65_535
"""Bytes: what a SYN may promise before its other end knows of a window scale; no relay has less."""
REPLICATIONS = 30
"""Of a path on which something is random."""

Played = Callable[[Sequence[int], int], Plan]
"""From sizes and replications to runs: of each size a download without a proxy and with one at each place."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a proxy could be: its name, that of the relay in what is played, and its connections.

    `offered` is the window that it would offer the server with any buffer, bytes; `source` has what its own allows.
    """

    name: str
    relay: str
    source: Leg
    sink: Leg
    offered: float

    @property
    def buffer_needed(self) -> float:
        """Bytes of buffer that limit no download here, whatever buffer was asked about."""
        needed = split.buffer_needed(replace(self.source, window=self.offered), self.sink)
        return max(needed, LEAST_BUFFER)


@dataclass(frozen=True, slots=True)
class Case:
    """A path. `asked` is the place that was asked about, if one was; `notes` say what is not known of the path.

    `otherwise` is another path that what is known fits as well.
    """

    whole: Leg
    places: tuple[Place, ...]
    buffer: int
    opening: Opening
    plan: Played
    asked: str | None = None
    notes: tuple[str, ...] = ()
    otherwise: Case | None = None

    @property
    def random(self) -> bool:
        """Whether something on the path is."""
        return bool(self.whole.loss)


def each(place: Place, buffer: int) -> Mapping[str, float]:
    """What bounds the rate of a long download over a proxy, bit/s of payload: by name."""
    found: dict[str, float] = {}
    for name, leg in (("server side", place.source), ("client side", place.sink)):
        found |= {f"{name}, {term}": value for term, value in bounds(leg).items()}
    return found | {"buffer": 8 * buffer / (place.source.rtt + place.sink.rtt)}


def bounds(leg: Leg) -> Mapping[str, float]:
    """What bounds the rate of a long download over a connection, bit/s of payload: by name."""
    return {"link": leg.rate, "window": 8 * leg.window / leg.rtt, "losses": leg.lossy}
