"""The standard test of a controller: alone on 10 Mbit/s and 40 ms, with a DropTail queue of one BDP.

For a controller that works with marks the queue marks what finds more than 20 packets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ackclock.errors import InputError, Problem, unknown
from ackclock.results.result import Result
from ackclock.scenario.plan import load
from ackclock.scenario.reading.override import is_key, parse
from ackclock.sweeps.run import run

DURATION_S = 30
MARK_ABOVE = "20 packets"
"""Threshold of the queue for a controller that works with marks."""


@dataclass(frozen=True, slots=True)
class Response:
    """The window of the test's flow over time, and what came of it."""

    result: Result
    time: list[float]
    cwnd: list[float]
    """Segments."""
    bdp: float
    """Segments."""

    def summary(self) -> dict[str, Any]:
        """A few figures of the whole test."""
        flow = self.result.flows.row(0, named=True)
        link = self.result.links.row(0, named=True)
        return {
            "goodput_bps": flow["goodput_bps"],
            "utilisation": link["utilisation"],
            "mean_rtt_s": flow["mean_rtt_s"],
            "mean_queue_packets": link["mean_queue_packets"],
            "mean_cwnd_segments": flow["mean_cwnd_bytes"] / _mss(self.result),
            "recoveries": flow["recoveries"],
            "timeouts": flow["timeouts"],
        }

    def to_json(self) -> dict[str, Any]:
        """The scenario, the window over time and the figures."""
        return {
            "resolved": self.result.resolved(),
            "time_s": self.time,
            "cwnd_segments": self.cwnd,
            "summary": self.summary(),
        }


def measure(
    flow: dict[str, Any], params: Sequence[str], profile: str, changes: Sequence[str], *, marking: bool = False
) -> Response:
    """Run the test. `flow` names the controller or slow start; `changes` are its parameters or keys of a scenario.

    With `marking` the queue marks.
    """
    (key, choice), *_ = flow.items()
    queue = {"limit": "1 BDP"} | ({"mark_above": MARK_ABOVE} if marking else {})
    raw: dict[str, Any] = {
        "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "queue": queue},
        "flows": [{**flow, "profile": profile}],
        "run": {"duration": f"{DURATION_S} s"},
        "probes": {"interval": "50 ms"},
    }
    others: dict[str, Any] = {}
    for change in changes:
        try:
            name, value = parse(change)
        except Problem as problem:
            raise InputError(problem.problem, problem.remedy, source="--set") from None
        if name in params:
            choice[name] = value
            continue
        if "." not in name and not is_key(name):
            owner, remedy = next(iter(choice.values())), unknown("parameter", name, params).remedy
            raise InputError(f"unknown parameter '{name}' of {owner}", remedy, source="--set")
        others[name] = value
    raw["flows"][0][key] = choice
    plan = load(raw, set=others)
    if len(plan) > 1:
        raise InputError("the test is one run", "give single values", source="--set")
    result = run(plan, jobs=1)
    series = result.series.filter((pl.col("metric") == "cwnd") & (pl.col("id") == "0"))
    mss = _mss(result)
    link = result.resolved()["links"][0]
    rtt = sum(item["delay_ns"] for item in result.resolved()["links"])
    bdp = (link["rate_bps"] or 0) * rtt / 8e9 / mss
    return Response(result, series["time_s"].to_list(), [value / mss for value in series["value"]], bdp)


def _mss(result: Result) -> int:
    return int(result.resolved()["flows"][0]["mss"])
