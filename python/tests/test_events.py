"""What controllers are told, recorded and replayed; and the references in Python against the engine's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import reference
from ackclock.events import Event


@pytest.fixture
def raw(raw: dict[str, Any]) -> dict[str, Any]:
    """The references in Python are the standards' forms."""
    raw["flows"][0]["profile"] = "rfc"
    return raw


REFERENCES = {
    "reno": reference.Reno,
    "cubic": reference.Cubic,
    "westwood+": reference.WestwoodPlus,
    "vegas": reference.Vegas,
    "highspeed": reference.HighSpeed,
}

# Paths on which every part of a law is used: shallow and deep queues, random loss up to timeouts, several flows, idle
# times, windows of hundreds of segments, growth without limit by the network.
PATHS: dict[str, dict[str, Any]] = {
    "shallow": {"topology.queue.limit": "0.3 BDP"},
    "deep": {"topology.queue.limit": "3 BDP"},
    "loss": {"topology.loss": "1 %"},
    "timeouts": {"topology.loss": "8 %"},
    "flows": {"flows.0.count": 3},
    "fat": {"topology.rate": "60 Mbit/s", "topology.rtt": "60 ms", "run.duration": "10 s"},
    "each-ack": {"flows.0.delayed_ack": 1},
    "newreno": {"flows.0.recovery": "newreno", "topology.loss": "1 %"},
    "late-loss": {
        "topology.rate": "60 Mbit/s",
        "topology.rtt": "60 ms",
        "topology.queue.limit": "10 BDP",
        "topology.loss": {"drops": [{"flow": "0", "nth": nth} for nth in (900, 6000, 6001, 9000)]},
        "run.duration": "8 s",
    },
}


def differences(events: list[Event], decisions: list[ackclock.Control], tolerance: int) -> list[int]:
    """The events after which the window or the threshold differs by more bytes than `tolerance`."""

    def apart(a: int | None, b: int | None) -> bool:
        return a != b if a is None or b is None else abs(a - b) > tolerance

    return [
        number
        for number, (event, own) in enumerate(zip(events, decisions, strict=True))
        if apart(event.control.cwnd, own.cwnd) or apart(event.control.ssthresh, own.ssthresh)
    ]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", REFERENCES)
def test_references_decide_as_the_engine_does(raw: dict[str, Any], name: str, path: str) -> None:
    changes = {"topology.rtt": "40 ms", "run.duration": "15 s", "cc": name, "profile": "rfc", **PATHS[path]}
    events = ackclock.record_events(raw, set=changes)
    assert len(events) > 100
    assert differences(events, ackclock.replay(events, name, profile="rfc"), 0) == []
    found = differences(events, ackclock.replay(events, REFERENCES[name], profile="rfc"), 1)
    assert found == [], events[found[0]].line()


def test_the_paths_reach_every_kind_of_event(raw: dict[str, Any]) -> None:
    calls: set[str] = set()
    for path in ("timeouts", "late-loss"):
        events = ackclock.record_events(raw, set={"cc": "reno", **PATHS[path]})
        calls |= {event.call for event in events}
        calls |= {event.args["kind"] for event in events if event.call == "on_congestion"}
    assert {"create", "start", "observe", "on_ack", "on_phase", "on_recovered", "on_transmit_start"} <= calls
    assert {"loss", "timeout"} <= calls


def test_recording_changes_nothing(raw: dict[str, Any]) -> None:
    series = ackclock.run(raw, set={"probes.cwnd": "on change"}, jobs=1).series
    events = ackclock.record_events(raw)
    assert events[0].call == "create"
    assert events[0].args == {"cc": "cubic", "flow": "0", "seed": 1, "run": 0}
    assert events[1].call == "start"
    times = [event.time_s for event in events]
    assert times == sorted(times)
    # Until the first loss the decisions are the windows of the run; then recovery moves the window.
    first_loss = next(number for number, event in enumerate(events) if event.call == "on_congestion")
    recorded = list(dict.fromkeys(event.control.cwnd for event in events[1:first_loss]))
    assert [value for value in series["value"] if value > 0][: len(recorded)] == recorded


