"""Tables of captures as ``ackclock pcap`` prints them: rows, everything as JSON, and what a summary of them shows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import polars as pl

from ackclock.cli import captured as words
from ackclock.cli import connections, lines
from ackclock.pcaps.analyse import Session
from ackclock.pcaps.digest import Digest
from ackclock.pcaps.escaped import in_csv
from ackclock.results import captured, warnings

if TYPE_CHECKING:
    from ackclock.cli.captured_figure import Figure
    from ackclock.pcaps.groups import Groups

_ROWS = 50_000
"""Rows that are printed at a time."""
_FREE = frozenset({"file", "label", "name"})
"""Columns whose text somebody else may have chosen."""


def rows(done: Session, name: str, *, as_json: bool) -> None:
    """Every row of a table, as CSV or as an object on each line."""
    table = done.table(name)
    texts = [column for column, kind in table.collect_schema().items() if kind == pl.String]
    if not as_json:
        safe = (pl.col(column).map_elements(in_csv, return_dtype=pl.String) for column in texts)
        table = table.with_columns(*(each for each, column in zip(safe, texts, strict=True) if column in _FREE))
    head = True
    for batch in table.collect_batches(chunk_size=_ROWS, maintain_order=True):
        sys.stdout.write(batch.write_ndjson() if as_json else batch.write_csv(include_header=head))
        head = False
    if head and not as_json:
        sys.stdout.write(table.collect().write_csv())


def everything(done: Session, base: str | None, weights: str | None, figure: Figure | None) -> None:
    """One object with all of it."""
    answer: dict[str, Any] = {
        "captures": done.table("captures").collect().to_dicts(),
        "flows": done.table("flows").collect().to_dicts(),
        "warnings": warnings.of(done.manifest),
    }
    if done.labelled:
        answer |= _grouped(done, base, weights).to_json()
    lines.print_json(answer if figure is None else answer | {"figure": figure.to_json()})


def summary(done: Session, most: int, base: str | None, weights: str | None) -> None:
    """What is in the captures, and the largest connections; of groups what they gain instead."""
    found = _digest(done, 0 if done.labelled else most)
    if done.labelled:
        from ackclock.cli import gains

        files = {row["run"]: row for row in found.captures}
        packets = sum(row["packets"] for row in found.captures)
        lines.say(f"{connections.count(len(files), 'capture')}, {connections.count(packets, 'packet')}")
        if cut := sum(row["truncated"] is not None for row in files.values()):
            lines.say(f"{cut} of them TRUNCATED")
        gains.show(_grouped(done, base, weights))
        if not found.carrying:
            words.largest(found, most)
    else:
        words.files(found.captures)
        words.largest(found, most)


def _digest(done: Session, most: int) -> Digest:
    """What the tables say, as a digest of the captures has it."""
    carrying = captured.carrying(done.table("flows"))
    order = ["run", "connection", "id"]
    largest = carrying.sort("goodput_bytes", *order, descending=[True, False, False, False]).head(most)
    return Digest(
        done.table("captures").collect().to_dicts(),
        largest.collect().sort(order).to_dicts(),
        carrying.select(pl.len()).collect().item(),
        warnings.of(done.manifest),
        done.several,
        done.unread,
    )


def _grouped(done: Session, base: str | None, weights: str | None) -> Groups:
    from ackclock.pcaps.groups import groups

    return groups(done.result, base=base, weights=weights)
