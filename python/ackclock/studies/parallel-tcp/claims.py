"""Claims of the study of parallel connections. Ids are those of README.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ackclock.models import CUTS, cubic_fluid_utilisation, fluid_utilisation, parallel_utilisation
from ackclock.stats import spearman
from ackclock.study import (
    Interval,
    Results,
    Run,
    Runs,
    Verdict,
    at_least,
    at_most,
    claim,
    clipped,
    every,
    labelled,
    mean_interval,
    valued,
    whichever,
    within,
)

from .measures import CUBIC, RENO, connections, goodput, share

PRINTED = {
    RENO: (0.75, 0.857143, 0.9, 0.923077, 0.9375, 0.96, 0.967742, 0.979592, 0.986842),
    CUBIC: (0.85, 0.918919, 0.944444, 0.957746, 0.965909, 0.978417, 0.982659, 0.989091, 0.992991),
}
"""The formula for 1, 2, 3, 4, 5, 8, 10, 16 and 25 connections, to six digits."""


@claim(
    "C1",
    "The formula gives 0.85 of the link to one connection that keeps 0.7, and 0.75 to one that keeps half. "
    "Value: share with 0.7.",
    short="By the formula one that keeps 0.7 gets 0.85.",
    unit="of the link",
    paper=0.85,
    origin="formula 1 and text of section 1, of figure 1",
    tolerance="1e-9; the table for up to 25 connections to its six digits",
)
def c1(_results: Results) -> Verdict:
    numbers = (1, 2, 3, 4, 5, 8, 10, 16, 25)
    worst = max(
        abs(parallel_utilisation(n, keep) - value)
        for keep, row in PRINTED.items()
        for n, value in zip(numbers, row, strict=True)
    )
    keeps = within(parallel_utilisation(1, CUBIC), 0.85, absolute=1e-9)
    verdict = every(
        labelled("keeps 0.7", keeps),
        labelled("keeps 0.5", within(parallel_utilisation(1, RENO), 0.75, absolute=1e-9)),
        labelled("largest difference from the table", at_most(worst, 5.1e-7)),
    )
    return valued(verdict, keeps)


@claim(
    "C2",
    "A fluid of AIMD connections without a buffer uses what the formula says, whichever connection is cut at an "
    "overflow; if all are cut, (1 + beta) / 2 whatever their number. Value: largest difference.",
    short="A fluid of AIMD uses what the formula says.",
    unit="of the link",
    paper=0,
    origin="formula 1 of section 1",
    tolerance="0.002 for 1, 2, 4, 8 and 16 connections that keep 0.5 or 0.7",
)
def c2(results: Results) -> Verdict:
    overflows = 3000 if results.quick else 20_000
    found = []
    for cut in CUTS:
        differences = []
        for keep in (RENO, CUBIC):
            for n in (1, 2, 4, 8, 16):
                expected = (1 + keep) / 2 if cut == "all" else parallel_utilisation(n, keep)
                differences.append(abs(fluid_utilisation(n, keep, cut, overflows=overflows) - expected))
        found.append(labelled(f"cut {cut}", at_most(max(differences), 0.002)))
    worst = max(verdict.value or 0.0 for verdict in found)
    return replace(every(*found), value=worst)


LIMITS = {"window": "receive window", "loss": "random loss"}
"""What may keep a connection below the line's rate; the paper does not say what does."""


@claim(
    "C3",
    "On lines with room for more the goodput grows with the number of connections. Value: least rank correlation of "
    "the two.",
    short="On lines with room goodput grows with the connections.",
    unit="rank correlation",
    paper="grows",
    origin="text of section 3, of figure 2",
    tolerance="rank correlation above 0.7, and 10 connections above 1, 25 at least 0.98 of 10; CUBIC",
)
def c3(results: Results) -> Verdict:
    return whichever(
        *(
            every(*(grows(results[f"{line}-{limit}"], f"{line}, {name}") for line in ("mobile", "fibre")))
            for limit, name in LIMITS.items()
        )
    )


