"""How capacity is shared: max-min fairness, proportional fairness, RTT fairness, friendliness and harm.

Jain's index and the max-min shares are those of the summary (:mod:`ackclock.stats`).
"""

from __future__ import annotations

import math

from ackclock.stats import max_min_index, max_min_shares, proportional_fairness

__all__ = [
    "friendliness",
    "harm",
    "max_min_index",
    "max_min_shares",
    "proportional_fairness",
    "rtt_fairness_exponent",
]


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
