"""Whether an analysis says what really happened: packet by packet, beside what the simulator wrote into its captures,
and figure by figure beside the tables of the run.

The comments are those of docs/captures.md; the analysis does not read them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ackclock.errors import InputError
from ackclock.pcaps import analyse, figures, keep, views
from ackclock.pcaps.escaped import escaped
from ackclock.pcaps.figures import Figure
from ackclock.pcaps.inputs import STDIN, Input
from ackclock.pcaps.reading import Analysed, Options
from ackclock.results.result import Result

_AGAIN = ("retransmission", "partial")
_FIRST = ("new", "gap")
_CLASSES = (*_FIRST, *_AGAIN, "reordered", "duplicate_packet")
"""Classes of packets with data."""
_LISTED = 5
_TIMER = ("rto", "tlp")
"""Causes that look alike where nothing else is out."""
ELSEWHERE = 0.97
"""Share of packets sent again that has to be told as such elsewhere than at the sender."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A packet that is said to be something else than it was."""

    packet: int
    time_s: float
    id: str
    said: str
    was: str


@dataclass(frozen=True, slots=True)
class Place:
    """What the analysis says of the packets with data that passed an interface.

    `unseen` were sent again, but their first copies did not pass here: nobody could tell.
    """

    interface: str
    vantage: str | None
    packets: int
    again: int
    dropped: int
    agree: int
    unseen: int
    alike: int
    """Timeouts that look like tail loss probes, or the other way: they agree, up to what is said to be ambiguous."""
    causes: int
    """Of those sent again, that are told as such, those with the right cause."""
    told: int
    disagreements: tuple[Disagreement, ...]

    @property
    def agrees(self) -> bool:
        """Whether all is as it was; elsewhere than at the sender nearly all."""
        wrong = len(self.disagreements)
        if self.vantage == views.SENDER or not wrong:
            return not wrong
        return wrong <= (1 - ELSEWHERE) * max(1, self.again)


@dataclass(frozen=True, slots=True)
class Check:
    """A capture beside its truth."""

    file: str
    scenario: str
    places: tuple[Place, ...]
    figures: tuple[Figure, ...] = ()
    """Those of the run's tables beside the capture's; none without the tables."""
    truncated: str | None = None
    """Where and why it ends before its end, if it does: then only a part was checked."""

    @property
    def agrees(self) -> bool:
        """Whether every place and every figure agrees, of a capture that is whole."""
        return all(place.agrees for place in self.places) and not self.wrong and self.truncated is None

    @property
    def wrong(self) -> tuple[Figure, ...]:
        """The figures that do not agree."""
        return tuple(figure for figure in self.figures if not figure.agrees)

    def to_json(self) -> dict[str, Any]:
        """Everything, as the command line's ``--json`` prints it."""
        places = [
            {
                **{name: getattr(place, name) for name in Place.__slots__ if name != "disagreements"},
                "agrees": place.agrees,
                "disagreements": [
                    {name: getattr(each, name) for name in Disagreement.__slots__} for each in place.disagreements
                ],
            }
            for place in self.places
        ]
        told = [{name: getattr(each, name) for name in ("id", "place", "name", "was", "said")} for each in self.wrong]
        counted = {"figures": len(self.figures), "wrong": told} if self.figures else {}
        known = {"file": self.file, "scenario": self.scenario, "agrees": self.agrees, "truncated": self.truncated}
        return {**known, "places": places, **counted}

    def lines(self) -> Iterator[str]:
        """In words."""
        if self.truncated is not None:
            yield f"{self.file}: NOT whole, {self.truncated}; what follows is of what came before"
        else:
            yield f"{self.file}: {'as it was' if self.agrees else 'NOT as it was'}"
        for place in self.places:
            yield f"  {place.interface} ({place.vantage or 'no data'}): {_said(place)}"
            for each in place.disagreements[:_LISTED]:
                when = f"{each.time_s:.6f} s, flow {each.id}"
                yield f"    packet {each.packet} ({when}): said to be {each.said}, was {each.was}"
            if (more := len(place.disagreements) - _LISTED) > 0:
                yield f"    and {more} more"
        if self.figures:
            yield f"  {len(self.figures) - len(self.wrong)} of {len(self.figures)} figures of the run agree"
            yield from (f"    {each}" for each in self.wrong)


