"""What must fit into what: every packet of a flow into the buckets and queues on its way, or none would ever pass."""

from __future__ import annotations

from ackclock.errors import Problem
from ackclock.scenario.compile import full_packet
from ackclock.scenario.model import Scenario
from ackclock.scenario.topology.resolved import Link
from ackclock.scenario.traffic.layout import around


def check(scenario: Scenario) -> None:
    """Raise :class:`Problem` for a bucket or a queue too small for the packets of a flow that crosses it."""
    for index, (flow, route) in enumerate(zip(scenario.flows, scenario.layout().routes, strict=True)):
        packet = full_packet(flow)
        what = "datagram" if flow.datagrams else "full-size packet"
        for step in around(route, "0")[0]:
            if isinstance(step, Link):
                _holds(step, packet, what, index)


def _holds(link: Link, packet: int, what: str, flow: int) -> None:
    keys, size = link.keys, packet + link.keys.link_overhead
    rooms = {
        ("shaper", "burst"): keys.shaper.burst if keys.shaper else None,
        ("policer", "burst"): keys.policer.burst if keys.policer else None,
        ("queue", "limit"): int(keys.queue.limit.amount) if keys.queue.limit.unit == "bytes" else None,
    }
    for key, room in rooms.items():
        if room is not None and room < size and link.rate is not None:
            problem = f"{room} B never hold a {what} of {size} B, as flows.{flow} sends them"
            raise Problem(problem, f'give at least "{size} B"', *link.key, *key)
