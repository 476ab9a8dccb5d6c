"""The overview figure: congestion window, queue, goodput and what a cell does over time, a column per swept point."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl

from ackclock.drawing import curves
from ackclock.drawing.overtime import Column, chart, usual
from ackclock.drawing.picture import drawable, write, write_file
from ackclock.drawing.style import RC
from ackclock.drawing.traces import ROWS, of_point
from ackclock.errors import InputError
from ackclock.series import OVERVIEW_OF_CELL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.results.result import Result

_ROWS = (*ROWS, *OVERVIEW_OF_CELL)
_COLUMNS = 4  # per figure; further points go into further files
_WIDTHS = {1: 4.2, 2: 5.8}  # inches; wider figures fill a page of two columns
_WIDTH = 7.2


def save(result: Result, folder: str | os.PathLike[str], name: str = "overview") -> list[Path]:
    """Draw `result` into PNG and SVG files in `folder`, which must be there, and return their paths.

    Up to four swept points share a figure, as columns; more give ``<name>-1``, ``<name>-2`` and so on. Of each point
    the first replication is drawn. The same result gives the same files. Raises :class:`ackclock.InputError` if the
    result has none of the series cwnd, queue and delivered, or the files cannot be written.
    """
    found = columns(result)
    if not found:
        remedy = 'record them: [probes] with interval = "100 ms", or run with --plot'
        raise InputError("the result has no series to draw", remedy)
    groups = [found[start : start + _COLUMNS] for start in range(0, len(found), _COLUMNS)]
    paths: list[Path] = []
    with mpl.rc_context(RC):
        for number, group in enumerate(groups, start=1):
            stem = name if len(groups) == 1 else f"{name}-{number}"
            paths.extend(write(draw(group), Path(folder), stem))
    return paths


def save_file(result: Result, path: str | os.PathLike[str]) -> Path:
    """Draw `result`, four points at most, into one file of the kind its name says: PNG, SVG or PDF."""
    file = drawable(path)
    with mpl.rc_context(RC):
        write_file(draw(columns(result)[:_COLUMNS]), file)
    return file


def columns(result: Result) -> list[Column]:
    """The points that have a finished run with one of the series."""
    there = set(result.runs["point"].to_list())
    made = []
    for point in (entry["point"] for entry in result.manifest["points"] if entry["point"] in there):
        row = result.runs.filter(result.runs["point"] == point).row(0, named=True)
        title = "\n".join(f"{key.rpartition('.')[2]} = {row[key]}" for key in result.params)
        made.append(Column(title, {name: of_point(result, point, name) for name in _ROWS}))
    return [column for column in made if any(row.traces for row in column.rows.values())]


def draw(found: Sequence[Column]) -> Figure:
    """One figure of so many columns, with the rows that have something to show.

    Call it within the settings of :data:`ackclock.drawing.style.RC`.
    """
    rows = usual([name for name in _ROWS if any(column.rows[name].traces for column in found)]) or ROWS
    return curves.draw(chart(found, rows), _WIDTHS.get(len(found), _WIDTH))
