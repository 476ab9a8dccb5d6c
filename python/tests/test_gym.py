"""Environments for agents."""

from __future__ import annotations

import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from polars.testing import assert_frame_equal

import ackclock
from ackclock import InputError, Simulation
from ackclock.gym import (
    ACTIONS,
    OBSERVATIONS,
    REWARDS,
    AlphaFair,
    CongestionEnv,
    CongestionVectorEnv,
    Interval,
    LinearPolicy,
    Observation,
    Orca,
    actions,
)
from driven_paths import PATH, Alarm
from shared import ROOT


def test_gymnasium_accepts_the_environment() -> None:
    check_env(gymnasium.make("ackclock/Congestion-v0").unwrapped)


@pytest.mark.parametrize("observation", OBSERVATIONS)
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("reward", REWARDS)
def test_gymnasium_accepts_every_preset(observation: str, action: str, reward: str) -> None:
    arguments = {"observation": observation, "action": action, "reward": reward}
    env = gymnasium.make("ackclock/Congestion-v0", scenario=PATH, **arguments).unwrapped
    check_env(env)
    env.action_space.seed(1)
    seen, _ = env.reset(seed=1)
    over = False
    while not over:
        seen, paid, terminated, truncated, _ = env.step(env.action_space.sample())
        assert env.observation_space.contains(seen)
        assert np.isfinite(paid)
        over = terminated or truncated
    assert truncated
    assert not terminated


def play(env: CongestionEnv, seed: int, steps: int) -> list[Any]:
    """What an environment yields, with the resets of one in a vector."""
    rng = np.random.default_rng(seed)
    found: list[Any] = [env.reset(seed=seed)[0].tolist()]
    over = False
    for _ in range(steps):
        number = rng.uniform(-1, 1, 1)
        if over:
            seen, _ = env.reset()
            found.append((seen.tolist(), 0.0, False, False))
            over = False
            continue
        seen, paid, terminated, truncated, _ = env.step(number)
        found.append((seen.tolist(), paid, terminated, truncated))
        over = terminated or truncated
    return found


@pytest.mark.parametrize("threads", [1, 3])
def test_a_vector_is_its_environments_one_by_one(threads: int) -> None:
    n, steps = 5, 120
    alone = [play(CongestionEnv(observation="aurora"), 10 + i, steps) for i in range(n)]
    envs = CongestionVectorEnv(num_envs=n, threads=threads, observation="aurora")
    rngs = [np.random.default_rng(10 + i) for i in range(n)]
    seen, _ = envs.reset(seed=10)
    together: list[list[Any]] = [[row.tolist()] for row in seen]
    for _ in range(steps):
        seen, paid, terminated, truncated, _ = envs.step(np.stack([rng.uniform(-1, 1, 1) for rng in rngs]))
        for i in range(n):
            together[i].append((seen[i].tolist(), float(paid[i]), bool(terminated[i]), bool(truncated[i])))
    assert together == alone
    assert any(step[3] for run in alone for step in run[1:]), "an episode ended on the way"


def test_it_is_in_the_registry_as_a_vector_too() -> None:
    envs = gymnasium.make_vec("ackclock/Congestion-v0", num_envs=3, vectorization_mode="vector_entry_point")
    seen, info = envs.reset(seed=[1, 2, 3])
    assert seen.shape == (3, 7)
    assert info["point"].shape == (3,)
    envs.close()


def test_resets_follow_the_seed_and_draw_all_points() -> None:
    first, second = CongestionEnv(), CongestionEnv()
    first.reset(seed=4)
    second.reset(seed=4)
    drawn = [(first.reset()[1]["point"], second.reset()[1]["point"]) for _ in range(200)]
    assert all(a == b for a, b in drawn)
    assert {a for a, _ in drawn} == set(range(24))
    _, told = first.reset(options={"point": 5, "run_seed": 9})
    assert told["point"] == 5
    assert told["params"]["topology.rate"] == "5 Mbit/s"


