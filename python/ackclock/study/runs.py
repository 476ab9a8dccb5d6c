"""The runs of a study as its measures and claims see them: one run, some runs, all of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ackclock.errors import InputError, Problem, unknown
from ackclock.metrics.capacity import bottleneck
from ackclock.results import live
from ackclock.results.result import Result
from ackclock.series import SERIES
from ackclock.stats import Interval, mean_interval, median_interval, ratio_interval
from ackclock.study import kinds, times
from ackclock.study.captured import PLACE
from ackclock.study.failures import Failure, Failures
from ackclock.study.kinds import Kind
from ackclock.study.model import Reading, Where
from ackclock.study.selections import Known, key_among, value_among

Array = np.ndarray[Any, np.dtype[np.float64]]
Quantity = Callable[["Run"], "float | int | bool | None"]
"""What turns a run into a number, or into nothing where the run has none."""


@dataclass(frozen=True, slots=True)
class Series:
    """Samples over time. Each value holds until the next sample."""

    time: Array
    value: Array

    def at(self, time: float) -> float:
        """The value at a time; not a number before the first sample."""
        index = int(np.searchsorted(self.time, time + 1e-9, side="right")) - 1
        return float(self.value[index]) if index >= 0 else float("nan")

    def between(self, begin: float, end: float) -> float:
        """How much a counter grew."""
        return self.at(end) - self.at(begin)


class Run:
    """One run: a replication of a swept point."""

    def __init__(
        self,
        result: Result,
        row: Mapping[str, Any],
        samples: Mapping[tuple[Any, ...], pl.DataFrame],
        seen: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._result = result
        self._seen = {str(each[PLACE]): each for each in seen}
        self._samples = samples
        self.number: int = row["run"]
        self.point: int = row["point"]
        self.replication: int = row["replication"]
        self.duration: float = row["duration_s"]
        self.params: dict[str, str | int | float | bool] = {key: row[key] for key in result.params}
        self.measured: dict[str, float | None] = {}

    @property
    def repeated(self) -> bool:
        """Whether all replications of its point are the same run (docs/statistics.md)."""
        return self.point in self._result.repeated

    @functools.cached_property
    def resolved(self) -> dict[str, Any]:
        """The resolved run of its point (docs/resolved-run.md), of the first replication."""
        return self._result.resolved(self.point)

    @property
    def bottleneck(self) -> dict[str, Any]:
        """The row of the slowest link on the first flow's way."""
        name = bottleneck(self.resolved)
        return self.link(name) if name is not None else {}

    @functools.cached_property
    def flows(self) -> list[dict[str, Any]]:
        """The rows of the table of flows (docs/results.md)."""
        return self._result.flows.filter(pl.col("run") == self.number).to_dicts()

    @functools.cached_property
    def ways(self) -> dict[str | None, list[dict[str, Any]]]:
        """The flows of a measurement in both directions at a time by direction; of others all, without a name."""
        point = next(entry for entry in self._result.manifest["points"] if entry["point"] == self.point)
        return {
            way: [flow for flow in self.flows if own is None or flow["id"] in own]
            for way, own in live.ways(point).items()
        }

    @functools.cached_property
    def legs(self) -> list[dict[str, Any]]:
        """The rows of the table of legs, which connections that a relay splits have."""
        return self._result.legs.filter(pl.col("run") == self.number).to_dicts()

    @functools.cached_property
    def links(self) -> list[dict[str, Any]]:
        """The rows of the table of links."""
        return self._result.links.filter(pl.col("run") == self.number).to_dicts()

    @functools.cached_property
    def cells(self) -> list[dict[str, Any]]:
        """The rows of the table of radio cells."""
        return self._result.cells.filter(pl.col("run") == self.number).to_dicts()

    @functools.cached_property
    def users(self) -> list[dict[str, Any]]:
        """The rows of the table of their users."""
        return self._result.users.filter(pl.col("run") == self.number).to_dicts()

    @functools.cached_property
    def pages(self) -> pl.DataFrame:
        """The table of web pages of this run."""
        return self._result.pages.filter(pl.col("run") == self.number)

    def flow(self, name: str = "0") -> dict[str, Any]:
        """The row of a flow."""
        return _named("flow", name, self.flows)

    def link(self, name: str) -> dict[str, Any]:
        """The row of a link."""
        return _named("link", name, self.links)

    def counted(self, name: str, of: str = "0") -> float | None:
        """What an application or a relay of a flow measured (docs/results.md, measures); none if it did not."""
        asked = (pl.col("run") == self.number) & (pl.col("id") == of) & (pl.col("name") == name)
        found = self._result.measures.filter(asked)["value"].to_list()
        return float(found[0]) if found else None

    def captured(self, place: str = "flows.0.sink") -> Mapping[str, Any]:
        """What the analysis of the run's capture says of the data that passed at a place (docs/pcap.md).

        Places are those of docs/captures.md, and of a flow that a relay splits ``flows.0/source.source`` and so on.
        Raises :class:`InputError` if there is none, as of a scenario that is not ``captured``.
        """
        if place not in self._seen:
            raise _wrong(unknown("place of a capture", place, self._seen), "run")
        return self._seen[place]

    def series(self, metric: str, of: str = "0") -> Series:
        """A series of a flow or a link; empty if it was not recorded. Raises :class:`InputError` if there is none."""
        if metric not in SERIES:
            raise _wrong(unknown("series", metric, SERIES), f"run {self.number}")
        found = self._samples.get((self.number, metric, of))
        if found is None:
            return Series(np.empty(0), np.empty(0))
        return Series(found["time_s"].to_numpy(), found["value"].to_numpy())


