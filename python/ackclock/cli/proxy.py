"""``ackclock proxy``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ackclock.cli.options import flag, repeatable
from ackclock.errors import InputError, Problem
from ackclock.files import reason

_LEG = "cc, rcvbuf, sndbuf, notsent_lowat, pacing_rate, user_timeout, keepalive, nodelay, fast_open, initcwnd"


def proxy_command(
    *,
    listen: Annotated[
        str, Parameter(help="Where clients connect to: an address, no name, and a port.")
    ] = "127.0.0.1:1080",
    to: Annotated[
        str | None, Parameter(help="Everybody goes here: a host and its port, looked up once, at the start.")
    ] = None,
    socks5: Annotated[bool, flag("Clients say where they go by SOCKS 5.")] = False,
    http_connect: Annotated[bool, flag("Clients say where they go by the method CONNECT of HTTP.")] = False,
    transparent: Annotated[
        bool, flag("Clients do not know: rules of the firewall lead them here (ackclock doctor shows them).")
    ] = False,
    allow: Annotated[
        tuple[str, ...], repeatable("Addresses that clients may have: 192.0.2.0/24. Default: this computer's loopback.")
    ] = (),
    allow_target: Annotated[
        tuple[str, ...], repeatable("Private, local and other special addresses that clients may go to all the same.")
    ] = (),
    credentials: Annotated[
        Path | None, Parameter(help="A file with lines NAME:PASSWORD, of which clients must have one.")
    ] = None,
    client: Annotated[
        tuple[str, ...], repeatable(f"An option of the clients' side, KEY=VALUE: {_LEG}. Repeatable.")
    ] = (),
    server: Annotated[tuple[str, ...], repeatable("The same of the servers' side.")] = (),
    buffer: Annotated[
        str, Parameter(help="Most bytes held for one direction of a connection, beside its sockets' own.")
    ] = "4 MiB",
    max_buffer: Annotated[str, Parameter(help="Most bytes held for all.")] = "1 GiB",
    connections: Annotated[int, Parameter(help="Most connections at a time; others wait.")] = 10_000,
    per_client: Annotated[
        int, Parameter(help="Most of one client, an IPv4 address or a /64; others are reset.")
    ] = 1000,
    connect: Annotated[str, Parameter(help="How long a server may take to be there, its name included.")] = "10 s",
    idle: Annotated[str, Parameter(help="How long nothing may go either way.")] = "300 s",
    half_open: Annotated[str, Parameter(help="The same once one end is done.")] = "60 s",
    header: Annotated[str, Parameter(help="How long clients may take to say where they go.")] = "5 s",
    drain: Annotated[str, Parameter(help="How long connections have when SIGTERM comes.")] = "30 s",
    sample: Annotated[
        str | None, Parameter(help="Write a line about each connection this often, not only when it has ended.")
    ] = None,
    metrics: Annotated[str | None, Parameter(help="Where metrics can be read: 127.0.0.1:9100.")] = None,
    log: Annotated[
        Path | None, Parameter(help="Append lines about connections to this file. Default: standard output.")
    ] = None,
    lines: Annotated[bool, Parameter(negative="--no-lines", help="A line of JSON about each connection.")] = True,
    user: Annotated[str, Parameter(help="Whose rights it has once it listens, if root starts it.")] = "nobody",
    confine: Annotated[
        bool,
        Parameter(
            negative="--no-confine",
            help="Once it listens, write no file and start no program, by landlock and seccomp.",
        ),
    ] = True,
    proxy_in: Annotated[bool, flag("Clients begin with a header of the PROXY protocol.")] = False,
    proxy_out: Annotated[
        Literal["v1", "v2"] | None, Parameter(help="Servers get a header of the PROXY protocol.")
    ] = None,
    splice: Annotated[
        bool,
        Parameter(
            negative="--no-splice",
            help="Leave payload in the kernel, instead of copying it; up to 4096 bytes at once are copied either way.",
        ),
    ] = True,
    keep_source: Annotated[bool, flag("With --transparent: servers see the client's address.")] = False,
) -> int:
    """Split TCP connections: one to the client, one to the server, joined here; until SIGTERM.

    Without --allow or --credentials only this computer can connect.
    """
    from ackclock import proxy

    listen = _address("--listen", listen, "127.0.0.1:1080 or [::1]:1080")
    metrics = None if metrics is None else _address("--metrics", metrics, "127.0.0.1:9100 or [::1]:9100")
    mode = _mode(to, socks5=socks5, http_connect=http_connect, transparent=transparent)
    proxy.become(
        {
            "listen": listen,
            "mode": mode,
            "allow": _ranges("--allow", allow),
            "allow_target": _ranges("--allow-target", allow_target),
            "credentials": [] if credentials is None else _credentials(credentials),
            "client": leg("--client", client),
            "server": leg("--server", server),
            "buffer": _size("--buffer", buffer),
            "max_buffer": _size("--max-buffer", max_buffer),
            "connections": _count("--connections", connections),
            "per_client": _count("--per-client", per_client),
            "connect_s": _seconds("--connect", connect),
            "idle_s": _seconds("--idle", idle),
            "half_open_s": _seconds("--half-open", half_open),
            "header_s": _seconds("--header", header),
            "drain_s": _seconds("--drain", drain),
            "sample_s": None if sample is None else _seconds("--sample", sample),
            "metrics": metrics,
            "log": None if log is None else str(log),
            "lines": lines,
            "user": user,
            "confine": confine,
            "proxy_in": proxy_in,
            "proxy_out": proxy_out,
            "splice": splice,
            "keep_source": keep_source,
        }
    )


def _mode(to: str | None, *, socks5: bool, http_connect: bool, transparent: bool) -> Any:
    """The one way in which it is known where clients go."""
    ways: dict[str, Any] = {}
    if to is not None:
        ways["--to"] = {"to": to}
    named = {"socks5": socks5, "http_connect": http_connect, "transparent": transparent}
    ways.update({f"--{name.replace('_', '-')}": name for name, asked in named.items() if asked})
    if len(ways) != 1:
        problem = f"{' and '.join(ways)} exclude each other" if ways else "it is not said where clients go"
        raise InputError(problem, "give one of --to HOST:PORT, --socks5, --http-connect, --transparent")
    return next(iter(ways.values()))


def _address(option: str, text: str, such: str) -> str:
    """An address and a port, as the program reads them; it would not say of which option they are."""
    import ipaddress

    host, _, port = text.rpartition(":")
    whole = _number(port, 65535)
    inner = host[1:-1] if host[:1] == "[" and host[-1:] == "]" else None
    # A zone is a number there, that of an interface.
    bare, percent, zone = (inner or "").partition("%")
    try:
        if inner is None:
            ipaddress.IPv4Address(host)
        else:
            ipaddress.IPv6Address(bare)
    except ValueError:
        named = whole and ":" not in host and any(letter.isalpha() for letter in host)
        problem = f"{text!r} has a name for its address" if named else f"{text!r} is no address with a port"
        raise InputError(problem, f"write an address and a port, as {such}", key=option) from None
    if not whole:
        raise InputError(f"{port!r} of {text!r} is no port", "write 0 to 65535", key=option)
    if percent and not _number(zone, 2**32 - 1):
        raise InputError(f"{zone!r} of {text!r} is no interface's number", "ip link shows them", key=option)
    return text


def _number(text: str, most: int) -> bool:
    """Whether it is a number of that size; more digits than twenty are not converted."""
    return text.isascii() and text.isdecimal() and len(text) <= 20 and int(text) <= most


def _ranges(option: str, given: Sequence[str]) -> list[str]:
    """Ranges of addresses, as the program reads them; it would not say of which option one is."""
    import ipaddress

    for text in given:
        try:
            ipaddress.ip_network(text)
        except ValueError as error:
            beyond = "has host bits set" in str(error)
            problem = f"{text} has bits beyond its length" if beyond else f"{text} is no range of addresses"
            known = str(ipaddress.ip_network(text, strict=False)) if beyond else "192.0.2.0/24 or 2001:db8::/32"
            raise InputError(problem, f"write {known}", key=option) from None
    return list(given)


def _credentials(file: Path) -> list[list[str]]:
    """The names and passwords of a file: a line each."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is no text in UTF-8"
        problem = f"{file}: cannot be read ({why})"
        raise InputError(problem, "give a file with lines NAME:PASSWORD", key="--credentials") from error
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name, colon, password = line.partition(":")
        if not (name and colon and password):
            raise InputError("this is no name with its password", "write NAME:PASSWORD", source=str(file), line=number)
        found.append([name, password])
    if not found:
        raise InputError(f"{file} has no line", "write NAME:PASSWORD into it", key="--credentials")
    return found


