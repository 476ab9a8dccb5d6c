"""Random loss: no difference of goodput from the kernel, pattern by pattern and over other patterns."""

from __future__ import annotations

from dataclasses import replace

import pytest

import random_loss
import random_loss_records as records
from random_loss import Pair, pairs, same_losses

CELLS = records.cells()
DRAWS = 40
SUSPECTED = 0.035
"""The smallest difference that a comparison of 40 patterns had once suggested in five controllers."""


def test_the_generator_is_that_of_the_kernel() -> None:
    """lib/random32.c has no vectors for a seed of 64 bits: L'Ecuyer's recursion, bit by bit, is the second source.

    z of his figure 1: ((z << a) ^ z) >> b, then the lowest bits are left out and the rest is shifted.
    """
    seed = 0x0123456789ABCDEF
    word = ((seed >> 32) ^ (seed << 10) ^ seed) % 2**32
    z1 = z2 = z3 = z4 = word
    expected = []
    for _ in range(100):
        z1 = (((z1 // 2) * 2) << 18) % 2**32 ^ (((z1 << 6) % 2**32 ^ z1) >> 13)
        z2 = (((z2 // 8) * 8) << 2) % 2**32 ^ (((z2 << 2) % 2**32 ^ z2) >> 27)
        z3 = (((z3 // 16) * 16) << 7) % 2**32 ^ (((z3 << 13) % 2**32 ^ z3) >> 21)
        z4 = (((z4 // 128) * 128) << 13) % 2**32 ^ (((z4 << 3) % 2**32 ^ z4) >> 12)
        expected.append(z1 ^ z2 ^ z3 ^ z4)
    assert records.draws([seed], 100)[0].tolist() == expected


def test_the_kernel_lost_the_packets_that_its_seeds_say() -> None:
    """netem's own counts: of the packets that it let pass or lost, as many as the seed loses.

    What it delays when the run ends, 20 ms at 20 Mbit/s, is in neither.
    """
    delayed = 20e-3 * 20e6 / (8 * 1514) + 1
    for run in records.records():
        lost = records.lost_packets(run.seed, run.loss)
        counted = run.sent + run.lost
        assert sum(n <= counted for n in lost) <= run.lost <= sum(n <= counted + delayed for n in lost), run


@pytest.mark.parametrize(("module", "loss"), CELLS)
def test_goodput_with_the_same_losses(module: str, loss: float) -> None:
    found = pairs(module, loss)
    contrast = same_losses(found)
    assert contrast.low is not None
    assert contrast.high is not None
    assert contrast.low <= 1 <= contrast.high, random_loss.ratio(contrast)
    # With the same losses most runs repair the same ones: as many retransmissions within one in twenty.
    close = sum(
        abs(pair.ours_retransmissions - pair.kernel_retransmissions) <= 0.05 * pair.kernel_retransmissions + 1
        for pair in found
    )
    assert close >= 0.6 * len(found)


@pytest.mark.parametrize("module", random_loss.modules())
def test_a_difference_as_once_suspected_would_be_seen(module: str) -> None:
    """Over all losses: the interval contains 1, and would not if ours were faster by what was suspected."""
    contrast = random_loss.together(module)
    assert contrast.low is not None
    assert contrast.high is not None
    assert contrast.low <= 1 <= contrast.high
    assert contrast.high - contrast.low < SUSPECTED
    faster = same_losses(
        replace(pair, ours_bps=(1 + SUSPECTED) * pair.ours_bps)
        for name, loss in CELLS
        if name == module
        for pair in pairs(name, loss)
    )
    assert faster.low is not None
    assert faster.low > 1


@pytest.mark.parametrize(("module", "loss"), CELLS)
def test_goodput_with_losses_of_our_own(module: str, loss: float) -> None:
    """What is played with `loss = { kind = "bernoulli" }`: the same goodput as with patterns of netem's generator."""
    contrast = random_loss.other_losses(module, loss, DRAWS)
    assert contrast.low is not None
    assert contrast.high is not None
    assert contrast.low <= 1 <= contrast.high, random_loss.ratio(contrast)


def test_the_comparison_can_fail() -> None:
    kernel = pairs("reno", 0.002)
    assert same_losses(kernel).value == pytest.approx(1, abs=0.01)
    moved = [Pair(p.kernel_bps, 1.02 * p.kernel_bps * (1 + i % 2 / 1000), 0, 0) for i, p in enumerate(kernel)]
    low = same_losses(moved).low
    assert low is not None
    assert low > 1.01
    # Another controller under the same losses is another.
    other = same_losses(
        Pair(a.kernel_bps, b.ours_bps, 0, 0) for a, b in zip(kernel, pairs("westwood", 0.002), strict=True)
    )
    assert other.low is not None
    assert other.low > 1.5


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert random_loss.main(["--only", "reno", "--draws", "3"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("reno") == 4
    assert "cubic" not in printed
    for arguments, words in ((["--only", "nobody"], "no records of nobody"), (["--draws", "1"], "needs two patterns")):
        with pytest.raises(SystemExit, match=words):
            random_loss.main(arguments)
