"""The recorded captures of a real kernel with its own account, and what the analysis says of the same packets.

The records are described in conformance/captures/kernel/README.md.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import ackclock

RECORDS = Path(__file__).parent / "captures" / "kernel"
SENDER, MIDDLE, RECEIVER = "sender", "middle", "receiver"
TIMER = ("rto", "tlp")
"""Causes that look alike where nothing else is out: `ambiguous` counts them."""
AGAIN = ("retransmission", "partial")


def names(folder: Path = RECORDS) -> list[str]:
    """Every recorded path."""
    return sorted(path.name.removesuffix(".json") for path in folder.glob("*.json"))


def places(name: str, folder: Path = RECORDS) -> list[str]:
    """Where the path was captured."""
    return [place for place in (SENDER, MIDDLE, RECEIVER) if capture(name, place, folder).exists()]


def capture(name: str, place: str, folder: Path = RECORDS) -> Path:
    """The file of a capture."""
    return folder / f"{name}.{place}.pcap.gz"


@cache
def truth(name: str, folder: Path = RECORDS) -> Mapping[str, Any]:
    """What the kernel says of a path."""
    document: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return document


@cache
def paths() -> Mapping[str, Any]:
    """How each path was made."""
    return tomllib.loads((RECORDS / "paths.toml").read_text())


@dataclass(frozen=True, slots=True)
class Analysed:
    """What the analysis says: the rows of what the sender of a path sends, and the packets of these."""

    flows: pl.DataFrame
    events: pl.DataFrame

    def total(self, column: str) -> int:
        """The sum of a column of `flows`."""
        return int(self.flows[column].sum())


@cache
def analysed(name: str, place: str, folder: Path = RECORDS) -> Analysed:
    """A capture, analysed now."""
    result = ackclock.pcap(capture(name, place, folder), events=True)
    ports = [connection["port"] for connection in truth(name, folder)["connections"]]
    flows = result.flows.filter((pl.col("src") == "10.7.0.2") & pl.col("sport").is_in(ports))
    events = result.events
    assert events is not None
    return Analysed(flows, events.filter(pl.col("id").is_in(flows["id"].to_list())))


@dataclass(frozen=True, slots=True)
class Causes:
    """Packets that were sent again, one by one, as the kernel says and as the analysis does."""

    packets: int
    """That were sent again."""
    found: int
    """Of these, told as such."""
    invented: tuple[int, ...]
    """Said to be sent again, which they were not."""
    right: int
    """Of those found, with the kernel's cause, or one that looks alike."""
    wrong: tuple[tuple[int, str, str], ...]
    """The others: number, the analysis, the kernel."""


def causes(name: str, folder: Path = RECORDS) -> Causes:
    """Packet by packet, at the sender."""
    own = analysed(name, SENDER, folder)
    was = {n: cause for cause, numbers in truth(name, folder)["retransmissions"].items() for n in numbers}
    told = own.events.filter(pl.col("kind").cast(pl.String).is_in(AGAIN))
    said = dict(zip(told["packet"].to_list(), told["cause"].cast(pl.String).to_list(), strict=True))
    alike, right = own.total("ambiguous"), 0
    wrong: list[tuple[int, str, str]] = []
    for number, cause in sorted(was.items()):
        ours = said.get(number)
        if ours == cause:
            right += 1
        elif {ours, cause} == set(TIMER) and alike > 0:
            alike -= 1
            right += 1
        else:
            wrong.append((number, str(ours), cause))
    found = len(was.keys() & said.keys())
    return Causes(len(was), found, tuple(sorted(said.keys() - was.keys())), right, tuple(wrong))


def needless(name: str, place: str = SENDER, folder: Path = RECORDS) -> tuple[set[int], set[int]]:
    """Packets that are said to have been sent again in vain, and those that were."""
    told = analysed(name, place, folder).events.filter(pl.col("kind") == "spurious")
    return set(told["packet"].to_list()), set(truth(name, folder)["needless"])
