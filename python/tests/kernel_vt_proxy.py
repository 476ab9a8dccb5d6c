"""``ackclock proxy`` behind a path in virtual time: minutes cost nothing. Without a kernel they fail, and say so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ackclock import proxy
from virtual_kernels import able as able  # a fixture of the module

SCENARIO = """
[topology]
kind = "dumbbell"
rate = "50 Mbit/s"
rtt = "40 ms"
queue = { kind = "droptail", limit = "1 BDP" }
[[flows]]
cc = "cubic"
[run]
duration = "4 s"
"""

COMMON = """
import json, os, pathlib, socket, subprocess, sys, threading, time

SERVER = os.environ.get("ACKCLOCK_SERVER", "")
pathlib.Path("/proc/sys/net/ipv4/tcp_fastopen").write_text("3")

def proxy(to, **more):
    document = {"listen": "0.0.0.0:8000", "allow": ["0.0.0.0/0"], "mode": {"to": to}, "user": "root", **more}
    process = subprocess.Popen(
        [PROGRAM, "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdin.write(json.dumps(document))
    process.stdin.close()
    for line in process.stderr:
        if "listens at" in line:
            return process
    raise RuntimeError("it did not start")

def server(port, answer):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
    listener.bind(("0.0.0.0", port))
    listener.listen(16)
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=answer, args=(stream,), daemon=True).start()

def echo(stream):
    while chunk := stream.recv(65536):
        stream.sendall(chunk)
    stream.close()

TEXT = bytes(range(256)) * 12_000

def flood(stream):
    stream.sendall(TEXT)
    stream.close()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def played(server: str, client: str) -> Any:
    """What the client's script has printed."""
    for name, script in (("server.py", server), ("client.py", client)):
        text = f"PROGRAM = {proxy.program()!r}\n{COMMON}\n{script}"
        Path(name).write_text(text, encoding="utf-8")
    python = sys.executable
    command = [python, "-m", "ackclock", "shell", "scenario.toml", "--virtual", "--quiet", "--duration", "20 min"]
    command += ["--write", ".", "--server", f"{python} server.py", "--", python, "client.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_window_of_zero_for_minutes_loses_nothing(place: Path) -> None:
    whole, line = played(
        "server(9000, flood)",
        """
process = proxy(f"{SERVER}:9000", buffer=1 << 18, client={"sndbuf": 65536}, server={"rcvbuf": 65536})
stream = socket.socket()
stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
stream.connect(("127.0.0.1", 8000))
got = b""
while len(got) < len(TEXT):
    # Far more than the persist timer's first intervals, and less than idle.
    if len(got) < 600_000:
        time.sleep(240)
    chunk = stream.recv(300_000, socket.MSG_WAITALL)
    assert chunk, len(got)
    got += chunk
stream.close()
print(json.dumps([got == TEXT, json.loads(process.stdout.readline())]))
""",
    )
    assert whole
    assert (line["why"], line["to_client_bytes"]) == ("finished", 3_072_000)
    # Two or more silences of four minutes, in which the proxy held up who sends.
    assert line["duration_s"] > 480
    assert line["undelivered_to_client_bytes"] == 0


@pytest.mark.parametrize("done", ["client", "server"])
def test_who_is_done_may_hear_for_minutes_from_who_is_not(place: Path, done: str) -> None:
    told, line = played(
        f"DONE = {done!r}"
        """
def slow(stream):
    for _ in range(6):
        time.sleep(50)
        stream.sendall(b"more")
    stream.close()

def answer(stream):
    if DONE == "server":
        stream.sendall(b"all")
        stream.shutdown(socket.SHUT_WR)
    got = b""
    while chunk := stream.recv(100):
        got += chunk
    if DONE == "client":
        assert got == b"all"
        slow(stream)
    else:
        pathlib.Path("got").write_bytes(got)

server(9000, answer)
""",
        f"DONE = {done!r}"
        """
process = proxy(f"{SERVER}:9000")
stream = socket.create_connection(("127.0.0.1", 8000))
if DONE == "client":
    stream.sendall(b"all")
    stream.shutdown(socket.SHUT_WR)
got = b""
while chunk := stream.recv(100):
    got += chunk
if DONE == "server":
    for _ in range(6):
        time.sleep(50)
        stream.sendall(b"more")
stream.close()
line = json.loads(process.stdout.readline())
time.sleep(1)
print(json.dumps([got.decode(), line]))
""",
    )
    assert told == ("more" * 6 if done == "client" else "all")
    assert done == "client" or Path("got").read_bytes() == b"more" * 6
    assert (line["why"], line["closed_by"]) == ("finished", done)
    assert line["duration_s"] > 299


def test_fast_open_spares_a_round_trip_to_the_server_and_none_of_the_handshake(place: Path) -> None:
    lines, took = played(
        "server(9000, echo)",
        """
process = proxy(f"{SERVER}:9000", server={"fast_open": True})
took = []
for _ in range(3):
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", 8000)) as stream:
        stream.sendall(b"hello")
        assert stream.recv(5) == b"hello"
        took.append(time.monotonic() - begin)
print(json.dumps([[json.loads(process.stdout.readline()) for _ in took], took]))
""",
    )
    assert [line["server_tcp"]["syn_data"] for line in lines] == [False, True, True]
    assert all(0.04 <= line["server_handshake_s"] < 0.05 for line in lines), lines
    assert 0.08 <= took[0] < 0.1
    assert all(0.04 <= s < 0.06 for s in took[1:]), took


def test_a_handshake_that_is_not_done_is_not_said_to_have_taken_no_time(place: Path) -> None:
    took = played(
        """
threading.Thread(target=server, args=(9000, echo), daemon=True).start()
time.sleep(0.1)
proxy("127.0.0.1:9000", client={"fast_open": True}, log="lines.json").wait()
""",
        """
time.sleep(1)
took = []
for _ in range(3):
    begin = time.monotonic()
    stream = socket.socket()
    stream.sendto(b"hello", socket.MSG_FASTOPEN, (SERVER, 8000))
    assert stream.recv(5) == b"hello"
    took.append(time.monotonic() - begin)
    stream.close()
    time.sleep(1)
print(json.dumps(took))
""",
    )
    lines = [json.loads(line) for line in Path("lines.json").read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line["event"] == "connection"]
    assert [line["client_tcp"]["syn_data"] for line in lines] == [False, True, True]
    assert 0.04 <= lines[0]["client_handshake_s"] < 0.05
    assert [line["client_handshake_s"] for line in lines[1:]] == [None, None]
    assert took[0] >= 0.08
    assert all(0.04 <= s < 0.06 for s in took[1:]), took
