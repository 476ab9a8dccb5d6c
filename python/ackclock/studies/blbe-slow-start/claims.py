"""Claims of the study of BLBE slow start. Ids are those of README.md."""

from __future__ import annotations

from collections.abc import Iterator
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
    valued,
    whichever,
    within,
)

from .measures import (
    SETTLING,
    equivalent,
    estimate,
    longest_stall,
    mean_25,
    mean_after,
    mean_others,
    mean_settling,
    settled_at,
    settling_time,
    shared_rates,
    stall_in_slow_start,
    start_up_losses,
    threshold,
    timeouts,
)

PAIRS = ((1060.0, 0.149, 99), (693.0, 0.152, 66), (148.0, 0.151, 14))
"""Tables 2 and 3: estimate in kbit/s, RTT in s, and the threshold that the paper has of them."""

MSS_BITS = 1600


def variants(results: Results, scenario: str) -> tuple[Runs, Runs]:
    """The runs with the estimate and those without."""
    runs = results[scenario]
    return runs.where(slow_start="blbe"), runs.where(slow_start="standard")


def beside(results: Results, scenario: str, load: int, edge: str = "50 packets") -> tuple[Runs, Runs]:
    """The runs of the transfer with the estimate and without, beside so many kbit/s, with such RED queues."""
    offer = {280: "40 kbit/s", 800: "114.286 kbit/s", 2100: "300 kbit/s"}[load]
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
    short="Alone on it, the packet pair estimates 1060 kbit/s.",
    unit="kbit/s",
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
    short="The way carries 1128 kbit/s alone, and 180 if shared.",
    unit="kbit/s",
    paper=1128,
    tolerance="1e-6 of 1127.819549 and 180.072029",
)
def e2(results: Results) -> Verdict:
    run = next(iter(results["single"]), None)  # none where an engine plays none of them
    alone, eighth = (None if run is None else float(equivalent(shared_rates(run, flows))) for flows in (1, 8))
    return every(
        labelled("alone, kbit/s", within(alone, 1127.819549, relative=1e-6)),
        labelled("shared by eight", within(eighth, 180.072029, relative=1e-6)),
    )


@claim(
    "E3",
    "The threshold is the estimate times the RTT in segments, to the nearest: 99, 66 and 14 for the printed estimates.",
    short="The threshold is the estimate times RTT, in segments.",
    unit="segments",
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
    short="With the estimate nothing is lost in slow start.",
    unit="packets",
    paper=0,
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
    "With the estimate a connection settles sooner, alone and beside other sources. Value: settling time without over "
    "with, single connection.",
    short="With the estimate a connection settles sooner.",
    unit="times",
    paper=25 / 8,
    tolerance="alone at least 3, beside others more than 1; single times within a factor of 2",
)
def e5(results: Results) -> Verdict:
    blbe, reno = variants(results, "single")
    alone = at_least(reno.ratio(settling_time, blbe), 3.0)
    verdict = every(
        labelled("alone, ratio", alone),
        labelled("with, s", between(blbe.interval(settled_at), 4.0, 16.0)),
        labelled("without, s", between(reno.interval(settled_at), 12.5, 50.0)),
        *(settles_sooner(results, load) for load in SETTLING),
    )
    return valued(verdict, alone)


def settles_sooner(results: Results, load: int) -> Verdict:
    """Whether it does beside other sources, whatever the paper leaves open."""
    found = []
    for reading, blbe, reno in readings(results, load):
        name = f"{load} kbit/s, {reading}"
        found.append(
            every(
                labelled(f"{name}: ratio", at_least(reno.ratio(settling_time, blbe), 1.0)),
                *(
                    labelled(f"{name}: {which}, s", between(runs.median(settling_time), printed / 2, printed * 2))
                    for which, runs, printed in zip(("with", "without"), (blbe, reno), SETTLING[load], strict=True)
                ),
            )
        )
    return whichever(*found)


@claim(
    "E6",
    "With the estimate the mean throughput until 25 s is 72 % higher, and beside other sources 68 %, 88 % and 68 %. "
    "Value: gain of the single connection in %.",
    short="With the estimate the throughput until 25 s is higher.",
    unit="%",
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
    short="Once both have settled, they have the same throughput.",
    unit="times",
    paper=1,
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
    short="Beside 2100 kbit/s the estimate is below 180 kbit/s.",
    unit="kbit/s",
    paper=148,
    tolerance="100 to 190 and below 180.07",
)
def e9(results: Results) -> Verdict:
    blbe, _ = beside(results, "load", 2100)
    return between(blbe.median(estimate).scaled(1e-3), 100, 180.07)


@claim(
    "E10",
    "Reno on a short queue delivers nothing from 1.35 s to 1.8 s. Value: longest time without a delivery, s.",
    short="Reno on a short queue stands still from 1.35 s to 1.8 s.",
    unit="s",
    paper=0.45,
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
    tolerance="less than 5 %",
)
def e11(results: Results) -> Verdict:
    found = []
    for load in SETTLING:
        blbe, reno = beside(results, "load", load)
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
