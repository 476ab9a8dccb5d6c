"""The first process of the guest of `netem.py`: plays its tests, and says on the console when each begins.

Every line for whoever waits outside begins with `@ ` and is JSON. It cannot change the computer's files, which it sees:
what is written stays in the guest's memory. The standard library only, for it is begun by the computer's own Python.
"""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import line_of_hosts

PYTHON = "/usr/bin/python3"
PORT = 5001
FRAME = 1500
MAHIMAHIS = 1504
"""Bytes of the packet for which a line of a trace of mahimahi stands."""
WINDOW = 8 << 20
"""Bytes of memory for what a sink has not read, which bound its window to what queues without a rate hold."""
NOBODY = 65_534
POWER_OFF = 0x4321_FEDC
EVERY_S = 0.005
"""Of a source with a rate: from one write to the next."""
SERVER_WAIT_NS = 5 * 10**9

SINK = f"""
import json, os, socket, sys, time
warm, seconds = float(sys.argv[1]), float(sys.argv[2])
console = os.open("/dev/console", os.O_WRONLY)  # standard output is kept back by what begins it behind a path
def say(**what):
    os.write(console, ("@ " + json.dumps(what) + "\\n").encode())
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.setsockopt(socket.SOL_SOCKET, 33, {WINDOW})  # SO_RCVBUFFORCE
server.bind(("0.0.0.0", {PORT}))
server.listen()
server.settimeout(20)
peer, _ = server.accept()
peer.settimeout(10)
room, total, begun = bytearray(1 << 18), 0, time.monotonic()
while time.monotonic() < begun + warm:
    peer.recv_into(room)
begun = time.monotonic()
say(at="begin", time=begun)
while (now := time.monotonic()) < begun + seconds:
    if (n := peer.recv_into(room)) == 0:
        break
    total += n
say(at="end", time=now, bytes=total)
"""
SOURCE = f"""
import socket, sys, time
until = time.monotonic() + 10
while True:
    peer = socket.socket()
    try:
        peer.connect((sys.argv[1], {PORT}))
        break
    except OSError:
        if time.monotonic() > until:
            raise
        time.sleep(0.05)
peer.settimeout(20)
every, rate = {EVERY_S}, int(sys.argv[2])
data, due = bytes(round(rate * every) or 1 << 16), time.monotonic()
try:
    while True:
        peer.sendall(data)
        if rate:
            due += every
            time.sleep(max(0.0, due - time.monotonic()))
except OSError:
    pass
"""


def say(**what: Any) -> None:
    """Tell whoever waits outside."""
    os.write(1, f"@ {json.dumps(what)}\n".encode())


def sink(seconds: Sequence[float]) -> list[str]:
    """The program that receives."""
    return [PYTHON, "-c", SINK, *map(str, seconds)]


def source(to: str, test: Mapping[str, Any]) -> list[str]:
    """The program that sends: what is offered, or as fast as it can."""
    return [PYTHON, "-c", SOURCE, to, str((test["offered_bps"] or 0) // 8)]


def together(receives: Sequence[str], sends: Sequence[str], limit: float) -> None:
    """Both programs until they have ended."""
    with subprocess.Popen(receives) as receiver:
        try:
            line_of_hosts.quiet(*sends)
            receiver.wait(limit)
        finally:
            receiver.kill()
    if receiver.returncode:
        raise OSError("the sink ended early")


def over_veth(test: Mapping[str, Any], job: Mapping[str, Any], qdisc: Callable[[list[str]], None] | None) -> None:
    """Both programs at the ends of a line of devices, with or without netem in its middle."""
    with line_of_hosts.Ends() as line:
        if not test["gso"]:
            line.segmented()
        near, router, far = (line.inside(name) for name in line.names)
        if qdisc is not None:
            qdisc(router)
        together([*far, *sink(job["seconds"])], [*near, *source("10.9.1.2", test)], job["limit_s"])


def bare(test: Mapping[str, Any], job: Mapping[str, Any]) -> None:
    """Nothing between the devices."""
    over_veth(test, job, None)


def netem(test: Mapping[str, Any], job: Mapping[str, Any]) -> None:
    """The delay both ways, and towards the sink the rate with its queue."""
    delay = ["delay", f"{job['delay_ms']}ms"]
    there = [*delay, "limit", str(test["held_packets"])]
    if test["rate_bps"]:
        there += ["rate", f"{test['rate_bps']}bit"]

    def qdisc(router: list[str]) -> None:
        add = [*router, "tc", "qdisc", "add", "dev"]
        line_of_hosts.quiet(*add, "right", "root", "netem", *there)
        line_of_hosts.quiet(*add, "left", "root", "netem", *delay, "limit", "100000")

    over_veth(test, job, qdisc)


def ackclock(test: Mapping[str, Any], job: Mapping[str, Any]) -> None:
    """Both programs behind the path of `ackclock-emu`."""
    wanted = {
        "end": "server",
        "command": source("100.64.0.2", test),
        "server": sink(job["seconds"]),
        "server_wait_ns": SERVER_WAIT_NS,
        "limit_ns": int(job["limit_s"] * 1e9),
        "mtu": FRAME,
        "comment": "",
        "level": 0,
        "capture": None,
        **dict.fromkeys(("with_flows", "nat", "status"), False),
    }
    (asked, ask), (told, tell) = os.pipe(), os.pipe()
    with os.fdopen(ask, "wb", buffering=0) as orders, os.fdopen(told, "rb") as answers:
        process = subprocess.Popen([job["emulator"], "shell", str(asked), str(tell)], pass_fds=(asked, tell))
        os.close(asked)
        os.close(tell)
        orders.write(f"{json.dumps(wanted)}\n{test['document']}\n".encode())
        played = json.loads(answers.read() or b"{}")
        process.wait()
    if "emulation" not in played:
        raise OSError(f"ackclock-emu: {played.get('error', 'it has ended')}")
    how = played["emulation"]
    say(at="path", valid=how["valid"], problems=how["problems"])


def mahimahi(test: Mapping[str, Any], job: Mapping[str, Any]) -> None:
    """`mm-delay`, and `mm-link` where there is a rate, as a user: root is refused."""
    if shutil.which("mm-delay") is None:
        raise OSError("there is no program mm-delay")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")
    sends = source("ADDRESS", test)
    if test["rate_bps"]:
        # Each line is a packet in the millisecond that it names.
        count = round(test["rate_bps"] / 8 / MAHIMAHIS / 10)
        trace = Path("/run/trace")
        trace.write_text("".join(f"{1 + n * 100 // count}\n" for n in range(count)), encoding="ascii")
        queue = ["--uplink-queue=droptail", f"--uplink-queue-args=packets={test['queue_packets']}"]
        sends = ["mm-link", str(trace), str(trace), *queue, "--", *sends]
    # The outer shell's own side is the computer's; the inner one's would be a namespace between the two.
    inner = ["sh", "-c", f"exec {shlex.join(sends)}".replace("ADDRESS", "$MAHIMAHI_BASE")]
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    together(sink(job["seconds"]), [*user, "mm-delay", str(job["delay_ms"]), *inner], job["limit_s"])


def nothing(_: Mapping[str, Any], job: Mapping[str, Any]) -> None:
    """No traffic at all."""
    say(at="begin", time=time.monotonic())
    time.sleep(job["seconds"][1])
    say(at="end", time=time.monotonic(), bytes=0)


TOOLS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], None]] = {
    "nothing": nothing,
    "veth alone": bare,
    "netem": netem,
    "ackclock": ackclock,
    "mahimahi": mahimahi,
}


