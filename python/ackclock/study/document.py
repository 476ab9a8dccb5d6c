"""From `study.toml` to a :class:`Study`; whatever cannot be used is refused with file, key and line."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, unknown
from ackclock.files import read_text, reason
from ackclock.study.extension import PLACES
from ackclock.study.model import (
    Axis,
    Citation,
    Column,
    FigureSpec,
    Mark,
    Reading,
    Reference,
    Row,
    SeriesSpec,
    Setting,
    Study,
    TableSpec,
)
from ackclock.study.reader import Source, Table
from ackclock.study.statements import read_statements

FILE = "study.toml"
_MOST_DIGITS = 15
KINDS = ("time", "sweep", "overlay")


def read(folder: Path) -> Study:
    """The study in `folder`. Raises :class:`InputError`."""
    table = Source(folder / FILE).table()
    study = Study(
        name=folder.name,
        folder=folder,
        title=table.get("title", str),
        summary=table.get("summary", str),
        citation=_citation(table.below("citation", required=True)),
        settings=table.each("scenarios", _setting, required=True),
        tables=table.each("tables", _table),
        figures=table.each("figures", _figure),
        readings=table.each("readings", _reading),
        statements=read_statements(folder),
    )
    table.end()
    _consistent(study, table)
    _readings(study, table)
    return study


def _citation(table: Table) -> Citation:
    found = Citation(
        authors=table.texts("authors"),
        title=table.get("title", str),
        year=table.get("year", str),
        note=table.get("note", str, ""),
        original_authors=table.texts("original_authors", ()),
        original_title=table.get("original_title", str, ""),
        institution=table.get("institution", str, ""),
        published=table.get("published", str, ""),
    )
    table.end()
    return found


def _reading(table: Table) -> Reading:
    found = Reading(
        id=table.get("id", str),
        title=table.get("title", str),
        reason=table.get("reason", str),
        found=table.get("found", bool, False),
        price=table.get("price", str, ""),
        scenarios={name: str(value) for name, value in table.scalars("scenarios").items()},
        values={name: str(value) for name, value in table.scalars("values").items()},
    )
    table.end()
    if found.found and not found.price:
        raise table.missing("price", "a reading that was found says what it costs elsewhere: add it")
    return found


def _setting(table: Table) -> Setting:
    name, title = table.get("id", str), table.get("title", str)
    file, inline = table.optional("file", str), table.optional("scenario", dict)
    changes, quick = table.get("set", dict, {}), table.get("quick", dict, {})
    captured = table.get("captured", bool, False)
    places = table.below("extend")
    table.get("extend", dict, {})
    extend = {place: places.texts(place, ()) for place in PLACES}
    places.end()
    table.end()
    for place, keys in extend.items():
        for key in keys:
            if key.rpartition(".")[2] != "cc":
                raise places.wrong(place, f"'{key}' is no list of controllers", 'name one: "cc" or "flows.0.cc"')
    if (file is None) == (inline is None):
        raise table.wrong("file", "a scenario is either a file or a table", 'write file = "x.toml" or scenario = {...}')
    content = inline if inline is not None else table.file("file", file or "")
    extend = {place: keys for place, keys in extend.items() if keys}
    return Setting(name, title, content, changes, quick, extend, ".".join(map(str, table.key)), captured)


def _table(table: Table) -> TableSpec:
    references = []
    below = table.below("references")
    for label in table.get("references", dict, {}):
        path = below.file(label, below.get(label, str))
        references.append(Reference(label, _numbers(path)))
    found = TableSpec(
        id=table.get("id", str),
        title=table.get("title", str),
        paper=table.get("paper", str, ""),
        columns=table.each("columns", _column, required=True),
        rows=table.each("rows", _row, required=True),
        references=tuple(references),
    )
    table.end()
    return found


def _column(table: Table) -> Column:
    measure = table.get("measure", str)
    found = Column(
        measure=measure,
        label=table.get("label", str, measure),
        scale=table.factor("scale"),
        digits=table.get("digits", int, 0),
        median=table.get("median", bool, False),
    )
    table.end()
    if not 0 <= found.digits <= _MOST_DIGITS:
        raise table.wrong("digits", f"{found.digits} is out of range", f"give 0 to {_MOST_DIGITS}")
    return found


def _row(table: Table) -> Row:
    each = table.texts("each", ())
    label = table.get("label", str, "")
    if not each and not label:
        raise table.missing("label", 'add it, or each = ["key"] for a row per swept value')
    names = {value: str(name) for value, name in table.scalars("names").items()}
    found = Row(label, table.get("scenario", str), table.scalars("where"), each, names)
    table.end()
    return found


def _figure(table: Table) -> FigureSpec:
    found = FigureSpec(
        id=table.get("id", str),
        title=table.get("title", str),
        paper=table.get("paper", str, ""),
        kind=table.choice("kind", KINDS),
        x=_axis(table.below("x", required=True)),
        y=_axis(table.below("y", required=True)),
        panels=table.get("panels", str, ""),
        series=table.each("series", _series, required=True),
        marks=table.each("marks", _mark),
        bars=table.get("bars", bool, False),
    )
    table.end()
    if found.bars and (found.kind != "sweep" or found.y.log):
        raise table.wrong("bars", "bars are values of a sweep from 0", 'write kind = "sweep", and y without log')
    for index, series in enumerate(found.series):
        if found.kind == "sweep" and not series.over:
            key = (*table.key, "series", index, "over")
            raise table.source.wrong(key, "missing key 'over'", 'name the swept key along the axis: over = "cc"')
        if series.against and (found.kind != "sweep" or series.median or series.reference is not None):
            key = (*table.key, "series", index, "against")
            problem = "gains are of means of runs over a swept value"
            raise table.source.wrong(key, problem, 'write kind = "sweep", without median and reference')
        if series.steps and (found.kind != "sweep" or series.reference is not None):
            key = (*table.key, "series", index, "steps")
            raise table.source.wrong(key, "names are of the steps of a sweep", 'write kind = "sweep", or remove it')
        if found.kind != "sweep" and series.reference is not None:
            key = (*table.key, "series", index, "reference")
            raise table.source.wrong(key, "a line over time has no reference", 'remove it, or write kind = "sweep"')
    return found


def _axis(table: Table) -> Axis:
    found = Axis(
        label=table.get("label", str),
        scale=table.factor("scale"),
        log=table.get("log", bool, False),
        low=table.optional("from", float),
        high=table.optional("to", float),
    )
    table.end()
    if found.low is not None and found.high is not None and found.low >= found.high:
        raise table.wrong("from", f"{found.low:g} is not below {found.high:g}", "give the lower end first")
    for name, end in (("from", found.low), ("to", found.high)):
        if found.log and end is not None and end <= 0:
            raise table.wrong(name, f"a logarithmic axis has no {end:g}", "give more than 0, or remove log")
    return found


def _series(table: Table) -> SeriesSpec:
    label, file = table.get("label", str, ""), table.optional("reference", str)
    weights = _weights(table)
    found = SeriesSpec(
        label=label,
        scenario=table.get("scenario", str),
        where=table.scalars("where"),
        data=table.get("data", str, "") if weights else table.get("data", str),
        of=table.get("of", str, "0"),
        bin=table.get("bin", float, 1.0),
        over=table.get("over", str, ""),
        by=table.get("by", str, ""),
        panel=table.get("panel", str, ""),
        median=table.get("median", bool, False),
        steps=table.scalars("steps"),
        against=table.scalars("against"),
        weights=weights,
        reference=None if file is None else Reference(label, _numbers(table.file("reference", file))),
    )
    table.end()
    if weights and found.data:
        raise table.wrong("data", "both 'data' and 'weights'", "remove one: weights name the measures of a gain")
    if weights and not found.against:
        raise table.wrong("against", "missing key 'against'", "add it: weights are of gains; or write data = MEASURE")
    if not found.label and not found.by:
        raise table.wrong("label", "missing key 'label'", 'add it, or by = "cc" for a line per swept value')
    if found.bin <= 0:
        raise table.wrong("bin", f"{found.bin} s is no width", "give more than 0, in seconds")
    return found


def _weights(table: Table) -> dict[str, float]:
    """What the gains of several measures count, by their names."""
    found = {}
    for name, weight in table.scalars("weights").items():
        if isinstance(weight, bool | str) or not 0 < weight < math.inf:
            raise table.wrong("weights", f"{name} = {weight!r} is no weight", "give a number above zero")
        found[name] = float(weight)
    return found


def _mark(table: Table) -> Mark:
    found = Mark(
        table.get("label", str), table.optional("x", float), table.optional("y", float), table.get("panel", str, "")
    )
    table.end()
    if (found.x is None) == (found.y is None):
        raise table.wrong("x", "a mark is at an x or a y", "give one of the two")
    return found


def _numbers(path: Path) -> dict[str, dict[str, float]]:
    """Numbers by row and measure, from CSV (first column: the row) or TOML (a table for each row)."""
    cells = _cells(path)
    if not cells:
        raise InputError("has no rows", "give at least one", source=str(path))
    found: dict[str, dict[str, float]] = {}
    for row, values in cells.items():
        for name, value in values.items():
            try:
                found.setdefault(row, {})[name] = float(value)
            except (TypeError, ValueError):
                raise InputError(
                    f"'{value}' is not a number", "correct it, or leave it empty", source=str(path), key=f"{row}.{name}"
                ) from None
    return found


def _cells(path: Path) -> dict[str, dict[str, Any]]:
    """The rows of a file, as they are written. Raises :class:`InputError`."""
    if path.suffix == ".toml":
        content = Source(path).raw
        flat = next((key for key, item in content.items() if not isinstance(item, dict)), None)
        if flat is not None:
            problem = f"'{flat}' is not a table"
            raise InputError(problem, f"write [{flat}] with measure = number below it", source=str(path))
        return content
    try:
        text = read_text(path, encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not a text file", "give CSV, encoded in UTF-8", source=str(path)) from None
    except OSError as error:
        raise InputError(reason(error), "give a smaller file", source=str(path)) from None
    rows = list(csv.DictReader(line for line in text.splitlines() if line.strip() and not line.startswith("#")))
    first = next(iter(rows[0])) if rows else "row"
    for row in rows:
        if None in row:
            problem = f"the row '{row[first]}' has more cells than the header"
            raise InputError(problem, "remove one, or name its measure in the header", source=str(path))
    return {row[first]: {key: cell for key, cell in row.items() if key != first and cell} for row in rows}


def _readings(study: Study, table: Table) -> None:
    """The first reading is that of the scenarios as they are; the others put scenarios in place of others."""
    known = [setting.id for setting in study.settings]
    ids = [reading.id for reading in study.readings]
    if len(ids) == 1:
        raise table.source.wrong(("readings", 0), "a single reading is no choice", "add another, or remove it")
    for index, reading in enumerate(study.readings):
        if reading.id in ids[:index]:
            key: tuple[str | int, ...] = ("readings", index, "id")
            raise table.source.wrong(key, f"'{reading.id}' is there twice", "give each its own id")
        if bool(reading.scenarios) == (index == 0):
            problem = "the first reading is of the scenarios as they are" if index == 0 else "it changes nothing"
            remedy = "remove its scenarios" if index == 0 else 'write scenarios = { ID = "OTHER" }'
            raise table.source.wrong(("readings", index, "scenarios"), problem, remedy)
        for name in (*reading.scenarios, *reading.scenarios.values()):
            if name not in known:
                found = unknown("scenario", name, known)
                raise table.source.wrong(("readings", index, "scenarios"), found.problem, found.remedy)


def _consistent(study: Study, table: Table) -> None:
    """Ids are unique, and every scenario that is named is there."""
    known = [setting.id for setting in study.settings]
    seen = {setting.id for setting in study.settings if setting.captured}
    for i, figure in enumerate(study.figures):
        for j, series in enumerate(figure.series):
            if figure.kind == "overlay" and series.scenario in known and series.scenario not in seen:
                problem = f"the scenario '{series.scenario}' is not captured"
                raise table.source.wrong(("figures", i, "series", j, "scenario"), problem, "add captured = true to it")
    for kind, ids in (
        ("scenarios", known),
        ("tables", [item.id for item in study.tables]),
        ("figures", [item.id for item in study.figures]),
    ):
        for index, name in enumerate(ids):
            if not name.replace("-", "").replace("_", "").isalnum():
                key: tuple[str | int, ...] = (kind, index, "id")
                raise table.source.wrong(key, f"'{name}' is no id", "use letters, digits, - and _")
            if name in ids[:index]:
                raise table.source.wrong((kind, index, "id"), f"'{name}' is there twice", "give each its own id")
    named = [
        *((("tables", i, "rows", j), row.scenario) for i, t in enumerate(study.tables) for j, row in enumerate(t.rows)),
        *(
            (("figures", i, "series", j), s.scenario)
            for i, f in enumerate(study.figures)
            for j, s in enumerate(f.series)
        ),
    ]
    for place, name in named:
        if name not in known:
            found = unknown("scenario", name, known)
            raise table.source.wrong((*place, "scenario"), found.problem, found.remedy)
    for i, item in enumerate(study.tables):
        columns = [column.measure for column in item.columns]
        for reference in item.references:
            for row, values in reference.values.items():
                for name in values:
                    if name not in columns:
                        found = unknown("measure", name, columns)
                        raise table.source.wrong(
                            ("tables", i, "references", reference.label), f"row '{row}': {found.problem}", found.remedy
                        )
