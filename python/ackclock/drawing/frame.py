"""The edge of a panel: markers on it are drawn whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.transforms import BboxBase

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_MARKER = 3.5  # points that a marker needs around its place


class _Around(BboxBase):
    """A panel and what markers on its edge need around it, wherever the panel comes to stand."""

    def __init__(self, axes: Axes) -> None:
        super().__init__()
        self._axes = axes

    def get_points(self) -> np.ndarray[Any, Any]:
        """The corners, in pixels."""
        figure = self._axes.get_figure(root=True)
        pad = _MARKER * (figure.dpi if figure is not None else 72) / 72
        corners: np.ndarray[Any, Any] = self._axes.bbox.get_points() + np.array([[-pad, -pad], [pad, pad]])
        return corners


def whole(axes: Axes, *artists: Artist) -> None:
    """Let artists reach over the edge by half a marker, and no farther."""
    for artist in artists:
        artist.set_clip_path(None)
        artist.set_clip_box(_Around(axes))
