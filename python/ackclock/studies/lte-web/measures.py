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


@measure(kind="ratio")
def short_over_long(run: Run) -> float | None:
    """Rate of the flow with the shorter RTT over that of the other."""
    long, short = (float(run.flow(name)["goodput_bps"]) for name in ("0", "1"))
    return short / long if long > 0 else None


@measure(kind="share")
def first_share(run: Run) -> float | None:
    """Share of the first of two flows in the rate of both."""
    rates = [float(run.flow(name)["goodput_bps"]) for name in ("0", "1")]
    return rates[0] / sum(rates) if sum(rates) > 0 else None


@measure(kind="amount")
def estimate(run: Run) -> float | None:
    """Bandwidth that Westwood estimates, over the rate of the link: what its slow-start threshold is after losses.

    The threshold is the estimate times the smallest RTT (Mascolo et al., Westwood).
    """
    begin, rate = run.duration / 6, float(run.resolved["links"][0]["rate_bps"])
    thresholds = run.series("ssthresh")
    found = [value for time, value in zip(thresholds.time, thresholds.value, strict=True) if time >= begin]
    least = run.series("min_rtt").at(run.duration)
    return 8 * sum(found) / len(found) / least / rate if found and least > 0 else None
