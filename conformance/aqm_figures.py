"""Our queues under TCP beside those of ns-3 and ns-2, number by number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agreement import Deviation, Figure, figure
from aqm_runs import MEASURES, Case, cases, played, recorded

NAMES = {
    "utilisation": "utilisation",
    "drops": "drops",
    "mean_wait_s": "mean queueing delay",
    "p95_wait_s": "95th percentile of the queueing delay",
}
TOLERANCES = {"utilisation": 0.02, "drops": 0.10, "mean_wait_s": 0.10, "p95_wait_s": 0.10}

KNOWN: Mapping[tuple[Case, str], Deviation] = {}


def figures(peer: str) -> Iterator[Figure]:
    """Everything that is compared with a peer."""
    for case in cases(peer):
        ours, theirs = played(case), recorded(case)
        for measure in MEASURES:
            pair = (float(getattr(ours, measure)), float(getattr(theirs, measure)))
            scenario, algorithm = f"{case.path} flows", f"{case.cc}, {case.queue}"
            yield figure(
                scenario, algorithm, NAMES[measure], pair, TOLERANCES[measure], KNOWN.get((case, measure))
            )
