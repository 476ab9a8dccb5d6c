"""``ackclock proxy --transparent``: between namespaces, with the rules that ``ackclock doctor`` prints."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ackclock import proxy

SERVER = """
import socket
listener = socket.create_server(("0.0.0.0", 80))
print("ready", flush=True)
while True:
    stream, peer = listener.accept()
    with stream:
        stream.sendall(peer[0].encode() + b" " + stream.recv(100))
"""

CLIENT = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10) as stream:
        stream.sendall(b"hello")
        stream.shutdown(socket.SHUT_WR)
        print(stream.makefile("rb").read().decode() or "nothing")
except OSError as error:
    print(type(error).__name__)
"""


def why_not() -> str | None:
    """What is missing to make such a network, if something is."""
    tools = [tool for tool in ("unshare", "nsenter", "ip", "nft") if shutil.which(tool) is None]
    if tools:
        return f"without {', '.join(tools)}"
    if os.geteuid() != 0:
        return "this is not root"
    rules = "; ".join(proxy.RULES[:4])
    tried = subprocess.run(["unshare", "--net", "sh", "-ec", rules], capture_output=True, text=True, check=False)
    return f"the kernel has no TPROXY: {tried.stderr.strip()}" if tried.returncode else None


WHY_NOT = why_not()
pytestmark = [pytest.mark.real_time, pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))]


class Network:
    """A client at 10.1.0.2 and a server at 10.2.0.2, with a router between them that has 10.1.0.1 and 10.2.0.1."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[str]] = []
        self.hosts = {name: self.start(["unshare", "--net", "sleep", "1000"]).pid for name in ("c", "r", "s")}
        here = Path("/proc/self/ns/net").readlink()
        for pid in self.hosts.values():
            while Path(f"/proc/{pid}/ns/net").readlink() == here:
                time.sleep(0.01)
        for end, subnet, device in (("c", 1, "eth1"), ("s", 2, "eth2")):
            self.sh("r", f"ip link add {device} type veth peer name eth0 netns {self.hosts[end]}")
            self.sh("r", f"ip addr add 10.{subnet}.0.1/24 dev {device}; ip link set {device} up")
            self.sh(end, f"ip addr add 10.{subnet}.0.2/24 dev eth0; ip link set eth0 up; ip link set lo up")
            self.sh(end, f"ip route add default via 10.{subnet}.0.1")
        self.sh("r", "ip link set lo up; echo 1 > /proc/sys/net/ipv4/ip_forward")
        self.sh("r", "\n".join(proxy.RULES))

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        """A process that ends with the network."""
        pipe = subprocess.PIPE
        self.running.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return self.running[-1]

    def at(self, host: str, *command: str) -> list[str]:
        """A command at a host."""
        return ["nsenter", "--net", "--target", str(self.hosts[host]), *command]

    def sh(self, host: str, script: str) -> None:
        """Do this at a host."""
        subprocess.run(self.at(host, "sh", "-ec", script), check=True, capture_output=True)

    def proxy(self, **more: object) -> subprocess.Popen[str]:
        """The proxy at the router, once it listens at port 3128."""
        document = {"listen": "0.0.0.0:3128", "mode": "transparent", "allow": ["10.1.0.0/24"], **more}
        process = self.start(self.at("r", proxy.program(), "run", "-"))
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(json.dumps(document))
        process.stdin.close()
        for line in process.stderr:
            if "listens at" in line:
                break
        else:
            raise AssertionError(line)
        return process

    def client(self, address: str, port: int = 80) -> str:
        """What a client gets there."""
        command = self.at("c", sys.executable, "-c", CLIENT, address, str(port))
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


@contextmanager
def network() -> Iterator[Network]:
    """Such a network, and its end."""
    made = Network.__new__(Network)
    try:
        made.__init__()  # type: ignore[misc]
        yield made
    finally:
        for process in reversed(made.running):
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


def served(net: Network) -> None:
    """Start the server."""
    server = net.start(net.at("s", sys.executable, "-c", SERVER))
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"


def line(process: subprocess.Popen[str]) -> dict[str, object]:
    """The next line about a connection."""
    assert process.stdout is not None
    found: dict[str, object] = json.loads(process.stdout.readline())
    return found


def test_connections_to_others_are_split_without_their_knowing() -> None:
    with network() as net:
        served(net)
        assert net.client("10.2.0.2") == "10.1.0.2 hello", "without a proxy the rules change nothing"
        process = net.proxy()
        assert net.client("10.2.0.2") == "10.2.0.1 hello"
        told = line(process)
        assert (told["server"], told["why"]) == ("10.2.0.2:80", "finished")
        assert str(told["client"]).startswith("10.1.0.2:")


def test_servers_may_see_the_client_itself() -> None:
    with network() as net:
        served(net)
        process = net.proxy(keep_source=True)
        # The rights of nobody, but the one that such sockets need.
        rows = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines()
        status = dict(row.split(":\t", 1) for row in rows if ":\t" in row)
        assert status["Uid"].split()[0] != "0"
        assert int(status["CapEff"], 16) == 1 << 12
        assert net.client("10.2.0.2") == "10.1.0.2 hello"
        assert line(process)["why"] == "finished"


def test_what_is_for_the_proxy_itself_is_refused() -> None:
    with network() as net:
        process = net.proxy()
        for address, port in (("10.1.0.1", 3128), ("10.1.0.1", 80), ("10.2.0.1", 80)):
            assert net.client(address, port) == "ConnectionResetError"
            told = line(process)
            assert (told["why"], told["detail"]) == ("loop", f"{address}:{port} is this computer's own")


def test_who_is_not_allowed_is_reset() -> None:
    with network() as net:
        served(net)
        net.proxy(allow=["10.9.0.0/16"])
        assert net.client("10.2.0.2") == "ConnectionResetError"
