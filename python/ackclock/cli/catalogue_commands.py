"""The options of ``ackclock cc`` and ``ackclock doctor``: what there is, and what this computer can do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.cli.options import Json, flag, repeatable


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
