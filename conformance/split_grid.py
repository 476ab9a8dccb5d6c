#!/usr/bin/env python3
"""The model that `ackclock advise split` answers by, beside the simulator, on paths drawn at random.

    .venv/bin/python conformance/split_grid.py --points 60        # what it is worth on the first 60 paths
    .venv/bin/python conformance/split_grid.py --write            # all 1000 into conformance/split/grid.csv
    .venv/bin/python conformance/split_grid.py --write --opening accepted    # with a proxy that opens as programs do

A path has a core and an access part with a proxy between them. Drawn are their round trips (4 to 200 ms each, by their
logarithms), rates, random losses, the client's window, the proxy's buffer, its initial window, the length of queues and
the size of the download. A time in the table is the geometric mean of 32 runs where something is lost, and that of one
run elsewhere.
"""

from __future__ import annotations

import argparse
import csv
import functools
import math
import multiprocessing
import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path as File
from typing import get_args

import ackclock
from ackclock.advice.path import Path, Piece, Proxy
from ackclock.models import split
from ackclock.models.split import Opening
from ackclock.scenario.traffic.route import NO_RELAY

TABLES: dict[Opening, File] = {
    "transparent": File(__file__).parent / "split" / "grid.csv",
    "accepted": File(__file__).parent / "split" / "grid-accepted.csv",
}
"""Those that are kept, by when the proxy asks the server."""
POINTS = 1000
SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
REPLICATIONS = 32
NEAR, WORTH = 0.15, split.WORTH


@dataclass(frozen=True, slots=True)
class Row:
    """A path, the size of a download, and its seconds without and with the proxy: by the model, and in runs."""

    point: int
    rtt_core_ms: float
    rtt_access_ms: float
    rate_core_mbps: float
    rate_access_mbps: float
    loss_core: float
    loss_access: float
    window: int
    buffer: int
    iw_proxy: int
    queue_bdp: int
    size: int
    model_off_s: float
    model_on_s: float
    played_off_s: float
    played_on_s: float

    @property
    def errors(self) -> tuple[float, float]:
        """How far the model's throughputs are from those of the runs, as a share of these."""
        return self.played_off_s / self.model_off_s - 1, self.played_on_s / self.model_on_s - 1

    @property
    def gains(self) -> tuple[float, float]:
        """By the model and in runs."""
        return self.model_off_s / self.model_on_s - 1, self.played_off_s / self.played_on_s - 1

    @property
    def lossy(self) -> bool:
        """Whether something is lost at random."""
        return bool(self.loss_core or self.loss_access)


@dataclass(frozen=True, slots=True)
class Found:
    """What the model is worth: the shares of throughputs that are near and of signs that are right, and of how many."""

    points: int
    near: float
    asked: int
    right: float
    claimed: int
    kept: float
    """Of the paths on which the model promises a gain above 10 %, the share on which there is one above 0."""


def drawn(point: int) -> tuple[Path, int]:
    """A path and the size of a download, by their number."""
    rng = random.Random(f"split {point}")  # noqa: S311
    core, access = (round(math.exp(rng.uniform(math.log(4), math.log(200)))) for _ in range(2))
    rates = rng.choice([math.inf, 100e6, 1e9]), rng.choice([2, 5, 10, 20, 50, 100]) * 1e6
    losses = [rng.choice([0.0, 0.0, 0.0, 1e-4, 1e-3, 5e-3]) for _ in range(2)]
    window = rng.choice([65_536, 147_456, 500_000, 4_000_000])
    proxy = Proxy(rng.choice([200_000, 1_000_000, 4_000_000]), initial=rng.choice([10, 10, 32]))
    queue = rng.choice([1, 2])
    pieces = Piece(core / 1e3, rates[0], losses[0]), Piece(access / 1e3, rates[1], losses[1])
    size = rng.choice(SIZES)
    return Path(pieces, {"border": 1}, window, 10, queue, "cubic", proxy), size


