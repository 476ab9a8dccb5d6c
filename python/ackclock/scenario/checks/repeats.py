"""Points of a sweep that are the same run: what varies between them has no effect."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

Params = Mapping[str, str | int | float | bool]


def warnings(params: Sequence[Params], runs: Sequence[Hashable]) -> dict[int, list[str]]:
    """What to say of points, by their number; `runs` stands for the resolved run of each.

    A key that changes nothing anywhere is said of all of them; of other repetitions the first is named.
    """
    first: dict[Hashable, int] = {}
    again = [(index, first[run]) for index, run in enumerate(runs) if first.setdefault(run, index) != index]
    if not again:
        return {}
    found: dict[int, list[str]] = {}
    idle = [key for key in params[0] if _idle(key, params, runs)]
    for key in idle:
        text = f"{key}: none of its values makes a difference to any run; leave it out, or set what it acts on"
        for index in range(len(params)):
            found.setdefault(index, []).append(text)
    rest = [pair for pair in again if _differ(params, *pair, idle) or params[pair[0]] == params[pair[1]]]
    if rest:
        index, other = rest[0]
        keys = _differ(params, index, other, idle)
        why = f"{' and '.join(keys)} makes no difference there" if keys else "it has the same values"
        more = f" (and {len(rest) - 1} more such points)" if len(rest) > 1 else ""
        found.setdefault(index, []).append(f"the same run as point {other}: {why}{more}; leave one of them out")
    return found


def _idle(key: str, params: Sequence[Params], runs: Sequence[Hashable]) -> bool:
    """Whether points that differ in `key` alone are always the same run, and there are such points."""
    groups: dict[Hashable, set[Hashable]] = {}
    values: dict[Hashable, set[Hashable]] = {}
    for each, run in zip(params, runs, strict=True):
        others = tuple((name, value) for name, value in each.items() if name != key)
        groups.setdefault(others, set()).add(run)
        values.setdefault(others, set()).add(each[key])
    return all(len(group) == 1 for group in groups.values()) and any(len(group) > 1 for group in values.values())


def _differ(params: Sequence[Params], index: int, other: int, idle: Sequence[str]) -> list[str]:
    return [key for key, value in params[index].items() if value != params[other][key] and key not in idle]
