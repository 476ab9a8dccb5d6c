"""What captures of a group are weighted by: how large a transfer is, and where it was made.

The preset is that of a field trial of split TCP over LTE and 3G (its author is not in the text): 45 % of
transfers of up to 1 MB, 30 % of 5 MB, 25 % of 10 MB and more; 25 % at places with good radio (NC), 30 % with fair (MC)
and 45 % with poor radio (FC).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ackclock.errors import InputError

FIELD_TRIAL = "field-trial"
_ALL = "all"


@dataclass(frozen=True, slots=True)
class Size:
    """Transfers of less than so many bytes, and of no less than those of the size before."""

    name: str
    below: float
    weight: float


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights by size and by words of the names of files. Without any all captures weigh the same."""

    words: Mapping[str, float] = field(default_factory=dict)
    sizes: tuple[Size, ...] = ()

    def stratum(self, file: str, size: float) -> str | None:
        """What a capture is of: word and size; ``None`` if its name has none of the words. The last one counts."""
        parts = []
        if self.words:
            known = {word.casefold(): word for word in self.words}
            found = [known[part] for part in re.split(r"[\W_]+", file.casefold()) if part in known]
            if not found:
                return None
            parts.append(found[-1])
        if self.sizes:
            parts.append(next(each.name for each in self.sizes if size < each.below))
        return ", ".join(parts) or _ALL

    def of(self, stratum: str) -> float:
        """The weight of a stratum: the product of its parts'."""
        known = {**self.words, **{size.name: size.weight for size in self.sizes}, _ALL: 1.0}
        return math.prod(known[part] for part in stratum.split(", "))


# The classes of the trial have gaps; a transfer is of the class that is nearer by ratio: sqrt(1 * 5), sqrt(5 * 10).
_TRIAL = Weights(
    {"NC": 25.0, "MC": 30.0, "FC": 45.0},
    (
        Size("up to 1 MB", math.sqrt(5) * 1e6, 45.0),
        Size("5 MB", math.sqrt(50) * 1e6, 30.0),
        Size("from 10 MB", math.inf, 25.0),
    ),
)


def read(given: str | Mapping[str, float] | Weights | None) -> Weights:
    """Weights as they are given: a preset, ``"NC=25,MC=30,FC=45"``, or a mapping. Raises :class:`InputError`."""
    if given is None or isinstance(given, Weights):
        return given or Weights()
    if given == FIELD_TRIAL:
        return _TRIAL
    if isinstance(given, str):
        pairs = [part.partition("=") for part in given.split(",")]
        given = {word.strip(): _number(value) for word, _, value in pairs}
    if not given or not all(re.fullmatch(r"[^\W_]+", word) and value > 0 for word, value in given.items()):
        remedy = f"give {FIELD_TRIAL}, or words of file names with numbers above zero: NC=25,MC=30,FC=45"
        raise InputError("they are no weights", remedy, key="weights")
    return Weights({word: float(value) for word, value in given.items()})


def without_words(weights: Weights) -> Weights:
    """The same where no file has one of the words."""
    return Weights(sizes=weights.sizes)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return -1.0
    return value if math.isfinite(value) else -1.0
