"""Split TCP: what a relay between two legs makes of rates and of download times.

Rates are minima over what limits the legs. Times follow a recursion over segments: each leaves when the one before has
left, when the window has room for it, and over the second leg when it has come over the first. With losses they are
geometric means over some patterns of these. docs/models.md has the assumptions, and how far simulated runs are from
them.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from ackclock.models.sender import KEPT, Lost, Sender, drawn

Opening = Literal["transparent", "accepted", "lazy"]
"""When the relay answers a client: at once, or when its connection to the server is open.

`accepted`: at once too, but it asks the server when the client has answered in turn, as a program does that accepts
connections.
"""


_KEPT_TIMES = 512
"""Times that are known from before: one path is asked about several times."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A connection's path: round-trip time without queues, s; rate of its slowest link, bit/s of payload.

    `window` is what its receiver offers at most, B; `initial` its initial window, segments of `mss` bytes; `loss` the
    share of its segments that is lost at random.
    """

    rtt: float
    rate: float = math.inf
    window: float = math.inf
    initial: int = 10
    mss: int = 1448
    loss: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rtt", "rate", "window", "initial", "mss"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give a number above 0")
        if not 0 <= self.loss < 1:
            raise ValueError(f"loss is {self.loss}; give a share of at least 0 and less than 1")

    @property
    def limit(self) -> float:
        """The rate that it gives a long transfer: that of its link, a window each round trip, or what losses leave.

        Bit/s of payload.
        """
        return min(self.rate, 8 * self.window / self.rtt, self.lossy)

    @property
    def lossy(self) -> float:
        """The rate that losses leave CUBIC: the larger of its own and of Reno's (RFC 9438 §5.1, §4.3). Bit/s."""
        if not self.loss:
            return math.inf
        own: float = (0.4 * (3 + KEPT) / (4 * (1 - KEPT))) ** 0.25 * (self.rtt / self.loss) ** 0.75
        return 8 * self.mss * max(own, math.sqrt(1.5 / self.loss)) / self.rtt


def joined(source: Leg, sink: Leg, *, window: float | None = None) -> Leg:
    """The path from end to end that two legs are parts of. `window`: the receiver's; without it that of the sink."""
    offered = sink.window if window is None else window
    loss = 1 - (1 - source.loss) * (1 - sink.loss)
    return Leg(source.rtt + sink.rtt, min(source.rate, sink.rate), offered, source.initial, source.mss, loss)


def split_rate(source: Leg, sink: Leg, buffer: float = math.inf) -> float:
    """The rate of a long transfer that a relay splits, bit/s of payload.

    The least of what both legs give, and of what a relay's `buffer` of so many bytes does: its place is used again
    after both round trips.
    """
    return min(source.limit, sink.limit, 8 * buffer / (source.rtt + sink.rtt))


@functools.lru_cache(_KEPT_TIMES)
def download_time(size: int, leg: Leg) -> float:
    """Seconds from a client's request for a connection to the last byte of a file of `size` bytes.

    The client asks with the last segment of the handshake. With losses it is the geometric mean of many downloads: a
    loss in the first round trips makes some of them several times as long.
    """
    return 1.5 * leg.rtt + _mean(lambda pattern: _passed(size, leg, pattern), leg)


@functools.lru_cache(_KEPT_TIMES)
def split_download_time(
    size: int, source: Leg, sink: Leg, buffer: float = math.inf, opening: Opening = "transparent"
) -> float:
    """The same over a relay: the client is at the sink, the server at the source."""
    asked = sink.rtt / 2
    # A client that waits for the server sends its request when it has heard of its answer; a program asks the server
    # when it is told of the client. Either way one handshake follows the other.
    longer = max(source.rtt, sink.rtt) if opening == "transparent" else source.rtt + sink.rtt
    passed = asked + longer
    begun = passed + source.rtt / 2
    return begun + _mean(lambda pattern: _passed_relay(size, source, sink, buffer, pattern), source, sink)


def gain(
    size: int, source: Leg, sink: Leg, buffer: float = math.inf, *,
    window: float | None = None, opening: Opening = "transparent",
) -> float:  # fmt: skip
    """How much faster the download of `size` bytes is with the relay than without: 0.25 is a quarter faster.

    `window`: what the client offers without a relay, B; without it what it offers the relay.
    """
    whole = joined(source, sink, window=window)
    return download_time(size, whole) / split_download_time(size, source, sink, buffer, opening) - 1


