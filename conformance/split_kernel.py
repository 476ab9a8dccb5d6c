"""Records what a real kernel in virtual time, with the real proxy, makes of the study split-tcp.

    python conformance/split_kernel.py WORK [SCENARIO ...]
    python conformance/split_kernel.py WORK --again N SCENARIO [--set KEY=LIST ...]

plays scenarios of the study, some replications of each point, into folders of WORK, so that it may be interrupted, and
writes their rates to `expected/linux-SCENARIO.csv` of the study, which has them beside the simulator's. `short` is
`mean` without its large files, and more often: what the radio draws for single packets is much of a short one's time;
so is `3g-short` of `3g`. `often` and `five` are those of its cells whose runs scatter most, more often still; `away`,
`3g-near` and `window-far` are such cells of `outages`, `3g` and `window`. `regions` and `3g-regions-large` are `lte`
and `hspa` at the pings of each region, `3g-regions` is the latter without its large files, and those cells of `regions`
that scatter most are there more often: `regions-short`, `regions-near`, `regions-often`, `regions-large`,
`regions-mid`. `loss-others` is what `loss` leaves out.

`--again` plays the first N replications anew, with `--set` of some points only, and says how far their rates are from
those that are recorded, also in the record itself.
"""

from __future__ import annotations

import argparse
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
LOSSES = {
    "topology.hops.0.delay": ["52.5 ms"], "topology.hops.0.loss": [0.00015, 0.0005], "run.duration": "40 s",
}  # fmt: skip
"""Of one server two of its five rates of losses."""
LOSSES_ELSE = [("52.5 ms", loss) for loss in (0, 0.00005, 0.001)] + [
    ("7.5 ms", loss) for loss in (0, 0.00005, 0.00015, 0.0005, 0.001)
]
"""Server and losses of all others."""
PLAYED: dict[str, tuple[str, dict[str, Any]]] = {
    "mean": ("lte.toml", {"topology.rtt": FAR_AND_NEAR}),
    "short": ("lte.toml", {"topology.rtt": FAR_AND_NEAR, "run.duration": "31 s"}),
    "often": ("often.toml", {}),
    "five": ("lte.toml", {"topology.rtt": ["105 ms"], "topology.profile": ["mid"], "run.duration": "70 s"}),
    "3g": ("hspa.toml", {"topology.rtt": FAR_AND_NEAR}),
    "3g-short": ("hspa.toml", {"topology.rtt": FAR_AND_NEAR, "run.duration": "31 s"}),
    "3g-near": ("hspa.toml", {"topology.rtt": ["105 ms"], "topology.profile": ["near"], "run.duration": "60 s"}),
    "outages": ("outages.toml", {}),
    "away": ("outages.toml", {"run.duration": "60 s"}),
    "window": ("window.toml", {"run.duration": "24 s"}),
    "window-far": ("window.toml", {"topology.rtt": ["105 ms"], "run.duration": "24 s"}),
    "proxy": ("proxy.toml", {"flows.0.relay": PROXIES}),
    "rates": ("rates.toml", {"run.duration": "90 s"}),
    "loss": ("loss.toml", LOSSES),
    "loss-others": ("loss.toml", {"run.duration": "40 s"}),
    "modern": ("modern.toml", {"flows.0.cc": "cubic"}),
    "regions": ("lte.toml", {}),
    "regions-large": ("lte.toml", {}),
    "regions-mid": ("lte.toml", {}),
    "regions-short": ("lte.toml", {"run.duration": "31 s"}),
    "regions-near": ("lte.toml", {"run.duration": "70 s"}),
    "regions-often": ("lte.toml", {"run.duration": "31 s"}),
    "3g-regions-large": ("hspa.toml", {}),
    "3g-regions": ("hspa.toml", {"run.duration": "31 s"}),
}
"""By name the file of the study, and what is different: what no kernel plays is left out."""
REPLICATIONS = {
    "mean": 12, "short": 30, "often": 100, "five": 30, "3g": 6, "3g-short": 6, "3g-near": 12,
    "outages": 30, "away": 60, "window": 6, "window-far": 12, "rates": 6, "loss": 30,
    "loss-others": 8, "regions": 3, "regions-short": 12, "regions-near": 40, "regions-large": 8, "regions-mid": 24,
    "regions-often": 120, "3g-regions-large": 6, "3g-regions": 6,
}  # fmt: skip
"""Of those that are played more than once."""
SHORT = 3
"""Flows with files of up to 1 MB."""
FLOWS = {
    "short": SHORT, "five": 4, "3g-short": SHORT, "3g-near": SHORT, "away": SHORT,
    "regions-short": SHORT, "regions-near": 4, "regions-often": SHORT, "3g-regions": SHORT,
}  # fmt: skip
"""The first flows of those that have not all."""
PLACES = ("topology.rtt", "topology.profile")
PAIRS: dict[str, tuple[tuple[str, str], list[tuple[Any, Any]]]] = {
    "regions-near": (PLACES, [(f"{ms} ms", "near") for ms in (3, 4, 5, 6, 7, 30, 40)]),
    "regions-large": (
        PLACES,
        [
            ("6 ms", "near"),
            ("30 ms", "near"),
            ("34 ms", "mid"),
            ("39 ms", "mid"),
            ("40 ms", "mid"),
            ("34 ms", "far"),
        ],
    ),
    "regions-mid": (PLACES, [("40 ms", "mid")]),
    "regions-often": (PLACES, [("6 ms", "near"), ("7 ms", "near")]),
    "loss-others": (("topology.hops.0.delay", "topology.hops.0.loss"), LOSSES_ELSE),
}
"""Of those that have not all combinations of two keys: the keys, and their values."""
CELLS = ["topology.rtt", "topology.profile", "flows.0.relay"]
WINDOWS = ["topology.rtt", "tcp.receive_buffer", "relay"]
LOST = ["topology.hops.0.delay", "topology.hops.0.loss", "relay"]
KEYS = {
    "mean": CELLS,
    "short": CELLS,
    "often": CELLS,
    "five": CELLS,
    "3g": CELLS,
    "3g-short": CELLS,
    "3g-near": CELLS,
    "outages": ["flows.0.relay"],
    "away": ["flows.0.relay"],
    "window": WINDOWS,
    "window-far": WINDOWS,
    "proxy": ["relay"],
    "rates": ["topology.rtt", "topology.rate", "relay"],
    "loss": LOST,
    "loss-others": LOST,
    "modern": ["topology.hops.0.delay", "app.size", "topology.hops.1.rate", "cc", "relay"],
    "regions": CELLS,
    "regions-short": CELLS,
    "regions-near": CELLS,
    "regions-large": CELLS,
    "regions-mid": CELLS,
    "regions-often": CELLS,
    "3g-regions-large": CELLS,
    "3g-regions": CELLS,
}
"""What rows are called after."""
MEANS = {
    "mean": ("mean", "short", "five", "often"),
    "3g": ("3g", "3g-short", "3g-near"),
    "outages": ("outages", "away"),
    "window": ("window", "window-far"),
    "loss": ("loss", "loss-others"),
    "regions": ("regions", "regions-large", "regions-mid", "regions-short", "regions-near", "regions-often"),
    "3g-regions": ("3g-regions-large", "3g-regions"),
}
"""What makes the means of a scenario: where several have a cell, the last counts, which has most runs."""
NO_TABLE = ("3g", "loss", "regions", "3g-regions")
"""Those of whose means the study has no table."""
ONE_SIZE = ("window", "window-far", "proxy", "rates", "loss", "loss-others", "modern")
"""Those whose runs are of one download each."""
AGAIN = "# Played again, "
COLUMNS = {
    100_000: "rate_100k", 500_000: "rate_500k", 1_000_000: "rate_1m",
    5_000_000: "rate_5m", 10_000_000: "rate_10m", 20_000_000: "rate_20m",
}  # fmt: skip


