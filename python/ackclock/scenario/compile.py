"""From a scenario to the resolved run: topologies become links and hops, units become integers.

The document is described in docs/resolved-run.md; it is the only thing the engine sees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ackclock import engine
from ackclock.controllers import loading
from ackclock.errors import Problem
from ackclock.scenario.flow import Choice, Flow, Start
from ackclock.scenario.model import Scenario, chain_rtt
from ackclock.scenario.options import convert
from ackclock.scenario.path import Dumbbell, Loss, Queue, Reverse
from ackclock.scenario.units import QueueLimit

FORMAT = 1
_TIMESTAMPS = 12  # bytes of the option, padded

Document = dict[str, Any]


def compile_run(scenario: Scenario, replication: int = 0) -> Document:
    """The resolved run of one replication of `scenario`, counted from 0.

    Raises :class:`ackclock.errors.Problem`, with the key, for what only shows once everything is put together:
    a BDP without a rate, or a queue that could never hold a packet.
    """
    forward, reverse = _path(scenario)
    rtt, packet = sizing_rtt(scenario), full_packet(scenario.flows[0])
    flows = _flows(scenario, forward, reverse)
    return {
        "format": FORMAT,
        "seed": scenario.run.seed,
        "run": replication,
        "duration_ns": scenario.run.duration,
        "warmup_ns": scenario.run.warmup,
        "links": [_resolve(link, rtt, packet, len(flows)) for link in (*forward, *reverse)],
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


def bdp_packets(rate_bps: int, rtt_ns: int, packet_bytes: int, fraction: Fraction = Fraction(1)) -> int:
    """`fraction` of a bandwidth-delay product in packets: at least one, rounded to the nearest."""
    exact = fraction * rate_bps * rtt_ns / (8 * 10**9 * packet_bytes)
    return max(1, math.floor(exact + Fraction(1, 2)))


Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class _Link:
    """A link before its queue is sized. `sizing_rate` is the rate a BDP fraction counts."""

    name: str
    rate: int | None
    delay: int
    overhead: int
    queue: Queue
    sizing_rate: int | None
    loss: Loss | None
    key: Key


def _path(scenario: Scenario) -> tuple[list[_Link], list[_Link]]:
    """The links a packet crosses on the way out, and those on the way back."""
    topology = scenario.topology
    if isinstance(topology, Dumbbell):
        base = min(scenario.rtt_of(flow) for flow in scenario.flows)
        out = _Link(
            "bottleneck",
            topology.rate,
            base // 2,
            topology.link_overhead,
            topology.queue,
            topology.rate,
            topology.loss,
            ("topology",),
        )
        # An odd nanosecond goes to the way back, so that the two halves make the RTT exactly.
        back = _back("reverse", out, topology.reverse)
        return [out], [replace(back, delay=base - base // 2)]
    forward = [
        _Link(
            f"hop{index}",
            hop.rate,
            hop.delay,
            hop.link_overhead,
            hop.queue,
            hop.rate,
            hop.loss,
            ("topology", "hops", index),
        )
        for index, hop in enumerate(topology.hops)
    ]
    return forward, [_back(f"{link.name}-reverse", link, topology.reverse) for link in reversed(forward)]


def _back(name: str, out: _Link, reverse: Reverse) -> _Link:
    """The link of the way back beside `out`: what is not given is the same, the queue in packets too."""
    rate = out.rate if reverse.rate is None else None if reverse.rate == "unlimited" else reverse.rate
    link = replace(out, name=name, rate=rate, loss=reverse.loss)
    if reverse.queue is None:
        return link if rate is not None else replace(link, queue=Queue(limit=QueueLimit("unlimited")))
    return replace(link, queue=reverse.queue, sizing_rate=rate, key=("topology", "reverse"))


def _resolve(link: _Link, rtt: int, packet: int, flows: int) -> Document:
    return {
        "id": link.name,
        "rate_bps": link.rate,
        "delay_ns": link.delay,
        "overhead_bytes": link.overhead,
        "queue": _queue(link, rtt, packet + link.overhead),
        "loss": _loss(link.loss, flows, link.key),
    }


def _queue(link: _Link, rtt: int, packet: int) -> Document:
    packets, size = _length(link, "limit", link.queue.limit, rtt, packet)
    if size is not None and size < packet:
        problem = f"a queue of {size} B never holds a full-size packet of {packet} B"
        raise Problem(problem, f'give at least "{packet} B"', *link.key, "queue", "limit")
    if link.rate is None:  # nothing is ever waiting for it
        packets = size = None
    return {
        "kind": link.queue.kind,
        "limit_packets": packets,
        "limit_bytes": size,
        "limit_includes_service": link.queue.limit_includes_service,
        "packet_bytes": packet,
        **({"weights": list(link.queue.weights)} if link.queue.weights else {}),
        **({"params": link.queue.params} if link.queue.params else {}),
        **_threshold(link, rtt, packet, packets, size),
    }


def _length(link: _Link, name: str, length: QueueLimit, rtt: int, packet: int) -> tuple[int | None, int | None]:
    """The length of a queue in packets, or else in bytes; neither if it is unlimited."""
    if length.unit == "bdp":
        if link.sizing_rate is None:
            remedy = f"give a rate, or a {name} in packets or bytes"
            raise Problem("a BDP fraction needs a rate", remedy, *link.key, "queue", name)
        if rtt == 0:
            remedy = f"give an RTT, or a {name} in packets or bytes"
            raise Problem("a BDP fraction needs an RTT", remedy, *link.key, "queue", name)
        return bdp_packets(link.sizing_rate, rtt, packet, length.amount), None
    return (
        int(length.amount) if length.unit == "packets" else None,
        int(length.amount) if length.unit == "bytes" else None,
    )


def _threshold(link: _Link, rtt: int, packet: int, limit: int | None, limit_bytes: int | None) -> Document:
    """The threshold of marking, in packets or in bytes; nothing without one."""
    above = link.queue.mark_above
    if above is None:
        return {}
    if link.rate is None:
        problem = "a link of unlimited rate has no queue, so nothing would be marked"
        raise Problem(problem, "leave mark_above out, or give the link a rate", *link.key, "queue", "mark_above")
    packets, size = _length(link, "mark_above", above, rtt, packet)
    for most, threshold, unit in ((limit, packets, "packets"), (limit_bytes, size, "B")):
        if most is not None and threshold is not None and threshold >= most:
            problem = f"a queue of {most} {unit} never holds more than {threshold} {unit}: nothing would be marked"
            raise Problem(problem, "give less than the limit", *link.key, "queue", "mark_above")
    return {"mark_above_packets": packets} if size is None else {"mark_above_bytes": size}


def _loss(loss: Loss | None, flows: int, key: Key) -> Document | None:
    if loss is None or loss.p == 0:
        return None
    if loss.p is not None:
        return {"kind": "bernoulli", "p": loss.p}
    if loss.every is not None:
        return {"kind": "every", "n": loss.every}
    drops = []
    for index, drop in enumerate(loss.drops or ()):
        if not (drop.flow.isdecimal() and int(drop.flow) < flows):
            remedy = f'flows are numbered from "0" to "{flows - 1}"'
            raise Problem(f"there is no flow '{drop.flow}'", remedy, *key, "loss", "drops", index, "flow")
        drops.append({"flow": str(int(drop.flow)), "nth": drop.nth})
    return {"kind": "scripted", "drops": drops}


def _flows(scenario: Scenario, forward: list[_Link], reverse: list[_Link]) -> list[Document]:
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
