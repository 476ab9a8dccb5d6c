"""A study on the kernel of this computer: what it cannot play is said, the rest is judged."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import ackclock
import split_runs
from ackclock import InputError, kernel, study
from ackclock.cli.app import main
from ackclock.scenario.plan import Job, Plan, Point
from ackclock.study import locate, runner, tables
from ackclock.study.failures import Failure, by_problem
from ackclock.study.model import TableSpec
from ackclock.sweeps.engines import played_by
from ackclock.virtual import guest, kept, settings
from ackclock.virtual.kept import Kernel
from studies import write_study


def test_what_a_kernel_has_not_is_said_and_the_rest_is_played(tmp_path: Path, capsys: Any) -> None:
    folder = write_study(tmp_path)
    scenario = folder / "one.toml"
    text = scenario.read_text().replace('["reno", "cubic"]', '["reno", "cubic", "fast"]')
    scenario.write_text(text.replace("replications = 3", "replications = 2"))
    out = tmp_path / "out"
    # Late is allowed: whether this computer has other things to do is not what is tested here.
    command = ["study", "run", str(folder), "--quick", "--engine", "kernel", "--allow-late", "--out", str(out)]
    assert main([*command, "--json"]) == 1
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    lines = shown.err.splitlines()
    assert lines[0].endswith("one after the other, and take 12 s at least, if all can be played there")
    assert sum("kernel: 2 runs of one without a result: flows.0.cc: the kernel here" in line for line in lines) == 1
    assert {failure["params"]["cc"] for failure in answer["failed"]} == {"fast"}
    assert "on kernel, engine of commit" in (out / "report.md").read_text()
    manifest = json.loads((out / "runs" / "one" / "manifest.json").read_text())
    assert manifest["engine"]["name"] == "kernel"
    assert {run["point"] for run in manifest["runs"]} == {0, 1}
    assert all(run["emulation"]["kernel"] for run in manifest["runs"])


@pytest.fixture
def without_controllers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel for virtual time of which is known that it has no controller: no guest is begun to refuse a run."""
    monkeypatch.setenv("ACKCLOCK_KERNELS", str(tmp_path / "kernels"))
    for name in ("image", "config"):
        (tmp_path / name).write_text("", encoding="utf-8")
    built = Kernel("small", "6.12.1", "0" * 64, "linux", "gcc", "1" * 64, 1.0, 1.0)
    kept.keep(built, tmp_path / "image", tmp_path / "config")
    facts = {"of": [built.image_digest, guest.identity()], "found": has()}
    (built.image.parent / "found.json").write_text(json.dumps(facts), encoding="utf-8")


def has(*controllers: str) -> dict[str, Any]:
    """What a kernel in virtual time that has these controllers says of itself."""
    found = {"kernel": "6.12.1-small", "controllers": list(controllers), "loadable": [], "own": True}
    return {**kernel.probe(), **found}


