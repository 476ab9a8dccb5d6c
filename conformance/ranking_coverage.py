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

from ackclock.ranking.front import front
from ackclock.ranking.measures import Compared
from ackclock.ranking.standing import Told
from ackclock.results.times import horizon, of_run
from ackclock.stats import best_shares, pairwise, t_quantile

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


def times(rng: np.random.Generator, shape: Shape) -> Array:
    """Logarithms of mean times of 20 exponential transfers in runs that all end at `shape.end`, whoever is slow.

    They are restricted as in a ranking: to what all runs of a point know.
    """
    assert shape.end is not None
    count = len(shape.truth)
    seen = np.exp(np.array(shape.truth))[:, None] * rng.exponential(size=(shape.n, shape.points, count, 20))
    done, held = seen < shape.end, np.minimum(seen, shape.end)
    found = np.empty(seen.shape[:3])
    for point in range(shape.points):
        runs = {at: (held[at[0], point, at[1]], done[at[0], point, at[1]]) for at in np.ndindex(shape.n, count)}
        until = horizon(runs.values())
        for (draw, candidate), own in runs.items():
            found[draw, point, candidate] = of_run(*own, until)["mean_fct_s"][0]
    return np.log(found)


def _common(rng: np.random.Generator, n: int, points: int, size: float) -> Array:
    return size * (rng.normal(size=(n, 1, 1)) + rng.normal(size=(n, points, 1))) / math.sqrt(2)


@dataclass(frozen=True, slots=True)
class Shape:
    """Sweeps of one kind: `truth` is the logarithm of each candidate's metric over all points.

    With `end` it is that of a mean time, in runs that end there, and what intervals are to hold is the ratio of means
    restricted to it: of an exponential time of mean m, m (1 - exp(-end / m)).
    """

    truth: Sequence[float]
    errors: Draw | None
    n: int
    points: int = 6
    end: float | None = None

    @property
    def estimand(self) -> Array:
        """What intervals of differences are of."""
        means = np.exp(np.array(self.truth))
        return np.log(means if self.end is None else means * (1 - np.exp(-self.end / means)))

    def sweep(self, rng: np.random.Generator) -> Array:
        """Logarithms by draws, points and candidates."""
        if self.errors is None:
            return times(rng, self)
        return np.array(self.truth) + self.errors(rng, self.n, self.points, len(self.truth))


TIED = (0.0,) * 5
NEAR = (0.12, 0.0, 0.0, -0.05, -0.2)
PAIR = (0.12, 0.12, 0.0, -0.05, -0.2)
SLOW = (0.7, 0.12, 0.0, -0.05, -0.2)  # of times: the first takes twice as long, and half of its transfers are not done

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
    "censored times": Shape(TIED, None, 10, end=1.5),
    "censored times, one is slow": Shape(SLOW, None, 10, end=1.5),
    "censored times, 3 replications": Shape(SLOW, None, 3, end=1.5),
    "collapses of one": Shape(TIED, collapses, 10),
    "collapses of one, 5 replications": Shape(TIED, collapses, 5),
    "collapses of one, one point": Shape(TIED, collapses, 10, 1),
    "collapses of one, one point, 5 replications": Shape(TIED, collapses, 5, 1),
}
"""The last, one point with five replications, is beyond what is claimed (docs/rank.md)."""


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
    truth = shape.estimand
    count = len(truth)
    first, second = np.triu_indices(count, 1)
    apart = truth[first] - truth[second]
    top = set(np.flatnonzero(truth == truth.max()).tolist())
    tallies = np.zeros(6)
    quantile = t_quantile(1 - 0.025 / len(first), shape.n - 1)
    for _ in range(sweeps):
        rows = shape.sweep(rng).mean(axis=1)
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


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """Sweeps of metrics of which more is better: logarithms of candidates, and the size of normal errors, by metric.

    `wrong` has pairs of which the first does not dominate the second in truth.
    """

    truth: Sequence[Sequence[float]]
    size: Sequence[float]
    wrong: Sequence[tuple[int, int]]
    n: int = 10


