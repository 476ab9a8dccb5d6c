"""``ackclock proxy`` with ``initcwnd``: routes in a namespace, and what is said where nothing can be done."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import spaces

SERVER = """
import socket
listener = socket.create_server(("10.1.0.2", 80))
print("ready", flush=True)
while True:
    stream, _ = listener.accept()
    stream.sendall(stream.recv(100))
    stream.close()
"""

CLIENT = """
import socket, sys
stream = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
stream.sendall(b"a")
assert stream.recv(1) == b"a"
"""

WHY_NOT = spaces.why_not()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


@contextmanager
def space() -> Iterator[spaces.Hosts]:
    """A host with a proxy, and a server at 10.1.0.2."""
    with spaces.hosts("here", "there") as net:
        net.cable(("here", "eth1", "10.1.0.1/24"), ("there", "eth0", "10.1.0.2/24"))
        net.python("there", SERVER)
        yield net


def to_server(net: spaces.Hosts, *before: str, **more: object) -> spaces.Listening:
    return net.proxy("here", {"to": "10.1.0.2:80"}, *before, user="root", **more)


def routes(net: spaces.Hosts) -> str:
    return net.sh("here", "ip route")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_the_one_server_has_a_route_with_the_window_while_the_proxy_runs(end: signal.Signals) -> None:
    with space() as net:
        before = routes(net)
        proxy = to_server(net, server={"initcwnd": 37})
        assert "10.1.0.2 dev eth1 scope link src 10.1.0.1 initcwnd 37" in routes(net)
        net.told("here", CLIENT, str(proxy.port))
        line = proxy.line()
        assert (line["server_initcwnd"], line["why"]) == (37, "finished")
        assert not [line for line in proxy.said if "initcwnd" in line]
        proxy.process.send_signal(end)
        spaces.wait(lambda: routes(net) == before)


def test_the_one_right_that_the_unit_of_systemd_would_give_it_is_enough() -> None:
    """As ``contrib/ackclock-proxy.service`` says: CAP_NET_ADMIN and no other, and no program that gives more."""
    with space() as net:
        before, one = routes(net), "-all,+net_admin"
        rights = ("setpriv", "--bounding-set", one, "--inh-caps", one, "--ambient-caps", one, "--no-new-privs")
        proxy = to_server(net, *rights, server={"initcwnd": 37})
        assert "initcwnd 37" in routes(net)
        assert not [line for line in proxy.said if "initcwnd" in line]
        proxy.process.send_signal(signal.SIGTERM)
        spaces.wait(lambda: routes(net) == before)


def test_a_route_that_another_has_made_stays_as_it_is_and_that_is_said() -> None:
    with space() as net:
        net.sh("here", "ip route add 10.1.0.2 dev eth1 src 10.1.0.1 initcwnd 5")
        before = routes(net)
        proxy = to_server(net, server={"initcwnd": 37}, client={"initcwnd": 20})
        assert (
            "server initcwnd: the route to 10.1.0.2 cannot be given 37 segments: RTNETLINK answers: File"
            in proxy.said[-1]
        )
        for _ in range(2):
            net.told("here", CLIENT, str(proxy.port))
        proxy.process.send_signal(signal.SIGTERM)
        assert proxy.process.stdout is not None
        assert proxy.process.stderr is not None
        out, told = proxy.process.stdout.read(), proxy.process.stderr.read()
        assert [json.loads(line).get("server_initcwnd") for line in out.splitlines()] == [5, 5, None]
        # Once each, however many connections there are.
        assert [line for line in told.splitlines() if "initcwnd" in line] == [
            "ackclock proxy: client initcwnd: a connection to 127.0.0.1 begins with 10 segments, not 20: its route has "
            "no other; ip route change ... initcwnd 20",
            "ackclock proxy: server initcwnd: a connection to 10.1.0.2 begins with 5 segments, not 37: its route has "
            "no other; ip route change ... initcwnd 37",
        ]
        assert routes(net) == before


def test_who_may_not_change_routes_says_so_and_goes_on() -> None:
    with space() as net:
        before = routes(net)
        rights = ("setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-all", "--no-new-privs")
        proxy = to_server(net, *rights, server={"initcwnd": 37})
        assert proxy.said[-1].startswith(
            "ackclock proxy: server initcwnd: the route to 10.1.0.2 cannot be given 37 segments: "
        )
        assert routes(net) == before
        net.told("here", CLIENT, str(proxy.port))
        assert proxy.line()["server_initcwnd"] == 10
