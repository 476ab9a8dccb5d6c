"""Results: the same for any number of workers, summarised by the definitions, kept whole or not at all."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import EngineError, InputError, Interrupted, Result, engine
from ackclock.results import text
from ackclock.results.manifest import TABLES

Write = Callable[..., Path]

SWEPT = ('"cubic"', '["reno", "cubic"]')


def hashes(folder: Path) -> dict[str, str]:
    """The hash of each table of a result directory."""
    return {name: hashlib.sha256((folder / f"{name}.parquet").read_bytes()).hexdigest() for name in TABLES}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    from shared import SMALL

    path = tmp_path_factory.mktemp("scenario") / "swept.toml"
    path.write_text(SMALL.replace(*SWEPT), encoding="utf-8")
    return ackclock.run(path, replications=3, jobs=1)


def test_tables_do_not_depend_on_the_number_of_workers(scenario_file: Write, tmp_path: Path) -> None:
    path = scenario_file(SWEPT)
    found = []
    for jobs in (1, 2, 3):
        ackclock.run(path, replications=2, jobs=jobs, out=tmp_path / str(jobs))
        found.append(hashes(tmp_path / str(jobs)))
    assert found[0] == found[1] == found[2]


def test_seed_matters_and_repeats(scenario_file: Write) -> None:
    path = scenario_file()
    first, again, other = (ackclock.run(path, seed=seed, jobs=1) for seed in (1, 1, 2))
    assert first.flows.equals(again.flows)
    assert not first.flows["start_s"].equals(other.flows["start_s"])


def test_algorithms_of_a_replication_see_the_same_draws(result: Result) -> None:
    starts = result.flows.pivot("cc", index=["replication", "id"], values="start_s")
    assert starts["reno"].equals(starts["cubic"], check_names=False)
    assert starts["reno"].n_unique() == starts.height


def test_tables_are_tidy(result: Result) -> None:
    assert result.params == ["cc"]
    assert result.runs["run"].to_list() == list(range(6))
    assert result.runs["cc"].to_list() == ["reno"] * 3 + ["cubic"] * 3
    for table in result.tables.values():
        assert {"run", "cc", "seed", "replication"} <= set(table.columns)
        assert table["run"].is_sorted()
    assert result.flows.select("run", "id").is_duplicated().sum() == 0
    assert set(result.links["id"]) == {"bottleneck", "reverse"}
    assert set(result.series["metric"]) == {"cwnd", "srtt", "delivered", "queue"}


def test_the_numbers_make_sense(result: Result) -> None:
    flows, links = result.flows, result.links.filter(pl.col("id") == "bottleneck")
    assert (flows["goodput_bps"] > 0).all()
    assert (flows["min_rtt_s"] >= 0.020).all()
    counted = flows["goodput_bps"] * (3 - flows["start_s"]) / 8  # each flow over its own time
    assert (counted - flows["goodput_bytes"]).abs().max() < 1  # type: ignore[operator]
    total = flows.group_by("run", maintain_order=True).agg(pl.col("goodput_bps").sum())["goodput_bps"]
    assert (total <= 10e6).all()
    assert links["utilisation"].is_between(0.5, 1.0).all()
    assert (links["max_queue_packets"] <= result.resolved()["links"][0]["queue"]["limit_packets"]).all()


def test_summary_follows_its_definitions(result: Result) -> None:
    summary = result.summary()
    assert summary["cc"].to_list() == ["reno", "cubic"]
    assert summary["n"].to_list() == [3, 3]
    reno = result.flows.filter(pl.col("cc") == "reno")
    per_run = [part["goodput_bps"].to_list() for part in reno.partition_by("run", maintain_order=True)]
    means = [statistics.fmean(run) for run in per_run]
    assert summary["goodput_bps"][0] == pytest.approx(statistics.fmean(means))
    assert summary["goodput_bps_ci95"][0] == pytest.approx(4.302653 * statistics.stdev(means) / 3**0.5, rel=1e-6)
    fairness = [sum(run) ** 2 / (len(run) * sum(x * x for x in run)) for run in per_run]
    assert summary["jain"][0] == pytest.approx(statistics.fmean(fairness))
    each = result.summary(by="flow")
    assert each.select("cc", "id").rows() == [("reno", "0"), ("reno", "1"), ("cubic", "0"), ("cubic", "1")]
    with pytest.raises(ValueError, match="'point', 'group' or 'flow'"):
        result.summary(by="link")


def test_saved_results_come_back(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "out")
    loaded = Result.load(tmp_path / "out")
    assert all(loaded.tables[name].equals(table) for name, table in result.tables.items())
    assert loaded.summary().equals(result.summary())
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["status"], manifest["missing"]) == ("complete", [])
    assert manifest["version"] == engine.catalogue().version
    assert "[topology]" in manifest["scenario"]["text"]
    assert manifest["points"][1]["resolved"]["flows"][0]["cc"]["name"] == "cubic"
    assert {entry["run"] for entry in manifest["runs"]} == set(range(6))
    assert manifest["files"]["runs.parquet"]["sha256"] == hashes(tmp_path / "out")["runs"]
    assert {"kernel", "cores"} <= set(manifest["host"])


@pytest.mark.parametrize("form", [dict, list])
def test_changes_from_outside_are_recorded(scenario_file: Write, tmp_path: Path, form: type) -> None:
    path = scenario_file()
    asked = {"topology.rtt": "30 ms", "cc": {"name": "cubic", "beta": 0.8}, "flows.0.cc.beta": 0.6}
    texts = ['topology.rtt="30 ms"', 'cc={ name = "cubic", beta = 0.8 }', "flows.0.cc.beta=0.6"]
    changed = {"set": asked if form is dict else (text for text in texts), "seed": 7, "replications": 2}
    first = ackclock.run(path, jobs=1, out=tmp_path / "run", **changed)
    changed["set"] = asked if form is dict else texts
    swept = ackclock.sweep(path, tmp_path / "sweep", jobs=1, **changed).result
    for folder in ("run", "sweep"):
        record = json.loads((tmp_path / folder / "manifest.json").read_text())["scenario"]
        assert record["text"] == path.read_text()
        assert record["changes"] == {**asked, "run.seed": 7, "run.replications": 2}
    again = ackclock.run(path, set=record["changes"], jobs=1)
    assert again.flows.equals(first.flows)
    assert swept.flows.equals(first.flows)
    assert ackclock.run(path, jobs=1).manifest["scenario"]["changes"] == {}


def test_an_older_result_is_replaced(result: Result, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result.save(out)
    (out / "overview.png").touch()
    result.save(out)
    assert [item.name for item in tmp_path.iterdir()] == ["out"]
    assert not (out / "overview.png").exists()


def test_altered_results_are_refused(result: Result, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result.save(out)
    (out / "flows.parquet").write_bytes((out / "links.parquet").read_bytes())
    with pytest.raises(InputError, match="is not the file its manifest describes"):
        Result.load(out)
    (out / "flows.parquet").unlink()
    with pytest.raises(InputError, match="is missing"):
        Result.load(out)
    with pytest.raises(InputError, match=r"has no manifest\.json"):
        Result.load(tmp_path)


def test_an_interrupted_plan_keeps_what_finished(
    scenario_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = engine.Batch.run, []

    def third_is_interrupted(batch: engine.Batch, number: int, document: str, own: engine.Controllers) -> Any:
        calls.append(document)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(batch, number, document, own)

    monkeypatch.setattr(engine.Batch, "run", third_is_interrupted)
    with pytest.raises(Interrupted) as caught:
        ackclock.run(scenario_file(SWEPT), replications=2, jobs=1, out=tmp_path / "out")
    assert caught.value.missing == 2
    loaded = Result.load(tmp_path / "out")
    assert not loaded.complete
    assert loaded.manifest["missing"] == [2, 3]
    assert loaded.runs["run"].to_list() == [0, 1]
    assert loaded.summary()["cc"].to_list() == ["reno"]


def test_a_failing_run_leaves_nothing_and_is_named(
    scenario_file: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(batch: engine.Batch, number: int, document: str, own: engine.Controllers) -> Any:
        raise EngineError("out of order")

    monkeypatch.setattr(engine.Batch, "run", fails)
    with pytest.raises(EngineError, match=r"run 0 \(cc = reno\): out of order"):
        ackclock.run(scenario_file(SWEPT), jobs=1, out=tmp_path / "out")
    assert [item.name for item in tmp_path.iterdir()] == ["scenario.toml"]


def test_the_engine_refuses_a_bad_document() -> None:
    with pytest.raises(EngineError):
        engine.run('{"format": 1}')


def test_a_result_shows_itself(result: Result) -> None:
    assert repr(result) == "Result(6 runs, 2 points)"
    main, *others = result._repr_html_().split("</table>")
    assert main.count("<tr>") == 3
    assert "±" in main
    assert "<caption>fairness and loss events</caption>" in others[0]


def test_names_and_values_of_flows_keep_in_step_in_a_narrow_table(raw: dict[str, Any]) -> None:
    start = {"uniform": ["0 s", "1 s"]}
    raw["flows"] = [{"cc": "cubic", "start": start}, {"cc": "cubic", "mss": "500 B", "start": start}]
    result = ackclock.run(raw, replications=3, jobs=1)
    _, (flows, goodputs, *_) = text.rows(result.points, result.params, narrow=True)
    names = flows.split("\n")
    assert (names[0], names[2]) == ("0 cubic,", "1 cubic,")
    assert names[1]
    assert [line.startswith(("± ", "(")) for line in goodputs.split("\n")] == [False, True, False, True]
    assert len(names) == 4


def test_mappings_scenarios_and_plans_run_alike(scenario_file: Write) -> None:
    import tomllib

    path = scenario_file()
    plan = ackclock.load(path)
    given = (path, str(path), tomllib.loads(path.read_text()), plan, plan.points[0].scenario)
    first, *others = (ackclock.run(item, jobs=1).flows for item in given)
    assert all(first.equals(other) for other in others)
    with pytest.raises(InputError, match="a loaded plan cannot be changed"):
        ackclock.run(plan, seed=3)
