"""``ackclock kernel``: the kernels of the engine kernel-vt."""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from ackclock.cli.examples import of as example
from ackclock.cli.exit_codes import OK
from ackclock.cli.options import Json, flag

if TYPE_CHECKING:
    from ackclock.virtual.kept import Kernel

app = App(
    name="kernel", help="Build, list and remove kernels for the engine kernel-vt.", help_epilogue=example("kernel")
)

_EVERY_S = 60.0
"""How often a log is told how far a build is."""


@app.command(name="build", help_epilogue=example("kernel build"))
def build_command(
    *,
    source: Annotated[
        Path | None,
        Parameter(help="Unpacked sources of Linux, to be built as they are now; they are not changed."),
    ] = None,
    package: Annotated[
        str | None, Parameter(help="The package of Debian that has the sources. Default: linux-source-6.12.")
    ] = None,
    patch: Annotated[
        Path | None, Parameter(help="A change to the package's sources, as diff -u or git diff writes it.")
    ] = None,
    config: Annotated[
        Path | None, Parameter(help="A file of more settings, CONFIG_NAME=y in each line, and none without effect.")
    ] = None,
    name: Annotated[
        str | None,
        Parameter(help="What the kernel is called. Default: its version, or the name of --source or --patch."),
    ] = None,
    json: Json = False,
) -> int:
    """Build a kernel; a few minutes, and seconds once little has changed."""
    from ackclock.cli import console
    from ackclock.errors import EngineError
    from ackclock.virtual import build as building
    from ackclock.virtual import guest

    request = building.Request(source, package, config, name, patch)
    unstarted = guest.unable()
    with _telling() as say:
        kernel, new = building.build(request, say)
        if unstarted is None:
            say("asking it what it has")  # by which scenarios are refused when they are read
            try:
                guest.facts(kernel)
            except EngineError as error:
                unstarted = str(error)
    if unstarted is not None:
        console.warn(f"it is built, and was not started here: {unstarted}")
    if json:
        console.print_json({"built": new, **_as_json(kernel)})
        return OK
    did = f"built in {kernel.seconds:.0f} s" if new else "was built before"
    console.say(console.stdout(), f"kernel {kernel.name}: Linux {kernel.version}, {did}, {kernel.digest[:12]}")
    console.say(console.stdout(), f"ackclock run FILE --engine kernel-vt --kernel {kernel.name}")
    return OK


@app.command(name="list", help_epilogue=example("kernel list"))
def list_command(*, json: Json = False) -> int:
    """Print the kernels that are built, the newest first. Where they differ, a run has to name one."""
    from ackclock.cli import console
    from ackclock.virtual import kept

    found = kept.all_of_them()
    if json:
        console.print_json({"kernels": [_as_json(kernel) for kernel in found]})
        return OK
    if not found:
        console.say(console.stdout(), f"no kernel is built; build one with: {kept.BUILD}")
        return OK
    rows = [["kernel", "Linux", "built", "of", "digest"]]
    for kernel in found:
        when = dt.datetime.fromtimestamp(kernel.created).astimezone().strftime("%Y-%m-%d %H:%M")
        rows.append([kernel.name, kernel.version, when, kernel.source, kernel.digest[:12]])
    console.stdout().print(console.table(rows, ["left"] * 5))
    return OK


@app.command(name="remove", help_epilogue=example("kernel remove"))
def remove_command(
    names: Annotated[tuple[str, ...], Parameter(help="Kernels that ackclock kernel list shows.")] = (),
    /,
    *,
    work: Annotated[bool, flag("Remove what makes the next build quick, 2 GB for each version, as well.")] = False,
) -> int:
    """Remove kernels."""
    from ackclock.cli import console
    from ackclock.errors import InputError
    from ackclock.virtual import kept

    if not names and not work:
        raise InputError("nothing is named that is to be removed", f"give a name of {kept.LIST}, or --work")
    for name in names:
        console.say(console.stdout(), f"kernel {kept.remove(name).name} is removed")
    if work:
        there = kept.remove_work()
        console.say(console.stdout(), "what builds had left is removed" if there else "builds have left nothing")
    return OK


def _as_json(kernel: Kernel) -> dict[str, Any]:
    return {**asdict(kernel), "image": str(kernel.image)}


@contextmanager
def _telling() -> Iterator[Callable[[str], None]]:
    """What is being done: in one line that changes on a terminal, else what is new, and how far it is once a minute."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(file=sys.stderr).status("") as status:
            yield lambda text: status.update(text)
        return
    told, last = "", 0.0

    def say(text: str) -> None:
        nonlocal told, last
        stage, now = text.partition(":")[0], time.monotonic()
        if stage == told and now - last < _EVERY_S:
            return
        told, last = stage, now
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    yield say
