#!/usr/bin/env python3
"""Writes docs/validation.md: our numbers beside those of the references, run now.

    python scripts/validation.py            # writes the page if it has changed
    python scripts/validation.py --check    # writes nothing; exits with 1 if the page is stale

Needs the package with its extension (``make build``). What is compared, and how closely, is in ``conformance/``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "validation.md"
sys.path.insert(0, str(ROOT / "conformance"))

import formulas  # noqa: E402
import peer_figures  # noqa: E402
from agreement import Figure  # noqa: E402

UNITS = {
    "goodput": ("goodput, Mbit/s", 1e-6),
    "mean queue": ("mean queue, packets", 1.0),
    "retransmissions": ("retransmitted segments", 1.0),
    "reductions": ("reductions", 1.0),
    "times of reductions": ("time of the last reduction, s", 1.0),
    "mean window": ("mean window, segments", 1.0),
    "packets/s": ("packets per second", 1.0),
}
"""What a metric is called on the page, and the factor to its unit there."""


@dataclass(frozen=True)
class Section:
    """The part of the page about one reference."""

    title: str
    text: str
    figures: Sequence[Figure]


NS3 = """\
Recorded with ns-3 3.37 ([conformance/ns3](../conformance/ns3/README.md): paths s1 to s5, provenance). Profile `ns3`; `newreno` is
ns-3's TcpNewReno, `linuxreno` its TcpLinuxReno. The profile reproduces what ns-3 does differently from the standards, and each of
these is an option of its own: growth per acknowledgment in whole bytes (`variant = "ns3"`, `counting = "acks"`), ssthresh from the
pipe (`base = "pipe"`), PRR with the slow start bound on every acknowledgment (`prr = "ns3"`), the first segment acknowledged at
once (`quick_acks = 1`).
"""

NS2 = """\
Recorded with ns-2.35 ([conformance/ns2](../conformance/ns2/README.md): the same paths). Profile `ns2` with the recordings' initial
window, delayed acknowledgments and header size; `sack1` is `recovery = "sack"`, the others are the recoveries of their names. What
the profile reproduces: half of cwnd on a loss, growth per acknowledgment, ssthresh in whole segments where slow start follows
(`variant = "ns2"`), limited transmit while a timeout is repaired (`limited_transmit_after_timeout`).
"""

FORMULAS = f"""\
- **Mathis**: mean window sqrt(3 / (2 b p)) with one loss per 1/p packets, b packets per acknowledgment (M. Mathis, J. Semke, J.
  Mahdavi, T. Ott, *The macroscopic behavior of the TCP congestion avoidance algorithm*, 1997). The constant is 1.22 for evenly
  spaced losses, 1.31 for independent ones, which these are: the formula itself is good to 7 %. **Ott**: 1.3098 / sqrt(b p), the
  limit for independent losses and small p (T. Ott, J. Kemperman, M. Mathis, *The stationary behavior of ideal TCP congestion
  avoidance*, 1996). Profile `rfc`, SACK, growth per acknowledgment.
- **Padhye**: the full model with timeouts (J. Padhye, V. Firoiu, D. Towsley, J. Kurose, *Modeling TCP Reno performance*, 2000), for
  the TCP it describes: `recovery = "reno"`, a timeout of 400 ms, RTT as measured. The model lets a loss take the rest of its round
  with it; here losses are independent.
- **Saw-tooth**: a link of D = {formulas.PRODUCT} packets per RTT and one Reno flow. Its window w goes from (D + B) / 2 to D + B by one
  per round trip, of length max(w, D) transmissions, so the utilisation is (3/4)(D + B)² / (2 D (D - B) / 2 + (D + B)² - D²) for B < D,
  3/4 for B = 0, and 1 for B ≥ D.
- **Arithmetic**: a sender without a window on an empty path delivers every packet whose last bit has arrived; a window of W segments
  delivers W per round trip. To the byte.

