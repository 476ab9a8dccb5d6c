"""A key that is given twice is named, with both of its lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackclock.errors import InputError
from ackclock.measure import campaign
from ackclock.scenario.plan import load
from ackclock.study.reader import Source

CASES = [
    ("[topology]\nrtt = 1\nrate = 2\nrtt = 3\n", "topology.rtt: it is given twice, in lines 2 and 4; keep one of them"),
    ("[run]\nseed = 1\n\n[run]\n", "run: it is given twice, in lines 1 and 4; keep one of them"),
    ("[[flows]]\na = 1\n[[flows]]\na = 1\na = 2\n", "flows.1.a: it is given twice, in lines 4 and 5; keep"),
    ("[t]\nq = { limit = 1, limit = 2 }\n", "t.q.limit: it is given twice in line 2; keep one of them"),
    ("[a]\nb = 1\n[a.b]\nc = 2\n", "a.b: it is given twice, in lines 2 and 3; keep one of them"),
    ("[t]\nq = { k = 1 }\nq.l = 2\n", "t.q.l: it is given twice, in lines 2 and 3; keep one of them"),
    ("x = [\n 1,\n]\nx = [\n 2,\n]\n", "x: it is given twice, in lines 1 and 4; keep one of them"),
    ("[run]\n[[run]]\n", "run: it is given twice, in lines 1 and 2; keep one of them"),
    ("rtt = 1 %\n", "not valid TOML: "),
]


@pytest.mark.parametrize(("text", "said"), CASES)
def test_the_key_and_both_lines_are_said(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(text, encoding="utf-8")
    for read in (load, Source, campaign.load):
        with pytest.raises(InputError) as refused:
            read(file)
        line = str(refused.value)
        assert line.startswith(f"{file}: {said}"), line
        assert "\n" not in line
