"""What commands import before they do anything: most of the time that a short one takes.

Modules are counted, not seconds: what a computer does besides has no part in it. docs/benchmarks.md has the seconds.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock.cli import pcap
from ackclock.cli import run as running
from ackclock.cli.app import app
from ackclock.cli.entry import OBJECTS_OF_START, collect_after_start, main, plain_run
from shared import ROOT

CAPTURE = ROOT / "conformance/captures/kernel/acks10.sender.pcap.gz"
SCENARIO = ROOT / "scenarios/single-flow.toml"
SHORT = ("--set", "run.duration=1s")
OPTIONS = {"cyclopts"}
SLOW = {"dataclasses", "inspect", "pathlib", "polars", "rich", "shutil", "tempfile", "threading", "urllib"}
"""What takes a millisecond or more."""
HEAVY = {"matplotlib", "numpy", "pydantic", "rich.progress", "scipy", "ackclock.results.result", "ackclock.drawing"}


def imported(*arguments: str) -> set[str]:
    """The modules that are there when a command has ended."""
    main = "from ackclock.cli.entry import main; main(sys.argv[1:])" if arguments else "import ackclock"
    code = f"import sys; {main}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    found = set(done.stdout.splitlines()[-1].split())
    assert ("ackclock.cli.entry" if arguments else "ackclock") in found
    return found


NUMERIC = {"duckdb", "matplotlib", "numpy", "scipy"}
"""What a run without figures and without several replications does without."""

MOST_MODULES = [
    (39, ()),
    (154, ("--version",)),
    (256, ("--help",)),
    (269, ("run", "--help")),
    (687, ("run", str(SCENARIO), *SHORT)),
    (756, ("run", str(SCENARIO), *SHORT, "--json")),
    (735, ("show", str(SCENARIO))),
    (90, ("pcap", str(CAPTURE))),
    (285, ("cc",)),
    (760, ("cc", "cubic")),
]
"""Modules that are there when a command has ended, 5 % above what was counted with Python 3.11 and the packages of
constraints.txt. To count again: ``python -m pytest python/tests/test_start.py -k modules``, whose failures have the
numbers. Raise one only for what the command needs: every user waits for it each time."""


def test_the_version_imports_nothing_that_takes_time() -> None:
    assert not imported("--version") & (OPTIONS | HEAVY | {"polars", "rich", "ackclock._ackclock"})


def test_a_capture_without_options_imports_nothing_that_takes_time() -> None:
    assert not imported("pcap", str(CAPTURE)) & (OPTIONS | HEAVY | SLOW)


def test_a_capture_with_options_imports_no_more_than_these() -> None:
    assert not imported("pcap", str(CAPTURE), "--most", "1") & (HEAVY | {"polars"})


def test_rows_of_a_capture_import_only_what_tables_need() -> None:
    assert not imported("pcap", str(CAPTURE), "--json") & (HEAVY - {"ackclock.results.result"})


def test_a_capture_without_options_is_analysed_as_the_options_say(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[pcap.Request] = []
    monkeypatch.setattr(pcap, "run", lambda request: asked.append(request) or 0)
    assert main(["pcap", "a.pcap", "b.pcap"]) == 0
    app(["pcap", "a.pcap", "b.pcap"], result_action="return_value")
    assert vars(asked[0]) == vars(asked[1])
    assert asked[0].files == ("a.pcap", "b.pcap")


def _name(arguments: tuple[str, ...]) -> str:
    """The command without folders: an id is the same on every machine."""
    return " ".join(Path(word).name for word in arguments) or "import"


@pytest.mark.parametrize(("most", "arguments"), MOST_MODULES, ids=[_name(words) for _, words in MOST_MODULES])
def test_a_command_imports_no_more_modules_than_it_needs(most: int, arguments: tuple[str, ...]) -> None:
    found = imported(*arguments)
    assert len(found) <= most, f"{len(found)} modules"


def test_the_package_imports_nothing_that_takes_time() -> None:
    assert not imported() & (OPTIONS | HEAVY | SLOW | NUMERIC)


@pytest.mark.parametrize("command", [(), ("run",), ("study",)], ids=["ackclock", "run", "study"])
def test_help_imports_no_models_and_no_engine(command: tuple[str, ...]) -> None:
    assert not imported(*command, "--help") & ({"pydantic", "polars", "ackclock._ackclock"} | NUMERIC)


def test_a_run_imports_neither_options_nor_what_computes() -> None:
    assert not imported("run", str(SCENARIO), *SHORT) & (OPTIONS | NUMERIC | {"importlib.resources.readers"})


@pytest.mark.parametrize("command", ["run", "show"])
def test_a_command_with_options_imports_nothing_that_computes(command: str) -> None:
    assert not imported(command, str(SCENARIO), *SHORT, "--json") & NUMERIC


def test_intervals_import_only_the_quantiles(scenario_file: Callable[..., Path]) -> None:
    found = imported("run", str(scenario_file()), *SHORT, "--replications", "2")
    assert "scipy.special" in found, "it has intervals"
    assert not found & {"scipy.stats", "matplotlib", "duckdb"}


PLAIN = [
    ["run", "a.toml"],
    ["run", "a.toml", "--set", "cc=reno", "--set", "topology.rtt=20 ms"],
    ["run", "--out", "results/a", "--set", "cc=reno", "a.toml"],
]
OTHERS = [
    [], ["sweep", "a.toml"], ["run"], ["run", "a.toml", "b.toml"], ["run", "a.toml", "--json"], ["run", "-h"],
    ["run", "a.toml", "--set"], ["run", "a.toml", "--set", "--out"], ["run", "a.toml", "--set", "-30 ms"],
    ["run", "a.toml", "--out", "b", "--out", "c"], ["run", "a.toml", "--set=cc=reno"], ["run", ""],
    ["run", "--", "a.toml"],
]  # fmt: skip


@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_a_plain_run_is_understood_as_the_options_say(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[running.Request] = []
    monkeypatch.setattr(running, "run", lambda request: asked.append(request) or 0)
    assert plain_run(words) is not None
    assert main(words) == 0
    app(words, result_action="return_value")
    assert asked[0] == asked[1]
    assert asked[0].file == Path("a.toml")


@pytest.mark.parametrize("words", OTHERS, ids=" ".join)
def test_what_is_no_plain_run_is_left_to_the_options(words: list[str]) -> None:
    assert plain_run(words) is None


HELPS = """\
import importlib, inspect
from ackclock.cli.app import COMMANDS
for name, (place, text) in COMMANDS.items():
    module, _, attribute = place.partition(":")
    target = getattr(importlib.import_module(f"ackclock.cli.{module}"), attribute)
    own = inspect.cleandoc(target.__doc__) if inspect.isfunction(target) else target.help
    assert own == text, f"{name}: {own!r}"
