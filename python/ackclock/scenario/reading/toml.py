"""A TOML text as its content, and what is wrong with one that has none, in one line."""

from __future__ import annotations

import tomllib
from typing import Any

from ackclock.errors import InputError
from ackclock.files import NestedTooDeeply, parse_toml
from ackclock.scenario.reading import repeated


def parse(text: str, source: str, remedy: str = "correct it") -> dict[str, Any]:
    """The content of a text; `source` is the file it comes from. Raises :class:`InputError`."""
    try:
        return parse_toml(text)
    except NestedTooDeeply as error:
        raise InputError(error.problem, error.remedy, source=source, line=error.line) from None
    except tomllib.TOMLDecodeError as error:
        if (twice := repeated.found(text, error, source)) is not None:
            raise twice from None
        raise InputError(f"not valid TOML: {error}", remedy, source=source) from None
    except ValueError:  # of Python's own conversion
        raise InputError(
            "a number has thousands of digits", "write it with an exponent, as in 1e9", source=source
        ) from None
