"""A capture read by the engine: what is wanted of it, and what is known of it then."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from ackclock import extension
from ackclock.errors import EngineError, InputError, one_line
from ackclock.files import reason
from ackclock.pcaps.escaped import escaped
from ackclock.pcaps.inputs import Input

MOST_SORTED = 1_000_000
"""Packets that are put in order at a time: they are in memory."""

_EARLY_NS = 10**15
"""Captures whose first packet is of the first eleven days of 1970 count from the epoch: no clock shows that, so they
are of a simulation, whose run begins there."""


class Options(NamedTuple):
    """How captures are analysed; :func:`ackclock.pcap` says what each means."""

    series: bool = False
    events: bool = False
    merge_interfaces: bool = False
    sort: int = 0
    max_bytes: int | None = None
    checksums: bool = False
    as_sender: bool = False
    """Take round trip times as senders do: of the oldest segment that an acknowledgment covers."""
    only: tuple[int, ...] | None = None
    """Connections whose series and events are kept. Default: all."""

    def checked(self) -> Options:
        """These options. Raises :class:`InputError` where one cannot be."""
        if not 0 <= self.sort <= MOST_SORTED:
            raise InputError(f"{self.sort} packets cannot be sorted at a time", f"give up to {MOST_SORTED}", key="sort")
        if self.max_bytes is not None and self.max_bytes < 1:
            raise InputError(f"{self.max_bytes} bytes are no file", "give a number above 0", key="max_bytes")
        return self


class Analysed(NamedTuple):
    """A capture that was analysed: what the engine says of it, where it put tables, if it did, how long it took."""

    source: Input
    run: int
    known: Mapping[str, Any]
    folder: str = ""
    wall_s: float = 0.0

    @property
    def origin(self) -> int:
        """Where its times are counted from, ns since the epoch: its first packet, or the begin of a simulated run."""
        first = self.known["first_ns"]
        return 0 if first is None or 0 <= first < _EARLY_NS else int(first)

    @property
    def duration_s(self) -> float:
        """From there to its last packet."""
        last = self.known["last_ns"]
        return 0.0 if last is None else max(0.0, (last - self.origin) / 1e9)

    @property
    def packets(self) -> int:
        """Packets in the file."""
        return int(self.known["packets"])

    @property
    def several(self) -> bool:
        """Whether packets of TCP passed several interfaces."""
        return sum(bool(entry["segments"]) for entry in self.known["interfaces"]) > 1

    @property
    def warnings(self) -> list[str]:
        """What to know of it before its figures are believed."""
        found = []
        if truncated := self.known["truncated"]:
            found.append(f"{self.source.name}: {truncated}; what came before counts")
        for entry in self.known["interfaces"]:
            if drops := entry.get("drops"):
                where = f" at {entry['name']}" if entry.get("name") else ""
                found.append(f"{self.source.name}: the capture lost {drops} packets{where}")
        return found


class Reader:
    """Reads captures that belong together: where addresses are replaced, each is called the same in all of them."""

    def __init__(self, options: Options, *, anonymise: bool = False) -> None:
        self._options = options._asdict()
        self._captures = extension.load().Captures(anonymise)

    def into_tables(self, source: Input, run: int, folder: str, *, truth: bool = False) -> Analysed:
        """Analyse a capture into Arrow files in `folder`. Raises :class:`InputError` for one that cannot be read.

        `truth`: also keep what the simulator says in comments.
        """
        begun = time.monotonic()
        with _refused(source):
            known = self._captures.analyse(source.path, folder, json.dumps({**self._options, "truth": truth}))
        return Analysed(source, run, _safe(json.loads(known)), folder, time.monotonic() - begun)

    def into_digest(self, source: Input, run: int, most: int) -> Analysed | None:
        """Analyse a capture as far as a summary of its `most` largest connections needs, which is `digest` of what is
        known then. ``None`` if that takes tables. Raises as :meth:`into_tables` does.
        """
        with _refused(source):
            known = self._captures.summarise(source.path, most, json.dumps({**self._options, "truth": False}))
        found = json.loads(known)
        return None if found["digest"] is None else Analysed(source, run, _safe(found))


@contextmanager
def _refused(source: Input) -> Iterator[None]:
    """Say of which capture an error is, and what would be right."""
    try:
        with extension.translated():
            yield
    except EngineError as error:
        remedy = "give a capture in the format pcap or pcapng"
        raise InputError(one_line(escaped(str(error))), remedy, source=source.name) from None
    except (OSError, ValueError) as error:
        remedy = "give a file that is there and that you may read"
        raise InputError(f"cannot be read ({escaped(reason(error))})", remedy, source=escaped(source.path)) from None


def _safe(known: Mapping[str, Any]) -> dict[str, Any]:
    """What the engine says of a capture, with the text in it escaped."""
    own = [
        {key: escaped(value) if isinstance(value, str) else value for key, value in entry.items()}
        for entry in known["interfaces"]
    ]
    truncated = known["truncated"]
    return {**known, "interfaces": own, "truncated": None if truncated is None else escaped(truncated)}
