"""The command line from end to end, one test for each command and each promise."""

from __future__ import annotations

import importlib.metadata
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ackclock import Result, engine
from ackclock.cli.app import main
from ackclock.cli.console import Lines
from ackclock.cli.exit_codes import INTERRUPTED, OK

Write = Callable[..., Path]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What the command line prints; it must succeed and say nothing else."""
    assert main([str(argument) for argument in arguments]) == OK
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def parsed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    """What the command line prints with --json: one object on one line."""
    text = printed(capsys, *arguments, "--json")
    assert text.count("\n") == 1
    return json.loads(text)


def test_run_prints_a_row_per_point(scenario_file: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario_file()
    text = printed(capsys, "run", path, "--set", "cc=['reno', 'cubic']", "--replications", "3", "--jobs", "1")
    for word in ("goodput", "util.", "Jain", "loss", "retrans.", "mean", "p95", "queue", "Mbit/s", "±"):
        assert word in text
    lines = text.splitlines()
    first = lines[: lines.index("")] if "" in lines else lines
    assert sum(line.startswith(("reno", "cubic")) for line in first) == 2
    assert "6 runs" in lines[-1]


def test_run_json(scenario_file: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario_file()
    answer = parsed(
        capsys, "run", path, "--set", 'topology.rtt=["20 ms", "40 ms"]', "--replications", "2", "--seed", "9"
    )
    assert set(answer) == {"runs", "summary"}
    assert [run["params"] for run in answer["runs"]] == [{"topology.rtt": "20 ms"}] * 2 + [
        {"topology.rtt": "40 ms"}
    ] * 2
    first = answer["runs"][0]
    assert set(first) == {"params", "seed", "replication", "flows", "links", "wall_s", "events", "packets"}
    assert (first["seed"], first["replication"]) == (9, 0)
    assert [(flow["id"], flow["cc"]) for flow in first["flows"]] == [("0", "cubic"), ("1", "cubic")]
    assert {
        "goodput_bps", "retransmitted_bytes", "sent_bytes", "timeouts", "mean_rtt_s", "fct_s", "completed",
    } <= set(first["flows"][0])  # fmt: skip
    assert [link["id"] for link in first["links"]] == ["bottleneck", "reverse"]
    assert {"utilisation", "drops", "mean_queue_bytes", "p95_queue_delay_s"} <= set(first["links"][0])
    assert first["wall_s"] > 0
    assert first["events"] > 0
    point = answer["summary"][0]
    assert point["n"] == 2
    assert set(point["goodput_bps"]) == {"mean", "ci95"}
    assert [flow["id"] for flow in point["flows"]] == ["0", "1"]


def test_run_writes_tables_and_figures(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "out"
    text = printed(capsys, "run", scenario_file(), "--out", out, "--plot")
    assert f"tables: {out}" in text
    names = {item.name for item in out.iterdir()}
    tables = {
        f"{name}.parquet"
        for name in ("runs", "flows", "links", "transfers", "series", "pages", "objects", "cells", "users", "legs")
    }
    assert names == tables | {"manifest.json", "overview.png", "overview.svg"}
    assert Result.load(out).complete


def test_plot_without_out_goes_beside(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scenario_file(('\n[probes]\ninterval = "50 ms"\n', ""))
    monkeypatch.chdir(tmp_path)
    text = printed(capsys, "run", path, "--plot")
    assert "figure: scenario-plots/overview.png" in text
    assert {item.name for item in tmp_path.iterdir()} == {path.name, "scenario-plots"}


def test_figures_of_a_sweep_go_to_one_place(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scenario_file()
    monkeypatch.chdir(tmp_path)
    text = printed(capsys, "run", path, "--plot", "--set", 'topology.rtt=["1 ms", "2 ms", "3 ms", "4 ms", "5 ms"]')
    assert "figures: scenario-plots (4 files)" in text
    assert {item.name for item in tmp_path.iterdir()} == {path.name, "scenario-plots"}


def test_show(scenario_file: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario_file()
    text = printed(capsys, "show", path, "--set", "cc=['reno', 'cubic']")
    assert "2 points, 2 runs, 3 s each" in text
    assert "point 1: cc = cubic" in text
    assert "droptail 17 packets" in text
    assert text.count("bottleneck   10 Mbit/s") == 1, "what is as in a point before is not printed again"
    assert "point 1: cc = cubic (links and ways as in point 0)" in text
    assert re.findall(r"^0 to 1 +(\w+) +by profile", text, re.MULTILINE) == ["reno", "cubic"]
    answer = parsed(capsys, "show", path, "--set", "run.replications=2")
    assert [entry["resolved"]["run"] for entry in answer["runs"]] == [0, 1]
    assert answer["runs"][0]["resolved"]["format"] == 1


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert "engine" in printed(capsys, "doctor")
    answer = parsed(capsys, "doctor")
    assert answer["ok"] is True
    assert {"name", "state", "found", "remedy", "commands"} == set(answer["checks"][0])
    needed = {re.split("[<>=]", name)[0] for name in importlib.metadata.requires("ackclock") or () if ";" not in name}
    assert needed <= {check["name"] for check in answer["checks"]}


def test_doctor_names_the_extras(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def version(name: str) -> str:
        if name in ("distributed", "gymnasium"):
            raise importlib.metadata.PackageNotFoundError
        return "1"

    monkeypatch.setattr(importlib.metadata, "version", version)
    answer = parsed(capsys, "doctor")
    assert answer["ok"] is True
    missing = {check["name"]: check["remedy"] for check in answer["checks"] if check["found"] == "not installed"}
    assert missing == {
        "distributed": "pip install 'ackclock[cluster]' to use sweep --cluster",
        "gymnasium": "pip install 'ackclock[rl]' to use ackclock.gym",
    }


def test_show_does_not_check_what_it_does_not_print(
    scenario_file: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, checked = engine.validate, list[str]()

    def validate(document: str) -> list[str]:
        checked.append(document)
        return real(document)

    monkeypatch.setattr(engine, "validate", validate)
    rate = 'rate = { range = ["1 Mbit/s", "1000 Mbit/s", "1 Mbit/s"] }'
    path = scenario_file(('rate = "10 Mbit/s"', rate))
    sweep = ("--set", 'topology.rtt={ range = ["1 ms", "500 ms", "1 ms"] }')
    monkeypatch.setattr("ackclock.cli.show._CHECKED", 20)
    text = printed(capsys, "show", path, *sweep)
    assert len(checked) == 20
    assert "the first 20 points were checked" in text
    assert text.startswith(f"{path}: 500000 points, 500000 runs")


SOURCES = {
    '"bulk"': "cubic by profile linux 0 s 20 ms without end 1448 B",
    '{ kind = "bulk", read = "1 Mbit/s" }': "cubic by profile linux 0 s 20 ms without end, read at 1 Mbit/s 1448 B",
    '{ kind = "cbr", rate = "1 Mbit/s" }': "none - - 0 s 20 ms 1 Mbit/s in packets of 1 kB -",
    '{ kind = "cbr", rate = "1 Mbit/s", transport = "tcp" }': (
        "cubic by profile linux 0 s 20 ms 1 Mbit/s in writes of 1 kB 1448 B"
    ),
    '{ kind = "on-off", rate = "1 Mbit/s" }': "none - - 0 s 20 ms 1 Mbit/s while on in packets of 1 kB -",
    '{ kind = "files", size = { kind = "exponential", mean = "100 kB" }, arrivals = { poisson = 3 } }': (
        "cubic by profile linux 0 s 20 ms files of 100 kB on average (exponential), 3 per second 1448 B"
    ),
    '{ kind = "files", size = "10 kB", arrivals = { every = "1 s" }, most = 2 }': (
        "cubic by profile linux 0 s 20 ms files of 10 kB, every 1 s, at most 2 1448 B"
    ),
    '{ kind = "request-response", response = { kind = "pareto", shape = 1.5, min = "1 kB" } }': (
        "cubic by profile linux 0 s 20 ms answers of pareto size 1448 B"
    ),
    '{ kind = "video", bitrates = ["1 Mbit/s", "4 Mbit/s"], chunk = "1 s", most = 3 }': (
        "cubic by profile linux 0 s 20 ms video of 1 Mbit/s to 4 Mbit/s in chunks of 1 s, at most 3 1448 B"
    ),
}


@pytest.mark.parametrize("app", SOURCES)
def test_show_says_what_each_source_sends(scenario_file: Write, capsys: pytest.CaptureFixture[str], app: str) -> None:
    flow = 'cc = "cubic"\ncount = 2\nstart = { uniform = ["0 s", "100 ms"] }'
    buffer = '\ntcp = { receive_buffer = "64 kB" }' if "read" in app else ""  # without it there is a warning
    text = printed(capsys, "show", scenario_file((flow, f"app = {app}{buffer}")))
    (row,) = [line.split(maxsplit=1)[1] for line in text.splitlines() if line.startswith("0 ") and "20 ms" in line]
    assert " ".join(row.split()) == SOURCES[app]


MARKING = {
    'cc = "prague"': "ECT(1), counts",
    'cc = "dctcp"': "ECT(0), echo of each",
    'cc = { name = "dctcp", ect1 = true }': "ECT(1), echo of each",
    'cc = "dctcp"\ntcp = { ecn = "accurate" }': "ECT(0), counts",
    'cc = "cubic"\ntcp = { ecn = "classic" }': "ECT(0), echo",
    'cc = "reno"\ntcp = { ecn = "accurate" }': "ECT(0), counts",
    'cc = "python:ackclock.reference.prague:Prague"': "ECT(1), counts",
    'app = { kind = "cbr", rate = "1 Mbit/s", ect = true }': "ECT(0)",
}


@pytest.mark.parametrize("flow", MARKING)
def test_show_says_how_each_flow_uses_ecn(scenario_file: Write, capsys: pytest.CaptureFixture[str], flow: str) -> None:
    both = f'{flow}\n\n[[flows]]\ncc = "reno"'
    changed = (('cc = "cubic"\ncount = 2\nstart = { uniform = ["0 s", "100 ms"] }', both),)
    path = scenario_file(*changed, ('{ kind = "droptail", limit = "1 BDP" }', '{ kind = "dualpi2" }'))
    assert main(["show", str(path)]) == OK  # and warns of ECT(0) through such a queue
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith(("0 ", "1 ", "flows"))][:3]
    assert [re.split(r"\s{2,}", row.strip())[-1] for row in rows] == ["ECN", MARKING[flow], "off"]


def test_show_says_nothing_of_ecn_where_nobody_uses_it(
    scenario_file: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "ECN" not in printed(capsys, "show", scenario_file())


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert "doctor" in printed(capsys, "--help")
    assert "--replications" in printed(capsys, "run", "--help")
    assert printed(capsys, "--version").strip()[0].isdigit()


def test_progress_in_a_log_is_a_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    report = Lines(lambda: now[0])
    # An earlier session finished 3000 of 3300 runs, in ten parts; this one plays one in ten seconds.
    for part in range(10):
        report(300 * (part + 1), 3300)
    for finished in range(3001, 3301):
        now[0] += 10.0
        report(finished, 3300)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [
        "3006 of 3300 runs",
        *(f"{n} of 3300 runs; about {m} min left" for n, m in ((3012, 48), (3018, 47))),
    ]
    assert lines[-1] == "3294 of 3300 runs; about 1 min left"
    assert len(lines) == 49
    slow = Lines(lambda: now[0])
    for finished in (0, 10, 20):
        now[0] += 3600.0
        slow(finished, 100)
    assert capsys.readouterr().err.splitlines()[-1] == "20 of 100 runs; about 8 h 0 min left"


# The command line, reporting on standard output what its progress bar would show.
REPORTING = """\
import sys
from contextlib import contextmanager
from ackclock.cli import app, console

