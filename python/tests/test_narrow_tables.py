"""Rankings, comparisons and sweeps in terminals of 80 and 60 columns: what stays, what is named, nothing split."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ackclock
from ackclock.cli import console
from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT, OK
from shared import SMALL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two controllers over four points, three times; the scenario is beside it."""
    place = tmp_path_factory.mktemp("n")
    path = place / "scenario.toml"
    path.write_text(SMALL, encoding="utf-8")
    changes = {
        "cc": ["reno", "cubic"],
        "topology.rtt": ["20 ms", "60 ms"],
        "topology.queue.limit": ["0.5 BDP", "1 BDP"],
    }
    ackclock.run(path, set=changes, replications=3, jobs=1, out=place / "s")
    return place


def at(monkeypatch: pytest.MonkeyPatch, columns: int, folder: Path) -> None:
    """Standard output is a terminal, in the folder, so that paths are short."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", "50")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize(
    "command",
    [
        "rank s", "rank s --goal low-delay", "compare s --by cc", "compare s --by cc --metric goodput_bps",
        "compare s --by cc --metric jain --metric p95_queue_delay_s", "compare s --by cc --all",
        "compare s --by rtt --metric goodput_bps",
    ],
)  # fmt: skip
def test_lines_fit_and_words_are_whole(
    command: str, columns: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at(monkeypatch, 300, folder)
    assert main(command.split()) == OK
    wide = set(capsys.readouterr().out.split())
    at(monkeypatch, columns, folder)
    assert main(command.split()) == OK
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if len(line) > columns] == []
    out = re.sub(r"left out:.*?columns", "", out, flags=re.DOTALL)
    keys = {"rtt", "limit"}  # of the narrow tables, which have the last parts of keys only
    for word in {word for word in out.split() if set(word) != {"─"}} - wide - keys:
        assert word.isdigit() or not any(whole.startswith(word) or whole.endswith(word) for whole in wide), word


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_a_comparison_keeps_a_b_the_difference_and_the_verdict(
    columns: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = ackclock.compare(folder / "s", by="cc", metrics=["p95_queue_delay_s"])
    at(monkeypatch, columns, folder)
    assert main(["compare", "s", "--by", "cc", "--metric", "p95_queue_delay_s"]) == OK
    out = capsys.readouterr().out
    left = " ".join(re.findall(r"^left out: (.*?);", out.replace("\n", " \n"), re.M))
    assert set(re.split(r", ", left)) <= {"runs", "effect", "p", ""}
    for row in found.rows:
        assert None not in (row.mean_a, row.mean_b, row.value)
        for value in (1e3 * (row.mean_a or 0), 1e3 * (row.mean_b or 0), row.value or 0):
            assert re.search(rf"(?<!\d){re.escape(f'{value:.4g}')}(?!\d)", out), (row.params, value)
        assert row.verdict.split()[0] in out
        for end in row.ends:
            assert end is None or f"{end:.4g}" in out


def test_many_rows_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--metric",
        "goodput_bps",
        "--metric",
        "jain",
        "--metric",
        "p95_queue_delay_s",
        "--metric",
        "loss_percent",
    ]
    assert main(["compare", str(folder / "s"), "--by", "cc", *options]) == OK
    assert "not shown" not in capsys.readouterr().out, "what is named is printed"
    rows = ackclock.compare(folder / "s", by="cc").rows
    assert main(["compare", str(folder / "s"), "--by", "cc", "--margin", "loss_percent=5%"]) == OK
    out = capsys.readouterr().out
    table = out.split("\nA: cc=reno; B: cc=cubic\n")[1].splitlines()
    assert table[1].split() == [
        "metric",
        "points",
        "equal",
        "lower",
        "higher",
        "not",
        "shown",
        "within",
        "margin",
        "least",
        "to",
        "most",
    ]
    for line in table[3:7]:
        metric, *counts = line.split()[:6]
        own = [row for row in rows if row.metric == metric]
        assert int(counts[0]) == len(own) == 4
        assert sum(map(int, counts[1:])) == 4
        least, most = (min(row.value for row in own), max(row.value for row in own))  # type: ignore[type-var]
        digits = ".4g" if own[0].kind == "ratio" else "+.3g"
        assert f"{least:{digits}} to {most:{digits}}" in line
    assert "point by point: --metric goodput_bps, or another; --all has every metric" in out


def test_a_sweep_is_short_and_says_what_is_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main(["sweep", "scenario.toml", "--set", "cc=['reno', 'cubic']", "--jobs", "1", "--out", "a b"]) == OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "next: ackclock rank 'a b' · ackclock plot 'a b'"
    assert re.split(r"\s{2,}", lines[0].strip()) == ["goodput per flow", "p95 queue"]
    assert lines[1].split() == ["cc", "flows", "Mbit/s", "ms", "Jain"]
    assert lines[3].split()[:4] == ["reno", "2", "x", "reno"], "a line for a group of flows"
    assert not any("loss events" in line for line in lines)
    assert (
        main(["sweep", "scenario.toml", "--set", "cc=['reno', 'cubic']", "--jobs", "1", "--out", "a b", "--all"]) == OK
    )
    out = capsys.readouterr().out
    assert "utilisation" in out
    assert "loss events" in out
    changes = ["--set", "topology.rtt=['20 ms', '40 ms']"]
    assert main(["sweep", "scenario.toml", *changes, "--jobs", "1", "--out", "c"]) == OK
    assert capsys.readouterr().out.splitlines()[-1] == "next: ackclock plot c", "an RTT is not ranked"


def test_a_brief_table_has_the_first_points(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = ", ".join(f"'{5 * number} ms'" for number in range(1, 31))
    changes = ["--set", f"topology.rtt=[{values}]", "--set", "run.duration=300 ms", "--jobs", "1"]
    assert main(["sweep", str(folder / "scenario.toml"), *changes, "--out", str(folder / "many")]) == OK
    out = capsys.readouterr().out
    assert re.findall(r"^(\d+) ms ", out, re.M) == [str(5 * number) for number in range(1, 25)]
    assert "\nand 6 more points; --all prints every table of all points: " in out


def test_numbers_stay_with_their_units_and_paths_are_whole() -> None:
    line = "it is 1.97 % above the next (+1.75 to +2.19 %) at rtt 80 ms, limit 0.5 BDP, × 2.5; see /a/long/path/to-it"
    for columns in range(20, 120):
        parts = console.fold(line, columns).split("\n")
        assert " ".join(parts) == line
        assert not any(re.match(r"(%|ms|BDP|to )", part) or part.endswith(("×", " to")) for part in parts), columns
        assert any("/a/long/path/to-it" in part for part in parts)
        assert all(len(part) <= columns for part in parts) or columns < 22


def test_a_result_is_not_shown_as_a_scenario(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(folder / "s")]) == BAD_INPUT
    err = capsys.readouterr().err
    assert "is a result, and show is of scenarios; see it with ackclock rank, plot or query, or give the file" in err
    assert err.count("\n") == 1
