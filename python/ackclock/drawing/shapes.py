"""What a panel shows besides lines and boxes, as data: a map of places, and a schedule of bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MODULATIONS = ("QPSK", "16QAM", "64QAM", "not served")
"""What markers of a map say: the modulation that a user is served with."""
PHASES = ("waiting", "handshake", "first byte", "transfer")
"""What an object goes through: it is known and waits for a connection, has one of its own made, is requested, comes."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place on a map with the value that is its colour.

    `label` is what kind of place it is, which its marker says. `hollow`: only its edge is coloured.
    """

    label: str
    x: float
    y: float
    value: float
    name: str = ""
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Map:
    """Places around what is in the middle, and rings at some distances from it."""

    spots: tuple[Spot, ...]
    rings: tuple[float, ...] = ()
    centre: str = ""
    hollow: str = ""
    """What hollow spots are, where there are some."""

    @property
    def radius(self) -> float:
        """How far it goes."""
        return max([*self.rings, *(max(abs(spot.x), abs(spot.y)) for spot in self.spots)], default=1.0)


@dataclass(frozen=True, slots=True)
class Bar:
    """What something in a row was doing from `start` to `end`: its phase."""

    row: int
    phase: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Link:
    """That what ends in one row begins another, a little later or at once."""

    from_row: int
    to_row: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """Rows of bars, the first row on top, and what made what begin. Rows in `open` came to no end."""

    bars: tuple[Bar, ...]
    links: tuple[Link, ...] = ()
    open: tuple[int, ...] = ()
    open_label: str = ""

    @property
    def phases(self) -> Sequence[str]:
        """The phases, each once, in their order."""
        return list(dict.fromkeys(bar.phase for bar in self.bars))
