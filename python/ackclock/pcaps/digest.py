"""Captures as far as their summary needs: no table is made, and none of what makes tables is loaded.

What is found is what the tables have, column by column.
"""

from __future__ import annotations

from ackclock.pcaps.inputs import FILE
from ackclock.pcaps.reading import Reader

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from ackclock.pcaps.inputs import Input
    from ackclock.pcaps.reading import Analysed, Options

    Row = dict[str, Any]

MOST = 4096
"""Connections that a digest has at most: more are a table."""


class Digest:
    """What is in captures: a row for each of their interfaces (`captures`), and for each of the largest `connections`.

    `carrying` is how many carry data, `warnings` what to know before figures are believed, `several` whether there are
    several captures, `unread` whether of none any TCP was found though packets were left out.
    """

    def __init__(
        self,
        captures: Sequence[Row],
        connections: Sequence[Row],
        carrying: int,
        warnings: Sequence[str],
        several: bool,
        unread: bool,
    ) -> None:
        self.captures = captures
        self.connections = connections
        self.carrying = carrying
        self.warnings = warnings
        self.several = several
        self.unread = unread


def digest(
    found: Sequence[Input],
    options: Options,
    most: int,
    *,
    anonymise: bool = False,
    report: Callable[[int, int], None] | None = None,
) -> Digest | None:
    """Captures without labels and their `most` largest connections; ``None`` if that takes tables.

    Raises :class:`InputError` for what is no capture.
    """
    if most > MOST or not all(source.lasting for source in found):
        return None
    reader = Reader(options, anonymise=anonymise)
    done = []
    for run, source in enumerate(found):
        if report is not None:
            report(run, len(found))
        capture = reader.into_digest(source, run, most)
        if capture is None:
            return None
        done.append(capture)
    return Digest(
        [row for capture in done for row in _captures(capture)],
        largest([row for capture in done for row in _connections(capture)], most),
        sum(capture.known["digest"]["carrying"] for capture in done),
        _warnings(done),
        len(done) > 1,
        all(capture.unread for capture in done),
    )


def largest(rows: Sequence[Row], most: int) -> list[Row]:
    """The rows with most data, in the order of captures and connections."""
    first = sorted(rows, key=lambda row: (-row["goodput_bytes"], *_place(row)))
    return sorted(first[:most], key=_place)


def _place(row: Mapping[str, Any]) -> tuple[int, int]:
    return row["run"], row["connection"]


def _captures(capture: Analysed) -> Iterator[Row]:
    known = capture.known
    where = {entry["interface"]: entry["vantage"] for entry in known["digest"]["interfaces"]}
    for entry in known["interfaces"]:
        yield {
            **entry,
            "run": capture.run,
            FILE: capture.source.name,
            "duration_s": capture.duration_s,
            "vantage": where.get(entry["interface"]),
            **{name: known[name] for name in ("truncated", "malformed", "checksums", "wrong_checksums")},
        }


def _connections(capture: Analysed) -> Iterator[Row]:
    origin = capture.origin
    for row in capture.known["digest"]["rows"]:
        own = {
            f"{name[:-3]}_s" if name.endswith("_ns") else name: (value - origin) / 1e9
            if name.endswith("_ns") and value is not None
            else value
            for name, value in row.items()
        }
        yield {**own, "run": capture.run, FILE: capture.source.name}


def _warnings(done: Sequence[Analysed]) -> list[str]:
    """Those of all captures, as a result of them has them."""
    from ackclock.results import warnings

    runs = [{"run": each.run, "point": each.run, "warnings": each.warnings} for each in done]
    return warnings.of({"runs": runs}) if any(each.warnings for each in done) else []
