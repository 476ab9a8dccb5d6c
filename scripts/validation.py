#!/usr/bin/env python3
"""Fills the tables of docs/validation.md and docs/l4s.md: our numbers beside those of the references, run now.

    python scripts/validation.py            # writes the page if its tables have changed
    python scripts/validation.py --check    # writes nothing; exits with 1 if something is stale

The text around the tables is written by hand. Needs the package with its extension (``make build``). What is compared,
and how closely, is in ``conformance/``. Also writes python/ackclock/data/validation.json, for ``ackclock cc``: its form
is described in ``validation_kernel.py``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = "docs/validation.md"
L4S = "docs/l4s.md"
STATUS = "python/ackclock/data/validation.json"
sys.path[:0] = [str(ROOT / "conformance"), str(ROOT / "scripts")]

import aqm_figures  # noqa: E402
import formulas  # noqa: E402
import kernel_figures  # noqa: E402
import l4s_runs  # noqa: E402
import limited_figures  # noqa: E402
import lte_figures  # noqa: E402
import peer_figures  # noqa: E402
import validation_drawn as drawn  # noqa: E402
import validation_engines as engines  # noqa: E402
import validation_kernel as kernel  # noqa: E402
import validation_limited as limited  # noqa: E402
import validation_random_loss as random_loss  # noqa: E402
from agreement import Figure  # noqa: E402
from generate import fill, table  # noqa: E402

REFERENCES: Mapping[str, Callable[[], Iterator[Figure]]] = {
    "Linux kernel": kernel_figures.figures,
    "Linux kernel, limited senders": limited_figures.figures,
    "ns-3": lambda: peer_figures.figures("ns3"),
    "ns-2": lambda: peer_figures.figures("ns2"),
    "queues, ns-3": lambda: aqm_figures.figures("ns3"),
    "queues, ns-2": lambda: aqm_figures.figures("ns2"),
    "cells, ns-3": lte_figures.figures,
    "formulas": formulas.figures,
}
"""What is compared, the strongest reference first."""

UNITS = {
    "goodput": ("goodput, Mbit/s", 1e-6),
    "mean queue": ("mean queue, packets", 1.0),
    "retransmissions": ("retransmitted segments", 1.0),
    "times of reductions": ("times of reductions, s", 1.0),
    "mean window": ("mean window, segments", 1.0),
    "mean queueing delay": ("mean queueing delay, ms", 1e3),
    "resource blocks used": ("resource blocks used, %", 100.0),
    lte_figures.TIME: (f"{lte_figures.TIME}, s", 1.0),
    "95th percentile of the queueing delay": ("95th percentile of the queueing delay, ms", 1e3),
}
"""What a metric is called on the page, and the factor to its unit there."""


@cache
def figures(reference: str) -> tuple[Figure, ...]:
    """All figures of a reference."""
    return tuple(REFERENCES[reference]())


def mechanisms() -> list[str]:
    """The known deviations that the figures show, in their order."""
    found = (figure for reference in REFERENCES for figure in figures(reference))
    return list(dict.fromkeys(f.deviation.mechanism for f in found if f.deviation is not None and not f.agrees))


def short(value: float) -> str:
    """Three significant digits; counts below a thousand as they are."""
    if value == int(value) and abs(value) < 1000:
        return f"{value:.0f}"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}".replace(",", " ") if abs(rounded) >= 1000 else f"{rounded:#.3g}".rstrip(".")


def percent(value: float) -> str:
    """One digit behind the point."""
    text = f"{100 * value:+.1f} %"
    return "0" if text in ("+0.0 %", "-0.0 %") else text


def verdict(figure: Figure) -> str:
    """In a word, or the number of the deviation that explains it."""
    if figure.agrees:
        return "agrees"
    if figure.deviation is None or not figure.explained:
        return "differs" if figure.large is not None and abs(figure.difference) <= figure.large else "**differs**"
    return f"known: {mechanisms().index(figure.deviation.mechanism) + 1}"


def row(figure: Figure) -> list[str]:
    """One line of a table."""
    name, factor = UNITS.get(figure.metric, (figure.metric, 1.0))
    values = [short(figure.ours * factor), short(figure.reference * factor), percent(figure.difference)]
    tolerance = f"{100 * figure.tolerance:.3g} %" if figure.tolerance else "exact"
    return [figure.scenario, figure.algorithm, name, *values, tolerance, verdict(figure)]


def comparison(reference: str) -> str:
    """The table of a reference."""
    head = ["scenario", "algorithm", "metric", "ours", "reference", "difference", "tolerance", "verdict"]
    return table(head, map(row, figures(reference)))


def summary() -> str:
    """How many figures of each reference agree."""
    rows = []
    for reference in REFERENCES:
        found = figures(reference)
        agree = sum(figure.agrees for figure in found)
        known = sum(figure.explained for figure in found) - agree
        rows.append([reference, *map(str, (len(found), agree, known, len(found) - agree - known))])
    return table(["reference", "figures", "agree", "known deviation", "differ"], rows)


def deviations() -> str:
    """The list that the verdicts refer to."""
    return "\n".join(f"{number}. {mechanism}" for number, mechanism in enumerate(mechanisms(), 1))


TABLES: Mapping[str, Callable[[], str]] = {
    "summary": summary,
    "kernel agreement": kernel.agreement,
    "kernel paths": kernel.paths,
    "kernel cells": kernel.share,
    "kernel overview": kernel.overview,
    "kernel and ns-3": kernel.closeness,
    "kernel goodput and RTT": lambda: kernel.comparison(verdict),
    "kernel other metrics": lambda: kernel.others(verdict),
    "drawn agreement": drawn.agreement,
    "drawn alone": drawn.alone,
    "drawn pairs": drawn.pairs,
    "random loss": random_loss.table_of_cells,
    "random loss together": random_loss.table_of_controllers,
    "limited agreement": limited.agreement,
    "limited speeds": limited.speeds,
    "limited round trips": limited.round_trips,
    "limited retransmissions": limited.retransmissions,
    "engines agreement": engines.agreement,
    "engines tolerances": engines.tolerances,
    **{f"engines {name}": partial(engines.beside, name) for name in engines.ENGINES},
    **{f"engines refused {name}": partial(engines.refused, name) for name in engines.ENGINES},
    "engines changes": engines.changes,
    **{reference: partial(comparison, reference) for reference in REFERENCES if "Linux kernel" not in reference},
    "deviations": deviations,
}


def filled(text: str) -> str:
    """The page with its tables renewed."""
    return fill(PAGE, text, TABLES)


def generated() -> dict[str, str]:
    """What the page and the summary for `ackclock cc` should contain."""
    l4s = fill(L4S, (ROOT / L4S).read_text(encoding="utf-8"), l4s_runs.TABLES)
    return {PAGE: filled((ROOT / PAGE).read_text(encoding="utf-8")), L4S: l4s, STATUS: kernel.status()}


def stale() -> dict[str, str]:
    """Those that are not what they should be, and what they should be."""
    return {name: text for name, text in generated().items() if _present(ROOT / name) != text}


def _present(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def main() -> int:
    """Writes or checks; returns the exit code."""
    parser = argparse.ArgumentParser(description="Fills the tables of docs/validation.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something is stale")
    check = parser.parse_args().check
    wanted = stale()
    for name, text in wanted.items():
        if check:
            print(f"{name}: stale; run: make docs")
        else:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(text, encoding="utf-8")
            print(f"{name}: written")
    return 1 if check and wanted else 0


if __name__ == "__main__":
    sys.exit(main())
