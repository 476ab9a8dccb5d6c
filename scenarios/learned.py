"""A policy that scenarios/train_learned.py found, used by learned.toml; docs/gym.md explains it."""

from __future__ import annotations

from ackclock.gym import LinearPolicy


class Learned(LinearPolicy):
    """Once per round trip the window times 2^a, a from the features of the interval, weighted."""

    observation = "basic"
    action = "multiplier"
    weights = "-1.8576 0.7986 -0.1901 -0.5731 0.1868 0.0217 -1.5591 0.4848"
