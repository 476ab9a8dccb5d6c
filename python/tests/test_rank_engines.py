"""Where several engines or kernels played the same, each is ranked by itself. Simulated runs stand for all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.errors import InputError

SCENARIO: dict[str, Any] = {
    "topology": {"kind": "dumbbell", "rate": "5 Mbit/s", "rtt": ["10 ms", "30 ms"], "queue": "1 BDP"},
    "flows": [{"cc": ["reno", "cubic"], "start": {"uniform": ["0 s", "1 s"]}}],
    # Of the simulator nothing hangs on these.
    "run": {"duration": "4 s", "replications": 3, "wall_limit": ["1 min", "2 min"], "ip": [4, 6]},
}
ENGINES = {"1 min": "sim", "2 min": "kernel-vt"}
KERNELS = {4: "original", 6: "patched"}
NAMES = {"run.wall_limit": "run.engine", "run.ip": "run.kernel"}


def played(*, engines: bool, kernels: bool) -> ackclock.Result:
    """A result as if engines and kernels had been swept."""
    keys = {"run.wall_limit": engines, "run.ip": kernels}
    scenario = json.loads(json.dumps(SCENARIO))
    for key, swept in keys.items():
        if not swept:
            scenario["run"].pop(key.removeprefix("run."))
    result = ackclock.run(scenario, jobs=1)
    manifest = json.loads(json.dumps(result.manifest))
    manifest["params"] = [NAMES.get(key, key) for key in manifest["params"]]
    for point in manifest["points"]:
        own = point["params"]
        engine = ENGINES[own.pop("run.wall_limit")] if engines else "kernel-vt"
        kernel = KERNELS[own.pop("run.ip")] if kernels else "original"
        own |= ({"run.engine": engine} if engines else {}) | ({"run.kernel": kernel} if kernels else {})
        if engine != "sim":
            point["resolved"]["engine"] = {"kind": engine, "kernel": [kernel, "0" * 64]}
    return ackclock.Result(dict(result.tables), manifest)


def test_an_engine_is_no_point_and_has_to_be_named() -> None:
    result = played(engines=True, kernels=False)
    with pytest.raises(InputError, match=r"played by engine sim and by engine kernel-vt.*; say which: --engine sim"):
        ackclock.rank(result)
    found = ackclock.rank(result, engine="kernel-vt")
    assert (found.points, found.by, str(found.played)) == (2, "cc", "engine kernel-vt")
    assert "run.engine" not in found.candidates[0].worst.params
    with pytest.raises(InputError, match=r"nothing here was played by engine kernel; it was engine sim or engine k"):
        ackclock.rank(result, engine="kernel")
    with pytest.raises(InputError, match=r"an engine is who plays, .* ackclock agree"):
        ackclock.rank(result, by="engine")


def test_kernels_are_ranked_each_by_itself_or_as_the_candidates() -> None:
    result = played(engines=False, kernels=True)
    with pytest.raises(InputError, match="played by kernel original and by kernel patched"):
        ackclock.rank(result)
    assert ackclock.rank(result, kernel="patched").points == 2
    by = ackclock.rank(result, by="kernel")
    assert {candidate.name for candidate in by.candidates} == {"original", "patched"}
    assert by.points == 4
    assert str(by.played) == ""


def test_what_has_no_kernel_is_there_once() -> None:
    result = played(engines=True, kernels=True)
    assert ackclock.rank(result, engine="sim").points == 2
    with pytest.raises(InputError, match="say which: --engine kernel-vt, --kernel original"):
        ackclock.rank(result, engine="kernel-vt")
    assert ackclock.rank(result, engine="kernel-vt", kernel="patched").points == 2
    assert str(ackclock.rank(result, by="kernel").played) == ""


def test_the_command_ranks_each_and_says_whose_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    result = played(engines=True, kernels=True)
    result.save(out)
    assert main(["rank", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    headings = ["engine sim", "engine kernel-vt, kernel original", "engine kernel-vt, kernel patched"]
    assert [line for line in lines if line.startswith("engine ")] == headings
    assert sum("is best" in line for line in lines) == 3
    assert main(["rank", str(out), "--json"]) == 0
    rankings = json.loads(capsys.readouterr().out)["rankings"]
    assert [one["played"] for one in rankings] == [
        {"engine": "sim", "kernel": None},
        {"engine": "kernel-vt", "kernel": "original"},
        {"engine": "kernel-vt", "kernel": "patched"},
    ]
    assert main(["rank", str(out), "--engine", "sim", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["played"] == {"engine": "sim", "kernel": None}
