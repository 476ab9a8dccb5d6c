"""The options of ``ackclock measure``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from ackclock.cli.examples import of as example
from ackclock.cli.options import Json, Kernel, flag, repeatable

measure_app = App(
    name="measure",
    help="Measure real lines: a server at one end, campaigns of tests at the other.",
    help_epilogue=example("measure"),
)


@measure_app.command(name="serve", help_epilogue=example("measure serve"))
def serve_command(
    *,
    bind: Annotated[str, Parameter(help="Address to listen at; any but a loopback one needs --token or --allow.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, Parameter(help="Port to listen at.")] = 5301,
    allow: Annotated[
        tuple[str, ...], repeatable("Only clients of this network, such as 192.0.2.0/24. Repeatable.")
    ] = (),
    token: Annotated[Path | None, Parameter(help="File with a token that clients must have, too.")] = None,
    max_clients: Annotated[int, Parameter(help="Clients at a time.")] = 1,
    max_rate: Annotated[
        str | None, Parameter(help="The most that all tests together send or take: 100 Mbit/s.")
    ] = None,
    max_bytes: Annotated[str | None, Parameter(help="Bytes of a test at most: 1 GB.")] = None,
    max_total: Annotated[str | None, Parameter(help="Bytes of all tests together at most: 100 GB.")] = None,
    expire: Annotated[str | None, Parameter(help="End after this time: 1 h.")] = None,
) -> int:
    """Be the other end of measurements: send and take data for those who may ask for it."""
    from ackclock.cli.measure import Serving, serve

    return serve(Serving(bind, port, allow, token, max_clients, max_rate, max_bytes, max_total, expire))


CampaignFile = Annotated[Path, Parameter(help="A campaign in TOML (docs/measure.md).")]
Token = Annotated[Path | None, Parameter(help="File with the server's token, in place of the campaign's.")]
Yes = Annotated[bool, flag("Measure metered lines, too, however much goes over them.")]
Virtual = Annotated[bool, flag("Play lines that are a scenario's path in virtual time (docs/shell.md).")]
Lines = Annotated[tuple[str, ...], repeatable("Only this line. Repeatable.", name="--line")]


@measure_app.command(name="plan", help_epilogue=example("measure plan"))
def plan_command(file: CampaignFile, /, *, json: Json = False) -> int:
    """Say what a campaign does, how long it takes and how much data it needs; nothing is sent.

    The exit code is 1 where something that measure run needs is not here: token, interface, controller, buffer size.
    """
    from ackclock.cli.measure_campaign import plan

    return plan(file, as_json=json)


@measure_app.command(name="run", help_epilogue=example("measure run"))
def run_command(
    file: CampaignFile,
    /,
    *,
    out: Annotated[
        Path | None, Parameter(help="Directory that keeps the tests and the tables. Default: results/NAME of the file.")
    ] = None,
    lines: Lines = (),
    token: Token = None,
    yes: Yes = False,
    virtual: Virtual = False,
    kernel: Kernel = None,
    once: Annotated[
        bool, flag("Only the next repetition, in a directory that may be begun: for cron and timers.")
    ] = False,
    daemon: Annotated[bool, flag("Wait for the times of [schedule], and make a repetition at each.")] = False,
) -> int:
    """Make the tests of a campaign, and keep each as it ends."""
    from ackclock.cli.measure_campaign import Request, keep_time, run
    from ackclock.errors import InputError

    if once and daemon:
        raise InputError("it ends after one repetition, and --daemon after the last", "give one of them", key="--once")
    request = Request(lines, token, yes, virtual=virtual, kernel=kernel, once=once)
    return (keep_time if daemon else run)(file, out or Path("results") / file.stem, request)


@measure_app.command(name="resume", help_epilogue=example("measure resume"))
def resume_command(
    directory: Annotated[Path, Parameter(help="Where measure run keeps a campaign.")],
    /,
    *,
    lines: Lines = (),
    token: Token = None,
    yes: Yes = False,
    retry_failed: Annotated[bool, flag("Make tests again that failed before.")] = False,
    virtual: Virtual = False,
    kernel: Kernel = None,
) -> int:
    """Go on with a campaign that was interrupted: what is there is not made again."""
    from ackclock.cli.measure_campaign import Request, resume

    return resume(directory, Request(lines, token, yes, retry_failed, virtual, kernel))


@measure_app.command(name="why", help_epilogue=example("measure why"))
def why_command(
    directory: Annotated[
        Path, Parameter(help="A result: of measure run, of import, or of a run that recorded series.")
    ],
    /,
    *,
    json: Json = False,
) -> int:
    """Say what keeps few connections from having all of a line: a verdict for each line, with its evidence."""
    from ackclock.cli.measure_why import why

    return why(directory, as_json=json)
