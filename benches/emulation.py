"""The engine `kernel` against the clock, and beside it what other tools make of the same path.

Goodput beside the simulator's, lateness, packets per second and what a packet costs; netem between namespaces (GSO on
and off) and mahimahi where they are here: a tool that is not is a row that says why. Goodput is of the second half of
each run. The cost of a packet is of the thread of the path; `busy` is of the whole computer, all processors, while the
run lasts, so that what the kernel does for others counts as well: nothing else should run; divided by the segments of
data that arrive, it is the one cost that all tools have. Needs root.

    .venv/bin/python benches/emulation.py [--seconds 8] [--rounds 2] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ackclock
from ackclock import host, kernel
from ackclock.scenario.compile import compile_run
from ackclock.scenario.plan import load
from line_of_hosts import Ends, quiet

RTT = "20 ms"
RUNS = (
    ("100 Mbit/s", "cubic", False),
    ("300 Mbit/s", "cubic", False),
    ("1 Gbit/s", "cubic", False),
    ("1 Gbit/s", "reno", False),
    ("1 Gbit/s", "cubic", True),
    ("1 Gbit/s", "reno", True),
    ("2 Gbit/s", "cubic", True),
)
"""Rate, controller, offload."""

SYSTEM_PYTHON = "/usr/bin/python3"
PACKET = 1500
MSS = 1448
"""Bytes of data in a packet, with timestamps."""


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one. Goodput in bit/s, times in seconds; what is None was not measured or does not exist."""

    tool: str
    rate: str
    cc: str
    goodput_bps: float | None = None
    expected_bps: float | None = None
    p50_s: float | None = None
    p99_s: float | None = None
    worst_s: float | None = None
    packets_per_s: float | None = None
    path_s_per_packet: float | None = None
    busy: float | None = None
    valid: bool | None = None
    note: str = ""


def scenario(rate: str, cc: str, seconds: float, engine: str, *, offload: bool) -> dict[str, Any]:
    """One flow over a queue of a bandwidth-delay product."""
    queue = {"kind": "droptail", "limit": "1 BDP"}
    run = {"duration": f"{seconds} s", "warmup": f"{seconds / 2} s", "engine": engine, "offload": offload}
    return {
        "topology": {"kind": "dumbbell", "rate": rate, "rtt": RTT, "queue": queue},
        "flows": [{"cc": cc}],
        "run": run,
    }


