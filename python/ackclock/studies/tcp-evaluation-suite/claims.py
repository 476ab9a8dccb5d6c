"""Sanity statements of the Common TCP Evaluation Suite, each with its source. Ids are those of README.md."""

from __future__ import annotations

from dataclasses import replace

from ackclock.study import (
    Interval,
    Measure,
    Results,
    Runs,
    Verdict,
    at_least,
    at_most,
    claim,
    every,
    greatest,
    labelled,
    least,
    valued,
)

from .measures import (
    camp_b,
    drop_rate,
    jain,
    mean_delay,
    other_over_160,
    single_over_multiple,
    to_90,
    to_150_mb,
    utilisation,
)

CONTROLLERS = ("reno", "cubic", "htcp", "bbr1", "bbr3", "vegas")
LOSS_BASED = ("reno", "cubic", "htcp")
LOW, OVERLOAD = 21.2, 38.9
"""Arrivals per second on each path that offer 60 % and 110 % of the access link."""

LOAD, INTRA_RTT = "flows.0.app.arrivals.poisson", "flows.0.rtt"


def of(results: Results, scenario: str, cc: str, **where: str | float) -> Runs:
    """The runs of a scenario in which all flows, or the first, have a controller."""
    runs = results[scenario]
    key = next(key for key in ("flows.0.cc", "flows.1.cc", "cc") if key in runs.known)
    return runs.where({key: cc, **where})


def compared(results: Results, scenario: str, quantity: Measure, cc: str, over: str, **where: str | float) -> Interval:
    """A measure with one controller over that with another, replication by replication."""
    return of(results, scenario, cc, **where).ratio(quantity, of(results, scenario, over, **where))


def all_of(found: list[tuple[str, Verdict]], *, largest: bool = False) -> Verdict:
    """Several checks of the same kind: the value is the least, or the largest, of those that decide."""
    decides = greatest(found) if largest else least(found)
    return replace(decides, detail=every(*(labelled(name, verdict) for name, verdict in found)).detail)


@claim(
    "T1",
    "Offered more than it can carry, the access link is never idle for long, whatever the controller (draft, section "
    "3.1: transfers pile up). Value: least utilisation at 110 %.",
    short="Offered 110 %, the access link is never idle for long.",
    unit="of the rate",
    tolerance="at least 0.9, each of six controllers",
)
def t1(results: Results) -> Verdict:
    return all_of(
        [(cc, at_least(of(results, "access", cc, **{LOAD: OVERLOAD}).interval(utilisation), 0.9)) for cc in CONTROLLERS]
    )


@claim(
    "T2",
    "The queue of the access link is longer at 110 % than at 60 % (draft, section 3.1). Value: least ratio of mean "
    "queueing delays.",
    short="The queue is longer at 110 % than at 60 % of the load.",
    unit="times",
    tolerance="above 1, each of six controllers",
)
def t2(results: Results) -> Verdict:
    found = []
    for cc in CONTROLLERS:
        over = of(results, "access", cc, **{LOAD: OVERLOAD})
        ratio = over.ratio(mean_delay, of(results, "access", cc, **{LOAD: LOW}))
        found.append((cc, at_least(ratio, 1.0)))
    return all_of(found)


@claim(
    "T3",
    "Reno and CUBIC fill the queue that they find (RFC 9743, section 5.1.2). Value: least ratio of mean queueing "
    "delays with queues of 200 % and of 10 % of the BDP.",
    short="Reno and CUBIC fill the queue that they find.",
    unit="times",
    tolerance="at least 2",
)
def t3(results: Results) -> Verdict:
    key = "topology.links.0.queue"
    found = []
    for cc in ("reno", "cubic"):
        long = of(results, "trade-off", cc, **{key: "1667 packets"})
        ratio = long.ratio(mean_delay, of(results, "trade-off", cc, **{key: "83 packets"}))
        found.append((cc, at_least(ratio, 2.0)))
    return all_of(found)


@claim(
    "T4",
    "Vegas keeps the queue shorter than Reno (Brakmo and Peterson 1995), here with transfers and a queue of 200 % of "
    "the BDP. Value: ratio of mean queueing delays.",
    short="Vegas keeps the queue shorter than Reno.",
    unit="times",
    tolerance="below 1",
)
def t4(results: Results) -> Verdict:
    return at_most(
        compared(results, "trade-off", mean_delay, "vegas", "reno", **{"topology.links.0.queue": "1667 packets"}), 1.0
    )


def fast_ones_sooner(results: Results, scenario: str, time: Measure) -> Verdict:
    """Whether CUBIC and H-TCP take less of a time than Reno."""
    ratios = {cc: compared(results, scenario, time, cc, "reno") for cc in ("cubic", "htcp")}
    return all_of([(cc, at_most(ratio, 1.0)) for cc, ratio in ratios.items()], largest=True)


@claim(
    "T5",
    "On 1 Gbit/s and 80 ms a newcomer gets its first 150 MB sooner with CUBIC and with H-TCP than with Reno: both are "
    "made for fast long paths (RFC 9438, section 1; Leith and Shorten 2004). Value: larger ratio of the times.",
    short="CUBIC and H-TCP give a newcomer 150 MB sooner than Reno.",
    unit="times",
    tolerance="below 1",
)
def t5(results: Results) -> Verdict:
    return fast_ones_sooner(results, "ramp-1000", to_150_mb)


