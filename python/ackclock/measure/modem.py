"""What ModemManager says of the radio of a mobile line, by its program ``mmcli``: technology, cell and signal.

Only what is named here is taken out of its answers, and that only if it looks like what it should be. They also have
what says whose the line is (IMEI, IMSI, telephone numbers, SIM card, operator, access point, position by satellites):
none of it gets any further.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import re
import shutil
import time
from typing import Any

from ackclock.measure import system

PATIENCE_S = 3.0
"""For all questions before a test together."""

_PATH = re.compile(r"/org/freedesktop/ModemManager1/Modem/(\d+)")
_WORD = re.compile(r"(?=.*[a-z])[a-z0-9-]{1,12}")
_GSM_CELLS = 1 << 16

_SIGNAL = {
    "gsm": {"rssi": "rssi_dbm"},
    "umts": {"rssi": "rssi_dbm", "rscp": "rscp_dbm", "ecio": "ecio_db"},
    "lte": {"rssi": "rssi_dbm", "rsrp": "rsrp_dbm", "rsrq": "rsrq_db", "snr": "snr_db"},
    "5g": {"rsrp": "rsrp_dbm", "rsrq": "rsrq_db", "snr": "snr_db"},
}
"""By technology what is kept of its signal, with its name there. SNR is what others call SINR."""

_secretive: set[str] = set()
"""Modems that have not told their cell. Who may ask for it is up to polkit, which may ask somebody for a password:
once, not before every test."""


def seen(interface: str, salt: bytes) -> dict[str, Any] | None:
    """The radio behind an interface, or ``None`` where no modem of ModemManager's has it."""
    ask = _Questions()
    for number in _numbers(ask):
        told = _inside(ask("-m", number), "modem", "generic")
        ports = told.get("ports")
        if isinstance(ports, list) and f"{interface} (net)" in ports:
            return {
                "technology": _technologies(told.get("access-technologies")),
                "quality_percent": _percent(_inside(told, "signal-quality").get("value")),
                "signal": _signal(_inside(ask("-m", number, "--signal-get"), "modem", "signal")),
                "cell": _cell(number, salt, ask),  # last: it may take all the patience that is left
            }
    return None


class _Questions:
    """Questions to ``mmcli`` that must all be answered within the patience for them."""

    def __init__(self) -> None:
        self._program = shutil.which("mmcli")
        self._until = time.monotonic() + PATIENCE_S

    def __call__(self, *words: str) -> Any:
        """What it answers, or an empty object."""
        left = self._until - time.monotonic()
        if self._program is None or left <= 0:
            return {}
        with contextlib.suppress(ValueError):
            return json.loads(system.said([self._program, *words, "-J"], left) or "{}")
        return {}


def _numbers(ask: _Questions) -> list[str]:
    """Of all modems."""
    paths = _inside(ask("-L")).get("modem-list")
    found = [_PATH.fullmatch(str(path)) for path in paths] if isinstance(paths, list) else []
    return [path[1] for path in found if path is not None]


def _technologies(told: Any) -> list[str] | None:
    """Such as ``lte``; two where a second one helps (``lte``, ``5gnr``)."""
    words = sorted({word for word in told if isinstance(word, str)} - {"unknown"}) if isinstance(told, list) else []
    return [word for word in words if _WORD.fullmatch(word)] or None


def _cell(number: str, salt: bytes, ask: _Questions) -> str | None:
    """A word for the cell: another one for another cell, and no way back to where it stands."""
    if number in _secretive:
        return None
    told = ask("-m", number, "--location-get")
    if not told:
        _secretive.add(number)
    place = _inside(told, "modem", "location", "3gpp")
    cell = _hexadecimal(place.get("cid"))
    if not cell:
        return None
    # A number of 16 bits is one of GSM's, which is unique within its location area only (3GPP TS 23.003 §4.3.1).
    area = _hexadecimal(place.get("lac")) if cell < _GSM_CELLS else None
    name = f"cell {place.get('mcc')} {place.get('mnc')} {area} {cell}"
    return hmac.new(salt, name.encode(), hashlib.sha256).hexdigest()[:16]


def _signal(told: dict[str, Any]) -> dict[str, dict[str, float | None]] | None:
    """Of each technology that has any."""
    found = {}
    for technology, names in _SIGNAL.items():
        section = _inside(told, technology)
        values = {ours: _level(section.get(theirs)) for theirs, ours in names.items()}
        if any(value is not None for value in values.values()):
            found[technology] = values
    return found or None


def _level(told: Any) -> float | None:
    """In dB or dBm. ModemManager says ``--`` for none."""
    with contextlib.suppress(TypeError, ValueError):
        value = float(told)
        return value if -200 <= value <= 100 else None
    return None


def _percent(told: Any) -> int | None:
    with contextlib.suppress(TypeError, ValueError):
        value = int(told)
        return value if 0 <= value <= 100 else None
    return None


def _hexadecimal(told: Any) -> int | None:
    return int(told, 16) if isinstance(told, str) and re.fullmatch(r"[0-9A-Fa-f]{1,10}", told) else None


def _inside(told: Any, *keys: str) -> dict[str, Any]:
    """An object within objects, or an empty one."""
    for key in keys:
        told = told.get(key) if isinstance(told, dict) else None
    return told if isinstance(told, dict) else {}
