"""Measures of the study of web pages over LTE: what a run comes to."""

from __future__ import annotations

import polars as pl

from ackclock.study import Run, measure


@measure(kind="amount")
def load_time(run: Run) -> float | None:
    """Mean load time of the pages that were completed, s."""
    done = run.pages.filter(pl.col("outcome") == "completed")["plt_s"]
    return None if done.is_empty() else float(done.mean())  # type: ignore[arg-type]


@measure(kind="share")
def unfinished(run: Run) -> float | None:
    """Share of the pages begun that were not completed within the run."""
    return None if not run.pages.height else 1 - run.pages["plt_s"].count() / run.pages.height


@measure(kind="amount")
def pages(run: Run) -> int:
    """Pages that were begun."""
    return run.pages.height


@measure(kind="share")
def rho(run: Run) -> float:
    """Share of the resource blocks of the downlink that were used."""
    return float(run.cells[0]["rho_rb"])


@measure(kind="share")
def rho_tti(run: Run) -> float:
    """Share of the TTIs of the downlink that were used."""
    return float(run.cells[0]["rho_tti"])


@measure(kind="amount")
def dropped(run: Run) -> int:
    """Packets that grew too old in the queues of the base station."""
    return sum(int(user["drops"]) for user in run.users)


@measure(kind="amount")
def waited(run: Run) -> float | None:
    """Time in these queues, mean over packets, s."""
    packets = sum(user["delivered_packets"] for user in run.users)
    total = sum(user["mean_wait_s"] * user["delivered_packets"] for user in run.users if user["delivered_packets"])
    return total / packets if packets else None
