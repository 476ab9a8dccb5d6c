"""What a real proxy on a real kernel loses when a phone leaves for good, beside the simulator: `gone` of split-tcp.

    python conformance/split_gone.py WORK

plays the scenario on a kernel in virtual time, one replication, into a folder of WORK and writes `split/gone.csv`;
without WORK it prints the simulator's numbers beside it.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import polars as pl

import ackclock
from ackclock.results.result import Result
from ackclock.scenario.plan import load
from ackclock.sweeps.sweep import sweep
from split_kernel import STUDY, by

FILE = Path(__file__).parent / "split" / "gone.csv"
SCENARIO = STUDY / "gone.toml"
HEAD = ["relay", "sent", "delivered", "undelivered"]
Bytes = dict[str, dict[str, int]]
"""By the relay: what the server has sent, what the phone has, and what the relay says that it lost."""


def bytes_of(result: Result) -> Bytes:
    """Where the bytes are at the end; without a relay nothing is lost that was acknowledged."""
    of_server = pl.col("sent_bytes") - pl.col("retransmitted_bytes")
    servers = result.legs.filter(pl.col("leg") == "source").select("run", sent=of_server)
    sent = dict(servers.iter_rows())
    lost = result.measures.filter(pl.col("name") == "acked_undelivered_bytes")
    said = {row["run"]: int(row["value"]) for row in lost.to_dicts()}
    found = {}
    for row in result.flows.to_dicts():
        run, delivered = row["run"], row["goodput_bytes"]
        own = {"sent": sent.get(run), "delivered": delivered, "undelivered": said.get(run)}
        found[str(row["relay"])] = {key: value for key, value in own.items() if value is not None}
    return found


def recorded() -> Bytes:
    """What a kernel made of it."""
    lines = (line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {row.pop("relay"): {key: int(value) for key, value in row.items() if value} for row in csv.DictReader(lines)}


def played() -> Bytes:
    """What the simulator does."""
    return bytes_of(ackclock.run(SCENARIO, set={"run.replications": 1}))


def text(found: Bytes) -> str:
    """As CSV."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, HEAD, lineterminator="\n")
    writer.writeheader()
    writer.writerows({"relay": relay, **own} for relay, own in found.items())
    return stream.getvalue()


def page() -> list[str]:
    """As Markdown, a table of both."""
    parts = ["### A phone that leaves for good", ""]
    parts += ["MB that the phone of `gone` has, and that the proxy had acknowledged and lost; one run each.", ""]
    parts += ["| proxy | the phone has, simulated | Linux | lost, simulated | Linux |", "|" + "---|" * 5]
    ours, linux = played(), recorded()
    for relay in linux:
        numbers = [side[relay].get(what) for what in ("delivered", "undelivered") for side in (ours, linux)]
        words = ["" if number is None else f"{number / 1e6:.2f}" for number in numbers]
        parts.append(f"| {' | '.join([relay, *words])} |")
    return [*parts, ""]


def main(*words: str) -> None:
    """Record, or print both."""
    if words:
        changes = {"run.replications": 1, "run.engine": "kernel-vt"}
        result = sweep(load(SCENARIO, set=changes), Path(words[0]) / "gone", jobs=1).result
        FILE.write_text(f"# Bytes on {by(result)}.\n{text(bytes_of(result))}", encoding="utf-8")
    print(f"Linux:\n{text(recorded())}\nSimulated:\n{text(played())}")


if __name__ == "__main__":
    main(*sys.argv[1:])
