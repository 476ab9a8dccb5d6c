"""Kinds of options that commands have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Literal

from cyclopts import Parameter


def flag(text: str, name: str | None = None) -> Parameter:
    """An option without a value."""
    return Parameter(name=name, negative=(), show_default=False, help=text)


def repeatable(text: str, name: str | None = None) -> Parameter:
    """An option that may be given several times, each time with one value."""
    return Parameter(name=name, negative=(), consume_multiple=False, show_default=False, help=text)


Json = Annotated[bool, flag("Print one JSON object instead of tables.", name="--json")]

Engine = Annotated[
    Literal["sim", "kernel", "kernel-vt"] | None,
    Parameter(
        show_default=False,
        help="Who plays it instead of run.engine: the simulator, this computer's kernel, or one in virtual time.",
    ),
]
Kernel = Annotated[
    str | None,
    Parameter(
        show_default=False, help="With engine kernel-vt: which of those of ackclock kernel list, where they differ."
    ),
]
Pin = Annotated[
    int | None, Parameter(show_default=False, help="With engine kernel: the processor that drives the path.")
]
AllowLate = Annotated[bool, flag("With engine kernel: runs are valid however late packets were.")]
Offload = Annotated[
    bool,
    flag(
        "With engine kernel or kernel-vt: hosts leave segmentation to the path, as to a network card (docs/engines.md)."
    ),
]
Jobs = Annotated[int | None, Parameter(help="Runs at a time. Default: as many as there are processors.")]
UseLate = Annotated[bool, flag("Use runs on a real kernel that are not valid, too.", name="--allow-late")]


def by_engine(
    engine: str | None, pin: int | None, *, allow_late: bool, offload: bool, kernel: str | None = None
) -> list[str]:
    """These options as changes of the scenario. Raises :class:`InputError` for a processor that is not there."""
    from ackclock.kernel import check_pin

    check_pin(pin, "--pin")
    flags = {"allow_late": allow_late, "offload": offload}
    given = {"engine": engine, "kernel": kernel, "pin": pin} | {
        key: "true" if on else None for key, on in flags.items()
    }
    return [f"run.{key}={value}" for key, value in given.items() if value is not None]


def effective(
    given: Iterable[str], engines: Collection[str], remedy: str = "take --engine {}, or leave it out"
) -> None:
    """Raise :class:`InputError` for an option that none of the `engines` that play takes notice of.

    given: changes of :func:`by_engine`. remedy: with a place for the engine that does.
    """
    from ackclock.sweeps.engines import check_noticed

    keys = [change.partition("=")[0].removeprefix("run.") for change in given]
    check_noticed(keys, engines, remedy, lambda key: f"--{key.replace('_', '-')}")
