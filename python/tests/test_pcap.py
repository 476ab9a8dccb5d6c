"""Captures analysed: the figures of a simulated run are those of its tables, and every output has them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
import pcaps
from ackclock import InputError, Result, engine
from ackclock.cli.app import main
from ackclock.results.manifest import CAPTURED, TABLES

EQUAL = (
    "goodput_bytes", "sent_bytes", "retransmitted_bytes", "sent_segments", "retransmitted_segments", "timeouts",
    "recoveries", "acks", "dup_acks", "completed",
)  # fmt: skip
"""What a capture at the sender knows as the sender does."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pcaps.download(tmp_path_factory.mktemp("pcap") / "a.pcapng")


@pytest.fixture(scope="module")
def result(file: Path) -> Result:
    return ackclock.pcap(file, series=True, events=True)


@pytest.fixture(scope="module")
def kept(file: Path) -> Path:
    ackclock.pcap(file, series=True, events=True, out=file.parent / "kept")
    return file.parent / "kept"


def test_figures_at_the_sender_are_those_of_the_run(result: Result) -> None:
    truth = ackclock.run(pcaps.LOSSY, jobs=1).flows.sort("id")
    own = result.flows.filter(pl.col("main")).sort("sport", "src")
    assert own["vantage"].to_list() == ["sender", "sender"]
    own = own.sort("connection")
    for column in EQUAL:
        assert own[column].to_list() == truth[column].to_list(), column
    assert truth["retransmitted_segments"].sum() > 0
    for column in ("fct_s", "start_s"):
        assert own[column].to_list() == pytest.approx(truth[column].to_list(), abs=0.03)


def test_one_row_stands_for_a_connection_that_two_interfaces_saw(result: Result) -> None:
    flows = result.flows
    assert flows.height == 8  # two connections, two directions, at the source and at the sink
    assert result.captures["name"].to_list() == ["flows.0.source", "flows.0.sink", "flows.1.source", "flows.1.sink"]
    assert result.captures["vantage"].to_list() == ["sender", "receiver", "sender", "receiver"]
    assert result.captures["connections"].to_list() == [1, 1, 1, 1]
    assert flows.filter(pl.col("main"))["interface"].to_list() == [0, 2]
    both = flows.filter(pl.col("sent_bytes") > 0).group_by("sport").len()
    assert both["len"].to_list() == [4]


def test_the_columns_of_the_simulator_have_its_types(result: Result) -> None:
    for name, table in engine.empty_tables().items():
        own = result.tables[name]
        for column, kind in table.schema.items():
            found = own.schema[column]
            assert str(found).startswith("Enum") or found == kind, (name, column)
    assert set(result.tables) == {*TABLES, *CAPTURED}


def test_what_no_capture_knows_is_null(result: Result) -> None:
    unknown = ("app", "cc", "undos", "path_rtt_s", "mean_cwnd_bytes", "lost_packets", "p50_delay_s", "transfers")
    assert result.flows.select(pl.col(unknown).is_null().all()).row(0) == (True,) * len(unknown)


def test_series_and_events_are_of_the_flows(result: Result) -> None:
    series = result.series.filter(pl.col("id") == "0.0")
    row = result.flows.filter(pl.col("id") == "0.0").row(0, named=True)
    for metric, column in (("sent", "sent_bytes"), ("retransmitted", "retransmitted_bytes")):
        last = series.filter(pl.col("metric") == metric)["value"].to_list()[-1]
        assert last == row[column]
    assert series["time_s"].is_sorted()
    events = result.events.filter(pl.col("id") == "0.0")
    again = events.filter(pl.col("kind").cast(pl.String).is_in(["retransmission", "partial"]))
    assert again.height == row["retransmitted_segments"]
    assert again["cause"].null_count() == 0
    assert events.filter(pl.col("kind") == "dup_ack").height == row["dup_acks"]


def test_without_being_asked_for_series_are_empty(file: Path) -> None:
    found = ackclock.pcap(file)
    assert found.series.height == found.events.height == 0
    assert set(found.events.columns) >= {"time_s", "id", "kind", "seq", "bytes", "cause", "spurious", "packet"}


def test_a_kept_result_is_the_same_and_answers(kept: Path, result: Result, file: Path) -> None:
    loaded = Result.load(kept)
    for name in result.tables:
        assert loaded.tables[name].equals(result.tables[name]), name
    assert sorted(item.name for item in kept.parent.iterdir() if item.name.startswith(".")) == []
    answer = ackclock.query(kept, "select sum(retransmitted_segments)::int from flows where main")
    assert answer.rows == [(result.flows.filter(pl.col("main"))["retransmitted_segments"].sum(),)]
    assert ackclock.query(kept, "select count(*) from events").rows == [(result.events.height,)]
    assert ackclock.query(kept, "select count(*) from captures").rows == [(4,)]
    with pytest.raises(InputError, match=r"captures, events"):
        ackclock.query(kept, "select * from packets")
    loaded.save(kept.parent / "again")
    assert Result.load(kept.parent / "again").flows.equals(result.flows)


