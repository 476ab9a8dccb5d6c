#!/usr/bin/env python3
"""Ours beside the recorded Linux kernel where the application limits the sender, cell by cell: kernel / ours.

    python conformance/limited.py                            # all 195 cells
    python conformance/limited.py --only cubic               # one controller, by our name or Linux's
    python conformance/limited.py --only lossrr190 --only paced_bbr
    python conformance/limited.py --only nagle --tcp nagle=false

`time` is the mean completion time of a request, connection or write, `RTT` the mean of the smoothed one. A cell agrees
with time (or goodput, where there is nothing to time) within 5 % and RTT within 10 %; DIFFERS is beyond 20 %.
`--extension` as of kernel_table.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limited_runs import Cell

HERE = Path(__file__).resolve().parent
HEAD = f"{'cell':22}{'transfers':>11}{'time ms':>25}{'Mbit/s':>21}{'RTT ms':>23}{'retrans':>14}  verdict"


def pair(kernel: float | None, ours: float | None, digits: int) -> str:
    """`kernel / ours` and their ratio."""
    if kernel is None:
        return "-"
    if ours is None:
        return f"{kernel:.{digits}f} / -"
    return f"{kernel:.{digits}f} / {ours:.{digits}f} {ours / kernel if kernel else 1:5.2f}"


def scaled(value: float | None) -> float | None:
    """Milliseconds."""
    return None if value is None else 1e3 * value


def line(cell: Cell) -> str:
    """One row of the table."""
    kernel, ours = cell.kernel, cell.ours
    return (
        f"{cell.name:22}"
        f"{f'{kernel.transfers} / {ours.transfers}':>11}"
        f"{pair(scaled(kernel.completion_s), scaled(ours.completion_s), 1):>25}"
        f"{pair(kernel.goodput_bps / 1e6, ours.goodput_bps / 1e6, 2):>21}"
        f"{pair(scaled(kernel.mean_rtt_s), scaled(ours.mean_rtt_s), 1):>23}"
        f"{f'{kernel.retransmissions} / {ours.retransmissions}':>14}  {cell.verdict}"
    )


def option(text: str) -> tuple[str, Any]:
    """`nagle=true` as key and value."""
    key, _, value = text.partition("=")
    if value in ("true", "false"):
        return key, value == "true"
    return key, int(value) if value.lstrip("-").isdigit() else value


def main() -> int:
    """Prints the table; 0 even where runs differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="scenario, controller or cell; may be repeated")
    parser.add_argument("--differing", action="store_true", help="print only cells that do not agree")
    parser.add_argument("--tcp", action="append", default=[], type=option, help="KEY=VALUE: an endpoint option of all")
    parser.add_argument("--extension", type=Path, default=os.environ.get("ACKCLOCK_EXTENSION") or None)
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if options.extension:
        from kernel_table import load_extension

        load_extension(Path(options.extension))
    import limited_records as records
    import limited_runs as runs
    from kernel_records import controller_of

    def labels(name: str) -> set[str]:
        return {name, *name.split("_"), controller_of(name)}

    wanted = [name for name in records.names() if not options.only or labels(name) & set(options.only)]
    unknown = set(options.only) - set().union(*map(labels, records.names()))
    if unknown:
        raise SystemExit(f"limited: no record of {', '.join(sorted(unknown))}; see {records.RECORDS.name}/README.md")
    print(HEAD)
    agreeing = 0
    for name in wanted:
        cell = runs.Cell(name, runs.kernel(name), runs.ours(name, tcp=dict(options.tcp)))
        agreeing += cell.agrees
        if not (options.differing and cell.agrees):
            print(line(cell), flush=True)
    print(f"{agreeing} of {len(wanted)} cells agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
