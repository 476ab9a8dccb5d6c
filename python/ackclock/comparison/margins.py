"""Margins of equivalence: how far apart is still the same, as a share of A."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ackclock.comparison.values import chosen
from ackclock.errors import InputError
from ackclock.stats.hypotheses.equivalence import margin_share

AGREEMENT: Mapping[str, float] = {"goodput_bps": 0.05, "mean_rtt_s": 0.10}
"""Metrics and margins by which two engines are said to agree."""

Margin = float | str | Mapping[str, float | str]


def read(margin: Margin | Iterable[str] | None) -> dict[str | None, float]:
    """Margins by metric; the one of ``None`` is of every other metric.

    From a share (0.05), a text ("5%", "goodput_bps=5%"), several of these, or a mapping. Raises :class:`InputError`.
    """
    if margin is None:
        return {}
    if isinstance(margin, float | int | str):
        margin = [margin] if isinstance(margin, str) else {"": margin}
    if not isinstance(margin, Mapping):
        parts = [text.rpartition("=") for text in margin]
        margin = {name.strip(): value for name, _, value in parts}
    found: dict[str | None, float] = {}
    for name, value in margin.items():
        found[chosen([name])[0] if name else None] = _share(value)
    return found


def _share(value: float | str) -> float:
    try:
        return margin_share(value)
    except ValueError:
        shown = f"'{value}'" if isinstance(value, str) else f"{100 * value:g} %"
        remedy = "write a share of A in per cent, such as 5%, above 0 and below 100"
        raise InputError(f"{shown} is not a margin", remedy, key="margin") from None
