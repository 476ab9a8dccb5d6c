"""A scenario file as work to do: its points, their replications, and the resolved run of each."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from ackclock import engine
from ackclock.controllers import loading
from ackclock.errors import EngineError, InputError, Problem
from ackclock.files import check_depth, parse_toml, read_text, reason
from ackclock.scenario import compile as compiler
from ackclock.scenario.checks import fit, no_effect, refusal, repeats
from ackclock.scenario.model import Scenario
from ackclock.scenario.reading import expansion, override, toml
from ackclock.scenario.reading.diagnosis import finding
from ackclock.scenario.reading.line_numbers import line_of
from ackclock.scenario.traffic.flow import Flow

Params = dict[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of swept values."""

    index: int
    params: Params
    scenario: Scenario
    warnings: tuple[str, ...] = ()
    """What has no effect in it."""
    foreseen: tuple[str, ...] = ()
    """Warnings of the engine that its runs will repeat."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run: a replication (from 0) of a point. `index` numbers the runs of a plan from 0."""

    index: int
    point: Point
    replication: int

    def document(self) -> dict[str, Any]:
        """The resolved run (docs/resolved-run.md)."""
        return compiler.compile_run(self.point.scenario, self.replication)

    def controllers(self) -> tuple[str, ...]:
        """The names of the controllers in Python that it needs."""
        names = (flow.cc.name for flow in self.point.scenario.flows)
        return tuple(dict.fromkeys(name for name in names if name.startswith(loading.PREFIX)))

    def text(self) -> str:
        """The resolved run as the engine reads it."""
        return resolved_text(compiler.compile_groups(self.point.scenario, self.replication))


MOST_RUNS = 1_000_000
"""More runs than this would take days and fill the memory with their bookkeeping before the first one ends."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a scenario file asks for, checked.

    `source` is where it came from, for messages; `text` is what was written, for the record, and `changes` what was
    changed of it from outside.
    """

    source: str
    text: str
    points: tuple[Point, ...]
    folder: str | None = None
    """Where the file is, and where controllers in Python are looked for first."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Keys and values as they were given: applied to `text` in this order they make the scenario."""

    def jobs(self) -> Iterator[Job]:
        """All runs: points in order, the replications of each together."""
        index = 0
        for point in self.points:
            for replication in range(point.scenario.run.replications):
                yield Job(index, point, replication)
                index += 1

    def __len__(self) -> int:
        """How many runs there are."""
        return sum(point.scenario.run.replications for point in self.points)

    @property
    def params(self) -> tuple[str, ...]:
        """The swept keys, in order."""
        return tuple(self.points[0].params)


