"""Transfers that were not done: rankings, comparisons and figures count them alike, and nothing loses them silently."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import ackclock
from ackclock import Result
from ackclock.comparison import bounds
from ackclock.comparison.rows import NOTHING, Row
from ackclock.drawing.plot import Drawing, specify
from ackclock.drawing.selection import Request
from ackclock.results import times, unfinished

P95 = "p95_fct_s"


@pytest.fixture(scope="module")
def played() -> Result:
    """Of 33 transfers in 4 s the three large ones of cubic, 20 MB over 10 Mbit/s, take 16 s at least: none is done."""
    small = {"cc": "reno", "bytes": "20 kB", "count": 30, "start": {"uniform": ["0 s", "3 s"]}}
    large = {"cc": ["reno", "cubic"], "bytes": ["200 kB", "20 MB"], "count": 3}
    return ackclock.run(
        {
            "topology": {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"},
            "flows": [small, large | {"start": {"uniform": ["0 s", "100 ms"]}}],
            "run": {"duration": "4 s", "replications": 4},
            "sweep": {"zip": [["flows.1.cc", "flows.1.bytes"]]},
        },
        jobs=1,
    )


def of(result: Result, kind: str, *y: str, by: str = "flows.1.cc") -> Drawing:
    return specify(result, Request(kind, y=y, by=by))


def row(result: Result, base: str = "reno", margin: float | None = None) -> Row:
    (found,) = ackclock.compare(result, by="flows.1.cc", base=base, metrics=[P95], margin=margin).rows
    return found


def test_a_comparison_has_the_times_of_the_ranking(played: Result) -> None:
    ranked = {
        each.name: each.metrics[P95] for each in ackclock.rank(played, by="flows.1.cc", goal=f"{P95} down").candidates
    }
    assert ranked["cubic"].at_least
    found = row(played)
    assert found.value == pytest.approx(ranked["cubic"].against)
    assert found.value is not None
    assert found.value > 4, "and not the 1.8 of those that were done"
    assert (found.more_a, found.more_b, found.verdict) == (False, True, "higher")


def test_a_comparison_says_what_is_a_bound(played: Result) -> None:
    found = ackclock.compare(played, by="flows.1.cc", metrics=[P95, "mean_slowdown", "goodput_bps"])
    count = played.transfers.filter(played.transfers["fct_s"].is_null()).height
    (note,) = [note for note in found.notes if "not done" in note]
    assert note.startswith(
        f"flows.1.cc=cubic: {count} of 132 transfers were not done at the end: completion times count"
    )
    assert note.endswith("; slowdowns are of those that were done")
    shown = found._repr_html_()
    assert "≥ × " in shown
    assert found.frame["more_b"].to_list() == [metric == P95 for metric in found.frame["metric"]]
    # The other way round it is the base that took longer.
    turned = row(played, base="cubic")
    assert (turned.more_a, turned.more_b, turned.verdict) == (True, False, "lower")
    assert not [
        note for note in ackclock.compare(played, by="flows.1.cc", metrics=["goodput_bps"]).notes if "done" in note
    ]


def test_what_longer_times_could_undo_is_not_known(played: Result) -> None:
    found = row(played, margin=0.05)
    for verdict in ("lower", "equivalent within 5 %", "lower, within 5 %", "equal in every run"):
        judged = bounds.judged(replace(found, verdict=verdict, equivalent=True))
        assert (judged.verdict, judged.equivalent) == (bounds.UNKNOWN, False)
    assert bounds.judged(replace(found, verdict="higher, within 5 %")).verdict == "higher"
    assert bounds.judged(replace(found, verdict=NOTHING)).verdict == NOTHING
    both = replace(found, more_a=True, verdict="higher")
    assert bounds.judged(both).verdict == bounds.UNKNOWN
    neither = replace(found, more_b=False, verdict="lower")
    assert bounds.judged(neither).verdict == "lower"


def test_a_figure_has_the_times_of_the_comparison(played: Result) -> None:
    found, known = of(played, "box", P95), row(played)
    means = {box.label: box.mean for box in found.chart.panels[0].boxes}
    assert found.chart.x.label == "p95 FCT (s)"
    assert means == pytest.approx({"reno": known.mean_a, "cubic": known.mean_b})
    assert found.chart.note.startswith("cubic: ")
    assert "of 132 transfers were not done at the end, ≥ what is shown" in found.chart.note
    assert "not done at the end, left out" in of(played, "box", "mean_slowdown").chart.note
    assert "not done at the end, counted" in of(played, "box", "p50_fct_s").chart.note
    assert "not done" not in of(played, "box", "goodput_bps").chart.note


def test_groups_of_flows_have_their_own(played: Result) -> None:
    found = of(played, "box", "p50_fct_s", by="group")
    assert [box.label for box in found.chart.panels[0].boxes] == ["group 0", "group 1"]
    assert "group 1: 12 of 24 transfers were not done at the end, ≥ what is shown" in found.chart.note


def test_a_size_of_which_none_was_done_is_drawn_and_said(played: Result) -> None:
    found = of(played, "fct")
    curve = next(curve for curve in found.chart.curves if curve.label == "median cubic")
    assert found.chart.x.ticks == ("10-100 kB", "100-1000 kB", "10-100 MB")
    assert curve.x[-1] == 2
    assert curve.y[-1] == pytest.approx(4, abs=0.1), "as long as they lasted"
    assert "cubic, 10-100 MB: 12 of 12 not done at the end, ≥ what is shown" in found.notes[0]


def test_a_distribution_says_how_many_it_has_no_time_of(played: Result) -> None:
    found = of(played, "ecdf", "fct_s")
    assert found.notes[0].startswith("cubic: ")
    assert found.notes[0].endswith(" of 132 transfers were not done at the end: a line ends below 1")
    alone = specify(played, Request("ecdf", y=("fct_s",), by="group", where={"flows.1.cc": "cubic"}))
    assert "12 of 12 transfers" in alone.notes[0], "which has no line at all"


def test_groups_of_flows_and_what_is_swept_count_the_same_of_their_times(played: Result) -> None:
    """As in a ranking: none counts more of a time than all runs that are compared know."""
    metric = "mean_fct_s"
    figure = of(played, "box", metric, by="group")
    drawn = {(at, box.label): box.values for at, panel in enumerate(figure.chart.panels) for box in panel.boxes}
    groups = [unfinished.of_group(played, number) for number in range(2)]
    seen = [times.observed(group) for group in groups]
    until = times.horizon(own for each in seen for own in each.values())
    assert until is not None
    point_of = dict(played.runs.select("run", "point").iter_rows())
    for number, each in enumerate(seen):
        for point in range(2):
            wanted = [times.of_run(*own, until)[metric][0] for run, own in each.items() if point_of[run] == point]
            assert sorted(drawn[point, f"group {number}"]) == pytest.approx(sorted(wanted))
    assert max(max(own) for own in drawn.values()) <= until


def test_times_by_size_end_where_those_of_the_comparison_do() -> None:
    """Cubic's runs end a second after most of its transfers began: what takes longer is known of reno only."""
    flows = {"cc": ["reno", "cubic"], "bytes": "200 kB", "count": 24, "start": {"uniform": ["0 s", "2 s"]}}
    path = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"}
    plain = ackclock.run({"topology": path, "flows": [flows], "run": {"duration": "8 s", "replications": 3}}, jobs=1)
    number, cubic = pl.col("id").cast(pl.Int64), pl.col("cc").cast(pl.String) == "cubic"
    late = cubic & (number >= 9)
    changed = plain.transfers.with_columns(
        start_s=pl.when(late).then(7.0).otherwise(0.0),
        fct_s=pl.when(late).then(None).otherwise(0.1 * (number + 1) + 0.01 * pl.col("replication")),
    )
    result = Result({**plain.tables, "transfers": changed}, plain.manifest)
    found = {curve.label: curve for curve in specify(result, Request("fct")).chart.curves}
    for words, metric in (("median", "p50_fct_s"), ("p95", P95)):
        (compared,) = ackclock.compare(result, by="cc", metrics=[metric]).rows
        assert found[f"{words} reno"].y[0] == pytest.approx(compared.mean_a)
        assert found[f"{words} cubic"].y[0] == pytest.approx(compared.mean_b)
    assert found["p95 reno"].y[0] == pytest.approx(1.0), "2.3 s would be of times that nobody knows of cubic"