def grows(runs: Runs, name: str) -> Verdict:
    """Whether CUBIC's goodput does."""
    cubic = runs.where(cc="cubic")
    verdict = at_least(clipped(mean_interval(correlations(cubic)), -1.0, 1.0), 0.7)
    joined = every(
        labelled(f"{name}: rank correlation", verdict),
        labelled("10 over 1", at_least(ratio(cubic, 10, 1), 1.0)),
        labelled("25 over 10", at_least(ratio(cubic, 25, 10), 0.98)),
    )
    return valued(joined, verdict)


def correlations(runs: Runs) -> list[float | None]:
    """The rank correlation of connections and goodput, of each replication."""
    by: dict[int, list[tuple[float, float]]] = {}
    for run in runs:
        by.setdefault(run.replication, []).append((connections(run) or 0.0, goodput(run) or 0.0))
    return [spearman(*map(list, zip(*pairs, strict=True))) for pairs in by.values()]


def ratio(runs: Runs, number: int, over: int) -> Interval:
    """Goodput of so many connections over that of so many, replication by replication."""
    return runs.where(count=number).ratio(goodput, runs.where(count=over))


SATURATED = ("30 Mbit/s", "100 Mbit/s")


@claim(
    "C4",
    "On lines that one connection fills, more of them gain next to nothing. Value: goodput of 25 over that of 1, "
    "100 Mbit/s.",
    short="On lines that one fills, more connections gain nothing.",
    unit="times",
    paper="flat",
    origin="text of section 3, of figure 2",
    tolerance="one has at least 0.85 of the line and of the most seen on it; 25 have at most 1.15 of one; CUBIC",
)
def c4(results: Results) -> Verdict:
    found, gained = [], None
    for rate in SATURATED:
        cubic = results["saturated"].where({"topology.rate": rate}, cc="cubic")
        one = cubic.where(count=1)
        most = max((goodput(run) or 0.0 for run in cubic), default=0.0)
        gained = at_most(cubic.where(count=25).ratio(goodput, one), 1.15)
        found += [
            labelled(f"{rate}: share of the line", at_least(one.interval(share), 0.85)),
            labelled("of the most seen", at_least(clipped(one.interval(relative_to(most)), 0.0, 1.0), 0.85)),
            labelled("25 over 1", gained),
        ]
    verdict = every(*found)
    return valued(verdict, gained) if gained else verdict


def relative_to(most: float) -> Callable[[Run], float | None]:
    """Goodput as a share of the most that was seen, the paper's capacity of a line."""
    return lambda run: (goodput(run) or 0.0) / most if most else None


@claim(
    "C6",
    "With a buffer of one bandwidth-delay product, a single CUBIC connection is above the formula already. "
    "Value: its share of 100 Mbit/s.",
    short="With a queue of one BDP a CUBIC is above the formula.",
    unit="of the link",
    origin="text of section 4",
    tolerance="at least 0.95 (sanity), the formula being 0.85",
)
def c6(results: Results) -> Verdict:
    found = [
        labelled(
            rate,
            at_least(results["saturated"].where({"topology.rate": rate}, cc="cubic", count=1).interval(share), 0.95),
        )
        for rate in reversed(SATURATED)
    ]
    return valued(every(*found), found[0])


@claim(
    "C7",
    "That CUBIC grows by a cubic and not by a straight line makes little difference: the formula with 0.7 stands for "
    "it. Value: share of one CUBIC connection by its fluid.",
    short="The AIMD formula with 0.7 stands for CUBIC.",
    unit="of the link",
    paper=0.85,
    origin="text of section 1",
    tolerance="fluid of CUBIC within 0.02 of the formula for 1, 2, 4, 8, 16 and 25 connections, one cut per overflow",
)
def c7(results: Results) -> Verdict:
    overflows = 1000 if results.quick else 5000
    found = []
    for n in (1, 2, 4, 8, 16, 25):
        formula = parallel_utilisation(n, CUBIC)
        fluid = [cubic_fluid_utilisation(n, cut, overflows=overflows) for cut in CUTS if cut != "all"]
        _, farthest = max((abs(value - formula), value) for value in fluid)
        verdict = within(farthest, formula, absolute=0.02)
        found.append(labelled(f"N = {n}", replace(verdict, detail=f"formula {formula:.4f}")))
    return valued(every(*found), found[0])
