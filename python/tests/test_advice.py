"""Advice whether a proxy pays: from numbers, scenarios and captures; what it says where it cannot know."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.advice import observed, resolved
from ackclock.advice.answer import Advice, advise
from ackclock.advice.path import Path as Way
from ackclock.advice.path import Piece, Proxy
from ackclock.cli import advised
from ackclock.cli.app import main

ROOT = Path(__file__).parents[2]
KERNEL = ROOT / "conformance" / "captures" / "kernel"
PAYLOAD = 1448 / 1500


def far(window: int = 147_456, loss: float = 0.0) -> Way:
    """80 ms of Internet, and 20 ms at 40 Mbit/s behind the proxy."""
    return Way((Piece(0.08), Piece(0.02, 40e6, loss)), {"here": 1}, window)


def by_size(advice: Advice) -> dict[int, Any]:
    return {found.size: found for found in advice.shown.downloads}


def test_a_window_that_is_small_for_the_whole_way_makes_a_proxy_pay() -> None:
    advice = advise(far().case(), [100_000, 5_000_000], jobs=1)
    assert advice.pays
    assert advice.whole["window"] == pytest.approx(8 * 147_456 / 0.1)
    assert advice.shown.terms["client side, window"] == pytest.approx(8 * 147_456 / 0.02)
    assert advice.shown.terms["client side, link"] == pytest.approx(40e6 * PAYLOAD)
    assert advice.shown.terms["buffer"] == pytest.approx(8 * 4e6 / 0.1)
    # Twice the rate of the slower leg for both round trips.
    assert advice.shown.buffer_needed == pytest.approx(2 * 40e6 * PAYLOAD * 0.1 / 8)
    found = by_size(advice)
    assert {size: each.by for size, each in found.items()} == {100_000: "start", 5_000_000: "window"}
    assert found[5_000_000].gain == pytest.approx(found[5_000_000].played_gain.value, rel=0.05)
    assert 1.0 < found[5_000_000].gain < 40 / 11.8
    most = advice.shown.most_buffered
    assert most is not None
    assert 0 < most <= 4_000_000
    assert advice.notes == ()


def test_a_path_that_no_window_limits_gains_nothing_in_long_downloads() -> None:
    advice = advise(far(window=6_000_000).case(), [50_000_000], jobs=1)
    assert not advice.pays
    assert by_size(advice)[50_000_000].by == "nothing"
    assert abs(by_size(advice)[50_000_000].played_gain.value) < 0.05


def test_losses_behind_the_proxy_are_its_gain_and_have_an_interval() -> None:
    advice = advise(far(window=6_000_000, loss=0.002).case(), [3_000_000], replications=12, jobs=1)
    (found,) = advice.shown.downloads
    assert found.by == "losses"
    gain = found.played_gain
    assert gain.n == 12
    assert gain.low < gain.value < gain.high
    assert advice.pays == (gain.low >= 0.1)


def test_the_buffer_that_is_advised_keeps_the_gain_where_losses_limit() -> None:
    way = Way((Piece(0.03), Piece(0.04, 100e6, 0.001)), {"p": 1})
    wide = advise(way.case(), [2_000_000], replications=8, jobs=1)
    needed = wide.shown.buffer_needed
    # Not the mean rate that losses leave, with which 2 MB are slower than without a proxy: 0.2 MB.
    assert needed == pytest.approx(2 * 100e6 * PAYLOAD * 0.07 / 8)
    advised_one = replace(way, proxy=Proxy(buffer=round(needed)))
    advice = advise(advised_one.case(), [2_000_000], replications=8, jobs=1)
    assert by_size(advice)[2_000_000].played_gain.value == by_size(wide)[2_000_000].played_gain.value > 0.3


@pytest.mark.parametrize(("buffer", "gain"), [("0.2 MB", -0.220), ("1.7 MB", 0.439)])
def test_the_gain_by_buffer_is_the_one_of_the_page(
    buffer: str, gain: float, capsys: pytest.CaptureFixture[str]
) -> None:
    # docs/split-tcp.md: what the command says that is written there.
    words = ["--rtt-core", "30 ms", "--rtt-access", "40 ms", "--rate", "100 Mbit/s", "--loss-access", "0.1%"]
    assert main(["advise", "split", *words, "--sizes", "2 MB", "--buffer", buffer, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    (download,) = next(at for at in said["places"] if at["name"] == said["place"])["downloads"]
    assert download["runs"]["n"] == 30
    assert round(download["runs"]["gain"], 3) == gain


def test_a_buffer_that_is_too_small_is_no_proxy_that_pays(capsys: pytest.CaptureFixture[str]) -> None:
    way = replace(far(window=6_000_000), proxy=Proxy(buffer=100_000))
    advice = advise(way.case(), [100_000, 10_000_000], jobs=1)
    gains = by_size(advice)
    assert gains[100_000].gains
    assert gains[10_000_000].loses
    assert (advice.pays, advice.harms) == (False, True)
    assert (advice.to_json()["pays"], advice.to_json()["harms"]) == (False, True)
    # The one that does not limit is said, whatever was asked about.
    assert advice.shown.buffer_needed == pytest.approx(2 * 40e6 * PAYLOAD * 0.1 / 8)
    assert any(note.startswith("the buffer asked about, 0.1 MB, is less than the 0.965 MB") for note in advice.notes)
    advised.show(advice)
    shown = " ".join(capsys.readouterr().out.split())
    assert "A proxy does not pay here for everything: 100 kB are +10.9 % faster" in shown
    assert "but the gain of 10 MB is -74" in shown
    alone = advise(way.case(), [10_000_000], jobs=1)
    advised.show(alone)
    assert "A proxy harms here: the gain of 10 MB is -74" in " ".join(capsys.readouterr().out.split())


def test_no_buffer_is_advised_that_no_relay_can_have() -> None:
    assert advise(Way((Piece(0.005), Piece(0.01, 1e6)), {"p": 1}).case(), [50_000], jobs=1).shown.buffer_needed == 65535


def test_the_best_place_is_where_downloads_gain_most() -> None:
    pieces = (*Piece(0.09).parts(3), Piece(0.01, 40e6))
    way = Way(pieces, {"a": 1, "b": 2, "c": 3}, 65_536)
    advice = advise(way.case("a"), [1_000_000, 10_000_000], jobs=1)
    # The window is offered over the second leg, which is shortest at the last place.
    assert advice.best.place.name == "c"
    assert advice.shown.place.name == "a"
    assert [at.score for at in advice.places] == sorted(at.score for at in advice.places)


@pytest.mark.parametrize(
    ("way", "says"),
    [
        (Way((Piece(0.05), Piece(0.02, 20e6)), {"p": 1}, cc="reno"), "the model knows CUBIC alone"),
        (Way((Piece(0.05), Piece(0.02, 20e6)), {"p": 1}, queue=0.3), "queues of 0.3 BDP overflow"),
        (Way((Piece(0.05), Piece(0.02, 20e6, 0.03)), {"p": 1}), "3 % of the packets are lost"),
    ],
)
def test_it_says_where_the_model_does_not_apply(way: Way, says: str) -> None:
    notes = advise(way.case(), [100_000], replications=2, jobs=1).notes
    assert any(says in note for note in notes), notes


def test_a_capture_at_the_sender_knows_the_window_the_rate_and_the_whole_way() -> None:
    seen = observed.path(KERNEL / "small_window.sender.pcap.gz", rate=None, window=None, proxy=Proxy(), queue=1.0)
    way, place, notes = seen.path, seen.place, seen.notes
    # conformance/captures/kernel/paths.toml: 20 Mbit/s, 40 ms, a window of 16 segments.
    assert place is None
    assert way.rtt == pytest.approx(0.04, rel=0.05)
    assert way.pieces[-1].rate == pytest.approx(20e6, rel=0.05)
    assert way.window == pytest.approx(16 * 1448, rel=0.01)
    assert any("only the whole round trip is known" in note for note in notes)
    advice = advise(way.case(place, notes), [1_000_000], jobs=1)
    assert advice.pays
    assert by_size(advice)[1_000_000].by == "window"


def test_a_capture_that_is_cut_off_in_slow_start_says_that_it_tells_little(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    with gzip.open(KERNEL / "small_window.sender.pcap.gz") as whole:
        cut.write_bytes(whole.read(12_000))
    seen = observed.path(cut, rate=None, window=None, proxy=Proxy(), queue=1.0)
    for says in ("the file ends within the next one", "slow start alone", "at least this much"):
        assert any(says in note for note in seen.notes), seen.notes
    known = observed.path(cut, rate=20e6, window=None, proxy=Proxy(), queue=1.0)
    assert not any("slow start alone" in note for note in known.notes)


def test_a_capture_in_the_middle_knows_both_legs() -> None:
    seen = observed.path(KERNEL / "small_window.middle.pcap.gz", rate=30e6, window=100_000, proxy=Proxy(), queue=1.0)
    way, place = seen.path, seen.place
    assert place == observed.HERE
    source, sink = way.legs(place)
    assert (source.rtt, sink.rtt) == (pytest.approx(0.01, rel=0.1), pytest.approx(0.03, rel=0.05))
    assert (sink.rate, sink.window) == (pytest.approx(30e6 * PAYLOAD), 100_000)


def test_losses_of_a_full_queue_are_told_from_those_of_the_medium() -> None:
    found = {}
    for name in ("overflow", "loss1"):
        seen = observed.path(KERNEL / f"{name}.sender.pcap.gz", rate=None, window=None, proxy=Proxy(), queue=1)
        found[name] = seen.path.pieces[-1].loss
        assert any("were sent again" in note for note in seen.notes)
    assert found["overflow"] == 0
    assert found["loss1"] == pytest.approx(0.01, rel=0.3)


SEVERAL = """\
[topology]
kind = "chain"
hops = [
  { rate = "1 Gbit/s", delay = "20 ms", queue = { kind = "droptail", limit = "4000 packets" } },
  { rate = "20 Mbit/s", delay = "10 ms", queue = { kind = "droptail", limit = "2000 packets" }, loss = "0.5 %" },
]

