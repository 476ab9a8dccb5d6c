"""What a claim of several parts says on the terminal, and what figures over time leave out."""

from __future__ import annotations

import pytest

from ackclock.study import Claim, Verdict, every, holds, labelled
from ackclock.study.runner import Judged
from ackclock.study.wording import lines, measured, undecided


def judged(verdict: Verdict) -> Judged:
    claim = Claim("E5", "It settles sooner.", None, "any", False, lambda _: verdict, "%")
    return Judged(claim, verdict)


OPEN = Verdict("inconclusive", 1.1, (0.9, 1.3))
GOOD, BAD = holds(True, 3.0), holds(False, 9.0)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([GOOD, GOOD], None),
        ([GOOD, BAD, OPEN], ("refuted: b: 9", 0)),
        ([GOOD, OPEN, OPEN], ("open: b: 1.1 (0.9 to 1.3)", 1)),
    ],
)
def test_a_claim_that_does_not_hold_says_which_part(parts: list[Verdict], said: tuple[str, int] | None) -> None:
    verdict = every(*(labelled(name, part) for name, part in zip("abc", parts, strict=False)))
    assert undecided(verdict) == said
    found = lines(judged(verdict), quick=False, width=60)
    assert len(found) == (2 if said is None else 3)
    if said is not None:
        assert found[2] == f"     {said[0]}{'; 1 more' if said[1] else ''}"


def test_a_part_that_is_too_long_is_cut_and_counted() -> None:
    verdict = every(*(labelled(f"{n} kbit/s, {'RED 50 packets, ' * 5}ratio", OPEN) for n in range(3)))
    last = lines(judged(verdict), quick=True, width=60)[-1]
    assert len(last) <= 60
    assert last.endswith(" ...; 2 more")


def test_a_value_with_one_end_says_how_far_it_may_be() -> None:
    verdict = Verdict("pass", 0.02222, (None, 0.0847))
    assert measured(judged(verdict)) == "0.022 (up to 0.085) %"
