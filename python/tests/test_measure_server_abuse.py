"""The server of measurements and those who abuse it: what they are cut off from, and what is left of them."""

from __future__ import annotations

import gc
import os
import resource
import socket
import struct
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from ackclock.measure import client, frames, server, transfer
from ackclock.measure.asked import Asked
from ackclock.measure.client import Address
from ackclock.measure.session import Terms
from ackclock.measure.sockets import Options
from measuring import commanded, heard, introduced, newcomer, rest, serving

pytestmark = pytest.mark.real_time

SHORT = Asked(duration_ns=100_000_000)
SECOND = 10**9
LEAK = 1000
"""Bytes that a connection or a session may leave behind, as far as that can be told."""


def begun(control: socket.socket, address: Address, asked: Asked, buffer: int | None = None) -> socket.socket:
    """A test of one connection begins; its data connection, with a receive buffer of so many bytes."""
    introduced(control)
    control.sendall(frames.pack({"type": "test", **asked.model_dump()}))
    cookie = bytes.fromhex(heard(control)["cookie"])
    data = socket.socket()
    if buffer is not None:
        data.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    data.settimeout(10)
    data.connect((address.host, address.port))
    data.sendall(frames.DATA + cookie + b"\0")
    assert heard(control)["type"] == "all"
    control.sendall(frames.pack({"type": "start"}))
    return data


def sip(data: socket.socket) -> None:
    """Read for eight seconds at a pace at which what the server's kernel holds would last for longer."""
    until = time.monotonic() + 8
    while time.monotonic() < until:
        data.recv(250)
        time.sleep(0.02)


def pour(data: socket.socket) -> None:
    """Send for eight seconds."""
    until = time.monotonic() + 8
    while time.monotonic() < until:
        data.sendall(bytes(65_536))


