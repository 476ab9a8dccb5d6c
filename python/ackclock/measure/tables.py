"""From the tests of a campaign to the tables of a result, those of every engine (docs/results.md)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ackclock import engine, host
from ackclock.measure import blocks, iperf3, series
from ackclock.measure.campaign import Campaign, Point
from ackclock.measure.journal import Journal
from ackclock.results.live import LIVE
from ackclock.results.manifest import FORMAT, TABLES, Manifest
from ackclock.results.store import SweepDirectory

_S = 1e-9

_MORE: Mapping[str, Any] = {
    "block": pl.UInt32,
    "place": pl.UInt32,
    "began_unix_s": pl.Float64,
    "idle_rtt_s": pl.Float64,
    "clock_offset_s": pl.Float64,
    "clock_uncertainty_s": pl.Float64,
    "client_cpu_s": pl.Float64,
    "server_cpu_s": pl.Float64,
    "load": pl.Float64,
    "attempts": pl.UInt32,
    "goodput_bps": pl.Float64,
    "probe_bps": pl.Float64,
}
"""Columns of `runs` that only measurements have."""


def about(source: str, text: str) -> Manifest:
    """What the manifests of all measured results have: of a complete one, that `source` says, whose text is `text`."""
    catalogue = engine.catalogue()
    return {
        "format": FORMAT,
        "status": "complete",
        "missing": [],
        "version": catalogue.version,
        "engine": {"name": LIVE, "version": catalogue.version, "commit": catalogue.commit},
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "host": host.facts(),
        "scenario": {"source": source, "text": text, "changes": {}},
        "numbers": {},
        "files": {},
    }


def write(campaign: Campaign, journal: Journal) -> None:
    """Write the tables of what has been measured so far. Raises :class:`ackclock.errors.AckclockError`."""
    writer = _Writer(campaign, journal)
    place = SweepDirectory(journal.out)
    # The tables are made first: the manifest says what of each test is in them.
    place.finish(writer.put, writer.manifest())


class _Writer:
    def __init__(self, campaign: Campaign, journal: Journal) -> None:
        self._campaign = campaign
        self._journal = journal
        self._types = columns_of([point.params for point in campaign.points])
        self._empty = engine.empty_tables()
        self._probes = {key: self._probe(probe) for key, probe in journal.probes()}

    def put(self, folder: Path) -> None:
        """Write every table file; of the series one test is in memory at a time."""
        runs, flows, parts = [], [], []
        for run, test in self._good():
            keys = self._keys(run)
            rows = _rows(test)
            flows += [{**keys, **row} for row in rows]
            runs.append({**keys, **self._run(run, test, rows)})
            part = folder / f"series.{run}.part"
            self._labelled(keys, _series(test)).write_parquet(part, compression="lz4")
            parts.append(part)
        more = {"point": pl.UInt32, "duration_s": pl.Float64, "warmup_s": pl.Float64}
        counts = {"events": pl.UInt64, "packets": pl.UInt64}
        schema = {**self._types, **more, **counts, **_MORE}
        pl.DataFrame(runs, schema=schema).write_parquet(folder / "runs.parquet", compression="zstd")
        own = {name: kind for name, kind in self._empty["flows"].schema.items() if name not in self._types}
        table = pl.DataFrame(flows, schema={**self._types, **own})
        table.write_parquet(folder / "flows.parquet", compression="zstd")
        for name in TABLES[2:]:
            if name != "series":
                kinds = {key: kind for key, kind in self._empty[name].schema.items() if key not in self._types}
                pl.DataFrame(schema={**self._types, **kinds}).write_parquet(folder / f"{name}.parquet")
        if parts:
            pl.scan_parquet(parts).sink_parquet(folder / "series.parquet", compression="zstd", statistics=True)
        else:
            pl.DataFrame(schema={**self._types, **series.SCHEMA}).write_parquet(folder / "series.parquet")
        for part in parts:
            part.unlink()

    def manifest(self) -> Manifest:
        """The record beside them."""
        campaign, journal = self._campaign, self._journal
        total = len(campaign.points) * campaign.header.repetitions
        failed, done = journal.failed(), journal.done()
        notes = journal.blocks()
        entries, segments = [], dict[int, int]()
        for run, test in self._good():
            entries.append(self._entry(run, test, notes.get(test["block"], {})))
            segments.setdefault(run // campaign.header.repetitions, _segment(test))
        return {
            **about(campaign.source, self._without_servers(campaign.public_text())),
            "status": "complete" if len(done) == total else "interrupted",
            "missing": [run for run in range(total) if run not in done],
            "params": list(campaign.params),
            "points": [_point(point, segments.get(point.index, 1)) for point in campaign.points],
            "runs": entries,
            "probes": list(self._probes.values()),
            "failed": [
                {
                    "run": run,
                    "point": run // campaign.header.repetitions,
                    "replication": run % campaign.header.repetitions,
                    "problem": self._without_servers(problem),
                    "traceback": None,
                }
                for run, problem in failed.items()
            ],
        }

    def _good(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return ((run, test) for run, test in self._journal.tests() if test["problem"] is None)

    def _keys(self, run: int) -> dict[str, Any]:
        repetitions = self._campaign.header.repetitions
        params = self._campaign.points[run // repetitions].params
        own = {name: str(value) if self._types[name] == pl.String else value for name, value in params.items()}
        return {"run": run, **own, "seed": self._campaign.header.seed, "replication": run % repetitions}

    def _labelled(self, keys: Mapping[str, Any], table: pl.DataFrame) -> pl.DataFrame:
        own = [pl.lit(value, self._types[name]).alias(name) for name, value in keys.items()]
        return table.select(*own, pl.all().exclude(*keys))

    def _run(self, run: int, test: dict[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        found, idle = test["result"], test["idle_ns"]
        asked = found["asked"]
        return {
            "point": run // self._campaign.header.repetitions,
            "duration_s": asked["duration_ns"] * _S,
            "warmup_s": asked["warmup_ns"] * _S,
            "events": 0,
            "packets": sum(row.get("sent_segments") or 0 for row in rows),
            "block": test["block"],
            "place": test["place"],
            "idle_rtt_s": None if idle is None else min(idle) * _S,
            "load": (test["context"]["load"] or [None])[0],
            "attempts": len(test["attempts"]) + 1,
            "goodput_bps": blocks.goodput(found),
            "probe_bps": self._probes.get((test["block"], asked["direction"]), {}).get("goodput_bps"),
            **(_of_iperf3(found) if iperf3.made(found) else _of_ends(found)),
        }

    def _entry(self, run: int, test: dict[str, Any], block: Mapping[str, Any]) -> dict[str, Any]:
        found, repetitions = test["result"], self._campaign.header.repetitions
        own = not iperf3.made(found)
        connections = found["ends"]["client"]["connections"] if own else ()
        return {
            "run": run,
            "point": run // repetitions,
            "replication": run % repetitions,
            "seed": self._campaign.header.seed,
            "wall_s": found["ends"]["client"]["took_ns"] * _S if own else found["asked"]["duration_ns"] * _S,
            "events": sum(len(way["time_ns"]) for way in connections),
            "packets": 0,
            "warnings": [*block.get("warnings", ()), *(() if own else iperf3.of(found).notes)],
            "context": test["context"],
            "server": found.get("server"),
            "clock": found.get("clock"),
            "emulation": block.get("emulation"),
        }

    def _probe(self, probe: Mapping[str, Any]) -> dict[str, Any]:
        """A probe of the line, which is no run: what it was, and what it has found."""
        found, asked, problem = probe["result"], probe["asked"], probe["problem"]
        began = None
        if found is not None:
            began = iperf3.of(found).began_unix_s if iperf3.made(found) else found["ends"]["client"]["begun_unix_s"]
        return {
            **{key: probe[key] for key in ("block", "repetition", "line", "tool")},
            **{key: asked[key] for key in ("direction", "connections")},
            "duration_s": asked["duration_ns"] * _S,
            "warmup_s": asked["warmup_ns"] * _S,
            "began_unix_s": began,
            "attempts": len(probe["attempts"]) + (problem is None),
            "goodput_bps": None if found is None else blocks.goodput(found),
            "problem": None if problem is None else self._without_servers(problem),
        }

    def _without_servers(self, text: str) -> str:
        """The text without the addresses of servers, unless they are to be kept."""
        campaign = self._campaign
        if campaign.header.keep_addresses:
            return text
        hosts = {place[0] for line in campaign.lines if (place := campaign.server_of(line)) is not None}
        for name in sorted(hosts, key=len, reverse=True):
            text = text.replace(name, "server")
        return text


def columns_of(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns that every table begins with, of points with these params: numbers stay numbers."""
    found: dict[str, Any] = {"run": pl.UInt32}
    for name in points[0]:
        kinds = {type(params[name]) for params in points}
        known = {frozenset({bool}): pl.Boolean, frozenset({int}): pl.Int64}
        found[name] = known.get(frozenset(kinds), pl.Float64 if kinds <= {int, float} else pl.String)
    return found | {"seed": pl.UInt64, "replication": pl.UInt32}


