"""A line of network namespaces for benchmarks: a source, a router, a sink. The standard library only; needs root."""

from __future__ import annotations

import os
import subprocess


def quiet(*command: str) -> None:
    """Run a command that has to work; raises with what it says."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise OSError(f"{command[0]}: {said[-1] if said else done.returncode}")


class Ends:
    """A line of namespaces: a source, a router, a sink."""

    def __init__(self) -> None:
        self.names = [f"ackb{os.getpid()}{end}" for end in "arb"]

    def __enter__(self) -> Ends:
        """Make them."""
        a, r, b = self.names
        for name in self.names:
            quiet("ip", "netns", "add", name)
            quiet("ip", "-n", name, "link", "set", "lo", "up")
        for number, (end, device) in enumerate(((a, "left"), (b, "right"))):
            quiet("ip", "-n", r, "link", "add", device, "type", "veth", "peer", "name", "line", "netns", end)
            quiet("ip", "-n", r, "addr", "add", f"10.9.{number}.1/24", "dev", device)
            quiet("ip", "-n", end, "addr", "add", f"10.9.{number}.2/24", "dev", "line")
            quiet("ip", "-n", r, "link", "set", device, "up")
            quiet("ip", "-n", end, "link", "set", "line", "up")
            quiet("ip", "-n", end, "route", "add", "default", "via", f"10.9.{number}.1")
        for name in self.names:
            quiet(*self.inside(name), "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.tcp_no_metrics_save=1")
            for size in ("rmem", "wmem"):
                quiet(*self.inside(name), "sysctl", "-qw", f"net.ipv4.tcp_{size}=4096 16777216 268435456")
        return self

    def __exit__(self, *_: object) -> None:
        """Take them away."""
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    @staticmethod
    def inside(name: str) -> list[str]:
        """What a command in a namespace begins with."""
        return ["ip", "netns", "exec", name]

    def segmented(self) -> None:
        """No super-packets: TCP hands over one segment at a time."""
        for name, devices in zip(self.names, (("line",), ("left", "right"), ("line",)), strict=True):
            for device in devices:
                quiet("ip", "-n", name, "link", "set", "dev", device, "gso_max_segs", "1")

    def sent(self) -> int:
        """Packets, or super-packets, that the router has handed to the sink."""
        folder = "/sys/class/net/right/statistics/tx_packets"
        done = subprocess.run([*self.inside(self.names[1]), "cat", folder], capture_output=True, text=True, check=True)
        return int(done.stdout)
