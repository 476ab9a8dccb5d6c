"""Carrying out a study: its scenarios are run, its claims are judged."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.errors import AckclockError, InputError, one_line, unknown
from ackclock.notebook.progress import bar
from ackclock.results import validity
from ackclock.results.result import Result
from ackclock.scenario.plan import Job, Plan
from ackclock.scenario.plan import load as load_plan
from ackclock.study import captured, code, document, extension, locate, selections, unplayed
from ackclock.study.code import Claim, Code
from ackclock.study.extension import Added
from ackclock.study.failures import Failure, reason
from ackclock.study.model import Reading, Setting, Study
from ackclock.study.runs import Results
from ackclock.study.statements import check_statements
from ackclock.study.verdict import BETWEEN, Verdict, labelled
from ackclock.sweeps.arguments import checked_jobs
from ackclock.sweeps.engines import SIM, check_kernel, check_noticed, played_by
from ackclock.sweeps.run import Progress, counted, in_memory
from ackclock.sweeps.sweep import sweep

NOT_JUDGED = "not judged"
"""What a quick run says of a claim that it does not confirm."""

_FEW = 2_000_000
"""Segments that are simulated sooner than other processes could begin to."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A study with its code."""

    study: Study
    code: Code


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim and what became of it. `broken` says what its check raised, if it did not come to an end.

    `under` has the verdict under each reading on which the claim depends, by its id; nothing, where it depends on none.
    A quick run decides nothing that it does not confirm: such a claim is not `judged`.
    """

    claim: Claim
    verdict: Verdict
    broken: str = ""
    under: Mapping[str, Verdict] = field(default_factory=dict)
    judged: bool = True

    @property
    def conclusion(self) -> str:
        """What became of the paper's sentence: reproduced, under some readings only, refuted under all, or open."""
        if not self.judged:
            return NOT_JUDGED
        if self.verdict.outcome == "pass":
            return "reproduced"
        passed = [name for name, verdict in self.under.items() if verdict.outcome == "pass"]
        if passed:
            return f"reproduced under {', '.join(passed)} only"
        if self.verdict.outcome == "fail":
            return "refuted under every reading tried" if self.under else "refuted"
        return "open"


