"""The verdict on what limits connections names a cause that was planted: of 200 in a table, and some played here."""

from __future__ import annotations

from pathlib import Path

from planted_causes import CAUSES, NUMBER, Row, drawn, play, table

FEW = 3
"""Campaigns of each cause that the simulator can show."""


def test_planted_causes_are_named(tmp_path: Path) -> None:
    mine = [number for number in range(NUMBER) if drawn(number).engine == "sim"]
    chosen = [number for cause in CAUSES for number in [n for n in mine if drawn(n).cause == cause][:FEW]]
    rows = [play(number, tmp_path) for number in chosen]
    assert len(rows) == FEW * (len(CAUSES) - 1)
    assert [row for row in rows if not row.right] == []


def test_the_table_has_what_is_promised() -> None:
    rows = table()
    assert [row.number for row in rows] == list(range(NUMBER))
    assert all((row.cause, row.engine) == (drawn(row.number).cause, drawn(row.number).engine) for row in rows)
    # What docs/measure.md states; asked for were 0.95.
    assert sum(row.right for row in rows) == 199
    assert sum(row.engine == "measure" for row in rows) == 89
    assert all(row.right for row in rows if row.cause == "saturated")


def test_a_row_is_right_if_the_cause_is_named() -> None:
    row = Row(0, "saturated", "sim", 20, 40, "none", 0.97)
    assert row.right
    assert not Row(0, "window", "sim", 20, 40, "none", 0.97).right


def test_campaigns_of_the_table_come_out_again(tmp_path: Path) -> None:
    mine = [row for row in table() if row.engine == "sim"][-4:]
    assert [play(row.number, tmp_path) for row in mine] == mine
