"""Lines of a figure that come from a file: what others found, beside what was played."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from ackclock.cli.app import main
from ackclock.errors import InputError
from ackclock.study.runner import load, run
from ackclock.study.tables import build
from studies import write_study

PLAYED = 'series = [{ label = "goodput", scenario = "one", data = "goodput", over = "cc" }]'
REFERRED = (
    'series = [{ panel = "played", label = "flow", scenario = "one", data = "goodput", over = "cc" }, '
    '{ panel = "paper", label = "flow", scenario = "one", data = "goodput", over = "cc", reference = "expected.csv" }]'
)


def test_a_reference_has_a_point_where_it_has_a_number(tmp_path: Path, capsys: Any) -> None:
    folder, out = write_study(tmp_path, (PLAYED, REFERRED)), tmp_path / "out"
    main(["study", "run", str(folder), "--quick", "--out", str(out)])
    with (out / "figures" / "goodput.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["panel"], row["x"]) for row in rows] == [("played", "reno"), ("played", "cubic"), ("paper", "reno")]
    # In the units of the axis, and without an interval: it is one number.
    assert (rows[-1]["y"], rows[-1]["low"]) == ("9.3", "")
    assert (out / "figures" / "goodput.svg").exists()


def test_a_row_that_is_none_is_refused(tmp_path: Path) -> None:
    folder = write_study(tmp_path, (PLAYED, REFERRED.replace("expected.csv", "other.csv")))
    (folder / "other.csv").write_text("row,goodput\nrena,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"figures.1.series.1.reference: unknown row 'rena'.*reno"):
        run(load(folder), quick=True)
    (folder / "other.csv").write_text("row,other\nreno,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"row 'reno' has no goodput"):
        run(load(folder), quick=True)


ROW = '{ scenario = "one", each = ["cc"] }'


def test_a_row_that_has_a_name_is_beside_the_same_number(tmp_path: Path) -> None:
    """A reference knows the swept value, not what it is called."""
    named = ROW.replace(" }", ', names = { reno = "NewReno" } }')
    report = run(load(write_study(tmp_path, (ROW, named))), quick=True, jobs=1)
    (spec,) = report.study.tables
    header, *rows = build(spec, report.results, report.code.measures).rows()
    assert [row[0] for row in rows] == ["reno", "NewReno", "cubic"]
    assert header[-1] == "paper"
    assert [row[-1] for row in rows] == ["9.30", "9.30", ""]


def test_a_name_of_no_value_is_refused(tmp_path: Path) -> None:
    named = ROW.replace(" }", ', names = { rena = "NewReno" } }')
    with pytest.raises(InputError, match=r"tables.0.rows.1.names.rena: unknown value of a key in each 'rena'.*reno"):
        run(load(write_study(tmp_path, (ROW, named))), quick=True)


def test_a_line_over_time_has_none(tmp_path: Path) -> None:
    line = '{ label = "rate", scenario = "one", data = "goodput" }'
    folder = write_study(tmp_path, (line, line.replace(" }", ', reference = "expected.csv" }')))
    with pytest.raises(InputError, match=r"figures.0.series.1.reference: a line over time has no reference"):
        load(folder)
