"""netem, mahimahi and our emulator beside each other where the computer's kernel has no netem: in a guest.

A kernel that `ackclock kernel build` has built runs as a program (User-Mode Linux), by the ordinary clock. In this one
guest a TCP flow goes through netem, `ackclock-emu`, mahimahi and bare devices in turns: as fast as it can (`full`), and
at a rate that the source offers. A packet is a full segment of data that arrives; acknowledgments pass as well, and are
in its cost. The cost is the processor time that the computer counts for the whole guest. System calls and changes of
process are dear there, for the guest's kernel gets them by tracing its processes. Needs root, `tc`, `ip`.

    .venv/bin/python benches/netem.py [--rounds 5] [--seconds 3] [--rates 10] [--kernel NAME] [--over DIR] [--json FILE]
    .venv/bin/python benches/netem.py --of FILE...

mahimahi runs if its programs are there, in DIR too (packages unpacked by `dpkg -x`), and if the kernel can translate
addresses, which it can when it is built with `--config benches/netem.config`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ackclock import host, kernel
from ackclock.errors import AckclockError
from ackclock.scenario.compile import compile_run
from ackclock.scenario.plan import load
from ackclock.virtual import guest, kept
from netem_guest import system_call

DELAY_MS = 10
FRAME = 1500
MSS = 1448
"""Bytes of data in a packet, with timestamps."""
FULL = "full"
"""The load without a rate."""
SUPER = "full, super-packets"
"""The same with up to 64 kB at a time from TCP: GSO, and `offload` of ours. mahimahi has nothing like that."""
HEADROOM = 2
"""How much faster than what is offered a path is: what arrives is the same with every tool, and with none."""
ENDLESS_NS = 10**17
WARM_S = 1.0
GUEST = Path(__file__).with_name("netem_guest.py")
PYTHON = "/usr/bin/python3"
BARE = "veth alone"
IDLE = "nothing"
OURS = "ackclock"
TOOLS = (BARE, "netem", OURS, "mahimahi")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Said:
    """What the guest said; the processor time that it had by then, and when that was, in seconds."""

    what: Mapping[str, Any]
    cpu_s: float
    wall_s: float


@dataclass(slots=True)
class Row:
    """One test. Seconds are the guest's own but for `wall_s` and `cpu_s`; `why` says what did not work."""

    tool: str
    load: str
    round: int
    packets: float = 0.0
    seconds: float = 0.0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    valid: bool | None = None
    why: str = ""

    @property
    def measured(self) -> bool:
        """Whether there is anything to be divided by."""
        return self.packets > 0 and self.seconds > 0

    @property
    def rate(self) -> float:
        """Packets a second."""
        return self.packets / self.seconds

    @property
    def cost(self) -> float:
        """Processor time of a packet, s."""
        return self.cpu_s / self.packets


