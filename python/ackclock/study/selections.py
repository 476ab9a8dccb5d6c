"""Whether what tables and figures of a study select can be there: asked before anything is run."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ackclock.errors import InputError, Problem, unknown
from ackclock.scenario.plan import Job, Plan
from ackclock.series import CELL, FLOW, SERIES, USER
from ackclock.study.document import FILE
from ackclock.study.model import GOODPUT, FigureSpec, Reading, SeriesSpec, Study, TableSpec, Where
from ackclock.study.reader import Source

Value = str | int | float | bool
Known = Mapping[str, Sequence[Value]]
"""The swept keys of a scenario with their values."""


def known(plan: Plan) -> Known:
    """What can be selected of the runs of a plan."""
    return {key: tuple(dict.fromkeys(point.params[key] for point in plan.points)) for key in plan.params}


def key_among(key: str, among: Known) -> None:
    """Raise :class:`Problem` if a key is not swept."""
    if key not in among:
        raise unknown("swept key", key, among) if among else Problem(f"'{key}' is not swept", "remove it")


def value_among(key: str, value: Value, among: Known) -> None:
    """Raise :class:`Problem` if a key is not swept, or never has this value."""
    key_among(key, among)
    words = list(map(str, among[key]))
    if str(value) not in words:
        raise unknown(f"value of {key}", str(value), words)


def check(study: Study, plans: Mapping[str, Plan]) -> None:
    """Raise :class:`InputError` for the first selection that no full run of the study can fill."""
    among = {name: known(plan) for name, plan in plans.items()}
    of_figures = _of_figures(study.figures, among, plans)
    for place, problem in (*_of_readings(study.readings, among), *_of_tables(study.tables, among), *of_figures):
        raise _refused(study, place, problem)


Found = tuple[tuple[str | int, ...], Problem]


def _of_readings(readings: Sequence[Reading], among: Mapping[str, Known]) -> Iterable[Found]:
    """What a reading calls swept values is there in one of the scenarios that it puts in place of others."""
    for i, reading in enumerate(readings):
        steps = [str(step) for name in reading.scenarios.values() for values in among[name].values() for step in values]
        for old, new in reading.values.items():
            if new not in steps:
                yield ("readings", i, "values", old), unknown("swept value", new, sorted(set(steps)))


def _of_tables(tables: Sequence[TableSpec], among: Mapping[str, Known]) -> Iterable[Found]:
    for i, table in enumerate(tables):
        for j, row in enumerate(table.rows):
            place = ("tables", i, "rows", j)
            yield from _of_where(row.where, among[row.scenario], *place, "where")
            for key in row.each:
                yield from _of_key(key, among[row.scenario], *place, "each")
            steps = [str(step) for key in row.each for step in among[row.scenario].get(key, ())]
            for value in row.names:
                if value not in steps:
                    yield (*place, "names", value), unknown("value of a key in each", value, steps)
        labels = list(_labels(table, among))
        for reference in table.references:
            for name in reference.values:
                if name not in labels:
                    found = unknown("row", name, labels)
                    yield ("tables", i, "references", reference.label), found


def _labels(table: TableSpec, among: Mapping[str, Known]) -> Iterable[str]:
    """What references call the rows of a table."""
    for row in table.rows:
        for values in itertools.product(*(among[row.scenario].get(key, ()) for key in row.each)):
            yield ", ".join([*([row.label] if row.label else []), *map(str, values)])


def _of_figures(
    figures: Sequence[FigureSpec], among: Mapping[str, Known], plans: Mapping[str, Plan]
) -> Iterable[Found]:
    for i, figure in enumerate(figures):
        for j, series in enumerate(figure.series):
            place = ("figures", i, "series", j)
            swept = among[series.scenario]
            yield from _of_where(series.where, swept, *place, "where")
            yield from _of_where(series.against, swept, *place, "against")
            for name, value in series.steps.items():
                yield from _of_where({series.over: value}, swept, *place, "steps", name)
            for name in ("by", "over"):
                if key := getattr(series, name):
                    yield from _of_key(key, swept, *place, name)
            if figure.panels and figure.kind == "sweep":
                yield from _of_key(figure.panels, swept, "figures", i, "panels")
            if figure.kind == "time":
                yield from _of_series(series, plans[series.scenario], *place)
            elif series.reference is not None:
                yield from _of_reference(series, swept, *place, "reference")


def _of_reference(series: SeriesSpec, among: Known, *place: str | int) -> Iterable[Found]:
    """Of a line that is drawn from a reference: its rows are named by steps and lines that are there."""
    keys = [series.over, *([series.by] if series.by else [])]
    labels = [", ".join(map(str, values)) for values in itertools.product(*(among.get(key, ()) for key in keys))]
    for name, values in series.reference.values.items() if series.reference else ():
        if name not in labels:
            yield place, unknown("row", name, labels)
        elif series.data not in values:
            yield place, Problem(f"row '{name}' has no {series.data}", "add it, or remove the row")


def _of_where(where: Where, among: Known, *place: str | int) -> Iterable[Found]:
    for key, value in where.items():
        try:
            value_among(key, value, among)
        except Problem as problem:
            yield (*place, key), problem


def _of_key(key: str, among: Known, *place: str | int) -> Iterable[Found]:
    try:
        key_among(key, among)
    except Problem as problem:
        yield place, problem


def _of_series(series: SeriesSpec, plan: Plan, *place: str | int) -> Iterable[Found]:
    """Of a line over time: its series must be one, be recorded, and belong to a flow or a link that is there."""
    data = "delivered" if series.data == GOODPUT else series.data
    if data not in SERIES:
        yield (*place, "data"), unknown("series", data, (GOODPUT, *SERIES))
        return
    point = plan.points[0]
    if data not in point.scenario.probes.resolved():
        problem = f"the scenario '{series.scenario}' does not record {data}"
        yield (*place, "data"), Problem(problem, f'add {data} = "100 ms" to its [probes]')
    document = Job(0, point, 0).document()
    what, ids = _owners(data, document)
    if series.of not in ids:
        yield (*place, "of"), unknown(what, series.of, ids[:20])


def _owners(data: str, document: Mapping[str, Any]) -> tuple[str, list[str]]:
    """What a series is of, and which of these there are."""
    cells = document.get("cells", ())
    if data in CELL:
        return "cell", [cell["id"] for cell in cells]
    if data in USER:
        return "user of a cell", [f"{cell['id']}.{user}" for cell in cells for user in range(len(cell["users"]))]
    what = "flow" if data in FLOW else "link"
    return what, [each["id"] for each in document[f"{what}s"]]


def _refused(study: Study, place: Sequence[str | int], problem: Problem) -> InputError:
    return Source(study.folder / FILE).wrong(place, problem.problem, problem.remedy)
