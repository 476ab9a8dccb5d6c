"""``ackclock get``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from ackclock.cli.options import flag, repeatable
from ackclock.errors import InputError, Problem

Url = Annotated[str, Parameter(help="What to download: http:// or https://.")]


def get_command(
    url: Url,
    /,
    *,
    dir: Annotated[Path, Parameter(help="The folder that the file comes into.", name="--dir")] = Path(),
    name: Annotated[
        str | None, Parameter(help="What the file is called there. Default: as the server says, or the URL.")
    ] = None,
    force: Annotated[bool, flag("Overwrite a file that is there.")] = False,
    max: Annotated[int, Parameter(help="Most connections, up to 16.", name="--max")] = 8,
    connections: Annotated[str, Parameter(help="auto: decided while it runs; or always so many.")] = "auto",
    limit_rate: Annotated[
        str | None, Parameter(help="A rate that all of them together do not exceed: 20 Mbit/s.")
    ] = None,
    header: Annotated[tuple[str, ...], repeatable("A header 'NAME: VALUE' for the URL's own host. Repeatable.")] = (),
    cookie: Annotated[tuple[str, ...], repeatable("A cookie NAME=VALUE for the URL's own host. Repeatable.")] = (),
    checksum: Annotated[
        str | None, Parameter(help="What the file has to have: sha256=DIGITS or sha512=DIGITS.")
    ] = None,
    ca: Annotated[Path | None, Parameter(help="Certificates to trust instead of the system's, a PEM file.")] = None,
    insecure: Annotated[bool, flag("Trust any certificate.")] = False,
    timeout: Annotated[str, Parameter(help="How long nothing may come before a connection is given up.")] = "30 s",
    retries: Annotated[int, Parameter(help="Failures in a row after which it ends.")] = 5,
    rcvbuf: Annotated[
        str | None, Parameter(help="Receive buffer of each socket. Default: as the kernel likes.")
    ] = None,
    json: Annotated[
        bool, flag("Print the summary as JSON: bytes, seconds, connections over time and why.", name="--json")
    ] = False,
    quiet: Annotated[bool, flag("Say nothing but what is wrong.")] = False,
) -> int:
    """Download a file over as many connections as make it faster, decided while it runs; go on where it ended."""
    from ackclock import get

    cookies = [("Cookie", "; ".join(map(_cookie, cookie)))] if cookie else []
    get.become(
        {
            "url": url,
            "dir": str(dir),
            "name": name,
            "force": force,
            "max": max,
            "connections": _connections(connections),
            "limit_rate": None if limit_rate is None else _rate(limit_rate),
            "headers": [*map(_header, header), *cookies],
            "checksum": None if checksum is None else _checksum(checksum),
            "ca": None if ca is None else str(ca),
            "insecure": insecure,
            "rcvbuf": None if rcvbuf is None else _size(rcvbuf),
            "timeout_s": _seconds(timeout),
            "retries": _count("--retries", retries),
            "json": json,
            "quiet": quiet,
        }
    )


def _connections(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal():
        raise InputError(f"{text!r} is no number", "give auto, or 1 to 16", key="--connections")
    return int(text)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise InputError(f"{text!r} is no header", "write 'NAME: VALUE'", key="--header")
    return name.strip(), value.strip()


def _cookie(text: str) -> str:
    name, equals, _ = text.partition("=")
    if not equals or not name.strip() or not text.isprintable():
        raise InputError(f"{text!r} is no cookie", "write NAME=VALUE", key="--cookie")
    return text.strip()


def _checksum(text: str) -> tuple[str, str]:
    algorithm, equals, digits = text.partition("=")
    if not equals:
        raise InputError(f"{text!r} does not say of what", "write sha256=DIGITS or sha512=DIGITS", key="--checksum")
    return algorithm.strip().lower(), digits.strip()


def _count(key: str, number: int) -> int:
    if number < 0:
        raise InputError(f"{number} is less than none", "give 0 or more", key=key)
    return number


def _quantity(key: str, text: str, quantity: Any) -> int:
    try:
        return int(quantity.parse(text, zero=False))
    except Problem as problem:
        raise InputError(problem.problem, problem.remedy, key=key) from None


def _rate(text: str) -> int:
    """Bytes a second."""
    from ackclock.scenario.values.units import RATE

    return max(1, _quantity("--limit-rate", text, RATE) // 8)


def _size(text: str) -> int:
    from ackclock.scenario.values.units import SIZE

    return _quantity("--rcvbuf", text, SIZE)


def _seconds(text: str) -> float:
    from ackclock.scenario.values.units import DURATION

    return _quantity("--timeout", text, DURATION) / 1e9
