"""How often the intervals of a ranking hold, and "best" is wrong: synthetic sweeps with a known truth.

    .venv/bin/python conformance/ranking_coverage.py            # the table of docs/rank.md, 2000 sweeps a shape
    .venv/bin/python conformance/ranking_coverage.py --sweeps 200 --shape ties

A sweep has K candidates at P points in n replications; logarithms of a metric are the truth of candidate and point plus
errors, of which a part is shared by all candidates (common random numbers) and by all points. What a ranking does with
them is `ackclock.ranking.standing` and `ackclock.stats.pairwise`, as on the results of runs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.ranking.standing import Told
from ackclock.results.times import of_run
from ackclock.stats import pairwise, t_quantile

Array = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, int, int, int], Array]
"""Errors of draws, points and candidates: their mean over many draws is zero."""


def normal(rng: np.random.Generator, n: int, points: int, count: int) -> Array:
    """Normal errors, three times as large a part in common."""
    return 0.1 * rng.normal(size=(n, points, count)) + _common(rng, n, points, 0.3)


def unequal(rng: np.random.Generator, n: int, points: int, count: int) -> Array:
    """Normal errors, each candidate's larger than those of the one before: from 0.01 to 0.5."""
    return np.geomspace(0.01, 0.5, count) * rng.normal(size=(n, points, count)) + _common(rng, n, points, 0.3)


def heavy(rng: np.random.Generator, n: int, points: int, count: int) -> Array:
    """Student's t with three degrees of freedom: of 100 values one is six times as far off as half of them."""
    return 0.1 * rng.standard_t(3, size=(n, points, count)) + _common(rng, n, points, 0.3)


def skewed(rng: np.random.Generator, n: int, points: int, count: int) -> Array:
    """Losses that are exponential in the logarithm, of the same size for all candidates."""
    return 0.1 * (1 - rng.exponential(size=(n, points, count))) + _common(rng, n, points, 0.3)


def collapses(rng: np.random.Generator, n: int, points: int, count: int) -> Array:
    """The same, fifty times as large for one candidate as for another: the worst that is likely."""
    return np.geomspace(0.01, 0.5, count) * (1 - rng.exponential(size=(n, points, count)))


def times(rng: np.random.Generator, n: int, points: int, count: int) -> Array:
    """Mean times of 20 exponential transfers in a run that ends after 1.5 of their means: every fifth is not done."""
    seen = rng.exponential(size=(n, points, count, 20))
    done = seen < 1.5
    held = np.minimum(seen, 1.5)
    found = [of_run(*pair)["mean_fct_s"][0] for pair in zip(held.reshape(-1, 20), done.reshape(-1, 20), strict=True)]
    return np.log(np.array(found)).reshape(n, points, count)  # the mean is not zero, but the same for all


def _common(rng: np.random.Generator, n: int, points: int, size: float) -> Array:
    return size * (rng.normal(size=(n, 1, 1)) + rng.normal(size=(n, points, 1))) / math.sqrt(2)


@dataclass(frozen=True, slots=True)
class Shape:
    """Sweeps of one kind: `truth` is the logarithm of each candidate's metric over all points."""

    truth: Sequence[float]
    errors: Draw
    n: int
    points: int = 6


TIED = (0.0,) * 5
NEAR = (0.12, 0.0, 0.0, -0.05, -0.2)
PAIR = (0.12, 0.12, 0.0, -0.05, -0.2)