[[flows]]
app = { kind = "files", arrivals = { every = "3 s" }, size = "1 MB", most = 4 }
cc = "cubic"

[[flows]]
app = { kind = "files", arrivals = { every = "3 s" }, size = "0.95 MB", most = 1 }
start = "13 s"
cc = "cubic"

[run]
duration = "20 s"
seed = 3
"""


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of four files of one size between two hosts, and one between others that is about as large."""
    folder = tmp_path_factory.mktemp("several")
    (folder / "several.toml").write_text(SEVERAL)
    assert main(["run", str(folder / "several.toml"), "--capture", str(folder / "several.pcapng")]) == 0
    return folder / "several.pcapng"


def share(rows: Any) -> float:
    lost = rows["retransmitted_segments"].sum() - rows["spurious_segments"].sum()
    return float(lost / rows["sent_segments"].sum())


def test_losses_are_those_of_all_connections_of_the_same_ends(several: Path) -> None:
    flows = ackclock.pcap(several).flows.filter(pl.col("main")).sort("connection")
    same = flows.filter(pl.col("dst") == flows["dst"][0])
    assert (flows.height, same.height) == (5, 4)
    found = observed.path(several, rate=None, window=None, proxy=Proxy(), queue=1.0)
    ways = [found.path, *([] if found.otherwise is None else [found.otherwise])]
    every = max(way.pieces[-1].loss for way in ways)
    # 0.1 % of one segment in hundreds is chance: of the first alone it would be another number.
    assert every == pytest.approx(share(same)) != share(same[:1])
    assert found.path.rtt == pytest.approx(same["min_rtt_s"].min())
    ends = f"from {same['src'][0]} to {same['dst'][0]}"
    first, of_all, others, *_ = found.notes
    assert first == (
        f"connection {same['id'][0]} of {several}, 1 MB, is one of 5 with most data, or nearly as much; "
        "--connection takes another"
    )
    assert of_all.startswith(f"losses and round trips are those of all 4 connections {ends}, 4 MB: ")
    low, high = (f"{100 * end(share(same[at]) for at in range(4)):.2g}" for end in (min, max))
    assert of_all.endswith(f": {low} to {high} % of the segments of each were sent again")
    lost = f"{100 * share(flows[4:]):.2g} % of the segments"
    assert others.startswith("1 connection between other ends, or seen from another place, has as much data, or nearly")
    assert lost in others


