"""What an interval is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.errors import Problem, unknown
from ackclock.gym.measures import mean_rtt, share, throughput

Reward = Callable[[Any], Any]
"""From an :class:`~ackclock.gym.Interval` to a number, or to an array like its fields."""


@dataclass(frozen=True, slots=True)
class Linear:
    """Throughput less latency less loss: packets per second, seconds, share of the bytes sent.

    With these weights the reward of Jay, Rotman, Godfrey, Schapira, Tamar: A Deep Reinforcement Learning Perspective on
    Internet Congestion Control, 2019.
    """

    throughput: float = 10.0
    latency: float = 1000.0
    loss: float = 2000.0

    def __call__(self, i: Any) -> Any:
        """The reward of an interval."""
        packets = share(throughput(i), i.mss)
        return self.throughput * packets - self.latency * mean_rtt(i) - self.loss * share(i.lost, i.sent)


@dataclass(frozen=True, slots=True)
class Power:
    """Throughput over delay: Mbit/s, and the mean RTT in smallest RTTs.

    Kleinrock: Power and Deterministic Rules of Thumb for Probabilistic Problems in Computer Communications, 1979. It is
    largest on a full link without a queue.
    """

    def __call__(self, i: Any) -> Any:
        """The reward of an interval."""
        return share(throughput(i) * 8e-6, share(mean_rtt(i), i.min_rtt))


@dataclass(frozen=True, slots=True)
class Orca:
    """Power with losses, as a share of the best that the connection has seen: at most 1.

    Abbasloo, Yen, Chao: Classic Meets Modern: A Pragmatic Learning-Based Congestion Control for the Internet, 2020.
    `loss` times the rate of losses is taken off the throughput; a delay of up to `tolerance` times the smallest counts
    as none. The largest throughput so far is what the agent itself has tried, where in the paper a controller beneath
    it does: one that never tries more than its first window is content with it.
    """

    loss: float = 5.0
    tolerance: float = 1.25

    def __call__(self, i: Any) -> Any:
        """The reward of an interval."""
        delay = share(mean_rtt(i), i.min_rtt)
        delay = np.where(delay <= self.tolerance, 1.0, delay)
        rate = throughput(i) - self.loss * share(i.lost, i.span)
        return share(share(rate, i.max_rate), delay)


def _utility(x: Any, alpha: float) -> Any:
    return np.log(x) if alpha == 1 else x ** (1 - alpha) / (1 - alpha)


@dataclass(frozen=True, slots=True)
class AlphaFair:
    """Utility of the throughput less `delta` times that of the delay: Mbit/s and smallest RTTs.

    U(x) = x^(1 - alpha) / (1 - alpha), log x for 1 (Mo, Walrand: Fair End-to-End Window-Based Congestion Control,
    2000); the difference is the objective of Winstein, Balakrishnan: TCP ex Machina: Computer-Generated Congestion
    Control, 2013. Alpha 0 is the sum of throughputs, 1 proportional fairness, large is max-min. Nothing delivered
    counts as 1 kbit/s.
    """

    alpha: float = 1.0
    delta: float = 1.0
    beta: float = 1.0

    def __call__(self, i: Any) -> Any:
        """The reward of an interval."""
        rate = np.maximum(throughput(i) * 8e-6, 1e-3)
        delay = np.maximum(share(mean_rtt(i), i.min_rtt), 1.0)
        return _utility(rate, self.alpha) - self.delta * _utility(delay, self.beta)


REWARDS: dict[str, Reward] = {
    "alpha-fair": AlphaFair(),
    "power": Power(),
    "orca": Orca(),
    "aurora": Linear(),
}
"""The presets; their classes take other weights."""


def reward(given: str | Reward) -> Reward:
    """A preset by name, or a function. Raises :class:`~ackclock.errors.Problem` for anything else."""
    if callable(given):
        return given
    if not isinstance(given, str):
        raise Problem(f"{given!r} is no reward", f"give {', '.join(REWARDS)}, or a function of an interval", "reward")
    if given not in REWARDS:
        raise unknown("reward", given, REWARDS, "reward")
    return REWARDS[given]
