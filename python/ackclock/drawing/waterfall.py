"""The waterfall of a web page: what each of its objects waited for, and when it came."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ackclock.drawing import users
from ackclock.drawing.chart import Chart, Panel, Scale, Straight
from ackclock.drawing.remarks import Remark
from ackclock.drawing.selection import Selection
from ackclock.drawing.shapes import PHASES, Bar, Link, Schedule
from ackclock.errors import InputError

WAITING, HANDSHAKE, FIRST_BYTE, TRANSFER = PHASES
MOST = 80
"""Objects that a figure has room for."""
_LETTERS = 16  # of a name

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of a run with its objects, as rows of the tables, and whose it is."""

    user: int
    page: Row
    objects: Sequence[Row]
    end: float
    """When it was done, given up, or the run over, s."""
    names: Mapping[int, str]


def waterfall(selection: Selection) -> Chart:
    """The objects of a page from top to bottom, in the order in which the client knew of them, over time."""
    _without(selection)
    chosen = _chosen(selection)
    start = chosen.page["start_s"]
    rows = sorted(
        chosen.objects, key=lambda row: (_or_never(row["known_s"]), _or_never(row["requested_s"]), row["object"])
    )
    unknown = sum(row["known_s"] is None for row in rows)
    rows = [row for row in rows if row["known_s"] is not None]
    if len(rows) > MOST:
        selection.remarks.append(Remark(f"the first {MOST} of {len(rows)} objects"))
        rows = rows[:MOST]
    if unknown:
        selection.remarks.append(Remark(f"the client never knew of {unknown} objects", news=False))
    first_use = _first_uses(chosen.objects)
    place = {row["object"]: at for at, row in enumerate(rows)}
    bars = [bar for at, row in enumerate(rows) for bar in _bars(at, row, row["object"] in first_use, chosen.end)]
    links = [
        Link(place[row["parent"]], at, done, row["known_s"])
        for at, row in enumerate(rows)
        if row["parent"] in place and (done := _done(chosen.objects, row["parent"])) is not None
    ]
    shift = [Bar(bar.row, bar.phase, bar.start - start, bar.end - start) for bar in bars]
    drawn = Schedule(
        tuple(sorted(shift, key=lambda bar: (PHASES.index(bar.phase), bar.row))),
        tuple(Link(link.from_row, link.to_row, link.start - start, link.end - start) for link in links),
        tuple(at for at, row in enumerate(rows) if row["done_s"] is None),
        "did not come",
    )
    known = chosen.page["plt_s"]
    marks = () if known is None else (Straight(f"page load time, {known:.3g} s", x=known),)
    panel = Panel(_title(chosen), marks=marks, schedule=drawn)
    ticks = tuple(_tick(row, chosen.names) for row in rows)
    end = max([chosen.end - start, *(bar.end for bar in shift)])
    y = Scale("object, connection, size", ticks=ticks)
    return Chart("", Scale("time since the page began (s)", low=0.0, high=1.02 * end), y, (panel,))


def _without(selection: Selection) -> None:
    request = selection.request
    for option, given in (("x", request.x), ("y", request.y), ("by", request.by), ("facet", request.facet)):
        if given:
            raise InputError("a waterfall is of one page", "choose it with --user, --page and --where", key=option)
    if len(request.user) > 1:
        raise InputError("a waterfall is of one user", "give one number", key="user")


def _chosen(selection: Selection) -> _Page:
    """The page that was asked for, or one that took as long as half of them do."""
    result = selection.result
    point = selection.points[0]
    run = result.runs.filter(pl.col("point") == point).row(0, named=True)
    resolved = result.resolved(point)
    of = users.of_flows(resolved)
    pages = result.pages.filter(pl.col("run") == run["run"])
    if not pages.height:
        raise InputError("there are no web pages", 'draw a result of flows with app = { kind = "web" }', key="kind")
    objects = result.objects.filter(pl.col("run") == run["run"])
    if not objects.height:
        remedy = "run it again with --set app.objects_table=true"
        raise InputError("the objects of the pages were not recorded", remedy, key="kind")
    pages = pages.filter(pl.col("id").is_in(objects["id"].unique().to_list()))
    with_user = pages.with_columns(pl.col("id").replace_strict(of, return_dtype=pl.Int64).alias("user"))
    found = _asked(selection, with_user)
    page, why = _typical(found, run["warmup_s"])
    _said(selection, page, why)
    own = objects.filter((pl.col("id") == page["id"]) & (pl.col("page") == page["page"])).to_dicts()
    end = page["end_s"] if page["end_s"] is not None else run["duration_s"]
    flow = next(flow for flow in resolved["flows"] if flow["id"] == page["id"])
    listed = flow["app"].get("page") or []
    names = {number: item["name"] for number, item in enumerate(listed) if isinstance(item, dict) and "name" in item}
    return _Page(page["user"], page, own, end, names)


