"""What a ranking says is shown, and only that: domination, single points, the intervals that ranks follow from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from ackclock import Result
from ackclock.cli.app import main
from ackclock.ranking import text
from ackclock.ranking.front import Front, front
from ackclock.ranking.measures import Compared
from ackclock.ranking.ranking import Candidate, Ranking, rank
from ackclock.ranking.standing import Told
from ackclock.stats import pairwise
from planted import noise, plant, played

N = 10


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Reno and Cubic on three paths, ten times."""
    return played(tmp_path_factory.mktemp("two"), ccs=("reno", "cubic"), n=N)


def line(found: Ranking, name: str) -> Candidate:
    return next(item for item in found.candidates if item.name == name)


def told(scores: Any) -> Told:
    count = scores.shape[1]
    return Told(pairwise(scores), scores.mean(axis=0), [False] * count, [f"c{i}" for i in range(count)])


def on_front(*axes: Any) -> Front:
    """The front of metrics of which more is better, as logarithms by replications and candidates."""
    found = front(told(axes[0]), [(Compared("goodput_bps", True, x.mean(axis=0), pairwise(x), 1), True) for x in axes])
    assert found is not None
    return found


def axis(levels: Sequence[float], sizes: Sequence[float], seed: int) -> Any:
    """Ten replications with these means, and errors of these sizes that sum to zero."""
    errors = np.random.default_rng(seed).normal(size=(N, len(levels)))
    return np.array(levels) + np.array(sizes) * (errors - errors.mean(axis=0))


def test_a_true_tradeoff_is_not_called_dominated(two: Result) -> None:
    # 5 % more goodput for 33 % more delay, of which the noise is as large as that: the loss is there, if not shown.
    wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(100 + seed)
        goodput = np.array([1.0, 1.05])[:, None, None] * np.exp(0.01 * rng.normal(size=(2, 3, N)))
        delay = 0.01 * np.array([1.0, 1.33])[:, None, None] * np.exp(0.9 * rng.normal(size=(2, 3, N)))
        found = rank(plant(two, {"goodput_bps": 1e6 * goodput, "p95_queue_delay_s": delay}))
        wrong += any(item.front is False for item in found.candidates)
    assert wrong <= 1
    assert line(found, "reno").front is None
    assert "On the front of throughput and delay is cubic; whether reno is, too, is not shown." in found.sentence
    assert "trade-off" not in found.sentence
    assert text.tradeoff(found)[2][-1] == "?"
    assert "?: not shown to be dominated, nor not to be" in text.footing(found)


def test_a_loss_that_is_shown_to_be_small_does_not_save_a_candidate() -> None:
    # c0 has 20 % more of the first; of the second 1 % less, known to 0.3 %: less than the margin of 2 %.
    found = on_front(axis((0.18, 0), (0.003, 0.003), 1), axis((-0.01, 0), (0.003, 0.003), 2))
    assert found == Front((True, False), ((), (0,)))
    # The same loss of 1 %, known to 10 %, may be one of 5 %: not told.
    assert on_front(axis((0.18, 0), (0.003, 0.003), 1), axis((-0.01, 0), (0.1, 0.1), 2)).on == (True, None)
    # A loss of 5 % that is shown: both are on the front.
    assert on_front(axis((0.18, 0), (0.003, 0.003), 1), axis((-0.05, 0), (0.003, 0.003), 2)).on == (True, True)


def test_somebody_is_always_on_the_front_or_may_be() -> None:
    # Each is better than the next on one axis, by 3 %, and within 1.5 % on the others: a cycle of "better on some and
    # no worse than by the margin on all".
    levels = np.array([0.03, 0.0, 0.015])
    axes = [axis(np.roll(levels, shift), (1e-4,) * 3, shift) for shift in range(3)]
    found = on_front(*axes)
    assert any(on is not False for on in found.on)
    rng = np.random.default_rng(5)
    for _ in range(300):
        axes = [axis(rng.normal(size=4) * 0.02, 10.0 ** rng.uniform(-4, -1, size=4), 9) for _ in range(3)]
        assert any(on is not False for on in on_front(*axes).on)


