"""Measures and claims of the study of BLBE slow start. Ids are those of README.md."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction

from ackclock.study import (
    Results,
    Run,
    Runs,
    Verdict,
    at_least,
    between,
    claim,
    every,
    holds,
    labelled,
    measure,
    within,
)

PAPER_KBPS = {"blbe": 1316.0, "standard": 768.0}
"""Table 2: mean throughput until 25 s."""

PAIRS = ((1060.0, 0.149, 99), (693.0, 0.152, 66), (148.0, 0.151, 14))
"""Tables 2 and 3: estimate in kbit/s, RTT in s, and the threshold that the paper has of them."""

MSS_BITS = 1600
SETTLED = 0.99
"""Share of the available rate at which a flow counts as settled; the paper does not say."""


# --- Measures ---


@measure
def estimate(run: Run) -> float | None:
    """Bandwidth that the packet pair measured, bit/s."""
    return run.flow()["start_estimate_bps"]  # type: ignore[no-any-return]


@measure
def threshold(run: Run) -> float | None:
    """Threshold that the slow start set, segments."""
    found = run.flow()["start_ssthresh_bytes"]
    return None if found is None else float(found) / mss(run)


@measure
def mean_25(run: Run) -> float:
    """Payload delivered in order from the start of the flow until 25 s, per time, bit/s."""
    begin = started(run)
    return 8 * run.series("delivered").between(begin, 25.0) / (25.0 - begin)


@measure
def mean_after(run: Run) -> float:
    """Payload delivered in order from 25 s, when both variants have settled, until the end, per time, bit/s."""
    return 8 * run.series("delivered").between(25.0, run.duration) / (run.duration - 25.0)


@measure
def settling_time(run: Run) -> float:
    """Time from the start of the flow until a second in which it has 99 % of the rate, s; else until the end."""
    return reached(run, SETTLED, step=0.1)


@measure
def settled_at(run: Run) -> float:
    """The same on the time axis of the run, as the paper prints it for a single connection, s."""
    return started(run) + reached(run, SETTLED, step=0.1)


@measure
def start_up_losses(run: Run) -> float:
    """Packets that the queues refused until 0.1 s after slow start had ended, by the estimate or by a loss."""
    end = left_slow_start(run)
    limit = run.duration if end is None else end + 0.1
    return sum(run.series("drops", link["id"]).at(limit) for link in run.links)


@measure
def start_up_losses_bdp(run: Run) -> float | None:
    """The same as a share of the bandwidth-delay product in packets."""
    found = start_up_losses(run)
    delay = sum(link["delay_ns"] for link in run.resolved["links"]) * 1e-9
    return None if found is None else found * 8 * mss(run) / (available(run) * delay)


@measure
def longest_stall(run: Run) -> float:
    """Longest time without a delivery in order, from the first to the last one, s."""
    delivered = run.series("delivered")
    times = [time for time, value in zip(delivered.time, delivered.value, strict=True) if value > 0]
    return float(max((after - before for before, after in itertools.pairwise(times)), default=0.0))


@measure
def stall_in_slow_start(run: Run) -> float:
    """Longest time without a delivery in order in the first 5 s of the flow, in steps of 0.1 s."""
    delivered, begin = run.series("delivered"), started(run)
    longest = current = 0.0
    for step in range(50):
        grown = delivered.between(begin + step / 10, begin + (step + 1) / 10)
        current = 0.0 if grown > 0 else current + 0.1
        longest = max(longest, current)
    return longest


@measure
def timeouts(run: Run) -> float:
    """Retransmission timeouts in the whole run."""
    return float(run.flow()["timeouts"])


@measure
def retransmitted(run: Run) -> float:
    """Payload sent again, % of what was sent."""
    flow = run.flow()
    return 100 * float(flow["retransmitted_bytes"]) / float(flow["sent_bytes"])


@measure
def losses(run: Run) -> float:
    """Packets that the queues refused in the whole run."""
    return float(sum(link["drops"] for link in run.links))


@measure
def time_to_90(run: Run) -> float | None:
    """Time from the start until a second in which the flow has 90 % of the rate, s; none if it never has."""
    found = reached(run, 0.90, step=0.01)
    return found if found < run.duration - 1.0 else None


@measure
def share_of_10_s(run: Run) -> float:
    """Payload delivered in the first 10 s of the flow, as a share of what the link can carry in that time."""
    begin = started(run)
    return 8 * run.series("delivered").between(begin, begin + 10.0) / 10.0 / available(run)


@measure
def completion_time(run: Run) -> float | None:
    """Time from the start of the connection until the last byte is delivered, s."""
    return run.flow()["fct_s"]  # type: ignore[no-any-return]


@measure
def estimated_share(run: Run) -> float | None:
    """The estimate as a share of the rate of the bottleneck."""
    found = estimate(run)
    return None if found is None else found / float(run.bottleneck["rate_bps"])


# --- What they are made of ---


def started(run: Run) -> float:
    """When the flow opened its connection, s."""
    return float(run.flow()["start_s"])


def mss(run: Run) -> int:
    """Payload of a full segment, bytes."""
    return int(run.resolved["flows"][0]["mss"])


def available(run: Run) -> float:
    """Payload that the bottleneck can carry for a flow alone, bit/s."""
    link = next(link for link in run.resolved["links"] if link["id"] == run.bottleneck["id"])
    return float(run.bottleneck["rate_bps"]) * mss(run) / float(link["queue"]["packet_bytes"])


def reached(run: Run, share: float, *, step: float) -> float:
    """Seconds after its start at which the flow first has `share` of the available rate over a second."""
    delivered, begin = run.series("delivered"), started(run)
    wanted = share * available(run) / 8
    for index in range(int((run.duration - begin - 1.0) / step) + 1):
        if delivered.between(begin + index * step, begin + index * step + 1.0) >= wanted:
            return index * step
    return run.duration - begin


def left_slow_start(run: Run) -> float | None:
    """When the window first was at the threshold."""
    window, threshold_series = run.series("cwnd"), run.series("ssthresh")
    times = sorted({*window.time.tolist(), *threshold_series.time.tolist()})
    begin = started(run)
    return next((time for time in times if time > begin and window.at(time) >= threshold_series.at(time)), None)


def equivalent(rates: Iterable[Fraction]) -> Fraction:
    """The paper's equivalent bandwidth: what crosses links one after the other, 1 / (1/B1 + 1/B2 + ...)."""
    return 1 / sum((1 / rate for rate in rates), Fraction(0))


