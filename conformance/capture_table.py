"""The table of docs/pcap.md: the analysis beside the kernel, by groups of recorded paths.

python conformance/capture_table.py
"""

from __future__ import annotations

from collections import defaultdict

import capture_records as records
from capture_records import SENDER


def rows() -> list[list[str]]:
    """A row for each group, and one for all."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0] * 11)
    for name in records.names():
        ours, truth, causes = records.analysed(name, SENDER), records.truth(name), records.causes(name)
        said, was = records.needless(name)
        counts = [
            1,
            ours.total("retransmitted_segments"),
            truth["sender"].get("RetransSegs", 0) - truth["empty"],
            causes.right,
            causes.packets,
            ours.total("recoveries"),
            sum(connection["recoveries"] for connection in truth["connections"]),
            ours.total("timeouts"),
            sum(connection["timeouts"] for connection in truth["connections"]),
            len(said),
            len(was),
        ]
        for key in (truth["path"]["group"], "all"):
            totals[key] = [a + b for a, b in zip(totals[key], counts, strict=True)]
    last = totals.pop("all")
    return [
        [group, str(n[0]), *(f"{n[k]} / {n[k + 1]}" for k in (1, 3, 5, 7, 9))]
        for group, n in [*totals.items(), ("all", last)]
    ]


def main() -> None:
    """Prints it."""
    head = ["paths", "captures", "sent again", "right causes", "recoveries", "timeouts", "needless"]
    for row in [head, ["---"] * len(head), *rows()]:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
