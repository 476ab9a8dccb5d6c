"""Metrics beyond the tables: definitions, closed forms, and what a run gives."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ackclock
from ackclock import metrics, stats


def test_max_min_shares_of_a_parking_lot() -> None:
    # One flow over both links, one over each: 10 and 4 to share.
    shares = metrics.max_min_shares([["a", "b"], ["a"], ["b"]], {"a": 10.0, "b": 4.0})
    assert shares == pytest.approx([2, 8, 2])


def test_max_min_shares_with_demands_and_without_limits() -> None:
    assert metrics.max_min_shares([["a"], ["a"], ["a"]], {"a": 9.0}, [1, 100, 100]) == pytest.approx([1, 4, 4])
    assert metrics.max_min_shares([["x"], ["a"]], {"a": 3.0}) == [math.inf, pytest.approx(3)]
    assert metrics.max_min_shares([], {"a": 3.0}) == []


@pytest.mark.parametrize("seed", range(20))
def test_max_min_shares_are_feasible_and_every_flow_has_a_bottleneck(seed: int) -> None:
    rng = np.random.default_rng(seed)
    links = {name: float(rng.uniform(1, 100)) for name in "abcde"}
    routes = [[str(link) for link in rng.choice(list(links), rng.integers(1, 5), replace=False)] for _ in range(12)]
    shares = metrics.max_min_shares(routes, links)
    load = {link: sum(share for share, way in zip(shares, routes, strict=True) if link in way) for link in links}
    assert all(load[link] <= links[link] * (1 + 1e-9) for link in links)
    for share, way in zip(shares, routes, strict=True):
        # The definition: a full link on which nobody has more.
        assert any(
            load[link] >= links[link] * (1 - 1e-6)
            and share >= max(s for s, w in zip(shares, routes, strict=True) if link in w) * (1 - 1e-6)
            for link in way
        )


def test_fairness_of_two() -> None:
    assert metrics.max_min_index([3, 1], [2, 2]) == 0.5
    assert metrics.max_min_index([1], [math.inf]) is None
    assert metrics.proportional_fairness([1, math.e]) == pytest.approx(1)
    assert metrics.proportional_fairness([1, 0]) == -math.inf
    assert metrics.rtt_fairness_exponent(4, 1, 0.02, 0.04) == pytest.approx(2)
    assert metrics.rtt_fairness_exponent(4, 1, 0.02, 0.02) is None
    assert metrics.friendliness(2, 5) == 0.4
    assert metrics.harm(10, 4) == pytest.approx(0.6)
    assert metrics.harm(0.05, 0.2, more_is_better=False) == pytest.approx(0.75)


def test_rates_over_bins() -> None:
    time, value = np.arange(0, 10.01, 0.5), 100 * np.arange(0, 10.01, 0.5)
    begins, rates = metrics.rate_over(time, value, 1, 9.3, 2)
    assert begins.tolist() == [1, 3, 5, 7]
    assert rates == pytest.approx([100] * 4)
    assert metrics.smoothness(rates) == pytest.approx(0, abs=1e-12)
    assert metrics.smoothness([1, 3]) == pytest.approx(math.sqrt(2) / 2)
    assert metrics.smoothness([5]) is None
    with pytest.raises(ValueError, match="longer than nothing"):
        metrics.rate_over(time, value, 0, 1, 0)


def test_settling() -> None:
    # Half the rate for 5 s, then all of it.
    time = np.arange(0, 20.001, 0.1)
    value = np.where(time < 5, 50 * time, 250 + 100 * (time - 5))
    assert metrics.settle_time(time, value, 0, 20, 100) == pytest.approx(5)
    assert metrics.settle_time(time, value, 0, 20, 100, share=0.5) == 0
    assert metrics.settle_time(time, value, 0, 20, 102) is None, "censored"
    assert metrics.settle_time(time, value, 0, 0.5, 100) is None, "no whole window"
    assert metrics.start_up_rate(time, value, 0, 10) == pytest.approx(75)
    assert metrics.start_up_rate(time, value, 3, 3) is None


def test_losses_together_and_apart() -> None:
    assert metrics.loss_events([3.0, 1.0, 1.05, 1.2], 0.1) == [1.0, 1.2, 3.0]
    assert metrics.synchronisation([[1, 5], [1.05, 5.01]], 0.1) == 1
    assert metrics.synchronisation([[1, 5], [3, 7]], 0.1) == 0.5
    assert metrics.synchronisation([[1, 5], []], 0.1) == 0.5
    assert metrics.synchronisation([[1]], 0.1) is None
    assert metrics.synchronisation([[], []], 0.1) is None


def test_a_run() -> None:
    result = ackclock.run(
        {
            "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "queue": "0.5 BDP"},
            "flows": [{"cc": "reno", "count": 2}],
            "run": {"duration": "30 s", "warmup": "5 s"},
            "probes": {"recoveries": "on_change", "timeouts": "on_change", "delivered": "100 ms"},
        }
    )
    row = metrics.of(result).row(0, named=True)
    goodputs = result.flows["goodput_bps"].to_list()
    share = 1e7 * 1448 / 1500 / 2
    assert row["max_min_index"] == pytest.approx(min(goodputs) / share, rel=1e-6)
    assert row["loss_events"] == sum(result.flows["recoveries"]) + sum(result.flows["timeouts"])
    assert 0.5 <= row["synchronisation"] <= 1
    assert 0 < row["smoothness"] < 1
    assert row["proportional_fairness"] == pytest.approx(sum(math.log(x) for x in goodputs))


def test_flows_of_requests_are_no_rivals_of_bulk_flows() -> None:
    flows = [{"cc": "cubic", "count": 2}, {"cc": "cubic", "app": {"kind": "request-response", "response": "2 kB"}}]
    path = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"}
    result = ackclock.run({"topology": path, "flows": flows, "run": {"duration": "4 s"}}, jobs=1)
    first, second, requests = result.flows["goodput_bps"].to_list()
    row = metrics.of(result).row(0, named=True)
    assert row["jain"] == pytest.approx(stats.jain([first, second]))
    assert row["jain"] > stats.jain([first, second, requests]) + 0.1  # type: ignore[operator]
    assert row["proportional_fairness"] == pytest.approx(math.log(first) + math.log(second))
    only = ackclock.run({"topology": path, "flows": flows[1:] * 2, "run": {"duration": "4 s"}}, jobs=1)
    assert metrics.of(only)["jain"][0] == pytest.approx(stats.jain(only.flows["goodput_bps"]))  # nobody else is there


def test_what_was_not_recorded_is_missing() -> None:
    result = ackclock.run(
        {
            "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "queue": "0.5 BDP"},
            "flows": [{"cc": "reno", "count": 2}],
            "run": {"duration": "3 s"},
        }
    )
    row = metrics.of(result).row(0, named=True)
    assert row["synchronisation"] is None
    assert row["smoothness"] is None
