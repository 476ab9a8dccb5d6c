"""Linux's Prague and CUBIC over Linux's DualPI2 as others have measured them, and the same played here.

P. Heist and J. Morton, *L4S Tests*, 2020, appendix "Scenario 1 Fairness Table" (github.com/heistp/l4s-tests): two flows
that start together and run for three minutes, the last of which is measured, at equal round-trip times. The kernel is
the L4S team's of August 2020 (commit b256daedc767), whose Prague has ``prague_rtt_scaling`` off: no virtual round trip.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

import ackclock

SECONDS = (120, 180)
"""What is measured: from, to."""

RATES: dict[tuple[int, int], tuple[tuple[float, float], ...]] = {
    (50, 10): ((34.57, 12.65), (34.09, 13.04)),
    (50, 20): ((32.39, 14.94), (31.85, 15.51)),
    (50, 80): ((29.58, 17.85), (29.92, 17.48)),
    (10, 10): ((6.22, 2.93), (6.25, 2.93)),
    (10, 20): ((5.93, 3.28), (6.01, 3.23)),
    (10, 80): ((5.90, 3.48), (5.94, 3.42)),
}
"""Link in Mbit/s and round-trip time in ms: rates of Prague and CUBIC in Mbit/s, with one or the other named first."""


@dataclass(frozen=True)
class Point:
    """A link in Mbit/s, a round-trip time in ms; rate of Prague by that of CUBIC: of their two runs, and of ours."""

    link: int
    rtt: int
    theirs: tuple[float, ...]
    ours: float

    @property
    def mean(self) -> float:
        """Of their runs."""
        return sum(self.theirs) / len(self.theirs)


def play(link: int, rtt: int) -> float:
    """The ratio that ours has in their setting."""
    since, until = SECONDS
    flows: list[dict[str, Any]] = [{"cc": {"name": "prague", "rtt_virtual": "0 s"}}, {"cc": "cubic"}]
    scenario = {
        "topology": {
            "kind": "dumbbell",
            "rate": f"{link} Mbit/s",
            "rtt": f"{rtt} ms",
            "queue": {"kind": "dualpi2"},
        },
        "flows": [{"profile": "linux", "start": "0 s", **flow} for flow in flows],
        "run": {"duration": f"{until} s", "warmup": f"{since} s", "replications": 1},
    }
    result = ackclock.run(scenario, jobs=1)
    goodput = dict(result.flows.group_by("cc").agg(pl.col("goodput_bps").sum()).iter_rows())
    return float(goodput["prague"] / goodput["cubic"])


def points() -> Iterator[Point]:
    """All of them."""
    for (link, rtt), runs in RATES.items():
        yield Point(link, rtt, tuple(prague / cubic for prague, cubic in runs), play(link, rtt))
