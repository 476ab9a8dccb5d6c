"""Who is told from whom, and ranks that are shared by those who are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ackclock.stats import Pairwise

State = Literal["sampled", "repeated", "single"]

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Told:
    """The scores of candidates: what separates them, and of whom all replications are the same run."""

    pairs: Pairwise
    means: Array
    repeated: Sequence[bool]
    names: Sequence[str]

    @property
    def state(self) -> State:
        """Whether there is anything to tell by."""
        return "single" if self.pairs.n < 2 else "repeated" if all(self.repeated) else "sampled"

    def shown(self, pairs: Pairwise, i: int, j: int) -> bool:
        """Whether i and j are shown to differ.

        Nothing is drawn of two that are repeated: their values are all there is to know.
        """
        if self.repeated[i] and self.repeated[j] and self.state != "single":
            return bool(pairs.value[i, j] != 0)
        return pairs.apart(i, j)

    def ends(self, pairs: Pairwise, i: int, j: int) -> tuple[float, float] | None:
        """The interval of i less j: of two that are repeated the value itself, ``None`` without one."""
        if self.repeated[i] and self.repeated[j] and self.state != "single":
            return float(pairs.value[i, j]), float(pairs.value[i, j])
        return pairs.ends(i, j)

    def order(self) -> list[int]:
        """The candidates from the best to the worst; equal ones by name."""
        return sorted(range(len(self.names)), key=lambda i: (-self.means[i], self.names[i]))

    def ranks(self) -> list[int]:
        """Ranks: those that are not told from the best share its rank; of the rest, the same again.

        Of a single replication nothing can be told: the ranks are the order as it came.
        """
        left, found = self.order(), [0] * len(self.names)
        if self.state == "single":
            for place, i in enumerate(left):
                found[i] = place + 1
            return found
        done = 0
        while left:
            group = [i for i in left if i == left[0] or not self.shown(self.pairs, i, left[0])]
            for i in group:
                found[i] = done + 1
            done += len(group)
            left = [i for i in left if i not in group]
        return found
