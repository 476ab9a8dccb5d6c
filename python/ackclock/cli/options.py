"""Kinds of options that commands have in common."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter


def flag(text: str, name: str | None = None) -> Parameter:
    """An option without a value."""
    return Parameter(name=name, negative=(), show_default=False, help=text)


def repeatable(text: str, name: str | None = None) -> Parameter:
    """An option that may be given several times, each time with one value."""
    return Parameter(name=name, negative=(), consume_multiple=False, show_default=False, help=text)


Json = Annotated[bool, flag("Print one JSON object instead of tables.", name="--json")]
