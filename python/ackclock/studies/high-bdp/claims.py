"""Claims of the study of high-speed controllers. Ids are those of README.md.

A quick run has fewer values of what is swept; each claim is judged on those that are there.
"""

from __future__ import annotations

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
    greatest,
    holds,
    labelled,
    least,
    valued,
)

from .judging import (
    CC,
    FAST_1,
    LARGE,
    NEW,
    NEW_1,
    QUEUE,
    RTT,
    SECOND_RTT,
    SMALL,
    STANDARD,
    beside_standard,
    capacity,
    figure_4,
    further,
    milliseconds,
    queues,
    share,
    times_as_long,
    typical,
    wider,
)
from .measures import (
    censored,
    log_new_over_standard,
    log_unfairness,
    long_share,
    short_over_long,
    standard_share,
    throughput,
    unfairness,
)

# --- Figures 1 and 2: efficiency ---


@claim(
    "B1",
    "With a queue of 10 % of the BDP or more each of the five gets more out of the path than standard TCP. Value: the "
    "smallest ratio to standard TCP.",
    short="With 10 % of the BDP or more all five beat standard TCP.",
    unit="times",
    origin="text of section 5.1, of figure 1",
    tolerance="at least 1.01 where standard TCP leaves 1 % or more of the link, else 0.99",
)
def b1(results: Results) -> Verdict:
    runs, found = results["buffer"], []
    for queue in queues(runs, 0.1):
        at = runs.where({QUEUE: queue})
        standard = at.where(cc=STANDARD)
        full = (standard.interval(throughput).value or 0.0) > 0.99 * capacity(standard)
        for cc in NEW_1:
            ratio = at.where(cc=cc).ratio(throughput, standard)
            found.append((f"{cc} at {queue}", at_least(ratio, 0.99 if full else 1.01)))
    return least(found)


@claim(
    "B2",
    "With less than 2 % of the BDP the throughput of every protocol drops sharply. Value: the largest throughput at "
    "1 % over that at 20 %.",
    short="Below 2 % of the BDP every throughput drops sharply.",
    unit="times",
    origin="text of section 5.1, of figure 1",
    tolerance="at most 0.9, and steeper below 2 % than from 10 % to 20 %",
)
def b2(results: Results) -> Verdict:
    runs, drops, slopes = results["buffer"], [], []
    for cc in (STANDARD, *NEW_1):
        at = {queue: runs.where({QUEUE: f"{queue} BDP"}, cc=cc) for queue in ("0.01", "0.02", "0.1", "0.2")}
        drops.append((f"{cc}: 1 % over 20 %", at_most(at["0.01"].ratio(throughput, at["0.2"]), 0.9)))
        below = at["0.02"].difference(throughput, at["0.01"]).value
        above = at["0.2"].difference(throughput, at["0.1"]).value
        if below is not None and above is not None:
            slopes.append((f"{cc} is steeper below 2 %", holds(below / 0.01 > above / 0.1)))
    worst = greatest(drops)
    verdict = every(worst, least(slopes))
    # That a slope is not steeper has no number of its own.
    return verdict if verdict.value is not None else replace(verdict, value=worst.value, interval=worst.interval)


@claim(
    "B3",
    "FAST's throughput begins to drop at a queue of about 8 % of the BDP. Value: throughput at 8 % over that at 20 %.",
    short="FAST's throughput drops below about 8 % of the BDP.",
    unit="times",
    paper="8 %",
    origin="text of section 5.1, of figure 1",
    tolerance="at most 0.97 at 8 %, and no queue longer than 12 % has less than 0.97",
)
def b3(results: Results) -> Verdict:
    runs = results["buffer"].where(cc=FAST_1)
    plenty = runs.where({QUEUE: "0.2 BDP"})
    ratios = {queue: runs.where({QUEUE: queue}).ratio(throughput, plenty) for queue in queues(runs, 0.0)}
    low = [share(queue) for queue, found in ratios.items() if found.value is not None and found.value < 0.97]
    drop = labelled("8 % over 20 %", at_most(ratios.get("0.08 BDP"), 0.97))
    knee = f"less than 0.97 up to {100 * max(low):g} %" if low else "never less than 0.97"
    return valued(every(drop, labelled(knee, holds(not low or max(low) <= 0.12))), drop)


@claim(
    "B4",
    "At every RTT all but FAST get as much out of the path as standard TCP, and from 80 ms on more. Value: the "
    "smallest ratio to standard TCP.",
    short="At every RTT all but FAST get as much as standard TCP.",
    unit="times",
    origin="text of section 5.1, of figure 2",
    tolerance="at least 0.99, and more than 1 from 80 ms on",
)
def b4(results: Results) -> Verdict:
    runs, found = results["together"], []
    for rtt in runs.steps(RTT):
        at = runs.where({RTT: rtt})
        for cc in NEW:
            if cc != "fast":
                ratio = at.where({CC: cc}).ratio(throughput, at.where({CC: STANDARD}))
                found.append((f"{cc} at {rtt}", at_least(ratio, 1.0 if milliseconds(rtt) >= 80 else 0.99)))
    return least(found)


