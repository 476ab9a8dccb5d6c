"""``ackclock plot``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.cli import console
from ackclock.cli.exit_codes import OK
from ackclock.drawing.request import EVERY
from ackclock.errors import InputError, unknown
from ackclock.files import unwritable
from ackclock.results.result import Result
from ackclock.results.store import PLOTS
from ackclock.results.validity import given

if TYPE_CHECKING:
    from ackclock.drawing.selection import Request as Asked

LIST = "list"
"""In place of a metric: print which there are."""
FORMATS = ("svg", "pdf", "png")
_CONNECTION = re.compile(r"\d+(\.[01])?")
_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(s|ms|us|µs)?")
_OTHER_FORMATS = frozenset({"jpg", "jpeg", "gif", "eps", "ps", "tif", "tiff", "bmp", "webp"})


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    directory: Path
    kind: str | None
    x: str | None
    y: Sequence[str]
    by: str | None
    facet: str | None
    where: Sequence[str]
    format: str | None
    width: str
    out: Path | None
    as_json: bool = False
    user: Sequence[str] = ()
    page: int | None = None
    connection: Sequence[str] = ()
    start: str | None = None
    end: str | None = None
    allow_late: bool = False


def run(request: Request) -> int:
    """Draw, write, and say what was drawn."""
    from ackclock.drawing import picture, plot
    from ackclock.drawing.selection import Request as Asked

    kind = _format(request)
    asked = Asked(
        request.kind,
        request.x,
        tuple(each.strip() for names in request.y for each in names.split(",")),
        request.by,
        request.facet,
        dict(_pair(each) for each in request.where),
        tuple(_number(each) for names in request.user for each in names.split(",")),
        request.page,
        connections(request.connection),
        seconds(request.start, "from"),
        seconds(request.end, "to"),
    )
    if asked.y == (LIST,):
        return _listed(request, asked)
    drawing = plot.specify(given(request.directory, allow_late=request.allow_late), asked)
    figure = plot.figure(drawing.chart, request.width)
    file = _file(request, drawing.kind, asked.y, kind)
    picture.write_file(figure, file)
    if request.as_json:
        console.print_json(
            {
                "file": str(file),
                "kind": drawing.kind,
                "says": drawing.says,
                "others": list(drawing.others),
                "notes": list(drawing.notes),
                "figure": drawing.chart.to_json(),
            }
        )
        return OK
    out = console.stdout()
    others = f"; also fits: {', '.join(f'--kind {each}' for each in drawing.others)}" if drawing.others else ""
    console.say(out, f"{drawing.kind}: {drawing.says}{others}")
    console.say(out, f"figure: {file}")
    for note in drawing.notes:
        console.warn(note)
    return OK


def _listed(request: Request, asked: Asked) -> int:
    """Print what the y axis of a figure of a result may show."""
    from ackclock.drawing import maps, overtime, quantities, summaries
    from ackclock.drawing.selection import Selection

    result = Result.load(request.directory)
    chosen = Selection(result, dataclasses.replace(asked, y=()))
    metrics, series = summaries.metrics_of(chosen), overtime.recorded(result)
    columns = maps.VALUES if maps.drawable(chosen) else ()
    if request.as_json:
        console.print_json({"metrics": metrics, "series": series, "users": list(columns)})
        return OK
    rows = [["--y", "is", "of"]]
    for name in metrics:
        of = quantities.of(name)
        rows.append([name, f"{of.name}, {of.unit}" if of.unit else of.name, "runs"])
    rows += [[name, overtime.said(name), "time"] for name in series]
    rows += [[name, maps.said(name), "users of a map"] for name in columns]
    console.print_table(console.stdout(), rows, ["left"] * 3, squeeze=True)
    return OK


def _format(request: Request) -> str:
    """The format: that of the name of the file, or the one asked for."""
    ending = request.out.suffix.removeprefix(".") if request.out is not None else ""
    known = ending if ending in FORMATS else None
    if ending.lower() in _OTHER_FORMATS:
        raise InputError(f"'{request.out}' is of no known format", f"known are {', '.join(FORMATS)}", key="--out")
    if request.format is not None and request.format not in FORMATS:
        problem = unknown("format", request.format, FORMATS)
        raise InputError(problem.problem, problem.remedy, key="--format")
    if request.format is not None and known is not None and request.format != known:
        raise InputError(f"'{request.out}' is no {request.format}", "give one of --format and the ending", key="--out")
    return request.format or known or "svg"


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign:
        raise InputError(
            f"'{text}' is no KEY=VALUE", 'write for instance cc=cubic or "topology.rtt=20 ms"', key="--where"
        )
    return key.strip(), value.strip()


def connections(given: Sequence[str]) -> tuple[str, ...]:
    """The connections that were asked for: numbers, directions such as 3.1, or all."""
    names = tuple(each.strip() for part in given for each in part.split(","))
    for name in names:
        if name != EVERY and not _CONNECTION.fullmatch(name):
            raise InputError(f"'{name}' is no connection", f"write 3, 0,3 or {EVERY}", key="--connection")
    return names


def seconds(text: str | None, key: str) -> float | None:
    """A time on the command line: seconds, or with their unit."""
    if text is None:
        return None
    found = _TIME.fullmatch(text.strip().replace("\u03bc", "\u00b5"))
    if found is None:
        raise InputError(f"'{text}' is no time", "write 1.5, 1.5s or 300ms", key=key)
    return float(found[1]) * {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}[found[2] or ""]


def _number(text: str) -> int:
    if not text.strip().isdecimal():
        raise InputError(f"'{text.strip()}' is no number of a user", "users are numbered from 0", key="--user")
    return int(text)


def _file(request: Request, kind: str, names: Sequence[str], ending: str) -> Path:
    """Where the figure goes: the file or directory that is named, or the folder of figures beside the tables."""
    stem = "-".join((kind, *names))
    if request.out is not None and request.out.suffix.removeprefix(".") in FORMATS:
        return request.out
    folder = request.out if request.out is not None else request.directory / PLOTS
    try:
        folder.mkdir(parents=request.out is None, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    return folder / f"{stem}.{ending}"