@contextmanager
def progress():
    yield lambda finished, total: print(finished, flush=True)

console.progress = progress
sys.exit(app.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_keeps_finished_runs(scenario_file: Write, tmp_path: Path, jobs: str) -> None:
    out = tmp_path / "out"
    # Two short runs, then two that would take far too long.
    path = scenario_file(
        ('duration = "3 s"', 'duration = ["1 s", "2 s", "1000000 s", "1000001 s"]'),
        ('\n[probes]\ninterval = "50 ms"\n', ""),
    )
    arguments = [sys.executable, "-c", REPORTING, "run", str(path), "--out", str(out), "--jobs", jobs]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            while process.stdout.readline() not in ("2\n", ""):
                pass
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert said == f"ackclock: interrupted: 2 of 4 runs finished and are kept in {out}\n"
    assert process.returncode == INTERRUPTED
    result = Result.load(out)
    assert not result.complete
    assert result.manifest["missing"] == [2, 3]
    assert [item.name for item in tmp_path.iterdir() if item.name.startswith(".")] == []


def test_a_closed_pipe_is_no_traceback() -> None:
    command = f"{sys.executable} -m ackclock cc --tcp | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_workers_do_not_repeat_the_callers_script(scenario_file: Write, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"import ackclock\nprint('once')\nackclock.run({str(scenario_file())!r}, replications=3, jobs=2)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "once\n", "")