def test_a_connection_that_is_asked_for_counts_alone(several: Path) -> None:
    flows = ackclock.pcap(several).flows.filter(pl.col("main")).sort("connection")
    for name in (flows["id"][2], str(flows["connection"][2])):
        found = observed.path(several, rate=None, window=None, proxy=Proxy(), queue=1.0, connection=name)
        ways = [found.path, *([] if found.otherwise is None else [found.otherwise])]
        assert max(way.pieces[-1].loss for way in ways) == pytest.approx(share(flows[2:3]))
        assert found.notes[0] == f"connection {flows['id'][2]} of {several}, 1 MB, alone, as was asked for"


@pytest.mark.parametrize(
    ("grown", "loss", "other"), [(1.05, 0.02, None), (1.2, 0.02, 0.0), (1.3, 0.0, 0.02), (2.0, 0.0, None)]
)
def test_near_the_threshold_losses_are_read_both_ways(grown: float, loss: float, other: float | None) -> None:
    row: dict[str, object] = {
        "sent_segments": 1000, "retransmitted_segments": 20, "spurious_segments": 0, "vantage": "sender",
        "p95_rtt_s": 0.1 * grown, "min_rtt_s": 0.1,
    }  # fmt: skip
    notes: list[str] = []
    assert observed._loss(row, notes) == (loss, other)
    assert ("it cannot be told whose" in notes[0]) == (other is not None)


