"""Whether the figures of a capture are those of the run that it is of: row by row of the table `flows`.

The simulator counts at both ends of each flow, where its captures are taken: what a sender counts has to be equal at
`flows.ID.source`, what a receiver counts at `flows.ID.sink`. What no header tells is listed in docs/pcap.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

SENT = ("sent_bytes", "retransmitted_bytes", "acks", "dup_acks")
"""What a sender counts."""
SEGMENTS = ("sent_segments", "retransmitted_segments")
TIMER = ("timeouts", "tlp_probes")
"""What looks alike where nothing else is out."""
RTT = ("min_rtt_s", "mean_rtt_s", "max_rtt_s")
TICK_S = 1e-3
"""Of the clock of timestamps: who goes by what they echo measures in its ticks, whose begin no header shows."""
_EXACT = 2e-9
"""Both engines count nanoseconds; seconds in floating point."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a flow: what it was, what the capture says, and how far these may be apart, below and above."""

    id: str
    place: str
    name: str
    was: float | None
    said: float | None
    below: float = 0.0
    above: float = 0.0

    @property
    def agrees(self) -> bool:
        """Whether both are the same, as far as that can be known."""
        if self.was is None or self.said is None:
            return self.was is self.said
        return -self.below <= self.said - self.was <= self.above

    def __str__(self) -> str:
        return f"{self.place} {self.name}: said to be {self.said}, was {self.was}"


def compared(flows: pl.DataFrame, seen: pl.DataFrame, probes: Mapping[str, int]) -> Iterator[Figure]:
    """The figures of a run beside those of its capture, of flows of TCP that were captured at their ends.

    `flows` is the table of a run without warm-up; `seen` that of the capture, with `place`, the name of the interface,
    and `of_source`, whether the row is of the data of the flow's source; `probes` says how many tail loss probes each
    flow sent that repeated data.
    """
    for row in flows.filter(pl.col("cc") != "none").iter_rows(named=True):
        source, sink = (_of(seen, row["id"], end) for end in ("source", "sink"))
        if source is not None:
            yield from _at_the_source(row, source, probes.get(row["id"], 0))
        if sink is not None:
            yield from _at_the_sink(row, sink)
        if source is not None and sink is not None and source.height == sink.height == 1:
            yield from _from_end_to_end(row, source, sink)


def _of(seen: pl.DataFrame, flow: str, end: str) -> pl.DataFrame | None:
    """The rows of the data of a flow at one of its ends; nothing if nobody looked there."""
    here = seen.filter(pl.col("place") == f"flows.{flow}.{end}")
    return here.filter("of_source") if here.height else None


def _at_the_source(row: Mapping[str, Any], source: pl.DataFrame, probes: int) -> Iterator[Figure]:
    flow, place = row["id"], f"flows.{row['id']}.source"
    total = {name: int(source[name].sum()) for name in (*SENT, *SEGMENTS, *TIMER, *_DOUBTS, "recoveries")}
    for name in SENT:
        if name == "dup_acks" and row["cc"] == _BLIND and source["sack"].any():
            continue
        # One that forgets SACK information at a timeout (RFC 2018 §8) takes for new what is reported again.
        again = int(source["pure_acks"].sum()) if name == "dup_acks" and row["timeouts"] else 0
        yield Figure(flow, place, name, row[name], total[name], below=again)
    # A sender that has closed a connection takes no report of it any more.
    late = source.filter("completed").height
    yield Figure(flow, place, "dsacks", row["dsacks"], int(source["dsacks"].sum()), above=late)
    for name in SEGMENTS:
        # One that is larger than a segment of the connection, the second of a packet pair, looks like several.
        yield Figure(flow, place, name, row[name], total[name], above=_MOST_SEGMENTS * total["super_packets"])
    yield Figure(flow, place, "packets", row["sent_segments"], int(source["packets"].sum()))
    # Whether its sender takes back what was needless, so that it is not repairing any more, is a matter of its options.
    # A timeout may repeat a FIN, which is no data.
    unsure = total["ambiguous"] + total["spurious_segments"] + total["fin_retransmissions"]
    for name, was in zip(TIMER, (row["timeouts"], probes), strict=True):
        yield Figure(flow, place, name, was, total[name], unsure, unsure)
    # So it is with timeouts that F-RTO tells to be needless.
    taken_back = unsure + total["timeouts"]
    yield Figure(flow, place, "recoveries", row["recoveries"], total["recoveries"], taken_back, taken_back)
    # What is acknowledged may be less than what has come; of a transfer that is over it is all.
    missing = 0 if source["completed"].all() else float("inf")
    yield Figure(flow, place, "goodput_bytes", row["goodput_bytes"], int(source["goodput_bytes"].sum()), missing)
    yield from _round_trips(row, source, place)


_DOUBTS = ("ambiguous", "spurious_segments", "super_packets", "fin_retransmissions")
_MOST_SEGMENTS = 64
_BLIND = "tahoe"
"""The controller that leaves no recovery to the endpoint: it agrees on SACK and counts duplicates without it."""


def _round_trips(row: Mapping[str, Any], source: pl.DataFrame, place: str) -> Iterator[Figure]:
    if source["syn_retransmissions"].sum():
        return  # Whether its sender times a SYN that it repeated is a matter of options (RFC 6298 §5.7; Linux does).
    within = _EXACT + (TICK_S if row["retransmitted_segments"] else 0)
    samples = int(source["rtt_samples"].sum())
    mean = float((source["mean_rtt_s"] * source["rtt_samples"]).sum()) / samples if samples else None
    for name, said in zip(RTT, (source["min_rtt_s"].min(), mean, source["max_rtt_s"].max()), strict=True):
        yield Figure(row["id"], place, name, row[name], _number(said), within, within)


def _at_the_sink(row: Mapping[str, Any], sink: pl.DataFrame) -> Iterator[Figure]:
    place = f"flows.{row['id']}.sink"
    # What is overtaken by a newer timestamp is refused (RFC 7323 §5), and has not come again as the run ends.
    refused = float("inf") if sink["reordered_segments"].sum() else 0
    yield Figure(
        row["id"], place, "goodput_bytes", row["goodput_bytes"], int(sink["goodput_bytes"].sum()), above=refused
    )
    # Copies that the network makes of marked ones count in the run.
    marked, copies = int(sink["marked_segments"].sum()), int(sink["duplicate_packets"].sum())
    yield Figure(row["id"], place, "marked_segments", row["marked_segments"], marked, below=copies)


def _from_end_to_end(row: Mapping[str, Any], source: pl.DataFrame, sink: pl.DataFrame) -> Iterator[Figure]:
    """From where the connection was opened to where its last byte came."""
    place = f"flows.{row['id']}"
    opened, end = (source if source["initiator"][0] else sink)["start_s"][0], _number(sink["end_s"][0])
    if row["app"] != "web":  # A page's connections are opened when the page is begun.
        yield Figure(row["id"], place, "start_s", row["start_s"], _number(opened), _EXACT, _EXACT)
    if row["completed"]:
        # The run's is that of the whole stream: the arrival of FIN, where this came alone.
        alone = max(0.0, (_number(sink["last_s"][0]) or 0.0) - (end or 0.0))
        said = None if end is None else end - opened
        yield Figure(row["id"], place, "fct_s", row["fct_s"], said, alone + _EXACT, _EXACT)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
