"""MSER against exact arithmetic: the cut is that of the definition, however large the values beside their spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from ackclock.stats import Truncation, after, mser
from ackclock.stats.samples.warmup import _spreads


def exact(values: Sequence[float], batch: int = 5) -> tuple[list[Fraction], int]:
    """The statistic of every possible cut in batches, by its definition and without rounding, and the batches."""
    m = len(values) // batch
    means = [sum(map(Fraction, values[batch * at : batch * (at + 1)])) / batch for at in range(m)]
    found, total, squares = [], Fraction(0), Fraction(0)
    for count, mean in enumerate(reversed(means), 1):
        total, squares = total + mean, squares + mean * mean
        found.append((squares - total * total / count) / count**2)
    return found[::-1][: m - 5], m


def agree(values: Sequence[float]) -> None:
    """Whether a series is cut where the definition says; of minima that are close to each other at one of them."""
    possible, m = exact(values)
    least = min(possible)
    at = possible.index(least)
    close = [cut for cut, own in enumerate(possible) if own <= least * (1 + Fraction(1, 10**9))]
    found = mser(values)
    if found.cut is None:
        assert any(cut > m // 2 for cut in close)
        return
    assert found.cut // 5 in close
    if least == 0 or len(close) == 1:
        assert found.cut == 5 * at
    left = [Fraction(value) for value in values[found.cut : 5 * m]]
    assert found.mean == pytest.approx(float(sum(left) / len(left)), rel=1e-14)


CONSTANTS = [0.7, 0.1, 1 / 3, 1e9 + 0.1, 1e-9, -0.3, 123456.789, 1e15 + 0.3]


@pytest.mark.parametrize("constant", CONSTANTS)
@pytest.mark.parametrize("first", [0.0, 5.0, 1e6])
def test_a_step_to_a_constant_is_cut_at_the_step(constant: float, first: float) -> None:
    for at, length in ((25, 250), (50, 500), (5, 60), (100, 1003), (23, 250), (0, 100)):
        values = [first] * at + [constant] * (length - at)
        agree(values)
        # A batch that is mixed is cut too.
        assert mser(values) == Truncation(5 * math.ceil(at / 5), pytest.approx(constant, rel=1e-15), length // 5)


def test_the_published_failures() -> None:
    assert mser([0.0] * 25 + [0.7] * 225).cut == 25
    assert mser([0.0] * 50 + [0.7] * 450).cut == 50


def test_rounding_is_no_spread() -> None:
    # 0.1 + 0.2 and 0.3 differ in the last bit; what is left after the step is one value.
    assert mser([0.0] * 40 + [0.1 + 0.2] * 100 + [0.3] * 260).cut == 40
    # Small values after large ones keep theirs.
    small = [1e9] * 40 + [1e-9 * (1 + (index // 5) % 2) for index in range(360)]
    agree(small)


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6, 1e9, -1e12])
def test_ramps_and_noise_are_cut_where_exact_arithmetic_says(offset: float) -> None:
    rng = np.random.default_rng(37)
    for trial in range(12):
        noise = rng.normal(0.0, 1.0, 300 + 7 * trial)
        for bias in (
            np.zeros(len(noise)),
            -30.0 * np.maximum(0.0, 1 - np.arange(len(noise)) / (20.0 + 5 * trial)),
            50.0 * np.exp(-np.arange(len(noise)) / (5.0 + 3 * trial)),
            np.where(np.arange(len(noise)) < 8 * trial, 1e4, 0.0),
        ):
            agree((offset + bias + noise).tolist())


def test_sums_of_squares_keep_their_digits_beside_large_values() -> None:
    values = (1e12 + np.random.default_rng(59).normal(0.0, 1.0, 200)).tolist()
    for cut, found in enumerate(_spreads(values)[:-5]):
        left = list(map(Fraction, values[cut:]))
        centre = sum(left) / len(left)
        assert found == pytest.approx(float(sum((value - centre) ** 2 for value in left)), rel=1e-13)


def test_what_mser_refuses() -> None:
    for missing in (math.nan, None):
        with pytest.raises(ValueError, match=r"^no value at 3 of the series"):
            mser([1.0, 2.0, 3.0, missing, *[1.0] * 60])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="an infinite value"):
        mser([*[1.0] * 60, math.inf])
    with pytest.raises(ValueError, match="at least one value, not 0"):
        mser([1.0] * 60, batch=0)
    with pytest.raises(ValueError, match="no value at 1 of the times"):
        after([0.0, math.nan, 2.0], [1.0, 2.0, 3.0], 1.0)


def test_a_long_series_of_arrays() -> None:
    rng = np.random.default_rng(41)
    values = np.concatenate([np.full(1000, 80.0), rng.normal(50.0, 1.0, 49_000)])
    found = mser(values)  # type: ignore[arg-type]
    assert found.cut == 1000
    assert found.mean == pytest.approx(values[1000:].mean())
