"""``ackclock proxy`` with ``initcwnd``: routes in a namespace, and what is said where nothing can be done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ackclock import proxy

SPACE = ["unshare", "--user", "--map-root-user", "--net"]
SERVER = """
import socket
listener = socket.create_server(("10.1.0.2", 80))
print("ready", flush=True)
while True:
    stream, _ = listener.accept()
    stream.sendall(stream.recv(100))
    stream.close()
"""


class Space:
    """A namespace with a server at 10.1.0.2 in another one, and a proxy to it."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[str]] = []
        self.here = self.start([*SPACE, "sleep", "1000"])
        wait(lambda: namespace(self.here.pid) != namespace(os.getpid()))
        self.there = self.start(self.inside(self.here, "unshare", "--net", "sleep", "1000"))
        wait(lambda: namespace(self.there.pid) not in (namespace(os.getpid()), namespace(self.here.pid)))
        self.sh(f"ip link set lo up; ip link add eth1 type veth peer name eth0 netns {self.there.pid}")
        self.sh("ip addr add 10.1.0.1/24 dev eth1; ip link set eth1 up")
        other = self.inside(self.there, "sh", "-ec", "ip addr add 10.1.0.2/24 dev eth0; ip link set eth0 up")
        subprocess.run(other, check=True, capture_output=True)
        served = self.start(self.inside(self.there, sys.executable, "-c", SERVER))
        assert served.stdout is not None
        assert served.stdout.readline() == "ready\n"

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        self.running.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return self.running[-1]

    @staticmethod
    def inside(process: subprocess.Popen[str], *command: str) -> list[str]:
        return ["nsenter", "--user", "--net", "--preserve-credentials", "--target", str(process.pid), *command]

    def sh(self, script: str) -> str:
        command = self.inside(self.here, "sh", "-ec", script)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def routes(self) -> str:
        return self.sh("ip route")

    def proxy(self, to: str, *before: str, **more: object) -> tuple[subprocess.Popen[str], int, list[str]]:
        """A proxy that listens, its port, and what it has said until then."""
        process = self.start(self.inside(self.here, *before, proxy.program(), "run", "-"))
        assert process.stdin is not None
        assert process.stderr is not None
        document = {"listen": "127.0.0.1:0", "mode": {"to": to}, "user": "root", **more}
        process.stdin.write(json.dumps(document))
        process.stdin.close()
        said = []
        for line in process.stderr:
            if "listens at" in line:
                return process, int(line.rpartition(":")[2]), said
            said.append(line)
        raise AssertionError(said)

    def talk(self, port: int) -> None:
        script = (
            f"import socket; s = socket.create_connection(('127.0.0.1', {port})); s.sendall(b'a'); print(s.recv(1))"
        )
        subprocess.run(
            self.inside(self.here, sys.executable, "-c", script), check=True, capture_output=True, timeout=60
        )


def namespace(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/net").readlink())


def wait(until: object) -> None:
    """Until it is so."""
    assert callable(until)
    for _ in range(3000):
        if until():
            return
        time.sleep(0.01)
    raise TimeoutError


@contextmanager
def space() -> Iterator[Space]:
    made = Space.__new__(Space)
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


def why_not() -> str | None:
    """What is missing to make such a network, if something is."""
    try:
        tried = subprocess.run(
            [*SPACE, "ip", "link", "add", "type", "veth"], capture_output=True, text=True, check=False
        )
    except OSError as error:
        return str(error)
    return tried.stderr.strip() if tried.returncode else None


WHY_NOT = why_not()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_the_one_server_has_a_route_with_the_window_while_the_proxy_runs(end: signal.Signals) -> None:
    with space() as net:
        before = net.routes()
        process, port, said = net.proxy("10.1.0.2:80", server={"initcwnd": 37})
        assert "10.1.0.2 dev eth1 scope link src 10.1.0.1 initcwnd 37" in net.routes()
        net.talk(port)
        assert process.stdout is not None
        line = json.loads(process.stdout.readline())
        assert (line["server_initcwnd"], line["why"]) == (37, "finished")
        assert not [line for line in said if "initcwnd" in line]
        process.send_signal(end)
        wait(lambda: net.routes() == before)


def test_a_route_that_another_has_made_stays_as_it_is_and_that_is_said() -> None:
    with space() as net:
        net.sh("ip route add 10.1.0.2 dev eth1 src 10.1.0.1 initcwnd 5")
        before = net.routes()
        process, port, said = net.proxy("10.1.0.2:80", server={"initcwnd": 37}, client={"initcwnd": 20})
        assert "server initcwnd: the route to 10.1.0.2 cannot be given 37 segments: RTNETLINK answers: File" in said[-1]
        for _ in range(2):
            net.talk(port)
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stderr is not None
        out, told = process.stdout.read(), process.stderr.read()
        assert [json.loads(line).get("server_initcwnd") for line in out.splitlines()] == [5, 5, None]
        # Once each, however many connections there are.
        assert [line for line in told.splitlines() if "initcwnd" in line] == [
            "ackclock proxy: client initcwnd: a connection to 127.0.0.1 begins with 10 segments, not 20: its route has "
            "no other; ip route change ... initcwnd 20",
            "ackclock proxy: server initcwnd: a connection to 10.1.0.2 begins with 5 segments, not 37: its route has "
            "no other; ip route change ... initcwnd 37",
        ]
        assert net.routes() == before


def test_who_may_not_change_routes_says_so_and_goes_on() -> None:
    with space() as net:
        before = net.routes()
        rights = ("setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-all", "--no-new-privs")
        process, port, said = net.proxy("10.1.0.2:80", *rights, server={"initcwnd": 37})
        assert said[-1].startswith(
            "ackclock proxy: server initcwnd: the route to 10.1.0.2 cannot be given 37 segments: "
        )
        assert net.routes() == before
        net.talk(port)
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["server_initcwnd"] == 10
