#!/usr/bin/env python3
"""Ours beside the recorded Linux kernel, controller by controller: a table in a second.

    python conformance/kernel_table.py                       # every controller, every scenario
    python conformance/kernel_table.py htcp yeah             # these
    python conformance/kernel_table.py bic --scenario single10 --epochs 12
    python conformance/kernel_table.py bic --scenario fine10 --csv series

Names may be ours or Linux's. With ``--extension PATH`` (or ACKCLOCK_EXTENSION) the engine is that shared library, as
``cargo build --release -p ackclock-py`` leaves it in ``release/lib_ackclock.so``, instead of the installed one.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernel_runs import Measured

HERE = Path(__file__).resolve().parent
HEAD = (
    f"{'controller':11}{'scenario':10}{'goodput Mbit/s':>24}{'mean RTT ms':>24}{'queue':>14}"
    f"{'retrans':>12}{'epochs':>10}{'cwnd':>16}  verdict"
)


def load_extension(path: Path) -> None:
    """Makes the engine the shared library at `path`."""
    name = "ackclock._ackclock"
    loader = importlib.machinery.ExtensionFileLoader(name, str(path.resolve()))
    spec = importlib.util.spec_from_file_location(name, path.resolve(), loader=loader)
    if spec is None:
        raise SystemExit(f"kernel_table: {path}: cannot be loaded")
    import ackclock

    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    vars(ackclock)["_ackclock"] = module


def pair(ours: float, kernel: float, digits: int, percent: bool = True) -> str:
    """`ours/kernel` and the difference."""
    text = f"{ours:.{digits}f}/{kernel:.{digits}f}"
    return f"{text} {100 * (ours / kernel - 1):+6.1f}%" if percent and kernel else text


def line(label: str, scenario: str, ours: Measured, kernel: Measured, verdict: str) -> str:
    """One row of the table."""
    return (
        f"{label:11}{scenario:10}"
        f"{pair(ours.goodput_bps / 1e6, kernel.goodput_bps / 1e6, 2):>24}"
        f"{pair(ours.mean_rtt_s * 1e3, kernel.mean_rtt_s * 1e3, 1):>24}"
        f"{pair(ours.mean_queue, kernel.mean_queue, 1, False):>14}"
        f"{pair(ours.retransmissions, kernel.retransmissions, 0, False):>12}"
        f"{pair(ours.epochs, kernel.epochs, 0, False):>10}"
        f"{pair(ours.mean_cwnd, kernel.mean_cwnd, 1, False):>16}  {verdict}"
    )


def flow_lines(ours: Measured, kernel: Measured) -> list[str]:
    """A row per flow where there are several."""
    if len(ours.flows) == 1:
        return []
    return [
        f"{'':11}{f'  flow {number}':10}"
        f"{pair(mine.goodput_bps / 1e6, theirs.goodput_bps / 1e6, 2):>24}"
        f"{pair(mine.mean_rtt_s * 1e3, theirs.mean_rtt_s * 1e3, 1):>24}{'':14}"
        f"{pair(mine.retransmissions, theirs.retransmissions, 0, False):>12}"
        f"{pair(len(mine.epochs), len(theirs.epochs), 0, False):>10}"
        f"{pair(mine.mean_cwnd, theirs.mean_cwnd, 1, False):>16}"
        for number, (mine, theirs) in enumerate(zip(ours.flows, kernel.flows, strict=True))
    ]


def main() -> int:
    """Prints the table; 0 even where runs differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("controllers", nargs="*", help="all by default")
    parser.add_argument("--scenario", action="append", help="may be repeated; all by default")
    parser.add_argument("--held-out", action="store_true", help="also the scenarios that nobody develops with")
    parser.add_argument("--extension", type=Path, default=os.environ.get("ACKCLOCK_EXTENSION") or None)
    parser.add_argument("--epochs", type=int, default=0, help="show so many reductions of both, one by one")
    parser.add_argument("--csv", type=Path, help="write both sides' cwnd and RTT series into this folder")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if options.extension:
        load_extension(Path(options.extension))
    import kernel_details as details
    import kernel_figures as figures
    import kernel_records as records

    wanted = {records.CONTROLLERS.get(name, name) for name in options.controllers}
    unknown = wanted - set(records.CONTROLLERS.values())
    if unknown:
        raise SystemExit(f"kernel_table: no records of {', '.join(sorted(unknown))}")
    print(HEAD)
    missing, compared, agreeing = set(), 0, 0
    for name in sorted(records.names(), key=lambda name: (records.controller_of(name), name)):
        controller, scenario = records.controller_of(name), records.scenario_of(name)
        hidden = scenario in records.HELD_OUT and not options.held_out
        if wanted and controller not in wanted:
            continue
        if (scenario not in options.scenario) if options.scenario else hidden:
            continue
        if not records.built(name):
            missing.add(controller)
            continue
        try:
            ours, kernel = figures.typical(name), figures.kernel_typical(name)
            verdict = figures.cell(name)
        except Exception as error:  # one broken controller must not hide the others
            print(f"{controller:11}{scenario:10}  failed: {error}")
            continue
        compared += 1
        agreeing += verdict.agrees
        print(line(controller, scenario, ours, kernel, str(verdict)))
        for text in flow_lines(ours, kernel):
            print(text)
        if options.epochs:
            print(details.epochs(name, options.epochs))
        if options.csv:
            details.write_series(name, options.csv)
    for controller in sorted(missing):
        print(f"{controller:11}not built")
    if compared:
        print(f"{agreeing} of {compared} cells agree: goodput within 5 %, mean RTT within 10 % (or the noise)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
