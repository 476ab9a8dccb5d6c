"""Playing one scenario on several engines, and judging how far they agree."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.comparison.compare import Comparison, compare
from ackclock.comparison.margins import Margin, read
from ackclock.comparison.values import chosen
from ackclock.engines import divergence, variants
from ackclock.engines.divergence import Divergence
from ackclock.engines.variants import Played, Variant
from ackclock.errors import InputError
from ackclock.results import store, validity
from ackclock.scenario.model import Scenario
from ackclock.scenario.plan import Plan, Point, load
from ackclock.scenario.reading.override import Overrides
from ackclock.sweeps.arguments import checked_jobs
from ackclock.sweeps.engines import SIM, check_noticed, played_by
from ackclock.sweeps.run import Progress, counted, in_memory
from ackclock.sweeps.sweep import sweep

MARGINS: Mapping[str, float] = {"goodput_bps": 0.01, "mean_queue_delay_s": 0.05, "retransmitted_percent": 0.2}
"""Metrics and margins, as shares of the first engine's value, within which engines agree."""

LEAST = 3
"""Replications where the scenario asks for fewer: a run on a kernel says nothing of how much the next one differs."""

_PROBES = ("cwnd", "delivered", "queue", "retransmitted", "timeouts")
_SAMPLES = 2000
_SHORTEST_NS = 10_000_000  # what a kernel is asked for


@dataclass(frozen=True)
class Pair:
    """An engine against the first: the judgement, and by point where the first valid runs of both begin to differ."""

    a: Played
    b: Played
    comparison: Comparison | None
    why: str
    """Why there is no comparison."""
    divergences: Mapping[int, Sequence[Divergence]]

    @property
    def tested(self) -> int:
        """The rows that a test has decided. Where every run of both is the same, there is nothing to test by."""
        return 0 if self.comparison is None else sum(row.p_margin is not None for row in self.comparison.rows)

    @property
    def agrees(self) -> bool:
        """Whether every row is shown to agree."""
        return self.comparison is not None and bool(self.comparison.agrees)


@dataclass(frozen=True)
class Agreement:
    """A scenario on several engines. `pairs` are all engines but the first that played, against that."""

    source: str
    played: tuple[Played, ...]
    pairs: tuple[Pair, ...]
    margins: Mapping[str, float]

    @property
    def agrees(self) -> bool:
        """Whether every engine that can play some of it is shown to agree with the first; never for a single one."""
        return bool(self.pairs) and all(pair.agrees for pair in self.pairs)

    @property
    def notes(self) -> tuple[str, ...]:
        """What engines cannot play and why, which runs are not valid, and what weakens the judgement."""
        own = [line for item in self.played for line in item.lines()]
        for pair in self.pairs:
            own += [] if pair.comparison is None else [f"{pair.b.name}: {note}" for note in pair.comparison.notes]
        if not self.pairs:
            own.append("fewer than two engines can play this: there is nothing to compare")
        return tuple(dict.fromkeys(own))

    def to_json(self) -> dict[str, Any]:
        """Everything but the series, as the command line's ``--json`` prints it."""
        return {
            "scenario": self.source,
            "agrees": self.agrees,
            "margins": dict(self.margins),
            "engines": [
                {
                    "name": item.name,
                    "engine": item.variant.engine,
                    "runs": item.result.runs.height,
                    "not_valid": validity.runs(item.result),
                    "refused": {problem: list(points) for problem, points in item.refused.items()},
                }
                for item in self.played
            ],
            "pairs": [
                {
                    "a": pair.a.name,
                    "b": pair.b.name,
                    "agrees": pair.agrees,
                    "tested": pair.tested,
                    "why": pair.why,
                    "comparison": None if pair.comparison is None else pair.comparison.to_json(),
                    "divergences": [
                        {"point": point, **dataclasses.asdict(item)}
                        for point, found in pair.divergences.items()
                        for item in found
                    ],
                }
                for pair in self.pairs
            ],
            "notes": list(self.notes),
        }


