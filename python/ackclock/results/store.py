"""The directory a result is kept in: Parquet tables and a manifest, complete or not there at all."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import polars as pl

from ackclock.errors import AckclockError, InputError
from ackclock.files import JOURNAL, STOPPED, parse_json, reason, to_disk, unwritable
from ackclock.grouping import expanded, grouped
from ackclock.results import incomplete, pages
from ackclock.results import manifest as manifests
from ackclock.results.manifest import CAPTURED, TABLES, tables_of

MANIFEST = "manifest.json"
PACKETS = "packets.pcapng"
"""What passed the ends of a shell, beside its tables."""
_OURS = {f"{name}.parquet" for name in (*TABLES, *CAPTURED)} | {MANIFEST, PACKETS}
PLOTS = "plots"
"""Folder of figures beside the tables."""
_FIGURES = ("overview*.png", "overview*.svg")
_PARTIAL = ".tables-"


class OutputDirectory:
    """A place claimed for a result before anything is run.

    Files are written into a hidden directory beside it, which takes its name only when all of them are there; a
    crash leaves at most that hidden directory. An older result of the same name is replaced; a directory that holds
    anything else is refused.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._check_old()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            folder = tempfile.mkdtemp(prefix=f".{self.path.name}.partial-", dir=self.path.parent)
        except OSError as error:
            raise unwritable(self.path, error) from None
        self.partial = Path(folder)

    def _check_old(self) -> None:
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise InputError("is a file, not a directory", "give --out another name", source=str(self.path))
        if (foreign := _foreign(self.path)) is not None:
            raise InputError(*foreign, source=str(self.path))

    def write(self, tables: Mapping[str, pl.DataFrame], manifest: manifests.Manifest) -> manifests.Manifest:
        """Write everything, give the directory its name, and return the manifest with the files' hashes.

        Raises :class:`AckclockError` if it cannot be written, or may not have its name any more.
        """

        def put(folder: Path) -> None:
            for name in tables_of(manifest):
                tables[name].write_parquet(folder / f"{name}.parquet", compression="zstd", statistics=True)

        return self.fill(put, manifest)

    def fill(self, put: Callable[[Path], None], manifest: manifests.Manifest) -> manifests.Manifest:
        """As :meth:`write`, of tables that `put` writes as files into a folder, so that none need be in memory."""
        with _reported(self.path, "make room there and run it again"):
            put(self.partial)
            manifest = self._described(manifest)
            self._swap()
        return manifest

    def _described(self, manifest: manifests.Manifest) -> manifests.Manifest:
        own = {key: value for key, value in manifest.items() if key != manifests.LATER_SWEEP}
        manifest = {**own, "files": {}}
        for file in (self.partial / f"{name}.parquet" for name in tables_of(manifest)):
            manifest["files"][file.name] = {"sha256": _sha256(file), "rows": _rows(file)}
        _write_manifest(manifest, self.partial / MANIFEST)
        self.partial.chmod(0o777 & ~_umask())  # mkdtemp keeps others out; a result is an ordinary directory
        return manifest

    def _swap(self) -> None:
        """Give the new result its name, and remove the old one; but nothing else that has come there meanwhile."""
        with contextlib.suppress(OSError):  # something is there
            self.partial.rename(self.path)
            return
        old = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.old-", dir=self.path.parent)) / "result"
        self.path.rename(old)
        # Only now can nobody put anything into it any more: a sweep that begins here looks for the name.
        foreign = _foreign(old) if old.is_dir() else ("is a file by now", "")
        if foreign is not None:
            old.rename(self.path)
            old.parent.rmdir()
            raise self._elsewhere(foreign[0])
        try:
            self.partial.rename(self.path)
        except OSError:
            raise self._elsewhere("is somebody else's by now") from None
        finally:
            shutil.rmtree(old.parent)

    def _elsewhere(self, problem: str) -> InputError:
        """Give the new result another name: it took long to make."""
        names = (self.path.with_name(f"{self.path.name}-{number}") for number in itertools.count(2))
        other = next(place for place in names if not place.exists())
        self.partial.rename(other)
        return InputError(problem, f"the result is in '{other}'", source=str(self.path))

    def discard(self) -> None:
        """Give up the place, leaving nothing behind."""
        with contextlib.suppress(OSError):
            shutil.rmtree(self.partial)


