"""Radio cells in scenarios: users and their flows, what the engine is told, what results say, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import load
from ackclock.cli.app import main
from ackclock.errors import InputError
from ackclock.scenario.display.sketch import sketch

Raw = dict[str, Any]


def cell(flows: Raw | list[Raw] | None = None, run: Raw | None = None, **topology: Any) -> Raw:
    groups = flows if isinstance(flows, list) else [flows or {"cc": "reno"}]
    return {
        "topology": {"kind": "lte_cell", "rtt": "20 ms", **topology},
        "flows": groups,
        "run": {"duration": "3 s", "warmup": "1 s", **(run or {})},
    }


def document(raw: Raw) -> Raw:
    return next(load(raw).jobs()).document()


def ports(raw: Raw) -> list[tuple[int, int]]:
    """The port by which each flow's data pass the cell, and that of the way back."""
    found = []
    for flow in document(raw)["flows"]:
        way = [
            next(hop["element"]["port"] for hop in flow[name] if "element" in hop) for name in ("forward", "reverse")
        ]
        found.append((way[0], way[1]))
    return found


def test_every_user_has_a_flow() -> None:
    assert ports(cell(users=3)) == [(0, 3), (1, 4), (2, 5)]


def test_flows_are_spread_over_users_or_belong_to_one() -> None:
    assert ports(cell([{"count": 3}], users=2)) == [(0, 2), (1, 3), (0, 2)]
    assert ports(cell([{"user": 1, "count": 2}, {"count": 1}], users=2)) == [(1, 3), (1, 3), (0, 2)]
    assert ports(cell([{"user": 1}], users=2)) == [(1, 3)]


def test_data_may_come_from_the_user() -> None:
    assert ports(cell([{"direction": "up"}], users=2)) == [(2, 0), (3, 1)]


def test_the_internet_is_split_half_each_way() -> None:
    found = document(cell(rtt="21 ms", core_delay="3 ms"))
    delays = {link["id"]: (link["delay_ns"], link["rate_bps"]) for link in found["links"]}
    assert delays == {"server": (10_500_000, 10**10), "server-reverse": (10_500_000, 10**10)}
    air = {"element": {"id": "cell", "port": 0}}
    assert found["flows"][0]["forward"] == [{"link": "server"}, {"delay_ns": 3_000_000}, air]
    # An RTT of a flow's own is longer by a delay at the server.
    longer = document(cell([{"rtt": "41 ms", "count": 1}, {"count": 1}], rtt="21 ms", server_rate="unlimited"))
    assert [sum(hop.get("delay_ns", 0) for hop in flow["forward"]) for flow in longer["flows"]] == [
        20_500_000,
        10_500_000,
    ]
    assert longer["links"] == []


def test_what_the_engine_is_told_of_the_air() -> None:
    raw = cell(
        users=2,
        bandwidth="10 MHz",
        carrier="1.9 GHz",
        power="43 dBm",
        noise="7 dB",
        radius="1.5 km",
        fading={"profile": "eva", "speed": "10 m/s"},
        harq={"errors": "fixed", "first": "20 %"},
        rlc="am",
        queue={"kind": "codel", "limit": "100 packets"},
        uplink={"power": "20 dBm", "grant_delay": "3 ms"},
    )
    found = document(raw)["cells"][0]
    assert found["users"] == [{"disc_m": 1500.0}] * 2
    params = found["params"]
    expected = {
        "bandwidth_mhz": 10.0,
        "down_mhz": 1900.0,
        "base_power_dbm": 43.0,
        "user_noise_db": 7.0,
        "fading": {"profile": "eva", "speed_kmh": 36.0},
        "errors": {"geometric": [0.2, 0.01]},
        "user_power_dbm": 20.0,
        "grant_delay_ns": 3_000_000,
    }
    assert {name: params[name] for name in expected} == expected
    assert (params["rlc"]["mode"], params["down_queue"]["kind"]) == ("am", "codel")


def test_defaults_are_those_of_the_engine() -> None:
    """A cell of which the scenario says nothing is that of a resolved run that says nothing."""
    raw = cell(users=4)
    told = document(raw)
    bare = json.loads(json.dumps(told))
    bare["cells"][0]["params"] = {}
    from ackclock import engine

    full, least = engine.run(json.dumps(told)), engine.run(json.dumps(bare))
    assert full.users.equals(least.users)
    assert full.flows.equals(least.flows)


@pytest.mark.parametrize(("profile", "rate"), [("near", 25e6), ("mid", 20e6), ("far", 14e6)])
def test_profiles_have_the_rate_of_their_speed_tests(profile: str, rate: float) -> None:
    """Four connections for ten seconds over an RTT of 30 ms; rates of the source study, and 3 % of tolerance."""
    result = ackclock.run(
        cell([{"cc": "cubic", "count": 4}], {"duration": "12 s", "warmup": "2 s"}, profile=profile, rtt="15 ms")
    )
    # 20 Mbit/s need less than a tenth of retransmissions: the whole band has 2 % less.
    assert result.flows["goodput_bps"].sum() == pytest.approx(rate, rel=0.03)


