"""Times, volumes and rates of measurements, as people say them."""

from __future__ import annotations

import pytest

from ackclock.measure import amounts


@pytest.mark.parametrize(
    ("bps", "words"),
    [
        (30_539_771_760.0, "30.5 Gbit/s"),
        (999_600_000.0, "1 Gbit/s"),
        (999_400_000.0, "999 Mbit/s"),
        (28_900_000.0, "28.9 Mbit/s"),
        (512_300.0, "512 kbit/s"),
        (1e13, "10000 Gbit/s"),
        (0.0, "0 kbit/s"),
    ],
)
def test_a_rate_has_three_digits_and_no_power_of_ten(bps: float, words: str) -> None:
    assert amounts.rate(bps) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.2, "200 ms"),
        (1, "1 s"),
        (2.5, "2.5 s"),
        (59.96, "1 min 0 s"),
        (61, "1 min 1 s"),
        (3599.7, "1 h 0 min"),
    ],
)
def test_a_short_time_is_not_none(seconds: float, words: str) -> None:
    assert amounts.duration(seconds * 1e9) == words


def test_volumes() -> None:
    assert [amounts.size(volume) for volume in (8.12e9, 999.9e9, 1500, 1e15)] == [
        "8.12 GB",
        "1 TB",
        "1.5 kB",
        "1000 TB",
    ]
