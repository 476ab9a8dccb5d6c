"""A policy as a controller of a scenario: it sees and decides what it saw and decided in the environment."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.controllers.agent import Agent, Decision
from ackclock.gym import actions, observations


class Policy(Agent):
    """Derive from this, say what the environment had been told, and define :meth:`act`.

    ``cc = "python:my_module:MyPolicy"`` then plays it in a scenario. `interval`, `rounds` and `slow_start` are those of
    :class:`ackclock.Agent`; they must be what the environment had.
    """

    observation: ClassVar[str | observations.Observation] = "basic"
    """As given to the environment."""
    action: ClassVar[str | actions.Action] = "multiplier"
    """As given to the environment."""

    _seen: NDArray[np.float32] | None = None

    def act(self, observation: NDArray[np.float32]) -> ArrayLike:
        """The action for an observation."""
        raise NotImplementedError

    def decide(self, interval: Any) -> Decision:
        """See :class:`ackclock.Agent`."""
        sees = observations.observation(self.observation)
        before = sees.empty() if self._seen is None else self._seen
        self._seen = sees.after(before, interval)
        cwnd, _, rate = actions.action(self.action).decision(self.act(self._seen), interval).tolist()
        return Decision(cwnd=None if np.isnan(cwnd) else cwnd, rate=None if np.isnan(rate) else rate)


def linear(weights: NDArray[np.float64], observation: NDArray[np.float32]) -> NDArray[np.float64]:
    """tanh(w . observation + bias), the bias last in `weights`; along the last axis, of one policy or of many."""
    features = observation.astype(np.float64)
    score: NDArray[np.float64] = (weights[..., :-1] * features).sum(axis=-1, keepdims=True) + weights[..., -1:]
    return np.tanh(score)


class LinearPolicy(Policy):
    """A policy of one number: :func:`linear`. `weights` is a text of numbers, as a list in a scenario is a sweep."""

    weights: ClassVar[str] = ""
    """The weights of a class that has its own."""

    def __init__(self, weights: str = "") -> None:
        self._weights = np.array((weights or self.weights).split(), np.float64)
        expected = observations.observation(self.observation).bounds[0].size + 1
        if self._weights.size != expected:
            raise ValueError(f"{self._weights.size} weights; give {expected}: one per feature, and the bias")

    def act(self, observation: NDArray[np.float32]) -> NDArray[np.float64]:
        """The action for an observation."""
        return linear(self._weights, observation)