def variants(results: Results, scenario: str) -> tuple[Runs, Runs]:
    """The runs with the estimate and those without."""
    runs = results[scenario]
    return runs.where(slow_start="blbe"), runs.where(slow_start="standard")


# --- Claims ---


@claim(
    "E1",
    "Alone on the path, the packet pair estimates 1060 kbit/s.",
    paper=1060,
    tolerance="± 0.5 % of 1060.07, which the packet sizes give",
)
def e1(results: Results) -> Verdict:
    blbe, _ = variants(results, "single")
    return within(blbe.interval(estimate).scaled(1e-3), 1060.07, relative=0.005)


@claim(
    "E2",
    "The equivalent bandwidth 1 / (1/B1 + 1/B2 + ...) of the path is 1128 kbit/s alone, and 180 kbit/s where eight "
    "flows share the bottleneck.",
    paper=1128,
    tolerance="1e-6 of 1127.819549 and 180.072029",
)
def e2(results: Results) -> Verdict:
    links = next(iter(results["single"])).resolved["links"]
    route = [hop["link"] for hop in next(iter(results["single"])).resolved["flows"][0]["forward"]]
    rates = [Fraction(link["rate_bps"], 1000) for name in route for link in links if link["id"] == name]
    shared = [rate / 8 if rate == min(rates) else rate for rate in rates]
    return every(
        labelled("alone, kbit/s", within(float(equivalent(rates)), 1127.819549, relative=1e-6)),
        labelled("shared by eight", within(float(equivalent(shared)), 180.072029, relative=1e-6)),
    )


@claim(
    "E3",
    "The threshold is the estimate times the RTT in segments, to the nearest: 99, 66 and 14 for the printed estimates.",
    paper=99,
    tolerance="exact",
)
def e3(results: Results) -> Verdict:
    blbe, _ = variants(results, "single")
    found = [round(kbps * 1e3 * rtt / MSS_BITS) for kbps, rtt, _ in PAIRS]
    return every(
        labelled("set in the run", within(blbe.interval(threshold), 99)),
        holds(found == [pair[2] for pair in PAIRS], detail=f"from the printed values: {', '.join(map(str, found))}"),
    )


@claim(
    "E4",
    "With the estimate nothing is lost in slow start; without it many packets are, and the connection stands still "
    "until a timeout. Value: packets lost in slow start with the estimate.",
    paper=0,
    tolerance="0 with; at least 2 losses, a timeout and 0.2 s without delivery without",
)
def e4(results: Results) -> Verdict:
    blbe, reno = variants(results, "single")
    return every(
        labelled("lost with", between(blbe.interval(start_up_losses), 0, 0)),
        labelled("lost without", at_least(reno.interval(start_up_losses), 2)),
        labelled("timeouts without", at_least(reno.interval(timeouts), 1)),
        labelled("stall without, s", at_least(reno.interval(stall_in_slow_start), 0.2)),
    )


@claim(
    "E5",
    "With the estimate a connection settles sooner. Value: settling time without over with, single connection.",
    paper=25 / 8,
    tolerance="at least 3; single times within a factor of 2 of 8 s and 25 s",
)
def e5(results: Results) -> Verdict:
    blbe, reno = variants(results, "single")
    return every(
        labelled("ratio", at_least(reno.ratio(settling_time, blbe), 3.0)),
        labelled("with, s", between(blbe.interval(settled_at), 4.0, 16.0)),
        labelled("without, s", between(reno.interval(settled_at), 12.5, 50.0)),
    )


@claim(
    "E6",
    "With the estimate the mean throughput until 25 s is 72 % higher. Value: gain in %.",
    paper=72,
    tolerance="each mean within 10 % of 1316 and 768 kbit/s",
)
def e6(results: Results) -> Verdict:
    blbe, reno = variants(results, "single")
    gain = blbe.ratio(mean_25, reno)
    value = None if gain.value is None else 100 * (gain.value - 1)
    return every(
        labelled("gain, %", at_least(value, 30.0)),
        labelled("with, kbit/s", within(blbe.interval(mean_25).scaled(1e-3), 1316, relative=0.10)),
        labelled("without, kbit/s", within(reno.interval(mean_25).scaled(1e-3), 768, relative=0.10)),
    )


@claim(
    "E7",
    "Once both have settled, the two have the same throughput. Value: ratio with to without, 25 s to 40 s.",
    paper=1,
    tolerance="± 3 %",
)
def e7(results: Results) -> Verdict:
    blbe, reno = variants(results, "single")
    return within(blbe.ratio(mean_after, reno), 1.0, relative=0.03)


@claim(
    "E10",
    "Reno on a short queue delivers nothing from 1.35 s to 1.8 s. Value: longest time without a delivery, s.",
    paper=0.45,
    tolerance="0.3 s to 0.6 s",
    soft=True,
)
def e10(results: Results) -> Verdict:
    return between(results["stall"].interval(longest_stall), 0.3, 0.6)