def test_the_summary_is_of_what_carries_data(result: Result) -> None:
    own = result.flows.filter(pl.col("main"))
    (point,) = result.points
    assert point.metrics["goodput_bps"].mean == pytest.approx(own["goodput_bps"].mean())
    percent = 100 * own["retransmitted_bytes"].sum() / own["sent_bytes"].sum()
    assert point.metrics["retransmitted_percent"].mean == pytest.approx(percent)
    assert point.metrics["mean_fct_s"].mean == pytest.approx(own["fct_s"].mean())
    assert point.metrics["transfers_completed"].mean == 2
    assert point.metrics["utilisation"].mean is None
    shares = [point.metrics[f"{who}_percent"].mean for who in ("app", "rwnd", "network")]
    assert 90 < sum(share for share in shares if share is not None) < 100  # the rest is the handshake
    assert "connections" in result._repr_html_()


def test_files_and_labels_are_what_runs_are_told_apart_by(file: Path, tmp_path: Path) -> None:
    other = pcaps.download(tmp_path / "b.pcapng", run__seed=6)
    several = ackclock.pcap([file, other])
    assert several.params == ["file"]
    assert several.runs["file"].to_list() == [str(file), str(other)]
    assert several.flows["file"].unique(maintain_order=True).to_list() == [str(file), str(other)]
    grouped = ackclock.pcap(labels={"off": file, "on": [other, file]})
    assert grouped.params == ["label"]
    assert grouped.runs.select("label", "replication").rows() == [("off", 0), ("on", 0), ("on", 1)]
    assert [point.n for point in grouped.points] == [1, 2]
    with pytest.raises(InputError, match="have a label and others have none"):
        ackclock.pcap(file, labels={"on": other})


def test_kept_labels_compare_rank_and_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    captures = {
        label: [
            pcaps.download(tmp_path / f"{label}{seed}.pcapng", run__seed=seed, flows__0__cc=cc) for seed in (1, 2, 3)
        ]
        for label, cc in (("reno", "reno"), ("cubic", "cubic"))
    }
    found = ackclock.pcap(labels=captures, series=True, out=tmp_path / "kept")
    assert ackclock.compare(found, by="label", metrics=["goodput_bps"]).rows[0].n == 3
    assert set(ackclock.rank(found, goal="goodput_bps up").frame["label"]) == {"reno", "cubic"}
    for kind in ("box", "timeseries"):
        assert main(["plot", str(tmp_path / "kept"), "--kind", kind, "--out", str(tmp_path / f"{kind}.svg")]) == 0
    for metric in ("cwnd_estimate", "rtt", "in_flight"):
        target = tmp_path / f"{metric}.svg"
        assert main(["plot", str(tmp_path / "kept"), "--kind", "timeseries", "--y", metric, "--out", str(target)]) == 0
        assert target.stat().st_size > 0
    capsys.readouterr()


def test_anonymous_addresses_are_consistent(file: Path, result: Result) -> None:
    hidden = ackclock.pcap([file, file], anonymise=True).flows
    assert hidden.filter(pl.col("src").str.starts_with("10.0.0.1"))["src"].n_unique() >= 1
    pairs = pl.concat([result.flows.select("src"), hidden.filter(run=0).select(hidden="src")], how="horizontal")
    assert pairs.n_unique() == pairs["src"].n_unique() == pairs["hidden"].n_unique() == 4
    assert (
        hidden.filter(run=0)
        .drop("run", "replication", "file")
        .equals(hidden.filter(run=1).drop("run", "replication", "file"))
    )


def test_a_capture_compressed_or_from_standard_input_is_the_same(file: Path, result: Result, tmp_path: Path) -> None:
    packed = tmp_path / "a.pcapng.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert ackclock.pcap(packed).flows.drop("file").equals(result.flows.drop("file"))
    command = [sys.executable, "-m", "ackclock", "pcap", "-", "--flows"]
    with file.open("rb") as stream:
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=True, env=os.environ)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["file"] for row in rows} == {"stdin"}
    assert [int(row["sent_bytes"]) for row in rows] == result.flows["sent_bytes"].to_list()


