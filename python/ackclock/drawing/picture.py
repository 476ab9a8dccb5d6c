"""A figure that is saved as it was drawn: with its own settings, and the same bytes every time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from ackclock.drawing.style import RC

# Nothing that differs between two times of drawing the same.
METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""What a file says of itself, by its ending."""

_SCREEN = 150  # dots per inch in a notebook


class Picture(Figure):
    """A figure of matplotlib; in a notebook it shows itself."""

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save it, as matplotlib does, with fonts and identifiers of this package."""
        ending = f".{options['format']}" if "format" in options else Path(str(fname)).suffix
        options.setdefault("metadata", METADATA.get(ending))
        with mpl.rc_context(RC):
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=_SCREEN)
        return stream.getvalue()
