"""Claims of the split-TCP study. Ids are those of README.md."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from ackclock.study import (
    Interval,
    Results,
    Runs,
    Verdict,
    at_least,
    at_most,
    between,
    claim,
    every,
    greatest,
    labelled,
    least,
    mean_interval,
    valued,
    within,
)
from ackclock.study.code import Measure
from ackclock.study.kinds import proportion

from .linux import OFTEN, cells
from .measures import (
    OFF,
    ON,
    RELAY,
    SIZES,
    WEIGHTS,
    apart,
    duplicates_10m,
    miscounted,
    only,
    rate,
    retransmitted,
    retransmitted_10m,
    said,
)
from .throughput_gains import (
    BY_REPLICATION,
    MEAN,
    NUMBERS,
    PLACES,
    SERVERS,
    SPEED,
    as_recorded,
    chosen,
    gains,
    less,
    overall,
    rates,
    together,
)


@claim(
    "D1",
    "Files of 5 MB and more gain more from the far server than from the near one, at every place. "
    "Value: least difference of the gains.",
    short="The far server gains more, at every place.",
    unit="of the rate",
    paper="more",
    origin="text of page 78, of figure 32",
    tolerance="the paired difference is above 0, at NC, MC and FC, 5, 10 and 20 MB",
)
def d1(results: Results) -> Verdict:
    found = []
    for place in PLACES:
        far, near = (chosen(results, "mean", rtt, place) for rtt in MEAN.values())
        for number in (3, 4, 5):
            difference = less(gains(far, number), gains(near, number))
            found.append((f"{place}, {SIZES[number] / 1e6:g} MB", at_least(difference, 0.0)))
    return least(found)


@claim(
    "D2",
    "Over LTE downloads from S1 gain 72 %, weighted over regions, places and sizes. Value: the gain.",
    short="Over LTE downloads from S1 gain 72 %.",
    unit="of the rate",
    paper=0.72,
    origin="text of page 74, of figure 29a",
    tolerance="20 % of it: 0.576 to 0.864",
)
def d2(results: Results) -> Verdict:
    return within(mean_interval(overall(results, "lte", "S1").values()), 0.72, relative=NUMBERS)


@claim(
    "D3",
    "Over LTE downloads from S2 gain 43 %, weighted over regions, places and sizes. Value: the gain.",
    short="Over LTE downloads from S2 gain 43 %.",
    unit="of the rate",
    paper=0.43,
    origin="text of page 74, of figure 29b",
    tolerance="20 % of it: 0.344 to 0.516",
)
def d3(results: Results) -> Verdict:
    return within(mean_interval(overall(results, "lte", "S2").values()), 0.43, relative=NUMBERS)


@claim(
    "D4",
    "Over 3G downloads gain little: 6 % from S1 and 3 % from S2. Value: gain from S1.",
    short="Over 3G downloads gain little.",
    unit="of the rate",
    paper=0.06,
    origin="text of page 74",
    tolerance="both 0 to 0.15 and below a third of LTE's",
)
def d4(results: Results) -> Verdict:
    parts, first = [], None
    for server in SERVERS:
        slow, fast = (overall(results, scenario, server) for scenario in ("hspa", "lte"))
        little = between(mean_interval(slow.values()), 0.0, 0.15)
        first = first or little
        third = less({number: value / 3 for number, value in fast.items()}, slow)
        parts += [labelled(server, little), labelled(f"{server}, a third of LTE less it", at_least(third, 0.0))]
    return valued(every(*parts), first) if first is not None else every(*parts)


def megabits(results: Results, server: str, relay: str) -> Interval:
    """Mbit/s of 10 MB near to the base station."""
    found = rates(chosen(results, "mean", MEAN[server], "near"), relay, 4)
    return mean_interval(value / 1e6 for value in found.values())


@claim(
    "D5",
    "10 MB from S1 near to the base station have 9 Mbit/s off and 21 on; the trial calls that 117 %, but 9 to 21 is "
    "133 %. Value: on, Mbit/s.",
    short="10 MB from S1, NC: 9 Mbit/s off, 21 on.",
    unit="Mbit/s",
    paper=21,
    origin="text of page 79, of figure 32",
    tolerance="off 7 to 11, on 19 to 23",
)
def d5(results: Results) -> Verdict:
    on = within(megabits(results, "S1", ON), 21, absolute=2)
    off = labelled("off", within(megabits(results, "S1", OFF), 9, absolute=2))
    return valued(every(labelled("on", on), off), on)


@claim(
    "D6",
    "10 MB from S2 near to the base station have 21 Mbit/s off and gain 19 %. Value: gain.",
    short="10 MB from S2, NC: 21 Mbit/s off, 19 % gain.",
    unit="of the rate",
    paper=0.19,
    origin="text of page 79, of figure 32",
    tolerance="off 19 to 23 Mbit/s, gain 0.10 to 0.25",
)
def d6(results: Results) -> Verdict:
    off = labelled("off", within(megabits(results, "S2", OFF), 21, absolute=2))
    found = gains(chosen(results, "mean", MEAN["S2"], "near"), 4)
    gain = between(mean_interval(found.values()), 0.10, 0.25)
    return valued(every(labelled("gain", gain), off), gain)


@claim(
    "D7",
    "At the mean pings no download is faster than the speed test of its place. Value: largest share of it, with the "
    "proxy.",
    short="At the mean pings nothing is above the speed test.",
    unit="of the speed test",
    paper="capped",
    origin="text of pages 78 and 79, of figure 32a",
    tolerance="at most 1.02, every place, server and size",
)
def d7(results: Results) -> Verdict:
    found = []
    for place, most in SPEED.items():
        for server, rtt in MEAN.items():
            for number, size in enumerate(SIZES):
                on = rates(chosen(results, "mean", rtt, place), ON, number)
                ours = at_most(mean_interval(value / most for value in on.values()), 1.02)
                found.append((f"{server}, {place}, {size / 1e6:g} MB", ours))
    return greatest(found)


@claim(
    "D8",
    "Retransmissions are rare, but there are some: often 0 %, mostly below 0.5 % of the bytes, seldom above 1 %. "
    "Value: share of the runs without any.",
    short="Retransmissions: often 0, mostly below 0.5 %.",
    unit="of the runs",
    paper="quite often",
    origin="text of page 75, of figure 30",
    tolerance="of the runs over LTE 0.2 to 0.9 have none, at least 0.5 less than 0.5 %, at most 0.1 more than 1 %",
)
def d8(results: Results) -> Verdict:
    shares = [value for value in results["lte"].values(retransmitted) if value is not None]
    # Every run counts, as in the trial, with the interval of Wilson. Those of a replication share draws: README.md.
    none = between(proportion([float(value == 0.0) for value in shares]), 0.2, 0.9)
    half = at_least(proportion([float(value < 0.5) for value in shares]), 0.5)
    more = at_most(proportion([float(value > 1.0) for value in shares]), 0.1)
    parts = [labelled("none", none), labelled("below 0.5 %", half), labelled("above 1 %", more)]
    return valued(every(*parts), none)


@claim(
    "D9",
    "Where 0.8 % of the bytes are sent again and 10 % of the acknowledgments are duplicates, the proxy gains less than "
    "where nothing is: 33 % against 200 %. Value: difference of the gains of 10 MB from S1.",
    short="Where much is sent again the proxy gains less.",
    unit="of the rate",
    paper=1.67,
    origin="text of page 75, of figure 31",
    tolerance="the paired difference is above 0; more than 0.4 % sent again and 5 % duplicates there, none elsewhere",
)
def d9(results: Results) -> Verdict:
    good, bad = chosen(results, "mean", MEAN["S1"], "near"), results["outages"]
    smaller = at_least(less(gains(good, 4), gains(bad, 4)), 0.0)
    again = at_least(bad.interval(retransmitted_10m), 0.4)
    duplicates = at_least(bad.where({RELAY: OFF}).interval(duplicates_10m), 5.0)
    nothing = at_most(good.interval(retransmitted_10m), 0.0)
    parts = [labelled("smaller", smaller), labelled("sent again, %", again), labelled("duplicates, %", duplicates)]
    return valued(every(*parts, labelled("elsewhere, %", nothing)), smaller)


@claim(
    "D10",
    "Where a download has 85 % of the speed test without the proxy, it gains less than 25 %. Value: largest gain.",
    short="Who has the line's rate gains little.",
    unit="of the rate",
    paper="little",
    origin="text of page 78",
    tolerance="below 0.25 everywhere",
)
def d10(results: Results) -> Verdict:
    found = []
    for scenario in ("mean", "lte"):
        for rtt in results[scenario].steps("topology.rtt"):
            for place, most in SPEED.items():
                runs = chosen(results, scenario, str(rtt), place)
                for number, size in enumerate(SIZES):
                    off = mean_interval(rates(runs, OFF, number).values()).value
                    if off is not None and off >= 0.85 * most:
                        gain = at_most(mean_interval(gains(runs, number).values()), 0.25)
                        found.append((f"{rtt}, {place}, {size / 1e6:g} MB", gain))
    return greatest(found)


@claim(
    "D11",
    "No gain of the trial is larger than 228 %. Value: our largest, of a region, a place and a size over LTE.",
    short="The largest gain is 228 %.",
    unit="of the rate",
    paper=2.28,
    origin="text of page 74, of figure 29",
    tolerance="20 % of it: 1.824 to 2.736",
)
def d11(results: Results) -> Verdict:
    runs = results["lte"]
    found = [
        mean_interval(gains(chosen(results, "lte", str(rtt), place), number).values())
        for rtt in runs.steps("topology.rtt")
        for place in PLACES
        for number in range(len(SIZES))
    ]
    largest = max(found, key=lambda each: each.value or 0.0, default=Interval(None, None, None, 0))
    return within(largest, 2.28, relative=NUMBERS)


@claim(
    "D12",
    "In region R3 downloads from S1 gain about 120 %, weighted over places and sizes. Value: the gain.",
    short="In R3 downloads from S1 gain about 120 %.",
    unit="of the rate",
    paper=1.20,
    origin="text of page 74, of figure 29a",
    tolerance="20 % of it: 0.96 to 1.44",
)
def d12(results: Results) -> Verdict:
    third = SERVERS["S1"][2]
    found = together([
        (weight * share, gains(chosen(results, "lte", third, place), number))
        for place, weight in PLACES.items()
        for number, share in enumerate(WEIGHTS)
    ])  # fmt: skip
    return within(mean_interval(found.values()), 1.20, relative=NUMBERS)


@claim(
    "D13",
    "Over LTE downloads from S2 gain, and less than those from S1. Value: difference of the weighted gains.",
    short="From S2 they gain, and less than from S1.",
    unit="of the rate",
    paper=0.29,
    origin="text of page 74, of figure 29",
    tolerance="gain of S2 and paired difference above 0",
)
def d13(results: Results) -> Verdict:
    far, near = (overall(results, "lte", server) for server in ("S1", "S2"))
    more = at_least(less(far, near), 0.0)
    gained = at_least(mean_interval(near.values()), 0.0)
    return valued(every(labelled("S1 more", more), labelled("S2", gained)), more)


def clean(results: Results, server: str = "S1") -> BY_REPLICATION:
    """Gains of 10 MB near to the base station at a mean ping."""
    return gains(chosen(results, "mean", MEAN[server], "near"), 4)


@claim(
    "D14",
    "10 MB from S1 near to the base station gain 117 % (figure 32b). Value: the gain.",
    short="10 MB from S1, NC: a gain of 117 %.",
    unit="of the rate",
    paper=1.17,
    origin="text of page 79, of figure 32b",
    tolerance="20 % of it: 0.936 to 1.404, which 133 % is in",
)
def d14(results: Results) -> Verdict:
    return within(mean_interval(clean(results).values()), 1.17, relative=NUMBERS)


@claim(
    "D15",
    "10 MB from S1 near to the base station gain around 200 % where nothing is retransmitted (figure 31a). "
    "Value: the gain.",
    short="10 MB from S1, NC, no losses: around 200 %.",
    unit="of the rate",
    paper=2.0,
    origin="text of page 75, of figure 31a",
    tolerance="20 % of it: 1.6 to 2.4",
)
def d15(results: Results) -> Verdict:
    return within(mean_interval(clean(results).values()), 2.0, relative=NUMBERS)


@claim(
    "D16",
    "Where 0.8 % of the bytes are retransmitted and 10 % of the acknowledgments are duplicates, the proxy gains 33 % "
    "(figure 31b). Value: gain of 10 MB from S1 with outages.",
    short="Where much is retransmitted the gain is 33 %.",
    unit="of the rate",
    paper=0.33,
    origin="text of page 75, of figure 31b",
    tolerance="20 % of it: 0.264 to 0.396",
)
def d16(results: Results) -> Verdict:
    return within(mean_interval(gains(results["outages"], 4).values()), 0.33, relative=NUMBERS)


@claim(
    "D17",
    "Over LTE the gains of both servers are about 60 % in the mean; 72 and 43 % are 57.5 %. Value: mean of both.",
    short="Over LTE both servers gain about 60 % in the mean.",
    unit="of the rate",
    paper=0.60,
    origin="text of page 81",
    tolerance="20 % of it: 0.48 to 0.72",
)
def d17(results: Results) -> Verdict:
    both = together([(1.0, overall(results, "lte", server)) for server in SERVERS])
    return within(mean_interval(both.values()), 0.60, relative=NUMBERS)


def deviations(results: Results, server: str, place: str) -> dict[int, float]:
    """How far 10 MB without the proxy are from the median of their place, as a share of it, by replication."""
    found = rates(chosen(results, "mean", MEAN[server], place), OFF, 4)
    middle = statistics.median(found.values()) if found else math.nan
    return {replication: abs(value / middle - 1) for replication, value in found.items()}


@claim(
    "D18",
    "Rates without the proxy vary widely, in particular at FC. Value: mean deviation of 10 MB from the median at FC, "
    "S1.",
    short="Without the proxy rates vary widely, most at FC.",
    unit="of the rate",
    paper="widely",
    origin="text of pages 73 and 74",
    tolerance="at FC at least 0.05 from S1 and S2, and more than at NC (Brown and Forsythe's deviations, paired)",
)
def d18(results: Results) -> Verdict:
    parts = []
    for server in SERVERS:
        edge, near = (deviations(results, server, place) for place in ("far", "near"))
        parts += [
            labelled(server, at_least(mean_interval(edge.values()), 0.05)),
            labelled(f"{server}, more than at NC", at_least(less(edge, near), 0.0)),
        ]
    return valued(every(*parts), at_least(mean_interval(deviations(results, "S1", "far").values()), 0.05))


@claim(
    "D19",
    "Gains may be even greater with 5G. Value: gain of 10 MB from S1 over a radio of 1 Gbit/s less that at 25 Mbit/s, "
    "with the trial's window.",
    short="With 5G gains are even greater.",
    unit="of the rate",
    paper="greater",
    origin="text of page 81",
    tolerance="the paired difference is above 0, from S1 and from S2",
)
def d19(results: Results) -> Verdict:
    parts = []
    for server, delay in (("S1", "52.5 ms"), ("S2", "7.5 ms")):
        fast, slow = (only_gains(results["nr"], delay, rate) for rate in ("1 Gbit/s", "25 Mbit/s"))
        parts.append(labelled(server, at_least(less(fast, slow), 0.0)))
    return valued(every(*parts), parts[0])


def only_gains(runs: Runs, delay: str, radio: str) -> dict[int, float]:
    """Gains of the only download over a chain, by replication."""
    part = runs.where({"topology.hops.0.delay": delay, "topology.hops.1.rate": radio})
    off, on = ({run.replication: only(run) for run in part.where(relay=relay)} for relay in (OFF, ON))
    return {n: value / base - 1 for n, value in on.items() if value and (base := off.get(n))}


CAPTURED = ("lte", "hspa", "mean", "outages")
"""The scenarios that are measured by captures."""


def largest(results: Results, difference: Measure, bound: float) -> Verdict:
    """The largest of what captures and the simulator differ by, over all scenarios and runs: exact, no interval."""
    found = []
    for name in CAPTURED:
        values = [value for value in results[name].values(difference) if value is not None]
        found.append((name, at_most(Interval(max(values, default=None), None, None, len(values)), bound)))
    return greatest(found)


@claim(
    "X1",
    "Ours: the captures say what the simulator says, of every download's time and, at each sender of its data, of "
    "bytes sent and sent again, timeouts, acknowledgments and duplicates. Value: largest difference of a time.",
    short="The captures say what the simulator says.",
    unit="of the time",
    paper="-",
    origin="not in the paper",
    tolerance="times at most 1e-6 apart, counts not at all, every run of lte, hspa, mean and outages",
)
def x1(results: Results) -> Verdict:
    with as_recorded(results):
        times = largest(results, apart, 1e-6)
        counts = largest(results, miscounted, 0.0)
    return valued(every(labelled("times", times), labelled("counts", counts)), times)


LARGE = (3, 4, 5)
"""Files of 5 MB and more: the start of shorter ones hangs on what is drawn for single packets."""


def beside_linux(results: Results, numbers: Sequence[int]) -> Verdict:
    """The largest difference of our gains and Linux's over its cells with files of these numbers.

    Both have played the same replications, that is the same starts: means of their differences.
    """
    found = []
    with as_recorded(results):
        for cell in cells():
            if cell.number in numbers:
                of = said if cell.scenario == OFTEN else rate
                ours = gains(results[cell.scenario].where(dict(cell.where)), cell.number, of)
                found.append((cell.name, at_most(size(less(ours, cell.gains)), 0.10)))
    return greatest(found)


def size(difference: Interval) -> Interval:
    """Of a difference, whichever its sign: all of it is below a bound where both one-sided tests hold."""
    value, low, high = difference.value, difference.low, difference.high
    if value is None or low is None or high is None:
        return Interval(None if value is None else abs(value), None, None, difference.n)
    ends = sorted((abs(low), abs(high)))
    return Interval(abs(value), 0.0 if low < 0 < high else ends[0], ends[1], difference.n)


@claim(
    "X2",
    "Ours: on a real kernel with the real proxy in the relay's place files of 5 MB and more gain as much. "
    "Value: largest difference of the gains.",
    short="A real proxy on a real kernel gains as much.",
    unit="of the rate",
    paper="-",
    origin="not in the paper",
    tolerance="at most 0.10 in every cell of mean and outages, all of the interval of the mean difference",
)
def x2(results: Results) -> Verdict:
    return beside_linux(results, LARGE)


@claim(
    "X3",
    "Ours: and so do shorter ones. Value: largest difference of the gains.",
    short="So do shorter files.",
    unit="of the rate",
    paper="-",
    origin="not in the paper",
    tolerance="as X2, in every cell of mean, often and outages",
    soft=True,
)
def x3(results: Results) -> Verdict:
    return beside_linux(results, range(LARGE[0]))
