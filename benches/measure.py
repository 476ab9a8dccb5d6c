#!/usr/bin/env python3
"""`ackclock measure` beside iperf3: the same tests by both, in turns, in one campaign.

    .venv/bin/python benches/measure.py [--seconds 5] [--repetitions 5] [--virtual [--kernel NAME]]

Lines: a path of 100 Mbit/s and one of 300 Mbit/s with an RTT of 20 ms, emulated with the real kernel at both ends, and
loopback, which only processors limit. For each line and number of connections: goodput, read from the tables, and
processor time of both ends for each gigabyte that was read; medians over the tests, and the median of the ratios of the
two in the same block. Both times are of the test alone, without what starting a program takes.

With --virtual the two paths alone, in virtual time: nothing is late, so that rates differ only where the tools do.
Processor time says nothing there, and is left out.
"""

from __future__ import annotations

import argparse
import math
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
{servers}
repetitions = {repetitions}
gap = "200 ms"
probe = false
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


def campaign(folder: Path, asked: argparse.Namespace, servers_at: tuple[int, int] | None) -> Path:
    """The campaign's file, with loopback among its lines where there are servers at these ports, ours and iperf3's."""
    lines, places = "", ""
    if servers_at is not None:
        lines = '[[lines]]\nname = "loopback"\n'
        places = f'server = "127.0.0.1:{servers_at[0]}"\niperf3_port = {servers_at[1]}'
    for rate in (100, 300):
        (folder / f"path{rate}.toml").write_text(PATH.format(rate=rate), encoding="utf-8")
        lines += f'[[lines]]\nname = "path {rate}"\nvia = "path{rate}.toml"\n'
    file = folder / "tools.toml"
    text = CAMPAIGN.format(servers=places, repetitions=asked.repetitions, lines=lines, seconds=asked.seconds)
    file.write_text(text, encoding="utf-8")
    return file


def measured(folder: Path, asked: argparse.Namespace) -> Path:
    """Measure all lines; where the tables are."""
    command = [sys.executable, "-m", "ackclock", "measure", "run", "--out", str(folder / "out"), "--yes"]
    if asked.virtual:
        named = ["--kernel", asked.kernel] if asked.kernel else []
        subprocess.run([*command, "--virtual", *named, str(campaign(folder, asked, None))], check=True)
        return folder / "out"
    own, other = free_port(), free_port()
    with servers(own, other):
        subprocess.run([*command, str(campaign(folder, asked, (own, other)))], check=True)
    return folder / "out"


def table(out: Path, *, processors: bool) -> list[str]:
    """A row for each line and number of connections, with both tools, and with processor time if there is any."""
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
    titles = f"{'line':<12} {'connections':>11}   {'Mbit/s, ours':>12} {'iperf3':>8} {'ratio':>7}"
    rows = [titles + ("   CPU s/GB, ours   iperf3   ratio" if processors else "")]
    for (line, connections), by in sorted(found.items()):
        (rate, cpu) = (beside(by, at) for at in (0, 1))
        row = f"{line:<12} {connections:>11}   {rate[0] / 1e6:>12.2f} {rate[1] / 1e6:>8.2f} {rate[2]:>7.4f}"
        rows.append(row + (f"   {cpu[0]:>14.3f}   {cpu[1]:>6.3f}   {cpu[2]:>5.2f}" if processors else ""))
    return rows


def beside(by: dict[str, dict[int, tuple[float, float]]], at: int) -> tuple[float, float, float]:
    """Of both tools the median over blocks of one figure, and that of their ratios where there are any."""
    ours, theirs = by[TOOLS[0]], by[TOOLS[1]]
    both = sorted(ours.keys() & theirs.keys())
    ratios = [ours[block][at] / theirs[block][at] for block in both if theirs[block][at]]
    middle = [statistics.median(side[block][at] for block in both) for side in (ours, theirs)]
    return middle[0], middle[1], statistics.median(ratios) if ratios else math.nan


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="`ackclock measure` beside iperf3.")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--virtual", action="store_true", help="only the paths, in virtual time")
    parser.add_argument("--kernel", help="its kernel, where several are built")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print("\n".join(table(measured(Path(scratch), asked), processors=not asked.virtual)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
