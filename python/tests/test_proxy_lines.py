"""``ackclock import proxy``: what the proxy writes, as tables."""

from __future__ import annotations

import gzip
import json
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock.cli.app import main
from ackclock.measure.imports import proxy

TCP = {
    "rtt": 1500, "rttvar": 250, "min_rtt": 4294967295, "snd_cwnd": 10, "snd_mss": 1448, "snd_wnd": 65536,
    "rcv_space": 14600, "pacing_rate": 18446744073709551615, "delivery_rate": 1000, "bytes_sent": 7, "bytes_acked": 6,
    "bytes_retrans": 5, "bytes_received": 4, "total_retrans": 3, "segs_in": 9, "data_segs_in": 8, "data_segs_out": 2,
    "dsack_dups": 1, "busy_time": 2000000, "rwnd_limited": 500000, "sndbuf_limited": 0, "syn_data": True,
}  # fmt: skip
CONNECTION = {
    "event": "connection", "id": 3, "opened": 1700000000.25, "client": "192.0.2.1:5", "server": None, "duration_s": 2,
    "header_s": None, "client_handshake_s": 0.02, "server_handshake_s": None,
    "client_initcwnd": 10, "server_initcwnd": None, "to_server_bytes": 1,
    "to_client_bytes": 2, "undelivered_to_server_bytes": 0, "undelivered_to_client_bytes": 18446744073709551615,
    "closed_by": "client", "why": "reset", "client_tcp": TCP, "server_tcp": None,
}  # fmt: skip
SAMPLE = {
    "event": "sample", "id": 3, "age_s": 1.0, "to_server_bytes": 1, "to_client_bytes": 0,
    "client_tcp": TCP, "server_tcp": TCP,
}  # fmt: skip
END = {"event": "end", "connections": 1, "ended": {"reset": 1}}


def lines(*told: Any) -> str:
    return "".join(json.dumps(line) + "\n" for line in told)