def test_places_are_drawn_once_for_all_controllers() -> None:
    raw = cell({"cc": ["reno", "bbr1"]}, {"replications": 2}, users=[2, 4])
    users = ackclock.run(raw).users
    by = users.group_by("replication", "user").agg(pl.col("distance_m").n_unique(), pl.len())
    assert by["distance_m"].to_list() == [1] * by.height
    assert by.filter(pl.col("user") == 0)["len"].to_list() == [4, 4]  # two controllers, two sizes of the cell
    assert users.filter(pl.col("user") == 0)["distance_m"].n_unique() == 2
    assert users["distance_m"].max() <= 500


def test_the_tables_agree() -> None:
    result = ackclock.run(cell(users=3, power="43 dBm", run={"duration": "6 s", "warmup": "0 s"}))
    users, (row,) = result.users, result.cells.iter_rows(named=True)
    assert row["users"] == users.height == 3
    assert users["rb_share"].sum() == pytest.approx(row["rho_rb"], abs=1e-9)
    assert users["blocks"].sum() + users["retransmissions"].sum() == row["blocks"]
    # What came out is what flows got, with headers of 52 bytes, a handshake, and what is still to be put in order.
    headers = 1500 / 1448
    assert (users["delivered_bytes"] / result.flows["goodput_bytes"]).is_between(headers, 1.1 * headers).all()
    point = result.points[0]
    assert point.metrics["utilisation"].mean == row["rho_rb"]
    drops = 100 * users["drops"].sum() / users["arrived_packets"].sum()
    assert point.metrics["loss_percent"].mean == pytest.approx(drops)


def test_what_is_outside_the_range_is_said_once() -> None:
    result = ackclock.run(cell(users=2, run={"replications": 3}))
    (text,) = (line for line in result.warnings if "path loss" in line)
    assert "2120 MHz" in text
    assert "nearer than 1 km" in text
    assert not any("run" in line.split(":")[0] for line in result.warnings)  # it is about all of them
    inside = {
        "carrier": "1900 MHz",
        "uplink": {"carrier": "1800 MHz", "power": "60 dBm"},
        "places": [{"distance": "2 km"}],
    }
    assert ackclock.run(cell(power="60 dBm", **inside)).warnings == []


def test_series_and_files(tmp_path: Path) -> None:
    raw = cell(users=2) | {"probes": {"rho_rb": "500 ms", "user_rate": "500 ms"}}
    result = ackclock.run(raw)
    result.save(tmp_path / "result")
    again = ackclock.Result.load(tmp_path / "result")
    assert again.users.equals(result.users)
    series = again.series.cast({"kind": pl.String, "metric": pl.String})
    assert set(series.select("kind", "id", "metric").iter_rows()) == {
        ("cell", "cell", "rho_rb"),
        ("user", "cell.0", "user_rate"),
        ("user", "cell.1", "user_rate"),
    }
    assert series.filter(pl.col("kind") == "cell")["time_s"].to_list() == [0.5 * n for n in range(1, 7)]


