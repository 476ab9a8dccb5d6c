"""``ackclock proxy`` and names whose address changes: looked up once each, and what was judged is connected to."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import spaces

WHY_NOT = spaces.why_not()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))

# Answers each question for an address of version 4 with the next of its arguments, and prints it.
RESOLVER = """
import socket, struct, sys
answers = iter(sys.argv[1:])
stream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
stream.bind(("127.0.0.1", 53))
print("ready", flush=True)
while True:
    asked, peer = stream.recvfrom(4096)
    end = asked.index(0, 12)
    question, kind = asked[12 : end + 5], struct.unpack(">H", asked[end + 1 : end + 3])[0]
    found = b""
    if kind == 1:
        address = next(answers, "203.0.113.1")
        found = b"\\xc0\\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(address)
        print(address, flush=True)
    stream.sendto(asked[:2] + struct.pack(">HHHHH", 0x8180, 1, bool(found), 0, 0) + question + found, peer)
"""

SERVER = """
import socket, threading
def served(address):
    listener = socket.create_server((address, 80))
    def serve():
        while True:
            stream, _ = listener.accept()
            stream.sendall(address.encode())
            stream.close()
    threading.Thread(target=serve).start()
for address in ("10.1.0.2", "10.1.0.3", "127.0.0.1"):
    served(address)
print("ready", flush=True)
"""

# What a client of SOCKS is told, and then gets.
CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60) as stream, stream.makefile("rb") as got:
    if len(sys.argv) > 2:
        stream.sendall(bytes([5, 1, 0, 5, 1, 0, 3, len(sys.argv[2])]) + sys.argv[2].encode() + bytes([0, 80]))
        print(got.read(12)[3], end=" ")
    print(got.read().decode())
"""


@contextmanager
def network(tmp_path: Path) -> Iterator[tuple[spaces.Hosts, list[str]]]:
    """A host with servers at some addresses; and what makes its names those of the resolver."""
    files = {"resolv.conf": "nameserver 127.0.0.1\n", "nsswitch.conf": "hosts: dns\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    there = [name for name in files if Path("/etc", name).exists()]
    mounts = "; ".join(f"mount --bind {tmp_path / name} /etc/{name}" for name in there)
    with spaces.hosts("here") as net:
        net.sh("here", "ip addr add 10.1.0.2/32 dev lo; ip addr add 10.1.0.3/32 dev lo")
        net.python("here", SERVER)
        yield net, ["unshare", "--mount", "sh", "-ec", f'{mounts}; exec "$@"', "sh"]


def asked(net: spaces.Hosts) -> list[str]:
    """What the resolver, the last that was started before the proxy, has answered."""
    resolver = net.running[-2]
    resolver.send_signal(signal.SIGTERM)
    assert resolver.stdout is not None
    return resolver.stdout.read().split()


def test_a_name_is_looked_up_once_for_each_connection_and_judged_each_time(tmp_path: Path) -> None:
    with network(tmp_path) as (net, renamed):
        # In between it is an address that nobody may go to.
        net.python("here", RESOLVER, "10.1.0.2", "127.0.0.1", "10.1.0.3")
        proxy = net.proxy("here", "socks5", *renamed, user="root", allow_target=["10.1.0.0/16"])
        got = [net.told("here", CLIENT, str(proxy.port), "name.test") for _ in range(3)]
        assert got == ["0 10.1.0.2", "2", "0 10.1.0.3"]
        lines = [proxy.line() for _ in range(3)]
        assert [(line["why"], line["server"]) for line in lines] == [
            ("finished", "10.1.0.2:80"),
            ("forbidden", None),
            ("finished", "10.1.0.3:80"),
        ]
        assert {line["wish"] for line in lines} == {"name.test:80"}
        assert asked(net) == ["10.1.0.2", "127.0.0.1", "10.1.0.3"], "each is asked for once"


def test_the_one_server_s_name_is_looked_up_at_the_start_and_not_again(tmp_path: Path) -> None:
    with network(tmp_path) as (net, renamed):
        net.python("here", RESOLVER, "10.1.0.2", "10.1.0.3")
        proxy = net.proxy("here", {"to": "name.test:80"}, *renamed, user="root")
        assert [net.told("here", CLIENT, str(proxy.port)) for _ in range(2)] == ["10.1.0.2"] * 2
        assert asked(net) == ["10.1.0.2"]
