"""``ackclock study``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.cli import console, lasting
from ackclock.cli.exit_codes import FAILED, FINDING, INTERRUPTED, OK
from ackclock.cli.options import by_engine, effective
from ackclock.scenario.plan import Plan
from ackclock.study import load, locate, measured, output, runner, selections, skeleton, unplayed, warned, wording
from ackclock.study.document import read
from ackclock.study.failures import by_problem, grouped
from ackclock.study.model import Reading, Study
from ackclock.study.output import REPORT
from ackclock.study.place import Place
from ackclock.study.runner import NOT_JUDGED, Report, plans
from ackclock.sweeps.arguments import checked_jobs
from ackclock.sweeps.engines import SIM, played_by

_MOST_FAILED = 10  # of which a line each is printed; report.md has all
_WIDE = 100  # columns that lines of claims take at most
_COLOURS = {"pass": "green", "fail": "red", "inconclusive": "yellow", NOT_JUDGED: "dim"}


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    name: str
    quick: bool
    cc: tuple[str, ...]
    out: Path | None
    jobs: int | None
    as_json: bool
    strict: bool = False
    engine: str | None = None
    kernel: str | None = None
    pin: int | None = None
    allow_late: bool = False
    measured: Path | None = None


def list_studies(*, as_json: bool) -> int:
    """Print the studies that come with the package."""
    found = [read(locate.find(name)) for name in locate.names()]
    if as_json:
        console.print_json({"studies": [_heading(study) for study in found]})
        return OK
    rows = [["study", "title", "source"], *([study.name, study.title, study.citation.short] for study in found)]
    rest = "ackclock study show NAME has it"
    console.print_table(console.stdout(), rows, ["left"] * 3, least=[2], rest=rest, squeeze=True)
    return OK


def show(name: str, *, as_json: bool) -> int:
    """Print what a study has: source, scenarios, claims, tables and figures."""
    loaded = load(name)
    study, claims = loaded.study, loaded.code.claims
    full, quick = plans(study), plans(study, quick=True)
    selections.check(study, full)
    if as_json:
        console.print_json(
            {
                **_heading(study),
                "scenarios": [
                    {"id": item.id, "title": item.title, "runs": len(full[item.id]), "quick_runs": len(quick[item.id])}
                    for item in study.settings
                ],
                "claims": [
                    {
                        "id": item.id,
                        "statement": item.statement,
                        "unit": item.unit,
                        "paper": item.paper,
                        "origin": item.origin,
                        "tolerance": item.tolerance,
                        "soft": item.soft,
                    }
                    for item in claims
                ],
                "tables": [{"id": item.id, "title": item.title, "paper": item.paper} for item in study.tables],
                "figures": [{"id": item.id, "title": item.title, "paper": item.paper} for item in study.figures],
                "readme": str(study.folder / "README.md"),
            }
        )
        return OK
    out = console.stdout()
    console.say(out, f"{study.name}: {study.title}\n{study.citation}")
    for text in (study.citation.note, study.summary):
        if text:
            console.say(out, f"\n{text}")
    rows = [["scenario", "runs", "quick", "what"]]
    rows += [[item.id, str(len(full[item.id])), str(len(quick[item.id])), item.title] for item in study.settings]
    _section(out, rows, ["left", "right", "right", "left"])
    rows = [["claim", "paper", "tolerance", "statement"]]
    for item in claims:
        name = f"{item.id} (soft)" if item.soft else item.id
        rows.append([name, wording.paper(item), item.tolerance, item.statement])
    _section(out, rows, ["left"] * 4)
    rows = [["makes", "of the paper", "title"]]
    rows += [[f"tables/{item.id}", item.paper, item.title] for item in study.tables]
    rows += [[f"figures/{item.id}", item.paper, item.title] for item in study.figures]
    _section(out, rows, ["left"] * 3)
    if study.readings:
        rows = [["reading", "what", "why"]]
        rows += [[each.id, each.title, _reason(each)] for each in study.readings]
        _section(out, rows, ["left"] * 3)
    console.say(out, f"\n{study.citation.bibtex(study.name)}")
    console.say(out, f"\nread more: {study.folder / 'README.md'}")
    return OK


def _reason(reading: Reading) -> str:
    """Why a reading is one, and of one that was found what it costs."""
    return f"{reading.reason} Found by search; {reading.price}" if reading.found else reading.reason


def new(directory: Path) -> int:
    """Write a new study, and say what to do with it."""
    out = console.stdout()
    for path in skeleton.write(directory):
        console.say(out, str(path))
    console.say(out, f"\nit runs as it is: ackclock study run {directory} --quick\nthen replace what is in capitals")
    return OK


def run(request: Request) -> int:
    """Run a study, print and write what came out. The exit code says whether a run failed and the claims hold."""
    checked_jobs(request.jobs)  # before the plans, which take seconds
    given = by_engine(None, request.pin, allow_late=request.allow_late, offload=False, kernel=request.kernel)
    effective(given, {request.engine or SIM})
    loaded = load(request.name)
    on = [request.engine] if request.engine not in (None, SIM) else []
    default = Path("results") / "-".join([loaded.study.name, *(["quick"] if request.quick else []), *on])
    asked: list[Plan] = []
    if on:
        left_out = unplayed.scenarios(loaded.study, on[0])
        full = plans(loaded.study, quick=request.quick)
        asked = [played_by(plan, on[0]) for name, plan in full.items() if name not in left_out]
    if request.measured is not None:
        measured.load(loaded, request.measured)  # what cannot be used is said before anything is played
    place = Place(request.out or default, loaded.study)
    there = "what had finished is"
    try:
        with console.progress() as progress:

            def tell(finished: int, total: int) -> None:
                nonlocal there
                if finished:
                    there = f"{finished} of {total} runs are"
                progress(finished, total)

            report = runner.run(
                loaded,
                quick=request.quick,
                cc=request.cc,
                engine=request.engine,
                kernel=request.kernel,
                pin=request.pin,
                allow_late=request.allow_late,
                jobs=request.jobs,
                keep=place.runs,
                progress=lasting.announced(asked, tell, refusing=True),
            )
        beside = None if request.measured is None else measured.judged(loaded, report, request.measured)

        def made(folder: Path) -> None:
            output.write(report, folder)
            if beside is not None:
                measured.write(beside, folder)

        place.write(made)
    except KeyboardInterrupt:
        console.warn(f"interrupted: {there} kept in {place.runs}; the same command goes on")
        return INTERRUPTED
    finally:
        place.discard()
    for item in report.claims:
        if item.broken:
            console.warn(f"{loaded.study.folder / 'claims.py'}: the check of {item.claim.id} raised {item.broken}")
    if on:
        _warn_of_refusals(report, on[0])
    else:
        _warn_of_failures(report)
    for warning in warned.kinds(report.results.results):
        console.warn(warning)
    if request.as_json:
        console.print_json(report.to_json() | ({"measured": beside.to_json()} if beside is not None else {}))
    else:
        _print(console.stdout(), report, place.path)
        if beside is not None:
            _print_measured(console.stdout(), beside, place.path)
    return _exit_code(report, strict=request.strict)


def _exit_code(report: Report, *, strict: bool) -> int:
    """1 where something went wrong, 3 where a claim does not hold; with `strict` 1 for any that did not pass."""
    if report.broken or (strict and any(item.verdict.outcome != "pass" for item in report.claims)):
        return FAILED
    return FINDING if report.open else OK


def _warn_of_failures(report: Report) -> None:
    found = grouped(report.failures)
    for first, count in found[:_MOST_FAILED]:
        swept = "".join(f", {key}={value}" for key, value in first.params.items())
        runs = f"run {first.run}" if count == 1 else f"run {first.run} and {count - 1} more"
        console.warn(f"{first.scenario}{swept}: {runs} failed: {first.problem}")
    if len(found) > _MOST_FAILED:
        console.warn(f"and {len(found) - _MOST_FAILED} more swept points: {REPORT} has all")


def _warn_of_refusals(report: Report, engine: str) -> None:
    """A line for each reason why the engine could not play something, with how much of which scenarios that is."""
    for problem, failures in by_problem(report.failures).items():
        scenarios = ", ".join(dict.fromkeys(failure.scenario for failure in failures))
        runs = "1 run" if len(failures) == 1 else f"{len(failures)} runs"
        console.warn(f"{engine}: {runs} of {scenarios} without a result: {problem}")


def _print(out: console.Output, report: Report, folder: Path) -> None:
    """What was written and where, then the claims."""
    from rich.text import Text

    study = report.study
    runs = sum(result.runs.height for result in report.results.results.values())
    failed = f" and {len(report.failures)} failed" if report.failures else ""
    written = [f"report: {folder / REPORT}"]
    written += [f"tables: {folder / 'tables'} ({len(study.tables)}, as text and CSV)"] if study.tables else []
    written += [f"figures: {folder / 'figures'} ({len(study.figures)}, as SVG, PNG and CSV)"] if study.figures else []
    for text in (f"{study.name}: {runs} runs{failed}, {report.wall_s:.1f} s", *written, ""):
        console.say(out, text)
    for item in report.claims:
        first, *others = wording.lines(item, quick=report.quick, width=min(out.width, _WIDE))
        line, word = Text(first), item.verdict.outcome if item.judged else NOT_JUDGED
        begin = first.index(word)
        line.stylize(_COLOURS[word], begin, begin + len(word))
        console.say(out, line)
        for other in others:
            console.say(out, other)
    counted = [
        f"{count} {outcome}"
        for outcome in _COLOURS
        if (count := sum((item.verdict.outcome if item.judged else NOT_JUDGED) == outcome for item in report.claims))
    ]
    why = f"; what decided: {REPORT}" if len(counted) > 1 or "pass" not in counted[0] else ""
    quick = f"; {wording.NO_EVIDENCE}" if report.quick else ""
    console.say(out, f"\nclaims: {', '.join(counted)}{quick}{why}")


def _print_measured(out: console.Output, beside: measured.Measured, folder: Path) -> None:
    console.say(out, f"\nmeasured: {folder / measured.PLACE / REPORT}")
    for item in beside.claims:
        for line in wording.lines(item, quick=False, width=min(out.width, _WIDE)):
            console.say(out, line)


def _section(out: console.Output, rows: Sequence[Sequence[str]], justify: Sequence[console.Justify]) -> None:
    out.print()
    console.print_table(out, rows, justify, squeeze=True)


def _heading(study: Study) -> dict[str, Any]:
    citation = study.citation
    return {
        "study": study.name,
        "title": study.title,
        "summary": study.summary,
        "citation": {
            "authors": list(citation.authors),
            "title": citation.title,
            "original_authors": list(citation.original_authors),
            "original_title": citation.original_title,
            "institution": citation.institution,
            "published": citation.published,
            "year": citation.year,
            "note": citation.note,
            "bibtex": citation.bibtex(study.name),
        },
        "folder": str(study.folder),
    }
