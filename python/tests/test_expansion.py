"""Lists, ranges, zips and ``--set``: which points they give, in which order."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from ackclock import load
from ackclock.errors import InputError
from ackclock.reference import Cubic
from ackclock.scenario.plan import begin
from ackclock.scenario.reading import expansion
from ackclock.scenario.reading.override import parse
from shared import SMALL

Raw = dict[str, Any]


def points(raw: Raw, **options: Any) -> list[dict[str, Any]]:
    """What is particular to each point of a scenario."""
    return [point.params for point in load(raw, **options).points]


def test_no_sweep_is_one_point(raw: Raw) -> None:
    plan = load(raw)
    assert (len(plan.points), len(plan), plan.params) == (1, 1, ())


def test_a_file_may_begin_with_a_byte_order_mark(raw: Raw, tmp_path: Path) -> None:
    path = tmp_path / "marked.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.encode())
    assert load(path).points[0].scenario == load(tomllib.loads(SMALL)).points[0].scenario
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.replace('"20 ms"', '"20"').encode())
    with pytest.raises(InputError, match=r"\(line 4\)"):
        load(path)


def test_points_and_runs_are_counted_without_being_made(raw: Raw) -> None:
    raw["topology"]["rtt"] = ["10 ms", "20 ms", "30 ms"]
    raw["run"]["replications"] = [2, 5]
    found = begin(raw, most=4)
    assert (len(found.plan.points), found.points, found.runs) == (4, 6, 21)
    assert (found.points, found.runs) == (len(load(raw).points), len(load(raw)))
    raw["sweep"] = {"zip": [["topology.rtt", "run.replications"]]}
    raw["run"]["replications"] = [2, 5, 1]
    assert (begin(raw, most=1).points, begin(raw, most=1).runs) == (3, 8)


class Counted(str):
    """A value that says how often it is copied."""

    copies = 0

    def __deepcopy__(self, _memo: dict[int, Any]) -> Counted:
        Counted.copies += 1
        return self


def test_a_long_list_is_not_copied_for_every_point(raw: Raw) -> None:
    Counted.copies, values = 0, 300
    raw["topology"]["rtt"] = [Counted(f"{n} ms") for n in range(1, values + 1)]
    raw["run"]["seed"] = [1, 2]
    found = [point["topology"]["rtt"] for _, point in expansion.points(raw)]
    assert found == [value for value in raw["topology"]["rtt"] for _ in range(2)]
    # One for the point, few for the list.
    assert Counted.copies <= (2 + 4) * values


def test_lists_are_crossed_in_the_order_of_the_file(raw: Raw) -> None:
    raw["topology"]["rtt"] = ["10 ms", "20 ms"]
    raw["flows"][0]["cc"] = ["reno", "cubic"]
    assert [tuple(point.values()) for point in points(raw)] == [
        ("10 ms", "reno"),
        ("10 ms", "cubic"),
        ("20 ms", "reno"),
        ("20 ms", "cubic"),
    ]
    assert points(raw)[0] == {"topology.rtt": "10 ms", "cc": "reno"}


def test_lists_by_nature_are_not_swept(raw: Raw) -> None:
    raw["flows"] = [{"start": {"uniform": ["0 s", "1 s"]}}, {"cc": "reno"}]
    raw["topology"]["loss"] = {"drops": [{"flow": "0", "nth": 3}, {"flow": "1", "nth": 4}]}
    assert len(load(raw).points) == 1
    raw["flows"][0]["start"] = {"uniform": [["0 s", "1 s"], ["0 s", "2 s"]]}
    assert points(raw) == [{"flows.0.start.uniform": "0 s, 1 s"}, {"flows.0.start.uniform": "0 s, 2 s"}]


def test_tables_are_swept_and_unfolded(raw: Raw) -> None:
    raw["flows"][0]["cc"] = ["reno", {"name": "cubic", "beta": [0.7, 0.8]}]
    assert [point["cc"] for point in points(raw)] == ["reno", "cubic(beta=0.7)", "cubic(beta=0.8)"]


def test_a_parameter_is_swept_by_its_own_key(raw: Raw) -> None:
    raw["flows"][0]["cc"] = {"name": "cubic", "beta": [0.7, 0.8]}
    assert points(raw) == [{"cc.beta": 0.7}, {"cc.beta": 0.8}]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"range": ["10 ms", "30 ms", "10 ms"]}, ["10 ms", "20 ms", "30 ms"]),
        ({"range": ["0.1 s", "0.3 s", "0.1 s"]}, ["0.1 s", "0.2 s", "0.3 s"]),
        ({"range": ["10 ms", "0.02 s", "5 ms"]}, ["10 ms", "15 ms", "20 ms"]),
        ({"range": ["10 ms", "34 ms", "10 ms"]}, ["10 ms", "20 ms", "30 ms"]),
        ({"logrange": ["1 ms", "1 s", 4]}, ["1 ms", "10 ms", "100 ms", "1000 ms"]),
        ({"logrange": ["1 ms", "4 ms", 3]}, ["1 ms", "2 ms", "4 ms"]),
    ],
)
def test_ranges(raw: Raw, value: Raw, expected: list[str]) -> None:
    raw["topology"]["rtt"] = value
    assert [point["topology.rtt"] for point in points(raw)] == expected


def test_ranges_of_plain_numbers(raw: Raw) -> None:
    raw["flows"][0]["count"] = {"logrange": [1, 100, 5]}
    raw["topology"]["loss"] = {"range": [0.0, 0.02, 0.01]}
    found = points(raw)
    assert sorted({point["count"] for point in found}) == [1, 3, 10, 32, 100]
    assert sorted({point["topology.loss"] for point in found}) == [0.0, 0.01, 0.02]


def test_zipped_keys_vary_together(raw: Raw) -> None:
    raw["topology"]["rtt"] = ["10 ms", "20 ms"]
    raw["topology"]["queue"]["limit"] = ["10 packets", "20 packets"]
    raw["flows"][0]["cc"] = ["reno", "cubic"]
    raw["sweep"] = {"zip": [["topology.rtt", "topology.queue.limit"]]}
    assert [tuple(point.values()) for point in points(raw)] == [
        ("10 ms", "10 packets", "reno"),
        ("10 ms", "10 packets", "cubic"),
        ("20 ms", "20 packets", "reno"),
        ("20 ms", "20 packets", "cubic"),
    ]


@pytest.mark.parametrize(
    ("zipped", "words"),
    [
        ([["topology.rtt", "cc"]], "differ in length"),
        ([["topology.rtt", "topology.loss"]], "zipped but not there"),
        ([["topology.rtt"], ["topology.rtt"]], "zipped twice"),
        ("topology.rtt", "a list of lists"),
    ],
)
def test_refuses_impossible_zips(raw: Raw, zipped: Any, words: str) -> None:
    raw["topology"]["rtt"] = ["10 ms", "20 ms"]
    raw["flows"][0]["cc"] = ["reno", "newreno", "cubic"]
    raw["sweep"] = {"zip": zipped}
    with pytest.raises(InputError, match=words):
        load(raw)


def test_a_single_value_zips_with_anything(raw: Raw) -> None:
    raw["topology"]["rtt"] = ["10 ms", "20 ms"]
    raw["flows"][0]["cc"] = ["reno", "cubic"]
    raw["sweep"] = {"zip": [["topology.rtt", "cc", "topology.rate"]]}
    assert points(raw, set=["cc=newreno"]) == [{"topology.rtt": "10 ms"}, {"topology.rtt": "20 ms"}]


def test_runs_are_numbered_points_first(raw: Raw) -> None:
    raw["flows"][0]["cc"] = ["reno", "cubic"]
    jobs = list(load(raw, replications=3).jobs())
    assert [(job.index, job.point.index, job.replication) for job in jobs] == [
        (0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 1, 0), (4, 1, 1), (5, 1, 2),
    ]  # fmt: skip


def test_set_changes_and_sweeps(raw: Raw) -> None:
    assert points(raw, set=["cc=reno", 'topology.rtt=["1 ms", "2 ms"]']) == [
        {"topology.rtt": "1 ms"},
        {"topology.rtt": "2 ms"},
    ]
    assert points(raw, set={"cc": ["reno", "cubic"]}) == [{"cc": "reno"}, {"cc": "cubic"}]


def test_a_bare_key_changes_every_group_of_flows(raw: Raw) -> None:
    raw["flows"] = [{"cc": "reno"}, {"cc": "reno"}]
    plan = load(raw, set={"flows.1.count": 2, "cc": "cubic"})
    assert [(flow.cc.name, flow.count) for flow in plan.points[0].scenario.flows] == [("cubic", 1), ("cubic", 2)]


def test_a_swept_key_of_one_group_among_several_keeps_its_index(raw: Raw) -> None:
    raw["flows"] = [{"cc": ["reno", "cubic"]}, {"cc": "reno"}]
    assert points(raw) == [{"flows.0.cc": "reno"}, {"flows.0.cc": "cubic"}]


def test_setting_a_parameter_makes_a_table_of_a_name(raw: Raw) -> None:
    plan = load(raw, set=["cc.beta=0.8", 'probes.cwnd="on change"'])
    scenario = plan.points[0].scenario
    assert (scenario.flows[0].cc.name, scenario.flows[0].cc.params) == ("cubic", {"beta": 0.8})
    assert scenario.probes.cwnd == "on_change"


def test_seed_and_replications_are_changes_too(raw: Raw) -> None:
    plan = load(raw, seed=7, replications=4)
    assert (plan.points[0].scenario.run.seed, len(plan)) == (7, 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cc=cubic", ("cc", "cubic")),
        ('run.duration="10 s"', ("run.duration", "10 s")),
        ("run.duration=10 s", ("run.duration", "10 s")),
        ("count=3", ("count", 3)),
        ("cc = ['a', 'b']", ("cc", ["a", "b"])),
        ("start={uniform=['0 s','1 s']}", ("start", {"uniform": ["0 s", "1 s"]})),
        ("a=1\nb=2", ("a", "1\nb=2")),
        ("a==", ("a", "=")),
    ],
)
def test_values_are_toml_or_text(text: str, expected: tuple[str, Any]) -> None:
    assert parse(text) == expected


def test_the_callers_data_is_left_alone(raw: Raw) -> None:
    before = repr(raw)
    load(raw, set={"cc": ["reno", "cubic"]}, seed=3)
    assert repr(raw) == before


def test_classes_are_swept_like_names(raw: Raw) -> None:
    raw["flows"] = [{"cc": ["reno", Cubic, {"name": Cubic, "beta": 0.7}]}]
    name = f"python:{Cubic.__module__}:Cubic"
    assert points(raw) == [{"cc": "reno"}, {"cc": name}, {"cc": f"{name}(beta=0.7)"}]
