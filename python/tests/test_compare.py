"""Comparing results: what is paired with what, what is tested, and what is said of it."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats as scipy_stats

import ackclock
from ackclock import InputError, Result
from ackclock.comparison import margins
from ackclock.comparison.agreement import ranks
from ackclock.comparison.pairing import Match
from ackclock.comparison.rows import Row, judged, measure
from ackclock.comparison.values import KNOWN, per_run
from ackclock.stats import holm
from shared import ROOT, SMALL

SWEPT = SMALL.replace('cc = "cubic"', 'cc = ["reno", "cubic"]').replace('"20 ms"', '["20 ms", "60 ms"]')


def result(tmp: Path, text: str = SMALL, **options: Any) -> Result:
    path = tmp / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return ackclock.run(path, jobs=1, **{"replications": 5, **options})


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Two controllers on two paths, five times each."""
    return result(tmp_path_factory.mktemp("swept"), SWEPT)


@pytest.fixture(scope="module")
def one_cc(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """The same as two results of one controller each."""
    folder = tmp_path_factory.mktemp("one")
    return {cc: result(folder, SWEPT, set={"cc": cc}) for cc in ("reno", "cubic")}


def alone(a: list[float | None], b: list[float | None], *, margin: float | None = None, paired: bool = True) -> Row:
    """The judged row of a metric with these values."""
    ours = {run: {"jain": value} for run, value in enumerate(a)}
    theirs = {run: {"jain": value} for run, value in enumerate(b)}
    found = measure(Match({}, "A", "B", tuple(ours), tuple(theirs), paired), "jain", ours, theirs, margin)
    assert found is not None
    return judged([found.row])[0]


def test_a_metric_of_a_run_means_what_it_means_in_the_summary(tmp_path: Path) -> None:
    text = SMALL + (
        '\n[[flows]]\napp = { kind = "files", arrivals = { poisson = 80 }, size = "5 kB" }\ncc = "reno"\n'
        '\n[[flows]]\napp = { kind = "cbr", rate = "500 kbit/s", packet = "200 B", transport = "udp" }\n'
    )
    found = result(tmp_path, text, replications=4, set={"topology.rtt": ["20 ms", "80 ms"]})
    runs, seen = per_run(found), set()
    for point in found.points:
        own = [runs[run] for run, at in found.runs.select("run", "point").iter_rows() if at == point.point]
        for name, value in point.metrics.items():
            if value.n:
                known = [run[name] for run in own if run.get(name) is not None]
                assert len(known) == value.n, name
                assert sum(known) / len(known) == pytest.approx(value.mean), name  # type: ignore[arg-type]
                seen.add(name)
            else:
                assert all(run.get(name) is None for run in own), name
    assert {"p99_fct_s", "transfers_unfinished", "p95_delay_s", "datagram_loss_percent", "loss_percent"} <= seen


def test_what_the_summary_has_no_value_of_no_run_has(tmp_path: Path) -> None:
    text = SMALL + '\n[[flows]]\napp = { kind = "files", arrivals = { poisson = 0.8 }, size = "5 kB" }\ncc = "reno"\n'
    found = result(tmp_path, text, replications=8)
    runs = per_run(found)
    counts = [run["transfers_completed"] for run in runs.values()]
    completed = found.transfers.filter(pl.col("fct_s").is_not_null())
    expected = [sum(completed["run"] == run) for run in runs]
    # Some runs have no transfer, which is a count of zero, some one, of which there is no median, and some more.
    assert counts == expected
    assert {0, 1} < set(expected)
    assert all(run.get("p50_fct_s") is None for run in runs.values())
    means = [run.get("mean_fct_s") for run in runs.values()]
    assert [mean is None for mean in means] == [count == 0 for count in counts]


def test_runs_are_paired_by_their_random_numbers(one_cc: dict[str, Result]) -> None:
    found = ackclock.compare(one_cc["reno"], one_cc["cubic"], metrics=["jain"])
    runs = {cc: per_run(item) for cc, item in one_cc.items()}
    assert found.notes == ()
    for point, row in enumerate(found.rows):
        a, b = ([runs[cc][5 * point + each]["jain"] for each in range(5)] for cc in ("reno", "cubic"))
        expected = scipy_stats.ttest_rel(b, a)
        assert row.paired
        assert row.n == 5
        assert row.p == pytest.approx(expected.pvalue)
        assert (row.low, row.high) == pytest.approx(tuple(expected.confidence_interval()))


def test_pairs_do_not_depend_on_the_order_of_runs(one_cc: dict[str, Result]) -> None:
    other = one_cc["cubic"]
    turned = Result({**other.tables, "runs": other.runs.reverse()}, other.manifest)
    straight, reverse = (ackclock.compare(one_cc["reno"], side).frame.drop("b") for side in (other, turned))
    assert straight.equals(reverse)


def test_values_of_a_key_within_one_result(swept: Result, one_cc: dict[str, Result]) -> None:
    within = ackclock.compare(swept, by="cc")
    between = ackclock.compare(one_cc["reno"], one_cc["cubic"])
    columns = ["topology.rtt", "metric", "value", "low", "high", "p", "p_holm", "verdict"]
    assert within.frame.select(columns).equals(between.frame.select(columns))
    assert (within.a, within.b) == ("cc=reno", "cc=cubic")
    assert list(within.frame["topology.rtt"].unique(maintain_order=True)) == ["20 ms", "60 ms"]
    turned = ackclock.compare(swept, by="cc", base="cubic", metrics=["goodput_bps"]).rows[0]
    straight = ackclock.compare(swept, by="cc", metrics=["goodput_bps"]).rows[0]
    assert turned.value == pytest.approx(1 / straight.value)


def test_every_other_value_is_compared_with_the_base(tmp_path: Path) -> None:
    found = result(tmp_path, SMALL, set={"cc": ["reno", "cubic", "htcp"]}, replications=3)
    rows = ackclock.compare(found, by="cc", base="cubic", metrics=["utilisation"]).rows
    assert [(row.a, row.b) for row in rows] == [("cc=cubic", "cc=reno"), ("cc=cubic", "cc=htcp")]


def test_a_key_that_varies_with_the_compared_one_need_not_match(tmp_path: Path) -> None:
    text = SMALL.replace('cc = "cubic"', 'cc = ["reno", "newreno"]\nrecovery = ["reno", "newreno"]')
    found = result(tmp_path, text + '\n[sweep]\nzip = [["cc", "recovery"]]\n', replications=3)
    compared = ackclock.compare(found, by="cc", metrics=["utilisation"])
    assert compared.notes == ("recovery varies together with cc",)
    assert len(compared.rows) == 1


def test_a_swept_seed_makes_replications(tmp_path: Path) -> None:
    sides = [result(tmp_path, SMALL, set={"run.seed": [1, 2, 3], "cc": cc}, replications=1) for cc in ("reno", "cubic")]
    row = ackclock.compare(*sides, metrics=["goodput_bps"]).rows[0]
    assert (row.n, row.paired, dict(row.params)) == (3, True, {})


def test_without_the_same_seeds_the_runs_are_not_paired(tmp_path: Path, one_cc: dict[str, Result]) -> None:
    other = result(tmp_path, SWEPT, set={"cc": "cubic"}, seed=77)
    found = ackclock.compare(one_cc["reno"], other, metrics=["utilisation"])
    a, b = (
        [value["utilisation"] for run, value in per_run(item).items() if run < 5] for item in (one_cc["reno"], other)
    )
    row = found.rows[0]
    assert not row.paired
    assert row.p == pytest.approx(scipy_stats.ttest_ind(b, a, equal_var=False).pvalue)
    assert len(found.notes) == 1
    assert found.notes[0].startswith("runs are NOT PAIRED, as their seeds do not match")


def test_different_engines_share_no_random_numbers(one_cc: dict[str, Result]) -> None:
    other = Result(one_cc["cubic"].tables, copy.deepcopy(one_cc["cubic"].manifest))
    other.manifest["engine"]["name"] = "kernel"
    found = ackclock.compare(one_cc["reno"], other, metrics=["utilisation"])
    assert not any(row.paired for row in found.rows)
    assert "different engines (sim and kernel)" in found.notes[0]


def test_what_has_no_partner_is_left_out_and_said(tmp_path: Path, one_cc: dict[str, Result]) -> None:
    fewer = result(tmp_path, SWEPT, set={"cc": "cubic"}, replications=3)
    found = ackclock.compare(one_cc["reno"], fewer, metrics=["utilisation"])
    assert [row.n for row in found.rows] == [3, 3]
    assert found.notes == ("4 runs left out: without a partner of the same seed and replication",)
    more = result(tmp_path, SWEPT, set={"cc": "cubic", "topology.rtt": ["20 ms", "90 ms"]})
    found = ackclock.compare(one_cc["reno"], more, metrics=["utilisation"])
    assert [row.params["topology.rtt"] for row in found.rows] == ["20 ms"]
    assert found.notes == (
        "1 point of A left out, not in the other: topology.rtt=60 ms",
        "1 point of B left out, not in the other: topology.rtt=90 ms",
    )


def test_runs_that_are_not_there_are_said(one_cc: dict[str, Result]) -> None:
    whole = one_cc["cubic"]
    tables = {name: table.filter(pl.col("run") < 8) for name, table in whole.tables.items()}
    manifest = {**whole.manifest, "runs": whole.manifest["runs"][:8], "status": "interrupted", "missing": [8]}
    part = Result(tables, {**manifest, "failed": [{"run": 9}]})
    found = ackclock.compare(one_cc["reno"], part, metrics=["utilisation"])
    assert [row.n for row in found.rows] == [5, 3]
    assert found.notes == (
        "2 runs left out: without a partner of the same seed and replication",
        "1 of 10 runs of B is missing: it was interrupted",
        "1 of 10 runs of B failed",
    )


def test_replications_that_are_the_same_run_have_neither_interval_nor_p(tmp_path: Path) -> None:
    text = SMALL.replace('start = { uniform = ["0 s", "100 ms"] }\n', "").replace('"cubic"', '["reno", "cubic"]')
    frame = ackclock.compare(result(tmp_path, text), by="cc", margin="5%").frame
    assert set(frame["verdict"]) == {"equal in every run", "same difference in every run"}
    assert all(frame[name].null_count() == frame.height for name in ("low", "high", "d", "p", "p_holm", "p_margin"))
    goodput = frame.filter(pl.col("metric") == "goodput_bps").row(0, named=True)
    assert goodput["value"] == pytest.approx(goodput["mean_b"] / goodput["mean_a"]) != 1.0
    assert goodput["equivalent"] is (abs(goodput["percent"]) < 5)  # a matter of its value


def test_p_values_are_adjusted_for_all_rows(swept: Result) -> None:
    found = ackclock.compare(swept, by="cc", metrics=["jain", "utilisation", "mean_queue_delay_s", "timeouts_per_mb"])
    frame = found.frame
    assert frame["p_holm"].to_list() == holm(frame["p"].to_list())
    assert found.family == frame["p"].count() == 5
    same = frame.filter(pl.col("verdict").is_in(["equal in every run", "same difference in every run"]))
    assert same.height
    assert same["p"].null_count() == same.height


@pytest.mark.parametrize(
    ("b", "margin", "verdict"),
    [
        ([2.0, 2.1, 1.9, 2.05, 1.95], None, "higher"),
        ([0.5, 0.4, 0.6, 0.5, 0.5], None, "lower"),
        ([1.3, 0.8, 0.9, 1.0, 1.1], None, "no difference shown"),
        ([1.3, 0.8, 0.9, 1.0, 1.1], 0.05, "no difference shown"),
        ([1.01, 1.0, 0.97, 1.02, 1.02], 0.05, "equivalent within 5 %"),
        ([1.03, 1.04, 1.01, 1.03, 1.03], 0.05, "higher, within 5 %"),
        ([1.0, 1.01, 0.98, 1.0, 1.01], 0.05, "equal in every run"),
        ([None, None, None, None, 1.5], 0.05, "too few runs"),
    ],
)
def test_verdicts(b: list[float | None], margin: float | None, verdict: str) -> None:
    assert alone([1.0, 1.01, 0.98, 1.0, 1.01], b, margin=margin).verdict == verdict


def test_verdicts_are_of_the_adjusted_p_values() -> None:
    a = [1.0, 1.01, 0.98, 1.0, 1.01, 0.99]
    higher = alone(a, [1.1, 1.03, 0.99, 1.08, 1.03, 1.03])
    assert 0.025 < higher.p < 0.05  # type: ignore[operator]
    assert higher.verdict == "higher"
    assert {row.verdict for row in judged([higher, higher])} == {"no difference shown"}
    close = alone(a, [1.06, 0.95, 1.04, 0.93, 1.07, 0.96], margin=0.08)
    assert 0.01 < close.p_margin < 0.05  # type: ignore[operator]
    assert close.verdict == "equivalent within 8 %"
    assert {row.verdict for row in judged([close] * 5)} == {"no difference shown"}


def test_effects() -> None:
    row = alone([1.0, 2.0, 3.0], [2.0, 3.0, 5.0])
    assert row.value == pytest.approx(4 / 3)
    assert row.percent == pytest.approx(100 * 4 / 6)
    assert row.d == pytest.approx((4 / 3) / (1 / 3) ** 0.5)  # differences 1, 1, 2
    assert alone([0.0, 0.0], [1.0, 2.0]).percent is None
    assert alone([-2.0, -4.0], [-1.0, -3.0]).percent == pytest.approx(100 / 3)


def test_rates_and_times_are_compared_by_ratios(swept: Result) -> None:
    kinds = dict(ackclock.compare(swept, by="cc").frame.select("metric", "kind").iter_rows())
    assert kinds["goodput_bps"] == kinds["mean_rtt_s"] == kinds["mean_queue_delay_s"] == "ratio"
    assert kinds["jain"] == kinds["loss_percent"] == kinds["loss_events"] == "difference"


def test_values_that_are_missing_in_some_runs_are_counted() -> None:
    ours = {0: {"jain": 1.0}, 1: {"jain": None}, 2: {"jain": 0.9}}
    found = measure(Match({}, "A", "B", (0, 1, 2), (0, 1, 2), True), "jain", ours, ours, None)
    assert found is not None
    assert (found.row.n, found.left) == (2, 1)
    assert measure(Match({}, "A", "B", (1,), (1,), True), "jain", ours, ours, None) is None


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, {}),
        (0.05, {None: 0.05}),
        ("5%", {None: 0.05}),
        (["5 %", "goodput_bps=2.5%"], {None: 0.05, "goodput_bps": 0.025}),
        ({"jain": 0.01, "mean_rtt_s": "10%"}, {"jain": 0.01, "mean_rtt_s": 0.1}),
    ],
)
def test_margins(given: Any, read: dict[str | None, float]) -> None:
    assert margins.read(given) == pytest.approx(read)


