"""From a link of a scenario to the link of the resolved run: what is relative becomes packets and bytes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ackclock.errors import Problem
from ackclock.scenario.topology.impairments import Event, resolve_jitter, resolve_reorder
from ackclock.scenario.topology.link import UNLIMITED, LinkKeys, Reverse
from ackclock.scenario.topology.loss import Loss
from ackclock.scenario.topology.rate import VaryingRate, of_steps
from ackclock.scenario.values.units import QueueLimit

Document = dict[str, Any]
Key = tuple[str | int, ...]

_DIGITS = 20
"""More than any number of a flow has."""


@dataclass(frozen=True, slots=True)
class Link:
    """A one-way link of a topology. `sizing_rate` is the rate a BDP fraction counts, `key` where it is written."""

    name: str
    keys: LinkKeys
    delay: int
    key: Key
    sizing_rate: int | None
    own: bool = False
    """Whether it belongs to one flow."""

    @property
    def rate(self) -> int | None:
        """Bits per second; ``None`` is unlimited."""
        return self.keys.rate


@dataclass(frozen=True, slots=True)
class Sizing:
    """What relative lengths are relative to: the RTT of a BDP, ns, a full-size packet, bytes, and how many flows."""

    rtt: int
    packet: int
    flows: int


def link(name: str, keys: LinkKeys, delay: int, *key: str | int) -> Link:
    """A link as its table at `key` says."""
    return Link(name, keys, delay, key, keys.rate)


def reverse_link(name: str, out: Link, reverse: Reverse, *key: str | int) -> Link:
    """The link beside `out` for the other direction, which `reverse`, a table at `key`, describes.

    Rate, delay, framing and queue (in packets) are the same where they are not given. What the way out does to packets
    besides, and what changes there in the run, is not mirrored.
    """
    rate = out.rate if reverse.rate is None else None if reverse.rate == "unlimited" else reverse.rate
    changed: dict[str, Any] = {"rate": rate, "loss": reverse.loss}
    changed |= dict.fromkeys(("shaper", "policer", "jitter", "reorder")) | {"duplicate": 0.0, "events": ()}
    if rate is None:
        changed["queue"] = UNLIMITED
    link = replace(out, name=name, delay=out.delay if reverse.delay is None else reverse.delay)
    if reverse.queue is not None:
        keys = out.keys.model_copy(update=changed | {"queue": reverse.queue})
        return replace(link, keys=keys, sizing_rate=rate, key=key)
    return replace(link, keys=out.keys.model_copy(update=changed))


def resolve_link(link: Link, sizing: Sizing) -> Document:
    """The link as the engine reads it."""
    keys = link.keys
    rate = _with_events(link)
    return {
        "id": link.name,
        **({"rate_bps": None, **rate.document} if isinstance(rate, VaryingRate) else {"rate_bps": rate}),
        "delay_ns": min([link.delay, *(event.delay for event in keys.events if event.delay is not None)]),
        "overhead_bytes": keys.link_overhead,
        "queue": _queue(link, sizing.rtt, sizing.packet + keys.link_overhead),
        "loss": _loss(keys.loss, sizing.flows, link.key),
        **_extras(link),
    }


def _with_events(link: Link) -> int | None:
    """The rate of the link with the changes that its events make."""
    steps = [(event.at, event.rate) for event in link.keys.events if event.rate is not None]
    if not steps:
        return link.rate
    if link.rate is None or isinstance(link.rate, VaryingRate):
        problem = "only a constant rate can be changed by events"
        raise Problem(problem, "write all its changes as steps of the rate", *link.key, "events")
    for index, (earlier, later) in enumerate(itertools.pairwise(steps), start=1):
        if later[0] <= earlier[0]:
            remedy = "put events that change the rate in the order of time, one at an instant"
            raise Problem("a change of the rate must come after the one before it", remedy, *link.key, "events", index)
    before = [(0, int(link.rate))] if steps[0][0] else []
    if not before and not any(rate for _, rate in steps):
        raise Problem("the link is always off", "give at least one event a rate", *link.key, "events", 0, "rate")
    return of_steps([*before, *steps], None, {})


def _extras(link: Link) -> Document:
    """Token buckets and what happens at the output; nothing of what the link does not have."""
    keys, result = link.keys, Document()
    varies = isinstance(_with_events(link), VaryingRate)
    for name in ("jitter", "reorder", "duplicate", "events"):
        if link.rate is None and getattr(keys, name):
            remedy = "give the link a rate, a high one if need be"
            raise Problem(f"{name} needs a link with a rate", remedy, *link.key, name)
    for name, bucket in (("shaper", keys.shaper), ("policer", keys.policer)):
        if bucket is not None:
            if link.rate is None:
                remedy = f"give the link a rate, or leave the {name} out"
                raise Problem(f"a {name} needs a link with a rate", remedy, *link.key, name)
            if name == "shaper" and varies:
                problem = "a shaper needs a link with a constant rate"
                raise Problem(problem, "put the shaper before another link of the row", *link.key, name)
            result[name] = {"rate_bps": bucket.rate, "burst_bytes": bucket.burst}
    if keys.jitter is not None:
        result["jitter"] = resolve_jitter(keys.jitter)
        result["preserve_order"] = keys.jitter.preserve_order
    if keys.reorder is not None:
        result["reorder"] = resolve_reorder(keys.reorder)
    if keys.duplicate:
        result["duplicate"] = keys.duplicate
    least = min([link.delay, *(event.delay for event in keys.events if event.delay is not None)])
    events = [{"at_ns": 0, "delay_ns": link.delay}] if least < link.delay else []
    events += [changed for event in keys.events if (changed := _event(event, link.key))]
    if events:
        result["events"] = events
    return result


def _event(event: Event, key: Key) -> Document:
    """What the engine is told of an event; nothing if it only changes the rate."""
    changed: Document = {}
    if event.delay is not None:
        changed["delay_ns"] = event.delay
    if event.loss is not None:
        changed["loss"] = _loss(event.loss, 0, key) or {"kind": "bernoulli", "p": 0.0}
    if event.jitter is not None:
        changed["jitter"] = resolve_jitter(event.jitter)
    if event.reorder is not None:
        changed["reorder"] = resolve_reorder(event.reorder)
    if event.duplicate is not None:
        changed["duplicate"] = event.duplicate
    return {"at_ns": event.at, **changed} if changed else {}


def bdp_packets(rate_bps: int, rtt_ns: int, packet_bytes: int, fraction: Fraction = Fraction(1)) -> int:
    """`fraction` of a bandwidth-delay product in packets: at least one, rounded to the nearest."""
    exact = fraction * rate_bps * rtt_ns / (8 * 10**9 * packet_bytes)
    return max(1, math.floor(exact + Fraction(1, 2)))


def _queue(link: Link, rtt: int, packet: int) -> Document:
    queue = link.keys.queue
    packets, size = _length(link, "limit", queue.limit, rtt, packet)
    if size is not None and size < packet:
        problem = f"a queue of {size} B never holds a full-size packet of {packet} B"
        raise Problem(problem, f'give at least "{packet} B"', *link.key, "queue", "limit")
    if link.rate is None:  # nothing is ever waiting for it
        packets = size = None
    return {
        "kind": queue.kind,
        "limit_packets": packets,
        "limit_bytes": size,
        "limit_includes_service": queue.limit_includes_service,
        "packet_bytes": packet,
        **({"weights": list(queue.weights)} if queue.weights else {}),
        **({"params": queue.params} if queue.params else {}),
        **_threshold(link, rtt, packet, packets, size),
    }


def _length(link: Link, name: str, length: QueueLimit, rtt: int, packet: int) -> tuple[int | None, int | None]:
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


def _threshold(link: Link, rtt: int, packet: int, limit: int | None, limit_bytes: int | None) -> Document:
    """The threshold of marking, in packets or in bytes; nothing without one."""
    above = link.keys.queue.mark_above
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
    if loss.ber is not None:
        return {"kind": "bit_errors", "ber": loss.ber}
    if loss.gilbert_elliott is not None:
        return {"kind": "gilbert_elliott", **loss.gilbert_elliott.model_dump()}
    drops = []
    for index, drop in enumerate(loss.drops or ()):
        if not (drop.flow.isdecimal() and len(drop.flow) < _DIGITS and int(drop.flow) < flows):
            remedy = f'flows are numbered from "0" to "{flows - 1}"'
            raise Problem(f"there is no flow '{drop.flow}'", remedy, *key, "loss", "drops", index, "flow")
        drops.append({"flow": str(int(drop.flow)), "nth": drop.nth})
    return {"kind": "scripted", "drops": drops}
