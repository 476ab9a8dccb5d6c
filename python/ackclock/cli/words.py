"""The words of a command line, before anything is known of the options among them."""

from __future__ import annotations

from collections.abc import Sequence


def joined(arguments: Sequence[str]) -> list[str]:
    """An option and a value behind it like "-30 ms", which would be taken for another option, as one word.

    What is wrong with the value is then said of the option. Behind "--" there are none of ours.
    """
    ours = list(arguments)
    end = ours.index("--") if "--" in ours else len(ours)
    found: list[str] = []
    for index, word in enumerate(ours):
        before = found[-1] if found and index < end else ""
        if before.startswith("--") and "=" not in before and _negative(word):
            found[-1] = f"{before}={word}"
        else:
            found.append(word)
    return found


def _negative(word: str) -> bool:
    return word[:1] == "-" and word[1:].lstrip(".")[:1].isdecimal()
