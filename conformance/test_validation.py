"""docs/validation.md says what the runs say."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import validation
from ackclock.engine import catalogue
from agreement import Figure, figure


def test_what_is_generated_is_up_to_date() -> None:
    assert not list(validation.stale()), "run: make docs"


def test_the_summary_for_the_command_line() -> None:
    """Its form is read by `ackclock cc`."""
    summary = json.loads((validation.ROOT / validation.STATUS).read_text(encoding="utf-8"))
    assert list(summary) == list(catalogue().controllers)
    for name, entry in summary.items():
        assert set(entry) == {"cells", "agree", "note", *(["limited"] if entry["cells"] else [])}, name
        assert 0 <= entry["agree"] <= entry["cells"], name
        assert entry["note"].endswith("."), name
        if limited := entry.get("limited"):
            assert limited["cells"] == limited["agree"] + len(limited["off"]), name
            assert limited["cells"] == 15, name


def test_a_difference_beyond_what_is_known_is_called_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[Figure]:
        yield figure("s1", "newreno", "goodput", (9e6, 9.5e6), 0.02)

    monkeypatch.setattr(validation, "REFERENCES", {"ns-3": broken})
    validation.figures.cache_clear()
    try:
        assert "| 9 | 9.50 | -5.3 % | 2 % | **differs** |" in validation.comparison("ns-3")
        assert "| ns-3 | 1 | 0 | 0 | 1 |" in validation.summary()
    finally:
        validation.figures.cache_clear()


@pytest.mark.parametrize(
    ("value", "text"), [(47, "47"), (17.04, "17.0"), (0.75663, "0.757"), (1171432.0, "1 170 000"), (129.6, "130")]
)
def test_three_digits(value: float, text: str) -> None:
    assert validation.short(value) == text
