#!/usr/bin/env python3
"""How ``ackclock get`` decides on the lines of the study parallel-tcp, beside fixed numbers, curl and aria2c.

    .venv/bin/python benches/get.py [--lines mobile-window,policed] [--seconds 40] [--fixed 1,2,4,8] [--peers] [--harm]
        [--real-time] [--record FILE]

Each download is one of ``ackclock shell LINE --virtual``: a kernel in virtual time at both ends (``ackclock kernel
build``), so that what else the computer does does not matter. A file is as long as the line takes in ``--seconds``.
Receive windows are the receive buffers of the client's sockets, which curl cannot set: peers are played on lines
without such a limit. ``--harm``: beside a flow of CUBIC that began five seconds before; what it delivers while the
download runs, with the decision, with one connection, and with peers. ``--real-time`` plays on this computer's own
kernel, with segmentation left to the path, for lines of 1 Gbit/s, of which a guest makes a second in many; the computer
has to do nothing else, and each row says whether the path was in time. ``--record`` adds each download in virtual time
to a file such as ``conformance/get_lines.csv``, which the page on `get` and its test are made of.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

STUDY = Path(__file__).resolve().parent.parent / "python" / "ackclock" / "studies" / "parallel-tcp"
PORT = 8123
AHEAD_S = 5


@dataclass(frozen=True)
class Line:
    """A line: the table of its topology, what limits the client's sockets, and its rate."""

    topology: str
    mbit: float
    rcvbuf: int | None = None


def _dumbbell(rate: str, rtt: str, more: str = "") -> str:
    return f'[topology]\nkind = "dumbbell"\nrate = "{rate}"\nrtt = "{rtt}"\nqueue = "1 BDP"\n{more}\n'


def _mobile(more: str = "") -> str:
    """The study's mobile line."""
    text = (STUDY / "mobile.toml").read_text(encoding="utf-8")
    topology = text[: text.index("[[flows]]")]
    return re.sub(r"(queue = .*\n)", rf"\1{more}\n", topology, count=1)


LINES = {
    "mobile-window": Line(_mobile(), 60, 256_000),
    "mobile-loss": Line(_mobile("loss = 1e-3"), 60),
    "mobile-ramp": Line(_mobile(), 60),
    "fibre-window": Line(_dumbbell("1 Gbit/s", "8 ms"), 1000, 512_000),
    "fibre-loss": Line(_dumbbell("1 Gbit/s", "8 ms", "loss = 5e-5"), 1000),
    "policed": Line(_dumbbell("1 Gbit/s", "20 ms", 'policer = { rate = "100 Mbit/s", burst = "50 kB" }'), 100),
    "saturated-mobile": Line(_dumbbell("30 Mbit/s", "60 ms"), 30),
    "saturated-fibre": Line(_dumbbell("100 Mbit/s", "10 ms"), 100),
}


class Pieces(BaseHTTPRequestHandler):
    """Serves a file of zeros, pieces of it too, from the kernel's memory."""

    protocol_version = "HTTP/1.1"
    size = 0
    source = -1

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """What a GET would say."""
        self._answer(body=False)

    def do_GET(self) -> None:
        """The file, or the piece that is asked for."""
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        start, last = 0, self.size - 1
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked:
            start, last = int(asked[1]), min(int(asked[2] or last), last)
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{last}/{self.size}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{self.size}"')
        self.send_header("Content-Length", str(last + 1 - start))
        self.end_headers()
        self.wfile.flush()
        while body and start <= last:
            start += os.sendfile(self.connection.fileno(), self.source, start, min(last + 1 - start, 1 << 20))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        pass  # a client that has enough closes


def serve(size: int) -> None:
    """Serve until killed."""
    with tempfile.TemporaryFile() as file:
        file.truncate(size)
        Pieces.size, Pieces.source = size, file.fileno()
        _Server(("0.0.0.0", PORT), Pieces).serve_forever()  # noqa: S104


def _words(command: list[str]) -> str:
    import shlex

    return shlex.join(command)


