"""Results of flent (``.flent``, ``.flent.gz``; data file format 3 and older)."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.measure.imports.measured import Sample, Test, text_of

_STREAM = re.compile(r"TCP (?P<way>upload|download)(?P<name>.*)", re.DOTALL)
_SUMMED = re.compile(r" (avg|sum|total|totals|fairness)$")
"""Ends of names that flent works out of the others."""

_SAMPLED: Mapping[str, tuple[str, float]] = {
    "tcp_rtt": ("srtt", 1e-3),
    "tcp_rtt_var": ("rttvar", 1e-3),
    "tcp_delivery_rate": ("delivery_rate", 1e6),
    "tcp_pacing_rate": ("pacing_rate", 1e6),
}
"""What ``ss`` said of a sender: the series, and how much one of it is in base units.

Its windows are in segments, whose size is not known.
"""


def read(path: Path) -> list[Test]:
    """The test of a file. Raises :class:`InputError`."""
    try:
        document = json.loads(text_of(path))
        metadata, series = document["metadata"], document["raw_values"]
        name, length = str(metadata["NAME"]), float(metadata["LENGTH"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"no result of flent ({why})", "give a .flent or .flent.gz file", source=str(path)) from None
    try:
        return [_read(path.name, name, length, metadata, series)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return [Test(path.name, "flent", problem=f"not what flent writes ({type(error).__name__}: {error})")]


def _read(source: str, name: str, length: float, metadata: Mapping[str, Any], series: Mapping[str, Any]) -> Test:
    names = (key for key, rows in series.items() if rows and "::tcp_" not in key and not _SUMMED.search(key))
    ways = [found for key in names if (found := _STREAM.fullmatch(key))]
    ways.sort(key=lambda way: way["way"] != "download")
    if not ways:
        return Test(source, "flent", problem=f"test '{name}' has no TCP streams")
    began = min(float(item["t"]) - float(item.get("dur", 0.0)) for way in ways for item in series[way[0]])
    flows, samples = [], list[Sample]()
    cc = str(metadata.get("TEST_PARAMETERS", {}).get("tcp_cong_control", "unknown"))
    for number, way in enumerate(ways):
        rows = [item for item in series[way[0]] if item.get("val") is not None]
        carried = sum(float(item["val"]) * 1e6 * float(item.get("dur", 0.0)) for item in rows)
        seconds = sum(float(item.get("dur", 0.0)) for item in rows)
        rate = carried / seconds if seconds > 0 else _mean([float(item["val"]) * 1e6 for item in rows])
        own = list(_samples(str(number), series[way[0]], began))
        rtts = [value for _, _, metric, value in own if metric == "srtt"]
        flows.append(
            {
                "id": str(number),
                "app": "bulk",
                "cc": cc,
                "start_s": min(float(item["t"]) - float(item.get("dur", 0.0)) for item in series[way[0]]) - began,
                "goodput_bps": rate,
                "goodput_bytes": int(carried / 8) if seconds > 0 else None,
                "mean_rtt_s": _mean(rtts),
                "max_rtt_s": max(rtts, default=None),
                "completed": False,
            }
        )
        samples += own
    pings = [(key, rows) for key, rows in series.items() if key.startswith("Ping (ms)") and not _SUMMED.search(key)]
    told = {key: _spread(rows) for key, rows in pings}
    directions = {way["way"] for way in ways}
    direction = "both" if len(directions) > 1 else {"download": "down", "upload": "up"}[directions.pop()]
    when = metadata.get("T0") or metadata.get("TIME")
    settings: dict[str, str | int | float] = {"test": name, "connections": len(ways), "direction": direction, "cc": cc}
    version = f"flent {metadata.get('FLENT_VERSION', '')}".strip()
    downs = sum(way["way"] == "download" for way in ways) if direction == "both" else None
    return Test(source, version, settings, length, 0.0, _unix(when), flows, samples=samples, told=told, downs=downs)


def _samples(place: str, rows: Any, began: float) -> Iterator[Sample]:
    so_far = 0.0
    for item in rows:
        time = float(item["t"]) - began
        for key, (metric, unit) in _SAMPLED.items():
            if item.get(key) is not None:
                yield time, place, metric, float(item[key]) * unit
        if item.get("val") is not None and item.get("dur") is not None:
            so_far += float(item["val"]) * 1e6 / 8 * float(item["dur"])
            yield time, place, "delivered", so_far


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _spread(rows: Any) -> dict[str, float]:
    """Round trips of packets of their own, ms: series of flows have no place for them."""
    values = sorted(float(item["val"]) for item in rows if item.get("val") is not None)
    ranks = {"p50_ms": 0.5, "p95_ms": 0.95, "max_ms": 1.0}
    return {name: values[max(0, math.ceil(share * len(values)) - 1)] for name, share in ranks.items() if values}


def _unix(text: Any) -> float | None:
    try:
        when = dt.datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=dt.UTC)).timestamp()