def _asked(selection: Selection, pages: pl.DataFrame) -> pl.DataFrame:
    """The pages among which one is chosen."""
    request = selection.request
    if request.user:
        users.known(request.user, set(pages["user"].to_list()))
        pages = pages.filter(pl.col("user") == request.user[0])
    if request.page is not None:
        last = int(pages["page"].max() or 0)  # type: ignore[arg-type]
        pages = pages.filter(pl.col("page") == request.page)
        if not pages.height:
            whose = f"of user {request.user[0]} " if request.user else ""
            remedy = f"pages {whose}are 0 to {last}" if last else f"the only page {whose}is 0"
            raise InputError(f"no page {request.page}", remedy, key="page")
    return pages


def _typical(pages: pl.DataFrame, warmup: float) -> tuple[Row, str]:
    """The page whose load time is the median, those before the warm-up apart; of none completed the one with most."""
    if pages.height == 1:
        return pages.row(0, named=True), ""
    done = pages.filter(pl.col("outcome") == "completed")
    measured = done.filter(pl.col("start_s") >= warmup)
    done = (measured if measured.height else done).sort("plt_s", "user", "page")
    if not done.height:
        chosen = pages.sort("objects_done", "user", "page", descending=[True, False, False]).row(0, named=True)
        return chosen, f"none of {pages.height} pages was completed"
    return done.row((done.height - 1) // 2, named=True), f"the median load time of {done.height} pages"


def _said(selection: Selection, page: Row, why: str) -> None:
    keys = selection.varying()
    point = selection.points[0]
    if why:
        selection.remarks.append(Remark(why, "--user N and --page N show others"))
    if len(selection.points) > 1:
        said = ", ".join(key.says(key.texts[point]) for key in keys)
        words = f"the first of {len(selection.points)} points" + (f": {said}" if said else "")
        selection.remarks.append(Remark(words, "--where KEY=VALUE shows another"))
    if selection.replications > 1:
        selection.remarks.append(Remark(f"the first of {selection.repeats}"))
    if page["outcome"] == "failed":
        selection.remarks.append(Remark("it was given up after failures of its connections", news=False))
    elif page["outcome"] == "aborted":
        selection.remarks.append(Remark("it was given up for the next page", news=False))
    elif page["outcome"] == "unfinished":
        selection.remarks.append(Remark("it was under way as the run ended", news=False))


def _first_uses(rows: Sequence[Row]) -> set[int]:
    """Of each connection the object that used it first: in its wait the connection was made."""
    first: dict[int, Row] = {}
    for row in rows:
        if row["connection"] is not None and row["requested_s"] is not None:
            other = first.get(row["connection"])
            if other is None or (row["requested_s"], row["object"]) < (other["requested_s"], other["object"]):
                first[row["connection"]] = row
    return {row["object"] for row in first.values()}


def _bars(at: int, row: Row, first_use: bool, end: float) -> list[Bar]:
    """What an object went through; the last of it goes on to the end if it did not come."""
    known, requested, first, done = (row[key] for key in ("known_s", "requested_s", "first_byte_s", "done_s"))
    asked = end if requested is None else requested
    found = []
    begin = known
    if first_use and row["opened_s"] is not None:
        opened = max(known, row["opened_s"])
        connected = asked if row["connected_s"] is None else min(row["connected_s"], asked)
        if connected > opened:
            found += [Bar(at, WAITING, known, opened), Bar(at, HANDSHAKE, opened, connected)]
            begin = connected
    found.append(Bar(at, WAITING, begin, asked))
    if requested is not None:
        answered = end if first is None else first
        found.append(Bar(at, FIRST_BYTE, requested, answered))
        if first is not None:
            found.append(Bar(at, TRANSFER, first, end if done is None else done))
    return [bar for bar in found if bar.end > bar.start]


def _done(rows: Sequence[Row], number: int) -> float | None:
    done: float | None = next((row["done_s"] for row in rows if row["object"] == number), None)
    return done


def _title(chosen: _Page) -> str:
    page = chosen.page
    count = page["objects"]
    objects = f"{count} object{'s' if count > 1 else ''}"
    opened = f"{page['connections']} connection{'s' if page['connections'] != 1 else ''}"
    return f"page {page['page']} of user {chosen.user}: {objects}, {_size(page['bytes'])}, {opened}"


def _tick(row: Row, names: Mapping[int, str]) -> str:
    name = names.get(row["object"], "main" if row["object"] == 0 else str(row["object"]))
    name = name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
    by = "-" if row["connection"] is None else str(row["connection"])
    return f"{name}, {by}, {_size(row['bytes'])}"


def _size(count: int) -> str:
    """Bytes in three digits."""
    for unit, size in (("MB", 1e6), ("kB", 1e3)):
        if count >= 0.9995 * size:
            return f"{float(f'{count / size:.3g}'):g} {unit}"
    return f"{count} B"


def _or_never(time: float | None) -> float:
    return math.inf if time is None else time


def drawable(selection: Selection) -> bool:
    """Whether there are pages whose objects were recorded."""
    return selection.result.objects.height > 0
