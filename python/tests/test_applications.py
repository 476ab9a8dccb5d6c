"""Applications in scenarios: what the engine is told, what comes out, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import ackclock
from ackclock import InputError


def scenario(*flows: dict[str, Any], duration: str = "10 s", **topology: Any) -> dict[str, Any]:
    path = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "queue": "1 BDP", **topology}
    return {"topology": path, "flows": list(flows), "run": {"duration": duration}}


def test_a_constant_rate_of_datagrams_is_exact() -> None:
    flow = {"app": {"kind": "cbr", "rate": "1 Mbit/s", "packet": "1250 B", "phase": "0 s"}}
    result = ackclock.run(scenario(flow))
    row = result.flows.row(0, named=True)
    # A packet every 10 ms from 0 on: 1001 in 10 s, of which the last ones are on the way.
    assert row["sent_segments"] == 1001
    assert row["received_packets"] + row["in_flight_packets"] == 1001
    assert row["lost_packets"] == 0
    assert (row["app"], row["cc"]) == ("cbr", "none")
    # 1278 B at 10 Mbit/s and 20 ms of propagation.
    assert row["mean_delay_s"] == pytest.approx(0.02 + 1278 * 8 / 1e7, rel=1e-3)


def test_copies_of_datagrams_do_not_count() -> None:
    flow = {"app": {"kind": "cbr", "rate": "1 Mbit/s", "packet": "1000 B", "phase": "0 s"}}
    result = ackclock.run(scenario(flow, duplicate=0.5, loss=0.1))
    row, link = result.flows.row(0, named=True), result.links.row(0, named=True)
    assert link["duplicated"] > 400
    assert row["lost_packets"] == link["lost"] > 80
    assert row["received_packets"] + row["lost_packets"] + row["in_flight_packets"] == row["sent_segments"]
    assert row["goodput_bps"] < 1e6


def test_on_and_off() -> None:
    flow = {"app": {"kind": "on-off", "rate": "1 Mbit/s", "on": "1 s", "off": "3 s", "phase": "0 s"}}
    row = ackclock.run(scenario(flow, duration="40 s")).flows.row(0, named=True)
    assert row["goodput_bps"] == pytest.approx(250e3, rel=0.02)


def test_files_have_their_times() -> None:
    flow = {"cc": "reno", "app": {"kind": "files", "arrivals": {"every": "1 s"}, "size": "10 kB", "most": 5}}
    result = ackclock.run(scenario(flow))
    assert result.transfers["bytes"].to_list() == [10_000] * 5
    assert result.transfers["start_s"].to_list() == pytest.approx([0, 1, 2, 3, 4])
    assert result.transfers["fct_s"].n_unique() == 1, "the path is idle each time"
    row = result.flows.row(0, named=True)
    assert (row["transfers"], row["transfers_completed"]) == (5, 5)


def test_a_delay_that_falls_later_is_not_the_ideal_before() -> None:
    flow = {"cc": "reno", "app": {"kind": "files", "arrivals": {"every": "1 s"}, "size": "10 kB", "most": 1}}
    falling = [{"at": "9 s", "delay": "1 ms"}]
    plain, changed = (ackclock.run(scenario(flow, events=events)).transfers for events in ([], falling))
    assert changed["slowdown"].item() == plain["slowdown"].item()


def test_arrivals_do_not_depend_on_the_controller() -> None:
    size = {"kind": "pareto", "shape": 1.3, "min": "2 kB", "max": "1 MB"}
    flow = {"cc": ["reno", "cubic"], "app": {"kind": "files", "arrivals": {"poisson": 5.0}, "size": size}}
    result = ackclock.run(scenario(flow))
    first, second = (result.transfers.filter(pl.col("run") == run).select("start_s", "bytes") for run in (0, 1))
    assert first.equals(second)
    assert first.height > 20


def test_requests_and_answers() -> None:
    flow = {"app": {"kind": "request-response", "response": "20 kB", "think": "500 ms", "most": 4}}
    result = ackclock.run(scenario(flow))
    assert result.transfers.height == 4
    assert result.flows["goodput_bytes"].item() == 80_000


def test_a_source_that_pauses() -> None:
    flow = {"cc": "cubic", "active": [{"begin": "1 s", "end": "3 s"}, {"begin": "8 s"}]}
    document = scenario(flow) | {"probes": {"delivered": "500 ms"}}
    series = ackclock.run(document).series.filter(pl.col("metric") == "delivered")
    delivered = dict(zip(series["time_s"].to_list(), series["value"].to_list(), strict=True))
    assert delivered[1.0] == 0
    assert delivered[4.0] == delivered[8.0] > 1e6
    assert delivered[10.0] > delivered[8.0]


def test_classes_reach_the_queue() -> None:
    flows = [{"cc": "reno", "class": 0}, {"cc": "reno", "class": 1}]
    queue = {"kind": "drr", "limit": "200 packets", "weights": [1, 3]}
    goodput = ackclock.run(scenario(*flows, duration="30 s", queue=queue)).flows["goodput_bps"].to_list()
    assert goodput[1] / goodput[0] == pytest.approx(3, rel=0.1)


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        ({"app": "cbrr"}, "flows.0.app: unknown application 'cbrr'; did you mean 'cbr'?"),
        ({"app": {"kind": "cbr"}}, "flows.0.app.rate: missing key 'rate'"),
        ({"app": {"kind": "cbr", "rate": "1 Mbit/s", "size": "1 kB"}}, "flows.0.app.size: unknown key 'size'"),
        ({"app": {"kind": "cbr", "rate": "1 Mbit/s"}, "bytes": "1 MB"}, "has no bytes of its own"),
        ({"app": {"kind": "files", "arrivals": {}, "size": "1 kB"}}, "flows.0.app.arrivals: arrivals are a Poisson"),
        (
            {
                "app": {
                    "kind": "files",
                    "arrivals": {"poisson": 1.0},
                    "size": {"kind": "pareto", "shape": 0.9, "mean": "1 kB"},
                }
            },
            "flows.0.app.size.shape: a shape of 1 or less has no mean",
        ),
        (
            {"app": {"kind": "request-response", "response": {"kind": "exponentail", "mean": "1 kB"}}},
            "unknown distribution 'exponentail'; did you mean 'exponential'?",
        ),
        (
            {"app": {"kind": "files", "arrivals": {"poisson": 1.0}, "size": {"kind": "empirical", "points": []}}},
            "flows.0.app.size.points: points are a list of tables",
        ),
        ({"active": [{"begin": "3 s", "end": "2 s"}]}, "flows.0.active.0.end: it ends before it begins"),
        ({"active": [{"begin": "3 s"}, {"begin": "5 s"}]}, "flows.0.active.1.begin: it begins before the one before"),
        ({"class": 300}, "flows.0.class"),
    ],
)
def test_what_is_wrong_is_told(flow: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        ackclock.run(scenario(flow))
    assert message in str(caught.value)


def test_a_slow_reader_sets_the_rate() -> None:
    flow = {"cc": "cubic", "app": {"kind": "bulk", "read": "2 Mbit/s"}, "tcp": {"receive_buffer": "100 kB"}}
    document = scenario(flow, duration="20 s")
    document["run"]["warmup"] = "5 s"
    row = ackclock.run(document).flows.row(0, named=True)
    assert row["goodput_bps"] == pytest.approx(2e6, rel=0.02)


def test_a_video_comes_in_chunks() -> None:
    app = {"kind": "video", "bitrates": ["1 Mbit/s", "4 Mbit/s"], "chunk": "2 s", "most": 5}
    result = ackclock.run(scenario({"cc": "cubic", "app": app}, duration="60 s"))
    # The first at the smallest bitrate; 10 Mbit/s allow the other one after it.
    assert result.transfers["bytes"].to_list() == [250_000] + [1_000_000] * 4
    assert result.flows["completed"].to_list() == [True]


@pytest.mark.parametrize(
    ("app", "message"),
    [
        ({"kind": "bulk", "read_every": "1 s"}, "reads at a rate"),
        ({"kind": "video", "bitrates": ["4 Mbit/s", "1 Mbit/s"]}, "bitrates rise"),
        ({"kind": "video", "bitrates": ["1 Mbit/s"], "chunk": "4 s", "buffer": "1 s"}, "buffer"),
        ("video", "needs more than its name"),
    ],
)
def test_what_makes_no_sense_is_refused(app: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ackclock.run(scenario({"cc": "cubic", "app": app}))


def test_a_controller_in_python_is_made_for_every_transfer() -> None:
    app = {"kind": "files", "arrivals": {"every": "1 s"}, "size": "30 kB", "most": 5}
    completed = {
        cc: ackclock.run(scenario({"cc": cc, "app": app})).transfers["fct_s"].to_list()
        for cc in ("reno", "python:ackclock.reference.reno:Reno")
    }
    ours, python = completed.values()
    assert len(python) == 5
    assert python == pytest.approx(ours)


def test_what_an_application_measured_is_in_the_result_and_stays_there(tmp_path: Path) -> None:
    app = {"kind": "video", "bitrates": ["1 Mbit/s", "4 Mbit/s"], "chunk": "2 s", "most": 5}
    described = scenario({"app": app}, {"app": "bulk"}, duration="30 s") | {
        "run": {"duration": "30 s", "replications": 2}
    }
    result = ackclock.run(described)
    rows = result.measures
    assert set(rows["id"]) == {"0"}
    assert rows.filter(run=1)["name"].to_list() == ["stalls", "stalled_s", "startup_s", "bitrate_bps", "switches"]
    bitrates = rows.filter(name="bitrate_bps")["value"]
    assert bitrates.len() == 2
    assert all(1e6 <= rate <= 4e6 for rate in bitrates)
    result.save(tmp_path / "video")
    assert_frame_equal(ackclock.Result.load(tmp_path / "video").measures, rows)
    assert ackclock.run(scenario({"app": "bulk"})).measures.is_empty()