def test_a_python_controller_is_recorded_as_well(raw: dict[str, Any]) -> None:
    ours = ackclock.record_events(raw, set={"cc": reference.Reno})
    theirs = ackclock.record_events(raw, set={"cc": "reno"})
    assert ours[0].args["cc"] == "python:ackclock.reference.reno:Reno"
    assert ours[1:] == theirs[1:]


def test_of_another_flow_and_replication(raw: dict[str, Any]) -> None:
    raw["flows"][0] |= {"count": 2, "start": {"uniform": ["0 s", "1 s"]}}
    starts = {
        (flow, replication): ackclock.record_events(raw, flow, replication=replication)[1].time_s
        for flow in (0, "1")
        for replication in (0, 1)
    }
    assert len(set(starts.values())) == 4
    with pytest.raises(ackclock.InputError, match="there is no flow 2; flows are numbered from 0 to 1"):
        ackclock.record_events(raw, 2)


def test_saved_and_loaded(raw: dict[str, Any], tmp_path: Path) -> None:
    events = ackclock.record_events(raw, set={"cc": {"name": "reno", "base": "cwnd"}})
    file = tmp_path / "events.jsonl"
    ackclock.save_events(events, file)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(events)
    assert set(json.loads(lines[5])) == {"call", "args", "cx", "control"}
    again = ackclock.load_events(file)
    assert again == events
    decided = ackclock.replay(again, {"name": "reno", "base": "cwnd"}, profile="rfc")
    assert decided == [event.control for event in events]
    assert decided != ackclock.replay(again, {"name": "reno", "counting": "acks", "base": "cwnd"}, profile="rfc")


def test_what_is_no_event(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text('{"call": "start"}\n', encoding="utf-8")
    with pytest.raises(ackclock.InputError, match=r"is no event \(line 1\)"):
        ackclock.load_events(file)
    with pytest.raises(ackclock.InputError, match="give a file written by save_events"):
        ackclock.load_events(tmp_path / "none")
    strange = Event("on_holiday", {}, {"now_ns": 0}, ackclock.Control(0, None))
    with pytest.raises(ackclock.InputError, match="event 0 cannot be read"):
        ackclock.replay([strange], "reno")


def test_an_object_can_be_asked_afterwards(raw: dict[str, Any]) -> None:
    events = ackclock.record_events(raw, set={"cc": "cubic"})
    cubic = reference.Cubic()
    ackclock.replay(events, cubic)
    assert cubic.W_max is not None
    assert cubic.cwnd > 1


def test_random_draws_are_replayed(raw: dict[str, Any]) -> None:
    class Random(ackclock.CongestionControl):
        def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
            self.cwnd = (5 + cx.randrange(20)) * cx.mss

        def on_congestion(self, cx: ackclock.Cx, signal: ackclock.Signal) -> None:
            self.ssthresh = self.cwnd = 2 * cx.mss

    events = ackclock.record_events(raw, set={"cc": Random}, seed=7)
    assert ackclock.replay(events, Random) == [event.control for event in events]


def test_pacing_is_recorded(raw: dict[str, Any]) -> None:
    class Paced(reference.Reno):
        pacing = ackclock.ByWindow(120)

    events = ackclock.record_events(raw, set={"cc": Paced})
    assert events[5].control.pacing == {"percent": 120}
    assert Event.parse(events[5].line()) == events[5]


def test_an_exception_in_a_replay(raw: dict[str, Any]) -> None:
    class Broken(reference.Reno):
        def reduce(self, cx: ackclock.Cx, signal: ackclock.Signal) -> float:
            raise ArithmeticError("no")

    events = ackclock.record_events(raw, set={"cc": "reno"})
    with pytest.raises(ackclock.ControllerError, match="reduce raised ArithmeticError: no") as caught:
        ackclock.replay(events, Broken)
    signal = next(event for event in events if event.call == "on_congestion")
    assert caught.value.time_s == pytest.approx(signal.time_s, abs=1e-9)


@pytest.mark.parametrize("given", ["rino", {"name": "reno", "bass": "cwnd"}, "python:nowhere:Reno"])
def test_controllers_that_cannot_be_used(given: Any) -> None:
    with pytest.raises(ackclock.InputError, match="replay: "):
        ackclock.replay([], given)