def _of_ends(found: Mapping[str, Any]) -> dict[str, Any]:
    """What both ends say of a test."""
    client, server, clock = found["ends"]["client"], found["ends"]["server"], found["clock"]
    return {
        "events": sum(len(way["time_ns"]) for end in (client, server) for way in end["connections"]),
        "began_unix_s": client["begun_unix_s"],
        "clock_offset_s": sum(item["offset_ns"] for item in clock) / len(clock) * _S,
        "clock_uncertainty_s": max(item["uncertainty_ns"] for item in clock) * _S,
        "client_cpu_s": client["cpu_s"],
        "server_cpu_s": server["cpu_s"],
    }


def _of_iperf3(found: dict[str, Any]) -> dict[str, Any]:
    """The same of one by iperf3; clocks are not compared."""
    client, server = iperf3.cpu_s(found)
    began = iperf3.of(found).began_unix_s
    return {"began_unix_s": began, "client_cpu_s": client, "server_cpu_s": server}


def _rows(test: dict[str, Any]) -> list[Mapping[str, Any]]:
    """The flows of a test."""
    found = test["result"]
    return list(iperf3.of(found).flows) if iperf3.made(found) else list(_flows(test))


def _series(test: dict[str, Any]) -> pl.DataFrame:
    """The samples of a test."""
    found = test["result"]
    if not iperf3.made(found):
        return series.of(test)
    rows = [(time, "flow", of, metric, value) for time, of, metric, value in iperf3.of(found).samples]
    return pl.DataFrame(rows, schema=dict(series.SCHEMA), orient="row")


