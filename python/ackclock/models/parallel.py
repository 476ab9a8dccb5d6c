"""Parallel connections: the share of a link without a buffer that N of them use.

The formula is that of Altman et al., INFOCOM 2006; docs/models.md has its assumptions and why it holds whichever
connection is cut. The fluid of CUBIC has the growth of RFC 9438 §4.2 in place of the straight line.
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


def cubic_fluid_utilisation(
    connections: int, cut: Cut, *, keep: float = 0.7, overflows: int = 20_000, seed: int = 1
) -> float:
    """Share of the link that fluid CUBIC connections use, without a buffer, with a cut at each overflow.

    A connection that was cut at the rate m grows as ``m + C (t - K)^3`` with ``C K^3 = (1 - keep) m`` (RFC 9438 §4.2).
    C is the unit of time and does not matter. Neither the Reno-friendly region nor fast convergence is modelled. One
    connection uses ``1 - (1 - keep) / 4``, and so do any number that are all cut.

    Parameters
    ----------
    connections: how many, at least 1.
    cut: who loses.
    keep: what a connection keeps of its rate when it is cut; from 0 to below 1.
    overflows: how many are measured.
    seed: of the random draws, and of the rates at the beginning.
    """
    _check(connections, keep)
    draw = random.Random(seed)  # noqa: S311 - a simulation, no secret
    drawn = [draw.random() for _ in range(connections)]
    most = [rate / sum(drawn) for rate in drawn]  # the rates at the last cut
    phase = [_to_most(rate, keep) for rate in most]  # t - K
    carried = passed = 0.0
    for overflow in range(-_SETTLING, overflows):
        # The sum of the rates after a time t is N t^3 + 3 a t^2 + 3 b t + c.
        a = sum(phase)
        b = sum(before * before for before in phase)
        c = sum(before**3 for before in phase) + sum(most)
        time = _until_full(connections, a, b, c)
        if overflow >= 0:
            carried += time * (c + time * (1.5 * b + time * (a + time * connections / 4)))
            passed += time
        phase = [before + time for before in phase]
        rates = [rate + after**3 for rate, after in zip(most, phase, strict=True)]
        for loser in _losers(rates, cut, draw):
            most[loser] = rates[loser]
            phase[loser] = _to_most(rates[loser], keep)
    return carried / passed


def _to_most(rate: float, keep: float) -> float:
    """The phase t - K of a connection that was cut just now."""
    return -float(((1 - keep) * rate) ** (1 / 3))


def _until_full(connections: int, a: float, b: float, c: float) -> float:
    """The time until the rates, which only grow, have the whole link."""
    low, high = 0.0, 1.0
    while connections * high**3 + 3 * a * high**2 + 3 * b * high + c < 1:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if connections * middle**3 + 3 * a * middle**2 + 3 * b * middle + c < 1:
            low = middle
        else:
            high = middle
    return (low + high) / 2


_HALVINGS = 50


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
