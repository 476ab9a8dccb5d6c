"""Equal flows are written once: from a scenario to the engine, and in the file of a manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import host
from ackclock.execution import batch
from ackclock.grouping import count_flows, expand_flows, group_flows
from ackclock.scenario.plan import Job, load

CROWD: dict[str, Any] = {
    "topology": {
        "kind": "dumbbell",
        "rate": "10 Mbit/s",
        "rtt": "20 ms",
        "queue": {"kind": "droptail", "limit": "1 BDP"},
    },
    "flows": [{"count": 3, "cc": "reno", "bytes": "20 kB"}, {"cc": "reno", "bytes": "20 kB"}, {"cc": "cubic"}],
    "run": {"duration": "1 s"},
}


def test_equal_flows_with_consecutive_names_are_one() -> None:
    flows = [{"id": name, "mss": mss} for name, mss in (("0", 1), ("1", 1), ("2", 2), ("4", 2), ("4", 2), ("a", 2))]
    groups = group_flows(flows)
    assert groups == [{"id": "0", "mss": 1, "count": 2}, *flows[2:]]
    assert list(expand_flows(groups)) == flows
    assert group_flows([{"id": "007"}, {"id": "8"}, {}, {}]) == [{"id": "007"}, {"id": "8"}, {}, {}]


def test_a_crowd_is_one_flow_of_the_document_that_the_engine_reads() -> None:
    job = Job(0, load(CROWD).points[0], 0)
    written = json.loads(job.text())
    assert [(flow["id"], flow.get("count")) for flow in written["flows"]] == [("0", 3), ("3", None), ("4", None)]
    assert count_flows(written) == count_flows(job.document()) == 5
    assert list(expand_flows(written["flows"])) == job.document()["flows"]
    many = {**CROWD, "flows": [{"count": 5_000}]}
    assert len(Job(0, load(many).points[0], 0).text()) < 2_000


def test_a_manifest_has_equal_flows_once_and_is_read_flow_by_flow(tmp_path: Path) -> None:
    result = ackclock.run(CROWD, jobs=1)
    result.save(tmp_path / "new")
    written = json.loads((tmp_path / "new" / "manifest.json").read_text())
    assert [flow.get("count") for flow in written["points"][0]["resolved"]["flows"]] == [4, None]
    read = ackclock.Result.load(tmp_path / "new")
    assert read.resolved() == result.resolved()
    assert [flow["id"] for flow in read.resolved()["flows"]] == list("01234")
    # As versions before this one wrote it.
    written["points"][0]["resolved"] = result.resolved()
    (tmp_path / "new" / "manifest.json").write_text(json.dumps(written))
    assert ackclock.Result.load(tmp_path / "new").resolved() == result.resolved()


def test_a_crowd_warns_in_a_line() -> None:
    crowd = {**CROWD, "flows": [{"count": 500, "start": "999 ms"}]}
    result = ackclock.run(crowd, jobs=1)
    assert result.warnings == ["500 flows (0, 1, 2, ...) delivered nothing within the measurement"]
    assert result.manifest["runs"][0]["warnings"] == [
        {"text": "flows delivered nothing within the measurement", "count": 500, "examples": ["0", "1", "2"]}
    ]


def test_memory_of_a_large_batch_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    given_back = []
    monkeypatch.setattr(host, "return_memory", lambda: given_back.append(1))
    ackclock.run(CROWD, jobs=1)
    assert not given_back
    monkeypatch.setattr(batch, "_LARGE", 100)
    ackclock.run(CROWD, jobs=1)
    assert given_back
    monkeypatch.undo()
    host.return_memory()