def _segment(test: Mapping[str, Any]) -> int:
    """Bytes of a segment of a test, as the kernel of a sender says at last."""
    if iperf3.made(test["result"]):
        return 1
    sizes = (pair.sender["fields"]["snd_mss"][-1] for pair in series.pairs(test["result"]))
    return next((size for size in sizes if size), 1)


def _point(point: Point, mss: int) -> dict[str, Any]:
    """A point as manifests have it: of the network nothing is known."""
    asked = point.asked
    count, ways = asked.connections, ("down", "up") if asked.direction == "both" else (asked.direction,)
    cc = asked.options.cc or "system"
    app = {"kind": "bulk", "bytes": None}
    flow = {"app": app, "cc": {"name": cc}, "mss": mss, "forward": [], "reverse": []}
    return {
        "point": point.index,
        "params": point.params,
        "numbers": {},
        "groups": [{"first": place * count, "count": count, "label": way} for place, way in enumerate(ways)],
        "resolved": {
            "links": [],
            "flows": [{"id": str(number), **flow} for number in range(asked.total)],
            "probes": {},
            "duration_ns": asked.duration_ns,
            "warmup_ns": asked.warmup_ns,
            "live": {"line": point.line.name, "via": point.line.via, "tool": point.tool, **asked.model_dump()},
        },
    }


def _flows(test: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A row per connection: what the sender's kernel has counted, and what the receiver has read."""
    found = test["result"]
    asked = found["asked"]
    seconds = (asked["duration_ns"] - asked["warmup_ns"]) * _S
    for number, pair in enumerate(series.pairs(found)):
        fields, times = pair.sender["fields"], pair.sender["time_ns"]
        first = next((at for at, time in enumerate(times) if time >= asked["warmup_ns"]), len(times) - 1)
        counted = {
            column: _difference(fields[name], first)
            for column, name in {
                "sent_bytes": "bytes_sent",
                "retransmitted_bytes": "bytes_retrans",
                "sent_segments": "segs_out",
                "retransmitted_segments": "total_retrans",
                "timeouts": "timeouts",
                "dsacks": "dsack_dups",
                "marked_segments": "delivered_ce",
            }.items()
        }
        rtts = [value * 1e-6 for value in fields["srtt"][first:] if value]
        least = [value * 1e-6 for value in fields["min_rtt"] if value is not None and value != series.UNKNOWN]
        windows = [
            cwnd * mss
            for cwnd, mss in zip(fields["cwnd"][first:], fields["snd_mss"][first:], strict=True)
            if cwnd is not None and mss is not None
        ]
        idle = test["idle_ns"]
        yield {
            "id": str(number),
            "app": "bulk",
            "cc": found["cc"][pair.sender_is] or "unknown",
            "start_s": 0.0,
            "goodput_bps": 8 * pair.receiver["counted"] / seconds,
            "goodput_bytes": pair.receiver["counted"],
            **counted,
            "path_rtt_s": None if idle is None else min(idle) * _S,
            "mean_rtt_s": sum(rtts) / len(rtts) if rtts else None,
            "min_rtt_s": least[-1] if least else None,
            "max_rtt_s": max(rtts, default=None),
            "mean_cwnd_bytes": sum(windows) / len(windows) if windows else None,
            "completed": False,
        }


def _difference(values: Sequence[int | None], first: int) -> int | None:
    begin, end = values[first], values[-1]
    return None if begin is None or end is None else end - begin
