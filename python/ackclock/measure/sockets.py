"""Options of data connections, and what this kernel has to offer."""

from __future__ import annotations

import contextlib
import errno
import socket
import sys
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ackclock.errors import Problem
from ackclock.files import reason
from ackclock.scenario.values.base import Model

_SO_MAX_PACING_RATE = 47
_IPV6_TCLASS = 67
_ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_LARGEST = 1 << 30
_BUFFERS = {"rcvbuf": socket.SO_RCVBUF, "sndbuf": socket.SO_SNDBUF}

Bytes = Annotated[int, Field(ge=1, le=_LARGEST)]


class Options(Model):
    """What both ends set on the connections of a test. What is ``None`` is left to the kernel."""

    cc: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,15}$")] | None = None
    """The controller (TCP_CONGESTION)."""
    mss: Annotated[int, Field(ge=88, le=32767)] | None = None
    """Bytes of a segment (TCP_MAXSEG): the client's, which holds for both directions."""
    nodelay: bool = False
    """Small segments do not wait for acknowledgments (TCP_NODELAY)."""
    rcvbuf: Bytes | None = None
    """Bytes of the receive buffer (SO_RCVBUF; the kernel takes twice as many, with its own overhead)."""
    sndbuf: Bytes | None = None
    """Bytes of the send buffer (SO_SNDBUF)."""
    notsent_lowat: Bytes | None = None
    """Bytes not yet sent above which a sender has to wait (TCP_NOTSENT_LOWAT)."""
    pacing: Annotated[int, Field(ge=8_000, le=10**12)] | None = None
    """The most that a connection sends, bit/s (SO_MAX_PACING_RATE)."""
    tos: Annotated[int, Field(ge=0, le=255, multiple_of=4)] | None = None
    """The byte of the IP header with the DSCP, and 0 in the two bits of ECN: Linux keeps those of TCP to itself."""


def controllers() -> list[str]:
    """The controllers that this process may choose. None are known where there is no Linux."""
    try:
        return sorted(_ALLOWED.read_text(encoding="ascii").split())
    except OSError:
        return []


def available() -> list[str]:
    """The controllers that this kernel has now, for whomever. One that is not loaded is not among them."""
    try:
        return sorted(_AVAILABLE.read_text(encoding="ascii").split())
    except OSError:
        return []


def apply(sock: socket.socket, options: Options) -> None:
    """Set the options on a socket. Raises :class:`Problem` for what this kernel does not allow, with what it does."""
    for name, value in options.model_dump(exclude_none=True).items():
        if name == "nodelay" and not value:
            continue
        try:
            _SET[name](sock, value)
        except OSError as error:
            if name == "cc":
                raise _no_controller(value, error) from None
            why = reason(error)
            raise Problem(f"the kernel refuses {name} = {value} ({why})", _remedy(name), name) from None
        option = _BUFFERS.get(name)
        if option is not None and (got := sock.getsockopt(socket.SOL_SOCKET, option)) < 2 * value:
            # The kernel takes twice what it is asked for, up to twice a limit, and does not say that it took less.
            limit = "rmem_max" if name == "rcvbuf" else "wmem_max"
            problem = f"{name} = {value} is more than the kernel allows"
            raise Problem(problem, f"at most {got // 2} (net.core.{limit})", name)
    if options.cc is not None and (chosen := in_force(sock)) != options.cc:
        raise Problem(f"the kernel took {chosen} in place of {options.cc}", _remedy("cc"), "cc")


def check(options: Options) -> None:
    """Whether this kernel allows the options. Raises :class:`Problem`."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        apply(sock, options)


def in_force(sock: socket.socket) -> str | None:
    """The controller of a connection, or ``None`` where the kernel does not say."""
    if sys.platform != "linux":
        return None
    with contextlib.suppress(OSError):
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode("ascii")
    return None


def _no_controller(name: str, error: OSError) -> Problem:
    """Why a kernel does not take a controller: it has none of this name, or has it for root alone."""
    if error.errno == errno.EPERM:
        problem, remedy = f"the kernel lets only root choose {name}", f"or add {name} to {_ALLOWED.name} there (sysctl)"
    else:
        problem, remedy = f"the kernel has no controller '{name}'", f"or load it there (modprobe tcp_{name})"
    return Problem(problem, f"{_remedy('cc')}; take one of these, {remedy}", "cc")


def _remedy(name: str) -> str:
    if name == "cc":
        return f"it allows: {', '.join(controllers()) or 'none'}"
    return "leave it out, or give a value that this kernel takes"


def _tos(sock: socket.socket, value: int) -> None:
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, _IPV6_TCLASS, value)
    # Such a socket, too, may carry a connection of IPv4, as a server's does that listens on "::".
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, value)


def _tcp(option: str) -> int:
    number = getattr(socket, option, None)
    if number is None:
        raise OSError(0, f"this system has no {option}")
    return int(number)


_SET = {
    "cc": lambda sock, value: sock.setsockopt(socket.IPPROTO_TCP, _tcp("TCP_CONGESTION"), value.encode()),
    "mss": lambda sock, value: sock.setsockopt(socket.IPPROTO_TCP, _tcp("TCP_MAXSEG"), value),
    "nodelay": lambda sock, value: sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(value)),
    "rcvbuf": lambda sock, value: sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, value),
    "sndbuf": lambda sock, value: sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, value),
    "notsent_lowat": lambda sock, value: sock.setsockopt(socket.IPPROTO_TCP, _tcp("TCP_NOTSENT_LOWAT"), value),
    "pacing": lambda sock, value: sock.setsockopt(
        socket.SOL_SOCKET, _SO_MAX_PACING_RATE, (value // 8).to_bytes(8, sys.byteorder)
    ),
    "tos": _tos,
}
