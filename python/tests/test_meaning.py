"""Names of metrics that are none: the one that is meant, by quantity, then by statistic and unit."""

from __future__ import annotations

import re

import pytest

from ackclock import InputError
from ackclock.comparison.values import KNOWN, chosen
from ackclock.ranking import goals
from ackclock.results import meaning


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("p95_rtt_s", ["mean_rtt_s"]),  # by its quantity, which p95_fct_s has not
        ("rtt", ["mean_rtt_s"]),
        ("goodput", ["goodput_bps"]),
        ("throughput", ["goodput_bps"]),
        ("throughputs_bps", ["goodput_bps"]),
        ("total_throughput", ["total_goodput_bps"]),
        ("p95_latency", ["p95_delay_s"]),
        ("p95-queueing-delay", ["p95_queue_delay_s"]),
        ("average_queue_delay", ["mean_queue_delay_s"]),
        ("median_fct", ["p50_fct_s"]),
        ("fairness", ["jain"]),
        ("jain_index", ["jain"]),
        ("utilization", ["utilisation"]),
        ("loss", ["loss_percent"]),
        ("retransmissions", ["retransmitted_percent"]),
        ("slowdwon", ["mean_slowdown", "p50_slowdown"]),
        ("colour", []),
    ],
)
def test_what_is_meant(word: str, meant: list[str]) -> None:
    assert sorted(meaning.nearest(word, list(KNOWN))) == sorted(meant)


def test_every_known_name_is_the_nearest_to_itself() -> None:
    for name in KNOWN:
        assert name in meaning.nearest(name, list(KNOWN))


def test_the_message_is_one_short_line() -> None:
    with pytest.raises(InputError, match=re.escape("metric: unknown metric 'p95_rtt_s'; did you mean 'mean_rtt_s'?")):
        chosen(["p95_rtt_s"])
    with pytest.raises(InputError) as caught:
        goals.read("colour")
    assert len(str(caught.value)) < 250
    for preset in goals.PRESETS:
        assert len(re.findall(rf"(?<![\w-]){preset}(?![\w-])", str(caught.value))) == 1, "each goal once"
    with pytest.raises(InputError) as caught:
        goals.read("bulky")
    assert str(caught.value).endswith("did you mean 'bulk'?")