def lines(text: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """What a guest says among what its kernel does."""
    for line in text:
        if line.startswith(b"@ "):
            yield json.loads(line[2:])


def rows(said: Iterable[Said]) -> list[Row]:
    """The tests in what a guest said."""
    found: list[Row] = []
    begin: Said | None = None
    for one in said:
        match one.what["at"]:
            case "test":
                found.append(Row(one.what["tool"], one.what["load"], one.what["round"]))
                begin = None
            case "begin":
                begin = one
            case "end" if begin is not None:
                row = found[-1]
                row.packets = one.what["bytes"] / MSS
                row.seconds = one.what["time"] - begin.what["time"]
                row.wall_s, row.cpu_s = one.wall_s - begin.wall_s, one.cpu_s - begin.cpu_s
            case "path":
                found[-1].valid, found[-1].why = one.what["valid"], "; ".join(one.what["problems"])
            case "failed":
                found[-1].packets, found[-1].why = 0.0, one.what["why"]
    return found


def together(records: Iterable[Mapping[str, Any]]) -> list[Row]:
    """The rows of several files of this program, whose rounds follow one another."""
    found: list[Row] = []
    for record in records:
        first = 1 + max((row.round for row in found), default=-1)
        found += [Row(**{**row, "round": first + row["round"]}) for row in record["rows"]]
    return found


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, least and most."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """That of one value or more."""
        return cls(statistics.median(values), min(values), max(values))

    def text(self, scale: float = 1.0, digits: int = 0) -> str:
        """As a table has it."""
        middle, least, most = (f"{v * scale:,.{digits}f}" for v in (self.median, self.least, self.most))
        return f"{middle} ({least} to {most})"


def added(found: Sequence[Row], tool: str, load: str) -> list[float]:
    """By round, how much more a packet costs with a tool than over bare devices at the same load, s."""
    at = {(row.tool, row.round): row.cost for row in found if row.load == load and row.measured}
    rounds = sorted({number for _, number in at})
    return [at[tool, n] - at[BARE, n] for n in rounds if (tool, n) in at and (BARE, n) in at]


def table(found: Sequence[Row]) -> str:
    """As `docs/benchmarks.md` has it."""
    head = ["load", "tool", "packets/s", "a packet, us", "more than bare, us", "on time"]
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    loads = list(dict.fromkeys(row.load for row in found if row.tool != IDLE))
    for name in loads:
        for tool in TOOLS:
            mine = [row for row in found if (row.tool, row.load) == (tool, name)]
            good = [row for row in mine if row.measured]
            if not good:
                out += [f"| {name} | {tool} | not here: {row.why} | | | |" for row in mine[:1]]
                continue
            more = "" if tool == BARE else Spread.of(added(found, tool, name) or [0.0]).text(1e6, 1)
            told = [row.valid for row in good if row.valid is not None]
            on_time = f"{sum(told)} of {len(told)}" if told else ""
            cells = [name, tool, Spread.of([row.rate for row in good]).text()]
            cells += [Spread.of([row.cost for row in good]).text(1e6, 1), more, on_time]
            out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)


def report(found: Sequence[Row]) -> str:
    """What holds for all of it, and the table."""
    idle = Spread.of([row.cpu_s / row.wall_s for row in found if row.tool == IDLE])
    drift = Spread.of([row.seconds / row.wall_s for row in found if row.measured])
    rounds = len({row.round for row in found})
    return (
        f"{rounds} rounds; an idle guest has {idle.text(100, 1)} % of a processor, and its second is "
        f"{drift.text(1, 3)} of the computer's\n\n{table(found)}"
    )


def document(rate_bps: int | None, *, offload: bool) -> str:
    """The resolved run whose path `ackclock-emu` has: the delay, and a queue of a bandwidth-delay product at a rate."""
    rate, limit = (f"{rate_bps} bit/s", "1 BDP") if rate_bps else ("100 Gbit/s", "100000 packets")
    queue = {"kind": "droptail", "limit": limit}
    topology = {"kind": "dumbbell", "rate": rate, "rtt": f"{2 * DELAY_MS} ms", "queue": queue}
    run = {"duration": "10 s", "engine": "kernel", "offload": offload}
    scenario = load({"topology": topology, "flows": [{"cc": "cubic"}], "run": run}).points[0].scenario
    return json.dumps({**compile_run(scenario), "duration_ns": ENDLESS_NS})


def tests(rates: Sequence[float]) -> list[dict[str, Any]]:
    """What the guest plays in each round; rates are in Mbit/s."""
    loads: list[tuple[str, int | None]] = [(FULL, None), (SUPER, None)]
    loads += [(f"{rate:g} Mbit/s", round(rate * 1e6)) for rate in rates]
    found: list[dict[str, Any]] = [{"tool": IDLE, "load": "none"}]
    for name, offered in loads:
        bits = None if offered is None else offered * HEADROOM
        queue = 100_000 if bits is None else round(bits * 2 * DELAY_MS / 1000 / 8 / FRAME)
        # netem's limit counts what its delay holds as well.
        held = queue if bits is None else queue + round(bits * DELAY_MS / 1000 / 8 / FRAME)
        limits = {"queue_packets": queue, "held_packets": held}
        shape = {"offered_bps": offered, "rate_bps": bits, **limits, "gso": name == SUPER}
        for tool in TOOLS[:-1] if name == SUPER else TOOLS:
            more = {"document": document(bits, offload=name == SUPER)} if tool == OURS else {}
            found.append({"tool": tool, "load": name, **shape, **more})
    return found


def processor_time(session: int) -> float:
    """Of all processes of a session, and of those of its first that have ended, s."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[3]) == session:
            own = stat.parent.name == str(session)
            total += sum(map(int, fields[11 : 15 if own else 13]))
    return total / TICKS


def line(folder: Path) -> list[str]:
    """What the kernel is told. The computer's files are its root, which it may only read."""
    return [
        *(f"mem={guest.MEMORY}", "rootfstype=hostfs", "hostfs=/", "ro", f"init={PYTHON}", "quiet", "loglevel=1"),
        *("con=null", "con0=null,fd:1", "stderr=1", "panic=-1", f"uml_dir={folder}/", "umid=guest"),
        *("--", str(GUEST), str(folder / "job.json")),
    ]


def played(job: Mapping[str, Any], chosen: kept.Kernel) -> list[Said]:
    """What a guest says that plays a job. Raises :class:`ValueError` where that does not come to its end."""
    with tempfile.TemporaryDirectory(prefix="ackclock-netem-") as place, guest.processor() as core:
        folder = Path(place)
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command = ["setarch", "-R", str(chosen.image), *line(folder)]
        if core is not None:
            command = ["taskset", "-c", str(core), *command]
        with (folder / "console").open("wb") as console:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=console,
                start_new_session=True,
                env={"PATH": os.environ["PATH"], "TMPDIR": "/dev/shm"},  # noqa: S108  # the guest's memory
            )
            assert process.stdout is not None
            said = []
            try:
                for what in lines(process.stdout):
                    said.append(Said(what, processor_time(process.pid), time.monotonic()))
                    if what["at"] == "test":
                        print(*(what[key] for key in ("round", "load", "tool")), file=sys.stderr, flush=True)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if said and said[-1].what["at"] == "over":
            return said
        why = [one.what["why"] for one in said if one.what["at"] == "broken"]
        last = (folder / "console").read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        raise ValueError("; ".join(["the guest ended before its tests", *(why or last)]))


