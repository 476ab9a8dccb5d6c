"""The options of ``ackclock study``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from ackclock.cli.examples import of as example
from ackclock.cli.options import AllowLate, Engine, Jobs, Json, Kernel, Pin, flag, repeatable

study_app = App(
    name="study",
    help="Studies: published evaluations that can be run, with claims that are checked.",
    help_epilogue=example("study"),
)
StudyName = Annotated[str, Parameter(help="A study by name (ackclock study list), or the directory of one.")]


@study_app.command(name="list", help_epilogue=example("study list"))
def study_list_command(*, json: Json = False) -> int:
    """List the studies that come with the package."""
    from ackclock.cli.study import list_studies

    return list_studies(as_json=json)


@study_app.command(name="show", help_epilogue=example("study show"))
def study_show_command(name: StudyName, /, *, json: Json = False) -> int:
    """Show the source of a study, its scenarios, claims, tables and figures."""
    from ackclock.cli.study import show

    return show(name, as_json=json)


@study_app.command(name="new", help_epilogue=example("study new"))
def study_new_command(directory: Annotated[Path, Parameter(help="A directory that is not there yet.")], /) -> int:
    """Write a new study: scenarios, readings, a claim, a table and a figure that run as they are, to be changed."""
    from ackclock.cli.study import new

    return new(directory)


@study_app.command(name="run", help_epilogue=example("study run"))
def study_run_command(
    name: StudyName,
    /,
    *,
    quick: Annotated[bool, flag("Fewer and shorter runs.")] = False,
    cc: Annotated[
        tuple[str, ...],
        repeatable("A controller beside those that the study compares: cubic, python:my_module:MyCC. Repeatable."),
    ] = (),
    out: Annotated[
        Path | None, Parameter(help="Directory for report, tables, figures and runs. Default: results/NAME.")
    ] = None,
    jobs: Jobs = None,
    strict: Annotated[bool, flag("Exit code 1 unless every claim passes, soft ones too: for CI.")] = False,
    json: Json = False,
    engine: Engine = None,
    kernel: Kernel = None,
    pin: Pin = None,
    allow_late: AllowLate = False,
    measured: Annotated[
        Path | None, Parameter(help="A campaign of measure run: its curves and claims beside those of the runs.")
    ] = None,
) -> int:
    """Run a study and judge its claims; the exit code is 3 if one is refuted or open."""
    from ackclock.cli.study import Request, run

    return run(Request(name, quick, cc, out, jobs, json, strict, engine, kernel, pin, allow_late, measured))
