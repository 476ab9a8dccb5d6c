"""The study of high-speed controllers: measures on made-up runs, claims on tiny ones, and controllers added to it."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from ackclock import study
from ackclock.cli.app import main
from ackclock.cli.exit_codes import BAD_INPUT, FINDING, OK
from ackclock.scenario.plan import Job
from ackclock.study import Censored, Results, Runs, Series, runner, selections
from ackclock.study.runner import judge
from shared import ROOT
from studies import cached_plans, write_study

NAME = "high-bdp"
FOLDER = ROOT / "python" / "ackclock" / "studies" / NAME
CLAIMS = [f"B{number}" for number in range(1, 17)]

MINE = '''\
"""A controller for the test."""

import ackclock


class Gentle(ackclock.WindowBased):
    """Reno that keeps four fifths."""

    def grow(self, cx, ack, acked):
        self.cwnd += acked / self.cwnd

    def reduce(self, cx, signal):
        return 0.8 * self.cwnd
'''


@pytest.fixture(scope="module")
def measures() -> Any:
    """The module of the study's measures."""
    study.load(NAME)
    return sys.modules["ackclock_study_high_bdp.measures"]


@dataclass
class MadeUp:
    """A run of two flows whose rates are given for each second, in segments of 1000 bytes."""

    first: Sequence[float]
    second: Sequence[float]
    second_start: float = 0.0
    rtt: float = 0.04

    @property
    def duration(self) -> float:
        return float(len(self.first))

    @property
    def flows(self) -> list[dict[str, Any]]:
        return [{"id": "0", "start_s": 0.0, "mean_rtt_s": self.rtt}, {"id": "1", "start_s": self.second_start}]

    @property
    def resolved(self) -> dict[str, Any]:
        half = round(self.rtt * 0.5e9)
        way = {"forward": [{"link": "a"}], "reverse": [{"delay_ns": half}], "mss": 1000}
        return {"links": [{"id": "a", "delay_ns": half}], "flows": [way, way]}

    def series(self, _metric: str, of: str = "0") -> Series:
        rates = np.array(self.first if of == "0" else self.second, dtype=float)
        return Series(np.arange(len(rates) + 1.0), np.concatenate([[0.0], 1000 * np.cumsum(rates)]))


def test_rates_leave_out_the_first_sixth(measures: Any) -> None:
    run = MadeUp([50] * 10 + [30] * 50, [0] * 10 + [10] * 50)
    assert measures.throughput.function(run) == pytest.approx(8 * 1000 * 40)
    assert measures.throughput_whole.function(run) == pytest.approx(8 * 1000 * (50 * 10 + 40 * 50) / 60)
    assert measures.unfairness.function(run) == pytest.approx(3.0)
    assert measures.second_over_first.function(run) == pytest.approx(1 / 3)
    assert measures.standard_share.function(run) == pytest.approx(0.75)
    assert measures.log_new_over_standard.function(run) == pytest.approx(math.log(3))


def test_a_flow_that_starves_has_a_ratio(measures: Any) -> None:
    run = MadeUp([10] * 60, [0] * 60)
    assert measures.unfairness.function(run) == pytest.approx(500)  # a segment in 50 s beside 500


def test_rtts_decide_who_is_short(measures: Any) -> None:
    run = MadeUp([10] * 60, [40] * 60)
    assert measures.rtts(run) == pytest.approx((0.04, 0.04))
    assert measures.short_over_long.function(run) == pytest.approx(4.0)
    assert measures.long_share.function(run) == pytest.approx(0.2)


def test_convergence_is_the_end_of_five_bins_that_are_equal_within_a_tenth(measures: Any) -> None:
    # Alone for 10 s, then 90 to 10, and equal from 30 s on. Means over five bins of 1 s are equal within 10 %
    # ((a - b) <= 0.1 (a + b)) once at most 0.5 s of them were before 30 s: the bins from 30 s to 35 s.
    run = MadeUp([100] * 10 + [90] * 20 + [50] * 30, [0] * 10 + [10] * 20 + [50] * 30, second_start=10.0)
    assert measures.convergence.function(run) == 25.0
    assert measures.censored.function(run) == 0.0
    # 80 % of a fair share: 0.8 * 50 = 40 in the mean, with 10 for 1 s and 50 for 4 s of the five: 42 from 29 s on.
    assert measures.convergence_80.function(run) == 24.0
    assert measures.horizon(run) == 50.0


