"""What a metric or a swept key is called on an axis, and the unit with the prefix that suits its values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ackclock.drawing.chart import Scale
from ackclock.results.bounds import bounds as bounds
from ackclock.results.bounds import is_share as is_share

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_SMALL = 1.0  # prefixes below this are for seconds alone: there are no millibits
# The unit that a name ends with, and how it is written.
_UNITS = {
    "bps": "bit/s",
    "s": "s",
    "bytes": "B",
    "percent": "%",
    "bdp": "BDP",
    "packets": "packets",
    "segments": "segments",
    "fraction": "",
}
_PREFIXED = frozenset({"bit/s", "s", "B"})
_WORDS = {
    "rtt": "RTT",
    "fct": "FCT",
    "plt": "page load time",
    "cwnd": "cwnd",
    "srtt": "smoothed RTT",
    "jain": "Jain's index",
    "p50": "median",
}
_TOGETHER = (
    (" l queue delay", " low-latency queueing delay"),
    ("queue delay", "queueing delay"),
    ("path RTT", "path RTT"),
    ("queue kind", "queue"),
    ("app connections", "connections per page"),
    ("app page", "page"),
    ("goodput share", "share of the goodput"),
)
_ONE_WAY = frozenset(f"{statistic} delay" for statistic in ("mean", "median", "p95", "p99"))
_PARENTS = frozenset({"topology", "flows", "run", "tcp"})
_ALWAYS_FROM_ZERO = (
    0.5  # of the largest value: smaller ones than this are compared with nothing, larger among themselves
)

_MANY_DECADES = 1e3
_DECADES = 100.0
"""Between the smallest and the largest value of an axis that is logarithmic by itself."""
_UNEVEN = 4.0
"""Of two distances between neighbours on an x axis: farther apart, and logarithms show all of them."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A name in words and its unit, without a prefix; empty if it has none."""

    name: str
    unit: str

    def scaled(self, values: Iterable[float]) -> tuple[float, str]:
        """What to multiply values by to draw them, and the label of their axis."""
        if self.unit not in _PREFIXED:
            return 1.0, f"{self.name} ({self.unit})" if self.unit else self.name
        known = sorted(abs(value) for value in values if math.isfinite(value) and value)
        largest = known[-1] if known else 0.0
        if known and known[-1] / known[0] >= _MANY_DECADES:
            largest = math.sqrt(known[-1] * known[0])  # or half of them would be 0.0001 of a unit
        least = 0.0 if self.unit == "s" else _SMALL
        fitting = [each for each in _PREFIXES if each[0] >= least and each[0] <= (1.0 if self.unit == "s" else 1e12)]
        size, prefix = next((each for each in fitting if largest >= each[0] * 0.9995), fitting[-1])
        if largest == 0.0:
            size, prefix = 1.0, ""
        return 1 / size, f"{self.name} ({prefix}{self.unit})"


def of(name: str) -> Quantity:
    """What a metric, a series or a column of a swept key is: ``p95_queue_delay_s`` is "p95 queueing delay" in s."""
    parts = name.split(".")
    while len(parts) > 1 and (parts[0] in _PARENTS or parts[0].isdecimal()):
        del parts[0]
    words = "_".join(parts).split("_")
    unit = ""
    if len(words) > 1 and words[-1] in _UNITS:
        unit = _UNITS[words.pop()]
    text = " ".join(_WORDS.get(word, word) for word in words)
    for found, better in _TOGETHER:
        text = text.replace(found, better)
    if text in _ONE_WAY:
        text = text.replace("delay", "one-way delay")
    return Quantity(text, unit)


def is_ratio(metric: str) -> bool:
    """Whether a metric is compared by ratios: rates, times and slowdowns. Shares, indices and counts are not."""
    return metric.endswith(("_bps", "_s", "slowdown"))


def positions(values: Sequence[float], label: str) -> Scale:
    """The x axis of swept values: logarithmic where they are too uneven for another."""
    known = sorted({value for value in values if math.isfinite(value)})
    if len(known) < 3 or known[0] <= 0:
        return Scale(label)
    gaps = [b - a for a, b in itertools.pairwise(known)]
    log = known[-1] / known[0] >= 8 and max(gaps) > _UNEVEN * min(gaps)
    return Scale(label, log=log)


def heights(values: Iterable[float], label: str, *, log: bool | None = None) -> Scale:
    """The y axis of measured values: logarithmic over decades, otherwise from zero if that does not squash them."""
    known = [value for value in values if math.isfinite(value)]
    positive = [value for value in known if value > 0]
    over_decades = bool(positive) and min(known) >= 0 and max(positive) / min(positive) >= _DECADES
    if over_decades if log is None else log:
        return Scale(label, log=True)
    from_zero = bool(known) and min(known) >= 0 and min(known) <= _ALWAYS_FROM_ZERO * max(known)
    return Scale(label, low=0.0 if from_zero else None)
