"""What a controller is told and what it decides, as a list: recorded from a run, replayed to any controller."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import engine
from ackclock.controllers import loading
from ackclock.controllers.agent import Agent
from ackclock.controllers.base import CongestionControl, WindowBased
from ackclock.engine import DEFAULT_PROFILE
from ackclock.errors import ControllerError, EngineError, InputError
from ackclock.files import reason
from ackclock.scenario.model import Scenario
from ackclock.scenario.plan import Job, Plan, load, resolved_flow
from ackclock.scenario.reading.override import Overrides

Given = str | Mapping[str, Any] | loading.Class | CongestionControl | WindowBased | Agent
"""A controller: its name, a table of its name and parameters, a class in Python, or an object of one."""


@dataclass(frozen=True, slots=True)
class Control:
    """A decision: what the endpoint obeys from then on."""

    cwnd: int
    """Congestion window, bytes."""
    ssthresh: int | None
    """Slow start threshold, bytes; None is none yet."""
    pacing: Mapping[str, int] | None = None
    """None, {"rate": bytes per second} or {"percent": windows per round-trip time, times 100}."""
    wake_at_ns: int | None = None
    """When the controller wants to be woken; None is never."""

    @classmethod
    def _of(cls, raw: Mapping[str, Any]) -> Control:
        return cls(raw["cwnd"], raw["ssthresh"], raw.get("pacing"), raw.get("wake_at_ns"))

    def _raw(self) -> dict[str, Any]:
        raw: dict[str, Any] = {"cwnd": self.cwnd, "ssthresh": self.ssthresh}
        if self.pacing is not None:
            raw["pacing"] = dict(self.pacing)
        return raw if self.wake_at_ns is None else {**raw, "wake_at_ns": self.wake_at_ns}


@dataclass(frozen=True, slots=True)
class Event:
    """One call of a controller. Times are ns, sizes bytes; what is left out of a table is zero, false or nothing."""

    call: str
    """The method, such as "on_ack"; "create" comes before the first call and names the controller."""
    args: Mapping[str, Any]
    """Its arguments."""
    cx: Mapping[str, Any]
    """The context it came with."""
    control: Control
    """What was in force after it."""

    @property
    def time_s(self) -> float:
        """When, in seconds."""
        return float(self.cx["now_ns"]) / 1e9

    @classmethod
    def parse(cls, line: str) -> Event:
        """From a line of JSON."""
        raw = json.loads(line)
        return cls(raw["call"], raw["args"], raw["cx"], Control._of(raw["control"]))

    def line(self) -> str:
        """As a line of JSON."""
        return json.dumps({"call": self.call, "args": self.args, "cx": self.cx, "control": self.control._raw()})


def record_events(
    scenario: Scenario | Mapping[str, Any] | str | Path | Plan,
    flow: int | str = 0,
    *,
    set: Overrides | None = None,
    seed: int | None = None,
    replication: int = 0,
) -> list[Event]:
    """Run a scenario and return every call of the controller of one flow, in order, with its decision.

    Everything a controller can see is recorded, whether that of the run asked for it or not (`observe`, delivery
    rates). A scenario with sweeps is run at its first point. Raises :class:`InputError`, :class:`EngineError`.
    """
    if isinstance(scenario, Plan) and (set is not None or seed is not None):
        raise InputError("a loaded plan cannot be changed", "give set and seed to load")
    plan = scenario if isinstance(scenario, Plan) else load(scenario, set=set, seed=seed)
    job = Job(0, plan.points[0], replication)
    document = job.document()
    if str(flow) not in [item["id"] for item in document["flows"]]:
        last = len(document["flows"]) - 1
        raise InputError(f"there is no flow {flow}", f"flows are numbered from 0 to {last}", source=plan.source)
    classes = {name: loading.find(name, plan.folder).cls for name in job.controllers()}
    return [Event.parse(line) for line in engine.record(json.dumps(document), str(flow), classes)]


def replay(
    events: Iterable[Event],
    controller: Given,
    *,
    slow_start: str | Mapping[str, Any] | None = None,
    profile: str = DEFAULT_PROFILE,
) -> list[Control]:
    """Tell a controller what was recorded, and return what it decides after each event.

    `slow_start` and `profile` are those of a scenario's flow. Raises :class:`InputError` for a controller or events
    that cannot be used and :class:`ControllerError` if it raises.
    """
    classes: dict[str, Any] = {}
    if isinstance(controller, CongestionControl | WindowBased | Agent):
        name = loading.name_of(type(controller))
        classes[name] = lambda: controller
        document = {**_flow("reno", slow_start, profile), "cc": {"name": name, "params": {}}}
    else:
        document = _flow(controller, slow_start, profile)
        name = document["cc"]["name"]
        if name.startswith(loading.PREFIX):
            classes[name] = loading.find(name).cls
    lines = [event.line() for event in events]
    try:
        return [Control._of(json.loads(line)) for line in engine.replay(lines, json.dumps(document), classes)]
    except ControllerError:
        raise
    except EngineError as error:
        raise InputError(str(error), "give what record_events returned", source="replay") from None


def save_events(events: Iterable[Event], path: str | os.PathLike[str]) -> None:
    """Write events to a file, one line of JSON each."""
    with Path(path).open("w", encoding="utf-8") as stream:
        stream.writelines(f"{event.line()}\n" for event in events)


def load_events(path: str | os.PathLike[str]) -> list[Event]:
    """Read what :func:`save_events` wrote. Raises :class:`InputError` if it is not that."""
    events: list[Event] = []
    remedy = "give a file written by save_events"
    try:
        with Path(path).open(encoding="utf-8") as stream:
            events.extend(map(Event.parse, stream))
    except OSError as error:
        raise InputError(reason(error), remedy, source=str(path)) from None
    except (ValueError, KeyError, TypeError):
        raise InputError("is no event", remedy, source=str(path), line=len(events) + 1) from None
    return events


def _flow(controller: Any, slow_start: Any, profile: str) -> dict[str, Any]:
    """The resolved flow of a controller."""
    raw = {"cc": controller, "slow_start": slow_start, "profile": profile}
    return {"id": "0", **resolved_flow(raw, "replay")}
