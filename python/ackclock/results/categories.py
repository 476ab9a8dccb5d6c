"""The words that repeat in series, each stored once."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

OWNERS = pl.Enum(["flow", "link", "cell", "user", "leg"])
"""What samples are of: ``leg`` is one of a flow that a relay splits."""


def in_categories(table: pl.DataFrame, metrics: Iterable[str]) -> pl.DataFrame:
    """The table with its repeated words in categories: what a sample is of, and which of the `metrics` it is.

    They are fixed, not in the order of arrival: the files must not depend on which run finished first.
    """
    repeated = {"kind": OWNERS, "metric": pl.Enum(list(metrics))}
    return table.cast({name: kind for name, kind in repeated.items() if name in table.columns})
