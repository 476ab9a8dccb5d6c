"""Figures of a cell: where its users are, and what they and the cell do over time."""

from __future__ import annotations

import json
import math
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import InputError, Result
from ackclock.cli.app import main
from ackclock.drawing.figures import columns, draw
from ackclock.drawing.plot import Drawing, figure, specify
from ackclock.drawing.probes import recorded
from ackclock.drawing.request import Request
from ackclock.drawing.shapes import Map
from ackclock.drawing.style import RC
from ackclock.drawing.swept import of as keys_of

Raw = dict[str, Any]


def result(flows: Raw | None = None, probes: Raw | None = None, run: Raw | None = None, **topology: Any) -> Result:
    return ackclock.run(
        {
            "topology": {"kind": "lte_cell", "rtt": "20 ms", "power": "43 dBm", **topology},
            "flows": [flows or {"cc": "cubic"}],
            "run": {"duration": "0.5 s", **(run or {})},
            "probes": probes or {},
        },
        jobs=1,
    )


def of(found: Result, kind: str | None = None, **asked: Any) -> Drawing:
    drawing = specify(found, Request(kind, **asked))
    for width in ("column", "page"):
        figure(drawing.chart, width).draw_without_rendering()
    return drawing


def the_map(drawing: Drawing) -> Map:
    (panel,) = drawing.chart.panels
    assert panel.map is not None
    return panel.map


@pytest.fixture(scope="module")
def drawn() -> Result:
    return result(users=8)


def test_a_map_has_every_user_where_the_table_has_it(drawn: Result) -> None:
    found = of(drawn, "map")
    shown = the_map(found)
    rows = drawn.users.to_dicts()
    assert [(spot.x, spot.y, spot.value, spot.name) for spot in shown.spots] == [
        (row["x_m"], row["y_m"], row["sinr_db"], str(row["user"])) for row in rows
    ]
    # TS 36.213 table 7.1.7.1-1: QPSK to scheme 9, 16QAM to 16, 64QAM to 28.
    assert [spot.label for spot in shown.spots] == [
        "QPSK" if row["mcs"] <= 9 else "16QAM" if row["mcs"] <= 16 else "64QAM" for row in rows
    ]
    assert (shown.rings, shown.centre) == ((100.0, 200.0, 300.0, 400.0, 500.0), "base station"), "the disc of 500 m"
    assert found.chart.z is not None
    assert found.chart.z.label == "SNR (dB)"
    assert found.chart.z.high == pytest.approx(min(25.0, max(row["sinr_db"] for row in rows)))
    assert found.chart.note == "all users are nearer than 1 km: cost231 extrapolated"
    assert found.says == "SNR (dB) of 8 users around the base station"


def test_a_map_fits_results_with_a_cell_and_can_show_another_column(drawn: Result) -> None:
    assert "map" in of(drawn).others
    found = of(drawn, "map", y=("rate_bps",))
    assert found.chart.z is not None
    assert found.chart.z.label == "rate (Mbit/s)"
    assert [spot.value for spot in the_map(found).spots] == pytest.approx((drawn.users["rate_bps"] / 1e6).to_list())


def test_only_users_that_are_asked_for(drawn: Result) -> None:
    assert [spot.name for spot in the_map(of(drawn, "map", user=(1, 3))).spots] == ["1", "3"]


def test_users_outside_the_range_of_the_model_are_hollow() -> None:
    places = [{"distance": "1500 m"}, {"distance": "400 m"}, {"snr": "12 dB"}]
    found = of(result(places=places), "map")
    shown = the_map(found)
    assert [(round(math.hypot(spot.x, spot.y), 6), spot.hollow) for spot in shown.spots] == [(1.5, False), (0.4, True)]
    assert shown.hollow == "outside the range of cost231, 1 to 20 km"
    assert found.chart.x.label == "x (km)"
    assert found.chart.note == (
        "1 of 3 users have an SNR and no place: left out; only distances are known: directions mean nothing"
    )
    inside = the_map(of(result(places=[{"distance": "1500 m"}]), "map"))
    assert (inside.hollow, inside.spots[0].hollow) == ("", False)


