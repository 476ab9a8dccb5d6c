"""Captures to a result: every file is read once, its rows go to files as they come, and from these into tables."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ackclock.pcaps import inputs, keep, record
from ackclock.pcaps.inputs import LABEL, Input
from ackclock.pcaps.keep import Kept
from ackclock.pcaps.reading import UNREAD, Reader
from ackclock.pcaps.reading import Options as Options
from ackclock.results.manifest import Manifest, captured, tables_of
from ackclock.results.store import MANIFEST, OutputDirectory, Tables, read

if TYPE_CHECKING:
    from ackclock.pcaps.inputs import Paths
    from ackclock.results.result import Result


def pcap(
    files: Paths = (),
    *,
    labels: Mapping[str, Paths] | None = None,
    series: bool = False,
    events: bool = False,
    out: str | os.PathLike[str] | None = None,
    anonymise: bool = False,
    merge_interfaces: bool = False,
    sort: int = 0,
    max_bytes: int | None = None,
    checksums: bool = False,
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
    sort: put packets in the order of their times, so many at a time; by default they are in that of the file.
    max_bytes: read no more than so many bytes of a capture, unpacked.
    checksums: count packets of TCP with wrong checksums (`Result.captures`), which are analysed all the same. Those
        that a sender leaves to its network card are wrong where it captures them.

    docs/pcap.md has the columns. Raises :class:`InputError` for what is no capture.
    """
    from ackclock.results.result import Result

    found = inputs.collected(files, labels)
    options = Options(series, events, merge_interfaces, sort, max_bytes, checksums).checked()
    with session(found, options, out=out, anonymise=anonymise) as done:
        if out is not None:
            return Result.load(out)
        return Result(keep.read(done.folder), done.manifest)


@dataclass(frozen=True, slots=True)
class Session:
    """Captures that were analysed: their record, and the folder that has their tables as long as the session lasts."""

    manifest: Manifest
    folder: Path

    @property
    def labelled(self) -> bool:
        """Whether captures are of groups."""
        return LABEL in self.manifest["params"]

    @property
    def several(self) -> bool:
        """Whether there are several captures."""
        return len(self.manifest["runs"]) > 1

    @property
    def unread(self) -> bool:
        """Whether nothing of TCP was found, and packets were left out that might have been."""
        left_out = pl.sum_horizontal(UNREAD).sum().alias("unread")
        segments, unread = self.table("captures").select(pl.col("segments").sum(), left_out).collect().row(0)
        return not segments and bool(unread)

    def table(self, name: str) -> pl.LazyFrame:
        """A table, of which nothing is read yet."""
        return pl.scan_parquet(self.folder / f"{name}.parquet")

    @property
    def result(self) -> Result:
        """All tables, each read when it is asked for."""
        from ackclock.results.result import Result

        names = tables_of(self.manifest)
        return Result(Tables({name: self.folder / f"{name}.parquet" for name in names}, names), self.manifest)


@contextmanager
def session(
    found: Sequence[Input],
    options: Options,
    *,
    out: str | os.PathLike[str] | None = None,
    anonymise: bool = False,
    report: Callable[[int, int], None] | None = None,
) -> Iterator[Session]:
    """Analyse captures into tables in a folder, which is `out` or disappears. Raises as :func:`pcap` does."""
    place = OutputDirectory(out) if out is not None else None
    try:
        with tempfile.TemporaryDirectory(prefix=".ackclock-", dir=place.path.parent if place else None) as scratch:
            kept = analysed(found, options, Path(scratch), anonymise=anonymise, report=report)
            manifest = record.build(kept, _written(options, anonymise=anonymise))
            if place is None:
                folder = Path(scratch) / "tables"
                folder.mkdir()
                keep.write(kept, folder, lasting=False)
                yield Session(manifest, folder)
                return
            manifest = place.fill(lambda target: keep.write(kept, target), manifest)
            yield Session(manifest, place.path)
    finally:
        if place is not None:
            place.discard()


def opened(folder: str | os.PathLike[str]) -> Session | None:
    """The session that wrote a directory, if one of captures did. Raises :class:`InputError` if a file was altered."""
    if not (Path(folder) / MANIFEST).is_file():
        return None
    _, manifest = read(folder)
    return Session(manifest, Path(folder)) if captured(manifest) else None


def analysed(
    found: Sequence[Input],
    options: Options,
    folder: Path,
    *,
    anonymise: bool = False,
    truth: bool = False,
    report: Callable[[int, int], None] | None = None,
) -> Kept:
    """Analyse captures one after the other into folders within `folder`. Raises :class:`InputError`."""
    reader = Reader(options, anonymise=anonymise)
    done = []
    for run, source in enumerate(found):
        if report is not None:
            report(run, len(found))
        own = folder / str(run)
        own.mkdir()
        done.append(reader.into_tables(source, run, str(own), truth=truth))
    return Kept(tuple(done), options.series, options.events)


def _written(options: Options, *, anonymise: bool) -> dict[str, Any]:
    return {
        **{name: value for name, value in vars(options).items() if value},
        **({"anonymise": True} if anonymise else {}),
    }