def test_a_cycle_of_what_is_shown_ends_in_a_sentence(tmp_path: Path) -> None:
    """Each of three is shown to be better than another in one metric, and nothing else: nobody would be left."""
    three = played(tmp_path, ccs=("reno", "cubic", "vegas"), rtts=("20 ms", "40 ms"), n=6)
    rng = np.random.default_rng(3)

    def one(first: int, last: int, between: int) -> Any:
        own = np.ones((3, 2, 6))
        own[first], own[last] = 1.02, 0.98
        own *= np.exp(0.001 * rng.normal(size=own.shape))
        own[between] *= np.exp(0.2 * rng.normal(size=(2, 6)))
        return own

    metrics = {"goodput_bps": 1e6 * one(0, 1, 2), "p95_queue_delay_s": 0.01 * one(2, 1, 0)}
    planted = plant(three, metrics)
    # Two flows whose rates are apart by this share, so that Jain's index is: of vegas the least, of cubic who knows.
    level = {"vegas": 0.05, "reno": 0.3, "cubic": 0.2}
    spread = {"vegas": 0.01, "reno": 0.01, "cubic": 0.9}
    apart = {
        run: min(0.9, level[cc] * np.exp(spread[cc] * np.random.default_rng(run).normal()))
        for run, cc in planted.runs.select("run", "cc").iter_rows()
    }
    sign = pl.when(pl.col("id") == "0").then(1.0).otherwise(-1.0)
    share = 1 + sign * pl.col("run").replace_strict(apart, return_dtype=pl.Float64)
    flows = planted.flows.with_columns(goodput_bps=pl.col("goodput_bps") * share)
    found = rank(Result({**planted.tables, "flows": flows}, planted.manifest))
    assert set(found.axes) == {"throughput", "delay", "fairness"}
    assert any(item.front is not False for item in found.candidates)
    assert found.sentence == found.to_json()["sentence"]


def test_ahead_at_every_point_needs_an_interval_at_every_point(two: Result) -> None:
    """Unequal spreads: +2 % and precise at 20 ms, +50 % at 40 ms, +3 % with a spread of 12 % at 80 ms."""
    error = np.random.default_rng(0).normal(size=N)
    goodput = np.ones((2, 3, N)) * noise((2, 3, N), 1, 0.002)
    goodput[1, 0] *= 1.02
    goodput[1, 1] *= 1.5
    goodput[1, 2] *= np.exp(0.03 + 0.12 * (error - error.mean()))
    assert (goodput[1, 2] < goodput[0, 2]).sum() >= 3
    noisy = rank(plant(two, {"goodput_bps": 1e6 * goodput}))
    assert noisy.best == ("cubic",)
    assert "ahead at every point" not in noisy.sentence
    assert "At no point is it shown to be behind." in noisy.sentence
    goodput[1, 2] = goodput[0, 2] * 1.03 * noise((1, 1, N), 2, 0.002)[0, 0]
    assert "It is ahead at every point." in rank(plant(two, {"goodput_bps": 1e6 * goodput})).sentence


def test_a_deficit_that_is_shown_goes_before_a_larger_one_that_is_not(two: Result) -> None:
    error = np.random.default_rng(4).normal(size=N)
    goodput = np.ones((2, 3, N)) * noise((2, 3, N), 1, 0.002)
    goodput[1, 0] *= 0.98  # shown
    goodput[1, 1] *= 3
    goodput[1, 2] *= np.exp(-0.1 + 0.5 * (error - error.mean()))  # larger, and may be chance
    found = rank(plant(two, {"goodput_bps": 1e6 * goodput}))
    assert "At rtt 20 ms cubic is 2.0" in found.sentence or "At rtt 20 ms it is 2.0" in found.sentence
    assert "80 ms" not in found.sentence
    goodput[1, 0] /= 0.98
    unshown = rank(plant(two, {"goodput_bps": 1e6 * goodput})).sentence
    assert "shown to be behind; at rtt 80 ms it is" in unshown
    assert "which may be chance." in unshown


def test_the_interval_that_a_rank_follows_from_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    three = played(tmp_path, ccs=("reno", "cubic", "vegas"), rtts=("20 ms", "40 ms"), n=N)
    # vegas leads reno by 1 %, precisely; cubic is between them, and so noisy that it is told from neither.
    goodput = np.array([1.0, 1.005, 1.01])[:, None, None] * noise((3, 2, N), 1, 0.002)
    goodput[1] *= noise((3, 2, N), 2, 0.03)[1]
    planted = plant(three, {"goodput_bps": 1e6 * goodput})
    found = rank(planted, base="cubic")
    reno = line(found, "reno")
    assert reno.rank == 3
    assert reno.score.shown is None  # against the base
    (said,) = [each for each in text.footing(found) if each.startswith("ranks follow")]
    straight = line(rank(planted), "reno").score
    assert said.startswith(
        f"ranks follow from intervals against the first of a rank: reno {straight.against - 1:.2%}"[:-1]
    )
    assert said.endswith("against vegas")
    pairs = {(pair["first"], pair["second"]): pair for pair in found.to_json()["pairs"]}
    assert len(pairs) == 3
    own = pairs["vegas", "reno"]
    assert own["ratio"] == pytest.approx(1 / straight.against)
    assert own["low"] == pytest.approx(1 / straight.high)  # type: ignore[operator]
    assert own["shown"]
    planted.save(tmp_path / "saved")
    assert main(["rank", str(tmp_path / "saved"), "--base", "cubic"]) == 0
    assert " ".join(said.split()) in " ".join(capsys.readouterr().out.split())


def test_a_probability_is_never_said_to_be_certain() -> None:
    assert [text.probability(share) for share in (1.0, 0.9999, 0.99, 0.5, 0.01, 0.0001, 0.0)] == [
        "> 99 %", "> 99 %", "99 %", "50 %", "1 %", "< 1 %", "< 1 %",
    ]  # fmt: skip
