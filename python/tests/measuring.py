"""Servers of measurements for the tests, and newcomers that say to them what they like."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

from ackclock.measure import frames, secret
from ackclock.measure.client import Address
from ackclock.measure.server import Server, Settings

TOKEN = b"sixteen bytes or more"

LINE = """
[topology]
kind = "dumbbell"
rate = "20 Mbit/s"
rtt = "20 ms"
queue = "1 BDP"
[[flows]]
cc = "cubic"
[run]
duration = "1 s"
"""
"""A line of a campaign that is a scenario's path."""


@contextlib.contextmanager
def serving(**settings: Any) -> Iterator[tuple[Server, Address]]:
    """A server on a free port of the loopback address, in a thread."""
    server = Server(Settings(port=0, **settings))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server, Address("127.0.0.1", server.port)
    finally:
        server.stop()
        thread.join()


def newcomer(address: Address) -> socket.socket:
    """A connection over which nothing has been said."""
    sock = socket.create_connection((address.host, address.port), timeout=10)
    sock.settimeout(10)
    return sock


def hello(nonce: bytes, version: object = frames.VERSION) -> bytes:
    """What a client begins with."""
    padding = " " * 400
    message = {"type": "hello", "version": version, "nonce": nonce.hex(), "padding": padding}
    return frames.CONTROL + frames.pack(message)


def proof(token: bytes, theirs: bytes, own: bytes) -> bytes:
    """What it goes on with."""
    return frames.pack({"type": "proof", "proof": secret.proof(token, "client", theirs, own)})


def introduced(sock: socket.socket, token: bytes = b"") -> dict[str, Any]:
    """Prove a token; the server's answer to that."""
    own = secret.nonce()
    sock.sendall(hello(own))
    theirs = bytes.fromhex(heard(sock)["nonce"])
    sock.sendall(proof(token, theirs, own))
    return heard(sock)


def heard(sock: socket.socket) -> dict[str, Any]:
    """The next message of the server."""
    return frames.receive(sock, frames.ANSWERED, 10.0)


def rest(sock: socket.socket) -> bytes:
    """All that still comes before the server closes; it has to close."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := sock.recv(1 << 16):
            found += part
    return found


@contextlib.contextmanager
def commanded(*options: str) -> Iterator[tuple[subprocess.Popen[str], Address]]:
    """The command `ackclock measure serve` in a process of its own, at the port that it tells."""
    command = [sys.executable, "-m", "ackclock", "measure", "serve", "--port", "0", *options]
    # What is freed goes back to the system, so that memory that is kept can be told from memory that once was needed.
    frugal = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    pipe = subprocess.PIPE
    # A shell has its programs in the background ignore SIGINT, and what they start would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    begun = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=frugal)
    signal.signal(signal.SIGINT, before)
    with begun as process:
        try:
            assert process.stdout is not None
            told = re.fullmatch(r"serving (\S+) port (\d+) to clients .+\n", process.stdout.readline())
            assert told is not None
            yield process, Address(told[1], int(told[2]))
        finally:
            process.kill()
