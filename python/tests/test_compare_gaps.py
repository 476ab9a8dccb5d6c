"""Comparing results that are not whole, or not of the same scenario: what is missing is seen, and never agrees."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import InputError, Result
from ackclock.cli.app import main
from shared import SMALL

SWEPT = SMALL.replace('cc = "cubic"', 'cc = ["reno", "cubic"]').replace('"20 ms"', '["20 ms", "60 ms"]')
POINTS = {"reno, 20 ms": 0, "cubic, 20 ms": 1, "reno, 60 ms": 2, "cubic, 60 ms": 3}


def result(tmp: Path, text: str = SMALL, **options: Any) -> Result:
    path = tmp / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return ackclock.run(path, jobs=1, **{"replications": 3, **options})


def failing(whole: Result, points: Collection[int]) -> Result:
    """The same result with all runs of these points failed."""
    there = [entry for entry in whole.manifest["runs"] if entry["point"] not in points]
    gone = [
        {**{key: entry[key] for key in ("run", "point", "replication")}, "problem": "broke", "traceback": ""}
        for entry in whole.manifest["runs"]
        if entry["point"] in points
    ]
    kept = pl.col("run").is_in([entry["run"] for entry in there])
    tables = {name: table.filter(kept) for name, table in whole.tables.items()}
    return Result(tables, {**whole.manifest, "runs": there, "failed": gone})


def without_rtt(whole: Result, runs: Collection[int]) -> Result:
    """The same result without a mean RTT in these runs."""
    flows = whole.flows.with_columns(
        pl.when(pl.col("run").is_in(runs)).then(None).otherwise(pl.col("mean_rtt_s")).alias("mean_rtt_s")
    )
    return Result({**whole.tables, "flows": flows}, whole.manifest)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Two controllers on two paths, three times each."""
    found = result(tmp_path_factory.mktemp("swept"), SWEPT)
    where = {f"{entry['params']['cc']}, {entry['params']['topology.rtt']}": entry["point"]
             for entry in found.manifest["points"]}  # fmt: skip
    assert where.keys() == POINTS.keys()
    POINTS.update(where)
    return found


def lacking(found: ackclock.Comparison) -> list[tuple[str, str, str]]:
    """Point, metric and verdict of the rows that have nothing to compare."""
    return [(", ".join(map(str, row.params.values())), row.metric, row.verdict)
            for row in found.rows if row.value is None]  # fmt: skip


def test_a_missing_point_does_not_agree(tmp_path: Path, swept: Result) -> None:
    fewer = result(tmp_path, SWEPT, set={"topology.rtt": ["20 ms"]})
    for sides, verdict in (((swept, fewer), "not in B"), ((fewer, swept), "not in A")):
        found = ackclock.compare(*sides, agreement=True)
        assert found.agrees is False
        places = ("60 ms, reno", "60 ms, cubic")
        expected = [(place, metric, verdict) for place in places for metric in ("goodput_bps", "mean_rtt_s")]
        assert lacking(found) == expected
        assert [row.verdict for row in found.rows[:4]] == ["equal in every run"] * 4
        assert found.frame.filter(pl.col("value").is_null())["equivalent"].to_list() == [False] * 4
    # A comparison that asks for no agreement leaves them out, and says so.
    plain = ackclock.compare(swept, fewer)
    assert lacking(plain) == []
    assert plain.notes == ("2 points of A left out, not in the other: topology.rtt=60 ms, cc=reno; "
                           "topology.rtt=60 ms, cc=cubic",)  # fmt: skip


def test_a_point_whose_runs_failed_does_not_agree(tmp_path: Path, swept: Result) -> None:
    part = failing(swept, [POINTS["cubic, 60 ms"]])
    for sides, verdict in (
        ((swept, part), "no finished run in B"),
        ((part, swept), "no finished run in A"),
        ((part, part), "no finished run in A or B"),
    ):
        found = ackclock.compare(*sides, agreement=True)
        assert found.agrees is False
        assert lacking(found) == [("60 ms, cubic", "goodput_bps", verdict), ("60 ms, cubic", "mean_rtt_s", verdict)]
        assert f"1 point left out, {verdict}: topology.rtt=60 ms, cc=cubic" in found.notes
    within = ackclock.compare(part, by="cc", agreement=True, margin={"goodput_bps": "99%", "mean_rtt_s": "99%"})
    assert within.agrees is False
    assert within.notes == (
        "cc=cubic: 1 point left out, no finished run in B: topology.rtt=60 ms",
        "3 of 12 runs failed",
    )


def test_a_metric_that_one_side_lacks_does_not_agree(swept: Result) -> None:
    point = POINTS["reno, 60 ms"]
    runs = [run for run, at in swept.runs.select("run", "point").iter_rows() if at == point]
    part = without_rtt(swept, runs)
    for sides, verdict in (((swept, part), "no value in B"), ((part, swept), "no value in A")):
        found = ackclock.compare(*sides, agreement=True)
        assert found.agrees is False
        assert lacking(found) == [("60 ms, reno", "mean_rtt_s", verdict)]
        plain = ackclock.compare(*sides, metrics=["goodput_bps", "mean_rtt_s"])
        assert lacking(plain) == []
        assert plain.notes == (f"{verdict}, so left out: mean_rtt_s",)
    neither = ackclock.compare(part, part, agreement=True)
    assert neither.agrees
    assert neither.notes == ("mean_rtt_s: no value on either side at 1 of 4 points",)
    nowhere = ackclock.compare(swept, without_rtt(swept, swept.runs["run"].to_list()), agreement=True)
    assert nowhere.agrees is False
    assert len(lacking(nowhere)) == 4


