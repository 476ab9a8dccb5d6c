"""Measures of the split-TCP study: from captures where a scenario is `captured`, else from the simulator's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.errors import InputError
from ackclock.study import Run, measure
from ackclock.study.code import Measure

SIZES = (100_000, 500_000, 1_000_000, 5_000_000, 10_000_000, 20_000_000)
"""Bytes of the files, by the number of their flow."""
WEIGHTS = (0.15, 0.15, 0.15, 0.30, 0.125, 0.125)
"""45 % for files up to 1 MB, 30 % for 5 MB, 25 % for 10 MB and more; equal within a class."""
RELAY = "flows.0.relay"
OFF, ON = "none", "pep"


def split(run: Run) -> bool:
    """Whether the proxy is on."""
    return bool(run.params[RELAY] == ON)


def has_captures(run: Run) -> bool:
    """Whether the run's scenario is captured; those of other readings are not (X1 holds captures to the simulator)."""
    try:
        phone(run, 0)
    except InputError:
        return False
    return True


def phone(run: Run, number: int) -> Mapping[str, Any]:
    """What a capture at the phone has of a file."""
    return run.captured(f"flows.{number}/sink.sink" if split(run) else f"flows.{number}.sink")


def senders(run: Run, number: int) -> list[Mapping[str, Any]]:
    """What captures at the senders of its data have of a file: the server, and the proxy."""
    if not has_captures(run):
        return simulated(run, number)
    if split(run):
        return [run.captured(f"flows.{number}/{leg}.source") for leg in ("source", "sink")]
    return [run.captured(f"flows.{number}.source")]


def rate(run: Run, number: int) -> float | None:
    """Bit/s of a download, from the phone's SYN to its last byte; none if it did not end."""
    if not has_captures(run):
        return said(run, number)
    row = phone(run, number)
    if not row["completed"] or row["goodput_bytes"] != SIZES[number]:
        return None
    return 8 * float(row["goodput_bytes"]) / float(row["fct_s"])


def said(run: Run, number: int) -> float | None:
    """The same as the simulator says it, of runs without captures."""
    row = run.flow(str(number))
    if row["mean_fct_s"] is None or row["goodput_bytes"] != SIZES[number]:
        return None
    return 8 * SIZES[number] / float(row["mean_fct_s"])


def _of(number: int, name: str) -> Measure:
    def download(run: Run) -> float | None:
        return rate(run, number)

    download.__name__ = f"rate_{name}"
    download.__doc__ = f"Rate of the download of {name.replace('_', '.')}, bit/s."
    return measure(kind="amount")(download)


rate_100k, rate_500k, rate_1m = _of(0, "100k"), _of(1, "500k"), _of(2, "1m")
rate_5m, rate_10m, rate_20m = _of(3, "5m"), _of(4, "10m"), _of(5, "20m")


def share(run: Run, part: str, whole: str, numbers: range) -> float | None:
    """Per cent of what senders count, over some files; the simulator has `acks` in place of `pure_acks`."""
    rows = [row for number in numbers for row in senders(run, number)]
    total = sum(int(row.get(whole, row["acks"]) or 0) for row in rows)
    return 100 * sum(int(row[part] or 0) for row in rows) / total if total else None


@measure(kind="percent")
def retransmitted(run: Run) -> float | None:
    """Bytes that were sent again, of all files and by all senders, %."""
    return share(run, "retransmitted_bytes", "sent_bytes", range(len(SIZES)))


@measure(kind="percent")
def retransmitted_10m(run: Run) -> float | None:
    """Bytes of the file of 10 MB that were sent again, %."""
    return share(run, "retransmitted_bytes", "sent_bytes", range(4, 5))


@measure(kind="percent")
def duplicates_10m(run: Run) -> float | None:
    """Duplicate ones of the acknowledgments of the file of 10 MB, %."""
    return share(run, "dup_acks", "pure_acks", range(4, 5))


