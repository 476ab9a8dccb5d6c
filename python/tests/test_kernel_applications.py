"""Each application on a real kernel beside the simulator: what must come out the same comes out the same.

Counts and bytes are asked of every run, late or not. What hangs on when something happens is asked of a run that the
engine itself says was on time; where that is not to be had within a few attempts the test fails and says so.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import kernel
from ackclock.results.result import Result

pytestmark = pytest.mark.real_time

TOPOLOGY: dict[str, Any] = {
    "kind": "dumbbell",
    "rate": "20 Mbit/s",
    "rtt": "40 ms",
    "queue": {"kind": "droptail", "limit": "1 BDP"},
}
ATTEMPTS = 6
Flow = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def able() -> None:
    found = kernel.probe()
    if not all(found["hosts"]):
        pytest.fail(f"this computer cannot make hosts, so that nothing here is tested: {found['problems']}")


def scenario(flows: list[Flow], duration: str, topology: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"topology": TOPOLOGY | topology, "flows": flows, "run": {"duration": duration}, **more}


def both(
    flows: list[Flow], duration: str, *, ip: int = 4, topology: dict[str, Any] | None = None, **more: Any
) -> tuple[Result, Result]:
    """What the kernel and the simulator make of it, however late the former is."""
    document = scenario(flows, duration, topology or {}, **more)
    late = {"duration": duration, "engine": "kernel", "ip": ip, "allow_late": True}
    return ackclock.run(document | {"run": late}), ackclock.run(document)


def timely(
    flows: list[Flow], duration: str, *, topology: dict[str, Any] | None = None, **more: Any
) -> tuple[Result, Result]:
    """The same of a run that was on time."""
    document = scenario(flows, duration, topology or {}, **more)
    for _ in range(ATTEMPTS):
        measured = ackclock.run(document | {"run": document["run"] | {"engine": "kernel"}})
        if measured.runs["valid"].to_list() == [True]:
            return measured, ackclock.run(document)
    pytest.fail(f"{ATTEMPTS} runs were all late: {measured.warnings}")


def series(result: Result, metric: str) -> pl.DataFrame:
    return result.series.filter(pl.col("metric") == metric)


def row(result: Result) -> dict[str, Any]:
    return result.flows.row(0, named=True)


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("loss", ["0 %", "2 %"])
def test_bulk_data_of_a_given_size_arrive_to_the_byte(ip: int, loss: str) -> None:
    roomy = {"queue": {"kind": "droptail", "limit": "2000 packets"}}
    found, model = both([{"cc": "reno", "bytes": "1500001 B"}], "6 s", ip=ip, topology=roomy | {"loss": loss})
    for flow in (row(found), row(model)):
        assert flow["completed"]
        assert flow["failed"] is None
        assert flow["goodput_bytes"] == 1_500_001
        assert flow["sent_bytes"] - flow["retransmitted_bytes"] == 1_500_001
        assert (flow["retransmitted_segments"] > 0) == (loss == "2 %")
    assert found.transfers["bytes"].to_list() == [1_500_001]


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("kind", ["cbr", "on-off"])
def test_datagrams_are_as_many_as_in_the_simulator_and_all_of_them_arrive(kind: str, ip: int) -> None:
    # A packet every 50 ms: none is due so near to the end of the source that it matters how late anything is.
    app: dict[str, Any] = {"kind": kind, "rate": "160 kbit/s", "packet": "1000 B", "phase": "25 ms"}
    if kind == "on-off":
        app |= {"on": "480 ms", "off": {"kind": "uniform", "min": "50 ms", "max": "150 ms"}}
    found, model = both([{"app": app, "stop": "3 s"}], "4 s", ip=ip)
    flows = [row(result) for result in (found, model)]
    assert flows[1]["sent_segments"] >= 20
    for name in ("sent_segments", "received_packets", "goodput_bytes"):
        assert flows[0][name] == flows[1][name], name
    assert flows[0]["goodput_bytes"] == 1000 * flows[0]["sent_segments"]


def test_datagrams_that_do_not_fit_are_lost_as_in_the_simulator() -> None:
    app = {"kind": "cbr", "rate": "6 Mbit/s", "packet": "1000 B", "phase": "0 s"}
    found, model = timely([{"app": app, "stop": "3 s"}], "4 s", topology={"rate": "4 Mbit/s"})
    flows = [row(result) for result in (found, model)]
    sent, received = ([flow[name] for flow in flows] for name in ("sent_segments", "received_packets"))
    assert sent[0] == pytest.approx(2250, abs=3)
    assert received[0] == pytest.approx(received[1], rel=0.01)
    assert found.links["drops"][0] == sent[0] - received[0] > 500


def test_writes_at_a_rate_keep_it() -> None:
    app = {
        "kind": "cbr",
        "rate": "2 Mbit/s",
        "packet": "1000 B",
        "transport": "tcp",
        "transfers": True,
        "phase": "2 ms",
    }
    found, model = timely([{"app": app, "stop": "3 s"}], "4 s")
    flows = [row(result) for result in (found, model)]
    assert flows[0]["goodput_bytes"] == pytest.approx(750_000, abs=3000)
    assert found.transfers["end_s"].null_count() == 0
    assert found.transfers["bytes"].sum() == flows[0]["goodput_bytes"]
    assert found.transfers["fct_s"].median() == pytest.approx(model.transfers["fct_s"].median(), abs=0.005)


@pytest.mark.parametrize("request_", [{}, {"request": "400 B"}])
def test_files_are_the_same_and_all_of_them_arrive(request_: dict[str, str]) -> None:
    size = {"kind": "pareto", "shape": 1.3, "min": "2 kB", "max": "200 kB"}
    app = {"kind": "files", "arrivals": {"poisson": 15}, "size": size, "most": 25} | request_
    found, model = both([{"app": app, "cc": "cubic"}], "6 s")
    files = [result.transfers for result in (found, model)]
    assert files[0]["bytes"].to_list() == files[1]["bytes"].to_list()
    assert files[0].height == 25
    assert files[0]["end_s"].null_count() == 0
    assert row(found)["goodput_bytes"] == row(model)["goodput_bytes"] == files[0]["bytes"].sum()


@pytest.mark.parametrize("ip", [4, 6])
def test_requests_are_answered_to_the_byte(ip: int) -> None:
    app = {
        "kind": "request-response",
        "request": {"kind": "uniform", "min": "100 B", "max": "5 kB"},
        "response": {"kind": "uniform", "min": "1 kB", "max": "60 kB"},
        "think": "5 ms",
        "most": 20,
    }
    found, model = both([{"app": app, "cc": "cubic"}], "6 s", ip=ip)
    answers = [result.transfers for result in (found, model)]
    assert answers[0]["bytes"].to_list() == answers[1]["bytes"].to_list()
    assert answers[0].height == 20
    assert answers[0]["end_s"].null_count() == 0
    assert row(found)["goodput_bytes"] == row(model)["goodput_bytes"] == answers[0]["bytes"].sum()


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("protocol", ["http1.0", "http1.1", "h2"])
def test_pages_have_all_their_objects(protocol: str, ip: int) -> None:
    app = {
        "kind": "web",
        "protocol": protocol,
        "connections": 1 if protocol == "h2" else 4,
        "main": "8 kB",
        "objects": 7,
        "embedded": {"kind": "uniform", "min": "1 kB", "max": "40 kB"},
        "first": "0 s",
        "interval": "1 s",
        "most": 2,
        "objects_table": True,
    }
    found, model = both([{"app": app, "cc": "cubic"}], "5 s", ip=ip)
    pages = [result.pages for result in (found, model)]
    assert pages[0]["outcome"].to_list() == ["completed", "completed"]
    for name in ("objects", "objects_done", "bytes", "connections"):
        assert pages[0][name].to_list() == pages[1][name].to_list(), name
    objects = [result.tables["objects"].sort("page", "object") for result in (found, model)]
    assert objects[0]["bytes"].to_list() == objects[1]["bytes"].to_list()
    assert objects[0]["done_s"].null_count() == 0
    assert (objects[0]["first_byte_s"] - objects[0]["requested_s"]).min() >= 0.04, "not within a round trip"
    assert row(found)["goodput_bytes"] == row(model)["goodput_bytes"] == pages[0]["bytes"].sum()


def test_a_video_plays_all_its_chunks() -> None:
    app = {"kind": "video", "bitrates": ["400 kbit/s", "1 Mbit/s", "2 Mbit/s"], "chunk": "500 ms", "most": 8}
    found, model = timely([{"app": app, "cc": "cubic"}], "6 s")
    chunks = [result.transfers["bytes"].to_list() for result in (found, model)]
    assert chunks[0] == chunks[1]
    assert len(chunks[0]) == 8
    measures = [dict(result.measures.select("name", "value").iter_rows()) for result in (found, model)]
    assert (measures[0]["stalls"], measures[0]["switches"]) == (measures[1]["stalls"], measures[1]["switches"])
    assert measures[0]["bitrate_bps"] == measures[1]["bitrate_bps"]
    assert measures[0]["startup_s"] == pytest.approx(measures[1]["startup_s"], abs=0.02)


def test_a_slow_reader_holds_its_sender_to_its_own_rate() -> None:
    flow = {"cc": "reno", "app": {"kind": "bulk", "read": "2 Mbit/s"}, "tcp": {"receive_buffer": "64 kB"}}
    found, model = timely([flow], "5 s")
    flows = [row(result) for result in (found, model)]
    # It reads its share from the first turn on; a turn is 10 ms.
    assert flows[0]["goodput_bytes"] * 8 == pytest.approx(2e6 * 4.9, rel=0.02)
    assert flows[0]["sent_bytes"] == pytest.approx(flows[1]["sent_bytes"], rel=0.05)
    (limits,) = found.manifest["runs"][0]["emulation"]["limits"]
    assert limits[1][1] > 4, "held back by the reader's window"
    assert found.links["drops"].to_list() == model.links["drops"].to_list() == [0, 0]


def test_a_reader_that_stands_still_closes_the_window() -> None:
    """It reads after two seconds for the first time: what its buffer holds comes, then there is a window of zero."""
    reader = {"kind": "bulk", "read": "10 Mbit/s", "read_every": "2 s"}
    flow = {"cc": "reno", "app": reader, "tcp": {"receive_buffer": "64 kB"}}
    probes = dict.fromkeys(("in_flight", "sent"), "50 ms")
    found, model = both([flow], "2500 ms", probes=probes)
    for result in (found, model):
        held, sent = (
            series(result, name).filter(pl.col("time_s").is_between(1, 1.95))["value"] for name in ("in_flight", "sent")
        )
        assert held.len() >= 10
        assert held.max() <= 1448, "at most a probe is under way"
        assert sent.max() == sent.min(), "and nothing new is sent"
    before = pl.col("time_s") < 1.95
    ours, theirs = (series(result, "sent").filter(before)["value"].max() for result in (found, model))
    # Twice the buffer is memory, and how much payload fits there follows from how packets lie in it: one by one from
    # this device; the simulator's model is of a kernel behind a network card.
    assert 64_000 <= ours <= 131_072
    assert 64_000 <= theirs <= 131_072
    (limits,) = found.manifest["runs"][0]["emulation"]["limits"]
    assert limits[1][1] > 1, "held back by the reader's window"


def test_a_reader_that_goes_on_gets_everything() -> None:
    """It stands still for a second at a time: the window opens again, and nothing is lost or read twice."""
    reader = {"kind": "bulk", "read": "8 Mbit/s", "read_every": "1 s"}
    flow = {"cc": "reno", "app": reader, "bytes": "200 kB", "tcp": {"receive_buffer": "64 kB"}}
    found, model = both([flow], "12 s")
    for flow_row in (row(found), row(model)):
        assert flow_row["completed"]
        assert flow_row["goodput_bytes"] == 200_000
    turns = [result.flows["end_s"][0] for result in (found, model)]
    assert turns[0] == pytest.approx(turns[1], abs=1.1), "in as many turns, or one more or less"


def test_a_cell_serves_a_kernel_as_it_serves_the_simulator() -> None:
    cell = {"kind": "lte_cell", "rtt": "40 ms", "users": 1, "places": [{"snr": "18 dB"}]}
    flow = {"cc": "cubic", "bytes": "4 MB"}
    document = {"topology": cell, "flows": [flow], "run": {"duration": "8 s"}}
    for _ in range(ATTEMPTS):
        found = ackclock.run(document | {"run": document["run"] | {"engine": "kernel"}})
        if found.runs["valid"][0]:
            break
    else:
        pytest.fail(f"{ATTEMPTS} runs were all late: {found.warnings}")
    model = ackclock.run(document)
    flows = [row(result) for result in (found, model)]
    assert flows[0]["goodput_bytes"] == flows[1]["goodput_bytes"] == 4_000_000
    assert flows[0]["fct_s"] == pytest.approx(flows[1]["fct_s"], rel=0.1)
    assert found.tables["users"].height == model.tables["users"].height == 1
