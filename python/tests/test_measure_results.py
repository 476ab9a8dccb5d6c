"""Results of measurements: the tables of every engine, whatever reads them, and lines that are a scenario's path."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.measure import campaign, inside, runner, transfer
from ackclock.measure.causes import courses
from ackclock.measure.causes.verdict import explain
from ackclock.measure.journal import Journal
from ackclock.results.result import Result
from ackclock.sweeps import shell
from measuring import serving

pytestmark = pytest.mark.real_time

CAMPAIGN = """
[campaign]
name = "try"
server = "127.0.0.1:{port}"
repetitions = 3
gap = "0 s"

[[lines]]
name = "here"
place = "52.516275,13.377704"

[test]
connections = [1, 3]
cc = ["cubic", "reno"]
duration = "400 ms"
warmup = "100 ms"
interval = "50 ms"
pacing = "16 Mbit/s"
"""

PATH = """
[topology]
kind = "dumbbell"
rate = "20 Mbit/s"
rtt = "30 ms"
queue = { kind = "droptail", limit = "1 BDP" }

[[flows]]
cc = "cubic"

[run]
duration = "20 s"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign over the loopback interface."""
    out = tmp_path_factory.mktemp("measured") / "out"
    with serving() as (_, address):
        text = CAMPAIGN.format(port=address.port)
        made = runner.begin(campaign.parsed(text, "try.toml", out.parent), out, runner.Asked(), lambda _: None)
    assert (made.done, made.missing) == (12, 0)
    return out


def test_rates_of_steps_are_those_of_bytes_where_segments_are_not_full(folder: Path) -> None:
    # A paced sender on an interface that takes 64 kB at once: its segments are a fraction of that.
    result = Result.load(folder)
    goodput = dict(result.runs.select("run", "goodput_bps").iter_rows())
    tests = [test for line in courses.lines(result) for test in line.tests]
    assert len(tests) == 12
    # A test is so short that a burst more or less at its edges is a sixth of it.
    assert statistics.median(test.mean / goodput[test.run] for test in tests) == pytest.approx(1.0, rel=0.15)


def test_runs_and_flows_are_what_was_measured(folder: Path) -> None:
    result = Result.load(folder)
    assert result.complete
    assert result.params == ["connections", "cc"]
    assert result.runs.height == 12
    assert result.runs["point"].to_list() == [point for point in range(4) for _ in range(3)]
    assert result.flows.height == 3 * 2 * (1 + 3)
    assert result.links.height == 0
    tests = dict(Journal(folder).tests())
    for row in result.flows.iter_rows(named=True):
        found = tests[row["run"]]["result"]
        sender = found["ends"]["server"]["connections"][int(row["id"])]
        receiver = found["ends"]["client"]["connections"][int(row["id"])]
        assert row["cc"] == found["cc"]["server"]
        assert row["goodput_bytes"] == receiver["counted"]
        assert row["goodput_bps"] == pytest.approx(receiver["counted"] * 8 / 0.3)
        assert row["sent_bytes"] <= sender["fields"]["bytes_sent"][-1]
        assert row["recoveries"] is None, "no socket tells"
        assert row["path_rtt_s"] > 0
    # The total of a run is that of its connections.
    total = dict(result.flows.group_by("run").agg(pl.col("goodput_bps").sum()).iter_rows())
    assert {run: pytest.approx(value) for run, value in total.items()} == dict(
        result.runs.select("run", "goodput_bps").iter_rows()
    )


def test_series_are_in_base_units_on_one_clock(folder: Path) -> None:
    result = Result.load(folder)
    tests = dict(Journal(folder).tests())
    own = result.series.filter(run=0, id="0")
    sender = tests[0]["result"]["ends"]["server"]["connections"][0]["fields"]
    values = {name: own.filter(metric=name)["value"].to_list() for name in ("srtt", "cwnd", "delivered", "pacing_rate")}
    assert values["srtt"] == pytest.approx([value * 1e-6 for value in sender["srtt"]])
    assert values["cwnd"] == [cwnd * mss for cwnd, mss in zip(sender["cwnd"], sender["snd_mss"], strict=True)]
    assert max(values["pacing_rate"]) == pytest.approx(16e6), "bit/s, as the option was given"
    assert values["delivered"] == sorted(values["delivered"])
    # Both ends begin within moments of each other, and their samples are on the client's clock.
    begins = [own.filter(metric=name)["time_s"].min() for name in ("srtt", "delivered")]
    assert all(-0.2 < begin < 0.3 for begin in begins)


def test_every_command_reads_them(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sql = "select connections, count(*) n from runs group by all order by 1"
    assert main(["query", str(folder), sql, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"connections": 1, "n": 6}, {"connections": 3, "n": 6}]
    assert main(["rank", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "cubic" in json.dumps(found)
    assert "reno" in json.dumps(found)
    assert main(["compare", str(folder), "--by", "cc"]) == 0
    assert "goodput_bps" in capsys.readouterr().out
    for more in (["--x", "connections", "--y", "total_goodput_bps"], ["--kind", "timeseries", "--y", "cwnd"]):
        target = tmp_path / "figure.png"
        assert main(["plot", str(folder), *more, "--out", str(target)]) == 0
        assert target.stat().st_size > 10_000
        target.unlink()


def test_neither_manifest_nor_tables_name_the_server(folder: Path) -> None:
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    assert json.loads(text)["engine"]["name"] == "live"
    assert "127.0.0.1" not in text
    assert Journal(folder).state()["salt"] not in text
    assert "52.516,13.378" in json.loads(text)["scenario"]["text"], "as it is kept of each test"
    assert "52.5162" not in text


def test_a_result_that_is_a_campaign_is_not_replaced_by_another(folder: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "path.toml"
    scenario.write_text(PATH, encoding="utf-8")
    assert main(["run", str(scenario), "--out", str(folder)]) == 2


def test_a_line_that_is_a_path_has_its_rate_and_round_trip(tmp_path: Path) -> None:
    (tmp_path / "path.toml").write_text(PATH, encoding="utf-8")
    file = tmp_path / "campaign.toml"
    file.write_text(
        """
