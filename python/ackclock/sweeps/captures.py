"""Packet captures of simulated runs: each is played once more, with somebody looking at its packets."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ackclock import engine
from ackclock.controllers import loading
from ackclock.errors import AckclockError, InputError, Problem
from ackclock.files import reason
from ackclock.scenario.compile import captured
from ackclock.scenario.model import Scenario
from ackclock.scenario.plan import Job, Plan, resolved_text
from ackclock.scenario.reading.override import Overrides
from ackclock.sweeps.arguments import planned

EVERYWHERE = ("flows",)
"""Where packets are looked at if a scenario does not say: at both ends of each flow."""

LinkType = Literal["raw", "ethernet"]
"""What packets in a capture begin with: the IP header, or one of Ethernet."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture that was written: the run it is of (its number in the tables), the file and how many packets it has."""

    run: int
    file: Path
    packets: int


def capture(
    scenario: Scenario | Mapping[str, Any] | str | Path | Plan,
    file: str | os.PathLike[str],
    *,
    set: Overrides | None = None,
    seed: int | None = None,
    replications: int | None = None,
    link_type: LinkType = "raw",
) -> list[Capture]:
    """Play a scenario and write its packets to `file` as a capture (pcapng) that Wireshark opens.

    Where packets are looked at says ``run.capture``; without it at both ends of each flow. The packets are those of
    :func:`ackclock.run` with the same arguments, and the same ones make the same file.

    Parameters
    ----------
    scenario: path of a TOML file, the same content as a mapping, a :class:`Scenario`, or what :func:`load` returned.
    file: where to write. It appears when it is complete, in place of an older one. Of several runs each has its own:
        NAME-0.pcapng, NAME-1.pcapng for NAME.pcapng, by the number of the run in the tables.
    set, seed, replications: as for :func:`ackclock.run`.
    link_type: what packets begin with: "raw", the IP header, or "ethernet".

    Raises
    ------
    InputError: the scenario or the file cannot be used; nothing was run.
    AckclockError: the file could not be written to its end.
    """
    plan = planned(scenario, set, seed, replications)
    return write(plan, checked(file), link_type)


def checked(file: str | os.PathLike[str]) -> Path:
    """Where a capture goes, if it can. Raises :class:`InputError`."""
    given: object = file
    if not isinstance(given, str | os.PathLike) or not os.fspath(given) or isinstance(os.fspath(given), bytes):
        raise InputError(f"{given!r} is no path", "give the name of a file such as run.pcapng", key="capture")
    path = Path(given)
    if path.is_dir():
        raise InputError("it is a directory", "give the name of a file such as run.pcapng", source=str(path))
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        remedy = "give a file in a directory that is there and that you may write to"
        raise InputError("cannot write the capture there", remedy, source=str(path))
    return path


def files(plan: Plan, path: Path) -> list[Path]:
    """The files of the runs of a plan, in their order."""
    if len(plan) == 1:
        return [path]
    return [path.with_name(f"{path.stem}-{index}{path.suffix}") for index in range(len(plan))]


def write(plan: Plan, path: Path, link_type: LinkType = "raw") -> list[Capture]:
    """As :func:`capture`, of a plan into a checked path."""
    if link_type not in ("raw", "ethernet"):
        raise InputError(f"{link_type!r} is no link type", 'give "raw" or "ethernet"', key="link_type")
    paths = files(plan, path)
    ethernet = link_type == "ethernet"
    return [
        prepared(job).write(paths[job.index], ethernet=ethernet, controllers=_classes(plan, job)) for job in plan.jobs()
    ]


@dataclass(frozen=True, slots=True)
class Prepared:
    """One run to be captured, as text: its number, the resolved run, and the comment of the file."""

    run: int
    text: str
    comment: str

    def write(
        self, path: Path, *, ethernet: bool = False, controllers: Mapping[str, loading.Class] | None = None
    ) -> Capture:
        """Play it and write its packets. `controllers` are the classes of those in Python."""
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            packets = engine.capture(
                self.text, str(part), self.comment, ethernet=ethernet, controllers=dict(controllers or {})
            )
            part.replace(path)
        except OSError as error:
            raise AckclockError(f"{path}: cannot write the capture ({reason(error)}); make room there") from error
        finally:
            part.unlink(missing_ok=True)
        return Capture(self.run, path, packets)


def prepared(job: Job, places: Sequence[str] = ()) -> Prepared:
    """A run as its capture needs it, of these places; without any of those that its scenario has."""
    document = job.document()
    places = places or job.point.scenario.run.capture or EVERYWHERE
    comment = json.dumps(
        {
            "scenario": scenario_hash(job),
            "seed": document["seed"],
            "run": job.replication,
            "version": engine.catalogue().version,
        },
        separators=(",", ":"),
    )
    return Prepared(job.index, resolved_text(captured(document, places)), comment)


def scenario_hash(job: Job) -> str:
    """SHA-256 of the resolved run of a job's first replication: what its replications have in common."""
    text = resolved_text(Job(0, job.point, 0).document())
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _classes(plan: Plan, job: Job) -> dict[str, loading.Class]:
    """The classes of the controllers in Python that a run needs."""
    try:
        return {name: loading.find(name, plan.folder).cls for name in job.controllers()}
    except Problem as problem:
        raise AckclockError(str(problem)) from None
