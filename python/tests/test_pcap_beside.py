"""The rows of docs/pcap-rules.md: the same capture read by us, by tshark and by tcptrace, number by number.

Both have to be installed: ``apt-get install tshark tcptrace``.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import ackclock
from shared import ROOT

PAGE = (ROOT / "docs" / "pcap-rules.md").read_text(encoding="utf-8")
ROWS = ("sent again", "of these fast", "out of order", "duplicate acknowledgments")


def said(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("beside") / "downloads.pcapng"
    ackclock.capture(ROOT / "scenarios" / "downloads.toml", file)
    return file


def documented(place: str) -> dict[str, list[int | None]]:
    """The numbers of the table headed `at the PLACE`, by row: ours, tshark's, tcptrace's."""
    table = PAGE.split(f"| at the {place} |")[1].split("\n\n")[0]
    cells = (row.strip("|").split("|") for row in table.splitlines()[2:])
    return {name.strip(): [int(cell) if cell.strip() else None for cell in rest] for name, *rest in cells}


def ours(file: Path) -> list[int]:
    (row,) = ackclock.pcap(file).flows.filter(pl.col("id") == "0.0").iter_rows(named=True)
    names = ("retransmitted_segments", "fast_segments", "reordered_segments", "dup_acks")
    return [row[name] for name in names]


def of_tshark(file: Path) -> list[int]:
    names = ("retransmission", "fast_retransmission", "out_of_order", "duplicate_ack")
    return [len(said("tshark", "-n", "-r", file, "-Y", f"tcp.analysis.{name}").splitlines()) for name in names]


def of_tcptrace(file: Path) -> list[int | None]:
    classic = file.with_suffix(".pcap")
    said("editcap", "-F", "pcap", file, classic)
    text = said("tcptrace", "-n", "-l", "-r", classic)

    def first(name: str) -> int:
        found = re.search(rf"{name}:\s+(\d+)", text)
        assert found, name
        return int(found[1])

    return [first("rexmt data pkts"), None, first("outoforder pkts"), None]


TOOLS: tuple[Callable[[Path], list[int | None]] | Callable[[Path], list[int]], ...] = (ours, of_tshark, of_tcptrace)


@pytest.mark.parametrize(("place", "interface"), [("sender", "flows.0.source"), ("receiver", "flows.0.sink")])
def test_the_rows_are_what_the_tools_say(place: str, interface: str, capture: Path) -> None:
    own = capture.with_name(f"{place}.pcapng")
    said("tshark", "-n", "-r", capture, "-Y", f'frame.interface_name == "{interface}"', "-w", own)
    columns = [tool(own) for tool in TOOLS]
    assert documented(place) == {name: [column[at] for column in columns] for at, name in enumerate(ROWS)}


def test_ours_are_the_truth() -> None:
    """What the run itself says of its first flow."""
    flows = ackclock.run(ROOT / "scenarios" / "downloads.toml", jobs=1).flows
    (row,) = flows.filter(pl.col("id") == "0").iter_rows(named=True)
    assert documented("sender")["sent again"][0] == row["retransmitted_segments"]
    assert documented("sender")["duplicate acknowledgments"][0] == row["dup_acks"]
    assert row["timeouts"] == 0
