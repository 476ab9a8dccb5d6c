"""What counts as a value: the one rule for what is missing or infinite (docs/statistics.md, Missing values)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeGuard


def known(values: Iterable[float | None]) -> list[float]:
    """The values that are there, without ``None`` and nan. Raises :class:`ValueError` for an infinite one."""
    found = [float(value) for value in values if there(value)]
    _finite(found)
    return found


def known_pairs(a: Iterable[float | None], b: Iterable[float | None]) -> tuple[list[float], list[float]]:
    """The pairs of which both values are there. Raises :class:`ValueError` as :func:`known`, or for unequal lengths."""
    a, b = list(a), list(b)
    if len(a) != len(b):
        raise ValueError(f"{len(a)} values cannot be paired with {len(b)}")
    pairs = [(float(x), float(y)) for x, y in zip(a, b, strict=True) if there(x) and there(y)]
    first, second = [x for x, _ in pairs], [y for _, y in pairs]
    _finite(first)
    _finite(second)
    return first, second


def series(values: Iterable[float | None], what: str = "series") -> list[float]:
    """Values whose places matter, so that none can be left out: raises :class:`ValueError` if one is missing."""
    own = list(values)
    for place, value in enumerate(own):
        if not there(value):
            raise ValueError(f"no value at {place} of the {what}: it needs every one; cut it where values are missing")
    return known(own)


def there(value: float | None) -> TypeGuard[float]:
    """Whether there is a value: neither ``None`` nor nan."""
    return value is not None and not math.isnan(value)


def check_level(level: float) -> None:
    """Refuse a level of confidence that is none, such as 95."""
    if not 0 < level < 1:
        raise ValueError(f"a level lies above 0 and below 1, as 0.95 does, not at {level}")


def _finite(values: Sequence[float]) -> None:
    if not all(map(math.isfinite, values)):
        raise ValueError(
            "an infinite value has no mean and is not missing either: leave it out, or give a time that never came "
            "as censored (median_time)"
        )
