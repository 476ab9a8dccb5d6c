"""Short names of swept keys and their values."""

from __future__ import annotations

from pathlib import Path

import pytest

import ackclock
from ackclock import InputError
from ackclock.comparison import names
from shared import SMALL

KEYS = ["topology.rtt", "topology.queue.limit", "flows.0.cc", "run.seed"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [("rtt", 0), ("topology.rtt", 0), ("limit", 1), ("queue", 1), ("queue.limit", 1), ("cc", 2), ("seed", 3)],
)
def test_a_part_that_no_other_key_has_is_enough(given: str, meant: int) -> None:
    assert names.key(given, KEYS) == KEYS[meant]


def test_the_end_of_a_name_comes_before_other_parts() -> None:
    assert names.key("queue", ["topology.queue", "topology.queue.limit"]) == "topology.queue"


@pytest.mark.parametrize(
    ("given", "keys", "problem"),
    [
        ("topology", KEYS, "by: 'topology' may be topology.rtt or topology.queue.limit; write one of them"),
        ("cc", ["flows.0.cc", "flows.1.cc"], "'cc' may be flows.0.cc or flows.1.cc"),
        ("rt", KEYS, "unknown swept key 'rt'; "),
        ("rtt", [], "nothing is swept here"),
    ],
)
def test_what_is_none_or_several_is_refused(given: str, keys: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        names.key(given, keys)


def test_a_table_by_its_kind() -> None:
    words = ["droptail(limit=1 BDP)", "codel", "red(min=5)", "red(min=9)"]
    assert [names.value(word, words, "queue") for word in ("droptail", "codel", "red(min=9)")] == [*words[:2], words[3]]
    with pytest.raises(InputError, match="may be"):
        names.value("red", words, "queue")
    with pytest.raises(InputError, match="unknown value of 'queue'"):
        names.value("drop", words, "queue")


def test_a_swept_table(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SMALL, encoding="utf-8")
    queues = [{"kind": "droptail", "limit": "1 BDP"}, {"kind": "codel"}]
    result = ackclock.run(path, set={"topology.queue": queues}, replications=3, jobs=1)
    short = ackclock.compare(result, by="queue", base="codel")
    full = ackclock.compare(result, by="topology.queue", base="codel")
    assert short.a == "topology.queue=codel"
    assert short.frame.equals(full.frame)