@dataclass(frozen=True, slots=True)
class Report:
    """A study that was run."""

    study: Study
    code: Code
    results: Results
    claims: tuple[Judged, ...]
    quick: bool
    wall_s: float
    """Whole milliseconds, so that every place rounds the same number."""
    added: tuple[str, ...] = ()
    """Controllers beside those of the study."""
    plans: Mapping[str, Plan] = field(default_factory=dict)
    """What was run, by scenario: of another engine without those that it leaves out."""

    @property
    def failed(self) -> bool:
        """Whether a claim failed, the check of one did not come to an end, or a run failed."""
        return bool(self.failures) or any(
            (item.verdict.outcome == "fail" and item.judged) or item.broken for item in self.claims
        )

    @property
    def broken(self) -> bool:
        """Whether the study itself did not come to its end: a run failed, or the check of a claim raised."""
        return bool(self.failures) or any(item.broken for item in self.claims)

    @property
    def open(self) -> tuple[Judged, ...]:
        """The claims that do not hold: refuted or inconclusive. Soft ones, on which nothing rests, are not counted, nor
        are those that a quick run does not judge.
        """
        return tuple(
            item for item in self.claims if item.verdict.outcome != "pass" and item.judged and not item.claim.soft
        )

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The runs without a result."""
        return self.results.failed

    @property
    def left_out(self) -> tuple[str, ...]:
        """The scenarios of which another engine than the simulator plays nothing: their runs are among the failures."""
        return tuple(name for name in self.results if self.plans and name not in self.plans)

    def to_json(self) -> dict[str, Any]:
        """What ``ackclock study run --json`` prints."""
        return {
            "study": self.study.name,
            "quick": self.quick,
            "claims": [
                {
                    "id": item.claim.id,
                    "statement": item.claim.statement,
                    "unit": item.claim.unit,
                    "paper": item.claim.paper,
                    "origin": item.claim.origin,
                    "value": item.verdict.value,
                    "more": item.verdict.more,
                    "interval": item.verdict.interval,
                    "verdict": item.verdict.outcome,
                    "conclusion": item.conclusion,
                    "readings": {name: _short(verdict) for name, verdict in item.under.items()},
                    "soft": item.claim.soft,
                }
                for item in self.claims
            ],
            "readings": [
                {"id": each.id, "title": each.title, "reason": each.reason, "found": each.found, "price": each.price}
                for each in self.study.readings
            ],
            "failed": [failure.to_json() for failure in self.failures],
            "wall_s": self.wall_s,
        }

    def _repr_html_(self) -> str:
        from ackclock.study import page  # which is above

        return page.of(self)


def load(name: str | os.PathLike[str]) -> Loaded:
    """Read and check a study, by its name or its directory, without running it. Raises :class:`InputError`."""
    study = document.read(locate.find(name))
    found = code.load(study.folder)
    _measures_exist(study, found)
    if study.statements is not None:
        check_statements(study.folder, study.statements, [item.id for item in found.claims])
    return Loaded(study, found)


def plans(study: Study, *, quick: bool = False, added: Sequence[Added] = ()) -> dict[str, Plan]:
    """The plan of every scenario of a study. Raises :class:`InputError`."""
    return {setting.id: _plan(study, setting, quick, added) for setting in study.settings}


def run(
    study: Loaded | str | os.PathLike[str],
    *,
    quick: bool = False,
    cc: Sequence[Any] | str = (),
    engine: str | None = None,
    kernel: str | None = None,
    pin: int | None = None,
    allow_late: bool = False,
    jobs: int | None = None,
    keep: Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Run a study and judge its claims.

    Parameters
    ----------
    study: its name, its directory, or what :func:`load` returned.
    quick: with the changes that the study has for a quick run: fewer and shorter runs.
    cc: controllers beside those of the study: names, tables or classes.
    engine: who plays it instead of the simulator. What it cannot play is among :attr:`Report.failures` with the reason,
        all runs of scenarios that are captured among it, and so are runs that are not valid.
    kernel, pin, allow_late: as under ``[run]`` of a scenario, of these engines; refused where `engine` is another.
    jobs: as for :func:`ackclock.run`.
    keep: a directory that keeps the runs of each scenario as :func:`ackclock.sweep` does: those that are there are not
        played again. Without it they are only in memory.
    progress: called with (finished, all) runs, over all scenarios, first with 0 finished. One that is captured, too,
        is half finished when it is played: it is played again for that. By default a notebook shows a bar.

    A run that fails does not stop the others: :attr:`Report.failures` has it, and claims about it are inconclusive.
    """
    checked_jobs(jobs)
    loaded = study if isinstance(study, Loaded) else load(study)
    begun = time.monotonic()
    given = {"kernel": kernel, "pin": pin, "allow_late": allow_late or None}
    check_noticed([key for key, value in given.items() if value is not None], {engine or SIM})
    if kernel is not None:
        check_kernel(kernel)
    added = extension.read(cc, loaded.study)
    full = plans(loaded.study, added=added)
    selections.check(loaded.study, full)
    todo = plans(loaded.study, quick=True, added=added) if quick else full
    without = unplayed.scenarios(loaded.study, engine)
    found: dict[str, Result] = {}
    if engine is not None:
        settings = {"pin": pin, "allow_late": allow_late} | ({} if kernel is None else {"kernel": kernel})
        todo = {name: played_by(plan, engine, **settings) for name, plan in todo.items()}
        found = {name: unplayed.result(todo.pop(name), engine) for name in without}
    # Where runs are captured each is played once more, and that takes longest: both are half of it.
    seen_again = [setting.id for setting in loaded.study.settings if setting.captured and setting.id in todo]
    total, halves = sum(map(len, todo.values())), 0
    progress = progress or bar()
    if progress is not None:
        progress(0, total)
    for name, plan in todo.items():
        share = 1 if name in seen_again else 2

        def report(finished: int, _all: int, before: int = halves, share: int = share) -> None:
            if progress is not None:
                progress((before + share * finished) // 2, total)

        workers = 1 if jobs is None and _packets(plan) < _FEW else jobs
        if keep is None:
            found[name] = in_memory(plan, jobs=workers, progress=report)
        else:
            found[name] = sweep(plan, keep / name, jobs=workers, retry_failed=True, tell=counted(report)).result
        halves += share * len(plan)
    found = {name: validity.only(found[name]) for name in full}
    seen = {}
    for name in seen_again:

        def read(finished: int, before: int = halves) -> None:
            if progress is not None:
                progress((before + finished) // 2, total)

        seen[name] = captured.analysed(todo[name], found[name], name, keep=keep, jobs=jobs, progress=read)
        halves += len(todo[name])
        read(0, halves)
    known = {name: selections.known(plan) for name, plan in full.items()}
    results = Results(found, quick=quick, known=known, seen=seen)
    claims = judge(loaded.code.claims, results, loaded.study.readings)
    names = tuple(item.label for item in added)
    return Report(loaded.study, loaded.code, results, claims, quick, round(time.monotonic() - begun, 3), names, todo)


def judge(claims: Sequence[Claim], results: Results, readings: Sequence[Reading] = ()) -> tuple[Judged, ...]:
    """The verdict on each claim, under each of the `readings` on which it depends.

    A check that raises is inconclusive, so that the others are still heard.
    """
    return tuple(_judged(item, results, readings) for item in claims)


def _judged(item: Claim, results: Results, readings: Sequence[Reading]) -> Judged:
    results.asked.clear()
    verdict, broken = _checked(item, results)
    asked, failed = set(results.asked), bool(results.missed)
    others = [each for each in readings[1:] if asked & set(each.scenarios)]
    if others and not broken:
        under = {readings[0].id: verdict}
        for reading in others:
            with results.under(reading):
                under[reading.id], broken = _checked(item, results)
            failed |= bool(results.missed)
            if broken:
                return Judged(item, under[reading.id], broken)
        joined = _joined(under)
    else:
        under, joined = {}, verdict
    # That runs failed is said of a quick run, too.
    decided = joined.outcome == "pass" or not results.quick or bool(broken) or failed
    return Judged(item, joined, broken, under, decided)


def _joined(under: Mapping[str, Verdict]) -> Verdict:
    """The verdict of the first reading, which is open unless all readings agree."""
    first = next(iter(under.values()))
    parts = [labelled(f"reading {name}", dataclasses.replace(each, detail="")).detail for name, each in under.items()]
    detail = BETWEEN.join([*parts, *([first.detail] if first.detail else [])])
    agreed = len({each.outcome for each in under.values()}) == 1
    return dataclasses.replace(first, outcome=first.outcome if agreed else "inconclusive", detail=detail)


def _checked(item: Claim, results: Results) -> tuple[Verdict, str]:
    """A verdict, and what the check raised, if it did."""
    results.missed.clear()
    try:
        verdict = item.judge(results)
        if not isinstance(verdict, Verdict):
            raise TypeError(f"it returned {verdict!r}, not a Verdict")
    except Exception as error:  # whatever the code of a study raises
        known = isinstance(error, AckclockError)
        broken = one_line(f"an error: {error}" if known else f"{type(error).__name__}: {error}")
        return _missing(Verdict("inconclusive", detail=f"the check raised {broken}"), results), broken
    return _missing(verdict, results), ""


def _short(verdict: Verdict) -> dict[str, Any]:
    """A verdict under a reading, for ``--json``."""
    return {"verdict": verdict.outcome, "value": verdict.value, "more": verdict.more, "interval": verdict.interval}


def _missing(verdict: Verdict, results: Results) -> Verdict:
    """A verdict that rests on runs of which some failed decides nothing: what failed may be what would contradict."""
    if not results.missed:
        return verdict
    # One part of the detail, whatever the problem's own words are parted by.
    failed = f"{reason(results.missed).replace(BETWEEN, ', ')} [inconclusive]"
    detail = BETWEEN.join(part for part in (failed, verdict.detail) if part)
    return dataclasses.replace(verdict, outcome="inconclusive", detail=detail)


def _plan(study: Study, setting: Setting, quick: bool, added: Sequence[Added]) -> Plan:
    changes = {**setting.changes, **(setting.quick if quick else {})}
    try:
        plan = load_plan(setting.content, set=changes)
        longer = extension.lists(setting, changes, added)
        return load_plan(setting.content, set={**changes, **longer}) if longer else plan
    except InputError as error:
        part = _changed(setting, error.key or "", quick)
        if part is None and error.source == str(setting.content):
            raise
        # A table has no file of its own, and changes were not given on the command line: both stand in study.toml.
        key = ".".join(word for word in (setting.place, part or f"scenario.{error.key or ''}".rstrip(".")) if word)
        raise InputError(error.problem, error.remedy, source=str(study.folder / document.FILE), key=key) from None


def _changed(setting: Setting, key: str, quick: bool) -> str | None:
    """The change that a key of a scenario goes back to; a flow's key is changed without naming the flow."""
    for part, changes in (("quick", setting.quick if quick else {}), ("set", setting.changes)):
        for name in changes:
            if f"{key}.".startswith(f"{name}.") or f".{key}.".endswith(f".{name}."):
                return f"{part}.{name}"
    return None


def _packets(plan: Plan) -> float:
    """About how many segments the runs of a plan send: what the slowest link carries, or what the flows have."""
    total = 0.0
    for point in plan.points:
        document = Job(0, point, 0).document()
        rates = [link["rate_bps"] for link in document["links"] if link["rate_bps"]]
        sizes = [flow["app"].get("bytes") for flow in document["flows"]]
        most = min(rates, default=0) * document["duration_ns"] / 8e9
        amount = min(most, sum(sizes)) if all(size is not None for size in sizes) else most
        total += amount / document["flows"][0]["mss"] * point.scenario.run.replications
    return total


def _measures_exist(study: Study, found: Code) -> None:
    used: Mapping[str, str] = {
        **{
            f"tables.{i}.columns.{j}.measure": column.measure
            for i, table in enumerate(study.tables)
            for j, column in enumerate(table.columns)
        },
        **{
            f"figures.{i}.series.{j}.data": series.data
            for i, figure in enumerate(study.figures)
            if figure.kind == "sweep"
            for j, series in enumerate(figure.series)
            if not series.weights
        },
        **{
            f"figures.{i}.series.{j}.weights.{name}": name
            for i, figure in enumerate(study.figures)
            for j, series in enumerate(figure.series)
            for name in series.weights
        },
    }
    for key, name in used.items():
        if name not in found.measures:
            problem = unknown(f"measure of {code.FILE}", name, found.measures)
            raise InputError(problem.problem, problem.remedy, source=str(study.folder / document.FILE), key=key)
