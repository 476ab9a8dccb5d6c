"""What an agent decides: from the numbers of an action to a window and a rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.errors import unknown
from ackclock.gym.measures import Array, share

Decide = Callable[[Any, Any], tuple[Any, Any]]
"""From an action's number and the :class:`~ackclock.gym.Interval` before it to the window (bytes) and the pacing rate
(bytes per second; 0: none). NaN leaves either as it is."""

LEAST_WINDOW, MOST_WINDOW = 2, 2**20
"""Whatever the action, the window has so many segments: two, so that delayed acknowledgments keep coming."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action of one number between two bounds; beyond them it is cut off."""

    decide: Decide
    low: float
    high: float
    source: str = ""

    def decision(self, action: Any, interval: Any) -> Array:
        """Window, threshold and rate on the last axis, NaN for what stays as it is."""
        number = np.clip(np.asarray(action, np.float64)[..., 0], self.low, self.high)
        cwnd, rate = self.decide(number, interval)
        cwnd = np.clip(cwnd, LEAST_WINDOW * interval.mss, MOST_WINDOW * interval.mss)
        shape = np.shape(number)
        return np.stack([np.broadcast_to(item, shape) for item in (cwnd, np.nan, rate)], axis=-1)

    @property
    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Smallest and largest action."""
        return np.array([self.low], np.float32), np.array([self.high], np.float32)


def window(most: float = 10_000) -> Action:
    """The window itself, segments."""
    return Action(lambda a, i: (a * i.mss, np.nan), LEAST_WINDOW, most)


def _paced(rate: Any, i: Any) -> tuple[Any, Any]:
    """A rate with a window that does not hold it back: two smoothed round-trip times of it."""
    return np.maximum(2 * rate * np.maximum(i.srtt, 1e-3), 10 * i.mss), np.maximum(rate, 1.0)


def _present(i: Any) -> Any:
    """The rate in force: as decided, or what the window makes of it."""
    return np.where(np.asarray(i.rate) > 0, i.rate, share(i.cwnd, i.srtt))


def rate(least: float = 0.05, most: float = 1000) -> Action:
    """The pacing rate itself, Mbit/s of payload."""
    return Action(lambda a, i: _paced(a * 125_000, i), least, most)


def multiplier(power: float = 1.0) -> Action:
    """The window times 2^(power a), a from -1 to 1. With power 2 the action of Orca (see the observation)."""
    source = "Abbasloo, Yen, Chao 2020"
    return Action(lambda a, i: (i.cwnd * 2.0 ** (power * a), np.nan), -1, 1, source)


def rate_step(step: float = 0.025, most: float = 10.0) -> Action:
    """The pacing rate times (1 + step a), or over (1 - step a) where a is negative: Aurora's (Jay et al. 2019)."""

    def decide(a: Any, i: Any) -> tuple[Any, Any]:
        factor = np.where(a >= 0, 1 + step * a, 1 / (1 - step * np.minimum(a, 0)))
        return _paced(np.maximum(_present(i) * factor, i.mss / 10), i)

    return Action(decide, -most, most, "Jay et al. 2019")


ACTIONS: dict[str, Action] = {
    "multiplier": multiplier(),
    "window": window(),
    "rate": rate(),
    "rate-step": rate_step(),
}
"""The presets; the functions of the same names take other bounds."""


def action(given: str | Action) -> Action:
    """A preset by name, or one's own. Raises :class:`~ackclock.errors.Problem` for an unknown name."""
    if isinstance(given, Action):
        return given
    if given not in ACTIONS:
        raise unknown("action", str(given), ACTIONS, "action")
    return ACTIONS[given]
