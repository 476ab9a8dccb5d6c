"""A topology as something to draw: places, lines between them, and the routes of flows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ackclock.scenario.compile import compile_run
from ackclock.scenario.display import description, placement, radio
from ackclock.scenario.model import Scenario
from ackclock.scenario.topology.cell import LteCell
from ackclock.scenario.topology.hspa import HspaCell
from ackclock.scenario.topology.network import Network
from ackclock.scenario.topology.resolved import Link
from ackclock.scenario.traffic.layout import Layout, Route, around
from ackclock.scenario.values.units import DURATION

Document = Mapping[str, Any]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Place:
    """A node. A `host` is an end of flows; other places only forward."""

    name: str
    at: Point
    host: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """What joins two places, drawn through `bends`; `words` are above it, and below it what differs on the way back.

    A `delay` has no rate and no queue.
    """

    ends: tuple[str, str]
    words: tuple[str, ...]
    back: tuple[str, ...] = ()
    delay: bool = False
    bends: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class DrawnRoute:
    """The route out of a group of flows, from place to place."""

    flows: str
    cc: str
    stops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sketch:
    """All there is to draw. Places are in units of a link's length from left to right, upwards."""

    places: tuple[Place, ...]
    lines: tuple[Line, ...]
    routes: tuple[DrawnRoute, ...]


def sketch(scenario: Scenario) -> Sketch:
    """What the topology of `scenario` looks like, with the links as they are resolved and the relays of its flows."""
    return _with_relays(_without_relays(scenario), scenario)


def _with_relays(plain: Sketch, scenario: Scenario) -> Sketch:
    """Where relays of flows stand, places are called after them; in a cell the line to its core says so."""
    used = [relay for relay in scenario.relays if any(flow.relay == relay.name for flow in scenario.flows)]
    if not used:
        return plain
    if isinstance(scenario.topology, LteCell | HspaCell):
        first, *others = plain.lines
        words = tuple(f"relay {relay.name} in the core" for relay in used)
        return replace(plain, lines=(replace(first, words=first.words + words), *others))
    network = isinstance(scenario.topology, Network)
    there: dict[str, list[str]] = {}
    for relay in used:
        there.setdefault(str(relay.position) if network else f"router {relay.position}", []).append(relay.name)
    called = {
        place: f"{place}-(relay-{'-'.join(names)})" if network else f"relay-{'-'.join(names)}"
        for place, names in there.items()
    }

    def new(name: str) -> str:
        return called.get(name, name)

    return Sketch(
        tuple(replace(place, name=new(place.name)) for place in plain.places),
        tuple(replace(line, ends=(new(line.ends[0]), new(line.ends[1]))) for line in plain.lines),
        tuple(replace(route, stops=tuple(map(new, route.stops))) for route in plain.routes),
    )


def _without_relays(scenario: Scenario) -> Sketch:
    layout = scenario.layout()
    resolved = {link["id"]: link for link in compile_run(scenario)["links"]}
    if isinstance(scenario.topology, LteCell):
        cell = compile_run(scenario)["cells"][0]
        about = (
            radio.band(cell),
            radio.power(cell),
            f"users: {radio.users(cell)}",
            radio.service(cell),
            radio.queue(cell),
        )
        return _cell(scenario, layout, (len(cell["users"]), about), resolved)
    if isinstance(scenario.topology, HspaCell):
        cell = compile_run(scenario)["hspa"][0]
        rates, users, *others = radio.hspa(cell)
        return _cell(scenario, layout, (cell["users"], (rates, f"users: {users}", *others)), resolved)
    if isinstance(scenario.topology, Network):
        return _network(scenario.topology, scenario, layout, resolved)
    return _row(scenario, layout, resolved)


def numbers(scenario: Scenario) -> list[str]:
    """The numbers of each group of flows: "3" or "0 to 2"."""
    result, first = [], 0
    for flow in scenario.flows:
        result.append(str(first) if flow.count == 1 else f"{first} to {first + flow.count - 1}")
        first += flow.count
    return result


def _back(there: Document, home: Document) -> tuple[str, ...]:
    """The words of the link for the other direction, if they differ. Losses are never mirrored."""
    if description.link({**home, "loss": None}) == description.link({**there, "loss": None}) and home["loss"] is None:
        return ()
    first, *others = description.link(home)
    return (f"back: {first}", *others)


