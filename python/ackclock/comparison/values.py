"""Which metrics are compared, and how: those of each run, as the summary defines them."""

from __future__ import annotations

from collections.abc import Iterable

from ackclock.errors import InputError
from ackclock.results.meaning import unknown
from ackclock.results.single_runs import KNOWN as KNOWN
from ackclock.results.single_runs import RTT as RTT
from ackclock.results.single_runs import Metrics as Metrics
from ackclock.results.single_runs import per_run as per_run

HEADLINE = ("goodput_bps", "p95_queue_delay_s", "jain", "p95_fct_s")
"""The few that are looked at first: throughput, delay, fairness, and the times of transfers where there are some."""

INSTEAD = {"p95_fct_s": "mean_fct_s"}
"""What is looked at where one of these has no value: fewer than twenty transfers have no 95th percentile."""

_AS_RATIOS = ("_bps", "_s", "_slowdown")


def chosen(names: Iterable[str] | None) -> tuple[str, ...]:
    """The metrics to compare: those named, or all. Raises :class:`InputError` for a name that is none."""
    if names is None:
        return KNOWN
    found = tuple(dict.fromkeys(names))
    for name in found:
        if name not in KNOWN:
            problem = unknown(name, KNOWN)
            raise InputError(problem.problem, problem.remedy, key="metric")
    if not found:
        raise InputError("no metric is named", "name one, such as goodput_bps, or leave it out", key="metric")
    return found


def as_ratio(metric: str) -> bool:
    """Whether a metric is compared by ratios: rates, times and slowdowns. Shares, indices and counts are not."""
    return metric.endswith(_AS_RATIOS)