def agree(
    scenario: Scenario | Mapping[str, Any] | str | Path | Plan,
    engines: Sequence[str | Variant] = (SIM, "kernel"),
    *,
    set: Overrides | None = None,
    seed: int | None = None,
    replications: int | None = None,
    margin: Margin | Iterable[str] | None = None,
    allow_late: bool = False,
    pin: int | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Agreement:
    """Play a scenario on several engines and ask whether they agree.

    Parameters
    ----------
    scenario, set, seed: as for :func:`ackclock.run`.
    engines: names of engines, or :class:`Variant`. The others are compared with the first that can play.
    replications: of every engine; by default the scenario's, but at least :data:`LEAST`.
    margin: other margins, or of more metrics, as for :func:`ackclock.compare`; the usual ones are :data:`MARGINS`.
    allow_late: use runs on a real kernel that are not valid, too. Refused where engine kernel is not among them.
    pin: the processor that drives the path of runs in real time. Refused likewise.
    jobs: runs at a time, of engines in virtual time.
    out: a directory that keeps the runs of each engine as :func:`ackclock.sweep` does, so that nothing is played twice.
    progress: called with (finished, all) runs, over all engines, first with 0 finished.

    Raises :class:`ackclock.InputError` for what cannot be used; an engine that cannot play a point is no error.
    """
    margins, asked = _margins(margin), _variants(engines)
    given = {"pin": pin, "allow_late": allow_late or None}
    of_engines = [key for key, value in given.items() if value is not None]
    check_noticed(of_engines, {variant.engine for variant in asked}, "name {} among the engines, too, or leave it out")
    if out is not None:
        store.check_none(Path(out))
    todo = [(variant, _plan(scenario, variant, set, seed, replications, pin)) for variant in asked]
    checked_jobs(jobs)
    total, done = sum(len(plan) for _, plan in todo), 0
    if progress is not None:
        progress(0, total)
    found = []
    for variant, plan in todo:

        def report(finished: int, _all: int, before: int = done) -> None:
            if progress is not None:
                progress(before + finished, total)

        if out is None:
            result = in_memory(plan, jobs=jobs, progress=report)
        else:
            folder = Path(out) / variant.name
            result = sweep(plan, folder, jobs=jobs, retry_failed=True, tell=counted(report)).result
        done += len(plan)
        found.append(variants.played(variant, result))
    source = str(todo[0][1].source)
    able = [item for item in found if item.able]
    pairs = tuple(_pair(able[0], item, margins, allow_late=allow_late) for item in able[1:])
    return Agreement(source, tuple(found), pairs, margins)


def plans(
    scenario: Scenario | Mapping[str, Any] | str | Path | Plan,
    engines: Sequence[str | Variant],
    *,
    set: Overrides | None = None,
    seed: int | None = None,
    replications: int | None = None,
) -> list[Plan]:
    """What :func:`agree` would play, one plan for each engine."""
    return [_plan(scenario, variant, set, seed, replications, None) for variant in _variants(engines)]


def _variants(engines: Sequence[str | Variant]) -> list[Variant]:
    found = [Variant(item, item) if isinstance(item, str) else item for item in engines]
    names = [item.name for item in found]
    if len(found) < 2:
        raise InputError("one engine has nothing to agree with", "name two, as sim,kernel", key="engines")
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"'{twice[0]}' is named twice", "name each engine once", key="engines")
    return found


def _margins(given: Margin | Iterable[str] | None) -> dict[str, float]:
    own = read(given)
    every = own.pop(None, None)
    found = {name: MARGINS[name] if every is None else every for name in MARGINS}
    return found | {name: share for name, share in own.items() if name is not None}


def _plan(
    scenario: Scenario | Mapping[str, Any] | str | Path | Plan,
    variant: Variant,
    changes: Overrides | None,
    seed: int | None,
    replications: int | None,
    pin: int | None,
) -> Plan:
    plan = scenario if isinstance(scenario, Plan) else _loaded(scenario, changes, seed, replications)
    if variant.changes:
        if isinstance(scenario, Plan):
            raise InputError("a loaded plan cannot be changed", "give the scenario itself", key="engines")
        plan = _loaded(scenario, _more(changes, variant.changes), seed, replications)
    if replications is not None and replications < 2:
        raise InputError("one replication has no spread", "give 2 or more", key="replications")
    plan = played_by(plan, variant.engine, **({} if pin is None else {"pin": pin}))
    return dataclasses.replace(plan, points=tuple(_recorded(point, replications) for point in plan.points))


def _loaded(
    scenario: Scenario | Mapping[str, Any] | str | Path, changes: Overrides | None, seed: int | None, count: int | None
) -> Plan:
    """A scenario that is right, though the engine that it names itself may lack something that it asks for."""
    try:
        return load(scenario, set=changes, seed=seed, replications=count)
    except InputError as error:
        try:
            return load(scenario, set=_more(changes, {"run.engine": SIM}), seed=seed, replications=count)
        except InputError:
            raise error from None


def _more(changes: Overrides | None, own: Mapping[str, Any]) -> Overrides:
    if changes is None:
        return dict(own)
    if isinstance(changes, Mapping):
        return {**changes, **own}
    return [*changes, *(f"{key}={value}" for key, value in own.items())]


def _recorded(point: Point, replications: int | None) -> Point:
    """A point whose replications can be compared, and that records what is looked at over time."""
    scenario = point.scenario
    every = max(_SHORTEST_NS, scenario.run.duration // _SAMPLES)
    there = scenario.probes.resolved()
    probes = scenario.probes.model_copy(update={name: every for name in _PROBES if name not in there})
    count = scenario.run.replications if replications is not None else max(LEAST, scenario.run.replications)
    run = scenario.run.model_copy(update={"replications": count})
    return dataclasses.replace(point, scenario=scenario.model_copy(update={"probes": probes, "run": run}))


def _pair(a: Played, b: Played, margins: Mapping[str, float], *, allow_late: bool) -> Pair:
    both = a.able & b.able
    if not both:
        return Pair(a, b, None, f"no point can be played by both {a.name} and {b.name}", {})
    try:
        ours, theirs = (validity.given(variants.of_points(side.result, both), allow_late=allow_late) for side in (a, b))
        found = compare(
            ours, theirs, metrics=chosen(margins), margin=dict(margins), agreement=True, allow_late=allow_late
        )
    except InputError as error:
        return Pair(a, b, None, f"{b.name} against {a.name}: {error.problem}; {error.remedy}", {})
    named = tuple(dataclasses.replace(row, a=a.name, b=b.name) for row in found.rows)
    found = dataclasses.replace(found, a=a.name, b=b.name, rows=named)
    pairs = {
        point: (one, other)
        for point in sorted(both)
        if (one := _first(ours, point)) is not None and (other := _first(theirs, point)) is not None
    }
    return Pair(
        a,
        b,
        found,
        "",
        {point: divergence.between((ours, one), (theirs, other)) for point, (one, other) in pairs.items()},
    )


def _first(result: Any, point: int) -> int | None:
    """The first run of a point."""
    runs = [run for run, at in result.runs.select("run", "point").iter_rows() if at == point]
    return min(runs, default=None)