def _row(scenario: Scenario, layout: Layout, resolved: Mapping[str, Document]) -> Sketch:
    """Shared links from left to right; senders and receivers of all of it at its ends, others below."""
    forward = [link.name for link in layout.links[: len(layout.links) // 2]]
    backward = [link.name for link in layout.links[len(layout.links) // 2 :]][::-1]
    where = {name: place for place, name in enumerate(forward)}
    places = [Place(f"router {place}", (float(place), 0.0)) for place in range(len(forward) + 1)]
    lines = [
        Line(
            (f"router {place}", f"router {place + 1}"),
            (name, *description.link(resolved[name])),
            _back(resolved[name], resolved[back]),
        )
        for place, (name, back) in enumerate(zip(forward, backward, strict=True))
    ]
    routes = []
    spans = []
    for route in layout.routes:
        crossed = [where[step.name] for step in route.forward if isinstance(step, Link)]
        spans.append((crossed[0], crossed[-1] + 1))
    hosts = placement.beside_row(spans, len(forward))
    first = 0
    for flow, route, flows, span, ends in zip(
        scenario.flows, layout.routes, numbers(scenario), spans, hosts, strict=True
    ):
        sender, receiver = f"sender {flows}", f"receiver {flows}"
        routers = tuple(f"router {place}" for place in range(span[0], span[1] + 1))
        places += [Place(sender, ends[0], True), Place(receiver, ends[1], True)]
        lines += _ends(route, str(first), (sender, routers[0]), (routers[-1], receiver), resolved)
        routes.append(DrawnRoute(flows, str(flow.cc), (sender, *routers, receiver)))
        first += flow.count
    return Sketch(tuple(places), tuple(lines), tuple(routes))


def _ends(
    route: Route, flow: str, sender: tuple[str, str], receiver: tuple[str, str], resolved: Mapping[str, Document]
) -> list[Line]:
    """What joins a sender and a receiver to the row, with the words of the first flow of the group."""
    own = {step.name for step in around(route, flow)[0] if isinstance(step, Link) and step.own}
    least = route.before + route.behind
    drawn = f" to +{DURATION.format(least + 2 * route.spread)}" if route.spread else ""
    extra = (f"+{DURATION.format(least)}{drawn} RTT",) if least or drawn else ()
    result = []
    for side, ends, more in (("sender", sender, extra), ("receiver", receiver, ())):
        name = f"{side}{flow}"
        if name in own:
            there, home = resolved[name], resolved.get(f"{name}-reverse")
            back = _back(there, home) if home else ("back: no rate",)
            result.append(Line(ends, description.link(there) + more, back))
            continue
        plain = route.access is not None and route.access.keys.side in ("both", side) and route.access.keys.delay
        delay = (DURATION.format(route.access.keys.delay),) if plain and route.access is not None else ()
        result.append(Line(ends, delay + more, delay=True))
    return result


def _network(topology: Network, scenario: Scenario, layout: Layout, resolved: Mapping[str, Document]) -> Sketch:
    pairs: dict[tuple[str, str], list[str]] = {}
    for link in topology.links:
        for source, target in link.directions:
            known = (target, source) in pairs
            pairs.setdefault((target, source) if known else (source, target), []).append(f"{source}->{target}")
    spots, bends = placement.layered(topology.names, list(pairs), [route.out for route in layout.routes])
    ends = {name for route in layout.routes for name in (route.out[0], route.out[-1])}
    delays = {f"{a}->{b}": link.delay for link in topology.links for a, b in link.directions}
    lines = []
    for pair, names in pairs.items():
        there, *home = (resolved.get(name, _plain(delays[name])) for name in names)
        text = description.link(there) + (() if home else ("one way",))
        back = _back(there, home[0]) if home else ()
        lines.append(Line(pair, text, back, not any(name in resolved for name in names), bends[pair]))
    routes = (
        DrawnRoute(flows, str(flow.cc), route.out)
        for flow, route, flows in zip(scenario.flows, layout.routes, numbers(scenario), strict=True)
    )
    places = (Place(name, spots[name], name in ends) for name in topology.names)
    return Sketch(tuple(places), tuple(lines), tuple(routes))


def _cell(
    scenario: Scenario, layout: Layout, users: tuple[int, tuple[str, ...]], resolved: Mapping[str, Document]
) -> Sketch:
    """The server, the base station, and the users of each group of flows: how many there are, and words about them."""
    count, about = users
    server, base = "server", "base-station"
    rtts = {route.rtt for route in layout.routes}
    alike = f"RTT {DURATION.format(min(rtts))}" + (f" to {DURATION.format(max(rtts))}" if len(rtts) > 1 else "")
    words = (*description.link(resolved["server"]), alike) if "server" in resolved else (alike,)
    places = [Place(server, (0.0, 0.0), True), Place(base, (1.2, 0.0))]
    lines = [Line((server, base), words, delay="server" not in resolved)]
    routes = []
    spots = placement.stacked(len(layout.routes))
    ways = zip(scenario.flows, layout.routes, numbers(scenario), spots, strict=True)
    for index, (flow, route, flows, height) in enumerate(ways):
        if route.user is not None or count == 1:
            who = f"user-{route.user or 0}"
        else:
            who = f"users-0-to-{min(flow.count, count) - 1}" if flow.count > 1 else "user-0"
        name = who if not any(place.name == who for place in places) else f"{who}-(group-{index})"
        places.append(Place(name, (2.9, height), True))
        lines.append(Line((base, name), about if index == 0 else ()))
        stops = (server, base, name)
        routes.append(DrawnRoute(flows, str(flow.cc), stops if flow.direction == "down" else stops[::-1]))
    return Sketch(tuple(places), tuple(lines), tuple(routes))


def _plain(delay: int) -> Document:
    """A pure delay beside a link that is more."""
    queue = {"kind": "droptail", "limit_packets": None, "limit_bytes": None}
    return {"rate_bps": None, "delay_ns": delay, "queue": queue, "loss": None}