Tolerances of the random ones are the accuracy of the formula plus the 95 % confidence interval of {formulas.REPLICATIONS} seeds. The queue
itself is compared with M/D/1, M/M/1, M/D/1/K and M/M/1/K, fed with Poisson arrivals, in
`crates/ackclock-sim/tests/queue_theory.rs`: mean waits, percentiles, blocking, conservation, within four standard errors.
"""

REMARKS = (
    "**Two flows** (s4): which of two flows loses a packet when the queue overflows hangs on where another packet stands in its "
    "transmission, and the rest of the run on that. So the means over twelve starts of the second flow are compared, spread over a "
    "saw-tooth of the first, ours with the recorded ones (`s4-starts.csv`).",
    "**Ties**: acknowledgments come back at the pace of the link, so for hundreds of packets in a row one transmission ends at the "
    "very instant at which the next packets arrive. The queue still holds the packet then, as in ns-3, ns-2 and Linux; the other "
    "order is one packet of queue more and shifts losses by two packets.",
    "**ns-3 repeats more than was lost** where many segments of one window are lost (s3): on every partial acknowledgment it sends "
    "the next segment again, even if a retransmission of it is under way. Ours does not; the tolerance covers it.",
    "**ns-3 measures RTTs in whole milliseconds**, and its SYN has no MSS option; ns-2 has no third segment of the handshake and "
    "timers in ticks of 10 ms. That shifts whole runs by microseconds, and a queue that overflows by one packet more or less makes "
    "the rest: 25 losses for 24 on s2.",
)


def short(value: float) -> str:
    """Three significant digits; counts below a thousand as they are."""
    if value == int(value) and abs(value) < 1000:
        return f"{value:.0f}"
    return f"{float(f'{value:.3g}'):,.10g}".replace(",", " ")


def percent(value: float) -> str:
    """One digit behind the point."""
    text = f"{100 * value:+.1f} %"
    return "0" if text in ("+0.0 %", "-0.0 %") else text


def row(found: Figure, notes: Sequence[str]) -> str:
    """One line of a table."""
    name, factor = UNITS.get(found.metric, (found.metric, 1.0))
    tolerance = f"{100 * found.tolerance:.3g} %" if found.tolerance else "none"
    verdict = "agrees"
    if not found.agrees:
        known = found.deviation is not None and found.explained
        verdict = f"known: {notes.index(found.deviation.mechanism) + 1}" if known and found.deviation else "**differs**"
    cells = (short(found.ours * factor), short(found.reference * factor), percent(found.difference), tolerance, verdict)
    return "| " + " | ".join((found.scenario, found.algorithm, name, *cells)) + " |"


def table(found: Iterable[Figure], notes: Sequence[str]) -> str:
    """A table of figures."""
    head = "| scenario | algorithm | metric | ours | reference | difference | tolerance | verdict |"
    return "\n".join((head, "|---|---|---|---|---|---|---|---|", *(row(figure, notes) for figure in found)))


def summary(sections: Sequence[Section]) -> str:
    """How many figures of each section agree."""
    lines = ["| reference | figures | agree | known deviation | differ |", "|---|---|---|---|---|"]
    for section in sections:
        agree = sum(figure.agrees for figure in section.figures)
        known = sum(figure.explained for figure in section.figures) - agree
        total = len(section.figures)
        lines.append(f"| {section.title} | {total} | {agree} | {known} | {total - agree - known} |")
    return "\n".join(lines)


def sections() -> list[Section]:
    """Everything that is compared, the strongest reference first."""
    return [
        Section("ns-3 3.37", NS3, tuple(peer_figures.figures("ns3"))),
        Section("ns-2.35", NS2, tuple(peer_figures.figures("ns2"))),
        Section("Formulas", FORMULAS, tuple(formulas.figures())),
    ]


def text() -> str:
    """The page."""
    parts = sections()
    found = [figure for part in parts for figure in part.figures]
    notes = list(dict.fromkeys(f.deviation.mechanism for f in found if f.deviation is not None and not f.agrees))
    lines = [
        "# Validation",
        "",
        "Generated by `scripts/validation.py`, which runs ackclock beside every recorded run and formula; do not edit. `make docs` "
        "writes it again, a test fails when it is stale, and the same figures are asserted by the tests under `conformance/`.",
        "",
        "Differences are relative to the reference. The tolerance is what counts as agreement; where a difference beyond it is "
        "understood, the verdict names the entry under *Known deviations*. Times of reductions: the difference is the largest "
        "shift of any reduction relative to its time, one round trip always being allowed; the columns show the last one.",
        "",
        summary(parts),
        "",
    ]
    for part in parts:
        lines += [f"## {part.title}", "", part.text, table(part.figures, notes), ""]
    lines += ["## Known deviations", ""]
    lines += [f"{number}. {note}" for number, note in enumerate(notes, 1)]
    lines += ["", "Besides, where tolerances are not exceeded:", ""]
    lines += [f"- {remark}" for remark in REMARKS]
    return "\n".join(lines) + "\n"


def stale() -> str | None:
    """The page as it should be, if it is not."""
    wanted = text()
    return None if PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted else wanted


def main() -> int:
    """Writes or checks; returns the exit code."""
    parser = argparse.ArgumentParser(description="Writes docs/validation.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is stale")
    check = parser.parse_args().check
    wanted = stale()
    if wanted is None:
        return 0
    if check:
        print("docs/validation.md: stale; run: make docs")
        return 1
    PAGE.write_text(wanted, encoding="utf-8")
    print("docs/validation.md: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
