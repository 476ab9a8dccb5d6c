"""By which way packets leave this computer: its own address towards a host, and the default route.

Where an interface is named, tests leave by it, whatever the routes of the others say, and only its own count.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from ackclock.measure.system import text

_IPV4, _IPV6 = Path("/proc/net/route"), Path("/proc/net/ipv6_route")
_REJECTS = 0x200
"""Flag of a route by which nothing goes (RTF_REJECT, linux/route.h)."""


def local(host: str, device: str | None = None) -> str | None:
    """The address that this computer has towards a host. Nothing is sent: only the route is looked up."""
    with contextlib.suppress(OSError):
        family, kind, _, _, place = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as sock:
            if device is not None:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
            sock.connect(place)
            return str(sock.getsockname()[0])
    return None


def default(version: int = 4, device: str | None = None) -> tuple[str, str] | None:
    """Interface and gateway of the default route, that of an interface if one is named."""
    routes = _of_version_6() if version == 6 else _of_version_4()
    known = [(metric, name, gateway) for metric, name, gateway in routes if device in (None, name)]
    if not known:
        return None
    _, name, gateway = min(known)
    return name, gateway


def _of_version_4() -> Iterator[tuple[int, str, str]]:
    for line in (text(_IPV4) or "").splitlines()[1:]:
        name, destination, gateway, _, _, _, metric, mask, *_ = line.split()
        if int(destination, 16) == int(mask, 16) == 0:
            yield int(metric), name, socket.inet_ntoa(struct.pack("=I", int(gateway, 16)))


def _of_version_6() -> Iterator[tuple[int, str, str]]:
    for line in (text(_IPV6) or "").splitlines():
        destination, length, _, _, gateway, metric, _, _, flags, name = line.split()
        if int(destination, 16) == int(length, 16) == 0 and not int(flags, 16) & _REJECTS:
            yield int(metric, 16), name, str(ipaddress.IPv6Address(int(gateway, 16)))
