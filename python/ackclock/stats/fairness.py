"""How fairly rates are shared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from ackclock.stats.samples.missing import known, known_pairs, there


def jain(values: Iterable[float | None]) -> float | None:
    """Jain's fairness index, ``(sum x)^2 / (n sum x^2)``: 1 if all are equal, 1/n if one has everything.

    ``None`` if there are no values or all are zero.
    """
    shares = known(values)
    squares = math.fsum(share * share for share in shares)
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares else None


def max_min_shares(
    routes: Sequence[Sequence[Hashable]],
    capacities: Mapping[Hashable, float],
    demands: Sequence[float] | None = None,
) -> list[float]:
    """The max-min fair rate of each flow, by progressive filling (Bertsekas and Gallager, Data Networks, §6.5.2).

    `routes` has the links each flow crosses, `capacities` what each link carries, in any one unit; links that are not
    in it have no limit. `demands` has the most each flow takes, infinite by default. All rates grow together; a flow
    stops when it has what it demands or when a link on its way is full. A flow that nothing limits has an infinite
    share. A capacity or a demand that is missing is refused: without it no other share is known.
    """
    if not all(map(there, (*capacities.values(), *(demands or ())))):
        raise ValueError("a capacity or a demand is missing; write math.inf for what has no limit")
    left = {link: capacity for link, capacity in capacities.items() if capacity < math.inf}
    most = list(demands) if demands is not None else [math.inf] * len(routes)
    # Flows with the same way and demand have the same share: each kind is one that counts as often as there are of it.
    routes = list(routes)  # each is known by its identity while it is here
    ways = {id(route): frozenset(link for link in route if link in left) for route in routes}
    own = [(ways[id(route)], demand) for route, demand in zip(routes, most, strict=True)]
    kinds = Counter(own)
    shares = _shares([way for way, _ in kinds], left, capacities, [demand for _, demand in kinds], list(kinds.values()))
    of_kind = dict(zip(kinds, shares, strict=True))
    return [of_kind[kind] for kind in own]


def _shares(
    ways: Sequence[frozenset[Hashable]],
    left: dict[Hashable, float],
    capacities: Mapping[Hashable, float],
    most: Sequence[float],
    counts: Sequence[int],
) -> list[float]:
    """The share of each kind of flows; `left` is what links have left and is used up."""
    shares = [0.0] * len(ways)
    growing = set(range(len(ways)))
    while growing:
        # Flow by flow, not link by link: with access links there are more links than flows.
        users: Counter[Hashable] = Counter()
        for flow in growing:
            for link in ways[flow]:
                users[link] += counts[flow]
        steps = [left[link] / count for link, count in users.items()]
        steps += [most[flow] - shares[flow] for flow in growing]
        step = max(0.0, min(steps))
        if math.isinf(step):
            for flow in growing:
                shares[flow] = math.inf
            break
        for flow in growing:
            shares[flow] += step
        for link, count in users.items():
            left[link] -= step * count
        full = {link for link in users if left[link] <= 1e-9 * capacities[link]}
        done = {flow for flow in growing if ways[flow] & full or shares[flow] >= most[flow] * (1 - 1e-12)}
        growing -= done
    return shares


def max_min_index(rates: Sequence[float | None], shares: Sequence[float | None]) -> float | None:
    """The worst-off flow's rate as a fraction of its max-min share: 1 is max-min fair, 0 is starvation.

    Above 1 is not possible for all flows at once. ``None`` without flows that have a finite share above zero.
    """
    finite = [None if share == math.inf else share for share in shares]
    return min(
        (rate / share for rate, share in zip(*known_pairs(rates, finite), strict=True) if share > 0), default=None
    )


def proportional_fairness(rates: Iterable[float | None]) -> float | None:
    """``sum ln x``, what proportional fairness maximises (Kelly 1997); minus infinity if a flow got nothing."""
    own = known(rates)
    if not own:
        return None
    return math.fsum(math.log(rate) for rate in own) if min(own) > 0 else -math.inf