def given(name: str, **run: Any) -> tuple[Path | dict[str, Any], dict[str, Any]]:
    """What is played of a scenario: its source and what is different; `run`: keys of `[run]`."""
    file, changes = PLAYED[name]
    run = {"replications": REPLICATIONS.get(name, 1)} | run
    changes = changes | {f"run.{key}": value for key, value in run.items()}
    if name not in FLOWS and name not in PAIRS:
        return STUDY / file, changes
    document = tomllib.loads((STUDY / file).read_text(encoding="utf-8"))
    together = document.get("sweep", {}).get("zip", [])
    if name in FLOWS:
        document["flows"] = document["flows"][: FLOWS[name]]
        together = [[f"flows.{flow}.relay" for flow in range(FLOWS[name])]]
    if name in PAIRS:
        keys, values = PAIRS[name]
        together = [*together, list(keys)]
        changes |= dict(zip(keys, map(list, zip(*values, strict=True)), strict=True))
    document["sweep"] = {"zip": together}
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


def main() -> None:
    """Play, and write or compare."""
    parser = argparse.ArgumentParser(description="What a real kernel and the real proxy make of the study split-tcp.")
    parser.add_argument("work", type=Path)
    parser.add_argument("names", nargs="*", default=list(PLAYED))
    parser.add_argument("--again", type=int, metavar="N")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=LIST", dest="some")
    asked = parser.parse_intermixed_args()
    if wrong := [name for name in asked.names if name not in PLAYED]:
        parser.error(f"no scenario {wrong[0]}; there are: {', '.join(PLAYED)}")
    if asked.some and asked.again is None:
        parser.error("a record has all points: --set is for --again")
    some = {
        key: tomllib.loads(f"list = {text}")["list"] for key, _, text in (word.partition("=") for word in asked.some)
    }
    for name in asked.names:
        run = {} if asked.again is None else {"replications": asked.again}
        source, changes = given(name, engine="kernel-vt", **run)
        result = sweep(load(source, set=changes | some), asked.work / name, jobs=1).result
        if asked.again is None:
            write(result, name)
        else:
            said = f"{compared(rates(result, name), recorded(name))}, by {by(result)}"
            print(f"{name}: {said}", flush=True)
            part = "".join(f", {word}" for word in asked.some)
            note(file_of(name), f"{asked.again} replication{'s' * (asked.again > 1)}{part}", said)


