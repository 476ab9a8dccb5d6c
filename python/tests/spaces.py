"""Hosts for tests of the proxy: namespaces of the network, joined by cables, and processes that end with them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock import proxy

LASTS_S = "1000"


def namespace(pid: int) -> str:
    """The network that a process is in."""
    return str(Path(f"/proc/{pid}/ns/net").readlink())


def wait(until: Callable[[], object], seconds: float = 60) -> None:
    """Until it is so."""
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


def status(pid: int) -> dict[str, str]:
    """What the kernel says of a process."""
    rows = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return dict(row.split(":\t", 1) for row in rows if ":\t" in row)


@dataclass
class Listening:
    """A proxy that listens, and what it has said until then."""

    process: subprocess.Popen[str]
    port: int
    said: list[str] = field(default_factory=list)

    def line(self) -> dict[str, Any]:
        """The next line about a connection."""
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def status(self) -> dict[str, str]:
        """What the kernel says of the process."""
        return status(self.process.pid)

    def descriptors(self) -> Counter[str]:
        """How many of each kind it has: ``socket``, ``pipe`` and others."""
        found: Counter[str] = Counter()
        for link in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # what is closed in the meantime is none
                found[str(link.readlink()).partition(":[")[0]] += 1
        return found


class Hosts:
    """Hosts by name. With ``root`` they are in no namespace of users: who is root there is root, and the only one."""

    def __init__(self, *names: str, root: bool = False) -> None:
        self.running: list[subprocess.Popen[str]] = []
        self.pids: dict[str, int] = {}
        self.enter = ["nsenter", "--net"] if root else ["nsenter", "--user", "--net", "--preserve-credentials"]
        others = {namespace(os.getpid())}
        for name in names:
            user = [] if root else ["--user", "--map-root-user"]
            first = ["unshare", *user, "--net", "sleep", LASTS_S]
            inside = self.pids and not root
            command = self.at(names[0], "unshare", "--net", "sleep", LASTS_S) if inside else first
            pid = self.start(command).pid
            # It has come to a namespace of its own when that is another one than all before, and is somebody there
            # when its users are named, which is later.
            users = Path(f"/proc/{pid}/uid_map")
            wait(lambda pid=pid, users=users: namespace(pid) not in others and users.read_text())  # type: ignore[misc]
            others.add(namespace(pid))
            self.pids[name] = pid
            self.sh(name, "ip link set lo up")

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        """A process that ends with the hosts."""
        pipe = subprocess.PIPE
        self.running.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return self.running[-1]

    def at(self, host: str, *command: str) -> list[str]:
        """A command at a host."""
        return [*self.enter, "--target", str(self.pids[host]), *command]

    def sh(self, host: str, script: str) -> str:
        """What a script prints there."""
        command = self.at(host, "sh", "-ec", script)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def cable(self, one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
        """Join two hosts, each given with the name of its device and the address that it has."""
        (host, device, address), (far, far_device, far_address) = one, other
        self.sh(host, f"ip link add {device} type veth peer name {far_device} netns {self.pids[far]}")
        for name, of, at in ((host, device, address), (far, far_device, far_address)):
            self.sh(name, f"ip addr add {at} dev {of}; ip link set {of} up")

    def python(self, host: str, script: str, *arguments: str) -> subprocess.Popen[str]:
        """A script of Python there, once it has printed that it is ready."""
        process = self.start(self.at(host, sys.executable, "-c", script, *arguments))
        assert process.stdout is not None
        assert process.stderr is not None
        if process.stdout.readline() != "ready\n":
            raise AssertionError(process.stderr.read())
        return process

    def told(self, host: str, script: str, *arguments: str) -> str:
        """What a script of Python prints there."""
        command = self.at(host, sys.executable, "-c", script, *arguments)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def proxy(self, host: str, mode: object, *before: str, **more: object) -> Listening:
        """A proxy there, once it listens; ``before`` is a command that becomes it."""
        process = self.start(self.at(host, *before, proxy.program(), "run", "-"))
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(json.dumps({"listen": "127.0.0.1:0", "mode": mode, **more}))
        process.stdin.close()
        said: list[str] = []
        for line in process.stderr:
            if "listens at" in line:
                return Listening(process, int(line.rpartition(":")[2]), said)
            said.append(line)
        raise AssertionError(said)

    def end(self) -> None:
        """All of it, the last first."""
        for process in reversed(self.running):
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


@contextmanager
def hosts(*names: str, root: bool = False) -> Iterator[Hosts]:
    """Such hosts, and their end, whatever part of them came to be."""
    made = Hosts.__new__(Hosts)
    made.running = []
    try:
        made.__init__(*names, root=root)  # type: ignore[misc]
        yield made
    finally:
        made.end()


def why_not(*rules: str, tools: tuple[str, ...] = (), root: bool = False) -> str | None:
    """What is missing to make such hosts, and to do this at one of them, if something is."""
    missing = [tool for tool in ("unshare", "nsenter", "ip", *tools) if shutil.which(tool) is None]
    if missing:
        return f"without {', '.join(missing)}"
    if root and os.geteuid() != 0:
        return "this is not root"
    user = [] if root else ["--user", "--map-root-user"]
    script = "; ".join(["ip link add type veth", *rules])
    tried = subprocess.run(
        ["unshare", *user, "--net", "sh", "-ec", script], capture_output=True, text=True, check=False
    )
    return f"the system does not do it: {tried.stderr.strip()}" if tried.returncode else None