def test_what_does_not_converge_is_censored_at_the_end(measures: Any) -> None:
    never = MadeUp([100] * 10 + [90] * 50, [0] * 10 + [10] * 50, second_start=10.0)
    assert (measures.convergence.function(never), measures.censored.function(never)) == (50.0, 1.0)
    assert (measures.convergence_80.function(never), measures.censored_80.function(never)) == (50.0, 1.0)
    # Equal for 8 s only, then apart again: not held for ten bins.
    brief = MadeUp([90] * 20 + [50] * 8 + [90] * 32, [10] * 20 + [50] * 8 + [10] * 32)
    assert measures.censored.function(brief) == 1.0
    # Equal too late for the run to show that it is held.
    late = MadeUp([90] * 48 + [50] * 12, [10] * 48 + [50] * 12)
    assert measures.censored.function(late) == 1.0


def test_bins_are_ten_rtts_in_whole_seconds(measures: Any) -> None:
    assert [measures.width(MadeUp([1], [1], rtt=rtt)) for rtt in (0.016, 0.1, 0.16, 0.32)] == [1, 1, 2, 4]


@pytest.fixture(scope="module")
def loaded() -> runner.Loaded:
    return study.load(NAME)


def test_structure(loaded: runner.Loaded) -> None:
    assert [item.id for item in loaded.code.claims] == CLAIMS
    assert [figure.paper for figure in loaded.study.figures[:6]] == [f"figure {n}" for n in range(1, 7)]
    full, quick = cached_plans(loaded.study), cached_plans(loaded.study, quick=True)
    selections.check(loaded.study, full)
    for scenario in ("buffer", "together", "late", "rtt", "standard"):
        fast = ("fast(alpha=100)", "fast(alpha=80)") if scenario == "buffer" else ("fast", "fast(alpha=200)")
        for plans, words in ((full, ("htcp", "cubic", *fast)), (quick, ("reno", *fast))):
            assert {point.params.get("cc", point.params.get("flows.1.cc")) for point in plans[scenario].points} >= {
                "highspeed", "scalable", "bic", *words,
            }  # fmt: skip
        assert all(point.scenario.run.replications == 10 for point in full[scenario].points)
        assert full[scenario].points[0].scenario.run.duration == 600_000_000_000
        models = {point.params["flows.1.cc"] for point in full[f"{scenario}-model"].points}
        assert models == {"bbr1", "bbr3"}
    assert {point.params["topology.queue.limit"] for point in full["rtt-queues"].points} == {"0.2 BDP", "1 BDP"}
    assert {point.params["topology.rate"] for point in full["rates"].points} == {"1 Mbit/s", "10 Mbit/s"}
    for point in full["unlike"].points:
        assert Job(0, point, 0).document()["flows"][0]["cc"]["name"] == "reno"
    assert not [text for plan in full.values() for point in plan.points for text in point.warnings]


def test_readings_choose_start_lateness_alpha_and_queue(loaded: runner.Loaded) -> None:
    plans = cached_plans(loaded.study)
    known = {name: selections.known(plan) for name, plan in plans.items()}
    readings = {reading.id: reading for reading in loaded.study.readings}
    assert list(readings) == ["plain", "five-seconds", "later", "in-phase", "full", "alpha", "alpha-full"]
    assert [name for name, reading in readings.items() if reading.found] == ["full", "alpha", "alpha-full"]
    for name, reading in readings.items():
        if name.startswith("alpha"):
            assert set(reading.scenarios) >= {"buffer", "together", "late", "rtt", "standard", "unlike", "rtt-queues"}
            assert reading.values == {"fast(alpha=100)": "fast(alpha=80)", "fast": "fast(alpha=200)"}
        # What claims select is there under every reading: controllers by their new names, and the same RTTs.
        for scenario in reading.scenarios.values():
            key = "cc" if scenario == "buffer" else "flows.1.cc"
            fast = "fast(alpha=100)" if scenario == "buffer" else "fast"
            wanted = {"reno", "highspeed", "scalable", "bic", "htcp", reading.values.get(fast, fast)}
            assert wanted <= set(known[scenario][key]), (name, scenario)


