"""A result: the tables of a plan's runs and the record of how they came about."""

from __future__ import annotations

import functools
import os
import warnings as python_warnings
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ackclock.errors import EarlierResultWarning
from ackclock.results import drawer, incomplete, measures, page, replications, store, summary, warnings
from ackclock.results.manifest import LATER_SWEEP, Manifest


class Result:
    """Tidy tables, one row per run, flow, link or sample; docs/results.md lists their columns.

    Every table starts with `run`, the swept keys, `seed` and `replication`, so that it can be read on its own.
    """

    def __init__(self, tables: Mapping[str, pl.DataFrame], manifest: Manifest) -> None:
        self.tables = tables
        """The tables by name. Those of a directory are read when they are asked for, and then kept."""
        self.manifest = manifest

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a result directory. Raises :class:`ackclock.InputError` if it is not one, or was altered.

        Warns (:class:`ackclock.errors.EarlierResultWarning`) of the result of an earlier sweep, where a later one in
        the same directory has not finished.
        """
        tables, manifest = store.read(path)
        if note := incomplete.earlier(manifest, str(path)):
            python_warnings.warn(note, EarlierResultWarning, stacklevel=2)
        return cls(tables, manifest)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a result directory, replacing an older result there. Raises :class:`ackclock.InputError`."""
        place = store.OutputDirectory(path)
        try:
            self.manifest = place.write(self.tables, self.manifest)
        except BaseException:
            place.discard()
            raise

    @property
    def runs(self) -> pl.DataFrame:
        """A row per run."""
        return self.tables["runs"]

    @property
    def flows(self) -> pl.DataFrame:
        """A row per flow and run."""
        return self.tables["flows"]

    @property
    def legs(self) -> pl.DataFrame:
        """A row per leg and run of the flows that a relay splits: what its connections did (docs/split-tcp.md)."""
        return self.tables["legs"]

    @property
    def links(self) -> pl.DataFrame:
        """A row per link and run."""
        return self.tables["links"]

    @property
    def cells(self) -> pl.DataFrame:
        """A row per radio cell and run."""
        return self.tables["cells"]

    @property
    def users(self) -> pl.DataFrame:
        """A row per user of a radio cell and run."""
        return self.tables["users"]

    @property
    def transfers(self) -> pl.DataFrame:
        """A row per transfer of the flows that make more than one."""
        return self.tables["transfers"]

    @property
    def pages(self) -> pl.DataFrame:
        """A row per web page: its load time and what it was spent with."""
        return self.tables["pages"]

    @property
    def objects(self) -> pl.DataFrame:
        """A row per object of a web page, of applications with ``objects_table``."""
        return self.tables["objects"]

    @property
    def series(self) -> pl.DataFrame:
        """A row per sample of what the probes asked for."""
        return self.tables["series"]

    @property
    def captures(self) -> pl.DataFrame:
        """Of captures a row per interface of each: what was in it, and where it was taken (docs/pcap.md)."""
        return self.tables["captures"]

    @property
    def events(self) -> pl.DataFrame:
        """Of captures a row per thing that happened: what each segment was, why it was sent again (docs/pcap.md)."""
        return self.tables["events"]

    @property
    def params(self) -> list[str]:
        """The swept keys, in order; each is a column of every table."""
        return list(self.manifest["params"])

    @property
    def numbers(self) -> dict[str, list[str]]:
        """The numeric columns of swept keys that are quantities written as text, in base units.

        ``{"topology.rtt": ["topology.rtt_s"]}``; each is a column of every table, beside the text. A result of an older
        version has none.
        """
        return dict(self.manifest.get("numbers", {}))

    @property
    def complete(self) -> bool:
        """Whether every run finished."""
        return bool(self.manifest["status"] == "complete")

    @property
    def warnings(self) -> list[str]:
        """What the engine had to say: each thing once, with the points or runs it is about if not about all."""
        return warnings.of(self.manifest)

    @property
    def measures(self) -> pl.DataFrame:
        """What applications measured themselves, such as a video's stalls (docs/applications.md).

        Columns `run`, `point`, `replication`, `id` (of the flow), `name` and `value`; no rows where none does.
        """
        schema = {"run": pl.UInt32, "point": pl.UInt32, "replication": pl.UInt32}
        words = {"id": pl.String, "name": pl.String, "value": pl.Float64}
        return pl.DataFrame(list(measures.rows(self.manifest)), {**schema, **words}, orient="row")

    @functools.cached_property
    def points(self) -> list[summary.PointSummary]:
        """Means and 95 % confidence intervals of every swept point."""
        return summary.summarise(self.tables, self.manifest)

    @functools.cached_property
    def repeated(self) -> frozenset[int]:
        """The points whose replications are all the same run, as where nothing is drawn."""
        return replications.repeated(self.tables, self.manifest)

    def resolved(self, point: int = 0) -> dict[str, Any]:
        """The resolved run (docs/resolved-run.md) of a point's first replication."""
        found: dict[str, Any] = self.manifest["points"][point]["resolved"]
        return found

    def summary(self, by: str = "point") -> pl.DataFrame:
        """Means over replications and half-widths of their 95 % confidence intervals (``<metric>_ci95``).

        `by` is "point" for one row per swept point, "group" for one row per [[flows]] table of each point, or "flow"
        for one row per flow of each point.
        """
        frames = {"point": summary.frame, "group": summary.group_frame, "flow": summary.flow_frame}
        if by not in frames:
            raise ValueError(f"by is 'point', 'group' or 'flow', not {by!r}")
        return frames[by](self.points)

    def plot(
        self,
        kind: str | None = None,
        x: str | None = None,
        y: str | Sequence[str] | None = None,
        by: str | None = None,
        facet: str | None = None,
        where: Mapping[str, Any] | None = None,
        width: str | float = "column",
        user: int | Sequence[int] | None = None,
        page: int | None = None,
        connection: int | str | Sequence[int | str] | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> Any:
        """The figure of this result, as ``ackclock plot`` draws it (docs/plot.md): a :class:`matplotlib.figure.Figure`.

        Parameters
        ----------
        kind: curve, ecdf, box, pareto, heatmap, fct, timeseries, share, convergence, sequence, map or waterfall.
            Default: what suits the result.
        x: the swept key along the x axis, or for ``pareto`` a metric.
        y: a metric (docs/results.md); for ``timeseries`` one or several series. Default: what suits (docs/plot.md).
        by: the swept key whose values are compared, or ``group`` for the groups of flows. Default: the controller.
        facet: the swept key that has a panel for each of its values.
        where: values of swept keys: only these are drawn.
        width: ``column`` (3.5 in) or ``page`` (7.16 in) of a paper of two columns, or inches.
        user: of ``timeseries`` and ``map`` only these users of a cell, of ``waterfall`` the one whose page is drawn.
        page: of ``waterfall`` the number of the page.
        connection: of ``sequence`` connections of captures by number, or directions such as "3.1"; "all" are drawn
            over each other. Default: of one capture that with most data, of several all.
        start: of ``sequence`` nothing before this time, s.
        end: of ``sequence`` nothing after this time, s.

        Raises
        ------
        InputError: the result has nothing of the kind; the message says what would be right.
        """
        return drawer.drawer()(self, kind, x, y, by, facet, where, width, user, page, connection, start, end)

    def __repr__(self) -> str:
        state = "" if self.complete else ", interrupted"
        state += ", of an earlier sweep" if LATER_SWEEP in self.manifest else ""
        return f"Result({self.runs.height} runs, {len(self.points)} points{state})"

    def _repr_html_(self) -> str:
        return page.of(self)
