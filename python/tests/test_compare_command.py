"""``ackclock compare``: tables, JSON, exit codes, and one line for what cannot be."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import polars as pl
import pytest

import ackclock
from ackclock.cli.app import app, main
from ackclock.ranking.ranking import rank
from shared import ROOT, SMALL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directories: `both` sweeps the controller, `reno` and `shallow` differ in their queues, `once` has one run."""
    place = tmp_path_factory.mktemp("compare")
    path = place / "scenario.toml"
    path.write_text(SMALL, encoding="utf-8")
    for name, changes, n in (
        ("both", {"cc": ["reno", "cubic"]}, 4),
        ("reno", {"cc": "reno"}, 4),
        ("shallow", {"cc": "reno", "topology.queue.limit": "0.2 BDP"}, 4),
        ("once", {"cc": ["reno", "cubic"]}, 1),
    ):
        ackclock.run(path, set=changes, replications=n, jobs=1, out=place / name)
    return place


def test_two_directories(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(folder / "reno"), str(folder / "shallow"), "--metric", "mean_rtt_s"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == f"A: {folder / 'reno'}; B: {folder / 'shallow'}"
    assert lines[1].split() == ["metric", "runs", "A", "B", "unit", "B", "against", "A", "95", "%", "interval",
                                "effect", "d", "p", "verdict"]  # fmt: skip
    assert re.search(
        r"^mean_rtt_s\s+4\s+[\d.]+\s+[\d.]+\s+ms\s+× 0\.\d+\s+0\.\d+ to 0\.\d+\s+-.* %.*lower\s*$", out, re.M
    )
    assert lines[-1] == "d: difference in standard deviations; p: of no difference, adjusted for 1 test (Holm)"
    assert err == (
        "ackclock: the scenarios differ: links.queue.limit_packets 17 / 3 (A / B)\n"  # 1 and 0.2 of 16.7 packets
    )


def test_values_of_a_key(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(folder / "both"), "--by", "cc", "--base", "cubic", "--margin", "5%", "--all"]) == 0
    out = capsys.readouterr().out
    assert "\nA: cc=cubic; B: cc=reno\n" in out
    assert "\nzero in every run: " in out
    assert "drops_early_percent" not in out.split("zero in every run")[0]


