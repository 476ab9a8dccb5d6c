"""The Common TCP Evaluation Suite: its scenarios are the draft's, its measures and claims; the table of RFC 9743."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest

import ackclock
from ackclock import study
from ackclock.scenario.plan import Job, Plan
from ackclock.scenario.plan import load as load_plan
from ackclock.study import Censored, Results, Run, extension
from ackclock.study.runner import Loaded, judge, plans
from shared import ROOT

NAME = "tcp-evaluation-suite"
CONTROLLERS = {"reno", "cubic", "htcp", "bbr1", "bbr3", "vegas"}


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return study.load(NAME)


@pytest.fixture(scope="module")
def full(loaded: Loaded) -> Mapping[str, Plan]:
    """The plans of all scenarios."""
    return plans(loaded.study)


@pytest.fixture(scope="module")
def short(loaded: Loaded) -> Mapping[str, Plan]:
    """Those of a quick run."""
    return plans(loaded.study, quick=True)


@pytest.fixture(scope="module")
def measures(loaded: Loaded) -> ModuleType:
    assert loaded.code.claims
    return importlib.import_module("ackclock_study_tcp_evaluation_suite.measures")


def part(loaded: Loaded, name: str, changes: dict[str, Any]) -> Results:
    """A scenario of the study with few and short runs, in this process."""
    setting = next(item for item in loaded.study.settings if item.id == name)
    result = ackclock.run(setting.content, set={**setting.changes, **changes}, jobs=1)
    return Results({name: result}, quick=True)


def outcome(loaded: Loaded, name: str, results: Results) -> str:
    found = judge([claim for claim in loaded.code.claims if claim.id == name], results)[0]
    assert not found.broken
    return found.verdict.outcome


@pytest.mark.parametrize("quick", [False, True])
def test_every_scenario_can_be_planned(full: Mapping[str, Plan], short: Mapping[str, Plan], quick: bool) -> None:
    for name, plan in (short if quick else full).items():
        assert len(plan)
        keys = [key for key in plan.params if key.endswith("cc")]
        assert quick or {point.params[keys[-1]] for point in plan.points} == CONTROLLERS, name


def test_a_controller_of_ones_own_stands_beside_the_others_everywhere(
    loaded: Loaded, full: Mapping[str, Plan], short: Mapping[str, Plan]
) -> None:
    # One that takes a slow start and one that starts by itself go into the same lists.
    added = extension.read(["westwood", "bbr1", {"name": "copa"}], loaded.study)
    for quick, before in ((False, full), (True, short)):
        after = plans(loaded.study, quick=quick, added=added)
        for name, plan in after.items():
            key = next(key for key in ("flows.3.cc", "flows.1.cc", "flows.0.cc", "cc") if key in plan.params)
            own = [point.params for point in plan.points if point.params[key] == "westwood"]
            plain = [point.params for point in before[name].points if point.params[key] == "reno"]
            assert len(own) == len(plain) > 0, name
            camps = {value for params in own for item, value in params.items() if item.endswith("cc")}
            assert camps == {"westwood"}, name
            found = {point.params[key] for point in plan.points}
            assert found >= {"copa", "bbr1", *(point.params[key] for point in before[name].points)}, name


def mean_size(app: dict[str, Any]) -> float:
    """Mean of a Pareto distribution that is truncated on both sides, bytes."""
    size = app["size"]
    shape, low, high = size["shape"], size["min"], size["max"]
    return float(
        shape / (shape - 1) * low**shape * (low ** (1 - shape) - high ** (1 - shape)) / (1 - (low / high) ** shape)
    )


@pytest.mark.parametrize(
    ("name", "rtts_ms", "queue_ms"),
    [
        ("data-center", (0.04, 0.4), 10),
        ("access", (8, 204), 100),
        ("trans-oceanic", (134, 330), 100),
        ("satellite", (604, 800), 100),
        ("wireless", (8, 204), 100),
        ("dial-up", (14, 210), 1250),
    ],
)
def test_basic_scenarios_are_those_of_the_draft(
    full: Mapping[str, Plan], name: str, rtts_ms: tuple[float, float], queue_ms: float
) -> None:
    plan = full[name]
    points = [point for point in plan.points if point.params["flows.0.cc"] == "reno"]
    assert len(points) == 3
    for point, load in zip(points, (0.60, 0.85, 1.10), strict=True):
        document = Job(0, point, 0).document()
        links = {link["id"]: link for link in document["links"]}
        rate, limit = links["r2->r1"]["rate_bps"], links["r2->r1"]["queue"]["limit_packets"]
        left = [flow for flow in document["flows"] if {"link": "r2->r1"} in flow["forward"]]
        assert len(left) == 9
        offered = sum(8 * mean_size(flow["app"]) * flow["app"]["arrivals"]["poisson_per_s"] for flow in left)
        assert offered * 1500 / 1448 / rate == pytest.approx(load, rel=0.01)
        assert limit * 12 / rate == pytest.approx(queue_ms * 1e-6, rel=0.06)
        rtts = [
            sum(links[hop["link"]]["delay_ns"] for hop in (*flow["forward"], *flow["reverse"])) / 1e6 for flow in left
        ]
        assert (min(rtts), max(rtts)) == pytest.approx(rtts_ms)


def test_transients_are_those_of_the_draft(full: Mapping[str, Plan]) -> None:
    for name, sources, begin, end in (("release", 1, 0, 60), ("onset", 1, 60, None), ("steps", 30, 60, None)):
        document = Job(0, full[name].points[0], 0).document()
        cross = [flow for flow in document["flows"] if flow["app"]["kind"] == "cbr"]
        assert len(cross) == sources
        assert sum(flow["app"]["rate_bps"] for flow in cross) == 75_000_000
        starts = [flow["start"]["at_ns"] / 1e9 for flow in cross]
        assert starts == [begin + index for index in range(sources)]
        assert {flow["stop_ns"] for flow in cross} == {end * 10**9 if end else None}
        assert document["links"][0]["queue"]["limit_packets"] == 1024


def test_measures_of_a_basic_scenario(loaded: Loaded, measures: ModuleType) -> None:
    changes = {"cc": "reno", "app.arrivals.poisson": 38.9, "run.duration": "12 s", "run.warmup": "4 s"}
    run = next(iter(part(loaded, "access", {**changes, "run.replications": 1})["access"]))
    row = run.link("r2->r1")
    assert measures.utilisation(run) == row["utilisation"] > 0.9
    assert measures.throughput(run) == pytest.approx(row["utilisation"] * 1e8, rel=1e-3)
    assert measures.drop_rate(run) == row["drops"] / row["arrived_packets"]
    assert 0 < measures.mean_delay(run) < measures.p95_delay(run) < 0.101
    towards_left = run.flows[:9]
    number = sum(flow["transfers_completed"] for flow in towards_left)
    total = sum(flow["transfers_completed"] * flow["mean_fct_s"] for flow in towards_left)
    assert measures.mean_fct(run) == pytest.approx(total / number)


def test_measures_of_a_release(loaded: Loaded, measures: ModuleType) -> None:
    changes = {"flows.0.cc": "cubic", "run.duration": "80 s", "run.replications": 1}
    run = next(iter(part(loaded, "release", changes)["release"]))
    times = [measures.to_60(run), measures.to_80(run), measures.to_90(run)]
    assert times == sorted(times)
    assert 0 < times[0] < 20
    assert 0 < measures.largest_step(run) < 200
    assert 0 < measures.to_rate(run) < 20


def test_measures_of_ramp_up(loaded: Loaded, measures: ModuleType) -> None:
    changes = {"cc": "reno", "run.duration": "90 s", "run.replications": 1}
    for run in part(loaded, "ramp-10", changes)["ramp-10"]:
        delivered = run.series("delivered", "1")
        found = measures.to_1500_kb(run)
        assert measures.to_150_kb(run) < found
        start = run.flow("1")["start_s"]
        assert 60 <= start < 65
        assert delivered.at(start + found) >= 1_500_000 > delivered.at(start + found - 0.1)
        never = measures.to_150_mb(run)
        assert isinstance(never, Censored)
        assert never == run.duration - start


def test_camps_have_the_same_arrivals_whatever_b_is(loaded: Loaded, measures: ModuleType) -> None:
    changes = {"app.arrivals.poisson": 1.0, "run.duration": "20 s", "run.warmup": "2 s", "run.replications": 1}
    changes |= {f"flows.{index}.cc": ["reno", "bbr3"] for index in (3, 4, 5)}
    base, mix = part(loaded, "impact", changes)["impact"]
    assert [row["transfers"] for row in base.flows] == [row["transfers"] for row in mix.flows]
    for run in (base, mix):
        rows = run.flows
        assert measures.camp_a(run) == sum(row["goodput_bps"] for row in rows[:3])
        assert measures.camp_b(run) == sum(row["goodput_bps"] for row in rows[3:])
        assert min(row["mean_fct_s"] for row in rows[3:]) < measures.fct_b(run) < max(row["mean_fct_s"] for row in rows)


def test_shares(loaded: Loaded, measures: ModuleType) -> None:
    def first(name: str, changes: dict[str, Any]) -> Run:
        return next(iter(part(loaded, name, {**changes, "run.replications": 1})[name]))

    small = {"cc": "reno", "topology.queue": "1 BDP", "run.duration": "60 s"}
    run = first("inter", {**small, "flows.1.rtt": "10 ms"})
    long, short = (row["goodput_bps"] for row in run.flows[:2])
    assert measures.other_over_160(run) == short / long > 1
    assert measures.larger(run) == short / long
    assert measures.jain(run) == pytest.approx((long + short) ** 2 / (2 * (long**2 + short**2)))
    run = first("parking-lot-long", {"cc": "reno", "run.duration": "40 s", "run.warmup": "10 s"})
    rates = [row["goodput_bps"] for row in run.flows]
    assert measures.single_over_multiple(run) == pytest.approx(sum(rates[1:]) / 3 / rates[0])


def test_claims_on_few_runs(loaded: Loaded) -> None:
    few = {"run.duration": "30 s", "run.warmup": "10 s", "run.replications": 3}
    several = part(loaded, "several", {**few, "topology.queue": ["0.5 BDP"], "cc": ["bbr1", "bbr3"]})
    assert outcome(loaded, "T12", several) == "pass"
    lot = part(loaded, "parking-lot-long", {**few, "cc": ["reno", "cubic", "htcp"]})
    assert outcome(loaded, "T10", lot) != "fail"


def test_what_is_named_in_the_table_of_rfc_9743_is_there(loaded: Loaded) -> None:
    page = (ROOT / "docs" / "rfc9743.md").read_text(encoding="utf-8")
    known = {setting.id for setting in loaded.study.settings} | {table.id for table in loaded.study.tables}
    for name in ("trade-off", "several", "intra", "inter", "inter-100", "parking-lot-long", "impact", "impact-long"):
        assert f"`{name}`" in page
        assert name in known
    for path in re.findall(r"`(scenarios/[\w-]+\.toml|conformance/[\w/]+)`", page):
        assert (ROOT / path).exists(), path
    claims = {claim.id for claim in loaded.code.claims}
    assert set(re.findall(r"\bT\d+\b", page)) <= claims
    lines = [line for line in page.splitlines() if line.startswith("ackclock run ")]
    assert len(lines) == 9
    for line in lines:
        _, _, file, *options = shlex.split(line)
        assert set(options[::2]) <= {"--set"}
        assert len(load_plan(ROOT / file, set=options[1::2])), line
