"""From a topology to the route of every group of flows: which links it crosses, and how long it takes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ackclock.errors import Problem
from ackclock.scenario.topology import resolved
from ackclock.scenario.topology.access import Access
from ackclock.scenario.topology.cell import LteCell
from ackclock.scenario.topology.cell_resolved import NAME as CELL
from ackclock.scenario.topology.hspa import HspaCell
from ackclock.scenario.topology.link import LinkKeys
from ackclock.scenario.topology.network import Network
from ackclock.scenario.topology.resolved import Key, Link
from ackclock.scenario.topology.topologies import Chain, Dumbbell, ParkingLot, Shape
from ackclock.scenario.traffic.route import RouteKeys
from ackclock.scenario.traffic.shortest_path import Nodes, Routes
from ackclock.scenario.values.units import DURATION


@dataclass(frozen=True, slots=True)
class Drawn:
    """A pure delay that is drawn once for each flow and replication, uniformly between two, ns."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Air:
    """Over the air of a cell with so many `users`: to the user of a flow, or from it."""

    cell: str
    users: int
    up: bool


Step = Link | int | Drawn | Air
"""A link, a pure delay in ns, or a radio channel."""

MOST_HOPS = 127
"""On the route of a flow, links and pure delays together: what the engine has room for."""


@dataclass(frozen=True, slots=True)
class OwnAccess:
    """Access links of every flow of a group, and the key they are written at."""

    keys: Access
    key: Key


@dataclass(frozen=True, slots=True)
class Route:
    """The route of a group of flows, there and back. `rtt` is all its propagation delay, ns.

    `before` and `behind` are pure delays of its own, before all links of the way out and behind those of the way back.
    A flow's RTT is drawn from `rtt` ± `spread`; `before` and `behind` belong to the shortest.
    """

    forward: tuple[Step, ...]
    reverse: tuple[Step, ...]
    rtt: int
    before: int = 0
    behind: int = 0
    spread: int = 0
    access: OwnAccess | None = None
    out: Nodes = ()
    back: Nodes = ()
    user: int | None = None
    """Of a cell: the user that all flows of the group belong to; without it they are spread over all, in order."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A topology with its flows. `rtt` is what a BDP fraction counts; `links` are those that flows share."""

    links: tuple[Link, ...]
    routes: tuple[Route, ...]
    rtt: int


_last: tuple[Shape, tuple[RouteKeys, ...], Layout] | None = None
"""The immutable arguments of the last call of :func:`build`, and its result."""


def build(topology: Shape, flows: tuple[RouteKeys, ...]) -> Layout:
    """The routes of `flows` through `topology`. Raises :class:`Problem` with the full key of what does not fit.

    Checking and compiling a scenario need its routes several times in a row, so the last result is cached.
    """
    global _last
    last = _last
    if last is None or last[0] is not topology or last[1] is not flows:
        last = _last = topology, flows, _built(topology, flows)
    return last[2]


def _built(topology: Shape, flows: Sequence[RouteKeys]) -> Layout:
    for index, flow in enumerate(flows):
        _only_known(topology, flow, index)
    if isinstance(topology, Network):
        layout = _network(topology, flows)
    elif isinstance(topology, LteCell | HspaCell):
        layout = _cell(topology, flows)
    else:
        layout = _dumbbell(topology, flows) if isinstance(topology, Dumbbell) else _row(topology, flows)
    for index, route in enumerate(layout.routes):
        _possible(route, index)
    return layout


def is_delay(keys: LinkKeys) -> bool:
    """Whether a link is nothing but its delay: without rate, loss, or anything else that happens to a packet."""
    if keys.rate is not None:
        return False
    others = (item for item in LinkKeys.model_fields.items() if item[0] not in ("rate", "link_overhead"))
    return all(getattr(keys, name) == info.get_default(call_default_factory=True) for name, info in others)


# Which keys of a flow belong to which topology; in others they would have no effect.
_OF_NETWORKS = {"source": "from", "target": "to", "via": "via", "via_back": "via_back"}


def _only_known(topology: Shape, flow: RouteKeys, index: int) -> None:
    kind = topology.kind
    strange: dict[str, tuple[str, str]] = {}
    if kind != "network":
        strange |= {name: (key, 'kind = "network"') for name, key in _OF_NETWORKS.items()}
    if kind != "parking-lot":
        strange["over"] = ("over", 'kind = "parking-lot"')
    if kind == "network":
        strange["access"] = ("access", "[[topology.links]] for them")
    if kind in ("lte_cell", "hspa_cell"):
        strange["access"] = ("access", "server_rate in the topology")
    else:
        strange |= {name: (name, 'kind = "lte_cell"') for name in ("user", "direction")}
    for name, (key, remedy) in strange.items():
        if getattr(flow, name) != RouteKeys.model_fields[name].get_default():
            problem = f"'{key}' does not belong to a {kind}"
            raise Problem(problem, f"remove it, or write {remedy}", "flows", index, key)