def test_results_of_older_versions_have_no_cells(tmp_path: Path) -> None:
    folder = tmp_path / "result"
    ackclock.run(cell()).save(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in ("cells.parquet", "users.parquet"):
        del manifest["files"][name]
        (folder / name).unlink()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert ackclock.Result.load(folder).users.height == 0


def test_swept_powers_have_numbers() -> None:
    result = ackclock.run(cell(power=["30 dBm", "43 dBm"], shadowing="8 dB", users=2))
    assert result.runs["topology.power_dbm"].to_list() == [30.0, 43.0]
    low, high = (result.users.filter(pl.col("topology.power") == power)["sinr_db"] for power in ("30 dBm", "43 dBm"))
    assert (high - low).round(9).to_list() == [13.0, 13.0]


def test_idle_users_wait_before_they_are_served() -> None:
    flow = {"cc": "reno", "bytes": "1 kB", "start": "0 s"}
    run = {"warmup": "0 s"}

    def done(**keys: Any) -> float:
        uplink = {"sr_period": "0 s"}
        return float(ackclock.run(cell([flow], run, uplink=uplink, **keys)).flows["fct_s"].item())

    # The first packet finds the user idle; those after it do not.
    assert done(promotion={"after": "10 s", "delay": "250 ms"}) - done() == pytest.approx(0.25, abs=0.002)


def test_the_ways_through_a_cell_name_users(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cell.toml"
    file.write_text(
        '[topology]\nkind = "lte_cell"\nusers = 4\nrtt = "20 ms"\n\n[[flows]]\n\n[[flows]]\nuser = 3\n\n'
        '[[flows]]\ncount = 2\ndirection = "up"\n\n[run]\nduration = "1 s"\n'
    )
    assert main(["show", str(file)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "0 to 3 server, cell (users 0 to 3) cell (users 0 to 3), server-reverse" in printed
    assert "4 server, cell (user 3) cell (user 3), server-reverse" in printed
    assert "5 to 6 cell (users 0, 1), server-reverse server, cell (users 0, 1)" in printed


def test_the_picture_shows_the_base_station() -> None:
    scenario = load(cell([{"cc": "reno"}, {"cc": "cubic", "user": 1, "direction": "up"}], users=3)).points[0].scenario
    drawn = sketch(scenario)
    assert [place.name for place in drawn.places] == ["server", "base-station", "users-0-to-2", "user-1"]
    assert [route.stops[0] for route in drawn.routes] == ["server", "user-1"]


MISTAKES: list[tuple[Raw, str, str]] = [
    ({"users": 0}, "topology.users", "at least 1"),
    ({"power": "30 W"}, "topology.power", "unknown unit 'W'"),
    ({"power": 30}, "topology.power", "has no unit"),
    ({"bandwidth": "7 MHz"}, "topology.bandwidth", "no bandwidth of LTE"),
    ({"scheduler": "fifo"}, "topology.scheduler", "pf"),
    ({"users": 3, "places": [{"distance": "10 m"}]}, "topology.places", "3 users and 1 places"),
    ({"places": [{}]}, "topology.places.0", "a distance or an SNR"),
    ({"places": [{"distance": "10 m", "up_snr": "3 dB"}]}, "topology.places.0.up_snr", "SNR"),
    ({"queue": "1 BDP"}, "topology.queue", "no BDP"),
    ({"queue": {"limit": "100 B"}}, "topology.queue.limit", "never holds"),
    ({"queue": {"kind": "codel", "target": "200 ms", "limit": "10 packets"}}, "topology.queue.target", ""),
    ({"uplink": {"grant_delay": "1.5 ms"}}, "topology.uplink.grant_delay", "whole milliseconds"),
    ({"uplink": {"min_grant": 200}}, "topology.uplink.min_grant", "resource blocks"),
    ({"harq": {"first": 0.1}}, "topology.harq.first", "fixed"),
    ({"cqi": {"subband": True}}, "topology.cqi.subband", "without fading"),
    ({"thresholds": "gap", "cqi": {"quantised": False}}, "topology.thresholds", "miesm"),
    ({"promotion": {"after": "1.5 ms"}}, "topology.promotion.after", "whole milliseconds"),
    ({"rlc": "tm"}, "topology.rlc", "um"),
    ({"radius": "0 m"}, "topology.radius", "without area"),
    ({"profile": "close"}, "topology.profile", "near"),
    ({"access": {}}, "topology.access", "unknown key"),
    ({"rtt": None}, "topology.rtt", "missing key"),
]


@pytest.mark.parametrize(("keys", "key", "words"), MISTAKES, ids=lambda item: str(item)[:40])
def test_mistakes_are_told_in_a_line(keys: Raw, key: str, words: str) -> None:
    raw = cell(**keys)
    raw["topology"] = {name: value for name, value in raw["topology"].items() if value is not None}
    with pytest.raises(InputError) as caught:
        load(raw)
    assert str(caught.value.key) == key
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("flow", "key", "words"),
    [
        ({"user": 5}, "flows.0.user", "0 to 1"),
        ({"over": 1}, "flows.0.over", "parking-lot"),
        ({"access": {"delay": "1 ms"}}, "flows.0.access", "server_rate"),
        ({"direction": "left"}, "flows.0.direction", "up"),
    ],
)
def test_mistakes_in_flows(flow: Raw, key: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        load(cell(flow, users=2))
    assert str(caught.value.key) == key
    assert words in str(caught.value)


def test_users_belong_to_cells_only() -> None:
    raw = {
        "topology": {"kind": "dumbbell", "rate": "1 Mbit/s", "rtt": "10 ms", "queue": "1 BDP"},
        "flows": [{"user": 0}],
        "run": {"duration": "1 s"},
    }
    with pytest.raises(InputError, match="does not belong to a dumbbell"):
        load(raw)


def test_intervals_of_cells_are_one() -> None:
    raw = cell() | {"probes": {"rho_rb": "100 ms", "user_sinr": "200 ms"}}
    with pytest.raises(InputError, match="one interval"):
        load(raw)


def test_a_long_run_is_no_question_of_memory() -> None:
    """The fast link before a cell holds what its senders have in flight, not what it could carry in ten minutes."""
    from ackclock import engine

    text = next(load(cell(users=30, run={"duration": "600 s"})).jobs()).text()
    assert engine.estimate_bytes(text) < 100e6