print("same")
"""


def test_the_list_of_commands_says_what_their_own_help_says() -> None:
    done = subprocess.run([sys.executable, "-c", HELPS], capture_output=True, text=True, check=False)
    assert done.stdout == "same\n", done.stderr


def _program(begin: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line as the program of a process that has done something before."""
    code = f"import sys; {begin}; sys.argv[0] = 'ackclock'; from ackclock.cli.entry import command; command()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


FREED = "A = type('A', (), {'__del__': lambda self: print('freed')}); a = A()"


def test_a_program_ends_without_freeing_every_object() -> None:
    done = _program(f"import atexit; atexit.register(print, 'at exit'); {FREED}", "--version")
    assert (done.stdout.splitlines()[1:], done.stderr, done.returncode) == (["at exit"], "", 0)


def test_a_program_ends_with_the_exit_code_of_its_command() -> None:
    done = _program("pass", "run", "missing.toml")
    assert (done.stdout, done.returncode) == ("", 2)
    assert "missing.toml" in done.stderr


def test_a_program_waits_for_its_threads() -> None:
    late = "import threading, time; threading.Thread(target=lambda: (time.sleep(0.3), print('late'))).start()"
    assert _program(late, "--version").stdout.splitlines()[1:] == ["late"]


def test_a_program_lets_a_profiler_write_what_it_found() -> None:
    words = [sys.executable, "-m", "cProfile", "-m", "ackclock", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "function calls" in done.stdout


def test_garbage_is_collected_as_usual_after_the_start() -> None:
    usual, callbacks = gc.get_threshold(), list(gc.callbacks)
    collect_after_start()
    assert gc.get_threshold() == (OBJECTS_OF_START, *usual[1:])
    gc.collect(0)
    assert (gc.get_threshold(), gc.callbacks) == (usual, callbacks)


COLLECTIONS = """\
import gc
from ackclock.cli.entry import collect_after_start, main
before = sum(own["collections"] for own in gc.get_stats())
collect_after_start()
main()
print(sum(own["collections"] for own in gc.get_stats()) - before)
"""


def test_a_run_imports_everything_before_the_first_collection() -> None:
    words = [sys.executable, "-c", COLLECTIONS, "run", str(SCENARIO), *SHORT]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0"
