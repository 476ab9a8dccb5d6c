"""The tables of docs/validation.md about random loss."""

from __future__ import annotations

import random_loss
import random_loss_records as records
from generate import table
from kernel_records import CONTROLLERS

DRAWS = 100
"""Other patterns of losses in the table: enough for intervals of 2 to 5 %, and half a minute."""


def table_of_cells() -> str:
    """Controller and loss: ours with the kernel's losses, and with others."""
    rows = [random_loss.row(module, loss, DRAWS) for module, loss in records.cells()]
    return table(random_loss.HEAD, ([f"`{CONTROLLERS[module]}`", *cells] for module, *cells in rows))


def table_of_controllers() -> str:
    """All losses of a controller together."""
    rows = ([f"`{CONTROLLERS[name]}`", random_loss.ratio(random_loss.together(name))] for name in random_loss.modules())
    return table(["controller", "difference (99.9 %)"], rows)
