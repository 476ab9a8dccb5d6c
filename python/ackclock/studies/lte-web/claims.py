"""Claims of the study of web pages over LTE. Ids are those of README.md."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ackclock.study import (
    Interval,
    Results,
    Runs,
    Verdict,
    at_least,
    at_most,
    between,
    claim,
    either,
    every,
    greatest,
    labelled,
    least,
    mean_interval,
    valued,
    within,
)

from .choice import e1, e2, e3
from .measures import dropped, load_time, rho
from .mechanisms import m1, m2
from .sentences import a15, a16, a17, a18, a19, a20, a21, a22

__all__ = ["a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "e1", "e2", "e3", "m1", "m2"]

PAPER_CUBIC = "cubic(variant=cubic_2007)"
LOSS_BASED = ("newreno", "reno", "highspeed", PAPER_CUBIC)
OTHERS = (*LOSS_BASED, "cubic", "westwood", "westwood+")
RTTS = ("10 ms", "100 ms")
CROWDS = (5, 10, 15, 20, 25, 30)


def of(results: Results, cc: str, rtt: str, users: int) -> Runs:
    """The runs of a controller at a point of series A."""
    return results["algorithms"].where({"topology.rtt": rtt, "topology.users": users}, cc=cc)


def with_connections(results: Results, x: int, rtt: str, users: int) -> Runs:
    """The runs with so many connections at a point of series B."""
    where: dict[str, str | int | float | bool] = {"topology.rtt": rtt, "topology.users": users, "app.connections": x}
    return results["connections"].where(where)


def sigma(results: Results, x: int, rtt: str, users: int) -> Interval:
    """Share of the load time of one connection that x connections save: replication by replication."""
    one = with_connections(results, 1, rtt, users)
    ratio = with_connections(results, x, rtt, users).ratio(load_time, one)
    if ratio.value is None:
        return ratio
    low, high = (None if end is None else 1 - end for end in (ratio.high, ratio.low))
    return Interval(1 - ratio.value, low, high, ratio.n)


def present(results: Results, scenario: str) -> list[int]:
    """The numbers of users that there are runs of."""
    found = set(results[scenario].steps("topology.users"))
    return [users for users in CROWDS if users in found]


def points(results: Results) -> Iterator[tuple[str, int]]:
    """Every RTT and number of users of series A."""
    return itertools.product(RTTS, present(results, "algorithms"))


@claim(
    "A1",
    "Resource block use is linear in the number of users up to 25, whatever the algorithm. Value: least R^2.",
    short="Resource block use is linear in the users.",
    unit="R^2",
    paper="linear",
    origin="text of section 4.2",
    tolerance="R^2 of the means at least 0.98",
)
def a1(results: Results) -> Verdict:
    crowds = [users for users in present(results, "algorithms") if users <= 25]
    found = []
    for rtt in RTTS:
        for cc in (*OTHERS, "vegas"):
            means = [of(results, cc, rtt, users).interval(rho).value for users in crowds]
            if len(crowds) < 3 or None in means:
                continue  # a line through two points is always straight
            r = float(np.corrcoef(crowds, np.array(means, dtype=float))[0, 1])
            found.append((f"{cc}, {rtt}", at_least(r * r, 0.98)))
    return least(found)


@claim(
    "A2",
    "Five users use 15 % of the resource blocks, thirty 95 %. Value: share of five, CUBIC of 2007, 100 ms.",
    short="Five users use 15 %, thirty 95 % of the blocks.",
    unit="of the blocks",
    paper=0.15,
    origin="text of section 4.2",
    tolerance="5 users: 4 percentage points; 30: 10 below, 5 above",
)
def a2(results: Results) -> Verdict:
    few, many = (of(results, PAPER_CUBIC, "100 ms", users).interval(rho) for users in (5, 30))
    low = within(few, 0.15, absolute=0.04)
    return valued(every(labelled("5 users", low), labelled("30 users", between(many, 0.85, 1.0))), low)


@claim(
    "A3",
    "Vegas is the slowest everywhere, at 100 ms at least 15 % over the best. Value: least ratio to another.",
    short="Vegas is the slowest everywhere.",
    unit="times",
    paper="slowest",
    origin="text of section 4.2, of figure 1",
    tolerance="above every other; at 100 ms 1.15 of the best (the threshold is ours)",
)
def a3(results: Results) -> Verdict:
    slower, over_best = [], []
    for rtt, users in points(results):
        vegas = of(results, "vegas", rtt, users)
        ratios = [(cc, vegas.ratio(load_time, of(results, cc, rtt, users))) for cc in OTHERS]
        slower += [(f"{rtt}, {users} users, {cc}", at_least(ratio, 1.0)) for cc, ratio in ratios]
        if rtt == "100 ms":
            known = [(cc, ratio) for cc, ratio in ratios if ratio.value is not None]
            if known:
                cc, best = max(known, key=lambda item: item[1].value or 0.0)
                over_best.append((f"{users} users, {cc}", at_least(best, 1.15)))
    worst = least(slower)
    return valued(every(labelled("slower than", worst), labelled("100 ms over best", least(over_best))), worst)


@claim(
    "A4",
    "Westwood+ is faster than Vegas. Value: largest ratio of their load times.",
    short="Westwood+ is faster than Vegas.",
    unit="times",
    paper="faster",
    origin="text of section 4.2, of figure 1",
    tolerance="below 1 at every point",
)
def a4(results: Results) -> Verdict:
    found = [
        (f"{rtt}, {n} users", of(results, "westwood+", rtt, n).ratio(load_time, of(results, "vegas", rtt, n)))
        for rtt, n in points(results)
    ]
    return greatest([(what, at_most(ratio, 1.0)) for what, ratio in found])


@claim(
    "A5",
    "At 100 ms HighSpeed or CUBIC is the fastest of the loss-based, NewReno 3 % slower than each with 10 to 25 users. "
    "Value: least ratio of NewReno to one of them.",
    short="At 100 ms HighSpeed and CUBIC beat NewReno.",
    unit="times",
    paper="slower",
    origin="text of section 4.2, of figure 1b",
    tolerance="1.03 with 10, 15, 20 and 25 users",
)
def a5(results: Results) -> Verdict:
    found = []
    for users in (users for users in present(results, "algorithms") if 10 <= users <= 25):
        newreno = of(results, "newreno", "100 ms", users)
        for cc in ("highspeed", PAPER_CUBIC):
            ratio = newreno.ratio(load_time, of(results, cc, "100 ms", users))
            found.append((f"{users} users, {cc}", at_least(ratio, 1.03)))
    return least(found)


@claim(
    "A6",
    "At 10 ms NewReno and CUBIC are within 5 %. Value: largest ratio.",
    short="At 10 ms NewReno and CUBIC are alike.",
    unit="times",
    paper="no difference",
    origin="text of section 4.2, of figure 1a",
    tolerance="0.95 to 1.05 at every number of users",
)
def a6(results: Results) -> Verdict:
    found = []
    for users in present(results, "algorithms"):
        ratio = of(results, "newreno", "10 ms", users).ratio(load_time, of(results, PAPER_CUBIC, "10 ms", users))
        found.append(labelled(f"{users} users", between(ratio, 0.95, 1.05)))
    farthest = max(found, key=lambda each: abs((each.value or 1.0) - 1), default=None)
    return valued(every(*found), farthest) if farthest is not None else at_least(None, 0.95)


@claim(
    "A7",
    "Every algorithm loads pages more slowly at 100 ms than at 10 ms. Value: least ratio.",
    short="Pages take longer at 100 ms.",
    unit="times",
    paper="above 1",
    origin="figure 1, by its sentences",
    tolerance="above 1 at every point",
)
def a7(results: Results) -> Verdict:
    found = []
    for users in present(results, "algorithms"):
        for cc in (*OTHERS, "vegas"):
            ratio = of(results, cc, "100 ms", users).ratio(load_time, of(results, cc, "10 ms", users))
            found.append((f"{cc}, {users} users", at_least(ratio, 1.0)))
    return least(found)


@claim(
    "A8",
    "With fewer than 15 users 2 and 4 connections save clearly. Value: least saving at 100 ms.",
    short="With few users 2 and 4 connections save time.",
    unit="of the load time",
    paper="clear",
    origin="text of section 4.2, of figure 2",
    tolerance="at 10 ms above 0, at 100 ms at least 0.10 (ours), 5 and 10 users",
)
def a8(results: Results) -> Verdict:
    few = [users for users in present(results, "connections") if users < 15]
    gains = {
        rtt: [(f"{rtt}, {n} users, x = {x}", sigma(results, x, rtt, n)) for n in few for x in (2, 4)] for rtt in RTTS
    }
    far = least([(what, at_least(gain, 0.10)) for what, gain in gains["100 ms"]])
    near = least([(what, at_least(gain, 0.0)) for what, gain in gains["10 ms"]])
    return valued(every(labelled("100 ms", far), labelled("10 ms", near)), far)


@claim(
    "A9",
    "At low load and 100 ms four connections save 30 %. Value: saving with 5 users.",
    short="Four connections save 30 % at low load.",
    unit="of the load time",
    paper=0.30,
    origin="text of section 4.2, of figure 2b",
    tolerance="0.20 to 0.40",
)
def a9(results: Results) -> Verdict:
    return between(sigma(results, 4, "100 ms", 5), 0.20, 0.40)


@claim(
    "A10",
    "With fewer than 15 users 8 and 16 connections save at most 5 percentage points more than 4. Value: largest gain.",
    short="More than four connections are not worth while.",
    unit="of the load time",
    paper="not worth while",
    origin="text of section 4.2, of figure 2",
    tolerance="0.05, 5 and 10 users, both RTTs",
)
def a10(results: Results) -> Verdict:
    found = []
    for rtt in RTTS:
        for users in (users for users in present(results, "connections") if users < 15):
            for x in (8, 16):
                gain = gained(results, x, 4, rtt, users)
                found.append((f"{rtt}, {users} users, x = {x}", at_most(gain, 0.05)))
    return greatest(found)


def together(results: Results, numbers: tuple[int, ...], rtt: str, users: int) -> dict[int, list[float]]:
    """The load times with each number of connections, by the replications that have all of them."""
    times = [
        {run.replication: load_time(run) for run in with_connections(results, number, rtt, users)} for number in numbers
    ]
    common = sorted(set.intersection(*(set(found) for found in times)))
    rows = {number: [time for found in times if (time := found[number]) is not None] for number in common}
    return {number: row for number, row in rows.items() if len(row) == len(numbers)}


def gained(results: Results, x: int, over: int, rtt: str, users: int) -> Interval:
    """What x connections save more than so many others, of the load time with one: replication by replication."""
    rows = together(results, (1, over, x), rtt, users).values()
    return mean_interval([(b - c) / a for a, b, c in rows])


@claim(
    "A11",
    "With 2 and 4 connections the saving falls with the number of users: 5, 15, 25. Value: least fall.",
    short="The saving falls with the number of users.",
    unit="of the load time",
    paper="falls",
    origin="text of section 4.2, of figure 2",
    tolerance="the paired difference is above 0",
)
def a11(results: Results) -> Verdict:
    crowds = [users for users in (5, 15, 25) if users in present(results, "connections")]
    found = []
    for rtt in RTTS:
        for x in (2, 4):
            for few, many in itertools.pairwise(crowds):
                fall = fallen(results, x, rtt, few, many)
                found.append((f"{rtt}, x = {x}, {few} to {many} users", at_least(fall, 0.0)))
    return least(found)


def fallen(results: Results, x: int, rtt: str, few: int, many: int) -> Interval:
    """The saving with few users less that with many, replication by replication."""
    left, right = (
        {number: 1 - b / a for number, (a, b) in together(results, (1, x), rtt, crowd).items()} for crowd in (few, many)
    )
    return mean_interval([left[number] - right[number] for number in sorted(set(left) & set(right))])


@claim(
    "A12",
    "With 30 users and 10 ms 16 connections save less than 8 and less than 4, or nothing, and more packets are dropped "
    "than with 4. Value: saving of 16 over that of 8.",
    short="Too many connections harm a loaded cell.",
    unit="of the load time",
    paper="less",
    origin="text of section 4.2, of figure 2a",
    tolerance="paired differences; the sign is not given",
)
def a12(results: Results) -> Verdict:
    less = at_most(gained(results, 16, 8, "10 ms", 30), 0.0)
    nothing = labelled("no gain", at_most(sigma(results, 16, "10 ms", 30), 0.0))
    below_four = labelled("less than 4", at_most(gained(results, 16, 4, "10 ms", 30), 0.0))
    more = with_connections(results, 16, "10 ms", 30).ratio(dropped, with_connections(results, 4, "10 ms", 30))
    verdict = every(
        labelled("16 over 8", less),
        either(below_four, nothing),
        labelled("drops, 16 to 4", at_least(more, 1.0)),
    )
    return valued(verdict, less)


@claim(
    "A13",
    "Two to four connections cut the load time by a third. Value: largest saving with up to 10 users and 100 ms.",
    short="Two to four connections save a third.",
    unit="of the load time",
    paper=0.33,
    origin="conclusion",
    tolerance="0.25 to 0.40; the body of the paper says 30 %",
    soft=True,
)
def a13(results: Results) -> Verdict:
    few = [users for users in present(results, "connections") if users <= 10]
    found = [sigma(results, x, "100 ms", users) for users in few for x in (2, 4)]
    best = max((gain for gain in found if gain.value is not None), key=lambda gain: gain.value or 0.0, default=None)
    return between(best, 0.25, 0.40)


@claim(
    "A14",
    "At 10 ms the loss-based algorithms are within 10 % of each other. Value: largest ratio.",
    short="At 10 ms loss-based algorithms are alike.",
    unit="times",
    paper="alike",
    origin="conclusion",
    tolerance="1.10 at every number of users",
    soft=True,
)
def a14(results: Results) -> Verdict:
    found = []
    for users in present(results, "algorithms"):
        for a in LOSS_BASED:
            for b in LOSS_BASED:
                if a != b:
                    ratio = of(results, a, "10 ms", users).ratio(load_time, of(results, b, "10 ms", users))
                    found.append((f"{users} users, {a} to {b}", at_most(ratio, 1.10)))
    return greatest(found)