@contextlib.contextmanager
def _reported(path: Path, remedy: str) -> Iterator[None]:
    """Say in a line that a disk is full, or whatever else a system answers to who writes."""
    try:
        yield
    except (OSError, pl.exceptions.ComputeError) as error:
        if not isinstance(error, OSError) and "os error" not in str(error):
            raise
        raise AckclockError(f"{path}: the tables cannot be written ({reason(error)}); {remedy}") from None


class SweepDirectory:
    """The directory of a sweep: the journal of its runs while it goes on, and the result beside it in the end."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Take a directory that is new, empty, or holds a result. Raises :class:`InputError`."""
        self.path = Path(path)
        if self.path.is_dir():
            others = [
                item.name
                for item in sorted(self.path.iterdir())
                if not item.name.startswith((JOURNAL, _PARTIAL)) and not _is_ours(item)
            ]
            if others:
                problem = f"holds something other than a sweep ('{others[0]}')"
                raise InputError(problem, "give --out another name, or empty it", source=str(self.path))
        elif self.path.exists():
            raise InputError("is a file, not a directory", "give --out another name", source=str(self.path))

    def finish(self, write: Callable[[Path], None], manifest: manifests.Manifest) -> None:
        """Put the files that `write` makes in their places, and the manifest last: without it nothing can be read.

        Raises :class:`AckclockError` if they cannot be written.
        """
        with _reported(self.path, "the runs are kept; make room there and call it again"):
            self._finish(write, manifest)

    def _finish(self, write: Callable[[Path], None], manifest: manifests.Manifest) -> None:
        for left in self.path.glob(f"{_PARTIAL}*"):  # of a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=self.path))
        try:
            write(partial)
            files = {
                file.name: {"sha256": _sha256(file), "rows": _rows(file)}
                for file in (partial / f"{name}.parquet" for name in TABLES)
            }
            _write_manifest({**manifest, "files": files}, partial / MANIFEST)
            for file in partial.iterdir():
                to_disk(file)
            (self.path / MANIFEST).unlink(missing_ok=True)
            for name in (*files, MANIFEST):
                (partial / name).replace(self.path / name)
            (self.path / STOPPED).unlink(missing_ok=True)
            to_disk(self.path)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _write_manifest(manifest: manifests.Manifest, file: Path) -> None:
    """Write a line for each key and for each item of a list. Indenting it all takes ten times as long."""
    with file.open("w", encoding="utf-8") as stream:
        begin = "{\n"
        for key, value in manifest.items():
            if key == "points":
                value = [{**point, "resolved": grouped(point["resolved"])} for point in value]
            stream.write(f"{begin} {json.dumps(key)}: ")
            _write_value(value, stream)
            begin = ",\n"
        stream.write("\n}\n")


def _write_value(value: Any, stream: TextIO) -> None:
    if not isinstance(value, Sequence) or isinstance(value, str):
        stream.write(json.dumps(value, allow_nan=False))
        return
    stream.write("[")
    for number, item in enumerate(value):  # of many thousand runs, each is made now and dropped
        stream.write(f"{',' if number else ''}\n  {json.dumps(item, allow_nan=False)}")
    stream.write("\n ]" if value else "]")


def _rows(file: Path) -> int:
    return int(pl.scan_parquet(file).select(pl.len()).collect().item())


_REMEDY = "give a directory written by ackclock run --out or ackclock sweep"


