"""Options that belong to an engine are refused where another one plays, and not ignored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import kernel, study
from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT, OK
from ackclock.errors import InputError

SCENARIO = """
[topology]
kind = "dumbbell"
rate = "5 Mbit/s"
rtt = "10 ms"
queue = "1 BDP"
[[flows]]
cc = "reno"
[run]
duration = "1 s"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


HERE = str(kernel.processors()[0])
TAKE = "plays this; take --engine"
CASES = [
    (["--kernel", "x"], f"--kernel: it belongs to engine kernel-vt, and sim {TAKE} kernel-vt, or leave it out"),
    (["--pin", HERE], f"--pin: it belongs to engine kernel, and sim {TAKE} kernel, or leave it out"),
    (["--allow-late"], f"--allow-late: it belongs to engine kernel, and sim {TAKE} kernel, or leave it out"),
    (["--offload"], f"--offload: it belongs to engine kernel or kernel-vt, and sim {TAKE} kernel, or leave it out"),
    (["--engine", "sim", "--pin", HERE], f"--pin: it belongs to engine kernel, and sim {TAKE} kernel"),
]


@pytest.mark.parametrize("command", ["run", "sweep"])
@pytest.mark.parametrize(("options", "said"), CASES)
def test_an_option_that_the_engine_takes_no_notice_of(
    command: str, options: list[str], said: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "out"
    assert main([command, str(file), "--out", str(out), *options]) == BAD_INPUT
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ackclock: {said}")
    assert not out.exists(), "nothing was played"


NOT_THERE = "there is no processor 4000 that this process may use; choose one of 0, 5"


@pytest.fixture
def processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "processors", lambda: [0, 5])


@pytest.mark.usefixtures("processors")
@pytest.mark.parametrize(
    "command",
    [
        ["run", "FILE", "--engine", "kernel"],
        ["sweep", "FILE", "--engine", "kernel"],
        ["agree", "FILE", "--engines", "sim,kernel"],
        ["study", "run", "parallel-tcp", "--quick", "--engine", "kernel"],
        ["shell", "FILE"],
    ],
    ids=lambda words: words[0],
)
def test_a_processor_that_is_not_there_is_bad_input(
    command: list[str], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(file) if word == "FILE" else word for word in command]
    behind = ["--", "true"] if command[0] == "shell" else []
    assert main([*words, "--out", str(file.parent / "out"), "--pin", "4000", *behind]) == BAD_INPUT
    assert capsys.readouterr().err.splitlines() == [f"ackclock: --pin: {NOT_THERE}"]
    assert not (file.parent / "out").exists(), "nothing was played"


