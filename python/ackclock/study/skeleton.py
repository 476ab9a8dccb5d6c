"""A new study: a directory that runs as it is, with a claim, two readings, a table and a figure to be changed."""

from __future__ import annotations

from pathlib import Path

from ackclock.errors import InputError

TEMPLATE = Path(__file__).parent / "template"
"""A small study whose texts in capitals are to be replaced."""


def write(place: Path) -> list[Path]:
    """Write the files of a new study into the directory `place`, and return their paths.

    Raises :class:`InputError` where that is a file, or a directory with something in it.
    """
    if place.is_file() or (place.is_dir() and any(place.iterdir())):
        what = "a file" if place.is_file() else "a directory that is not empty"
        raise InputError(f"is {what}", "name a directory that is not there yet", source=str(place))
    written = []
    for source in sorted(path for path in TEMPLATE.rglob("*") if path.is_file()):
        path = place / source.relative_to(TEMPLATE)
        path = path.with_suffix(".py") if path.suffix == ".txt" else path  # code that is no module of the package
        path.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text(encoding="utf-8")
        path.write_text(text.replace("DIRECTORY", str(place)), encoding="utf-8")
        written.append(path)
    return written