def tables(out: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    return pl.read_parquet(out / "connections.parquet"), pl.read_parquet(out / "samples.parquet")


def test_lines_become_rows_in_base_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "lines.json", tmp_path / "out"
    file.write_text(lines(SAMPLE, CONNECTION, END, {**CONNECTION, "id": 0}))
    assert main(["import", "proxy", str(file), "--out", str(out)]) == 0
    assert capsys.readouterr().out.strip() == f"2 connections and 1 sample: {out}"
    connections, samples = tables(out)
    assert dict(connections.schema) == proxy.schema("connections")
    assert dict(samples.schema) == proxy.schema("samples")
    first, second = connections.to_dicts()
    assert (first["file"], first["line"], first["run"], first["connection"]) == (str(file), 2, 0, 3)
    assert (second["line"], second["run"], second["connection"]) == (4, 1, 0)
    assert first["opened"] == datetime(2023, 11, 14, 22, 13, 20, 250_000, UTC)
    assert (first["duration_s"], first["server_handshake_s"], first["wish"]) == (2.0, None, None)
    assert first["undelivered_to_client_bytes"] == 2**64 - 1
    assert (first["client_rtt_s"], first["client_busy_s"], first["client_delivery_rate_bps"]) == (0.0015, 2.0, 8000)
    # What the kernel has not measured, or does not limit, is not a number.
    assert (first["client_min_rtt_s"], first["client_pacing_rate_bps"]) == (None, None)
    assert (first["client_initcwnd_segments"], first["server_initcwnd_segments"]) == (10, None)
    assert first["client_syn_data"] is True
    assert first["server_cwnd_segments"] is None
    [sample] = samples.to_dicts()
    assert (sample["connection"], sample["age_s"], sample["server_cwnd_segments"]) == (3, 1.0, 10)


def test_what_a_proxy_writes_is_what_is_read(tmp_path: Path) -> None:
    log = tmp_path / "lines.json"
    with socket.create_server(("127.0.0.1", 0)) as target:
        to = f"127.0.0.1:{target.getsockname()[1]}"
        command = [sys.executable, "-m", "ackclock", "proxy", "--to", to, "--listen", "127.0.0.1:0", "--user", "root"]
        command += ["--sample", "20ms", "--log", str(log)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            said = next(line for line in process.stderr if "listens at" in line)
            client = socket.create_connection(("127.0.0.1", int(said.rpartition(":")[2])), timeout=20)
            server, _ = target.accept()
            client.sendall(b"hello")
            assert server.recv(5) == b"hello"
            while not log.read_text().strip():
                time.sleep(0.01)
            client.close()
            server.close()
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()
            process.communicate()
    connections, samples = (
        frame.drop("wish", "header_s", "detail", strict=False) for frame in proxy.read([log]).values()
    )
    [row] = connections.to_dicts()
    assert (row["to_server_bytes"], row["why"], row["server"]) == (5, "finished", to)
    # No column is one that the program has no key for.
    assert [name for name, value in row.items() if value is None] == []
    assert len(samples) > 0
    assert set(samples["connection"]) == {row["connection"]}
    assert [name for name in samples.columns if samples[name].null_count() == len(samples)] == []


def test_several_files_and_zipped_ones(tmp_path: Path) -> None:
    one, two, out = tmp_path / "one.json", tmp_path / "two.json.gz", tmp_path / "out"
    one.write_text(lines(CONNECTION))
    two.write_bytes(gzip.compress(lines(CONNECTION, SAMPLE).encode()))
    for _ in range(2):  # the second time in place of the first
        assert main(["import", "proxy", str(one), str(two), "--out", str(out)]) == 0
    connections, samples = tables(out)
    assert connections["file"].to_list() == [str(one), str(two)]
    assert len(samples) == 1


def test_many_lines_are_as_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "_CHUNK", 7)
    file = tmp_path / "lines.json"
    file.write_text(lines(*({**CONNECTION, "id": number} for number in range(50))))
    assert proxy.read([file])["connections"]["connection"].to_list() == list(range(50))


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("hello\n", "this is no JSON"),
        ('{"event": "connec', "this line is cut off: it is no JSON"),
        ("[" * 100_000 + "\n", "this is no JSON"),
        ("[1]\n", 'its "event" is none of connection, sample, end'),
        ('{"event": ["end"]}\n', 'its "event" is none of connection, sample, end'),
        (lines({"event": "sample"}), "id is missing"),
        (lines({**CONNECTION, "to_server_bytes": -1}), "to_server_bytes is -1, and not a whole number, 0 or more"),
        (lines({**CONNECTION, "duration_s": "2"}), "duration_s is '2', and not a number"),
        (lines({**CONNECTION, "opened": 1e300}), "opened is 1e+300, and not seconds of 1970"),
        (lines({**CONNECTION, "client_tcp": {"rtt": True}}), "client_tcp.rtt is True, and not a whole number"),
        (lines({**CONNECTION, "server_tcp": 5}), "server_tcp is 5, and not what a kernel says"),
    ],
)
def test_a_bad_line_is_named(bad: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "lines.json", tmp_path / "out"
    file.write_text(lines(CONNECTION, SAMPLE) + bad)
    assert main(["import", "proxy", str(file), "--out", str(out)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.startswith(f"ackclock: {file}: ")
    assert "(line 3); " in err
    assert err.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--out", "x"], "nothing is to be read; write ackclock import proxy FILE... --out DIR"),
        (["lines.json"], "no directory for the tables is given"),
        (["no-such-file", "--out", "x"], "no-such-file: no such file or directory"),
        (["lines.json", "--out", "full"], "full: something else is there: mine"),
        (["lines.json", "--out", "lines.json"], "lines.json: cannot write the results there"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lines.json").write_text(lines(CONNECTION))
    Path("full").mkdir()
    Path("full/mine").touch()
    assert main(["import", "proxy", *options]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