def test_packets_are_late_where_a_phase_would_decide_and_only_there(loaded: runner.Loaded) -> None:
    late = {"kind": "uniform", "low_ns": 0, "high_ns": 100_000}
    scenarios = {
        late["high_ns"]: (
            "rtt",
            "rtt-model",
            "standard",
            "standard-model",
            "own-queue",
            "forms-rtt",
            "late-jitter",
            "rtt-queues",
            "unlike",
        ),
        0: ("buffer", "together", "offset", "late", "late-model", "rtt-in-phase", "standard-in-phase", "phase"),
    }
    plans = cached_plans(loaded.study)
    for most, names in scenarios.items():
        for name in names:
            for point in plans[name].points:
                found = [link.get("jitter") or {"high_ns": 0} for link in Job(0, point, 0).document()["links"]]
                assert max(jitter["high_ns"] for jitter in found) == most, name


RTTS = ("16 ms", "40 ms")


@dataclass
class Late:
    """A run of which swept values and measures are known, on 100 Mbit/s."""

    params: dict[str, Any]
    replication: int
    measured: dict[str, float | None]
    repeated = False
    bottleneck: ClassVar = {"rate_bps": 100_000_000}


def claims_under(loaded: runner.Loaded, name: str, runs: dict[str, Runs]) -> runner.Judged:
    """What becomes of a claim with made-up runs in place of those of its scenarios."""
    results = Results({})
    results._runs = runs
    (found,) = judge([item for item in loaded.code.claims if item.id == name], results, loaded.study.readings)
    assert not found.broken, found.broken
    return found


def made(scenario: str, runs: list[Late]) -> Runs:
    known = {key: tuple(dict.fromkeys(run.params[key] for run in runs)) for key in runs[0].params}
    return Runs(scenario, runs, known)  # type: ignore[arg-type]


def test_claims_about_figure_4_are_judged_under_readings(loaded: runner.Loaded) -> None:
    def judged(late: float, in_phase: float, full: float) -> runner.Judged:
        at = {"flows.1.cc": "scalable", "flows.1.rtt": "16 ms"}
        runs = {
            "rtt": made("rtt", [Late(at, 0, {"long_share": late})]),
            "rtt-in-phase": made("rtt-in-phase", [Late(at, 0, {"long_share": in_phase})]),
            # Of the two queues only the larger is that of the reading.
            "rtt-queues": made(
                "rtt-queues",
                [
                    Late({**at, "topology.queue.limit": queue}, 0, {"long_share": value})
                    for queue, value in (("0.2 BDP", 0.5), ("1 BDP", full))
                ],
            ),
        }
        return claims_under(loaded, "B11", runs)

    assert judged(0.01, 0.02, 0.03).conclusion == "reproduced"
    assert judged(0.01, 0.20, 0.03).conclusion == "reproduced under plain, full, alpha, alpha-full only"
    assert judged(0.10, 0.20, 0.03).conclusion == "reproduced under full, alpha-full only"
    assert judged(0.10, 0.20, 0.30).conclusion == "refuted under every reading tried"
    assert judged(0.10, 0.20, 0.30).under.keys() == {"plain", "in-phase", "full", "alpha", "alpha-full"}


def buffer_runs(fast: dict[str, dict[str, float]], others: float = 90e6) -> Runs:
    """Figure 1 with these throughputs of FAST, Mbit/s by queue; standard TCP has 80, the others as given."""
    runs = []
    for queue in ("0.06 BDP", "0.08 BDP", "0.1 BDP", "0.15 BDP", "0.2 BDP"):
        rates = {"reno": 80e6, **dict.fromkeys(("highspeed", "scalable", "bic", "htcp"), others)}
        rates |= {cc: 1e6 * values[queue.removesuffix(" BDP")] for cc, values in fast.items()}
        for cc, rate in rates.items():
            at = {"cc": cc, "topology.queue.limit": queue}
            runs += [Late(at, number, {"throughput": rate}) for number in range(2)]
    return made("buffer", runs)


