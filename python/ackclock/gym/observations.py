"""What an agent sees: functions of the intervals that have passed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.errors import Problem, unknown
from ackclock.gym.given import several
from ackclock.gym.measures import mean_rtt, share, throughput

Features = Callable[[Any], Any]
"""From an :class:`~ackclock.gym.Interval` to its features: a list or tuple of them, or the only one; each is an array
like the fields of the interval, or a number."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Features of the last intervals, the newest last.

    Each feature is cut off at its bounds; what has not happened yet is 0, or the bound nearest to it.
    """

    features: Features
    """The features of one interval."""
    low: tuple[float, ...]
    """Their smallest values."""
    high: tuple[float, ...]
    """Their largest values."""
    history: int = 1
    """How many intervals are seen."""
    source: str = ""
    """Where it is from."""

    @property
    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Smallest and largest observation."""
        low, high = (np.tile(np.asarray(side, np.float32), self.history) for side in (self.low, self.high))
        return low, high

    def empty(self, shape: tuple[int, ...] = ()) -> NDArray[np.float32]:
        """An observation before anything has happened."""
        low, high = self.bounds
        return np.broadcast_to(np.clip(np.float32(0), low, high), (*shape, low.size)).copy()

    def after(self, before: NDArray[np.float32], interval: Any) -> NDArray[np.float32]:
        """The observation after an interval, from the one before it."""
        size = len(self.low)
        told = self.features(interval)
        found = np.stack(several(told, size, np.shape(interval.at), "observation", self.features), axis=-1)
        now = np.clip(np.nan_to_num(found), self.low, self.high).astype(np.float32)
        return np.concatenate([before[..., size:], now], axis=-1)


def _basic(i: Any) -> Sequence[Any]:
    return (
        share(mean_rtt(i), i.min_rtt) - 1,
        i.rtt_gradient,
        share(i.lost, i.sent),
        share(i.marked, i.delivered),
        share(throughput(i), i.max_rate),
        share(i.in_flight, i.cwnd),
        np.log2(np.maximum(share(i.cwnd, i.mss), 1)) / 20,
    )


def _aurora(i: Any) -> Sequence[Any]:
    sending = np.where(np.asarray(i.delivered) > 0, share(i.sent, i.delivered), np.inf)
    return i.rtt_gradient, share(mean_rtt(i), i.min_rtt), np.where(np.asarray(i.sent) > 0, sending, 1.0)


def _orca(i: Any) -> Sequence[Any]:
    return (
        share(throughput(i), i.max_rate),
        share(share(i.lost, i.span), i.max_rate),
        share(mean_rtt(i), i.min_rtt),
        share(i.acks * i.mss, i.cwnd),
        share(i.span, i.min_rtt),
        share(i.srtt, i.min_rtt),
        share(i.cwnd, i.max_rate * i.min_rtt),
    )


OBSERVATIONS: dict[str, Observation] = {
    "basic": Observation(_basic, (0, -1, 0, 0, 0, 0, 0), (10, 1, 1, 1, 1, 2, 1), source="this project"),
    "aurora": Observation(
        _aurora,
        (-10, 1, 0),
        (10, 100, 100),
        history=10,
        source="Jay, Rotman, Godfrey, Schapira, Tamar: A Deep Reinforcement Learning Perspective on Internet "
        "Congestion Control, 2019",
    ),
    "orca": Observation(
        _orca,
        (0, 0, 1, 0, 0, 1, 0),
        (1, 1, 100, 10, 100, 100, 100),
        source="after Abbasloo, Yen, Chao: Classic Meets Modern: A Pragmatic Learning-Based Congestion Control for the "
        "Internet, 2020",
    ),
}
"""The presets.

- ``basic``: queueing delay in smallest RTTs, RTT gradient, shares lost and marked, throughput of the largest so far,
  share of the window in flight, log2 of the window in segments / 20.
- ``aurora``: RTT gradient, mean RTT over the smallest RTT, bytes sent over bytes acknowledged, of ten intervals. The
  paper divides by the smallest mean of an interval.
- ``orca``: throughput and loss rate over the largest throughput so far; mean RTT, length of the interval and smoothed
  RTT over the smallest RTT; acknowledgments per window; window over the product of largest throughput and smallest RTT.
"""


def observation(given: str | Observation) -> Observation:
    """A preset by name, or one's own. Raises :class:`~ackclock.errors.Problem` for anything else."""
    if isinstance(given, Observation):
        return given
    if not isinstance(given, str):
        raise Problem(
            f"{given!r} is no observation", f"give {', '.join(OBSERVATIONS)}, or an Observation", "observation"
        )
    if given not in OBSERVATIONS:
        raise unknown("observation", given, OBSERVATIONS, "observation")
    return OBSERVATIONS[given]
