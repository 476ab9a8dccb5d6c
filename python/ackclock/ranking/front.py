"""The front of a trade-off: who is shown to be dominated, who is shown to be on it, and of whom neither is shown.

That a loss is not shown does not show that there is none. A candidate dominates another if it is shown to be better on
some axis and, on every other, shown to be no worse than by a margin (non-inferiority: G. Piaggio et al., Reporting of
noninferiority and equivalence randomized trials, JAMA 308, 2012). Besides, what it gains has to be more than what it
loses, in margins and by the means: the relation then has no cycle, so that somebody is always left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.ranking.measures import Compared
from ackclock.ranking.standing import Told

MARGIN = 0.02
"""A loss that a gain elsewhere may come with: a share of a rate or a time, or so much of an index from 0 to 1."""

Axis = tuple[Compared, bool]
"""A metric, and whether more of it is better."""


@dataclass(frozen=True, slots=True)
class Front:
    """Of each candidate whether it is on the front, ``None`` where that is not shown; and by whom it is dominated."""

    on: tuple[bool | None, ...]
    dominated_by: tuple[tuple[int, ...], ...]


def front(told: Told, axes: Sequence[Axis]) -> Front | None:
    """Who is on the front of these axes; ``None`` where there is no trade-off, or nothing can be told.

    A candidate is on it if it is not dominated and is shown to be better than each other one on some axis, or to be
    the same on all: nothing is drawn of two whose replications are all one run, so that equal values are equal.
    """
    if told.state == "single" or len(axes) < 2:
        return None
    count = len(told.names)
    low = np.stack([_ends(told, item, up=up) for item, up in axes])
    margins = np.array([margin(item) for item, _ in axes])
    gains = sum(
        (1 if up else -1) * item.means / size if size else np.zeros(count)
        for (item, up), size in zip(axes, margins, strict=True)
    )
    better: Any = low > 0
    bearable: Any = better | (low >= -margins[:, None, None])
    beats = better.any(axis=0) & bearable.all(axis=0) & (np.subtract.outer(gains, gains) > 0)
    same: Any = (low == 0).all(axis=0)  # of what is drawn the lower end of an interval around no difference is below it
    ahead: Any = better.any(axis=0) | (same & same.T)
    np.fill_diagonal(ahead, val=True)
    free = ~beats.any(axis=0)
    by = tuple(
        tuple(sorted((j for j in range(count) if beats[j, i]), key=lambda j: (not free[j], told.order().index(j))))
        for i in range(count)
    )
    return Front(tuple(None if free[i] and not ahead[i].all() else bool(free[i]) for i in range(count)), by)


def margin(item: Compared) -> float:
    """The :data:`MARGIN` in what is compared: logarithms, an index, or a share of the largest mean."""
    if item.ratio:
        return float(np.log1p(MARGIN))
    largest = float(np.abs(item.means).max())
    return MARGIN if item.index else MARGIN * largest


def _ends(told: Told, item: Compared, *, up: bool) -> Any:
    """By how much each candidate is at least better than each other one: the lower ends of the intervals."""
    count = len(told.names)
    found = np.full((count, count), -np.inf)
    for i, j in np.ndindex(count, count):
        ends = told.ends(item.pairs, i, j)
        if i != j and ends is not None:
            found[i, j] = ends[0] if up else -ends[1]
    return found