def test_b1_and_b3_are_about_fast_with_the_alpha_of_the_reading(loaded: runner.Loaded) -> None:
    short = {"0.06": 50.0, "0.08": 55.0, "0.1": 63.0, "0.15": 100.0, "0.2": 100.0}
    fits = {**short, "0.1": 100.0}
    runs = {"buffer": buffer_runs({"fast(alpha=100)": short, "fast(alpha=80)": fits})}
    below = claims_under(loaded, "B1", runs)
    assert below.conclusion == "reproduced under alpha, alpha-full only"
    assert below.under["plain"].value == pytest.approx(63 / 80), "FAST at 10 % is not exempted"
    assert below.under["alpha"].value == pytest.approx(90 / 80)
    knee = claims_under(loaded, "B3", runs)
    assert knee.conclusion == "reproduced"
    assert knee.under["plain"].value == pytest.approx(0.55)
    # A knee that is far above 8 % contradicts, as does none at all.
    late = {**short, "0.15": 80.0}
    never = dict.fromkeys(short, 100.0)
    runs = {"buffer": buffer_runs({"fast(alpha=100)": late, "fast(alpha=80)": never})}
    assert claims_under(loaded, "B3", runs).conclusion == "refuted under every reading tried"


def test_b15_is_about_how_much_differs_between_the_two_queues(loaded: runner.Loaded) -> None:
    def judged(htcp: float) -> runner.Judged:
        runs = []
        for cc in ("reno", "highspeed", "scalable", "bic", "fast", "fast(alpha=200)", "htcp"):
            for queue, factor in (("0.2 BDP", 1.0), ("1 BDP", htcp if cc == "htcp" else 0.5)):
                for rtt in ("16 ms", "40 ms"):
                    at = {"flows.1.cc": cc, "topology.queue.limit": queue, "flows.1.rtt": rtt}
                    runs += [Late(at, number, {"short_over_long": 8 * factor}) for number in range(2)]
        return claims_under(loaded, "B15", {"rtt-queues": made("rtt-queues", runs)})

    assert judged(0.4).conclusion == "reproduced"
    assert judged(0.4).verdict.value == pytest.approx(0.4), "of the controller that differs most"
    for value in (0.3, 3.3):
        assert judged(value).conclusion == "refuted under every reading tried"
        assert judged(value).verdict.value == pytest.approx(value)


def test_b16_is_judged_by_the_rtt_of_the_second_flow(loaded: runner.Loaded) -> None:
    def judged(fast: float) -> runner.Judged:
        logs = {"reno": 0.0, "highspeed": 1.0, "scalable": 4.0, "bic": 2.0, "htcp": 1.5, "fast": fast}
        runs = []
        for (cc, log), rtt in itertools.product({**logs, "fast(alpha=200)": 0.5}.items(), ("16 ms", "320 ms")):
            measured: dict[str, float | None] = {
                "log_new_over_standard": log,
                "standard_share": 1 / (1 + math.exp(log)),
            }
            runs += [Late({"flows.1.cc": cc, "flows.1.rtt": rtt}, number, measured) for number in range(2)]
        return claims_under(loaded, "B16", {"unlike": made("unlike", runs)})

    assert judged(1.8).conclusion == "reproduced under plain only"
    assert judged(1.8).under["plain"].value == pytest.approx(0.3)
    assert judged(1.2).conclusion == "refuted under every reading tried"


def test_the_paper_is_quoted_for_every_claim() -> None:
    import tomllib

    told = tomllib.loads((FOLDER / "expected" / "paper.toml").read_text(encoding="utf-8"))
    assert list(told) == CLAIMS
    assert all(item["says"] and 1 <= item["figure"] <= 6 for item in told.values())


def judged(name: str, times: dict[str, list[float]]) -> Any:
    """The verdict of a claim about figure 6 if at every RTT the controllers converge after these times."""
    claim = next(item for item in study.load(NAME).code.claims if item.id == name)
    found = []
    for cc, rtt in itertools.product(times, RTTS):
        for number, time in enumerate(times[cc]):
            measured: dict[str, float | None] = {"convergence": time, "censored": float(isinstance(time, Censored))}
            found.append(Late({"flows.1.cc": cc, "topology.rtt": rtt}, number, measured))
    runs = Runs("late", found, {"flows.1.cc": list(times), "topology.rtt": RTTS})  # type: ignore[arg-type]
    return claim.check({"late": runs})  # type: ignore[arg-type]


