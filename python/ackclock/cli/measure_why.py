"""``ackclock measure why``."""

from __future__ import annotations

from pathlib import Path

from ackclock.cli import console
from ackclock.cli.exit_codes import OK
from ackclock.measure.causes.verdict import explain
from ackclock.measure.causes.words import lines_of


def why(directory: Path, *, as_json: bool) -> int:
    """Say what limits few connections on each line of a result."""
    found = explain(directory)
    if as_json:
        console.print_json({"lines": [verdict.row() for verdict in found]})
        return OK
    out = console.stdout()
    for verdict in found:
        for text in lines_of(verdict):
            console.say(out, text)
    return OK