def play(
    line: Line, size: int, client: list[str], folder: Path, *, beside: bool = False, real_time: bool = False
) -> dict[str, Any]:
    """One download: what the client printed, and the goodput of the flow beside it."""
    scenario, place, out = folder / "line.toml", folder / "place", folder / "out"
    flow = '[[flows]]\ncc = "cubic"\nstart = "1 ms"\n[run]\nduration = "600 s"\n[probes]\ndelivered = "100 ms"\n'
    scenario.write_text(line.topology + flow, encoding="utf-8")
    place.mkdir()
    server = _words([sys.executable, str(Path(__file__).resolve()), "serve", str(size)])
    program = ["sh", "-c", f"sleep {AHEAD_S}; exec {_words(client)}"] if beside else client
    command = [
        sys.executable,
        "-m",
        "ackclock",
        "shell",
        str(scenario),
        *(["--offload"] if real_time else ["--virtual", "--write", str(place)]),
        "--out",
        str(out),
    ]
    command += ["--no-capture", "--quiet", *(["--with-flows"] if beside else []), "--server", server, "--", *program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=place)
    if done.returncode != 0:
        raise SystemExit(f"{_words(client)}: {done.stdout}{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if real_time:
        found["valid"] = _valid(out)
    if beside:
        found["other_mbps"] = _meanwhile(out, AHEAD_S, AHEAD_S + found["seconds"])
    return found


def _valid(out: Path) -> bool:
    """Whether the path was in time."""
    import ackclock

    return bool(ackclock.Result.load(out).manifest["runs"][0]["emulation"]["valid"])


def _meanwhile(out: Path, begin: float, end: float) -> float:
    """Mbit/s that the flow beside a download delivered between two times."""
    import polars as pl

    import ackclock

    delivered = (pl.col("metric") == "delivered") & (pl.col("kind") == "flow")
    series = ackclock.Result.load(out).series.filter(delivered).sort("time_s")
    at = lambda time: series.filter(pl.col("time_s") <= time).row(-1, named=True)  # noqa: E731
    first, last = at(begin), at(end)
    mbps: float = (last["value"] - first["value"]) * 8e-6 / (last["time_s"] - first["time_s"])
    return mbps


def own(line: Line, connections: int | None, most: int) -> list[str]:
    """Our program; what it writes goes where it is started."""
    command = [
        sys.executable,
        "-m",
        "ackclock",
        "get",
        f"http://server.ackclock:{PORT}/file",
        "--json",
        "--max",
        str(most),
    ]
    command += ["--connections", "auto" if connections is None else str(connections)]
    return command + (["--rcvbuf", f"{line.rcvbuf} B"] if line.rcvbuf else [])


CURL = ["curl", "-s", "-o", "file", "-w", '{"seconds": %{time_total}}\n', f"http://server.ackclock:{PORT}/file"]


def aria2c(connections: int) -> list[str]:
    """Debian's, with as many pieces at a time."""
    many = ["-x", str(connections), "-s", str(connections), "-k", "1M", "--file-allocation=none", "-q"]
    fetch = _words(["aria2c", *many, f"http://server.ackclock:{PORT}/file"])
    clock = "import time; print(time.time())"
    python = _words([sys.executable, "-c", clock])
    return ["sh", "-c", f'a=$({python}); {fetch} && b=$({python}) && echo "{{\\"seconds\\": $(echo "$b - $a" | bc)}}"']


def settled(found: dict[str, Any]) -> float:
    """Mbit/s in the second half of its windows, after what the decision takes."""
    rates = [window["rate_bps"] for window in found["windows"]]
    half = rates[len(rates) // 2 : -1]
    return sum(half) / len(half) / 1e6 if half else float("nan")


RECORDED = ["line", "seconds", "bytes", "way", "beside", "took_s", "settled_mbps", "other_mbps", "connections"]
"""Columns of a record: the line, how long it takes for the file at its rate, how it was downloaded, and what came."""


def note(file: Path, name: str, seconds: float, size: int, way: str, found: dict[str, Any]) -> None:
    """Add a download to a record."""
    settled_mbps = f"{settled(found):.1f}" if "windows" in found else ""
    other = f"{found['other_mbps']:.1f}" if "other_mbps" in found else ""
    steps = " ".join(str(step["connections"]) for step in found.get("connections", []))
    took = f"{found['seconds']:.2f}"
    row = [name, f"{seconds:g}", size, way, "cubic" if other else "", took, settled_mbps, other, steps]
    with file.open("a", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerow(row)


def one(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """A line: every way to download on it."""
    line = LINES[name]
    size = int(line.mbit * 1e6 / 8 * given.seconds)
    ways: dict[str, list[str]] = {"decided": own(line, None, given.most)}
    ways |= {f"always {n}": own(line, n, given.most) for n in given.fixed}
    if given.peers and line.rcvbuf is None:
        ways |= {"curl": CURL} | {f"aria2c {n}": aria2c(n) for n in given.fixed}
    row: dict[str, Any] = {"line": name, "bytes": size}
    for way, client in ways.items():
        with tempfile.TemporaryDirectory() as folder:
            found = play(line, size, client, Path(folder), real_time=given.real_time)
        if given.record is not None:
            note(given.record, name, given.seconds, size, way, found)
        row[way] = {"seconds": found["seconds"], "goodput_mbps": size * 8e-6 / found["seconds"]}
        if "valid" in found:
            row[way]["valid"] = found["valid"]
        if "windows" in found:
            row[way] |= {"settled_mbps": settled(found), "steps": [s["connections"] for s in found["connections"]]}
            row[way]["why"] = found["connections"][-1]["why"]
        if not given.json:
            print(f"{name:18} {way:10} {json.dumps(row[way])}", flush=True)
    if given.harm:
        ways = {"always 1": own(line, 1, given.most)} | ways
        for way in [way for way in ways if way in ("decided", "always 1", "curl", f"aria2c {given.most}")]:
            with tempfile.TemporaryDirectory() as folder:
                found = play(line, size, ways[way], Path(folder), beside=True, real_time=given.real_time)
            if given.record is not None:
                note(given.record, name, given.seconds, size, way, found)
            row[f"beside {way}"] = {"seconds": found["seconds"], "other_mbps": found["other_mbps"]}
            if not given.json:
                print(f"{name:18} beside {way}: {json.dumps(row[f'beside {way}'])}", flush=True)
    return row


def main() -> None:
    """Play what the options say."""
    if sys.argv[1:2] == ["serve"]:
        serve(int(sys.argv[2]))
        return
    numbers = lambda text: [int(word) for word in text.split(",")]  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=lambda text: text.split(","), default=list(LINES))
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--fixed", type=numbers, default=[1, 2, 4, 8])
    parser.add_argument("--most", type=int, default=8)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--harm", action="store_true")
    parser.add_argument("--real-time", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    if given.record is not None and given.real_time:
        parser.error("a record is of virtual time: remove --real-time")
    for name in given.lines:
        row = one(name, given)
        if given.json:
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
