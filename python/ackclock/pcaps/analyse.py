"""Captures to a result: every file is read once, its rows go to files as they come, and from these into tables."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ackclock import engine
from ackclock.errors import EngineError, InputError, one_line
from ackclock.files import reason
from ackclock.pcaps import inputs, keep, record
from ackclock.pcaps.escaped import escaped
from ackclock.pcaps.inputs import Input, Paths
from ackclock.pcaps.keep import Analysed, Kept
from ackclock.results.result import Result
from ackclock.results.store import OutputDirectory


@dataclass(frozen=True, slots=True)
class Options:
    """How captures are analysed; :func:`pcap` says what each means."""

    series: bool = False
    events: bool = False
    merge_interfaces: bool = False


def pcap(
    files: Paths = (),
    *,
    labels: Mapping[str, Paths] | None = None,
    series: bool = False,
    events: bool = False,
    out: str | os.PathLike[str] | None = None,
    anonymise: bool = False,
    merge_interfaces: bool = False,
) -> Result:
    """Analyse packet captures: a :class:`Result` with a row for each direction of each TCP connection.

    Parameters
    ----------
    files: captures, or folders of captures. Of several folders each is a group, called as it is.
    labels: captures or folders by the label of their group: ``{"off": "off.pcap", "on": ["a.pcap", "b.pcap"]}``.
    series: also keep samples over time (`Result.series`).
    events: also keep what happened to each packet (`Result.events`).
    out: directory to write the result to; then no table need fit into memory. An older result there is replaced.
    anonymise: replace addresses by numbers, the same in all captures that are analysed together.
    merge_interfaces: packets of different interfaces may be of one connection.

    docs/pcap.md has the columns. Raises :class:`InputError` for what is no capture.
    """
    found = inputs.collected(files, labels)
    options = Options(series, events, merge_interfaces)
    place = OutputDirectory(out) if out is not None else None
    try:
        with tempfile.TemporaryDirectory(prefix=".ackclock-", dir=place.path.parent if place else None) as folder:
            kept = analysed(found, options, Path(folder), anonymise=anonymise)
            manifest = record.build(kept, _written(options, anonymise=anonymise))
            if place is None:
                keep.write(kept, Path(folder))
                return Result(keep.read(Path(folder)), manifest)
            place.fill(lambda target: keep.write(kept, target), manifest)
        return Result.load(place.path)
    except BaseException:
        if place is not None:
            place.discard()
        raise


def analysed(
    found: Sequence[Input],
    options: Options,
    folder: Path,
    *,
    anonymise: bool = False,
    report: Callable[[int, int], None] | None = None,
) -> Kept:
    """Analyse captures one after the other into folders within `folder`. Raises :class:`InputError`."""
    engines = engine.Captures(anonymise=anonymise)
    done = []
    for run, source in enumerate(found):
        if report is not None:
            report(run, len(found))
        own = folder / str(run)
        own.mkdir()
        begun = time.monotonic()
        try:
            known = engines.analyse(source.path, str(own), **asdict(options))
        except EngineError as error:
            remedy = "give a capture in the format pcap or pcapng"
            raise InputError(one_line(escaped(str(error))), remedy, source=source.name) from None
        except (OSError, ValueError) as error:
            remedy = "give a file that is there and that you may read"
            raise InputError(f"cannot be read ({escaped(reason(error))})", remedy, source=escaped(source.path)) from None
        done.append(Analysed(source, run, own, _safe(known), time.monotonic() - begun))
    return Kept(tuple(done), options.series, options.events)


def _safe(known: Mapping[str, Any]) -> dict[str, Any]:
    """What the engine says of a capture, with the text in it escaped."""
    own = [
        {key: escaped(value) if isinstance(value, str) else value for key, value in entry.items()}
        for entry in known["interfaces"]
    ]
    truncated = known["truncated"]
    return {**known, "interfaces": own, "truncated": None if truncated is None else escaped(truncated)}


def _written(options: Options, *, anonymise: bool) -> dict[str, Any]:
    return {**{name: value for name, value in asdict(options).items() if value}, **({"anonymise": True} if anonymise else {})}

