#!/usr/bin/env python3
"""`ackclock measure` beside iperf3: the same tests by both, in turns, in one campaign.

    .venv/bin/python benches/measure.py [--seconds 5] [--repetitions 5]

Lines: a path of 100 Mbit/s and one of 300 Mbit/s with an RTT of 20 ms, emulated with the real kernel at both ends, and
loopback, which only processors limit. For each line and number of connections: goodput, read from the tables, and
processor time of both ends for each gigabyte that was read; medians over the tests, and the median of the ratios of the
two in the same block. Both times are of the test alone, without what starting a program takes.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ackclock

PATH = """
[topology]
kind = "dumbbell"
rate = "{rate} Mbit/s"
rtt = "20 ms"
queue = {{ kind = "droptail", limit = "1 BDP" }}
[[flows]]
cc = "cubic"
[run]
duration = "1 s"
engine = "kernel"
"""
CAMPAIGN = """
[campaign]
name = "tools"
server = "127.0.0.1:{own}"
iperf3_port = {other}
repetitions = {repetitions}
gap = "200 ms"
{lines}
[test]
tool = ["ackclock", "iperf3"]
connections = [1, 4]
duration = "{seconds} s"
warmup = "1 s"
"""
TOOLS = ("ackclock", "iperf3")


def free_port() -> int:
    """One that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def servers(own: int, other: int) -> Iterator[None]:
    """Both tools' servers on loopback."""
    commands = (
        [sys.executable, "-m", "ackclock", "measure", "serve", "--port", str(own)],
        ["iperf3", "-s", "-p", str(other)],
    )
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
    try:
        time.sleep(2)
        yield
    finally:
        for server in running:
            server.terminate()
            server.wait()


def measured(folder: Path, seconds: int, repetitions: int) -> Path:
    """Measure all lines; where the tables are."""
    own, other = free_port(), free_port()
    lines = '[[lines]]\nname = "loopback"\n'
    for rate in (100, 300):
        (folder / f"path{rate}.toml").write_text(PATH.format(rate=rate), encoding="utf-8")
        lines += f'[[lines]]\nname = "path {rate}"\nvia = "path{rate}.toml"\n'
    file = folder / "tools.toml"
    text = CAMPAIGN.format(own=own, other=other, repetitions=repetitions, lines=lines, seconds=seconds)
    file.write_text(text, encoding="utf-8")
    with servers(own, other):
        command = [sys.executable, "-m", "ackclock", "measure", "run", str(file), "--out", str(folder / "out"), "--yes"]
        subprocess.run(command, check=True)
    return folder / "out"


def table(out: Path) -> list[str]:
    """A row for each line, number of connections and tool."""
    sql = (
        "select line, connections, block, tool, median(total_goodput_bps), "
        "median((client_cpu_s + server_cpu_s) / nullif(bytes, 0) * 1e9) from ("
        "select r.line, r.connections, r.block, r.tool, r.goodput_bps as total_goodput_bps, r.client_cpu_s, "
        "r.server_cpu_s, (select sum(f.goodput_bytes) from flows f where f.run = r.run) as bytes from runs r) "
        "group by all"
    )
    found: dict[tuple[str, int], dict[str, dict[int, tuple[float, float]]]] = {}
    for line, connections, block, tool, goodput, cpu in ackclock.query(out, sql).rows:
        found.setdefault((line, connections), {}).setdefault(tool, {})[block] = (goodput, cpu)
    titles = f"{'Mbit/s, ours':>12} {'iperf3':>8} {'ratio':>7}   CPU s/GB, ours   iperf3   ratio"
    rows = [f"{'line':<12} {'connections':>11}   {titles}"]
    for (line, connections), by in sorted(found.items()):
        ours, theirs = by[TOOLS[0]], by[TOOLS[1]]
        both = sorted(ours.keys() & theirs.keys())
        rate, cpu = (
            [statistics.median(side[block][at] for block in both) for side in (ours, theirs)]
            + [statistics.median(ours[block][at] / theirs[block][at] for block in both)]
            for at in (0, 1)
        )
        rows.append(
            f"{line:<12} {connections:>11}   {rate[0] / 1e6:>12.1f} {rate[1] / 1e6:>8.1f} {rate[2]:>7.4f}   "
            f"{cpu[0]:>14.3f}   {cpu[1]:>6.3f}   {cpu[2]:>5.2f}"
        )
    return rows


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="`ackclock measure` beside iperf3.")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print("\n".join(table(measured(Path(scratch), asked.seconds, asked.repetitions))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
