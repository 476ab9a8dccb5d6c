"""The metric that is meant by a name that is none: of the same quantity, then of the same statistic and unit."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from ackclock.errors import Problem

_STATISTICS = frozenset({"mean", "p50", "p95", "p99"})
_UNITS = frozenset({"bps", "s", "percent"})

_ALIASES = {
    "throughput": "goodput", "bandwidth": "goodput", "speed": "goodput", "bitrates": "bitrate",
    "latency": "delay", "owd": "delay", "ping": "rtt", "srtt": "rtt",
    "queueing": "queue", "queuing": "queue", "sojourn": "queue", "qdelay": "queue",
    "utilization": "utilisation", "util": "utilisation", "fairness": "jain",
    "retransmission": "retransmitted", "retransmissions": "retransmitted", "retrans": "retransmitted",
    "completion": "fct", "losses": "loss", "dropped": "drops", "drop": "drops", "ecn": "marks", "ce": "marks",
    "timeout": "timeouts", "rto": "timeouts", "rebuffering": "stalled",
    "average": "mean", "avg": "mean", "median": "p50", "90": "p95", "p90": "p95", "p999": "p99", "tail": "p95",
}  # fmt: skip
"""What others call a quantity or a statistic."""

_FEW = ("goodput_bps", "p95_queue_delay_s", "mean_rtt_s", "p95_delay_s", "jain", "loss_percent", "p95_fct_s")
"""Named where nothing is near."""

_TYPO = 0.8  # likeness of words from which one is taken for the other


def unknown(word: str, known: Iterable[str], what: str = "metric") -> Problem:
    """The :class:`Problem` of a metric that does not exist: the nearest in meaning, or where all of them are."""
    near = nearest(word, list(known))
    shown = word if len(word) <= 60 else f"{word[:57]}..."
    if near:
        return Problem(f"unknown {what} '{shown}'", f"did you mean {' or '.join(map(repr, near))}?")
    few = ", ".join(name for name in _FEW if name in known)
    return Problem(f"unknown {what} '{shown}'", f"known: {few}; docs/results.md, Summary, has all")


def nearest(word: str, known: list[str]) -> list[str]:
    """The metrics that fit a name best, two at most; none where no quantity is the same."""
    if word in known:
        return [word]
    of = {name: _parts(name) for name in known}
    quantities = frozenset().union(*of.values()) - _STATISTICS - _UNITS
    asked = {_meant(part, quantities | _STATISTICS | _UNITS) for part in _parts(word)}
    best: dict[float, list[str]] = {}
    for name, parts in of.items():
        own = parts & quantities
        if shared := own & asked:
            # A quantity more than asked for weighs less than the same statistic or unit.
            extras = len((parts & (_STATISTICS | _UNITS)) & asked)
            best.setdefault(9 * len(shared) + 2 * extras - len(own - shared), []).append(name)
    return best[max(best)][:2] if best else []


def _parts(name: str) -> frozenset[str]:
    return frozenset(part for part in re.split(r"[^a-z0-9]+", name.lower()) if part)


def _meant(part: str, parts: frozenset[str]) -> str:
    """The part of a known name that is meant: by another word for it, or with a slip."""
    part = _ALIASES.get(part, part)
    if part in parts:
        return part
    close = difflib.get_close_matches(part, sorted(parts | _ALIASES.keys()), n=1, cutoff=_TYPO)
    return _ALIASES.get(close[0], close[0]) if close else part
