"""Groups of captures as a terminal shows them: a row each, and below it what one gains against the other."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from ackclock.cli import console
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
_SAID = {
    "goodput_bps": "goodput",
    "mean_fct_s": "completion time",
    "mean_rtt_s": "RTT",
    "retransmitted_percent": "sent again",
    "dup_ack_percent": "duplicate ACKs",
    "reordered_percent": "out of order",
}


def show(out: Console, found: Groups) -> None:
    """Print groups, gains and what weakens them."""
    there = [column for column in _COLUMNS if any(column[0] in group.metrics for group in found.groups)]
    header = ["label", "captures", *(title for _, title, _ in there), "seen from"]
    rows = [[header[0], header[1], *header[2:]], *(_row(group, [(name, factor) for name, _, factor in there])
                                                   for group in found.groups)]  # fmt: skip
    out.print()
    least = [header.index(title) for title in ("FCT\ns", "out of order\n%", "RTT\nms") if title in header]
    sides: list[console.Justify] = ["left", *["right"] * (len(header) - 2), "left"]  # type: ignore[list-item]
    console.print_table(out, rows, sides, least=least, squeeze=True)
    if len(found.weights) > 1:
        shares = ", ".join(f"{name} {100 * share:.3g} %" for name, share in found.weights.items())
        console.say(out, f"weighted: {shares}")
    where = {group.label: group.vantage for group in found.groups}
    for gain in found.gains:
        console.say(out, f"\n{gain.label} against {gain.base}")
        for line in _gains(gain, where[gain.label]):
            console.say(out, f"  {line}")
    for note in found.notes:
        console.say(out, f"note: {note}")


def _row(group: Group, columns: list[tuple[str, float]]) -> list[str]:
    cells = [_cell(group.metrics.get(name), factor) for name, factor in columns]
    return [group.label, str(group.captures), *cells, group.vantage]


def _cell(value: Interval | None, factor: float) -> str:
    if value is None or value.value is None:
        return "-"
    half = None if value.low is None else value.value - value.low
    return number(Estimate(value.value, half, value.n), factor, 2).replace(" ± ", "\n± ")


def _gains(gain: Gain, vantage: str) -> Iterator[str]:
    widest = max(map(len, _SAID.values()))
    for name, word in _SAID.items():
        if (own := gain.metrics.get(name)) is None or own.value is None:
            continue
        factor, unit = (100.0, " %") if name in RATIOS else (1.0, " points")
        ends = "" if own.low is None or own.high is None else f" ({factor * own.low:+.3g} to {factor * own.high:+.3g})"
        seen = f", seen from the {vantage}" if name in captured.LOSSES else ""
        yield f"{word:<{widest}}  {factor * own.value:+.3g}{unit}{ends}{seen}"
