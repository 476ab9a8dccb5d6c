"""Graphs of sequence numbers: every segment of a connection by what it was, many connections by their labels."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import ackclock
import pcaps
from ackclock import InputError, Result
from ackclock.cli.app import main
from ackclock.drawing import merging, shapes
from ackclock.drawing.plot import Drawing, figure, specify
from ackclock.drawing.request import Request
from ackclock.drawing.sequence_layer import BARS, MARKS, STAIRS
from ackclock.drawing.shapes import BytesOverTime, Strokes
from pcaps import ACK, MSS, SYN, tcp

# 50 ms away, three segments of which none arrives before a timeout of 300 ms.
TIMEOUT = [
    (1.0, tcp(100, 0, SYN, options=MSS)),
    (1.05, tcp(500, 101, SYN | ACK, back=True, options=MSS)),
    (1.0501, tcp(101, 501, ACK)),
    (1.06, tcp(101, 501, ACK, payload=1000)),
    (1.0601, tcp(1101, 501, ACK, payload=1000)),
    (1.0602, tcp(2101, 501, ACK, payload=1000)),
    (1.36, tcp(101, 501, ACK, payload=1000)),
    (1.41, tcp(501, 1101, ACK, back=True)),
    (1.4101, tcp(1101, 501, ACK, payload=1000)),
    (1.4102, tcp(2101, 501, ACK, payload=1000)),
    (1.46, tcp(501, 2101, ACK, back=True)),
    (1.4601, tcp(501, 3101, ACK, back=True)),
]


def of(result: Result, **asked: Any) -> Drawing:
    return specify(result, Request("sequence", **asked))


def graph(drawing: Drawing) -> BytesOverTime:
    (panel,) = drawing.chart.panels
    assert panel.sequence is not None
    return panel.sequence


def strokes(drawing: Drawing) -> dict[str, Strokes]:
    return {each.label: each for each in graph(drawing).strokes}


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("sequence")
    return ackclock.pcap(pcaps.download(folder / "a.pcapng"), series=True, events=True)


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("groups")
    for number, (name, loss) in enumerate([("on", "0 %"), ("off", "2 %")]):
        (folder / name).mkdir()
        for seed in range(2):
            pcaps.download(folder / name / f"{seed}.pcapng", topology__loss=loss, run__seed=10 * number + seed)
    return ackclock.pcap([folder / "on", folder / "off"], series=True)


def test_a_connection_written_by_hand(tmp_path: Path) -> None:
    """Bytes count from 0, times from the first packet; the window of 60000 bytes is far above."""
    result = ackclock.pcap(pcaps.pcap(tmp_path / "a.pcap", TIMEOUT), series=True, events=True)
    drawing = of(result)
    assert drawing.chart.to_json()["panels"] == [
        {
            "title": "0.0: 192.0.2.1:40000 > 192.0.2.2:80, seen at the sender",
            "sequence": {
                "strokes": [
                    {"label": "data", "x": [0.06, 0.0601, 0.0602], "low": [0.0, 1.0, 2.0], "high": [1.0, 2.0, 3.0],
                     "packet": [4, 5, 6]},
                    {"label": "sent again: timeout", "x": [0.36], "low": [0.0], "high": [1.0], "packet": [7]},
                    {"label": "sent again: after timeout", "x": [0.4101, 0.4102], "low": [1.0, 2.0],
                     "high": [2.0, 3.0], "packet": [9, 10]},
                ],
                "stairs": [{"label": "ACKs", "x": [0.0, 0.41, 0.46, 0.4601], "y": [0.0, 1.0, 2.0, 3.0]}],
            },
        }
    ]  # fmt: skip
    assert drawing.chart.y.label == "sequence (kB)"
    assert drawing.chart.note == "the receiver's window is above what is shown"
    assert drawing.notes == (), "a single connection is no choice"


def test_every_segment_is_in_the_graph(lossy: Result) -> None:
    for row in lossy.flows.filter(pl.col("main")).iter_rows(named=True):
        found = strokes(of(lossy, connection=(str(row["connection"]),)))
        data, again = found["data"], found["sent again: fast"]
        assert len(data.x) == row["sent_segments"] - row["retransmitted_segments"]
        assert len(again.x) == row["retransmitted_segments"] == row["fast_segments"] > 0
        assert len(found["duplicate ACK"].x) == row["dup_acks"]
        assert sum(np.subtract(data.high, data.low)) == pytest.approx(row["goodput_bytes"] / 1e6)


def test_the_line_of_acknowledgments_ends_with_all_bytes(lossy: Result) -> None:
    row = lossy.flows.filter(pl.col("id") == "0.0").row(0, named=True)
    (acks,) = (stair for stair in graph(of(lossy, connection=("0",))).stairs if stair.label == "ACKs")
    assert acks.y[-1] == pytest.approx(row["goodput_bytes"] / 1e6)
    assert all(np.diff(acks.y) >= 0)


def test_the_window_line_is_what_acknowledgments_offer(tmp_path: Path) -> None:
    """Each acknowledgment offers 60000 bytes; a transfer of 100 kB reaches above them."""
    packets = [*TIMEOUT[:3], *((1.1 + at / 1000, tcp(101 + 1000 * at, 501, ACK, payload=1000)) for at in range(50))]
    packets += [(1.2 + at / 1000, tcp(501, 1101 + 1000 * at, ACK, back=True)) for at in range(50)]
    packets += [(1.3 + at / 1000, tcp(50101 + 1000 * at, 501, ACK, payload=1000)) for at in range(50)]
    result = ackclock.pcap(pcaps.pcap(tmp_path / "a.pcap", packets), series=True, events=True)
    acks, window = graph(of(result)).stairs
    assert (acks.label, window.label) == ("ACKs", "receiver's window")
    assert (acks.y[0], window.y[0]) == (0.0, 60.0)
    assert window.y[-1] == acks.y[-1] + 60.0 == 110.0
    assert len(window.y) == 51 + 1, "a step for each acknowledgment, and the end"


def test_a_part_of_the_time_has_what_happened_then(lossy: Result) -> None:
    row = lossy.flows.filter(pl.col("id") == "0.0").row(0, named=True)
    whole = strokes(of(lossy, connection=("0",)))["data"]
    start, end = 0.4, 0.5
    drawing = of(lossy, connection=("0",), start=start, end=end)
    part = strokes(drawing)["data"]
    factor = 1000 if drawing.chart.y.label == "sequence (kB)" else 1
    inside = [at for at, x in enumerate(whole.x) if start <= x <= end]
    assert list(part.x) == [whole.x[at] for at in inside]
    assert list(part.low) == pytest.approx([factor * whole.low[at] for at in inside])
    assert (drawing.chart.x.low, drawing.chart.x.high) == (start, end)
    acks = graph(drawing).stairs[0]
    assert (acks.x[0], acks.x[-1]) == (start, end), "the line is there from edge to edge"
    assert row["last_s"] > end


def test_the_busiest_connection_is_chosen_and_said(lossy: Result, tmp_path: Path) -> None:
    drawing = of(lossy)
    assert drawing.notes == (
        "connection 0, that with most data of 2; --connection N shows another, --connection all draws all over each "
        "other",
    )
    larger = pcaps.download(tmp_path / "b.pcapng", flows=[{"bytes": "1 MB"}, {"bytes": "2 MB"}])
    assert of(ackclock.pcap(larger, events=True)).says.startswith("sequence numbers over time of 1.0: 10.0.0.3:1024 >")


def test_needless_segments_are_marked_where_they_were_sent(tmp_path: Path) -> None:
    """Reordered by 30 ms, what was late is sent again and reported by DSACK."""
    file = pcaps.download(tmp_path / "a.pcapng", topology__loss="0 %", topology__reorder={"p": "2 %", "extra": "30 ms"})
    result = ackclock.pcap(file, series=True, events=True)
    row = result.flows.filter(pl.col("main")).row(0, named=True)
    found = strokes(of(result, connection=(str(row["connection"]),)))
    assert len(found["needless"].x) == row["spurious_segments"] > 0
    again = set(itertools.chain.from_iterable(found[label].packet for label in shapes.AGAIN.values() if label in found))
    assert set(found["needless"].packet) <= again


def test_the_receiver_sees_what_came_late_out_of_order(tmp_path: Path) -> None:
    file = pcaps.download(
        tmp_path / "a.pcapng", "flows", topology__loss="0 %", topology__reorder={"p": "2 %", "extra": "10 ms"}
    )
    result = ackclock.pcap(file, events=True)
    row = result.flows.filter((pl.col("vantage") == "receiver") & (pl.col("sent_bytes") > 0)).row(0, named=True)
    drawing = of(result, connection=(row["id"],))
    assert len(strokes(drawing)["out of order"].x) == row["reordered_segments"] > 0
    assert drawing.says.endswith("seen at the receiver")
    assert "its acknowledgments were not kept" in drawing.chart.note, "there are no series"


def test_captures_with_labels_are_laid_over_each_other(groups: Result) -> None:
    drawing = of(groups)
    bundles = graph(drawing).bundles
    assert [bundle.label for bundle in bundles] == ["on, 4 transfers", "off, 4 transfers"]
    for bundle in bundles:
        assert bundle.middle is not None
        for line in bundle.lines:
            assert (line.x[0], line.y[0]) == (0.0, 0.0), "each begins with its first packet"
            assert line.y[-1] == pytest.approx(3.0)
        at = bundle.middle.x[len(bundle.middle.x) // 2]
        values = [line.y[int(np.searchsorted(line.x, at, side="right")) - 1] for line in bundle.lines]
        assert bundle.middle.y[len(bundle.middle.x) // 2] == pytest.approx(np.median(values), abs=0.02)
        ends = sorted(line.x[-1] for line in bundle.lines)
        assert ends[1] - 0.1 <= bundle.middle.x[-1] <= ends[2] + 0.1, "where half of them are over"
    assert drawing.chart.x.label == "time since the first packet (s)"
    assert "label" in drawing.chart.legend


def test_connections_that_are_named_have_a_look_each(lossy: Result) -> None:
    drawing = of(lossy, connection=("0", "1"))
    assert [bundle.label for bundle in graph(drawing).bundles] == [
        "0.0: 10.0.0.1:1024 > 10.0.0.2:5001",
        "1.0: 10.0.0.3:1024 > 10.0.0.4:5001",
    ]
    together = of(lossy, connection=("all",))
    assert [bundle.label for bundle in graph(together).bundles] == ["captured, 2 transfers"]


@pytest.mark.parametrize("marked", [False, True])
def test_a_hundred_thousand_segments_become_few_strokes_that_cover_the_same(marked: bool) -> None:
    rng = np.random.default_rng(1)
    count = 100_000
    low = np.arange(count) * 1448.0
    low[rng.random(count) < 0.001] -= 5e6
    rows = {"x": np.cumsum(rng.exponential(1e-3, count)), "low": low, "high": low + 1448.0, "packet": np.arange(count)}
    span = (float(rows["x"][-1]), float(rows["high"].max()))
    found = merging.strokes("data", rows, span, marked=marked)
    assert sum(found.count) == count
    assert len(found.x) < 5000
    assert min(found.low) == low.min()
    assert max(found.high) == rows["high"].max()
    width, height = (150, 75) if marked else (1200, 500)
    for at in rng.integers(0, count, 200):
        near = (
            (np.abs(np.asarray(found.x) - rows["x"][at]) <= span[0] / width)
            & (np.asarray(found.low) <= low[at])
            & (np.asarray(found.high) >= low[at] + 1448)
        )
        assert near.any(), at
    total = float(np.sum(np.subtract(found.high, found.low)))
    assert total <= 1448.0 * count + len(found.x) * span[1] * (1 / height + 2 / width), "no empty place is covered"


def test_lines_of_many_points_keep_their_ends() -> None:
    x = np.linspace(0, 10, 50_001)
    found = merging.stair("ACKs", x, np.floor(x * 1000), most=1000)
    assert len(found.x) <= 1000
    assert (found.x[0], found.x[-1], found.y[0], found.y[-1]) == (0.0, 10.0, 0.0, 10_000.0)
    for at, y in zip(found.x, found.y, strict=True):
        assert y == np.floor(at * 1000)


def test_a_simulated_flow_alone_looks_as_a_captured_one() -> None:
    probes = {"sent": "10 ms", "delivered": "10 ms", "retransmitted": "10 ms"}
    scenario = {**pcaps.LOSSY, "flows": [{"cc": "cubic", "bytes": "3 MB"}], "probes": probes}
    result = ackclock.run(scenario, jobs=1)
    drawing = of(result)
    lines = {stair.label: stair for stair in graph(drawing).stairs}
    assert list(lines) == ["data", "ACKs"]
    assert result.flows["retransmitted_bytes"][0] > 0
    assert lines["data"].y[-1] == pytest.approx(3.0), "what was sent again counts once"
    part = of(result, start=0.5, end=1.0)
    assert all(0.5 <= x <= 1.0 for stair in graph(part).stairs for x in stair.x)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"connection": ("9",)}, "connection: no connection 9; they are 0 to 3, or all"),
        ({"connection": ("all", "1")}, "connection: all is no connection beside others; give numbers, or only all"),
        ({"start": 2.0, "end": 1.0}, "from: no time is after 2 s and before 1 s; give an earlier --from"),
        ({"start": 99.0}, "from: nothing of 0.0 passed at that time; it lasted from 0 s to 1.6"),
        ({"y": ("cwnd",)}, "y: this kind has its own y axis"),
    ],
)
def test_what_cannot_be_drawn_says_what_can(lossy: Result, asked: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError) as refused:
        of(lossy, **asked)
    assert str(refused.value).startswith(expected)


def test_other_kinds_are_not_of_connections_or_times(lossy: Result) -> None:
    for asked in ({"connection": ("0",)}, {"start": 1.0}, {"end": 1.0}):
        with pytest.raises(InputError, match="or draw --kind sequence"):
            specify(lossy, Request("box", **asked))  # type: ignore[arg-type]
        assert specify(lossy, Request(**asked)).kind == "sequence"  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a simulated run has no numbered connections"):
        of(ackclock.run(pcaps.LOSSY, jobs=1), connection=("0",))


def test_without_series_and_events_it_says_what_is_missing(tmp_path: Path) -> None:
    file = pcaps.pcap(tmp_path / "a.pcap", TIMEOUT)
    with pytest.raises(InputError, match="analyse the capture again with --events --series"):
        of(ackclock.pcap(file))
    lines = of(ackclock.pcap(file, series=True))
    assert not graph(lines).strokes
    assert "its segments were not kept" in lines.chart.note


def test_marks_are_told_apart_in_grey() -> None:
    seen = [(marker, full) for marker, _, _, full in MARKS.values()]
    assert len(set(seen)) == len(seen)
    dashes = [str(look.get("linestyle", "-")) for name, look in STAIRS.items() if name != "data"]
    assert len(set(dashes)) == len(dashes)
    assert set(BARS) == {"data", "SACK"}


def test_the_command_draws_what_it_analysed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = pcaps.download(tmp_path / "a.pcapng")
    picture = tmp_path / "a.svg"
    assert main(["pcap", str(file), "--plot", str(picture), "--connection", "1", "--from", "300ms", "--to", "1"]) == 0
    said = capsys.readouterr()
    assert "sequence: sequence numbers over time of 1.0: 10.0.0.3:1024 >" in said.out
    assert f"figure: {picture}" in said.out
    assert 10_000 < picture.stat().st_size < 600_000
    assert main(["pcap", str(file), "--plot", str(tmp_path / "b.png"), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["figure"]
    assert data["kind"] == "sequence"
    assert {each["label"] for each in data["figure"]["panels"][0]["sequence"]["strokes"]} >= {"data", "SACK"}
    for wrong, words in (
        (["--connection", "1"], "connection: it says what a figure shows; give its file, too: --plot FILE.svg"),
        (["--plot", str(tmp_path / "a.txt")], "'a.txt' is no figure"),
        (["--plot", str(tmp_path / "no" / "a.svg")], "no such directory"),
        (["--plot", str(picture), "--from", "soon"], "from: 'soon' is no time; write 1.5, 1.5s or 300ms"),
    ):
        assert main(["pcap", str(file), *wrong]) == 2
        assert words in capsys.readouterr().err


def test_a_figure_of_all_that_may_happen_is_drawn(lossy: Result, groups: Result, tmp_path: Path) -> None:
    for number, drawing in enumerate((of(lossy), of(groups), of(lossy, connection=("0", "1")))):
        for ending in ("svg", "png"):
            figure(drawing.chart).savefig(tmp_path / f"{number}.{ending}")
            assert (tmp_path / f"{number}.{ending}").stat().st_size > 5000


@pytest.mark.parametrize("connection", [[], ["--connection", "1"]])
def test_a_figure_of_one_connection_keeps_the_events_of_no_other(
    connection: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ackclock.cli import captured_figure

    drew = []

    draw = captured_figure.drawn

    def drawn(result: Result, asked: captured_figure.Asked) -> captured_figure.Figure:
        drew.append({row[0].partition(".")[0] for row in result.events.select("id").unique().iter_rows()})
        return draw(result, asked)

    monkeypatch.setattr(captured_figure, "drawn", drawn)
    file = pcaps.download(tmp_path / "a.pcapng")
    assert main(["pcap", str(file), "--plot", str(tmp_path / "a.svg"), *connection]) == 0
    assert drew == [set(connection[1:]) or {"0"}]


def test_series_that_no_capture_has_are_not_asked_for(lossy: Result) -> None:
    with pytest.raises(InputError, match="no capture tells 'cwnd'; it has in_flight"):
        specify(lossy, Request("timeseries", y=("cwnd",)))
    bare = Result({**lossy.tables, "series": lossy.series.clear()}, lossy.manifest)
    with pytest.raises(InputError, match="no series were kept; analyse the captures again with --series"):
        specify(bare, Request("timeseries"))


def test_each_stretch_of_an_acknowledgment_is_a_stroke(tmp_path: Path) -> None:
    sack = b"\x01\x01\x05\x12" + b"".join(n.to_bytes(4, "big") for n in (4101, 5101, 2101, 3101))
    permitted = MSS + b"\x04\x02\x01\x01"
    packets = [
        (1.0, tcp(100, 0, SYN, options=permitted)),
        (1.05, tcp(500, 101, SYN | ACK, back=True, options=permitted)),
        (1.0501, tcp(101, 501, ACK)),
        *((1.06, tcp(101 + 1000 * n, 501, ACK, payload=1000)) for n in range(5)),
        (1.11, tcp(501, 1101, ACK, back=True, options=sack)),
    ]
    drawing = of(ackclock.pcap(pcaps.pcap(tmp_path / "a.pcap", packets), series=True, events=True))
    own = strokes(drawing)[shapes.SACK]
    assert list(zip(own.low, own.high, strict=True)) == [(4.0, 5.0), (2.0, 3.0)]  # kB


def test_durations_have_a_unit_that_fits() -> None:
    from ackclock.cli.connections import duration

    shown = [duration(seconds) for seconds in (0.0, 16e-6, 0.0025, 0.09999, 1.6994, 4826.0)]
    assert shown == ["0 s", "16 µs", "2.5 ms", "99.99 ms", "1.699 s", "4826 s"]
