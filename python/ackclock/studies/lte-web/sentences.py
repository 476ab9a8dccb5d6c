"""Claims about what the paper says besides its figures: of controllers, of the load, and of the initial window."""

from __future__ import annotations

from ackclock.study import (
    Interval,
    Results,
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

from .measures import (
    estimate,
    first_share,
    goodput,
    growth,
    load_time,
    reduction,
    rho,
    short_over_long,
    window_before,
)

PAPER_CUBIC = "cubic(variant=cubic_2007)"
STEADY, FLUCTUATING = "uniform(low=10 ms, high=10 ms)", "uniform(low=0 s, high=20 ms)"
LINE, BUNCHED = "100 Mbit/s", "on=1 ms, off=19 ms, rate=100 Mbit/s"


@claim(
    "A15",
    "With fewer than 15 users the load is below 50 %. Value: share of the blocks with 15 users, CUBIC of 2007, 100 ms.",
    short="Fewer than 15 users load the cell by less than 50 %.",
    unit="of the blocks",
    paper=0.50,
    origin="text of section 4.2",
    tolerance="0.40 to 0.55 with 15 users, below 0.50 with 10",
)
def a15(results: Results) -> Verdict:
    """Compare the load with that which the text gives in passing."""

    def load(users: int) -> Verdict:
        runs = results["algorithms"].where({"topology.rtt": "100 ms", "topology.users": users}, cc=PAPER_CUBIC)
        found = runs.interval(rho)
        return between(found, 0.40, 0.55) if users == 15 else at_most(found, 0.50)

    return every(labelled("15 users", load(15)), labelled("10 users", load(10)))


@claim(
    "A16",
    "How much several connections save depends on the initial window W0. Value: saving of four with W0 = 32 less that "
    "with W0 = 4.",
    short="The saving of connections depends on the initial window.",
    unit="of the load time",
    paper="depends",
    origin="text of section 4.2",
    tolerance="from W0 = 4 to 32 it changes by 1 percentage point (ours), up or down, paired",
)
def a16(results: Results) -> Verdict:
    """Compare savings between initial windows. The paper does not say in which direction they change."""
    windows = results["initial-window"].steps("tcp.iw")
    if not {4, 32} <= set(windows):
        return Verdict("inconclusive", detail="no runs with W0 = 4 and 32")
    change = _saving_change(results, 4, 32)
    return either(at_least(change, 0.01), at_most(change, -0.01))


def _saving_change(results: Results, few: object, many: object) -> Interval:
    """The saving of four connections with the second initial window less that with the first, by replication."""
    savings = []
    for iw in (few, many):
        runs = results["initial-window"].where({"tcp.iw": iw})  # type: ignore[dict-item]
        one, four = ({run.replication: load_time(run) for run in runs.where({"app.connections": x})} for x in (1, 4))
        savings.append({n: 1 - b / a for n in one if (a := one[n]) and (b := four.get(n))})
    common = sorted(set(savings[0]) & set(savings[1]))
    return mean_interval([savings[1][n] - savings[0][n] for n in common])


@claim(
    "A17",
    "CUBIC flows with different RTTs share a link evenly. Value: rate with 16 ms over that with 160 ms, CUBIC of 2007.",
    short="CUBIC flows with different RTTs share evenly.",
    unit="times",
    paper=1,
    origin="text of section 2.4",
    tolerance="at most 1.25 (ours)",
)
def a17(results: Results) -> Verdict:
    """Look at how evenly two flows share."""
    return at_most(results["rtt-pair"].where({"flows.1.cc": PAPER_CUBIC}).interval(short_over_long), 1.25)


@claim(
    "A18",
    "They share more evenly than those of NewReno and HighSpeed. Value: the smallest ratio of the unevenness of one of "
    "these to CUBIC's.",
    short="They share more evenly than NewReno and HighSpeed.",
    unit="times",
    paper="more evenly",
    origin="text of section 2.4",
    tolerance="more than 1",
)
def a18(results: Results) -> Verdict:
    """Compare how evenly the flows of three controllers share."""
    runs = results["rtt-pair"]
    cubic = runs.where({"flows.1.cc": PAPER_CUBIC})
    return least(
        (cc, at_least(runs.where({"flows.1.cc": cc}).ratio(short_over_long, cubic), 1.0))
        for cc in ("newreno", "highspeed")
    )


@claim(
    "A19",
    "Beside NewReno or CUBIC a flow of Vegas gets much less. Value: its largest share of the rate of both.",
    short="Beside NewReno or CUBIC Vegas gets much less.",
    unit="of the rate",
    paper="much less",
    origin="text of section 2.5",
    tolerance="at most a third (ours)",
)
def a19(results: Results) -> Verdict:
    """Look at the share of Vegas."""
    runs = results["beside"]
    return greatest(
        (f"beside {cc}", at_most(runs.where({"flows.1.cc": cc}).interval(first_share), 1 / 3))
        for cc in ("newreno", PAPER_CUBIC)
    )


@claim(
    "A20",
    "Westwood overestimates the bandwidth when acknowledgments arrive together, Westwood+ does not. Value: Westwood's "
    "estimate with bunched acknowledgments, over the rate of the link.",
    short="Bunched acknowledgments: Westwood overestimates.",
    unit="times",
    paper="too high",
    origin="text of section 2.6",
    tolerance="Westwood at least 1.1 bunched and at most 1.1 otherwise, Westwood+ at most 1.1 either way (ours)",
)
def a20(results: Results) -> Verdict:
    """Compare the estimates of both with and without bunched acknowledgments."""
    runs = results["bunched"]

    def of(cc: str, rate: str) -> Verdict:
        found = runs.where({"topology.links.1.rate": rate}, cc=cc).interval(estimate)
        high = cc == "westwood" and rate == BUNCHED
        return labelled(f"{cc}, {rate}", at_least(found, 1.1) if high else at_most(found, 1.1))

    return every(of("westwood", BUNCHED), of("westwood", LINE), of("westwood+", BUNCHED), of("westwood+", LINE))


@claim(
    "A21",
    "HighSpeed adds 7 segments per RTT at a window of 1000 and 30 at 10,000, and a loss takes 0.33 and 0.21 of it. "
    "Value: growth at 1000.",
    short="HighSpeed adds 7 and 30 segments, falls by 33 and 21 %.",
    unit="segments",
    paper=7,
    origin="text of section 2.3",
    tolerance="growth: one segment; fall: 0.01; window before it: 2 %",
)
def a21(results: Results) -> Verdict:
    """Read the response function off the windows of two runs."""
    found, first = [], None
    for rate, window, a, b in (("100 Mbit/s", 1000, 7, 0.33), ("1 Gbit/s", 10_000, 30, 0.21)):
        runs = results["response"].where({"topology.rate": rate})
        grown = within(runs.interval(growth), a, absolute=1.0)
        first = first or grown
        found += [
            labelled(f"growth at {window}", grown),
            labelled(f"fall at {window}", within(runs.interval(reduction), b, absolute=0.01)),
            labelled(f"window of {window}", within(runs.interval(window_before), window, relative=0.02)),
        ]
    verdict = every(*found)
    return valued(verdict, first) if first is not None else verdict


@claim(
    "A22",
    "An RTT that fluctuates spoils the minimum RTT of Vegas, and so its rate. Value: goodput of Vegas with it over "
    "that without, the mean RTT being the same.",
    short="A fluctuating RTT slows Vegas down.",
    unit="times",
    paper="lower",
    origin="text of sections 2.5 and 4.2",
    tolerance="Vegas at most 0.5, NewReno at least 0.9 (ours)",
)
def a22(results: Results) -> Verdict:
    """Compare a steady and a fluctuating RTT with the same mean."""
    runs = results["fluctuating"]

    def ratio(cc: str) -> Interval:
        return runs.where({"topology.jitter": FLUCTUATING}, cc=cc).ratio(
            goodput, runs.where({"topology.jitter": STEADY}, cc=cc)
        )

    vegas = at_most(ratio("vegas"), 0.5)
    return valued(every(labelled("Vegas", vegas), labelled("NewReno", at_least(ratio("newreno"), 0.9))), vegas)
