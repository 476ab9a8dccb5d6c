"""What a test was made on and in: interface, kernel, load, power, time. Nothing that says whose it was.

No hardware address, no name of a wireless network in clear, no identity of a modem, and of addresses only the network.
"""

from __future__ import annotations

import array
import contextlib
import datetime as dt
import fcntl
import hashlib
import hmac
import ipaddress
import json
import os
import platform
import re
import shutil
import socket
import struct
from pathlib import Path
from typing import Any

from ackclock.measure import interfaces, modem, routes, sockets
from ackclock.measure.system import said, text

_SETTINGS = Path("/proc/sys/net/ipv4")
_DEFAULT_QDISC = Path("/proc/sys/net/core/default_qdisc")
_SUPPLIES = Path("/sys/class/power_supply")
_SECRET = ("tcp_fastopen_key",)
_SIOCGIFADDR = 0x8915
_SIOCGIWESSID = 0x8B1B
_SIOCGIWAP = 0x8B15
_PREFIXES = {4: 24, 6: 48}
_HARDWARE_NAME = re.compile(r"\b([a-z]{2}x)[0-9a-f]{12}\b")
"""What udev calls an interface by its hardware address, as it does at USB."""


def gather(host: str, device: str | None, salt: bytes, *, keep_addresses: bool) -> dict[str, Any]:
    """The context of a test to `host`. What the system does not say is ``None``."""
    local = routes.local(host, device)
    interface = device or (None if local is None else _interface_of(local))
    kind = None if interface is None else interfaces.kind(interface)
    now = dt.datetime.now().astimezone()
    return {
        "began": now.isoformat(timespec="milliseconds"),
        "zone": now.tzname(),
        "interface": _nameless(interface, salt),
        "type": kind,
        "network": None if interface is None else _network(interface, salt),
        "modem": modem.seen(interface, salt) if interface is not None and kind in interfaces.PAID else None,
        "speed_mbit": interfaces.number(interface, "speed"),
        "mtu": interfaces.number(interface, "mtu"),
        "qdisc": _qdisc(interface),
        "default_route": _nameless(default_route(local, device, keep_addresses=keep_addresses), salt),
        "address": None if local is None else shown(local, keep=keep_addresses),
        "kernel": f"{platform.system()} {platform.release()}",
        "cc": text(_SETTINGS / "tcp_congestion_control"),
        "controllers": sockets.controllers(),
        "sysctl": _sysctl(),
        "load": _load(),
        "power": _power(),
    }


def of_server(address: str) -> dict[str, Any]:
    """What a server says of the computer that sends from an address: of most tests it is the sender.

    By files of the kernel alone: a server starts no program.
    """
    interface = _interface_of(address)
    return {
        "kernel": f"{platform.system()} {platform.release()}",
        "default_cc": text(_SETTINGS / "tcp_congestion_control"),
        "speed_mbit": interfaces.number(interface, "speed"),
        "mtu": interfaces.number(interface, "mtu"),
        "default_qdisc": text(_DEFAULT_QDISC),
        "sysctl": _sysctl(),
        "load": _load(),
    }


def shown(address: str, *, keep: bool) -> str:
    """An address as it is kept: its /24, or /48 of version 6."""
    plain = ipaddress.ip_address(address.partition("%")[0])
    plain = getattr(plain, "ipv4_mapped", None) or plain  # as a socket of IPv6 says one of IPv4
    if keep:
        return str(plain)
    return str(ipaddress.ip_network(f"{plain}/{_PREFIXES[plain.version]}", strict=False))


def default_route(local: str | None, device: str | None, *, keep_addresses: bool = False) -> str | None:
    """The interface and the gateway of the default route, of the version of an address: that of `device`, if any."""
    version = 4 if local is None else ipaddress.ip_address(local.partition("%")[0]).version
    found = routes.default(version, device)
    return None if found is None else f"{found[0]} {shown(found[1], keep=keep_addresses)}"


def identity(host: str, device: str | None, salt: bytes) -> tuple[str | None, ...]:
    """What stays the same as long as a line is the same: address, interface, default route, wireless network.

    Of the latter its access point, too: another one is another radio. None of it is kept.
    """
    local = routes.local(host, device)
    interface = device or (None if local is None else _interface_of(local))
    network = None if interface is None else _network(interface, salt)
    access = None if network is None or interface is None else _access_point(interface)
    return (local, interface, default_route(local, device, keep_addresses=True), network, access)


