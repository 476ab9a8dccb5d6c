"""The runs of a study as its measures and claims see them: one run, some runs, all of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ackclock.errors import InputError, Problem, unknown
from ackclock.results.result import Result
from ackclock.results.summary import bottleneck
from ackclock.scenario.settings import FLOW_SERIES, LINK_SERIES
from ackclock.stats import Interval, mean_interval, median_interval, ratio_interval
from ackclock.study.model import Where
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

    def __init__(self, result: Result, row: Mapping[str, Any], samples: Mapping[tuple[Any, ...], pl.DataFrame]) -> None:
        self._result = result
        self._samples = samples
        self.number: int = row["run"]
        self.point: int = row["point"]
        self.replication: int = row["replication"]
        self.duration: float = row["duration_s"]
        self.params: dict[str, str | int | float | bool] = {key: row[key] for key in result.params}
        self.measured: dict[str, float | None] = {}

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
    def links(self) -> list[dict[str, Any]]:
        """The rows of the table of links."""
        return self._result.links.filter(pl.col("run") == self.number).to_dicts()

    def flow(self, name: str = "0") -> dict[str, Any]:
        """The row of a flow."""
        return _named("flow", name, self.flows)

    def link(self, name: str) -> dict[str, Any]:
        """The row of a link."""
        return _named("link", name, self.links)

    def series(self, metric: str, of: str = "0") -> Series:
        """A series of a flow or a link; empty if it was not recorded. Raises :class:`InputError` if there is none."""
        if metric not in (*FLOW_SERIES, *LINK_SERIES):
            raise _wrong(unknown("series", metric, (*FLOW_SERIES, *LINK_SERIES)), f"run {self.number}")
        found = self._samples.get((self.number, metric, of))
        if found is None:
            return Series(np.empty(0), np.empty(0))
        return Series(found["time_s"].to_numpy(), found["value"].to_numpy())


class Runs:
    """Some runs of one scenario. `known` has the swept values of the full study.

    Selecting a value that a quick run leaves out is no error: the measures are then without a value. A value that no
    run ever has, or a key that is not swept, is one (:class:`InputError`).
    """

    def __init__(self, scenario: str, runs: list[Run], known: Known) -> None:
        self.scenario = scenario
        self.known = known
        self._runs = runs

    @classmethod
    def of(cls, scenario: str, result: Result, known: Known | None = None) -> Runs:
        """All runs of a result. Without `known` its own values are all there are."""
        swept = result.runs.select(result.params).to_dict(as_series=False)
        values = {key: tuple(dict.fromkeys([*(known or {}).get(key, ()), *found])) for key, found in swept.items()}
        samples = result.series.select("run", "metric", "id", "time_s", "value").partition_by(
            "run", "metric", "id", as_dict=True, maintain_order=True, include_key=False
        )
        runs = [Run(result, row, samples) for row in result.runs.iter_rows(named=True)]
        return cls(scenario, runs, {**(known or {}), **values})

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def where(self, *conditions: Where, **equal: str | float) -> Runs:
        """Those with the given swept values: ``where({"topology.rate": "1 Mbit/s"}, slow_start="blbe")``."""
        wanted: dict[str, Any] = {}
        for condition in conditions:
            wanted.update(condition)
        wanted.update(equal)
        for key, value in wanted.items():
            try:
                value_among(key, value, self.known)
            except Problem as problem:
                raise _wrong(problem, f"runs of '{self.scenario}'") from None
        kept = [run for run in self._runs if all(_same(run.params.get(key), value) for key, value in wanted.items())]
        return Runs(self.scenario, kept, self.known)

    def keys(self) -> list[str]:
        """The swept keys."""
        return list(self._runs[0].params) if self._runs else []

    def steps(self, key: str) -> list[str | int | float | bool]:
        """The values of a swept key, in their order."""
        try:
            key_among(key, self.known)
        except Problem as problem:
            raise _wrong(problem, f"runs of '{self.scenario}'") from None
        return list(dict.fromkeys(run.params[key] for run in self._runs if key in run.params))

    def values(self, quantity: Quantity) -> list[float | None]:
        """The quantity of each run."""
        return [None if (value := quantity(run)) is None else float(value) for run in self._runs]

    def interval(self, quantity: Quantity) -> Interval:
        """Mean and 95 % confidence interval of a quantity over the runs."""
        return mean_interval(self.values(quantity))

    def median(self, quantity: Quantity) -> Interval:
        """Median of a quantity over the runs, with the order statistics around it: for what is far from normal."""
        return median_interval(self.values(quantity))

    def ratio(self, quantity: Quantity, over: Runs) -> Interval:
        """The quantity here over that there, run by run: replications with the same random draws go together."""
        return ratio_interval(self._paired(quantity, over))

    def difference(self, quantity: Quantity, minus: Runs) -> Interval:
        """The quantity here less that there, run by run."""
        pairs = self._paired(quantity, minus)
        return mean_interval(a - b for a, b in pairs if a is not None and b is not None)

    def _paired(self, quantity: Quantity, others: Runs) -> list[tuple[float | None, float | None]]:
        ours = {run.replication: value for run, value in zip(self, self.values(quantity), strict=True)}
        theirs = {run.replication: value for run, value in zip(others, others.values(quantity), strict=True)}
        return [(value, theirs[number]) for number, value in ours.items() if number in theirs]


class Results:
    """The runs of every scenario of a study: ``results["single"].where(slow_start="blbe")``."""

    def __init__(
        self, results: Mapping[str, Result], *, quick: bool = False, known: Mapping[str, Known] | None = None
    ) -> None:
        self.results = dict(results)
        self.quick = quick
        self._runs = {name: Runs.of(name, result, (known or {}).get(name)) for name, result in results.items()}

    def __getitem__(self, scenario: str) -> Runs:
        if scenario not in self._runs:
            raise _wrong(unknown("scenario", scenario, self._runs), "results")
        return self._runs[scenario]

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


def _same(left: object, right: object) -> bool:
    return left == right or str(left) == str(right)
