"""The metrics of a ranking, as arrays of draws, points and candidates, and what separates candidates in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.comparison.values import HEADLINE, INSTEAD, as_ratio, per_run
from ackclock.errors import InputError
from ackclock.ranking.cells import Cells
from ackclock.ranking.goals import STANDS_IN, Aim, Goal, read
from ackclock.results import times
from ackclock.results.live import TOTAL, counts
from ackclock.results.result import Result
from ackclock.stats import Pairwise, pairwise

Array = np.ndarray[Any, np.dtype[np.float64]]

FRONT = {"throughput": ("goodput_bps",), "delay": ("p95_queue_delay_s", "mean_rtt_s"), "fairness": ("jain",)}
"""What the trade-off is between: of each the first metric that has a value."""

FRONT_TOGETHER = {**FRONT, "throughput": (TOTAL,)}
"""The same of numbers of connections that share a line."""

FRONT_OF_TRANSFERS = {"completion time": ("p95_fct_s", "mean_fct_s"), "delay": FRONT["delay"]}
"""The same where nothing sends without an end: goodput is what was asked for, and has no share that were fair."""

MORE_IS_BETTER = ("throughput", "fairness")
"""Axes."""


class Known:
    """What is known of each run: the metrics of the summary, but those `without`.

    Times count the transfers that were not done.
    """

    def __init__(self, result: Result, without: Sequence[str] = ()) -> None:
        self.runs = {
            run: {name: value for name, value in own.items() if name not in without}
            for run, own in per_run(result).items()
        }
        self.bounded: set[tuple[int, str]] = set()
        """Runs and metrics whose value is only known to be larger."""
        self._observed = times.observed(result)
        self.unfinished = any(not done.all() for _, done in self._observed.values())
        for run, own in self._observed.items():
            if not own[1].all():
                self._set(run, times.of_run(*own))

    def restrict(self, cells: Cells) -> tuple[float, ...]:
        """Count of times only what all runs of a point know, so that they are of the same; these horizons.

        Then what is only known to be larger does not take part for less than another's that is known.
        """
        found = []
        for point in range(len(cells.points)):
            each = np.ndindex(len(cells.draws), len(cells.candidates))
            runs = [cells.run(draw, point, candidate) for draw, candidate in each]
            own = {run: self._observed[run] for run in runs if run in self._observed}
            if (until := times.horizon(own.values())) is not None:
                found.append(until)
                for run, seen in own.items():
                    self._set(run, times.of_run(*seen, until))
        return tuple(found)

    def _set(self, run: int, own: times.Times) -> None:
        for metric, (value, more) in own.items():
            self.runs[run][metric] = value
            (self.bounded.add if more else self.bounded.discard)((run, metric))

    def has(self, metric: str) -> bool:
        """Whether some run has a value."""
        return any(own.get(metric) is not None for own in self.runs.values())

    def values(self, cells: Cells, metric: str) -> Array:
        """Draws by points by candidates; nan where there is none."""
        shape = len(cells.draws), len(cells.points), len(cells.candidates)
        own = [self.runs[cells.run(*place)].get(metric) for place in np.ndindex(shape)]
        found = np.array([np.nan if value is None else value for value in own], dtype=np.float64).reshape(shape)
        found[~np.isfinite(found)] = np.nan
        return found

    def is_bound(self, cells: Cells, metric: str, candidate: int) -> bool:
        """Whether some value of a candidate is only known to be larger."""
        shape = len(cells.draws), len(cells.points)
        return any((cells.run(draw, point, candidate), metric) in self.bounded for draw, point in np.ndindex(shape))


@dataclass(frozen=True, slots=True)
class Compared:
    """A metric over the points: means of candidates and what separates them. Of a `ratio` both are of logarithms."""

    metric: str
    ratio: bool
    means: Array
    pairs: Pairwise
    points: int

    @property
    def index(self) -> bool:
        """Whether it has no unit and is from 0 to 1, as Jain's index and utilisation: no rate, time or count."""
        return not as_ratio(self.metric) and bool((self.means <= 1 + 1e-9).all() and (self.means >= 0).all())

    @property
    def alone(self) -> bool:
        """Whether an index of fairness is of flows that are alone: 1 everywhere."""
        return not self.ratio and bool(np.allclose(self.means, 1.0, rtol=0, atol=1e-12))

    def value(self, candidate: int) -> float:
        """The mean of a candidate over draws and points, geometric of a ratio."""
        return float(np.exp(self.means[candidate]) if self.ratio else self.means[candidate])

    def against(self, i: int, j: int) -> float:
        """I over j, or i less j."""
        return float(np.exp(self.pairs.value[i, j]) if self.ratio else self.pairs.value[i, j])

    def ends(self, i: int, j: int) -> tuple[float, float] | None:
        """The interval of :meth:`against`."""
        ends = self.pairs.ends(i, j)
        return (float(np.exp(ends[0])), float(np.exp(ends[1]))) if ends and self.ratio else ends