def _said(place: Place) -> str:
    parts = [
        f"{place.agree} of {place.packets} packets agree",
        f"{place.again} sent again",
        f"causes of {place.causes} of {place.told} right",
        f"{place.alike} probes or timeouts, which look alike" if place.alike else "",
        f"{place.unseen} whose first copies never came here" if place.unseen else "",
        f"{place.dropped} dropped behind it" if place.dropped else "",
    ]
    return ", ".join(part for part in parts if part)


def check(source: Input, options: Options | None = None, truth: Result | None = None) -> Check:
    """Analyse a capture of the simulator and hold it against its comments, and the tables of its run in `truth`.

    Raises :class:`InputError` for a capture that has no comments or no data of TCP, and a `truth` that is not of its
    run.
    """
    if source.path == STDIN:
        raise InputError("a check reads the capture twice", "give a file", source=STDIN)
    wanted = (options or Options()).but(series=False, events=True, as_sender=True)
    with tempfile.TemporaryDirectory(prefix="ackclock-") as scratch:
        folder = Path(scratch)
        kept = analyse.analysed([source], wanted, folder, truth=True)
        capture = kept.captures[0]
        if capture.known["truth"] is None:
            remedy = "give a capture that ackclock run --capture wrote"
            raise InputError("has no truth in its comments", remedy, source=source.name)
        flows = pl.concat(keep.flows_of(kept, capture))
        table = _told(kept, capture, Path(capture.folder, "truth.arrow"), flows).collect()
        needless = _needless(table)
        names = {entry["interface"]: entry["name"] or str(entry["interface"]) for entry in capture.known["interfaces"]}
        places = tuple(
            _place(names[number], own, needless, _ambiguous(flows, number))
            for number in sorted(names)
            if (own := table.filter(pl.col("interface") == number)).height
        )
        known = capture.known["truth"]
        beside = () if truth is None else tuple(_figures(_run(truth, known, source), flows, table, names))
    if not places and not beside:
        raise InputError("has no data of TCP to compare", "give a capture of flows over TCP", source=source.name)
    return Check(source.name, escaped(str(known.get("scenario", ""))), places, beside, capture.known["truncated"])


def _run(truth: Result, known: Mapping[str, Any], source: Input) -> pl.DataFrame:
    """The flows of the run that a capture is of."""
    seed, replication = known.get("seed"), known.get("run")
    of_it = (pl.col("seed") == seed) & (pl.col("replication") == replication)
    runs = truth.runs.filter(of_it)
    if runs.height != 1:
        found = "no run has" if not runs.height else f"{runs.height} runs have"
        problem = f"{found} the seed {seed} and replication {replication} of the capture"
        raise InputError(problem, "give the result of this run alone", source=source.name, key="truth")
    if (warmup := runs["warmup_s"][0]) > 0:
        problem = f"the run has a warm-up of {warmup:g} s, which its figures leave out and its capture does not"
        raise InputError(problem, 'play it without: --set run.warmup="0 s"', source=source.name, key="truth")
    return truth.flows.filter(of_it)


def _figures(
    truth: pl.DataFrame, flows: pl.DataFrame, table: pl.DataFrame, names: Mapping[int, str]
) -> Iterator[Figure]:
    """The figures of the run beside those of the capture."""
    place = pl.col("interface").replace_strict(names, return_dtype=pl.String)
    # Sources have odd addresses (docs/captures.md).
    seen = flows.with_columns(place.alias("place"), of_source=pl.col("src").str.contains("[13579bdf]$"))
    probes = table.filter(pl.col("rtx") == "tlp").join(seen.filter("of_source").select("id", "place"), on="id")
    counted = probes.group_by("place").len()
    sent = {name.split(".")[1]: number for name, number in counted.iter_rows() if name.endswith(".source")}
    yield from figures.compared(truth, seen.sort("connection", "id"), sent)


