"""What a panel shows besides lines and boxes, as data: a map, a schedule of bars, a graph of bytes over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

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


DATA, ACKS, WINDOW, SACK = "data", "ACKs", "receiver's window", "SACK"
"""What a graph of sequence numbers has of every connection."""
AGAIN = {
    "fast": "sent again: fast",
    "rto": "sent again: timeout",
    "rto_recovery": "sent again: after timeout",
    "tlp": "sent again: tail loss probe",
    "unknown": "sent again: cause unknown",
}
"""Segments that were sent again, by the cause that tables name."""
NEEDLESS, REORDERED, DUPLICATE = "needless", "out of order", "captured twice"
DUP_ACK, PROBE, CLOSED = "duplicate ACK", "probe or keepalive", "window closed"


@dataclass(frozen=True, slots=True)
class Strokes:
    """Bytes `low` to `high` at times `x`. `packet` is the number of each in the capture.

    Where strokes stand for several packets, `count` says for how many, and time and number are those of the first.
    """

    DIGITS: ClassVar[int] = 10
    label: str
    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    packet: Sequence[int] = ()
    count: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Stair:
    """A line that keeps its value until the next point."""

    DIGITS: ClassVar[int] = 10
    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, slots=True)
class Bundle:
    """Many lines of one look, and what is in their middle at each time, where there are enough to say."""

    label: str
    lines: tuple[Stair, ...]
    middle: Stair | None = None


@dataclass(frozen=True, slots=True)
class BytesOverTime:
    """What happened to which bytes when, of a connection; or the lines of many."""

    strokes: tuple[Strokes, ...] = ()
    stairs: tuple[Stair, ...] = ()
    bundles: tuple[Bundle, ...] = ()
    red: bool = False
    """Whether all marks are red: they are what is wrong with the lines of many, and only their shapes differ."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not (self.strokes or self.stairs or self.bundles)