def test_one_user_many_users_and_fading() -> None:
    alone = of(result(users=1, fading={"profile": "epa", "speed": "3 km/h"}), "map")
    assert len(the_map(alone).spots) == 1
    assert alone.chart.note == "the user is nearer than 1 km: cost231 extrapolated; SNRs are means: the channel fades"
    many = the_map(of(result(users=200, run={"duration": "0.1 s"}), "map"))
    assert len(many.spots) == 200
    assert {spot.name for spot in many.spots} == {""}, "so many numbers have no room"


def test_of_a_user_that_is_not_served_there_is_a_marker() -> None:
    found = result(users=1, power="10 dBm", radius="3 km", min_distance="2900 m", cqi={"min_mcs0": False})
    assert found.users["mcs"][0] is None
    assert the_map(of(found, "map")).spots[0].label == "not served"


def test_a_sweep_has_the_map_of_one_run_and_says_which() -> None:
    swept = result({"cc": ["cubic", "reno"]}, users=[2, 5], run={"replications": 2, "duration": "0.2 s"})
    found = of(swept, "map")
    assert len(the_map(found).spots) == 5, "the point with the most users"
    assert found.chart.note.startswith("one of 4 points: users = 5, cc = cubic, the first of 2 replications;")
    assert found.notes[0].endswith("--where KEY=VALUE shows another")
    panels = of(swept, "map", facet="users").chart.panels
    assert [(panel.title, len(panel.map.spots)) for panel in panels if panel.map] == [
        ("users = 2", 2),
        ("users = 5", 5),
    ]
    assert len(the_map(of(swept, "map", where={"topology.users": "2"})).spots) == 2


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"x": "goodput_bps"}, "x: a map has its own axes; leave --x out"),
        ({"y": ("sinr",)}, "y: unknown column of users 'sinr'; did you mean 'sinr_db'"),
        ({"user": (8,)}, "user: no user 8; there are users 0 to 7"),
        ({"page": 0}, "page: map is not of single pages; leave --page out, or draw --kind waterfall"),
    ],
)
def test_what_a_map_cannot_show(drawn: Result, asked: Raw, message: str) -> None:
    with pytest.raises(InputError) as raised:
        of(drawn, "map", **asked)
    assert str(raised.value).startswith(message)


def test_without_a_cell_or_a_place_there_is_no_map() -> None:
    with pytest.raises(InputError, match="no user has a place: their SNRs were given"):
        of(result(places=[{"snr": "12 dB"}]), "map")
    wired = {"topology": {"kind": "dumbbell", "rate": "1 Mbit/s", "rtt": "10 ms", "queue": "1 BDP"}}
    with pytest.raises(InputError, match="a map needs a cell"):
        of(ackclock.run({**wired, "flows": [{}], "run": {"duration": "0.1 s"}}), "map")


PROBES = dict.fromkeys(("rho_rb", "user_rate", "user_queue_age", "delivered", "queue"), "50 ms")


@pytest.fixture(scope="module")
def probed() -> Result:
    return result({"cc": "cubic"}, PROBES, users=3)


def test_what_a_cell_records_is_shown_over_time_by_default(probed: Result) -> None:
    found = of(probed)
    assert found.kind == "timeseries"
    labels = [panel.y.label for panel in found.chart.panels if panel.y]
    assert labels[:3] == ["goodput (Mbit/s)", "resource blocks used", "rate of a user (Mbit/s)"]
    assert labels[3].startswith("age in the queue"), "and not the queue of the link before the base station"
    assert found.chart.labels == ["cubic, user 0", "cubic, user 1", "cubic, user 2", ""]
    assert not found.chart.panels[0].marks, "the rate of a link says nothing of a cell"
    series = probed.series.filter((pl.col("metric") == "rho_rb") & (pl.col("kind") == "cell"))
    assert list(found.chart.panels[1].curves[0].y) == pytest.approx(series["value"].to_list())


def test_a_recorded_cell_is_shown_over_time_though_there_are_many_transfers() -> None:
    app = {"kind": "files", "arrivals": {"every": "20 ms"}, "size": "2 kB"}
    assert (
        of(result({"cc": "cubic", "app": app}, {"rho_rb": "50 ms"}, run={"duration": "2 s"}, users=2)).kind
        == "timeseries"
    )
    assert of(result({"cc": "cubic", "app": app}, run={"duration": "2 s"}, users=2)).kind == "ecdf"


