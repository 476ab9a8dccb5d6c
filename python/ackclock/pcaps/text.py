"""Groups of captures in words: a row for each, and lines of what one gains against another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ackclock.pcaps.groups import RATIOS, Gain, Group, Groups
from ackclock.results import captured
from ackclock.results.text import number
from ackclock.stats import Estimate, Interval

_COLUMNS = (
    ("goodput_bps", "goodput\nMbit/s", 1e-6),
    ("mean_rtt_s", "RTT\nms", 1e3),
    ("mean_fct_s", "FCT\ns", 1.0),
    ("retransmitted_percent", "sent again\n%", 1.0),
    ("dup_ack_percent", "dup ACKs\n%", 1.0),
    ("reordered_percent", "out of order\n%", 1.0),
)
_LARGE = 999.5
"""From here on three digits would be written with a power of ten."""

_SAID = {
    "goodput_bps": "goodput",
    "mean_fct_s": "completion time",
    "mean_rtt_s": "RTT",
    "retransmitted_percent": "sent again",
    "dup_ack_percent": "duplicate ACKs",
    "reordered_percent": "out of order",
}


def table(found: Groups) -> list[list[str]]:
    """The header, and a row for each group. Cells may have several lines."""
    there = [column for column in _COLUMNS if any(column[0] in group.metrics for group in found.groups)]
    header = ["label", "captures", *(title for _, title, _ in there), "seen from"]
    factors = [(name, factor) for name, _, factor in there]
    return [header, *(_row(group, factors) for group in found.groups)]


def _row(group: Group, columns: Sequence[tuple[str, float]]) -> list[str]:
    cells = [_cell(group.metrics.get(name), factor) for name, factor in columns]
    return [group.label, str(group.captures), *cells, group.vantage]


def _cell(value: Interval | None, factor: float) -> str:
    if value is None or value.value is None:
        return "-"
    half = None if value.low is None else value.value - value.low
    return number(Estimate(value.value, half, value.n), factor, 2).replace(" ± ", "\n± ")


def gains(gain: Gain, vantage: str) -> Iterator[str]:
    """A line for each metric."""
    widest = max(map(len, _SAID.values()))
    for name, word in _SAID.items():
        if (own := gain.metrics.get(name)) is None or own.value is None:
            continue
        factor, unit = (100.0, " %") if name in RATIOS else (1.0, " points")
        ends = (
            ""
            if own.low is None or own.high is None
            else f" ({_signed(factor * own.low)} to {_signed(factor * own.high)})"
        )
        seen = f", seen from the {vantage}" if name in captured.LOSSES else ""
        yield f"{word:<{widest}}  {_signed(factor * own.value)}{unit}{ends}{seen}"


def _signed(value: float) -> str:
    """Three digits, without powers of ten: +413, -2790."""
    return f"{value:+.3g}" if abs(value) < _LARGE else f"{float(f'{value:.3g}'):+.0f}"
