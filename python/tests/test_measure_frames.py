"""Messages of measurements: how long whoever reads several in a row may take."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from ackclock.measure import frames

PART = {"type": "samples", "values": "x" * 20_000}
PARTS = 30
SLOWEST = 400_000


@contextlib.contextmanager
def read_by(size: int, pause_s: float) -> Iterator[tuple[socket.socket, bytearray]]:
    """A connection of small buffers whose other end reads so many bytes at a time, with a pause after each."""
    here, there = socket.socketpair()
    here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    found, over = bytearray(), threading.Event()

    def read() -> None:
        with contextlib.suppress(OSError):
            while not over.is_set() and (part := there.recv(size)):
                found.extend(part)
                time.sleep(pause_s)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        with here:
            yield here, found
        thread.join()
    finally:
        over.set()
        there.close()


def test_a_report_that_is_read_arrives_whole() -> None:
    with read_by(1 << 16, 0.0) as (sock, found):
        report = frames.Report(sock, 30.0, SLOWEST)
        for _ in range(PARTS):
            report.send(PART)
    messages = []
    while (message := frames.split(found, frames.ANSWERED)) is not None:
        messages.append(message)
    assert (messages, found) == ([PART] * PARTS, bytearray())


def test_who_reads_each_message_in_time_and_all_of_them_slowly_is_given_up() -> None:
    # A message takes half a second at this pace, and may take as long as all of them should.
    with read_by(2000, 0.05) as (sock, _):
        sent: list[None] = []
        report = frames.Report(sock, 1.0, SLOWEST)
        with pytest.raises(frames.ProtocolError, match="nothing in time"):
            sent.extend(report.send(PART) for _ in range(PARTS))
        assert 0 < len(sent) < PARTS
        assert (sock.gettimeout() or 0.0) < 1.0, "what is left of the time for all, not a new one"
