"""The options of ``ackclock agree``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.cli.options import Json, Kernel, Offload, Pin, UseLate, by_engine, repeatable


def agree_command(
    file: Annotated[Path, Parameter(help="A scenario in TOML.")],
    /,
    *,
    engines: Annotated[
        str, Parameter(help="Names with commas: sim, kernel-vt, kernel. The others are compared with the first.")
    ] = "sim,kernel",
    out: Annotated[
        Path | None, Parameter(help="Directory for the page and the runs of each engine. Default: results/NAME-agree.")
    ] = None,
    changes: Annotated[
        tuple[str, ...], repeatable("Change a key, as of ackclock run. A list is a sweep. Repeatable.", name="--set")
    ] = (),
    seed: Annotated[int | None, Parameter(help="Master seed, in place of run.seed.")] = None,
    replications: Annotated[
        int | None, Parameter(help="Of every engine. Default: run.replications, but at least 3.")
    ] = None,
    margin: Annotated[
        tuple[str, ...],
        repeatable(
            "Up to where a difference does not matter: 5%, or METRIC=5%. Default: goodput_bps=1%, "
            "mean_queue_delay_s=5%, retransmitted_percent=20%. Repeatable."
        ),
    ] = (),
    jobs: Annotated[int | None, Parameter(help="Runs at a time, of engines in virtual time.")] = None,
    kernel: Kernel = None,
    pin: Pin = None,
    allow_late: UseLate = False,
    offload: Offload = False,
    json: Json = False,
) -> int:
    """Play a scenario on several engines; a page says how far they agree. Exit code 1 if that is not shown."""
    from ackclock.cli.agree import Request, run

    changes = (*changes, *by_engine(None, None, allow_late=False, offload=offload, kernel=kernel))
    given = by_engine(None, pin, allow_late=allow_late, offload=offload, kernel=kernel)
    return run(
        Request(file, engines, out, changes, seed, replications, margin, jobs, pin, allow_late, json, kernel, given)
    )