SHAPES: dict[str, Shape] = {
    "ties, 3 replications": Shape(TIED, normal, 3),
    "ties, 5 replications": Shape(TIED, normal, 5),
    "ties": Shape(TIED, normal, 10),
    "ties, 12 candidates": Shape((0.0,) * 12, normal, 10),
    "one is best": Shape(NEAR, normal, 10),
    "one is best, 3 replications": Shape(NEAR, normal, 3),
    "two are best": Shape(PAIR, normal, 20),
    "unequal spreads": Shape(TIED, unequal, 5),
    "heavy tails": Shape(TIED, heavy, 10),
    "heavy tails, 3 replications": Shape(TIED, heavy, 3),
    "heavy tails, one point": Shape(PAIR, heavy, 10, 1),
    "skewed": Shape(TIED, skewed, 10),
    "skewed, one point, 5 replications": Shape(TIED, skewed, 5, 1),
    "censored times": Shape(TIED, times, 10),
    "censored times, 3 replications": Shape(PAIR, times, 3),
    "collapses of one": Shape(TIED, collapses, 10),
    "collapses of one, 5 replications": Shape(TIED, collapses, 5),
    "collapses of one, one point": Shape(TIED, collapses, 10, 1),
    "collapses of one, one point, 5 replications": Shape(TIED, collapses, 5, 1),
}
"""Those whose name begins with "collapses of one, one point" are beyond what is claimed (docs/rank.md)."""


@dataclass(frozen=True, slots=True)
class Found:
    """Shares of sweeps: all intervals hold; a wrong best is named; a true best is not among the first; one is named.

    `bootstrap` is the share of sweeps whose intervals would hold if they came from a bootstrap of means alone,
    `student` if they were Student's with Bonferroni's adjustment alone, as they are for fewer than ten replications.
    """

    sweeps: int
    held: float
    wrong: float
    missed: float
    named: float
    bootstrap: float
    student: float


def play(shape: Shape, sweeps: int, seed: int = 0) -> Found:
    """So many sweeps of a shape."""
    rng = np.random.default_rng(seed)
    truth = np.array(shape.truth)
    count = len(truth)
    first, second = np.triu_indices(count, 1)
    apart = truth[first] - truth[second]
    top = set(np.flatnonzero(truth == truth.max()).tolist())
    tallies = np.zeros(6)
    quantile = t_quantile(1 - 0.025 / len(first), shape.n - 1)
    for _ in range(sweeps):
        rows = (truth + shape.errors(rng, shape.n, shape.points, count)).mean(axis=1)
        pairs = pairwise(rows)
        told = Told(pairs, rows.mean(axis=0), [False] * count, [f"{i:02}" for i in range(count)])
        leaders = {i for i, rank in enumerate(told.ranks()) if rank == 1}
        off = np.abs(pairs.value[first, second] - apart)
        differences = rows[:, first] - rows[:, second]
        error = differences.std(axis=0, ddof=1) / math.sqrt(shape.n)
        tallies += [
            (off <= pairs.half[first, second]).all(),
            len(leaders) == 1 and leaders != top,
            not top & leaders,
            len(leaders) == 1,
            (off <= _resampled(rng, differences, error) * error).all(),
            (off <= quantile * error).all(),
        ]
    return Found(sweeps, *(tallies / sweeps))


def _resampled(rng: np.random.Generator, differences: Array, error: Array) -> float:
    """The quantile of the largest resampled mean, in standard errors: what a ranking does not use."""
    n = len(differences)
    weights = rng.multinomial(n, np.full(n, 1 / n), 1000)
    means = weights @ (differences - differences.mean(axis=0)) / n
    return float(np.quantile((np.abs(means) / error).max(axis=1), 0.95))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", type=int, default=2000)
    parser.add_argument("--shape", choices=sorted(SHAPES))
    given = parser.parse_args()
    head = "intervals hold | wrong best | best not among the first | one named | by bootstrap | by t"
    print(f"| shape | K | P | n | {head} |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, shape in SHAPES.items():
        if given.shape in (None, name):
            found = play(shape, given.sweeps)
            shares = (found.held, found.wrong, found.missed, found.named, found.bootstrap, found.student)
            cells = " | ".join(f"{100 * share:.1f} %" for share in shares)
            print(f"| {name} | {len(shape.truth)} | {shape.points} | {shape.n} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
