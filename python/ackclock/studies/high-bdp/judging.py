"""What the claims of the study of high-speed controllers are judged with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ackclock.study import Interval, Measure, Results, Runs, Times, Verdict, mean_interval

from .measures import convergence, link_rate, short_over_long

STANDARD = "reno"
NEW = ("highspeed", "scalable", "bic", "fast", "htcp")
FAST_1 = "fast(alpha=100)"
"""FAST in figure 1, whose rate is another than that of all others, so that a reading may give it another alpha."""
NEW_1 = ("highspeed", "scalable", "bic", FAST_1, "htcp")

CC, RTT, QUEUE, SECOND_RTT = "flows.1.cc", "topology.rtt", "topology.queue.limit", "flows.1.rtt"

SMALL, LARGE = "0.2 BDP", "1 BDP"
"""The two queues of figure 4."""


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
    return max(map(link_rate, runs), default=math.inf)


def figure_4(results: Results) -> Runs:
    """The runs of figure 4: those of the larger queue where a reading has both."""
    runs = results["rtt"]
    return runs.where({QUEUE: LARGE}) if QUEUE in runs.known else runs


def further(runs: Runs, cc: str, than: str, quantity: Measure, *, each: str = RTT) -> Interval:
    """By how much a measure, averaged over the RTTs, is larger for one controller than for another."""
    return runs.where({CC: cc}).difference(quantity, runs.where({CC: than}), each=each)


def wider(runs: Runs, cc: str, than: str, quantity: Measure) -> Interval:
    """By how much a measure varies more with the RTT for one controller than for another."""
    ours, theirs = (_spreads(runs.where({CC: name}), quantity) for name in (cc, than))
    return mean_interval(ours[replication] - theirs[replication] for replication in ours if replication in theirs)


def _spreads(runs: Runs, quantity: Measure) -> dict[int, float]:
    """The largest less the smallest value over the RTTs, for each replication that has all of at least two."""
    found: dict[int, list[float]] = {}
    for run in runs:
        value = quantity(run)
        if value is not None:
            found.setdefault(run.replication, []).append(value)
    count = len(runs.steps(RTT))
    return {number: max(values) - min(values) for number, values in found.items() if len(values) == count > 1}


def beside_standard(runs: Runs, cc: str, *, below: float) -> Iterator[tuple[str, Interval]]:
    """For every RTT of the second flow below that many ms: unfairness over that of standard TCP."""
    for rtt in runs.steps(SECOND_RTT):
        if milliseconds(rtt) != 160 and milliseconds(rtt) < below:
            at = runs.where({SECOND_RTT: rtt})
            yield str(rtt), at.where({CC: cc}).ratio(short_over_long, at.where({CC: STANDARD}))


def times_as_long(runs: Runs, cc: str, than: str) -> Interval:
    """How many times as long one controller needs to converge as another: median of the RTTs."""
    return runs.where({CC: cc}).ratio(convergence, runs.where({CC: than}), each=RTT)


def typical(runs: Runs, names: Iterable[str]) -> Verdict:
    """For the record: at each RTT the median by Kaplan and Meier, and how many runs are censored."""
    parts = []
    for cc in names:
        for rtt in runs.steps(RTT):
            found = runs.where({CC: cc, RTT: rtt}).interval(convergence)
            missing = f", {found.censored} of {found.n} not" if isinstance(found, Times) and found.censored else ""
            text = f"{found.value:.3g} s" if found.value is not None else "beyond the run" if found.n else "not known"
            parts.append(f"{cc} at {rtt} {text}{missing}")
    return Verdict("pass", detail=f"medians: {', '.join(parts)}")
