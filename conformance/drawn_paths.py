"""Twelve paths drawn at random, on which nothing was developed: how they were drawn (conformance/kernel/drawn).

python conformance/drawn_paths.py      # prints them
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SEED = 1
NUMBER = 12
MODULES = ("reno", "cubic", "bic", "vegas", "westwood", "htcp")
"""Linux's names of the controllers that were recorded."""
FRAME_BYTES = 1514
SECOND_START_S = 1.0
"""When the second of two flows starts, before it is shifted."""


@dataclass(frozen=True, slots=True)
class DrawnPath:
    """A path: a queue of whole packets at its bottleneck, no losses but those."""

    number: int
    """From 1."""
    rate_mbit: float
    rtt_ms: float
    """Half of it each way."""
    queue: int
    """Packets, the one in transmission included."""

    @property
    def bdp(self) -> float:
        """Rate times round trip, full packets."""
        return self.rate_mbit * 1e3 * self.rtt_ms / 8 / FRAME_BYTES

    @property
    def round_trip(self) -> float:
        """With a full queue, seconds."""
        return self.rtt_ms / 1e3 + self.queue * FRAME_BYTES * 8 / (self.rate_mbit * 1e6)

    @property
    def duration(self) -> int:
        """Of a run, seconds: shorter where round trips are, which keeps the recording short."""
        return 10 if self.rtt_ms < 20 else 20


@functools.cache
def paths() -> tuple[DrawnPath, ...]:
    """All of them: a Latin hypercube over the logarithms of rate, round trip and queue in BDP.

    Each of the three has one value in every twelfth of its range (2 to 100 Mbit/s, 5 to 200 ms, 0.1 to 2 BDP), so that
    no part of it is left out by chance. A queue has 5 packets at least.
    """
    generator = random.Random(SEED)  # noqa: S311 - paths, not secrets

    def spread(low: float, high: float) -> list[float]:
        parts = list(range(NUMBER))
        generator.shuffle(parts)
        return [low * (high / low) ** ((part + generator.random()) / NUMBER) for part in parts]

    rates, trips, shares = spread(2, 100), spread(5, 200), spread(0.1, 2)
    found = []
    for index, (rate, trip, share) in enumerate(zip(rates, trips, shares, strict=True)):
        path = DrawnPath(index + 1, round(rate, 1), round(trip, 1), 0)
        found.append(DrawnPath(path.number, path.rate_mbit, path.rtt_ms, max(5, round(share * path.bdp))))
    return tuple(found)


def run_of(path: DrawnPath, module: str, flows: int) -> Mapping[str, Any]:
    """A path and its flows as a record of the kernel has them (`scenario`, `flows`)."""
    scenario = {
        "rate_bps": path.rate_mbit * 1e6,
        "fwd_delay_ms": path.rtt_ms / 2,
        "queue_pkts": path.queue,
        "frame_bytes": FRAME_BYTES,
        "duration": path.duration,
    }
    starts = (0.0, SECOND_START_S)[:flows]
    delay = path.rtt_ms - path.rtt_ms / 2
    return {"scenario": scenario, "flows": [{"cc": module, "start": at, "ack_delay_ms": delay} for at in starts]}


if __name__ == "__main__":
    for item in paths():
        size = f"{item.queue} packets ({item.queue / item.bdp:.2f} BDP)"
        print(f"{item.number:2}  {item.rate_mbit:5} Mbit/s  {item.rtt_ms:5} ms  {size:24} {item.duration} s")
