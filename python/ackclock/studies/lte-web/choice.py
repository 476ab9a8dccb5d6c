"""Claims about a client that chooses the number of connections by itself, over load, round-trip time and radio."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping

from ackclock.stats import ratio_interval
from ackclock.study import Interval, Results, Verdict, at_most, claim, greatest, labelled

from .measures import load_time

FIXED = (1, 2, 4, 8, 16)
CHOSEN = "policy=adaptive, most=8"

Point = tuple[object, ...]
Times = Mapping[int, float]
"""Load times by replication."""


def points(results: Results) -> Iterator[dict[str, object]]:
    """Every number of users, round-trip time and power of the grid that there are runs of."""
    grid = results["grid"]
    for users in grid.steps("topology.users"):
        for rtt in grid.steps("topology.rtt"):
            for power in grid.steps("topology.power"):
                yield {"topology.users": users, "topology.rtt": rtt, "topology.power": power}


def times(results: Results, connections: int | str) -> dict[Point, Times]:
    """The load times with so many connections, or with those of a policy, at every point."""
    found: dict[Point, Times] = {}
    for point in points(results):
        runs = results["grid"].where({**point, "app.connections": connections})  # type: ignore[dict-item]
        known = {run.replication: load_time(run) for run in runs}
        found[tuple(point.values())] = {number: time for number, time in known.items() if time is not None}
    return found


def overall(mine: Mapping[Point, Times], other: Mapping[Point, Times]) -> Interval:
    """Geometric mean of the ratios over all points: replication by replication, of those that have every point."""
    common = [set(mine[point]) & set(other[point]) for point in mine]
    whole = sorted(set.intersection(*common)) if common else []
    logs = [statistics.fmean(math.log(mine[at][n] / other[at][n]) for at in mine) for n in whole]
    return ratio_interval((math.exp(value), 1.0) for value in logs)


def oracle(fixed: Mapping[int, Mapping[Point, Times]]) -> dict[Point, Times]:
    """At every point the load times with the number that has the least mean there: chosen with hindsight."""

    def mean(x: int, point: Point) -> float:
        return statistics.fmean(fixed[x][point].values()) if fixed[x][point] else math.inf

    return {point: fixed[min(fixed, key=lambda x: mean(x, point))][point] for point in fixed[FIXED[0]]}


@claim(
    "E1",
    "A client that chooses by itself is on the whole no slower than with the best fixed number of connections. "
    "Value: geometric mean of the ratios to it over load, RTT and radio.",
    short="A client's own choice is as good as the best fixed one.",
    unit="times",
    paper="future work",
    tolerance="at most 1, over 27 points of users, RTT and power, of 1, 2, 4, 8 and 16 connections",
)
def e1(results: Results) -> Verdict:
    """Compare with every fixed number over all points."""
    mine = times(results, CHOSEN)
    return greatest([(f"x = {x}", at_most(overall(mine, times(results, x)), 1.0)) for x in FIXED])


@claim(
    "E2",
    "It is nowhere more than 5 % slower than with one connection. Value: largest ratio.",
    short="A client's own choice never harms.",
    unit="times",
    paper="future work",
    tolerance="1.05 at every point of users, RTT and power",
)
def e2(results: Results) -> Verdict:
    """Compare with one connection at every point."""
    return everywhere(times(results, CHOSEN), times(results, 1), lambda ratio: at_most(ratio, 1.05))


def everywhere(
    mine: Mapping[Point, Times], other: Mapping[Point, Times], judged: Callable[[Interval], Verdict]
) -> Verdict:
    """The largest ratio of all points."""
    found = []
    for point, known in mine.items():
        ratio = overall({point: known}, {point: other[point]})
        found.append((", ".join(map(str, point)), judged(ratio)))
    return greatest(found)


@claim(
    "E3",
    "It takes at most 2 % longer than an oracle that knows the best fixed number for every load, RTT and radio. "
    "Value: geometric mean of the ratios to it.",
    short="A client's own choice is close to an oracle's.",
    unit="times",
    paper="future work",
    tolerance="at most 1.02 (ours)",
)
def e3(results: Results) -> Verdict:
    """Compare with the best number of every point."""
    mine = times(results, CHOSEN)
    return labelled("the oracle", at_most(overall(mine, oracle({x: times(results, x) for x in FIXED})), 1.02))
