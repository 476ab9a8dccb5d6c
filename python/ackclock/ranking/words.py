"""Metrics, shares and points as people say them."""

from __future__ import annotations

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
    "_fct_s": "completion time",
    "_delay_s": "one-way delay",
    "_slowdown": "slowdown",
}
_NICE = 1.5e-4  # of a ratio: less is said to be equal


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


def percent(ratio: float, *, sign: bool = True) -> str:
    """How far a ratio is from 1: ``+3.1 %``; more than tenfold as ``× 12``."""
    if not 0.1 <= ratio <= 10:
        return f"× {ratio:.2g}"
    share = 100 * (ratio - 1)
    digits = 0 if abs(share) >= 10 else 1 if abs(share) >= 0.95 else 2
    text = f"{share:{'+' if sign else ''}.{digits}f} %"
    return text if abs(ratio - 1) > _NICE else "0 %"


def span(low: float | None, high: float | None) -> str:
    """The ends of an interval of a ratio: ``+1.2 to +5.0 %``."""
    if low is None or high is None:
        return ""
    if low < 0.1 or high > 10:
        return f"× {low:.2g} to {high:.2g}"
    least, most = percent(low), percent(high)
    return f"{least.removesuffix(' %')} to {most}"


def point(params: Params) -> str:
    """A point by the last parts of its keys: ``rtt 20 ms, limit 1 BDP``."""
    return ", ".join(f"{key.rpartition('.')[2]} {worded(value)}" for key, value in params.items())


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
