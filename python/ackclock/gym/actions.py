"""What an agent decides: from the numbers of an action to a window and a rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.errors import InputError, Problem, unknown
from ackclock.gym.given import several
from ackclock.gym.measures import Array, share

Decide = Callable[[Any, Any], tuple[Any, Any]]
"""From an action's number and the :class:`~ackclock.gym.Interval` before it to the window (bytes) and the pacing rate
(bytes per second; 0: none). NaN leaves either as it is."""

LEAST_WINDOW, MOST_WINDOW = 2, 2**20
"""Whatever the action, the window has so many segments: two, so that delayed acknowledgments keep coming."""

MOST_RATE = 1e15
"""Bytes per second, the most that the engine takes."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action of one number from -1 to 1; beyond them it is cut off."""

    decide: Decide
    source: str = ""

    def decision(self, action: Any, interval: Any) -> Array:
        """Window, threshold and rate on the last axis, NaN for what stays as it is."""
        number = np.clip(np.asarray(action, np.float64)[..., 0], -1, 1)
        shape = np.shape(number)
        cwnd, rate = several(self.decide(number, interval), 2, shape, "action", self.decide)
        cwnd = np.clip(cwnd, LEAST_WINDOW * interval.mss, MOST_WINDOW * interval.mss)
        return np.stack([cwnd, np.full(shape, np.nan), np.clip(rate, 0, MOST_RATE)], axis=-1)

    @property
    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Smallest and largest action."""
        return np.full(1, -1, np.float32), np.ones(1, np.float32)


def _between(a: Any, least: float, most: float) -> Any:
    """From `least` at -1 to `most` at 1, by equal factors."""
    return least * (most / least) ** ((a + 1) / 2)


def _positive(key: str, **given: float) -> None:
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < math.inf:
            raise InputError(f"{name} is {value!r}", "give a number above zero", key=key)


def _ordered(key: str, least: float, most: float) -> None:
    _positive(key, least=least, most=most)
    if least > most:
        raise InputError(f"least, {least}, is above most, {most}", "give the smaller one first", key=key)


def window(least: float = LEAST_WINDOW, most: float = 8192) -> Action:
    """The window itself: from `least` to `most` segments, on a logarithmic scale."""
    _ordered("actions.window", least, most)
    return Action(lambda a, i: (_between(a, least, most) * i.mss, np.nan))


def _paced(rate: Any, i: Any) -> tuple[Any, Any]:
    """A rate with a window that does not hold it back: two smoothed round-trip times of it."""
    return np.maximum(2 * rate * np.maximum(i.srtt, 1e-3), 10 * i.mss), np.maximum(rate, 1.0)


def _present(i: Any) -> Any:
    """The rate in force: as decided, or what the window makes of it."""
    return np.where(np.asarray(i.rate) > 0, i.rate, share(i.cwnd, i.srtt))


def rate(least: float = 0.1, most: float = 1000) -> Action:
    """The pacing rate itself: from `least` to `most` Mbit/s of payload, on a logarithmic scale."""
    _ordered("actions.rate", least, most)
    return Action(lambda a, i: _paced(_between(a, least, most) * 125_000, i))


def multiplier(power: float = 1.0) -> Action:
    """The window times 2^(power a). With power 2 the action of Orca (see the observation)."""
    _positive("actions.multiplier", power=power)
    return Action(lambda a, i: (i.cwnd * 2.0 ** (power * a), np.nan), "Abbasloo, Yen, Chao 2020")


def rate_step(step: float = 0.025) -> Action:
    """The pacing rate times (1 + step a), or over (1 - step a) where a is negative: Aurora's, there without bounds."""
    _positive("actions.rate_step", step=step)

    def decide(a: Any, i: Any) -> tuple[Any, Any]:
        factor = np.where(a >= 0, 1 + step * a, 1 / (1 - step * np.minimum(a, 0)))
        return _paced(np.maximum(_present(i) * factor, i.mss / 10), i)

    return Action(decide, "Jay et al. 2019")


ACTIONS: dict[str, Action] = {
    "multiplier": multiplier(),
    "window": window(),
    "rate": rate(),
    "rate-step": rate_step(),
}
"""The presets; the functions of the same names take other bounds."""


def action(given: str | Action) -> Action:
    """A preset by name, or one's own. Raises :class:`~ackclock.errors.Problem` for anything else."""
    if isinstance(given, Action):
        return given
    if not isinstance(given, str):
        raise Problem(f"{given!r} is no action", f"give {', '.join(ACTIONS)}, or an Action", "action")
    if given not in ACTIONS:
        raise unknown("action", given, ACTIONS, "action")
    return ACTIONS[given]
