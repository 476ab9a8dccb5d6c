"""The environments of Gymnasium: one run, or many in one process."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ackclock import host
from ackclock.errors import InputError, Problem
from ackclock.gym import actions, observations, rewards
from ackclock.gym.measures import Array, mean_rtt, share, throughput
from ackclock.gym.runs import COMPLETED, ENDED, FAILED, RUNNING, Runs
from ackclock.scenario.model import Scenario
from ackclock.scenario.plan import Plan
from ackclock.scenario.reading.override import Overrides

Given = Scenario | Mapping[str, Any] | str | os.PathLike[str] | Plan | None

MOST_SEED = 2**63


class _Task:
    """What an agent sees and decides, and what that is worth: the same for one run and for many."""

    def __init__(
        self, observation: str | observations.Observation, action: str | actions.Action, reward: str | rewards.Reward
    ) -> None:
        try:
            self.sees = observations.observation(observation)
            self.acts = actions.action(action)
            self.pays = rewards.reward(reward)
        except Problem as error:
            raise InputError(error.problem, error.remedy, key=str(error.key[0])) from None
        self.observation_space = gymnasium.spaces.Box(*self.sees.bounds, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(*self.acts.bounds, dtype=np.float32)


def _info(interval: Any) -> dict[str, Any]:
    """What is said of an interval besides: seconds, bit/s, shares and bytes."""
    return {
        "time": interval.at,
        "throughput": throughput(interval) * 8,
        "rtt": mean_rtt(interval),
        "loss": share(interval.lost, interval.sent),
        "cwnd": interval.cwnd,
    }


class CongestionEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """An agent decides the window or the rate of one flow, once per round-trip time or per fixed interval.

    An episode is a run of the scenario. It is truncated when the run ends, and terminated when the flow has delivered
    everything it had to send, or its connection has failed. Each reset draws a point of the scenario's sweeps and a
    seed; both follow from the seed of the environment.

    Parameters
    ----------
    scenario: as for :func:`ackclock.run`, with ``cc = "external"`` for the agent's flow; the default plays an agent
        alone on 24 paths.
    set: changes of it, as for :func:`ackclock.run`.
    flow: the id of the agent's flow where several have this controller; the others hold their first window.
    interval: "rtt" or a duration, such as "100 ms"; the default is what the scenario says, a round-trip time.
    observation: a preset of :data:`~ackclock.gym.OBSERVATIONS` or an :class:`~ackclock.gym.Observation`.
    action: a preset of :data:`~ackclock.gym.ACTIONS` or an :class:`~ackclock.gym.Action`.
    reward: a preset of :data:`~ackclock.gym.REWARDS` or a function of an :class:`~ackclock.gym.Interval`.

    Raises
    ------
    InputError: one of these cannot be used. The message says what would be right.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        scenario: Given = None,
        *,
        set: Overrides | None = None,
        flow: int | str | None = None,
        interval: str | None = None,
        observation: str | observations.Observation = "basic",
        action: str | actions.Action = "multiplier",
        reward: str | rewards.Reward = "alpha-fair",
    ) -> None:
        self._task = _Task(observation, action, reward)
        self._runs = Runs(scenario, set=set, flow=flow, interval=interval, size=1, threads=1)
        self.observation_space = self._task.observation_space
        self.action_space = self._task.action_space
        self._seen = self._task.sees.empty((1,))
        self._interval: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin another run. `options` may fix the `point` and the `run_seed` that would be drawn."""
        super().reset(seed=seed)
        point, run_seed = _drawn(self.np_random, len(self._runs.points))
        point = int(_option(options, "point", point))
        run_seed = int(_option(options, "run_seed", run_seed))
        _check(point, run_seed, len(self._runs.points))
        _, self._interval = self._runs.begin({0: (point, run_seed)})
        self._seen = self._task.sees.after(self._task.sees.empty((1,)), self._interval)
        return self._seen[0].copy(), self._info() | {"point": point, "params": dict(self._runs.points[point])}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Decide, and play until the next decision."""
        if self._interval is None:
            raise InputError("there is nothing to decide", "call reset first, and again after the end of an episode")
        numbers = _numbers(action, self.action_space)
        decisions = self._task.acts.decision(numbers[None], self._interval)
        state, interval = self._runs.step(decisions)
        self._interval = interval
        self._seen = self._task.sees.after(self._seen, interval)
        reward = float(np.asarray(self._task.pays(interval))[0])
        info = self._info()
        end = int(state[0])
        if end != RUNNING:
            self._interval = None
        return self._seen[0].copy(), reward, end in (COMPLETED, FAILED), end == ENDED, info

    def _info(self) -> dict[str, Any]:
        return {key: float(values[0]) for key, values in _info(self._interval).items()}


class CongestionVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]):
    """Many runs in one process, on threads: each as in :class:`CongestionEnv`, which has the other parameters.

    An episode that has ended is followed by another in the next step, whose action is ignored
    (``AutoresetMode.NEXT_STEP``). With seed s the n-th environment is a :class:`CongestionEnv` with seed s + n.

    Parameters
    ----------
    num_envs: how many.
    threads: how many are played at the same time. Results do not depend on it. Default: the processors of this
        computer.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        scenario: Given = None,
        num_envs: int = 1,
        *,
        threads: int | None = None,
        set: Overrides | None = None,
        flow: int | str | None = None,
        interval: str | None = None,
        observation: str | observations.Observation = "basic",
        action: str | actions.Action = "multiplier",
        reward: str | rewards.Reward = "alpha-fair",
    ) -> None:
        if num_envs < 1:
            raise InputError(f"{num_envs} is too few", "give at least 1", key="num_envs")
        count = host.cores() if threads is None else threads
        if count < 1:
            raise InputError(f"{count} is too few", "give at least 1", key="threads")
        self._task = _Task(observation, action, reward)
        self._runs = Runs(scenario, set=set, flow=flow, interval=interval, size=num_envs, threads=count)
        self.num_envs = num_envs
        self.single_observation_space = self._task.observation_space
        self.single_action_space = self._task.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._generators = [np.random.default_rng() for _ in range(num_envs)]
        self._seen = self._task.sees.empty((num_envs,))
        self._over = np.ones(num_envs, np.bool_)
        self._points = np.zeros(num_envs, np.int64)
        self._interval: Any = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin all anew. `options` may fix the `point` and the `run_seed`, a number for all or one for each."""
        n = self.num_envs
        seeds = (
            [None if seed is None else seed + i for i in range(n)] if seed is None or isinstance(seed, int) else seed
        )
        if len(seeds) != n:
            raise InputError(f"{len(seeds)} seeds for {n} environments", "give one for each, or one", key="seed")
        for i, one in enumerate(seeds):
            if one is not None:
                self._generators[i] = gymnasium.utils.seeding.np_random(one)[0]
        drawn = [_drawn(generator, len(self._runs.points)) for generator in self._generators]
        points = np.broadcast_to(_option(options, "point", [item[0] for item in drawn]), n)
        run_seeds = np.broadcast_to(_option(options, "run_seed", [item[1] for item in drawn]), n)
        for point, run_seed in zip(points, run_seeds, strict=True):
            _check(int(point), int(run_seed), len(self._runs.points))
        self._points[:] = points
        begins = {i: (int(points[i]), int(run_seeds[i])) for i in range(n)}
        _, self._interval = self._runs.begin(begins)
        self._seen = self._task.sees.after(self._task.sees.empty((n,)), self._interval)
        self._over[:] = False
        return self._seen.copy(), self._info()

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Decide for all, and play each until its next decision."""
        if self._interval is None:
            raise InputError("there is nothing to decide", "call reset first")
        numbers = _numbers(actions, self.action_space)
        begins = {}
        for i in np.flatnonzero(self._over).tolist():
            begins[i] = _drawn(self._generators[i], len(self._runs.points))
            self._points[i] = begins[i][0]
        decisions = self._task.acts.decision(numbers, self._interval)
        state, self._interval = self._runs.step(decisions, begins)
        before = self._seen
        if begins:
            before = before.copy()
            before[self._over] = self._task.sees.empty()
        self._seen = self._task.sees.after(before, self._interval)
        reward = np.where(self._over, 0.0, self._task.pays(self._interval))
        terminated, truncated = (state == COMPLETED) | (state == FAILED), state == ENDED
        self._over = terminated | truncated
        return self._seen.copy(), reward, terminated, truncated, self._info()

    def _info(self) -> dict[str, Any]:
        info = {**_info(self._interval), "point": self._points.copy()}
        there = np.ones(self.num_envs, np.bool_)
        return info | {f"_{key}": there for key in info}


def _numbers(action: Any, space: gymnasium.Space[Any]) -> NDArray[np.float64]:
    """An action as numbers. Those beyond the bounds of the space are taken for the bound."""
    numbers = np.asarray(action, np.float64)
    if numbers.shape != space.shape:
        raise InputError(f"an action of shape {numbers.shape}", f"give one of shape {space.shape}", key="action")
    if np.isnan(numbers).any():
        raise InputError("an action that is no number (NaN)", "the agent has diverged", key="action")
    return numbers


def _drawn(generator: np.random.Generator, points: int) -> tuple[int, int]:
    """A point and a seed of a run."""
    return int(generator.integers(points)), int(generator.integers(MOST_SEED))


def _option(options: Mapping[str, Any] | None, key: str, default: Any) -> Any:
    return default if options is None else options.get(key, default)


def _check(point: int, run_seed: int, count: int) -> None:
    if not 0 <= point < count:
        raise InputError(f"there is no point {point}", f"points are numbered from 0 to {count - 1}", key="point")
    if not 0 <= run_seed < MOST_SEED:
        raise InputError(f"{run_seed} is no seed of a run", "give a whole number from 0 to 2^63 - 1", key="run_seed")
