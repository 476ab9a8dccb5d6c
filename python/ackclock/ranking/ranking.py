"""A ranking: one line for each candidate, over the points of a sweep."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from ackclock.comparison import names
from ackclock.comparison.pairing import Params, Side
from ackclock.comparison.values import chosen
from ackclock.errors import InputError
from ackclock.ranking import cells as places
from ackclock.ranking import groups, played, sentence
from ackclock.ranking.cells import Cells
from ackclock.ranking.front import front
from ackclock.ranking.goals import Goal
from ackclock.ranking.lead import Lead, Points
from ackclock.ranking.lead import Worst as Worst
from ackclock.ranking.measures import (
    MORE_IS_BETTER,
    Compared,
    Known,
    axes,
    compared,
    goal_of,
    mixed,
    on_axes,
    scores,
    shown,
    transfers_only,
)
from ackclock.ranking.played import NOBODY, Who
from ackclock.ranking.standing import State, Told
from ackclock.results import excess, incomplete, replications, validity
from ackclock.results.live import counts
from ackclock.results.manifest import captured
from ackclock.results.result import Result
from ackclock.results.times import METRICS as TIMES
from ackclock.stats import best_shares, pairwise
from ackclock.stats.intervals.simultaneous import LEAST_RESAMPLED, LEAST_SHARES

LEVEL = 0.95

Given = Result | str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric of a candidate over the points, and against the reference: a ratio, or else a difference.

    `shown` says whether it is shown to be "higher" or "lower" than the reference. With `at_least`, `value` is only
    known to be larger.
    """

    value: float
    kind: Literal["ratio", "difference"]
    against: float
    low: float | None
    high: float | None
    shown: Literal["higher", "lower"] | None
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """The score of a candidate over that of another which comes after it, with the simultaneous interval."""

    first: str
    second: str
    ratio: float
    low: float | None
    high: float | None
    shown: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line of a ranking. `score` is against the reference: above 1 is better. `rank` is shared where `tied`.

    `front` is false where it is shown to be dominated, true where it is shown not to be, else ``None``.
    """

    name: str
    rank: int
    tied: bool
    score: Measure
    worst: Worst
    best: float | None
    metrics: Mapping[str, Measure]
    front: bool | None
    dominated_by: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Ranking:
    """What :func:`rank` found (docs/rank.md). `candidates` are in order; `unranked` says of others why they are none.

    `state` is "sampled" where replications differ, "repeated" where all of a candidate's are the same run, and "single"
    for one replication. `axes` are the metrics of the trade-off. `pairs` has all pairs of candidates in order: ranks
    follow from these. `lead` is what is shown of the first at single points. `group` is the group of flows that metrics
    are of, if not of all. `horizon` is the least and the largest, over points, of what counts of the goal's completion
    times, in s, where transfers were not done.
    """

    source: str
    by: str
    goal: Goal
    reference: str
    candidates: tuple[Candidate, ...]
    unranked: Mapping[str, str]
    points: int
    replications: int
    state: State
    axes: Mapping[str, str]
    family: int
    notes: tuple[str, ...]
    base: str | None = None
    group: str | None = None
    pairs: tuple[Pair, ...] = ()
    lead: Lead | None = None
    horizon: tuple[float, float] | None = None
    captured: bool = False
    """Whether its runs are captures."""
    played: Who = NOBODY
    """Who played them, where others played the same."""

    @property
    def best(self) -> tuple[str, ...]:
        """The candidates that cannot be told from the best, that one first."""
        return tuple(item.name for item in self.candidates if item.rank == 1)

    @property
    def tradeoff(self) -> bool:
        """Whether there is a trade-off of which something can be told."""
        return len(self.axes) > 1 and self.state != "single"

    def pair(self, first: str, second: str) -> Pair | None:
        """Two candidates, the one that comes first in order first."""
        return next((pair for pair in self.pairs if (pair.first, pair.second) == (first, second)), None)

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        return sentence.of(self)

    @property
    def frame(self) -> pl.DataFrame:
        """A row per candidate: `rank`, `score` with its interval, and of each metric its value and what it is against
        the reference, with the interval of that.
        """
        rows = []
        for item in self.candidates:
            row: dict[str, Any] = {"rank": item.rank, "tied": item.tied, self.by: item.name}
            row |= {"score": item.score.against, "score_low": item.score.low, "score_high": item.score.high}
            row |= {"best": item.best, "front": item.front, "worst": item.worst.ratio, **_at(item.worst.params)}
            for metric, own in item.metrics.items():
                row |= {metric: own.value, f"{metric}_against": own.against}
                row |= {f"{metric}_low": own.low, f"{metric}_high": own.high, f"{metric}_shown": own.shown}
            rows.append(row)
        ends = ("low", "high")
        known = {f"{name}_{end}": pl.Float64 for name in ("score", *self.candidates[0].metrics) for end in ends}
        texts = {f"{name}_shown": pl.String for name in self.candidates[0].metrics}
        kinds = {**known, **texts, "best": pl.Float64, "front": pl.Boolean}
        return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)

    def to_json(self) -> dict[str, Any]:
        """Everything, as the command line's ``--json`` prints it."""
        return {
            "by": self.by,
            "played": self.played.to_json(),
            "group": self.group,
            "goal": [dataclasses.asdict(aim) for aim in self.goal.aims],
            "preset": self.goal.preset,
            "reference": self.reference,
            "points": self.points,
            "replications": self.replications,
            "state": self.state,
            "level": LEVEL,
            "family": self.family,
            "horizon": None if self.horizon is None else list(self.horizon),
            "axes": dict(self.axes),
            "candidates": [dataclasses.asdict(item) for item in self.candidates],
            "pairs": [dataclasses.asdict(pair) for pair in self.pairs],
            "lead": None if self.lead is None else dataclasses.asdict(self.lead),
            "unranked": dict(self.unranked),
            "notes": list(self.notes),
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        ranks = ", ".join(f"{item.rank}{'=' if item.tied else ''} {item.name}" for item in self.candidates)
        return f"Ranking({self.goal}: {ranks})"

    def _repr_html_(self) -> str:
        from ackclock.ranking import page  # which is above

        return page.of(self)


def rank(
    result: Given,
    *,
    by: str | None = None,
    base: str | None = None,
    goal: str | Goal | None = None,
    metrics: Sequence[str] | None = None,
    group: str | int | None = None,
    allow_late: bool = False,
    engine: str | None = None,
    kernel: str | None = None,
) -> Ranking:
    """The values of a swept key in the order of a goal, over all other swept keys.

    Parameters
    ----------
    result: a result, or a directory written by ``ackclock run --out`` or ``sweep``.
    by: the swept key whose values are ranked; by default ``cc``, else the only one that is no number.
    base: the value that the others are given against; by default the best.
    goal: metrics that are to go ``up`` or ``down``, with weights: ``"goodput_bps up, p95_queue_delay_s down 2x"``, or
        ``"bulk"``, ``"interactive"``, ``"low-delay"``, ``"pantheon"``. By default bulk, or interactive where nothing
        sends as much as it can.
    metrics: what is shown besides the metrics of the goal; by default three or four.
    group: the number of a ``[[flows]]`` table, from 0, or what its flows are called: only these are ranked. Metrics of
        links stay those of all flows.
    allow_late: use runs on a real kernel that are not valid, too.
    engine, kernel: whose runs are ranked, where several engines, or kernels in virtual time, played the same.

    The score of a candidate is the weighted geometric mean of its metrics; rates and times are compared by geometric
    means of ratios over the points. Intervals are of 95 % for all pairs of candidates together.

    Raises :class:`ackclock.InputError` if there is nothing to rank.
    """
    name = "the result" if isinstance(result, Result) else str(result)
    side = Side(name, validity.given(result, allow_late=allow_late))
    notes = incomplete.notes(side.result.manifest)
    number, called = (None, None) if group is None else groups.named(side.result, str(group), side.name)
    key = places.key_of(side, by, number)
    part, who = played.only(side.result, key, (engine, kernel), side.name)
    side = Side(side.name, part)
    every_flow = side.result
    if number is not None:
        side = Side(side.name, groups.only(side.result, number))
    elif key.startswith("flows.") and any(len(point.groups) > 1 for point in side.result.points):
        table = key.split(".")[1]
        notes.append(
            f"metrics are of all flows of a run, not of those of flows.{table} alone: --group {table} ranks these"
        )
    known = Known(side.result, groups.NOT_OF_A_GROUP if number is not None else ())
    wanted = goal_of(known, side.result, key, goal, notes)
    cells = places.chosen(side, key, known.runs, wanted.metrics, notes)
    horizons = known.restrict(cells)
    own = scores(known, cells, wanted, side.name)
    told = _told(side.result, cells, own, notes)
    order = told.order()
    reference = order[0] if base is None else cells.candidates.index(_base(base, cells, side.name))
    named = None if metrics is None else chosen(metrics) if metrics else ()
    own_metrics = shown(known, wanted, named)
    every = {
        metric: measured
        for metric in dict.fromkeys([*own_metrics, *on_axes(known)])
        if (measured := compared(known, cells, metric, wanted, notes)) is not None
    }
    lone = named is None and "jain" in every and every["jain"].alone
    found = {name: every[name] for name in own_metrics if name in every and not (lone and name == "jain")}
    if known.unfinished and not set(TIMES).isdisjoint(found):
        upto = "; no more of any time counts than all runs of a point know" if horizons else ", or longer"
        notes.append(f"transfers that were not done count in completion times as long as they lasted{upto}")
    if "goodput_bps" in found and mixed(side.result):
        notes.append(
            "goodput_bps is of flows that send all they can and of others, which get what they ask for: --group NUMBER "
            "ranks by one kind"
        )
    if not set(excess.METRICS).isdisjoint(found) and (above := excess.note(every_flow, set(cells.compared()))):
        notes.append(above)
    together = counts(side.result.manifest, key)
    trade = axes(every, transfers=transfers_only(known, side.result), together=together)
    on = front(told, [(every[name], axis in MORE_IS_BETTER) for axis, name in trade.items()])
    shares = best_shares(own.mean(axis=1)) if told.state == "sampled" else None
    if told.state == "sampled" and len(cells.draws) < LEAST_RESAMPLED:
        what, remedy = places.more(side, key)
        more = " and no probability of being best" if len(cells.draws) < LEAST_SHARES else ""
        notes.append(f"{len(cells.draws)} {what} make wide intervals{more}; {remedy} {LEAST_RESAMPLED} or more")
    ranks = told.ranks()
    points = Points(cells, own, told, LEVEL)
    candidates = tuple(
        Candidate(
            cells.candidates[i],
            ranks[i],
            ranks.count(ranks[i]) > 1,
            _score(told, i, reference),
            points.worst(i, reference),
            None if shares is None else shares[i],
            {
                name: _measure(item, told, i, reference, at_least=known.is_bound(cells, name, i))
                for name, item in found.items()
            },
            None if on is None else on.on[i],
            () if on is None else tuple(cells.candidates[j] for j in on.dominated_by[i]),
        )
        for i in sorted(range(len(ranks)), key=lambda i: (ranks[i], order.index(i)))
    )
    return Ranking(
        side.name,
        key,
        wanted,
        cells.candidates[reference],
        candidates,
        cells.unranked,
        len(cells.points),
        len(cells.draws),
        told.state,
        trade,
        told.pairs.family,
        tuple(notes),
        None if base is None else cells.candidates[reference],
        called,
        tuple(_pair(told, i, j) for place, i in enumerate(order) for j in order[place + 1 :]),
        points.lead(),
        (min(horizons), max(horizons)) if horizons and not set(TIMES).isdisjoint(wanted.metrics) else None,
        side.captured,
        who,
    )


def each(result: Given, **given: Any) -> tuple[list[Ranking], list[str]]:
    """A ranking, as of :func:`rank`, of what each engine or kernel played by itself; and who has none, and why.

    Raises :class:`ackclock.InputError` if there is nothing to rank of any.
    """
    found = validity.given(result, allow_late=given.get("allow_late", False))
    side = Side("the result" if isinstance(result, Result) else str(result), found)
    group = given.get("group")
    number = None if group is None else groups.named(found, str(group), side.name)[0]
    asked = given.pop("engine", None), given.pop("kernel", None)
    everybody = played.who(found, places.key_of(side, given.get("by"), number))
    chosen = [who for who in everybody if who.meets(*asked)] if len(everybody) > 1 else []
    if len(chosen) < 2:
        return [rank(result, **given, engine=asked[0], kernel=asked[1])], []
    rankings, without = [], []
    for who in chosen:
        try:
            rankings.append(rank(result, **given, engine=who.engine, kernel=who.kernel))
        except InputError as error:
            if who is chosen[-1] and not rankings:
                raise
            without.append(f"{who} is not ranked: {error.problem}; {error.remedy}")
    return rankings, without


def _at(params: Params) -> dict[str, str]:
    return {"worst_at": ", ".join(f"{key}={value}" for key, value in params.items())}


def _base(base: str, cells: Cells, source: str) -> str:
    return names.value(base, list(cells.candidates), cells.by, source)


def _told(result: Result, cells: Cells, own: Any, notes: list[str]) -> Told:
    """What can be told of scores, and which candidates are one run over and over."""
    point_of = dict(result.runs.select("run", "point").iter_rows())
    same = {point.point for point in result.points if point.repeated}
    every = [
        [point_of[cells.run(0, point, candidate)] for point in range(len(cells.points))]
        for candidate in range(len(cells.candidates))
    ]
    repeated = [all(point in same for point in points) for points in every]
    if count := sum(point in same for points in every for point in points):
        total = len(cells.points) * len(cells.candidates)
        same_run = replications.note(count, total, len(cells.draws), captured=captured(result.manifest))
        notes.append(same_run)
    return Told(pairwise(own.mean(axis=1), level=LEVEL), own.mean(axis=(0, 1)), repeated, cells.candidates)


def _pair(told: Told, i: int, j: int) -> Pair:
    value, ends = float(told.pairs.value[i, j]), told.pairs.ends(i, j)
    low, high = (None, None) if ends is None else (math.exp(ends[0]), math.exp(ends[1]))
    shown = told.shown(told.pairs, i, j)
    return Pair(told.names[i], told.names[j], math.exp(value), low, high, shown)


def _score(told: Told, i: int, reference: int) -> Measure:
    scored = Compared("score", True, told.means, told.pairs, 0)
    return _measure(scored, told, i, reference)


def _measure(item: Compared, told: Told, i: int, reference: int, *, at_least: bool = False) -> Measure:
    low, high = item.ends(i, reference) or (None, None)
    way: Literal["higher", "lower"] | None = None
    if told.shown(item.pairs, i, reference):
        way = "higher" if item.pairs.value[i, reference] > 0 else "lower"
    kind: Literal["ratio", "difference"] = "ratio" if item.ratio else "difference"
    return Measure(item.value(i), kind, item.against(i, reference), low, high, way, at_least)
