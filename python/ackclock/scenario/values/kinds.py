"""Tables whose key `kind` says which model reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.errors import Problem, unknown
from ackclock.scenario.values.base import Model

Kinds = Mapping[str, type[Model]]
"""The models by the kind they read."""


def known(what: str, value: Any, kinds: Kinds) -> Any:
    """`value` if it is a table of a kind in `kinds`, or is one of their models already.

    Raises :class:`Problem` for a table without a kind, and for one that is not known; `what` names it in the message.
    """
    if isinstance(value, tuple(kinds.values())):
        return value
    kind = value.get("kind")
    if kind is None:
        raise Problem("missing key 'kind'", f"add one of: {', '.join(kinds)}", "kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise unknown(what, str(kind), kinds, "kind")
    return value


def tag(value: Any) -> str:
    """The tag of the model that reads `value`.

    It is in brackets so that error paths, which pydantic puts it into, can be told from keys.
    """
    return f"<{value['kind'] if isinstance(value, dict) else value.kind}>"
