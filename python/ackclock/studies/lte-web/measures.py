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


@measure(kind="amount")
def goodput(run: Run) -> float:
    """Goodput of the first flow, bit/s."""
    return float(run.flow("0")["goodput_bps"])


def last_cut(run: Run) -> tuple[float, float, float, float] | None:
    """The last fall of the window: time, window before, slow start threshold after it (B), smoothed RTT (s)."""
    thresholds, windows = run.series("ssthresh"), run.series("cwnd")
    if len(thresholds.time) < 2:
        return None
    time, threshold = float(thresholds.time[-1]), float(thresholds.value[-1])
    return time, windows.at(time - 1e-6), threshold, run.series("srtt").at(time)


def segments(run: Run, size: float) -> float:
    """A size in segments of the run."""
    return size / float(run.resolved["flows"][0]["mss"])


@measure(kind="amount")
def growth(run: Run) -> float | None:
    """Segments that the window gained in the RTT before its last fall: a of HighSpeed."""
    cut = last_cut(run)
    if cut is None:
        return None
    time, window, _threshold, rtt = cut
    return segments(run, window - run.series("cwnd").at(time - rtt))


@measure(kind="share")
def reduction(run: Run) -> float | None:
    """Share of the window that its last fall took: b of HighSpeed."""
    cut = last_cut(run)
    return None if cut is None else 1 - cut[2] / cut[1]


@measure(kind="amount")
def window_before(run: Run) -> float | None:
    """Window before its last fall, segments."""
    cut = last_cut(run)
    return None if cut is None else segments(run, cut[1])


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
