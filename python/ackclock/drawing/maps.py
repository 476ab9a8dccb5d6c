"""Maps of a cell: where the users of a run are, and what their channels are like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from ackclock.drawing import quantities, swept, users
from ackclock.drawing.chart import Chart, Panel, Scale
from ackclock.drawing.remarks import Remark
from ackclock.drawing.selection import MOST_PANELS, Selection
from ackclock.drawing.shapes import MODULATIONS, Map, Spot
from ackclock.errors import InputError, unknown
from ackclock.results.result import Result

SNR = "sinr_db"
"""What colours are unless another column is asked for."""
VALUES = (
    SNR, "rate_bps", "rb_share", "delivered_bytes", "cqi", "mcs", "shadowing_db", "drops", "lost", "retransmissions",
    "mean_wait_s", "p50_wait_s", "p95_wait_s", "p99_wait_s", "max_age_s",
    "up_sinr_db", "up_rate_bps", "up_rb_share", "up_delivered_bytes", "up_cqi", "up_mcs", "mean_up_wait_s",
)  # fmt: skip
"""Columns of the table `users` that colours can be."""

# TS 36.213 table 7.1.7.1-1: the last scheme of QPSK and of 16QAM.
_LAST_QPSK, _LAST_16QAM = 9, 16

_MODELS_FROM_M, _MODELS_TO_M = 1e3, 20e3
"""Distances that the formulas of path loss were made for: Hata (1980) and COST 231, Final report 4.4.1."""
_NUMBERED = 16  # users that have their numbers beside them
_TURN = math.pi * (3 - math.sqrt(5))  # the golden angle: directions that are spread evenly, however many there are
_RINGS = 5
_SNR_FROM, _SNR_TO = -10.0, 25.0
"""dB that colours tell apart: below and above no scheme is different (docs/cell.md, thresholds)."""
_NAMES = {
    SNR: "SNR (dB)", "up_sinr_db": "SNR of the uplink (dB)", "shadowing_db": "shadowing (dB)",
    "cqi": "CQI", "mcs": "MCS", "rb_share": "share of resource blocks",
    "up_rb_share": "share of resource blocks, up", "up_cqi": "CQI of the uplink", "up_mcs": "MCS of the uplink",
}  # fmt: skip


def users_map(selection: Selection) -> Chart:
    """The users of a run around their base station: colour is the SNR, the marker says the modulation."""
    column = _column(selection)
    if not selection.result.users.height:
        raise InputError(
            "a map needs a cell, and there is none", 'draw a result of a scenario with kind = "lte_cell"', key="kind"
        )
    panels = []
    for title, point in _points(selection):
        run = selection.result.runs.filter(pl.col("point") == point)["run"][0]
        rows = selection.result.users.filter(pl.col("run") == run).to_dicts()
        if selection.request.user:
            users.known(selection.request.user, {int(row["user"]) for row in rows})
            rows = [row for row in rows if row["user"] in selection.request.user]
        panels.append((title, _known(selection, rows), _cells(selection.result, point)[0]))
    every = [_value(row, column) for _, rows, _ in panels for row in rows]
    by, label = _axis(column, every)
    far = [row["distance_m"] for _, rows, _ in panels for row in rows]
    length, unit = (1e-3, "km") if max(far) >= _MODELS_FROM_M else (1.0, "m")
    made = tuple(
        Panel(title, map=_map(rows, cell, column, by, length, numbered=len(rows) <= _NUMBERED))
        for title, rows, cell in panels
    )
    _extrapolated(selection, [(rows, cell["params"]) for _, rows, cell in panels])
    if any(cell["params"].get("fading") for _, _, cell in panels) and column == SNR:
        selection.remarks.append(Remark("SNRs are means: the channel fades", news=False))
    finite = [value * by for value in every if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if column in (SNR, "up_sinr_db"):
        low, high = (min(max(end, _SNR_FROM), _SNR_TO) for end in (low, high))
    z = Scale(label, low=low, high=high)
    return Chart("", Scale(f"x ({unit})"), Scale(f"y ({unit})"), made, z=z)


def _column(selection: Selection) -> str:
    asked = selection.request
    for option, given in (("x", asked.x), ("by", asked.by)):
        if given:
            raise InputError("a map has its own axes", f"leave --{option} out; --y COLUMN is the colour", key=option)
    if len(asked.y) > 1:
        raise InputError("a map has one colour", "give one column of the table users", key="y")
    name = asked.y[0] if asked.y else SNR
    if name not in VALUES:
        problem = unknown("column of users", name, VALUES)
        raise InputError(problem.problem, problem.remedy, key="y")
    return name


def _points(selection: Selection) -> list[tuple[str, int]]:
    """The points that are shown: the one with the most users, of each value of the key that has panels."""
    keys = selection.varying()
    count = {point: sum(len(cell["users"]) for cell in _cells(selection.result, point)) for point in selection.points}
    if selection.request.facet is None:
        shown = [max(selection.points, key=lambda point: count[point])]
        titles = [""]
    else:
        key = swept.chosen(selection.result, selection.keys, selection.request.facet, "facet")
        steps = selection.steps(key)
        if len(steps) > MOST_PANELS:
            raise InputError(
                f"{len(steps)} maps are too many for a figure", "choose some with --where KEY=VALUE", key="facet"
            )
        shown = [
            max((p for p in selection.points if key.texts[p] == step), key=lambda point: count[point]) for step in steps
        ]
        titles = [key.says(step) for step in steps]
        keys = [each for each in keys if each.name != key.name]
    said = ", ".join(each.says(each.texts[shown[0]]) for each in keys)
    of_several = [
        part
        for part, several in (
            (
                f"one of {len(selection.points)} points" + (f": {said}" if said else ""),
                len(shown) < len(selection.points),
            ),
            (f"the first of {selection.repeats}", selection.replications > 1),
        )
        if several
    ]
    if of_several:
        remedy = "--where KEY=VALUE shows another" if len(shown) < len(selection.points) else ""
        selection.remarks.append(Remark(", ".join(of_several), remedy))
    return list(zip(titles, shown, strict=True))


def _cells(result: Result, point: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = result.resolved(point).get("cells", [])
    return found


def _known(selection: Selection, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The users that have a place; of one whose distance alone is known, in some direction."""
    placed = [row for row in rows if row["distance_m"] is not None]
    if not placed:
        raise InputError(
            "no user has a place: their SNRs were given",
            "give distances, or no places at all: they are drawn",
            key="kind",
        )
    if len(placed) < len(rows):
        words = f"{len(rows) - len(placed)} of {len(rows)} users have an SNR and no place: left out"
        selection.remarks.append(Remark(words))
    if any(row["x_m"] is None for row in placed):
        selection.remarks.append(Remark("only distances are known: directions mean nothing", news=False))
    return [_turned(row) if row["x_m"] is None else row for row in placed]


