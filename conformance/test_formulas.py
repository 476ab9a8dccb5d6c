"""Agreement with the formulas of the literature, and with arithmetic.

The queue itself is compared with M/D/1, M/M/1 and their finite versions in
crates/ackclock-sim/tests/all/queue_theory.rs.
"""

from __future__ import annotations

import math

import pytest

import formulas


def test_published_values_of_the_formulas() -> None:
    assert formulas.mathis(1e-3, 1) == pytest.approx(38.73, abs=0.005)
    assert formulas.sawtooth(100, 0) == 0.75
    assert formulas.sawtooth(100, 100) == formulas.sawtooth(100, 150) == 1
    # Without timeouts and for small p the full model becomes Mathis' formula.
    assert formulas.padhye(1e-6, 0.1, 0, 1) == pytest.approx(formulas.mathis(1e-6, 1) / 0.1, rel=0.01)


def test_random_losses() -> None:
    for figure in formulas.random_losses():
        assert figure.tolerance < 0.15, f"the confidence interval says nothing: {figure}"
        assert figure.agrees, str(figure)


def used(p: float, b: int, window: float) -> float:
    """Ott's window with what the limit leaves out: of the 1/(p window) round trips between two losses one is recovery,
    in which nothing grows, and a window is not whole segments, nor with delayed acknowledgments whole pairs of them.
    """
    return formulas.ott(p, b) * math.sqrt(1 - p * window) - b / 2


def test_losses_cost_as_their_square_root() -> None:
    """The exponent is sharper than the constant: a hundredfold loss is a tenth of the window, and 11 of a small one."""
    for b in (1, 2):
        (many, many_ci), (few, few_ci) = formulas.mean_window(1e-2, b), formulas.mean_window(1e-4, b)
        assert few / many == pytest.approx(used(1e-4, b, few) / used(1e-2, b, many), rel=many_ci + few_ci)
        assert many_ci + few_ci < 0.05, "the confidence intervals say nothing"


def test_utilisation_of_one_flow() -> None:
    for figure in formulas.one_flow():
        assert figure.agrees, str(figure)


def test_exact_cases() -> None:
    for figure in formulas.exact():
        assert figure.agrees, str(figure)
