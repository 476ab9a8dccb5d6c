"""A policy that scenarios/train_learned.py found, used by learned.toml; docs/gym.md explains it."""

from __future__ import annotations

from ackclock.gym import LinearPolicy


class Learned(LinearPolicy):
    """Once per round trip the window times 2^a, a from the features of the interval, weighted."""

    observation = "basic"
    action = "multiplier"
    weights = "-1.7995 0.6533 -1.2922 -0.9363 0.1774 0.3180 -1.9589 0.4095"
