"""Probes of a line before each block: what they are, what they cost, how they are kept, and what becomes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ackclock.cli.app import main
from ackclock.errors import AckclockError
from ackclock.measure import blocks, campaign, client, context, runner
from ackclock.measure.campaign import Campaign
from ackclock.measure.journal import FOLDER, Journal
from ackclock.measure.session import Terms
from ackclock.results.result import Result
from measuring import serving

pytestmark = pytest.mark.real_time

TEXT = """
[campaign]
name = "try"
server = "127.0.0.1:{port}"
repetitions = 3
gap = "0 s"
retries = 1
{more}
[[lines]]
name = "here"
rate = "8 Mbit/s"
[test]
{test}
connections = [1, 2, 4]
duration = "200 ms"
pacing = "2 Mbit/s"
mss = 1400
"""


def parsed(folder: Path, port: int = 1, more: str = "", test: str = "", text: str = TEXT) -> Campaign:
    return campaign.parsed(text.format(port=port, more=more, test=test), "try.toml", folder)


def silent(_: str) -> None:
    """Nothing is said."""


def test_a_block_begins_with_one_where_numbers_of_connections_are_compared(tmp_path: Path) -> None:
    plan = parsed(tmp_path)
    (probe,) = plan.probes(plan.lines[0])
    asked = probe.asked
    assert (asked.connections, asked.direction, probe.tool) == (8, "down", "ackclock")
    # It counts from its half on, and is held back by nothing that the tests have of their own.
    assert (asked.duration_ns, asked.warmup_ns) == (200_000_000, 100_000_000)
    assert (asked.options.mss, asked.options.pacing) == (1400, None)
    assert not parsed(tmp_path, more="probe = false").probes(plan.lines[0])
    one = TEXT.replace("[1, 2, 4]", "2")
    assert not parsed(tmp_path, text=one).probes(plan.lines[0])
    assert len(parsed(tmp_path, more="probe = true", text=one).probes(plan.lines[0])) == 1


def test_there_is_one_for_each_direction_and_what_the_tests_agree_on(tmp_path: Path) -> None:
    plan = parsed(tmp_path, test='direction = ["up", "both"]\ncc = ["cubic", "reno"]\ntos = 8')
    found = plan.probes(plan.lines[0])
    assert [probe.asked.direction for probe in found] == ["up", "both"]
    assert {(probe.asked.options.cc, probe.asked.options.tos) for probe in found} == {(None, 8)}


def test_of_tests_by_iperf3_alone_it_is_iperf3(tmp_path: Path) -> None:
    text = TEXT.replace('"200 ms"', '"3 s"')
    plan = parsed(tmp_path, test='tool = "iperf3"', text=text)
    (probe,) = plan.probes(plan.lines[0])
    assert (probe.tool, probe.asked.duration_ns, probe.asked.warmup_ns) == ("iperf3", 3 * 10**9, 10**9)
    plan = parsed(tmp_path, test='tool = ["iperf3", "ackclock"]', text=text)
    assert [probe.tool for probe in plan.probes(plan.lines[0])] == ["ackclock"]


def test_it_is_part_of_the_estimate_and_changes_no_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = TEXT.replace('"0 s"', '"1 s"').replace('"200 ms"', '"10 s"')
    with_, without = (parsed(tmp_path, more=more, text=text) for more in ("", "probe = false"))
    # 3 repetitions of 3 tests and a probe, 10 s each after a pause of 1 s; 1 MB in a second at 8 Mbit/s.
    assert (with_.seconds(), without.seconds()) == (3 * 4 * 11, 3 * 3 * 11)
    assert [plan.volume(plan.lines[0], 8_000_000) for plan in (with_, without)] == [120e6, 90e6]
    assert with_.blocks() == without.blocks()
    file = tmp_path / "try.toml"
    file.write_text(text.format(port=1, more="", test=""), encoding="utf-8")
    assert main(["measure", "plan", str(file)]) == 0
    said = capsys.readouterr().out
    assert "3 x 3 x 10 s and 3 probes of 8 connections, pauses included 2 min 12 s; about 120 MB at 8 Mbit/s" in said
    assert "block 0, here: probe down; connections " in said
    assert main(["measure", "plan", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["tests"], [block["probes"] for block in told["blocks"]]) == (9, [["down"]] * 3)


def test_it_is_beside_the_tests_and_none_of_them(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with serving(terms=Terms(rate=16_000_000)) as (_, address):
        made = runner.begin(parsed(tmp_path, address.port), out, runner.Asked(), silent)
    assert (made.done, made.missing, dict(made.failed_probes)) == (9, 0, {})
    result = Result.load(out)
    assert result.complete
    assert result.params == ["connections"]
    assert sorted(set(result.runs["connections"])) == [1, 2, 4]
    assert sorted(set(result.flows["id"])) == ["0", "1", "2", "3"], "flows of a probe are among those of tests"
    probes = result.manifest["probes"]
    assert [(probe["block"], probe["repetition"]) for probe in probes] == [(0, 0), (1, 1), (2, 2)]
    for probe in probes:
        # The server gives 16 Mbit/s to all of a test, and two of a test's connections have a quarter of it.
        assert (probe["connections"], probe["direction"], probe["problem"]) == (8, "down", None)
        assert 0.6 * 16e6 < probe["goodput_bps"] < 1.3 * 16e6
    by_block = {probe["block"]: probe["goodput_bps"] for probe in probes}
    assert result.runs["probe_bps"].to_list() == [by_block[block] for block in result.runs["block"]]


def test_one_that_breaks_is_made_again_then_recorded_and_made_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_WAIT_S", (0.0,))
    real, broken, calls = client.measure, [1, 3, 4], [0]

    def lost(*arguments: Any) -> dict[str, Any]:
        if arguments[2].connections == 8:
            calls[0] += 1
            if calls[0] in broken:  # the first probe succeeds when it is made again, the second one breaks twice
                raise client.MeasureError("127.0.0.1: the line is lost")
        return real(*arguments)

    monkeypatch.setattr(client, "measure", lost)
    out = tmp_path / "out"
    with serving() as (_, address):
        made = runner.begin(parsed(tmp_path, address.port), out, runner.Asked(), silent)
        assert (made.done, dict(made.failed), made.missing) == (9, {}, 0), "tests are made without it"
        assert dict(made.failed_probes) == {(1, "down"): "127.0.0.1: the line is lost"}
        result = Result.load(out)
        assert [probe["attempts"] for probe in result.manifest["probes"]] == [2, 2, 1]
        assert result.manifest["probes"][1]["problem"] == "server: the line is lost"
        for block, value in result.runs.select("block", "probe_bps").iter_rows():
            assert (value is None) == (block == 1)
        assert main(["measure", "resume", str(out)]) == 1, "only who asks for it has it made again"
        assert calls[0] == 5
        before = dict(Journal(out).tests())
        made = runner.resume(out, runner.Asked(retry_failed=True), silent)
        assert (made.done, made.missing, dict(made.failed_probes), calls[0]) == (9, 0, {}, 6)
        assert dict(Journal(out).tests()) == before
    assert Result.load(out).runs["probe_bps"].null_count() == 0


def test_where_no_server_is_nothing_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(AckclockError, match="the first 3 tests have failed"):
        runner.begin(
            parsed(tmp_path, 1, "retries = 0", text=TEXT.replace("retries = 1\n", "")), out, runner.Asked(), silent
        )
    assert (Journal(out).done(), Journal(out).probed()) == (set(), set())


def test_another_line_has_a_probe_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def identity(*_: object) -> tuple[str]:
        seen.append("")
        # At the begin, before and after the probe and the first test; then roaming.
        return ("before",) if len(seen) < 6 else ("after",)

    monkeypatch.setattr(context, "identity", identity)
    out = tmp_path / "out"
    with serving() as (_, address):
        runner.begin(parsed(tmp_path, address.port, text=TEXT.replace("= 3\n", "= 1\n")), out, runner.Asked(), silent)
    assert sorted(Journal(out).probed()) == [(0, "down"), (1, "down")]
    of = {key[0]: blocks.goodput(probe["result"]) for key, probe in Journal(out).probes()}
    runs = Result.load(out).runs
    assert sorted(runs["block"]) == [0, 1, 1]
    assert runs["probe_bps"].to_list() == [of[block] for block in runs["block"]]


def test_what_was_begun_without_probes_goes_on_without(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with serving() as (_, address):
        runner.begin(parsed(tmp_path, address.port), out, runner.Asked(once=True), silent)
        state = out / FOLDER / "state.json"
        told = json.loads(state.read_text(encoding="utf-8"))
        del told["probes"]  # as an older version has written it
        state.write_text(json.dumps(told), encoding="utf-8")
        made = runner.resume(out, runner.Asked(), silent)
    assert (made.done, made.missing) == (9, 0)
    assert sorted(Journal(out).probed()) == [(0, "down")]