def metered(interface: str | None) -> bool:
    """Whether data costs money here: what NetworkManager says, or else what the interface is.

    "no (guessed)" is what it says of each interface where nothing speaks for the contrary, among them those of phones.
    """
    if interface is None:
        return False
    program = shutil.which("nmcli")
    if program is not None:
        told = (said([program, "-g", "GENERAL.METERED", "device", "show", interface]) or "").strip()
        if told in ("yes", "yes (guessed)"):
            return True
        if told == "no":
            return False
    return interfaces.kind(interface) in interfaces.PAID


def interface_to(host: str) -> str | None:
    """The interface by which packets to a host leave."""
    local = routes.local(host)
    return None if local is None else _interface_of(local)


def _interface_of(address: str) -> str | None:
    plain = ipaddress.ip_address(address.partition("%")[0])
    wanted = getattr(plain, "ipv4_mapped", None) or plain  # as a socket of IPv6 says one of IPv4
    if wanted.version == 6:
        for line in (text(Path("/proc/net/if_inet6")) or "").splitlines():
            number, *_, name = line.split()
            if int(number, 16) == int(wanted):
                return name
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                answer = fcntl.ioctl(sock, _SIOCGIFADDR, struct.pack("256s", name.encode()))
                if answer[20:24] == wanted.packed or (wanted.is_loopback and answer[20] == wanted.packed[0]):
                    return name
    return None


def _nameless(told: str | None, salt: bytes) -> str | None:
    """What is told, with words in place of hardware addresses in the names of interfaces."""
    return told and _HARDWARE_NAME.sub(lambda name: f"{name[1]}-{_word(salt, name[0].encode())[:8]}", told)


def _word(salt: bytes, name: bytes) -> str:
    return hmac.new(salt, name, hashlib.sha256).hexdigest()[:16]


def _network(interface: str, salt: bytes) -> str | None:
    """A word for the wireless network: another one for another network, and no way back to its name."""
    if interfaces.kind(interface) != "wifi":
        return None
    name = array.array("B", bytes(34))
    address, length = name.buffer_info()
    request = bytearray(struct.pack("16sPHH", interface.encode(), address, length - 2, 0))
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, _SIOCGIWESSID, request)
        found = name.tobytes().rstrip(b"\0")
        return _word(salt, found) if found else None
    return None


def _access_point(interface: str) -> str | None:
    """The access point of a wireless network, by its hardware address: it is compared, and not kept."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        # struct iwreq: the name, and struct sockaddr, whose family takes two bytes.
        answer = fcntl.ioctl(sock, _SIOCGIWAP, struct.pack("32s", interface.encode()))
        return answer[18:24].hex()
    return None


def _qdisc(interface: str | None) -> str | None:
    program = shutil.which("tc") or shutil.which("tc", path="/usr/sbin:/sbin")
    if interface is None or program is None:
        return None
    told = said([program, "-j", "qdisc", "show", "dev", interface, "root"])
    with contextlib.suppress(ValueError, LookupError, TypeError):
        return str(json.loads(told or "")[0]["kind"])
    return None


def _load() -> list[float] | None:
    with contextlib.suppress(OSError):  # where /proc is hidden
        return list(os.getloadavg())
    return None


def _sysctl() -> dict[str, str]:
    found = {}
    for file in sorted(_SETTINGS.glob("tcp_*")):
        told = None if file.name in _SECRET else text(file)
        if told is not None:
            found[file.name] = " ".join(told.split())
    return found


def _power() -> dict[str, Any]:
    """Whether the computer has power from outside, and how full its battery is."""
    found: dict[str, Any] = {"mains": None, "battery_percent": None}
    for supply in sorted(_SUPPLIES.glob("*")):
        kind = (text(supply / "type") or "").strip()
        if kind == "Mains":
            found["mains"] = (text(supply / "online") or "").strip() == "1"
        elif kind == "Battery":
            with contextlib.suppress(ValueError):
                found["battery_percent"] = int(text(supply / "capacity") or "")
    return found
