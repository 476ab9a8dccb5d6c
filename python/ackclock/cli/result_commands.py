"""The options of the commands that read a result: ``ackclock query``, ``rank`` and ``compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.cli.options import Json, UseLate, flag, repeatable


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
