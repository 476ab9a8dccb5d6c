"""The options of ``ackclock measure``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from ackclock.cli.examples import of as example
from ackclock.cli.options import repeatable

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
    max_rate: Annotated[str | None, Parameter(help="The most that a test sends or takes: 100 Mbit/s.")] = None,
    max_bytes: Annotated[str | None, Parameter(help="Bytes of a test at most: 1 GB.")] = None,
    max_total: Annotated[str | None, Parameter(help="Bytes of all tests together at most: 100 GB.")] = None,
    expire: Annotated[str | None, Parameter(help="End after this time: 1 h.")] = None,
) -> int:
    """Be the other end of measurements: send and take data for those who may ask for it."""
    from ackclock.cli.measure import Serving, serve

    return serve(Serving(bind, port, allow, token, max_clients, max_rate, max_bytes, max_total, expire))