def system_call(calls: int = 20_000) -> float:
    """How long one takes, s; this program's own work for it is in there."""
    begun = time.monotonic()
    for _ in range(calls):
        os.getppid()
    return (time.monotonic() - begun) / calls


def settle(over: str | None) -> None:
    """The computer's files for a file system, and below them `over`, with what is written in memory."""
    place = Path("/mnt")
    line_of_hosts.quiet("mount", "-t", "tmpfs", "memory", str(place))
    for name in ("upper", "work", "all"):
        (place / name).mkdir()
    lower = "/"
    if over is not None:
        # A file system of its own: layers must not have each other in them.
        (place / "over").mkdir()
        line_of_hosts.quiet("mount", "-t", "hostfs", "-r", "over", "-o", over, f"{place}/over")
        lower = f"{place}/over:/"
    options = f"lowerdir={lower},upperdir={place}/upper,workdir={place}/work"
    line_of_hosts.quiet("mount", "-t", "overlay", "files", "-o", options, f"{place}/all")
    for kind, name in (("proc", "proc"), ("sysfs", "sys"), ("devtmpfs", "dev"), ("tmpfs", "run")):
        line_of_hosts.quiet("mount", "-t", kind, kind, f"{place}/all/{name}")
    os.chroot(place / "all")
    os.chdir("/")
    line_of_hosts.quiet("ip", "link", "set", "lo", "up")
    # Its own would be refused to mahimahi's programs, whose caller is another user than they are.
    legacy = shutil.which("iptables-legacy")
    if legacy is not None:
        for name in ("iptables", "ip6tables"):
            wrapper = Path("/usr/sbin") / name
            wrapper.unlink(missing_ok=True)
            words = f"import os, sys\nos.setuid(0)\nos.execv({legacy!r}, [{name!r}, *sys.argv[1:]])\n"
            wrapper.write_text(f"#!{PYTHON} -I\n{words}", encoding="ascii")
            wrapper.chmod(0o755)


def main(job_file: str) -> None:
    """Play everything, then end the guest."""
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/", LC_ALL="C")
    try:
        job = json.loads(Path(job_file).read_text(encoding="utf-8"))
        settle(job["over"])
        say(at="call", seconds=system_call())
        for number in range(job["rounds"]):
            # What comes first in one round comes last in the next.
            for test in job["tests"][:: 1 if number % 2 == 0 else -1]:
                say(at="test", tool=test["tool"], load=test["load"], round=number)
                try:
                    TOOLS[test["tool"]](test, job)
                except (OSError, subprocess.SubprocessError, ValueError) as error:
                    say(at="failed", why=str(error))
        say(at="over")
    except BaseException as error:
        say(at="broken", why=f"{type(error).__name__}: {error}")
    finally:
        os.sync()
        ctypes.CDLL(None).reboot(POWER_OFF)


if __name__ == "__main__":
    main(sys.argv[1])