def test_times_that_are_not_reached_are_bounds_and_nothing_follows_from_two() -> None:
    never: list[float] = [Censored(520.0 + index) for index in range(10)]
    quick, slow = [float(10 + index) for index in range(10)], [float(50 + 5 * index) for index in range(10)]
    names = ("reno", "highspeed", "scalable", "bic", "htcp")
    # Scalable never: 10 of 10, so by Wilson at least 72 %.
    times = {**dict.fromkeys(names, slow), "scalable": never, "fast": quick}
    verdict = judged("B13", times)
    assert verdict.outcome == "pass"
    assert verdict.value == pytest.approx(72.5 / 14.5)
    assert "scalable not within the run: 1 (0.7225 to 1)" in verdict.detail
    assert judged("B14", times).outcome == "pass"
    # All slower ones beyond the run: the value is only known to be more.
    beyond = judged("B13", {**dict.fromkeys(names, never), "fast": quick})
    assert (beyond.outcome, beyond.more) == ("pass", True)
    assert beyond.value == pytest.approx(524.5 / 14.5)
    assert beyond.interval[1] is None
    # FAST not within the run either: nothing is known of the ratio, and the claim is not "1.0 (1.0 to 1.0)".
    for name in ("B13", "B14"):
        nothing = judged(name, {**dict.fromkeys(names, never), "fast": never})
        assert (nothing.outcome, nothing.value, nothing.interval) == ("inconclusive", None, None)
    # FAST slower than the others, which have it in every run: contradicted although FAST never has.
    assert judged("B14", {**dict.fromkeys(names, quick), "fast": never}).outcome == "fail"


def test_b8_is_about_how_much_varies_with_the_rtt(measures: Any) -> None:
    # What is equally bad at every RTT does not vary, however bad it is.
    runs = []
    for cc, logs in {"fast": (2.0, 2.0), "htcp": (0.0, 0.1), "scalable": (0.0, 3.0)}.items():
        for rtt, value in zip(RTTS, logs, strict=True):
            for number in range(3):
                measured: dict[str, float | None] = {"log_unfairness": value}
                runs.append(Late({"flows.1.cc": cc, "topology.rtt": rtt}, number, measured))
    module = sys.modules["ackclock_study_high_bdp.judging"]
    measure = measures.log_unfairness
    made = Runs("late", runs, {"flows.1.cc": ["fast", "htcp", "scalable"], "topology.rtt": RTTS})  # type: ignore[arg-type]
    assert module.wider(made, "fast", "htcp", measure).value == pytest.approx(-0.1)
    assert module.wider(made, "scalable", "htcp", measure).value == pytest.approx(2.9)
    assert module.further(made, "fast", "htcp", measure).value == pytest.approx(1.95)
    one = made.where({"topology.rtt": "16 ms"})
    assert module.wider(one, "scalable", "htcp", measure).value is None


def tiny(folder: Path, *, seconds: int) -> Path:
    """The study as it is, on paths of 5 Mbit/s and for so many seconds instead of 60."""
    place = folder / NAME
    shutil.copytree(FOLDER, place, ignore=shutil.ignore_patterns("__pycache__"))
    for file in place.glob("*.toml"):
        text = re.sub(r'"(?:100|250) Mbit/s"', '"5 Mbit/s"', file.read_text(encoding="utf-8"))
        text = text.replace('"run.duration" = "60 s"', f'"run.duration" = "{seconds} s"')
        file.write_text(text, encoding="utf-8")
    return place


@dataclass
class Finished:
    """A quick run of the tiny study by the command, with controllers beside those of the study."""

    report: study.Report
    out: Path
    code: int
    printed: str


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    place = tmp_path_factory.mktemp("high-bdp")
    (place / "mine.py").write_text(MINE, encoding="utf-8")
    folder, out = tiny(place, seconds=30), place / "out"
    added = ["--cc", "python:mine:Gentle", "--cc", '{ name = "bic", beta = 0.9 }', "--cc", "bbr1", "--cc", "reno"]
    reports, printed, run = list[study.Report](), io.StringIO(), runner.run

    def noted(*given: Any, **named: Any) -> study.Report:
        reports.append(run(*given, **named))
        return reports[-1]

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(runner, "run", noted)
        patch.chdir(place)
        code = main(["study", "run", str(folder), "--quick", "--jobs", "1", "--json", "--out", str(out), *added])
    (report,) = reports
    return Finished(report, out, code, printed.getvalue())


