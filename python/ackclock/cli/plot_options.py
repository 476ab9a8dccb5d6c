"""The options of ``ackclock plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.cli.options import Json, UseLate, repeatable

Connection = Annotated[
    tuple[str, ...],
    repeatable(
        "Of sequence: these connections of a capture by number, 3 or 0,3, or all over each other: all. Repeatable.",
        name="--connection",
    ),
]
Start = Annotated[str | None, Parameter(name="--from", help="Of sequence: nothing before this time, 1.5 or 300ms.")]
End = Annotated[str | None, Parameter(name="--to", help="Of sequence: nothing after this time.")]


def plot_command(
    directory: Annotated[Path, Parameter(help="A result: what run --out or sweep wrote.")],
    /,
    *,
    kind: Annotated[
        str | None,
        Parameter(
            help="curve, ecdf, box, pareto, heatmap, fct, timeseries, share, convergence, sequence, map, waterfall. "
            "Default: what suits the result."
        ),
    ] = None,
    x: Annotated[str | None, Parameter(help="The swept key along the x axis; of pareto a metric.")] = None,
    y: Annotated[
        tuple[str, ...],
        repeatable("A metric, such as goodput_bps; of timeseries one or several series, such as cwnd. Repeatable."),
    ] = (),
    by: Annotated[
        str | None, Parameter(help="The swept key that is compared, or group for groups of flows. Default: cc.")
    ] = None,
    facet: Annotated[str | None, Parameter(help="The swept key that has a panel for each value.")] = None,
    where: Annotated[tuple[str, ...], repeatable('Only runs with KEY=VALUE: "topology.rtt=20 ms". Repeatable.')] = (),
    user: Annotated[
        tuple[str, ...], repeatable("Only these users of a cell, or clients, by number: 3 or 0,3. Repeatable.")
    ] = (),
    page: Annotated[int | None, Parameter(help="Of waterfall: the number of the page, from 0.")] = None,
    connection: Connection = (),
    start: Start = None,
    end: End = None,
    format: Annotated[str | None, Parameter(help="svg, pdf or png. Default: svg, or what --out ends with.")] = None,
    width: Annotated[str, Parameter(help="column (3.5 in) or page (7.16 in) of a paper of two columns.")] = "column",
    out: Annotated[Path | None, Parameter(help="A file or a directory. Default: plots in DIRECTORY.")] = None,
    json: Json = False,
    allow_late: UseLate = False,
) -> int:
    """Draw a figure of a result: the one that suits what was swept, or another."""
    from ackclock.cli.plot import Request, run

    asked = (
        directory,
        kind,
        x,
        y,
        by,
        facet,
        where,
        format,
        width,
        out,
        json,
        user,
        page,
        connection,
        start,
        end,
        allow_late,
    )
    return run(Request(*asked))
