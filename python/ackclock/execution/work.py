"""How long the runs of a plan are likely to take: a few short ones are over before a worker process has started."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ackclock.execution import pace
from ackclock.scenario.plan import Job, Plan

SMALL_S = 1.0
"""Work that is done in this process: a worker needs about as long to load the package."""
_PER_PACKET_S = 1e-6
"""Of a packet at the bottleneck, generous: docs/benchmarks.md has 0.1 to 0.7 µs."""
_PER_RUN_S = 1e-3
"""What a run takes besides its packets."""


def small(plan: Plan) -> bool:
    """Whether all runs of a plan together are predicted to take less than :data:`SMALL_S`."""
    total = 0.0
    for point in plan.points:
        run = point.scenario.run
        if run.engine != "sim":
            return False
        total += run.replications * predicted_s(Job(0, point, 0).document())
        if total >= SMALL_S:
            return False
    return True


def predicted_s(document: Mapping[str, Any]) -> float:
    """How long a resolved run is likely to take, s; infinite where nothing limits the rate of a flow, or in a cell."""
    rates = {link["id"]: pace.fastest(link) for link in document["links"]}
    for flow in document["flows"]:
        if any("element" in hop for hop in flow["forward"]):
            return math.inf
        if all(rates.get(hop.get("link")) is None for hop in flow["forward"]) and "rate_bps" not in flow["app"]:
            return math.inf
    packets: float = pace.packets_per_s(document) * document["duration_ns"] / 1e9
    return _PER_RUN_S + packets * _PER_PACKET_S