class Runs:
    """Some runs of one scenario. `known` has the swept values of the full study.

    Selecting a value that a quick run leaves out is no error: the measures are then without a value. A value that no
    run ever has, or a key that is not swept, is one (:class:`InputError`).
    """

    def __init__(
        self,
        scenario: str,
        runs: list[Run],
        known: Known,
        failures: Failures | None = None,
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        self.scenario = scenario
        self.known = known
        self._renamed = renamed or {}
        self._runs = runs
        self._failures = failures or Failures()
        self._every, self._wanted = self, dict[str, Any]()

    @classmethod
    def of(
        cls,
        scenario: str,
        result: Result,
        known: Known | None = None,
        failures: Failures | None = None,
        seen: pl.DataFrame | None = None,
    ) -> Runs:
        """All runs of a result. Without `known` its own values are all there are; `seen` is of their captures."""
        swept = result.runs.select(result.params).to_dict(as_series=False)
        values = {key: tuple(dict.fromkeys([*(known or {}).get(key, ()), *found])) for key, found in swept.items()}
        if result.runs.is_empty():  # every run failed, and tables without rows have no columns of their own
            return cls(scenario, [], {**(known or {}), **values}, failures)
        samples = result.series.select("run", "metric", "id", "time_s", "value").partition_by(
            "run", "metric", "id", as_dict=True, maintain_order=True, include_key=False
        )
        rows: dict[int, list[dict[str, Any]]] = {}
        for each in seen.iter_rows(named=True) if seen is not None else ():
            rows.setdefault(each["run"], []).append(each)
        runs = [Run(result, row, samples, rows.get(row["run"], ())) for row in result.runs.iter_rows(named=True)]
        return cls(scenario, runs, {**(known or {}), **values}, failures)

    def __iter__(self) -> Iterator[Run]:
        self._failures.missed()
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def failed(self) -> tuple[Failure, ...]:
        """The runs among them that have no result."""
        return self._failures.here

    def where(self, *conditions: Where, **equal: str | float) -> Runs:
        """Those with the given swept values: ``where({"topology.rate": "1 Mbit/s"}, slow_start="blbe")``."""
        wanted: dict[str, Any] = {}
        for condition in conditions:
            wanted.update(condition)
        wanted.update(equal)
        wanted = {key: self._renamed.get(str(value), value) for key, value in wanted.items()}
        for key, value in wanted.items():
            try:
                value_among(key, value, self.known)
            except Problem as problem:
                raise _wrong(problem, f"runs of '{self.scenario}'") from None

        def chosen(run: Run | Failure) -> bool:
            return all(_same(run.params.get(key), value) for key, value in wanted.items())

        kept = [run for run in self._runs if chosen(run)]
        found = Runs(self.scenario, kept, self.known, self._failures.where(chosen), self._renamed)
        found._every, found._wanted = self._every, {**self._wanted, **wanted}
        return found

    def beside(self, changes: Where) -> Runs:
        """Those that were selected by the same values but these: the proxy off instead of on."""
        return self._every.where({**self._wanted, **changes})

    def keys(self) -> list[str]:
        """The swept keys."""
        played: tuple[Run | Failure, ...] = (*self._runs, *self.failed)
        return list(played[0].params) if played else []

    def steps(self, key: str) -> list[str | int | float | bool]:
        """The values of a swept key, in their order."""
        try:
            key_among(key, self.known)
        except Problem as problem:
            raise _wrong(problem, f"runs of '{self.scenario}'") from None
        played: tuple[Run | Failure, ...] = (*self._runs, *self.failed)
        found = {run.params[key] for run in played if key in run.params}
        called = {new: old for old, new in self._renamed.items()}
        return [called.get(str(value), value) for value in self.known[key] if value in found]

    def read_as(self, renamed: Mapping[str, str]) -> Runs:
        """The same runs, of which claims select some swept values by the names of another reading."""
        return Runs(self.scenario, self._runs, self.known, self._failures, renamed)

    def values(self, quantity: Quantity) -> list[float | None]:
        """The quantity of each run."""
        return [_number(quantity(run)) for run in self]

    def interval(self, quantity: Quantity) -> Interval:
        """Mean and 95 % confidence interval of a quantity over the replications, or what is apt for its kind.

        Runs of the same replication share their random draws: what they have is averaged first.
        """
        kind = _kind(quantity)
        if kind == "time":
            return times.median(list(self._one_each(quantity).values()))
        found = kinds.estimate(kind, list(self._averaged(quantity).values()))
        if kind == "happened" and self._runs and all(run.repeated for run in self._runs):
            return Interval(found.value, None, None, found.n)  # one run over and over
        most = getattr(quantity, "most", None)
        if most is None:
            return found
        ends = (_number(most(run)) for run in self)
        return kinds.clipped(found, -math.inf, max((end for end in ends if end is not None), default=math.inf))

    def median(self, quantity: Quantity) -> Interval:
        """Median of a quantity over the replications: for what is far from normal."""
        if _kind(quantity) == "time":
            return self.interval(quantity)
        return median_interval(self._averaged(quantity).values())

    def ratio(self, quantity: Quantity, over: Runs, *, each: str = "") -> Interval:
        """The quantity here over that there, run by run: replications with the same random draws go together.

        With `each` it is the geometric mean over the values of that swept key, within a replication. Of times it is the
        ratio of their medians, with `each` the median of these (:func:`ackclock.study.times.ratio`).
        """
        groups = self._paired(quantity, over, each)
        if _kind(quantity) == "time":
            return times.ratio(groups)
        return ratio_interval((kinds.quotient(found), 1.0) for found in zip(*groups, strict=True))

    def gain(self, weights: Sequence[tuple[Quantity, float]], over: Runs) -> Interval:
        """By which share quantities are more here than there, run by run, in the weighted mean of their shares."""
        parts = [(weight, self._one_each(each), over._one_each(each)) for each, weight in weights]
        common = set.intersection(*({n for n in ours if theirs.get(n)} for _, ours, theirs in parts))
        total = math.fsum(weight for weight, _, _ in parts)
        shares = ([weight * (ours[n] / theirs[n] - 1) for weight, ours, theirs in parts] for n in sorted(common))
        return mean_interval(math.fsum(each) / total for each in shares)

    def difference(self, quantity: Quantity, minus: Runs, *, each: str = "") -> Interval:
        """The quantity here less that there, run by run; with `each` the mean over the values of that swept key."""
        groups = self._paired(quantity, minus, each)
        return mean_interval(math.fsum(a - b for a, b in found) / len(found) for found in zip(*groups, strict=True))

    def _paired(self, quantity: Quantity, others: Runs, each: str) -> list[list[tuple[float, float]]]:
        """Pairs of the replications that have one everywhere, for every value of a swept key."""
        parts = [(self, others)]
        if each:
            parts = [(self.where({each: step}), others.where({each: step})) for step in self.steps(each)]
        known = [(ours._one_each(quantity), theirs._one_each(quantity)) for ours, theirs in parts]
        common = set.intersection(*(set(ours) & set(theirs) for ours, theirs in known)) if known else set()
        return [[(ours[number], theirs[number]) for number in sorted(common)] for ours, theirs in known]

    def _by_replication(self, quantity: Quantity) -> dict[int, list[float]]:
        found: dict[int, list[float]] = {}
        for run in self:
            value = _number(quantity(run))
            if value is not None and math.isfinite(value):
                found.setdefault(run.replication, []).append(value)
        return found

    def _averaged(self, quantity: Quantity) -> dict[int, float]:
        """A value of each replication."""
        kind = _kind(quantity)
        return {number: kinds.together(kind, found) for number, found in self._by_replication(quantity).items()}

    def _one_each(self, quantity: Quantity) -> dict[int, float]:
        """The value of each replication, of which there must be one. Raises :class:`InputError`."""
        found = self._by_replication(quantity)
        for number, values in found.items():
            if len(values) > 1:
                problem = f"{len(values)} runs of replication {number} have a value of '{_name(quantity)}'"
                remedy = f"select one swept point with where(): {', '.join(self.keys())}"
                raise InputError(problem, remedy, source=f"runs of '{self.scenario}'")
        return {number: values[0] for number, values in found.items()}


class Results:
    """The runs of every scenario of a study: ``results["single"].where(slow_start="blbe")``."""

    def __init__(
        self,
        results: Mapping[str, Result],
        *,
        quick: bool = False,
        known: Mapping[str, Known] | None = None,
        seen: Mapping[str, pl.DataFrame] | None = None,
    ) -> None:
        self.results = dict(results)
        self.quick = quick
        self.missed: set[Failure] = set()
        """The failed runs that were asked for since this was last cleared."""
        self.asked: set[str] = set()
        """The scenarios that were asked for since this was last cleared, by the names of the first reading."""
        self.reading: Reading | None = None
        """The choice of what the paper leaves open under which claims are judged; none: as the scenarios are."""
        self._runs = {
            name: Runs.of(
                name, result, (known or {}).get(name), Failures.of(name, result, self.missed), (seen or {}).get(name)
            )
            for name, result in results.items()
        }

    @property
    def failed(self) -> tuple[Failure, ...]:
        """The runs without a result, of all scenarios."""
        return tuple(failure for runs in self._runs.values() for failure in runs.failed)

    def __getitem__(self, scenario: str) -> Runs:
        if scenario not in self._runs:
            raise _wrong(unknown("scenario", scenario, self._runs), "results")
        self.asked.add(scenario)
        if self.reading is None or scenario not in self.reading.scenarios:
            return self._runs[scenario]
        return self._runs[self.reading.scenarios[scenario]].read_as(self.reading.values)

    @contextmanager
    def under(self, reading: Reading | None) -> Iterator[Results]:
        """The runs as a reading has them, for as long as the context lasts."""
        before, self.reading = self.reading, reading
        try:
            yield self
        finally:
            self.reading = before

    def __contains__(self, scenario: object) -> bool:
        return scenario in self._runs

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)


def _named(what: str, name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    for row in rows:
        if row["id"] == name:
            return row
    raise _wrong(unknown(what, name, [row["id"] for row in rows[:20]]), "run")


def _wrong(problem: Problem, source: str) -> InputError:
    return InputError(problem.problem, problem.remedy, source=source)


def _number(value: float | int | bool | None) -> float | None:
    return value if value is None or isinstance(value, times.Censored) else float(value)


def _kind(quantity: Quantity) -> Kind:
    """What kind of number a measure declares to be; other functions declare nothing."""
    return getattr(quantity, "kind", "number")


def _name(quantity: Quantity) -> str:
    return str(getattr(quantity, "name", None) or getattr(quantity, "__name__", "the measure"))


def _same(left: object, right: object) -> bool:
    return left == right or str(left) == str(right)
