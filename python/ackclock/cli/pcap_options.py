"""The options of ``ackclock pcap``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.cli.entry import MisuseError
from ackclock.cli.options import flag, repeatable
from ackclock.cli.plot_options import Connection, End, Start
from ackclock.errors import InputError


def pcap_command(
    files: Annotated[
        tuple[str, ...],
        Parameter(
            consume_multiple=True,
            allow_leading_hyphen=True,
            show_default=False,
            help="Captures (pcap, pcapng, also with .gz), folders of them, - for standard input, or what --out kept.",
        ),
    ] = (),
    /,
    *,
    flows: Annotated[bool, flag("Print the row of every direction of every connection, as CSV.")] = False,
    series: Annotated[bool, flag("Print samples over time, as CSV; with --out also keep them.")] = False,
    events: Annotated[bool, flag("Print what happened to each packet, as CSV; with --out also keep it.")] = False,
    out: Annotated[
        Path | None,
        Parameter(help="Write Parquet tables and a manifest to this directory; an older result there is replaced."),
    ] = None,
    label: Annotated[
        tuple[str, ...], repeatable("A group of captures: off=a.pcap,b.pcap or off=FOLDER. Repeatable.", name="--label")
    ] = (),
    base: Annotated[str | None, Parameter(help="The label that others are compared with. Default: the first.")] = None,
    weights: Annotated[
        str | None,
        Parameter(help="What captures of a group are weighted by: field-trial, or words of names, NC=25,MC=30,FC=45."),
    ] = None,
    most: Annotated[int, Parameter(help="Connections that are shown.")] = 8,
    plot: Annotated[
        Path | None,
        Parameter(
            help="Draw sequence numbers over time into this file (SVG, PNG or PDF): the connection with most data, "
            "or of several captures all."
        ),
    ] = None,
    connection: Connection = (),
    start: Start = None,
    end: End = None,
    check: Annotated[bool, flag("Hold the analysis against the truth in captures of ackclock run --capture.")] = False,
    truth: Annotated[
        Path | None,
        Parameter(help="With --check: the directory of the run (--out), whose figures are compared, too."),
    ] = None,
    anonymise: Annotated[bool, flag("Replace addresses by numbers, the same in all captures.")] = False,
    sort: Annotated[int, Parameter(help="Put packets in the order of their times, so many at a time.")] = 0,
    merge_interfaces: Annotated[bool, flag("Packets of different interfaces may be of one connection.")] = False,
    checksums: Annotated[
        bool, flag("Count packets whose checksum is wrong, as it is where a network card fills it in.")
    ] = False,
    max_bytes: Annotated[int | None, Parameter(help="Read no more than so many bytes of a capture, unpacked.")] = None,
    json: Annotated[bool, flag("Print one JSON object, of --flows and so on one for each row.", name="--json")] = False,
) -> int:
    """Analyse TCP connections in packet captures: who limited, what was lost and why, round trips."""
    from ackclock.cli.pcap import Request, run
    from ackclock.pcaps.escaped import escaped
    from ackclock.pcaps.inputs import STDIN
    from ackclock.pcaps.reading import Options

    for word in files:
        if word.startswith("-") and word != STDIN and not Path(word).exists():
            raise MisuseError(f"Unknown option: {escaped(word)}")
    given = (("flows", flows), ("series", series), ("events", events))
    tables = tuple(name for name, wanted in given if wanted)
    figure = None
    if plot is not None:
        from ackclock.cli.captured_figure import Asked

        figure = Asked(plot, connection, start, end)
    if figure is None and (connection or start is not None or end is not None):
        key = "connection" if connection else "from" if start is not None else "to"
        raise InputError("it says what a figure shows", "give its file, too: --plot FILE.svg", key=key)
    series, events = series or figure is not None, events or figure is not None
    options = Options(series, events, merge_interfaces, sort, max_bytes, checksums).checked()
    asked = (files, tables, out, label, base, weights, most, options, anonymise, json, check, truth, figure)
    return run(Request(*asked))
