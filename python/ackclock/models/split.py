"""Split TCP: what a relay between two legs makes of rates and of download times, without losses.

Rates are minima over what limits the legs. Times follow a recursion over segments: each leaves when the one before has
left, when the window has room for it, and over the second leg when it has come over the first. In slow start the window
grows by a segment for each that is acknowledged (RFC 5681 §3.1); it has no other bound than the receiver's window and,
of a relay, its buffer. docs/models.md has the assumptions, and how far simulated runs are from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Opening = Literal["transparent", "lazy"]
"""When the relay answers a client: at once, or when its connection to the server is open."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A connection's path: round-trip time without queues, s; rate of its slowest link, bit/s of payload.

    `window` is what its receiver offers at most, B; `initial` its initial window, segments of `mss` bytes.
    """

    rtt: float
    rate: float = math.inf
    window: float = math.inf
    initial: int = 10
    mss: int = 1448

    def __post_init__(self) -> None:
        for name in ("rtt", "rate", "window", "initial", "mss"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give a number above 0")

    @property
    def limit(self) -> float:
        """The rate that it gives a long transfer: that of its link, or a window each round trip. Bit/s of payload."""
        return min(self.rate, 8 * self.window / self.rtt)


def joined(source: Leg, sink: Leg, *, window: float | None = None) -> Leg:
    """The path from end to end that two legs are parts of. `window`: the receiver's; without it that of the sink."""
    offered = sink.window if window is None else window
    return Leg(source.rtt + sink.rtt, min(source.rate, sink.rate), offered, source.initial, source.mss)


def split_rate(source: Leg, sink: Leg, buffer: float = math.inf) -> float:
    """The rate of a long transfer that a relay splits, bit/s of payload.

    The least of what both legs give, and of what a relay's `buffer` of so many bytes does: its place is used again
    after both round trips.
    """
    return min(source.limit, sink.limit, 8 * buffer / (source.rtt + sink.rtt))


def download_time(size: int, leg: Leg) -> float:
    """Seconds from a client's request for a connection to the last byte of a file of `size` bytes.

    The client asks with the last segment of the handshake.
    """
    left = _emissions(size, leg)
    return 1.5 * leg.rtt + left[-1] + _serialised(leg) + leg.rtt / 2


def split_download_time(
    size: int, source: Leg, sink: Leg, buffer: float = math.inf, opening: Opening = "transparent"
) -> float:
    """The same over a relay: the client is at the sink, the server at the source."""
    asked = sink.rtt / 2
    # A client that waits for the server sends its request when it has heard of its answer.
    longer = source.rtt + sink.rtt if opening == "lazy" else max(source.rtt, sink.rtt)
    passed = asked + longer
    begun = passed + source.rtt / 2
    return begun + _left_relay(size, source, sink, buffer) + _serialised(sink) + sink.rtt / 2


def gain(size: int, source: Leg, sink: Leg, buffer: float = math.inf, *, window: float | None = None) -> float:
    """How much faster the download of `size` bytes is with the relay than without: 0.25 is a quarter faster.

    `window`: what the client offers without a relay, B; without it what it offers the relay.
    """
    return (
        download_time(size, joined(source, sink, window=window)) / split_download_time(size, source, sink, buffer) - 1
    )


def limited_by(size: int, source: Leg, sink: Leg, buffer: float = math.inf, *, window: float | None = None) -> str:
    """What a relay changes for a download: ``"window"``, ``"start"`` or ``"nothing"``.

    ``"window"``: from end to end the window, and not a link, limits a long transfer, and less so over the legs.
    ``"start"``: long transfers gain nothing by it, but this one, which ends in slow start, does by 10 % or more.
    """
    whole = joined(source, sink, window=window)
    if gain(size, source, sink, buffer, window=window) < _WORTH:
        return "nothing"
    longer = split_rate(source, sink, buffer) > (1 + _WORTH) * whole.limit
    return "window" if longer and whole.limit < whole.rate and _reaches(size, whole) else "start"


def buffer_needed(source: Leg, sink: Leg) -> float:
    """Bytes of buffer that do not limit a long transfer: its rate for both round trips, and as much for repairs."""
    return 2 * split_rate(source, sink) * (source.rtt + sink.rtt) / 8


_WORTH = 0.1
"""A gain that is one."""


def _reaches(size: int, leg: Leg) -> bool:
    """Whether a file is long enough for the window to become the limit."""
    return size > 2 * leg.window


def _serialised(leg: Leg) -> float:
    """How long a full segment takes at the rate."""
    return 8 * leg.mss / leg.rate


def _segments(size: int, leg: Leg) -> int:
    if size < 1:
        raise ValueError(f"a file of {size} B; give at least 1")
    return math.ceil(size / leg.mss)


def _acknowledged(number: int, leg: Leg) -> int:
    """How many segments must be acknowledged before number `number`, from 0, may leave."""
    growing = math.ceil((number + 1 - leg.initial) / 2)
    full = number + 1 - max(1, int(leg.window // leg.mss)) if leg.window < math.inf else 0
    return max(0, growing, full)


def _free(left: Sequence[float], leg: Leg) -> float:
    """When the window has room for the segment behind those that have `left`."""
    needed = _acknowledged(len(left), leg)
    return left[needed - 1] + _serialised(leg) + leg.rtt if needed else 0.0


def _emissions(size: int, leg: Leg) -> list[float]:
    """When each segment leaves, s after the first."""
    left: list[float] = []
    for _ in range(_segments(size, leg)):
        before = left[-1] + _serialised(leg) if left else 0.0
        left.append(max(before, _free(left, leg)))
    return left


def _left_relay(size: int, source: Leg, sink: Leg, buffer: float) -> float:
    """When the last segment leaves the relay, s after the first left the source.

    Segments are those of the source's leg; where the sink's are smaller they leave at the same rate of bytes.
    """
    unit = Leg(sink.rtt, sink.rate, sink.window, max(1, sink.initial * sink.mss // source.mss), source.mss)
    held = max(1, int(buffer // source.mss)) if buffer < math.inf else None
    first: list[float] = []
    second: list[float] = []
    for number in range(_segments(size, source)):
        leaves = max(first[-1] + _serialised(source) if first else 0.0, _free(first, source))
        if held is not None and number >= held:
            # Acknowledged over the second leg, offered over the first.
            leaves = max(leaves, second[number - held] + _serialised(unit) + unit.rtt + source.rtt / 2)
        first.append(leaves)
        arrives = leaves + _serialised(source) + source.rtt / 2
        passed = max(arrives, second[-1] + _serialised(unit) if second else 0.0)
        second.append(max(passed, _free(second, unit)))
    return second[-1]
