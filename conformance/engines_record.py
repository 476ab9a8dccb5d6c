"""Records what another engine makes of the shipped scenarios, for the section "Engines" of docs/validation.md.

    python conformance/engines_record.py kernel --work FOLDER [SCENARIO...]

Without names every scenario of conformance/engines/scenarios.toml is recorded, else only these are, and the others
stay as they are. Runs are kept in FOLDER, so that it may be interrupted; what was not valid is played again, and what
is valid is not. A scenario that the engine refuses is noted with the reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import engines_runs
from ackclock.errors import InputError
from ackclock.sweeps.sweep import sweep


def main() -> int:
    """Play, and write conformance/engines/ENGINE.json. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Records what another engine makes of the shipped scenarios.")
    parser.add_argument("engine")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--work", type=Path, required=True)
    asked = parser.parse_intermixed_args()
    known = engines_runs.records().get(asked.engine, {})
    record: dict[str, Any] = {"engine": asked.engine, "kernel": "", "processors": 0, "scenarios": {}, "refused": {}}
    record |= known
    for name in asked.names or engines_runs.settings()["scenarios"]:
        _record(record, name, asked.work)
        _write(record)
    return 0


def _record(record: dict[str, Any], name: str, work: Path) -> None:
    """Play a scenario and note what came of it."""
    engine = record["engine"]
    for table in ("scenarios", "refused"):
        record[table].pop(name, None)
    try:
        plan = engines_runs.plan(name, engine)
    except InputError as refusal:
        record["refused"][name] = f"{refusal.key}: {refusal.problem}"
        print(f"{name}: {refusal}", flush=True)
        return
    report = sweep(plan, work / engine / name, retry_failed=True)
    manifest = report.result.manifest
    if manifest["failed"]:
        raise SystemExit(f"{name}: {manifest['failed'][0]['problem']}")
    runs = engines_runs.measured(report.result)
    print(f"{name}: {len(runs)} runs, {sum(run['valid'] for run in runs)} valid", flush=True)
    record["scenarios"][name] = {
        "created": manifest["created"],
        "kernel": ", ".join(sorted({_kernel(run["emulation"]) for run in manifest["runs"]})),
        "late": _late(manifest),
        "runs": runs,
    }
    record["kernel"] = ", ".join(sorted({item["kernel"] for item in record["scenarios"].values()}))
    record["processors"] = manifest["host"]["cores"]


def _kernel(emulation: Mapping[str, Any]) -> str:
    """Which one: its release, and of one that was built what it was built of."""
    digest = emulation.get("virtual", {}).get("digest")
    return f"{emulation['kernel']} (sources {digest[:12]})" if digest else str(emulation["kernel"])


def _late(manifest: Mapping[str, Any]) -> list[str]:
    """Of the runs that are not valid, what is wrong with each."""
    return [run["emulation"]["problems"][0] for run in manifest["runs"] if run["emulation"]["problems"]]


def _write(record: Mapping[str, Any]) -> None:
    """A run is a line."""
    order = list(engines_runs.settings()["scenarios"])

    def ordered(found: Mapping[str, Any]) -> dict[str, Any]:
        return {name: found[name] for name in order if name in found}

    scenarios = []
    for name, item in ordered(record["scenarios"]).items():
        head = json.dumps({key: value for key, value in item.items() if key != "runs"})[:-1]
        runs = ",\n   ".join(json.dumps(run) for run in item["runs"])
        scenarios.append(f'  {json.dumps(name)}: {head}, "runs": [\n   {runs}\n  ]}}')
    head = json.dumps({key: record[key] for key in ("engine", "kernel", "processors")})[:-1]
    refused = json.dumps(ordered(record["refused"]), indent=1)
    played = ",\n".join(scenarios)
    text = f'{head},\n "scenarios": {{\n{played}\n }},\n "refused": {refused}}}\n'
    (engines_runs.RECORDS / f"{record['engine']}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
