"""What applications measured, wherever a result is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import Precision
from ackclock.cli.app import main
from ackclock.results import measures

VIDEO = {"kind": "video", "bitrates": ["500 kbit/s", "2 Mbit/s"], "chunk": "1 s", "most": 12}
SCENARIO: dict[str, Any] = {
    "topology": {
        "kind": "dumbbell",
        "rate": ["3 Mbit/s", "6 Mbit/s"],
        "rtt": "40 ms",
        "queue": {"kind": "droptail", "limit": "1 BDP"},
    },
    "flows": [
        {"app": VIDEO, "count": 2},
        # It begins too late to play anything.
        {"app": VIDEO, "start": "19.9 s"},
        {"app": "bulk", "start": {"uniform": ["0 s", "1 s"]}},
    ],
    "run": {"duration": "20 s", "replications": 3},
}


@pytest.fixture(scope="module")
def result() -> ackclock.Result:
    return ackclock.run(SCENARIO, jobs=1)


@pytest.fixture(scope="module")
def saved(result: ackclock.Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("measures") / "out"
    result.save(out)
    return out


def test_every_name_is_a_metric(result: ackclock.Result) -> None:
    assert set(result.measures["name"]) == set(measures.VIDEO)


def test_the_summary_has_means_over_flows_and_then_runs(result: ackclock.Result) -> None:
    for name in measures.VIDEO:
        rows = result.measures.filter(pl.col("point") == 1, pl.col("name") == name)
        for number, ids in enumerate((["0", "1"], ["2"])):
            own = rows.filter(pl.col("id").is_in(ids)).group_by("run").agg(pl.col("value").mean())
            found = result.points[1].groups[number].metrics.get(name)
            assert (found.mean if found else None) == pytest.approx(own["value"].mean()), (name, number)
        whole = rows.group_by("run").agg(pl.col("value").mean())["value"]
        assert result.points[1].metrics[name].mean == pytest.approx(whole.mean())
        assert result.points[1].metrics[name].n == 3
    groups = result.summary(by="group")
    assert groups["startup_s"].is_null().to_list() == [False, True, True] * 2, "only the first began to play"
    assert not {"stalls", "startup_s"} & set(result.points[0].groups[2].metrics), "bulk flows have none"


def test_the_terminal_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = tmp_path / "v.toml"
    toml.write_text(
        """
        topology = { kind = "dumbbell", rate = "6 Mbit/s", rtt = "40 ms", queue = "1 BDP" }
        flows = [{ app = { kind = "video", bitrates = ["500 kbit/s", "2 Mbit/s"], chunk = "1 s", most = 12 } }]
        run = { duration = "20 s" }
        """,
        encoding="utf-8",
    )
    assert main(["run", str(toml)]) == 0
    out = capsys.readouterr().out
    part = out[out.index("what applications measured, mean over their flows") :]
    row = next(line for line in part.splitlines() if line.startswith("0 video"))
    values = dict(ackclock.run(toml, jobs=1).measures.select("name", "value").iter_rows())
    assert row.split()[3:] == [
        f"{values['stalls']:.0f}",
        "0" if values["stalled_s"] == 0 else f"{values['stalled_s']:.3f}",
        f"{values['startup_s']:.4f}",
        f"{values['bitrate_bps'] / 1e6:.3f}",
        f"{values['switches']:.0f}",
    ]
    assert main(["run", str(toml), "--set", "flows.0.app=bulk"]) == 0
    assert "what applications measured" not in capsys.readouterr().out


def test_they_are_a_table_in_sql(result: ackclock.Result, saved: Path) -> None:
    found = ackclock.query(saved, "select * from MEASURES")
    assert found.columns == tuple(result.measures.columns)
    assert found.rows == result.measures.rows()
    joined = "select sum(value) from measures join flows using (run, id) where name = 'stalls' and app = 'video'"
    total = result.measures.filter(pl.col("name") == "stalls")["value"].sum()
    assert ackclock.query(saved, joined).rows == [(total,)]


def test_the_table_is_there_where_nothing_was_measured(tmp_path: Path) -> None:
    ackclock.run({**SCENARIO, "flows": [{"app": "bulk"}], "run": {"duration": "1 s"}}, out=tmp_path / "out", jobs=1)
    assert ackclock.query(tmp_path / "out", "select count(value) from measures").rows == [(0,)]


def test_they_are_compared_run_by_run(result: ackclock.Result) -> None:
    found = ackclock.compare(result, by="topology.rate", metrics=["startup_s", "stalls"])
    (row,) = [row for row in found.rows if row.metric == "startup_s"]
    means = result.measures.filter(pl.col("name") == "startup_s").group_by("point").agg(pl.col("value").mean())
    assert [row.mean_a, row.mean_b] == pytest.approx(means.sort("point")["value"].to_list())


def test_a_sweep_may_ask_for_their_precision() -> None:
    assert Precision(0.1, "bitrate_bps").metric == "bitrate_bps"