def test_an_episode_is_truncated_by_its_end_and_terminated_by_that_of_the_flow() -> None:
    env = CongestionEnv({**PATH, "flows": [{"cc": "external", "bytes": "100 kB"}]})
    env.reset(seed=1)
    over = False
    while not over:
        _, _, terminated, truncated, told = env.step(np.array([1.0]))
        over = terminated or truncated
    assert (terminated, truncated) == (True, False)
    assert told["time"] < 1
    with pytest.raises(InputError, match="there is nothing to decide; call reset first"):
        env.step(np.array([1.0]))
    env = CongestionEnv(PATH, interval="300 ms")
    env.reset(seed=1)
    times = []
    over = False
    while not over:
        _, _, terminated, truncated, told = env.step(np.array([0.0]))
        times.append(told["time"])
        over = terminated or truncated
    assert (terminated, truncated) == (False, True)
    # The connection is open at 40 ms; what the end of the run cuts short is an interval too.
    assert [round(time, 2) for time in times] == [0.64, 0.94, 1.24, 1.54, 1.84, 2.0]


class Memory(LinearPolicy):
    """A policy that sees the last ten intervals, with weights of its own."""

    observation = "aurora"
    weights = " ".join(["0"] * 27 + ["-1", "-0.3", "-0.1", "0.6"])


class Rate(LinearPolicy):
    """A policy that decides a rate."""

    action = "rate-step"
    weights = "-4 -1 -3 0 0 0 0 3"


@pytest.mark.parametrize("policy", [Memory, Rate])
def test_a_policy_in_a_scenario_does_what_it_did_in_the_environment(policy: type[LinearPolicy]) -> None:
    scenario = {
        **PATH,
        "flows": [PATH["flows"][0], {"cc": "cubic", "start": "1 s"}],
        "run": {"duration": "6 s", "seed": 7},
    }
    run = ackclock.run(scenario, set={"flows.0.cc": policy}, jobs=1)
    # Stepped, and told what the policy decides.
    simulation, agent = Simulation(scenario), policy()
    ends = []
    while (flow := simulation.run_to_wake()) is not None:
        interval = simulation.interval(flow)
        simulation.decide(flow, agent.decide(interval))
        ends.append(interval)
    output = simulation.finish()
    columns = [name for name in output.flows.columns if name != "cc"]
    assert_frame_equal(output.flows.select(columns), run.tables["flows"].select(columns))
    assert_frame_equal(output.links, run.tables["links"].select(output.links.columns))
    # And in the environment.
    env, agent = CongestionEnv(scenario, observation=policy.observation, action=policy.action), policy()
    seen, told = env.reset(options={"point": 0, "run_seed": 7})
    over = False
    for interval in ends[1:]:
        assert not over
        seen, _, terminated, truncated, told = env.step(np.asarray(agent.act(seen)))
        assert told["time"] == interval.at
        assert told["cwnd"] == interval.cwnd
        over = terminated or truncated


def test_measures_of_ones_own() -> None:
    observation = Observation(lambda i: (i.in_flight / i.cwnd, i.rtt), (0, 0), (2, 10), history=2)
    arguments: dict[str, Any] = {
        "observation": observation,
        "reward": lambda i: -i.rtt,
        "action": actions.window(30, 60),
    }
    env, envs = CongestionEnv(PATH, **arguments), CongestionVectorEnv(PATH, 2, **arguments)
    env.reset(seed=1)
    envs.reset(seed=1)
    for _ in range(3):
        seen, paid, *_ = env.step(np.array([-1.0]))
        many, rewards, *_ = envs.step(np.array([[-1.0], [-1.0]]))
    assert seen.shape == (4,)
    assert many[0].tolist() == seen.tolist()
    assert paid == rewards[0] < 0
    windows = [env.step(np.array([number]))[4]["cwnd"] / 1448 for number in (-1.0, 1.0, 7.0)]
    assert windows == [30, 60, 60], "beyond its bounds an action is cut off"
    with pytest.raises(InputError, match=r"observation: .*lambda.* returned 2 items; return 1, each a number"):
        CongestionEnv(PATH, observation=Observation(observation.features, (0,), (1,))).reset()


def interval(**values: float) -> Interval:
    usual = dict.fromkeys(Interval.__dataclass_fields__, 0.0)
    return Interval(**{**usual, "span": 0.1, "mss": 1000.0, "min_rtt": 0.05, "srtt": 0.1, "cwnd": 1e5, **values})