@pytest.mark.usefixtures("without_controllers")
def test_the_kernel_of_a_study_is_named_and_recorded(tmp_path: Path, capsys: Any) -> None:
    other = Kernel("other", "6.12.1", "2" * 64, "linux", "gcc", "1" * 64, 2.0, 1.0)
    kept.keep(other, tmp_path / "image", tmp_path / "config")
    command = ["study", "run", str(write_study(tmp_path)), "--quick", "--engine", "kernel-vt", "--json"]
    out = tmp_path / "out"
    assert main([*command, "--out", str(out)]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.endswith("several kernels are built for engine kernel-vt (other, small); say which: --kernel small")
    assert main([*command, "--out", str(out), "--kernel", "mine"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "no kernel 'mine' is built for engine kernel-vt; there is other, small; or" in said
    assert not out.exists()
    assert main([*command, "--out", str(out), "--kernel", "small"]) == 1  # it has no controller
    manifest = json.loads((out / "runs" / "one" / "manifest.json").read_text())
    assert {tuple(point["resolved"]["engine"]["kernel"]) for point in manifest["points"]} == {("small", "0" * 64)}


@pytest.mark.usefixtures("without_controllers")
@pytest.mark.parametrize("command", ["run", "show", "sweep"])
def test_what_a_built_kernel_is_known_not_to_have_is_said_when_a_scenario_is_read(
    command: str, tmp_path: Path, capsys: Any
) -> None:
    file, out = tmp_path / "a.toml", tmp_path / "out"
    file.write_text(
        '[topology]\nkind = "dumbbell"\nrate = "5 Mbit/s"\nrtt = "10 ms"\n'
        'queue = { kind = "droptail", limit = "1 BDP" }\n[[flows]]\ncc = "reno"\n'
        '[run]\nduration = "1 s"\nengine = ["sim", "kernel-vt"]\n'
    )
    assert main([command, str(file), *([] if command == "show" else ["--out", str(out)])]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"ackclock: {file}: flows.0.cc: the kernel here (6.12.1-small) has no controller 'reno'")
    assert not out.exists()


@pytest.mark.usefixtures("without_controllers")
def test_agree_leaves_out_what_the_engine_of_the_scenario_has_not(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(
        '[topology]\nkind = "dumbbell"\nrate = "5 Mbit/s"\nrtt = "10 ms"\n'
        'queue = { kind = "droptail", limit = "1 BDP" }\n[[flows]]\ncc = "reno"\n'
        '[run]\nduration = "1 s"\nengine = "kernel-vt"\n'
    )
    found = ackclock.agree(file, ["sim", "kernel-vt"])
    assert found.played[0].result.runs.height == 3
    assert "kernel-vt cannot play this: flows.0.cc: the kernel here (6.12.1-small)" in found.notes[0]


@pytest.mark.usefixtures("without_controllers")
def test_what_a_kernel_in_virtual_time_has_not_is_said_without_beginning_a_guest(tmp_path: Path, capsys: Any) -> None:
    folder = write_study(tmp_path)
    scenario = folder / "one.toml"
    text = scenario.read_text().replace('["reno", "cubic"]', '["reno", "cubic", "fast"]')
    scenario.write_text(text.replace("replications = 3", "replications = 2"))
    out = tmp_path / "out"
    assert main(["study", "run", str(folder), "--quick", "--engine", "kernel-vt", "--out", str(out), "--json"]) == 1
    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    for name in ("reno", "cubic", "fast"):
        said = "kernel-vt: 2 runs of one without a result: flows.0.cc: the kernel here (6.12.1-small) has no "
        assert sum(said in line and f"'{name}'" in line for line in lines) == 1, lines
    assert {failure["params"]["cc"] for failure in json.loads(shown.out)["failed"]} == {"reno", "cubic", "fast"}


@pytest.mark.usefixtures("without_controllers")
def test_a_published_study_that_a_kernel_cannot_play_at_all_says_why_as_its_page_shows(
    tmp_path: Path, capsys: Any
) -> None:
    command = ["study", "run", "blbe-slow-start", "--quick", "--engine", "kernel-vt", "--json"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 1
    shown = capsys.readouterr()
    lines = [line for line in shown.err.splitlines() if "without a result" in line]
    block = "\n".join([f"$ ackclock {' '.join(command)}", *lines, ""])
    assert block in PAGE.read_text(encoding="utf-8")
    answer = json.loads(shown.out)
    assert len(answer["failed"]) == 182
    # What rests on no run at all must not be judged by what the simulator would have given.
    assert {claim["verdict"] for claim in answer["claims"]} == {"inconclusive"}
    # Each says what failed, in one part: in its line on a terminal stands the first that is open.
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    said = r"\d+ of its runs failed: [^;\n]* a kernel is no '\w+', leave profile out, .* \[inconclusive\]"
    told = re.findall(said, report)
    assert len(told) == len(answer["claims"])


PAGE = Path(__file__).parents[2] / "docs" / "studies.md"
ROWS = re.compile(r"^\| `([a-z-]+)` \| (\d+) of (\d+)\b", re.MULTILINE)
"""Of the page's table of what kernels can play."""
WITHIN = re.compile(r"^CONFIG_TCP_CONG_(?!ADVANCED)(\w+)=y$", re.MULTILINE)
NAMED_OTHERWISE = {"hstcp": "highspeed"}


@pytest.mark.usefixtures("without_controllers")
def test_the_page_counts_the_scenarios_of_each_study_that_kernels_can_play() -> None:
    words = [word.lower() for word in WITHIN.findall(settings.own())]
    facts = has("reno", *(NAMED_OTHERWISE.get(word, word) for word in words))
    found = {}
    for name in locate.names():
        loaded = runner.load(name).study
        plans = runner.plans(loaded, quick=True)
        captured = {setting.id for setting in loaded.settings if setting.captured}
        played = [plan for scenario, plan in plans.items() if scenario not in captured]
        found[name] = (sum(playable(plan, facts) for plan in played), len(plans))
    rows = {name: (int(some), int(of)) for name, some, of in ROWS.findall(PAGE.read_text(encoding="utf-8"))}
    assert rows == found


def playable(plan: Plan, facts: dict[str, Any]) -> bool:
    """Whether a kernel that has this would play a point: of each set of profiles and controllers one is asked for."""
    different: dict[str, Point] = {}
    for point in played_by(plan, "kernel-vt").points:
        different.setdefault(str([(flow.profile, flow.cc) for flow in point.scenario.flows]), point)
    return any(kernel.refusal(Job(0, point, 0).text(), facts) is None for point in different.values())


CAPTURES = "measured by captures, which only the simulator writes"


@pytest.mark.usefixtures("without_controllers")
def test_what_is_of_captures_is_left_out_by_name_and_the_rest_is_tried(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "out"
    assert main(["study", "run", "split-tcp", "--quick", "--engine", "kernel-vt", "--out", str(out), "--json"]) == 1
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    reasons: dict[str, set[bool]] = {}
    for failure in answer["failed"]:
        reasons.setdefault(failure["scenario"], set()).add(CAPTURES in failure["problem"])
    captured = {name for name, left in reasons.items() if left == {True}}
    assert captured == {"lte", "hspa", "mean", "outages"}
    assert {name for name, left in reasons.items() if left == {False}} == {
        "often", "window", "loss", "rates", "modern", "proxy", "gone", "nr", "windows", "server",
        "lte-iw3", "hspa-iw3", "mean-iw3", "outages-iw3", "lte-120k", "hspa-120k", "mean-120k", "outages-120k",
        "lte-edge", "mean-edge",
    }, "the kernel here has no controller for them"  # fmt: skip
    (line,) = (line for line in shown.err.splitlines() if CAPTURES in line)
    runs = sum(failure["scenario"] in captured for failure in answer["failed"])
    assert f"kernel-vt: {runs} runs of lte, hspa, mean, outages without a result: {CAPTURES}; " in line
    assert line.endswith("ackclock run FILE --engine kernel-vt")
    assert {claim["verdict"] for claim in answer["claims"]} == {"inconclusive"}
    assert not (out / "runs" / "lte").exists()
    assert (out / "runs" / "rates" / "manifest.json").is_file()
    report = (out / "report.md").read_text(encoding="utf-8")
    assert "| lte | 48 | everything | measured by captures" in " ".join(report.split())
    assert report.count("Not drawn: there are no captures of it.") == 2
    assert not (out / "figures" / "31a.svg").exists()


def test_what_is_not_of_captures_is_played_and_judged(tmp_path: Path) -> None:
    folder = write_study(tmp_path)
    document = folder / "study.toml"
    captured = '[[scenarios]]\nid = "seen"\ntitle = "again"\nfile = "one.toml"\ncaptured = true\n\n[[tables]]'
    document.write_text(document.read_text().replace("[[tables]]", captured, 1))
    # Late is allowed: whether this computer has other things to do is not what is tested here.
    report = study.run(folder, quick=True, engine="kernel", allow_late=True, jobs=1)
    assert report.left_out == ("seen",)
    assert {failure.scenario for failure in report.failures} == {"seen"}
    assert len(report.results["one"]) == 4
    assert all(run.flow()["goodput_bps"] > 1e6 for run in report.results["one"])
    assert report.broken, "something has no result"


def test_split_tcp_is_played_with_the_real_proxy(tmp_path: Path) -> None:
    """Of a copy with few runs; what becomes of its rates in virtual time is in kernel_vt.py."""
    # Late is allowed: how fast downloads are is not what is tested here.
    report = study.run(split_runs.small(tmp_path), quick=True, engine="kernel", allow_late=True, jobs=1)
    assert report.left_out == ("lte", "hspa", "mean", "outages")
    runs = {run.params["relay"]: run for run in report.results["modern"]}
    assert set(runs) == {"none", "pep"}
    assert all(run.params["cc"] == "cubic" for run in runs.values())
    assert [row["leg"] for row in runs["pep"].legs] == ["source", "sink"]
    assert {row["goodput_bytes"] for run in runs.values() for row in (*run.flows, *run.legs)} == {1_000_000}
    refused = [failure for failure in report.failures if failure.scenario == "modern"]
    assert {failure.params["cc"] for failure in refused} == {"bbr3"}
    assert all("Linux has none of this name" in failure.problem for failure in refused)
    lines = {line.label: line for line in tables.build(table(report), report.results, report.code.measures).lines}
    assert lines["S1, 1 MB, 25 Mbit/s, cubic, pep"].cells[0].n == 1
    assert lines["S1, 1 MB, 25 Mbit/s, bbr3, pep"].cells[0].n == 0


def table(report: study.Report) -> TableSpec:
    return next(table for table in report.study.tables if table.id == "modern")


def test_a_study_that_is_of_captures_altogether_is_refused(tmp_path: Path) -> None:
    folder = write_study(tmp_path)
    document = folder / "study.toml"
    document.write_text(document.read_text().replace('file = "one.toml"', 'file = "one.toml"\ncaptured = true'))
    with pytest.raises(InputError, match=f"all of it is {CAPTURES}") as refused:
        study.run(folder, quick=True, engine="kernel-vt")
    assert str(refused.value).endswith("ackclock run FILE --engine kernel-vt")


def test_a_study_without_a_kernel_for_it_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("ACKCLOCK_KERNELS", str(tmp_path / "none"))
    command = ["study", "run", str(write_study(tmp_path)), "--engine", "kernel-vt", "--out", str(tmp_path / "o")]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert said.count("no kernel is built for engine kernel-vt; build one with: ackclock kernel build") == 1
    assert not (tmp_path / "o").exists()


def test_the_same_reason_with_other_numbers_is_one() -> None:
    late = [Failure("one", run, 0, {}, f"not valid: a packet was {run} us late") for run in (3, 40)]
    other = Failure("two", 1, 0, {}, "no such controller")
    assert by_problem((*late, other)) == {"not valid: a packet was 3 us late": late, "no such controller": [other]}
