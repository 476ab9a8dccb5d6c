"""Prague, CUBIC and Reno over DualPI2: the rates and delays that RFC 9332 wants, and where it is not so and why."""

from __future__ import annotations

from itertools import pairwise

import pytest

import l4s_runs
from l4s_runs import RAMP_END, Cell, crowds, grid, law

FACTOR = 2.0
"""Flows of both kinds should have about the same rate (RFC 9332 §1.2): within this factor."""
ALONE = 3.1
"""What a single Prague flow takes of a single classic one at long round-trip times at most (docs/l4s.md)."""


def runs_empty(cell: Cell) -> bool:
    """Whether the window that a classic flow loses at once is more than the classic queue holds at its target.

    A loss takes half of rate (RTT + target); the queue then is empty where that exceeds rate target: RTT > target.
    CUBIC takes 30 %: RTT > 2.33 targets.
    """
    least = {"reno": l4s_runs.TARGET, "cubic": l4s_runs.TARGET * (1 / 0.3 - 1)}[cell.classic]
    return cell.rtt / 1e3 > least


def test_flows_of_both_kinds_have_rates_within_a_factor_of_two() -> None:
    wrong = [cell for cell in grid() if not 1 / FACTOR <= cell.ratio <= (ALONE if runs_empty(cell) else FACTOR)]
    assert not wrong, wrong


def test_which_rates_are_further_apart() -> None:
    """What docs/l4s.md says of them."""
    apart = {(cell.classic, cell.rate, cell.rtt) for cell in grid() if cell.ratio > FACTOR}
    assert {rtt for _, _, rtt in apart} <= {50, 100}, apart
    assert {rtt for classic, _, rtt in apart if classic == "cubic"} <= {100}, apart


def test_a_steady_probability_gives_the_rates_of_theory() -> None:
    """Where the sawtooth of a flow is short its queue holds, and the equations of both kinds are met within 15 %."""
    for cell in grid():
        if cell.rate <= 12 and not runs_empty(cell):
            assert cell.ratio == pytest.approx(cell.expected, rel=0.15), cell


def test_in_company_the_classic_queue_holds_and_the_rates_come_to_those_of_theory() -> None:
    ratios = [cell.ratio for cell in crowds()]
    assert all(later < earlier for earlier, later in pairwise(ratios)), ratios
    assert ratios[0] > FACTOR > ratios[1]
    assert ratios[-1] == pytest.approx(law(0.05), rel=0.1)


def test_the_low_latency_queue_keeps_99_of_100_packets_below_a_millisecond() -> None:
    """Where a packet takes much less than that. Elsewhere one of the classic queue in transmission and one of its own.

    A packet alone in L is not marked for its delay (RFC 9332 §A.1), so one may be before the one that waits.
    """
    for cell in grid():
        assert cell.low_p99 < (1e-3 if cell.packet < 0.5e-3 + 1e-9 else max(RAMP_END, cell.packet) + cell.packet), cell


def test_the_link_is_busy() -> None:
    """Prague takes what a classic flow leaves, but grows no faster than by a segment per round trip."""
    for cell in grid():
        assert cell.utilisation > (0.95 if runs_empty(cell) else 0.99), cell