@claim(
    "B5",
    "FAST gets more out of the path than standard TCP from an RTT of the order of 100 ms on only. Value: its ratio to "
    "standard TCP that decides.",
    short="FAST beats standard TCP from about 100 ms on only.",
    unit="times",
    paper="from the order of 10^2 ms",
    origin="text of section 5.1, of figure 2",
    tolerance="more than 1 at 160 ms and 320 ms, at most 1 at 16 ms and 40 ms; 80 ms is reported only",
)
def b5(results: Results) -> Verdict:
    runs, found = results["together"], []
    for rtt in runs.steps(RTT):
        at = runs.where({RTT: rtt})
        ratio = at.where({CC: "fast"}).ratio(throughput, at.where({CC: STANDARD}))
        verdict = at_most(ratio, 1.0) if milliseconds(rtt) <= 40 else at_least(ratio, 1.0)
        found.append(labelled(str(rtt), verdict if rtt != "80 ms" else replace(verdict, outcome="pass")))
    return every(*found)


# --- Figure 3: fairness among equals ---


@claim(
    "B6",
    "Two standard flows share within 5 %. Value: the largest ratio of their rates over the RTTs.",
    short="Two standard flows share within 5 %.",
    unit="times",
    paper=1.05,
    origin="text of section 5.2, of figure 3",
    tolerance="at most 1.05 (1.10 in a quick run) at every RTT",
)
def b6(results: Results) -> Verdict:
    limit = 1.10 if results.quick else 1.05
    runs = results["together"].where({CC: STANDARD})
    return greatest(
        (f"at {rtt}", at_most(runs.where({RTT: rtt}).interval(unfairness), limit)) for rtt in runs.steps(RTT)
    )


@claim(
    "B7",
    "Of the five H-TCP shares most equally. Value: by how much the mean logarithm of the ratio is larger of the next.",
    short="Of the five H-TCP shares most equally.",
    unit="log ratio",
    origin="text of section 5.2, of figure 3",
    tolerance="more than 0",
)
def b7(results: Results) -> Verdict:
    runs, others = results["together"], [cc for cc in NEW if cc != "htcp"]
    return least((f"{cc} less htcp", at_least(further(runs, cc, "htcp", log_unfairness), 0.0)) for cc in others)


@claim(
    "B8",
    "How equally they share varies most with the RTT for FAST and Scalable, and BIC and HighSpeed share less equally "
    "than H-TCP. Value: the difference that decides, of largest less smallest or of mean logarithm of the ratio.",
    short="How FAST and Scalable share varies most with the RTT.",
    unit="log ratio",
    origin="text of section 5.2, of figure 3",
    tolerance="more than 0 for each pair",
)
def b8(results: Results) -> Verdict:
    runs = results["together"]
    pairs = [(most, other) for most in ("fast", "scalable") for other in ("bic", "highspeed", "htcp")]
    found = [(f"{a} varies more than {b}", at_least(wider(runs, a, b, log_unfairness), 0.0)) for a, b in pairs]
    means = [
        (f"{cc} less htcp", at_least(further(runs, cc, "htcp", log_unfairness), 0.0)) for cc in ("bic", "highspeed")
    ]
    return least([*found, *means])


# --- Figure 4: fairness between RTTs ---


