"""Records what a real kernel in virtual time, with the real proxy, makes of the study split-tcp.

    python conformance/split_kernel.py WORK [SCENARIO ...]

plays scenarios of the study, some replications of each point, into folders of WORK, so that it may be interrupted, and
writes their rates to `expected/linux-SCENARIO.csv` of the study, which has them beside the simulator's. `short` is
`mean` without its large files, and more often: what the radio draws for single packets is much of a short one's time.
`often` and `five` are those of its cells whose runs scatter most, more often still; `away` and `3g-near` are such cells
of `outages` and `3g`.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from ackclock import study
from ackclock.results.result import Result
from ackclock.scenario.plan import load
from ackclock.sweeps.sweep import sweep

STUDY = Path(study.__file__).parents[1] / "studies" / "split-tcp"
FAR_AND_NEAR = ["105 ms", "15 ms"]
PROXIES = ["none", "third", "two-thirds", "pep", "buffer-100k", "buffer-400k", "iw-32", "bbr1", "bbr1-server"]
PLAYED: dict[str, tuple[str, dict[str, Any]]] = {
    "mean": ("lte.toml", {"topology.rtt": FAR_AND_NEAR}),
    "short": ("lte.toml", {"topology.rtt": FAR_AND_NEAR, "run.duration": "31 s"}),
    "often": ("often.toml", {}),
    "five": ("lte.toml", {"topology.rtt": ["105 ms"], "topology.profile": ["mid"], "run.duration": "70 s"}),
    "3g": ("hspa.toml", {"topology.rtt": FAR_AND_NEAR}),
    "3g-near": ("hspa.toml", {"topology.rtt": ["105 ms"], "topology.profile": ["near"], "run.duration": "60 s"}),
    "outages": ("outages.toml", {}),
    "away": ("outages.toml", {"run.duration": "60 s"}),
    "window": ("window.toml", {}),
    "proxy": ("proxy.toml", {"flows.0.relay": PROXIES}),
    "rates": ("rates.toml", {}),
    "modern": ("modern.toml", {"flows.0.cc": "cubic"}),
}
"""By name the file of the study, and what is different: what no kernel plays is left out."""
REPLICATIONS = {"mean": 12, "short": 30, "often": 100, "five": 30, "3g": 2, "3g-near": 12, "outages": 30, "away": 60}
"""Of those that are played more than once."""
SHORT = 3
"""Flows with files of up to 1 MB."""
FLOWS = {"short": SHORT, "five": 4, "3g-near": SHORT, "away": SHORT}
"""The first flows of those that have not all."""
CELLS = ["topology.rtt", "topology.profile", "flows.0.relay"]
KEYS = {
    "mean": CELLS,
    "short": CELLS,
    "often": CELLS,
    "five": CELLS,
    "3g": CELLS,
    "3g-near": CELLS,
    "outages": ["flows.0.relay"],
    "away": ["flows.0.relay"],
    "window": ["topology.rtt", "tcp.receive_buffer", "relay"],
    "proxy": ["relay"],
    "rates": ["topology.rtt", "topology.rate", "relay"],
    "modern": ["topology.hops.0.delay", "app.size", "topology.hops.1.rate", "cc", "relay"],
}
"""What rows are called after."""
MEANS = {"mean": ("mean", "short", "five", "often"), "3g": ("3g", "3g-near"), "outages": ("outages", "away")}
"""What makes the means of a scenario: where several have a cell, the last counts, which has most runs."""
ONE_SIZE = ("window", "proxy", "rates", "modern")
"""Those whose runs are of one download each."""
COLUMNS = {
    100_000: "rate_100k", 500_000: "rate_500k", 1_000_000: "rate_1m",
    5_000_000: "rate_5m", 10_000_000: "rate_10m", 20_000_000: "rate_20m",
}  # fmt: skip


def given(name: str, **run: Any) -> tuple[Path | dict[str, Any], dict[str, Any]]:
    """What is played of a scenario: its source and what is different; `run`: keys of `[run]`."""
    file, changes = PLAYED[name]
    run = {"replications": REPLICATIONS.get(name, 1)} | run
    changes = changes | {f"run.{key}": value for key, value in run.items()}
    if name not in FLOWS:
        return STUDY / file, changes
    document = tomllib.loads((STUDY / file).read_text(encoding="utf-8"))
    document["flows"] = document["flows"][: FLOWS[name]]
    document["sweep"] = {"zip": [[f"flows.{flow}.relay" for flow in range(FLOWS[name])]]}
    return document, changes


def rates(result: Result, name: str) -> pl.DataFrame:
    """Bit/s of the downloads: a row for each point and replication, a column for each size."""
    keys = KEYS[name]
    column = pl.lit("only") if name in ONE_SIZE else pl.col("bytes").replace_strict(COLUMNS)
    # What is not swept here is what it was set to.
    parts = [pl.col(key).cast(pl.String) if key in result.transfers.columns else pl.lit("cubic") for key in keys]
    row = pl.concat_str(parts, separator=", ").alias("row")
    rate = (8 * pl.col("bytes") / pl.col("fct_s")).round(0).cast(pl.Int64)
    found = result.transfers.select(row, "replication", column.alias("column"), rate.alias("rate"))
    return found.pivot("column", index=["row", "replication"], values="rate")


def main(work: str, *names: str) -> None:
    """Play and write."""
    for name in names or PLAYED:
        source, changes = given(name, engine="kernel-vt")
        write(sweep(load(source, set=changes), Path(work) / name).result, name)


def write(result: Result, name: str) -> None:
    """Write the runs of a scenario, and means as the study's tables have them: of `mean` with the files of `short`."""
    found = rates(result, name)
    if name in REPLICATIONS:
        to_file(result, f"linux-{name}-runs", found)
    (scenario,) = [each for each, parts in MEANS.items() if name in parts] or [name]
    found = means(found if scenario not in MEANS else read(f"linux-{scenario}-runs"))
    for oftener in MEANS.get(scenario, ())[1:]:
        found = found.update(means(read(f"linux-{oftener}-runs")), on="row")
    if scenario != "3g":  # which no table has
        to_file(result, f"linux-{scenario}", found)


def means(runs: pl.DataFrame) -> pl.DataFrame:
    """Over replications."""
    found = runs.group_by("row", maintain_order=True).agg(cs.exclude("row", "replication").mean().round(0).cast(int))
    assert sum(found.null_count().row(0)) == 0, "a download has not ended"
    return found


def read(name: str) -> pl.DataFrame:
    """A file of the study's `expected`."""
    return pl.read_csv(STUDY / "expected" / f"{name}.csv", comment_prefix="#")


def to_file(result: Result, name: str, found: pl.DataFrame) -> None:
    """Write one, and say what it is of."""
    (kernel,) = {run["emulation"]["kernel"] for run in result.manifest["runs"]}
    of = f"Linux {kernel.split('-')[0]} in virtual time, {result.manifest['created'][:10]}"
    head = f"# Bit/s of downloads on {of};\n# the relay is the program ackclock-proxy: conformance/split_kernel.py.\n"
    text = found.write_csv(quote_style="non_numeric")
    (STUDY / "expected" / f"{name}.csv").write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
