"""Means over swept keys that a figure has no place for: each replication gives one number, as in a ranking.

Replication r shares its random numbers with the same replication of every other point, so what is independent are
replications and not points: docs/rank.md#intervals.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ackclock.drawing import quantities

Combination = tuple[str, ...]
"""Values of the keys that have no place."""

Draw = tuple[str, int]
"""Seed and replication."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A run, or what a group of flows did in it."""

    run: int
    point: int
    label: str
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run belongs: `shown` says what the figure shows of it, `over` what it does not."""

    shown: tuple[str, ...]
    over: Combination
    draw: Draw


def common(samples: Sequence[Sample], places: Mapping[int, Place], names: Sequence[str]) -> set[Combination]:
    """The combinations at which everything that is shown has a run with values of all `names`: means are over these."""
    there: dict[tuple[str, ...], set[Combination]] = {}
    for sample in samples:
        if all(name in sample.metrics for name in names):
            place = places[sample.run]
            there.setdefault((sample.label, *place.shown), set()).add(place.over)
    return set.intersection(*there.values()) if there else set()


def by_draw(
    samples: Sequence[Sample],
    places: Mapping[int, Place],
    kept: set[Combination],
    names: Sequence[str],
    geometric: Collection[str],
) -> list[tuple[float, ...]]:
    """For each draw that has a run at all of the combinations the means of `names`, of some of them `geometric`."""
    draws: dict[Draw, dict[Combination, Mapping[str, float]]] = {}
    for sample in samples:
        place = places[sample.run]
        if place.over in kept and all(name in sample.metrics for name in names):
            draws.setdefault(place.draw, {})[place.over] = sample.metrics
    whole = [list(own.values()) for own in draws.values() if len(own) == len(kept)]
    return [
        tuple(mean([metrics[name] for metrics in own], geometric=name in geometric) for name in names) for own in whole
    ]


def ratios(samples: Sequence[Sample], names: Sequence[str]) -> set[str]:
    """Those of `names` whose means are geometric, as in a ranking: rates and times above zero in every run.

    Of all runs of a figure: one zero makes all of its means arithmetic, not only those that it is in.
    """
    positive = {name for name in names if all(sample.metrics.get(name, 1.0) > 0 for sample in samples)}
    return {name for name in positive if quantities.is_ratio(name)}


def mean(values: Sequence[float], *, geometric: bool) -> float:
    """The mean of some values."""
    if geometric:
        return math.exp(math.fsum(map(math.log, values)) / len(values))
    return math.fsum(values) / len(values)
