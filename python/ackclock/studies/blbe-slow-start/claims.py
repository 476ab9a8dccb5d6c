"""Claims of the study of BLBE slow start. Ids are those of README.md."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from ackclock.study import (
    Results,
    Runs,
    Verdict,
    at_least,
    at_most,
    between,
    claim,
    every,
    holds,
    labelled,
    least,
    valued,
    within,
)

from .measures import (
    SETTLING,
    equivalent,
    estimate,
    estimate_error,
    longest_stall,
    mean_25,
    mean_after,
    mean_others,
    mean_settling,
    resent_after_slow_start,
    rtt_of_threshold,
    settled_at,
    settling_time,
    shared_rates,
    stall_in_slow_start,
    start_up_losses,
    threshold,
    timeouts,
    true_bandwidth,
)

PAIRS = ((1060.0, 0.149, 99), (693.0, 0.152, 66), (148.0, 0.151, 14))
"""Tables 2 and 3: estimate in kbit/s, RTT in s, and the threshold that the paper has of them."""

MSS_BITS = 1600


def variants(results: Results, scenario: str) -> tuple[Runs, Runs]:
    """The runs with the estimate and those without."""
    runs = results[scenario]
    return runs.where(slow_start="blbe"), runs.where(slow_start="standard")


def beside(results: Results, load: int) -> tuple[Runs, Runs]:
    """The runs of the transfer with the estimate and without, beside so many kbit/s; the reading says the rest."""
    offer = {280: "40 kbit/s", 800: "114.286 kbit/s", 2100: "300 kbit/s"}[load]
    runs = results["load"].where({"flows.1.app.rate": offer, "topology.links.3.queue.limit": "50 packets"})
    return runs.where({"flows.0.slow_start": "blbe"}), runs.where({"flows.0.slow_start": "standard"})


# --- Claims ---


@claim(
    "E1",
    "Alone on the path, the packet pair estimates 1060 kbit/s.",
    short="Alone on it, the packet pair estimates 1060 kbit/s.",
    unit="kbit/s",
    paper=1060,
    origin="table 2",
    tolerance="± 0.5 % of 1060.07, which the packet sizes give",
)
def e1(results: Results) -> Verdict:
    blbe, _ = variants(results, "single")
    return within(blbe.interval(estimate).scaled(1e-3), 1060.07, relative=0.005)


@claim(
    "E2",
    "The equivalent bandwidth 1 / (1/B1 + 1/B2 + ...) of the path is 1128 kbit/s alone, 644 kbit/s beside 800 kbit/s, "
    "and 180 kbit/s where eight flows share the bottleneck.",
    short="The way carries 1128 kbit/s alone, and 180 if shared.",
    unit="kbit/s",
    paper=1128,
    origin="text of sections 3.1 and 3.2, table 3",
    tolerance="1e-6 of 1127.819549, 643.776824 (two flows share it) and 180.072029",
)
def e2(results: Results) -> Verdict:
    run = next(iter(results["single"]), None)  # none where an engine plays none of them
    alone, half, eighth = (None if run is None else float(equivalent(shared_rates(run, flows))) for flows in (1, 2, 8))
    return every(
        labelled("alone, kbit/s", within(alone, 1127.819549, relative=1e-6)),
        labelled("shared by two", within(half, 643.776824, relative=1e-6)),
        labelled("shared by eight", within(eighth, 180.072029, relative=1e-6)),
    )


@claim(
    "E3",
    "The threshold is the estimate times the RTT in segments, to the nearest: 99, 66 and 14 for the printed estimates.",
    short="The threshold is the estimate times RTT, in segments.",
    unit="segments",
    paper=99,
    origin="formula of section 2.2, tables 2 and 3",
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
    short="With the estimate nothing is lost in slow start.",
    unit="packets",
    paper=0,
    origin="text of section 3.1, of figure 5",
    tolerance="0 with; at least 2 losses, a timeout and 0.2 s without delivery without",
)
def e4(results: Results) -> Verdict:
    blbe, reno = variants(results, "single")
    lost = between(blbe.interval(start_up_losses), 0, 0)
    verdict = every(
        labelled("lost with", lost),
        labelled("lost without", at_least(reno.interval(start_up_losses), 2)),
        labelled("timeouts without", at_least(reno.interval(timeouts), 1)),
        labelled("stall without, s", at_least(reno.interval(stall_in_slow_start), 0.2)),
    )
    return valued(verdict, lost)


@claim(
    "E5",
    "Alone, a connection with the estimate settles sooner: after 8 s in place of 25 s. Value: time without over with.",
    short="Alone, the estimate lets a connection settle sooner.",
    unit="times",
    paper=25 / 8,
    origin="text of section 3.1, of figure 5",
    tolerance="at least 3; each time within a factor of 2",
)
def e5(results: Results) -> Verdict:
    blbe, reno = variants(results, "single")
    alone = at_least(reno.ratio(settling_time, blbe), 3.0)
    verdict = every(
        labelled("ratio", alone),
        labelled("with, s", between(blbe.interval(settled_at), 4.0, 16.0)),
        labelled("without, s", between(reno.interval(settled_at), 12.5, 50.0)),
    )
    return valued(verdict, alone)


@claim(
    "E6",
    "Alone, the mean throughput until 25 s is 72 % higher with the estimate. Value: gain in %.",
    short="Alone, the throughput until 25 s is 72 % higher.",
    unit="%",
    paper=72,
    origin="text of section 3.1, of figure 5",
    tolerance="each mean within 10 % of 1316 and 768 kbit/s; the gain at least 30 %",
)
def e6(results: Results) -> Verdict:
    blbe, reno = variants(results, "single")
    gain = blbe.ratio(mean_25, reno)
    value = None if gain.value is None else 100 * (gain.value - 1)
    verdict = every(
        labelled("gain in %", at_least(value, 30.0)),
        labelled("with, kbit/s", within(blbe.interval(mean_25).scaled(1e-3), 1316, relative=0.10)),
        labelled("without, kbit/s", within(reno.interval(mean_25).scaled(1e-3), 768, relative=0.10)),
    )
    return replace(verdict, value=value, interval=None)


@claim(
    "E17",
    "Beside other sources a connection with the estimate settles sooner. Value: least time without over with.",
    short="Beside other sources it settles sooner.",
    unit="times",
    paper="sooner",
    origin="text of section 3.2, of table 4",
    tolerance="above 1 under each load of table 4",
)
def e17(results: Results) -> Verdict:
    found = []
    for load in SETTLING:
        blbe, reno = beside(results, load)
        found.append((f"{load} kbit/s", at_least(reno.ratio(settling_time, blbe), 1.0)))
    return least(found)


@claim(
    "E18",
    "Beside other sources the times to settle are those of table 4. Value: the farthest from the printed one, over it.",
    short="Beside other sources the times are those of table 4.",
    unit="times",
    paper=1,
    origin="table 4",
    tolerance="median within a factor of 2 of each printed time",
)
def e18(results: Results) -> Verdict:
    found = []
    for load, printed in SETTLING.items():
        for which, runs, time in zip(("with", "without"), beside(results, load), printed, strict=True):
            ratio = runs.median(settling_time).scaled(1 / time)
            found.append(labelled(f"{load} kbit/s, {which}", between(ratio, 0.5, 2.0)))
    known = [each for each in found if each.value]
    farthest = max(known, key=lambda each: abs(math.log(each.value or 1.0)), default=None)
    return valued(every(*found), farthest) if farthest is not None else every(*found)


@claim(
    "E19",
    "Until Reno settles, the estimate gives more throughput beside other sources: 68 %, 88 % and 68 %. Value: least "
    "gain as a factor.",
    short="Beside other sources the throughput is higher.",
    unit="times",
    paper="1.68 to 1.88",
    origin="text of section 3.2, of table 4",
    tolerance="at least 1.3 under each load (ours)",
)
def e19(results: Results) -> Verdict:
    found = []
    for load in SETTLING:
        blbe, reno = beside(results, load)
        found.append((f"{load} kbit/s", at_least(blbe.ratio(mean_settling, reno), 1.3)))
    return least(found)


@claim(
    "E7",
    "Once both have settled, the two have the same throughput. Value: ratio with to without, 25 s to 40 s.",
    short="Once both have settled, they have the same throughput.",
    unit="times",
    paper=1,
    origin="text of section 3.1, of figure 5",
    tolerance="± 3 %",
)
def e7(results: Results) -> Verdict:
    blbe, reno = variants(results, "single")
    return within(blbe.ratio(mean_after, reno), 1.0, relative=0.03)


@claim(
    "E8",
    "Beside 280 kbit/s fair queueing is idle for the pair, and the estimate is that of an empty path. "
    "Value: median, kbit/s.",
    short="Beside 280 kbit/s the estimate is that of an empty path.",
    unit="kbit/s",
    paper=1060,
    origin="text of section 3.2, table 3",
    tolerance="± 2 % of the estimate without load",
)
def e8(results: Results) -> Verdict:
    alone, _ = variants(results, "single")
    free = alone.interval(estimate).scaled(1e-3).value or 0.0
    blbe, _ = beside(results, 280)
    return within(blbe.median(estimate).scaled(1e-3), free, relative=0.02)


@claim(
    "E9",
    "Beside 2100 kbit/s the estimate is 148 kbit/s, less than the 180 kbit/s of the way. Value: median, kbit/s.",
    short="Beside 2100 kbit/s the estimate is below 180 kbit/s.",
    unit="kbit/s",
    paper=148,
    origin="table 3; text of section 3.2",
    tolerance="100 to 190 and below 180.07",
)
def e9(results: Results) -> Verdict:
    blbe, _ = beside(results, 2100)
    return between(blbe.median(estimate).scaled(1e-3), 100, 180.07)


@claim(
    "E10",
    "Reno on a short queue delivers nothing from 1.35 s to 1.8 s. Value: longest time without a delivery, s.",
    short="Reno on a short queue stands still from 1.35 s to 1.8 s.",
    unit="s",
    paper=0.45,
    origin="text of section 1, of figure 1",
    tolerance="0.3 s to 0.6 s",
    soft=True,
)
def e10(results: Results) -> Verdict:
    return between(results["stall"].interval(longest_stall), 0.3, 0.6)


@claim(
    "E11",
    "The estimate takes nothing from others: once the transfer has settled, the other sources have the same "
    "throughput. Value: the largest difference of the three loads, %.",
    short="The estimate takes nothing from the other sources.",
    unit="%",
    origin="text of section 3.2, of figure 6",
    tolerance="less than 5 %",
)
def e11(results: Results) -> Verdict:
    found = []
    for load in SETTLING:
        blbe, reno = beside(results, load)
        ratio = blbe.ratio(mean_others, reno)
        if ratio.value is None:
            return Verdict("inconclusive", detail=f"{load} kbit/s: nothing delivered")
        ends = [end for end in (ratio.low, ratio.high) if end is not None] or [ratio.value]
        found.append((max(100 * abs(end - 1) for end in ends), 100 * abs(ratio.value - 1), load))
    worst, value, load = max(found)
    several = worst > value
    verdict = at_most(worst, 5.0)
    interval = (None, worst) if several else None
    return replace(verdict, value=value, interval=interval, detail=f"largest beside {load} kbit/s")


@claim(
    "E12",
    "Beside 800 kbit/s the estimate is 693 kbit/s, and the threshold 66 segments. Value: median estimate, kbit/s.",
    short="Beside 800 kbit/s the estimate is 693 kbit/s.",
    unit="kbit/s",
    paper=693,
    origin="table 3",
    tolerance="medians within 10 % of 693 kbit/s and of 66 segments",
)
def e12(results: Results) -> Verdict:
    blbe, _ = beside(results, 800)
    found = within(blbe.median(estimate).scaled(1e-3), 693, relative=0.10)
    each = sorted(value / 1e3 for value in blbe.values(estimate) if value is not None)
    near = sum(abs(value - 693) <= 69.3 for value in each)
    spread = f"{near} of {len(each)} runs within 10 %, from {each[0]:.0f} to {each[-1]:.0f} kbit/s" if each else ""
    verdict = every(
        labelled("estimate, kbit/s", found),
        Verdict("pass", detail=spread),
        labelled("threshold, segments", within(blbe.median(threshold), 66, relative=0.10)),
    )
    return valued(verdict, found)


@claim(
    "E13",
    "Beside 800 kbit/s queues are sometimes empty and sometimes not, and the estimate is further from what the way "
    "carries than alone. Value: median difference, %.",
    short="Beside 800 kbit/s the estimate is less exact than alone.",
    unit="%",
    paper=7.6,
    origin="text of section 3.2, table 3",
    tolerance="more than the difference alone, 6.007 %",
)
def e13(results: Results) -> Verdict:
    alone, _ = variants(results, "single")
    blbe, _ = beside(results, 800)
    own = alone.interval(estimate_error).value
    if own is None:
        return Verdict("inconclusive", detail="there is no value alone")
    return at_least(blbe.median(estimate_error), own)


@claim(
    "E14",
    "Beside 280, 800 and 2100 kbit/s a transfer with the estimate loses nothing in slow start, and one without always "
    "loses several packets. Value: most segments resent with the estimate.",
    short="Beside others the estimate avoids losses in slow start.",
    unit="segments",
    paper=0,
    origin="text of section 3.2, of figure 6",
    tolerance="resent until 2 s after slow start: with it none in any run, without it at least 2 in each",
)
def e14(results: Results) -> Verdict:
    found, most = [], None
    for load in SETTLING:
        blbe, reno = beside(results, load)
        own, others = ([x for x in runs.values(resent_after_slow_start) if x is not None] for runs in (blbe, reno))
        lost = at_most(max(own, default=None), 0.0)
        most = lost if most is None or (lost.value or 0.0) > (most.value or 0.0) else most
        losing = f"{sum(x > 0 for x in own)} of {len(own)} runs lose"
        found += [
            labelled(f"{load} kbit/s: most with", replace(lost, detail=losing)),
            labelled(f"{load} kbit/s: least without", at_least(min(others, default=None), 2.0)),
        ]
    verdict = every(*found)
    return valued(verdict, most) if most else verdict


@claim(
    "E15",
    "Alone, the estimate is about 6 % below what the way carries, and the ideal threshold would be 105. "
    "Value: ideal threshold.",
    short="The estimate is 6 % low; ideal would be ssthresh 105.",
    unit="segments",
    paper=105,
    origin="text of section 3.1",
    tolerance="the bandwidth of the way times the RTT to the nearest 105; estimate 5.5 to 6.5 % low",
)
def e15(results: Results) -> Verdict:
    blbe, _ = variants(results, "single")
    way, rtt, rate = (blbe.interval(of).value for of in (true_bandwidth, rtt_of_threshold, estimate))
    if way is None or rtt is None or rate is None:
        return Verdict("inconclusive", detail="there is no value")
    ideal = within(way * rtt / MSS_BITS, 105, absolute=0.5)
    low = between(100 * (1 - rate / way), 5.5, 6.5)
    return valued(every(labelled("ideal threshold", ideal), labelled("estimate below it, %", low)), ideal)


FIRST = ("25 B", "50 B", "100 B", "200 B")
"""L1 of the pairs whose L2 is 1000 B."""

SECOND = ("1000 B", "1200 B", "1500 B", "2000 B", "4000 B")
"""L2 of those whose L1 is 200 B."""


@claim(
    "E16",
    "The larger L2, and the smaller L1 and the number of routers where the connection shares a queue, the smaller is "
    "the error of the estimate. Value: least step from one size to the next, points of %.",
    short="The error falls with larger L2, smaller L1 and N2.",
    unit="points",
    paper="falls",
    origin="text of section 2.2",
    tolerance="less with each step of L2 and of L1, and less alone than beside 2100 kbit/s",
)
def e16(results: Results) -> Verdict:
    pairs = results["probes"]
    by_first = [error(pairs, f"blbe(l2=1000 B, l1={size})") for size in FIRST]
    by_second = [error(pairs, f"blbe(l1=200 B, l2={size})") for size in SECOND[1:]]
    steps = [*falls(by_first[::-1]), *falls([by_first[-1], *by_second])]
    if not steps:
        return Verdict("inconclusive", detail="there is no value")
    least = holds(min(steps) > 0, min(steps))
    alone, _ = variants(results, "single")
    shared, _ = beside(results, 2100)
    own = alone.interval(estimate_error).value
    verdict = every(
        labelled(
            "L2 = 1000 B, L1 = " + ", ".join(FIRST), holds(min(steps[: len(FIRST) - 1]) > 0, detail=said(by_first))
        ),
        labelled(
            "L1 = 200 B, L2 = " + ", ".join(SECOND), holds(min(steps) > 0, detail=said([by_first[-1], *by_second]))
        ),
        labelled(
            "beside 2100 kbit/s, %", at_least(shared.median(estimate_error), own) if own else Verdict("inconclusive")
        ),
    )
    return valued(verdict, least)


def error(pairs: Runs, name: str) -> float:
    """The error of such a pair, %; not a number, where there is none."""
    value = pairs.where(slow_start=name).interval(estimate_error).value
    return float("nan") if value is None else value


def falls(errors: list[float]) -> list[float]:
    """By how much each is less than the one before."""
    found = [before - after for before, after in itertools.pairwise(errors)]
    return [] if any(math.isnan(step) for step in found) else found


def said(errors: list[float]) -> str:
    """Errors in words."""
    return ", ".join(f"{value:.3g}" for value in errors) + " %"