def test_plot_draws_what_suits_a_result_beside_its_tables(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    printed(capsys, "run", scenario_file(), "--out", out, "--set", 'topology.rtt=["10 ms", "20 ms"]')
    text = printed(capsys, "plot", out)
    assert text.startswith("curve: goodput (Mbit/s) over RTT (ms); also fits: --kind box")
    assert f"figure: {out}/plots/curve.svg" in text
    assert [item.name for item in (out / "plots").iterdir()] == ["curve.svg"]
    assert Result.load(out).complete
    answer = parsed(capsys, "plot", out, "--kind", "box", "--format", "pdf")
    assert answer["file"] == f"{out}/plots/box.pdf"
    assert len(answer["figure"]["panels"][0]["boxes"]) == 1
    printed(capsys, "run", scenario_file(), "--out", out)  # replaces all of it
    assert not (out / "plots").exists()


def test_plot_draws_the_same_bytes_into_the_named_file(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    printed(capsys, "run", scenario_file(), "--out", out)
    for ending in ("svg", "pdf", "png"):
        for name in ("a", "b"):
            printed(capsys, "plot", out, "--out", tmp_path / f"{name}.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    assert not (out / "plots").exists()
    assert b"<dc:date>" not in (tmp_path / "a.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--format", "gif"], "ackclock: --format: unknown format 'gif'"),
        (["--out", "figure.jpg"], "ackclock: --out: 'figure.jpg' is of no known format"),
        (["--facet", "nope"], "facet: 'nope' was not swept"),
        (
            ["--format", "pdf", "--out", "a.png"],
            "ackclock: --out: 'a.png' is no pdf; give one of --format and the ending",
        ),
        (["--where", "rtt"], "ackclock: --where: 'rtt' is no KEY=VALUE"),
        (["--out", "nowhere/a.png"], "nowhere: cannot write a figure there: no such directory"),
    ],
)
def test_plot_says_what_would_be_right(
    scenario_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], expected: str,
) -> None:  # fmt: skip
    out = tmp_path / "out"
    printed(capsys, "run", scenario_file(), "--out", out)
    monkeypatch.chdir(tmp_path)
    assert main(["plot", str(out), *arguments]) == 2
    assert expected in capsys.readouterr().err