def test_times_of_a_real_clock_count_from_the_first_packet(tmp_path: Path) -> None:
    found = ackclock.pcap(pcaps.pcap(tmp_path / "a.pcap", pcaps.HELLO))
    (row,) = found.flows.filter(pl.col("main")).to_dicts()
    assert (row["start_s"], row["last_s"]) == (0.0, pytest.approx(0.09))
    assert found.captures["start_unix_s"].to_list() == [pytest.approx(1_000_000_001.0)]
    assert (row["src"], row["sport"], row["dst"], row["dport"]) == ("192.0.2.1", 40000, "192.0.2.2", 80)
    assert (row["mss"], row["handshake_rtt_s"]) == (1460, pytest.approx(0.041))
    assert row["mean_rtt_s"] == pytest.approx(0.048)
    assert row["p50_rtt_s"] is None  # a percentile of one sample says nothing


def test_the_command_shows_each_connection(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pcap", str(file)]) == 0
    out = capsys.readouterr().out
    for words in ("flows.0.source", "0.0  10.0.0.1:", "limited by", "network", "sent again",
                  "needless", "median", "at the sender"):  # fmt: skip
        assert words in out, words
    assert main(["pcap", str(file), "--most", "1"]) == 0
    out = capsys.readouterr().out
    assert "the 1 largest of 2 connections; --most 2 shows all" in out
    assert out.count("limited by") == 1


def test_at_the_receiver_the_command_says_what_it_cannot_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = pcaps.download(tmp_path / "a.pcapng")
    only = tmp_path / "sink.pcapng"
    command = ["tshark", "-r", str(whole), "-Y", 'frame.interface_name == "flows.0.sink"', "-w", str(only)]
    subprocess.run(command, check=True, capture_output=True)
    assert main(["pcap", str(only)]) == 0
    assert "losses are a lower bound" in " ".join(capsys.readouterr().out.split())


def test_json_has_all(file: Path, result: Result, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pcap", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["flows"]) == result.flows.height
    assert answer["flows"][0]["sent_bytes"] == result.flows["sent_bytes"][0]
    assert [entry["name"] for entry in answer["captures"]] == result.captures["name"].to_list()


@pytest.mark.parametrize("table", ["flows", "series", "events"])
def test_rows_of_a_table_are_printed(
    table: str, file: Path, result: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pcap", str(file), f"--{table}"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == result.tables[table].columns
    assert len(rows) == result.tables[table].height + 1
    assert main(["pcap", str(file), f"--{table}", "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == result.tables[table].height
    assert json.loads(lines[0])["id"] == result.tables[table]["id"][0]


def test_out_keeps_what_was_asked_for(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pcap", str(file), "--events", "--series", "--out", str(tmp_path / "kept")]) == 0
    assert "kept in" in capsys.readouterr().out
    found = Result.load(tmp_path / "kept")
    assert found.series.height > 0
    assert found.events.height > 0
    assert main(["pcap", str(file), "--events", "--series"]) == 2
    assert "one table is printed at a time" in capsys.readouterr().err


def test_what_was_kept_is_shown_again(kept: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pcap", str(file)]) == 0
    first = capsys.readouterr().out
    for command in ("pcap", "show"):
        assert main([command, str(kept)]) == 0
        assert capsys.readouterr().out == first
    assert main(["pcap", str(kept), "--check"]) == 2
    assert "which is only shown" in capsys.readouterr().err


def test_several_connections_of_the_same_ends_are_counted_each(tmp_path: Path) -> None:
    later = [(at + 100, packet) for at, packet in pcaps.HELLO]
    again = [(at, packet[:24] + (int.from_bytes(packet[24:28]) + 7_000_000).to_bytes(4) + packet[28:])
             for at, packet in later]  # fmt: skip
    found = ackclock.pcap(pcaps.pcap(tmp_path / "a.pcap", [*pcaps.HELLO, *again])).flows
    assert found.filter(pl.col("main")).select("connection", "goodput_bytes").height == 2


def test_the_schema_is_what_docs_say(result: Result) -> None:
    from shared import ROOT

    text = (ROOT / "docs" / "pcap.md").read_text(encoding="utf-8")
    for name in ("flows", "captures", "series", "events"):
        for column in result.tables[name].columns:
            assert f"`{column}`" in text, (name, column)
    metrics: Any = result.series["metric"].dtype
    kinds: Any = result.events["kind"].dtype
    for word in (*metrics.categories, *kinds.categories):
        assert f"`{word}`" in text, word


@pytest.mark.parametrize(
    "option", [["--anonymise"], ["--max-bytes", "1000"], ["--sort", "5"], ["--merge-interfaces"], ["--checksums"]]
)
def test_what_was_kept_is_not_analysed_in_another_way(
    option: list[str], kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Addresses that somebody has asked to replace must not be printed as they are."""
    assert main(["pcap", str(kept), *option]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{kept}: {option[0]} is for captures, and this is a result of them" in said.err