def row(point: int, replications: int = REPLICATIONS, opening: Opening = "transparent") -> Row:
    """A path by the model and in runs."""
    path, size = drawn(point)
    path = replace(path, proxy=replace(path.proxy, opening=opening))
    core, access = path.pieces
    source, sink = path.legs("border")
    lossy = bool(core.loss or access.loss)
    found = ackclock.run(path.scenario([size], replications if lossy else 1), jobs=1).transfers
    off, on = (found.filter(found["relay"] == name)["fct_s"].log().mean() for name in (NO_RELAY, "at-1"))
    times = (
        split.download_time(size, path.whole()),
        split.split_download_time(size, source, sink, path.proxy.buffer, opening),
        math.exp(float(str(off))),
        math.exp(float(str(on))),
    )
    return Row(
        point, 1e3 * core.rtt, 1e3 * access.rtt, core.rate / 1e6, access.rate / 1e6, core.loss, access.loss,
        path.window, path.proxy.buffer, path.proxy.initial, int(path.queue), size,
        *(round(time, 6) for time in times),
    )  # fmt: skip


def rows(
    points: Iterable[int], jobs: int = 1, replications: int = REPLICATIONS, opening: Opening = "transparent"
) -> list[Row]:
    """Paths by their numbers."""
    if jobs == 1:
        return [row(point, replications, opening) for point in points]
    with multiprocessing.Pool(jobs) as pool:
        return pool.starmap(row, [(point, replications, opening) for point in points], chunksize=5)


def worth(found: Sequence[Row]) -> Found:
    """What the model is worth on these paths."""
    errors = [abs(error) for each in found for error in each.errors]
    asked = [each.gains for each in found if abs(each.gains[1]) > WORTH]
    claimed = [each.gains for each in found if each.gains[0] > WORTH]
    return Found(
        len(found),
        sum(error <= NEAR for error in errors) / len(errors),
        len(asked),
        sum((model > 0) == (played > 0) for model, played in asked) / max(1, len(asked)),
        len(claimed),
        sum(played > 0 for _, played in claimed) / max(1, len(claimed)),
    )


@functools.cache
def table(opening: Opening = "transparent") -> list[Row]:
    """The table that is kept."""
    kinds = {field.name: {"int": int, "float": float}[str(field.type)] for field in fields(Row)}
    with TABLES[opening].open(newline="", encoding="utf-8") as file:
        return [Row(**{name: kinds[name](value) for name, value in line.items()}) for line in csv.DictReader(file)]


def main() -> None:
    """Play paths, write them if asked to, and print what the model is worth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--write", action="store_true", help="write it into the table that is kept")
    parser.add_argument("--kept", action="store_true", help="play nothing: of the table that is kept")
    parser.add_argument("--opening", default="transparent", choices=get_args(Opening))
    asked = parser.parse_args()
    if (asked.kept or asked.write) and asked.opening not in TABLES:
        parser.error(f"there is no table of {asked.opening}")
    found = table(asked.opening) if asked.kept else rows(range(asked.points), asked.jobs, opening=asked.opening)
    if asked.write:
        with TABLES[asked.opening].open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(each) for each in found)
    parts = {
        "all": found,
        "without losses": [each for each in found if not each.lossy],
        "with losses": [each for each in found if each.lossy],
        **{
            f"{size / 1e6:g} MB": [each for each in found if each.size == size]
            for size in sorted({each.size for each in found})
        },
    }
    print("paths             points  within 15 %  gains above 10 %  sign right  promised  kept")
    for name, part in parts.items():
        got = worth(part)
        print(f"{name:16} {got.points:7} {100 * got.near:11.1f}% {got.asked:17} {100 * got.right:10.1f}% "
              f"{got.claimed:9} {100 * got.kept:5.1f}%")  # fmt: skip


if __name__ == "__main__":
    main()
