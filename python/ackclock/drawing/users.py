"""Whose traffic a flow is: a user of a cell, or elsewhere the client that the flow alone belongs to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ackclock.errors import InputError

_FEW = 2  # users in a row that are each named
_SOME = 8  # users that are each named


def places(resolved: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """The cell and the number of the user there of each flow that passes one, by the flow."""
    count = {cell["id"]: len(cell["users"]) for cell in resolved.get("cells", ())}
    found: dict[str, tuple[str, int]] = {}
    for flow in resolved["flows"]:
        for hop in (*flow["forward"], *flow["reverse"]):
            if "element" in hop and (cell := hop["element"]["id"]) in count:
                found.setdefault(flow["id"], (cell, hop["element"]["port"] % count[cell]))
    return found


def of_flows(resolved: Mapping[str, Any]) -> dict[str, int]:
    """The number of the user of each flow; without a cell that of the flow."""
    known = places(resolved)
    return {
        flow["id"]: known[flow["id"]][1] if flow["id"] in known else number
        for number, flow in enumerate(resolved["flows"])
    }


def known(asked: Collection[int], there: Collection[int]) -> None:
    """Refuse users that a run does not have."""
    for user in asked:
        if user not in there:
            remedy = (
                f"there are users {min(there)} to {max(there)}" if len(there) > 1 else f"there is user {min(there)}"
            )
            raise InputError(f"no user {user}", remedy, key="user")


def named(asked: Collection[int]) -> str:
    """Some users in words, empty of none: ``user 3``, ``users 0, 4``, ``users 0 to 9``."""
    own = list(dict.fromkeys(asked))
    if not own:
        return ""
    if len(own) > _FEW and own == list(range(own[0], own[0] + len(own))):
        return f"users {own[0]} to {own[-1]}"
    if len(own) > _SOME:
        return f"{len(own)} users"
    return f"user{'s' if len(own) > 1 else ''} {', '.join(map(str, own))}"
