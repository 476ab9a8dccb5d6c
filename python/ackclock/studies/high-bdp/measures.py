"""Measures of the study of high-speed controllers: what a run of two flows comes to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ackclock.metrics import synchronisation as together_share
from ackclock.study import Censored, Run, measure

WARM_UP = 1 / 6
"""Share of a run that rates leave out: 100 s of 600 s. The paper does not say that it leaves out any."""

DELTA = 0.1
"""How unequal two flows may be that count as converged: |a - b| / (a + b) (Bansal et al. 2001)."""

BINS, HELD = 5, 10
"""Bins that a share is the mean of, and bins that it must then last, twice as unequal at most."""

SHARE = 0.8
"""The other rule: the second flow has this much of a fair share for the first time."""


# --- Figures 1 and 2: what both flows get together ---


def link_rate(run: Run) -> float:
    """Rate of the bottleneck, bit/s, which without headers is the most that both can get in the long run."""
    return float(run.bottleneck["rate_bps"])


@measure(kind="amount", most=link_rate)
def throughput(run: Run) -> float:
    """Payload of both flows delivered in order after the first sixth of the run (100 s of 600 s), bit/s."""
    return sum(rates(run, warm(run)))


@measure(kind="amount", most=link_rate)
def throughput_whole(run: Run) -> float:
    """The same over the whole run, bit/s."""
    return sum(rates(run, 0.0))


@measure(kind="amount")
def timeouts(run: Run) -> float:
    """Retransmission timeouts of both flows in the whole run."""
    return float(sum(flow["timeouts"] for flow in run.flows))


@measure(kind="percent")
def lost(run: Run) -> float:
    """Packets that the queue refused, % of those that came."""
    row = run.bottleneck
    return 100 * float(row["drops"]) / max(1.0, float(row["arrived_packets"]))


# --- Linux beside it ---


@measure(kind="percent")
def payload_share(run: Run) -> float:
    """Payload of the flow over the whole run, % of what the link carries of it in frames of 1514 bytes."""
    return 100 * float(run.flow()["goodput_bps"]) / (link_rate(run) * 1448 / 1514)


@measure(kind="amount")
def sent_again(run: Run) -> float:
    """Segments of the flow that were sent again."""
    return float(run.flow()["retransmitted_segments"])


# --- Figure 3: equals ---


@measure(kind="inequality")
def unfairness(run: Run) -> float:
    """The larger rate over the smaller, after the first sixth of the run."""
    return spread(rates(run, warm(run)))


@measure(kind="inequality")
def unfairness_whole(run: Run) -> float:
    """The same from the start of the second flow on."""
    return spread(rates(run, both_started(run)))


@measure(kind="amount")
def log_unfairness(run: Run) -> float:
    """Logarithm of the larger rate over the smaller, after the first sixth of the run: 0 is equal."""
    return math.log(spread(rates(run, warm(run))))


@measure(kind="amount")
def log_unfairness_whole(run: Run) -> float:
    """The same from the start of the second flow on."""
    return math.log(spread(rates(run, both_started(run))))


@measure(kind="ratio")
def second_over_first(run: Run) -> float:
    """Rate of the second flow over that of the first, after the first sixth of the run."""
    return ratio(rates(run, warm(run)))


@measure(kind="share")
def synchronisation(run: Run) -> float | None:
    """Share of the flows that lose in the same overflow, from the second flow's start on: 1 is always both."""
    begin = both_started(run)
    events = [[time for time in run.series("recoveries", name).time.tolist() if time > begin] for name in ("0", "1")]
    return together_share(events, longest_rtt(run))


# --- Figure 4: different RTTs. Figure 5: beside standard TCP ---


@measure(kind="ratio")
def short_over_long(run: Run) -> float:
    """Rate of the flow with the smaller RTT over that of the other, after the first sixth of the run."""
    return between_rtts(run, warm(run))


@measure(kind="ratio")
def short_over_long_whole(run: Run) -> float:
    """The same over the whole run."""
    return between_rtts(run, both_started(run))


@measure(kind="share")
def long_share(run: Run) -> float:
    """Share of the flow with the larger RTT in what both get, after the first sixth of the run."""
    return 1 / (1 + between_rtts(run, warm(run)))


@measure(kind="ratio")
def new_over_standard(run: Run) -> float:
    """Rate of the second flow over that of the first, which is standard TCP, after the first sixth of the run."""
    return ratio(rates(run, warm(run)))


@measure(kind="ratio")
def new_over_standard_whole(run: Run) -> float:
    """The same over the whole run."""
    return ratio(rates(run, both_started(run)))


@measure(kind="amount")
def log_new_over_standard(run: Run) -> float:
    """How far from equal the two are, in either direction: the absolute logarithm of that ratio."""
    return abs(math.log(ratio(rates(run, warm(run)))))


@measure(kind="share")
def standard_share(run: Run) -> float:
    """Share of standard TCP in what both get, after the first sixth of the run."""
    return 1 / (1 + ratio(rates(run, warm(run))))


# --- Figure 6: how long until the second flow has its share ---


@measure(kind="time")
def convergence(run: Run) -> float:
    """Seconds from the second flow's start until both have the same within 10 %, and keep it; else censored."""
    found = converged_after(run, _equal)
    return Censored(horizon(run)) if found is None else found