[campaign]
name = "emulated"
repetitions = 1
gap = "0 s"
[[lines]]
name = "dsl"
via = "path.toml"
[test]
connections = [1, 2]
duration = "3 s"
warmup = "1 s"
cc = "cubic"
""",
        encoding="utf-8",
    )
    out = tmp_path / "out"
    assert main(["measure", "run", str(file), "--out", str(out)]) == 0
    result = Result.load(out)
    assert result.runs.height == 2
    # 1448 of 1500 bytes are payload; two seconds contain a loss and what follows it.
    for goodput in (*result.runs["goodput_bps"], *result.runs["probe_bps"]):
        assert 0.75 * 20e6 * 1448 / 1500 < goodput <= 1.01 * 20e6 * 1448 / 1500
    for idle in result.runs["idle_rtt_s"]:
        assert 0.030 <= idle < 0.034
    # Each way of the path is its half: the clocks of two hosts of one computer are one.
    for offset, uncertainty in result.runs.select("clock_offset_s", "clock_uncertainty_s").iter_rows():
        assert abs(offset) <= uncertainty < 0.020
    assert set(result.flows["cc"]) == {"cubic"}
    for entry in result.manifest["runs"]:
        assert entry["emulation"] is not None


def test_a_path_that_was_late_is_said_of_its_block_and_wherever_it_counts(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = "packets of link bottleneck were late: the 99th percentile is 9 ms"
    late = {"valid": False, "problems": [problem, "one", "two"]}

    def played(_: object, request: Any) -> shell.Ended:
        inside.main(request.command[3:])
        return shell.Ended({"exit": 0}, (), late if request.command[5] == "0" else {"valid": True, "problems": []}, ())

    (tmp_path / "path.toml").write_text(PATH, encoding="utf-8")
    monkeypatch.setattr(runner.shell, "play", played)
    monkeypatch.setenv(inside.SERVER, "127.0.0.1")
    out, file = tmp_path / "out", tmp_path / "campaign.toml"
    text = CAMPAIGN.replace('server = "127.0.0.1:{port}"', "probe = false").replace(
        'place = "52.516275,13.377704"', 'via = "path.toml"'
    )
    file.write_text(text.replace('["cubic", "reno"]', '"reno"'), encoding="utf-8")
    with serving() as (_, address):
        monkeypatch.setattr(inside.server, "PORT", address.port)
        assert main(["measure", "run", str(file), "--out", str(out)]) == 0
    said = "the emulated path was late (packets of link bottleneck were late: the 99th percentile is 9 ms; one): give"
    assert f"here: block 0: {said}" in capsys.readouterr().out
    assert [said in " ".join(entry["warnings"]) for entry in Result.load(out).manifest["runs"]] == [
        True,
        False,
        False,
    ] * 2
    note = "2 of 6 runs were measured behind an emulated path that was late (docs/engines.md)"
    for command in (["why"], ["rank", "--by", "connections"], ["compare", "--by", "connections"], ["plot"]):
        first, *more = command
        assert main([*(["measure"] if first == "why" else []), first, str(out), *more]) == 0
        assert note in capsys.readouterr().err, first
    assert main(["measure", "why", str(folder)]) == 0
    assert not capsys.readouterr().err, "a line that is no path is not late"


def test_where_only_bytes_and_times_can_be_had_the_rest_is_null(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(transfer, "_INFO", None)  # as on a system that has no TCP_INFO
    with serving() as (_, address):
        text = CAMPAIGN.format(port=address.port).replace('["cubic", "reno"]', '"reno"').replace("= 3\ngap", "= 1\ngap")
        out = tmp_path / "out"
        made = runner.begin(campaign.parsed(text, "try.toml", tmp_path), out, runner.Asked(), lambda _: None)
    assert (made.done, dict(made.failed)) == (2, {})
    result = Result.load(out)
    known = {"goodput_bps", "goodput_bytes", "path_rtt_s"}  # of what was read, and of handshakes
    for name in known:
        assert result.flows[name].null_count() == 0, name
    for name in (
        "sent_bytes",
        "retransmitted_bytes",
        "sent_segments",
        "timeouts",
        "mean_rtt_s",
        "min_rtt_s",
        "mean_cwnd_bytes",
    ):
        assert result.flows[name].null_count() == result.flows.height, name
    assert set(result.series["metric"].cast(pl.String)) == {"delivered"}
    assert main(["measure", "why", str(out)]) == 0
    said = capsys.readouterr().out
    for name in ("rwnd_limited", "sndbuf_limited", "busy_time", "retransmitted", "srtt", "cwnd"):
        assert f"(without {name})" in said


def test_both_directions_at_a_time_are_two_lines(tmp_path: Path) -> None:
    with serving() as (_, address):
        text = CAMPAIGN.format(port=address.port).replace('["cubic", "reno"]', '"reno"\ndirection = "both"')
        text = text.replace("= 3\ngap", "= 1\nprobe = false\ngap").replace("[1, 3]", "[1, 2]")
        out = tmp_path / "out"
        runner.begin(campaign.parsed(text, "try.toml", tmp_path), out, runner.Asked(), lambda _: None)
    found = courses.lines(Result.load(out))
    assert [line.params for line in found] == [{"way": "down"}, {"way": "up"}]
    assert [[test.count for test in line.tests] for line in found] == [[1, 2], [1, 2]]


def test_pacing_is_what_limits_a_line_that_is_memory(tmp_path: Path) -> None:
    # Segments of the loopback interface grow during such a test: by their mean the second half would seem to have
    # less than the pacing rate.
    with serving() as (_, address):
        text = CAMPAIGN.format(port=address.port).replace('cc = ["cubic", "reno"]\n', "")
        text = text.replace("= 3\ngap", "= 1\nprobe = false\ngap").replace("[1, 3]", "[1, 2]")
        text = text.replace('"400 ms"\nwarmup = "100 ms"\ninterval = "50 ms"', '"3 s"').replace("16 Mbit", "10 Mbit")
        runner.begin(campaign.parsed(text, "try.toml", tmp_path), tmp_path / "out", runner.Asked(), lambda _: None)
    (found,) = explain(tmp_path / "out")
    assert found.mechanism == "application", found
    assert found.evidence == "each connection sends the 10 Mbit/s that it was told not to exceed (pacing)"
    assert found.caution is None


def test_the_number_of_connections_that_gets_most_is_asked_of_the_total(folder: Path) -> None:
    """As docs/measure.md says: three connections, each paced alike, have three times as much together."""
    found = ackclock.rank(folder, by="connections", goal="total_goodput_bps up")
    assert found.best == ("3",)


def test_numbers_of_connections_are_compared_by_what_all_have_together(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of each connection's own goodput the fewest have the most wherever they share a line."""
    found = ackclock.rank(folder, by="connections")
    assert found.best == ("3",)
    assert str(found.goal) == "total_goodput_bps up"
    assert found.axes["throughput"] == "total_goodput_bps"
    assert any("3 tests of each number of connections make wide intervals" in note for note in found.notes)
    assert str(ackclock.rank(folder, by="connections", goal="bulk").goal) == "goodput_bps up"
    assert str(ackclock.rank(folder, by="cc").goal) == "goodput_bps up"
    assert main(["compare", str(folder), "--by", "connections", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["metric"] for row in rows} >= {"total_goodput_bps", "goodput_bps"}
    assert main(["compare", str(folder), "--by", "cc", "--json"]) == 0
    assert "total_goodput_bps" not in capsys.readouterr().out
    assert main(["plot", str(folder)]) == 0
    assert "total goodput (Mbit/s) over connections" in capsys.readouterr().out
