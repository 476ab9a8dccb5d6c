"""Queue disciplines under TCP: agreement with recorded runs of ns-3 3.37 and ns-2.35.

The same disciplines without TCP, packet by packet: crates/ackclock-core/tests/aqm_peers.rs.
"""

from __future__ import annotations

import pytest

import aqm_figures
from aqm_runs import FLOWS, PATHS, QUEUES, cases

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
