"""``ackclock proxy`` with ``fast_open``: in a namespace of its own, in which the kernel allows it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from ackclock import proxy

SPACE = ["unshare", "--user", "--map-root-user", "--net", "sh", "-ec"]
SETUP = 'ip link set lo up; echo {allowed} > /proc/sys/net/ipv4/tcp_fastopen; exec {python} -c "$0" {arguments}'

COMMON = """
import atexit, json, socket, subprocess, sys, threading

# The kernel knows servers by their addresses.
TARGET = "127.0.0.2"

def served(listener, answer):
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=answer, args=(stream,), daemon=True).start()

def server(answer):
    listener = socket.create_server((TARGET, 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
    threading.Thread(target=served, args=(listener, answer), daemon=True).start()
    return listener, listener.getsockname()[1]

def echo(stream):
    while chunk := stream.recv(65536):
        stream.sendall(chunk)
    stream.close()

def greet(stream):
    stream.sendall(b"220 ready")
    echo(stream)

class Proxy:
    def __init__(self, mode, side=True, **more):
        document = {"listen": "127.0.0.1:0", "mode": mode, "user": "root", **more}
        document |= {"client": {"fast_open": side}, "server": {"fast_open": True}}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([sys.argv[1], "run", "-"], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        atexit.register(self.process.kill)
        self.process.stdin.write(json.dumps(document))
        self.process.stdin.close()
        said = ""
        while "listens at" not in said:
            said = self.process.stderr.readline()
            assert said, "it did not start"
        self.port = int(said.rsplit(":", 1)[1])

    def line(self):
        return json.loads(self.process.stdout.readline())

    def talk(self, first, fast=True):
        with socket.socket() as stream:
            if fast:
                sent = stream.sendto(first, socket.MSG_FASTOPEN, ("127.0.0.1", self.port))
                stream.sendall(first[sent:])
            else:
                stream.connect(("127.0.0.1", self.port))
                stream.sendall(first)
            stream.settimeout(20)
            stream.shutdown(socket.SHUT_WR)
            got = b""
            while chunk := stream.recv(65536):
                got += chunk
            return got
"""


def inside(script: str, allowed: int = 3) -> subprocess.CompletedProcess[str]:
    """Run a script where ``net.ipv4.tcp_fastopen`` is what is allowed."""
    setup = SETUP.format(allowed=allowed, python=sys.executable, arguments=proxy.program())
    command = [*SPACE, setup, COMMON + script]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def told(script: str) -> Any:
    """What a script has printed."""
    done = inside(script)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def why_not() -> str | None:
    """What is missing to make such a namespace, if something is."""
    try:
        tried = inside("print(1)")
    except OSError as error:
        return str(error)
    return tried.stderr.strip() if tried.returncode else None


WHY_NOT = why_not()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


def early(line: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether the SYNs of client and server had data that were taken."""
    return line["client_tcp"]["syn_data"], line["server_tcp"]["syn_data"]


def test_who_is_known_gets_the_first_bytes_with_the_syn() -> None:
    lines = told("""
_, port = server(echo)
proxy = Proxy({"to": f"{TARGET}:{port}"})
text = bytes(range(256)) * 40
for size in (5, 5, len(text)):
    assert proxy.talk(text[:size]) == text[:size]
print(json.dumps([proxy.line() for _ in range(3)]))
""")
    assert [early(line) for line in lines] == [(False, False), (True, True), (True, True)]
    assert [line["to_server_bytes"] for line in lines] == [5, 5, 10_240]
    assert [line["why"] for line in lines] == ["finished"] * 3
    # The first time there was a handshake before the data; afterwards, too, the server's is waited for and measured.
    assert all(line["server_handshake_s"] > 0 for line in lines)


def test_without_the_option_nothing_goes_with_a_syn() -> None:
    lines = told("""
_, port = server(echo)
proxy = Proxy({"to": f"{TARGET}:{port}"}, side=False)
for _ in range(3):
    assert proxy.talk(b"hello", fast=False) == b"hello"
print(json.dumps([proxy.line() for _ in range(3)]))
""")
    assert [early(line)[0] for line in lines] == [False] * 3


def test_a_server_that_speaks_first_is_connected_to_all_the_same() -> None:
    got = told("""
_, port = server(greet)
proxy = Proxy({"to": f"{TARGET}:{port}"}, connect_s=3)
assert proxy.talk(b"hello") == b"220 readyhello"
greetings = []
for _ in range(2):
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as stream:
        greetings.append(stream.recv(100).decode())
print(json.dumps([greetings, [proxy.line()["why"] for _ in range(3)]]))
""")
    assert got == [["220 ready"] * 2, ["finished"] * 3]


def test_who_refuses_is_still_said_to_refuse() -> None:
    line, reply = told("""
listener, port = server(echo)
proxy = Proxy("socks5", allow_target=["127.0.0.0/8"])
request = bytes([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 2]) + port.to_bytes(2, "big")
for _ in range(2):
    got = proxy.talk(request + b"early", fast=False)
    assert (got[:4], got[12:]) == (bytes([5, 0, 5, 0]), b"early"), got
lines = [proxy.line() for _ in range(2)]
assert [line["server_tcp"]["syn_data"] for line in lines] == [False, True], lines
assert [line["to_server_bytes"] for line in lines] == [5, 5], lines
listener.shutdown(socket.SHUT_RDWR)
listener.close()
got = proxy.talk(request + b"early", fast=False)
print(json.dumps([proxy.line(), got[3]]))
""")
    assert (line["why"], line["closed_by"], line["to_server_bytes"]) == ("refused", "server", 0)
    assert reply == 5


@pytest.mark.parametrize(("side", "allowed"), [("client", 1), ("server", 2), ("client", 0), ("server", 0)])
def test_a_kernel_that_does_not_allow_it_is_said_what_to_do(side: str, allowed: int) -> None:
    done = inside(
        f"""
document = {{"listen": "127.0.0.1:0", "mode": {{"to": "127.0.0.1:1"}}, "{side}": {{"fast_open": True}}}}
done = subprocess.run([sys.argv[1], "run", "-"], input=json.dumps(document), capture_output=True, text=True, timeout=60)
print(done.returncode, done.stderr, end="")
""",
        allowed,
    )
    set_to = allowed | (2 if side == "client" else 1)
    said = f"net.ipv4.tcp_fastopen is {allowed}, which does not allow it; sysctl -w net.ipv4.tcp_fastopen={set_to}"
    assert done.stdout == f"2 ackclock: --{side} fast_open: {said}\n", done.stderr
