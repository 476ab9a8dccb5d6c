"""Claims of the study: each sentence of the paper that can be checked. Ids are those of README.md."""

from __future__ import annotations

from ackclock.study import Results, Run, Verdict, at_least, claim, least, measure


@measure(kind="share")
def utilisation(run: Run) -> float:
    """Share of the bottleneck's rate that was used."""
    return float(run.bottleneck["utilisation"])


@claim(
    "A1",
    "Two flows fill the bottleneck, whichever the controller. Value: the smallest utilisation.",
    short="Two flows fill the bottleneck.",
    unit="of the rate",
    paper=0.95,
    tolerance="at least 0.95",
)
def a1(results: Results) -> Verdict:
    """Look at each controller."""
    runs = results["pair"]
    return least((str(cc), at_least(runs.where(cc=cc).interval(utilisation), 0.95)) for cc in runs.steps("cc"))
