#!/usr/bin/env python3
"""Records captures of a real Linux kernel over impaired paths, with the kernel's own account as truth.

    python3 record.py --kernel LINUX [--paths paths.toml] [--out FOLDER] [NAME...]

LINUX is a kernel for User-Mode Linux with time travel (README.md has how it was built); needs root, tcpdump and
iproute2. Path, in network namespaces:

    s --sa/as-- a ==ab/ba== b --br/rb-- r

`up` is the queueing discipline at ab (the bottleneck), `down` at br, `back` at ba and `home` at as, where
acknowledgments pass. Captures: sender at sa, middle at ba, receiver at rb.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import truth

HERE = Path(__file__).resolve().parent
FIXED = "/mnt/recording"
"""Every run sees its own folder under this name: the guest's command line seeds its random numbers."""
PLACES = {"sender": ("s", "sa"), "middle": ("b", "ba"), "receiver": ("r", "rb")}
SNAPLEN = 96
LINKS = (
    ("s", "sa", "10.7.0.2", "a", "as", "10.7.0.1"),
    ("a", "ab", "10.8.0.1", "b", "ba", "10.8.0.2"),
    ("b", "br", "10.9.0.1", "r", "rb", "10.9.0.2"),
)
QDISC = {"up": ("a", "ab"), "down": ("b", "br"), "back": ("b", "ba"), "home": ("a", "as")}
ROUTES = (("s", "default", "10.7.0.1"), ("a", "default", "10.8.0.2"), ("b", "10.7.0.0/24", "10.8.0.1"))
SYSCTL = {
    "net.ipv4.ip_forward": "1",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv4.tcp_no_metrics_save": "1",
}


def _network(path: Mapping[str, Any]) -> list[str]:
    lines = [f"ip netns add {name}; ip -n {name} link set lo up" for name in "sabr"]
    for key, value in {**SYSCTL, **path.get("sysctl", {})}.items():
        lines += [f"ip netns exec {name} sysctl -qw '{key}={value}'" for name in "sabr"]
    lines += [f"ip netns exec r sysctl -qw '{k}={v}'" for k, v in path.get("receiver_sysctl", {}).items()]
    for left, near, one, right, far, other in LINKS:
        lines.append(f"ip -n {left} link add name {near} type veth peer name {far} netns {right}")
        for name, device, address in ((left, near, one), (right, far, other)):
            # Super-packets leave the sender alone, and end at the bottleneck.
            whole = path.get("offload", False) and device in ("sa", "as")
            off = f"tso {'on' if whole else 'off'} gso off gro off tx {'on' if whole else 'off'} rx on"
            lines.append(
                f"ip netns exec {name} ethtool -K {device} {off} sg {'on' if whole else 'off'} >/dev/null || true"
            )
            lines.append(f"ip -n {name} addr add {address}/24 dev {device}")
            lines.append(f"ip -n {name} link set dev {device} txqueuelen 10000 up")
    lines += [f"ip -n {name} route add {to} via {via}" for name, to, via in (*ROUTES, ("r", "default", "10.9.0.1"))]
    lines.append("ip netns exec s ping -n -q -c 2 -i 0.2 10.9.0.2 >/dev/null")
    for key, (name, device) in QDISC.items():
        if key in path:
            lines.append(f"ip netns exec {name} tc qdisc add dev {device} root {path[key]}")
    return lines


def _script(path: Mapping[str, Any]) -> str:
    lines = [
        "set -e",
        "export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/run LC_ALL=C",
        f"cd {FIXED}",
        *_network(path),
    ]
    lines.append("uname -r > release")
    for place, (name, device) in PLACES.items():
        what = f"tcpdump -Z root -i {device} -s {SNAPLEN} -n -B 65536 -w {place}.pcap tcp"
        lines.append(f"ip netns exec {name} {what} 2>{place}.log & echo $! >> tcpdumps")
    lines.append("sleep 1")
    lines.append("ip netns exec r /usr/bin/python3 guest.py r spec.json r.json & ends=$!")
    lines.append('ip netns exec s /usr/bin/python3 guest.py s spec.json s.json & ends="$ends $!"')
    for at, key, what in path.get("steps", ()):
        name, device = QDISC[key]
        lines.append(f"( sleep {at + 0.3}; ip netns exec {name} tc qdisc change dev {device} root {what} ) &")
    lines.append("wait $ends")
    lines.append("sleep 1; kill -INT $(cat tcpdumps); sleep 1")
    lines += [f"ip netns exec {name} cat /proc/net/netstat /proc/net/snmp > {name}.counters" for name in "sr"]
    lines.append("dmesg > kernel.log; cat /proc/uptime > uptime")
    return "\n".join(lines) + "\n"


