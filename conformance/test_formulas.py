"""Agreement with the formulas of the literature, and with arithmetic.

The queue itself is compared with M/D/1, M/M/1 and their finite versions in crates/ackclock-sim/tests/queue_theory.rs.
"""

from __future__ import annotations

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


def test_losses_cost_as_their_square_root() -> None:
    """The exponent is sharper than the constant: a hundredfold loss is a tenth of the window."""
    for b in (1, 2):
        many, few = formulas.mean_window(1e-2, b)[0], formulas.mean_window(1e-4, b)[0]
        assert few / many == pytest.approx(10, rel=0.2)


def test_utilisation_of_one_flow() -> None:
    for figure in formulas.one_flow():
        assert figure.agrees, str(figure)


def test_exact_cases() -> None:
    for figure in formulas.exact():
        assert figure.agrees, str(figure)
