"""What an interface is: fixed, wireless, of a mobile network, or of a phone.

Drivers and names of device types are those of Linux (drivers/net/usb, net/bluetooth/bnep, include/linux/netdevice.h).
"""

from __future__ import annotations

from pathlib import Path

from ackclock.measure import system

SYS = Path("/sys/class/net")

PAID = ("mobile", "tethered")
"""Interfaces whose data somebody pays for, as far as nobody says otherwise."""

_LOOPBACK = "772"
_MODEMS = ("cdc_mbim", "huawei_cdc_ncm", "qmi_wwan")
_PHONES = ("cdc_ether", "cdc_ncm", "ipheth", "rndis_host")
_ADAPTERS = ("0b95", "0bda")
"""ASIX and Realtek: their chips for Ethernet at USB have drivers of phones where their own are not there."""


def kind(interface: str) -> str:
    """``fixed``, ``wifi``, ``mobile``, ``tethered``, ``loopback`` or ``virtual``."""
    own = SYS / interface
    if system.text(own / "type") == _LOOPBACK:
        return "loopback"
    if (own / "wireless").exists() or (own / "phy80211").exists():
        return "wifi"
    device = _device_type(own)
    driver = _driver(own)
    if device == "wwan" or driver in _MODEMS:
        return "mobile"
    if device == "bluetooth" or (driver in _PHONES and _maker(own) not in _ADAPTERS):
        return "tethered"
    return "fixed" if (own / "device").exists() else "virtual"


def names() -> list[str]:
    """The interfaces of this computer. None are known where there is no Linux."""
    try:
        return sorted(item.name for item in SYS.iterdir() if item.is_dir())
    except OSError:
        return []


def number(interface: str | None, name: str) -> int | None:
    """A number that the kernel has of an interface, such as its ``mtu``; below 0 it means that there is none."""
    try:
        value = -1 if interface is None else int(system.text(SYS / interface / name) or "")
    except ValueError:
        return None
    return value if value >= 0 else None


def _device_type(own: Path) -> str | None:
    for line in (system.text(own / "uevent") or "").splitlines():
        key, _, value = line.partition("=")
        if key == "DEVTYPE":
            return value
    return None


def _driver(own: Path) -> str | None:
    try:
        return (own / "device" / "driver").readlink().name
    except OSError:
        return None


def _maker(own: Path) -> str | None:
    """The vendor of a device at USB; ``device`` is one of its interfaces, and so it is told one folder above."""
    return system.text(own / "device" / ".." / "idVendor")
