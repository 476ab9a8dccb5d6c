"""Lines that this computer does not have: a tree of sysfs with their interfaces, and programs that tell of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ackclock.measure import interfaces, modem


class Computer:
    """Stands in for what the kernel and programs say: nothing, until it is told what."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._sys, self._programs = folder / "sys", folder / "bin"
        self.net = self._sys / "class/net"
        self.net.mkdir(parents=True)
        self._programs.mkdir()
        monkeypatch.setattr(interfaces, "SYS", self.net)
        monkeypatch.setattr(modem, "_secretive", set())
        monkeypatch.setenv("PATH", str(self._programs))

    def interface(
        self,
        name: str,
        driver: str | None = None,
        uevent: str = "",
        number: int = 1,
        wireless: str = "",
        maker: str = "",
    ) -> None:
        """An interface as sysfs has it: its device is one of the interfaces of a device at a bus."""
        own = self.net / name
        own.mkdir()
        (own / "type").write_text(f"{number}\n")
        (own / "uevent").write_text(f"{uevent}INTERFACE={name}\nIFINDEX=7\n")
        if wireless:
            (own / wireless).mkdir()
        if driver is not None:
            device = self._sys / "devices" / f"1-{name}" / f"1-{name}:1.0"
            device.mkdir(parents=True)
            (device.parent / "idVendor").write_text(f"{maker or '18d1'}\n")
            (own / "device").symlink_to(device)
            if driver:
                (device / "driver").symlink_to(f"../../../bus/usb/drivers/{driver}")

    def program(self, name: str, script: str) -> None:
        """A program of the shell. What it calls is found where it is on every computer."""
        file = self._programs / name
        file.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n", encoding="utf-8")
        file.chmod(0o755)

    def mmcli(self, answers: dict[str, Any], before: str = "") -> Path:
        """ModemManager's program, with its answers by its arguments; others it refuses. The file has what was asked."""
        asked = self._programs / "asked"
        cases = []
        for number, (words, answer) in enumerate(answers.items()):
            file = self._programs / f"answer-{number}"
            file.write_text(answer if isinstance(answer, str) else json.dumps(answer), encoding="utf-8")
            cases.append(f'"{words} -J") {before if number else ""} cat "{file}";;')
        self.program("mmcli", f'echo "$*" >> "{asked}"\ncase "$*" in\n' + "\n".join(cases) + "\n*) exit 1;;\nesac")
        asked.touch()
        return asked
