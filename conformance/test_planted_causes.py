"""The verdict on what limits connections names a cause that was planted: of campaigns that are played here."""

from __future__ import annotations

from pathlib import Path

from planted_causes import CAUSES, NUMBER, drawn, play

FEW = 3
"""Campaigns of each cause that the simulator can show."""


def test_planted_causes_are_named(tmp_path: Path) -> None:
    mine = [number for number in range(NUMBER) if drawn(number).engine == "sim"]
    chosen = [number for cause in CAUSES for number in [n for n in mine if drawn(n).cause == cause][:FEW]]
    rows = [play(number, tmp_path) for number in chosen]
    assert len(rows) == FEW * (len(CAUSES) - 1)
    assert [row for row in rows if not row.right] == []
