"""From a scenario to the resolved run: topologies become links and hops, units become integers.

The document is described in docs/resolved-run.md; it is the only thing the engine sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ackclock import engine, kernel
from ackclock.controllers import loading
from ackclock.errors import Problem
from ackclock.grouping import expanded
from ackclock.scenario.model import Scenario
from ackclock.scenario.settings import Run
from ackclock.scenario.topology import resolved
from ackclock.scenario.topology.cell import LteCell
from ackclock.scenario.topology.cell_resolved import resolve_cell
from ackclock.scenario.topology.hspa import HspaCell, resolve_hspa
from ackclock.scenario.topology.resolved import Link, Sizing
from ackclock.scenario.traffic.application import Cbr, OnOff, resolve_intervals
from ackclock.scenario.traffic.flow import Choice, Flow, Start
from ackclock.scenario.traffic.layout import Air, Drawn, Layout, Step, around
from ackclock.scenario.traffic.relay import LEGS, Relay
from ackclock.scenario.values.options import convert
from ackclock.virtual import guest

FORMAT = 1
MOST_STEPS = 2_000_000
"""Links and delays on the routes of all flows of a run, there and back: 100,000 flows over ten links each way."""
_TIMESTAMPS = 12  # bytes of the option, padded

Document = dict[str, Any]


def compile_run(scenario: Scenario, replication: int = 0) -> Document:
    """The resolved run of one replication of `scenario`, counted from 0, with every flow by itself.

    Raises as :func:`compile_groups`.
    """
    return expanded(compile_groups(scenario, replication))


def compile_groups(scenario: Scenario, replication: int = 0) -> Document:
    """The resolved run of one replication of `scenario` as the engine reads it: equal flows are one with a `count`.

    Raises :class:`ackclock.errors.Problem`, with the key, for what only shows once everything is put together:
    a BDP without a rate, or a queue that could never hold a packet.
    """
    layout = scenario.layout()
    typical = next((flow for flow in scenario.flows if not flow.datagrams), scenario.flows[0])
    sizing = Sizing(layout.rtt, full_packet(typical), sum(flow.count for flow in scenario.flows))
    flows, own = _flows(scenario, layout)
    rows = [resolved.resolve_link(link, sizing) for link in (*layout.links, *own)]
    cells: dict[str, Any] = {}
    if isinstance(scenario.topology, LteCell):
        cells["cells"] = [resolve_cell(scenario.topology, sizing.packet)]
    elif isinstance(scenario.topology, HspaCell):
        cells["hspa"] = [resolve_hspa(scenario.topology, sizing.packet)]
    return {
        "format": FORMAT,
        "seed": scenario.run.seed,
        "run": replication,
        "duration_ns": scenario.run.duration,
        "warmup_ns": scenario.run.warmup,
        "links": rows,
        **cells,
        "flows": flows,
        "probes": scenario.probes.resolved(),
        **({} if scenario.run.packet_delays else {"packet_delays": False}),
        **_engine(scenario.run),
    }


def _engine(run: Run) -> Document:
    """Who plays it, if not the simulator."""
    if run.engine == "sim":
        return {}
    if run.engine == "kernel-vt":
        own = guest.resolved(
            run.kernel, ip=run.ip, offload=run.offload, allow_late=run.allow_late, limit_ns=run.wall_limit
        )
        return {"engine": own}
    return {"engine": kernel.resolved(ip=run.ip, pin=run.pin, offload=run.offload, allow_late=run.allow_late)}


def captured(document: Document, places: Sequence[str]) -> Document:
    """A resolved run whose packets are looked at in these places, for a capture. They change nothing else in it."""
    return {**document, "capture": list(places)} if places else document


def link_key(scenario: Scenario, number: int) -> resolved.Key:
    """Where the link with this number in the resolved run is written."""
    layout = scenario.layout()
    return (*layout.links, *_flows(scenario, layout)[1])[number].key


def full_packet(flow: Flow) -> int:
    """Bytes of a full-size packet of `flow` on the wire, before the overhead of a link."""
    if isinstance(flow.app, Cbr | OnOff) and flow.datagrams:
        return flow.app.packet + flow.app.headers
    options = engine.tcp_options(flow.profile, flow.tcp_options, flow.cc.name)
    stamped = options["timestamps"] and options["count_options"]
    return int(flow.mss + options["header_bytes"] + (_TIMESTAMPS if stamped else 0))


def _flows(scenario: Scenario, layout: Layout) -> tuple[list[Document], list[Link]]:
    """The flows with their routes, equal ones of a group as one with a `count`, and the links that are their own."""
    _check_steps(scenario, layout)
    result: list[Document] = []
    legs: list[Document] = []
    own: list[Link] = []
    begin = 0
    for group, route, split in zip(scenario.flows, layout.routes, scenario.splits(), strict=True):
        shared = resolved_flow(group)
        of_legs = [] if split is None else list(map(resolved_flow, split.legs))
        on_air = any(isinstance(step, Air) for step in route.forward)
        alike = group.count > 1 and split is None and route.access is None and not on_air
        for number in range(begin, begin + (1 if alike else group.count)):
            if on_air or route.access is not None or "id" not in shared:
                out, back = around(route, str(number))
                user = number - begin if route.user is None else route.user
                shared |= {"id": str(number), "forward": _hops(out, user), "reverse": _hops(back, user)}
                own.extend(step for step in (*out, *back) if isinstance(step, Link) and step.own)
            result.append(shared | {"id": str(number)})
            if split is not None:
                user = number - begin if route.user is None else route.user
                names = [f"{number}/{name}" for name in LEGS]
                ways = split.ways(route, str(number))
                for name, leg, (out, back) in zip(names, of_legs, ways, strict=True):
                    legs.append(leg | {"id": name, "forward": _hops(out, user), "reverse": _hops(back, user)})
                result[-1]["relay"] = _relay(scenario.relays[split.number], names)
        if alike:
            result[-1]["count"] = group.count
        begin += group.count
    return [*result, *legs], own


def _check_steps(scenario: Scenario, layout: Layout) -> None:
    """Refuse routes of all flows together that would fill the memory, before the first is written down."""
    steps = sum(
        flow.count * (len(route.forward) + len(route.reverse))
        for flow, route in zip(scenario.flows, layout.routes, strict=True)
    )
    if steps > MOST_STEPS:
        problem = f"the routes of all flows have {steps} links and delays"
        raise Problem(problem, f"at most {MOST_STEPS} are possible: use fewer flows or hops", "flows")


def _relay(relay: Relay, legs: list[str]) -> Document:
    return {
        "legs": legs,
        "node": relay.name,
        "buffer_bytes": relay.buffer,
        "opening": relay.opening,
        "delay_ns": relay.delay,
        "per_segment_ns": relay.per_segment,
        "connections": relay.connections,
    }


def leg(scenario: Scenario, number: int) -> tuple[int, str] | None:
    """Of a flow of the resolved run that is a leg: the number of its relay, and which leg it is."""
    whole = sum(flow.count for flow in scenario.flows)
    if number < whole:
        return None
    split = (split for flow, split in zip(scenario.flows, scenario.splits(), strict=True) for _ in range(flow.count))
    numbers = [each.number for each in split if each is not None]
    return numbers[(number - whole) // 2], LEGS[(number - whole) % 2]


def _hops(steps: Sequence[Step], user: int) -> list[Document]:
    """What the engine reads: pure delays that follow each other are one.

    `user` is the number of that of a cell; after the last comes the first again.
    """
    hops: list[Document] = []
    for step in steps:
        if isinstance(step, Link):
            hops.append({"link": step.name})
        elif isinstance(step, Drawn):
            hops.append({"uniform_ns": [step.low, step.high]})
        elif isinstance(step, Air):
            port = user % step.users + (step.users if step.up else 0)
            hops.append({"element": {"id": step.cell, "port": port}})
        elif hops and "delay_ns" in hops[-1]:
            hops[-1]["delay_ns"] += step
        elif step:
            hops.append({"delay_ns": step})
    return hops or [{"delay_ns": 0}]


def resolved_flow(flow: Flow) -> Document:
    """A flow as the engine reads it, on its own: without its number and a route through a network."""
    return _flow(flow, [], [])


def _flow(flow: Flow, forward: list[Document], reverse: list[Document]) -> Document:
    known = engine.catalogue()
    slow_start = None
    if flow.slow_start is not None:
        slow_start = {"kind": flow.slow_start.name, "params": _params(flow.slow_start, known.slow_starts)}
    return {
        "forward": forward,
        "reverse": reverse,
        "start": _start(flow.start),
        "stop_ns": flow.stop,
        "app": flow.app.resolved(flow.bytes),
        **({"schedule": intervals} if (intervals := resolve_intervals(flow.active)) else {}),
        **({"class": flow.service} if flow.service else {}),
        "mss": flow.mss,
        "profile": flow.profile,
        "tcp": flow.tcp_options,
        # Datagrams have no controller, whatever the default is.
        "cc": {"name": "none", "params": {}} if flow.datagrams else _controller(flow.cc),
        "slow_start": None if flow.datagrams else slow_start,
    }


def _controller(choice: Choice) -> Document:
    if choice.name.startswith(loading.PREFIX):
        return {"name": choice.name, "params": dict(choice.params), "source": choice.source}
    return {"name": choice.name, "params": _params(choice, engine.catalogue().named)}


def _params(choice: Choice, known: Mapping[str, engine.Algorithm]) -> Document:
    return convert(f"parameter of {choice.name}", known[choice.name].params, choice.params)


def _start(start: Start) -> Document:
    return {"at_ns": start.at} if start.uniform is None else {"uniform_ns": list(start.uniform)}
