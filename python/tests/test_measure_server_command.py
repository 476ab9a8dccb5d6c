"""The command `ackclock measure serve`: what it tells, what it refuses in one line, and how it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT, OK
from ackclock.measure import client
from ackclock.measure.asked import Asked
from measuring import TOKEN, commanded, heard, introduced, newcomer

pytestmark = pytest.mark.real_time

SECOND = 10**9
Refused = Callable[..., str]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """The one line in which a server is refused; one that is not ends soon."""

    def line_of(*options: str) -> str:
        ending = () if "--expire" in options else ("--expire", "1 s")
        assert main(["measure", "serve", *options, *ending]) == BAD_INPUT
        told, complaints = capsys.readouterr()
        assert told == ""
        (line,) = complaints.splitlines()
        return str(line)

    return line_of


def test_it_listens_where_it_says_until_its_time_is_up() -> None:
    with commanded("--expire", "1 s") as (process, address):
        assert address.host == "127.0.0.1"
        socket.create_connection((address.host, address.port)).close()
        told, complaints = process.communicate(timeout=30)
        assert (process.returncode, told, complaints) == (OK, "the time is up\n", "")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address.host, address.port))


def test_it_has_the_caps_that_it_was_given() -> None:
    second = Asked(duration_ns=SECOND)
    with commanded("--max-rate", "80 Mbit/s", "--max-bytes", "300 kB", "--max-total", "400 kB") as (_, address):
        found = client.measure(address, None, second)
        assert (found["server"]["rate"], found["server"]["bytes"]) == (80_000_000, 300_000)
        found = [found, client.measure(address, None, second)]
        assert [each["ends"]["server"]["connections"][0]["moved"] for each in found] == [300_000, 100_000]
        with pytest.raises(client.RefusedError, match="has given all the bytes"):
            client.measure(address, None, second)


def test_a_refusal_is_exit_code_2_and_a_line_for_a_shell_too() -> None:
    command = [sys.executable, "-m", "ackclock", "measure", "serve", "--bind", "0.0.0.0", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (BAD_INPUT, "")
    assert done.stderr.startswith("ackclock: --bind: anybody could have data sent from 0.0.0.0; give --token FILE")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_whoever_is_there(number: signal.Signals) -> None:
    with commanded() as (process, address), newcomer(address) as silent, newcomer(address) as client_of_it:
        assert introduced(client_of_it)["type"] == "welcome"
        process.send_signal(number)
        told, complaints = process.communicate(timeout=30)
        assert (process.returncode, told, complaints) == (OK, "", "")
        assert silent.recv(1) == client_of_it.recv(1) == b""


def test_a_signal_ends_a_test_that_is_under_way() -> None:
    with commanded() as (process, address), newcomer(address) as control:
        introduced(control)
        control.sendall(client.frames.pack({"type": "test", "duration_ns": 100 * SECOND}))
        cookie = bytes.fromhex(heard(control)["cookie"])
        with newcomer(address) as data:
            data.sendall(client.frames.DATA + cookie + b"\0")
            assert heard(control)["type"] == "all"
            control.sendall(client.frames.pack({"type": "start"}))
            assert data.recv(1)
            process.terminate()
            assert process.wait(30) == OK


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("--max-rate", "100 apples", "unknown unit 'apples'"),
        ("--max-rate", "100", "has no unit"),
        ("--max-rate", "0 Mbit/s", "0 Mbit/s"),
        ("--max-rate", "1 kbit/s", "too little"),
        ("--max-bytes", "1 s", "unknown unit 's'"),
        ("--max-total", "-1 GB", "-1 GB"),
        ("--expire", "1 Mbit/s", "unknown unit 'Mbit/s'"),
        ("--allow", "192.0.2.1/24", "host bits"),
        ("--bind", "localhost", "no address"),
        ("--port", "65536", "no port"),
        ("--max-clients", "0", "0 clients"),
        ("--token", "nowhere", "nowhere"),
    ],
)
def test_what_means_nothing_is_refused_in_a_line(option: str, value: str, why: str, refused: Refused) -> None:
    line = refused(*(() if option == "--port" else ("--port", "0")), option, value)
    assert line.startswith("ackclock: nowhere: " if option == "--token" else f"ackclock: {option}: ")
    assert why in line


def test_any_other_address_than_loopback_needs_a_token_or_networks(tmp_path: Path, refused: Refused) -> None:
    assert "anybody could have data sent from 0.0.0.0; give --token FILE" in refused("--bind", "0.0.0.0", "--port", "0")
    token = tmp_path / "token"
    token.write_bytes(TOKEN)
    token.chmod(0o644)
    assert "chmod 600" in refused("--bind", "0.0.0.0", "--port", "0", "--token", str(token))
    token.chmod(0o600)
    with commanded("--bind", "0.0.0.0", "--token", str(token)) as (_, address):
        there = client.Address("127.0.0.1", address.port)
        assert client.measure(there, TOKEN, Asked(duration_ns=SECOND // 10))["ends"]["server"]["ended"] is None
        with pytest.raises(client.RefusedError, match="the token is not that of this server"):
            client.measure(there, None, Asked(duration_ns=SECOND // 10))


def test_a_port_that_is_taken_is_said_in_a_line(refused: Refused) -> None:
    with commanded() as (_, address):
        assert f"127.0.0.1 port {address.port}: cannot listen there" in refused("--port", str(address.port))
