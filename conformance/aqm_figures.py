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

GROWTH = (
    "At the end of a recovery ns-3's TcpLinuxReno counts the segments SACKed during it as acknowledged then: a window "
    "of 4 becomes 7. With a TcpLinuxReno that does not, ns-3 itself drops 8 to 23 % less, and these figures agree."
)
PRODUCT = (
    "ns-3's TcpPrrRecovery multiplies in 32 bits. Above some 64 segments what was delivered times ssthresh wraps, and "
    "after the overshoot of slow start nearly nothing leaves until the pipe is down to ssthresh. With 64 bits, and "
    "without TcpLinuxReno's growth at the end of a recovery, ns-3 itself drops 7 % less, and the figure agrees."
)
SACK1 = (
    "ns-2's Sack1 has rules of its own: it halves the window without the floor of two segments (3.8 becomes 1.9, which "
    "is one segment and a delayed acknowledgment), does not grow on the acknowledgment that ends a recovery, leaves "
    "what is lost in its pipe (32 of 162 segments out are lost: it sends 123 in the recovery, ours 157), and repairs a "
    "hole at the first SACK above it. With these rules ours reduces as often within 3 % and loses 2 to 8 % more "
    "(that ns-2 restarts its timer once a recovery, which ours does now, moves drops by less than 1 %)."
)
_DROPS = "drops"
KNOWN: Mapping[tuple[Case, str], Deviation] = {
    **{
        (Case("ns3", path, "linuxreno", queue), measure): Deviation(GROWTH, bound)
        for path, queue, measure, bound in (
            ("ten", "droptail", _DROPS, 0.20),
            ("ten", "codel", _DROPS, 0.30),
            ("ten", "fq_codel", _DROPS, 0.35),
            ("ten", "fq_codel", "mean_wait_s", 0.40),
            ("ten", "red", _DROPS, 0.20),
            ("ten", "pie", _DROPS, 0.30),
            ("four", "codel", _DROPS, 0.20),
            ("four", "fq_codel", "utilisation", 0.10),
            ("four", "fq_codel", "p95_wait_s", 0.20),
        )
    },
    (Case("ns3", "four", "linuxreno", "red"), _DROPS): Deviation(PRODUCT, 0.20),
    **{
        (Case("ns2", path, "sack1", queue), _DROPS): Deviation(SACK1, 0.30)
        for path, queue in (
            ("ten", "red"),
            ("ten", "red not gentle"),
            ("ten", "red no wait"),
            ("ten", "red adaptive"),
            ("four", "red"),
            ("four", "red no wait"),
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
