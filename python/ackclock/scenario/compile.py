"""From a scenario to the resolved run: topologies become links and hops, units become integers.

The document is described in docs/resolved-run.md; it is the only thing the engine sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ackclock import engine
from ackclock.controllers import loading
from ackclock.scenario import links
from ackclock.scenario.flow import Choice, Flow, Start
from ackclock.scenario.links import Link, Sizing
from ackclock.scenario.model import Scenario, chain_rtt
from ackclock.scenario.options import convert
from ackclock.scenario.path import Dumbbell

FORMAT = 1
_TIMESTAMPS = 12  # bytes of the option, padded

Document = dict[str, Any]


def compile_run(scenario: Scenario, replication: int = 0) -> Document:
    """The resolved run of one replication of `scenario`, counted from 0.

    Raises :class:`ackclock.errors.Problem`, with the key, for what only shows once everything is put together:
    a BDP without a rate, or a queue that could never hold a packet.
    """
    forward, reverse = _path(scenario)
    flows = _flows(scenario, forward, reverse)
    sizing = Sizing(sizing_rtt(scenario), full_packet(scenario.flows[0]), len(flows))
    return {
        "format": FORMAT,
        "seed": scenario.run.seed,
        "run": replication,
        "duration_ns": scenario.run.duration,
        "warmup_ns": scenario.run.warmup,
        "links": [links.resolve_link(link, sizing) for link in (*forward, *reverse)],
        "flows": flows,
        "probes": scenario.probes.resolved(),
    }


def sizing_rtt(scenario: Scenario) -> int:
    """The RTT a BDP fraction counts: the topology's, or else the first flow's."""
    topology = scenario.topology
    own = topology.rtt if isinstance(topology, Dumbbell) else chain_rtt(topology)
    return own or scenario.rtt_of(scenario.flows[0])


def full_packet(flow: Flow) -> int:
    """Bytes of a full-size packet of `flow` on the wire, before the overhead of a link."""
    options = engine.tcp_options(flow.profile, flow.tcp_options)
    stamped = options["timestamps"] and options["count_options"]
    return int(flow.mss + options["header_bytes"] + (_TIMESTAMPS if stamped else 0))


def _path(scenario: Scenario) -> tuple[list[Link], list[Link]]:
    """The links a packet crosses on the way out, and those on the way back."""
    topology = scenario.topology
    if isinstance(topology, Dumbbell):
        base = min(scenario.rtt_of(flow) for flow in scenario.flows)
        out = links.link("bottleneck", topology, base // 2, "topology")
        back = links.way_back("reverse", out, topology.reverse, "topology", "reverse")
        # An odd nanosecond goes to the way back, so that the two halves make the RTT exactly.
        return [out], [replace(back, delay=base - base // 2)]
    forward = [
        links.link(f"hop{index}", hop, hop.delay, "topology", "hops", index) for index, hop in enumerate(topology.hops)
    ]
    back_of = [links.way_back(f"{link.name}-reverse", link, topology.reverse, "topology", "reverse") for link in forward]
    return forward, back_of[::-1]


def _flows(scenario: Scenario, forward: list[Link], reverse: list[Link]) -> list[Document]:
    base = sum(link.delay for link in (*forward, *reverse))
    result: list[Document] = []
    for group in scenario.flows:
        extra = scenario.rtt_of(group) - base
        out, back = [{"link": link.name} for link in forward], [{"link": link.name} for link in reverse]
        if extra:
            # Half of the longer RTT before the shared path and half after it, as an access link would.
            shared = _flow(group, [{"delay_ns": extra // 2}, *out], [*back, {"delay_ns": extra - extra // 2}])
        else:
            shared = _flow(group, out, back)
        first = len(result)
        result.extend({"id": str(first + index), **shared} for index in range(group.count))
    return result


def resolved_flow(flow: Flow) -> Document:
    """A flow as the engine reads it, on its own: without its number and a way through a network."""
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
        "app": {"kind": flow.app, "bytes": flow.bytes},
        "mss": flow.mss,
        "profile": flow.profile,
        "tcp": flow.tcp_options,
        "cc": _controller(flow.cc),
        "slow_start": slow_start,
    }


def _controller(choice: Choice) -> Document:
    if choice.name.startswith(loading.PREFIX):
        return {"name": choice.name, "params": dict(choice.params), "source": choice.source}
    return {"name": choice.name, "params": _params(choice, engine.catalogue().controllers)}


def _params(choice: Choice, known: Mapping[str, engine.Algorithm]) -> Document:
    return convert(f"parameter of {choice.name}", known[choice.name].params, choice.params)


def _start(start: Start) -> Document:
    return {"at_ns": start.at} if start.uniform is None else {"uniform_ns": list(start.uniform)}
