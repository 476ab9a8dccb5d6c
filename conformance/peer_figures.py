"""Our runs beside those of ns-3 and ns-2, number by number."""

from __future__ import annotations

from collections.abc import Iterator

from agreement import Deviation, Figure, figure
from peer_runs import FLOWS, Recording, played, played_draws, recorded_draws, recording, reductions, waiting

SINGLE = ("s1", "s2", "s3", "s5")
"""Scenarios with one flow: nothing in them is random, so the reductions come at the same times."""
PAIR = "s4"

GOODPUT, QUEUE, RETRANSMITTED = 0.02, 0.10, 0.20
TIMES = 0.01
"""Shift of a reduction relative to its time; one round trip is always allowed."""

EXIT_GROWTH = (
    "At the end of a recovery ns-3's TcpLinuxReno counts the segments SACKed during it as acknowledged then, and its "
    "window grows by up to three segments at once. Its sawteeth are 1 to 6 % shorter, after a large loss 25 %."
)
KNOWN: dict[tuple[str, str, str, str], Deviation] = {
    ("ns3", scenario, "linuxreno", metric): Deviation(EXIT_GROWTH, bound)
    for scenario, metric, bound in (
        ("s1", "retransmissions", 0.30),
        ("s1", "reductions", 0.08),
        ("s1", "times of reductions", 0.08),
        ("s5", "times of reductions", 0.02),
    )
}


def totals(run: Recording) -> Iterator[tuple[str, tuple[float, float], float]]:
    """Metric, ours and the peer's, tolerance."""
    output = played(run)
    flows, theirs = output.flows, run.summary
    yield "goodput", (sum(flows["goodput_bps"]), sum(theirs["goodput_bps"])), GOODPUT
    yield "mean queue", (waiting(output), theirs["mean_queue_waiting"]), QUEUE
    yield "retransmissions", (sum(flows["retransmitted_segments"]), sum(theirs["retransmitted"])), RETRANSMITTED
    yield "reductions", (len(reductions(output, 0)), len(run.epochs[0])), 0


def shift(run: Recording) -> float:
    """Largest shift of a reduction, relative to its time or to the time at which a round trip is the tolerance."""
    floor = float(run.options["rtt-ms"]) * 1e-3 / TIMES
    pairs = zip(reductions(played(run), 0), run.epochs[0], strict=False)
    return max(abs(ours - theirs) / max(theirs, floor) for (ours, _), (theirs, _) in pairs)


def single(peer: str, scenario: str, variant: str) -> Iterator[Figure]:
    """The figures of a run of one flow."""
    run = recording(peer, scenario, variant)
    for metric, pair, tolerance in totals(run):
        yield figure(scenario, variant, metric, pair, tolerance, KNOWN.get((peer, scenario, variant, metric)))
    metric = "times of reductions"
    last = (reductions(played(run), 0)[-1][0], run.epochs[0][-1][0])
    yield Figure(scenario, variant, metric, *last, shift(run), TIMES, KNOWN.get((peer, scenario, variant, metric)))


def pair(peer: str, variant: str) -> Iterator[Figure]:
    """The figures of two flows: which of them loses at an overflow is a matter of nanoseconds, so means of draws."""
    ours, theirs = played_draws(peer, variant), recorded_draws(peer, variant)[1]
    for metric, values, tolerance in (
        ("goodput", (ours.goodput_bps, theirs.goodput_bps), GOODPUT),
        ("mean queue", (ours.queue, theirs.queue), QUEUE),
        ("retransmissions", (ours.retransmitted, theirs.retransmitted), RETRANSMITTED),
    ):
        yield figure(PAIR, variant, metric, values, tolerance, KNOWN.get((peer, PAIR, variant, metric)))


def figures(peer: str) -> Iterator[Figure]:
    """Everything that is compared with a peer."""
    for variant in FLOWS[peer]:
        for scenario in SINGLE:
            yield from single(peer, scenario, variant)
        yield from pair(peer, variant)
