"""Whether values vary at all: of those that do not, nothing is known of how far another one may lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NOISE = 1e-12
"""Differences below this share of the values are rounding."""


def constant(values: Sequence[float] | Any, *, ratio: bool = False) -> bool:
    """Whether values differ by no more than rounding: a t test would divide by a spread that is not there.

    With `ratio` they are logarithms, whose differences are relative ones.
    """
    low, high = float(min(values)), float(max(values))
    return high - low <= NOISE * (1.0 if ratio else max(abs(low), abs(high)))
