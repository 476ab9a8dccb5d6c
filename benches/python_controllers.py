"""What a controller in Python costs: CPU per acknowledgment beyond the engine's own, in turns in one process.

One flow at 1 Gbit/s over 20 ms, the standard `one-flow`. Both controllers decide alike, so both runs have the same
packets, which is checked; what differs is where the law is computed. The divisor is the number of acknowledgments for
which the engine called the Python object, counted in a run of its own by the object's own methods. Each round is
the engine's, Python's, the engine's again: Python's is compared with the mean of the two, and the two with each other,
which says what a difference on this machine is worth.

    .venv/bin/python benches/python_controllers.py [--rounds N] [--duration SECONDS] [NAME ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ackclock
from ackclock import reference
from bench import STANDARDS, Spread, host_facts, short

SCENARIO = STANDARDS[0].path

BUSY = 0.25
"""Load per core above which the times are said to come from a busy machine."""


class ByteReno(ackclock.CongestionControl):
    """Reno as a controller that decides everything: a call for every acknowledgment, slow start included."""

    def on_ack(self, cx: ackclock.Cx, ack: ackclock.Ack) -> None:
        """RFC 5681 §3.1 with RFC 3465's count of bytes."""
        if not ack.window_limited:
            return
        acked: float = ack.delivered
        if self.cwnd < self.ssthresh:
            grown = min(acked, cx.mss, self.ssthresh - self.cwnd)
            self.cwnd += grown
            acked = min(acked, cx.mss) - grown
        if self.cwnd >= self.ssthresh:
            self.cwnd += acked * cx.mss / self.cwnd

    def on_congestion(self, cx: ackclock.Cx, signal: ackclock.Signal) -> None:
        """RFC 5681 equation 4."""
        if not signal.repeated:
            self.ssthresh = max(min(signal.flight, self.cwnd) / 2, 2 * cx.mss)
        self.cwnd = cx.mss if signal.kind == "timeout" else self.ssthresh


PAIRS: dict[str, tuple[str, type[Any]]] = {
    "reno": ("reno", reference.Reno),
    "reno, all of it": ("reno", ByteReno),
    "cubic": ("cubic", reference.Cubic),
    "highspeed": ("highspeed", reference.HighSpeed),
    "vegas": ("vegas", reference.Vegas),
    "westwood+": ("westwood+", reference.WestwoodPlus),
}
"""The engine's own, and what decides the same in Python."""


@dataclass(frozen=True)
class Row:
    """One pair. Times are µs of CPU per acknowledgment that Python handled."""

    name: str
    acks: int
    handled: int
    calls: int
    rust: Spread
    more: Spread
    again: Spread

    def cells(self) -> tuple[str, ...]:
        """As the table shows it."""
        per_ack = self.calls / self.handled
        counts = (f"{self.acks}", f"{self.handled}", f"{per_ack:.2f}")
        return (self.name, *counts, short(self.rust.median), difference(self.more), difference(self.again))


def difference(of: Spread) -> str:
    """Median and range of what may be negative."""
    return f"{of.median:+.2f} ({of.least:+.2f} to {of.most:+.2f})"


HEADINGS = ("controller", "acks", "handled", "calls each", "run in Rust", "Python - Rust", "Rust - Rust")


def play(cc: str | type[Any], duration_s: float) -> tuple[ackclock.Result, float]:
    """A run, and its CPU time."""
    before = time.process_time()
    result = ackclock.run(SCENARIO, set={"cc": cc, "run.duration": f"{duration_s:g} s"}, jobs=1)
    return result, time.process_time() - before


def counting(base: type[Any], calls: Counter[str]) -> type[Any]:
    """The same controller, which counts what it is called for."""

    def counted(name: str) -> Any:
        method = getattr(base, name)

        def call(self: Any, *arguments: Any) -> Any:
            calls[name] += 1
            return method(self, *arguments)

        return call

    names = ("observe", "slow_start", "grow", "on_ack")
    present = [n for n in names if hasattr(base, n) and not hasattr(getattr(base, n), "does_nothing")]
    return type(base.__name__, (base,), {name: counted(name) for name in present})


def handled(calls: Counter[str]) -> int:
    """Acknowledgments that the object saw: all when it observes, else those for which the window may move."""
    return calls["observe"] or calls["slow_start"] + calls["grow"] + calls["on_ack"]


def same(ours: ackclock.Result, theirs: ackclock.Result) -> bool:
    """Whether two runs had the same packets."""
    pairs = ((ours.flows, theirs.flows), (ours.links, theirs.links))
    return all(a.drop("cc", strict=False).equals(b.drop("cc", strict=False)) for a, b in pairs)


def measure(name: str, duration_s: float, rounds: int) -> Row:
    """Both of a pair, in turns."""
    rust, python = PAIRS[name]
    calls: Counter[str] = Counter()
    counted, _ = play(counting(python, calls), duration_s)
    own, _ = play(rust, duration_s)
    if not same(counted, own):
        sys.exit(f"python_controllers: {name}: the two do not decide alike, their times cannot be compared")
    acks, seen = int(own.flows["acks"].sum()), handled(calls)
    if calls["observe"] not in (0, acks):
        sys.exit(f"python_controllers: {name}: {calls['observe']} acknowledgments observed of {acks}")
    if not seen:
        sys.exit(f"python_controllers: {name}: no acknowledgment in {duration_s:g} s got as far as the controller")
    costs, more, again = [], [], []
    for _ in range(rounds):
        first, other, second = (play(cc, duration_s)[1] * 1e6 / seen for cc in (rust, python, rust))
        costs.append((first + second) / 2)
        more.append(other - costs[-1])
        again.append(second - first)
    return Row(name, acks, seen, calls.total(), Spread.of(costs), Spread.of(more), Spread.of(again))


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a row per pair."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("controllers", nargs="*", metavar="NAME", help=f"of: {'; '.join(PAIRS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each pair (default 7)")
    parser.add_argument("--duration", type=float, default=10, help="seconds simulated (default 10)")
    asked = parser.parse_args(arguments)
    if unknown := [name for name in asked.controllers if name not in PAIRS]:
        parser.error(f"there is no '{unknown[0]}'; there is: {'; '.join(PAIRS)}")
    if asked.rounds < 1 or asked.duration <= 0:
        parser.error("--rounds is at least 1, --duration more than 0")
    host = host_facts([])
    print(f"{host['cpu']}, {host['cores']} cores, Python {host['python']}, load {host['load_before']}")
    if host["load_before"] > BUSY * host["cores"]:
        print("the machine is busy: what follows is not worth writing down")
    # What is loaded at first use does not belong to the first round.
    play("reno", 1e-6)
    rows = [HEADINGS, *(measure(n, asked.duration, asked.rounds).cells() for n in asked.controllers or PAIRS)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(f"µs of CPU (user and system) per acknowledgment handled: median (least to most) of {asked.rounds} rounds")


if __name__ == "__main__":
    main()
