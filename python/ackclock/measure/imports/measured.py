"""One test of another tool, as all of their readers give it."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.files import reason

Sample = tuple[float, str, str, float]
"""Time from the begin of the test, s; flow; series; value in base units."""

MOST_BYTES = 1 << 30
"""Of a file, unzipped: more is no result of a test, but something that would fill the memory."""


@dataclass(frozen=True, slots=True)
class Test:
    """What one test came to.

    `settings` are what tells tests apart, `flows` and `links` rows of these tables; `notes` become warnings. `told` is
    what else the tool says, for the manifest. `problem` says why a test that its tool has recorded has no result.
    """

    source: str
    tool: str
    settings: Mapping[str, str | int | float] = field(default_factory=dict)
    duration_s: float = 0.0
    warmup_s: float = 0.0
    began_unix_s: float | None = None
    flows: Sequence[Mapping[str, Any]] = ()
    links: Sequence[Mapping[str, Any]] = ()
    samples: Sequence[Sample] = ()
    notes: Sequence[str] = ()
    told: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None
    downs: int | None = None
    """Of a test in both directions: how many of its flows, the first ones, go from the server to the client."""

    @property
    def goodput_bps(self) -> float | None:
        """The goodput of all flows, where it is known of each."""
        rates = [flow["goodput_bps"] for flow in self.flows if flow.get("goodput_bps") is not None]
        return float(sum(rates)) if len(rates) == len(self.flows) else None


def text_of(path: Path) -> str:
    """A file's text, unzipped if it is zipped. Raises :class:`InputError`."""
    try:
        with path.open("rb") as plain:
            zipped = plain.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if zipped else path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, EOFError) as error:
        raise InputError(reason(error), "give a file that can be read", source=str(path)) from None
    if len(data) > MOST_BYTES:
        raise InputError(f"larger than {MOST_BYTES >> 30} GiB", "give a file of fewer tests", source=str(path))
    return data.decode("utf-8-sig", errors="replace")