def play(path: Mapping[str, Any], kernel: Path, folder: Path) -> None:
    """Boots the guest, which leaves its captures and counters in `folder`."""
    shutil.copy(kernel, folder / "linux")
    shutil.copy(HERE / "guest.py", folder)
    (folder / "spec.json").write_text(json.dumps({"duration": path["duration"], "connections": path["connections"]}))
    (folder / "run.sh").write_text(_script(path))
    init = folder / "init.sh"
    init.write_text(
        "#!/bin/sh\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin\nmount -t proc proc /proc\nmount -t sysfs sys /sys\n"
        "mount -t tmpfs run /run\nmkdir -p /run/netns\nip link set lo up\n"
        f"sh {FIXED}/run.sh > {FIXED}/log 2>&1\necho rc=$? >> {FIXED}/log\nsync\nbusybox poweroff -f\n"
    )
    init.chmod(0o755)
    Path(FIXED).mkdir(parents=True, exist_ok=True)
    options = (
        f"mem=768M rootfstype=hostfs rootflags=/ rw quiet init={FIXED}/init.sh con=null stderr=1 panic=-1 "
        f"uml_dir={FIXED}/ umid=u umseed={path.get('seed', 1)} norandmaps time-travel=inf-cpu "
        "time-travel-start=1700000000000000000 ttclock=1000"
    )
    command = f"mount --make-rprivate / && mount --bind {folder} {FIXED} && exec setarch -R {FIXED}/linux {options}"
    with (folder / "console").open("wb") as console:
        subprocess.run(
            ["unshare", "-m", "sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            timeout=600,
            check=False,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": "/dev/shm"},  # noqa: S108, the guest keeps its memory there
        )
    log = (folder / "log").read_text() if (folder / "log").exists() else "nothing was run"
    if "rc=0" not in log:
        raise SystemExit(f"{log[-2000:]}\n{(folder / 'console').read_text(errors='replace')[-2000:]}")


def record(name: str, path: Mapping[str, Any], kernel: Path, out: Path) -> dict[str, Any]:
    """Records one path: captures and truth."""
    with tempfile.TemporaryDirectory(prefix="recording-") as scratch:
        folder = Path(scratch)
        play(path, kernel, folder)
        found = truth.collected(path, folder)
        out.mkdir(parents=True, exist_ok=True)
        for place in path.get("places", list(PLACES)):
            packed = gzip.compress((folder / f"{place}.pcap").read_bytes(), 9, mtime=0)
            (out / f"{name}.{place}.pcap.gz").write_bytes(packed)
        (out / f"{name}.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")
        return found


def expanded(path: Mapping[str, Any]) -> dict[str, Any]:
    """The path with each of its connections: `repeat` is how many alike there are, `gap` seconds apart."""
    connections = []
    for entry in path["connections"]:
        alike = {key: value for key, value in entry.items() if key not in ("repeat", "gap")}
        starts = (entry.get("start", 0) + k * entry.get("gap", 0) for k in range(entry.get("repeat", 1)))
        connections += [{**alike, "start": start} for start in starts]
    return {**path, "connections": connections}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", type=Path, required=True)
    parser.add_argument("--paths", type=Path, default=HERE / "paths.toml")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--seed", type=int)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    if os.geteuid():
        raise SystemExit("recording mounts and boots: run it as root")
    paths = tomllib.loads(given.paths.read_text())
    for name in given.names or paths:
        path = expanded(paths[name]) | ({"seed": given.seed} if given.seed is not None else {})
        found = record(name, path, given.kernel, given.out)
        print(name, found["sender"].get("RetransSegs", 0), "retransmitted,", found["packets"], "packets", flush=True)


if __name__ == "__main__":
    main()