def test_the_rewards_by_hand() -> None:
    # 100 packets of 1000 bytes in 0.1 s, 8 Mbit/s, of which 10 were lost; an RTT of 100 ms, twice the smallest.
    i = interval(delivered=100_000, lost=10_000, sent=100_000, rtt=0.1, max_rate=2e6)
    assert REWARDS["aurora"](i) == pytest.approx(10 * 1000 - 1000 * 0.1 - 2000 * 0.1)
    assert REWARDS["power"](i) == pytest.approx(8 / 2)
    # (1e6 - 5 * 1e5) / 2 over 2e6.
    assert REWARDS["orca"](i) == pytest.approx(0.125)
    assert Orca(loss=0, tolerance=2)(i) == pytest.approx(0.5)
    assert REWARDS["alpha-fair"](i) == pytest.approx(np.log(8) - np.log(2))
    assert AlphaFair(alpha=2, delta=0)(i) == pytest.approx(-1 / 8)
    assert AlphaFair(alpha=0, delta=0)(i) == pytest.approx(8)


def test_the_actions_by_hand() -> None:
    i = interval(rate=0.0)
    for name, number, cwnd, rate in [
        ("multiplier", 0.5, 1e5 * 2**0.5, np.nan),
        ("window", -0.5, 16_000, np.nan),
        ("rate", 0, 2 * 1.25e6 * 0.1, 1.25e6),
        ("rate-step", 0.8, 2 * 1.02e6 * 0.1, 1.02e6),
        ("rate-step", -0.8, 2e6 / 1.02 * 0.1, 1e6 / 1.02),
    ]:
        decided = ACTIONS[name].decision([number], i)
        np.testing.assert_allclose(decided, [cwnd, np.nan, rate])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"observation": "auror"}, "observation: unknown observation 'auror'; did you mean 'aurora'?"),
        ({"action": "windw"}, "action: unknown action 'windw'; did you mean 'window'?"),
        ({"reward": "powr"}, "reward: unknown reward 'powr'; did you mean 'power'?"),
        ({"interval": "100"}, 'interval: .* has no unit; .*or "rtt"'),
        (
            {"scenario": {**PATH, "flows": [{"cc": "cubic"}]}},
            'no flow has the controller external; write cc = "external"',
        ),
        (
            {"scenario": {**PATH, "flows": [{"cc": "external", "count": 2}]}},
            "the flows 0, 1 have the controller external",
        ),
        ({"flow": "5"}, "no agent's flow is 5; with the controller external are 0"),
        ({"scenario": {**PATH, "run": {"duration": "30 ms"}}}, "the agent's flow is over before there is anything"),
    ],
)
def test_bad_input_gives_one_line(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        CongestionEnv(**{"scenario": PATH, **arguments}).reset()
    assert "\n" not in str(caught.value)


def test_bad_numbers_give_one_line() -> None:
    env = CongestionEnv(PATH)
    with pytest.raises(InputError, match="point: there is no point 1; points are numbered from 0 to 0"):
        env.reset(options={"point": 1})
    with pytest.raises(InputError, match="run_seed: -1 is no seed of a run"):
        env.reset(options={"run_seed": -1})
    with pytest.raises(InputError, match="num_envs: 0 is too few; give at least 1"):
        CongestionVectorEnv(PATH, 0)
    with pytest.raises(InputError, match="threads: 0 is too few; give at least 1"):
        CongestionVectorEnv(PATH, 2, threads=0)
    with pytest.raises(InputError, match="seed: 1 seeds for 2 environments; give one for each, or one"):
        CongestionVectorEnv(PATH, 2).reset(seed=[1])


def test_a_controller_in_python_cannot_play_beside_an_agent() -> None:
    with pytest.raises(ackclock.EngineError, match="a controller in Python cannot play on several threads"):
        CongestionEnv({**PATH, "flows": [{"cc": "external"}, {"cc": Alarm}]})


def test_the_tutorials_training_finds_something_better(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(ROOT / "scenarios"))
    import train_learned

    weights, history = train_learned.train(generations=4, population=12, elite=3, steps=40)
    assert weights.shape == (8,)
    assert history[-1] > history[0] + 0.3, history
    assert train_learned.train(generations=2, population=12, elite=3, steps=40)[1] == history[:2], "the same again"


def test_the_benchmark_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    import agents

    monkeypatch.setattr(agents, "SIZES", (2,))
    agents.main(["--seconds", "0.01", "--rounds", "1"])
    rows = [line.split("|")[1:4] for line in capsys.readouterr().out.splitlines()[3:]]
    expected = [(name, size) for name in ("exchange", *agents.PATHS) for size in (1, 2)]
    assert [(name.strip(), int(size)) for name, size, _ in rows] == [("call", 1), *expected]
    assert all(float(steps.split()[0].replace(",", "")) > 0 for *_, steps in rows)


def test_what_was_learned_keeps_the_link_busy_and_the_queue_short() -> None:
    """What docs/gym.md says of it."""
    changes = {"topology.rate": "40 Mbit/s", "topology.rtt": "80 ms", "run.duration": "12 s"}
    result = ackclock.run(ROOT / "scenarios" / "learned.toml", set=changes, jobs=1)
    cubic, learned = result.links.filter(result.links["id"] == result.links["id"][0]).iter_rows(named=True)
    assert learned["drops"] == 0 < cubic["drops"]
    assert learned["utilisation"] > 0.97
    assert learned["mean_queue_delay_s"] < 0.1 * cubic["mean_queue_delay_s"]


def test_the_page_shows_the_weights_of_the_example() -> None:
    example = ROOT / "scenarios" / "learned.py"
    (weights,) = [line for line in example.read_text(encoding="utf-8").splitlines() if "weights =" in line]
    assert (ROOT / "docs" / "gym.md").read_text(encoding="utf-8").count(weights.split('"')[1]) == 2


@pytest.mark.parametrize(
    "app",
    [
        {"kind": "request-response", "request": "500 B", "response": "200 kB", "think": "100 ms"},
        {"kind": "video", "bitrates": ["1 Mbit/s", "3 Mbit/s"]},
        {"kind": "cbr", "rate": "3 Mbit/s", "transport": "tcp"},
    ],
    ids=lambda app: str(app["kind"]),
)
def test_an_agent_decides_for_whoever_sends_the_data(app: dict[str, Any]) -> None:
    delivered = []
    for most in (2, 60):
        scenario = {**PATH, "flows": [{"cc": "external", "app": app}], "run": {"duration": "6 s"}}
        env = CongestionEnv(scenario, action=actions.window(2, most))
        env.reset(seed=1)
        total = 0.0
        over = False
        while not over:
            _, _, terminated, truncated, told = env.step(np.array([1.0]))
            total += told["throughput"]
            over = terminated or truncated
        delivered.append(total)
    assert delivered[1] > 1.5 * delivered[0] > 0


def test_transfers_with_connections_of_their_own_are_refused() -> None:
    files = {"kind": "files", "arrivals": {"every": "1 s"}, "size": "10 kB"}
    for app in (files, {"kind": "web"}):
        found = f"an agent cannot decide for the application {app['kind']}; give its flow one that"
        with pytest.raises(InputError, match=found):
            CongestionEnv({**PATH, "flows": [{"cc": "external", "app": app}]})


@pytest.mark.parametrize("kind", [CongestionEnv, CongestionVectorEnv])
def test_what_an_agent_was_given_is_its_own(kind: Any) -> None:
    def seen(spoils: bool) -> list[Any]:
        env = kind(PATH, observation="aurora")
        found = []
        observation, _ = env.reset(seed=1)
        for _ in range(12):
            found.append(observation.tolist())
            if spoils:
                observation[...] = -7
            observation, *_ = env.step(np.zeros(env.action_space.shape, np.float32))
        return found

    assert seen(spoils=True) == seen(spoils=False)


@pytest.mark.parametrize("kind", [CongestionEnv, CongestionVectorEnv])
@pytest.mark.parametrize("action", [np.zeros(3), np.zeros((4, 2)), 0.0, None, np.zeros(0)])
def test_an_action_of_a_wrong_shape_is_refused(kind: Any, action: Any) -> None:
    env = kind(PATH)
    env.reset(seed=1)
    with pytest.raises(InputError, match="an action of shape"):
        env.step(action)


@pytest.mark.parametrize("kind", [CongestionEnv, CongestionVectorEnv])
def test_an_action_that_is_no_number_is_refused(kind: Any) -> None:
    env = kind(PATH)
    env.reset(seed=1)
    with pytest.raises(InputError, match="NaN"):
        env.step(np.full(env.action_space.shape, np.nan))
