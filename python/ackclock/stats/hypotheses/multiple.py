"""Many tests at once.

S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian J. Statistics 6, 1979; of tests that
cannot all be wrong together: J. P. Shaffer, Modified sequentially rejective multiple test procedures, J. Amer.
Statist. Assoc. 81, 1986.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from ackclock.stats.samples.missing import there


def holm(values: Sequence[float | None], groups: Sequence[Hashable] | None = None) -> list[float | None]:
    """p-values adjusted for their number: all that are below 0.05 hold together, wrong in one or more with 5 %.

    Places without a test (``None`` or nan) are ``None`` and do not count. Tests of the same of `groups` count once: at
    most one of their null hypotheses can be true, as of a difference and of equivalence, or they are the same test.
    """
    known = [float(value) for value in values if value is not None and there(value)]
    if wrong := [value for value in known if not 0 <= value <= 1]:
        raise ValueError(f"a p-value lies between 0 and 1, not at {wrong[0]:g}")
    if groups is not None and len(groups) != len(values):
        raise ValueError(f"{len(values)} p-values have {len(groups)} groups")
    if not known:
        return [None] * len(values)
    each = range(len(values)) if groups is None else groups  # a group of its own is Holm's procedure itself
    adjusted = iter(_in_groups(known, [group for value, group in zip(values, each, strict=True) if there(value)]))
    return [next(adjusted) if there(value) else None for value in values]


def _in_groups(values: Sequence[float], groups: Sequence[Hashable]) -> list[float]:
    """Holm's procedure whose factor is the number of groups that have a test left, the most errors still possible."""
    left = Counter(groups)
    adjusted, largest = [0.0] * len(values), 0.0
    for place in sorted(range(len(values)), key=values.__getitem__):
        largest = max(largest, min(1.0, len(left) * values[place]))
        adjusted[place] = largest
        left[groups[place]] -= 1
        if not left[groups[place]]:
            del left[groups[place]]
    return adjusted
