"""Static routes through a network: the cheapest; of those the shortest; of those the first by their nodes' names."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from ackclock.errors import Problem, unknown
from ackclock.scenario.topology.network import Network
from ackclock.scenario.traffic.route import RouteKeys

Nodes = tuple[str, ...]
_MOST_NAMED = 8


class Routes:
    """The routes of one network, each origin's searched for once."""

    def __init__(self, network: Network) -> None:
        self._names = network.names
        self._costs: dict[str, dict[str, int]] = {name: {} for name in self._names}
        for link in network.links:
            for source, target in link.directions:
                self._costs[source][target] = link.cost
        self._from: dict[str, dict[str, Nodes]] = {}

    def of(self, flow: RouteKeys, index: int) -> tuple[Nodes, Nodes]:
        """The nodes on the way out and on the way back of `flow`, group `index`. Raises :class:`Problem`."""
        ends = []
        for key, name in (("from", flow.source), ("to", flow.target)):
            if name is None:
                meaning = {"from": "the node it sends from", "to": "the node it sends to"}[key]
                raise Problem(f"missing key '{key}'", f"add {meaning}", "flows", index, key)
            self._check(name, index, key)
            ends.append(name)
        start, end = ends
        if start == end:
            raise Problem(f"the flow sends from '{start}' to itself", "name another node", "flows", index, "to")
        out = self._through(start, flow.via, end, index, "via", "to")
        return out, self._through(end, flow.via_back, start, index, "via_back", "from")

    def _check(self, name: str, index: int, *key: str | int) -> None:
        if name not in self._costs:
            raise unknown("node", name, self._names, "flows", index, *key)

    def _through(self, start: str, via: Sequence[str], end: str, index: int, key: str, last: str) -> Nodes:
        """The route that passes every node of `via` in turn."""
        for place, name in enumerate(via):
            self._check(name, index, key, place)
        route: Nodes = (start,)
        for place, stop in enumerate((*via, end)):
            leg = self._leg(route[-1], stop)
            if leg is None:
                where = (key, place) if place < len(via) else (last,)
                raise self._unreachable(route[-1], stop, "flows", index, *where)
            route += leg[1:]
        twice = next((name for place, name in enumerate(route) if name in route[:place]), None)
        if twice is not None:
            problem = f"the route passes '{twice}' twice: {', '.join(route)}"
            raise Problem(problem, "name other nodes, or fewer", "flows", index, key)
        return route

    def _leg(self, start: str, end: str) -> Nodes | None:
        """The route from one node to another, if there is one."""
        lead: Nodes = ()
        # A host with a single link has no choice: all hosts of a node share the search from there.
        while start != end and len(self._costs[start]) == 1 and start not in lead:
            lead, (start,) = (*lead, start), self._costs[start]
        found = self._search(start).get(end)
        return None if found is None else lead + found

    def _search(self, origin: str) -> dict[str, Nodes]:
        """The route from `origin` to every node it reaches (Dijkstra 1959)."""
        found = self._from.get(origin)
        if found is not None:
            return found
        found = self._from[origin] = {}
        waiting: list[tuple[int, int, Nodes]] = [(0, 0, (origin,))]
        while waiting:
            cost, hops, route = heapq.heappop(waiting)
            if route[-1] in found:
                continue
            found[route[-1]] = route
            for name, more in self._costs[route[-1]].items():
                if name not in found:
                    heapq.heappush(waiting, (cost + more, hops + 1, (*route, name)))
        return found

    def _unreachable(self, start: str, end: str, *key: str | int) -> Problem:
        reached = [name for name in self._search(start) if name != start]
        if not reached:
            problem = f"no link leads from '{start}', so '{end}' cannot be reached"
            return Problem(problem, f"add a link from '{start}'", *key)
        names = ", ".join(reached[:_MOST_NAMED])
        more = f" and {len(reached) - _MOST_NAMED} more" if len(reached) > _MOST_NAMED else ""
        problem = f"no route from '{start}' to '{end}': it leads to {names}{more}"
        return Problem(problem, "add a link from one of them, or both = true to links that lead the other way", *key)
