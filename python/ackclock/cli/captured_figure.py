"""The figure that ``ackclock pcap --plot`` draws: sequence numbers over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.cli import console
from ackclock.errors import InputError
from ackclock.pcaps.analyse import session
from ackclock.pcaps.inputs import Input
from ackclock.pcaps.reading import Options

if TYPE_CHECKING:
    from ackclock.results.result import Result

_WIDTH = "page"
_MOST = 2**63  # a number of connections that no capture has


@dataclass(frozen=True, slots=True)
class Asked:
    """Which figure was asked for on the command line."""

    file: Path
    connection: Sequence[str]
    start: str | None
    end: str | None

    def fits(self) -> None:
        """Refuse what cannot be drawn whatever was captured, before anything is read."""
        from ackclock.cli.plot import connections, seconds
        from ackclock.drawing.picture import drawable

        drawable(self.file)
        if not self.file.parent.is_dir():
            problem, remedy = "cannot write a figure there: no such directory", "make it, or choose another"
            raise InputError(problem, remedy, source=str(self.file.parent))
        connections(self.connection)
        seconds(self.start, "from")
        seconds(self.end, "to")

    def narrowed(self, options: Options, found: Sequence[Input]) -> Options:
        """`options` that keep no more on the disk than the figure needs: one connection, if it is of one.

        Which has most data shows only when all has been read, so that a capture is read twice for it; a pipe cannot be.
        """
        from ackclock.cli.plot import connections
        from ackclock.drawing import passages
        from ackclock.drawing.request import EVERY

        names = connections(self.connection)
        if names and EVERY not in names:
            numbers = (int(name.partition(".")[0]) for name in names)
            return options.but(only=tuple(number for number in numbers if number < _MOST))
        if names or len(found) > 1 or not Path(found[0].path).is_file():
            return options
        with session(found, options.but(series=False, events=False)) as first:
            rows = passages.connections(first.result, [0])
        return options.but(only=tuple(row["connection"] for row in rows[:1]))


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that was written."""

    file: Path
    says: str
    notes: Sequence[str]
    data: dict[str, Any]

    def say(self) -> None:
        """Say what it shows, and where it is."""
        out = console.stdout()
        console.say(out, f"\nsequence: {self.says}")
        console.say(out, f"figure: {self.file}")

    def to_json(self) -> dict[str, Any]:
        """As ``ackclock plot --json`` has it."""
        return {
            "file": str(self.file), "kind": "sequence", "says": self.says, "notes": list(self.notes),
            "figure": self.data,
        }  # fmt: skip


def drawn(result: Result, asked: Asked) -> Figure:
    """Draw and write it."""
    from ackclock.cli.plot import connections, seconds
    from ackclock.drawing import picture, plot
    from ackclock.drawing.request import Request

    wanted = Request(
        "sequence",
        connection=connections(asked.connection),
        start=seconds(asked.start, "from"),
        end=seconds(asked.end, "to"),
    )
    drawing = plot.specify(result, wanted)
    picture.write_file(plot.figure(drawing.chart, _WIDTH), asked.file)
    return Figure(asked.file, drawing.says, drawing.notes, drawing.chart.to_json())