def test_only_some_users_over_time(probed: Result) -> None:
    found = of(probed, y=("user_rate",), user=(2,))
    (curve,) = found.chart.curves
    own = probed.series.filter((pl.col("metric") == "user_rate") & (pl.col("id") == "cell.2"))
    assert len(own)
    assert list(curve.y) == pytest.approx((own["value"] / 1e6).to_list())
    assert found.chart.note == "user 2"
    assert of(probed, user=(2,)).kind == "timeseries"
    with pytest.raises(InputError, match="user: no user 3; there are users 0 to 2"):
        of(probed, y=("user_rate",), user=(3,))
    with pytest.raises(InputError, match="user: box is not of single users"):
        of(probed, "box", user=(0,))


def test_many_users_are_their_mean_and_range() -> None:
    found = of(result(probes=PROBES, users=6), "timeseries", y=("user_queue_age",))
    assert found.chart.labels == ["cubic, mean and range of 6 users"]


def test_columns_with_other_numbers_of_users_say_so() -> None:
    found = of(result(probes=PROBES, users=[5, 9], run={"duration": "0.2 s"}), "timeseries", y=("user_queue_age",))
    assert found.chart.labels == ["cubic, mean and range of 5 to 9 users"]


def test_the_overview_of_a_run_has_its_cell() -> None:
    scenario = {
        "topology": {"kind": "lte_cell", "rtt": "20 ms", "users": 2},
        "flows": [{"cc": "cubic"}],
        "run": {"duration": "1 s"},
        "probes": {"user_sinr": "100 ms"},
    }
    plan = recorded(ackclock.load(scenario))
    probes = plan.points[0].scenario.probes.resolved()
    names = ("rho_rb", "user_rate", "user_queue_age")
    assert [probes[name]["every_ns"] for name in names] == [10**8] * 3, "all series of a cell have the same interval"
    import matplotlib as mpl

    with mpl.rc_context(RC):
        shown = draw(columns(ackclock.run(plan)))
    labels = [axes.get_ylabel().replace("\n", " ") for axes in shown.axes]
    assert labels[2:4] == ["resource blocks used", "rate of a user (Mbit/s)"]


def test_connections_are_compared_where_users_are_swept_too() -> None:
    app = {"kind": "web", "connections": [1, 4], "first": "0 s", "most": 1}
    found = of(result({"cc": "cubic", "app": app}, users=[1, 3], run={"duration": "20 s"}))
    assert found.kind == "curve"
    assert (found.chart.x.label, found.chart.legend) == ("users", "connections per page")
    assert found.chart.labels == ["1", "4"]
    assert found.chart.y.label.startswith("mean page load time")
    alone = result({"cc": "cubic", "app": app}, users=2, run={"duration": "20 s"})
    assert of(alone).chart.x.label == "connections per page"
    assert not any(key.name == "topology.users" for key in keys_of(alone).values())


def test_pages_that_were_not_completed_are_said() -> None:
    app = {"kind": "web", "connections": [1, 2], "first": "0 s", "interval": "4 s"}
    found = result({"cc": "cubic", "app": app}, users=3, run={"duration": "8.2 s"})
    open_ = found.pages.filter(pl.col("outcome") != "completed").height
    assert open_
    note = f"{open_} of {found.pages.height} pages were not completed, left out"
    assert of(found).chart.note == note


def test_the_command_takes_users(probed: Result, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    probed.save(tmp_path / "out")
    assert main(["plot", str(tmp_path / "out"), "--y", "user_rate", "--user", "0,2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [curve["label"] for curve in printed["figure"]["panels"][0]["curves"]] == ["cubic, user 0", "cubic, user 2"]
    assert main(["plot", str(tmp_path / "out"), "--y", "list"]) == 0
    listed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "user_rate rate of a user, bit/s time" in listed
    assert "rb_share share of resource blocks users of a map" in listed
    assert main(["plot", str(tmp_path / "out"), "--user", "x"]) == 2
    assert capsys.readouterr().err == "ackclock: --user: 'x' is no number of a user; users are numbered from 0\n"
