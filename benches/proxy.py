#!/usr/bin/env python3
"""What splitting connections costs: ``ackclock proxy`` beside HAProxy in TCP mode with splice, alternately, in one run.

    .venv/bin/python benches/proxy.py [--gigabytes 4] [--connections 5000] [--idle 9500] [--rounds 15]
        [--beside PROGRAM] [--json]

CPU time of the proxy's process (all its threads, /proc/PID/task/*/schedstat), not time on a clock, which says more of
how busy the computer is. On loopback that has in it the other end's receiving, which runs in whoever sends; both
proxies pay it alike. Both have one thread and no lines about connections unless it says so; the lines of both go to
/dev/null. Intervals are those of the median, 95 %; ratios are to HAProxy that writes as much, round by round, for what
else a computer does changes both. Needs Debian's package haproxy for the peer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ackclock import proxy
from ackclock.stats import median_interval

BLOCK = 1 << 20

EXISTING = 20
"""Connections that go on carrying while others come."""


def serve(listener: socket.socket) -> None:
    """A request is one byte: b sends as many MB as the next say, e sends it back and waits for the end.

    A connection that is reset is over, and no other with it.
    """
    with contextlib.suppress(KeyboardInterrupt):
        import selectors

        selector = selectors.DefaultSelector()
        selector.register(listener, selectors.EVENT_READ)
        block = bytes(BLOCK)
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    stream, _ = listener.accept()
                    selector.register(stream, selectors.EVENT_READ)
                    continue
                stream = key.fileobj  # type: ignore[assignment]
                with contextlib.suppress(ConnectionError):
                    asked = stream.recv(16)
                    if asked[:1] == b"b":
                        for _ in range(int(asked[1:])):
                            stream.sendall(block[:1_000_000])
                    elif asked:
                        stream.sendall(asked)
                        continue
                selector.unregister(stream)
                stream.close()


def cpu(pid: int) -> float:
    """Seconds of a processor that a process has taken."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def memory(pid: int) -> int:
    """Bytes of memory that are a process's own."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("RssAnon:")))


@contextlib.contextmanager
def haproxy(target: int, most: int, lines: bool = False) -> Iterator[tuple[int, int]]:
    """HAProxy, with a line for each connection (``option tcplog``) or without; its process and its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
        file.write(
            f"global\n nbthread 1\n maxconn {most}\n maxpipes 200\n"  # else it wants descriptors for 1 in 4 to splice
            + (" log stdout format raw local0\n" if lines else "")
            + "defaults\n mode tcp\n timeout connect 10s\n timeout client 300s\n timeout server 300s\n"
            " option splice-request\n option splice-response\n"
            + (" log global\n option tcplog\n" if lines else "")
            + f"listen split\n bind 127.0.0.1:{port} backlog 4096\n server one 127.0.0.1:{target}\n"
        )
        file.flush()
        process = subprocess.Popen(
            ["haproxy", "-db", "-f", file.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with ended(process):
            listening(port)
            yield process.pid, port


@contextlib.contextmanager
def ours(target: int, most: int, lines: bool = False, program: str | None = None) -> Iterator[tuple[int, int]]:
    """``ackclock proxy``, or another build of its program; its process and its port."""
    document = {"listen": "127.0.0.1:0", "mode": {"to": f"127.0.0.1:{target}"}, "user": "root", "lines": lines}
    document |= {"connections": most, "per_client": most}
    command = [program or proxy.program(), "run", "-"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, text=True)
    with ended(process):
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(json.dumps(document))
        process.stdin.close()
        said = ""
        while "listens at" not in said:
            said = process.stderr.readline()
            assert said, "it did not start"
        yield process.pid, int(said.rpartition(":")[2])


@contextlib.contextmanager
def ended(process: subprocess.Popen[Any]) -> Iterator[None]:
    """Within it the process runs."""
    try:
        yield
    finally:
        process.kill()
        process.wait()


def listening(port: int) -> None:
    """Wait until there is somebody at a port."""
    for _ in range(500):
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.02)
    raise TimeoutError(f"nobody at port {port}")


def bulk(pid: int, port: int, gigabytes: float) -> float:
    """Seconds of a processor per GB that is downloaded."""
    into = bytearray(BLOCK)
    with socket.create_connection(("127.0.0.1", port)) as stream:
        before, got = cpu(pid), 0
        megabytes = round(gigabytes * 1000)
        stream.sendall(b"b%d" % megabytes)
        while count := stream.recv_into(into):
            got += count
        time.sleep(0.1)
        assert got == megabytes * 10**6, f"{got} bytes of {megabytes} MB at port {port}"
        return (cpu(pid) - before) / gigabytes


def short(pid: int, port: int, count: int) -> float:
    """Microseconds of a processor per connection: opened, a byte there and back, closed."""
    before = cpu(pid)
    for _ in range(count):
        with socket.create_connection(("127.0.0.1", port)) as stream:
            stream.sendall(b"e")
            assert stream.recv(1) == b"e"
    time.sleep(0.3)
    return (cpu(pid) - before) / count * 1e6


def idle(pid: int, port: int, count: int) -> float:
    """Bytes of a process's own memory per connection that has carried a byte there and back and is silent now.

    The first of them carry on while the others come, and in the end each is asked for one more byte: none may be lost.
    """
    before = memory(pid)
    streams: list[socket.socket] = []
    for number in range(count):
        streams.append(socket.create_connection(("127.0.0.1", port)))
        echoed(streams[-1])
        echoed(streams[number % EXISTING % len(streams)])
    time.sleep(0.5)
    each = (memory(pid) - before) / count
    for stream in streams:
        echoed(stream)
        stream.close()
    return each


def echoed(stream: socket.socket) -> None:
    """A byte there and back."""
    stream.sendall(b"e")
    assert stream.recv(1) == b"e", "a connection is lost"


PEER = "HAProxy"
LINES = ", a line for each"


def peer(found: dict[str, dict[str, list[float]]], name: str) -> dict[str, list[float]]:
    """What HAProxy took that writes as much about a connection."""
    return found.get(PEER + LINES if name.endswith(LINES) else PEER, {})


def figures(values: list[float], theirs: list[float] | None) -> dict[str, Any]:
    """The median of what was measured, and its interval; and of the ratios to what the peer took in the same round."""
    found = {"median": statistics.median(values), "of": len(values), "interval": interval(values)}
    if theirs and theirs is not values:
        ratios = [one / other for one, other in zip(values, theirs, strict=True)]
        found |= {"ratio": statistics.median(ratios), "ratio_interval": interval(ratios)}
    return found


def interval(values: list[float]) -> list[float] | None:
    """Where the median is, 95 %: six values at least have one."""
    found = median_interval(values)
    return None if found.low is None or found.high is None else [found.low, found.high]


def text(name: str, what: str, value: dict[str, Any]) -> str:
    """A row of the table."""

    def within(of: list[float] | None) -> str:
        return f"({of[0]:.4g} to {of[1]:.4g})" if of else ""

    row = f"{name:34}{what:28}{value['median']:10.4g}  {within(value['interval']):22}"
    return row + (f"{value['ratio']:8.3f}  {within(value['ratio_interval'])}" if "ratio" in value else "")


def main() -> int:
    """Measure, and print a table or JSON."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--gigabytes", type=float, default=4)
    options.add_argument("--connections", type=int, default=5000)
    options.add_argument("--idle", type=int, default=9500)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--beside", help="another build of the program ackclock-proxy, in turns with this one")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    target = listener.getsockname()[1]
    server = multiprocessing.get_context("fork").Process(target=serve, args=(listener,), daemon=True)
    server.start()
    most = max(given.idle, 100)
    candidates: dict[str, Callable[[], Any]] = {
        "ackclock proxy": lambda: ours(target, most),
        "ackclock proxy" + LINES: lambda: ours(target, most, lines=True),
    }
    if given.beside:
        candidates["the other build"] = lambda: ours(target, most, program=given.beside)
        candidates["the other build" + LINES] = lambda: ours(target, most, lines=True, program=given.beside)
    if shutil.which("haproxy"):
        candidates[PEER] = lambda: haproxy(target, most)
        candidates[PEER + LINES] = lambda: haproxy(target, most, lines=True)
    found: dict[str, dict[str, list[float]]] = {name: {} for name in candidates}
    for number in range(given.rounds):
        for name, start in list(candidates.items())[:: 1 if number % 2 else -1]:
            with start() as (pid, port):
                found[name].setdefault("cpu_s_per_gb", []).append(bulk(pid, port, given.gigabytes))
                found[name].setdefault("cpu_us_per_connection", []).append(short(pid, port, given.connections))
    for name, start in candidates.items() if given.idle else ():
        with start() as (pid, port):
            found[name]["idle_bytes_per_connection"] = [idle(pid, port, given.idle)]
    server.kill()
    result = {
        name: {what: figures(values, peer(found, name).get(what)) for what, values in of.items()}
        for name, of in found.items()
    }
    about = {"load": os.getloadavg()[0], "processors": os.cpu_count(), "options": vars(given)}
    if given.json:
        print(json.dumps({"about": about, "figures": result}, indent=1))
        return 0
    print(f"load {about['load']:.1f} on {about['processors']} processors")
    for name, of in result.items():
        for what, value in of.items():
            print(text(name, what, value))
    return 0


if __name__ == "__main__":
    sys.exit(main())