def test_claims_are_judged_on_a_quick_run(finished: Finished) -> None:
    report = finished.report
    assert [item.claim.id for item in report.claims] == CLAIMS
    assert [item.broken for item in report.claims] == [""] * len(CLAIMS)
    assert all(item.verdict.value is not None for item in report.claims if item.claim.id in ("B1", "B2", "B3"))
    # What does not depend on the rate of the path: a Scalable flow of ten times the RTT gets next to nothing.
    share = {item.claim.id: item.verdict.value for item in report.claims}["B11"]
    assert share is not None
    assert 0 < share < 0.5
    kept = report.results["late"].where({"flows.1.cc": "scalable"})
    measures = report.code.measures
    times = list(zip(kept.values(measures["convergence"]), kept.values(measures["censored"]), strict=True))
    assert len(times) == len(kept) > 0
    assert all(time is not None and mark in (0.0, 1.0) for time, mark in times)


def test_a_controller_of_ones_own_beside_the_others(finished: Finished) -> None:
    out = finished.out
    assert finished.code in (OK, FINDING)
    said = json.loads(finished.printed)
    assert [item["id"] for item in said["claims"]] == CLAIMS
    record = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    assert record["added"] == ["python:mine:Gentle", "bic(beta=0.9)", "bbr1", "reno"]
    for number in range(1, 7):
        drawn = pl.read_csv(out / "figures" / f"figure-{number}.csv")["series"].unique().to_list()
        fast = {"fast(alpha=100)", "fast(alpha=80)"} if number == 1 else {"fast", "fast(alpha=200)"}
        assert set(drawn) >= {"reno", *fast, "bbr3", "python:mine:Gentle", "bic(beta=0.9)", "bbr1"}, number
    rows = pl.read_csv(out / "tables" / "late.csv").filter(pl.col("measure") == "convergence")["row"].to_list()
    assert {"40 ms, python:mine:Gentle", "40 ms, bbr1"} <= set(rows)
    assert rows.count("40 ms, reno") == 1  # compared already, so not twice
    assert "python:mine:Gentle, bic(beta=0.9), bbr1, reno" in (out / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("cubix", "--cc: cc: unknown controller 'cubix'; did you mean 'cubic'?"),
        ("python:nowhere:It", "--cc: cc: no module 'nowhere'"),
        ("{ name = 'bic', beta = }", "--cc: not a table in TOML"),
        ("{ name = 'bic', bita = 1 }", "--cc: cc.bita: unknown parameter of bic 'bita'"),
        ("cubic", "--cc: the study 'small' takes no other controllers; a scenario in its study.toml may name a list"),
    ],
)
def test_what_cannot_be_added_is_one_line(
    given: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_study(tmp_path)
    assert main(["study", "run", str(folder), "--out", str(tmp_path / "out"), "--cc", given]) == BAD_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert message in said.err
    assert not (tmp_path / "out").exists()


def test_extend_names_lists_of_controllers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_study(tmp_path, ("set = {", 'extend = { cc = ["cc"] }\nset = {'))
    report = study.run(folder, quick=True, jobs=1, cc=["vegas"])
    assert report.results["one"].steps("cc") == ["reno", "cubic", "vegas"]
    assert report.added == ("vegas",)
    assert study.run(folder, quick=True, jobs=1, cc="vegas").added == ("vegas",)
    assert main(["study", "run", str(folder), "--out", str(tmp_path / "out"), "--cc", "bbr1"]) == BAD_INPUT
    assert "takes no controllers that start by themselves, such as 'bbr1'" in capsys.readouterr().err
    write_study(tmp_path, ("set = {", 'extend = { cc = ["topology.rtt"] }\nset = {'))
    assert main(["study", "run", str(folder), "--out", str(tmp_path / "out")]) == BAD_INPUT
    assert "scenarios.0.extend.cc: 'topology.rtt' is no list of controllers" in capsys.readouterr().err
    write_study(tmp_path, ("set = {", 'extend = { ccs = ["cc"] }\nset = {'))
    assert main(["study", "run", str(folder), "--out", str(tmp_path / "out")]) == BAD_INPUT
    assert "scenarios.0.extend.ccs: unknown key 'ccs'" in capsys.readouterr().err
