"""Lines that become another one while they are measured: no test is of two of them, and no block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ackclock.measure import blocks, campaign, client, context, inside, runner
from ackclock.measure.journal import Journal
from ackclock.results.result import Result
from ackclock.sweeps import shell
from measuring import LINE, serving

pytestmark = pytest.mark.real_time

TEXT = """
[campaign]
name = "roaming"
server = "127.0.0.1:{port}"
repetitions = 1
gap = "0 s"
order = "ascending"
retries = 2
probe = {probe}
[[lines]]
name = "here"
[test]
connections = [1, 2]
duration = "100 ms"
interval = "50 ms"
pacing = "8 Mbit/s"
"""
WORDS = "the line is another one now (address, interface, route or network): the block ends here"


@dataclass
class Roaming:
    """A line that a test moves: what it is called now (nothing: it is away), and what happens as a test is made."""

    line: str | None = "first"
    during: dict[int, Callable[[], None]] = field(default_factory=dict)
    after: dict[int, Callable[[], None]] = field(default_factory=dict)
    connections: list[int] = field(default_factory=list)
    looks: int = 0

    def becomes(self, name: str | None) -> Callable[[], None]:
        return lambda: setattr(self, "line", name)

    def breaks(self, name: str | None) -> Callable[[], None]:
        """It becomes this one, and the test breaks."""

        def lost() -> None:
            self.line = name
            raise client.MeasureError("the line is lost")

        return lost


@pytest.fixture
def roaming(monkeypatch: pytest.MonkeyPatch) -> Roaming:
    found, real, gathered = Roaming(), client.measure, context.gather

    def identity(*_: object) -> tuple[str | None, ...]:
        found.looks += 1
        return (found.line, "wlan0")

    def gather(*arguments: Any, **more: Any) -> dict[str, Any]:
        return {**gathered(*arguments, **more), "line": found.line}

    def measure(*arguments: Any) -> dict[str, Any]:
        found.connections.append(arguments[2].connections)
        number = len(found.connections)
        found.during.get(number, lambda: None)()
        told = real(*arguments)
        found.after.get(number, lambda: None)()
        return told

    monkeypatch.setattr(blocks, "_WAIT_S", (0.0,))
    monkeypatch.setattr(context, "identity", identity)
    monkeypatch.setattr(context, "gather", gather)
    monkeypatch.setattr(client, "measure", measure)
    return found


def begun(folder: Path, probe: str = "false") -> tuple[runner.Made, list[str], Journal]:
    said: list[str] = []
    with serving() as (_, address):
        plan = campaign.parsed(TEXT.format(port=address.port, probe=probe), "roaming.toml", folder)
        made = runner.begin(plan, folder / "out", runner.Asked(), said.append)
    return made, said, Journal(folder / "out")


def where(journal: Journal) -> list[tuple[int, str]]:
    """Of each test its block, and the line that it was made on."""
    return [(test["block"], test["context"]["line"]) for _, test in journal.tests()]


def test_between_two_tests_it_ends_the_block(tmp_path: Path, roaming: Roaming, monkeypatch: pytest.MonkeyPatch) -> None:
    put = Journal.put

    def roams(self: Journal, run: int, test: dict[str, Any]) -> None:
        put(self, run, test)
        roaming.line = "second"

    monkeypatch.setattr(Journal, "put", roams)
    made, said, journal = begun(tmp_path)
    assert (made.done, made.missing) == (2, 0)
    assert said.count(f"here: {WORDS}") == 1
    assert where(journal) == [(0, "first"), (1, "second")], "what was left is a block of its own"
    assert roaming.connections == [1, 2], "no test was made twice"
    # One at the begin of each block, one before each test and one after it.
    assert roaming.looks == 2 + 2 * 2 + 1


@pytest.mark.parametrize("number", [1, 2])
def test_a_test_during_which_it_became_another_one_is_of_neither(tmp_path: Path, roaming: Roaming, number: int) -> None:
    roaming.after[number] = roaming.becomes("second")  # the test itself came about
    made, said, journal = begun(tmp_path)
    assert (made.done, dict(made.failed), made.missing) == (2, {}, 0)
    expected = [(1, "second"), (1, "second")] if number == 1 else [(0, "first"), (1, "second")]
    assert where(journal) == expected
    assert roaming.connections == [*range(1, number + 1), *range(number, 3)], "it is made again"
    again = f"; what was measured meanwhile (1/1 connections {number}) is of neither line, and is made again"
    assert said.count(f"here: {WORDS}{again}") == 1
    assert sum(f"connections {number}: " in line for line in said) == 1, "a goodput of two lines was told"
    warnings = [run["warnings"] for run in Result.load(tmp_path / "out").manifest["runs"]]
    assert warnings == ([[], []] if number == 1 else [[WORDS + again], []])


def test_a_test_that_breaks_as_it_becomes_another_one_is_not_made_again_in_its_block(
    tmp_path: Path, roaming: Roaming
) -> None:
    roaming.during[2] = roaming.breaks("second")
    made, said, journal = begun(tmp_path)
    assert (made.done, dict(made.failed), made.missing) == (2, {}, 0)
    assert where(journal) == [(0, "first"), (1, "second")]
    assert said.count("1/1 connections 2: failed, attempt 1 of 3: the line is lost") == 1
    assert sum("measured meanwhile (1/1 connections 2)" in line for line in said) == 1
    assert [test["attempts"] for _, test in journal.tests()] == [[], []], "of another line, and none of its retries"


def test_the_last_attempt_at_a_test_is_no_failure_of_another_line(tmp_path: Path, roaming: Roaming) -> None:
    roaming.during = {2: roaming.breaks("first"), 3: roaming.breaks("first"), 4: roaming.breaks("second")}
    made, _, journal = begun(tmp_path)
    assert (made.done, dict(made.failed), made.missing) == (2, {}, 0)
    assert where(journal) == [(0, "first"), (1, "second")]


def test_a_line_that_is_away_is_not_another_one(tmp_path: Path, roaming: Roaming) -> None:
    roaming.line = None  # at the begin, too
    roaming.after[1] = roaming.becomes("first")
    roaming.during = {2: roaming.breaks(None), 3: roaming.becomes("first")}
    made, said, journal = begun(tmp_path)
    assert (made.done, dict(made.failed), made.missing) == (2, {}, 0)
    assert [block for block, _ in where(journal)] == [0, 0]
    assert not any("another one" in line for line in said)
    roaming.line, roaming.during, roaming.after, roaming.connections = "first", {}, {}, []
    roaming.during = {2: roaming.breaks(None), 3: roaming.becomes("second")}
    (tmp_path / "more").mkdir()
    _, said, journal = begun(tmp_path / "more")
    assert where(journal) == [(0, "first"), (1, "second")], "what comes back is another one"


def test_a_probe_during_which_it_became_another_one_is_made_again_there(tmp_path: Path, roaming: Roaming) -> None:
    roaming.after[1] = roaming.becomes("second")
    made, said, journal = begun(tmp_path, "true")
    assert (made.done, made.missing, dict(made.failed_probes)) == (2, 0, {})
    assert journal.probed() == {(1, "down")}
    assert where(journal) == [(1, "second"), (1, "second")]
    assert roaming.connections == [8, 8, 1, 2]
    assert sum("1/1 probe down" in line for line in said if "neither" in line) == 1
    # Nothing is left of the first block, not even the probe that it never had.
    before = list(roaming.connections)
    runner.resume(tmp_path / "out", runner.Asked(), said.append)
    assert roaming.connections == before


@pytest.mark.parametrize("probe", ["true", "false"])
def test_what_is_left_is_a_block_of_its_own_after_an_end_without_warning_as_well(
    tmp_path: Path, roaming: Roaming, probe: str
) -> None:
    more = 1 if probe == "true" else 0

    def ends() -> None:
        raise KeyboardInterrupt

    roaming.after[1 + more] = roaming.becomes("second")
    roaming.during[2 + 2 * more] = ends
    with serving() as (_, address):
        plan = campaign.parsed(TEXT.format(port=address.port, probe=probe), "roaming.toml", tmp_path)
        out = tmp_path / "out"
        with pytest.raises(KeyboardInterrupt):
            runner.begin(plan, out, runner.Asked(), print)
        roaming.line = "third"
        assert runner.resume(out, runner.Asked(), print).missing == 0
    journal = Journal(out)
    # 0 has ended, and 1 is of the second line, on which nothing but its probe was made.
    assert where(journal) == [(2, "third"), (2, "third")]
    assert journal.probed() == ({(0, "down"), (1, "down"), (2, "down")} if more else set())


def test_behind_a_path_a_block_ends_as_well_and_says_both_that_and_that_it_was_late(
    tmp_path: Path, roaming: Roaming, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = {"valid": False, "problems": ["a packet was late"]}

    def played(_: object, request: Any) -> shell.Ended:
        return shell.Ended({"exit": inside.main(request.command[3:])}, (), late, ())

    monkeypatch.setattr(runner.shell, "play", played)
    monkeypatch.setenv(inside.SERVER, "127.0.0.1")
    (tmp_path / "path.toml").write_text(LINE, encoding="utf-8")
    roaming.after[2] = roaming.becomes("second")
    with serving() as (_, address):
        monkeypatch.setattr(inside.server, "PORT", address.port)
        text = TEXT.format(port=1, probe="false").replace('server = "127.0.0.1:1"', "")
        plan = campaign.parsed(text.replace('"here"', '"here"\nvia = "path.toml"'), "roaming.toml", tmp_path)
        assert runner.begin(plan, tmp_path / "out", runner.Asked(), print).missing == 0
    journal = Journal(tmp_path / "out")
    assert where(journal) == [(0, "first"), (1, "second")]
    warnings = [journal.blocks()[block]["warnings"] for block in (0, 1)]
    assert [[WORDS in said for said in block] for block in warnings] == [[True, False], [False]]
    assert all("the emulated path was late" in block[-1] for block in warnings)
