"""Web pages in scenarios: what the engine is told, what comes out, and what is refused."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import ackclock
from ackclock import InputError, Result, engine
from ackclock.execution import batch
from ackclock.results import manifest as manifests
from ackclock.results.pages import METRICS, PARTS, SCHEMAS
from ackclock.results.text import notes
from ackclock.scenario.plan import Job
from ackclock.scenario.traffic.page import read
from shared import ROOT


def scenario(*, duration: str = "60 s", count: int = 2, **app: Any) -> dict[str, Any]:
    return {
        "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "queue": "1 BDP"},
        "flows": [{"count": count, "cc": "cubic", "app": {"kind": "web", "first": "0 s", **app}}],
        "run": {"duration": duration},
    }


def told(**app: Any) -> dict[str, Any]:
    """The application as the engine reads it."""
    (point,) = ackclock.load(scenario(**app)).points
    resolved: dict[str, Any] = ackclock.run(point.scenario).resolved()["flows"][0]["app"]
    return resolved


def test_what_a_page_is_by_default() -> None:
    app = told(duration="1 s")
    # docs/web.md: means, variances and ranges in bytes, with a kilobyte of 1000.
    assert app["main"] == {
        "kind": "lognormal", "mean": 20_000.0, "sd": pytest.approx(22e6**0.5), "min": 100.0, "max": 200_000.0,
    }  # fmt: skip
    assert app["embedded"]["sd"] ** 2 == pytest.approx(5e9)
    assert app["objects"] == {"kind": "pareto", "shape": 1.1, "min": 2.0, "max": 50.0}
    assert (app["interval"]["mean"], app["interval"]["truncation"]) == (30e9, "after")
    assert (app["connections"], app["policy"], app["protocol"]) == (1, "fixed", "http1.1")
    large = told(duration="1 s", kilobyte=1024)
    assert (large["main"]["mean"], large["embedded"]["mean"]) == (20_480.0, 163_840.0)
    assert (large["main"]["max"], large["embedded"]["max"]) == (204_800.0, 2_097_152.0)


def test_the_parts_of_a_page_add_up_and_pages_are_the_same_for_every_number_of_connections() -> None:
    result = ackclock.run(scenario(connections=[1, 4]))
    pages = result.pages
    assert pages.height > 6
    assert set(pages["outcome"]) <= {"completed", "unfinished"}
    done = pages.filter(pl.col("outcome") == "completed")
    gap = done.select((pl.sum_horizontal(*PARTS) - pl.col("plt_s")).abs().max()).item()
    assert gap < 1e-9
    assert_frame_equal(done.select((pl.col("end_s") - pl.col("start_s")).alias("plt_s")), done.select("plt_s"))
    of = {x: pages.filter(pl.col("app.connections") == x).select("id", "page", "bytes", "objects") for x in (1, 4)}
    both = of[1].join(of[4], on=["id", "page"])
    assert both.height > 2
    assert (both["bytes"] == both["bytes_right"]).all()
    assert (both["objects"] == both["objects_right"]).all()
    # A page is a transfer.
    same = pages.join(result.transfers, left_on=["run", "id", "page"], right_on=["run", "id", "index"])
    assert same.height == pages.height
    assert_frame_equal(same.select(pl.col("fct_s").alias("plt_s")), same.select("plt_s"))


def test_metrics_are_those_of_the_table() -> None:
    result = ackclock.run(scenario(duration="90 s", count=8, connections=2))
    row = result.summary().row(0, named=True)
    pages = result.pages
    done = pages.filter(pl.col("outcome") == "completed")
    assert row["pages_completed"] == done.height
    assert row["pages_unfinished"] == pages.height - done.height
    assert row["mean_plt_s"] == pytest.approx(done["plt_s"].mean())
    assert row["mean_plt_s"] == pytest.approx(sum(row[f"mean_page_{part}"] for part in PARTS))
    times = done["plt_s"].sort()
    # By nearest rank: the 95th percentile of n values is the one at ceil(0.95 n).
    assert row["p95_plt_s"] == times[-(-95 * done.height // 100) - 1]
    assert {name for name in METRICS if name in row} >= {"mean_plt_s", "p50_plt_s", "mean_page_connections"}


def test_every_object_on_request() -> None:
    plain, kept = (ackclock.run(scenario(duration="30 s", objects_table=kept)) for kept in (False, True))
    assert plain.objects.height == 0
    objects, pages = kept.objects, kept.pages
    assert objects.height == pages["objects"].sum()
    assert_frame_equal(
        objects.group_by("id", "page").agg(pl.col("bytes").sum()).sort("id", "page"),
        pages.select("id", "page", "bytes").sort("id", "page"),
    )
    times = ["opened_s", "connected_s", "requested_s", "first_byte_s", "done_s"]
    done = objects.drop_nulls("done_s")
    for earlier, later in itertools.pairwise(times):
        assert (done[earlier] <= done[later]).all()
    assert (done["known_s"] <= done["requested_s"]).all()


def test_tables_are_saved_and_older_results_have_none(tmp_path: Path) -> None:
    result = ackclock.run(scenario(duration="20 s", objects_table=True))
    result.save(tmp_path / "new")
    again = Result.load(tmp_path / "new")
    assert_frame_equal(again.pages, result.pages)
    assert_frame_equal(again.objects, result.objects)
    found = {name: dict(result.tables[name].schema) for name in SCHEMAS}
    labels = dict(list(result.transfers.schema.items())[: result.transfers.columns.index("id")])
    assert {name: {**labels, **schema} for name, schema in SCHEMAS.items()} == found
    # What a version wrote that knew no pages.
    document = json.loads((tmp_path / "new" / "manifest.json").read_text(encoding="utf-8"))
    for name in manifests.LATER:
        del document["files"][f"{name}.parquet"]
        (tmp_path / "new" / f"{name}.parquet").unlink()
    (tmp_path / "new" / "manifest.json").write_text(json.dumps(document), encoding="utf-8")
    old = Result.load(tmp_path / "new")
    assert (old.pages.height, old.objects.height) == (0, 0)
    assert dict(old.pages.schema) == found["pages"]
    assert "mean_plt_s" not in old.summary().columns


def test_a_batch_of_an_older_version_is_read() -> None:
    """It has the first four streams, and no pages."""
    (point,) = ackclock.load(scenario(duration="10 s")).points
    played = engine.Batch()
    played.run(0, Job(0, point, 0).text(), {})
    streams = played.take()
    read = set(batch.tables(batch._packed(['{"key":"a"}'], streams)))
    assert read == {*batch.STREAMS} - {"objects", "cells", "users", "legs"}
    assert set(batch.tables(batch._packed(['{"key":"a"}'], streams[:4]))) == {*batch.STREAMS[:4]}


def test_protocols_and_policies() -> None:
    pages = {
        name: ackclock.run(scenario(duration="30 s", count=1, **app)).pages.drop_nulls("plt_s")
        for name, app in {
            "old": {"protocol": "http1.0", "connections": 3},
            "one": {"protocol": "h2", "responses": "sequential"},
            "chosen": {"connections": {"policy": "adaptive", "most": 5}},
            "many": {"connections": {"policy": "adaptive", "most": 5, "least": 5}, "objects": 9},
            "learned": {"connections": {"policy": "loss"}, "objects": 9, "embedded": "5 kB", "interval": "5 s"},
        }.items()
    }
    assert (pages["old"]["connections"] == pages["old"]["objects"]).all()
    assert (pages["one"]["connections"] == 1).all()
    assert pages["chosen"]["connections"].max() <= 5
    assert set(pages["many"]["connections"]) == {5}
    assert pages["learned"]["connections"].head(3).to_list() == [1, 2, 3]


def test_the_policy_of_downloads_finds_the_number_from_page_to_page() -> None:
    """docs/web.md, "As a download does": where windows or losses limit each connection, and where a queue does."""
    page = {"main": "100 kB", "objects": 60, "embedded": "300 kB", "interval": "5 s"}
    ended = {}
    for name, rate, more, tcp in (
        ("window", "60 Mbit/s", {}, {"receive_buffer": "256 kB"}),
        ("loss", "60 Mbit/s", {"loss": 1e-3}, {}),
        ("queue", "60 Mbit/s", {}, {}),
    ):
        given = scenario(duration="60 s", count=1, connections={"policy": "download", "most": 8}, **page)
        given["topology"] |= {"rate": rate, "rtt": "60 ms", **more}
        given["flows"][0]["tcp"] = tcp
        ended[name] = ackclock.run(given).pages["allowed"].to_list()
    assert (ended["window"][:2], set(ended["window"][1:])) == ([2, 4], {4})
    # Eight are worth it: it sees four once more in between.
    assert (ended["loss"][:3], ended["loss"].count(4), set(ended["loss"][2:])) == ([2, 4, 8], 2, {4, 8})
    # Two are a little faster than one: it goes back for a comparison once, and takes them again.
    assert (ended["queue"][:4], set(ended["queue"][4:])) == ([2, 2, 1, 2], {2})


def test_pages_that_are_not_done_are_spoken_of() -> None:
    late = {"interval": "8 s", "embedded": "3 MB", "objects": 3}
    result = ackclock.run(scenario(duration="60 s", count=1, **late))
    row = result.summary().row(0, named=True)
    share = 100 * row["pages_unfinished"] / (row["pages_completed"] + row["pages_unfinished"])
    assert row["pages_unfinished_percent"] == pytest.approx(share)
    assert share > 2
    (note,) = notes(result.points)
    assert "% of the pages were unfinished; load times leave them out" in note
    files = {"kind": "files", "arrivals": {"every": "1 s"}, "size": "3 MB"}
    (note,) = notes(ackclock.run({**scenario(duration="10 s"), "flows": [{"app": files}]}).points)
    assert "% of the transfers were unfinished; completion times and slowdowns leave them out" in note


def test_an_abandoned_page() -> None:
    app = {"unfinished": "abort", "interval": "2 s", "embedded": "5 MB", "objects": 3}
    result = ackclock.run(scenario(duration="9 s", count=1, **app))
    assert result.pages["outcome"].to_list() == ["aborted"] * 4 + ["unfinished"]
    assert result.pages["plt_s"].null_count() == 5
    assert result.warnings == []


TOO_LATE = {"kind": "exponential", "mean": "70 s", "min": "10 s", "max": "60 s", "truncation": "after"}
CUT = {"kind": "lognormal", "mean": "1 kB", "sd": "1 kB", "max": "9 kB", "truncation": "cut"}


@pytest.mark.parametrize(
    ("app", "expected"),
    [
        ({"connections": 0}, "flows.0.app.connections: 0 is out of range"),
        ({"connections": "four"}, "flows.0.app.connections: "),
        ({"connections": {"policy": "guess"}}, "flows.0.app.connections.policy: unknown policy"),
        ({"connections": {"policy": "fixed", "mots": 2}}, "did you mean 'most'"),
        ({"connections": {"policy": "fixed", "most": 2, "window": "10 kB"}}, "flows.0.app.connections.window: a fixed"),
        (
            {"connections": {"policy": "loss", "least": 2}},
            "connections.least: the policy loss needs no least; remove it",
        ),
        ({"connections": {"policy": "adaptive", "most": 2, "least": 3}}, "least: at least 3 connections and at most 2"),
        ({"protocol": "h2", "connections": 4}, "h2 has one connection"),
        ({"responses": "sequential"}, "responses"),
        ({"assignment": "fixed", "protocol": "http1.0"}, "assignment"),
        (
            {"connections": {"policy": "download"}, "protocol": "http1.0"},
            'protocol: download is for connections that stay; take protocol = "http1.1"',
        ),
        ({"kilobyte": 1024, "main": "1 kB", "embedded": "1 kB"}, "kilobyte"),
        ({"objects": "6 kB"}, "is not a number"),
        ({"interval": TOO_LATE}, "mean"),
        ({"interval": {"kind": "exponential", "mean": "30 s", "truncation": "clip"}}, "nothing is cut off"),
        ({"main": CUT}, "truncation"),
        ({"page": "missing.toml"}, "cannot read 'missing.toml'"),
    ],
)
def test_what_is_refused(app: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError) as raised:
        ackclock.load(scenario(**app))
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)


MAIN = {"name": "main", "size": "10 kB"}


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([], "lists no objects"),
        ([{"name": "main"}], "objects.0: missing key 'size'"),
        ([{"name": "main", "size": 10}], "objects.0.size: 10 has no unit"),
        ([{"name": "main", "size": "0 B"}], "objects.0.size: '0 B' is zero"),
        ([MAIN, {"name": "main", "size": "1 kB"}], "objects.1.name: two objects are named 'main'"),
        ([{**MAIN, "parents": ["x"]}], "objects.0.parents: the first object is the main one"),
        ([MAIN, {"name": "a", "size": "1 kB", "parents": ["mian"]}], "did you mean 'main'"),
        ([MAIN, {"name": "a", "size": "1 kB", "wieght": 1}], "objects.1.wieght: unknown key"),
        (
            [
                MAIN,
                {"name": "a", "size": "1 kB", "parents": ["c"]},
                {"name": "b", "size": "1 kB", "parents": ["a"]},
                {"name": "c", "size": "1 kB", "parents": ["b"]},
            ],
            "objects wait for each other (a -> c -> b -> a)",
        ),
    ],
)
def test_a_manifest_that_is_no_page(tmp_path: Path, objects: list[dict[str, Any]], expected: str) -> None:
    (tmp_path / "page.json").write_text(json.dumps({"objects": objects}), encoding="utf-8")
    with pytest.raises(InputError) as raised:
        ackclock.load(_beside(tmp_path, "page.json"))
    assert "'page.json'" in str(raised.value)
    assert expected in str(raised.value)
    assert "flows.0.app.page" in str(raised.value)


def test_a_file_that_is_no_manifest(tmp_path: Path) -> None:
    (tmp_path / "page.toml").write_text("[[objects\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"'page.toml' is not TOML .*line 1"):
        ackclock.load(_beside(tmp_path, "page.toml"))


def test_objects_come_behind_those_that_refer_to_them(tmp_path: Path) -> None:
    objects = [
        MAIN,
        {"name": "font", "size": "3 kB", "parents": ["style", "main"], "parse": "5 ms"},
        {"name": "style", "size": "2 kB"},
    ]
    (tmp_path / "page.json").write_text(json.dumps({"title": "a page", "objects": objects}), encoding="utf-8")
    assert list(read("page.json", str(tmp_path)).objects) == [
        {"name": "main", "bytes": 10_000, "after": []},
        {"name": "style", "bytes": 2_000, "after": [0]},
        {"name": "font", "bytes": 3_000, "after": [0, 1], "parse_ns": 5_000_000},
    ]
    result = ackclock.run(_beside(tmp_path, "page.json"))
    assert set(result.pages["bytes"]) == {15_000}
    assert result.pages["parse_s"][0] == pytest.approx(0.005)


def _beside(folder: Path, page: str) -> Path:
    """A scenario in `folder` that loads this page."""
    text = f'''
[topology]
kind = "dumbbell"
rate = "10 Mbit/s"
rtt = "40 ms"
queue = "1 BDP"

[[flows]]
app = {{ kind = "web", page = "{page}", first = "0 s", interval = "5 s" }}

[run]
duration = "12 s"
'''
    (folder / "scenario.toml").write_text(text, encoding="utf-8")
    return folder / "scenario.toml"


def test_pages_of_the_repository_are_what_their_page_says() -> None:
    """The table in docs/web.md."""
    text = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    files = sorted((ROOT / "scenarios" / "pages").iterdir())
    assert len(files) == 3
    for file in files:
        objects = read(file.name, str(file.parent)).objects
        size = sum(item["bytes"] for item in objects)
        assert f"| `{file.name}` | {len(objects)} | {size / 1000:.0f} kB |" in text
