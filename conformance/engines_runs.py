"""Shipped scenarios on every engine: which points, how long, how often; what is compared of them, and how closely."""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ackclock.results.result import Result
from ackclock.results.single_runs import per_run
from ackclock.results.validity import VALID
from ackclock.scenario.plan import Plan, load
from ackclock.stats.intervals.mean import t_quantile
from ackclock.sweeps.run import in_memory
from agreement import Deviation, relative
from session_cache import session_cache

HERE = Path(__file__).resolve().parent
RECORDS = HERE / "engines"
SCENARIOS = HERE.parent / "scenarios"


@dataclasses.dataclass(frozen=True, slots=True)
class Metric:
    """What is compared. They agree within `share` of the engine's value, or within `least`, in the metric's unit."""

    title: str
    share: float
    least: float = 0.0
    unit: tuple[str, float] = ("", 1.0)
    """In which `least` is written, and the factor to it."""


METRICS: Mapping[str, Metric] = {
    "total_goodput_bps": Metric("goodput", 0.02),
    "mean_queue_delay_s": Metric("queueing delay", 0.10, 0.0002, (" ms", 1e3)),
    "retransmitted_percent": Metric("retransmitted", 0.20, 0.05, (" percentage points", 1.0)),
    "p95_fct_s": Metric("95th percentile of completion", 0.05),
    "p50_plt_s": Metric("median page load", 0.05),
}
"""Those of the summary that mean the same on every engine (docs/engines.md: the RTT does not).

Goodput and times follow each other; a queue's length shows an order of events that goodput does not, and one overflow
more or less is a fifth of the retransmissions where there are few, or hardly any: 0.05 of a percent.
"""

CONFIDENCE = 0.99
"""Of the interval of a difference that counts as noise."""


@cache
def settings() -> Mapping[str, Any]:
    """`scenarios` by name, each with what is changed in it; `duration` and `replications` of all."""
    found: Mapping[str, Any] = tomllib.loads((RECORDS / "scenarios.toml").read_text(encoding="utf-8"))
    return found


def plan(name: str, engine: str) -> Plan:
    """A scenario as `engine` plays it; the simulator plays the replications of both kernels."""
    every = settings()
    own: Mapping[str, Any] = every["scenarios"][name]
    in_virtual_time = own.get("run.replications", every["replications"])
    count = {"kernel": every["in_real_time"], "sim": max(in_virtual_time, every["in_real_time"])}
    changes = {**own, "run.duration": every["duration"], "run.replications": count.get(engine, in_virtual_time)}
    return load(SCENARIOS / f"{name}.toml", set={**changes, "run.engine": engine})


def measured(result: Result) -> list[dict[str, Any]]:
    """The metrics of each run of a result, by replication, and whether it is valid."""
    found = per_run(result)
    valid = dict(result.runs.select("run", VALID).iter_rows()) if VALID in result.runs.columns else {}
    return [
        {
            "valid": valid.get(run, True),
            **{name: value for name in METRICS if (value := found[run].get(name)) is not None},
        }
        for run in sorted(found)
    ]


@session_cache
def simulated(name: str) -> list[dict[str, Any]]:
    """The metrics of a scenario's runs in the simulator, played now."""
    return measured(in_memory(dataclasses.replace(plan(name, "sim")), jobs=1))


@cache
def records() -> Mapping[str, Mapping[str, Any]]:
    """What was recorded of other engines, by their name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RECORDS.glob("*.json"))}


def known(engine: str, name: str) -> Mapping[str, Deviation]:
    """The deviations of a scenario that are understood, by metric: those of all engines, and those of this one."""
    found = settings().get("deviations", ())
    return {
        metric: Deviation(item["mechanism"], item["bound"])
        for item in found
        if item["scenario"] == name and item.get("engine", engine) == engine
        for metric in item["metrics"]
    }


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """A metric of a scenario: the simulator's beside an engine's, each replication beside the same one.

    They are played with the same draws: of starts, sizes, waits, and of what the path does to the packet of a number.
    """

    scenario: str
    metric: str
    pairs: tuple[tuple[float, float], ...]

    @property
    def ours(self) -> float:
        """The simulator's mean."""
        return statistics.fmean(pair[0] for pair in self.pairs)

    @property
    def theirs(self) -> float:
        """The engine's mean."""
        return statistics.fmean(pair[1] for pair in self.pairs)

    @property
    def difference(self) -> float:
        """Of the means, relative to the engine's."""
        return relative(self.ours, self.theirs)

    @property
    def noise(self) -> float:
        """Half the interval of the mean difference, in the metric's unit; 0 where all pairs differ alike."""
        differences = [ours - theirs for ours, theirs in self.pairs]
        if len(differences) < 2:
            return 0.0
        error = statistics.stdev(differences) / math.sqrt(len(differences))
        return t_quantile((1 + CONFIDENCE) / 2, len(differences) - 1) * error

    @property
    def close(self) -> bool:
        """Whether they agree without an allowance for noise."""
        metric = METRICS[self.metric]
        return abs(self.ours - self.theirs) <= max(metric.share * self.theirs, metric.least)

    @property
    def agrees(self) -> bool:
        """Whether they agree, or cannot be told apart."""
        return self.close or abs(self.ours - self.theirs) <= self.noise


def compared(engine: str, name: str) -> Iterator[Compared]:
    """Every metric of a scenario that both have, of the runs that are valid."""
    theirs: Sequence[Mapping[str, Any]] = records()[engine]["scenarios"][name]["runs"]
    both = [(ours, their) for ours, their in zip(simulated(name), theirs, strict=False) if their["valid"]]
    for metric in METRICS:
        pairs = tuple((ours[metric], their[metric]) for ours, their in both if metric in ours and metric in their)
        if pairs:
            yield Compared(name, metric, pairs)
