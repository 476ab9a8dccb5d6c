"""Quantities: what is read, what is refused, and that writing is the inverse of reading."""

from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.cli.plot import seconds
from ackclock.errors import Problem
from ackclock.scenario.values import units
from ackclock.scenario.values.units import DURATION, PACKETS, RATE, SIZE, Quantity, QueueLimit


@pytest.mark.parametrize("mu", ["\u00b5", "\u03bc"], ids=["micro sign", "Greek mu"])
def test_plot_reads_both_letters_of_microseconds(mu: str) -> None:
    assert seconds(f"250{mu}s", "--from") == pytest.approx(250e-6)


@pytest.mark.parametrize(
    ("quantity", "text", "value"),
    [
        (RATE, "100 Mbit/s", 100_000_000),
        (RATE, "1.5 Mbit/s", 1_500_000),
        (RATE, "1e3 kbit/s", 1_000_000),
        (RATE, "2Gbit/s", 2_000_000_000),
        (DURATION, "160 ms", 160_000_000),
        (DURATION, "0.1 us", 100),
        (DURATION, "200 \u00b5s", 200_000),
        (DURATION, "200 \u03bcs", 200_000),
        (DURATION, " 5 s ", 5_000_000_000),
        (DURATION, "2 min", 120_000_000_000),
        (DURATION, "0 s", 0),
        (SIZE, "14 B", 14),
        (SIZE, "64 kB", 64_000),
        (SIZE, "6 MiB", 6_291_456),
        (PACKETS, "132 packets", 132),
        (PACKETS, "1 packet", 1),
    ],
)
def test_reads(quantity: Quantity, text: str, value: int) -> None:
    assert quantity.parse(text) == value


@pytest.mark.parametrize(
    ("quantity", "value", "words"),
    [
        (RATE, "100", "no unit"),
        (RATE, 100, "no unit"),
        (RATE, "-1 Mbit/s", "negative"),
        (RATE, "0 bit/s", "zero"),
        (RATE, "100 Mbps", "did you mean 'Mbit/s'"),
        (RATE, "100 mbit/s", "did you mean 'Mbit/s'"),
        (RATE, "fast", "not a rate"),
        (RATE, "1e9 Tbit/s", "too large"),
        (RATE, "1e99999 bit/s", "unknown unit"),
        (RATE, "1e9999 bit/s", "too large"),
        (RATE, True, "not a rate"),
        (DURATION, "5 sec", "did you mean 's'"),
        (DURATION, "nan s", "not a duration"),
        (DURATION, float("inf"), "not a duration"),
        (DURATION, "0.1 ns", "rounds to nothing"),
        (DURATION, "5 MB", "unknown unit 'MB'"),
        (DURATION, "", "not a duration"),
        (DURATION, None, "not a duration"),
        (SIZE, "64 KB", "did you mean 'kB'"),
        (SIZE, "x" * 100, f"'{'x' * 57}...' is not a size"),
        (SIZE, f"1 {'x' * 100}", f"unknown unit '{'x' * 57}...' in"),
        (RATE, "9" * 5000 + " bit/s", f"'{'9' * 57}...' is too large"),
    ],
)
def test_refuses(quantity: Quantity, value: object, words: str) -> None:
    with pytest.raises(Problem) as caught:
        quantity.parse(value, zero=False)
    assert words in str(caught.value)


def test_a_key_may_have_a_limit_of_its_own() -> None:
    assert SIZE.parse("65535 B", most=65_535) == 65_535
    for text in ("65536 B", "66 kB", "1e40 B"):
        with pytest.raises(Problem, match=r"is too large; the most is 65535 B$"):
            SIZE.parse(text, most=65_535)


@given(st.sampled_from([DURATION, RATE, SIZE, PACKETS]), st.integers(0, 10**12))
def test_what_is_written_reads_back(quantity: Quantity, value: int) -> None:
    assert quantity.parse(quantity.format(value)) == value


@given(st.sampled_from([DURATION, RATE, SIZE]), st.text(max_size=30))
def test_any_text_is_read_or_refused_politely(quantity: Quantity, text: str) -> None:
    with contextlib.suppress(Problem):
        assert quantity.parse(text) >= 0


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("0.2 BDP", QueueLimit("bdp", Fraction(1, 5))),
        ("132 packets", QueueLimit("packets", Fraction(132))),
        ("64 kB", QueueLimit("bytes", Fraction(64_000))),
        ("unlimited", QueueLimit("unlimited")),
    ],
)
def test_queue_limits(text: str, limit: QueueLimit) -> None:
    assert units.parse_queue_limit(text) == limit
    assert str(limit) == text


@pytest.mark.parametrize("text", ["0 packets", "0 BDP", "-1 BDP", "1001 BDP", "132", "5 bananas", "big", ""])
def test_refuses_impossible_queue_limits(text: str) -> None:
    with pytest.raises(Problem):
        units.parse_queue_limit(text)


def test_fractions() -> None:
    assert units.parse_fraction("0.5 %") == 0.005
    assert units.parse_fraction(0.25) == 0.25
    for value in ("5", -0.1, "101 %", "half", True):
        with pytest.raises(Problem):
            units.parse_fraction(value)
