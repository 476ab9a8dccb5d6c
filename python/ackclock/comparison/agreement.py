"""Whether two engines agree: equivalent at every point, and in the same order over the points.

Agreement is claimed only if every test shows it, so that none needs to be adjusted for the others (intersection-union:
R. L. Berger, Multiparameter hypothesis testing and acceptance sampling, Technometrics 24, 1982).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ackclock import stats
from ackclock.comparison.rows import ALPHA, EQUAL, SAME, Row, within_margin
from ackclock.stats.samples.ranks import LEAST


@dataclass(frozen=True, slots=True)
class Ranks:
    """How alike the order of `n` means of a metric is in A and B: of all points, or of the values of one key."""

    b: str
    metric: str
    over: str
    n: int
    spearman: float | None
    kendall: float | None


def judged(rows: Sequence[Row]) -> list[Row]:
    """The rows with a verdict on each: whether it is shown to agree. What one side lacks is not."""
    return [_judged(row) for row in rows]


def _judged(row: Row) -> Row:
    within = f"within {100 * (row.margin or 0):g} %"
    if row.verdict == SAME:
        agrees = bool(within_margin(row))
        return replace(row, equivalent=agrees, verdict=f"{'' if agrees else 'not '}{within}, {SAME}")
    if row.verdict == EQUAL:
        return replace(row, equivalent=True)
    if row.p is None:
        return replace(row, equivalent=False)
    if row.p_margin is not None and row.p_margin < ALPHA:
        return replace(row, equivalent=True, verdict=f"agrees {within}")
    return replace(row, equivalent=False, verdict=f"not shown to agree {within}")


def ranks(rows: Sequence[Row]) -> list[Ranks]:
    """The agreement in order: of all points, and of the values of each swept key, averaged over the others."""
    found = []
    for b, metric in dict.fromkeys((row.b, row.metric) for row in rows):
        own = [row for row in rows if (row.b, row.metric) == (b, metric) and row.value is not None]
        found.append(_ranked(b, metric, "points", [(row.mean_a, row.mean_b) for row in own]))
        keys = list(own[0].params) if own else []
        found += [_ranked(b, metric, key, list(_means(own, key))) for key in keys if len(keys) > 1]
    return [item for item in found if item.n >= LEAST]


def _ranked(b: str, metric: str, over: str, means: Sequence[tuple[float | None, float | None]]) -> Ranks:
    ours, theirs = [x for x, _ in means], [y for _, y in means]
    return Ranks(b, metric, over, len(means), stats.spearman(ours, theirs), stats.kendall(ours, theirs))


def _means(rows: Sequence[Row], key: str) -> Iterator[tuple[float | None, float | None]]:
    for value in dict.fromkeys(str(row.params[key]) for row in rows):
        own = [row for row in rows if str(row.params[key]) == value]
        yield _mean(row.mean_a for row in own), _mean(row.mean_b for row in own)


def _mean(values: Iterable[float | None]) -> float | None:
    return stats.estimate(values).mean
