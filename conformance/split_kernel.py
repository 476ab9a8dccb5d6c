"""Records what a real kernel in virtual time, with the real proxy, makes of the study split-tcp.

    python conformance/split_kernel.py WORK [SCENARIO ...]

plays scenarios of the study, one replication of each point, into folders of WORK, so that it may be interrupted, and
writes their rates to `expected/linux-SCENARIO.csv` of the study, which has them beside the simulator's.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl

from ackclock import study
from ackclock.results.result import Result
from ackclock.scenario.plan import load
from ackclock.sweeps.sweep import sweep

STUDY = Path(study.__file__).parents[1] / "studies" / "split-tcp"
FAR_AND_NEAR = ["105 ms", "15 ms"]
PROXIES = ["none", "third", "two-thirds", "pep", "buffer-100k", "buffer-400k", "iw-32"]
PLAYED: dict[str, tuple[str, dict[str, Any]]] = {
    "mean": ("lte.toml", {"topology.rtt": FAR_AND_NEAR}),
    "outages": ("outages.toml", {}),
    "window": ("window.toml", {}),
    "proxy": ("proxy.toml", {"flows.0.relay": PROXIES}),
}
"""By name the file of the study, and what is different: what no kernel plays is left out."""
KEYS = {
    "mean": ["topology.rtt", "topology.profile", "flows.0.relay"],
    "outages": ["flows.0.relay"],
    "window": ["topology.rtt", "tcp.receive_buffer", "relay"],
    "proxy": ["relay"],
}
"""What rows are called after."""
COLUMNS = {
    100_000: "rate_100k", 500_000: "rate_500k", 1_000_000: "rate_1m",
    5_000_000: "rate_5m", 10_000_000: "rate_10m", 20_000_000: "rate_20m",
}  # fmt: skip


def rates(result: Result, name: str) -> pl.DataFrame:
    """Bit/s of the downloads: a row for each point, a column for each size."""
    keys = KEYS[name]
    column = pl.col("bytes").replace_strict(COLUMNS) if name in ("mean", "outages") else pl.lit("only")
    row = pl.concat_str([pl.col(key).cast(pl.String) for key in keys], separator=", ").alias("row")
    rate = (8 * pl.col("bytes") / pl.col("fct_s")).round(0).cast(pl.Int64)
    found = result.transfers.filter(pl.col("replication") == 0).select(row, column.alias("column"), rate.alias("rate"))
    return found.pivot("column", index="row", values="rate")


def main(work: str, *names: str) -> None:
    """Play and write."""
    for name in names or PLAYED:
        file, changes = PLAYED[name]
        plan = load(STUDY / file, set=changes | {"run.replications": 1, "run.engine": "kernel-vt"})
        write(sweep(plan, Path(work) / name).result, name)


def write(result: Result, name: str) -> None:
    """Write the file of a scenario."""
    (kernel,) = {run["emulation"]["kernel"] for run in result.manifest["runs"]}
    of = f"Linux {kernel.split('-')[0]} in virtual time, a run each, {result.manifest['created'][:10]}"
    head = f"# Bit/s of downloads on {of};\n# the relay is the program ackclock-proxy: conformance/split_kernel.py.\n"
    text = rates(result, name).write_csv(quote_style="non_numeric")
    (STUDY / "expected" / f"linux-{name}.csv").write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
