"""Metrics, shares and points as people say them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ackclock.comparison.pairing import Params, worded
from ackclock.comparison.text import unit

_NAMES = {
    "goodput_bps": "goodput",
    "total_goodput_bps": "total goodput",
    "utilisation": "utilisation",
    "jain": "Jain's index",
    "loss_percent": "loss",
    "mean_rtt_s": "mean RTT",
    "mean_queue_delay_s": "mean queueing delay",
}
_ENDS = {
    "_queue_delay_s": "queueing delay",
    "_l_queue_delay_s": "low-latency queueing delay",
    "_fct_s": "completion time",
    "_delay_s": "one-way delay",
    "_slowdown": "slowdown",
}
_TELLS = 20  # a value that is less of half its interval than one in so many is nothing beside it
_MOST = 3  # digits of a value that has so many
_NICE = 1.5e-4  # of a ratio: less is said to be equal

Ends = tuple[float, float] | None
"""An interval of a ratio."""


def metric(name: str) -> str:
    """What a metric is called."""
    if name in _NAMES:
        return _NAMES[name]
    start, _, _ = name.partition("_")
    end = next((words for end, words in _ENDS.items() if name == start + end), None)
    return name if end is None else f"{start} {end}"


def plain(value: float, name: str) -> str:
    """A value of a metric in the unit of its column: four digits."""
    return f"{value * unit(name)[1]:.4g}"


def change(ratio: float, ends: Ends = None, *, times: bool = False, sign: bool = True) -> str:
    """How far a ratio is from 1: ``+3.1 %``, or with `times` ``× 12``; rounded by its interval to two digits of that.

    What is nothing there is ``0.00 %``. Without an interval two digits or so.
    """
    if times:
        return f"× {_ratio(ratio, _places(ratio, ends, 3))}"
    share, own = 100 * (ratio - 1), None if ends is None else (100 * (ends[0] - 1), 100 * (ends[1] - 1))
    if own is None and abs(ratio - 1) <= _NICE:
        return "0 %"
    return f"{_fixed(share, _places(share, own, 2), sign=sign)} %"


def span(ratio: float, ends: Ends, *, times: bool = False) -> str:
    """The interval of a ratio, with as many decimals as that has: ``+1.22 to +5.03 %``."""
    if ends is None:
        return ""
    if times:
        places = _places(ratio, ends, 3)
        return f"× {_ratio(ends[0], places)} to {_ratio(ends[1], places)}"
    share, low, high = (100 * (each - 1) for each in (ratio, *ends))
    places = _places(share, (low, high), 2)
    return f"{_fixed(low, places, sign=True)} to {_fixed(high, places, sign=True)} %"


def large(ratio: float) -> bool:
    """Whether a ratio is said as one, and not in percent: more than tenfold, or less than a tenth."""
    return not 0.1 <= ratio <= 10


def unshown(ratio: float, ends: Ends) -> str:
    """``less than 0.01 %`` where a difference is nothing with as many decimals as its interval has; else empty."""
    own = None if ends is None else (100 * (ends[0] - 1), 100 * (ends[1] - 1))
    places = 2 if own is None else _places(100 * (ratio - 1), own, 2)
    return "" if round(100 * (ratio - 1), places) else f"less than {10.0**-places:.{places}f} %"


def _places(value: float, ends: Ends, significant: int) -> int:
    """Decimals that show two digits of half an interval, and nearly so of the value where it is anything beside that.

    No more than three digits of the value. Without an interval so many digits of it, none from 10 on.
    """
    half = 0.0 if ends is None else max(abs(value - end) for end in ends)
    if half and math.isfinite(half):
        own = _decimals(half, 2)
        own = own + 1 if abs(value) >= half / _TELLS and _decimals(value, 2) > own else own
        # However narrow the interval: digits after the third tell nobody anything.
        return min(own, _decimals(value, _MOST)) if value else own
    return 0 if abs(value) >= 10 else _decimals(value, significant)


def _decimals(value: float, significant: int) -> int:
    if value == 0 or not math.isfinite(value):
        return 0
    return max(0, significant - 1 - math.floor(math.log10(abs(value))))


def _ratio(value: float, places: int) -> str:
    """A ratio with so many decimals, or with more until it has two digits: none is nothing."""
    return _fixed(value, max(places, _decimals(value, 2)) if 0 < value < 1 else places)


def _fixed(value: float, places: int, *, sign: bool = False) -> str:
    """A number with so many decimals; what is nothing then has no sign."""
    rounded = round(value, places)
    return f"{rounded:{'+' if sign and rounded else ''}.{places}f}" if rounded else f"{0:.{places}f}"


def point(params: Params) -> str:
    """A point by the last parts of its keys: ``rtt 20 ms, limit 1 BDP``."""
    return ", ".join(f"{key.rpartition('.')[2]} {worded(value)}" for key, value in params.items())


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence; of none ``none``."""
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