def lacking() -> str | None:
    """What is missing here, and what to do, in one line."""
    if os.geteuid():
        return "it needs root, for mounts and networks of the guest"
    packages = {"tc": "iproute2", "ip": "iproute2", "taskset": "util-linux", "setpriv": "util-linux"}
    for program, package in packages.items():
        if shutil.which(program) is None:
            return f"{program} is missing: apt-get install {package}"
    if not Path(PYTHON).exists():
        return f"{PYTHON} is missing: apt-get install python3"
    return guest.forbidden()


def unfit(over: Path, files: Path = Path("/")) -> str | None:
    """Why a folder cannot be laid over these files."""
    if not (over / "usr").is_dir():
        return "there is no folder usr in it; unpack packages there: dpkg -x"
    hidden = [entry.name for entry in sorted(over.iterdir()) if (files / entry.name).is_symlink()]
    # Such a link leads into usr, and everything that is there would be gone.
    return f"{hidden[0]} in it would hide that of the computer; move it into usr" if hidden else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often all of it is played")
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="what counts of each test, after a second that does not"
    )
    parser.add_argument("--rates", type=float, nargs="*", default=[10.0], help="Mbit/s, besides as fast as it can")
    parser.add_argument("--kernel", help="which of the kernels that are built")
    parser.add_argument("--over", type=Path, help="a folder with a usr that is laid over the computer's in the guest")
    parser.add_argument("--json", type=Path, help="where the rows are written, too")
    parser.add_argument("--of", type=Path, nargs="+", metavar="FILE", help="only print what such files have together")
    options = parser.parse_args(arguments)
    if options.of is not None:
        print(report(together(json.loads(file.read_text(encoding="utf-8")) for file in options.of)))
        return 0
    if (problem := lacking()) is not None:
        raise SystemExit(f"netem: {problem}")
    if options.over is not None and (problem := unfit(options.over)) is not None:
        raise SystemExit(f"netem: --over {options.over}: {problem}")
    try:
        chosen = kept.named(options.kernel)
        job = {
            "over": None if options.over is None else str(options.over.resolve()),
            "emulator": str(Path(kernel.program()).resolve()),
            "seconds": [WARM_S, options.seconds],
            "limit_s": 30.0 + 4 * options.seconds,
            "delay_ms": DELAY_MS,
            "rounds": options.rounds,
            "tests": tests(options.rates),
        }
        said = played(job, chosen)
    except (AckclockError, ValueError) as error:
        raise SystemExit(f"netem: {error}") from None
    found, facts = rows(said), host.facts()
    here = f"{facts['processor']}, {facts['cores']} processors, Linux {facts['kernel']}"
    load_now, calls = os.getloadavg()[0], [one.what["seconds"] for one in said if one.what["at"] == "call"]
    print(f"{here}; guest {chosen.name} of Linux {chosen.version}; load {load_now:.1f}; {options.seconds:g} s each")
    print(f"a system call takes {calls[0] * 1e6:.2f} us in the guest, {system_call() * 1e6:.2f} us outside")
    print(report(found))
    if options.json is not None:
        record = {"host": dict(facts), "kernel": asdict(chosen), "calls": calls, "rows": [asdict(row) for row in found]}
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
