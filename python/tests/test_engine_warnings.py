"""What the engine warns of, in words that fit what was sent."""

from __future__ import annotations

from typing import Any

from ackclock.results import warnings
from ackclock.study import warned


def manifest(app: str, *texts: str) -> dict[str, Any]:
    resolved = {"flows": [{"id": "0", "app": {"kind": app}}]}
    return {"points": [{"point": 0, "resolved": resolved}], "runs": [{"run": 0, "point": 0, "warnings": list(texts)}]}


def test_what_failed_of_pages_are_connections() -> None:
    text = "3 transfers of flow 0 failed: the retransmission limit was reached"
    assert warnings.of(manifest("web", text)) == [
        "3 connections of flow 0 failed: the retransmission limit was reached"
    ]
    assert warnings.of(manifest("request", text)) == [text]


def test_one_is_no_plural() -> None:
    text = "1 transfers of flow 0 failed: it was reset"
    assert warnings.of(manifest("request", text)) == ["1 transfer of flow 0 failed: it was reset"]
    assert warnings.of(manifest("web", text)) == ["1 connection of flow 0 failed: it was reset"]


def test_before_a_run_nothing_is_known_of_its_flows() -> None:
    assert warnings.of({"runs": [{"run": 0, "point": 0, "warnings": ["a"]}]}) == ["a"]


def test_studies_use_the_same_words() -> None:
    class Played:
        manifest = manifest("web", "2 transfers of flow 0 failed: reset")

    (line,) = warned.kinds({"one": Played()})  # type: ignore[dict-item]
    assert line == "one: 2 connections of flow 0 failed: reset"
