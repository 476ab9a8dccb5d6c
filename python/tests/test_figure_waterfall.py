"""Waterfalls of web pages: which page, what its objects waited for, and what of it never came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import InputError, Result
from ackclock.cli.app import main
from ackclock.drawing.plot import Drawing, figure, specify
from ackclock.drawing.request import Request
from ackclock.drawing.shapes import Schedule
from ackclock.drawing.waterfall import MOST

Raw = dict[str, Any]

PAGE = """
[[objects]]
name = "index.html"
size = "10 kB"

[[objects]]
name = "a-style-sheet-with-a-long-name.css"
size = "60 kB"

[[objects]]
name = "b.js"
size = "30 kB"

[[objects]]
name = "text.woff2"
size = "5 kB"
parents = ["a-style-sheet-with-a-long-name.css"]
parse = "10 ms"
"""


def result(app: Raw | None = None, count: int = 1, duration: str = "10 s", **more: Any) -> Result:
    topology = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "queue": "1 BDP"}
    web = {"kind": "web", "first": "0 s", "objects_table": True, **(app or {})}
    return ackclock.run(
        {
            "topology": {**topology, **more.pop("topology", {})},
            "flows": [{"count": count, "cc": "cubic", "app": web, **more.pop("flow", {})}],
            "run": {"duration": duration, **more},
        },
        jobs=1,
    )


def of(found: Result, **asked: Any) -> Drawing:
    drawing = specify(found, Request("waterfall", **asked))
    for width in ("column", "page"):
        figure(drawing.chart, width).draw_without_rendering()
    return drawing


def schedule(drawing: Drawing) -> Schedule:
    (panel,) = drawing.chart.panels
    assert panel.schedule is not None
    return panel.schedule


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("page")
    (folder / "page.toml").write_text(PAGE)
    text = """
[topology]
kind = "dumbbell"
rate = "10 Mbit/s"
rtt = "40 ms"
queue = "1 BDP"

[[flows]]
app = { kind = "web", page = "page.toml", connections = 2, first = "1 s", most = 1, objects_table = true }