def test_the_command_shows_what_is_missing(tmp_path: Path, swept: Result, capsys: pytest.CaptureFixture[str]) -> None:
    swept.save(tmp_path / "whole")
    failing(swept, [POINTS["cubic, 60 ms"]]).save(tmp_path / "part")
    arguments = ["compare", str(tmp_path / "whole"), str(tmp_path / "part"), "--agreement"]
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "agreement is not shown: 6 of 8 rows within their margin"
    assert out.count("no finished run in B") == 2
    assert "3 of 12 runs of" in err
    assert main([*arguments, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [row["value"] for row in found["rows"]][-2:] == [None, None]
    assert found["agrees"] is False


def test_runs_that_failed_are_not_said_to_be_uncrossed(swept: Result) -> None:
    cubic = [POINTS["cubic, 20 ms"], POINTS["cubic, 60 ms"]]
    with pytest.raises(InputError) as caught:
        ackclock.compare(failing(swept, cubic), by="cc")
    assert str(caught.value) == (
        "the result: cc: no run of cc=cubic finished (6 failed); its manifest says which and why; correct that and run "
        "them again"
    )
    crosswise = failing(swept, [POINTS["cubic, 20 ms"], POINTS["reno, 60 ms"]])
    with pytest.raises(InputError, match=r"cc: no point has finished runs on both sides \(6 failed\)"):
        ackclock.compare(crosswise, by="cc")
    with pytest.raises(InputError, match=r"^A, B: no point has finished runs on both sides \(12 failed in B\)"):
        ackclock.compare(swept, failing(swept, POINTS.values()))


def test_a_controller_whose_runs_all_failed_is_named_beside_others(tmp_path: Path) -> None:
    three = result(tmp_path, set={"cc": ["reno", "cubic", "htcp"]})
    part = failing(three, [1])
    found = ackclock.compare(part, by="cc", metrics=["goodput_bps"])
    assert [row.b for row in found.rows] == ["cc=htcp"]
    assert found.notes[0] == "cc=cubic: 1 point left out, no finished run in B"
    asked = ackclock.compare(part, by="cc", agreement=True, margin="99%")
    assert [row.b for row in asked.rows if row.value is None] == ["cc=cubic", "cc=cubic"]
    assert asked.agrees is False


def test_scenarios_that_differ_are_said(tmp_path: Path) -> None:
    ours = result(tmp_path, set={"cc": "reno"})
    changed = {"topology.rate": "100 Mbit/s", "run.duration": "5 s", "flows.0.count": 3, "flows.0.start": "0 s",
               "flows.0.mss": "1000 B", "flows.0.cc": "cubic"}  # fmt: skip
    found = ackclock.compare(ours, result(tmp_path, set=changed), metrics=["utilisation"])
    repeated, note = found.notes
    assert repeated.startswith("of B the 3 replications are the same run: nothing is drawn there")  # it starts at 0 s
    # 1 BDP of 20 ms is 16.7 packets of 1500 B, and 237.6 of 1052 B at 100 Mbit/s.
    assert note == (
        "the scenarios differ: duration 3 s / 5 s, links.rate 10 Mbit/s / 100 Mbit/s, links.queue.limit_packets 17 / "
        "238, links.queue.packet_bytes 1500 / 1052, flows.count 2 / 3, and 3 more (A / B)"
    )
    alone = ackclock.compare(ours, result(tmp_path, set={"cc": "reno", "flows.0.count": 3}), metrics=["utilisation"])
    assert alone.notes == ("the scenarios differ: flows.count 2 / 3 (A / B)",)


def test_what_is_compared_is_no_difference_of_the_scenarios(tmp_path: Path) -> None:
    reno, cubic = (result(tmp_path, set={"cc": cc}) for cc in ("reno", "cubic"))
    assert ackclock.compare(reno, cubic, metrics=["jain"]).notes == ()
    named = "the scenarios differ: flows.cc.name reno / cubic (A / B)"
    assert ackclock.compare(reno, cubic, agreement=True).notes == (named,)
    # Of two results that are told apart by another key, the controller is a difference like any other.
    short = result(tmp_path, set={"cc": "reno", "topology.rtt": ["20 ms"]})
    long = result(tmp_path, set={"cc": "cubic", "topology.rtt": ["40 ms"]})
    (note,) = ackclock.compare(short, long, metrics=["jain"]).notes
    assert note == "the scenarios differ: links.queue.limit_packets 17 / 33, flows.cc.name reno / cubic (A / B)"
    lossy = result(tmp_path, set={"cc": "reno", "topology.loss": {"p": 0.01}})
    (note,) = ackclock.compare(reno, lossy, metrics=["jain"]).notes
    assert note == "the scenarios differ: links.loss none / bernoulli (A / B)"