@claim(
    "T6",
    "When three quarters of 100 Mbit/s become free, CUBIC and H-TCP open their windows to 90 % of the BDP sooner than "
    "Reno, which needs a round trip for each segment (RFC 9438, section 1; Leith and Shorten 2004). Value: larger "
    "ratio of the times.",
    short="CUBIC and H-TCP take what becomes free sooner than Reno.",
    unit="times",
    tolerance="below 1",
)
def t6(results: Results) -> Verdict:
    return fast_ones_sooner(results, "release", to_90)


@claim(
    "T7",
    "Two transfers with equal round-trip times come to equal shares (AIMD: Chiu and Jain 1989). Value: mean of Jain's "
    "index, queue of one BDP, the least of round-trip times of 10 to 160 ms and of controllers.",
    short="Equal round-trip times lead to equal shares.",
    unit="Jain's index",
    tolerance="at least 0.9 at each: Reno, CUBIC, H-TCP",
)
def t7(results: Results) -> Verdict:
    found: list[tuple[str, Verdict]] = []
    for cc in LOSS_BASED:
        runs = of(results, "intra", cc, **{"topology.queue": "1 BDP"})
        at = {rtt: runs.where({INTRA_RTT: rtt}) for rtt in runs.steps(INTRA_RTT)}
        found += [(f"{cc} at {rtt}", at_least(part.interval(jain), 0.9)) for rtt, part in at.items()]
    return all_of(found)


@claim(
    "T8",
    "With Reno the transfer with the shorter round-trip time gets more (Lakshman and Madhow 1997): 10 ms beside "
    "160 ms, queue of one BDP, on 10 and on 100 Mbit/s. Value: smaller ratio of goodputs.",
    short="With Reno the shorter round-trip time gets more.",
    unit="times",
    tolerance="above 1",
)
def t8(results: Results) -> Verdict:
    return all_of(
        [(rate, at_least(short_over_long(results, scenario, "reno"), 1.0)) for scenario, rate in RATES.items()]
    )


RATES = {"inter": "10 Mbit/s", "inter-100": "100 Mbit/s"}


def short_over_long(results: Results, scenario: str, cc: str) -> Interval:
    """Goodput with 10 ms over that with 160 ms: geometric mean over the replications."""
    runs = of(results, scenario, cc, **{"flows.1.rtt": "10 ms"})
    if "topology.queue" in runs.known:
        runs = runs.where({"topology.queue": "1 BDP"})
    return runs.interval(other_over_160)


@claim(
    "T9",
    "BBRv1 favours the transfer with the longer round-trip time (Electronics 10, 615, 2021, and what it cites): 10 ms "
    "beside 160 ms on 100 Mbit/s. Value: ratio of goodputs, short over long.",
    short="BBRv1 favours the longer round-trip time.",
    unit="times",
    tolerance="below 1, and below what the second transfer gets if both have 160 ms, as it comes later",
    soft=True,
)
def t9(results: Results) -> Verdict:
    runs = of(results, "inter-100", "bbr1")
    short, equal = (runs.where({"flows.1.rtt": rtt}) for rtt in ("10 ms", "160 ms"))
    found = at_most(short.interval(other_over_160), 1.0)
    verdict = every(
        labelled("short over long", found),
        labelled("over the same with 160 ms each", at_most(short.ratio(other_over_160, equal), 1.0)),
    )
    return valued(verdict, found)


@claim(
    "T10",
    "A long transfer over three congested links gets less than one over a single link at the same round-trip time "
    "(Floyd 1991). Value: least ratio, single over three.",
    short="Three congested links give a transfer less than one.",
    unit="times",
    tolerance="above 1: Reno, CUBIC, H-TCP",
)
def t10(results: Results) -> Verdict:
    found = []
    for cc in LOSS_BASED:
        runs = of(results, "parking-lot-long", cc)
        found.append((cc, at_least(runs.interval(single_over_multiple), 1.0)))
    return all_of(found)


@claim(
    "T11",
    "Beside Reno, Vegas gets less than Reno would in its place (Mo, La, Anantharam and Walrand 1999), queue of one "
    "BDP. Value: ratio of goodputs.",
    short="Beside Reno, Vegas gets less than Reno would.",
    unit="times",
    tolerance="below 1",
)
def t11(results: Results) -> Verdict:
    return at_most(compared(results, "impact-long", camp_b, "vegas", "reno", **{"topology.queue": "1 BDP"}), 1.0)


@claim(
    "T12",
    "Several BBRv1 transfers behind a queue shorter than one and a half BDP lose packets all the time, later versions "
    "do not (RFC 9743, section 5.1.3). Value: BBRv1's drop rate over BBRv3's, four transfers, half a BDP.",
    short="BBRv1 loses packets on short queues, BBRv3 does not.",
    unit="times",
    tolerance="at least 2",
)
def t12(results: Results) -> Verdict:
    return at_least(compared(results, "several", drop_rate, "bbr1", "bbr3", **{"topology.queue": "0.5 BDP"}), 2.0)
