"""``ackclock import``: results of other tools become results like any other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from ackclock.cli.examples import of as example
from ackclock.cli.options import repeatable
from ackclock.errors import InputError

import_app = App(
    name="import",
    help="Make results of what iperf3, flent, mahimahi or Pantheon have measured; tables of what a proxy has written.",
    help_epilogue=example("import"),
)

Files = Annotated[tuple[Path, ...], Parameter(help="Files of the tool, gzipped or not; a test each, or several.")]
Out = Annotated[
    Path | None, Parameter(help="Directory for the tables; it has to be given. An older result there is replaced.")
]
Labels = Annotated[
    tuple[str, ...],
    repeatable("Files of a group: fibre=a.json,b.json or fibre=FOLDER/*.json. Repeatable.", name="--label"),
]


@import_app.command(name="iperf3", help_epilogue=example("import iperf3"))
def iperf3_command(*files: Path, out: Out = None, label: Labels = ()) -> int:
    """Results of iperf3 --json."""
    return _run("iperf3", files, out, label)


@import_app.command(name="flent", help_epilogue=example("import flent"))
def flent_command(*files: Path, out: Out = None, label: Labels = ()) -> int:
    """Data files of flent, .flent or .flent.gz."""
    return _run("flent", files, out, label)


@import_app.command(name="mahimahi", help_epilogue=example("import mahimahi"))
def mahimahi_command(*files: Path, out: Out = None, label: Labels = ()) -> int:
    """Logs of links that mahimahi has written (--uplink-log, --downlink-log)."""
    return _run("mahimahi", files, out, label)


@import_app.command(name="pantheon", help_epilogue=example("import pantheon"))
def pantheon_command(*files: Path, out: Out = None, label: Labels = ()) -> int:
    """Logs of Pantheon's tunnels, such as bbr_datalink_run1.log."""
    return _run("mahimahi", files, out, label)


@import_app.command(name="proxy", help_epilogue=example("import proxy"))
def proxy_command(*files: Path, out: Out = None) -> int:
    """Lines of ackclock proxy, as tables of connections and of their samples."""
    if out is None or not files:
        problem = "no directory for the tables is given" if out is None else "nothing is to be read"
        key = "--out" if out is None else "files"
        raise InputError(problem, "write ackclock import proxy FILE... --out DIR", key=key)
    from ackclock.cli import console
    from ackclock.cli.exit_codes import OK
    from ackclock.measure.imports import proxy

    tables = proxy.read(files)
    proxy.write(tables, out)
    counts = " and ".join(f"{len(frame):,} {name[:-1] if len(frame) == 1 else name}" for name, frame in tables.items())
    console.say(console.stdout(), f"{counts}: {out}")
    return OK


def _run(tool: str, files: Sequence[Path], out: Path | None, labels: Sequence[str]) -> int:
    """Read, write, and say what is there."""
    if out is None:
        problem = "no directory for the tables is given"
        raise InputError(problem, f"write ackclock import {tool} FILE... --out DIR", key="--out")
    import dataclasses

    from ackclock.cli import console
    from ackclock.cli.exit_codes import FAILED, OK
    from ackclock.measure import imported
    from ackclock.measure.imports import flent, iperf3, mahimahi

    read = {"iperf3": iperf3.read, "flent": flent.read, "mahimahi": mahimahi.read}[tool]
    tests = []
    for name, path in _chosen(files, labels):
        found = read(path)
        if name is not None:
            found = [dataclasses.replace(test, settings={"label": name, **test.settings}) for test in found]
        tests += found
    if not tests:
        raise InputError(
            "nothing is to be read", f"give files: ackclock import {tool} FILE... --out {out}", key="files"
        )
    manifest = imported.write(tests, out)
    for entry in manifest["runs"]:
        for note in entry["warnings"]:
            console.warn(f"{entry['file']}: {note}")
    for entry in manifest["failed"]:
        console.warn(entry["problem"])
    count = len(manifest["runs"])
    by = f", by {', '.join(manifest['params'])}" if manifest["params"] else ""
    console.say(console.stdout(), f"{count} {'test' if count == 1 else 'tests'}{by}: {out}")
    return FAILED if manifest["failed"] else OK


def _chosen(files: Sequence[Path], labels: Sequence[str]) -> Iterator[tuple[str | None, Path]]:
    for path in files:
        yield None, path
    for text in labels:
        name, equals, patterns = text.partition("=")
        if not equals or not name.strip() or not patterns:
            raise InputError(f"'{text}' is no group", "write it as fibre=a.json,b.json", key="--label")
        for pattern in patterns.split(","):
            place = Path(pattern)
            # A name without a file is said to be none when it is read.
            found = sorted(place.parent.glob(place.name)) or [place]
            yield from ((name.strip(), path) for path in found)
