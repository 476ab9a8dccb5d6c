"""A topology as something to draw: places, lines between them, and the ways of flows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ackclock.scenario import placement, words
from ackclock.scenario.compile import compile_run
from ackclock.scenario.layout import Layout, Way, around
from ackclock.scenario.links import Link
from ackclock.scenario.model import Scenario
from ackclock.scenario.network import Network
from ackclock.scenario.units import DURATION

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
class Route:
    """The way out of a group of flows, from place to place."""

    flows: str
    cc: str
    stops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sketch:
    """All there is to draw. Places are in units of a link's length from left to right, upwards."""

    places: tuple[Place, ...]
    lines: tuple[Line, ...]
    routes: tuple[Route, ...]


def sketch(scenario: Scenario) -> Sketch:
    """What the topology of `scenario` looks like, with the links as they are resolved."""
    layout = scenario.layout()
    resolved = {link["id"]: link for link in compile_run(scenario)["links"]}
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
    if words.link({**home, "loss": None}) == words.link({**there, "loss": None}) and home["loss"] is None:
        return ()
    first, *others = words.link(home)
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
            (name, *words.link(resolved[name])),
            _back(resolved[name], resolved[back]),
        )
        for place, (name, back) in enumerate(zip(forward, backward, strict=True))
    ]
    routes = []
    spans = []
    for way in layout.ways:
        crossed = [where[step.name] for step in way.forward if isinstance(step, Link)]
        spans.append((crossed[0], crossed[-1] + 1))
    hosts = placement.beside_row(spans, len(forward))
    first = 0
    for flow, way, flows, span, ends in zip(scenario.flows, layout.ways, numbers(scenario), spans, hosts, strict=True):
        sender, receiver = f"sender {flows}", f"receiver {flows}"
        routers = tuple(f"router {place}" for place in range(span[0], span[1] + 1))
        places += [Place(sender, ends[0], True), Place(receiver, ends[1], True)]
        lines += _ends(way, str(first), (sender, routers[0]), (routers[-1], receiver), resolved)
        routes.append(Route(flows, str(flow.cc), (sender, *routers, receiver)))
        first += flow.count
    return Sketch(tuple(places), tuple(lines), tuple(routes))


def _ends(
    way: Way, flow: str, sender: tuple[str, str], receiver: tuple[str, str], resolved: Mapping[str, Document]
) -> list[Line]:
    """What joins a sender and a receiver to the row, with the words of the first flow of the group."""
    own = {step.name for step in around(way, flow)[0] if isinstance(step, Link) and step.own}
    least = way.before + way.behind
    drawn = f" to +{DURATION.format(least + 2 * way.spread)}" if way.spread else ""
    extra = (f"+{DURATION.format(least)}{drawn} RTT",) if least or drawn else ()
    result = []
    for side, ends, more in (("sender", sender, extra), ("receiver", receiver, ())):
        name = f"{side}{flow}"
        if name in own:
            there, home = resolved[name], resolved.get(f"{name}-reverse")
            back = _back(there, home) if home else ("back: no rate",)
            result.append(Line(ends, words.link(there) + more, back))
            continue
        plain = way.access is not None and way.access.keys.side in ("both", side) and way.access.keys.delay
        delay = (DURATION.format(way.access.keys.delay),) if plain and way.access is not None else ()
        result.append(Line(ends, delay + more, delay=True))
    return result


def _network(topology: Network, scenario: Scenario, layout: Layout, resolved: Mapping[str, Document]) -> Sketch:
    pairs: dict[tuple[str, str], list[str]] = {}
    for link in topology.links:
        for source, target in link.directions:
            known = (target, source) in pairs
            pairs.setdefault((target, source) if known else (source, target), []).append(f"{source}->{target}")
    spots, bends = placement.layered(topology.names, list(pairs), [way.out for way in layout.ways])
    ends = {name for way in layout.ways for name in (way.out[0], way.out[-1])}
    delays = {f"{a}->{b}": link.delay for link in topology.links for a, b in link.directions}
    lines = []
    for pair, names in pairs.items():
        there, *home = (resolved.get(name, _plain(delays[name])) for name in names)
        text = words.link(there) + (() if home else ("one way",))
        back = _back(there, home[0]) if home else ()
        lines.append(Line(pair, text, back, not any(name in resolved for name in names), bends[pair]))
    routes = (
        Route(flows, str(flow.cc), way.out)
        for flow, way, flows in zip(scenario.flows, layout.ways, numbers(scenario), strict=True)
    )
    places = (Place(name, spots[name], name in ends) for name in topology.names)
    return Sketch(tuple(places), tuple(lines), tuple(routes))


def _plain(delay: int) -> Document:
    """A pure delay beside a link that is more."""
    queue = {"kind": "droptail", "limit_packets": None, "limit_bytes": None}
    return {"rate_bps": None, "delay_ns": delay, "queue": queue, "loss": None}