@claim(
    "B9",
    "Between flows of different RTTs HighSpeed, Scalable, BIC and FAST are less fair than standard TCP, by about an "
    "order of magnitude. Value: ratio short over long, over that of standard TCP, median of the RTTs below 160 ms.",
    short="All but H-TCP are less fair than standard TCP over RTTs.",
    unit="times",
    paper=10,
    origin="text of section 5.2, of figure 4",
    tolerance="more than 1 at each RTT below 160 ms, and 3 or more in the median",
)
def b9(results: Results) -> Verdict:
    runs, found = figure_4(results), []
    for cc in ("highspeed", "scalable", "bic", "fast"):
        ratios = [ratio for _, ratio in beside_standard(runs, cc, below=160) if ratio.value is not None]
        each = [at_least(ratio, 1.0) for ratio in ratios]
        middle = sorted(ratios, key=lambda ratio: ratio.value or 0.0)[len(ratios) // 2] if ratios else None
        median = labelled(f"{cc}: median", at_least(middle, 3.0))
        found.append(
            every(median, *(labelled(f"{cc}: each", verdict) for verdict in each if verdict.outcome != "pass"))
        )
    return every(*found)


@claim(
    "B10",
    "H-TCP is about as fair between RTTs as standard TCP. Value: its ratio short over long, over that of standard TCP, "
    "the largest.",
    short="H-TCP is about as fair between RTTs as standard TCP.",
    unit="times",
    origin="text of section 5.2, of figure 4",
    tolerance="at most 1.5 at every RTT but 160 ms",
)
def b10(results: Results) -> Verdict:
    found = beside_standard(figure_4(results), "htcp", below=1000)
    return greatest((f"at {rtt}", at_most(ratio, 1.5)) for rtt, ratio in found)


@claim(
    "B11",
    "Of two Scalable flows with 16 ms and 160 ms the second starves. Value: its share.",
    short="Of two Scalable flows, 16 and 160 ms, one starves.",
    unit="of the rate",
    paper=0,
    origin="text of section 5.2, of figure 4",
    tolerance="less than 5 %",
)
def b11(results: Results) -> Verdict:
    found = figure_4(results).where({CC: "scalable", SECOND_RTT: "16 ms"}).interval(long_share)
    return labelled("share", at_most(found, 0.05))


# --- Figure 5: beside standard TCP ---


@claim(
    "B12",
    "Beside standard TCP Scalable and FAST are the least fair, in whichever direction. Value: by how much the mean "
    "logarithm of the ratio is further from 0 than that of H-TCP.",
    short="Beside standard TCP Scalable and FAST are least fair.",
    unit="log ratio",
    origin="text of section 5.3, of figure 5",
    tolerance="more than 0 for both, and Scalable takes more than any other",
)
def b12(results: Results) -> Verdict:
    return _least_fair_to_standard(results["standard"], RTT)


def _least_fair_to_standard(runs: Runs, each: str) -> Verdict:
    """Whether Scalable and FAST are further from equal beside standard TCP than H-TCP, and Scalable takes most."""
    far = [
        (f"{cc} less htcp", at_least(further(runs, cc, "htcp", log_new_over_standard, each=each), 0.0))
        for cc in ("scalable", "fast")
    ]
    takes = [
        (f"beside {cc} less beside scalable", at_least(further(runs, cc, "scalable", standard_share, each=each), 0.0))
        for cc in NEW
        if cc != "scalable"
    ]
    return valued(every(*(labelled(name, verdict) for name, verdict in far), least(takes)), least(far))


# --- Figure 6: responsiveness ---


@claim(
    "B13",
    "A second flow of Scalable, HighSpeed or BIC needs many times as long as one of FAST to get its share; Scalable "
    "often does not within the run. Value: the smallest ratio of medians, median of the RTTs.",
    short="FAST gives a second flow its share soonest by far.",
    unit="times",
    origin="text of section 5.4, of figure 6",
    tolerance="at least 3; Scalable not in half of the runs or more",
)
def b13(results: Results) -> Verdict:
    runs = results["late"]
    slower = [
        (f"{cc} over fast", at_least(times_as_long(runs, cc, "fast"), 3.0)) for cc in ("scalable", "highspeed", "bic")
    ]
    missed = runs.where({CC: "scalable"}).interval(censored)
    never = labelled("scalable not within the run", at_least(missed, 0.5))
    verdict = every(least(slower), never, typical(runs, ("scalable", "highspeed", "bic", "fast")))
    return valued(verdict, least(slower))


@claim(
    "B14",
    "A second flow of FAST has its share sooner than one of any other. Value: how many times as long the next needs, "
    "ratio of medians, median of the RTTs.",
    short="A second flow of FAST has its share before any other.",
    unit="times",
    origin="text of section 5.4, of figure 6",
    tolerance="more than 1",
)
def b14(results: Results) -> Verdict:
    runs = results["late"]
    others = (STANDARD, *(cc for cc in NEW if cc != "fast"))
    slower = [(f"{cc} over fast", at_least(times_as_long(runs, cc, "fast"), 1.0)) for cc in others]
    return every(least(slower), typical(runs, ("fast", "htcp", STANDARD)))


# --- What the paper says without a figure ---


@claim(
    "B15",
    "Behind a queue of 100 % of the BDP figure 4 is similar. Value: ratio short over long there, over that behind "
    "20 %, mean of the RTTs, of the controller that differs most.",
    short="With a queue of 100 % of the BDP figure 4 is similar.",
    unit="times",
    paper=1,
    origin="text of section 4.2, of figure 4",
    tolerance="of standard TCP and of each of the five within a factor of 3.16, half an order of magnitude, either way",
)
def b15(results: Results) -> Verdict:
    runs, limit = results["rtt-queues"], math.sqrt(10)
    found = []
    for cc in (STANDARD, *NEW):
        mine = runs.where({CC: cc})
        ratio = mine.where({QUEUE: LARGE}).ratio(short_over_long, mine.where({QUEUE: SMALL}), each=SECOND_RTT)
        found.append((abs(math.log(ratio.value or 1.0)), labelled(cc, between(ratio, 1 / limit, limit))))
    most = max(found, key=lambda item: item[0])[1]
    return valued(every(*(verdict for _, verdict in found)), most)


@claim(
    "B16",
    "Beside standard TCP with 160 ms, flows of Scalable and FAST with other RTTs are the least fair as well, in "
    "whichever direction. Value: by how much the mean logarithm of the ratio is further from 0 than that of H-TCP.",
    short="Over other RTTs, too, Scalable and FAST are least fair.",
    unit="log ratio",
    origin="experiment of section 3.3; sentence of section 5.3",
    tolerance="more than 0 for both, and Scalable takes more than any other",
)
def b16(results: Results) -> Verdict:
    return _least_fair_to_standard(results["unlike"], SECOND_RTT)
