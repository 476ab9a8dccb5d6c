"""Agreement with recorded runs of ns-3 3.37 and ns-2.35."""

from __future__ import annotations

import json

import pytest

import ackclock
import peer_figures
from peer_runs import FLOWS, HERE, played, recording, reductions

VARIANTS = [(peer, variant) for peer, variants in FLOWS.items() for variant in variants]
SINGLE = [(peer, scenario, variant) for peer, variant in VARIANTS for scenario in peer_figures.SINGLE]


@pytest.mark.parametrize(("peer", "scenario", "variant"), SINGLE)
def test_one_flow(peer: str, scenario: str, variant: str) -> None:
    for figure in peer_figures.single(peer, scenario, variant):
        assert figure.explained, str(figure)


@pytest.mark.parametrize(("peer", "variant"), VARIANTS)
def test_two_flows(peer: str, variant: str) -> None:
    for figure in peer_figures.pair(peer, variant):
        assert figure.explained, str(figure)


@pytest.mark.parametrize(("peer", "scenario", "variant"), SINGLE)
def test_reductions_are_of_the_same_kind(peer: str, scenario: str, variant: str) -> None:
    run = recording(peer, scenario, variant)
    ours, theirs = [kind for _, kind in reductions(played(run), 0)], [kind for _, kind in run.epochs[0]]
    compared = min(len(ours), len(theirs))
    assert compared >= 2
    assert ours[:compared] == theirs[:compared]


@pytest.mark.parametrize("scenario", peer_figures.SINGLE)
@pytest.mark.parametrize("variant", ["newreno", "reno", "tahoe"])
def test_recovery_without_sack_sends_the_same_segments_again(scenario: str, variant: str) -> None:
    """Go-back-N after a timeout repeats more than was lost: how much follows from every rule of the endpoint."""
    run = recording("ns2", scenario, variant)
    assert played(run).flows["retransmitted_segments"][0] == pytest.approx(run.summary["retransmitted"][0], abs=1)


@pytest.mark.parametrize(("peer", "scenario", "variant"), SINGLE)
def test_the_recorded_scenario_is_the_run_compared(peer: str, scenario: str, variant: str) -> None:
    """What a recording calls nearest in the keys of a scenario file gives the same run."""
    raw = json.loads((HERE / peer / f"{scenario}-{variant}.json").read_text(encoding="utf-8"))
    flow = ackclock.run(raw["ackclock"], jobs=1).flows.row(0, named=True)
    ours = played(recording(peer, scenario, variant)).flows.row(0, named=True)
    for column in ("goodput_bytes", "retransmitted_segments", "recoveries", "timeouts", "acks"):
        assert flow[column] == ours[column], column


def test_a_known_deviation_is_still_there() -> None:
    """A deviation that has gone must leave the list."""
    for peer, scenario, variant, metric in peer_figures.KNOWN:
        found = {figure.metric: figure for figure in peer_figures.single(peer, scenario, variant)}[metric]
        assert not found.agrees, str(found)


def test_every_recording_is_compared() -> None:
    recorded = {(path.parent.name, *path.stem.split("-")) for path in HERE.glob("ns[23]/*.json")}
    pairs = {(peer, peer_figures.PAIR, variant) for peer, variant in VARIANTS}
    assert recorded == {*SINGLE, *pairs}
