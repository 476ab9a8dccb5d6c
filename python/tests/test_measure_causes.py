"""Verdicts on what limits connections: one mechanism after the other, made up step by step, and what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import ackclock
from ackclock.cli.app import main
from ackclock.errors import InputError
from ackclock.measure.causes import courses
from ackclock.measure.causes.courses import Course, Line, Step
from ackclock.measure.causes.verdict import Verdict, explain, judge
from ackclock.measure.causes.words import lines_of
from ackclock.stats.hypotheses.variance import lack_of_fit, one_way

MBIT = 1e6
STEPS = 50
PLAIN = Step(
    begin=0.0, seconds=0.1, rate=20 * MBIT, inflation=1.05, window=100e3, sent=250e3, lost=0.0, idle=0.0, receive=0.0,
    buffer=0.0, starved=False,
)  # fmt: skip
FULL = replace(PLAIN, inflation=2.0)


def course(count: int, make: Callable[[int], Step], block: int | None = None, cpu: float | None = 0.1) -> Course:
    """A test of five seconds in which every connection does the same."""
    steps = tuple(replace(make(at), begin=at * 0.1) for at in range(STEPS))
    return Course(0, block, 5.0, 0.05, cpu, (steps,) * count, None)


def verdict(few: Callable[[int], Step], many: Callable[[int], Step] | None = None, cpu: float = 0.1) -> Verdict:
    """Of a line of 20 Mbit/s that four connections fill, unless `many` says what each of them does."""
    tests = [course(1, few, cpu=cpu), course(4, many or (lambda _: replace(FULL, rate=5 * MBIT)), cpu=cpu)]
    return judge(Line({}, tuple(tests)))


def slow(**changes: object) -> Callable[[int], Step]:
    """One that has 7 of the 20 Mbit/s all the time."""
    return lambda _: replace(PLAIN, **{"rate": 7 * MBIT, **changes})  # type: ignore[arg-type]


def lossy(inflation: float) -> Callable[[int], Step]:
    """One that loses a segment every second, with so long a queue then."""

    def make(at: int) -> Step:
        if at % 10 == 3:
            return replace(PLAIN, rate=7 * MBIT, inflation=min(1.2, inflation), lost=1500.0)
        # The round trip of the step before counts, too.
        return replace(PLAIN, rate=7 * MBIT, inflation=inflation if at % 10 == 2 else 1.1)

    return make


@pytest.mark.parametrize(
    ("few", "mechanism"),
    [
        (slow(receive=0.9), "receive window"),
        (slow(buffer=0.8), "send buffer"),
        (slow(idle=0.7), "application"),
        (slow(starved=True), "application"),
        (lossy(1.05), "random loss"),
        (lossy(2.0), "congestion loss"),
        (lambda at: replace(PLAIN, rate=min(20, 2 + 0.5 * at) * MBIT, window=20e3 + 2e3 * at), "slow-start ramp"),
        (lambda _: FULL, "none"),
        (lambda _: replace(PLAIN, rate=19 * MBIT), "none"),
        # The line is said to be full, but what the sender has to send is all that passes.
        (lambda _: replace(PLAIN, rate=19 * MBIT, idle=0.8), "application"),
        # Neither losses nor a queue nor an end that waits, and the window is what it was.
        (slow(), "cannot be told"),
    ],
)  # fmt: skip
def test_one_mechanism_is_named(few: Callable[[int], Step], mechanism: str) -> None:
    found = verdict(few)
    assert found.mechanism == mechanism, found
    assert found.missing == {}
    assert sum(each.time for each in found.candidates) == pytest.approx(1, abs=0.01)
    assert found.evidence


def test_a_busy_processor_comes_before_everything_else() -> None:
    assert verdict(slow(receive=0.9), cpu=0.95).mechanism == "host CPU"
    assert verdict(slow(receive=0.9), cpu=0.85).mechanism == "receive window"


def test_pacing_is_the_senders_whatever_queues_look_like() -> None:
    def wandering(at: int) -> Step:
        # Round trips of a loopback are so short that a busy computer looks like a queue whose rate changes.
        return replace(FULL, rate=(5.2 if at // 10 % 2 else 4.0) * MBIT)

    def found(paced: float | None) -> Verdict:
        return judge(Line({}, tuple(replace(course(count, wandering), paced=paced) for count in (1, 4))))

    assert found(None).mechanism == "changing capacity"
    assert found(4.4 * MBIT).mechanism == "application"
    assert found(4.4 * MBIT).evidence == "each connection sends the 4.4 Mbit/s that it was told not to exceed (pacing)"
    # What is not reached does not limit.
    assert found(8 * MBIT).mechanism == "changing capacity"
    # Told to send what the line carries, it is the line that is full.
    full = tuple(replace(course(count, lambda _, of=count: replace(FULL, rate=20 / of * MBIT)), paced=21 * MBIT / count)
                 for count in (1, 4))  # fmt: skip
    assert judge(Line({}, full)).mechanism == "none"


def test_a_pacing_rate_is_reached_where_segments_come_a_few_at_a_time() -> None:
    # Large segments of a loopback: most steps have less than the mean, which is 12.
    def lumps(at: int) -> Step:
        return replace(FULL, rate=(30 if at % 10 >= 8 else 7.5) * MBIT)

    tests = tuple(replace(course(count, lumps), paced=12 * MBIT) for count in (1, 4))
    assert (tests[0].settled, tests[0].late) == pytest.approx((7.5 * MBIT, 12 * MBIT), rel=0.1)
    assert judge(Line({}, tests)).mechanism == "application"


def test_a_policer_drops_a_burst_without_a_queue() -> None:
    def dropped(rate: float, inflation: float, lost: float) -> Callable[[int], Step]:
        return lambda at: replace(
            PLAIN, rate=rate * MBIT, inflation=inflation, lost=lost if at == 4 else 500.0 if at % 15 == 0 else 0.0
        )

    def tried(inflation: float, lost: float) -> str:
        return verdict(dropped(18, inflation, lost), dropped(5, inflation, lost)).mechanism

    assert tried(1.05, 25e3) == "policer"
    assert tried(1.05, 15e3) == "none"  # 15 % of the window
    assert tried(1.5, 25e3) == "none"  # a queue that overflows


def test_a_share_of_each_connection_grows_straight() -> None:
    found = judge(Line({}, tuple(course(count, slow(inflation=3.0)) for count in (1, 2, 4))))
    assert (found.mechanism, found.connections) == ("per-flow fair share", 1)
    assert found.evidence == "each connection gets 7 Mbit/s, whether there are 1 or 4"
    bent = [course(1, slow(inflation=3.0)), course(2, lambda _: replace(PLAIN, inflation=3.0, rate=3 * MBIT))]
    assert judge(Line({}, tuple(bent))).mechanism != "per-flow fair share"


def test_a_line_that_changes_within_tests() -> None:
    def wandering(share: float) -> Callable[[int], Step]:
        return lambda at: replace(FULL, rate=share * (20 if at // 10 % 2 else 12) * MBIT)

    assert verdict(wandering(1), wandering(0.25)).mechanism == "changing capacity"


def test_a_line_that_changes_between_blocks() -> None:
    def one(count: int, rate: float, block: int) -> Course:
        return course(count, lambda _: replace(FULL, rate=rate / count * MBIT), block)

    def campaign(step: float) -> Line:
        noise = (0.99, 1.01, 1.0)
        tests = [
            one(count, 20 * noise[(block + place) % 3] * (1 + step * block), block)
            for block in range(4)
            for place, count in enumerate((1, 2, 4))
        ]
        return Line({}, tuple(tests))

    assert judge(campaign(0.0)).mechanism == "none"
    found = judge(campaign(0.15))
    assert found.mechanism == "changing capacity"
    assert "means of blocks" in found.evidence


NOTHING: dict[str, object] = dict.fromkeys(
    ("inflation", "window", "sent", "lost", "idle", "receive", "buffer", "starved")
)


def test_what_is_not_known_is_said_and_not_invented() -> None:
    """A client that has bytes and times only."""
    found = verdict(slow(**NOTHING), slow(**NOTHING, rate=5 * MBIT))
    assert found.mechanism == "cannot be told"
    assert set(found.missing) == {"rwnd_limited", "sndbuf_limited", "busy_time", "retransmitted", "srtt", "cwnd"}
    assert found.evidence.startswith("what would tell is not in the tables: rwnd_limited, sndbuf_limited")
    assert any("random loss" in line for line in lines_of(found) if "cannot be told:" in line)
    # That one connection has all that any number has can be seen from bytes alone.
    full = verdict(slow(**NOTHING, rate=19 * MBIT), slow(**NOTHING, rate=5 * MBIT))
    assert full.mechanism == "none"


def test_a_rate_that_was_lower_at_first_is_no_ramp_where_nothing_else_is_known() -> None:
    def rising(**changes: object) -> Callable[[int], Step]:
        return lambda at: replace(
            replace(PLAIN, rate=min(20, 2 + 0.5 * at) * MBIT, window=20e3 + 2e3 * at),
            **changes,  # type: ignore[arg-type]
        )

    assert verdict(rising()).mechanism == "slow-start ramp"
    for unknown in ("lost", "inflation", "window"):
        found = verdict(rising(**{unknown: None}))
        assert found.mechanism == "cannot be told", unknown
        assert found.missing


def test_samples_far_apart_do_not_tell_losses_from_each_other() -> None:
    def found(sampled: float, make: Callable[[int], Step]) -> Verdict:
        tests = (course(1, make), course(4, lambda _: replace(FULL, rate=5 * MBIT)))
        return judge(Line({}, tuple(replace(test, sampled=sampled) for test in tests)))

    def policed(at: int) -> Step:
        return replace(PLAIN, rate=7 * MBIT, lost=25e3 if at == 4 else 500.0 if at % 15 == 0 else 0.0)

    assert found(0.1, lossy(1.05)).mechanism == "random loss"
    assert found(0.1, policed).mechanism in ("policer", "random loss")
    for make in (lossy(1.05), policed):
        judged = found(1.0, make)
        assert judged.mechanism == "cannot be told"
        assert judged.missing == {"a sample every 250 ms": "random loss, congestion loss, policer"}
    # Round trips may be as long.
    longer = tuple(replace(course(count, lossy(1.05)), sampled=0.5, base_rtt=0.6) for count in (1, 4))
    assert "a sample every 250 ms" not in judge(Line({}, longer)).missing


def test_a_verdict_on_little_says_so() -> None:
    assert verdict(lossy(1.05)).caution is None

    def short(steps: int, seconds: float, make: Callable[[int], Step]) -> Verdict:
        whole = [course(1, make), course(4, lambda _: replace(FULL, rate=5 * MBIT))]
        tests = [
            replace(test, duration=seconds, connections=tuple(way[:steps] for way in test.connections))
            for test in whole
        ]
        return judge(Line({}, tuple(tests)))

    found = short(14, 1.4, lossy(1.05))
    assert (
        found.caution == "tests of 1.4 s are short, measure 2 s or more; 2 losses are few, measure longer or more often"
    )
    assert f"  little to go by: {found.caution}" in lines_of(found)
    assert found.row()["caution"] == found.caution
    assert short(5, 5.0, lambda _: FULL).caution == "5 samples of a test are few, sample more often"
    far = [replace(course(count, lambda _: FULL), base_rtt=0.5) for count in (1, 4)]
    assert judge(Line({}, tuple(far))).caution == "tests of 5 s are short, measure 10 s or more"


def test_one_number_of_connections_says_less() -> None:
    alone = judge(Line({}, (course(1, lambda _: FULL),)))
    assert (alone.mechanism, alone.share, alone.capacity_bps) == ("none", None, None)
    assert "tests with other numbers of connections" in alone.missing
    assert judge(Line({}, (course(1, slow(receive=0.9)),))).mechanism == "receive window"


SCENARIO = """
[topology]
kind = "dumbbell"
rate = ["20 Mbit/s", "30 Mbit/s"]
rtt = "40 ms"
queue = "1 BDP"
[[flows]]
cc = "cubic"
count = [1, 4]
[run]
duration = "3 s"
[probes]
{probes}
"""


def played(folder: Path, probes: str) -> Path:
    file = folder / "scenario.toml"
    file.write_text(SCENARIO.format(probes=probes), encoding="utf-8")
    ackclock.sweep(file, out=folder / "out")
    return folder / "out"


def test_the_command_has_a_verdict_for_each_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = played(tmp_path, 'interval = "100 ms"\nretransmitted = "100 ms"\nsent = "100 ms"')
    capsys.readouterr()
    assert main(["measure", "why", str(out)]) == 0
    said = capsys.readouterr().out
    assert "topology.rate 20 Mbit/s: none (saturated)" in said
    assert "topology.rate 30 Mbit/s: none (saturated)" in said
    assert "receive window (without rwnd_limited)" in said
    assert main(["measure", "why", str(out), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["lines"]
    assert [(row["mechanism"], row["connections"]) for row in rows] == [("none", 1), ("none", 1)]
    assert explain(ackclock.Result.load(out)) == explain(out)


def test_a_result_without_series_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = played(tmp_path, "")
    with pytest.raises(InputError, match="nothing tells how tests went; record it"):
        explain(out)
    capsys.readouterr()
    assert main(["measure", "why", str(out)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_variances_are_compared_as_scipy_does() -> None:
    from scipy.stats import f_oneway

    groups = [[6.0, 8, 4, 5, 3, 4], [8.0, 12, 9, 11, 6, 8], [13.0, 9, 11, 8, 7, 12]]
    found, right = one_way(groups), f_oneway(*groups)
    assert (found.f, found.p) == pytest.approx((right.statistic, right.pvalue))
    assert (found.between, found.within) == (2, 15)
    # A constant that is fitted is the analysis of variance.
    assert lack_of_fit(groups, [8.0] * 3, 1) == found
    assert lack_of_fit(groups, [5.0, 9.0, 10.0], 1).f == pytest.approx(0.0)
    with pytest.raises(ValueError, match="too few"):
        one_way([[1.0], [2.0]])


@pytest.mark.parametrize(
    ("under_way", "window", "limited", "share"),
    [
        (240e3, 500e3, 0.02, 1.0),  # the offered window is full, whatever the kernel has counted
        (240e3, 245e3, 0.02, 0.2),  # but so is the congestion window
        (100e3, 500e3, 0.02, 0.2),
        (240e3, 500e3, None, 1.0),
    ],
)
def test_a_full_window_of_the_receiver_counts(
    under_way: float, window: float, limited: float | None, share: float
) -> None:
    samples = {"in_flight": under_way, "snd_wnd": 250e3, "cwnd": window}
    series = {name: ([0.05], [value]) for name, value in samples.items()}
    assert courses._receive(series, 0.0, 0.1, limited) == pytest.approx(share)
    assert courses._receive({}, 0.0, 0.1, limited) == (None if limited is None else pytest.approx(limited / 0.1))


_SIZE = courses._Segment(full=65e3, mean=50e3)


def _counted(**values: list[float]) -> dict[str, courses.Series]:
    return {name: ([0.1 * at for at in range(len(counts))], counts) for name, counts in values.items()}


def _rates(series: dict[str, courses.Series]) -> list[float]:
    edges = [0.1 * at for at in range(len(series["delivered_segments"][0]))]
    return [step.rate for step in courses._steps(series, edges, None, _SIZE)]


def test_rates_are_of_bytes_where_segments_grow_during_a_test() -> None:
    # As over a loopback interface with pacing: four segments of 32 kB in a step, then two of 64 kB.
    segments = [0.0, 4, 8, 12, 16, 18, 20, 22, 24]
    acked = [128e3 * at for at in range(9)]
    found = _rates(_counted(delivered_segments=segments, bytes_acked=acked, sacked=[0.0] * 9))
    assert found == pytest.approx([8 * 128e4] * 8)


def test_rates_have_what_arrived_beyond_a_gap_at_its_time() -> None:
    # Of each step's two segments of 50 kB the first of the second step is lost; it is repaired in the fourth.
    segments = [0.0, 2, 3, 5, 8, 10]
    acked = [0.0, 100e3, 100e3, 100e3, 400e3, 500e3]
    beyond = [0.0, 0, 1, 3, 0, 0]
    right = [8 * 10 * size for size in (100e3, 50e3, 100e3, 150e3, 100e3)]
    series = _counted(delivered_segments=segments, bytes_acked=acked, sacked=[count * _SIZE.full for count in beyond])
    assert _rates(series) == pytest.approx(right)
    # Without the bytes it is the segments, of the mean size.
    assert _rates(_counted(delivered_segments=segments)) == pytest.approx(right)
