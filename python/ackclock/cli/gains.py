"""Groups of captures as a terminal shows them: a row each, and below it what one gains against the other."""

from __future__ import annotations

from ackclock.cli import console
from ackclock.pcaps import text
from ackclock.pcaps.groups import Groups


def show(found: Groups) -> None:
    """Print groups, gains and what weakens them."""
    out = console.stdout()
    rows = text.table(found)
    header = rows[0]
    out.print()
    least = [header.index(title) for title in ("FCT\ns", "out of order\n%", "RTT\nms") if title in header]
    sides: list[console.Justify] = ["left", *["right"] * (len(header) - 2), "left"]  # type: ignore[list-item]
    console.print_table(out, rows, sides, least=least, squeeze=True)
    if len(found.weights) > 1:
        shares = ", ".join(f"{name} {100 * share:.3g} %" for name, share in found.weights.items())
        console.say(out, f"weighted: {shares}")
    where = {group.label: group.vantage for group in found.groups}
    for gain in found.gains:
        console.say(out, f"\n{gain.label} against {gain.base}")
        for line in list(text.gains(gain, where[gain.label])) or ["nothing that both have: no stratum, or no metric"]:
            console.say(out, f"  {line}")
    for note in found.notes:
        console.say(out, f"note: {note}")
