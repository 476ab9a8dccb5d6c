"""Claims about what makes two sentences of the paper come out that do not here."""

from __future__ import annotations

from ackclock.study import Results, Runs, Verdict, at_least, claim, every, labelled, least

from .measures import dropped, load_time

PAPER_CUBIC = "cubic(variant=cubic_2007)"
AS_NS3 = "newreno(base=pipe, counting=acks)"
SHORT_QUEUE = "limit=30 kB"


@claim(
    "M1",
    "With NewReno as ns-3 has it, HighSpeed and CUBIC beat it at 100 ms, as in A5. Value: least ratio.",
    short="NewReno as in ns-3: HighSpeed and CUBIC beat it.",
    unit="times",
    paper="slower",
    tolerance="at least 1 at 10, 15, 20 and 25 users; the mean ratios are in the README",
)
def m1(results: Results) -> Verdict:
    """Compare ns-3's NewReno with the others."""
    found = []
    for users in results["newreno"].steps("topology.users"):
        runs = results["newreno"].where({"topology.users": users})
        for cc in ("highspeed", PAPER_CUBIC):
            ratio = runs.where(cc=AS_NS3).ratio(load_time, runs.where(cc=cc))
            found.append((f"{users} users, {cc}", at_least(ratio, 1.0)))
    return least(found)


@claim(
    "M2",
    "With a queue of 30 kB in place of the age limit, 30 users and 10 ms, 16 connections are slower than 4 and lose "
    "more packets, as in A12. Value: ratio of 16 to 4.",
    short="A short queue: too many connections do harm.",
    unit="times",
    paper="more",
    tolerance="above 1, paired; 16 to 8 is in the README",
)
def m2(results: Results) -> Verdict:
    """Compare 16 connections with fewer."""

    def runs(x: int) -> Runs:
        return results["harm"].where({"topology.queue": SHORT_QUEUE, "tcp.iw": 10, "app.connections": x})

    return every(
        labelled("16 to 4", at_least(runs(16).ratio(load_time, runs(4)), 1.0)),
        labelled("drops, 16 to 4", at_least(runs(16).ratio(dropped, runs(4)), 1.0)),
    )
