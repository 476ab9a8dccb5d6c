"""Whose traffic a flow is: a user of a cell, or elsewhere the client that the flow alone belongs to."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ackclock.errors import InputError


def places(resolved: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """The cell and the number of the user there of each flow that passes one, by the flow."""
    count = {cell["id"]: len(cell["users"]) for cell in resolved.get("cells", ())}
    found: dict[str, tuple[str, int]] = {}
    for flow in resolved["flows"]:
        for hop in (*flow["forward"], *flow["reverse"]):
            if "element" in hop and (cell := hop["element"]["id"]) in count:
                found.setdefault(flow["id"], (cell, hop["element"]["port"] % count[cell]))
    return found


def of_flows(resolved: dict[str, Any]) -> dict[str, int]:
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
    """Some users in words."""
    return f"user{'s' if len(asked) > 1 else ''} {', '.join(map(str, asked))}"