def waiting(address: Address) -> list[int]:
    """Bytes that the server's connections have still to send, where they have any; also of those without a process."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    sizes = [int(row[4].partition(":")[0], 16) for row in rows if row[1].endswith(f":{address.port:04X}")]
    return [size for size in sizes if size > 1]  # the end of a connection counts as one


def test_a_data_connection_needs_the_cookie_of_the_test_that_waits_for_it() -> None:
    with serving(clients=2) as (_, address), newcomer(address) as control, newcomer(address) as other:
        cookies = []
        for sock, connections in ((control, 2), (other, 1)):
            introduced(sock)
            asked = Asked(duration_ns=100_000_000, connections=connections)
            sock.sendall(frames.pack({"type": "test", **asked.model_dump()}))
            cookies.append(bytes.fromhex(heard(sock)["cookie"]))
        own, others = cookies
        assert own != others
        assert len(own) == 32
        flipped = own[:-1] + bytes([own[-1] ^ 1])
        # Tests wait for numbers 0 and 1, and 0: none comes in by another cookie, a number that is not there, or twice.
        wrong = [(bytes(32), 0), (os.urandom(32), 0), (flipped, 0), (flipped, 1), (others, 1), (own, 2), (own, 255)]
        for cookie, number in wrong:
            with newcomer(address) as data:
                data.sendall(frames.DATA + cookie + bytes([number]))
                assert rest(data) == b"", "it was not closed at once"
        with newcomer(address) as first, newcomer(address) as twice, newcomer(address) as second:
            first.sendall(frames.DATA + own + b"\0")
            time.sleep(0.1)
            twice.sendall(frames.DATA + own + b"\0")
            assert rest(twice) == b""
            second.sendall(frames.DATA + own + b"\1")
            assert heard(control)["type"] == "all", "the test has lost its own connections to others"


def test_who_reads_slowly_beyond_the_end_is_cut_and_nothing_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "_DRAIN_NS", 300_000_000)
    asked = Asked(duration_ns=200_000_000, options=Options(sndbuf=200_000))
    with serving() as (_, address), newcomer(address) as control:
        with begun(control, address, asked, buffer=4096) as data:
            with pytest.raises(ConnectionResetError):
                sip(data)
            assert waiting(address) == []
        ended = heard(control)
        assert (ended["type"], ended["ended"]) == ("ended", None)
        assert ended["took_ns"] >= 500_000_000, "it was cut before the time that a receiver has"
        heard(control)
        assert heard(control)["type"] == "done"
        # It is not banned: whoever has the token may ask again.
        control.sendall(frames.pack({"type": "clock"}))
        assert heard(control)["type"] == "clock"


def test_who_reads_nothing_at_all_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "IDLE_NS", 300_000_000)
    asked = Asked(duration_ns=60 * SECOND)
    with serving() as (_, address), newcomer(address) as control, begun(control, address, asked, buffer=4096):
        assert "nothing moved" in heard(control)["ended"]
        heard(control)
        assert heard(control)["type"] == "done"
        assert waiting(address) == []


def test_who_sends_beyond_the_end_is_cut() -> None:
    with serving() as (_, address), newcomer(address) as control:
        with (
            begun(control, address, Asked(direction="up", duration_ns=200_000_000)) as data,
            pytest.raises((ConnectionResetError, BrokenPipeError)),
        ):
            pour(data)
        ended = heard(control)
        assert (ended["type"], ended["ended"]) == ("ended", None)
        way = heard(control)
        assert way["moved"] == way["so_far"][-1], "what comes after the end is not even read"
        assert heard(control)["type"] == "done"


def test_bytes_that_are_under_way_when_they_are_used_up_are_read_to_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ackclock.measure.session.IDLE_S", 0.3)
    # All is given to the kernel at once, which needs a second to send it: longer than a client may be silent.
    asked = Asked(duration_ns=6 * SECOND, options=Options(pacing=2_400_000, sndbuf=400_000, mss=1448))
    with serving(terms=Terms(bytes_of_test=300_000)) as (_, address):
        found = client.measure(address, None, asked)
    assert [end["connections"][0]["moved"] for end in found["ends"].values()] == [300_000, 300_000]
    assert found["ends"]["server"]["took_ns"] < found["ends"]["client"]["took_ns"] - 300_000_000


def test_who_does_not_read_them_is_cut_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ackclock.measure.session.IDLE_S", 0.3)
    asked = Asked(duration_ns=SECOND, options=Options(sndbuf=400_000))
    with (
        serving(terms=Terms(bytes_of_test=300_000)) as (_, address),
        newcomer(address) as control,
        begun(control, address, asked, buffer=4096),
    ):
        assert "300000 bytes" in heard(control)["ended"]
        heard(control)
        assert heard(control)["type"] == "done"
        assert waiting(address) != []
        assert "nothing in time" in heard(control)["reason"]
        assert control.recv(1) == b""
        assert waiting(address) == []


class Watched:
    """What a server's process has."""

    def __init__(self, number: int) -> None:
        self._folder = Path(f"/proc/{number}")

    def descriptors(self) -> int:
        return len(list((self._folder / "fd").iterdir()))

    def threads(self) -> int:
        return len(list((self._folder / "task").iterdir()))

    def memory(self) -> int:
        """Bytes that are its own, and no file's: counted, for those in `status` are some hundred kilobytes off."""
        rows = (self._folder / "smaps_rollup").read_text(encoding="ascii").splitlines()
        return next(int(row.split()[1]) * 1024 for row in rows if row.startswith("Anonymous:"))

    def rested(self, descriptors: int, threads: int = 1) -> int:
        """Its memory, as soon as it has so many descriptors and threads, which it comes to."""
        deadline = time.monotonic() + 10
        while (found := (self.descriptors(), self.threads())) != (descriptors, threads) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert found == (descriptors, threads)
        return self.memory()


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def break_off(address: Address, seen: Watched, base: int) -> None:
    """A thousand connections at a time, half of which begin to say something; then they are gone."""
    socks = [newcomer(address) for _ in range(1000)]
    for sock in socks[::2]:
        sock.sendall(frames.CONTROL + struct.pack("!I", 4000) + b"x" * 1000)
    time.sleep(0.2)
    assert seen.descriptors() - base <= server.PENDING, "the server keeps more newcomers than it says"
    assert seen.threads() == 1, "a newcomer has a thread"
    # A client with the token gets in, whatever the others do.
    assert client.measure(address, None, SHORT)["ends"]["client"]["ended"] is None
    for sock in socks:
        sock.close()


@pytest.mark.usefixtures("many_descriptors")
def test_a_thousand_connections_leave_nothing_behind() -> None:
    with commanded() as (process, address):
        seen = Watched(process.pid)
        client.measure(address, None, SHORT)
        base = seen.descriptors()
        break_off(address, seen, base)
        first = seen.rested(base)
        break_off(address, seen, base)
        assert seen.rested(base) - first < 1000 * LEAK


def test_whole_sessions_leave_nothing_behind() -> None:
    # Counted by Python: in what the process has, holes that its start has left would hide some megabytes.
    own = Watched(os.getpid())

    def sessions(number: int) -> int:
        for direction in ("down", "up", "both") * (number // 3):
            client.measure(address, None, SHORT.model_copy(update={"direction": direction}))
        own.rested(descriptors, threads)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    with serving() as (_, address):
        descriptors, threads = own.descriptors(), own.threads()
        tracemalloc.start()
        try:
            first = sessions(12)
            assert sessions(60) - first < 60 * LEAK
        finally:
            tracemalloc.stop()
