"""A figure that is saved as it was drawn: with its own settings, and the same bytes every time."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from ackclock.drawing.style import RC
from ackclock.errors import InputError
from ackclock.files import reason

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


def write(figure: Figure, folder: Path, stem: str) -> list[Path]:
    """Write a figure as PNG and SVG."""
    files = [folder / f"{stem}.png", folder / f"{stem}.svg"]
    for file in files:
        write_file(figure, file)
    return files


def drawable(path: str | os.PathLike[str]) -> Path:
    """`path`, if its name says a kind of figure. Raises :class:`ackclock.InputError` otherwise."""
    file = Path(path)
    if file.suffix not in METADATA:
        raise InputError(f"'{file.name}' is no figure", "end its name with .png, .svg or .pdf", source=str(file))
    return file


def write_file(figure: Figure, file: Path) -> None:
    """Write a figure, the same bytes for the same figure. Its directory must be there: a slip makes no new one."""
    folder = str(file.parent)
    if not file.parent.is_dir():
        raise InputError("cannot write a figure there: no such directory", "make it, or choose another", source=folder)
    try:
        with mpl.rc_context(RC):  # fonts and identifiers are chosen as a file is written
            figure.savefig(file, metadata=METADATA[file.suffix])
    except OSError as error:
        raise InputError(f"cannot write the figure ({reason(error)})", "choose another place", source=folder) from None
