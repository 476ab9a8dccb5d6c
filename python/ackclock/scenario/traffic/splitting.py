"""From a route and the place of a relay to the ways of the two legs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ackclock.errors import Problem
from ackclock.scenario.topology.cell import LteCell
from ackclock.scenario.topology.hspa import HspaCell
from ackclock.scenario.topology.network import Network
from ackclock.scenario.topology.resolved import Link
from ackclock.scenario.topology.topologies import Shape
from ackclock.scenario.traffic import relay as relays
from ackclock.scenario.traffic.flow import Flow
from ackclock.scenario.traffic.layout import Air, Drawn, Layout, Route, Step, around
from ackclock.scenario.traffic.relay import LEGS, Relay

CORE = "core"
"""Where a relay is in a cell: between the Internet and the core network."""

Ways = tuple[list[Step], list[Step]]
"""What data pass, and what comes back."""


@dataclass(frozen=True, slots=True)
class Split:
    """A group of flows that a relay splits.

    `number` is that of the relay; `out` and `back` are how many of the shared steps of the route are between source and
    relay on the way out, and between sink and relay on the way back; `legs` are the flows that the legs are.
    """

    number: int
    out: int
    back: int
    legs: tuple[Flow, Flow]

    def ways(self, route: Route, flow: str) -> tuple[Ways, Ways]:
        """Every step of the legs of one flow of the group, those of its own included."""
        out, back = around(route, flow)
        behind = int(route.access is not None and route.access.keys.side != "sender")
        there = len(out) - behind - len(route.forward) + self.out
        home = behind + self.back
        return (out[:there], back[home:]), (out[there:], back[:home])


def splits(topology: Shape, flows: Sequence[Flow], layout: Layout, known: tuple[Relay, ...]) -> list[Split | None]:
    """How each group of flows is split. Raises :class:`Problem` with the full key of what does not fit."""
    numbers = relays.named(known)
    found: list[Split | None] = []
    for index, (flow, route) in enumerate(zip(flows, layout.routes, strict=True)):
        number = relays.of_flow(flow, index, numbers)
        if number is None:
            found.append(None)
            continue
        out, back = _cut(topology, flow, route, known[number], (number, index))
        split = Split(number, out, back, _legs(flow, known[number], number))
        if short := _short(split, route):
            problem = f"nothing on the way between it and the {short[0]} of flows.{index} takes time"
            shared = [
                (other, way)
                for at, (other, way) in enumerate(zip(flows, layout.routes, strict=True))
                if relays.of_flow(other, at, numbers) == number
            ]
            raise Problem(problem, _elsewhere(topology, shared, number), "relays", number)
        found.append(split)
    return found


def _short(split: Split, route: Route) -> list[str]:
    """The legs on whose way nothing takes time."""
    ways = zip(LEGS, split.ways(route, "0"), strict=True)
    return [name for name, way in ways if not any(map(_takes_time, (*way[0], *way[1])))]


def _elsewhere(topology: Shape, split: Sequence[tuple[Flow, Route]], number: int) -> str:
    """What would be right where a leg takes no time: a place where those of all flows do, or a topology with one."""
    if isinstance(topology, Network):
        return "give a link there a rate or a delay, or the relay another node"
    most = max(_first(flow) + len(route.forward) for flow, route in split)
    places = [place for place in range(most + 1) if all(_fits(place, *each, number) for each in split)]
    if places:
        return f"give position = {' or '.join(map(str, places))}"
    return "write a chain with several hops, or access links with a delay"


def _fits(place: int, flow: Flow, route: Route, number: int) -> bool:
    before = place - _first(flow)
    if not 0 <= before <= len(route.forward):
        return False
    return not _short(Split(number, before, len(route.reverse) - before, (flow, flow)), route)


def _first(flow: Flow) -> int:
    """The first hop that a flow crosses."""
    return flow.over[0] if flow.over is not None else 0


def _cut(topology: Shape, flow: Flow, route: Route, relay: Relay, at: tuple[int, int]) -> tuple[int, int]:
    """How many of the shared steps are before the relay, on the way out and on the way back."""
    number, index = at
    key = ("relays", number, "position")
    place = relay.position
    if isinstance(topology, LteCell | HspaCell):
        if place not in (None, CORE):
            raise Problem(f"there is no place {place!r} in a {topology.kind}", f'write "{CORE}"', *key)
        return (1, 2) if flow.direction == "down" else (2, 1)
    if isinstance(topology, Network):
        return _in_network(topology, route, place, key, index)
    if not isinstance(place, int):
        remedy = f"write how many hops are before it, for instance position = {1}"
        said = "missing key 'position'" if place is None else f"{place!r} is no place in a {topology.kind}"
        raise Problem(said, remedy, *key)
    first = _first(flow)
    before = place - first
    if not 0 <= before <= len(route.forward):
        last = first + len(route.forward)
        problem = f"position {place} is not on the way of flows.{index}"
        raise Problem(problem, f"give {first} to {last}", *key)
    return before, len(route.reverse) - before


def _in_network(
    topology: Network, route: Route, place: str | int | None, key: tuple[str | int, ...], index: int
) -> tuple[int, int]:
    if place is None:
        raise Problem("missing key 'position'", "write the name of a node", *key)
    if place not in topology.names:
        raise Problem(f"there is no node {place!r}", f"known: {', '.join(topology.names)}", *key)
    cuts = []
    for nodes, way, via in ((route.out, "out", "via"), (route.back, "back", "via_back")):
        if place not in nodes[1:-1]:
            problem = f"'{place}' is not within the way {way} of flows.{index}: {', '.join(nodes)}"
            raise Problem(problem, f'choose another, or write {via} = ["{place}"] in the flow', *key)
        cuts.append(nodes.index(str(place)))
    return cuts[0], cuts[1]


def _legs(flow: Flow, relay: Relay, number: int) -> tuple[Flow, Flow]:
    source, sink = (_checked(flow, leg, number, name) for leg, name in zip(relay.legs(), LEGS, strict=True))
    return source, sink


def _checked(flow: Flow, leg: relays.Leg, number: int, name: str) -> Flow:
    try:
        return leg.of(flow)
    except Problem as problem:
        raise Problem(problem.problem, problem.remedy, "relays", number, name, *problem.key) from None


def _takes_time(step: Step) -> bool:
    if isinstance(step, Link):
        return step.rate is not None or step.delay > 0
    if isinstance(step, Drawn):
        return step.high > 0
    return isinstance(step, Air) or step > 0
