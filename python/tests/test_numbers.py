"""Swept quantities as numbers in base units, beside the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock import Result
from ackclock.assembly import numbers
from ackclock.metrics import table as metrics
from ackclock.results.manifest import TABLES
from ackclock.results.query import query

Raw = dict[str, Any]


def scenario(flow: Raw | None = None, **topology: Any) -> Raw:
    path = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"} | topology
    return {"topology": path, "flows": [{"cc": "cubic"} | (flow or {})], "run": {"duration": "1 s"}}


def of(raw: Raw) -> tuple[dict[str, tuple[str, ...]], list[dict[str, float | None]]]:
    found = numbers.of(ackclock.load(raw))
    return dict(found.columns), [dict(own) for own in found.values]


@pytest.mark.parametrize(
    ("raw", "key", "column", "expected"),
    [
        (scenario(rate=["100 Mbit/s", "1.5 Gbit/s"]), "topology.rate", "topology.rate_bps", [1e8, 1.5e9]),
        (scenario(rtt=["10 ms", "300 us", "1 s"]), "topology.rtt", "topology.rtt_s", [0.01, 0.0003, 1.0]),
        (scenario({"bytes": ["1 MB", "64 KiB"]}), "bytes", "flows.bytes", [1e6, 65536.0]),
        (scenario({"start": ["0 s", "500 ms"]}), "start", "flows.start_s", [0.0, 0.5]),
        (scenario(loss=["0.5 %", 0.25, "2 %"]), "topology.loss", "topology.loss_fraction", [0.005, 0.25, 0.02]),
        (scenario(queue=["20 packets", "unlimited"]), "topology.queue", "topology.queue_packets", [20.0, None]),
        (scenario(queue={"limit": ["3 kB", "9 kB"]}), "topology.queue.limit", "topology.queue.limit_bytes", [3e3, 9e3]),
    ],
)  # fmt: skip
def test_a_quantity_has_a_column_in_its_base_unit(raw: Raw, key: str, column: str, expected: list[float]) -> None:
    columns, values = of(raw)
    assert columns == {key: (column,)}
    assert [own[column] for own in values] == expected


def test_shares_of_the_bdp_are_also_what_each_point_came_to() -> None:
    columns, values = of(scenario(rtt=["20 ms", "40 ms"], queue={"limit": ["0.5 BDP", "2 BDP"]}))
    assert columns["topology.queue.limit"] == ("topology.queue.limit_bdp", "topology.queue.limit_packets")
    assert [own["topology.queue.limit_bdp"] for own in values] == [0.5, 2.0, 0.5, 2.0]
    # 10 Mbit/s and 20 ms are 25 000 B, 16.7 packets of 1500 B; twice that at 40 ms.
    assert [own["topology.queue.limit_packets"] for own in values] == [8.0, 33.0, 17.0, 67.0]


def test_lengths_in_different_units_are_compared_in_packets() -> None:
    columns, values = of(scenario(queue={"limit": ["2 BDP", "15 kB", "unlimited", "9 packets"]}))
    assert columns == {"topology.queue.limit": ("topology.queue.limit_packets",)}
    assert [own["topology.queue.limit_packets"] for own in values] == [33.0, 10.0, None, 9.0]


@pytest.mark.parametrize(
    "raw",
    [
        scenario({"cc": ["cubic", "reno"]}),
        scenario({"count": [1, 2]}),
        scenario(loss=[0.1, 0.2]),
        scenario(rate=["10 Mbit/s", {"mahimahi": "x.trace"}][:1]),
    ],
    ids=["words", "numbers", "plain fractions", "not swept"],
)
def test_what_is_no_quantity_has_none(raw: Raw) -> None:
    columns, _ = of(raw)
    assert all(key == "topology.rate" for key in columns)


def test_they_are_in_every_table_and_frame_and_read_back(tmp_path: Path) -> None:
    raw = scenario({"cc": ["cubic", "reno"]}, rate=["2 Mbit/s", "10 Mbit/s"]) | {"probes": {"interval": "500 ms"}}
    made = ackclock.run(raw, jobs=1, out=tmp_path / "out")
    saved = Result.load(tmp_path / "out")
    for result in (made, saved):
        assert result.numbers == {"topology.rate": ["topology.rate_bps"]}
        frames = [result.tables[name] for name in TABLES] + [metrics.of(result)]
        frames += [result.summary(by) for by in ("point", "group", "flow")]
        for frame in frames:
            pairs = set(frame.select("topology.rate", "topology.rate_bps").iter_rows())
            assert pairs == (set() if frame.is_empty() else {("2 Mbit/s", 2e6), ("10 Mbit/s", 1e7)})
    found = query(tmp_path / "out", 'select distinct "topology.rate_bps" as rate from flows order by 1')
    assert found.rows == [(2e6,), (1e7,)], "in the order of numbers, not of text"


def test_a_result_of_an_older_version_has_none() -> None:
    result = ackclock.run(scenario(rate=["2 Mbit/s", "10 Mbit/s"]), jobs=1)
    del result.manifest["numbers"]
    for entry in result.manifest["points"]:
        del entry["numbers"]
    assert result.numbers == {}
    assert "topology.rate_bps" not in result.summary().columns
