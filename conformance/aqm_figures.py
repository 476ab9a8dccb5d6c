"""Our queues under TCP beside those of ns-3 and ns-2, number by number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agreement import Deviation, Figure, figure
from aqm_runs import MEASURES, Case, cases, played, recorded
from peer_figures import EXIT_GROWTH

NAMES = {
    "utilisation": "utilisation",
    "drops": "drops",
    "mean_wait_s": "mean queueing delay",
    "p95_wait_s": "95th percentile of the queueing delay",
}
TOLERANCES = {"utilisation": 0.02, "drops": 0.10, "mean_wait_s": 0.10, "p95_wait_s": 0.10}

SMALL = (
    "FQ-CoDel leaves each flow a window of two to six segments, where single rules of the senders decide: of two flows "
    "at 2 Mbit/s ours have 13 timeouts each where ns-3's recover from as many losses. On the same arrivals the queues "
    "do the same with every packet."
)
START = (
    "While slow start overshoots PIE's queue, ours lose 413 packets and ns-3's senders 142; after two seconds it is 84 "
    "and 71. On the same arrivals the two queues drop as much, from the first second on."
)
RARE = (
    "At the same queueing delay and throughput our senders of profile ns2 lose up to a quarter more packets to RED and "
    "reduce 14 % more often. On the same arrivals the queues agree within 3 %, so it is in the senders; the rule is "
    "not found."
)
_DROPS = "drops"
KNOWN: Mapping[tuple[Case, str], Deviation] = {
    **{
        (Case("ns3", path, "linuxreno", queue), measure): Deviation(EXIT_GROWTH, bound)
        for path, queue, measure, bound in (
            ("ten", "droptail", _DROPS, 0.15),
            ("ten", "codel", _DROPS, 0.30),
            ("ten", "fq_codel", _DROPS, 0.45),
            ("ten", "fq_codel", "mean_wait_s", 0.65),
            ("ten", "red", _DROPS, 0.15),
            ("ten", "pie", _DROPS, 0.20),
            ("four", "codel", _DROPS, 0.15),
        )
    },
    **{
        (Case("ns3", path, cc, "fq_codel"), measure): Deviation(SMALL, bound)
        for path, cc, measure, bound in (
            ("ten", "newreno", "utilisation", 0.10),
            ("ten", "newreno", _DROPS, 0.30),
            ("ten", "newreno", "p95_wait_s", 0.13),
            ("four", "newreno", _DROPS, 0.25),
            ("four", "linuxreno", "utilisation", 0.07),
        )
    },
    **{
        (Case("ns3", path, cc, "pie"), measure): Deviation(START, bound)
        for path, cc, measure, bound in (
            ("ten", "newreno", _DROPS, 0.20),
            ("four", "newreno", _DROPS, 2.0),
            ("four", "linuxreno", _DROPS, 1.2),
            ("four", "linuxreno", "utilisation", 0.04),
        )
    },
    **{
        (Case("ns2", path, "sack1", queue), _DROPS): Deviation(RARE, 0.30)
        for path, queue in (
            ("ten", "red"),
            ("ten", "red not gentle"),
            ("ten", "red no wait"),
            ("ten", "red adaptive"),
            ("four", "red"),
        )
    },
}


def compared(case: Case, measure: str) -> Figure:
    """One measure of ours and of the peer."""
    pair = (float(getattr(played(case), measure)), float(getattr(recorded(case), measure)))
    scenario, algorithm = f"{case.path} flows", f"{case.cc}, {case.queue}"
    known = KNOWN.get((case, measure))
    return figure(scenario, algorithm, NAMES[measure], pair, TOLERANCES[measure], known)


def figures(peer: str) -> Iterator[Figure]:
    """Everything that is compared with a peer."""
    for case in cases(peer):
        for measure in MEASURES:
            yield compared(case, measure)
