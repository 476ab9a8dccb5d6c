"""Gains of the proxy: rates with it and without it, by place, server, file size and replication."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ackclock.study import Interval, Results, Run, Runs, mean_interval

from .measures import OFF, ON, RELAY, WEIGHTS, rate

PLACES = {"near": 0.25, "mid": 0.30, "far": 0.45}
"""NC, MC and FC with the weights of the trial."""
SPEED = {"near": 25e6, "mid": 20e6, "far": 14e6}
"""Bit/s that speed tests give there."""
SERVERS = {
    "S1": ("125 ms", "130 ms", "155 ms", "126 ms", "135 ms", "30 ms", "34 ms"),
    "S2": ("3 ms", "5 ms", "7 ms", "4 ms", "6 ms", "40 ms", "39 ms"),
}
"""Round trips of the regions R1 to R7 without the radio."""
MEAN = {"S1": "105 ms", "S2": "15 ms"}
NUMBERS = 0.20
"""How far from a number that the trial prints ours may be, as a share of it.

The trial's own numbers are no closer: it calls 9 to 21 Mbit/s 117 %, which are 133 %, 14 % more.
"""
BY_REPLICATION = Mapping[int, float]
Rate = Callable[[Run, int], float | None]
"""What says the rate of a file."""


def chosen(results: Results, scenario: str, rtt: str, place: str) -> Runs:
    """The runs at a distance and place."""
    return results[scenario].where({"topology.rtt": rtt, "topology.profile": place})


def rates(runs: Runs, relay: str, number: int, of: Rate = rate) -> dict[int, float]:
    """The rate of a file by replication."""
    found = {run.replication: of(run, number) for run in runs.where({RELAY: relay})}
    return {replication: value for replication, value in found.items() if value is not None}


def gains(runs: Runs, number: int, of: Rate = rate) -> dict[int, float]:
    """By which share a file is faster with the proxy, by replication."""
    off, on = rates(runs, OFF, number, of), rates(runs, ON, number, of)
    return {replication: on[replication] / off[replication] - 1 for replication in off if replication in on}


def together(parts: list[tuple[float, BY_REPLICATION]]) -> dict[int, float]:
    """Weighted means over parts, by the replications that have all of them."""
    common = set.intersection(*(set(found) for _, found in parts)) if parts else set()
    total = math.fsum(weight for weight, _ in parts)
    return {number: math.fsum(weight * found[number] for weight, found in parts) / total for number in sorted(common)}


def overall(results: Results, scenario: str, server: str) -> dict[int, float]:
    """The gain of a server over regions, places and sizes, by replication."""
    present = [rtt for rtt in SERVERS[server] if rtt in results[scenario].steps("topology.rtt")]
    return together([
        (weight * share, gains(chosen(results, scenario, rtt, place), number))
        for rtt in present
        for place, weight in PLACES.items()
        for number, share in enumerate(WEIGHTS)
    ])  # fmt: skip


@contextmanager
def as_recorded(results: Results) -> Iterator[Results]:
    """The first reading, whichever a claim is judged under: of others there are no captures and no runs of Linux."""
    before = set(results.asked)
    with results.under(None):
        yield results
    results.asked.intersection_update(before)


def less(left: BY_REPLICATION, right: BY_REPLICATION) -> Interval:
    """The difference, replication by replication."""
    return mean_interval(left[number] - right[number] for number in sorted(set(left) & set(right)))
