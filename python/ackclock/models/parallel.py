"""Parallel connections: the share of a link without a buffer that N of them use.

The formula is that of Altman et al., INFOCOM 2006; docs/models.md has its assumptions and why it holds whichever
connection is cut.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, get_args

Cut = Literal["uniform", "proportional", "largest", "all"]
"""Who loses when the link overflows: one connection drawn uniformly, one drawn in proportion to its rate, the one
with the largest rate, or all of them."""

CUTS: tuple[Cut, ...] = get_args(Cut)

_SETTLING = 2000
"""Overflows before the measurement begins: far more than equal rates need to spread out."""


def parallel_utilisation(connections: int, keep: float) -> float:
    """Share of the link that parallel AIMD connections use, one of which is cut per overflow (Altman et al., 2006).

    ``1 - 1 / (1 + (1 + keep) / (1 - keep) * connections)``

    Parameters
    ----------
    connections: how many, at least 1.
    keep: what a connection keeps of its rate when it is cut: 0.5 for Reno, 0.7 for CUBIC; from 0 to below 1.
    """
    _check(connections, keep)
    return 1 - 1 / (1 + (1 + keep) / (1 - keep) * connections)


def fluid_utilisation(connections: int, keep: float, cut: Cut, *, overflows: int = 20_000, seed: int = 1) -> float:
    """The same found by simulation: fluid rates of equal slope, no buffer, a cut at each overflow.

    It shares nothing with the formula but the model, so that each checks the other. A seed always gives the same.

    Parameters
    ----------
    connections, keep: as for :func:`parallel_utilisation`.
    cut: who loses.
    overflows: how many are measured.
    seed: of the random draws, and of the rates at the beginning.
    """
    _check(connections, keep)
    draw = random.Random(seed)  # noqa: S311 - a simulation, no secret
    rates = [draw.random() for _ in range(connections)]
    carried = passed = 0.0
    for overflow in range(-_SETTLING, overflows):
        # All grow by one per unit of time until together they have the link, whose rate is 1.
        before = sum(rates)
        time = (1 - before) / connections
        rates = [rate + time for rate in rates]
        if overflow >= 0:
            carried += time * (before + 1) / 2
            passed += time
        for loser in _losers(rates, cut, draw):
            rates[loser] *= keep
    return carried / passed


def _losers(rates: list[float], cut: Cut, draw: random.Random) -> range | list[int]:
    match cut:
        case "all":
            return range(len(rates))
        case "largest":
            return [rates.index(max(rates))]
        case "proportional":
            return draw.choices(range(len(rates)), rates)
        case "uniform":
            return [draw.randrange(len(rates))]


def _check(connections: int, keep: float) -> None:
    if connections < 1:
        raise ValueError(f"connections: {connections} is too few; give 1 or more")
    if not 0 <= keep < 1:
        raise ValueError(f"keep: {keep:g} is out of range; give 0 to below 1")


def fitted_keep(connections: Sequence[int], shares: Sequence[float]) -> float:
    """What connections keep at a cut by the formula that is nearest to these shares of a link, by least squares.

    Parameters
    ----------
    connections, shares: as many of each, at least one.
    """
    if not connections or len(connections) != len(shares):
        raise ValueError(f"{len(connections)} numbers of connections and {len(shares)} shares are no curve")

    def off(keep: float) -> float:
        pairs = zip(connections, shares, strict=True)
        return sum((parallel_utilisation(count, keep) - share) ** 2 for count, share in pairs)

    # A grid for the valley, and golden sections in it.
    best = min((number / _GRID for number in range(_GRID)), key=off)
    low, high = max(0.0, best - 1 / _GRID), min(_MOST_KEPT, best + 1 / _GRID)
    ratio = (5**0.5 - 1) / 2
    while high - low > _FINE:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if off(left) <= off(right):
            high = right
        else:
            low = left
    return (low + high) / 2


_GRID = 200
_FINE = 1e-7
_MOST_KEPT = 1 - 1e-9