@pytest.mark.usefixtures("processors")
@pytest.mark.parametrize(
    ("command", "engine", "line"),
    [
        (["run"], "kernel", True),
        (["sweep"], "kernel", True),
        (["agree", "--engines", "sim,kernel"], "sim", False),
        (["agree", "--engines", "sim,kernel"], "kernel", False),
        (["shell", "--"], "sim", False),
    ],
)
def test_so_is_one_of_the_scenario(
    command: list[str], engine: str, line: bool, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(f'{SCENARIO}engine = "{engine}"\npin = 4000\n', encoding="utf-8")
    name, *more = command
    assert main([name, str(file), "--out", str(file.parent / "out"), *more, *(["true"] if "--" in more else [])]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    where = NOT_THERE.replace("; ", " (line 12); ") if line else NOT_THERE
    assert said == f"ackclock: {file}: run.pin: {where}"


def test_from_python_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "processors", lambda: [5])
    said = "there is no processor 0 that this process may use; the only one is 5"
    with pytest.raises(InputError, match=f"^pin: {said}$"):
        ackclock.agree(file, pin=0)
    with pytest.raises(InputError, match=f"^pin: {said}$"):
        study.run("parallel-tcp", quick=True, engine="kernel", pin=0)


def test_a_key_is_said_to_have_no_effect_and_the_run_is_played(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(file), "--set", "run.kernel=x"]) == OK
    assert "ackclock: run.kernel: engine sim takes no notice of it; choose engine kernel-vt" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engines", "sim,kernel", "--kernel", "x"], "name kernel-vt in --engines, too, or leave it out"),
        (["--engines", "sim,kernel-vt", "--pin", HERE], "name kernel in --engines, too, or leave it out"),
        (["--engines", "sim,kernel-vt", "--allow-late"], "name kernel in --engines, too, or leave it out"),
    ],
)
def test_of_several_engines_one_has_to_know_it(
    options: list[str], said: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["agree", str(file), "--out", str(file.parent / "out"), *options]) == BAD_INPUT
    (line,) = capsys.readouterr().err.splitlines()
    assert "and sim play this" in line
    assert line.endswith(said)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (["--kernel", "x"], "--kernel"),
        (["--engine", "kernel", "--kernel", "x"], "--kernel"),
        (["--pin", HERE], "--pin"),
        (["--engine", "kernel-vt", "--pin", HERE], "--pin"),
        (["--allow-late"], "--allow-late"),
    ],
)
def test_a_study_refuses_them_too(options: list[str], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "run", "parallel-tcp", "--quick", *options]) == BAD_INPUT
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ackclock: {option}: it belongs to engine kernel")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kernel": "x"}, "kernel: it belongs to engine kernel-vt, and sim plays this; choose engine kernel-vt, or"),
        ({"pin": int(HERE)}, "pin: it belongs to engine kernel, and sim plays this; choose engine kernel, or"),
        ({"engine": "kernel-vt", "pin": int(HERE)}, "pin: it belongs to engine kernel, and kernel-vt plays this"),
        ({"allow_late": True}, "allow_late: it belongs to engine kernel, and sim plays this; choose engine kernel, or"),
    ],
)
def test_a_study_from_python_refuses_what_nobody_takes_notice_of(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        study.run("parallel-tcp", quick=True, **given)


@pytest.mark.parametrize("given", [{"pin": int(HERE)}, {"allow_late": True}])
def test_so_does_agreement_from_python(given: dict[str, Any], file: Path) -> None:
    remedy = "and kernel-vt and sim play this; name kernel among the engines, too, or leave it out"
    with pytest.raises(InputError, match=f"{next(iter(given))}: it belongs to engine kernel, {remedy}"):
        ackclock.agree(file, ["sim", "kernel-vt"], out=file.parent / "out", **given)
    assert not (file.parent / "out").exists(), "nothing was played"


@pytest.mark.parametrize("engine", ["kernel", "kernel-vt"])
def test_what_is_captured_of_a_kernel_is_said_where_a_capture_is_refused(
    engine: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The engine need not be there: what is refused comes before it plays.
    from ackclock.scenario import plan

    monkeypatch.setattr(plan.refusal, "of_kernel", lambda *_: None)
    monkeypatch.setattr(plan.refusal, "of_built_kernel", lambda *_: None)
    monkeypatch.setattr("ackclock.scenario.compile._engine", lambda _: {})
    capture = tmp_path / "a.pcapng"
    assert main(["run", str(file), "--engine", engine, "--capture", str(capture)]) == BAD_INPUT
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("packets on a kernel are captured by: ackclock shell FILE --out DIR -- COMMAND")
    assert not capture.exists()


@pytest.mark.real_time
@pytest.mark.parametrize(
    "command",
    [
        ["run", "FILE", "--engine", "kernel"],
        ["agree", "FILE", "--engines", "sim,kernel"],
        ["study", "run", "parallel-tcp", "--quick", "--engine", "kernel"],
    ],
)
@pytest.mark.parametrize("wrong", [["--jobs", "0"], ["--out", "FILE"]])
def test_a_refusal_is_not_preceded_by_how_long_it_takes(
    command: list[str], wrong: list[str], file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(file) if word == "FILE" else word for word in (*command, *wrong)]
    assert main([*words, *([] if "--out" in wrong else ["--out", str(tmp_path / "out")])]) == BAD_INPUT
    (line,) = capsys.readouterr().err.splitlines()
    assert "0 is too few" in line or "is a file, not a directory" in line