def test_first_the_ranking_then_the_few_metrics_that_are_looked_at_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(folder / "both"), "--by", "cc"]) == 0
    out = capsys.readouterr().out
    lines, rest = out.split("\nA: cc=reno; B: cc=cubic\n")
    assert len(lines.splitlines()) <= 8
    assert rank(folder / "both").sentence in lines
    names = re.findall(r"^\w+", "\n".join(rest.splitlines()[2:]), re.M)
    assert names == ["goodput_bps", "p95_queue_delay_s", "jain", "d", "next"]
    assert main(["compare", str(folder / "both"), "--by", "cc", "--margin", "loss_percent=5%", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "loss_percent" in {row["metric"] for row in told["rows"]}
    assert told["ranking"]["reference"] in ("reno", "cubic")
    assert main(["compare", str(folder / "both"), "--by", "cc", "--metric", "jain"]) == 0
    assert "P(best)" not in capsys.readouterr().out


def test_a_ranking_that_cannot_be_is_a_note(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = ackclock.Result.load(folder / "both")
    flows = result.flows.with_columns(goodput_bps=pl.col("goodput_bps") * (pl.col("replication") > 0))
    ackclock.Result({**result.tables, "flows": flows}, result.manifest).save(folder / "zeros")
    assert main(["compare", str(folder / "zeros"), "--by", "cc"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("A: cc=reno")
    assert "ackclock: not ranked: goodput_bps is 0 in 2 of 8 runs, first at cc=reno" in err


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", str(folder / "both"), "--by", "cc", "--metric", "jain", "--metric", "utilisation", "--json"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {"a", "b", "family", "rows", "notes"}
    assert [row["metric"] for row in found["rows"]] == ["jain", "utilisation"]
    assert found["family"] == 2
    assert found["rows"][0]["params"] == {}
    page = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    assert all(f"`{key}`" in page for key in (*found, *found["rows"][0]))


@pytest.mark.parametrize(
    ("other", "code", "word"), [("reno", 0, "they agree"), ("shallow", 1, "agreement is not shown")]
)
def test_agreement_is_an_exit_code(
    folder: Path, capsys: pytest.CaptureFixture[str], other: str, code: int, word: str
) -> None:
    assert main(["compare", str(folder / "reno"), str(folder / other), "--agreement"]) == code
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"{word}: ")
    assert main(["compare", str(folder / "reno"), str(folder / other), "--agreement", "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert found["agrees"] is (code == 0)
    assert found["ranks"] == []  # one point has no order


def test_a_narrow_terminal_gets_a_narrow_table(folder: Path) -> None:
    from ackclock.comparison import text

    found = ackclock.compare(folder / "reno", folder / "shallow", metrics=["mean_rtt_s"])
    wide, narrow = (text.table(found.rows, narrow=narrow) for narrow in (False, True))
    assert narrow[0] == ["metric\nunit", "runs", "A", "B", "B against A\n95 % interval", "effect", "p", "verdict"]
    assert narrow[1][0] == "mean_rtt_s\nms"
    assert narrow[1][4] == "\n".join(wide[1][5:7])


def test_a_narrow_table_has_one_column_for_the_point(folder: Path) -> None:
    from ackclock.comparison import text

    rows = ackclock.compare(folder / "both", by="cc", metrics=["jain", "utilisation"]).rows
    swept = [
        dataclasses.replace(row, params={"topology.rtt": "20 ms", "topology.queue.limit": "0.2 BDP"}) for row in rows
    ]
    narrow = text.table(swept, narrow=True)
    assert [line[0] for line in narrow] == ["point", "rtt 20 ms\nlimit 0.2 BDP", "rtt 20 ms\nlimit 0.2 BDP"]
    assert (text.left(swept), text.left(swept, narrow=True)) == (3, 2)
    assert [len(line) for line in narrow] == [len(text.table(swept)[0]) - 4] * 3  # two keys, interval, unit and d


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["once", "--by", "cc"],
            "one replication has no spread, so that nothing can be said of a difference; run with",
        ),
        (["both"], "one result has nothing to be compared with; give a second, or a swept key: --by KEY (swept: cc)"),
        (["both", "--by", "queue"], "by: unknown swept key 'queue'; known: cc"),
        (["both", "reno"], "cc: has several values (reno, cubic), so that its runs have no single partner; sweep"),
        (["missing", "reno"], "missing: does not exist; give a directory written by ackclock run --out"),
        (["both", "--by", "cc", "--margin", "5"], "margin: '5' is not a margin; write a share of A in per cent"),
    ],
)
def test_mistakes_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    given = [part if part.startswith("-") or before.startswith("-") else str(folder / part)
             for before, part in zip(["", *arguments], arguments, strict=False)]  # fmt: skip
    assert main(["compare", *given]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert err.startswith("ackclock: ")


def test_unpaired_runs_are_said_loudly(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SMALL, encoding="utf-8")
    ackclock.run(path, set={"cc": "reno"}, seed=9, replications=4, jobs=1, out=tmp_path / "other")
    assert main(["compare", str(folder / "reno"), str(tmp_path / "other"), "--metric", "jain"]) == 0
    out, err = capsys.readouterr()
    assert "NOT PAIRED: Welch's test" in out
    assert err.startswith("ackclock: runs are NOT PAIRED, as their seeds do not match")


def test_every_option_is_described() -> None:
    pages = [(ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("cli", "compare")]
    for argument in app["compare"].assemble_argument_collection():
        for name in argument.names:
            if name.startswith("--"):
                assert all(name in page for page in pages), name


@pytest.mark.parametrize(("files", "metric"), [(6, "mean_fct_s"), (24, "p95_fct_s")])
def test_completion_times_are_compared_of_few_transfers_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: int, metric: str
) -> None:
    scenario = {
        "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"},
        "flows": [{"bytes": "50 kB", "iw": [2, 10], "count": files, "start": {"uniform": ["0 s", "2 s"]}}],
        "run": {"duration": "6 s"},
    }
    ackclock.run(scenario, replications=3, jobs=1, out=tmp_path / "few")
    note = "mean_fct_s in place of p95_fct_s, which has no value: fewer than 20 transfers are done in some run"
    assert main(["compare", str(tmp_path / "few"), "--by", "iw", "--json"]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert [row["metric"] for row in told["rows"] if "fct" in row["metric"]] == [metric]
    assert (note in err) is (metric == "mean_fct_s")
    # What is named is what is compared.
    code = main(["compare", str(tmp_path / "few"), "--by", "iw", "--metric", "p95_fct_s", "--metric", "jain", "--json"])
    assert code == 0
    named = {row["metric"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert named == ({"jain"} if files == 6 else {"jain", "p95_fct_s"})


def test_the_mean_stands_in_only_at_points_without_the_percentile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = {
        "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"},
        "flows": [{"bytes": "50 kB", "iw": [2, 10], "count": [6, 24], "start": {"uniform": ["0 s", "2 s"]}}],
        "run": {"duration": "6 s"},
    }
    ackclock.run(scenario, replications=3, jobs=1, out=tmp_path / "both")
    assert main(["compare", str(tmp_path / "both"), "--by", "iw", "--margin", "p95_fct_s=5%", "--json"]) == 0
    out, err = capsys.readouterr()
    times = [row for row in json.loads(out)["rows"] if "fct" in row["metric"]]
    assert {(row["params"]["count"], row["metric"], row["margin"]) for row in times} == {
        (6, "mean_fct_s", 0.05),
        (24, "p95_fct_s", 0.05),
    }
    assert "mean_fct_s in place of p95_fct_s, which has no value at 1 of 2 points: fewer than 20" in err
