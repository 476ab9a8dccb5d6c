"""Measures of the study of BLBE slow start: what a run comes to."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction

from ackclock.study import Censored, Run, measure

SETTLING = {280: (2.2, 17.8), 800: (2.0, 9.2), 2100: (1.6, 5.6)}
"""Table 4: seconds in which the transfer settles with and without the estimate, by load in kbit/s."""

SETTLED = 0.99
"""Share of the available rate at which a flow counts as settled; the paper does not say."""


@measure(kind="amount")
def estimate(run: Run) -> float | None:
    """Bandwidth that the packet pair measured, bit/s."""
    return run.flow()["start_estimate_bps"]  # type: ignore[no-any-return]


@measure(kind="amount")
def threshold(run: Run) -> float | None:
    """Threshold that the slow start set, segments."""
    found = run.flow()["start_ssthresh_bytes"]
    return None if found is None else float(found) / mss(run)


@measure(kind="amount")
def mean_25(run: Run) -> float:
    """Payload delivered in order from the start of the flow until 25 s, per time, bit/s."""
    begin = started(run)
    return 8 * run.series("delivered").between(begin, 25.0) / (25.0 - begin)


@measure(kind="amount")
def mean_settling(run: Run) -> float:
    """Payload delivered in order from the start of the flow until Reno settled in the paper, per time, bit/s."""
    begin, span = started(run), SETTLING[load(run)][1]
    return 8 * run.series("delivered").between(begin, begin + span) / span


@measure(kind="amount")
def mean_others(run: Run) -> float:
    """Payload of all other flows delivered in order in the last 12 s, per time, bit/s."""
    others = [run.series("delivered", row["id"]) for row in run.flows if row["id"] != "0"]
    return 8 * sum(other.between(run.duration - 12.0, run.duration) for other in others) / 12.0


@measure(kind="amount")
def true_bandwidth(run: Run) -> float:
    """The paper's equivalent bandwidth of the way: at the bottleneck, what is left is the share of one more flow.

    Sources below the equal share of all count as nobody there where they leave the queue empty, as the paper has it:
    280 kbit/s leaves all of the bottleneck, 800 kbit/s half of it, 2100 kbit/s an eighth.
    """
    sharing = {0: 1, 280: 1, 800: 2, 2100: 8}[load(run)]
    return 1e3 * float(equivalent(shared_rates(run, sharing)))


@measure(kind="amount")
def estimate_error(run: Run) -> float | None:
    """By how much the estimate differs from the equivalent bandwidth of the way, % of that."""
    found, true = estimate(run), true_bandwidth(run)
    return None if found is None or true is None else 100 * abs(found / true - 1)


@measure(kind="amount")
def rtt_of_threshold(run: Run) -> float | None:
    """Round-trip time that the estimate was multiplied with, s."""
    rate, segments = estimate(run), threshold(run)
    return None if rate is None or segments is None else segments * 8 * mss(run) / rate


@measure(kind="amount")
def mean_after(run: Run) -> float:
    """Payload delivered in order from 25 s, when both variants have settled, until the end, per time, bit/s."""
    return 8 * run.series("delivered").between(25.0, run.duration) / (run.duration - 25.0)


@measure(kind="time")
def settling_time(run: Run) -> float:
    """Time from the start of the flow until a second in which it has 99 % of the rate, s; else censored."""
    return reached(run, SETTLED, step=0.1)


@measure(kind="time")
def settled_at(run: Run) -> float:
    """The same on the time axis of the run, as the paper prints it for a single connection, s."""
    found = reached(run, SETTLED, step=0.1)
    return type(found)(started(run) + found)


@measure(kind="amount")
def start_up_losses(run: Run) -> float:
    """Packets that the queues refused until 0.1 s after slow start had ended, by the estimate or by a loss."""
    end = left_slow_start(run)
    limit = run.duration if end is None else end + 0.1
    return sum(run.series("drops", link["id"]).at(limit) for link in run.links)


@measure(kind="amount")
def resent_after_slow_start(run: Run) -> float:
    """Segments that the flow sent again until 2 s after slow start had ended: what it lost there, and what follows.

    Beside others the drops of queues are not those of the flow alone. Two seconds are several round trips and a
    timeout, and less than congestion avoidance needs from the threshold to a full queue.
    """
    end = left_slow_start(run)
    limit = run.duration if end is None else end + 2.0
    return run.series("retransmitted").at(limit) / mss(run)


@measure(kind="amount")
def start_up_losses_bdp(run: Run) -> float | None:
    """The same as a share of the bandwidth-delay product in packets."""
    found = start_up_losses(run)
    delay = sum(link["delay_ns"] for link in run.resolved["links"]) * 1e-9
    return None if found is None else found * 8 * mss(run) / (available(run) * delay)


@measure(kind="amount")
def longest_stall(run: Run) -> float:
    """Longest time without a delivery in order, from the first to the last one, s."""
    delivered = run.series("delivered")
    times = [time for time, value in zip(delivered.time, delivered.value, strict=True) if value > 0]
    return float(max((after - before for before, after in itertools.pairwise(times)), default=0.0))


@measure(kind="amount")
def stall_in_slow_start(run: Run) -> float:
    """Longest time without a delivery in order in the first 5 s of the flow, in steps of 0.1 s."""
    delivered, begin = run.series("delivered"), started(run)
    longest = current = 0.0
    for step in range(50):
        grown = delivered.between(begin + step / 10, begin + (step + 1) / 10)
        current = 0.0 if grown > 0 else current + 0.1
        longest = max(longest, current)
    return longest


@measure(kind="amount")
def timeouts(run: Run) -> float:
    """Retransmission timeouts in the whole run."""
    return float(run.flow()["timeouts"])


@measure(kind="percent")
def retransmitted(run: Run) -> float:
    """Payload sent again, % of what was sent."""
    flow = run.flow()
    return 100 * float(flow["retransmitted_bytes"]) / float(flow["sent_bytes"])


@measure(kind="amount")
def losses(run: Run) -> float:
    """Packets that the queues refused in the whole run."""
    return float(sum(link["drops"] for link in run.links))


@measure(kind="time")
def time_to_90(run: Run) -> float:
    """Time from the start until a second in which the flow has 90 % of the rate, s; censored if it never has."""
    return reached(run, 0.90, step=0.01)


@measure(kind="share")
def share_of_10_s(run: Run) -> float:
    """Payload delivered in the first 10 s of the flow, as a share of what the link can carry in that time."""
    begin = started(run)
    return 8 * run.series("delivered").between(begin, begin + 10.0) / 10.0 / available(run)


@measure(kind="time")
def completion_time(run: Run) -> float:
    """Time from the start of the connection until the last byte is delivered, s; censored if it is not."""
    found = run.flow()["fct_s"]
    return Censored(run.duration - started(run)) if found is None else float(found)


@measure(kind="amount")
def estimated_share(run: Run) -> float | None:
    """The estimate as a share of the rate of the bottleneck."""
    found = estimate(run)
    return None if found is None else found / float(run.bottleneck["rate_bps"])


# --- What they are made of ---


def load(run: Run) -> int:
    """What all sources of constant rate offer together, kbit/s."""
    offers = (float(flow["app"]["rate_bps"]) for flow in run.resolved["flows"] if flow["app"]["kind"] == "cbr")
    return round(sum(offers) / 1000)


def started(run: Run) -> float:
    """When the flow opened its connection, s."""
    return float(run.flow()["start_s"])


def mss(run: Run) -> int:
    """Payload of a full segment, bytes."""
    return int(run.resolved["flows"][0]["mss"])


def available(run: Run) -> float:
    """Payload that the bottleneck can carry for the first flow beside the sources of constant rate, bit/s.

    Fair queueing gives each source what it offers, up to an equal share of what the smaller ones leave.
    """
    link = next(link for link in run.resolved["links"] if link["id"] == run.bottleneck["id"])
    left = float(run.bottleneck["rate_bps"]) * mss(run) / float(link["queue"]["packet_bytes"])
    offers = sorted(float(flow["app"]["rate_bps"]) for flow in run.resolved["flows"] if flow["app"]["kind"] == "cbr")
    for index, offer in enumerate(offers):
        left -= min(offer, left / (len(offers) - index + 1))
    return left


def reached(run: Run, share: float, *, step: float) -> float:
    """Seconds after its start at which the flow first has `share` of the rate over a second; else censored."""
    delivered, begin = run.series("delivered"), started(run)
    wanted = share * available(run) / 8
    for index in range(int((run.duration - begin - 1.0) / step) + 1):
        if delivered.between(begin + index * step, begin + index * step + 1.0) >= wanted:
            return index * step
    return Censored(run.duration - begin)


def left_slow_start(run: Run) -> float | None:
    """When the window first was at the threshold."""
    window, threshold_series = run.series("cwnd"), run.series("ssthresh")
    times = sorted({*window.time.tolist(), *threshold_series.time.tolist()})
    begin = started(run)
    return next((time for time in times if time > begin and window.at(time) >= threshold_series.at(time)), None)


def equivalent(rates: Iterable[Fraction]) -> Fraction:
    """The paper's equivalent bandwidth: what crosses links one after the other, 1 / (1/B1 + 1/B2 + ...)."""
    return 1 / sum((1 / rate for rate in rates), Fraction(0))


def shared_rates(run: Run, sharing: int) -> list[Fraction]:
    """The links on the way out, kbit/s, with the slowest divided by the flows that share it."""
    way = [hop["link"] for hop in run.resolved["flows"][0]["forward"] if "link" in hop]
    known = {link["id"]: Fraction(link["rate_bps"], 1000) for link in run.resolved["links"]}
    slowest = min(known[name] for name in way)
    return [known[name] / sharing if known[name] == slowest else known[name] for name in way]
