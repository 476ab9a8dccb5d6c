"""A result: the tables of a plan's runs and the record of how they came about."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any

import polars as pl

from ackclock.results import store, summary, text
from ackclock.results.manifest import Manifest


class Result:
    """Tidy tables, one row per run, flow, link or sample; docs/results.md lists their columns.

    Every table starts with `run`, the swept keys, `seed` and `replication`, so that it can be read on its own.
    """

    def __init__(self, tables: Mapping[str, pl.DataFrame], manifest: Manifest) -> None:
        self.manifest = manifest
        self.runs = tables["runs"]
        self.flows = tables["flows"]
        self.links = tables["links"]
        self.transfers = tables["transfers"]
        self.series = tables["series"]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a result directory. Raises :class:`ackclock.InputError` if it is not one, or was altered."""
        return cls(*store.read(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a result directory, replacing an older result there. Raises :class:`ackclock.InputError`."""
        place = store.OutputDirectory(path)
        try:
            self.manifest = place.write(self.tables, self.manifest)
        except BaseException:
            place.discard()
            raise

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name."""
        return {
            "runs": self.runs,
            "flows": self.flows,
            "links": self.links,
            "transfers": self.transfers,
            "series": self.series,
        }

    @property
    def params(self) -> list[str]:
        """The swept keys, in order; each is a column of every table."""
        return list(self.manifest["params"])

    @property
    def complete(self) -> bool:
        """Whether every run finished."""
        return bool(self.manifest["status"] == "complete")

    @property
    def warnings(self) -> list[str]:
        """What the engine had to say about single runs."""
        return [f"run {run['run']}: {item}" for run in self.manifest["runs"] for item in run["warnings"]]

    @functools.cached_property
    def points(self) -> list[summary.PointSummary]:
        """Means and 95 % confidence intervals of every swept point."""
        return summary.summarise(self.tables, self.manifest)

    def resolved(self, point: int = 0) -> dict[str, Any]:
        """The resolved run (docs/resolved-run.md) of a point's first replication."""
        found: dict[str, Any] = self.manifest["points"][point]["resolved"]
        return found

    def summary(self, by: str = "point") -> pl.DataFrame:
        """Means over replications and half-widths of their 95 % confidence intervals (``<metric>_ci95``).

        `by` is "point" for one row per swept point, or "flow" for one row per flow of each point.
        """
        if by not in ("point", "flow"):
            raise ValueError(f"by is 'point' or 'flow', not {by!r}")
        return summary.frame(self.points) if by == "point" else summary.flow_frame(self.points)

    def __repr__(self) -> str:
        state = "" if self.complete else ", interrupted"
        return f"Result({self.runs.height} runs, {len(self.points)} points{state})"

    def _repr_html_(self) -> str:
        header, *rows = text.rows(self.points, self.params)
        head = "".join(f"<th>{text.html(cell)}</th>" for cell in header)
        body = "".join(f"<tr>{''.join(f'<td>{text.html(cell)}</td>' for cell in row)}</tr>" for row in rows)
        note = "" if self.complete else f"<p>interrupted: {len(self.manifest['missing'])} runs are missing</p>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"
