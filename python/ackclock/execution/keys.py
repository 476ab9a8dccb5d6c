"""What a run is: its resolved document, cheaply for every replication, and the key under which its results are kept."""

from __future__ import annotations

import functools
import hashlib
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

from ackclock import engine, kernel
from ackclock.controllers import loading
from ackclock.execution import elf
from ackclock.scenario.compile import compile_groups
from ackclock.scenario.plan import Job, Plan, Point, resolved_text
from ackclock.virtual import guest

_HEX_DIGITS = 32
"""Of a hash of 256 bits the first 128: a sweep of a million runs has two alike with a chance of 1e-27."""

_PLACE = "@replication@"
"""What stands for the number of the replication while the document of a point is split there."""


@dataclass(frozen=True, slots=True)
class Task:
    """A run on its way to be played. `controllers` are the names of those in Python."""

    key: str
    text: str
    controllers: tuple[str, ...]


class PointTexts:
    """The resolved runs of a point: its replications differ in one number, so it is compiled once."""

    def __init__(self, point: Point, salt: str = "") -> None:
        """`salt` becomes part of the key where the document does not have all of what will be played."""
        document = compile_groups(point.scenario)
        document["run"] = _PLACE
        self._point = point
        self._parts = resolved_text(document).split(f'"{_PLACE}"')
        if len(self._parts) != 2:  # somebody calls a flow like this
            self._parts = []
        self.controllers = Job(0, point, 0).controllers()
        self._hash = hashlib.sha256(engine_identity().encode())
        if point.scenario.run.engine == "kernel":
            # What is measured differs each time: a point is not known by another one that resolves to the same run.
            self._hash.update(f"{kernel.identity()} {point.params!r}".encode())
        elif point.scenario.run.engine == "kernel-vt":
            self._hash.update(guest.identity().encode())
        if point.scenario.run.engine != "sim" and (relays := kernel.relays(document)) is not None:
            self._hash.update(kernel.relays_identity(relays).encode())
        used = [flow["cc"] for flow in document["flows"]]
        if any(cc["name"].startswith(loading.PREFIX) and cc["source"] is None for cc in used):
            self._hash.update(salt.encode())

    def text(self, replication: int) -> str:
        """A replication, counted from 0, as the engine reads it."""
        if self._parts:
            return f"{self._parts[0]}{replication}{self._parts[1]}"
        return Job(0, self._point, replication).text()

    def key(self, text: str) -> str:
        """The key of a run with such a text."""
        digest = self._hash.copy()
        digest.update(text.encode())
        return sys.intern(digest.hexdigest()[:_HEX_DIGITS])


@functools.cache
def engine_identity() -> str:
    """What tells one engine from another: version and commit for the reader, and what identifies the build itself.

    The commit does not say it all: a build from changed sources may still have the name of the last clean one.
    """
    known = engine.catalogue()
    file = Path(engine.location())
    build = elf.build_id(file)
    if build is not None:
        return f"ackclock {known.version} {known.commit} build:{build}"
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return f"ackclock {known.version} {known.commit} sha256:{digest}"


class Texts:
    """The runs of a plan by point and replication; the document of the last point is at hand."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._salt = secrets.token_hex()  # a class without a source is another one in the next sweep
        self._last: tuple[int, PointTexts] | None = None
        self._keys: dict[int, list[str]] = {}

    def key(self, point: int, replication: int) -> str:
        """The key of a run."""
        known = self._keys.setdefault(point, [])
        while len(known) <= replication:
            texts = self._of(point)
            known.append(texts.key(texts.text(len(known))))
        return known[replication]

    def task(self, point: int, replication: int) -> Task:
        """A run, to be played."""
        texts = self._of(point)
        return Task(self.key(point, replication), texts.text(replication), texts.controllers)

    def _of(self, point: int) -> PointTexts:
        if self._last is None or self._last[0] != point:
            self._last = point, PointTexts(self._plan.points[point], self._salt)
        return self._last[1]
