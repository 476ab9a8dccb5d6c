"""What environments make of what they are given: functions of one's own, numbers out of bounds, flows by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ackclock import Decision, EngineError, InputError, Simulation
from ackclock.gym import Action, CongestionEnv, CongestionVectorEnv, Observation, Policy, actions
from ackclock.scenario.values.ids import place
from driven_paths import PATH


def made(kind: Any, **arguments: Any) -> Any:
    """An environment of one, or of three."""
    return kind(PATH, **({} if kind is CongestionEnv else {"num_envs": 3}), **arguments)


def steps(env: Any, count: int = 3) -> list[Any]:
    """Observations and rewards of a few steps."""
    found: list[Any] = [env.reset(seed=3)[0]]
    for _ in range(count):
        seen, paid, *_ = env.step(np.zeros(env.action_space.shape))
        found += [seen, paid]
    return found


REWARDS: dict[str, Callable[[Any], Any]] = {
    "array": lambda i: i.delivered / i.mss,
    "list": lambda i: (i.delivered / i.mss).tolist(),
    "tuple": lambda i: tuple(i.delivered / i.mss),
    "list of an array": lambda i: [i.delivered / i.mss],
    "column": lambda i: (i.delivered / i.mss)[:, None],
}


@pytest.mark.parametrize("kind", [CongestionEnv, CongestionVectorEnv])
@pytest.mark.parametrize("form", REWARDS)
def test_a_reward_may_be_returned_in_any_form(kind: Any, form: str) -> None:
    env, like = (made(kind, reward=REWARDS[name]) for name in (form, "array"))
    for a, b in zip(steps(env), steps(like), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_number_is_a_reward_for_all() -> None:
    paid = steps(CongestionEnv(PATH, reward=lambda i: float(i.mss[0])))[2]
    assert paid == 1448
    assert isinstance(paid, float)
    assert steps(CongestionVectorEnv(PATH, 2, reward=lambda _: 7))[2].tolist() == [7, 7]


FEATURES: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda i: (i.mss / 1448, i.index),
    "list": lambda i: [i.mss / 1448, i.index],
    "array": lambda i: np.stack([i.mss / 1448, i.index]),
    "a number and an array": lambda i: (1, i.index),
    "numbers in a list": lambda i: [(i.mss / 1448).tolist(), i.index.tolist()],
}


@pytest.mark.parametrize("kind", [CongestionEnv, CongestionVectorEnv])
@pytest.mark.parametrize("form", FEATURES)
def test_features_may_be_returned_in_any_form(kind: Any, form: str) -> None:
    env, like = (
        made(kind, observation=Observation(FEATURES[name], (0, 0), (9, 9), history=2)) for name in (form, "tuple")
    )
    for a, b in zip(steps(env), steps(like), strict=True):
        np.testing.assert_array_equal(a, b)
    assert steps(env)[1].reshape(-1, 4)[0].tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("told", [lambda i: i.index, lambda i: [i.index], lambda i: float(i.index[0])])
def test_an_only_feature_needs_no_list(told: Callable[[Any], Any]) -> None:
    found = steps(CongestionEnv(PATH, observation=Observation(told, (0,), (9,))))
    assert [found[0].tolist(), *(seen.tolist() for seen in found[1::2])] == [[0], [1], [2], [3]]


class Pair:
    """A function that is an object."""

    def __call__(self, i: Any) -> Any:
        """Two numbers."""
        return np.array([1.0, 2.0])


def nothing(_: Any) -> Any:
    """Forgets to return something."""


def features(function: Any, count: int) -> dict[str, Any]:
    """An observation of `count` features."""
    return {"observation": Observation(function, (0,) * count, (1,) * count)}


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        (CongestionEnv, {"reward": nothing}, "reward: nothing returned None, which is no number; return a number$"),
        (CongestionEnv, {"reward": Pair()}, r"reward: Pair returned numbers of shape \(2,\); return a number$"),
        (CongestionEnv, {"reward": lambda _: "5"}, "returned '5', which is no number; return a number$"),
        (CongestionEnv, {"reward": lambda i: [i.rtt, [1, 2]]}, "which is no number; return a number$"),
        (
            CongestionVectorEnv,
            {"reward": Pair()},
            r"Pair returned numbers of shape \(2,\); return a number for all, or an array of shape \(3,\)$",
        ),
        (
            CongestionEnv,
            features(nothing, 2),
            "observation: nothing returned 1 item; return 2, each a number$",
        ),
        (
            CongestionEnv,
            features(Pair(), 3),
            "observation: Pair returned .*; return 3, each a number$",
        ),
        (
            CongestionVectorEnv,
            features(lambda i: (i.rtt[:2], i.rtt), 2),
            r"returned numbers of shape \(2,\); return a number for all, or an array of shape \(3,\)$",
        ),
        (
            CongestionEnv,
            {"action": Action(lambda a, i: i.cwnd)},
            "action: .*lambda.* returned 1 item; return 2, each a number$",
        ),
    ],
)
def test_what_a_function_must_not_return_is_said_in_a_line(kind: Any, arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        steps(made(kind, **arguments))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "given", "message"),
    [
        ("reward", 5, "reward: 5 is no reward; give alpha-fair, power, orca, aurora, or a function of an interval"),
        ("reward", None, "reward: None is no reward"),
        ("action", [1], "action: .1. is no action; give multiplier, window, rate, rate-step, or an Action"),
        ("observation", 5, "observation: 5 is no observation; give basic, aurora, orca, or an Observation"),
    ],
)
def test_what_is_no_preset_and_no_function_is_refused(key: str, given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CongestionEnv(PATH, **{key: given})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: actions.window(100, 2), "actions.window: least, 100, is above most, 2; give the smaller one first"),
        (lambda: actions.rate(10, 1), "actions.rate: least, 10, is above most, 1"),
        (lambda: actions.window(0, 2), "actions.window: least is 0; give a number above zero"),
        (lambda: actions.rate(1, np.inf), "actions.rate: most is inf"),
        (lambda: actions.multiplier(float("nan")), "actions.multiplier: power is nan"),
        (lambda: actions.rate_step("x"), "actions.rate_step: step is 'x'"),  # type: ignore[arg-type]
    ],
)
def test_bounds_of_actions_are_checked(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("kind", [CongestionEnv, CongestionVectorEnv])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pint": 0}, "options: unknown option 'pint'; did you mean 'point'?"),
        ({"seed": 0}, "options: unknown option 'seed'"),
        ({"point": 0.5}, "point: 0.5 is no whole number"),
        ({"run_seed": "x"}, "run_seed: 'x' is no whole number"),
        ({"run_seed": None}, "run_seed: None is no whole number"),
        ({"point": [0] * 9}, r"point: numbers of shape \(9,\) for [13] runs; give one, or one for each"),
    ],
)
def test_options_of_a_reset_are_checked(kind: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(kind).reset(options=options)


@pytest.mark.parametrize("kind", [CongestionEnv, CongestionVectorEnv])
def test_a_closed_environment_is_asked_no_more(kind: Any) -> None:
    env = made(kind)
    env.reset(seed=1)
    env.close()
    env.close()
    with pytest.raises(InputError, match="the environment is closed; make another"):
        env.step(np.zeros(env.action_space.shape))
    with pytest.raises(InputError, match="the environment is closed; make another"):
        env.reset()


def test_an_id_comes_before_a_number() -> None:
    ids = ("1", "x", "y")
    assert [place(given, ids) for given in ("1", 1, 0, 2, "x")] == [0, 0, 0, 2, 1]
    assert [place(given, ids) for given in ("0", "2", 3, -1, True, None, 1.0)] == [None] * 7


TWO: dict[str, Any] = {**PATH, "flows": [{"cc": "external"}, {"cc": "external"}]}


@pytest.mark.parametrize(("given", "number"), [("1", 1), (1, 1), ("0", 0), (0, 0)])
def test_a_flow_is_named_alike_in_an_environment_and_in_a_simulation(given: int | str, number: int) -> None:
    flows = [{**flow, "bytes": "10 kB"} if i == number else flow for i, flow in enumerate(TWO["flows"])]
    env = CongestionEnv({**TWO, "flows": flows}, flow=given)
    env.reset(seed=1)
    assert any(env.step(np.zeros(1))[2] for _ in range(5)), "it is over as soon as the agent's flow is"
    simulation = Simulation(TWO)
    simulation.run_until(1)
    simulation.decide(given, Decision(cwnd=50_000))
    assert [simulation.flow(flow)["cwnd"] == 50_000 for flow in ("0", "1")] == [number == 0, number == 1]


@pytest.mark.parametrize("given", ["x", 2, -1, True])
def test_a_flow_that_is_not_there_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match=f"no agent's flow is {given}; with the controller external are 0, 1"):
        CongestionEnv(TWO, flow=given)
    with pytest.raises(InputError, match=f"there is no flow {given}; known are 0, 1"):
        Simulation(TWO).flow(given)


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Decision(cwnd=float("inf")), "cwnd is inf; it must be at most 1e15 bytes$"),
        (Decision(cwnd=1e300), "cwnd is 1e300; it must be at most 1e15 bytes$"),
        (Decision(rate=1e300), "rate is 1e300; it must be at most 1e15 bytes per second$"),
        (Decision(ssthresh=2e15), "ssthresh is 2e15; it must be at most 1e15 bytes$"),
        (Decision(cwnd=float("nan")), "cwnd is NaN; it must be zero or more$"),
    ],
)
def test_a_decision_without_measure_is_refused(decision: Decision, message: str) -> None:
    simulation = Simulation(PATH)
    simulation.run_to_wake()
    with pytest.raises(EngineError, match=message):
        simulation.decide(0, decision)


def test_the_largest_decision_is_played() -> None:
    simulation = Simulation(PATH)
    simulation.run_to_wake()
    simulation.decide(0, Decision(cwnd=1e15, ssthresh=float("inf"), rate=1e15))
    assert simulation.flow(0)["ssthresh"] is None
    assert simulation.finish().flows["goodput_bps"].item() > 1e6


def test_a_rate_that_grows_without_end_is_bounded() -> None:
    env = CongestionEnv(PATH, action=Action(lambda a, i: (i.cwnd, np.full(np.shape(a), np.inf))))
    assert np.isfinite(steps(env)[2])


def test_nothing_is_decided_once_the_run_is_over() -> None:
    simulation = Simulation(PATH)
    simulation.run_to_wake()
    simulation.run_until(simulation.end)
    with pytest.raises(EngineError, match=r"^the run is over; nothing is left to decide$"):
        simulation.decide(0, Decision(cwnd=20_000))


class Nothing(Policy):
    """A policy whose observation is wrong."""

    observation = Observation(nothing, (0, 0), (1, 1))


def test_a_policy_names_the_function_too() -> None:
    simulation = Simulation(PATH)
    simulation.run_to_wake()
    with pytest.raises(InputError, match="observation: nothing returned 1 item; return 2, each a number"):
        Nothing().decide(simulation.interval(0))
