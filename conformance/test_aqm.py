"""Queue disciplines under TCP: agreement with recorded runs of ns-3 3.37 and ns-2.35.

The same disciplines without TCP, packet by packet: crates/ackclock-core/tests/all/aqm_peers.rs.
"""

from __future__ import annotations

import json

import pytest

import aqm_figures
from ackclock import engine
from aqm_runs import FLOWS, PATHS, QUEUES, cases
from peer_runs import MSS, Recording, document

PEERS = ("ns3", "ns2")


@pytest.mark.parametrize("peer", PEERS)
def test_a_queue_under_tcp(peer: str) -> None:
    wrong = [str(figure) for figure in aqm_figures.figures(peer) if not figure.explained]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("peer", PEERS)
def test_every_queue_is_recorded_on_every_path(peer: str) -> None:
    found = cases(peer)
    assert {case.queue for case in found} == set(QUEUES[peer])
    assert {case.path for case in found} == set(PATHS)
    assert {case.cc for case in found} <= set(FLOWS)
    assert len(found) == len(QUEUES[peer]) * len(PATHS) * len({case.cc for case in found})


def test_a_known_deviation_is_still_there() -> None:
    """A deviation that has gone must leave the list."""
    for case, measure in aqm_figures.KNOWN:
        found = aqm_figures.compared(case, measure)
        assert not found.agrees, str(found)


SHORT = {
    "rate-bps": "1500000",
    "rtt-ms": "100",
    "queue-packets": "3",
    "queue-counts-service": "1",
    "duration": "25",
    "mss": str(MSS),
    "min-rto-ms": "1000",
    "start": "0",
    "start-step-ms": "0",
    "reverse-rate-bps": "0",
}
"""Options of benches/peers for a queue of three packets."""


@pytest.mark.parametrize(
    ("peer", "variant", "overhead", "delayed_ack", "recorded"),
    [
        ("ns3", "newreno", "2", 1, 1.0935e6),
        ("ns3", "newreno", "2", 2, 0.3016e6),
        ("ns2", "newreno", "0", 1, 1.1603e6),
        ("ns2", "newreno", "0", 2, 0.3443e6),
        ("ns2", "reno", "0", 1, 1.0041e6),
        ("ns2", "reno", "0", 2, 0.2961e6),
    ],
)
def test_delayed_acknowledgments_behind_three_packets(
    peer: str, variant: str, overhead: str, delayed_ack: int, recorded: float
) -> None:
    """A window that grows sends three segments on one delayed acknowledgment: the throughput of the peer's --delack."""
    run = json.loads(document(Recording(peer, "short", variant, {**SHORT, "overhead": overhead}, {}, ()), [0], {}))
    run["flows"][0]["tcp"]["delayed_ack"] = delayed_ack
    goodput = engine.run(json.dumps(run)).flows["goodput_bps"][0]
    assert goodput == pytest.approx(recorded, rel=0.10)
