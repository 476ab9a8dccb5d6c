"""Prague beside CUBIC and Reno over DualPI2: rates and delays, what RFC 9332 says of them, and two references.

One flow of each kind, profile ``linux``, at equal round-trip times. The references are a second model
(``l4s_model.py``) and measurements of Linux (``l4s_measured.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

import ackclock
import l4s_measured
import l4s_model
from session_cache import session_cache

RATES = (4, 12, 40, 100)
"""Mbit/s per flow."""
RTTS = (5, 10, 20, 50, 100)
"""Milliseconds, without queues."""
CLASSIC = ("cubic", "reno")

PACKET_BITS = 1500 * 8
TARGET = 0.015
"""The delay of the classic queue that DualPI2 aims at, s."""
RAMP_END = 0.0012
"""From this delay on everything in the low-latency queue is marked, s (RFC 9332 §A.1)."""
SHIFT = 0.050
"""What RFC 9332 §A.2 suggests as the head start of the low-latency queue, s; `dualpi2` has two targets."""
VIRTUAL = 0.025
"""The round-trip time that Prague behaves as having where it is shorter, s."""


@dataclass(frozen=True)
class Cell:
    """A measured point: `flows` of each kind share a link of `rate` Mbit/s for each."""

    classic: str
    rate: int
    rtt: int
    flows: int
    prague_bps: float
    classic_bps: float
    low_p99: float
    low_mean: float
    utilisation: float

    @property
    def ratio(self) -> float:
        """Rate of a Prague flow by that of a classic one."""
        return self.prague_bps / self.classic_bps

    @property
    def packet(self) -> float:
        """How long the link is busy with one packet, s."""
        return PACKET_BITS / (2e6 * self.rate * self.flows)

    @property
    def model(self) -> l4s_model.Shares:
        """The same by the second model."""
        return model(self.classic, self.rate, self.rtt, self.flows)


@session_cache
def model(classic: str, rate: int, rtt: int, flows: int = 1) -> l4s_model.Shares:
    """What the second model has for a point."""
    return l4s_model.play(classic, rate * 1e6 / PACKET_BITS, rtt / 1e3, flows)


def rfc(classic: str, rtt: float) -> float:
    """Rate of Prague by that of a classic flow in RFC 9332 §C.2, equations (8) and (10); `rtt` in s.

    A steady p', Prague's w = 2 / p_CL, and a classic queue that the tips of the sawteeth fill to its target.
    """
    mean = {"reno": 0.75, "cubic": 0.85}[classic]
    return mean * (rtt + TARGET) / (1.22 * max(rtt, VIRTUAL))


def steady(rtt: float) -> float:
    """The same where the classic queue is at its target on average and marks come at random; `rtt` in s.

    Prague: x = p w marks per round trip, x = 2 (1 + 1/x), so w = (1 + sqrt 3) / 2 p'. Reno: w = sqrt(3/2) / p'
    (Mathis et al. 1997; CUBIC's Reno-friendly region aims at the same, RFC 9438 §4.3).
    """
    windows = (1 + math.sqrt(3)) / 2 / math.sqrt(1.5)
    return windows * (rtt + TARGET) / max(rtt, VIRTUAL)


def scenario(classic: str, rate: int, rtt: int, flows: int = 1, shift: float = 2 * TARGET) -> dict[str, Any]:
    """What is played: the warm-up is the time in which a window grows to its share by a segment per round trip."""
    grows = round(20 + rate * 1e6 * (rtt / 1e3) ** 2 / PACKET_BITS)
    return {
        "topology": {
            "kind": "dumbbell",
            "rate": f"{2 * rate * flows} Mbit/s",
            "rtt": f"{rtt} ms",
            "queue": {"kind": "dualpi2", "shift": shift / TARGET},
        },
        "flows": [
            {"cc": cc, "profile": "linux", "count": flows, "start": {"uniform": ["0 s", "1 s"]}}
            for cc in ("prague", classic)
        ],
        "run": {"duration": f"{3 * grows} s", "warmup": f"{grows} s", "replications": 1},
    }


@session_cache
def play(classic: str, rate: int, rtt: int, flows: int = 1, shift: float = 2 * TARGET) -> Cell:
    """Plays a point."""
    result = ackclock.run(scenario(classic, rate, rtt, flows, shift), jobs=1)
    goodput = dict(result.flows.group_by("cc").agg(pl.col("goodput_bps").mean()).iter_rows())
    (link,) = result.links.filter(pl.col("id") == "bottleneck").iter_rows(named=True)
    delays = link["p99_l_queue_delay_s"], link["mean_l_queue_delay_s"]
    return Cell(classic, rate, rtt, flows, goodput["prague"], goodput[classic], *delays, link["utilisation"])


def grid() -> Iterator[Cell]:
    """Every point of the table."""
    return (play(classic, rate, rtt) for classic in CLASSIC for rate in RATES for rtt in RTTS)


MANY = (1, 2, 4, 8)
"""Flows of each kind."""
CROWDS = ((12, 50), (40, 100))
"""Mbit/s per flow and round-trip time in ms at which several share, beside Reno."""


def crowd(rate: int, rtt: int) -> list[Cell]:
    """Reno in company."""
    return [play("reno", rate, rtt, flows) for flows in MANY]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _both(cell: Cell) -> str:
    return f"{cell.ratio:.2f} ({cell.model.ratio:.2f})"


def rates() -> str:
    """The table of ratios: ours, the second model's, and the RFC's."""
    rows = [
        [f"{rate} Mbit/s", classic, *(_both(play(classic, rate, rtt)) for rtt in RTTS)]
        for classic in CLASSIC
        for rate in RATES
    ]
    said = [["RFC 9332 §C.2", classic, *(f"{rfc(classic, rtt / 1e3):.2f}" for rtt in RTTS)] for classic in CLASSIC]
    return _table(["per flow", "beside", *(f"{rtt} ms" for rtt in RTTS)], [*rows, *said])


def measured() -> str:
    """The table of measurements of Linux."""
    rows = [
        [
            f"{point.link} Mbit/s",
            f"{point.rtt} ms",
            ", ".join(f"{run:.2f}" for run in point.theirs),
            f"{point.ours:.2f}",
        ]
        for point in l4s_measured.points()
    ]
    return _table(["link", "RTT", "Linux, two runs", "here"], rows)


def delays() -> str:
    """The table of the delays of the low-latency queue."""
    rows = [
        [f"{rate} Mbit/s", classic, f"{play(classic, rate, 10).packet * 1e3:.2f}"]
        + [
            f"{cell.low_mean * 1e3:.2f} / {cell.low_p99 * 1e3:.2f}"
            for rtt in RTTS
            for cell in [play(classic, rate, rtt)]
        ]
        for rate in RATES
        for classic in CLASSIC
    ]
    return _table(["per flow", "beside", "a packet", *(f"{rtt} ms" for rtt in RTTS)], rows)


def company() -> str:
    """The table of several flows."""
    rows = [
        [f"{rate} Mbit/s, {rtt} ms", *map(_both, crowd(rate, rtt)), f"{steady(rtt / 1e3):.2f}"] for rate, rtt in CROWDS
    ]
    return _table(["per flow, RTT", *map(str, MANY), "steady p'"], rows)


TABLES = {"rates": rates, "measured": measured, "delays": delays, "company": company}