[run]
duration = "5 s"
"""
    (folder / "scenario.toml").write_text(text)
    return ackclock.run(folder / "scenario.toml", jobs=1)


def test_what_each_object_went_through(listed: Result) -> None:
    found = of(listed)
    shown, rows = schedule(found), {row["object"]: row for row in listed.objects.to_dicts()}
    start = listed.pages["start_s"][0]
    assert found.chart.y.ticks == (
        "index.html, 0, 10 kB", "a-style-sheet-w…, 0, 60 kB", "b.js, 1, 30 kB", "text.woff2, 0, 5 kB"
    )  # fmt: skip
    times = {
        (bar.row, bar.phase): (pytest.approx(bar.start + start), pytest.approx(bar.end + start)) for bar in shown.bars
    }
    for at, row in rows.items():
        assert times[at, "first byte"] == (row["requested_s"], row["first_byte_s"])
        assert times[at, "transfer"] == (row["first_byte_s"], row["done_s"])
    # The main object and that of the second connection waited while theirs was made, the others for a free one.
    assert times[0, "handshake"] == (rows[0]["opened_s"], rows[0]["connected_s"])
    assert times[2, "handshake"] == (rows[2]["opened_s"], rows[2]["connected_s"])
    assert {at for at, phase in times if phase == "handshake"} == {0, 2}
    assert all(bar.row == 3 for bar in shown.bars if bar.phase == "waiting")
    assert [(link.from_row, link.to_row) for link in shown.links] == [(0, 1), (0, 2), (1, 3)]
    last = shown.links[-1]
    assert last.start + start == pytest.approx(rows[1]["done_s"])
    assert last.end - last.start == pytest.approx(0.01), "what the client needs to read the sheet"
    assert not shown.open
    (mark,) = found.chart.panels[0].marks
    assert mark.x == pytest.approx(listed.pages["plt_s"][0])
    assert found.says == "page 0 of user 0: 4 objects, 105 kB, 2 connections"
    assert (found.chart.note, found.chart.legend) == ("", ""), "there is no other page"


def test_the_bars_of_a_page_are_what_its_time_was_spent_with() -> None:
    """With one connection every part of the load time is a bar of some object: docs/web.md."""
    own = result({"connections": 1, "most": 1, "parse": "0 s"})
    shown = schedule(of(own))
    spent = dict.fromkeys(("first byte", "transfer", "handshake"), 0.0)
    for bar in shown.bars:
        if bar.phase in spent:
            spent[bar.phase] += bar.end - bar.start
    page = own.pages.row(0, named=True)
    assert sum(spent.values()) == pytest.approx(page["plt_s"])


def test_objects_stand_in_the_order_in_which_they_were_known_and_asked_for() -> None:
    own = result({"connections": 3, "most": 1, "objects": 9})
    rows = own.objects.sort("known_s", "requested_s")["object"].to_list()
    ticks = of(own).chart.y.ticks
    assert [tick.partition(",")[0] for tick in ticks] == ["main", *map(str, rows[1:])]


def test_the_page_is_the_median_one_or_that_which_is_asked_for() -> None:
    own = result({"interval": "1 s"}, count=3, duration="15 s")
    done = own.pages.filter(pl.col("outcome") == "completed").sort("plt_s")
    middle = done.row((done.height - 1) // 2, named=True)
    found = of(own)
    assert found.says.startswith(f"page {middle['page']} of user {middle['id']}: ")
    assert found.chart.note == f"the median load time of {done.height} pages"
    assert found.notes == (f"{found.chart.note}; --user N and --page N show others",)
    assert of(own, user=(2,), page=1).says.startswith("page 1 of user 2: ")
    assert of(own, user=(2,)).says.split(":")[0].endswith("of user 2")
    assert specify(own, Request(page=1)).kind == "waterfall"
    drawn = own.plot("waterfall", user=2, page=1, width="page")
    assert next(axes.get_title() for axes in drawn.axes).startswith("page 1 of user 2")


def test_the_user_of_a_cell_is_the_one_of_its_flow() -> None:
    app = {"kind": "web", "first": "0 s", "objects_table": True, "most": 1}
    own = ackclock.run(
        {
            "topology": {"kind": "lte_cell", "rtt": "20 ms", "users": 2, "power": "43 dBm"},
            "flows": [{"user": 1, "app": app}, {"user": 0, "app": app}],
            "run": {"duration": "20 s"},
        },
        jobs=1,
    )
    page = own.pages.filter(pl.col("id") == "0").row(0, named=True)
    found = of(own, user=(1,))
    assert found.says.startswith("page 0 of user 1: ")
    assert found.chart.panels[0].marks[0].x == pytest.approx(page["plt_s"]), "flow 0 is that of user 1"


def test_no_page_was_completed() -> None:
    own = result({"objects": 5, "embedded": "1 MB"}, duration="1 s")
    found = of(own)
    assert found.chart.note == "it was under way as the run ended"
    shown = schedule(found)
    open_ = own.objects.filter(pl.col("done_s").is_null() & pl.col("known_s").is_not_null()).height
    assert len(shown.open) == open_ > 0
    assert max(bar.end for bar in shown.bars) == pytest.approx(1.0), "what is under way goes on to the end"
    assert not found.chart.panels[0].marks
    several = of(result({"objects": 5, "embedded": "1 MB"}, count=2, duration="1 s"))
    assert several.chart.note.startswith("none of 2 pages was completed; ")


def test_pages_that_were_given_up() -> None:
    aborted = result({"objects": 3, "embedded": "5 MB", "unfinished": "abort", "interval": "2 s"}, duration="5 s")
    assert of(aborted, page=0).chart.note == "it was given up for the next page"
    # Nothing comes through: every connection fails after its SYN, eight of them the page.
    loss = {"topology": {"loss": 0.9999}, "flow": {"tcp": {"syn_retries": 0, "syn_linear_timeouts": 0}}}
    failed = result({"most": 1}, duration="60 s", **loss)
    assert failed.pages["outcome"].to_list() == ["failed"]
    found = of(failed)
    assert found.chart.note == (
        "it was given up after failures of its connections; the client never knew of "
        f"{failed.pages['objects'][0] - 1} objects"
    )
    assert schedule(found).open == (0,)


def test_one_connection_for_all_objects_and_those_that_were_open_before() -> None:
    many = result({"protocol": "h2", "objects": 8, "most": 1})
    assert sum(bar.phase == "handshake" for bar in schedule(of(many)).bars) == 1
    early = result({"connections": 4, "preopen": True, "objects": 8, "most": 1})
    assert sum(bar.phase == "handshake" for bar in schedule(of(early)).bars) == 1, "the others were made before"


def test_so_many_objects_that_some_have_no_room() -> None:
    own = result({"objects": 2 * MOST, "embedded": "1 kB", "connections": 6, "most": 1}, duration="30 s")
    found = of(own)
    assert len(found.chart.y.ticks) == MOST
    assert found.chart.note == f"the first {MOST} of {2 * MOST + 1} objects"


def test_a_sweep_has_the_page_of_one_run() -> None:
    own = result({"connections": [1, 4], "most": 1}, replications=2)
    found = of(own)
    assert found.chart.note == "the first of 2 points: connections per page = 1; the first of 2 replications"
    assert "waterfall" in specify(own, Request()).others
    assert of(own, where={"app.connections": "4"}).says != found.says


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"user": (2,)}, "user: no user 2; there are users 0 to 1"),
        ({"user": (0, 1)}, "user: a waterfall is of one user; give one number"),
        ({"page": 7}, "page: no page 7; the only page is 0"),
        ({"page": 7, "user": (1,)}, "page: no page 7; the only page of user 1 is 0"),
        ({"y": ("plt_s",)}, "y: a waterfall is of one page; choose it with --user, --page and --where"),
    ],
)
def test_what_a_waterfall_cannot_show(asked: Raw, message: str) -> None:
    with pytest.raises(InputError) as raised:
        of(result({"most": 1}, count=2), **asked)
    assert str(raised.value) == message


def test_without_objects_there_is_none() -> None:
    with pytest.raises(InputError) as raised:
        of(result({"objects_table": False}))
    assert str(raised.value) == (
        "kind: the objects of the pages were not recorded; run it again with --set app.objects_table=true"
    )
    bulk = {"topology": {"kind": "dumbbell", "rate": "1 Mbit/s", "rtt": "10 ms", "queue": "1 BDP"}, "flows": [{}]}
    with pytest.raises(InputError, match="kind: there are no web pages; draw a result of flows with app"):
        of(ackclock.run({**bulk, "run": {"duration": "0.1 s"}}))


def test_the_command_takes_a_user_and_a_page(
    listed: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed.save(tmp_path / "out")
    assert main(["plot", str(tmp_path / "out"), "--user", "0", "--page", "0", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["kind"] == "waterfall"
    (panel,) = printed["figure"]["panels"]
    assert next(bar for bar in panel["schedule"]["bars"] if bar["row"] == 0)["phase"] == "handshake"
