"""The options of the commands that read a scenario: ``ackclock run``, ``sweep`` and ``show``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ackclock.cli.options import (
    AllowLate,
    Engine,
    Jobs,
    Json,
    Kernel,
    Offload,
    Pin,
    by_engine,
    flag,
    repeatable,
)

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

    more = tuple(by_engine(engine, pin, allow_late=allow_late, offload=offload, kernel=kernel))
    changes = (*changes, *more)
    return run(Request(file, out, changes, seed, replications, jobs, json, plot, capture, link_type, more))


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
