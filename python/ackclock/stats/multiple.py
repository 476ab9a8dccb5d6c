"""Many tests at once.

S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian J. Statistics 6, 1979.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(values: Sequence[float | None]) -> list[float | None]:
    """p-values adjusted for their number: all that are below 0.05 hold together, wrong in one or more with 5 %.

    Places without a test (``None``) stay as they are and do not count.
    """
    known = [value for value in values if value is not None]
    if not known:
        return list(values)
    from statsmodels.stats.multitest import multipletests

    adjusted = iter(multipletests(known, method="holm")[1].tolist())
    return [None if value is None else float(next(adjusted)) for value in values]
