"""What a run over a radio cell is summarised by: its downlink, in the place of a bottleneck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl


def cell_of(resolved: Mapping[str, Any]) -> str | None:
    """The cell that the data of a resolved run's first flow come through, by name; ``None`` without one."""
    cells = {cell["id"] for cell in resolved.get("cells", ())}
    passed = (hop["element"]["id"] for hop in resolved["flows"][0]["forward"] if "element" in hop)
    return next((name for name in passed if name in cells), None)


def rows(
    tables: Mapping[str, pl.DataFrame], names: Mapping[int, str], point_of: Mapping[int, int], counts: Sequence[str]
) -> dict[int, list[dict[str, Any]]]:
    """For each point with a cell, run by run, what a bottleneck's row has of its link; `names` are those of the cells.

    Utilisation is the share of resource blocks, the delay of the queues their mean over packets; `counts` are sums over
    users.
    """
    found: dict[int, list[dict[str, Any]]] = {point: [] for point in names}
    if not names:
        return found
    users = (
        tables["users"]
        .group_by("run", "cell", maintain_order=True)
        .agg(
            (pl.col("mean_wait_s") * pl.col("delivered_packets")).sum().alias("waited"),
            pl.col("delivered_packets").sum(),
            *(pl.col(name).sum() for name in counts),
        )
    )
    known = tables["cells"].select("run", "id", "rho_rb")
    for row in known.join(users, left_on=["run", "id"], right_on=["run", "cell"], how="left").iter_rows(named=True):
        point = point_of[row["run"]]
        if names.get(point) != row["id"]:
            continue
        packets = row["delivered_packets"]
        delays = {"mean_queue_delay_s": row["waited"] / packets if packets else None, "p95_queue_delay_s": None}
        found[point].append({**row, **delays, "utilisation": row["rho_rb"]})
    return found
