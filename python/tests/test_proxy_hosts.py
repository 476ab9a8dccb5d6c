"""``ackclock proxy`` between hosts of their own: what cables, and hosts that are gone, do to connections.

No byte is lost that is said to be delivered, both ends hear of it, and nothing stays behind.
"""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import spaces

WHY_NOT = spaces.why_not()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))

# Says how many bytes came, and which; or why not all did. At the second port nothing is read and written for ever.
SERVER = """
import hashlib, socket, sys, threading

def digest(stream):
    found, count = hashlib.sha256(), 0
    try:
        while chunk := stream.recv(65536):
            found.update(chunk)
            count += len(chunk)
        stream.sendall(f"{count} {found.hexdigest()}".encode())
        stream.close()
    except OSError as error:
        print(type(error).__name__, flush=True)

def flood(stream):
    try:
        while True:
            stream.sendall(bytes(65536))
    except OSError as error:
        print(type(error).__name__, flush=True)

def served(listener, what):
    while True:
        threading.Thread(target=what, args=(listener.accept()[0],), daemon=True).start()

for port, what in ((80, digest), (81, flood)):
    threading.Thread(target=served, args=(socket.create_server(("10.2.0.2", port)), what), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""

# Sends the one half, says so, and when it is told to the other half; then prints what the server says, or why not.
CLIENT = """
import hashlib, random, socket, sys
data = random.Random(7).randbytes(int(sys.argv[2]))
half = len(data) // 2
try:
    with socket.create_connection(("10.1.0.1", int(sys.argv[1])), timeout=100) as stream:
        stream.sendall(data[:half])
        print("ready", flush=True)
        sys.stdin.readline()
        stream.sendall(data[half:])
        stream.shutdown(socket.SHUT_WR)
        told = stream.makefile("rb").read().decode()
        print("same" if told == f"{len(data)} {hashlib.sha256(data).hexdigest()}" else told, flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
"""

# Takes one byte, and no more.
READER = """
import socket, sys
stream = socket.create_connection(("10.1.0.1", int(sys.argv[1])), timeout=100)
stream.recv(1)
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def network() -> Iterator[spaces.Hosts]:
    """A client at 10.1.0.2, a server at 10.2.0.2, and between them the proxy's host, which forwards nothing."""
    with spaces.hosts("proxy", "client", "server") as net:
        net.cable(("proxy", "eth1", "10.1.0.1/24"), ("client", "eth0", "10.1.0.2/24"))
        net.cable(("proxy", "eth2", "10.2.0.1/24"), ("server", "eth0", "10.2.0.2/24"))
        yield net


def listening(net: spaces.Hosts, to: str = "10.2.0.2:80", **more: object) -> spaces.Listening:
    wanted = {"listen": "10.1.0.1:0", "allow": ["10.1.0.0/24"], "user": "root", "buffer": 1 << 20}
    return net.proxy("proxy", {"to": to}, **{**wanted, **more})


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def is_at_rest(of: spaces.Listening, descriptors: Counter[str]) -> None:
    """All is given back. What few connections need are pipes that were there before: not one is there more or less."""
    found = descriptors

    def is_back() -> bool:
        nonlocal found
        found = of.descriptors()
        return found == descriptors

    try:
        spaces.wait(is_back)
    except TimeoutError:
        pytest.fail(f"it has {found}, not {descriptors} as before")


@pytest.mark.parametrize("end", ["server", "client"])
def test_a_cable_that_was_out_for_a_while_has_cost_no_byte(end: str) -> None:
    with network() as net:
        net.python("server", SERVER)
        proxy = listening(net)
        descriptors = proxy.descriptors()
        client = net.python("client", CLIENT, str(proxy.port), "6000000")
        net.sh(end, "ip link set eth0 down")
        go_on(client)
        net.sh(end, "sleep 2; ip link set eth0 up")
        assert said(client) == "same"
        line = proxy.line()
        assert (line["why"], line["to_server_bytes"]) == ("finished", 6_000_000)
        assert line["duration_s"] > 1.5  # it did wait for the cable
        is_at_rest(proxy, descriptors)


def test_packets_that_may_only_be_small_from_now_on_cost_no_byte() -> None:
    with network() as net:
        net.python("server", SERVER)
        proxy = listening(net)
        descriptors = proxy.descriptors()
        client = net.python("client", CLIENT, str(proxy.port), "6000000")
        net.sh("proxy", "ip link set eth2 mtu 600")
        go_on(client)
        assert said(client) == "same"
        assert proxy.line()["why"] == "finished"
        is_at_rest(proxy, descriptors)


def test_a_server_that_is_gone_without_a_word_is_given_up_and_its_client_told() -> None:
    with network() as net:
        net.python("server", SERVER)
        proxy = listening(net, server={"user_timeout_ms": 1500})
        descriptors = proxy.descriptors()
        client = net.python("client", CLIENT, str(proxy.port), "6000000")
        net.sh("server", "ip link set eth0 down")
        go_on(client)
        assert said(client) == "ConnectionResetError"
        line = proxy.line()
        assert (line["why"], line["closed_by"]) == ("timed_out", "server")
        # The client was told that the proxy has it.
        assert line["undelivered_to_server_bytes"] > 0
        is_at_rest(proxy, descriptors)


def test_a_client_that_is_gone_without_a_word_is_given_up_and_its_server_told() -> None:
    with network() as net:
        server = net.python("server", SERVER)
        proxy = listening(net, "10.2.0.2:81", client={"user_timeout_ms": 1500})
        descriptors = proxy.descriptors()
        net.python("client", READER, str(proxy.port))
        net.sh("client", "ip link set eth0 down")
        assert said(server) in ("ConnectionResetError", "BrokenPipeError")
        line = proxy.line()
        assert (line["why"], line["closed_by"]) == ("timed_out", "client")
        assert line["undelivered_to_client_bytes"] > 0
        is_at_rest(proxy, descriptors)


def unread(net: spaces.Hosts) -> int:
    """Bytes that wait for the server to be read."""
    rows = [row.split() for row in net.sh("server", "cat /proc/net/tcp").splitlines()[1:]]
    return sum(int(row[4].partition(":")[2], 16) for row in rows if row[3] == "01")


def test_processes_that_are_killed_at_either_end_are_heard_of_at_the_other() -> None:
    with network() as net:
        server = net.python("server", SERVER)
        proxy = listening(net, "10.2.0.2:81")
        descriptors = proxy.descriptors()
        # With bytes that it has not read.
        reader = net.python("client", READER, str(proxy.port))
        reader.kill()
        assert said(server) in ("ConnectionResetError", "BrokenPipeError")
        assert (proxy.line()["why"], is_at_rest(proxy, descriptors)) == ("reset", None)
        proxy = listening(net)
        descriptors = proxy.descriptors()
        client = net.python("client", CLIENT, str(proxy.port), "6000000")
        # With bytes that it has not read: then its end is a reset.
        server.send_signal(signal.SIGSTOP)
        go_on(client)
        spaces.wait(lambda: unread(net))
        server.kill()
        assert said(client) in ("ConnectionResetError", "BrokenPipeError")
        assert proxy.line()["closed_by"] == "server"
        is_at_rest(proxy, descriptors)


NOWHERE = {
    # What is refused, what has no route, what a router says is not there, and what nobody answers.
    "refused": ("10.2.0.2:83", "true"),
    "unreachable": ("10.9.0.1:80", "true"),
    "unreachable, says a router": ("10.3.0.1:80", "ip route add 10.3.0.0/24 via 10.2.0.2"),
    "connect_timed_out": ("10.2.0.77:80", "ip neigh add 10.2.0.77 lladdr 02:00:00:00:00:77 dev eth2"),
}


@pytest.mark.parametrize("why", NOWHERE)
def test_a_server_that_is_not_there_resets_the_client(why: str) -> None:
    to, setup = NOWHERE[why]
    with network() as net:
        net.sh("proxy", setup)
        net.sh("server", "echo 1 > /proc/sys/net/ipv4/ip_forward; ip route add unreachable 10.3.0.0/24")
        proxy = listening(net, to, connect_s=1.5)
        descriptors = proxy.descriptors()
        script = CLIENT.replace('print("ready", flush=True)', "stream.recv(1)")
        assert net.told("client", script, str(proxy.port), "10") == "ConnectionResetError"
        line = proxy.line()
        assert (line["why"], line["server"]) == (why.partition(",")[0], to)
        is_at_rest(proxy, descriptors)
