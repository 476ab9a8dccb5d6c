"""What is known of the computer that makes a test: each of it as the system says it, and null where it says nothing."""

from __future__ import annotations

import datetime as dt
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ackclock.measure import context
from lines import Computer


@pytest.fixture
def computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Computer:
    folder = tmp_path / "computer"
    folder.mkdir()
    monkeypatch.setattr(context, "_SUPPLIES", folder / "power")
    return Computer(folder, monkeypatch)


def gathered() -> dict[str, Any]:
    return context.gather("127.0.0.1", "lo", b"of a campaign", keep_addresses=False)


# As iproute2 6.1 says it.
TC = """[{"kind":"fq_codel","handle":"8001:","root":true,"refcnt":2,"options":{"limit":10240,"flows":1024}}]"""


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (TC, "fq_codel"),
        (TC.replace("fq_codel", "noqueue"), "noqueue"),
        ("[]", None),
        ("[{}]", None),
        ("qdisc fq_codel 8001: root", None),
        ("", None),
    ],
)
def test_the_queue_of_an_interface_is_what_tc_says_of_its_root(
    computer: Computer, answer: str, kind: str | None
) -> None:
    computer.interface("lo")
    question = '"-j qdisc show dev lo root"'
    computer.program("tc", f'case "$*" in\n{question}) cat << END\n{answer}\nEND\n;;\n*) exit 2;;\nesac')
    assert gathered()["qdisc"] == kind


def test_where_tc_fails_the_queue_is_not_known(computer: Computer) -> None:
    computer.interface("lo")
    computer.program("tc", f"echo '{TC}'; exit 1")
    assert gathered()["qdisc"] is None


@pytest.mark.parametrize(("told", "speed"), [("2500\n", 2500), ("-1\n", None), (None, None)])
def test_the_speed_of_a_link_is_what_its_driver_says(computer: Computer, told: str | None, speed: int | None) -> None:
    computer.interface("lo", "e1000e")
    if told is not None:
        (computer.net / "lo" / "speed").write_text(told)
    (computer.net / "lo" / "mtu").write_text("1420\n")
    found = gathered()
    assert (found["type"], found["speed_mbit"], found["mtu"]) == ("fixed", speed, 1420)


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ({}, (None, None)),
        ({"AC": {"type": "Mains", "online": "1"}}, (True, None)),
        ({"AC": {"type": "Mains", "online": "0"}, "BAT0": {"type": "Battery", "capacity": "63"}}, (False, 63)),
        ({"BAT0": {"type": "Battery", "capacity": "100"}}, (None, 100)),
        ({"BAT0": {"type": "Battery"}}, (None, None)),
        ({"hid-mouse": {"type": "USB", "online": "1", "capacity": "5"}}, (None, None)),
    ],
)
def test_mains_and_battery(
    computer: Computer, tmp_path: Path, supplies: dict[str, dict[str, str]], expected: tuple[bool | None, int | None]
) -> None:
    computer.interface("lo")
    for name, files in supplies.items():
        folder = tmp_path / "computer" / "power" / name
        folder.mkdir(parents=True)
        for file, told in files.items():
            (folder / file).write_text(f"{told}\n")
    power = gathered()["power"]
    assert (power["mains"], power["battery_percent"]) == expected
    assert len(power) == 2, "a supply has a serial number, too"


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "NFT-11:30")  # its name and 11 h 30 min east, as POSIX writes it
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("computer", "zone")
def test_time_and_zone() -> None:
    before = time.time()
    found = gathered()
    began = dt.datetime.fromisoformat(found["began"])
    assert found["zone"] == "NFT"
    assert began.utcoffset() == dt.timedelta(hours=11, minutes=30)
    assert before - 0.001 <= began.timestamp() <= time.time()


@pytest.mark.usefixtures("computer")
def test_kernel_and_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (0.25, 1.5, 2.0))
    found = gathered()
    assert found["kernel"] == f"{os.uname().sysname} {os.uname().release}"
    assert found["kernel"].startswith(f"{platform.system()} ")
    assert found["load"] == [0.25, 1.5, 2.0]
    assert found["cc"] == Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    assert found["cc"] in found["controllers"]
