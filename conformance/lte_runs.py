"""Recorded runs of ns-3's LTE cell with known users and pages, and ours with the same: conformance/ns3/lte."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import ackclock
from session_cache import session_cache

FOLDER = Path(__file__).resolve().parent / "ns3" / "lte"

NAMES = tuple(sorted(path.stem for path in FOLDER.glob("web-*.json")))
"""Every recorded run of pages: number of users, seed, RLC; `decoded` where control channels never fail."""


@dataclass(frozen=True)
class User:
    """What one user got. Blocks are transport blocks of the downlink, with retransmissions."""

    sinr_db: float
    mcs: int
    blocks: int
    up_blocks: int
    undecoded: int
    """Blocks whose announcement did not reach the user. Ours: none."""
    without_data: int
    """Blocks that bring a status report of RLC, or nothing. Ours: none."""


@dataclass(frozen=True)
class Load:
    """A page that was completed, or not."""

    user: int
    bytes: int
    start_s: float
    handshake_s: float
    seconds: float | None


@dataclass(frozen=True)
class Run:
    """One run of a cell."""

    rho: float
    retransmitted: int
    users: tuple[User, ...]
    pages: Mapping[tuple[int, int], Load]
    """By user and number of the page."""


@cache
def document(name: str) -> Mapping[str, Any]:
    """A record as it was written."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def sizes(name: str) -> dict[tuple[int, int], int]:
    """Bytes of every page that ns-3 was given, by user and number."""
    file = next(option for option in document(name)["command"] if option.startswith("--pages=")).split("=")[1]
    found: dict[tuple[int, int], int] = {}
    for line in (FOLDER / file).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            user, _, *objects = line.split(",")
            number = sum(1 for known, _ in found if known == int(user))
            found[int(user), number] = sum(map(int, objects))
    return found


@cache
def recorded(name: str) -> Run:
    """ns-3's run."""
    raw = document(name)
    users = tuple(
        User(
            user["sinr_db"],
            max((int(mcs) for mcs in user["mcs"]), key=lambda mcs: int(user["mcs"][str(mcs)]), default=0),
            user["blocks"],
            user["up_blocks"],
            user["blocks"] - user["blocks_received"] if "--control-errors=1" in raw["command"] else 0,
            user["blocks"] - user["retransmissions"] - user["rlc_pdus"] + user["short_pdus"],
        )
        for user in raw["users"]
    )
    bytes_of = sizes(name)
    pages = {
        (user, page): Load(user, bytes_of[user, page], start, connected - start, None if end is None else end - start)
        for user, page, start, connected, _, _, end in raw["pages"]
        if connected is not None
    }
    return Run(raw["summary"]["rho_rb"], raw["summary"]["retransmitted"], users, pages)


@session_cache
def played(name: str) -> Run:
    """Ours: what the record calls the nearest scenario."""
    result = ackclock.run(document(name)["ackclock"], jobs=1)
    users = tuple(
        User(row["sinr_db"], row["mcs"], row["blocks"] + row["retransmissions"], row["up_blocks"], 0, 0)
        for row in result.users.sort("user").iter_rows(named=True)
    )
    pages = result.pages.with_columns(pl.col("id").cast(pl.Int64)).filter(pl.col("handshake_s").is_not_null())
    loads = {
        (row["id"], row["page"]): Load(row["id"], row["bytes"], row["start_s"], row["handshake_s"], row["plt_s"])
        for row in pages.iter_rows(named=True)
    }
    return Run(result.cells["rho_rb"][0], int(result.flows["retransmitted_segments"].sum()), users, loads)


@cache
def saturated() -> tuple[Mapping[str, str], ...]:
    """Users that are sent more than they can receive: rows of the table."""
    with (FOLDER / "saturated.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


@cache
def switching() -> tuple[float, ...]:
    """The least SINR, dB, at which ns-3 reports each CQI from 1 on."""
    with (FOLDER / "switching.csv").open(newline="", encoding="utf-8") as file:
        return tuple(float(row["sinr_db"]) for row in csv.DictReader(file))


def other_scheme(name: str) -> list[int]:
    """Users who are served with another scheme here than in ns-3."""
    both = zip(played(name).users, recorded(name).users, strict=True)
    return [i for i, (mine, theirs) in enumerate(both) if theirs.blocks and mine.mcs != theirs.mcs]


def ratios(name: str, *, spared: bool = False) -> list[float]:
    """Load times of ours over ns-3's, of pages that both completed; `spared`: of users that lost no block there."""
    ours, theirs = played(name), recorded(name)
    return [
        mine.seconds / load.seconds
        for key, load in theirs.pages.items()
        if load.seconds is not None
        and (mine := ours.pages.get(key)) is not None
        and mine.seconds is not None
        and not (spared and theirs.users[load.user].undecoded)
    ]


@cache
def unknown_places() -> tuple[Mapping[str, str], ...]:
    """Runs of ns-3 with one placement and pages that were not kept: rows of the table."""
    with (FOLDER / "unknown-places.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))