def test_where_both_readings_have_another_answer_it_is_called_uncertain(capsys: pytest.CaptureFixture[str]) -> None:
    clean, lossy = far(window=6_000_000), far(window=6_000_000, loss=0.003)
    sizes = [50_000_000]
    advice = advise(clean.case("here", (), lossy), sizes, replications=3, jobs=1)
    assert (advice.pays, advice.uncertain, advice.to_json()["uncertain"]) == (False, True, True)
    advised.show(advice)
    shown = " ".join(capsys.readouterr().out.split())
    assert "Whether a proxy pays here is uncertain: it does not pay as reckoned" in shown
    assert "it does if the losses are the medium's" in shown
    assert not advise(clean.case("here", (), clean), sizes, jobs=1).uncertain


def test_a_scenario_is_asked_about_its_relay() -> None:
    case = resolved.case(ROOT / "scenarios" / "split-tcp.toml")
    (place,) = case.places
    assert (place.source.rtt, place.sink.rtt) == (pytest.approx(0.08), pytest.approx(0.02))
    assert case.whole.window == 144 * 1024
    assert place.source.window == 4_000_000, "the relay offers no more than its buffer"
    advice = advise(case, [1_000_000], jobs=1)
    # docs/split-tcp.md: 1.12 s and 0.694 s.
    (found,) = advice.shown.downloads
    assert (found.played_off_s.value, found.played_on_s.value) == (
        pytest.approx(1.12, rel=0.01),
        pytest.approx(0.694, rel=0.01),
    )


CHAIN = """\
[topology]
kind = "chain"
hops = [
  { rate = "1 Gbit/s", delay = "30 ms", queue = { kind = "droptail", limit = "1000 packets" } },
  { rate = "100 Mbit/s", delay = "10 ms", queue = { kind = "droptail", limit = "1000 packets" } },
  { rate = "20 Mbit/s", delay = "5 ms", queue = { kind = "droptail", limit = "200 packets" } },
]

[[flows]]
cc = "cubic"
tcp = { receive_buffer = "100 kB" }

[run]
duration = "10 s"
"""


def test_a_chain_without_relays_has_places_between_its_hops(tmp_path: Path) -> None:
    (tmp_path / "chain.toml").write_text(CHAIN)
    case = resolved.case(tmp_path / "chain.toml", (), 1_000_000)
    assert [place.name for place in case.places] == ["hop-1", "hop-2"]
    assert [round(place.source.rtt, 3) for place in case.places] == [0.06, 0.08]
    assert case.buffer == 1_000_000
    advice = advise(case, [1_000_000, 3_000_000], jobs=1)
    assert len(advice.places) == 2
    assert all(found.off_by < 0.05 for at in advice.places for found in at.downloads)


def test_a_cell_is_measured_first(tmp_path: Path) -> None:
    scenario = '[topology]\nkind = "hspa_cell"\nprofile = "near"\nrtt = "60 ms"\n\n[[flows]]\ncc = "cubic"\n'
    scenario += 'tcp = { receive_buffer = "144 KiB" }\n\n[run]\nduration = "10 s"\n'
    (tmp_path / "cell.toml").write_text(scenario)
    case = resolved.case(tmp_path / "cell.toml")
    (place,) = case.places
    assert place.source.rtt == pytest.approx(0.06)
    assert place.sink.rate == pytest.approx(4e6 * PAYLOAD, rel=0.05)
    assert 0.07 < place.sink.rtt < 0.1, "35 ms each way, and TTIs"
    assert any("test in the simulator" in note for note in case.notes)


SCENARIO = str(ROOT / "scenarios" / "split-tcp.toml")
NUMBERS = ["--rtt-core", "80 ms", "--rtt-access", "20 ms", "--rate", "40 Mbit/s", "--window", "144 KiB"]


