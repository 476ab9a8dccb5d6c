"""What a terminal shows: whole words in 80 columns, what is left out named, lines over time, completion, examples."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.cli import console, examples, sparklines, widths
from ackclock.cli.app import app, main
from ackclock.cli.exit_codes import OK
from ackclock.results import text
from ackclock.stats import Estimate

Write = Callable[..., Path]


def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output is a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)


def words(text: str) -> set[str]:
    return set(text.split())


ROWS = [
    ["name", "a number", "another\nof these", "what it is for"],
    ["bbr3", "12.5 ± 0.3", "0.0000001", "a description that takes more than a line"],
    ["a-rather-long-name", "1", "2", "short"],
]


@pytest.mark.parametrize("room", range(57, 120, 3))
def test_no_word_is_split_and_no_number_is_folded(room: int) -> None:
    found = widths.fitted(ROWS, room, 3, [1, 2])
    assert found is not None
    assert sum(found) + 3 * 3 <= room
    for index, width in enumerate(found):
        cells = [row[index] for row in ROWS]
        longest = max(len(word) for cell in cells for word in cell.split())
        whole = max(len(line) for cell in cells for line in cell.split("\n"))
        assert (whole if index in (1, 2) else longest) <= width <= whole


def test_a_table_that_cannot_fit_says_so() -> None:
    assert widths.fitted(ROWS, 40, 3, [1, 2]) is None
    assert widths.needed(ROWS, 3) == len("a-rather-long-name") + len("12.5 ± 0.3") + 9 + len(ROWS[1][3]) + 9


def test_columns_are_left_out_by_their_order_and_no_more_than_needed() -> None:
    assert widths.chosen(ROWS, 100, 3, [1, 2], [2, 1]) == ([0, 1, 2, 3], [])
    assert widths.chosen(ROWS, 45, 3, [1, 2], [2, 1]) == ([0, 1, 3], [2])
    assert widths.chosen(ROWS, 33, 3, [1, 2], [2, 1]) == ([0, 3], [1, 2])
    assert widths.chosen(ROWS, 10, 3, [1, 2], [2, 1]) == ([0, 1, 2, 3], []), "nothing helps: all of it, folded"


def test_the_note_names_what_is_left_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    narrow(monkeypatch)
    rows = [["key", *(f"metric {number}" for number in range(9))], ["x", *(["12.345 ± 0.678"] * 9)]]
    console.print_table(console.stdout(), rows, ["left"], least=text.least(rows[0], 1), rest="--json has all")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("12.345 ± 0.678") == 4
    note = " ".join(" ".join(out.splitlines()[3:]).split())
    assert note == "left out: metric 4, metric 5, metric 6, metric 7, metric 8; --json has all, or 156 columns"


def test_what_other_columns_nearly_say_goes_first() -> None:
    header = ["cc", "flows", "goodput\nper\nflow", "util.\n%", "Jain", "loss\n%", "retrans.\n%", "mean\nqueue\nms"]
    assert [header[at].split()[0] for at in text.least(header, 2)] == [
        "retrans.", "mean", "Jain", "loss", "util.",
    ]  # fmt: skip


@pytest.mark.parametrize("command", ["show", "run", "doctor", "study list", "study show high-bdp", "cc", "cc --queues"])
def test_commands_fit_a_terminal_of_80_columns(
    command: str, scenario_file: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    narrow(monkeypatch)
    sweep = ["--set", 'topology.queue.limit=["0.05 BDP", "1 BDP"]', "--set", "cc=['newreno', 'cubic']"]
    file = [str(scenario_file()), *sweep] if command in ("show", "run") else []
    options = ["--replications", "3", "--jobs", "1"] if command == "run" else []
    assert main([*command.split(), *file, *options]) == OK
    said = capsys.readouterr().out
    lines = [line for line in said.splitlines() if not line.startswith("read more: ")]
    path = "" if not file else file[0]  # a path is one word, however long
    assert [line for line in lines if len(line) > 80 and path not in line and "/" not in line] == []
    if command == "show":
        assert {"droptail", "packets", "bottleneck", "reverse"} <= words(said)
    if command == "run":
        assert {"retrans.", "utilisation", "util."} & words(said)
        assert "±" in said


def test_warnings_are_folded_between_words_in_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    line = "ackclock: a warning of some length that names a/path/that/is/longer/than/a/line/of/the/terminal.toml"
    assert console.folded(line, sys.stderr) == line
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    lines = console.folded(line, sys.stderr).split("\n")
    assert len(lines) > 2
    assert " ".join(part.strip() for part in lines) == line


@pytest.mark.parametrize(
    ("mean", "half", "narrow_text", "wide_text"),
    [
        (0.78, 0.1, "0.78 ± 0.10", "0.78 ± 0.10"),
        (99.9876, 0.0123, "99.99 ± 0.01", "99.988 ± 0.012"),
        (16.2, 87.3, "16 ± 87", "16 ± 87"),
        (1234.5, 210.0, "1234 ± 210", "1234 ± 210"),
        (0.0042, 0.9, "0.0042 ± 0.9000", "0.0042 ± 0.9000"),
    ],
)
def test_means_have_two_digits_at_least(mean: float, half: float, narrow_text: str, wide_text: str) -> None:
    assert text.number(Estimate(mean, half, 5), digits=1) == narrow_text
    assert text.number(Estimate(mean, half, 5), digits=2) == wide_text


def test_runs_draw_what_they_recorded(scenario_file: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario_file()
    assert main(["run", str(path), "--set", "cc=['reno', 'cubic']", "--jobs", "1"]) == OK
    out = capsys.readouterr().out
    assert "first replication, 0 to 3 s; each line from 0 to its largest value" in out
    found = re.findall(r"^(reno|cubic) +(goodput [01]|queue) +([▁▂▃▄▅▆▇█ ]+) +(.*)$", out, re.MULTILINE)
    assert [(cc, name) for cc, name, _, _ in found] == [
        (cc, name) for cc in ("reno", "cubic") for name in ("goodput 0", "goodput 1", "queue")
    ]
    assert all("█" in line for _, _, line, _ in found)
    assert [" ".join(ends.split()[-1:]) for *_, ends in found] == ["Mbit/s", "Mbit/s", "packets"] * 2
    quiet = scenario_file(('\n[probes]\ninterval = "50 ms"\n', ""))
    assert main(["run", str(quiet), "--jobs", "1"]) == OK
    assert "first replication" not in capsys.readouterr().out, "nothing is recorded for it"


def test_lines_over_time_are_means_of_equal_parts(raw: dict[str, Any]) -> None:
    raw["probes"] = {"delivered": "10 ms", "queue": "10 ms"}
    result = ackclock.run(raw, jobs=1)
    (header, goodput, queue), more = sparklines.table(result, room=200)
    assert (header[0], goodput[0], queue[0], more) == ("over time", "goodput 0", "queue", 0)
    assert len(goodput[1]) == len(queue[1]) == 40
    least, most = (float(part) for part in goodput[2].removesuffix(" Mbit/s").split(" to "))
    assert 0 <= least < float(result.flows["goodput_bps"][0]) / 1e6 < most < 11
    short, _ = sparklines.table(result, room=60)
    assert len(short[1][1]) == 60 - len("goodput of all 100") - 26
    plain, _ = sparklines.table(result, room=200, blocks=False)
    assert plain[1][1].isascii()
    many = ackclock.run({**raw, "flows": [{"cc": "reno", "count": 9}]}, jobs=1)
    assert [row[0] for row in sparklines.table(many, room=200)[0]] == ["over time", "goodput of all 9", "queue"]
    swept = ackclock.run(raw, set={"topology.rtt": [f"{10 + ms} ms" for ms in range(12)]}, jobs=1)
    rows, more = sparklines.table(swept, room=200)
    assert (rows[0][0], len(rows) - 1, more) == ("rtt", 16, 4)


def test_a_line_begins_at_zero() -> None:
    assert sparklines.spark([0.0, 0.5, 1.0, float("nan")], sparklines.BLOCKS) == "▁▅█ "
    assert sparklines.spark([0.0, 0.0], sparklines.BLOCKS) == "▁▁"
    assert sparklines.spark([9.0, 10.0], sparklines.BLOCKS) == "██", "a tenth less is little"


def commands() -> list[list[str]]:
    """Every command, the whole first."""
    found: list[list[str]] = [[]]
    for name in app:
        if not name.startswith("-"):
            found.append([name])
            found += [[name, below] for below in app[name] if not below.startswith("-")]
    return found


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_help_ends_with_an_example_that_can_be_copied(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*command, "--help"]) == OK
    last = capsys.readouterr().out.rstrip("\n").splitlines()[-1]
    assert last == examples.of(" ".join(command))
    example = shlex.split(last.removeprefix("Example: "))
    assert example[0] == "ackclock"
    assert example[1 : 1 + len(command)] == command
    app.parse_args(example[1:], exit_on_error=False, print_error=False)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    script = tmp_path / "completion"
    main(["--install-completion", "--shell", shell, "--output", str(script)])
    written = script.read_text(encoding="utf-8")
    assert all(word in written for word in ("sweep", "study", "precision", "compare"))
    assert "installed" in capsys.readouterr().out
