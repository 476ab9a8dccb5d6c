"""What commands import before they do anything: most of the time that a short one takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ackclock.cli import pcap
from ackclock.cli.app import app
from ackclock.cli.entry import main

CAPTURE = Path(__file__).resolve().parents[2] / "conformance/captures/kernel/acks10.sender.pcap.gz"
OPTIONS = {"cyclopts"}
SLOW = {"dataclasses", "inspect", "pathlib", "polars", "rich", "shutil", "tempfile", "threading", "urllib"}
"""What takes a millisecond or more."""
HEAVY = {"matplotlib", "numpy", "pydantic", "rich.progress", "scipy", "ackclock.results.result", "ackclock.drawing"}


def imported(*arguments: str) -> set[str]:
    """The modules that are there when a command has ended."""
    command = ["-c", "import sys; from ackclock.cli.entry import main; main(sys.argv[1:]); print(*sys.modules)"]
    done = subprocess.run([sys.executable, *command, *arguments], capture_output=True, text=True, check=True)
    found = set(done.stdout.splitlines()[-1].split())
    assert "ackclock.cli.entry" in found
    return found


def test_the_version_imports_nothing_that_takes_time() -> None:
    assert not imported("--version") & (OPTIONS | HEAVY | {"polars", "rich", "ackclock._ackclock"})


def test_a_capture_without_options_imports_nothing_that_takes_time() -> None:
    assert not imported("pcap", str(CAPTURE)) & (OPTIONS | HEAVY | SLOW)


def test_a_capture_with_options_imports_no_more_than_these() -> None:
    assert not imported("pcap", str(CAPTURE), "--most", "1") & (HEAVY | {"polars"})


def test_rows_of_a_capture_import_only_what_tables_need() -> None:
    assert not imported("pcap", str(CAPTURE), "--json") & (HEAVY - {"ackclock.results.result"})


def test_a_capture_without_options_is_analysed_as_the_options_say(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[pcap.Request] = []
    monkeypatch.setattr(pcap, "run", lambda request: asked.append(request) or 0)
    assert main(["pcap", "a.pcap", "b.pcap"]) == 0
    app(["pcap", "a.pcap", "b.pcap"], result_action="return_value")
    assert vars(asked[0]) == vars(asked[1])
    assert asked[0].files == ("a.pcap", "b.pcap")
