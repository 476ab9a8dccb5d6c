"""The way between a server and a client as advice knows it: pieces, and places between them where a proxy could be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ackclock.advice.case import Case, Place
from ackclock.models.split import Leg, Opening, joined
from ackclock.scenario.plan import Plan, load
from ackclock.scenario.traffic.route import NO_RELAY

HEADERS = 52
"""Bytes of IP, TCP and timestamps in each packet."""
MSS = 1448
LEAST_QUEUE = 100
"""Packets: no queue of a played path is shorter, so that a first window fits."""
PARTS = 4
"""Into how many parts of the same length a piece is cut, for places within it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the way: round trip, s; rate of the line, bit/s; share of packets lost on the way to the client."""

    rtt: float
    rate: float = math.inf
    loss: float = 0.0

    @property
    def payload(self) -> float:
        """Bit/s of payload."""
        return self.rate * MSS / (MSS + HEADERS)

    def parts(self, count: int = PARTS) -> list[Piece]:
        """The same in parts of the same length and loss."""
        return [Piece(self.rtt / count, self.rate, 1 - (1 - self.loss) ** (1 / count))] * count


@dataclass(frozen=True, slots=True)
class Proxy:
    """What a proxy has: bytes of buffer, what it offers the server, its initial window, and when it answers clients."""

    buffer: int = 4_000_000
    offered: int = 6_000_000
    initial: int = 10
    opening: Opening = "accepted"


@dataclass(frozen=True, slots=True)
class Path:
    """Pieces from the server to the client, and the places of proxies: how many pieces are before each, by its name.

    `window` is what the client offers, B; `initial` the server's initial window, segments; `queue` the length of
    queues, in the product of rate and round trip.
    """

    pieces: tuple[Piece, ...]
    places: Mapping[str, int]
    window: int = 6_000_000
    initial: int = 10
    queue: float = 1.0
    cc: str = "cubic"
    proxy: Proxy = field(default_factory=Proxy)

    @property
    def rtt(self) -> float:
        """Seconds, from end to end."""
        return math.fsum(piece.rtt for piece in self.pieces)

    def legs(self, place: str) -> tuple[Leg, Leg]:
        """The two connections with a proxy at a place."""
        before = self.places[place]
        proxy = self.proxy
        return (
            self._leg(self.pieces[:before], min(proxy.offered, proxy.buffer), self.initial),
            self._leg(self.pieces[before:], self.window, proxy.initial),
        )

    def whole(self) -> Leg:
        """The connection without a proxy."""
        return joined(*self.legs(next(iter(self.places))))

    def case(self, asked: str | None = None, notes: Sequence[str] = (), otherwise: Path | None = None) -> Case:
        """What advice is asked about; `otherwise` is what the path could be as well."""
        places = tuple(
            Place(name, f"at-{before}", *self.legs(name), self.proxy.offered) for name, before in self.places.items()
        )
        own = list(notes)
        if self.cc != "cubic":
            own.append(f"the model knows CUBIC alone, and the controller is {self.cc}: believe the runs")
        if self.queue < 1:
            own.append(f"queues of {self.queue:g} BDP overflow, which the model does not know: believe the runs")

        def played(sizes: Sequence[int], replications: int) -> Plan:
            return load(self.scenario(sizes, replications))

        other = None if otherwise is None else otherwise.case(asked)
        return Case(self.whole(), places, self.proxy.buffer, self.proxy.opening, played, asked, tuple(own), other)

    def scenario(self, sizes: Sequence[int], replications: int) -> dict[str, Any]:
        """Downloads of these sizes, without a proxy and with one at each place."""
        relays = [
            {"name": f"at-{before}", "position": before, "buffer": f"{self.proxy.buffer} B",
             "opening": self.proxy.opening, "source": {"tcp": {"receive_buffer": f"{self.proxy.offered} B"}},
             "sink": {"iw": self.proxy.initial}}
            for before in dict.fromkeys(self.places.values())
        ]  # fmt: skip
        return {
            "topology": {"kind": "chain", "hops": [self._hop(piece) for piece in self.pieces]},
            "relays": relays,
            "flows": [
                {"relay": [NO_RELAY, *(relay["name"] for relay in relays)], "profile": "linux", "cc": self.cc,
                 "iw": self.initial, "tcp": {"receive_buffer": f"{self.window} B"}, "app": downloads(sizes)}
            ],
            "run": {"duration": "10 min", "packet_delays": False, "replications": replications},
        }  # fmt: skip

    def _leg(self, pieces: Sequence[Piece], window: int, initial: int) -> Leg:
        kept = math.prod(1 - piece.loss for piece in pieces)
        rtt = math.fsum(piece.rtt for piece in pieces)
        return Leg(rtt, min(piece.payload for piece in pieces), window, initial, MSS, 1 - kept)

    def _hop(self, piece: Piece) -> dict[str, Any]:
        hop: dict[str, Any] = {"rate": "unlimited", "delay": f"{piece.rtt / 2 * 1e9:.0f} ns"}
        if piece.rate < math.inf:
            packets = round(self.queue * piece.rate * self.rtt / 8 / (MSS + HEADERS))
            hop |= {"rate": f"{piece.rate:.0f} bit/s",
                    "queue": {"kind": "droptail", "limit": f"{max(packets, LEAST_QUEUE)} packets"}}  # fmt: skip
        return hop | ({"loss": piece.loss} if piece.loss else {})


def downloads(sizes: Sequence[int]) -> dict[str, Any]:
    """An application that asks once for a file, of each size in turn."""
    every = [f"{size} B" for size in sizes]
    size = every if len(every) > 1 else every[0]
    return {"kind": "files", "arrivals": {"every": "1000 s"}, "size": size, "request": "200 B", "most": 1}
