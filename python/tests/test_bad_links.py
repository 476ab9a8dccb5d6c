"""Impossible queues, rates, token buckets, losses and media: one line with file, key, line, problem and remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import refused

QUEUE = 'queue = { kind = "droptail", limit = "1 BDP" }'
RATE = 'rate = "10 Mbit/s"'


def queue(text: str) -> tuple[str, str]:
    """Another queue."""
    return QUEUE, f"queue = {{ {text} }}"


def link(text: str) -> tuple[str, str]:
    """A further key of the link, in line 6."""
    return QUEUE, f"{QUEUE}\n{text}"


def rate(text: str) -> tuple[str, str]:
    """Another rate, in line 3."""
    return RATE, f"rate = {{ {text} }}"


TRACES = {
    "empty": "",
    "down": "1\n5\n4\n",
    "text": "1\n1.5\n",
    "zero": "0\n0\n",
    "digits": f"1\n{'9' * 5000}\n",
    "late": "1\n1000000000000\n",
    "good": "1\n2\n",
}

CASES = [
    (
        queue('kind = "xyz", limit = "1 BDP"'),
        "topology.queue.kind: unknown queue 'xyz' (line 5); known: droptail, codel",
    ),
    (queue('kind = "fqcodel"'), "topology.queue.kind: unknown queue 'fqcodel' (line 5); did you mean 'fq_codel'?"),
    (queue('kind = "codel", targt = "5 ms"'), "'targt' (line 5); did you mean 'target'?"),
    (
        queue('kind = "codel", min = 5'),
        "topology.queue.min: unknown key of a codel queue 'min' (line 5); known: target",
    ),
    (queue('kind = "codel", target = 5'), "topology.queue.target: 5 has no unit (line 5)"),
    (queue('kind = "codel", target = "1 s"'), "topology.queue.target: must be shorter than 'interval' (line 5)"),
    (queue('kind = "red", min = 15, max = 5'), "topology.queue.min: min = 15 is not below max = 5 (line 5)"),
    (queue('kind = "red", max_p = 1.5'), "topology.queue.max_p: 1.5 is out of range (line 5)"),
    (queue('kind = "priority"'), "topology.queue.limit: missing key 'limit' (line 5)"),
    (
        queue('kind = "codel", mark_above = "20 packets"'),
        "mark_above: 'codel' decides by itself what it marks (line 5)",
    ),
    (
        queue('kind = "drr", limit = "1 BDP", weights = [1, 0]'),
        "topology.queue.weights: a weight must be above zero (line 5)",
    ),
    (
        queue('kind = "drr", limit = "1 BDP", weights = ["1"]'),
        "topology.queue.weights.0: '1' is not a number (line 5); write it without quotes and without a unit",
    ),
    (
        queue('kind = "drr", limit = "1 BDP", weights = [1, -2]'),
        "topology.queue.weights: a weight must be above zero (line 5)",
    ),
    (
        rate('trace = "nowhere.trace"'),
        "topology.rate.trace: cannot read 'nowhere.trace' (no such file or directory) (li",
    ),
    (rate('trace = "empty.trace"'), "topology.rate.trace: the trace 'empty.trace' is empty (line 3); it has one whole"),
    (rate('trace = "down.trace"'), "line 3 of 'down.trace' is earlier than the line before (line 3)"),
    (rate('trace = "text.trace"'), "line 2 of 'text.trace' is '1.5', not a whole number (line 3)"),
    (rate('trace = "zero.trace"'), "the last line of 'zero.trace' is 0 (line 3); the trace repeats after that time"),
    (rate('trace = "down.trace", opportunity = 1500'), "topology.rate.trace: line 3 of"),
    (rate('on = "1 s", rate = "5 Mbit/s"'), "topology.rate.off: missing key 'off' (line 3); add it"),
    (rate('on = "1 s", off = "0 s", rate = "5 Mbit/s"'), "topology.rate.off: '0 s' is zero (line 3)"),
    (rate("steps = []"), "topology.rate.steps: steps are a list of tables (line 3)"),
    (rate('steps = [{ at = "1 s", rate = "5 Mbit/s" }]'), "rate.steps.0: the rate before the first step is unknown"),
    (
        rate('steps = [{ at = "0 s", rate = "5 Mbit/s" }, { at = "0 s", rate = "off" }]'),
        "topology.rate.steps.1: a step must begin after the one before it (line 3); put them in the order of time",
    ),
    (rate('steps = [{ at = "0 s", rate = "off" }]'), "the link is always off (line 3); give at least one step a rate"),
    (rate('trace = "digits.trace"'), f"topology.rate.trace: line 2 of 'digits.trace' is {'9' * 57}..., too late (line"),
    (
        rate('trace = "late.trace"'),
        "line 2 of 'late.trace' is 1000000000000, too late (line 3); a trace lasts less than",
    ),
    (rate('trace = "text.trace", opportunity = "5 GB"'), "line 2 of 'text.trace'"),
    (rate('trace = "good.trace", opportunity = "5 GB"'), "rate.opportunity: '5 GB' is too large (line 3); the most is"),
    (rate("stepps = 1"), "topology.rate.stepps: unknown key of a rate 'stepps' (line 3); did you mean 'steps'?"),
    (link('policer = { rate = "5 Mbit/s" }'), "topology.policer.burst: missing key 'burst' (line 6)"),
    (link('policer = { rate = "5 Mbit/s", burst = "0 B" }'), "topology.policer.burst: '0 B' is zero (line 6)"),
    (
        link('policer = { rate = "5 Mbit/s", burst = "100 B" }'),
        "topology.policer.burst: 100 B never hold a full-size packet",
    ),
    (
        link('policer = { rate = "5 Mbit/s", burst = "5 GB" }'),
        "topology.policer.burst: '5 GB' is too large (line 6); the most is 4 GB",
    ),
    (
        link('shaper = { rate = "5 Mbit/s", burst = "5 GB" }'),
        "topology.shaper.burst: '5 GB' is too large (line 6); the most is 4 GB",
    ),
    (
        link('link_overhead = "4 GB"'),
        "topology.link_overhead: '4 GB' is too large (line 6); the most is 65535 B",
    ),
    (link('shaper = { burst = "15 kB" }'), "topology.shaper.rate: missing key 'rate' (line 6)"),
    (
        link('shaper = { rate = "5 Mbit/s", burst = "100 B" }'),
        "topology.shaper.burst: 100 B never hold a full-size packet",
    ),
    (link('loss = "150 %"'), "topology.loss: '150 %' is outside 0 to 1 (line 6)"),
    (
        link("loss = { gilbert_elliott = { p = 1.5, r = 0.3 } }"),
        "topology.loss.gilbert_elliott.p: 1.5 is outside 0 to 1",
    ),
    (
        link("loss = { gilbert_elliott = { p = 0, r = 0 } }"),
        "gilbert_elliott.p: the channel never changes its state (line 6); give p and r above 0",
    ),
    (
        link("loss = { gilbert_elliott = { p = 1, r = 0 } }"),
        "gilbert_elliott.r: once bad it never turns good: every packet would be lost (line 6); give r above 0",
    ),
    (
        link("loss = { gilbert_elliott = { p = 0.1, r = 0.1, k = 0 } }"),
        "topology.loss.gilbert_elliott.k: no packet survives in either state (line 6); give k above 0",
    ),
    (link("loss = { drops = [] }"), "topology.loss.drops: an empty list (line 6); name at least one packet, or"),
    (link(f"loss = {{ every = {2**64} }}"), f"topology.loss.every: {2**64} is out of range (line 6); give at most"),
    (link("loss = { gilbert_elliott = { p = 0.5 } }"), "topology.loss.gilbert_elliott.r: missing key 'r' (line 6)"),
    (
        link("loss = { ber = 1e-6, p = 0.1 }"),
        "topology.loss: a loss has exactly one of p, every, drops, gilbert_elliott",
    ),
    (link('jitter = { kind = "uniform", low = "1 ms" }'), "topology.jitter.high: missing key 'high' (line 6); uniform"),
    (
        link('jitter = { kind = "uniform", low = "2 ms", high = "1 ms" }'),
        "topology.jitter.low: the least delay is above",
    ),
    (
        link('jitter = { kind = "normal", mean = "2 ms", sd = "1 ms", low = "1 ms" }'),
        "normal jitter has no 'low' (line 6)",
    ),
    (
        link('jitter = { kind = "pareto", scale = "2 ms", shape = 1 }'),
        "topology.jitter.shape: 1 is out of range (line 6)",
    ),
    (
        link('jitter = { kind = "pareto", scale = "2 ms", shape = "2" }'),
        "topology.jitter.shape: '2' is not a number (line 6); write it without quotes",
    ),
    (link('jitter = { kind = "empirical", values = [] }'), "topology.jitter.values: an empty list (line 6)"),
    (link('jitter = { kind = "gamma" }'), "topology.jitter.kind: unknown kind 'gamma' (line 6); known: uniform"),
    (link('reorder = { p = 2, extra = "1 ms" }'), "topology.reorder.p: 2 is outside 0 to 1 (line 6)"),
    (link("duplicate = 1.5"), "topology.duplicate: 1.5 is outside 0 to 1 (line 6)"),
    (link('events = [{ at = "1 s" }]'), "topology.events.0.at: nothing changes (line 6); add for instance rate"),
    (
        link('events = [{ at = "0 s", rate = "off" }]'),
        "topology.events.0.rate: the link is always off (line 6); give at least one event a rate",
    ),
    (
        link('events = [{ at = "1 s", rat = "1 Mbit/s" }]'),
        "events.0.rat: unknown key 'rat' (line 6); did you mean 'rate'?",
    ),
]


@pytest.mark.parametrize(("change", "words"), CASES, ids=[f"{case[0][1][-40:]}" for case in CASES])
def test_link(
    scenario_file: Callable[..., Path], capsys: pytest.CaptureFixture[str], change: tuple[str, str], words: str
) -> None:
    path = scenario_file(change)
    for name, text in TRACES.items():
        (path.parent / f"{name}.trace").write_text(text, encoding="utf-8")
    said = refused(capsys, "run", path, "--out", path.parent / "out")
    assert said.startswith(f"ackclock: {path}: ")
    assert words in said
    assert "; " in said
    assert "(line " in said
    assert not (path.parent / "out").exists()


@pytest.mark.parametrize(
    ("other", "key", "words"),
    [
        (
            '"unlimited"',
            'events = [{ at = "1 s", rate = "5 Mbit/s" }]',
            "only a constant rate can be changed by events",
        ),
        (
            '{ on = "1 s", off = "1 s", rate = "5 Mbit/s" }',
            'events = [{ at = "1 s", rate = "5 Mbit/s" }]',
            "topology.events: only a constant rate can be changed by events (line 6); write all its changes as steps",
        ),
        (
            '"unlimited"',
            'shaper = { rate = "5 Mbit/s", burst = "15 kB" }',
            "topology.shaper: a shaper needs a link with",
        ),
        ('"unlimited"', 'policer = { rate = "5 Mbit/s", burst = "15 kB" }', "topology.policer: a policer needs a link"),
        ('"unlimited"', "duplicate = 0.1", "topology.duplicate: duplicate needs a link with a rate (line 6)"),
        (
            '{ on = "1 s", off = "1 s", rate = "5 Mbit/s" }',
            'shaper = { rate = "1 Mbit/s", burst = "15 kB" }',
            "a constant rate",
        ),
    ],
)
def test_keys_that_need_another_rate(
    scenario_file: Callable[..., Path], capsys: pytest.CaptureFixture[str], other: str, key: str, words: str
) -> None:
    path = scenario_file((RATE, f"rate = {other}"), (QUEUE, f'queue = "100 packets"\n{key}'))
    said = refused(capsys, "run", path)
    assert said.startswith(f"ackclock: {path}: topology")
    assert words in said
    assert "; " in said