def load(
    scenario: Scenario | Mapping[str, Any] | str | FilePath,
    *,
    set: override.Overrides | None = None,
    seed: int | None = None,
    replications: int | None = None,
) -> Plan:
    """Read and check a scenario. Every point of a sweep is checked, by the engine as well; nothing is run.

    Parameters
    ----------
    scenario: path of a TOML file, the same content as a mapping, or a :class:`Scenario`.
    set: changes, as a mapping of dotted keys to values or as ``key=value`` texts.
    seed, replications: in place of those under ``[run]``.

    Raises
    ------
    InputError: one line with file, key, problem and remedy.
    """
    return _loaded(scenario, set, seed, replications, None).plan


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first points of a sweep, checked, and how many points and runs it has in all."""

    plan: Plan
    points: int
    runs: int


def begin(
    scenario: Scenario | Mapping[str, Any] | str | FilePath, *, set: override.Overrides | None = None, most: int
) -> Beginning:
    """As :func:`load`, but of a sweep with more than `most` points the others are only counted, not checked."""
    return _loaded(scenario, set, None, None, most)


def _loaded(
    scenario: Scenario | Mapping[str, Any] | str | FilePath,
    set: override.Overrides | None,
    seed: int | None,
    replications: int | None,
    most: int | None,
) -> Beginning:
    source, text, raw = _read(scenario)
    folder = str(FilePath(source).resolve().parent) if text else None
    texts = list(set) if isinstance(set, Iterable) and not isinstance(set, str | Mapping) else set or {}
    changes = json_copy(texts) if isinstance(texts, Mapping) else texts
    record = json_copy(texts)  # a copy: what is applied may be changed by what is applied after it
    changed = _override(raw, source, changes, seed, replications)
    current: Any = raw
    points: list[Point] = []
    documents: list[bytes] = []
    try:
        _check_runs(expansion.foreseen(raw)[1])
        for index, (params, current) in enumerate(itertools.islice(expansion.points(raw), most)):
            checked = Scenario.model_validate(current, context={"folder": folder})
            point, document = _checked(index, params, checked, changed)
            points.append(point)
            documents.append(document)
        total, runs = expansion.counts(raw)
    except (Problem, ValidationError) as error:
        found = finding(error, current)
        key = expansion.dotted(found.key)
        line = line_of(text, found.key) if text and not _given(found.key, changed, text) else None
        raise InputError(found.problem, found.remedy, source=source, key=key or None, line=line) from None
    engines = no_effect.of_engines([point.scenario for point in points], changed)
    points = [replace(point, warnings=(*own, *point.warnings)) for point, own in zip(points, engines, strict=True)]
    if total == len(points):
        alike = repeats.warnings([point.params for point in points], documents)
        idle = no_effect.idle_relays([point.scenario for point in points], changed)
        for index, point in enumerate(points):
            more = (*idle, *alike.get(index, ()))
            points[index] = replace(point, warnings=(*point.warnings, *more)) if more else point
    plan = Plan(source, text, tuple(points), folder, _recorded(record, seed, replications))
    if total == len(points):
        runs = len(plan)
    return Beginning(plan, total, runs)


def _check_runs(runs: int) -> None:
    """Refuse more runs than a result can hold, before the first point is made."""
    if runs > MOST_RUNS:
        problem = f"{expansion.shown(runs)} runs are more than one result can hold"
        remedy = f"sweep less or replicate less: at most {MOST_RUNS} runs"
        raise Problem(problem, remedy, "run", "replications")


def _given(key: expansion.Path, changed: Set[str], text: str) -> bool:
    """Whether a key was changed, or is there only because one below it was."""
    name = expansion.dotted(key)
    below = any(path.startswith(f"{name}.") for path in changed)
    return any(f"{name}.".startswith(f"{path}.") for path in changed) or (
        below and not expansion.present(parse_toml(text), list(map(str, key)))
    )


def _checked(index: int, params: Params, scenario: Scenario, changed: Set[str]) -> tuple[Point, bytes]:
    """A point that the engine has checked, and what stands for its resolved run. Raises :class:`Problem`."""
    try:
        document = compiler.compile_groups(scenario)
    except InputError as error:  # of the kernel that is to play it
        raise Problem(error.problem, error.remedy, *(error.key or "run").split(".")) from None
    fit.check(scenario)
    text = resolved_text(document)
    try:
        foreseen = engine.validate(resolved_text(compiler.captured(document, scenario.run.capture)))
    except EngineError as error:
        raise refusal.problem(scenario, str(error)) from None
    if scenario.run.engine == "kernel":
        refusal.of_kernel(scenario, text)
    elif scenario.run.engine == "kernel-vt":
        refusal.of_built_kernel(scenario, text)
    found = no_effect.warnings(scenario, document, changed)
    return Point(index, params, scenario, tuple(found), tuple(foreseen)), hashlib.sha256(text.encode()).digest()


def resolved_text(document: Mapping[str, Any]) -> str:
    """A resolved run as the engine reads it."""
    return json.dumps(document, separators=(",", ":"))


def resolved_flow(raw: Mapping[str, Any], source: str) -> dict[str, Any]:
    """One flow as the engine reads it, on its own: what a [[flows]] table says, without a way through a network."""
    table = json_copy(raw)
    try:
        return compiler.resolved_flow(Flow.model_validate(table))
    except (Problem, ValidationError) as error:
        found = finding(error, table)
        raise InputError(found.problem, found.remedy, source=source, key=expansion.dotted(found.key) or None) from None


def _override(
    raw: dict[str, Any], source: str, changes: override.Overrides, seed: int | None, replications: int | None
) -> frozenset[str]:
    """Apply every change asked for, and return the dotted keys changed."""
    named = {"run.seed": seed, "run.replications": replications}
    try:
        changed = override.apply(raw, changes)
        return frozenset(changed | override.apply(raw, {key: item for key, item in named.items() if item is not None}))
    except Problem as error:
        where = f"{source}: --set"
        raise InputError(error.problem, error.remedy, source=where, key=expansion.dotted(error.key) or None) from None


def _recorded(changes: override.Overrides, seed: int | None, replications: int | None) -> dict[str, Any]:
    """The changes for the record. One that is given twice stands where it was given last."""
    texts = [changes] if isinstance(changes, str) else changes
    pairs = list(texts.items()) if isinstance(texts, Mapping) else [override.parse(text) for text in texts]
    named = {"run.seed": seed, "run.replications": replications}
    found: dict[str, Any] = {}
    for key, value in (*pairs, *((key, value) for key, value in named.items() if value is not None)):
        found.pop(key, None)
        found[key] = value
    return found


def _read(scenario: Scenario | Mapping[str, Any] | str | FilePath) -> tuple[str, str, dict[str, Any]]:
    if isinstance(scenario, Scenario):
        return "scenario", "", json_copy(scenario.model_dump(exclude_unset=True))
    if isinstance(scenario, Mapping):
        return "scenario", "", json_copy(scenario)
    given: object = scenario
    if isinstance(given, Plan):
        raise InputError("it is loaded already", "give it to run, or load its scenario again", source=given.source)
    if not isinstance(given, str | os.PathLike):
        problem = f"{type(scenario).__name__} is no scenario"
        raise InputError(problem, "give the path of a TOML file, the same content as a mapping, or a Scenario")
    source = str(scenario)
    try:
        text = read_text(FilePath(scenario), encoding="utf-8-sig")  # some editors begin a file with a mark
    except UnicodeDecodeError:
        raise InputError("not a text file", "give a scenario in TOML, encoded in UTF-8", source=source) from None
    except (OSError, ValueError) as error:  # the latter of a path with a zero byte
        raise InputError(reason(error), "give the path of a scenario file", source=source) from None
    return source, text, toml.parse(text, source, 'correct it; text needs quotes, as in rate = "100 Mbit/s"')


def json_copy(value: Any) -> Any:
    """A deep copy of plain data, tuples as lists and controllers' classes as names: like a file's content.

    Raises :class:`InputError` for data that is nested too deeply.
    """
    try:
        check_depth(value)
    except Problem as error:
        raise InputError(error.problem, error.remedy, source="scenario") from None
    return _copied(value)


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return loading.name_of(value) if loading.is_class(value) else value
