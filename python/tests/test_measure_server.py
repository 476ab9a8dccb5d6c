"""The server of measurements: who gets anything from it, and what abuse of it costs."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ackclock.cli.app import main
from ackclock.errors import InputError
from ackclock.measure import client, frames, secret, server, welcome
from ackclock.measure.asked import Asked
from ackclock.measure.server import Settings
from ackclock.measure.session import Terms
from ackclock.measure.sockets import Options
from measuring import TOKEN, heard, hello, introduced, newcomer, proof, rest, serving

pytestmark = pytest.mark.real_time

SHORT = Asked(duration_ns=200_000_000)


def refused(answer: dict[str, Any]) -> str:
    assert answer["type"] == "refused"
    return str(answer["reason"])


def test_the_token_is_proven_and_never_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = bytearray()
    pack = frames.pack
    monkeypatch.setattr(frames, "pack", lambda message: said.extend(text := pack(message)) or text)
    with serving(token=TOKEN) as (_, address):
        client.measure(address, TOKEN, SHORT)
    assert b"proof" in said
    assert TOKEN not in said
    assert TOKEN.hex().encode() not in said


@pytest.mark.parametrize("token", [b"", b"another token that is long"])
def test_without_the_token_there_is_nothing(token: bytes) -> None:
    with serving(token=TOKEN) as (_, address):
        with newcomer(address) as sock:
            assert "not that of this server" in refused(introduced(sock, token))
            assert rest(sock) == b""
        with pytest.raises(client.RefusedError, match="the token is not that of this server"):
            client.measure(address, token, SHORT)


def test_a_proof_is_good_for_one_connection_only() -> None:
    own = secret.nonce()
    with serving(token=TOKEN, clients=2) as (_, address), newcomer(address) as first, newcomer(address) as second:
        first.sendall(hello(own))
        recorded = proof(TOKEN, bytes.fromhex(heard(first)["nonce"]), own)
        first.sendall(recorded)
        assert heard(first)["type"] == "welcome"
        second.sendall(hello(own))
        heard(second)
        second.sendall(recorded)
        assert "not that of this server" in refused(heard(second))


def test_a_client_finds_out_a_server_without_the_token() -> None:
    with serving() as (_, address), newcomer(address) as sock:
        own = secret.nonce()
        sock.sendall(hello(own))
        theirs = bytes.fromhex(heard(sock)["nonce"])
        sock.sendall(proof(b"", theirs, own))
        welcome = heard(sock)
    assert secret.proven(b"", "server", theirs, own, welcome["proof"])
    assert not secret.proven(TOKEN, "server", theirs, own, welcome["proof"])


@pytest.mark.parametrize("version", [0, 2, "1", None, True, 1.5, [1]])
def test_another_version_is_refused_politely(version: object) -> None:
    with serving() as (_, address), newcomer(address) as sock:
        sock.sendall(hello(secret.nonce(), version))
        assert refused(heard(sock)) == f"this server speaks version {frames.VERSION}"
        assert rest(sock) == b""


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0" * 64,
        frames.CONTROL + struct.pack("!I", 0xFFFFFFFF),
        frames.CONTROL + struct.pack("!I", 5000) + b"x" * 5000,
        frames.CONTROL + struct.pack("!I", 4) + b"\xff\xfe\xfd\xfc",
        frames.CONTROL + frames.pack({"type": "hello", "version": 1}),
        frames.CONTROL + frames.pack({"type": "hello", "version": 1, "nonce": "zz"}),
        frames.CONTROL + frames.pack({"type": "test", "version": 1, "nonce": "00" * 32}),
        frames.CONTROL + struct.pack("!I", 4000) + b"[" * 4000,
        frames.DATA + bytes(range(101, 102 + frames.COOKIE)),
        frames.DATA + bytes(range(1, 151)) * 2,
    ],
)
def test_no_newcomer_is_told_more_than_it_has_said(said: bytes) -> None:
    with serving() as (_, address):
        with newcomer(address) as sock:
            sock.sendall(said)
            assert len(rest(sock)) <= len(said)
        assert client.measure(address, None, SHORT)["ends"]["server"]["ended"] is None


@pytest.mark.parametrize("bind", ["127.0.0.1", "::"])
def test_a_test_knows_how_the_computer_is_set_that_sends_it(bind: str) -> None:
    with serving(bind=bind, token=TOKEN) as (_, address):
        place = dataclasses.replace(address, host="127.0.0.1")
        found = client.measure(place, TOKEN, SHORT)["server"]
    own = Path("/proc/sys/net/ipv4")
    assert found["mtu"] == int(Path("/sys/class/net/lo/mtu").read_text())
    qdisc = Path("/proc/sys/net/core/default_qdisc")  # which only the first network namespace has
    assert found["default_qdisc"] == (qdisc.read_text().strip() if qdisc.exists() else None)
    assert found["default_cc"] == (own / "tcp_congestion_control").read_text().strip()
    assert found["sysctl"]["tcp_wmem"].split() == (own / "tcp_wmem").read_text().split()
    assert "tcp_fastopen_key" not in found["sysctl"], "it is a secret of that computer"
    assert len(found["load"]) == 3


def test_what_a_server_says_of_itself_is_checked_and_an_older_one_says_less() -> None:
    plain = {
        "type": "welcome",
        "version": 1,
        "proof": "",
        "kernel": "Linux 6.1",
        "cc": ["cubic"],
        "rate": None,
        "bytes": 7,
    }
    assert welcome.heard(plain).model_dump() == {
        **dict.fromkeys(("default_cc", "default_qdisc", "speed_mbit", "mtu", "sysctl", "load")),
        **{key: plain[key] for key in ("kernel", "cc", "rate", "bytes")},
    }
    del plain["kernel"]
    for wrong, key in (
        (plain, "kernel"),
        ({**plain, "kernel": "x" * 201}, "kernel"),
        ({**plain, "kernel": "Linux", "sysctl": {str(number): "" for number in range(501)}}, "sysctl"),
        ({**plain, "kernel": "Linux", "mtu": "large"}, "mtu"),
    ):
        with pytest.raises(frames.ProtocolError, match=f"says of itself what cannot be: {key}"):
            welcome.heard(wrong)


def test_nothing_is_said_before_anything_was_heard_and_slow_ones_lose_their_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "HELLO_S", 0.5)
    with serving() as (_, address), newcomer(address) as silent, newcomer(address) as slow:
        begun = time.monotonic()
        with pytest.raises(OSError, match=r"reset|pipe"):
            _drip(slow, hello(secret.nonce()) * 3)
        assert 0.4 < time.monotonic() - begun < 3
        assert rest(silent) == b""


def _drip(sock: socket.socket, said: bytes) -> None:
    """A byte now and then, which gains no time."""
    for byte in said:
        sock.sendall(bytes([byte]))
        time.sleep(0.02)


def test_a_hello_too_short_for_its_answer_gets_none() -> None:
    short = frames.CONTROL + frames.pack({"type": "a", "version": 7})
    assert len(short) < len(frames.pack({"type": "refused", "reason": "this server speaks version 1"}))
    with serving() as (_, address), newcomer(address) as sock:
        sock.sendall(short)
        assert rest(sock) == b""


def test_one_client_at_a_time_unless_told_otherwise() -> None:
    with serving() as (_, address):
        with newcomer(address) as first, newcomer(address) as second:
            assert introduced(first)["type"] == "welcome"
            assert "as many clients as it takes" in refused(introduced(second))
        deadline = time.monotonic() + 5
        while True:
            with newcomer(address) as third:
                if introduced(third)["type"] == "welcome":
                    break
            assert time.monotonic() < deadline, "a client that has gone keeps its place"
    with serving(clients=2) as (_, address), newcomer(address) as first, newcomer(address) as second:
        assert [introduced(sock)["type"] for sock in (first, second)] == ["welcome", "welcome"]


@pytest.mark.parametrize(
    ("asks", "why"),
    [
        ({"connections": 26}, "connections"),
        ({"connections": 0}, "connections"),
        ({"connections": True}, "connections"),
        ({"duration_ns": 10**15}, "duration_ns"),
        ({"interval_ns": 1}, "interval_ns"),
        ({"direction": "sideways"}, "direction"),
        ({"file": "/etc/passwd"}, "file"),
        ({"options": {"cc": "../../x"}}, "options.cc"),
        ({"options": {"cc": "nosuch"}}, "it allows: "),
        ({"options": {"rcvbuf": 1 << 30}}, "net.core.rmem_max"),
        ({"options": {"sndbuf": 1 << 30}}, "net.core.wmem_max"),
        ({"options": {"interface": "eth0"}}, "options.interface"),
        ({"warmup_ns": 10**10}, "the warm-up leaves nothing"),
        ({"connections": 25, "duration_ns": 60 * 10**9, "interval_ns": 10**7}, "too many samples"),
    ],
)
def test_what_no_server_does_is_refused_and_the_client_may_ask_again(asks: dict[str, Any], why: str) -> None:
    with serving() as (_, address), newcomer(address) as sock:
        introduced(sock)
        sock.sendall(frames.pack({"type": "test", **asks}))
        assert why in refused(heard(sock))
        sock.sendall(frames.pack({"type": "clock"}))
        assert heard(sock)["type"] == "clock"


def test_a_test_whose_connections_do_not_come_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ackclock.measure.session.IDLE_S", 0.3)
    with serving() as (_, address), newcomer(address) as sock, newcomer(address) as data, newcomer(address) as double:
        introduced(sock)
        sock.sendall(frames.pack({"type": "test", "connections": 3}))
        cookie = bytes.fromhex(heard(sock)["cookie"])
        data.sendall(frames.DATA + cookie + b"\1")
        double.sendall(frames.DATA + cookie + b"\1")
        assert rest(double) == b""
        assert "1 of 3 data connections have come" in refused(heard(sock))
        assert rest(data) == rest(sock) == b""


def test_the_rate_is_of_all_clients_together() -> None:
    second, found = Asked(duration_ns=10**9), dict[str, dict[str, Any]]()
    with serving(clients=2, terms=Terms(rate=16_000_000)) as (_, address):
        # Each has a half, be it alone or not: what a test may have does not depend on who else measures.
        alone = client.measure(address, None, second)

        def measure(direction: str) -> None:
            found[direction] = client.measure(address, None, second.model_copy(update={"direction": direction}))

        threads = [threading.Thread(target=measure, args=(direction,)) for direction in ("down", "up")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for each in (alone, *found.values()):
        assert each["server"]["rate"] == 8_000_000
        end = each["ends"]["server"]
        (way,) = end["connections"]
        # 1 MB in a second, 20 ms ahead and a part that was begun.
        assert 0.6e6 < way["moved"] < 1e6 * end["took_ns"] / 1e9 + 2 * 20_000
    with pytest.raises(InputError, match="--max-rate: 100000 bit/s among 2 clients are too little"):
        Settings(clients=2, terms=Terms(rate=100_000)).checked()


def test_the_command_says_what_each_client_has(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["measure", "serve", "--port", "0", "--expire", "100 ms", "--max-rate", "16 Mbit/s", "--max-clients"]
    assert main([*command, "2"]) == 0
    assert "each of 2 clients at a time has at most 8 Mbit/s\n" in capsys.readouterr().out
    assert main([*command, "1"]) == 0
    assert "each of" not in capsys.readouterr().out
    assert main([*command, "1000"]) == 2
    assert "ackclock: --max-rate: 16000000 bit/s among 1000 clients are too little" in capsys.readouterr().err


def test_a_capped_rate_is_shared_by_the_connections_of_a_test() -> None:
    asked = Asked(connections=4, duration_ns=10**9, options=Options(mss=1400))
    with serving(terms=Terms(rate=16_000_000)) as (_, address):
        found = client.measure(address, None, asked)
    moved = [way["moved"] for way in found["ends"]["server"]["connections"]]
    # In turn: they are a part of 40 kB apart, and not one of them has what its buffer takes.
    assert max(moved) - min(moved) <= 2 * 40_000


def test_the_caps_hold_in_both_directions() -> None:
    second = Asked(duration_ns=10**9)
    with serving(terms=Terms(rate=8_000_000)) as (_, address):
        for direction in ("down", "up"):
            found = client.measure(address, None, second.model_copy(update={"direction": direction}))
            end = found["ends"]["server"]
            (way,) = end["connections"]
            # 1 MB in a second, and the burst at its begin.
            assert way["moved"] < 1e6 * end["took_ns"] / 1e9 + 2 * 20_000
            # A sender goes on until its receiver closes, at that rate; a receiver counts what came in its second.
            assert way["moved"] > 0.6e6
            assert way["sends"] or 0.6e6 < way["counted"] < 1.4e6
    with serving(terms=Terms(bytes_of_test=300_000, bytes_in_all=500_000)) as (running, address):
        found = client.measure(address, None, second)
        # Whoever ends it by bytes lets go what it has: what is read is what was sent.
        assert [end["connections"][0]["moved"] for end in found["ends"].values()] == [300_000, 300_000]
        assert "300000 bytes" in found["ends"]["server"]["ended"]
        found = client.measure(address, None, second)
        assert found["ends"]["server"]["connections"][0]["moved"] == 200_000
        assert running.ledger.left == 0
        with pytest.raises(client.RefusedError, match="has given all the bytes"):
            client.measure(address, None, second)


def test_who_may_come_is_decided_before_anything_is_heard() -> None:
    with serving(allow=(ipaddress.ip_network("192.0.2.0/24"),)) as (_, address), newcomer(address) as sock:
        assert rest(sock) == b""
    with serving(allow=(ipaddress.ip_network("127.0.0.0/8"),)) as (_, address):
        assert client.measure(address, None, SHORT)["ends"]["client"]["ended"] is None


def test_any_other_address_than_loopback_needs_a_token_or_networks(tmp_path: Path) -> None:
    for bind in ("0.0.0.0", "::", "192.0.2.1"):
        with pytest.raises(InputError, match="give --token FILE, or say who may come"):
            server.Settings(bind=bind).checked()
        server.Settings(bind=bind, token=TOKEN).checked()
    file = tmp_path / "token"
    file.write_bytes(TOKEN + b"\n")
    with pytest.raises(InputError, match="chmod 600"):
        secret.read(file)
    file.chmod(0o600)
    assert secret.read(file) == TOKEN
    file.write_bytes(b"short")
    with pytest.raises(InputError, match="no secret"):
        secret.read(file)


_WATCHED = """
import ipaddress, json, sys, threading
from ackclock.measure import client, server
from ackclock.measure.asked import Asked
heard = []
running = server.Server(server.Settings(port=0))
inside = threading.Thread(target=running.run)
def watch(event, arguments):
    if not threading.current_thread().name.startswith("watched-out"):
        if event in ("socket.connect", "open", "os.exec", "subprocess.Popen", "os.fork", "socket.sendto"):
            heard.append([event, str(arguments[0] if event == "open" else arguments[1:])])
sys.addaudithook(watch)
inside.start()
def ask():
    for direction in ("down", "up"):
        client.measure(client.Address("127.0.0.1", running.port), None, Asked(direction=direction, duration_ns=10**8))
asking = threading.Thread(target=ask, name="watched-out")
asking.start(); asking.join()
running.stop(); inside.join()
print(json.dumps(heard))
"""


def test_a_server_never_connects_and_opens_no_file_that_a_client_names() -> None:
    done = subprocess.run([sys.executable, "-c", _WATCHED], capture_output=True, text=True, timeout=60, check=True)
    seen = json.loads(done.stdout)
    assert {event for event, _ in seen} <= {"open"}
    own = r"^/proc/sys/net/(ipv4/|core/default_qdisc$|if_inet6$)|^/sys/class/net/lo/|\.pyc?$|^/etc/|/encodings/|^\d+$"
    others = [name for _, name in seen if not re.search(own, name)]
    assert others == []


def test_it_ends_by_itself() -> None:
    running = server.Server(server.Settings(port=0, expire=0.2))
    begun, port = time.monotonic(), running.port
    running.run()
    assert 0.15 < time.monotonic() - begun < 5
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
