"""Statistics against published numbers."""

from __future__ import annotations

import math

import pytest

from ackclock.results.groups import Group
from ackclock.results.summary import FlowSummary, GroupSummary, PointSummary
from ackclock.results.text import number, rows
from ackclock.stats import Estimate, estimate, jain, t_quantile


@pytest.mark.parametrize(("n", "expected"), [(3, 4.303), (5, 2.776), (10, 2.262157), (20, 2.093), (30, 2.045)])
def test_t_quantiles(n: int, expected: float) -> None:
    assert t_quantile(0.975, n - 1) == pytest.approx(expected, abs=5e-4)


def test_confidence_interval() -> None:
    found = estimate([10.2, 9.8, 10.5, 10.1, 9.9, 10.0, 10.4, 9.7, 10.3, 10.1])
    assert found.n == 10
    assert found.mean == pytest.approx(10.1, abs=1e-12)
    assert found.ci95 == pytest.approx(0.184704, abs=5e-7)


def test_few_values() -> None:
    assert estimate([]) == Estimate(None, None, 0)
    assert estimate([None, math.nan]) == Estimate(None, None, 0)
    assert estimate([3.0, None]) == Estimate(3.0, None, 1)
    assert estimate([2.0, 2.0]) == Estimate(2.0, None, 2)  # no spread: it may be one run twice


@pytest.mark.parametrize(
    ("values", "expected"), [((1, 1), 1), ((3, 1), 0.8), ((1, 0), 0.5), ((1, 2, 3, 4), 0.8333333333)]
)
def test_jain(values: tuple[float, ...], expected: float) -> None:
    assert jain(values) == pytest.approx(expected)


def test_jain_of_nothing() -> None:
    assert jain([]) is None
    assert jain([0, 0]) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Estimate(None, None, 0), "-"),
        (Estimate(46.7012, None, 1), "46.70"),
        (Estimate(10.1, 0.184704, 10), "10.10 ± 0.18"),
        (Estimate(1234.5, 67.8, 3), "1234 ± 68"),
        (Estimate(0.1, 0.0, 3), "0.10000 ± 0.00000"),
        (Estimate(0.0, 0.0, 3), "0 ± 0"),
        (Estimate(5.0, 1e-15, 3), "5.0000 ± 0.0000"),
    ],
)
def test_numbers_show_what_the_interval_supports(value: Estimate, text: str) -> None:
    assert number(value) == text


def test_a_narrow_table_keeps_flows_and_numbers_in_step() -> None:
    goodput = Estimate(17.49e6, 0.97e6, 20)
    others = dict.fromkeys(
        ["utilisation", "jain", "loss_percent", "retransmitted_percent", "mean_queue_delay_s", "p95_queue_delay_s"],
        Estimate(0.5, 0.01, 20),
    )
    flows = tuple(FlowSummary(name, "reno", {"goodput_bps": goodput}) for name in "01")
    group = GroupSummary(Group(0, 2, "reno"), {"goodput_bps": goodput})
    point = PointSummary(0, {"topology.rtt": "10 ms"}, 20, {"goodput_bps": goodput, **others}, flows, (group,))
    header, row = rows([point], ["topology.rtt"], narrow=True)
    assert header[:3] == ["topology.\nrtt", "flows", "goodput\nper\nflow\nMbit/s"]
    assert row[:4] == ["10 ms", "0 reno\n\n1 reno", "17.5\n± 1.0\n17.5\n± 1.0", "50\n± 1"]
    wide = rows([point], ["topology.rtt"])[1]
    assert wide[1:4] == ["0 reno\n1 reno", "17.49 ± 0.97\n17.49 ± 0.97", "50.0 ± 1.0"]