def busy_seconds() -> float:
    """Processor time of the whole computer so far."""
    fields = [int(n) for n in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / float(os.sysconf("SC_CLK_TCK"))


def expected(rate: str, cc: str, seconds: float) -> float:
    """Goodput of the simulator, in bit/s."""
    simulated = ackclock.run(scenario(rate, cc, seconds, "sim", offload=False))
    return float(simulated.flows["goodput_bps"][0])


def ours(rate: str, cc: str, seconds: float, *, offload: bool) -> Row:
    """The engine `kernel`, beside the simulator."""
    document = compile_run(load(scenario(rate, cc, seconds, "kernel", offload=offload)).points[0].scenario)
    before, begun = busy_seconds(), time.monotonic()
    played = json.loads(kernel.play(json.dumps(document), seconds))
    busy = (busy_seconds() - before) / (time.monotonic() - begun)
    (flow,), how = played["output"]["flows"], played["emulation"]
    late, packets = how["links"][0][1], how["packets"][1]
    return Row(
        tool="ackclock, offload" if offload else "ackclock",
        rate=rate,
        cc=cc,
        goodput_bps=flow["goodput_bytes"] * 8 / (seconds / 2),
        expected_bps=expected(rate, cc, seconds),
        p50_s=late["p50_s"],
        p99_s=late["p99_s"],
        worst_s=late["worst_s"],
        packets_per_s=packets / seconds,
        path_s_per_packet=how["cpu_s"] / packets,
        busy=busy,
        valid=how["valid"],
        note="; ".join(how["problems"]),
    )


SINK = """
import socket, sys, time
server = socket.create_server(("0.0.0.0", 5001))
print("ready", flush=True)
peer, _ = server.accept()
begun, half, room, total, late = time.monotonic(), float(sys.argv[1]) / 2, bytearray(1 << 20), 0, 0
while time.monotonic() < begun + 2 * half and (n := peer.recv_into(room)):
    total += n
    late += n if time.monotonic() >= begun + half else 0
print(total, late, flush=True)
"""
SOURCE = """
import socket, sys, time
peer = socket.socket()
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[2].encode())
peer.connect((sys.argv[3], 5001))
end, data = time.monotonic() + float(sys.argv[1]), bytes(1 << 18)
try:
    while time.monotonic() < end:
        peer.sendall(data)
except OSError:
    pass
"""


def over(ends: Ends, tool: str, rate: str, cc: str, seconds: float) -> Row:
    """One flow from one end to the other."""
    a, _, b = ends.names
    sink = subprocess.Popen(
        [*ends.inside(b), sys.executable, "-c", SINK, str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert sink.stdout is not None
    sink.stdout.readline()
    before, sent = busy_seconds(), ends.sent()
    source = subprocess.Popen([*ends.inside(a), sys.executable, "-c", SOURCE, str(seconds), cc, "10.9.1.2"])
    out, _ = sink.communicate(timeout=seconds + 30)
    busy = (busy_seconds() - before) / seconds
    source.wait(timeout=30)
    late = int(out.split()[1])
    units = (ends.sent() - sent) / seconds
    return Row(
        tool, rate, cc, goodput_bps=late * 8 / (seconds / 2), packets_per_s=units, busy=busy, note="units, not packets"
    )


def netem(rate: str, cc: str, seconds: float, *, gso: bool) -> Row:
    """Rate and a queue of a bandwidth-delay product towards the sink, the delay both ways."""
    tool = f"netem, GSO {'on' if gso else 'off'}"
    bits = float(rate.split()[0]) * (1e9 if "Gbit" in rate else 1e6)
    # netem's limit counts what its delay holds as well: two bandwidth-delay products in packets.
    limit = str(round(bits * 0.02 / 8 / PACKET) + round(bits * 0.01 / 8 / PACKET))
    try:
        with Ends() as ends:
            router = ends.inside(ends.names[1])
            there = ["delay", "10ms", "rate", f"{bits:.0f}bit", "limit", limit]
            quiet(*router, "tc", "qdisc", "add", "dev", "right", "root", "netem", *there)
            quiet(*router, "tc", "qdisc", "add", "dev", "left", "root", "netem", "delay", "10ms", "limit", "100000")
            if not gso:
                ends.segmented()
            return over(ends, tool, rate, cc, seconds)
    except OSError as error:
        return Row(tool, rate, cc, note=f"not here: {error}")


def bare(cc: str, seconds: float, *, gso: bool) -> Row:
    """The same namespaces without any path: what the kernel takes for itself."""
    tool = f"veth alone, GSO {'on' if gso else 'off'}"
    try:
        with Ends() as ends:
            if not gso:
                ends.segmented()
            return over(ends, tool, "-", cc, seconds)
    except OSError as error:
        return Row(tool, "-", cc, note=f"not here: {error}")


def mahimahi(rate: str, cc: str, seconds: float) -> Row:
    """`mm-delay` and `mm-link` with a trace of the rate; it refuses to be run by root."""
    if shutil.which("mm-link") is None:
        return Row("mahimahi", rate, cc, note="not here: no program mm-link (Debian 11 has the last package of it)")
    megabits = float(rate.split()[0]) * (1000 if "Gbit" in rate else 1)
    trace = Path(tempfile.gettempdir()) / f"ackclock-{os.getpid()}.trace"
    # Each line is a packet of 1504 bytes in the millisecond that it names.
    count = round(megabits * 1000 / 8 / 1504 * 100)
    trace.write_text("".join(f"{1 + n * 100 // count}\n" for n in range(count)), encoding="ascii")
    trace.chmod(0o644)
    sink = subprocess.Popen([sys.executable, "-c", SINK, str(seconds)], stdout=subprocess.PIPE, text=True)
    assert sink.stdout is not None
    try:
        sink.stdout.readline()
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        queue = ["--uplink-queue=droptail", f"--uplink-queue-args=packets={round(megabits * 1e6 * 0.02 / 8 / PACKET)}"]
        # The outer shell's own side is the computer's; the inner one's would be a namespace between the two.
        python = SYSTEM_PYTHON if user else sys.executable  # root's own may not be another user's to run
        link = ["mm-link", str(trace), str(trace), *queue, "--", python, "-c", SOURCE, str(seconds), cc]
        command = [*user, "mm-delay", "10", "sh", "-c", f"exec {shlex.join(link)} $MAHIMAHI_BASE"]
        before = busy_seconds()
        quiet(*command)
        out, _ = sink.communicate(timeout=30)
        busy = (busy_seconds() - before) / seconds
        goodput = int(out.split()[1]) * 8 / (seconds / 2)
        return Row("mahimahi", rate, cc, goodput_bps=goodput, expected_bps=expected(rate, cc, seconds), busy=busy)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Row("mahimahi", rate, cc, note=f"does not run: {error}")
    finally:
        sink.kill()
        sink.wait()
        trace.unlink()


def table(rows: Sequence[Row]) -> str:
    """As `docs/benchmarks.md` has it."""
    lines = [
        "| tool | rate, controller | goodput | of the simulator's | late p50 / p99 / worst | packets/s "
        "| path per packet | busy | busy per segment | |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        goodput = "" if row.goodput_bps is None else f"{row.goodput_bps / 1e6:.1f} Mbit/s"
        share = "" if not row.expected_bps or row.goodput_bps is None else f"{row.goodput_bps / row.expected_bps:.2%}"
        times = [row.p50_s, row.p99_s, row.worst_s]
        late = " / ".join(f"{t * 1e6:.0f}" for t in times if t is not None)
        late = f"{late} us" if late else ""
        packets = "" if row.packets_per_s is None else f"{row.packets_per_s:,.0f}".replace(",", " ")
        cost = "" if row.path_s_per_packet is None else f"{row.path_s_per_packet * 1e6:.2f} us"
        busy = "" if row.busy is None else f"{row.busy:.2f}"
        both = row.busy is not None and row.goodput_bps
        segment = f"{row.busy / (row.goodput_bps / 8 / MSS) * 1e6:.1f} us" if both else ""
        valid = {None: "", True: "valid", False: "not valid"}[row.valid]
        note = "; ".join(text for text in (valid, row.note) if text)
        cells = [row.tool, f"{row.rate}, {row.cc}", goodput, share, late, packets, cost, busy, segment, note]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0, help="length of each run")
    parser.add_argument("--rounds", type=int, default=2, help="how often each of ours is played")
    parser.add_argument("--json", type=Path, help="where the rows are written, too")
    options = parser.parse_args(arguments)
    seconds, rows = options.seconds, list[Row]()
    begun = time.monotonic()
    for rate, cc, offload in RUNS:
        for _ in range(options.rounds):
            rows.append(ours(rate, cc, seconds, offload=offload))
            print(table(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    for gso in (True, False):
        rows.append(netem("1 Gbit/s", "cubic", seconds, gso=gso))
        rows.append(bare("cubic", seconds, gso=gso))
    for rate in ("100 Mbit/s", "300 Mbit/s", "1 Gbit/s"):
        rows.append(mahimahi(rate, "cubic", seconds))
    facts: Mapping[str, Any] = host.facts()
    load_now = os.getloadavg()[0]
    print(
        f"{facts['processor']}, {facts['cores']} processors, Linux {facts['kernel']}; load {load_now:.1f}; "
        f"{seconds:g} s each, {time.monotonic() - begun:.0f} s in all\n"
    )
    print(table(rows))
    if options.json is not None:
        record = {"host": dict(facts), "load": load_now, "seconds": seconds, "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
