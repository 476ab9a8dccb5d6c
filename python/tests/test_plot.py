"""Figures: drawn from a saved result, the same every time, with one look per algorithm."""

from __future__ import annotations

from pathlib import Path

import pytest

import ackclock
from ackclock import InputError, Result
from ackclock.plot.figures import save
from ackclock.plot.probes import nice, recorded
from ackclock.plot.style import look
from ackclock.plot.traces import panel


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from shared import SMALL

    base = tmp_path_factory.mktemp("plot")
    path = base / "scenario.toml"
    path.write_text(SMALL.replace('"cubic"', '["reno", "cubic"]').replace("count = 2", "count = [2, 6]"))
    ackclock.run(path, jobs=1, out=base / "out")
    return base / "out"


def test_the_same_result_gives_the_same_files(folder: Path, tmp_path: Path) -> None:
    first, second = (save(Result.load(folder), tmp_path / name) for name in ("a", "b"))
    assert [path.name for path in first] == ["overview.png", "overview.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    svg = (tmp_path / "a" / "overview.svg").read_text()
    assert "<dc:date>" not in svg
    assert len(svg) < 3_000_000


def test_many_points_become_several_files(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ackclock.plot.figures._COLUMNS", 3)
    assert [path.name for path in save(Result.load(folder), tmp_path, "fig")] == [
        "fig-1.png", "fig-1.svg", "fig-2.png", "fig-2.svg",
    ]  # fmt: skip


def test_goodput_is_what_was_delivered(folder: Path) -> None:
    result = Result.load(folder)
    drawn = panel(result, 0)
    assert drawn is not None
    assert drawn.title == "cc = reno\ncount = 2"
    for trace in drawn.goodput:
        row = result.flows.row(int(trace.id), named=True)
        bits = trace.value.sum() * 1e6 * (trace.time[1] - trace.time[0])
        assert bits == pytest.approx(row["goodput_bytes"] * 8, rel=0.02)


def test_nothing_recorded_cannot_be_drawn(raw: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no series to draw"):
        save(ackclock.run(raw, jobs=1), tmp_path)


def test_missing_probes_are_added(raw: dict[str, object]) -> None:
    raw["probes"] = {"cwnd": "on change"}
    plan = recorded(ackclock.load(raw))
    probes = plan.points[0].scenario.probes.resolved()
    assert probes == {"cwnd": "on_change", "delivered": {"every_ns": 5_000_000}, "queue": {"every_ns": 5_000_000}}


@pytest.mark.parametrize(("value", "expected"), [(0.5, 1), (1, 1), (1.1, 2), (3, 5), (7, 10), (10, 10), (101, 200)])
def test_nice_numbers(value: float, expected: int) -> None:
    assert nice(value) == expected


def test_every_algorithm_has_one_look() -> None:
    known = ["tahoe", "reno", "newreno", "cubic"]
    assert len({look(name) for name in known}) == len(known)
    assert look("cubic(beta=0.8)") == look("cubic")
    assert look("mine") == look("mine")