def compared(known: Known, cells: Cells, metric: str, goal: Goal, notes: list[str]) -> Compared | None:
    """A metric at the points where all candidates have it in every run; ``None`` where that is nowhere.

    Those of the goal are ratios, as the score is made of them; so are rates and times.
    """
    values = known.values(cells, metric)
    complete: Any = ~np.isnan(values).any(axis=(0, 2))
    if not complete.any():
        return None
    if not complete.all():
        notes.append(f"{metric}: over the {complete.sum()} of {len(complete)} points where every run has a value")
    own = values[:, complete, :]
    wanted = as_ratio(metric) or metric in goal.metrics
    ratio = wanted and bool((own > 0).all())
    if wanted and not ratio:
        notes.append(f"{metric} is 0 in some run, so that it is compared by differences of means")
    rows = (np.log(own) if ratio else own).mean(axis=1)
    return Compared(metric, ratio, rows.mean(axis=0), pairwise(rows), int(complete.sum()))


def scores(known: Known, cells: Cells, goal: Goal, source: str) -> Array:
    """The logarithm of the score: draws by points by candidates. Raises :class:`ackclock.InputError` for a zero."""
    total = np.zeros((len(cells.draws), len(cells.points), len(cells.candidates)))
    for aim in goal.aims:
        values = known.values(cells, aim.metric)
        if (values <= 0).any():
            raise _zero(aim.metric, values, cells, source)
        total += (aim.weight if aim.up else -aim.weight) * np.log(values)
    return total / sum(aim.weight for aim in goal.aims)


def _zero(metric: str, values: Array, cells: Cells, source: str) -> InputError:
    """What is wrong with a goal whose metric is zero in some runs: a zero has no logarithm."""
    zero = values <= 0
    if not values.any():
        problem = f"{metric} is 0 in all {values.size} runs, so that nothing tells one from another"
        return InputError(problem, "give a metric that is not 0", source=source, key="goal")
    _, point, candidate = map(int, np.argwhere(zero)[0])
    where = ", ".join(f"{key}={value}" for key, value in cells.points[point].items())
    of = ", ".join(part for part in (f"{cells.by}={cells.candidates[candidate]}", where) if part)
    problem = f"{metric} is {values[zero][0]:g} in {int(zero.sum())} of {values.size} runs, first at {of}, and "
    instead = ", such as mean_rtt_s for a queueing delay" if metric.endswith("_s") else ""
    remedy = f"give a metric that is above zero{instead}"
    return InputError(f"{problem}has no ratio to others there", remedy, source=source, key="goal")


def goal_of(known: Known, result: Result, by: str, given: str | Goal | None, notes: list[str]) -> Goal:
    """The goal that is asked for, or the one that suits the traffic and what is ranked; what a preset lacks is stood in
    for.
    """
    goal = given if isinstance(given, Goal) else read(_fitting(known, result, by) if given is None else given)
    if goal.preset is None:
        return goal
    aims = []
    for aim in goal.aims:
        other = STANDS_IN.get(aim.metric)
        if other is not None and not known.has(aim.metric):
            notes.append(f"{other} stands in for {aim.metric}, which these runs do not have")
            aims.append(Aim(other, aim.up, aim.weight))
        else:
            aims.append(aim)
    return Goal(tuple(aims), goal.preset)


def _fitting(known: Known, result: Result, by: str) -> str:
    """Where nothing sends as much as it can, goodput is what was asked for, and times are what differs."""
    if counts(result.manifest, by) and known.has(TOTAL):
        return f"{TOTAL} up"
    if not transfers_only(known, result):
        return "bulk"
    return "interactive" if known.has("p95_fct_s") else "mean_fct_s down"


def transfers_only(known: Known, result: Result) -> bool:
    """Whether all that is sent comes to an end."""
    flows = (flow["app"] for point in result.manifest["points"] for flow in point["resolved"]["flows"])
    # Nobody knows what a captured connection would have sent.
    endless = any(app["kind"] == "captured" or (app["kind"] == "bulk" and app.get("bytes") is None) for app in flows)
    return not endless and known.has("mean_fct_s")


def mixed(result: Result) -> bool:
    """Whether runs have flows that send as much as they can beside others, which get what they ask for."""
    kinds = [
        {flow["app"]["kind"] == "bulk" and flow["app"].get("bytes") is None for flow in point["resolved"]["flows"]}
        for point in result.manifest["points"]
    ]
    return any(len(own) > 1 for own in kinds)


def shown(known: Known, goal: Goal, metrics: Sequence[str] | None) -> tuple[str, ...]:
    """The metrics of the table: those of the goal, then those named, or the default ones."""
    others = metrics
    if others is None:
        others = [name if known.has(name) else INSTEAD.get(name, name) for name in HEADLINE]
    return tuple(dict.fromkeys([*goal.metrics, *(name for name in others if known.has(name))]))


def on_axes(known: Known) -> list[str]:
    """The metrics that may be an axis of the trade-off."""
    names = {
        name: None
        for front in (FRONT, FRONT_TOGETHER, FRONT_OF_TRANSFERS)
        for metrics in front.values()
        for name in metrics
    }
    return [name for name in names if known.has(name)]


def axes(found: Mapping[str, Compared], *, transfers: bool, together: bool = False) -> dict[str, str]:
    """The metric of each axis of the trade-off; fairness only where it differs from 1.

    together: candidates are numbers of connections.
    """
    own = {}
    for axis, metrics in (FRONT_OF_TRANSFERS if transfers else FRONT_TOGETHER if together else FRONT).items():
        name = next((metric for metric in metrics if metric in found), None)
        if name is not None and not (name == "jain" and found[name].alone):
            own[axis] = name
    return own
