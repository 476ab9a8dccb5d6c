"""``ackclock proxy --transparent``: between namespaces, with the rules that ``ackclock doctor`` prints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import spaces
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

WHY_NOT = spaces.why_not(*proxy.RULES[:4], tools=("nft",), root=True)
pytestmark = [pytest.mark.real_time, pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))]


@contextmanager
def network() -> Iterator[spaces.Hosts]:
    """A client at 10.1.0.2 and a server at 10.2.0.2, with a router between them that has 10.1.0.1 and 10.2.0.1."""
    with spaces.hosts("router", "client", "server", root=True) as net:
        for end, subnet, device in (("client", 1, "eth1"), ("server", 2, "eth2")):
            net.cable(("router", device, f"10.{subnet}.0.1/24"), (end, "eth0", f"10.{subnet}.0.2/24"))
            net.sh(end, f"ip route add default via 10.{subnet}.0.1")
        net.sh("router", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        net.sh("router", "\n".join(proxy.RULES))
        yield net


def listening(net: spaces.Hosts, **more: object) -> spaces.Listening:
    """The proxy at the router, at port 3128."""
    return net.proxy("router", "transparent", **{"listen": "0.0.0.0:3128", "allow": ["10.1.0.0/24"], **more})


def got(net: spaces.Hosts, address: str, port: int = 80) -> str:
    """What a client gets there."""
    return net.told("client", CLIENT, address, str(port))


def test_connections_to_others_are_split_without_their_knowing() -> None:
    with network() as net:
        net.python("server", SERVER)
        assert got(net, "10.2.0.2") == "10.1.0.2 hello", "without a proxy the rules change nothing"
        process = listening(net)
        assert got(net, "10.2.0.2") == "10.2.0.1 hello"
        told = process.line()
        assert (told["server"], told["why"]) == ("10.2.0.2:80", "finished")
        assert str(told["client"]).startswith("10.1.0.2:")


def test_servers_may_see_the_client_itself() -> None:
    with network() as net:
        net.python("server", SERVER)
        process = listening(net, keep_source=True)
        # The rights of nobody, but the one that such sockets need.
        status = process.status()
        assert status["Uid"].split()[0] != "0"
        assert int(status["CapEff"], 16) == 1 << 12
        assert got(net, "10.2.0.2") == "10.1.0.2 hello"
        assert process.line()["why"] == "finished"


def test_what_is_for_the_proxy_itself_is_refused() -> None:
    with network() as net:
        process = listening(net)
        for address, port in (("10.1.0.1", 3128), ("10.1.0.1", 80), ("10.2.0.1", 80)):
            assert got(net, address, port) == "ConnectionResetError"
            told = process.line()
            assert (told["why"], told["detail"]) == ("loop", f"{address}:{port} is this computer's own")


def test_who_is_not_allowed_is_reset() -> None:
    with network() as net:
        net.python("server", SERVER)
        listening(net, allow=["10.9.0.0/16"])
        assert got(net, "10.2.0.2") == "ConnectionResetError"


def test_without_the_client_s_address_no_right_is_kept() -> None:
    with network() as net:
        net.python("server", SERVER)
        process = listening(net)
        status = process.status()
        assert "0" not in status["Uid"].split()
        assert [int(status[f"Cap{which}"], 16) for which in ("Eff", "Prm", "Inh", "Amb")] == [0] * 4
        assert got(net, "10.2.0.2") == "10.2.0.1 hello"
