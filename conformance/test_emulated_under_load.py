"""What was recorded of runs beside busy processes (emulated_under_load.py): none is wrong and says it is valid."""

from __future__ import annotations

import json
import random
from pathlib import Path

from emulated_under_load import RATES, RECORD, SILENT, draw, outcomes, table

KEPT = json.loads(RECORD.read_text(encoding="utf-8"))
PAGE = Path(__file__).parents[1] / "docs" / "engines.md"


def test_a_hundred_runs_of_the_cases_that_are_drawn_have_no_silent_error() -> None:
    dice = random.Random(KEPT["seed"])
    found = outcomes(KEPT)
    assert [case for case, _ in found] == [draw(dice) for _ in range(100)]
    assert [case for case, outcome in found if outcome.word == SILENT] == []
    assert KEPT["busy"] >= 2 * KEPT["processors"]
    assert all(bool(outcome.problems) != outcome.valid for _, outcome in found)
    # Of every rate some, the fastest with offload; and of every rate some that are valid.
    assert {case.mbits for case, _ in found} == set(RATES)
    assert all(case.offload for case, _ in found if case.mbits == RATES[-1])
    assert {case.mbits for case, outcome in found if outcome.valid} == set(RATES)


def test_the_page_has_the_table_of_the_record() -> None:
    assert "\n".join(["", *table(KEPT), ""]) in PAGE.read_text(encoding="utf-8")