@dataclass(frozen=True, slots=True)
class _Option:
    """An option of a side: its name in the document, and how its value is read."""

    name: str
    read: Callable[[str, str], Any]


def _integer(key: str, text: str, quantity: Any, divisor: int) -> int:
    try:
        return int(quantity.parse(text, zero=False)) // divisor or 1
    except Problem as problem:
        raise InputError(problem.problem, problem.remedy, key=key) from None


def _size(key: str, text: str) -> int:
    from ackclock.scenario.values.units import SIZE

    return _integer(key, text, SIZE, 1)


def _rate(key: str, text: str) -> int:
    """Bytes a second, as the kernel has it."""
    from ackclock.scenario.values.units import RATE

    return _integer(key, text, RATE, 8)


def _milliseconds(key: str, text: str) -> int:
    from ackclock.scenario.values.units import DURATION

    return _integer(key, text, DURATION, 10**6)


def _whole_seconds(key: str, text: str) -> int:
    from ackclock.scenario.values.units import DURATION

    return _integer(key, text, DURATION, 10**9)


def _seconds(key: str, text: str) -> float:
    from ackclock.scenario.values.units import DURATION

    return _integer(key, text, DURATION, 1) / 1e9


def _count(key: str, number: int) -> int:
    if number < 1:
        raise InputError(f"{number} are none", "give 1 or more", key=key)
    return number


def _word(_key: str, text: str) -> str:
    return text


def _yes_or_no(key: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise InputError(f"{text!r} is neither true nor false", "write true or false", key=key)
    return text == "true"


def _segments(key: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 1000):
        raise InputError(f"{text!r} is no number of segments", "write 1 to 1000", key=key)
    return int(text)


_OPTIONS: Mapping[str, _Option] = {
    "cc": _Option("cc", _word),
    "rcvbuf": _Option("rcvbuf", _size),
    "sndbuf": _Option("sndbuf", _size),
    "notsent_lowat": _Option("notsent_lowat", _size),
    "pacing_rate": _Option("pacing_rate", _rate),
    "user_timeout": _Option("user_timeout_ms", _milliseconds),
    "keepalive": _Option("keepalive_s", _whole_seconds),
    "nodelay": _Option("nodelay", _yes_or_no),
    "fast_open": _Option("fast_open", _yes_or_no),
    "initcwnd": _Option("initcwnd", _segments),
}


def leg(option: str, given: Sequence[str]) -> dict[str, Any]:
    """The options of one side from words KEY=VALUE."""
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        known = _OPTIONS.get(key.strip())
        if known is None or not equals or not value.strip():
            raise InputError(f"{text!r} is no option of a side", f"write KEY=VALUE with a key of {_LEG}", key=option)
        found[known.name] = known.read(f"{option} {key.strip()}", value.strip())
    return found
