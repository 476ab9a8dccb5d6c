"""A capture read by the engine: what is wanted of it, and what is known of it then."""

from __future__ import annotations

import time

from ackclock import extension
from ackclock.errors import EngineError, InputError, one_line
from ackclock.files import reason
from ackclock.pcaps.escaped import escaped

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ackclock.pcaps.inputs import Input

MOST_SORTED = 1_000_000
"""Packets that are put in order at a time: they are in memory."""

_MOST_BYTES = 2**63 - 1
"""More than any file has."""

_EARLY_NS = 10**15
"""Captures whose first packet is of the first eleven days of 1970 count from the epoch: no clock shows that, so they
are of a simulation, whose run begins there."""


_UNREAD: Mapping[str, str] = {
    "skipped_link_type": "{} is not known; capture at another interface, or convert the file (editcap -T)",
    "skipped_tags": "they have more than four VLAN tags or MPLS labels",
    "skipped_tunnels": "they are in more than four tunnels",
    "skipped_interface": "their interface is not described in the file, or is beyond the limit",
}
"""Packets that may be of TCP all the same, by the reason for which they were not read."""

UNREAD = (*_UNREAD, "skipped_not_ip")
"""Columns of packets that may be of TCP and were left out."""

_NO_IP = "encrypted frames, aggregates and protocols that are not read"


def _link_types(interfaces: Sequence[Mapping[str, Any]]) -> str:
    """The link types of the interfaces whose packets were all left out, else of all."""
    own = sorted({entry["link_type"] for entry in interfaces if entry["packets"] and not entry["segments"]})
    own = own or sorted({entry["link_type"] for entry in interfaces})
    return f"link type {', '.join(map(str, own))}"


class Options:
    """How captures are analysed; :func:`ackclock.pcap` says what each means.

    Besides: `as_sender`, to take round trip times as senders do, of the oldest segment that an acknowledgment covers,
    and `only`, the connections whose series and events are kept, by default all.
    """

    def __init__(
        self,
        series: bool = False,
        events: bool = False,
        merge_interfaces: bool = False,
        sort: int = 0,
        max_bytes: int | None = None,
        checksums: bool = False,
        as_sender: bool = False,
        only: tuple[int, ...] | None = None,
    ) -> None:
        self.series = series
        self.events = events
        self.merge_interfaces = merge_interfaces
        self.sort = sort
        self.max_bytes = max_bytes if max_bytes is None else min(max_bytes, _MOST_BYTES)
        self.checksums = checksums
        self.as_sender = as_sender
        self.only = only

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def but(self, **changes: Any) -> Options:
        """The same with some of them changed."""
        return Options(**{**vars(self), **changes})

    def checked(self) -> Options:
        """These options. Raises :class:`InputError` where one cannot be."""
        if not 0 <= self.sort <= MOST_SORTED:
            raise InputError(f"{self.sort} packets cannot be sorted at a time", f"give up to {MOST_SORTED}", key="sort")
        if self.max_bytes is not None and self.max_bytes < 1:
            raise InputError(f"{self.max_bytes} bytes are no file", "give a number above 0", key="max_bytes")
        return self


class Analysed:
    """A capture that was analysed: what the engine says of it, where it put tables, if it did, how long it took."""

    def __init__(
        self, source: Input, run: int, known: Mapping[str, Any], folder: str = "", wall_s: float = 0.0
    ) -> None:
        self.source = source
        self.run = run
        self.known = known
        self.folder = folder
        self.wall_s = wall_s

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
        skipped, packets = self.known["skipped"], self.packets
        for name, why in _UNREAD.items():
            if count := skipped.get(name, 0):
                if name == "skipped_link_type":
                    why = why.format(_link_types(self.known["interfaces"]))
                found.append(f"{self.source.name}: {count} of {packets} packets were not read: {why}")
        if packets and not self.segments and (count := skipped.get("skipped_not_ip", 0)):
            found.append(f"{self.source.name}: in {count} of {packets} packets no IP was found: {_NO_IP}")
        return found

    @property
    def segments(self) -> int:
        """Packets of TCP that were analysed."""
        return sum(int(entry["segments"]) for entry in self.known["interfaces"])

    @property
    def unread(self) -> bool:
        """Whether nothing of TCP was found, and packets were left out that might have been."""
        return not self.segments and any(self.known["skipped"].get(name, 0) for name in UNREAD)


class Reader:
    """Reads captures that belong together: where addresses are replaced, each is called the same in all of them."""

    def __init__(self, options: Options, *, anonymise: bool = False) -> None:
        self._options = options
        self._captures = extension.load().Captures(anonymise)

    def into_tables(self, source: Input, run: int, folder: str, *, truth: bool = False) -> Analysed:
        """Analyse a capture into Arrow files in `folder`. Raises :class:`InputError` for one that cannot be read.

        `truth`: also keep what the simulator says in comments.
        """
        begun = time.monotonic()
        known = self._read(self._captures.analyse, source, folder, truth=truth)
        return Analysed(source, run, _safe(known), folder, time.monotonic() - begun)

    def into_digest(self, source: Input, run: int, most: int) -> Analysed | None:
        """Analyse a capture as far as a summary of its `most` largest connections needs, which is `digest` of what is
        known then. ``None`` if that takes tables. Raises as :meth:`into_tables` does.
        """
        known = self._read(self._captures.summarise, source, most, truth=False)
        return None if known["digest"] is None else Analysed(source, run, _safe(known))

    def _read(self, how: Callable[..., dict[str, Any]], source: Input, into: object, *, truth: bool) -> dict[str, Any]:
        """What the engine says, or of which capture its error is and what would be right."""
        try:
            return how(source.path, into, {**vars(self._options), "truth": truth})
        except ValueError as error:
            remedy = "give a capture in the format pcap or pcapng"
            raise InputError(one_line(escaped(str(error))), remedy, source=source.name) from None
        except OSError as error:
            remedy = "give a file that is there and that you may read"
            problem = f"cannot be read ({escaped(reason(error))})"
            raise InputError(problem, remedy, source=escaped(source.path)) from None
        except RuntimeError as error:
            raise EngineError(f"{source.name}: {one_line(escaped(str(error)))}") from None


def _safe(known: Mapping[str, Any]) -> dict[str, Any]:
    """What the engine says of a capture, with the text in it escaped."""
    own = [
        {key: escaped(value) if isinstance(value, str) else value for key, value in entry.items()}
        for entry in known["interfaces"]
    ]
    truncated = known["truncated"]
    return {**known, "interfaces": own, "truncated": None if truncated is None else escaped(truncated)}
