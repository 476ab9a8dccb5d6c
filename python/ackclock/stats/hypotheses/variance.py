"""Tests that compare variances: whether groups differ by more than their members do, whether a curve fits means."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """An F statistic, its degrees of freedom, and how likely one as large is if the hypothesis holds."""

    f: float
    between: int
    within: int
    p: float


def one_way(groups: Sequence[Sequence[float]]) -> Ratio:
    """Analysis of variance: whether the groups have one mean.

    Parameters
    ----------
    groups: at least two with a value each, and one with two.
    """
    values = [value for group in groups for value in group]
    whole = statistics.fmean(values)
    means = [statistics.fmean(group) for group in groups]
    return _ratio([len(group) * (mean - whole) ** 2 for group, mean in zip(groups, means, strict=True)], groups, 1)


def lack_of_fit(groups: Sequence[Sequence[float]], fitted: Sequence[float], parameters: int) -> Ratio:
    """Whether means are farther from a curve than their replicates explain (Draper and Smith, Applied Regression, 2.1).

    Parameters
    ----------
    groups: replicates at each place; more places than parameters, and one of them with two.
    fitted: what the curve has there.
    parameters: of the curve, that were fitted.
    """
    means = [statistics.fmean(group) for group in groups]
    squares = [len(group) * (mean - at) ** 2 for group, mean, at in zip(groups, means, fitted, strict=True)]
    return _ratio(squares, groups, parameters)


def _ratio(squares: Sequence[float], groups: Sequence[Sequence[float]], parameters: int) -> Ratio:
    from scipy.special import fdtrc

    between = len(groups) - parameters
    within = sum(len(group) - 1 for group in groups)
    if between < 1 or within < 1:
        raise ValueError(f"{len(groups)} groups with {within} replicates are too few for {parameters} parameters")
    noise = sum((value - statistics.fmean(group)) ** 2 for group in groups for value in group) / within
    signal = sum(squares) / between
    f = signal / noise if noise else (float("inf") if signal else 0.0)
    return Ratio(f, between, within, float(fdtrc(between, within, f)))
