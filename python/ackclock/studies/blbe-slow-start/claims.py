"""Measures and claims of the study of BLBE slow start. Ids are those of README.md."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from ackclock.study import (
    Results,
    Run,
    Runs,
    Verdict,
    at_least,
    at_most,
    between,
    claim,
    every,
    holds,
    labelled,
    measure,
    whichever,
    within,
)

PAPER_KBPS = {"blbe": 1316.0, "standard": 768.0}
"""Table 2: mean throughput until 25 s."""

PAIRS = ((1060.0, 0.149, 99), (693.0, 0.152, 66), (148.0, 0.151, 14))
"""Tables 2 and 3: estimate in kbit/s, RTT in s, and the threshold that the paper has of them."""

MSS_BITS = 1600
SETTLING = {280: (2.2, 17.8), 800: (2.0, 9.2), 2100: (1.6, 5.6)}
"""Table 4: seconds in which the transfer settles with and without the estimate, by load in kbit/s."""

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
def mean_settling(run: Run) -> float:
    """Payload delivered in order from the start of the flow until Reno settled in the paper, per time, bit/s."""
    begin, span = started(run), SETTLING[load(run)][1]
    return 8 * run.series("delivered").between(begin, begin + span) / span


@measure
def mean_others(run: Run) -> float:
    """Payload of all other flows delivered in order in the last 12 s, per time, bit/s."""
    others = [run.series("delivered", row["id"]) for row in run.flows if row["id"] != "0"]
    return 8 * sum(other.between(run.duration - 12.0, run.duration) for other in others) / 12.0


@measure
def true_bandwidth(run: Run) -> float:
    """The paper's equivalent bandwidth of the way: at the bottleneck, what is left is the share of one more flow.

    Sources below the equal share of all count as nobody there where they leave the queue empty, as the paper has it:
    280 kbit/s leaves all of the bottleneck, 800 kbit/s half of it, 2100 kbit/s an eighth.
    """
    sharing = {0: 1, 280: 1, 800: 2, 2100: 8}[load(run)]
    return 1e3 * float(equivalent(shared_rates(run, sharing)))


@measure
def rtt_of_threshold(run: Run) -> float | None:
    """Round-trip time that the estimate was multiplied with, s."""
    rate, segments = estimate(run), threshold(run)
    return None if rate is None or segments is None else segments * 8 * mss(run) / rate


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


def load(run: Run) -> int:
    """What all sources of constant rate offer together, kbit/s."""
    offers = (flow["app"]["rate_bps"] for flow in run.resolved["flows"] if flow["app"]["kind"] == "cbr")
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


def shared_rates(run: Run, sharing: int) -> list[Fraction]:
    """The links on the way out, kbit/s, with the slowest divided by the flows that share it."""
    way = [hop["link"] for hop in run.resolved["flows"][0]["forward"] if "link" in hop]
    known = {link["id"]: Fraction(link["rate_bps"], 1000) for link in run.resolved["links"]}
    slowest = min(known[name] for name in way)
    return [known[name] / sharing if known[name] == slowest else known[name] for name in way]


def variants(results: Results, scenario: str) -> tuple[Runs, Runs]:
    """The runs with the estimate and those without."""
    runs = results[scenario]
    return runs.where(slow_start="blbe"), runs.where(slow_start="standard")


def beside(results: Results, scenario: str, load: int, edge: str = "50 packets") -> tuple[Runs, Runs]:
    """The runs of the transfer with the estimate and without, beside so many kbit/s, with such RED queues."""
    offer = {280: "40 kbit/s", 800: "114286 bit/s", 2100: "300 kbit/s"}[load]
    runs = results[scenario].where({"flows.1.app.rate": offer, "topology.links.3.queue.limit": edge})
    return runs.where({"flows.0.slow_start": "blbe"}), runs.where({"flows.0.slow_start": "standard"})


def readings(results: Results, load: int) -> Iterator[tuple[str, Runs, Runs]]:
    """What the paper leaves open: the limit of RED at the edge, and whether the sources are in step."""
    for scenario, step in (("load", "not in step"), ("load-sync", "in step")):
        for edge in ("50 packets", "10 packets"):
            yield f"RED {edge}, {step}", *beside(results, scenario, load, edge)


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
    run = next(iter(results["single"]))
    alone, eighth = (float(equivalent(shared_rates(run, flows))) for flows in (1, 8))
    return every(
        labelled("alone, kbit/s", within(alone, 1127.819549, relative=1e-6)),
        labelled("shared by eight", within(eighth, 180.072029, relative=1e-6)),
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
    "With the estimate a connection settles sooner, alone and beside other sources. Value: settling time without over "
    "with, single connection.",
    paper=25 / 8,
    tolerance="alone at least 3, beside others more than 1; single times within a factor of 2",
)
def e5(results: Results) -> Verdict:
    blbe, reno = variants(results, "single")
    return every(
        labelled("alone, ratio", at_least(reno.ratio(settling_time, blbe), 3.0)),
        labelled("with, s", between(blbe.interval(settled_at), 4.0, 16.0)),
        labelled("without, s", between(reno.interval(settled_at), 12.5, 50.0)),
        *(settles_sooner(results, load) for load in SETTLING),
    )


def settles_sooner(results: Results, load: int) -> Verdict:
    """Whether it does beside other sources, whatever the paper leaves open."""
    found = []
    for reading, blbe, reno in readings(results, load):
        name = f"{load} kbit/s, {reading}"
        found.append(
            every(
                labelled(f"{name}: ratio", at_least(reno.ratio(settling_time, blbe), 1.0)),
                *(
                    labelled(f"{which}, s", between(runs.median(settling_time), printed / 2, printed * 2))
                    for which, runs, printed in zip(("with", "without"), (blbe, reno), SETTLING[load], strict=True)
                ),
            )
        )
    return whichever(*found)


@claim(
    "E6",
    "With the estimate the mean throughput until 25 s is 72 % higher, and beside other sources 68 %, 88 % and 68 %. "
    "Value: gain of the single connection in %.",
    paper=72,
    tolerance="alone each mean within 10 % of 1316 and 768 kbit/s; beside others a gain of at least 30 %",
)
def e6(results: Results) -> Verdict:
    blbe, reno = variants(results, "single")
    gain = blbe.ratio(mean_25, reno)
    value = None if gain.value is None else 100 * (gain.value - 1)
    verdict = every(
        labelled("alone, gain in %", at_least(value, 30.0)),
        labelled("with, kbit/s", within(blbe.interval(mean_25).scaled(1e-3), 1316, relative=0.10)),
        labelled("without, kbit/s", within(reno.interval(mean_25).scaled(1e-3), 768, relative=0.10)),
        *(
            whichever(
                *(
                    labelled(f"{load} kbit/s, {reading}: factor", at_least(with_it.ratio(mean_settling, without), 1.3))
                    for reading, with_it, without in readings(results, load)
                )
            )
            for load in SETTLING
        ),
    )
    return replace(verdict, value=value, interval=None)


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
    "E8",
    "Beside 280 kbit/s fair queueing is idle for the pair, and the estimate is that without load. Value: median, kbit/s.",
    paper=1060,
    tolerance="± 2 % of the estimate without load",
)
def e8(results: Results) -> Verdict:
    alone, _ = variants(results, "single")
    free = alone.interval(estimate).scaled(1e-3).value or 0.0
    blbe, _ = beside(results, "load", 280)
    return within(blbe.median(estimate).scaled(1e-3), free, relative=0.02)


@claim(
    "E9",
    "Beside 2100 kbit/s the estimate is 148 kbit/s, less than the 180 kbit/s of the way. Value: median, kbit/s.",
    paper=148,
    tolerance="100 to 190 and below 180.07",
)
def e9(results: Results) -> Verdict:
    blbe, _ = beside(results, "load", 2100)
    return between(blbe.median(estimate).scaled(1e-3), 100, 180.07)


@claim(
    "E10",
    "Reno on a short queue delivers nothing from 1.35 s to 1.8 s. Value: longest time without a delivery, s.",
    paper=0.45,
    tolerance="0.3 s to 0.6 s",
    soft=True,
)
def e10(results: Results) -> Verdict:
    return between(results["stall"].interval(longest_stall), 0.3, 0.6)


@claim(
    "E11",
    "The estimate takes nothing from others: once the transfer has settled, the other sources have the same throughput. "
    "Value: the largest difference of the three loads, %.",
    tolerance="less than 5 %",
)
def e11(results: Results) -> Verdict:
    found = []
    for load in SETTLING:
        blbe, reno = beside(results, "load", load)
        ratio = blbe.ratio(mean_others, reno)
        if ratio.value is None or ratio.ends is None:
            return holds(False, detail=f"{load} kbit/s: nothing delivered")
        ends = sorted(100 * abs(end - 1) for end in ratio.ends)
        found.append((max(ends), 100 * abs(ratio.value - 1), load))
    worst, value, load = max(found)
    verdict = at_most(worst, 5.0)
    return replace(verdict, value=value, detail=f"largest beside {load} kbit/s; end of its interval {worst:.2g} %")