def compared(new: pl.DataFrame, old: pl.DataFrame) -> str:
    """How many rates are the same, and how far the others are apart, as a share."""
    keys = ["row", "replication"]
    apart = [abs(one / other - 1) for one, other in pairs(new, old, keys)]
    other = sorted(share for share in apart if share > 0)
    words = f"{len(apart) - len(other)} of {len(apart)} rates are the same"
    return words + (f", the others apart by {100 * max(other):.3g} % at most" if other else "")


def pairs(new: pl.DataFrame, old: pl.DataFrame, keys: list[str]) -> list[tuple[int, int]]:
    """Rates of both that have one name."""
    new, old = (each.cast({"replication": pl.Int64}) for each in (new, old))
    both = new.join(old, on=keys, suffix=" before")
    assert len(both) == len(new), "not everything is recorded"
    columns = [column for column in new.columns if column not in keys]
    return [pair for column in columns for pair in both.select(column, f"{column} before").rows()]


def recorded(name: str) -> pl.DataFrame:
    """The runs of a scenario in its file."""
    found = read(file_of(name))
    return found if name in REPLICATIONS else found.with_columns(replication=0)


def file_of(name: str) -> str:
    """Where the runs of a scenario are."""
    return f"linux-{name}-runs" if name in REPLICATIONS else f"linux-{name}"


def note(name: str, what: str, words: str) -> None:
    """Say in the head of a file what playing a part of it again gave, in place of what that gave before."""
    file, begin = STUDY / "expected" / f"{name}.csv", f"{AGAIN}{what}:"
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith(begin)]
    head = sum(line.startswith("#") for line in lines)
    file.write_text("\n".join([*lines[:head], f"{begin} {words}.", *lines[head:], ""]), encoding="utf-8")


def write(result: Result, name: str) -> None:
    """Write the runs of a scenario, and the means that the study's tables have."""
    found = rates(result, name)
    if name not in REPLICATIONS:
        to_file(f"linux-{name}", f"Bit/s of downloads on {by(result)}", found.drop("replication"))
        return
    assert sum(found.null_count().row(0)) == 0, "a download has not ended"
    to_file(f"linux-{name}-runs", f"Bit/s of downloads on {by(result)}", found)
    (scenario,) = [each for each, parts in MEANS.items() if name in parts] or [name]
    if scenario not in NO_TABLE:
        parts = ", ".join(f"linux-{part}-runs.csv" for part in MEANS.get(scenario, (scenario,)))
        to_file(f"linux-{scenario}", f"Means of {parts}", means(scenario))


def means(scenario: str) -> pl.DataFrame:
    """Over replications, of each cell those that are most."""
    found: pl.DataFrame | None = None
    for part in MEANS.get(scenario, (scenario,)):
        runs = read(f"linux-{part}-runs").group_by("row", maintain_order=True)
        own = runs.agg(cs.exclude("row", "replication").mean().round(0).cast(pl.Int64))
        found = own if found is None else found.update(own, on="row")
    assert found is not None
    return found


def read(name: str) -> pl.DataFrame:
    """A file of the study's `expected`."""
    return pl.read_csv(STUDY / "expected" / f"{name}.csv", comment_prefix="#")


def by(result: Result, time: str = "virtual time") -> str:
    """What has played, and when."""
    (kernel,) = {run["emulation"]["kernel"] for run in result.manifest["runs"]}
    engine, day = result.manifest["engine"], result.manifest["created"][:10]
    version = f"ackclock {engine['version']} (commit {engine['commit']})"
    return f"Linux {kernel.split('-')[0]} in {time}, {version}, {day}"


def to_file(name: str, what: str, found: pl.DataFrame) -> None:
    """Write one, and say what it is of."""
    head = f"# {what};\n# the relay is the program ackclock-proxy: conformance/split_kernel.py.\n"
    text = found.write_csv(quote_style="non_numeric")
    (STUDY / "expected" / f"{name}.csv").write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    main()
