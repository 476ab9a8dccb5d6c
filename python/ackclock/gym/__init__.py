"""Environments of Gymnasium in which an agent decides the window or the rate of a flow.

>>> import gymnasium, ackclock.gym
>>> env = gymnasium.make("ackclock/Congestion-v0", scenario="scenario.toml", reward="orca")
>>> envs = gymnasium.make_vec("ackclock/Congestion-v0", num_envs=64, vectorization_mode="vector_entry_point")

The environments need Gymnasium (the extra ``rl``); a :class:`Policy` in a scenario does not.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from ackclock.errors import AckclockError
from ackclock.gym.actions import ACTIONS, Action
from ackclock.gym.measures import Interval
from ackclock.gym.observations import OBSERVATIONS, Observation
from ackclock.gym.policy import LinearPolicy, Policy, linear
from ackclock.gym.rewards import REWARDS, AlphaFair, Linear, Orca, Power

if TYPE_CHECKING:
    from ackclock.gym.env import CongestionEnv, CongestionVectorEnv

__all__ = [
    "ACTIONS",
    "OBSERVATIONS",
    "REWARDS",
    "Action",
    "AlphaFair",
    "CongestionEnv",
    "CongestionVectorEnv",
    "Interval",
    "Linear",
    "LinearPolicy",
    "Observation",
    "Orca",
    "Policy",
    "Power",
    "linear",
]

ID = "ackclock/Congestion-v0"
"""The environment's id in Gymnasium's registry."""


def __getattr__(name: str) -> Any:
    if name not in ("CongestionEnv", "CongestionVectorEnv"):
        raise AttributeError(f"module 'ackclock.gym' has no attribute {name!r}")
    if importlib.util.find_spec("gymnasium") is None:
        raise AckclockError("gymnasium is not installed; install the extra: pip install 'ackclock[rl]'")
    from ackclock.gym import env

    return getattr(env, name)


def _register() -> None:
    import gymnasium

    entry = "ackclock.gym.env:Congestion"
    gymnasium.register(ID, entry_point=f"{entry}Env", vector_entry_point=f"{entry}VectorEnv")


if importlib.util.find_spec("gymnasium") is not None:
    _register()
