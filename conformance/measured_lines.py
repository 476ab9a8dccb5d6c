"""Keeps what a campaign over the emulated lines of the study parallel-tcp came to: one line of a table for each test.

    ackclock measure run studies/parallel-tcp/lines/campaign.toml --virtual --out DIR
    python conformance/measured_lines.py DIR

writes `expected/lines.csv` of the study: goodput of all connections and of the probe of the same block, kbit/s. The
study's page shows figures of it, and `python/tests/test_study_measured_record.py` holds the page to it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from ackclock import study

RECORD = Path(study.__file__).parents[1] / "studies" / "parallel-tcp" / "expected" / "lines.csv"


def table(runs: pl.DataFrame) -> pl.DataFrame:
    """The record of a campaign's table `runs`."""
    kbps = [
        (pl.col(f"{what}_bps") / 1000).round().cast(pl.Int64).alias(f"{what}_kbps") for what in ("goodput", "probe")
    ]
    return runs.sort("line", "replication", "connections").select("line", "replication", "connections", *kbps)


def main() -> None:
    """Write the record."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("folder", type=Path, help="of the campaign")
    found = table(pl.read_parquet(options.parse_args().folder / "runs.parquet"))
    found.write_csv(RECORD)
    print(f"{RECORD.name}: {found.height} tests of {found['line'].n_unique()} lines")


if __name__ == "__main__":
    main()
