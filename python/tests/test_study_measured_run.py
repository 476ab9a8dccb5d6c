"""The command of a study with lines that were measured: a campaign that is made here, over the loopback interface."""

from __future__ import annotations

import contextlib
import csv
import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.measure.session import Terms
from ackclock.stats import spearman
from measuring import serving

pytestmark = pytest.mark.real_time

# What a line carries is what its server gives; a connection has 8 Mbit/s of it. So one, two and four have a third, two
# thirds and all of the lines with room, and one has all of the line without.
ROOM, FULL, PACE = 24e6, 6e6, 8e6
NUMBERS = (1, 2, 4)
CAMPAIGN = """
[campaign]
name = "three lines"
repetitions = 3
gap = "0 s"

[[lines]]
name = "stands"
server = "127.0.0.1:{stands}"
labels = {{ carrier = "B", moving = false }}

[[lines]]
name = "moves"
server = "127.0.0.1:{moves}"
labels = {{ carrier = "B", moving = true }}

[[lines]]
name = "full"
server = "127.0.0.1:{full}"

[test]
connections = [1, 2, 4]
duration = "400 ms"
warmup = "100 ms"
pacing = "8 Mbit/s"
mss = 1400
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was measured."""
    place = tmp_path_factory.mktemp("campaign")
    with contextlib.ExitStack() as until:
        rates = {"stands": ROOM, "moves": ROOM, "full": FULL}
        ports = {
            name: until.enter_context(serving(terms=Terms(rate=int(rate))))[1].port for name, rate in rates.items()
        }
        file = place / "campaign.toml"
        file.write_text(CAMPAIGN.format(**ports), encoding="utf-8")
        assert main(["measure", "run", str(file), "--out", str(place / "out")]) == 0
    return place / "out"


def goodputs(folder: Path) -> dict[str, dict[int, dict[int, float]]]:
    """Goodput of each line, block and number of connections."""
    found: dict[str, dict[int, dict[int, float]]] = {}
    for row in ackclock.Result.load(folder).runs.iter_rows(named=True):
        found.setdefault(row["line"], {}).setdefault(row["replication"], {})[row["connections"]] = row["goodput_bps"]
    return found


def means(blocks: Mapping[int, Mapping[int, float]]) -> dict[int, float]:
    return {count: statistics.fmean(block[count] for block in blocks.values()) for count in NUMBERS}


def test_the_campaign_is_the_lines_that_were_planted(folder: Path) -> None:
    runs = ackclock.Result.load(folder).runs
    assert runs.height == 3 * 3 * 3
    for row in runs.iter_rows(named=True):
        carries = FULL if row["line"] == "full" else ROOM
        # Headers are not counted by a server, but by the kernel that paces; the rest is a busy computer.
        assert 0.7 * min(carries, PACE * row["connections"]) < row["goodput_bps"] < 1.1 * carries
        assert 0.7 * carries < row["probe_bps"] < 1.1 * carries


def test_the_command_judges_them_and_reports(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report"
    capsys.readouterr()
    code = main(
        [
            "study",
            "run",
            "parallel-tcp",
            "--quick",
            "--measured",
            str(folder),
            "--out",
            str(out),
            "--json",
            "--jobs",
            "2",
        ]
    )
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code in (0, 3), "3: a claim of the model part may be undecided in a quick run"
    found = {claim["id"]: claim for claim in told["measured"]["claims"]}
    assert list(found) == ["C3", "C4", "C5", "C6"]
    lines = goodputs(folder)
    curves = {name: means(blocks) for name, blocks in lines.items()}

    orders = {
        name: statistics.fmean(
            spearman(list(NUMBERS), [block[count] for count in NUMBERS]) or 0.0 for block in blocks.values()
        )
        for name, blocks in lines.items()
    }
    assert found["C3"]["value"] == pytest.approx(min(orders["stands"], orders["moves"]))
    assert found["C3"]["verdict"] == "pass"
    assert "full" not in found["C3"]["detail"]

    assert found["C4"]["value"] == pytest.approx(curves["full"][4] / curves["full"][1])
    assert found["C4"]["verdict"] == "pass"
    assert not {"stands", "moves"} & set(found["C4"]["detail"].replace(":", " ").split())

    both = [[curves[name][count] for count in NUMBERS] for name in ("stands", "moves")]
    assert found["C5"]["value"] == pytest.approx(spearman(*both))
    assert found["C5"]["verdict"] == "pass"
    assert "stands and moves" in found["C5"]["detail"], "the labels of the campaign did not come through"

    assert found["C6"]["value"] == pytest.approx(curves["full"][1] / max(curves["full"].values()))
    assert "of the block's probe" in found["C6"]["detail"]

    with (out / "measured" / "curve.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["line"], int(row["N"])): row for row in csv.DictReader(file)}
    assert len(rows) == 3 * 3
    result = ackclock.Result.load(folder).runs
    for (line, count), row in rows.items():
        most = max(value for block in lines[line].values() for value in block.values())
        own = result.filter((result["line"] == line) & (result["connections"] == count))
        expected = {
            "of the most seen": curves[line][count] / most,
            "of the best mean": curves[line][count] / max(curves[line].values()),
            "of the block's probe": statistics.fmean(own["goodput_bps"] / own["probe_bps"]),
        }
        for form, share in expected.items():
            value, interval = row[form].split(" ", 1)
            assert float(value) == pytest.approx(100 * share, abs=0.051), (line, count, form)
            assert interval.startswith("(")
    page = (out / "measured" / "report.md").read_text(encoding="utf-8")
    for claim in found:
        assert f"| {claim} |" in page
    assert "![Share of each line](shares.svg)" in page
    assert (out / "measured" / "shares.svg").is_file()
