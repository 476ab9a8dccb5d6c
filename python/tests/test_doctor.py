"""What ``ackclock doctor`` says of kernels: what may be missing is taken away, and its reason and remedy are there."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ackclock import kernel
from ackclock.cli import doctor
from ackclock.virtual import build, guest, kept
from ackclock.virtual.kept import Kernel

Row = dict[str, str]


def rows(around: Sequence[str] = ()) -> dict[str, Row]:
    """What doctor says, by the names of rows, as a program of its own that is begun by `around`."""
    command = [*around, sys.executable, "-m", "ackclock", "doctor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"runs on kernels can be done without: {done.stderr}"
    return {row["name"]: row for row in json.loads(done.stdout)["checks"]}


def namespace(script: str, *dropped: str) -> list[str]:
    """In a namespace of users and mounts, after `script`: root in there is not the computer's; some rights are gone."""
    drop = ["setpriv", "--bounding-set=" + ",".join(f"-{right}" for right in dropped)] if dropped else []
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{script} && exec "$@"', "sh", *drop]


NO_DEVICES = "mount -t tmpfs none /dev/net"
HOSTS: dict[str, tuple[list[str], str, str]] = {
    "no device": (
        namespace(NO_DEVICES),
        "No such file or directory",
        "load the module (modprobe tun), or give the container the device (--device /dev/net/tun)",
    ),
    "a device for others": (
        namespace(f"{NO_DEVICES} && touch /dev/net/tun && chmod 0 /dev/net/tun", "dac_override", "dac_read_search"),
        "Permission denied",
        "let this user read and write the device (chmod 666 /dev/net/tun), or run as root",
    ),
    "no more networks": (
        namespace("echo 0 > /proc/sys/user/max_net_namespaces"),
        "No space left on device",
        "allow more namespaces (sysctl user.max_net_namespaces, user.max_user_namespaces)",
    ),
    "no namespaces of users": (
        namespace("echo 0 > /proc/sys/user/max_user_namespaces", "net_admin", "sys_admin"),
        "this is not root, and user namespaces are not allowed",
        "run it as root, or allow them: sysctl user.max_user_namespaces=10000",
    ),
}


@pytest.mark.parametrize("missing", HOSTS)
def test_why_there_can_be_no_hosts_and_what_to_do(missing: str) -> None:
    around, reason, remedy = HOSTS[missing]
    found = rows(around)
    row = found["engine kernel"]
    assert (row["state"], row["found"]) == ("optional", "cannot make hosts")
    assert reason in row["remedy"]
    assert remedy in row["remedy"]
    assert "its clock" not in found


def test_hosts_that_can_be_made_are_told_with_the_right_and_the_controllers() -> None:
    for around, right in ((namespace("true"), "as root"), (namespace("true", "net_admin"), "in user namespaces")):
        row = rows(around)["engine kernel"]
        assert row["state"] == "ok"
        assert row["found"].startswith(f"{platform.release()}: ")
        assert "cubic" in row["found"]
        assert row["found"].endswith(f"; IPv4 and IPv6, {right}")
        assert row["remedy"] == ""


CLOCKS = {
    "no real-time priority": (
        ["prlimit", "--rtprio=0"],
        "no real-time priority: under load packets will be late; run as root, or allow it: ulimit -r 10",
    ),
    "memory that is not locked": (
        ["prlimit", "--memlock=65536"],
        "memory cannot be locked: a page that is not there makes packets late; run as root, or raise it: ulimit -l",
    ),
    "one processor": (
        ["taskset", "-c", str(min(os.sched_getaffinity(0)))],
        "one processor: path and endpoints take turns on it",
    ),
}


@pytest.mark.parametrize("missing", CLOCKS)
def test_why_packets_may_be_late_and_what_to_do(missing: str) -> None:
    limited, said = CLOCKS[missing]
    found = rows([*limited, *namespace("true")])
    assert found["engine kernel"]["state"] == "ok"
    clock = found["its clock"]
    assert clock["state"] == "optional"
    assert clock["found"] == "packets may be late"
    assert said in clock["remedy"]


