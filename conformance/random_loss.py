#!/usr/bin/env python3
"""Goodput under random loss beside the recorded Linux kernel: with its own losses, packet by packet, and with others.

    python conformance/random_loss.py                  # all cells; 400 other patterns of losses each
    python conformance/random_loss.py --only bic --draws 1000

`same losses`: ours with the losses of each recorded run, relative to it, pair by pair (Student's interval); `equal`
counts the runs whose goodput is within 0.1 % of the recorded one. `others`: means of ours over so many more patterns of
netem's generator, and over as many of the engine's own, and the second relative to the first (Welch's interval). The
two together are the comparison with the kernel: few recorded patterns, which all controllers share, say little by
their means alone. Differences are of geometric means, their intervals at 99.9 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import random_loss_records as records
from ackclock import engine
from ackclock.stats import Contrast, paired, unpaired
from session_cache import session_cache

LEVEL = 0.999
"""Of the intervals: of fifteen cells that agree one in seventy tables has one that does not contain 1."""
EQUAL = 0.001
"""Relative difference of two runs that lost the same packets in the same way."""
DRAWS = 400


@dataclass(frozen=True, slots=True)
class Pair:
    """A run of the kernel's and ours with the same losses."""

    kernel_bps: float
    ours_bps: float
    kernel_retransmissions: int
    ours_retransmissions: int

    @property
    def equal(self) -> bool:
        """Whether their goodput is the same but for the packets around the end."""
        return abs(self.ours_bps / self.kernel_bps - 1) <= EQUAL


def _played(document: object) -> tuple[float, int]:
    row = engine.run(json.dumps(document)).flows.row(0, named=True)
    return float(row["goodput_bps"]), int(row["retransmitted_segments"])


@session_cache
def pairs(module: str, loss: float) -> tuple[Pair, ...]:
    """Every recorded run of a cell beside ours with its losses."""
    found = []
    for run in records.of(module, loss):
        goodput, retransmissions = _played(records.replayed(run))
        found.append(Pair(run.goodput_bps, goodput, run.retransmissions, retransmissions))
    return tuple(found)


@session_cache
def netems(module: str, loss: float, draws: int) -> tuple[float, ...]:
    """Goodputs of ours with so many other patterns of netem's generator, bit/s."""
    return tuple(_played(document)[0] for document in records.others(module, loss, draws))


@session_cache
def own(module: str, loss: float, draws: int) -> tuple[float, ...]:
    """The same with patterns that the engine draws."""
    return tuple(_played(records.drawn(module, loss, seed))[0] for seed in range(1, draws + 1))


def same_losses(found: Iterable[Pair]) -> Contrast:
    """Ours against the kernel's, pair by pair."""
    kernel, ours = zip(*((pair.kernel_bps, pair.ours_bps) for pair in found), strict=True)
    contrast = paired(kernel, ours, ratio=True, level=LEVEL)
    assert contrast is not None
    return contrast


def other_losses(module: str, loss: float, draws: int) -> Contrast:
    """Ours with losses of its own against ours with those of netem's generator."""
    contrast = unpaired(netems(module, loss, draws), own(module, loss, draws), ratio=True, level=LEVEL)
    assert contrast is not None
    return contrast


def ratio(contrast: Contrast) -> str:
    """A ratio as a difference in percent, and its interval."""
    value = f"{100 * (contrast.value - 1):+.2f} %"
    if contrast.low is None or contrast.high is None:
        return value
    return f"{value} ({100 * (contrast.low - 1):+.2f} to {100 * (contrast.high - 1):+.2f})"


HEAD = (
    *("controller", "loss", "patterns", "Linux, Mbit/s", "ours, same losses", "difference (99.9 %)"),
    *("equal", "retransmitted, ours / Linux", "ours, others of netem", "ours, its own", "difference (99.9 %)"),
)


def row(module: str, loss: float, draws: int) -> list[str]:
    """One cell of the table."""
    found = pairs(module, loss)
    return [
        module,
        f"{100 * loss:g} %",
        str(len(found)),
        f"{statistics.fmean(pair.kernel_bps for pair in found) / 1e6:.3f}",
        f"{statistics.fmean(pair.ours_bps for pair in found) / 1e6:.3f}",
        ratio(same_losses(found)),
        str(sum(pair.equal for pair in found)),
        f"{sum(pair.ours_retransmissions for pair in found)} / {sum(pair.kernel_retransmissions for pair in found)}",
        f"{statistics.fmean(netems(module, loss, draws)) / 1e6:.3f}",
        f"{statistics.fmean(own(module, loss, draws)) / 1e6:.3f}",
        ratio(other_losses(module, loss, draws)),
    ]


def together(module: str) -> Contrast:
    """A controller over all its losses, pair by pair."""
    return same_losses(pair for name, loss in records.cells() if name == module for pair in pairs(name, loss))


def modules() -> list[str]:
    """Those that were recorded, by Linux's names."""
    return list(dict.fromkeys(module for module, _ in records.cells()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; 0 even where runs differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="Linux's name of a controller; may be repeated")
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"other patterns of losses; {DRAWS} by default")
    options = parser.parse_args(arguments)
    if unknown := set(options.only) - set(modules()):
        raise SystemExit(f"random_loss: no records of {', '.join(sorted(unknown))}; known: {', '.join(modules())}")
    if options.draws < 2:
        raise SystemExit("random_loss: --draws: an interval needs two patterns or more")
    widths = (11, 8, 10, 15, 19, 26, 7, 29, 23, 15, 26)
    print("".join(f"{title:>{width}}" for title, width in zip(HEAD, widths, strict=True)))
    for module, loss in records.cells():
        if not options.only or module in options.only:
            cells = row(module, loss, options.draws)
            print("".join(f"{text:>{width}}" for text, width in zip(cells, widths, strict=True)), flush=True)
    for module in modules():
        if not options.only or module in options.only:
            print(f"{module}, all losses, same losses: {ratio(together(module))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
