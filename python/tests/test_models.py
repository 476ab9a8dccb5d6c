"""Closed forms against the tables of their papers and against simulations that share nothing with them."""

from __future__ import annotations

import pytest

from ackclock.models import CUTS, Cut, cubic_fluid_utilisation, fluid_utilisation, parallel_utilisation
from shared import ROOT

# Rows: what a connection keeps; columns: connections.
CONNECTIONS = (1, 2, 3, 4, 5, 8, 10, 16, 25)
TABLE = {
    0.5: (0.75, 0.857143, 0.9, 0.923077, 0.9375, 0.96, 0.967742, 0.979592, 0.986842),
    0.7: (0.85, 0.918919, 0.944444, 0.957746, 0.965909, 0.978417, 0.982659, 0.989091, 0.992991),
    0.8: (0.9, 0.947368, 0.964286, 0.972973, 0.978261, 0.986301, 0.989011, 0.993103, 0.995575),
}


@pytest.mark.parametrize("keep", TABLE)
def test_parallel_connections(keep: float) -> None:
    found = [parallel_utilisation(connections, keep) for connections in CONNECTIONS]
    assert found == pytest.approx(TABLE[keep], abs=5.1e-7)
    assert found == sorted(found)


def test_one_connection_is_the_mean_of_its_saw_tooth() -> None:
    for keep in (0.0, 0.5, 0.7, 0.9):
        assert parallel_utilisation(1, keep) == pytest.approx((1 + keep) / 2, abs=1e-15)


@pytest.mark.parametrize("cut", [cut for cut in CUTS if cut != "all"])
@pytest.mark.parametrize("keep", [0.5, 0.7])
def test_whichever_is_cut_the_formula_holds(keep: float, cut: Cut) -> None:
    for connections in (1, 2, 5, 16):
        found = fluid_utilisation(connections, keep, cut, overflows=10_000)
        assert found == pytest.approx(parallel_utilisation(connections, keep), abs=2e-3), connections


@pytest.mark.parametrize("keep", [0.5, 0.7])
def test_if_all_are_cut_more_connections_gain_nothing(keep: float) -> None:
    for connections in (1, 4, 25):
        assert fluid_utilisation(connections, keep, "all", overflows=500) == pytest.approx((1 + keep) / 2, abs=1e-9)


@pytest.mark.parametrize("cut", CUTS)
def test_one_cubic_connection_is_the_mean_of_its_cubic(cut: Cut) -> None:
    # The curve is flat where it meets the link: when it does is known to the cube root of a rounding error.
    for keep, expected in ((0.0, 0.75), (0.5, 0.875), (0.7, 0.925)):
        assert cubic_fluid_utilisation(1, cut, keep=keep, overflows=50) == pytest.approx(expected, abs=1e-5)


def test_cubic_connections_that_are_all_cut_gain_nothing() -> None:
    for connections in (2, 4, 25):
        # Unequal rates become equal slowly, and only equal ones are at their last maximum together.
        assert cubic_fluid_utilisation(connections, "all", overflows=500) == pytest.approx(0.925, abs=1e-3)


@pytest.mark.parametrize(("connections", "step"), [(2, 5e-5), (5, 5e-5)])
def test_the_cubic_fluid_is_that_of_small_steps(connections: int, step: float) -> None:
    """RFC 9438 §4.2 in steps of time, C = 0.4 in place of 1: the unit of time does not matter."""
    most = [(place + 1.0) / sum(range(1, connections + 1)) for place in range(connections)]
    since, sums, overflows = [0.0] * connections, [], 0
    while overflows < 260:
        rates = [0.4 * (since[i] - (0.3 * most[i] / 0.4) ** (1 / 3)) ** 3 + most[i] for i in range(connections)]
        since = [time + 100 * step for time in since]
        if overflows >= 60:
            sums.append(sum(rates))
        if sum(rates) >= 1:
            loser = rates.index(max(rates))
            most[loser], since[loser] = rates[loser], 0.0
            overflows += 1
    expected = cubic_fluid_utilisation(connections, "largest", overflows=2000)
    assert sum(sums) / len(sums) == pytest.approx(expected, abs=3e-3)


def test_the_same_seed_is_the_same_number() -> None:
    found = [fluid_utilisation(5, 0.7, "uniform", overflows=500, seed=seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("connections", "keep", "message"),
    [
        (0, 0.5, "connections: 0 is too few; give 1 or more"),
        (1, 1.0, "keep: 1 is out of range; give 0 to below 1"),
        (1, -0.1, "keep: -0.1 is out of range; give 0 to below 1"),
    ],
)
def test_impossible_arguments(connections: int, keep: float, message: str) -> None:
    functions = (
        parallel_utilisation,
        lambda n, b: fluid_utilisation(n, b, "all"),
        lambda n, b: cubic_fluid_utilisation(n, "all", keep=b),
    )
    for function in functions:
        with pytest.raises(ValueError, match=message):
            function(connections, keep)


def test_the_page_names_every_function() -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    for name in ("parallel_utilisation", "fluid_utilisation", "cubic_fluid_utilisation", *CUTS):
        assert f"`{name}" in page or f'"{name}"' in page, name