def _dumbbell(topology: Dumbbell, flows: Sequence[RouteKeys]) -> Layout:
    own = [_access(flow, topology.access, index) for index, flow in enumerate(flows)]
    rtts, shortest = [], []
    for index, (flow, access) in enumerate(zip(flows, own, strict=True)):
        rtt = flow.rtt or topology.rtt
        if rtt is None:
            raise Problem("missing key 'rtt'", "add it here or to every flow", "topology", "rtt")
        least = access.keys.rtt if access else 0
        _long_enough(rtt, least, flow, index)
        rtts.append(rtt)
        shortest.append(rtt - _spread(rtt, flow) - least)
    base = min(shortest)
    # An odd nanosecond goes to the way back, so that the two halves make the RTT exactly.
    home = base - base // 2 if topology.reverse.delay is None else topology.reverse.delay
    if home > base:
        problem = f"the way back takes longer than the RTT, of which {DURATION.format(base)} are left for both ways"
        raise Problem(problem, "shorten it, or lengthen the RTT", "topology", "reverse", "delay")
    out = resolved.link("bottleneck", topology, base - home, "topology")
    back = replace(resolved.reverse_link("reverse", out, topology.reverse, "topology", "reverse"), delay=home)
    routes = (_route((out,), (back,), rtt, flow, access) for rtt, flow, access in zip(rtts, flows, own, strict=True))
    return Layout((out, back), tuple(routes), topology.rtt or rtts[0])


def _row(topology: Chain | ParkingLot, flows: Sequence[RouteKeys]) -> Layout:
    length = sum(hop.count for hop in topology.hops)
    if length > MOST_HOPS:
        raise Problem(f"a row of {length} links", f"give at most {MOST_HOPS}", "topology", "hops")
    hops = [(hop, index) for index, hop in enumerate(topology.hops) for _ in range(hop.count)]
    forward = [
        resolved.link(f"hop{number}", hop, hop.delay, "topology", "hops", index)
        for number, (hop, index) in enumerate(hops)
    ]
    reverse = [
        resolved.reverse_link(f"{link.name}-reverse", link, topology.reverse, "topology", "reverse") for link in forward
    ]
    common = topology.rtt if isinstance(topology, ParkingLot) else None
    routes = []
    for index, flow in enumerate(flows):
        first, last = flow.over or (0, len(hops) - 1)
        if last >= len(hops):
            remedy = f"they are numbered from 0 to {len(hops) - 1}" if len(hops) > 1 else "the only one is 0"
            raise Problem(f"there is no hop {last}", remedy, "flows", index, "over")
        out, back = tuple(forward[first : last + 1]), tuple(reverse[first : last + 1][::-1])
        access = _access(flow, topology.access, index)
        least = _delay((*out, *back)) + (access.keys.rtt if access else 0)
        rtt = flow.rtt or common or least
        _long_enough(rtt, least, flow, index)
        routes.append(_route(out, back, rtt, flow, access))
    return Layout((*forward, *reverse[::-1]), tuple(routes), common or _delay((*forward, *reverse)) or routes[0].rtt)


def _network(topology: Network, flows: Sequence[RouteKeys]) -> Layout:
    known: dict[tuple[str, str], Step] = {}
    for index, link in enumerate(topology.links):
        for ends in link.directions:
            name = f"{ends[0]}->{ends[1]}"
            made = resolved.link(name, link, link.delay, "topology", "links", index)
            known[ends] = link.delay if is_delay(link) else made
    search = Routes(topology)
    routes = []
    for index, flow in enumerate(flows):
        there, home = search.of(flow, index)
        out, back = (tuple(known[ends] for ends in itertools.pairwise(nodes)) for nodes in (there, home))
        least = _delay((*out, *back))
        _long_enough(flow.rtt or least, least, flow, index)
        routes.append(replace(_route(out, back, flow.rtt or least, flow, None), out=there, back=home))
    shared = tuple(step for step in known.values() if isinstance(step, Link))
    return Layout(shared, tuple(routes), routes[0].rtt)


