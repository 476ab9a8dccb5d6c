"""What is shown of a candidate at single points of a sweep: where it is worst, and whether it leads at every one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.comparison.pairing import Params
from ackclock.ranking.cells import Cells
from ackclock.ranking.standing import Told
from ackclock.stats import Pairwise, pairwise, t_quantile

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Worst:
    """The point at which a candidate's score is the least share of what it is compared with there."""

    params: Params
    against: str
    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Lead:
    """What is shown of the first candidate at single points.

    `everywhere` says whether it is shown to be ahead of every other at every point; `behind` is where it is shown to be
    behind another, that of the interval that ends the furthest below; `nearest` is where its mean is the least share of
    another's, whatever is shown of that.
    """

    name: str
    everywhere: bool
    behind: Worst | None
    nearest: Worst


class Points:
    """The scores at each point: draws by points by candidates.

    Intervals hold for all pairs of candidates at all points together, as what is spoken of is chosen among these.
    """

    def __init__(self, cells: Cells, own: Array, told: Told, level: float) -> None:
        self.cells, self.own, self.told, self.level = cells, own, told, level
        self._means = own.mean(axis=0)
        self._known: dict[int, Pairwise] = {}

    def worst(self, i: int, reference: int) -> Worst:
        """The worst point of a candidate: against the reference, and of that against the best of the others there."""
        others = [j for j in range(len(self.cells.candidates)) if j != i] if i == reference else [reference]
        gaps = self._means[:, [i]] - self._means[:, others]
        point, place = map(int, np.unravel_index(np.argmin(gaps), gaps.shape))
        return self._at(point, i, others[place])

    def lead(self) -> Lead:
        """Of the candidate that comes first."""
        first, *others = self.told.order()
        least, most = self._bounds(first, others)
        everywhere = bool((least > 0).all()) and all(
            self._ends(int(point), first, other)[0] > 0 for point in np.argsort(least.min(axis=1)) for other in others
        )
        behind = [
            (high, int(point), others[place])
            for point, place in np.argwhere(most < 0)
            if (high := self._ends(int(point), first, others[place])[1]) < 0
        ]
        where = None if not behind else self._at(min(behind)[1], first, min(behind)[2])
        return Lead(self.cells.candidates[first], everywhere, where, self.worst(first, first))

    def _bounds(self, i: int, others: list[int]) -> tuple[Array, Array]:
        """Ends by points and others that are not further out than the intervals': what is not shown by these is not."""
        differences = self.own[:, :, [i]] - self.own[:, :, others]
        if self.told.state != "sampled":
            return differences.mean(axis=0), differences.mean(axis=0)
        n, points, count = self.own.shape
        chance = (1 - self.level) / points
        quantile = t_quantile(1 - chance / (count * (count - 1)), n - 1)
        half = quantile * differences.std(axis=0, ddof=1) / math.sqrt(n) * (1 - 1e-9)
        return differences.mean(axis=0) - half, differences.mean(axis=0) + half

    def _at(self, point: int, i: int, other: int) -> Worst:
        ends = self._ends(point, i, other) if self.told.state == "sampled" else (-math.inf, math.inf)
        low, high = (float(np.exp(end)) if math.isfinite(end) else None for end in ends)
        ratio = float(np.exp(self._means[point, i] - self._means[point, other]))
        return Worst(self.cells.points[point], self.cells.candidates[other], ratio, low, high)

    def _ends(self, point: int, i: int, other: int) -> tuple[float, float]:
        """The interval of a difference at a point; without one all is possible. Of what is not drawn, the value."""
        if self.told.state != "sampled":
            gap = float(self._means[point, i] - self._means[point, other])
            return gap, gap
        if point not in self._known:
            self._known[point] = pairwise(self.own[:, point, :], level=1 - (1 - self.level) / self.own.shape[1])
        return self._known[point].ends(i, other) or (-math.inf, math.inf)
