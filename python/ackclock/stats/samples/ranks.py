"""Whether two lists of numbers are in the same order.

C. Spearman, The proof and measurement of association between two things, American J. Psychology 15, 1904; M. G.
Kendall, A new measure of rank correlation, Biometrika 30, 1938 (τ-b, which allows for ties).
"""

from __future__ import annotations

from collections.abc import Sequence

from ackclock.stats.samples.missing import known_pairs

LEAST = 3
"""Pairs that an order needs: of two it is right or wrong by a coin."""


def spearman(a: Sequence[float | None], b: Sequence[float | None]) -> float | None:
    """Spearman's ρ: 1 in the same order, -1 in the opposite. ``None`` of too few pairs, or if a list is constant."""
    x, y = known_pairs(a, b)
    if not _ordered(x, y):
        return None
    from scipy import stats

    return float(stats.spearmanr(x, y).statistic)


def kendall(a: Sequence[float | None], b: Sequence[float | None]) -> float | None:
    """Kendall's τ-b: pairs in the same order less those in the opposite one, per pair. ``None`` as for ρ."""
    x, y = known_pairs(a, b)
    if not _ordered(x, y):
        return None
    from scipy import stats

    return float(stats.kendalltau(x, y).statistic)


def _ordered(a: Sequence[float], b: Sequence[float]) -> bool:
    return len(a) >= LEAST and len(set(a)) > 1 and len(set(b)) > 1
