"""Runs that are stepped from Python."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import ackclock
from ackclock import Decision, EngineError, InputError, Simulation
from driven_paths import Alarm

AGENT: dict[str, Any] = {
    "topology": {
        "kind": "dumbbell",
        "rate": "10 Mbit/s",
        "rtt": "40 ms",
        "queue": {"kind": "droptail", "limit": "1 BDP"},
    },
    "flows": [{"cc": "external", "profile": "linux"}],
    "run": {"duration": "5 s"},
}
SERIES = {"probes": {"cwnd": "on_change", "queue": "every_event", "srtt": "100 ms"}}


def tables(result: ackclock.Result) -> list[pl.DataFrame]:
    found = [result.tables[name] for name in ("flows", "links", "series")]
    return [table.drop("run", "point", "replication", strict=False) for table in found]


@pytest.mark.parametrize("cc", ["cubic", "bbr3", "external", "python:aimd:Aimd"])
def test_a_run_in_steps_gives_the_tables_of_one_played_at_once(cc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from shared import ROOT

    monkeypatch.chdir(ROOT / "scenarios")
    scenario = {**AGENT, **SERIES, "flows": [{"cc": cc, "count": 2}]}
    simulation = Simulation(scenario)
    drained = []
    for ms in range(100, 4000, 333):
        simulation.run_until(ms / 1000)
        assert simulation.time == pytest.approx(ms / 1000)
        for _ in range(50):
            simulation.step()
        simulation.run_to_wake(simulation.time + 0.01)
        assert simulation.flow(0)["sent"] >= simulation.flow("1")["retransmitted"]
        assert simulation.link(simulation.links[0])["queue"] >= 0
        drained.append(simulation.drain())
    output = simulation.finish()
    flows, links, series = tables(ackclock.run(scenario, jobs=1))
    assert_frame_equal(output.flows, flows.select(output.flows.columns))
    assert_frame_equal(output.links, links.select(output.links.columns))
    whole = pl.concat([*drained, output.series])
    assert whole["time_s"].is_sorted()
    assert_frame_equal(whole, series.select(whole.columns))


def test_an_agent_is_asked_once_per_round_trip_and_obeyed() -> None:
    simulation = Simulation(AGENT)
    assert simulation.interval(0) is None
    asked = 0
    while (flow := simulation.run_to_wake()) is not None:
        interval = simulation.interval(flow)
        assert interval is not None
        assert interval.at == simulation.time
        assert interval.index == asked
        simulation.decide(flow, Decision(cwnd=20 * interval.mss, rate=0))
        asked += 1
    assert 100 < asked < 125
    assert simulation.time == simulation.end == pytest.approx(5)
    assert simulation.next_event is None
    assert simulation.step() is None
    # 20 segments in 40 ms and the time of their own.
    assert simulation.flow(0)["received"] * 8 / 5 == pytest.approx(20 * 1448 * 8 / 0.0413, rel=0.05)


def test_the_next_waking_can_be_decided() -> None:
    simulation = Simulation(AGENT)
    simulation.run_to_wake()
    simulation.decide(0, Decision(), wake_at=2.5)
    assert simulation.run_to_wake() == "0"
    assert simulation.time == 2.5


def test_what_cannot_be_is_said_in_a_line() -> None:
    simulation = Simulation({**AGENT, "flows": [{"cc": "cubic", "profile": "rfc"}]})
    with pytest.raises(EngineError, match=r"^flow 0 has no established connection to decide for$"):
        simulation.decide(0, Decision(cwnd=3000))
    simulation.run_until(1)
    simulation.decide(0, Decision(cwnd=3000))
    assert simulation.flow(0)["cwnd"] == 3000
    with pytest.raises(EngineError, match="takes a window only"):
        simulation.decide(0, Decision(rate=3000))
    with pytest.raises(EngineError, match="cwnd is -1; it must be zero or more"):
        simulation.decide(0, Decision(cwnd=-1))
    with pytest.raises(InputError, match="there is no flow 7"):
        simulation.flow(7)
    with pytest.raises(InputError, match="there is no link nowhere"):
        simulation.link("nowhere")
    simulation.finish()
    with pytest.raises(EngineError, match="the run is finished; make a new one"):
        simulation.step()


def test_a_controller_in_python_is_woken_recorded_and_replayed() -> None:
    scenario = {**AGENT, "flows": [{"cc": Alarm}], "run": {"duration": "1.1 s"}}
    events = ackclock.record_events(scenario)
    woken = [event for event in events if event.call == "on_wake"]
    # The connection is open after 40 ms.
    assert [round(event.time_s, 1) for event in woken] == [round(0.1 * n, 1) for n in range(1, 11)]
    assert woken[-1].control.cwnd == 12 * 1448
    assert woken[0].control.wake_at_ns == pytest.approx(woken[1].cx["now_ns"], abs=1)
    assert ackclock.replay(events, Alarm) == [event.control for event in events]
    again = [ackclock.Event.parse(event.line()) for event in events]
    assert again == events


class Broken(ackclock.Agent):
    """Decides nonsense."""

    def decide(self, interval: ackclock.Interval) -> Decision:
        return Decision(cwnd=-interval.cwnd)


def test_an_agent_that_decides_nonsense_ends_the_run() -> None:
    with pytest.raises(ackclock.ControllerError, match=r"cwnd is -14480; it must be zero or more") as caught:
        ackclock.run({**AGENT, "flows": [{"cc": Broken}]}, jobs=1)
    assert caught.value.method == "decide"


class Curious(Alarm):
    """Asks the run that it is part of."""

    of: list[Simulation] = []  # noqa: RUF012

    def on_wake(self, cx: ackclock.Cx) -> None:
        self.of[0].flow(0)


def test_a_controller_that_asks_its_own_run_is_refused() -> None:
    simulation = Simulation({**AGENT, "flows": [{"cc": Curious}]})
    Curious.of[:] = [simulation]
    with pytest.raises(ackclock.ControllerError, match="the run is being played; ask it when the call") as caught:
        simulation.run_until(2)
    assert caught.value.method == "on_wake"


def test_percentiles_need_as_many_values_as_in_a_result() -> None:
    flow = {"app": {"kind": "request-response", "response": "20 kB", "most": 30}}
    scenario = {**AGENT, "flows": [flow]}
    output, result = Simulation(scenario).finish(), ackclock.run(scenario)
    assert output.flows["p99_fct_s"].to_list() == [None]
    assert output.flows["p95_fct_s"].item() > 0
    assert_frame_equal(output.flows, result.flows.select(output.flows.columns))


@pytest.mark.parametrize("time", [-1, float("nan"), float("inf"), 1e12, "2 s", True])
def test_what_is_no_time_is_refused(time: Any) -> None:
    simulation = Simulation(AGENT)
    for ask in (simulation.run_until, simulation.run_to_wake):
        with pytest.raises(InputError, match="no time"):
            ask(time)
    simulation.run_until(1)
    with pytest.raises(InputError, match="no time"):
        simulation.decide(0, Decision(), wake_at=time)
    with pytest.raises(InputError, match="is no decision"):
        simulation.decide(0, 5000)  # type: ignore[arg-type]
