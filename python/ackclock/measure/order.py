"""In which order the tests of a block are made.

A line that becomes slower during a campaign makes whatever comes later look slower. Ascending numbers of connections
would then look as if more of them were worse; a random order for every block makes noise of it, and a Latin square
puts each test at each place equally often (Williams, Experimental designs balanced for the estimation of residual
effects of treatments, 1949).
"""

from __future__ import annotations

import random
from typing import Literal

Order = Literal["shuffled", "ascending", "latin"]


def order(kind: Order, points: int, line: str, repetition: int, seed: int) -> list[int]:
    """The points of one block, in order; the same for the same seed."""
    if kind == "ascending":
        return list(range(points))
    if kind == "shuffled":
        found = list(range(points))
        random.Random(f"{seed} {line} {repetition}").shuffle(found)  # noqa: S311 - to be repeated, not to be secret
        return found
    names = list(range(points))
    random.Random(f"{seed} {line}").shuffle(names)  # noqa: S311
    # 0, 1, n-1, 2, n-2, ...: of an even number each then follows each other one equally often.
    zigzag = [0 if i == 0 else (i + 1) // 2 if i % 2 else points - i // 2 for i in range(points)]
    return [names[(place + repetition) % points] for place in zigzag]