_EACH = tuple((i, j) for i in range(3) for j in range(3) if i != j)
TRADEOFFS: dict[str, Tradeoff] = {
    "5 % of one for 25 % of another, which is noisy": Tradeoff(((0.05, 0), (-0.29, 0)), (0.01, 0.5), ((0, 1), (1, 0))),
    "the same, noisier": Tradeoff(((0.05, 0), (-0.29, 0)), (0.01, 2.0), ((0, 1), (1, 0))),
    "10 % of one for 2.5 % of another": Tradeoff(((0.1, 0), (-0.025, 0)), (0.01, 0.01), ((0, 1), (1, 0))),
    "three that are equal in three": Tradeoff(((0,) * 3,) * 3, (0.01, 0.02, 0.03), _EACH),
    "three that are equal in three, precise": Tradeoff(((0,) * 3,) * 3, (0.002, 0.002, 0.002), _EACH),
    "10 % of one for nothing": Tradeoff(((0.1, 0), (0, 0)), (0.01, 0.01), ((1, 0),)),
}


def dominate(tradeoff: Tradeoff, sweeps: int, seed: int = 0) -> tuple[float, float, float]:
    """Shares of sweeps: one is wrongly dominated; any is dominated; all are shown to be on the front."""
    rng = np.random.default_rng(seed)
    tallies = np.zeros(3)
    for _ in range(sweeps):
        axes = []
        for truth, size in zip(tradeoff.truth, tradeoff.size, strict=True):
            rows = np.array(truth) + size * rng.normal(size=(tradeoff.n, len(truth)))
            axes.append((Compared("goodput_bps", True, rows.mean(axis=0), pairwise(rows), 1), True))
        first, count = axes[0][0], len(tradeoff.truth[0])
        found = front(Told(first.pairs, first.means, [False] * count, [f"{i:02}" for i in range(count)]), axes)
        assert found is not None
        wrong = any(i in found.dominated_by[j] for i, j in tradeoff.wrong)
        tallies += [wrong, any(found.dominated_by), all(found.on)]
    wrong_share, some, on = tallies / sweeps
    return float(wrong_share), float(some), float(on)


def called_best(count: int, n: int, sweeps: int, seed: int = 0) -> tuple[float, float]:
    """Of how many sweeps with equal candidates one comes to a probability of 95 % and more, and to more than 99 %."""
    rng = np.random.default_rng(seed)
    shares = np.array([max(best_shares(rng.normal(size=(n, count))) or [0.0]) for _ in range(sweeps)])
    return float((shares >= 0.95).mean()), float((shares > 0.99).mean())


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", type=int, default=2000)
    parser.add_argument("--shape", choices=[*SHAPES, "best", "front"])
    given = parser.parse_args()
    head = "intervals hold | wrong best | best not among the first | one named | by bootstrap | by t"
    if given.shape not in ("best", "front"):
        print(f"| shape | K | P | n | {head} |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, shape in SHAPES.items():
        if given.shape in (None, name):
            found = play(shape, given.sweeps)
            shares = (found.held, found.wrong, found.missed, found.named, found.bootstrap, found.student)
            cells = " | ".join(f"{100 * share:.1f} %" for share in shares)
            print(f"| {name} | {len(shape.truth)} | {shape.points} | {shape.n} | {cells} |", flush=True)
    if given.shape in (None, "front"):
        print("\n| in truth | wrongly dominated | any dominated | all on the front |\n|---|--:|--:|--:|")
        for name, tradeoff in TRADEOFFS.items():
            cells = " | ".join(f"{100 * share:.1f} %" for share in dominate(tradeoff, given.sweeps))
            print(f"| {name} | {cells} |", flush=True)
    if given.shape in (None, "best"):
        print("\n| equal candidates | n | one comes to ≥ 95 % | to > 99 % |\n|--:|--:|--:|--:|")
        for count, n in ((2, 5), (2, 10), (2, 30), (5, 5), (5, 10), (5, 30)):
            cells = " | ".join(f"{100 * share:.1f} %" for share in called_best(count, n, given.sweeps))
            print(f"| {count} | {n} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