@pytest.mark.parametrize("given", ["5", "0%", "100%", "five%", 1.0, -0.1, {"goodput": "5%"}, ["jian=5%"], ""])
def test_wrong_margins_are_refused(given: Any) -> None:
    with pytest.raises(InputError, match=r"(^margin: .*in per cent, such as 5%)|(unknown metric)"):
        margins.read(given)


def test_an_engine_agrees_with_itself_and_not_with_another_queue(
    tmp_path: Path, swept: Result, one_cc: dict[str, Result]
) -> None:
    again = ackclock.compare(swept, swept, agreement=True)
    assert again.agrees
    assert {row.metric for row in again.rows} == {"goodput_bps", "mean_rtt_s"}
    assert {row.margin for row in again.rows} == {0.05, 0.10}
    seeds = ackclock.compare(swept, result(tmp_path, SWEPT, seed=5), agreement=True, margin={"goodput_bps": "20%"})
    assert seeds.agrees
    assert {row.verdict for row in seeds.rows} == {"agrees within 20 %", "agrees within 10 %"}
    shallow = result(tmp_path, SWEPT, set={"cc": "cubic", "topology.queue.limit": "0.2 BDP"})
    apart = ackclock.compare(one_cc["cubic"], shallow, agreement=True)
    assert apart.agrees is False
    assert {row.verdict for row in apart.rows if row.metric == "mean_rtt_s"} == {"not shown to agree within 10 %"}
    assert ackclock.compare(one_cc["reno"], one_cc["cubic"]).agrees is None


