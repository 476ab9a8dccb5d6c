"""How capacity is shared: max-min fairness, proportional fairness, RTT fairness, friendliness and harm.

Jain's index is a column of the summary (:func:`ackclock.stats.jain`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence


def max_min_shares(
    routes: Sequence[Sequence[Hashable]],
    capacities: Mapping[Hashable, float],
    demands: Sequence[float] | None = None,
) -> list[float]:
    """The max-min fair rate of each flow, by progressive filling (Bertsekas and Gallager, Data Networks, §6.5.2).

    `routes` has the links each flow crosses, `capacities` what each link carries, in any one unit; links that are not
    in it have no limit. `demands` has the most each flow takes, infinite by default. All rates grow together; a flow
    stops when it has what it demands or when a link on its way is full. A flow that nothing limits has an infinite
    share.
    """
    left = dict(capacities)
    most = list(demands) if demands is not None else [math.inf] * len(routes)
    ways = [{link for link in route if link in left} for route in routes]
    shares = [0.0] * len(routes)
    growing = set(range(len(routes)))
    while growing:
        users = {link: sum(link in ways[flow] for flow in growing) for link in left}
        steps = [left[link] / count for link, count in users.items() if count]
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
        full = {link for link, count in users.items() if count and left[link] <= 1e-9 * capacities[link]}
        done = {flow for flow in growing if ways[flow] & full or shares[flow] >= most[flow] * (1 - 1e-12)}
        growing -= done
    return shares


def max_min_index(rates: Sequence[float], shares: Sequence[float]) -> float | None:
    """The worst-off flow's rate as a fraction of its max-min share: 1 is max-min fair, 0 is starvation.

    Above 1 is not possible for all flows at once. ``None`` without flows that have a finite share above zero.
    """
    fractions = [rate / share for rate, share in zip(rates, shares, strict=True) if 0 < share < math.inf]
    return min(fractions, default=None)


def proportional_fairness(rates: Sequence[float]) -> float | None:
    """``sum ln x``, what proportional fairness maximises (Kelly 1997); minus infinity if a flow got nothing."""
    if not rates:
        return None
    return math.fsum(math.log(rate) for rate in rates) if min(rates) > 0 else -math.inf


def rtt_fairness_exponent(short: float, long: float, rtt_short: float, rtt_long: float) -> float | None:
    """``a`` in ``rate ~ RTT^-a``, from two flows: ``ln(short/long) / ln(rtt_long/rtt_short)``.

    Reno has about 1 when both see the same loss rate and 2 when they lose together. ``None`` for equal RTTs or a rate
    of zero.
    """
    if min(short, long, rtt_short, rtt_long) <= 0 or rtt_short == rtt_long:
        return None
    return math.log(short / long) / math.log(rtt_long / rtt_short)


def friendliness(against_new: float, against_itself: float) -> float | None:
    """Rate of standard TCP against the new one over its rate against standard TCP: 1 is friendly, 0 is starvation."""
    return against_new / against_itself if against_itself > 0 else None


def harm(solo: float, together: float, *, more_is_better: bool = True) -> float | None:
    """How much a flow loses to a competitor, 0 to 1 (Ware et al., Beyond Jain's Fairness Index, HotNets 2019).

    `solo` is its metric alone and `together` with the competitor; `more_is_better` is true of a rate, false of a
    delay. A competitor is acceptable if it harms no more than the flow would harm a flow of its own kind.
    """
    base = solo if more_is_better else together
    lost = solo - together if more_is_better else together - solo
    return lost / base if base > 0 else None
