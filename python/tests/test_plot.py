"""Figures: drawn from a saved result, the same every time, with one look per algorithm."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import matplotlib as mpl
import pytest

import ackclock
from ackclock import InputError, Result
from ackclock.cli.app import main
from ackclock.drawing.figures import columns, draw, save, save_file
from ackclock.drawing.overtime import Column
from ackclock.drawing.probes import recorded
from ackclock.drawing.style import RC, look
from ackclock.drawing.ticks import nice


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from shared import SMALL

    base = tmp_path_factory.mktemp("plot")
    path = base / "scenario.toml"
    path.write_text(SMALL.replace('"cubic"', '["reno", "cubic"]').replace("count = 2", "count = [2, 6]"))
    ackclock.run(path, jobs=1, out=base / "out")
    return base / "out"


def test_the_same_result_gives_the_same_files(folder: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first, second = (save(Result.load(folder), tmp_path / name) for name in ("a", "b"))
    assert [path.name for path in first] == ["overview.png", "overview.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    svg = (tmp_path / "a" / "overview.svg").read_text()
    assert "<dc:date>" not in svg
    assert len(svg) < 3_000_000


def test_many_points_become_several_files(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ackclock.drawing.figures._COLUMNS", 3)
    assert [path.name for path in save(Result.load(folder), tmp_path, "fig")] == [
        "fig-1.png", "fig-1.svg", "fig-2.png", "fig-2.svg",
    ]  # fmt: skip


def test_goodput_is_what_was_delivered(folder: Path) -> None:
    result = Result.load(folder)
    drawn = columns(result)[0]
    assert drawn.title == "cc = reno\ncount = 2"
    for trace in drawn.rows["goodput"].traces:
        row = result.flows.row(int(trace.id), named=True)
        bits = trace.value.sum() * (trace.time[1] - trace.time[0])
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


def panels(*flows: dict[str, object], **topology: object) -> list[Column]:
    path = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"} | topology
    plan = ackclock.load({"topology": path, "flows": list(flows), "run": {"duration": "1 s"}})
    result = ackclock.run(recorded(plan), jobs=1)
    return columns(result)


def drawn(*flows: dict[str, object], **topology: object) -> tuple[list[str], list[str]]:
    """The names of the rows, and those of the lines."""
    figure = draw(panels(*flows, **topology))
    rows = [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()]
    return rows, [entry.get_text() for entry in figure.legends[0].get_texts()]


PACKETS: dict[str, object] = {"app": {"kind": "cbr", "rate": "2 Mbit/s"}}
ALL = ["cwnd (segments)", "queue (packets)", "goodput (Mbit/s)"]


def test_sources_of_packets_are_called_by_what_they_do() -> None:
    rows, names = drawn({}, PACKETS, {"app": {"kind": "on-off", "rate": "1 Mbit/s"}, "count": 2})
    assert rows == ALL
    assert names == [
        "cubic", "cbr 2 Mbit/s", "on-off 1 Mbit/s, flow 2", "on-off 1 Mbit/s, flow 3",
        "queue limit", "link rate",
    ]  # fmt: skip


def test_packets_look_like_no_controller() -> None:
    (found, *_) = panels({"cc": ["reno", "cubic"]} | PACKETS)
    assert [trace.cc for trace in found.rows["goodput"].traces] == ["none"], "a swept controller is not theirs"
    assert look("none") not in [look(name) for name in ("reno", "cubic", "scalable", "westwood")]


def test_packets_alone_have_no_window() -> None:
    assert drawn(PACKETS)[0] == ALL[1:]


def test_unlike_flows_are_drawn_apart() -> None:
    sometimes: dict[str, object] = {"app": {"kind": "on-off", "transport": "tcp", "rate": "1 Mbit/s"}, "count": 5}
    _, names = drawn({"count": 5}, sometimes, {"rtt": "40 ms"})
    assert names[:3] == [
        "cubic, 20 ms, mean and range of 5 flows",
        "on-off 1 Mbit/s cubic, mean and range of 5 flows",
        "cubic, 40 ms",
    ]
    figure = draw(panels({"count": 5}, sometimes))
    assert len({str(line.get_linestyle()) + str(line.get_markerfacecolor()) for line in figure.axes[0].lines}) == 2


def test_a_flow_keeps_its_line_though_its_number_changes() -> None:
    _, names = drawn({"cc": "reno", "count": [1, 2]}, {"cc": "vegas"})
    assert sorted(names[:3]) == ["reno, flow 0", "reno, flow 1", "vegas"]


def test_a_rate_that_varies_is_no_line() -> None:
    steady, *_ = panels({})
    assert steady.rows["goodput"].limit == 10e6
    rate = {"steps": [{"at": "0 s", "rate": "10 Mbit/s"}, {"at": "500 ms", "rate": "5 Mbit/s"}]}
    varying, *_ = panels({}, rate=rate)
    assert varying.rows["goodput"].limit is None
    assert varying.rows["queue"].traces


def test_directories_are_not_made(folder: Path, tmp_path: Path) -> None:
    result = Result.load(folder)
    for attempt in (lambda: save(result, tmp_path / "no"), lambda: save_file(result, tmp_path / "no" / "x.svg")):
        with pytest.raises(InputError, match="no: cannot write a figure there: no such directory; make it"):
            attempt()
    assert list(tmp_path.iterdir()) == []


def test_titles_keep_within_their_columns_and_own_controllers_apart() -> None:
    own = ["python:ackclock.reference.reno:Reno", "python:ackclock.reference.vegas:Vegas"]
    with mpl.rc_context(RC):
        figure = draw(panels({"cc": [*own, "cubic", "bbr1"]}))
        figure.draw_without_rendering()
        boxes = [axes.title.get_window_extent() for axes in figure.axes[:4]]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
    assert boxes[-1].x1 <= figure.bbox.x1
    assert figure.axes[0].get_title() == "cc = python:ackclock.\nreference.reno:Reno"
    first, second = (axes.lines[0] for axes in figure.axes[:2])
    assert first.get_color() == second.get_color() == "#000000"
    assert (first.get_linestyle(), first.get_markerfacecolor()) != (
        second.get_linestyle(),
        second.get_markerfacecolor(),
    )


def test_a_metric_that_is_none_gets_the_nearest_and_how_to_see_all(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plot", str(folder), "--y", "bogus"]) == 2
    said = capsys.readouterr().err
    assert len(said) < 300, "not all of them"
    assert said.rstrip().endswith("; ackclock plot DIR --y list prints all that a result has")
    assert main(["plot", str(folder), "--y", "latency_p95"]) == 2
    assert "did you mean 'p95_" in capsys.readouterr().err
    assert main(["plot", str(folder), "--y", "list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]]
    assert {"goodput_bps", "jain", "cwnd"} <= set(names)
    assert "mean_fct_s" not in names, "which no flow without an end has"
    assert main(["plot", str(folder), "--y", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["series"]
    assert not (folder / "plots").exists()