PROBED: dict[str, Any] = {
    "kernel": "6.99",
    "controllers": ["reno", "cubic"],
    "right": "own",
    "hosts": [True, True],
    "granted": {"real_time": True, "locked": True, "exact_timers": True},
    "processors": 2,
    "problems": [],
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, [("engine kernel", "ok", "6.99: reno, cubic; IPv4 and IPv6, as root", ""),
              ("its clock", "ok", "real-time priority, memory locked", "")]),
        ({"hosts": [True, False], "problems": ["no version 6"]},
         [("engine kernel", "ok", "6.99: reno, cubic; IPv4, as root", ""),
          ("its clock", "optional", "real-time priority, memory locked", "no version 6")]),
        ({"granted": {"real_time": True, "locked": False}, "problems": ["one", "two"]},
         [("engine kernel", "ok", "6.99: reno, cubic; IPv4 and IPv6, as root", ""),
          ("its clock", "optional", "packets may be late", "one; two")]),
        ({"hosts": [False, False], "right": None, "problems": ["one", "two"]},
         [("engine kernel", "optional", "cannot make hosts", "one; two")]),
    ],
)  # fmt: skip
def test_the_rows_are_what_the_program_found(
    changes: dict[str, Any], said: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "probe", lambda: PROBED | changes)
    rows = [(check.name, check.state, check.found, check.remedy) for check in doctor._kernel()]
    assert rows == said


def test_a_program_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    (row,) = doctor._kernel()
    assert (row.state, row.found) == ("optional", "not there")
    assert row.remedy.startswith("engine kernel: its program ackclock-emu is not there; ")
    assert row.remedy.endswith("make build")
    monkeypatch.setattr(sys, "platform", "darwin")
    (row,) = doctor._kernel()
    assert row.remedy == "engine kernel: it is the TCP of Linux, and this is darwin; take engine sim"


def test_a_program_that_fails_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "program", lambda: "/bin/false")
    (row,) = doctor._kernel()
    assert (row.state, row.found) == ("optional", "not there")
    assert row.remedy.startswith("engine kernel: ackclock-emu cannot say what this computer can do: ")


def virtual() -> tuple[doctor.Check, doctor.Check]:
    first, builds = doctor._virtual()
    return first, builds


def test_kernels_in_virtual_time_are_named_or_how_one_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKCLOCK_KERNELS", str(tmp_path / "kernels"))
    monkeypatch.setattr(guest, "forbidden", lambda: None)
    first, _ = virtual()
    assert (first.state, first.found) == ("optional", "no kernel is built")
    assert first.remedy == "build one with: ackclock kernel build"
    for name, created in (("old", 1.0), ("new", 2.0)):
        (tmp_path / "file").write_bytes(b"\x7fELF")
        one = Kernel(name, "6.12.1", "0" * 64, "linux", "gcc", "1" * 64, created, 1.0)
        kept.keep(one, tmp_path / "file", tmp_path / "file")
    first, _ = virtual()
    assert (first.state, first.found, first.remedy) == ("ok", "kernels: new, old", "")


class Refusing:
    """A C library whose calls fail."""

    def __init__(self, _: object) -> None:
        pass

    def ptrace(self, *_: object) -> int:
        return -1


def test_where_no_guest_can_begin_it_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    with monkeypatch.context() as patch:
        patch.setattr("ctypes.CDLL", Refusing)
        first, _ = virtual()
        assert (first.state, first.found) == ("optional", "no guest can begin")
        assert first.remedy == (
            "ptrace is not allowed; give the container the right to trace, as docker run --cap-add SYS_PTRACE does"
        )
    with monkeypatch.context() as patch:
        patch.setattr(platform, "machine", lambda: "aarch64")
        first, _ = virtual()
        assert first.remedy == "User-Mode Linux is for Linux on x86_64, and this is linux on aarch64"
    (tmp_path / "scope").write_text("3\n", encoding="ascii")
    read = Path.read_text
    with monkeypatch.context() as patch:
        planted = {Path("/proc/sys/kernel/yama/ptrace_scope"): tmp_path / "scope"}
        patch.setattr(Path, "read_text", lambda self, **how: read(planted.get(self, self), **how))
        first, _ = virtual()
        assert first.remedy.startswith("no process may trace another (kernel.yama.ptrace_scope=3); set it to 2 or less")


def test_what_builds_lack_is_said_with_what_gets_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    _, builds = virtual()
    assert (builds.name, builds.state, builds.found) == ("its builds", "optional", "not possible")
    wanted = [f"{tool} is missing: apt-get install {package}" for tool, package in build.TOOLS.items()]
    assert builds.remedy.split("; ") == wanted
    monkeypatch.setattr(build, "missing", list)
    _, builds = virtual()
    assert (builds.state, builds.found, builds.remedy) == ("ok", "tools are there", "")