def test_the_command_prints_what_json_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "split", *NUMBERS, "--sizes", "1 MB"]) == 0
    text = capsys.readouterr().out
    assert main(["advise", "split", *NUMBERS, "--sizes", "1 MB", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pays"] is True
    assert found["place"] == "at the border"
    assert len(found["places"]) == 4
    assert found["whole_bps"]["window"] == pytest.approx(8 * 147_456 / 0.1)
    (own,) = (place for place in found["places"] if place["name"] == found["place"])
    (download,) = own["downloads"]
    assert download["runs"]["gain"] == pytest.approx(download["runs"]["off_s"] / download["runs"]["on_s"] - 1)
    assert f"+{100 * download['runs']['gain']:.3g} %" in text
    assert "A proxy pays here" in text
    assert f"best by the geometric mean over the downloads: {found['best']}" in text
    # Twice the rate for both round trips, and what was in the buffer in the runs.
    (cost,) = (line for line in " ".join(text.split()).split("cost: ")[1:])
    assert own["buffer_needed_bytes"] == pytest.approx(2 * 40e6 * PAYLOAD * 0.1 / 8)
    assert cost.startswith(
        f"a buffer of {own['buffer_needed_bytes'] / 1e6:.3g} MB for each download at a time (twice the rate for both "
        f"round trips), held {own['most_buffered_bytes'] / 1e6:.3g} of its 4 MB at most in the runs; "
        "what it holds when a client goes away is acknowledged and not delivered. So is what the proxy's two sockets "
        "hold beside it, which may be far more: --server rcvbuf and --client sndbuf of ackclock proxy limit it"
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "nothing to give advice about"),
        (["--rtt-core", "80 ms"], "--rtt-access and --rate are not given"),
        (["--rtt-core", "80 ms", "--rtt-access", "20 ms"], "--rate is not given"),
        ([*NUMBERS, "--from-capture", "x.pcap"], "advice is about one thing"),
        ([*NUMBERS, "--buffer", "10 kB"], "less than a SYN may promise"),
        ([*NUMBERS, "--loss-core", "90 %"], "more than any connection stands"),
        ([*NUMBERS, "--queue", "0"], "no length of a queue"),
        ([*NUMBERS, "--sizes", "1 MB, many"], "--sizes"),
        ([*NUMBERS, "--iw", "0"], "--iw"),
        ([*NUMBERS, "--cc", "cubik"], "--cc: unknown controller 'cubik'; did you mean 'cubic'?"),
        ([*NUMBERS, "--proxy-window", "100 B"], "--proxy-window: '100 B' is no window of TCP"),
        (["--rtt-core", "-30 ms", *NUMBERS[2:]], "ackclock: --rtt-core: '-30 ms' is negative; give a positive value"),
        (["--rtt-core", "-.5 ms", *NUMBERS[2:]], "ackclock: --rtt-core: '-.5 ms' is negative; give a positive value"),
        (["--rtt-core", "8 ns", *NUMBERS[2:]], "ackclock: --rtt-core: '8 ns' is too short; give 1 us or more"),
        ([*NUMBERS, "--iw", "10000000"], "ackclock: --iw: 10000000 is out of range; give 1 to 1e+06"),
        ([*NUMBERS, "--iw-proxy", "10000000"], "ackclock: --iw-proxy: 10000000 is out of range; give 1 to 1e+06"),
        ([*NUMBERS, "--queue", "1e30"], "ackclock: --queue: "),
        ([*NUMBERS, "--replications", "1000000"], "ackclock: --replications: "),
        ([*NUMBERS, "--set", "run.seed=2"], "--set: there is no scenario to change"),
        ([SCENARIO, "--loss-access", "1 %"], "--loss-access: a scenario says it itself"),
        ([SCENARIO, "--window", "64 KiB"], "--window: a scenario says it itself"),
        ([SCENARIO, "--opening", "lazy"], "--opening: a scenario says it itself"),
        (["--from-capture", "x.pcap", "--loss-core", "1 %"], "--loss-core: of a capture it is what the capture says"),
        (
            [*NUMBERS, "--connection", "0.0"],
            "--connection: there is no capture to choose from; give --from-capture, too",
        ),
        (
            [SCENARIO, "--connection", "0.0"],
            "--connection: there is no capture to choose from; give --from-capture, too",
        ),
        (
            ["--from-capture", str(KERNEL / "loss1.sender.pcap.gz"), "--connection", "7"],
            "loss1.sender.pcap.gz carries data; give one of 0.0; ackclock pcap shows them",
        ),
        (["--from-capture", "x.pcap", "--set", "run.seed=2"], "--set: there is no scenario to change"),
        (["missing.toml"], "missing.toml"),
        ([str(ROOT / "scenarios" / "compare.toml")], "it sweeps"),
        ([str(ROOT / "scenarios" / "single-flow.toml")], "no place for a relay"),
    ],
)
def test_bad_input_is_one_line(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "split", *words]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1, error


def test_a_download_that_does_not_end_is_said(tmp_path: Path) -> None:
    way = Way((Piece(0.05), Piece(0.02, 20e3)), {"p": 1})
    advice = advise(way.case(), [3_000_000], jobs=1)
    assert not advice.pays
    assert math.isinf(advice.best.score)
    assert any("not finished" in note for note in advice.notes)
    assert ackclock.__version__
