"""Prague, CUBIC and Reno over DualPI2: rates beside a second model and Linux, delays beside those of RFC 9332."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

import l4s_measured
import l4s_model
import l4s_runs
from l4s_runs import CROWDS, RAMP_END, SHIFT, crowd, grid, play, steady

MODEL = {4: 0.2, 12: 0.15, 40: 0.15, 100: 0.15}
"""The second model's ratios are met within this, by Mbit/s per flow: it has no packets, long ones on slow links."""
MODEL_USE = 0.02
"""Its utilisation within this."""
LINUX = 0.15
"""The ratios measured on Linux are met within this."""
APART = {
    ("cubic", 100, 100),
    ("reno", 4, 100),
    *(("reno", rate, rtt) for rate in (12, 40, 100) for rtt in (50, 100)),
}
"""Where rates differ by more than a factor of 2: controller, Mbit/s per flow, round-trip time in ms (docs/l4s.md)."""


def test_rates_are_those_of_the_second_model() -> None:
    """Every point of the table, within and beyond the factor of 2."""
    for cell in grid():
        assert cell.ratio == pytest.approx(cell.model.ratio, rel=MODEL[cell.rate]), cell
        assert cell.utilisation == pytest.approx(cell.model.utilisation, abs=MODEL_USE), cell


def test_rates_differ_by_more_than_a_factor_of_two_only_where_the_documentation_says() -> None:
    assert {(cell.classic, cell.rate, cell.rtt) for cell in grid() if not 0.5 <= cell.ratio <= 2} == APART


@pytest.mark.parametrize(("rate", "rtt"), CROWDS)
def test_in_company_rates_come_nearer_as_the_second_model_has_it(rate: int, rtt: int) -> None:
    cells = crowd(rate, rtt)
    # Neighbours may change places: a ratio is of one run, and moves by some percent with the order of its packets.
    assert cells[-1].ratio < min(cell.ratio for cell in cells[:2]), cells
    assert all(later.model.ratio < earlier.model.ratio for earlier, later in pairwise(cells)), cells
    for cell in cells:
        assert cell.ratio == pytest.approx(cell.model.ratio, rel=MODEL[cell.rate]), cell


def test_in_company_a_steady_probability_is_reached_where_the_round_trip_is_not_long() -> None:
    assert crowd(12, 50)[-1].ratio == pytest.approx(steady(0.05), rel=0.1)


def test_rates_are_those_measured_on_linux() -> None:
    for point in l4s_measured.points():
        assert point.ours == pytest.approx(point.mean, rel=LINUX), point


def test_the_low_latency_queue_keeps_99_of_100_packets_below_a_millisecond() -> None:
    """Where a packet takes much less than that. Elsewhere one of the classic queue in transmission and one of its own.

    A packet alone in L is not marked for its delay (RFC 9332 §A.2), so one may be before the one that waits.
    """
    for cell in grid():
        assert cell.low_p99 < (1e-3 if cell.packet < 0.5e-3 + 1e-9 else max(RAMP_END, cell.packet) + cell.packet), cell


def test_the_delays_of_the_low_latency_queue_are_those_of_the_rfc() -> None:
    """RFC 9332 §1.4: on average below 1 ms, or 2 packets where one takes longer than that; 99 of 100 at most 2 ms."""
    for cell in grid():
        assert cell.low_mean < 1e-3, cell
    above = {(cell.classic, cell.rate, cell.rtt) for cell in grid() if cell.low_p99 > 2e-3}
    assert above <= {("reno", 4, 50)}, above
    assert play("reno", 4, 50, shift=SHIFT).low_p99 < 2e-3, "with the head start that the RFC suggests"


def test_the_link_is_busy() -> None:
    """Prague takes what a classic flow leaves, but grows no faster than by a segment per round trip.

    A loss of Reno takes more than its queue holds where the round trip is longer than the target.
    """
    for cell in grid():
        empties = cell.classic == "reno" and cell.rtt / 1e3 > l4s_runs.TARGET
        assert cell.utilisation > (0.95 if empties else 0.98), cell


def test_the_models_controller_has_the_numbers_of_the_rfc() -> None:
    """25 ms where 20 ms were: 0.16 (25 - 15) ms + 3.2 (25 - 20) ms."""
    assert l4s_model.update(0.1, 0.025, 0.020) == pytest.approx(0.1176)
    assert l4s_model.update(0.0, 0.0, 0.015) == 0.0


def test_the_models_prague_has_the_steady_window_of_evenly_spaced_marks() -> None:
    """The first mark that may reduce is the third, 3/x of a round trip later: x / 2 = 3 / x for x marks in one."""
    p, rtt = 0.01, 0.1
    prague, marking = l4s_model.Prague(2 / p, p), l4s_model.Count()
    now, windows = 0.0, []
    for _ in range(400_000):
        now += rtt / prague.window
        prague.outstanding = prague.window + 1
        prague.hear(now, rtt, 1.0, marking.events(p))
        windows.append(prague.window)
    steady_windows = windows[100_000:]
    # Over time: a window counts as long as its segment lasts, 1/w of a round trip.
    mean = len(steady_windows) / sum(1 / window for window in steady_windows)
    assert p * mean == pytest.approx(math.sqrt(6), rel=0.03)


def test_the_models_reno_halves_and_grows_by_a_segment_per_window() -> None:
    reno = l4s_model.Reno(40.0, outstanding=40.0)
    reno.lose(1.0, 0.1)
    reno.hear(1.05, 0.1, 10.0)
    assert (reno.window, reno.sends(1.05)) == (20.0, 5.0), "half of what is delivered leaves during repair"
    reno.hear(1.2, 0.1, 20.0)
    assert reno.window == pytest.approx(21.0)
