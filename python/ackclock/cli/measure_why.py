"""``ackclock measure why``."""

from __future__ import annotations

from pathlib import Path

from ackclock.cli import console
from ackclock.cli.exit_codes import OK
from ackclock.errors import InputError
from ackclock.measure.causes.verdict import explain
from ackclock.measure.causes.words import lines_of
from ackclock.measure.journal import FOLDER, Journal
from ackclock.results import incomplete
from ackclock.results.store import MANIFEST, manifest_of


def why(directory: Path, *, as_json: bool) -> int:
    """Say what limits few connections on each line of a result."""
    _check(directory)
    found = explain(directory)
    if as_json:
        console.print_json({"lines": [verdict.row() for verdict in found]})
        return OK
    out = console.stdout()
    for verdict in found:
        for text in lines_of(verdict):
            console.say(out, text)
    for note in incomplete.notes(manifest_of(directory)):
        console.warn(note)
    return OK


def _check(directory: Path) -> None:
    """Refuse what has no tables, with what writes them. Raises :class:`InputError`."""
    if (directory / MANIFEST).exists():
        return
    if (directory / FOLDER).exists():
        tests = len(Journal(directory).done())
        problem = f"is a campaign that has no tables yet ({tests} {'test' if tests == 1 else 'tests'})"
        raise InputError(problem, f"go on with: ackclock measure resume {directory}", source=str(directory))
    if directory.exists() and not directory.is_dir():
        problem = "is a file"
    else:
        problem = f"has no {MANIFEST}" if directory.exists() else "does not exist"
    remedy = "give a directory written by ackclock measure run, import, or by run or sweep with series"
    raise InputError(problem, remedy, source=str(directory))
