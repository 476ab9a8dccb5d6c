"""What the claims of the study of high-speed controllers are judged with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ackclock.stats import median_time
from ackclock.study import Interval, Measure, Results, Runs, Verdict, labelled, mean_interval, whichever

from .measures import censored, convergence, short_over_long

STANDARD = "reno"
NEW = ("highspeed", "scalable", "bic", "fast", "htcp")

CC, RTT, QUEUE, SECOND_RTT = "flows.1.cc", "topology.rtt", "topology.queue.limit", "flows.1.rtt"

STARTS = {"together": "both within 1 s", "offset": "both within 5 s", "late": "the second after 60 s to 90 s"}
"""Scenarios of figure 3, which differ in what the paper does not say."""

_ORDER = {"fail": 0, "inconclusive": 1, "pass": 2}


def queues(runs: Runs, least_share: float) -> list[str]:
    """The queues of figure 1 of at least such a share of the BDP."""
    return [str(step) for step in runs.steps(QUEUE) if share(step) >= least_share]


def share(queue: object) -> float:
    """A queue as a share of the BDP."""
    return float(str(queue).split()[0])


def milliseconds(rtt: object) -> float:
    """An RTT in ms, as the scenarios write it."""
    return float(str(rtt).split()[0])


def capacity(runs: Runs) -> float:
    """Rate of the bottleneck, bit/s."""
    return max((float(run.bottleneck["rate_bps"]) for run in runs), default=math.inf)


def least(found: Iterable[tuple[str, Verdict]]) -> Verdict:
    """Of many checks of the same kind the one that decides: the worst outcome, of these the smallest value."""
    return _deciding(found, 1.0)


def greatest(found: Iterable[tuple[str, Verdict]]) -> Verdict:
    """The same with the largest value."""
    return _deciding(found, -1.0)


def _deciding(found: Iterable[tuple[str, Verdict]], sign: float) -> Verdict:
    known = list(found)
    if not known:
        return Verdict("inconclusive", detail="there is nothing to check")
    name, verdict = min(known, key=lambda item: (_ORDER[item[1].outcome], sign * (item[1].value or 0.0)))
    bad = [other for other, item in known if item.outcome != "pass" and other != name]
    joined = labelled(name, verdict)
    return replace(joined, detail=f"{joined.detail} (nor {', '.join(bad)})") if bad else joined


def starts(results: Results, judged: Callable[[Runs], Verdict]) -> Verdict:
    """A claim about figure 3 for each way to start, of which the paper names none."""
    found = [(text, judged(results[name])) for name, text in STARTS.items()]
    return whichever(*(replace(item, detail=f"{text}: {item.outcome}, {item.detail}") for text, item in found))


def per_replication(runs: Runs, cc: str, quantity: Measure) -> dict[int, float]:
    """The mean of a measure over the RTTs, for each replication."""
    found: dict[int, list[float]] = {}
    for run in runs.where({CC: cc}):
        value = quantity(run)
        if value is not None:
            found.setdefault(run.replication, []).append(value)
    return {replication: math.fsum(values) / len(values) for replication, values in found.items()}


def further(runs: Runs, cc: str, than: str, quantity: Measure) -> Interval:
    """By how much a measure, averaged over the RTTs, is larger for one controller than for another."""
    ours, theirs = per_replication(runs, cc, quantity), per_replication(runs, than, quantity)
    return mean_interval(ours[replication] - theirs[replication] for replication in ours if replication in theirs)


def mean_over(runs: Runs, cc: str, quantity: Measure) -> Interval:
    """Mean of a measure over all RTTs, with the interval over the replications."""
    return mean_interval(per_replication(runs, cc, quantity).values())


def beside_standard(results: Results, cc: str, *, below: float) -> Iterator[tuple[str, Interval]]:
    """For every RTT of the second flow below that many ms: unfairness over that of standard TCP."""
    runs = results["rtt"]
    for rtt in runs.steps(SECOND_RTT):
        if milliseconds(rtt) != 160 and milliseconds(rtt) < below:
            at = runs.where({SECOND_RTT: rtt})
            yield str(rtt), at.where({CC: cc}).ratio(short_over_long, at.where({CC: STANDARD}))


def times_as_long(runs: Runs, cc: str, than: str) -> Interval:
    """Convergence of one controller over that of another, geometric mean over RTTs and replications."""
    found: dict[int, list[float]] = {}
    other = {(run.replication, run.params[RTT]): convergence(run) for run in runs.where({CC: than})}
    for run in runs.where({CC: cc}):
        ours, theirs = convergence(run), other.get((run.replication, run.params[RTT]))
        if ours and theirs:
            found.setdefault(run.replication, []).append(math.log(ours / theirs))
    mean = mean_interval(math.fsum(values) / len(values) for values in found.values())
    ends = None if mean.low is None or mean.high is None else (math.exp(mean.low), math.exp(mean.high))
    value = None if mean.value is None else math.exp(mean.value)
    return Interval(value, ends and ends[0], ends and ends[1], mean.n)


def typical(runs: Runs, names: Iterable[str]) -> Verdict:
    """For the record: at each RTT the median by Kaplan and Meier, and how many runs are censored."""
    parts = []
    for cc in names:
        for rtt in runs.steps(RTT):
            at = runs.where({CC: cc, RTT: rtt})
            marks = [bool(mark) for mark in at.values(censored)]
            median = median_time([time or 0.0 for time in at.values(convergence)], marks).value
            text = "beyond the run" if median is None else f"{median:.3g} s"
            parts.append(f"{cc} at {rtt} {text}{f', {sum(marks)} of {len(marks)} not' if any(marks) else ''}")
    return Verdict("pass", detail=f"medians: {', '.join(parts)}")