def _cell(topology: LteCell | HspaCell, flows: Sequence[RouteKeys]) -> Layout:
    rtts = []
    for index, flow in enumerate(flows):
        if flow.user is not None and flow.user >= topology.count:
            remedy = f"they are numbered from 0 to {topology.count - 1}" if topology.count > 1 else "the only one is 0"
            raise Problem(f"there is no user {flow.user}", remedy, "flows", index, "user")
        rtt = flow.rtt or topology.rtt
        if rtt is None:
            raise Problem("missing key 'rtt'", "add it here or to every flow", "topology", "rtt")
        rtts.append(rtt)
    base = min(rtt - _spread(rtt, flow) for rtt, flow in zip(rtts, flows, strict=True))
    keys = LinkKeys(rate=None).model_copy(update={"rate": topology.server_rate})
    # An odd nanosecond goes to the way up, so that the two halves make the RTT exactly.
    down = Link("server", keys, base // 2, ("topology",), keys.rate)
    up = replace(down, name="server-reverse", delay=base - base // 2)
    ends: tuple[Step, Step] = (down, up) if keys.rate is not None else (down.delay, up.delay)
    air = Air(CELL, topology.count, up=False)
    out: tuple[Step, ...] = (ends[0], topology.core_delay, air)
    back: tuple[Step, ...] = (replace(air, up=True), topology.core_delay, ends[1])
    routes = []
    for flow, rtt in zip(flows, rtts, strict=True):
        ways = (out, back) if flow.direction == "down" else (back, out)
        routes.append(replace(_route(*ways, rtt + 2 * topology.core_delay, flow, None), user=flow.user))
    shared = (down, up) if keys.rate is not None else ()
    return Layout(shared, tuple(routes), (topology.rtt or rtts[0]) + 2 * topology.core_delay)


def around(route: Route, flow: str) -> tuple[list[Step], list[Step]]:
    """Every step of one flow of a group, there and back: the shared ones, and those of its own around them."""
    out, back = list(route.forward), list(route.reverse)
    if route.access is not None:
        keys = route.access.keys
        if keys.side != "receiver":
            first, last = _pair(f"sender{flow}", route.access)
            out, back = [first, *out], [*back, last]
        if keys.side != "sender":
            first, last = _pair(f"receiver{flow}", route.access)
            out, back = [*out, first], [last, *back]
    if route.before or route.behind or route.spread:
        before = Drawn(route.before, route.before + 2 * route.spread) if route.spread else route.before
        out, back = [before, *out], [*back, route.behind]
    return out, back


def _pair(name: str, access: OwnAccess) -> tuple[Step, Step]:
    """An access link for the way out and for the way back."""
    out = resolved.link(name, access.keys, access.keys.delay, *access.key)
    back = resolved.reverse_link(f"{name}-reverse", out, access.keys.reverse, *access.key, "reverse")
    return _step(out), _step(back)


def _step(link: Link) -> Step:
    return link.delay if is_delay(link.keys) else replace(link, own=True)


def _route(out: tuple[Step, ...], back: tuple[Step, ...], rtt: int, flow: RouteKeys, access: OwnAccess | None) -> Route:
    # Half of the longer RTT before the shared path and half after it, as an access link would.
    spread = _spread(rtt, flow)
    extra = rtt - spread - _delay((*out, *back)) - (access.keys.rtt if access else 0)
    return Route(out, back, rtt, extra // 2, extra - extra // 2, spread, access)


def _spread(rtt: int, flow: RouteKeys) -> int:
    return round(rtt * flow.rtt_spread)


def _access(flow: RouteKeys, common: Access | None, index: int) -> OwnAccess | None:
    if flow.access is not None:
        return OwnAccess(flow.access, ("flows", index, "access"))
    return OwnAccess(common, ("topology", "access")) if common is not None else None


def _possible(route: Route, index: int) -> None:
    """What the engine would refuse, with the flow it is about."""
    crossed = max(len(route.forward), len(route.reverse)) + (route.rtt > 0) + 2 * (route.access is not None)
    if crossed > MOST_HOPS:
        raise Problem(f"the flow crosses {crossed} links", f"at most {MOST_HOPS} are possible", "flows", index)
    steps = (*route.forward, *route.reverse)
    paced = any(isinstance(step, Air) or (isinstance(step, Link) and step.rate is not None) for step in steps)
    if route.rtt == 0 and not paced:
        raise Problem("nothing on the way takes time", "give a link a rate or a delay", "flows", index)


def _delay(steps: Sequence[Step]) -> int:
    return sum(step.delay if isinstance(step, Link) else step for step in steps if not isinstance(step, Drawn | Air))


def _long_enough(rtt: int, least: int, flow: RouteKeys, index: int) -> None:
    problem = f"the links alone take {DURATION.format(least)} there and back"
    if rtt < least:
        key = ("flows", index, "rtt") if flow.rtt is not None else ("topology", "rtt")
        raise Problem(problem, "give at least that, or shorten their delays", *key)
    if (shortest := rtt - _spread(rtt, flow)) < least:
        problem += f", and an RTT as short as {DURATION.format(shortest)} may be drawn"
        raise Problem(problem, "give a longer rtt, or a smaller spread", "flows", index, "rtt_spread")
