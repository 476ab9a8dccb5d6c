"""Profile `linux` against the recorded runs of the real Linux kernel (conformance/kernel/README.md)."""

from __future__ import annotations

import pytest

import kernel_runs as runs

# Losses are deterministic and the flow is alone: epochs can be compared one by one.
ALONE = [name for name in runs.names() if len(runs.record(name)["flows"]) == 1]


@pytest.mark.parametrize("name", runs.names())
def test_goodput_queue_and_retransmissions(name: str) -> None:
    ours, kernel = runs.ours(name), runs.kernel(name)
    assert ours.goodput_bps == pytest.approx(kernel.goodput_bps, rel=runs.GOODPUT)
    assert ours.mean_queue == pytest.approx(kernel.mean_queue, rel=runs.QUEUE)
    assert ours.retransmissions == pytest.approx(kernel.retransmissions, rel=runs.RETRANSMISSIONS)


@pytest.mark.parametrize("name", ALONE)
def test_congestion_epochs_at_the_same_times(name: str) -> None:
    ours, kernel = runs.ours(name).epochs, runs.kernel(name).epochs
    for at in kernel:
        nearest = min(ours, key=lambda time: abs(time - at))
        slack = max(runs.round_trip(name), 0.01 * at)
        assert abs(nearest - at) <= slack, f"no epoch of ours near {at} s, the nearest begins at {nearest} s"
    assert len(ours) == pytest.approx(len(kernel), rel=0.1, abs=1)


@pytest.mark.parametrize("name", runs.random_names())
def test_goodput_under_random_loss(name: str) -> None:
    """Other losses in every run: the means over seeds differ by less than three standard errors of their difference."""
    ours, kernel, bound = runs.noise(name)
    assert abs(ours.mean - kernel.mean) <= bound, f"{ours} and {kernel}"
    assert bound < 0.15 * kernel.mean, "too few seeds to tell anything"
