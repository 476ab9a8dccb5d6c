"""A study on the kernel of this computer: what it cannot play is said, the rest is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ackclock.cli.app import main
from ackclock.study.failures import Failure, by_problem
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


def test_the_same_reason_with_other_numbers_is_one() -> None:
    late = [Failure("one", run, 0, {}, f"not valid: a packet was {run} us late") for run in (3, 40)]
    other = Failure("two", 1, 0, {}, "no such controller")
    assert by_problem((*late, other)) == {"not valid: a packet was 3 us late": late, "no such controller": [other]}
