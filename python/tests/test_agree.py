"""One scenario on several engines. Where no kernel is needed a second simulator stands for the other engine."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.engines import divergence, page, text
from ackclock.engines.agree import MARGINS, Agreement
from ackclock.engines.variants import Variant
from ackclock.results import validity

SCENARIO: dict[str, Any] = {
    "topology": {
        "kind": "dumbbell",
        "rate": "20 Mbit/s",
        "rtt": "40 ms",
        "queue": {"kind": "droptail", "limit": "1 BDP"},
    },
    "flows": [{"cc": ["reno", "cubic"]}],
    "run": {"duration": "8 s"},
}

SMALL = (
    '[topology]\nkind = "dumbbell"\nrate = "5 Mbit/s"\nrtt = "10 ms"\n'
    'queue = { kind = "droptail", limit = "1 BDP" }\n[[flows]]\ncc = "reno"\n[run]\nduration = "1 s"\n'
)


def other(**changes: Any) -> Variant:
    return Variant("other", "sim", changes)


@pytest.fixture(scope="module")
def same() -> Agreement:
    """The simulator beside itself."""
    return ackclock.agree(SCENARIO, ["sim", other()])


def test_the_same_engine_twice_agrees_everywhere(same: Agreement) -> None:
    (pair,) = same.pairs
    assert same.agrees
    assert {row.verdict for row in pair.comparison.rows} == {"equal in every run"}  # type: ignore[union-attr]
    assert pair.divergences == {0: [], 1: []}
    assert all("stay within 10 %" in line for line in text.divergences(pair))


def test_one_run_each_is_not_said_to_be_tested(same: Agreement) -> None:
    (pair,) = same.pairs
    assert pair.tested == same.to_json()["pairs"][0]["tested"] == 0
    assert text.verdict(pair).startswith(
        "other is within the margins of sim in one run each: 6 of 6 rows, of which none"
    )
    assert "no interval" in text.verdict(pair)
    assert text.verdict(pair).endswith('draw them, as start = { uniform = ["0 s", "1 s"] }, with --replications 10')
    assert "one run each is compared by its value" in text.margins(same)
    apart = ackclock.agree(SCENARIO, ["sim", other(**{"run.duration": "4 s"})])
    assert text.verdict(apart.pairs[0]).startswith("other is not ")
    drawn = json.loads(json.dumps(SCENARIO))
    drawn["flows"][0]["start"] = {"uniform": ["0 s", "1 s"]}
    found = ackclock.agree(drawn, ["sim", other(**{"run.seed": 2})], margin=["99%"])
    (pair,) = found.pairs
    assert pair.tested > 0
    assert text.verdict(pair).startswith("other agrees with sim: 6 of 6 rows within their margin")
    assert text.margins(found).endswith("each must be shown by two one-sided tests at 5 %")


def test_another_stack_is_not_taken_for_the_same_and_the_page_says_where_it_parts() -> None:
    found = ackclock.agree(SCENARIO, ["sim", other(profile="ns3")])
    (pair,) = found.pairs
    assert not found.agrees
    first = pair.divergences[0][0]
    assert (first.metric, first.what) == ("cwnd", "0")
    # ns-3's acknowledgments are delayed from the first on, so that its window is smaller after one round trip.
    assert 0.04 < first.time_s < 0.2
    assert first.b < first.a
    content = page.of(found)
    root = ET.fromstring(content.removeprefix("<!DOCTYPE html>\n"))
    charts = [node.attrib["aria-label"] for node in root.iter("svg") if len(list(node.iter("polyline"))) == 2]
    assert charts.count("cwnd 0, bytes") == 2
    assert "queue bottleneck, packets" in charts
    assert "is not within all margins of sim in one run each" in content


def test_engines_that_a_scenario_sweeps_make_no_points_of_their_own() -> None:
    swept = {**SCENARIO, "run": {"duration": "2 s", "engine": ["sim", "kernel-vt"]}}
    found = ackclock.agree(swept, ["sim", other()])
    for played in found.played:
        assert [point["params"] for point in played.result.manifest["points"]] == [{"cc": "reno"}, {"cc": "cubic"}]
        assert set(played.result.runs["point"]) == {0, 1}
    assert len(found.pairs[0].comparison.rows) == 2 * len(MARGINS)  # type: ignore[union-attr]


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_runs_of_engines_are_not_put_among_the_tables_of_another_result(
    command: str, tmp_path: Path, capsys: Any
) -> None:
    file, out = tmp_path / "small.toml", tmp_path / "out"
    file.write_text(SMALL)
    assert main([command, str(file), "--out", str(out)]) == 0
    capsys.readouterr()
    before = sorted(out.iterdir())
    assert main(["agree", str(file), "--engines", "sim,kernel-vt", "--out", str(out)]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said == f"ackclock: {out}: holds the result of a run or a sweep; give --out another name"
    assert sorted(out.iterdir()) == before


def test_margins_are_as_given() -> None:
    strict = ackclock.agree(SCENARIO, ["sim", other(profile="ns3")], margin=["0.001%"])
    wide = ackclock.agree(SCENARIO, ["sim", other(profile="ns3")], margin=["99%"])
    assert not strict.agrees
    assert wide.agrees


def test_what_an_engine_cannot_play_is_said_once_for_each_reason_and_the_rest_is_judged() -> None:
    # What is judged is not asked here, so that runs may be late.
    scenario = SCENARIO | {"flows": [{"cc": ["reno", "prague", "fast"]}]}
    found = ackclock.agree(scenario, ["sim", "kernel"], set={"run.duration": "1 s"}, replications=2, allow_late=True)
    assert len(found.played[1].refused) == 2
    assert found.played[1].able == {0}
    (pair,) = found.pairs
    assert {row.params["cc"] for row in pair.comparison.rows} == {"reno"}  # type: ignore[union-attr]
    assert sum("kernel cannot play 1 of 3 points: " in note for note in found.notes) == 2


def test_an_engine_that_can_play_nothing_leaves_nothing_to_judge(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "prague.toml"
    file.write_text(
        '[topology]\nkind = "dumbbell"\nrate = "5 Mbit/s"\nrtt = "10 ms"\n'
        'queue = { kind = "droptail", limit = "1 BDP" }\n[[flows]]\ncc = "prague"\n[run]\nduration = "1 s"\n'
    )
    assert main(["agree", str(file), "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "kernel cannot play this: " in said
    assert "fewer than two engines can play this" in said


def test_differences_that_do_not_last_are_none(same: Agreement) -> None:
    tracks = divergence.tracks(same.played[0].result, 0)
    window = tracks["cwnd", "0"]
    values = window.values.copy()
    values[300:302] *= 2  # two samples of 10 ms are less than an RTT
    assert divergence._first(window, divergence.Track(window.times, values), 2896.0, 0.04) is None
    values[300:310] *= 2
    at = divergence._first(window, divergence.Track(window.times, values), 2896.0, 0.04)
    assert at is not None
    assert at[0] == pytest.approx(window.times[300], abs=0.02)


def test_a_connection_that_is_not_there_yet_has_no_window_to_differ(same: Agreement) -> None:
    window = divergence.tracks(same.played[0].result, 0)["cwnd", "0"]
    early = divergence.Track(window.times, np.where(window.values == 0, window.values.max(), window.values))
    assert window.values[0] == 0
    assert divergence._first(window, early, 2896.0, 0.04) is not None
    assert divergence._first(window.opened(), early.opened(), 2896.0, 0.04) is None


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--engines", "sim"], "one engine has nothing to agree with; name two, as sim,kernel"),
        (["--engines", "sim,sim"], "'sim' is named twice"),
        (["--engines", "sim,ns3"], "ackclock: --engines: 'ns3' is no engine; known are sim, kernel"),
        (["--replications", "1"], "one replication has no spread"),
        (["--margin", "goodput=1%"], "goodput"),
    ],
)
def test_bad_arguments_get_one_line(arguments: list[str], line: str, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(SMALL)
    assert main(["agree", str(file), "--out", str(tmp_path / "out"), *arguments]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line in said


def test_the_command_plays_simulator_and_kernel_and_writes_a_page(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "small.toml"
    file.write_text(
        '[topology]\nkind = "dumbbell"\nrate = "5 Mbit/s"\nrtt = "20 ms"\n'
        'queue = { kind = "droptail", limit = "2 BDP" }\n[[flows]]\ncc = "reno"\n[run]\nduration = "2 s"\n'
    )
    out = tmp_path / "out"
    # Late is allowed, and margins are wide: whether this computer has other things to do is not what is tested here.
    command = ["agree", str(file), "--out", str(out), "--replications", "2", "--allow-late", "--margin", "60%"]
    code = main([*command, "--json"])
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    assert code == (0 if answer["agrees"] else 1)
    assert "runs on this computer's kernel are played one after the other, and take 4 s at least" in shown.err
    assert [engine["name"] for engine in answer["engines"]] == ["sim", "kernel"]
    rows = {row["metric"]: row for row in answer["pairs"][0]["comparison"]["rows"]}
    assert rows["goodput_bps"]["percent"] == pytest.approx(0, abs=5)
    assert "Linux " in (out / "agree.html").read_text()
    # Both sides are kept: the same command measures nothing again.
    before = (out / "kernel" / "runs.journal").read_bytes()
    late = validity.runs(ackclock.Result.load(out / "kernel"))
    main(command)
    if not late:
        assert (out / "kernel" / "runs.journal").read_bytes() == before
