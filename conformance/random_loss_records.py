"""Recorded kernel runs with random losses, and the same runs here: with the kernel's own losses, and with other ones.

The records are described in conformance/kernel/random-loss/README.md. Linux's netem draws a number per packet from a
generator whose seed is given, so which packets were lost follows from the seed, and ours can lose the same ones.
"""

from __future__ import annotations

import csv
import functools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import kernel_records

Numbers = np.ndarray[Any, np.dtype[np.uint32]]

RECORDS = Path(__file__).parent / "kernel" / "random-loss" / "runs.csv"

PATH: Mapping[str, Any] = {
    "rate_bps": 20_000_000,
    "fwd_delay_ms": 20,
    "queue_pkts": 66,
    "frame_bytes": 1514,
    "duration": 30,
}
"""The path of all runs: 20 Mbit/s, 40 ms, a queue of one BDP, 30 s."""
ACK_DELAY_MS = 20

BEFORE_DATA = 2
"""Packets that pass the loss before the first data segment: SYN and the handshake's acknowledgment."""

MOST_PACKETS = 60_000
"""More than the path carries in a run: 30 s at 20 Mbit/s are 49,538 full packets."""

_WORD = 0xFFFFFFFF
_STEPS = ((6, 13, 0xFFFFFFFE, 18), (2, 27, 0xFFFFFFF8, 2), (13, 21, 0xFFFFFFF0, 7), (3, 12, 0xFFFFFF80, 13))
"""Of the four shift registers of lfsr113: P. L'Ecuyer, Tables of maximally equidistributed combined LFSR generators,
Mathematics of Computation 68, 1999. Linux seeds them as in :func:`draws`."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run of the kernel."""

    module: str
    """Linux's name of the controller."""
    loss: float
    """Probability that a packet is lost."""
    seed: int
    """Of netem's generator."""
    goodput_bps: float
    """What the receiver read, over the whole run."""
    retransmissions: int
    sent: int
    """Packets that netem let pass, SYN and acknowledgments included."""
    lost: int
    """Those that it lost."""


@functools.cache
def records() -> tuple[Recorded, ...]:
    """All of them, in the file's order."""
    with RECORDS.open(newline="", encoding="utf-8") as file:
        return tuple(
            Recorded(
                row["module"],
                float(row["loss"]),
                int(row["seed"]),
                float(row["goodput_bps"]),
                int(row["retransmissions"]),
                int(row["sent"]),
                int(row["lost"]),
            )
            for row in csv.DictReader(file)
        )


def cells() -> list[tuple[str, float]]:
    """Modules and losses that were recorded, in the file's order."""
    return list(dict.fromkeys((run.module, run.loss) for run in records()))


def of(module: str, loss: float) -> list[Recorded]:
    """The runs of a cell."""
    return [run for run in records() if (run.module, run.loss) == (module, loss)]


def draws(seeds: Sequence[int], count: int) -> Numbers:
    """The first `count` numbers of Linux's `prandom_u32_state` for each seed: a row of them per seed."""
    folded = [((seed >> 32) ^ (seed << 10) ^ seed) & _WORD for seed in seeds]
    # Each register must begin above a least value, or it would stay 0.
    parts = [
        np.array([word + least if word < least else word for word in folded], dtype=np.uint32)
        for least in (2, 8, 16, 128)
    ]
    found = np.empty((count, len(folded)), dtype=np.uint32)
    for row in found:
        for at, (left, right, mask, up) in enumerate(_STEPS):
            state = parts[at]
            parts[at] = ((state & np.uint32(mask)) << np.uint32(up)) ^ (
                ((state << np.uint32(left)) ^ state) >> np.uint32(right)
            )
        row[:] = parts[0] ^ parts[1] ^ parts[2] ^ parts[3]
    return found.T


@functools.cache
def _drawn() -> Mapping[int, Numbers]:
    seeds = sorted({run.seed for run in records()})
    return dict(zip(seeds, draws(seeds, MOST_PACKETS), strict=True))


def lost_packets(seed: int, loss: float) -> list[int]:
    """Which packets netem loses with the seed of a record, counted from 1."""
    return _lost(_drawn()[seed], loss)


def _lost(numbers: Numbers, loss: float) -> list[int]:
    """Those whose number is at most the probability's share of 2^32 - 1."""
    return [int(number) for number in np.flatnonzero(numbers <= np.uint32(round(loss * _WORD))) + 1]


@functools.cache
def other_seeds(count: int) -> list[int]:
    """Seeds of netem's generator with which nothing was recorded."""
    generator = random.Random(2)  # noqa: S311 - losses, not secrets
    return [generator.getrandbits(64) for _ in range(count)]


@functools.cache
def _other_draws(count: int) -> Numbers:
    return draws(other_seeds(count), MOST_PACKETS)


def _document(module: str, loss: Mapping[str, Any], seed: int) -> dict[str, Any]:
    flow = {"cc": module, "start": 0, "ack_delay_ms": ACK_DELAY_MS}
    document = kernel_records.resolved({"scenario": PATH, "flows": [flow]}, seed)
    document["links"][0]["loss"] = dict(loss)
    return document


def replayed(run: Recorded) -> dict[str, Any]:
    """The run with the losses of a recorded one."""
    return _scripted(run.module, lost_packets(run.seed, run.loss))


def _scripted(module: str, lost: Sequence[int]) -> dict[str, Any]:
    # The engine counts data segments.
    drops = [{"flow": "0", "nth": number - BEFORE_DATA} for number in lost if number > BEFORE_DATA]
    return _document(module, {"kind": "scripted", "drops": drops}, 1)


def others(module: str, loss: float, count: int) -> Iterator[dict[str, Any]]:
    """The run with so many other patterns of netem's generator."""
    return (_scripted(module, _lost(numbers, loss)) for numbers in _other_draws(count))


def drawn(module: str, loss: float, seed: int) -> dict[str, Any]:
    """The run with losses of the engine's own drawing."""
    return _document(module, {"kind": "bernoulli", "p": loss}, seed)
