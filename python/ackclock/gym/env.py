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
from ackclock.errors import InputError, Problem, unknown
from ackclock.gym import actions, observations, rewards
from ackclock.gym.given import each
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

    def paid(self, interval: Any) -> Array:
        """The rewards of an interval."""
        return each(self.pays(interval), np.shape(interval.at), "reward", self.pays)


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
    flow: the agent's flow where several have this controller, by its id, or else its number; the others hold their
        first window.
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
        self._closed = False

    def close(self) -> None:
        """End it: nothing can be asked of it any more."""
        self._closed = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin another run. `options` may fix the `point` and the `run_seed` that would be drawn."""
        super().reset(seed=seed)
        _refuse_closed(self._closed)
        ((point, run_seed),) = _begins(options, [self.np_random], len(self._runs.points))
        _, self._interval = self._runs.begin({0: (point, run_seed)})
        self._seen = self._task.sees.after(self._task.sees.empty((1,)), self._interval)
        return self._seen[0].copy(), self._info() | {"point": point, "params": dict(self._runs.points[point])}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Decide, and play until the next decision."""
        _refuse_closed(self._closed)
        if self._interval is None:
            raise InputError("there is nothing to decide", "call reset first, and again after the end of an episode")
        numbers = _numbers(action, self.action_space)
        decisions = self._task.acts.decision(numbers[None], self._interval)
        state, interval = self._runs.step(decisions)
        self._interval = interval
        self._seen = self._task.sees.after(self._seen, interval)
        reward = float(self._task.paid(interval)[0])
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
        _refuse_closed(self.closed)
        n = self.num_envs
        seeds = (
            [None if seed is None else seed + i for i in range(n)] if seed is None or isinstance(seed, int) else seed
        )
        if len(seeds) != n:
            raise InputError(f"{len(seeds)} seeds for {n} environments", "give one for each, or one", key="seed")
        for i, one in enumerate(seeds):
            if one is not None:
                self._generators[i] = gymnasium.utils.seeding.np_random(one)[0]
        begins = _begins(options, self._generators, len(self._runs.points))
        self._points[:] = [point for point, _ in begins]
        _, self._interval = self._runs.begin(dict(enumerate(begins)))
        self._seen = self._task.sees.after(self._task.sees.empty((n,)), self._interval)
        self._over[:] = False
        return self._seen.copy(), self._info()

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Decide for all, and play each until its next decision."""
        _refuse_closed(self.closed)
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
        reward = np.where(self._over, 0.0, self._task.paid(self._interval))
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


def _refuse_closed(closed: bool) -> None:
    if closed:
        raise InputError("the environment is closed", "make another")


def _begins(
    options: Mapping[str, Any] | None, generators: Sequence[np.random.Generator], points: int
) -> list[tuple[int, int]]:
    """The points and the seeds that runs begin with: what `options` says, and the rest drawn."""
    drawn = [_drawn(generator, points) for generator in generators]
    given = {} if options is None else options
    for key in given:
        if key not in ("point", "run_seed"):
            wrong = unknown("option", str(key), ("point", "run_seed"))
            raise InputError(wrong.problem, wrong.remedy, key="options")
    which = _whole(given, "point", [point for point, _ in drawn])
    seeds = _whole(given, "run_seed", [seed for _, seed in drawn])
    for point, run_seed in zip(which, seeds, strict=True):
        if not 0 <= point < points:
            raise InputError(f"there is no point {point}", f"points are numbered from 0 to {points - 1}", key="point")
        if not 0 <= run_seed < MOST_SEED:
            problem = f"{run_seed} is no seed of a run"
            raise InputError(problem, "give a whole number from 0 to 2^63 - 1", key="run_seed")
    return list(zip(which, seeds, strict=True))


def _whole(options: Mapping[str, Any], key: str, drawn: list[int]) -> list[int]:
    """The whole numbers given for this key, one for each run or one for all; if there are none, those `drawn`."""
    if key not in options:
        return drawn
    given = np.asarray(options[key], np.object_)
    if given.shape not in ((), (len(drawn),)):
        raise InputError(f"numbers of shape {given.shape} for {len(drawn)} runs", "give one, or one for each", key=key)
    found: list[Any] = np.broadcast_to(given, len(drawn)).tolist()
    for item in found:
        if isinstance(item, bool) or not isinstance(item, int | np.integer):
            raise InputError(f"{item!r} is no whole number", "give one, counted from 0", key=key)
    return [int(item) for item in found]
