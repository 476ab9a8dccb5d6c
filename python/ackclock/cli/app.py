"""The commands and their options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import cyclopts
from cyclopts import App, Parameter

import ackclock
from ackclock.cli import kernels, words
from ackclock.cli.advise import advise_app
from ackclock.cli.agree_options import agree_command
from ackclock.cli.entry import MisuseError
from ackclock.cli.entry import main as main
from ackclock.cli.examples import of as example
from ackclock.cli.get import get_command
from ackclock.cli.imports import import_app
from ackclock.cli.measure_options import measure_app
from ackclock.cli.options import AllowLate, Engine, Json, Kernel, Offload, Pin, UseLate, by_engine, flag, repeatable
from ackclock.cli.pcap_options import pcap_command
from ackclock.cli.plot_options import plot_command
from ackclock.cli.proxy import proxy_command
from ackclock.cli.shell import USAGE as SHELL_USAGE
from ackclock.cli.shell import shell_command
from ackclock.errors import one_line

app = App(
    name="ackclock",
    help="A laboratory for TCP congestion control.",
    version=lambda: ackclock.__version__,
    help_epilogue=example(""),
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # main says what was interrupted
)
app.register_install_completion_command(help="Install completion for your shell: bash, zsh, fish or PowerShell.")


File = Annotated[Path, Parameter(help="A scenario in TOML.")]
Changes = Annotated[
    tuple[str, ...],
    repeatable(
        'Change a key: cc=cubic, topology.rtt="40 ms", run.duration="10 s". A list is a sweep. Repeatable.',
        name="--set",
    ),
]
Seed = Annotated[int | None, Parameter(help="Master seed, in place of run.seed.")]
Replications = Annotated[int | None, Parameter(help="In place of run.replications.")]
Jobs = Annotated[int | None, Parameter(help="Runs at a time. Default: as many as there are processors.")]


@app.command(name="run", help_epilogue=example("run"))
def run_command(
    file: File,
    /,
    *,
    out: Annotated[
        Path | None,
        Parameter(help="Write Parquet tables and a manifest to this directory; an older result there is replaced."),
    ] = None,
    changes: Changes = (),
    seed: Seed = None,
    replications: Replications = None,
    jobs: Jobs = None,
    json: Json = False,
    plot: Annotated[bool, flag("Draw cwnd, queue and goodput over time, into --out or FILE-plots (PNG, SVG).")] = False,
    capture: Annotated[
        Path | None,
        Parameter(
            help="Write packets to this file (pcapng), as seen where run.capture says or at both ends of each flow; of "
            "several runs to NAME-0.pcapng and so on."
        ),
    ] = None,
    link_type: Annotated[
        Literal["raw", "ethernet"], Parameter(help="What packets in --capture begin with: the IP header, or Ethernet.")
    ] = "raw",
    engine: Engine = None,
    kernel: Kernel = None,
    pin: Pin = None,
    allow_late: AllowLate = False,
    offload: Offload = False,
) -> int:
    """Run a scenario and show a table of means and 95 % confidence intervals."""
    from ackclock.cli.run import Request, run

    more = by_engine(engine, pin, allow_late=allow_late, offload=offload, kernel=kernel)
    changes = (*changes, *more)
    return run(Request(file, out, changes, seed, replications, jobs, json, plot, capture, link_type, more))


@app.command(name="sweep", help_epilogue=example("sweep"))
def sweep_command(
    file: File,
    /,
    *,
    out: Annotated[
        Path | None, Parameter(help="Directory that keeps the runs and the tables. Default: results/NAME of the file.")
    ] = None,
    changes: Changes = (),
    seed: Seed = None,
    replications: Replications = None,
    precision: Annotated[
        str | None,
        Parameter(help="Replicate each point until the 95 % confidence interval is this narrow: 5% of the mean."),
    ] = None,
    max_replications: Annotated[int | None, Parameter(help="At most so many of a point. Default: 100.")] = None,
    metric: Annotated[str | None, Parameter(help="The metric that must be so precise. Default: goodput_bps.")] = None,
    jobs: Annotated[int | None, Parameter(help="Processes. Default: as many as there are processors.")] = None,
    cluster: Annotated[
        str | None, Parameter(help="Play on Dask: the address of a scheduler, or local:N for N processes here.")
    ] = None,
    retry_failed: Annotated[bool, flag("Play runs again that failed before, or are not valid.")] = False,
    everything: Annotated[
        bool, flag("Print every table of all points, not only goodput, delay and fairness.", name="--all")
    ] = False,
    json: Annotated[bool, flag("Print events as lines of JSON.", name="--json")] = False,
    engine: Engine = None,
    kernel: Kernel = None,
    pin: Pin = None,
    allow_late: AllowLate = False,
    offload: Offload = False,
) -> int:
    """Play every run of a scenario that is not there yet; go on after an interruption."""
    from ackclock.cli.sweep import Request, run

    more = by_engine(engine, pin, allow_late=allow_late, offload=offload, kernel=kernel)
    return run(
        Request(
            file,
            out,
            (*changes, *more),
            seed,
            replications,
            precision,
            max_replications,
            metric,
            jobs,
            cluster,
            retry_failed,
            everything,
            json,
            more,
        )
    )


@app.command(name="query", help_epilogue=example("query"))
def query_command(
    directory: Annotated[Path, Parameter(help="A result: what run --out or sweep wrote.")],
    sql: Annotated[str, Parameter(help="A statement that only reads, over runs, flows, links, transfers, series.")],
    /,
    *,
    json: Json = False,
    csv: Annotated[bool, flag("Print CSV.")] = False,
) -> int:
    """Ask a result in SQL (DuckDB)."""
    from ackclock.cli.query import run

    return run(directory, sql, as_json=json, as_csv=csv)


@app.command(name="show", help_epilogue=example("show"))
def show_command(
    file: File,
    /,
    *,
    changes: Changes = (),
    json: Json = False,
    plot: Annotated[
        list[Path] | None,
        Parameter(
            negative=(),
            consume_multiple=(0, 1),
            show_default=False,
            help="Draw the topology into this file (PNG, SVG or PDF). Default: an SVG and a PNG in FILE-plots.",
        ),
    ] = None,
) -> int:
    """Show what a scenario resolves to, without running it."""
    from ackclock.cli.show import show

    return show(file, changes, as_json=json, plot=plot)


@app.command(name="rank", help_epilogue=example("rank"))
def rank_command(
    directory: Annotated[Path, Parameter(help="A directory written by ackclock run --out or sweep.")],
    /,
    *,
    by: Annotated[
        str | None,
        Parameter(help="The swept key whose values are ranked. Default: cc, or the only choice that is swept."),
    ] = None,
    base: Annotated[
        str | None, Parameter(help="The value that the others are given against. Default: the best.")
    ] = None,
    goal: Annotated[
        str | None,
        Parameter(
            help='What is good: "goodput_bps up, p95_queue_delay_s down 2x" (2x is a weight), or bulk, interactive, '
            "low-delay, pantheon. Default: bulk, or interactive where nothing sends as much as it can."
        ),
    ] = None,
    metric: Annotated[tuple[str, ...], repeatable("Show this metric beside those of the goal. Repeatable.")] = (),
    group: Annotated[
        str | None, Parameter(help="Rank by the flows of this [[flows]] table only: its number from 0, or their name.")
    ] = None,
    engine: Annotated[
        str | None, Parameter(help="Of several engines only what this one played. Default: each by itself.")
    ] = None,
    kernel: Annotated[
        str | None, Parameter(help="Of several kernels in virtual time only this one. Default: each by itself.")
    ] = None,
    json: Json = False,
    allow_late: UseLate = False,
) -> int:
    """Rank controllers, or values of a swept key: which is best, how sure that is, and what it costs."""
    from ackclock.cli.rank import Request, run

    return run(Request(directory, by, base, goal, metric, group, json, allow_late, engine, kernel))


@app.command(name="compare", help_epilogue=example("compare"))
def compare_command(
    a: Annotated[Path, Parameter(help="A directory written by ackclock run --out or sweep.")],
    b: Annotated[Path | None, Parameter(help="Another one. Without it, values of --by within A.")] = None,
    /,
    *,
    by: Annotated[
        str | None, Parameter(help="A swept key: compare its values within A; between A and B it need not match.")
    ] = None,
    base: Annotated[str | None, Parameter(help="The value of --by to compare with. Default: the first.")] = None,
    metric: Annotated[
        tuple[str, ...],
        repeatable("Only this metric. Repeatable."),
    ] = (),
    margin: Annotated[
        tuple[str, ...],
        repeatable(
            "Up to where a difference does not matter: 5%, or METRIC=5%. Tests for equivalence too. Repeatable."
        ),
    ] = (),
    agreement: Annotated[
        bool,
        flag("Ask whether goodput agrees within 5 %, RTT within 10 %, and the order of points; exit code 1 if not."),
    ] = False,
    everything: Annotated[
        bool, flag("All metrics that both have, not only goodput, delay, fairness and completion times.", name="--all")
    ] = False,
    json: Json = False,
    allow_late: UseLate = False,
) -> int:
    """Compare two results, or values of a swept key: differences, intervals, adjusted p-values, verdicts."""
    from ackclock.cli.compare import Request, run

    return run(Request(a, b, by, base, metric, margin, agreement, everything, json, allow_late))


app.command(agree_command, name="agree", help_epilogue=example("agree"))
app.command(plot_command, name="plot", help_epilogue=example("plot"))
app.command(pcap_command, name="pcap", help_epilogue=example("pcap"))
app.command(shell_command, name="shell", usage=SHELL_USAGE, help_epilogue=example("shell"))
app.command(measure_app)
app.command(import_app)
app.command(get_command, name="get", help_epilogue=example("get"))
app.command(proxy_command, name="proxy", help_epilogue=example("proxy"))
app.command(advise_app)


@app.command(name="cc", help_epilogue=example("cc"))
def cc_command(
    name: Annotated[
        str | None, Parameter(help="A controller or slow start to describe, or python:module:Class.")
    ] = None,
    /,
    *,
    tcp: Annotated[bool, flag("List the TCP options and their value in each profile.")] = False,
    queues: Annotated[bool, flag("List the queueing disciplines with their parameters.")] = False,
    json: Json = False,
    profile: Annotated[str | None, Parameter(help="Profile of the test, such as rfc. Default: linux.")] = None,
    changes: Annotated[
        tuple[str, ...],
        repeatable("Change a parameter or the test: variant=linux, topology.rtt='100 ms'. Repeatable.", name="--set"),
    ] = (),
    plot: Annotated[Path | None, Parameter(help="Draw the test into this file (PNG, SVG or PDF).")] = None,
) -> int:
    """List controllers and slow starts, or describe one with its window in a standard test."""
    from ackclock.cli.cc import Request, describe

    return describe(Request(name, tcp, queues, json, profile, changes, plot))


@app.command(name="doctor", help_epilogue=example("doctor"))
def doctor_command(
    *,
    measure: Annotated[
        bool, flag("First play a second each at 10 to 1000 Mbit/s on the kernel: up to which rate it is in time.")
    ] = False,
    json: Json = False,
) -> int:
    """Show what this computer can do, and what to do about the rest."""
    from ackclock.cli.doctor import doctor

    return doctor(as_json=json, measure=measure)


app.command(kernels.app)

study_app = App(
    name="study",
    help="Studies: published evaluations that can be run, with claims that are checked.",
    help_epilogue=example("study"),
)
app.command(study_app)

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


def played(arguments: Sequence[str]) -> Any:
    """Do what a command line says; what the command answers. Raises :class:`MisuseError`."""
    try:
        return app(words.joined(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except cyclopts.CycloptsError as error:
        said = one_line(str(error))
        if isinstance(error, cyclopts.UnknownCommandError) and error.unused_tokens:
            said = _without_far_guess(said, error.unused_tokens[0])
        raise MisuseError(said if said.endswith("...") else said.removesuffix(".")) from error


def _without_far_guess(said: str, word: str) -> str:
    """`said` without a guess that begins with another letter and has not much of the word: "import" for "report"."""
    import difflib
    import re

    found = re.search(r' Did you mean "([^"]+)"\?', said)
    if found is None or found[1][:1] == word[:1]:
        return said
    return said if difflib.SequenceMatcher(None, word, found[1]).ratio() >= _CLOSE else said.replace(found[0], "")


_CLOSE = 0.75