@measure(kind="happened")
def censored(run: Run) -> float:
    """1 where that did not happen before the run ended, else 0."""
    return float(converged_after(run, _equal) is None)


@measure(kind="time")
def convergence_80(run: Run) -> float:
    """Seconds from the second flow's start until it first has 80 % of a fair share; else censored."""
    found = converged_after(run, _four_fifths)
    return Censored(horizon(run)) if found is None else found


@measure(kind="happened")
def censored_80(run: Run) -> float:
    """1 where that did not happen before the run ended, else 0."""
    return float(converged_after(run, _four_fifths) is None)


@measure(kind="amount")
def epoch(run: Run) -> float | None:
    """Mean time between two losses of the first flow while it is alone, s; none if it has fewer than two."""
    found = run.series("recoveries", "0").time
    before = found[(found > 0) & (found < both_started(run))]
    return None if len(before) < 2 else float(before[-1] - before[0]) / (len(before) - 1)


# --- What they are made of ---


def warm(run: Run) -> float:
    """When rates begin to count, on the grid of the series."""
    return float(round(run.duration * WARM_UP))


def both_started(run: Run) -> float:
    """When both flows have opened their connections, s."""
    return max(float(flow["start_s"]) for flow in run.flows)


def rates(run: Run, begin: float) -> tuple[float, float]:
    """Payload of each flow delivered in order from `begin` to the end, per time, bit/s.

    At least a segment, so that a flow that starves has a ratio.
    """
    span = run.duration - begin
    found = []
    for name in ("0", "1"):
        grown = delivered(run, name, run.duration) - delivered(run, name, begin)
        found.append(8 * max(grown, float(run.resolved["flows"][0]["mss"])) / span)
    return found[0], found[1]


def delivered(run: Run, name: str, time: float) -> float:
    """Payload of a flow delivered in order by then; between two samples on the straight line."""
    series = run.series("delivered", name)
    after = series.time.searchsorted(time - 1e-9)
    if after >= len(series.time):
        return float(series.value[-1])
    if after == 0:
        return 0.0
    t0, t1 = series.time[after - 1], series.time[after]
    v0, v1 = series.value[after - 1], series.value[after]
    return float(v0 + (v1 - v0) * (time - t0) / (t1 - t0))


def ratio(pair: tuple[float, float]) -> float:
    """The second over the first."""
    return pair[1] / pair[0]


def spread(pair: tuple[float, float]) -> float:
    """The larger over the smaller."""
    return max(pair) / min(pair)


def rtts(run: Run) -> tuple[float, float]:
    """Propagation RTT of each flow, s."""
    links = {link["id"]: link["delay_ns"] for link in run.resolved["links"]}
    found = [
        1e-9 * sum(links[hop["link"]] if "link" in hop else _delay(hop) for hop in (*flow["forward"], *flow["reverse"]))
        for flow in run.resolved["flows"]
    ]
    return found[0], found[1]


def _delay(hop: Mapping[str, Any]) -> float:
    """A pure delay, ns; the mean of one that is drawn."""
    return sum(hop["uniform_ns"]) / 2 if "uniform_ns" in hop else float(hop["delay_ns"])


def longest_rtt(run: Run) -> float:
    """The largest mean RTT of a flow, s."""
    return max(float(flow["mean_rtt_s"] or 0.0) for flow in run.flows)


def between_rtts(run: Run, begin: float) -> float:
    """Rate of the flow with the smaller RTT over the other's; of equal RTTs the second over the first."""
    first, second = rtts(run)
    found = ratio(rates(run, begin))
    return found if second <= first else 1 / found


def horizon(run: Run) -> float:
    """How long both flows were there, s."""
    return run.duration - both_started(run)


def width(run: Run) -> int:
    """Width of a bin: ten RTTs, at least a second, in whole seconds as the series are."""
    return max(1, math.ceil(10 * max(rtts(run)) - 1e-9))


def _equal(first: float, second: float, slack: float) -> bool:
    return abs(first - second) <= slack * DELTA * (first + second)


def _four_fifths(first: float, second: float, slack: float) -> bool:
    return slack > 1 or second >= SHARE * (first + second) / 2


def converged_after(run: Run, rule: Callable[[float, float, float], bool]) -> float | None:
    """Seconds from the second flow's start to the end of the first `BINS` bins whose means satisfy the rule.

    The means of the `HELD` next bins satisfy it with twice the slack (of 80 % once is enough); ``None`` is censored.
    """
    begin, bin_s = both_started(run), width(run)
    edges = range(math.ceil(begin), int(run.duration) + 1, bin_s)
    first, second = ([delivered(run, name, float(edge)) for edge in edges] for name in ("0", "1"))
    means = [(first[i + BINS] - first[i], second[i + BINS] - second[i]) for i in range(len(edges) - BINS)]
    for index, (a, b) in enumerate(means):
        after = means[index + 1 : index + 1 + HELD]
        if a + b > 0 and rule(a, b, 1.0) and (rule(a, b, 2.0) and all(rule(x, y, 2.0) for x, y in after)):
            if len(after) < HELD and rule is _equal:
                return None
            return float(edges[index + BINS]) - begin
    return None