def test_orders_of_points_and_of_the_values_of_a_key() -> None:
    def rows() -> list[Row]:
        blank = alone([1.0, 2.0], [1.0, 2.5])
        found = []
        for rtt, scale in (("20 ms", 1.0), ("60 ms", 2.0)):
            # In A the controllers come in the order a < b < c; in B the first two change places.
            for cc, a, b in (("a", 1.0, 1.5), ("b", 1.2, 1.1), ("c", 3.0, 3.5)):
                params = {"topology.rtt": rtt, "cc": cc}
                found.append(dataclasses.replace(blank, params=params, mean_a=scale * a, mean_b=scale * b))
        return found

    found = {item.over: item for item in ranks(rows())}
    # Of two paths there is no order to speak of.
    assert set(found) == {"points", "cc"}
    assert found["cc"].n == 3
    assert found["cc"].spearman == pytest.approx(0.5)
    assert found["cc"].kendall == pytest.approx(1 / 3)
    assert found["points"].n == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {},
            "the result: one result has nothing to be compared with; give a second, or a swept key: --by KEY (swept: ",
        ),
        ({"by": "topology.rt"}, "the result: by: unknown swept key 'topology.rt'; did you mean 'topology.rtt'?"),
        ({"by": "cc", "base": "renno"}, "base: unknown value of 'cc' 'renno'; did you mean 'reno'?"),
        ({"by": "cc", "metrics": ["goodput"]}, "metric: unknown metric 'goodput'; did you mean 'goodput_bps'?"),
        ({"by": "cc", "metrics": []}, "metric: no metric is named"),
        ({"by": "cc", "metrics": ["p99_fct_s"]}, "metric: no metric has a value on both sides; of these: p99_fct_s"),
        (
            {"by": "cc", "agreement": True, "metrics": ["jain"]},
            "margin: 'jain' has no margin to agree within; give one",
        ),
    ],
)
def test_what_cannot_be_compared_within_one_is_refused(swept: Result, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        ackclock.compare(swept, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_compared_with_each_other_is_refused(
    tmp_path: Path, swept: Result, one_cc: dict[str, Result]
) -> None:
    once = result(tmp_path, SWEPT, replications=1)
    for arguments, options in (((once,), {"by": "cc"}), ((once, once), {})):
        with pytest.raises(InputError, match=r"one replication has no spread.*; run with --replications 10$"):
            ackclock.compare(*arguments, **options)
    with pytest.raises(InputError, match=r"^A: cc: has several values \(reno, cubic\).*--by cc$"):
        ackclock.compare(swept, one_cc["reno"])
    with pytest.raises(InputError, match="base: is of one result"):
        ackclock.compare(swept, swept, base="reno")
    elsewhere = result(tmp_path, SWEPT, set={"topology.rtt": ["30 ms", "90 ms"]}, replications=2)
    with pytest.raises(InputError, match=r"'topology.rtt' is 20 ms, 60 ms here and 30 ms, 90 ms there"):
        ackclock.compare(swept, elsewhere)
    zipped = SWEPT + '\n[sweep]\nzip = [["cc", "topology.rtt"]]\n'
    crosswise = zipped.replace('["reno", "cubic"]', '["cubic", "reno"]')
    with pytest.raises(InputError, match=r"no point of one is in the other; sweep the same values in both$"):
        ackclock.compare(*(result(tmp_path, text, replications=2) for text in (zipped, crosswise)))
    twice = result(tmp_path, set={"topology.rtt": ["20 ms", "20 ms"]}, replications=2)
    with pytest.raises(InputError, match="has several points with the same values; sweep each value once"):
        ackclock.compare(twice, twice)
    with pytest.raises(InputError, match=r"cc: has one value, cubic; sweep it"):
        ackclock.compare(result(tmp_path, set={"cc": ["cubic"]}, replications=2), by="cc")


def test_a_comparison_shows_itself(swept: Result) -> None:
    found = ackclock.compare(swept, by="cc", metrics=["goodput_bps", "timeouts_per_mb"])
    assert repr(found).startswith("Comparison(cc=cubic against cc=reno: ")
    assert "2 equal in every run" in repr(found)
    html = found._repr_html_()
    assert html.count("<tr>") == 3
    assert "zero in every run: timeouts_per_mb" in html


def test_the_page_describes_every_column() -> None:
    page = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    for field in dataclasses.fields(Row):
        assert field.name == "params" or f"`{field.name}`" in page, field.name
    assert KNOWN[-1] in page
