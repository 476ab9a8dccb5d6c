"""Summaries: groups of flows, transfers, datagrams, drops by reason, and the tables they are printed as."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ackclock
from ackclock import Result
from ackclock.assembly import groups as assembly_groups
from ackclock.metrics.runs import MEASURES
from ackclock.results import groups, sources, text, warnings
from ackclock.results.summary import _of_runs, to_json
from ackclock.stats import Estimate, max_min_shares

Raw = dict[str, Any]

TRANSFERS = {"app": {"kind": "files", "arrivals": {"poisson": 12.0}, "size": "60 kB"}}
PACKETS = {"app": {"kind": "cbr", "rate": "4 Mbit/s"}}


def scenario(*flows: Raw, duration: str = "5 s", **topology: Any) -> Raw:
    path = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "20 ms", "queue": "1 BDP"} | topology
    return {"topology": path, "flows": list(flows), "run": {"duration": duration, "warmup": "1 s", "replications": 3}}


def labels(raw: Raw) -> list[str]:
    return [group.label for group in assembly_groups.of(ackclock.load(raw).points[0].scenario)]


@pytest.fixture(scope="module")
def mixed() -> Result:
    """Six groups, two of them with the same application and controller, over a queue that drops for two reasons."""
    flows = (
        {"cc": "cubic", "count": 2},
        {"cc": "cubic", "app": {"kind": "on-off", "transport": "tcp", "rate": "2 Mbit/s"}, "count": 2},
        {"cc": "cubic", "rtt": "60 ms"},
        PACKETS,
        PACKETS | {"app": {"kind": "on-off", "rate": "4 Mbit/s"}},
        TRANSFERS,
    )
    return ackclock.run(scenario(*flows, rate="20 Mbit/s", queue={"kind": "red", "limit": "1 BDP"}), jobs=1)


def test_unlike_flows_are_not_averaged(mixed: Result) -> None:
    expected = [
        ("0 to 1", "cubic, 20 ms"),
        ("2 to 3", "on-off 2 Mbit/s cubic"),
        ("4", "cubic, 60 ms"),
        ("5", "cbr 4 Mbit/s"),
        ("6", "on-off 4 Mbit/s"),
        ("7", "files cubic"),
    ]
    table = mixed.summary(by="group")
    assert table.select("flows", "label").rows() == expected
    numbers = [range(2), range(2, 4), [4], [5], [6], [7]]
    for row, own in zip(table.iter_rows(named=True), numbers, strict=True):
        flows = mixed.flows.filter(pl.col("id").is_in([str(number) for number in own]))
        per_run = flows.group_by("run", maintain_order=True).agg(pl.col("goodput_bps").mean())
        assert row["goodput_bps"] == pytest.approx(per_run["goodput_bps"].mean())
        assert row["total_goodput_bps"] == pytest.approx(row["goodput_bps"] * len(own))
    header, cells = text.rows(mixed.points, [])
    assert cells[0].split("\n") == [
        f"{count} x {label}" for count, (_, label) in zip((2, 2, 1, 1, 1, 1), expected, strict=True)
    ]
    assert cells[1].count("±") == 6
    assert header[0] == "flows"


@pytest.mark.parametrize(
    ("flows", "expected"),
    [
        (({},), ["cubic"]),
        (({"rtt": "30 ms"}, {"cc": "reno"}), ["cubic", "reno"]),
        (
            ({}, {"profile": "rfc"}, {"start": "1 s"}),
            ["cubic, linux, from 0 s", "cubic, rfc", "cubic, linux, from 1 s"],
        ),
        (({}, {"cc": {"name": "cubic", "beta": 0.8}}), ["cubic", "cubic(beta=0.8)"]),
        (({"bytes": "1 MB"}, {"count": 3}), ["cubic, 1 MB", "cubic"]),
        (({}, {"count": 2}), ["cubic, no. 0", "cubic, no. 1 to 2"]),
    ],
)
def test_groups_are_called_by_what_tells_them_apart(flows: tuple[Raw, ...], expected: list[str]) -> None:
    assert labels(scenario(*flows)) == expected


def test_hops_tell_groups_apart() -> None:
    raw = scenario({}, {"over": 0}, {"over": 1}, rtt="40 ms") | {
        "topology": {
            "kind": "parking-lot", "rtt": "40 ms",
            "hops": [{"rate": "10 Mbit/s", "delay": "5 ms", "queue": "20 packets", "count": 2}],
        },
    }  # fmt: skip
    assert labels(raw) == ["cubic", "cubic, hop 0", "cubic, hop 1"]


def test_a_result_without_groups_has_flows_that_are_alike_together(mixed: Result) -> None:
    entry = {key: value for key, value in mixed.manifest["points"][0].items() if key != "groups"}
    assert [(group.numbers, group.label) for group in groups.recorded(entry)] == [
        ("0 to 1", "cubic"),
        ("2 to 3", "on-off cubic"),
        ("4", "cubic"),
        ("5", "cbr"),
        ("6", "on-off"),
        ("7", "files cubic"),
    ]


def test_transfers_follow_their_definitions(mixed: Result) -> None:
    begun = mixed.transfers.filter(pl.col("start_s") >= 1)
    runs = [part for _, part in sorted(begun.partition_by("run", as_dict=True).items())]
    point = mixed.points[0]
    (files,) = (each for each in point.groups if each.group.label == "files cubic")
    for metrics in (point.metrics, files.metrics):
        assert metrics["transfers_completed"].mean == sum(part["end_s"].count() for part in runs) / 3
        assert metrics["transfers_unfinished"].mean == sum(part["end_s"].null_count() for part in runs) / 3
        for column, name in (("fct_s", "fct_s"), ("slowdown", "slowdown")):
            known = [sorted(part[column].drop_nulls()) for part in runs]
            assert all(20 <= len(part) < 100 for part in known), "enough for the 95th percentile, not for the 99th"
            assert metrics[f"mean_{name}"].mean == pytest.approx(sum(sum(x) / len(x) for x in known) / 3)
            for percent in (50, 95):
                ranked = [x[math.ceil(percent * len(x) / 100) - 1] for x in known]
                assert metrics[f"p{percent}_{name}"].mean == pytest.approx(sum(ranked) / 3), percent
            assert f"p99_{name}" not in metrics
    assert not any("fct" in name for each in point.groups[:-1] for name in each.metrics)


@pytest.mark.parametrize(("n", "p95", "p99"), [(19, None, None), (20, 19, None), (99, 95, None), (100, 95, 99)])
def test_a_percentile_needs_values_beyond_it(n: int, p95: float | None, p99: float | None) -> None:
    values = pl.DataFrame({"x": [float(value) for value in range(n, 0, -1)]})
    found = values.select(
        sources.nearest_rank(pl.col("x"), percent).alias(str(percent)) for percent in sources.PERCENTILES
    )
    assert found.row(0) == (math.ceil(n / 2), p95, p99)


def test_a_percentile_of_some_runs_only_is_none() -> None:
    row: dict[str, float | None] = dict.fromkeys(sources.METRICS, 1.0)
    found = sources.over_runs([row, row | {"p95_fct_s": None, "mean_fct_s": None, "transfers_completed": None}])
    assert found["p95_fct_s"] == [None, None], "the runs with many transfers are not like the others"
    assert found["mean_fct_s"] == [1.0, None]
    assert found["transfers_completed"] == [1.0, 0.0]


def test_one_way_delays_are_those_of_the_packets_of_all_flows(mixed: Result) -> None:
    delay, packets = pl.col("mean_delay_s"), pl.col("received_packets")
    per_run = mixed.flows.group_by("run", maintain_order=True).agg(
        mean=(delay * packets).sum() / packets.sum(), p50=pl.col("p50_delay_s").mean()
    )
    metrics = mixed.points[0].metrics
    assert metrics["mean_delay_s"].mean == pytest.approx(per_run["mean"].mean())
    assert metrics["p50_delay_s"].mean == pytest.approx(per_run["p50"].mean())
    assert {"mean_delay_s", "p50_delay_s"} <= mixed.points[0].groups[0].metrics.keys()


def test_datagrams_follow_their_definitions(mixed: Result) -> None:
    flows = mixed.flows.filter(pl.col("lost_packets").is_not_null())
    assert flows["id"].unique().sort().to_list() == ["5", "6"]
    per_run = flows.group_by("run", maintain_order=True).agg(
        loss=100 * pl.col("lost_packets").sum() / pl.col("sent_segments").sum(),
    )
    metrics = mixed.points[0].metrics
    assert metrics["datagram_loss_percent"].mean == pytest.approx(per_run["loss"].mean())
    assert metrics["datagram_loss_percent"].mean > 0  # type: ignore[operator]
    assert "retransmitted_percent" not in mixed.points[0].groups[3].metrics
    connections = (
        mixed.flows.filter(pl.col("lost_packets").is_null())
        .group_by("run")
        .agg(pl.col("retransmitted_bytes", "sent_bytes").sum())
    )
    share = (100 * connections["retransmitted_bytes"] / connections["sent_bytes"]).mean()
    assert metrics["retransmitted_percent"].mean == pytest.approx(share)


def test_drops_by_reason_add_up_to_the_loss(mixed: Result) -> None:
    metrics = mixed.points[0].metrics
    parts = [value.mean or 0 for name, value in metrics.items() if name.startswith(("drops_", "lost_"))]
    assert len(parts) == 7
    assert sum(parts) == pytest.approx(metrics["loss_percent"].mean)
    assert metrics["drops_early_percent"].mean > 0  # type: ignore[operator]


def test_marks_have_a_column() -> None:
    result = ackclock.run(scenario({"cc": "dctcp"}, queue={"limit": "50 packets", "mark_above": "10 packets"}), jobs=1)
    (marks,) = result.summary()["marks_percent"]
    link = result.links.filter(pl.col("id") == "bottleneck")
    assert marks == pytest.approx((100 * link["marks"] / link["arrived_packets"]).mean())
    assert marks > 0
    tables = dict(text.tables(result.points, []))
    assert tables["drops and marks at the bottleneck, % of arrivals"][0] == ["marked"]


def test_tables_say_what_there_is_and_no_more(mixed: Result) -> None:
    tables = dict(text.tables(mixed.points, []))
    assert list(tables) == [
        "", "transfers", "datagrams", "drops and marks at the bottleneck, % of arrivals", "fairness and loss events",
    ]  # fmt: skip
    header, row = tables["transfers"]
    assert header == [
        "flows", "completed", "unfinished", "FCT mean\ns", "FCT median\ns", "FCT p95\ns", "slowdown mean",
        "slowdown median", "slowdown p95",
    ]  # fmt: skip
    assert row[0] == "1 x files cubic"
    header, row = tables["datagrams"]
    assert row[0] == "1 x cbr 4 Mbit/s\n1 x on-off 4 Mbit/s"
    assert {cell.count("\n") for cell in row} == {1}
    assert tables["drops and marks at the bottleneck, % of arrivals"][0][:2] == ["full", "early"]
    assert "max-min\nindex" not in tables["fairness and loss events"][0], "on-off sources have no fair share"


def test_a_plain_run_prints_a_plain_table() -> None:
    result = ackclock.run(scenario({"cc": "reno"}, queue="1 packets", duration="2 s"), jobs=1)
    tables = dict(text.tables(result.points, []))
    assert result.points[0].metrics["drops_full_percent"].mean > 0  # type: ignore[operator]
    assert set(tables) <= {"", "fairness and loss events"}, "drops for want of room are the loss of the main table"
    only_packets = ackclock.run(scenario(PACKETS), jobs=1)
    header, _ = text.rows(only_packets.points, [])
    assert "retrans.\n%" not in header
    assert set(dict(text.tables(only_packets.points, []))) == {"", "datagrams"}


def test_json_has_what_there_is(mixed: Result) -> None:
    answer = to_json(mixed.points[0])
    assert {"goodput_bps", "mean_fct_s", "datagram_loss_percent", "drops_early_percent", "loss_events"} <= set(answer)
    assert "max_min_index" not in answer
    assert [flow["group"] for flow in answer["flows"]] == [0, 0, 1, 1, 2, 3, 4, 5]
    assert answer["groups"][3].keys() >= {"flows", "label", "goodput_bps", "datagram_loss_percent", "p99_delay_s"}
    assert set(answer["groups"][3]["mean_delay_s"]) == {"mean", "ci95"}
    plain = to_json(ackclock.run(scenario({}), jobs=1).points[0])
    assert "mean_fct_s" not in plain
    assert plain["max_min_index"]["mean"] > 0.8


def test_metrics_are_averaged_over_runs() -> None:
    from ackclock import metrics

    raw = scenario({"cc": "reno", "count": 2}) | {"probes": dict.fromkeys(["recoveries", "timeouts"], "on change")}
    result = ackclock.run(raw | {"probes": raw["probes"] | {"delivered": "100 ms"}}, jobs=1)
    each = metrics.of(result)
    summary = result.summary()
    for name in each.columns[3:]:
        assert summary[name][0] == pytest.approx(each[name].mean()), name
    coarse = ackclock.run(
        raw | {"probes": {"recoveries": "1 s", "timeouts": "on change", "delivered": "500 ms"}}, jobs=1
    )
    assert {"synchronisation", "smoothness"}.isdisjoint(coarse.summary().columns), "intervals blur the times"


def test_a_flow_that_got_nothing_leaves_no_mean_of_logarithms() -> None:
    run: dict[str, float] = dict.fromkeys(MEASURES, 1.0)
    found = _of_runs([run, run | {"proportional_fairness": -math.inf}])
    assert (found["proportional_fairness"].mean, found["jain"].mean) == (None, 1)


def test_no_value_where_there_is_nothing_to_measure() -> None:
    of_packets = ackclock.run(scenario(PACKETS, PACKETS), jobs=1).points[0].metrics
    assert {"loss_events", "loss_event_rate", "timeouts_per_mb"}.isdisjoint(of_packets)
    of_ends = ackclock.run(scenario({"count": 2, "bytes": "1 MB"}), jobs=1).points[0].metrics
    assert "max_min_index" not in of_ends, "a flow that is done takes no share"


def test_unfinished_transfers_are_spoken_of() -> None:
    raw = scenario({"bytes": "20 MB", "start": "2 s", "count": [1, 5], "rtt": "30 ms"}, duration="20 s")
    short, long = ackclock.run(raw, replications=1, jobs=1).points
    assert text.notes([short]) == []
    assert text.notes([short, long]) == [
        "count = 5: 100 % of the transfers were unfinished; completion times and slowdowns leave them out"
    ]
    assert text.notes([long, long])[0].startswith("count = 5: "), "one point"


def warned(*of: tuple[int, list[str]]) -> list[str]:
    """The warnings of runs, given by point and texts."""
    return warnings.of({"runs": [{"run": run, "point": p, "warnings": what} for run, (p, what) in enumerate(of)]})


def test_warnings_are_said_once() -> None:
    assert warned((0, ["a"]), (0, ["a"]), (1, ["a"])) == ["a"]
    assert warned((0, ["a", "b"]), (0, ["a"]), (1, [])) == ["point 0: a", "run 0: b"]
    assert warned((0, ["a"]), (1, ["a"]), (2, [])) == ["points 0, 1: a"]
    assert warned((0, ["a"]), (0, []), (1, ["a"])) == ["runs 0, 2: a"]
    assert warned(*((point, ["a"] if point else []) for point in range(9))) == ["points 1, 2, 3, 4, 5 and 3 more: a"]


def test_warnings_of_a_kind_are_one_line_with_examples() -> None:
    several = {"text": "flows start after the end of the run", "count": 70_000, "examples": ["4", "5", "9"]}
    line = "70000 flows (4, 5, 9, ...) start after the end of the run"
    assert warned((0, [several, "b"])) == [line, "b"]
    assert warned((0, [{**several, "count": 3}])) == ["3 flows (4, 5, 9) start after the end of the run"]
    assert warned((0, [several]), (0, [several])) == [line]
    assert warned(*((0, [f"flow {run} failed"]) for run in range(1000))) == [
        "run 0: flow 0 failed (1000 of this kind, also: run 1: flow 1 failed; run 2: flow 2 failed)"
    ]


def test_replications_warn_once(scenario_file: Callable[..., Path]) -> None:
    path = scenario_file(('kind = "droptail", limit = "1 BDP"', 'kind = "red", limit = "1 BDP", ecn = true'))
    (warning,) = ackclock.run(path, replications=3, set={"cc": ["reno", "cubic"]}, jobs=1).warnings
    assert warning.startswith("the queue of bottleneck has ecn = true but no flow uses ECN")


def test_max_min_shares_of_many_flows_with_links_of_their_own() -> None:
    """As many links as flows: a search for the users of each link would take minutes."""
    flows = 20_000
    routes = [["shared", f"own{number}"] for number in range(flows)]
    capacities: dict[Hashable, float] = {f"own{number}": 1.0 if number % 2 else 3.0 for number in range(flows)}
    shares = max_min_shares(routes, capacities | {"shared": 1.5 * flows})
    assert shares[:2] == pytest.approx([2, 1])


def test_the_low_latency_queue_has_a_table_of_its_own() -> None:
    both = ({"cc": "prague"}, {"cc": "cubic"})
    result = ackclock.run(scenario(*both, queue={"kind": "dualpi2"}), jobs=1)
    (point,) = result.points
    rows = result.links.filter(pl.col("id") == "bottleneck")
    for metric in ("mean_l_queue_delay_s", "p99_l_queue_delay_s"):
        assert point.metrics[metric].mean == pytest.approx(rows[metric].mean())
    # What it is there for: the delay of L is far below that of both queues.
    mean, low = point.metrics["mean_queue_delay_s"].mean, point.metrics["mean_l_queue_delay_s"].mean
    assert mean is not None
    assert low is not None
    assert low < mean / 3
    title, (header, row) = next(item for item in text.tables([point], []) if item[0].startswith("low-latency"))
    assert title == "low-latency queue of the bottleneck (ECT(1))"
    assert header == ["mean queue\nms", "p99 queue\nms"]
    assert row[0].startswith(f"{1e3 * low:.1f}"[:2])
    plain = ackclock.run(scenario({"cc": "cubic"}, queue={"kind": "droptail", "limit": "1 BDP"}), jobs=1)
    assert not {"mean_l_queue_delay_s", "p99_l_queue_delay_s"} & set(plain.points[0].metrics)


def test_a_cut_table_says_so() -> None:
    assert text._cut(list(range(30)), lambda more: -more)[-2:] == [18, -11]
    assert text._cut(list(range(20)), lambda more: -more)[-1] == 19
    assert text.number(Estimate(None, None, 0)) == "-"
    # However small it is, the interval of a mean is not written as zero.
    assert text.number(Estimate(119.48, 0.02, 10), 1.0, 1) == "119.48 ± 0.02"
    assert text.number(Estimate(32.97, 0.0012, 10), 1.0, 1) == "32.970 ± 0.001"