def manifest_of(path: str | os.PathLike[str]) -> manifests.Manifest:
    """The manifest of a result directory. Raises :class:`InputError` if it is not one, or of another format."""
    folder = Path(path)
    remedy = _REMEDY
    try:
        manifest: dict[str, Any] = parse_json((folder / MANIFEST).read_text(encoding="utf-8"))
    except OSError:
        if (folder / f"{JOURNAL}.campaign").is_dir():
            remedy = f"go on with: ackclock measure resume {folder}"
            raise InputError("is a campaign that has no tables yet", remedy, source=str(folder)) from None
        if (folder / JOURNAL).exists():
            there = incomplete.stopped(folder)
            problem = f"is a sweep that has not finished{f': {there} are done' if there else ''}"
            remedy = "the command that began it goes on, and then there are tables"
            raise InputError(problem, remedy, source=str(folder)) from None
        problem = f"has no {MANIFEST}" if folder.is_dir() else "is a file" if folder.exists() else "does not exist"
        raise InputError(problem, remedy, source=str(folder)) from None
    except ValueError:
        raise InputError("is not readable", remedy, source=str(folder / MANIFEST)) from None
    if manifest.get("format") != manifests.FORMAT:
        problem = f"is of format {manifest.get('format')}, not {manifests.FORMAT}"
        raise InputError(problem, "read it with the version that wrote it", source=str(folder / MANIFEST))
    for point in manifest.get("points", ()):
        point["resolved"] = expanded(point["resolved"])
    if (folder / STOPPED).exists():
        manifest[manifests.LATER_SWEEP] = incomplete.stopped(folder)
    return manifest


class Tables(Mapping[str, pl.DataFrame]):
    """The tables of a result directory, each read when it is first asked for."""

    def __init__(self, files: Mapping[str, Path], names: Sequence[str] = TABLES) -> None:
        self._files = files
        self._names = names
        self._read: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._read:
            if name in manifests.LATER and name not in self._files:
                labels = _labels(self._files["transfers"])
                self._read[name] = pages.none(name, labels) if name in pages.SCHEMAS else pl.DataFrame(schema=labels)
            else:
                self._read[name] = pl.read_parquet(self._files[name])
        return self._read[name]

    def lazy(self, name: str) -> pl.LazyFrame:
        """A table of which only what is asked for is read."""
        if name in self._read or name not in self._files:
            return self[name].lazy()
        return pl.scan_parquet(self._files[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _labels(transfers: Path) -> dict[str, Any]:
    """What every row begins with: the columns before those of a transfer."""
    schema = pl.read_parquet_schema(transfers)
    return dict(itertools.takewhile(lambda item: item[0] != "id", schema.items()))


def read(path: str | os.PathLike[str]) -> tuple[Tables, manifests.Manifest]:
    """The tables and the manifest of a result directory.

    Raises :class:`InputError` if it is not one, was written by another format, or a file is missing or changed.
    """
    manifest = manifest_of(path)
    folder = Path(path)
    remedy = _REMEDY
    files = {}
    for name in tables_of(manifest):
        file = folder / f"{name}.parquet"
        if name in manifests.LATER and file.name not in manifest["files"]:
            continue
        try:
            same = _sha256(file) == manifest["files"][file.name]["sha256"]
        except (OSError, KeyError):
            raise InputError("is missing", remedy, source=str(file)) from None
        if not same:
            raise InputError("is not the file its manifest describes", "run the scenario again", source=str(file))
        files[name] = file
    return Tables(files, tables_of(manifest)), manifest


def check_none(folder: Path) -> None:
    """Raise :class:`InputError` where a run or a sweep has its tables: other folders would lie among them.

    So it does where a file is in its place.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file, not a directory", "give --out another name", source=str(folder))
    if any((folder / name).exists() for name in (MANIFEST, JOURNAL)):
        raise InputError("holds the result of a run or a sweep", "give --out another name", source=str(folder))


def _foreign(folder: Path) -> tuple[str, str] | None:
    """What a directory holds that is not part of the result of a run, and the remedy."""
    others = sorted(item.name for item in folder.iterdir() if not _is_ours(item))
    if not others:
        return None
    if any(name.startswith(JOURNAL) for name in others):
        return "is the directory of a sweep", "give --out another name, or go on with ackclock sweep"
    return f"holds something other than a result ('{others[0]}')", "give --out another name, or empty it"


def _is_ours(item: Path) -> bool:
    return (
        item.name in _OURS or (item.name == PLOTS and item.is_dir()) or any(item.match(pattern) for pattern in _FIGURES)
    )


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
