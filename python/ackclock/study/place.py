"""The directory of a study that was run: whose it is, and what of it may be replaced."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.files import JOURNAL, parse_json, unwritable
from ackclock.study.captured import SUFFIX
from ackclock.study.model import Study

CLAIMS, RUNS, OWNER = "claims.json", "runs", "study.json"
_REMEDY = "give --out another name"
_OTHER = "holds something other than a study's results"


class Place:
    """A directory for a study, checked before anything runs: new, empty, or of an earlier run of the same study.

    `study.json` in it has the study's name, its scenarios and the files that were written: nothing else is ever
    deleted. The runs are kept there as they finish, so that a study that was interrupted goes on where it was.
    Everything else is written beside it first and moved there in the end, the verdicts last.
    """

    def __init__(self, path: str | os.PathLike[str], study: Study) -> None:
        self.path = Path(path)
        self.runs = self.path / RUNS
        self._study = study.name
        self._scenarios = [setting.id for setting in study.settings]
        try:
            self._old = self._earlier()
            self.runs.mkdir(parents=True, exist_ok=True)
            self._own(self._old["scenarios"] + self._scenarios, self._old["files"])
            self._partial = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.partial-", dir=self.path.parent))
        except OSError as error:
            raise unwritable(self.path, error) from None

    def write(self, made: Callable[[Path], None]) -> None:
        """Put what `made` writes into a directory in place of what an earlier run has left."""
        try:
            made(self._partial)
            self._replace()
        except OSError as error:
            raise unwritable(self.path, error, "give --out another directory") from None

    def discard(self) -> None:
        """Leave nothing behind of what was not finished, but for the runs."""
        shutil.rmtree(self._partial, ignore_errors=True)
        with contextlib.suppress(OSError):  # not empty: there is something to go on from
            self.runs.rmdir()
            if not self._old["files"]:
                (self.path / OWNER).unlink()
            self.path.rmdir()

    def _replace(self) -> None:
        files = sorted(str(file.relative_to(self._partial)) for file in self._partial.rglob("*") if file.is_file())
        self._own(self._old["scenarios"] + self._scenarios, [*self._old["files"], *files])
        (self.path / CLAIMS).unlink(missing_ok=True)
        for name in self._old["files"]:
            if name not in files and ".." not in Path(name).parts:
                (self.path / name).unlink(missing_ok=True)
        for name in sorted(files, key=lambda name: name == CLAIMS):
            (self.path / name).parent.mkdir(exist_ok=True)
            (self._partial / name).replace(self.path / name)
        for name in self._old["scenarios"]:
            if name not in self._scenarios and (self.runs / name / JOURNAL).is_file():
                shutil.rmtree(self.runs / name)
        self._own(self._scenarios, files)

    def _own(self, scenarios: list[str], files: list[str]) -> None:
        record = {
            "study": self._study,
            "scenarios": list(dict.fromkeys(scenarios)),
            "files": list(dict.fromkeys(files)),
        }
        written = self.path / f".{OWNER}"
        written.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        written.replace(self.path / OWNER)

    def _earlier(self) -> dict[str, Any]:
        """What an earlier run has left. Raises :class:`InputError` if something else is there."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError("is a file, not a directory", _REMEDY, source=str(self.path))
        for name in ("tables", "figures"):
            if (self.path / name).is_file():
                raise InputError("is a file, not a directory", _REMEDY, source=str(self.path / name))
        found: dict[str, Any] = {"study": None, "scenarios": [], "files": []}
        if (self.path / OWNER).is_file():
            found |= self._read(OWNER)
        elif (self.path / CLAIMS).is_file():  # written before there was a record
            found |= {"study": self._read(CLAIMS)["study"], "files": [CLAIMS]}
        elif self.path.is_dir() and any(item != self.runs for item in self.path.iterdir()):
            raise InputError(_OTHER, _REMEDY, source=str(self.path))
        if found["study"] not in (None, self._study):
            raise InputError(f"holds the results of the study '{found['study']}'", _REMEDY, source=str(self.path))
        if self.runs.exists():
            self._check_runs(owned=found["study"] is not None)
        return found

    def _check_runs(self, *, owned: bool) -> None:
        """Nothing may stand where runs go; without a record all that is there must be this study's."""
        for item in sorted(self.runs.iterdir()) if self.runs.is_dir() else [self.runs]:
            if item.name.endswith(SUFFIX) and item.is_file():
                continue
            if not item.is_dir():
                raise InputError("is a file, not the runs of a scenario", _REMEDY, source=str(item))
            ours = item.name in self._scenarios
            kept = (item / JOURNAL).is_file() or not any(item.iterdir())
            if (ours and not kept) or (not ours and not owned):
                raise InputError("holds something other than this study's runs", _REMEDY, source=str(item))

    def _read(self, name: str) -> dict[str, Any]:
        try:
            found = parse_json((self.path / name).read_text(encoding="utf-8"))
        except ValueError:
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("study"), str):
            raise InputError(_OTHER, _REMEDY, source=str(self.path))
        return found
