"""How a result draws itself. What draws stands above results, and says so here when the package is imported."""

from __future__ import annotations

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Drawer = Callable[..., Any]

_known: list[Callable[[], Drawer]] = []


def use(load: Callable[[], Drawer]) -> None:
    """Draw with what `load` returns; it is called when the first figure is asked for."""
    _known[:] = [load]


def drawer() -> Drawer:
    """What draws."""
    return _known[0]()
