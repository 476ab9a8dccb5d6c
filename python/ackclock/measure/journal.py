"""The journal of a campaign: every test as it ends, so that what interrupts a campaign costs one test at most."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import gzip
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.files import JOURNAL, reason, to_disk, unwritable
from ackclock.measure import campaign as campaigns
from ackclock.measure.campaign import Campaign

FOLDER = f"{JOURNAL}.campaign"
"""Of a result's directory. Its name keeps other results out, as that of a sweep's journal does."""

_FILE = "campaign.toml"
_STATE = "state.json"


class Journal:
    """One that is there. Its tests are by the number of their run."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out / FOLDER
        self._state: dict[str, Any] | None = None
        self.vain: list[Callable[[], None]] | None = []
        """What forgets those tests and probes that have failed since this process began, until one did not: then None.
        """
        self._made: list[Path] = []
        """Directories that its beginning has made, the innermost first."""

    @classmethod
    def begun(cls, out: Path, campaign: Campaign, kernel: tuple[str, str] | None = None) -> Journal:
        """Begin one, in virtual time on a kernel of this name and digest or in real time.

        Raises :class:`InputError` where one is, or anything else.
        """
        check_free(out)
        journal = cls(out)
        if journal.folder.exists():  # nothing was measured in it
            with journal.locked():
                shutil.rmtree(journal.folder)
        journal._made = [folder for folder in (out, *out.parents) if not folder.exists()]
        state = {
            "folder": str(campaign.folder),
            "source": Path(campaign.source).name,
            "salt": secrets.token_hex(16),
            "kernel": kernel,
            "probes": True,
            "sha256": hashlib.sha256(campaign.text.encode()).hexdigest(),
        }
        try:
            (journal.folder / "tests").mkdir(parents=True)
            (journal.folder / "probes").mkdir()
            (journal.folder / "blocks").mkdir()
            journal._write(_FILE, campaign.text.encode())
            journal._write(_STATE, json.dumps(state).encode())
        except OSError as error:
            raise unwritable(out, error) from None
        (journal.folder / _STATE).chmod(0o600)
        return journal

    def discard(self) -> None:
        """Leave nothing behind of a campaign that this process has begun, and in which nothing was measured."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # somebody has put something there
            for folder in self._made:
                folder.rmdir()

    def campaign(self) -> Campaign:
        """What is being measured. Raises :class:`InputError` where no campaign is."""
        try:
            text = (self.folder / _FILE).read_text(encoding="utf-8")
            state = self.state()
        except (OSError, ValueError) as error:
            why = "has no campaign" if isinstance(error, FileNotFoundError) else f"cannot be read ({reason(error)})"
            remedy = "give the directory of one: ackclock measure run FILE --out DIR begins it"
            raise InputError(why, remedy, source=str(self.out)) from None
        if hashlib.sha256(text.encode()).hexdigest() != state["sha256"]:
            problem = "its campaign is not the one that was begun"
            raise InputError(problem, "begin another one in another directory", source=str(self.folder / _FILE))
        found = campaigns.parsed(text, state["source"], Path(state["folder"]))
        if state.get("probes"):
            return found
        # It was begun by a version that made none: its blocks that are there would lack them.
        return dataclasses.replace(found, header=found.header.model_copy(update={"probe": False}))

    def state(self) -> dict[str, Any]:
        """What is not in the campaign's file."""
        if self._state is None:
            self._state = json.loads((self.folder / _STATE).read_text(encoding="utf-8"))
        return self._state

    def kernel(self) -> tuple[str, str] | None:
        """Name and digest of the kernel that plays it in virtual time; of a campaign in real time none."""
        name, digest = self.state().get("kernel") or (None, None)
        return None if name is None or digest is None else (name, digest)

    @property
    def salt(self) -> bytes:
        """What makes words for networks, and stays here."""
        return bytes.fromhex(self.state()["salt"])

    def done(self) -> set[int]:
        """The runs whose tests have ended."""
        return {int(file.name.partition(".")[0]) for file in (self.folder / "tests").glob("*.json.gz")}

    def failed(self) -> dict[int, str]:
        """Those of them that did not come about, and why."""
        return {run: test["problem"] for run, test in self.tests() if test["problem"] is not None}

    def put(self, run: int, test: dict[str, Any]) -> None:
        """Keep a test: it is on the disk, whole, or not there."""
        self._put(f"tests/{run:06}.json.gz", test)

    def put_probe(self, block: int, direction: str, probe: dict[str, Any]) -> None:
        """Keep a probe in the same way."""
        self._put(f"probes/{block:06}-{direction}.json.gz", probe)

    def probed(self) -> set[tuple[int, str]]:
        """The probes that have ended, each by its block and direction."""
        names = (file.name.partition(".")[0] for file in (self.folder / "probes").glob("[0-9]*.json.gz"))
        return {(int(block), direction) for block, _, direction in (name.partition("-") for name in names)}

    def probes(self) -> Iterator[tuple[tuple[int, str], dict[str, Any]]]:
        """Every probe; one in memory at a time."""
        for block, direction in sorted(self.probed()):
            yield (block, direction), _read(self.folder / "probes" / f"{block:06}-{direction}.json.gz")

    def failed_probes(self) -> dict[tuple[int, str], str]:
        """Those of them that did not come about, and why."""
        return {key: probe["problem"] for key, probe in self.probes() if probe["problem"] is not None}

    def forget_probe(self, block: int, direction: str) -> None:
        """Let a probe be made again."""
        (self.folder / "probes" / f"{block:06}-{direction}.json.gz").unlink(missing_ok=True)

    def put_block(self, number: int, block: dict[str, Any]) -> None:
        """Keep what is to be said of a block as a whole."""
        self._write(f"blocks/{number:06}.json", json.dumps(block, separators=(",", ":")).encode())

    def end_block(self, number: int, why: str) -> None:
        """A block has ended before its time, as its line has: what is left of it belongs to another block."""
        self.put_block(number, {"warnings": [why], "ended": True})

    def ended(self, number: int) -> bool:
        """Whether a block has."""
        file = self.folder / f"blocks/{number:06}.json"
        return file.exists() and bool(json.loads(file.read_text(encoding="utf-8")).get("ended"))

    def blocks(self) -> dict[int, dict[str, Any]]:
        """What was said of blocks."""
        files = sorted((self.folder / "blocks").glob("*.json"))
        return {int(file.stem): json.loads(file.read_text(encoding="utf-8")) for file in files}

    def forget(self, run: int) -> None:
        """Let a test be made again."""
        (self.folder / "tests" / f"{run:06}.json.gz").unlink(missing_ok=True)

    def tests(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every test, by the number of its run; one in memory at a time."""
        for run in sorted(self.done()):
            yield run, _read(self.folder / "tests" / f"{run:06}.json.gz")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else goes on with it meanwhile. Raises :class:`InputError` if somebody does."""
        with (self.folder / "lock").open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                problem, remedy = "another process is going on with it", "wait for it, or end it"
                raise InputError(problem, remedy, source=str(self.out)) from None
            yield

    def _put(self, name: str, test: dict[str, Any]) -> None:
        text = json.dumps(test, separators=(",", ":"), allow_nan=False).encode()
        self._write(name, gzip.compress(text, 2, mtime=0))

    def _write(self, name: str, content: bytes) -> None:
        target = self.folder / name
        partial = target.with_name(f".{target.name}.{os.getpid()}")
        with partial.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(target)
        to_disk(target.parent)


def check_free(out: Path) -> None:
    """Refuse a directory in which no campaign can begin. Raises :class:`InputError`.

    It is to be new or empty, but for a campaign that was begun in vain: its file may have been corrected since.
    """
    there = Journal(out)
    vain = there.folder.is_dir() and not there.done() and not there.probed()
    if there.folder.exists() and not vain:
        raise InputError("a campaign is there", f"go on with: ackclock measure resume {out}", source=str(out))
    another = "give --out another name"
    if out.exists() and not out.is_dir():
        raise InputError("is a file, not a directory", another, source=str(out))
    try:
        others = sorted(item.name for item in out.iterdir() if item.name != FOLDER) if out.exists() else []
        place = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
        if not place.is_dir():
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(place, os.W_OK | os.X_OK):
            raise OSError(errno.EACCES, f"no file can be made in {place}")
    except OSError as error:
        raise unwritable(out, error) from None
    if others:
        problem = f"holds something other than a campaign ('{others[0]}')"
        raise InputError(problem, f"{another}, or empty it", source=str(out))


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return found