def _turned(row: dict[str, Any]) -> dict[str, Any]:
    angle = _TURN * row["user"]
    return {**row, "x_m": row["distance_m"] * math.cos(angle), "y_m": row["distance_m"] * math.sin(angle)}


def _value(row: dict[str, Any], column: str) -> float:
    value = row[column]
    return math.nan if value is None else float(value)


def _axis(column: str, values: Sequence[float]) -> tuple[float, str]:
    if column in _NAMES:
        return 1.0, _NAMES[column]
    return quantities.of(column).scaled(values)


def said(column: str) -> str:
    """What a column of users is, with its unit."""
    of = quantities.of(column)
    return _NAMES.get(column, f"{of.name}, {of.unit}" if of.unit else of.name)


def _outside(row: dict[str, Any]) -> bool:
    """Whether a user is nearer or farther than the path loss was made for."""
    return not _MODELS_FROM_M <= row["distance_m"] <= _MODELS_TO_M


def _map(
    rows: Sequence[dict[str, Any]],
    cell: dict[str, Any],
    column: str,
    by: float,
    length: float,
    *,
    numbered: bool,
) -> Map:
    some = any(map(_outside, rows)) and not all(map(_outside, rows))
    spots = [
        Spot(
            _modulation(row["mcs"]),
            row["x_m"] * length,
            row["y_m"] * length,
            _value(row, column) * by,
            str(row["user"]) if numbered else "",
            some and _outside(row),
        )
        for row in rows
    ]
    discs = [user["disc_m"] for user in cell["users"] if "disc_m" in user]
    far = max([*discs, *(row["distance_m"] for row in rows), cell["params"]["min_distance_m"]]) * length
    range_ = f"outside the range of {cell['params']['path_loss']}, 1 to 20 km" if some else ""
    return Map(tuple(spots), _rings(far), "base station", range_)


def _modulation(mcs: int | None) -> str:
    if mcs is None:
        return MODULATIONS[-1]
    return MODULATIONS[0] if mcs <= _LAST_QPSK else MODULATIONS[1] if mcs <= _LAST_16QAM else MODULATIONS[2]


def _rings(far: float) -> tuple[float, ...]:
    """Round distances, the last of them where users may be at most, or farther."""
    raw = far / _RINGS
    ten = 10 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    step = next(each * ten for each in (1, 2, 2.5, 5, 10) if each * ten >= raw * (1 - 1e-9))
    count = max(1, math.ceil(far / step - 1e-9))
    return tuple(float(f"{step * (number + 1):.6g}") for number in range(count))


def _extrapolated(selection: Selection, panels: Sequence[tuple[Sequence[dict[str, Any]], dict[str, Any]]]) -> None:
    """Say it where the path loss was made for none of the users; of some users hollow markers say which."""
    beyond = [(rows, params) for rows, params in panels if all(map(_outside, rows))]
    if not beyond:
        return
    every = [row for rows, _ in beyond for row in rows]
    where = "nearer than 1 km" if all(row["distance_m"] < _MODELS_FROM_M for row in every) else "not at 1 to 20 km"
    who = "the user is" if len(every) == 1 else "all users are"
    models = dict.fromkeys(params["path_loss"] for _, params in beyond)
    selection.remarks.append(Remark(f"{who} {where}: {' and '.join(models)} extrapolated", news=False))


def drawable(selection: Selection) -> bool:
    """Whether there are users that have a place."""
    return bool(selection.result.users["distance_m"].count()) if selection.result.users.height else False