@measure(kind="amount")
def timeouts_10m(run: Run) -> float:
    """Timeouts of the senders of the file of 10 MB."""
    return float(sum(int(row["timeouts"] or 0) for row in senders(run, 4)))


@measure(kind="amount")
def time_10m(run: Run) -> float | None:
    """Time of the download of 10 MB, s."""
    return float(phone(run, 4)["fct_s"]) if rate(run, 4) is not None else None


@measure(kind="amount")
def rtt_10m(run: Run) -> float | None:
    """Mean RTT of 10 MB at the last sender before the phone: the server, or the proxy, s."""
    found = senders(run, 4)[-1]["mean_rtt_s"]
    return None if found is None else float(found)


@measure(kind="amount")
def out_of_order_10m(run: Run) -> float:
    """Segments of 10 MB that reached the phone out of order."""
    return float(phone(run, 4)["reordered_segments"])


@measure(kind="amount")
def in_flight_10m(run: Run) -> float | None:
    """Mean bytes in flight of 10 MB at the last sender before the phone, B."""
    found = senders(run, 4)[-1]["mean_in_flight_bytes"]
    return None if found is None else float(found)


@measure(kind="amount")
def apart(run: Run) -> float:
    """How far the times of the downloads in the captures are at most from those that the simulator says, as a share."""
    found = []
    for number in range(len(SIZES)):
        said, seen = run.flow(str(number))["mean_fct_s"], phone(run, number)["fct_s"]
        if said:
            found.append(abs(float(seen) / float(said) - 1))
    return max(found, default=0.0)


COUNTED = ("sent_bytes", "retransmitted_bytes", "timeouts", "acks", "dup_acks")
"""What both captures at a sender of data and the simulator count of it."""


def simulated(run: Run, number: int) -> list[Mapping[str, Any]]:
    """What the simulator itself has of the senders of a file: the server, and the proxy."""
    if split(run):
        legs = {row["id"]: row for row in run.legs}
        return [legs[f"{number}/{leg}"] for leg in ("source", "sink")]
    return [run.flow(str(number))]


@measure(kind="amount")
def miscounted(run: Run) -> float:
    """Bytes, timeouts and acknowledgments of the downloads by which captures and the simulator differ, all together."""
    found = 0
    for number in range(len(SIZES)):
        for own, seen in zip(simulated(run, number), senders(run, number), strict=True):
            found += sum(abs(int(own[name]) - int(seen[name])) for name in COUNTED)
    return float(found)


@measure(kind="percent")
def again(run: Run) -> float | None:
    """Bytes of the only download that were sent again, by server and proxy, %."""
    rows = run.legs or [run.flow()]
    total = sum(int(row["sent_bytes"]) for row in rows)
    return 100 * sum(int(row["retransmitted_bytes"]) for row in rows) / total if total else None


@measure(kind="amount")
def delivered(run: Run) -> float:
    """Bytes that the phone has."""
    return float(run.flow()["goodput_bytes"])


@measure(kind="amount")
def undelivered(run: Run) -> float | None:
    """Bytes that the proxy had acknowledged to the server and nobody to the proxy; none without a proxy."""
    return run.counted("acked_undelivered_bytes")


@measure(kind="amount")
def believed(run: Run) -> float | None:
    """Bytes that the server believes delivered; with a proxy those that it took, without one nobody counts them."""
    return next((float(row["goodput_bytes"]) for row in run.legs if row["leg"] == "source"), None)


@measure(kind="amount")
def seconds(run: Run) -> float | None:
    """Time of the only download, s, as the simulator says it."""
    found = run.flow()["mean_fct_s"]
    return None if found is None else float(found)


@measure(kind="amount")
def only(run: Run) -> float | None:
    """Rate of the only download, bit/s."""
    found = seconds(run)
    size = run.flow()["goodput_bytes"]
    return None if not found else 8 * float(size) / found