def limited_by(
    size: int, source: Leg, sink: Leg, buffer: float = math.inf, *,
    window: float | None = None, opening: Opening = "transparent",
) -> str:  # fmt: skip
    """What a relay changes for a download: ``"losses"``, ``"window"``, ``"start"`` or ``"nothing"``.

    It is that without which more than half of the gain would go: losses, which are repaired over a leg instead of the
    whole path, or the receivers' windows. ``"start"``, the handshake and slow start, is what remains, ``"nothing"`` a
    gain below 10 %.
    """
    found = gain(size, source, sink, buffer, window=window, opening=opening)
    if found < WORTH:
        return "nothing"
    source, sink = replace(source, loss=0.0), replace(sink, loss=0.0)
    clean = gain(size, source, sink, buffer, window=window, opening=opening)
    if clean < found / 2:
        return "losses"
    open_wide = gain(size, replace(source, window=math.inf), replace(sink, window=math.inf), buffer, opening=opening)
    return "window" if open_wide < clean / 2 else "start"


def buffer_needed(source: Leg, sink: Leg) -> float:
    """Bytes of buffer that do not limit a download: the rate for both round trips, and as much for repairs.

    The rate is that of the legs without their losses: what losses leave is a mean, and a leg that has just lost nothing
    for a while is faster than it.
    """
    whole = replace(source, loss=0.0), replace(sink, loss=0.0)
    return 2 * split_rate(*whole) * (source.rtt + sink.rtt) / 8


PATTERNS = 16
"""Patterns of losses over which times are averaged."""
_STRIDE = 7
"""The quantiles of the second leg's first loss come in another order than those of the first leg's."""
_FIRST, _SECOND = "first", "second"

WORTH = 0.1
"""A gain that is one."""


def _serialised(leg: Leg) -> float:
    """How long a full segment takes at the rate."""
    return 8 * leg.mss / leg.rate


def _segments(size: int, leg: Leg) -> int:
    if size < 1:
        raise ValueError(f"a file of {size} B; give at least 1")
    return math.ceil(size / leg.mss)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern of losses: its number."""

    number: int

    def of(self, segments: int, leg: Leg, name: str) -> Lost:
        """What is lost of a leg, to which no other's losses say anything."""
        rng = random.Random(f"{name} {self.number}")  # noqa: S311
        turn = self.number if name == _FIRST else (_STRIDE * self.number + 3) % PATTERNS
        return drawn(segments, leg.loss, rng, (turn + 0.5) / PATTERNS)


def _mean(time: Callable[[_Pattern], float], *legs: Leg) -> float:
    """The geometric mean over patterns of losses, always the same ones; where nothing is lost there is only one."""
    if not any(leg.loss for leg in legs):
        return time(_Pattern(0))
    return math.exp(math.fsum(math.log(time(_Pattern(number))) for number in range(PATTERNS)) / PATTERNS)


def _passed(size: int, leg: Leg, pattern: _Pattern) -> float:
    """When the last segment is there, s after the first left."""
    segments = _segments(size, leg)
    sender = Sender(leg, segments, pattern.of(segments, leg, _FIRST))
    for _ in range(segments):
        sender.leave()
    return sender.received[-1]


def _passed_relay(size: int, source: Leg, sink: Leg, buffer: float, pattern: _Pattern) -> float:
    """When the last segment is at the sink, s after the first left the source.

    Segments are those of the source's leg; where the sink's are smaller they leave at the same rate of bytes.
    """
    unit = replace(sink, mss=source.mss, initial=max(1, sink.initial * sink.mss // source.mss))
    held = max(1, int(buffer // source.mss)) if buffer < math.inf else None
    segments = _segments(size, source)
    first = Sender(source, segments, pattern.of(segments, source, _FIRST))
    second = Sender(unit, segments, pattern.of(segments, unit, _SECOND))
    for number in range(segments):
        free = 0.0
        if held is not None and number >= held:
            # Acknowledged over the second leg, offered over the first.
            free = second.received[number - held] + unit.rtt / 2 + source.rtt / 2
        second.leave(first.leave(free))
    return second.received[-1]
