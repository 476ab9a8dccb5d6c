"""The tables of docs/validation.md about the paths that were drawn at random."""

from __future__ import annotations

import drawn
from drawn_paths import MODULES, paths
from generate import table
from kernel_records import CONTROLLERS
from validation_kernel import percent

_NAMES = [f"`{CONTROLLERS[module]}`" for module in MODULES]


def agreement() -> str:
    """How many cells agree."""
    keys = drawn.keys()
    single = [key for key in keys if key[2] == 1]
    agree, plain = sum(map(drawn.agrees, keys)), sum(map(drawn.close, keys))
    exact = f"**{sum(map(drawn.exact, single))} of {len(single)}** flows alone have the kernel's goodput within 0.1 %."
    starts = (
        f"Over several starts {plain} of {len(keys)}\ncells agree within 5 % and 10 %; {agree - plain} more cannot be"
    )
    fine = sum(drawn.same(drawn.fine(key)) for key in single)
    clock = f"With a clock of 1 ns in the\nrecorder, and departures first here, {fine} of {len(single)} flows alone do."
    return f"{exact} {starts} told from the kernel's. {clock}"


def alone() -> str:
    """A flow alone, started at 0: `exact`, or how far off, over several starts, and with a clock of 1 ns."""

    def text(key: drawn.Key) -> str:
        if drawn.exact(key):
            return "exact"
        mine, theirs = drawn.alone(key)
        first = percent(mine.goodput_bps / theirs.goodput_bps - 1)
        mean = next(item for item in drawn.compared(key) if item.name == "goodput")
        noise = "" if mean.close else f", noise {100 * mean.noise:.0f} %" if mean.agrees else ", differs"
        mine, theirs = drawn.fine(key)
        fine = "exact" if drawn.same((mine, theirs)) else percent(mine.goodput_bps / theirs.goodput_bps - 1)
        return f"{first}; starts: {percent(mean.difference)}{noise}; 1 ns: {fine}"

    rows = []
    for path in paths():
        size = f"{path.queue} ({path.queue / path.bdp:.2f} BDP)"
        cells = [text((path.number, module, 1)) for module in MODULES]
        rows.append([str(path.number), f"{path.rate_mbit:g}", f"{path.rtt_ms:g}", size, *cells])
    return table(["path", "rate, Mbit/s", "RTT, ms", "queue, packets", *_NAMES], rows)


def pairs() -> str:
    """Two flows: goodput of both together, and the larger difference of one of them with its noise."""

    def text(key: drawn.Key) -> str:
        found = {item.name: item for item in drawn.compared(key)}
        flows = [item for name, item in found.items() if name.startswith("goodput, flow")]
        worst = max(flows, key=lambda item: abs(item.difference))
        noise = f", noise {100 * worst.noise:.0f} %" if worst.noise else ""
        verdict = "" if drawn.agrees(key) else ", **differs**"
        return f"{percent(found['goodput'].difference)}; {percent(worst.difference, 0)}{noise}{verdict}"

    rows = ([str(path.number), *(text((path.number, module, 2)) for module in MODULES)] for path in paths())
    return table(["path", *_NAMES], rows)