def _told(kept: keep.Kept, capture: Analysed, truth: Path, flows: pl.DataFrame) -> pl.LazyFrame:
    """A row per packet with data: what the analysis says of it, and what the comment does."""
    events = keep.rows_of("events", kept, capture)
    proved = events.filter(pl.col("kind") == "spurious").select("packet", pl.lit(value=True).alias("needless"))
    comment = pl.col("comment").str.json_decode(pl.Struct({"rtx": pl.String, "drop": pl.String, "copy": pl.Int64}))
    comments = pl.scan_ipc(truth).select("packet", comment.alias("comment")).unnest("comment")
    own = events.filter(pl.col("kind").cast(pl.String).is_in(_CLASSES) & (pl.col("bytes") > 0))
    return (
        own.select(
            "packet", "time_s", "id", pl.col("kind").cast(pl.String), "seq", "bytes", pl.col("cause").cast(pl.String)
        )
        .join(comments, on="packet", how="left")
        .join(proved.unique("packet"), on="packet", how="left")
        .join(flows.lazy().select("id", "interface", "vantage"), on="id", how="left")
        .sort("packet")
    )


def _ambiguous(flows: pl.DataFrame, interface: int) -> int:
    return int(flows.filter(pl.col("interface") == interface)["ambiguous"].sum())


def _place(name: str, table: pl.DataFrame, needless: Mapping[int, str], ambiguous: int) -> Place:
    """An interface, packet by packet."""
    sender = table.select(pl.col("vantage").eq_missing(views.SENDER).all()).item()
    vantage = (
        table.group_by("vantage").agg(pl.col("bytes").sum()).sort("bytes", "vantage", descending=True)["vantage"][0]
    )
    agree = unseen = alike = causes = told = 0
    wrong: list[Disagreement] = []
    for row in table.iter_rows(named=True):
        was, said = _was(row), row["kind"]
        right = said in _allowed(row)
        if right and row["rtx"] is not None and said in _FIRST:
            unseen += 1
        elif right and said in _AGAIN:
            told += 1
            same = row["cause"] == row["rtx"]
            if not same and {row["cause"], row["rtx"]} == set(_TIMER) and alike < ambiguous:
                alike += 1
                same = True
            causes += same
            right = same or not sender
        if said in _AGAIN:
            said = f"{said} ({row['cause']})"
        if right and row["packet"] in needless:
            right, was, said = False, needless[row["packet"]], f"needless {row['kind']}"
        if right:
            agree += 1
        else:
            wrong.append(Disagreement(row["packet"], row["time_s"], row["id"], said, was))
    again = table["rtx"].count()
    return Place(
        name, vantage, table.height, again, table["drop"].count(), agree, unseen, alike, causes, told, tuple(wrong)
    )


def _allowed(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The classes that a packet may have."""
    if row["copy"]:
        return ("duplicate_packet",)
    if row["rtx"] is None:
        return (*_FIRST, "reordered")
    # At the sender every copy passes, so that none can look new.
    return _AGAIN if row["vantage"] == views.SENDER else (*_AGAIN, *_FIRST)


def _was(row: Mapping[str, Any]) -> str:
    if row["copy"]:
        return "a copy of a packet"
    return "sent for the first time" if row["rtx"] is None else f"sent again ({row['rtx']})"


def _needless(table: pl.DataFrame) -> dict[int, str]:
    """Packets that are said to be needless though every copy before them was dropped behind this place."""
    if not table["needless"].any() or not table["drop"].count():
        return {}
    proved = table.filter(pl.col("needless")).select("packet", "id", "seq")
    before = proved.join(table.select("id", "seq", "drop", other="packet"), on=["id", "seq"]).filter(
        pl.col("other") < pl.col("packet")
    )
    lost = before.group_by("packet").agg(pl.col("drop").is_not_null().all().alias("lost")).filter(pl.col("lost"))
    return dict.fromkeys(lost["packet"], "needed: every copy before it was dropped")
