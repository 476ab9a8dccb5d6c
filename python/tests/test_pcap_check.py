"""Checks against the truth that the simulator writes: they hold, and they see what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import pcaps
from ackclock.cli.app import main
from ackclock.pcaps import check
from ackclock.pcaps.analyse import Options
from ackclock.pcaps.inputs import collected


def test_what_the_analysis_says_is_what_happened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = pcaps.download(tmp_path / "a.pcapng", "flows", "links.bottleneck", topology__loss="2 %")
    assert main(["pcap", str(file), "--check", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["checks"]
    assert found["scenario"].startswith("sha256:")
    places = {place["interface"]: place for place in found["places"]}
    ends = [f"flows.{flow}.{end}" for flow in (0, 1) for end in ("source", "sink")]
    assert list(places) == [*ends, "links.bottleneck.in", "links.bottleneck.out"]
    for flow in (0, 1):
        own = places[f"flows.{flow}.source"]
        assert own["vantage"] == "sender"
        assert own["again"] > 20
        assert own["told"] == own["again"]
        assert own["disagreements"] == []
    assert places["links.bottleneck.in"]["dropped"] > 20
    assert main(["pcap", str(file), "--check"]) == 0
    assert "a.pcapng: as it was" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("right", "wrong"), [(b'{"rtx":"fast"}', b'{"rtx":"rtx_"}'), (b'{"rtx":"fast"}', b'{"xtr":"fast"}')]
)
def test_a_truth_that_is_another_is_seen(
    right: bytes, wrong: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The comment of one packet is changed, at the sender: said to be what it was not, or nothing of it."""
    file = pcaps.download(tmp_path / "a.pcapng")
    data = file.read_bytes()
    assert data.count(right) > 5
    file.write_bytes(data.replace(right, wrong, 1))
    assert main(["pcap", str(file), "--check"]) == 1
    out = capsys.readouterr().out
    assert "NOT as it was" in out
    assert out.count("said to be retransmission (fast), was") == 1


def test_what_was_cut_is_not_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = pcaps.download(tmp_path / "a.pcapng")
    file.write_bytes(file.read_bytes()[:100_000])
    assert main(["pcap", str(file), "--check"]) == 1
    assert "a.pcapng: NOT whole, " in capsys.readouterr().out
    assert main(["pcap", str(file), "--check", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["checks"]
    assert found["truncated"]
    assert not found["agrees"]
    assert all(place["agrees"] for place in found["places"])


def test_needless_is_wrong_where_every_copy_was_dropped() -> None:
    kinds = {"packet": pl.UInt64, "id": pl.String, "seq": pl.Int64, "drop": pl.String, "needless": pl.Boolean}
    rows = [
        (1, "0.0", 1, "full", None),
        (2, "0.0", 1001, None, None),
        (3, "0.0", 1, None, True),
        (4, "0.0", 1001, None, True),
    ]
    table = pl.DataFrame(rows, schema=kinds, orient="row")
    assert list(check._needless(table)) == [3]


def test_probes_and_timeouts_of_a_tail_are_told(tmp_path: Path) -> None:
    """Short transfers with much loss: their ends are repaired by probes and timeouts."""
    file = pcaps.download(
        tmp_path / "a.pcapng", flows__0__bytes="30 kB", flows__0__count=40, topology__loss="8 %", run__duration="60 s"
    )
    (source,) = collected(file)
    found = check.check(source, Options())
    senders = [place for place in found.places if place.interface.endswith("source")]
    again = sum(place.again for place in senders)
    assert again > 300
    # What is sent again after a timeout that was undone is fast, and looks like its recovery.
    assert sum(len(place.disagreements) for place in senders) <= (1 - check.ELSEWHERE) * again
