"""Trains the policy of learned.py in about a minute, and prints its weights: docs/gym.md explains it.

    python scenarios/train_learned.py

The cross-entropy method (Rubinstein: The Cross-Entropy Method for Combinatorial and Continuous Optimization, 1999): draw
policies, let each play, and draw the next around the best of them.
"""

from __future__ import annotations

import numpy as np
from ackclock.gym import CongestionVectorEnv, linear
from numpy.typing import NDArray

SCENARIO = {
    "topology": {
        "kind": "dumbbell",
        "rate": ["5 Mbit/s", "20 Mbit/s", "40 Mbit/s"],
        "rtt": ["20 ms", "80 ms"],
        "queue": {"kind": "droptail", "limit": "2 BDP"},
    },
    "flows": [{"cc": "external", "profile": "linux"}],
    "run": {"duration": "60 s"},
}


def train(
    generations: int = 12, population: int = 40, elite: int = 8, steps: int = 120, seed: int = 1
) -> tuple[NDArray[np.float64], list[float]]:
    """The weights, and the mean return of each generation; of each run so many round trips are played."""
    rng = np.random.default_rng(seed)
    paths = 6
    envs = CongestionVectorEnv(
        SCENARIO, population * paths, observation="basic", action="multiplier", reward="alpha-fair"
    )
    features = envs.single_observation_space.shape[0]
    mean, spread = np.zeros(features + 1), np.ones(features + 1)
    history = []
    for generation in range(generations):
        drawn = mean + spread * rng.standard_normal((population, features + 1))
        weights = np.repeat(drawn, paths, axis=0)
        seen, _ = envs.reset(options={"point": np.tile(np.arange(paths), population), "run_seed": generation})
        returns = np.zeros(population * paths)
        for _ in range(steps):
            seen, reward, *_ = envs.step(linear(weights, seen))
            returns += reward / steps
        value = returns.reshape(population, paths).mean(axis=1)
        best = drawn[np.argsort(value)[-elite:]]
        # Some spread is added, less and less, so that the search does not end too early.
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.3 * 0.7**generation
        history.append(float(value.mean()))
    return mean, history


if __name__ == "__main__":
    weights, history = train()
    print("returns:", " ".join(f"{value:.3f}" for value in history))
    print("weights:", " ".join(f"{weight:.4f}" for weight in weights))
