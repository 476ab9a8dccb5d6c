"""``ackclock shell``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ackclock.cli import console
from ackclock.cli.options import by_engine, flag, repeatable
from ackclock.errors import InputError, Problem

_SHELL = "/bin/sh"


def shell_command(
    file: Annotated[Path, Parameter(help="A scenario in TOML.")],
    /,
    *command: Annotated[
        str, Parameter(help="Behind --: a program and its arguments. Default: your shell.", show_default=False)
    ],
    end: Annotated[
        Literal["client", "server"],
        Parameter(help="Where it runs: where the flow's data arrives, or where it is sent from."),
    ] = "client",
    server: Annotated[
        str | None, Parameter(help="A command line for the other end: started first, and ended with the program.")
    ] = None,
    flow: Annotated[int, Parameter(help="The number of the flow whose way through the topology the shell has.")] = 0,
    with_flows: Annotated[bool, flag("Play the scenario's flows as well, as cross traffic.")] = False,
    nat: Annotated[bool, flag("Reach the network around the shell, through the path.")] = False,
    duration: Annotated[str | None, Parameter(help="End the program after this time, with exit code 124.")] = None,
    out: Annotated[
        Path | None,
        Parameter(
            help="Write tables, series of links and packets to this directory; an older result there is replaced."
        ),
    ] = None,
    capture: Annotated[
        bool, Parameter(negative="--no-capture", help="With --out: packets as seen at both ends, as a capture.")
    ] = True,
    changes: Annotated[
        tuple[str, ...], repeatable('Change a key: topology.rtt="40 ms". Repeatable.', name="--set")
    ] = (),
    seed: Annotated[int | None, Parameter(help="Master seed, in place of run.seed.")] = None,
    virtual: Annotated[
        bool, flag("In virtual time, in a guest (docs/shell.md): not a shell but a program, without a terminal.")
    ] = False,
    kernel: Annotated[
        str | None,
        Parameter(
            show_default=False, help="With --virtual: which of those of ackclock kernel list, where they differ."
        ),
    ] = None,
    write: Annotated[
        Path | None,
        Parameter(
            show_default=False,
            help="With --virtual: a folder that programs write to; elsewhere what they write is gone with them.",
        ),
    ] = None,
    pin: Annotated[
        int | None,
        Parameter(
            show_default=False, help="In real time: the processor that drives the path. Programs get the others."
        ),
    ] = None,
    allow_late: Annotated[bool, flag("In real time: the path is valid however late packets were.")] = False,
    offload: Annotated[
        bool, flag("Hosts leave segmentation to the path, as to a network card (docs/engines.md).")
    ] = False,
    quiet: Annotated[bool, flag("Say nothing but what is wrong.")] = False,
) -> int:
    """Run a program, or your shell, behind the path of a scenario, in real time or with --virtual in virtual time.

    The other end is server.ackclock (in the environment: ACKCLOCK_SERVER, ACKCLOCK_SERVER6). The exit code is the
    program's.
    """
    from ackclock.scenario.plan import load

    if virtual:
        _checked(command, pin, allow_late=allow_late)
    elif (given := "--kernel" if kernel else "--write" if write else None) is not None:
        raise InputError("it belongs to virtual time", "give --virtual, too, or leave it out", key=given)
    if server is not None and not server.strip():
        raise InputError(
            "it is no command line", "write what is to run at the other end, or leave it out", key="--server"
        )
    more = by_engine(None, pin, allow_late=allow_late, offload=offload)
    plan = load(file, set=(*changes, *more), seed=seed)
    guest = Guest(kernel, write) if virtual else None
    return run(plan, Asked(command, end, server, flow, with_flows, nat, duration, out, capture, quiet, guest))


def _checked(command: Sequence[str], pin: int | None, *, allow_late: bool) -> None:
    """Raise :class:`InputError` for what virtual time has not."""
    if not command:
        raise InputError(
            "a shell to type in needs real time", "give a program behind --, or leave --virtual out", key="--virtual"
        )
    if pin is not None:
        raise InputError("a guest has one processor", "leave it out; nothing is late in virtual time", key="--pin")
    if allow_late:
        raise InputError("nothing is late in virtual time", "leave it out, or leave --virtual out", key="--allow-late")


@dataclass(frozen=True, slots=True)
class Guest:
    """What was asked for of virtual time."""

    kernel: str | None
    write: Path | None


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for on the command line."""

    command: Sequence[str]
    end: Literal["client", "server"]
    server: str | None
    flow: int
    with_flows: bool
    nat: bool
    duration: str | None
    out: Path | None
    capture: bool
    quiet: bool
    guest: Guest | None = None


