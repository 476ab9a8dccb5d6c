"""Relays in scenarios: where they stand, what their legs are, what comes out, what is refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.errors import EngineError, InputError
from ackclock.scenario.plan import Job

SLOW = {"kind": "droptail", "limit": "300 packets"}
CHAIN: dict[str, Any] = {
    "topology": {
        "kind": "chain",
        "hops": [
            {"rate": "100 Mbit/s", "delay": "40 ms", "queue": SLOW},
            {"rate": "20 Mbit/s", "delay": "10 ms", "queue": SLOW},
        ],
    },
    "relays": [{"name": "pep", "position": 1}],
    "flows": [{"relay": "pep"}],
    "run": {"duration": "5 s"},
}


def changed(*changes: tuple[str, Any], base: dict[str, Any] = CHAIN) -> dict[str, Any]:
    scenario = copy.deepcopy(base)
    for key, value in changes:
        node: Any = scenario
        *above, last = (int(part) if part.isdecimal() else part for part in key.split("."))
        for part in above:
            node = node.setdefault(part, {}) if isinstance(node, dict) else node[part]
        node[last] = value
    return scenario


def resolved(scenario: dict[str, Any]) -> dict[str, Any]:
    return Job(0, ackclock.load(scenario).points[0], 0).document()


def flows(scenario: dict[str, Any]) -> dict[str, Any]:
    return {flow["id"]: flow for flow in resolved(scenario)["flows"]}


def ways(scenario: dict[str, Any], name: str) -> list[list[Any]]:
    """What a flow passes, out and back."""
    flow = flows(scenario)[name]
    short = {"link": lambda hop: hop["link"], "delay_ns": lambda hop: hop["delay_ns"] / 1e6,
             "uniform_ns": lambda hop: tuple(each / 1e6 for each in hop["uniform_ns"]),
             "element": lambda hop: hop["element"]["port"]}  # fmt: skip
    return [[short[next(iter(hop))](hop) for hop in flow[way]] for way in ("forward", "reverse")]


def test_a_chain_is_split_between_two_hops() -> None:
    assert ways(CHAIN, "0") == [["hop0", "hop1"], ["hop1-reverse", "hop0-reverse"]]
    assert ways(CHAIN, "0/source") == [["hop0"], ["hop0-reverse"]]
    assert ways(CHAIN, "0/sink") == [["hop1"], ["hop1-reverse"]]
    relay = flows(CHAIN)["0"]["relay"]
    assert relay == {
        "legs": ["0/source", "0/sink"], "node": "pep", "buffer_bytes": 4_000_000, "opening": "transparent",
        "delay_ns": 0, "per_segment_ns": 0, "connections": None,
    }  # fmt: skip


def test_a_longer_rtt_and_access_links_belong_to_the_leg_at_their_end() -> None:
    access = {"rate": "1 Gbit/s", "delay": "1 ms"}
    own = changed(("flows.0.rtt", "200 ms"), ("flows.0.rtt_spread", 0.1), ("topology.access", access))
    # 200 ms - 10 % - 100 ms of the hops - 4 ms of the access links, half of it each way; drawn up to 40 ms more.
    assert ways(own, "0/source") == [[(38.0, 78.0), "sender0", "hop0"], ["hop0-reverse", "sender0-reverse", 38.0]]
    assert ways(own, "0/sink") == [["hop1", "receiver0"], ["receiver0-reverse", "hop1-reverse"]]
    # The RTT is drawn once, for the flow and its leg.
    result = ackclock.run(own)
    whole, legs = result.flows["path_rtt_s"][0], result.legs["path_rtt_s"].to_list()
    assert sum(legs) == pytest.approx(whole, abs=1e-9)


def test_places_in_other_topologies() -> None:
    lot = changed(("topology.kind", "parking-lot"), ("topology.hops", [CHAIN["topology"]["hops"][0]] * 3),
                  ("flows.0.over", [1, 2]), ("relays.0.position", 2))  # fmt: skip
    assert ways(lot, "0/source")[0] == ["hop1"]
    assert ways(lot, "0/sink")[0] == ["hop2"]
    dumbbell = {"kind": "dumbbell", "rate": "20 Mbit/s", "rtt": "40 ms", "queue": "1 BDP", "access": {"delay": "5 ms"}}
    near = changed(("topology", dumbbell), ("relays.0.position", 1))
    assert ways(near, "0/source") == [[5.0, "bottleneck"], ["reverse", 5.0]]
    assert ways(near, "0/sink") == [[5.0], [5.0]]
    links = [
        {"from": a, "to": b, "delay": "10 ms", "rate": "20 Mbit/s", "queue": SLOW, "both": True}
        for a, b in ("sp", "pc")
    ]
    network = changed(("topology", {"kind": "network", "links": links}), ("relays.0.position", "p"),
                      ("flows.0", {"from": "s", "to": "c", "relay": "pep"}))  # fmt: skip
    assert ways(network, "0/source") == [["s->p"], ["p->s"]]
    assert ways(network, "0/sink") == [["p->c"], ["c->p"]]
    cell = changed(("topology", {"kind": "lte_cell", "rtt": "100 ms", "core_delay": "3 ms", "users": 2}),
                   ("relays", [{"name": "pep"}]))  # fmt: skip
    assert ways(cell, "1/source") == [["server"], ["server-reverse"]]
    assert ways(cell, "1/sink") == [[3.0, 1], [3, 3.0]]
    up = changed(("flows.0.direction", "up"), base=cell)
    assert ways(up, "1/source") == [[3, 3.0], [3.0, 1]]
    assert ways(up, "1/sink") == [["server-reverse"], ["server"]]


def test_in_a_cell_each_user_has_a_leg_over_the_air() -> None:
    cell = {"kind": "lte_cell", "rtt": "100 ms", "core_delay": "3 ms", "users": 2, "power": "43 dBm"}
    split = changed(("topology", cell), ("relays", [{"name": "pep"}]), ("run.duration", "3 s"))
    result = ackclock.run(split)
    both = result.legs.group_by("flow").agg(pl.col("path_rtt_s").sum()).sort("flow")
    # The server's 100 ms, twice the core's delay and the least delays of the air.
    assert both["path_rtt_s"].to_list() == pytest.approx(result.flows["path_rtt_s"].to_list())
    assert result.legs["path_rtt_s"].to_list() == pytest.approx([0.1, 0.019] * 2)
    got = result.legs.filter(pl.col("leg") == "sink")["goodput_bytes"]
    assert got.to_list() == result.flows["goodput_bytes"].to_list()
    assert got.min() > 1_000_000  # type: ignore[operator]
    assert sum(result.users["delivered_bytes"]) > sum(got)


def test_each_leg_has_its_options_and_the_flow_those_that_it_does_not_say() -> None:
    scenario = changed(
        ("flows.0", {"relay": "pep", "cc": "reno", "iw": 4, "tcp": {"ecn": "classic", "min_rto": "300 ms"}}),
        ("relays.0.source", {"cc": {"name": "cubic", "beta": 0.8}, "mss": "1000 B", "min_rto": "400 ms"}),
        ("relays.0.sink", {"profile": "rfc", "tcp": {"iw": 32, "ecn": "off"}}),
    )
    found = flows(scenario)
    source, sink = found["0/source"], found["0/sink"]
    assert (source["cc"], source["mss"]) == ({"name": "cubic", "params": {"beta": 0.8}}, 1000)
    assert source["tcp"] == {"iw": 4, "ecn": "classic", "min_rto": 400_000_000}
    assert (sink["cc"]["name"], sink["profile"], sink["mss"]) == ("reno", "rfc", 1448)
    assert sink["tcp"] == {"iw": 32, "ecn": "off", "min_rto": 300_000_000}
    assert found["0"]["tcp"] == {"iw": 4, "ecn": "classic", "min_rto": 300_000_000}


def test_a_split_flow_gets_what_the_slower_of_its_legs_would_alone() -> None:
    both = {"run.duration": "20 s", "run.warmup": "10 s"}
    result = ackclock.run(CHAIN, set=both)
    hops = CHAIN["topology"]["hops"]
    alone = [
        ackclock.run(changed(("topology.hops", [hop]), ("relays", []), ("flows.0.relay", "none")), set=both)
        .flows["goodput_bps"][0]
        for hop in hops
    ]  # fmt: skip
    assert result.flows["goodput_bps"][0] == pytest.approx(min(alone), rel=0.02)
    assert result.flows.height == 1
    assert result.flows["id"].to_list() == ["0"]
    legs = result.legs
    assert legs.select("id", "flow", "leg").rows() == [("0/source", "0", "source"), ("0/sink", "0", "sink")]
    assert legs["goodput_bytes"][1] == result.flows["goodput_bytes"][0]
    assert legs["sent_bytes"][0] == result.flows["sent_bytes"][0]
    row = result.summary().row(0, named=True)
    assert row["total_goodput_bps"] == pytest.approx(result.flows["goodput_bps"][0])


def test_what_the_relay_measured_is_among_the_measures() -> None:
    manifest = ackclock.run(CHAIN).manifest
    found = {name: value for flow, name, value in manifest["runs"][0]["measures"] if flow == "0"}
    assert set(found) == {"relay_most_buffered_bytes", "acked_undelivered_bytes", "relay_refused"}
    # Five times as much comes as leaves: 4 MB are full within a second.
    assert 3_990_000 < found["relay_most_buffered_bytes"] <= 4_000_000
    assert (found["acked_undelivered_bytes"], found["relay_refused"]) == (0, 0)


def test_off_and_on_are_a_sweep_and_so_is_every_key_of_a_relay() -> None:
    swept = changed(("flows.0.relay", ["none", "pep"]), ("run.duration", "2 s"))
    plan = ackclock.load(swept, set={"relays.0.buffer": ["100 kB", "1 MB"], "relays.0.sink.cc": "bbr3"})
    assert plan.params == ("relays.0.buffer", "relay")
    assert [point.params["relay"] for point in plan.points] == ["none", "pep"] * 2
    result = ackclock.run(swept, set={"relays.0.buffer": ["100 kB", "1 MB"]})
    rows = result.legs.select("relays.0.buffer", "relay", "leg").rows()
    assert rows == [(size, "pep", leg) for size in ("100 kB", "1 MB") for leg in ("source", "sink")]
    assert result.legs.columns.count("relays.0.buffer_bytes") == 1


def test_series_of_the_flow_are_those_of_its_ends() -> None:
    probes = {"delivered": "100 ms", "sent": "100 ms", "cwnd": "on change"}
    series = ackclock.run(changed(("probes", probes))).series.cast({"kind": pl.String, "metric": pl.String})

    def of(kind: str, name: str, metric: str) -> list[tuple[float, float]]:
        own = series.filter(pl.col("kind") == kind, pl.col("id") == name, pl.col("metric") == metric)
        return own.select("time_s", "value").rows()

    assert of("flow", "0", "delivered") == of("leg", "0/sink", "delivered") != of("leg", "0/source", "delivered")
    assert of("flow", "0", "sent") == of("leg", "0/source", "sent")
    assert of("flow", "0", "cwnd") == of("leg", "0/source", "cwnd") != []


def test_a_result_is_kept_and_read_with_its_legs(tmp_path: Path) -> None:
    result = ackclock.run(CHAIN, out=tmp_path / "kept")
    assert ackclock.Result.load(tmp_path / "kept").legs.equals(result.legs)
    assert result.legs.height == 2
    # One that is older than legs has none.
    folder = tmp_path / "kept"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del manifest["files"]["legs.parquet"]
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "legs.parquet").unlink()
    assert ackclock.Result.load(folder).legs.height == 0


def test_a_capture_has_the_connections_of_the_legs(tmp_path: Path) -> None:
    scenario = changed(("flows.0.bytes", "1 MB"))
    ackclock.capture(scenario, tmp_path / "x.pcapng")
    found = ackclock.pcap(tmp_path / "x.pcapng").flows
    # Each connection is seen at both of its ends.
    main = found.filter(pl.col("main"))
    assert main["goodput_bytes"].to_list() == [1_000_000] * main.height
    assert main.select("src", "dst").n_unique() == 2


def test_a_stepped_run_is_the_one_that_is_played_at_once() -> None:
    simulation = ackclock.Simulation(CHAIN)
    for step in range(1, 20):
        simulation.run_until(step * 0.25)
        whole, source, sink = (simulation.flow(name)["received"] for name in ("0", "0/source", "0/sink"))
        assert whole == sink <= source
    output, result = simulation.finish(), ackclock.run(CHAIN)
    assert output.legs.equals(result.legs.select(output.legs.columns))
    assert output.flows.equals(result.flows.select(output.flows.columns))


WRONG: list[tuple[tuple[tuple[str, Any], ...], str, str]] = [
    ((("flows.0.relay", "pop"),), "flows.0.relay", "unknown relay 'pop'"),
    ((("relays.0.position", 3),), "relays.0.position", "position 3 is not on the way of flows.0"),
    ((("relays.0.position", "core"),), "relays.0.position", "'core' is no place in a chain"),
    ((("relays.0", {"name": "pep"}),), "relays.0.position", "missing key 'position'"),
    ((("relays.0.position", True),), "relays.0.position", "true is no place for a relay"),
    ((("relays.0.buffer", "10 kB"),), "relays.0.buffer", "a buffer of 10000 B is less than a SYN may promise"),
    ((("relays.0.opening", "late"),), "relays.0.opening", "unknown opening 'late'"),
    ((("relays.0.name", "none"),), "relays.0.name", "'none' is what a flow without a relay writes"),
    ((("relays", [{"name": "a", "position": 1}] * 2),), "relays.1.name", "there are two relays 'a'"),
    ((("relays.0.position", 0),), "relays.0", "nothing on the way between it and the source of flows.0 takes time"),
    ((("relays.0.source.cc", "cubik"),), "relays.0.source.cc", "unknown controller 'cubik'"),
    ((("relays.0.sink.tcp", {"iv": 3}),), "relays.0.sink.tcp.iv", "unknown TCP option 'iv'"),
    ((("relays.0.sink.profile", "linus"),), "relays.0.sink.profile", "unknown profile 'linus'"),
    ((("relays.0.sink", {"iw": 3, "tcp": {"iw": 4}}),), "relays.0.sink.tcp.iw", "'iw' is given twice"),
    ((("relays.0.sink.handshake", False),), "relays.0.sink.handshake", "unknown key 'handshake'"),
    ((("flows.0.tcp", {"handshake": False}),), "relays.0", "its leg '0/source' has no handshake"),
    ((("flows.0.app", {"kind": "cbr", "rate": "1 Mbit/s", "packet": "500 B"}),), "flows.0.relay",
     "a relay splits connections, and this flow sends datagrams"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "key", "problem"), WRONG, ids=[problem for *_, problem in WRONG])
def test_what_makes_no_sense_is_refused_in_a_line(changes: tuple[tuple[str, Any], ...], key: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        ackclock.load(changed(*changes))
    assert (caught.value.key, caught.value.problem[: len(problem)]) == (key, problem)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


DUMBBELL = {"kind": "dumbbell", "rate": "20 Mbit/s", "rtt": "40 ms", "queue": "1 BDP"}
NONE = "write a chain with several hops, or access links with a delay"


@pytest.mark.parametrize(
    ("topology", "position", "remedy"),
    [
        (DUMBBELL, 0, NONE),
        (DUMBBELL, 1, NONE),
        (DUMBBELL | {"access": {"loss": 0.01}}, 1, NONE),  # links in which nothing takes time
        (DUMBBELL | {"access": {"delay": "5 ms", "side": "sender"}}, 1, "give position = 0"),
        (DUMBBELL | {"access": {"delay": "5 ms", "side": "receiver"}}, 0, "give position = 1"),
        (CHAIN["topology"] | {"hops": [CHAIN["topology"]["hops"][0]] * 3}, 3, "give position = 1 or 2"),
    ],
)
def test_a_leg_without_time_is_answered_with_the_places_that_there_are(
    topology: dict[str, Any], position: int, remedy: str
) -> None:
    with pytest.raises(InputError) as caught:
        ackclock.load(changed(("topology", topology), ("relays.0.position", position)))
    assert "takes time" in caught.value.problem
    assert caught.value.remedy == remedy
    if remedy is not NONE:
        assert ackclock.load(changed(("topology", topology), ("relays.0.position", int(remedy[-1])))).points


def test_the_places_that_are_named_are_those_of_all_flows_of_the_relay() -> None:
    # A longer RTT is a delay at the source, which the first group has and the second has not.
    longer, other = {"relay": "pep", "rtt": "80 ms"}, {"relay": "pep"}
    for groups, remedy in (([longer, {}], "give position = 0"), ([longer, other], NONE)):
        with pytest.raises(InputError) as caught:
            ackclock.load(changed(("topology", DUMBBELL), ("flows", groups)))
        assert (caught.value.key, caught.value.remedy) == ("relays.0", remedy)


def test_a_leg_without_time_in_a_network_is_answered_with_its_links() -> None:
    ends = (("s", "p", "10 ms"), ("p", "c", "0 s"))
    links = [{"from": a, "to": b, "delay": delay, "rate": "unlimited", "both": True} for a, b, delay in ends]
    network = changed(("topology", {"kind": "network", "links": links}), ("relays.0.position", "p"),
                      ("flows.0", {"from": "s", "to": "c", "relay": "pep"}))  # fmt: skip
    with pytest.raises(InputError, match="give a link there a rate or a delay, or the relay another node"):
        ackclock.load(network)


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("source.receive_buffer", "write it in source = { tcp = { receive_buffer = ... } }"),
        ("sink.send_buffer", "write it in sink = { tcp = { send_buffer = ... } }"),
        ("timestamps", "write it in source = { tcp = { timestamps = ... } } or sink = { tcp = { timestamps = ... } }"),
        ("iw", "write it in source = { iw = ... } or sink = { iw = ... }"),
        ("cc", "write it in source = { cc = ... } or sink = { cc = ... }"),
    ],
)
def test_an_option_of_tcp_beside_its_table_is_shown_into_it(key: str, remedy: str) -> None:
    with pytest.raises(InputError) as caught:
        ackclock.load(changed((f"relays.0.{key}", "6 MB")))
    assert caught.value.key == f"relays.0.{key}"
    assert caught.value.problem == f"unknown key '{key.rpartition('.')[2]}'"
    assert caught.value.remedy.endswith(remedy)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("opening", "lazy", "a kernel answers the client of a proxy at once"),
        ("per_segment", "10 us", "a proxy on a kernel takes the time it takes"),
        ("delay", "1 ms", "a proxy on a kernel takes the time it takes"),
        ("connections", 3, "whoever is one too many of a proxy waits, and is not reset"),
        ("sink", {"tcp": {"sack": False}}, "the host of a relay has one net.ipv4.tcp_sack for both of its legs"),
    ],
)
def test_what_no_proxy_on_a_kernel_is_is_refused_by_its_name(key: str, value: object, problem: str) -> None:
    with pytest.raises((InputError, EngineError)) as caught:
        ackclock.load(changed(("run.engine", "kernel"), (f"relays.0.{key}", value)))
    assert problem in str(caught.value)
    assert "relays.0." in str(caught.value)
    assert ackclock.load(changed((f"relays.0.{key}", value))).points