def run(plan: Any, asked: Asked) -> int:
    """Run it, and say how it went. Returns its exit code."""
    from ackclock.execution import behind
    from ackclock.sweeps import shell

    command = asked.command or (os.environ.get("SHELL") or _SHELL,)
    request = shell.Request(
        command=command,
        end=asked.end,
        server=asked.server,
        flow=asked.flow,
        with_flows=asked.with_flows,
        duration=_duration(asked.duration),
        nat=asked.nat,
        capture=asked.capture,
        status=not asked.quiet,
        virtual=None if asked.guest is None else shell.Virtual(asked.guest.kernel, asked.guest.write),
    )
    try:
        ended = shell.play(plan, request, asked.out, (lambda: None) if asked.quiet else lambda: _begins(plan, asked))
    except behind.NotStartedError as problem:
        console.warn(str(problem))
        return problem.code
    for warning in (*ended.warnings, *_late(ended.emulation)):
        console.warn(warning)
    if not asked.quiet:
        for line in summary(ended.shell, ended.links):
            console.warn(line)
        if asked.out is not None:
            console.warn(f"tables: {asked.out}")
    return int(ended.shell["exit"])


_CONTROLLER = Path("/proc/sys/net/ipv4/tcp_congestion_control")


def _begins(plan: Any, asked: Asked) -> None:
    """Say where the program finds the other end, and what of the scenario is not for programs."""
    from ackclock.execution import behind

    end = asked.end
    other = "server" if end == "client" else "client"
    address = _address(behind.level(), other)
    console.warn(f"you are the {end}; the {other} is {address} ({other}.ackclock, $ACKCLOCK_{other.upper()})")
    if asked.guest is not None:
        return
    with contextlib.suppress(OSError):
        own = _CONTROLLER.read_text(encoding="ascii").strip()
        console.warn(f"programs begin with this computer's controller, {own}, whatever cc of the scenario's flows is")
    if plan.points[0].scenario.run.engine == "kernel-vt":
        console.warn("this is real time, though run.engine is kernel-vt: for a program that is --virtual")


def _address(level: int, end: str) -> str:
    """The address of version 4 that an end has in the network of shells of this number."""
    return f"100.64.{level}.{1 if end == 'server' else 2}"


def _duration(text: str | None) -> int | None:
    from ackclock.scenario.values.units import DURATION

    if text is None:
        return None
    try:
        return DURATION.parse(text, zero=False)
    except Problem as problem:
        raise InputError(problem.problem, problem.remedy, key="--duration") from None


def _late(emulation: Mapping[str, Any]) -> list[str]:
    """What makes the path another than that of the scenario."""
    if not emulation["problems"]:
        return []
    told = "; ".join(emulation["problems"][:3])
    if emulation["valid"]:
        return [f"late, but allowed: {told}"]
    return [f"not valid: {told}; give the computer rest, or --pin 1 (docs/engines.md)"]


def summary(shell: Mapping[str, Any], links: Sequence[Mapping[str, Any]]) -> list[str]:
    """How it went, in lines: what each end was given, and what the links did that had something to do."""
    seconds = shell["duration_ns"] / 1e9
    ended = {"itself": "", "limit": ", ended at its time limit", "signal": ", ended by a signal"}[shell["by"]]
    ways = (
        f"to the {end} {_size(of[0])} ({of[0] * 8 / seconds / 1e6:.3g} Mbit/s)"
        for end, of in zip(("client", "server"), shell["delivered"], strict=True)
    )
    lines = [f"{seconds:.1f} s, exit code {shell['exit']}{ended}; {', '.join(ways)}"]
    for link in links:
        if not link["arrived_packets"]:
            continue
        used = "" if link["utilisation"] is None else f"{100 * link['utilisation']:.1f} % used, "
        delay = link["queue_delay_s"]
        waited = "" if delay is None else f", queue delay {delay[1] * 1e3:.3g} ms (p50), {delay[3] * 1e3:.3g} ms (p99)"
        lost = f", {link['lost']} lost" if link["lost"] else ""
        marked = f", {link['marks']} marked" if link["marks"] else ""
        packets = link["arrived_packets"]
        lines.append(f"{link['id']}: {used}{packets} packets, {link['drops']} dropped{lost}{marked}{waited}")
    return lines


def _size(size: int) -> str:
    return f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"
