"""Where to draw nodes: hosts beside a row of links, and networks in layers from senders to receivers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

Point = tuple[float, float]
Pair = tuple[str, str]

_STEP = 0.55  # between hosts above each other, in lengths of a link
_BELOW = 0.62  # from a row to the first hosts below it
_ASIDE = (0.28, 0.17, 0.06)  # from a router to hosts below and beside it: the lower, the less, or lines would cross
_SWEEPS = 4


def beside_row(spans: Sequence[tuple[int, int]], length: int) -> list[tuple[Point, Point]]:
    """Places of sender and receiver of each group; `spans` are the first and the last router, of 0 to `length`."""
    whole = [index for index, span in enumerate(spans) if span == (0, length)]
    result: dict[int, tuple[Point, Point]] = {}
    for index, height in zip(whole, stacked(len(whole)), strict=True):
        result[index] = ((-1.0, height), (length + 1.0, height))
    levels: list[list[tuple[int, int]]] = []
    for index, (first, last) in sorted(enumerate(spans), key=lambda item: item[1][1] - item[1][0]):
        if index in result:
            continue
        level = next(
            (n for n, taken in enumerate(levels) if all(last <= a or b <= first for a, b in taken)), len(levels)
        )
        if level == len(levels):
            levels.append([])
        levels[level].append((first, last))
        aside, height = _ASIDE[min(level, len(_ASIDE) - 1)], -(_BELOW + _STEP * level)
        result[index] = ((first + aside, height), (last - aside, height))
    return [result[index] for index in range(len(spans))]


def layered(
    names: Sequence[str], pairs: Sequence[Pair], routes: Sequence[Sequence[str]]
) -> tuple[dict[str, Point], dict[Pair, tuple[Point, ...]]]:
    """Places of nodes, and the bends of lines that pass a layer without ending there.

    Layers follow the ways of flows from left to right; within a layer everything stands near what it is joined to.
    """
    layer = _layers(names, pairs, routes)
    columns: list[list[str]] = [[] for _ in range(max(layer.values()) + 1)]
    for name in names:
        columns[layer[name]].append(name)
    joined: dict[str, list[str]] = {name: [] for name in names}
    passing: dict[Pair, list[str]] = {}
    for number, (start, end) in enumerate(pairs):
        low, high = sorted((layer[start], layer[end]))
        chain = [f"{number}/{at}" for at in range(low + 1, high)]  # no name of a node has a slash
        for at, spare in zip(range(low + 1, high), chain, strict=True):
            columns[at].append(spare)
            joined[spare] = []
        if layer[start] > layer[end]:
            chain.reverse()
        passing[start, end] = chain
        stops = [start, *chain, end]
        for one, other in itertools.pairwise(stops):
            joined[one].append(other)
            joined[other].append(one)
    _untangle(columns, joined)
    spots: dict[str, Point] = {}
    for at, column in enumerate(columns):
        for name, height in zip(column, stacked(len(column)), strict=True):
            spots[name] = (float(at), height)
    bends = {pair: tuple(spots[spare] for spare in chain) for pair, chain in passing.items()}
    return {name: spots[name] for name in names}, bends


def stacked(count: int) -> list[float]:
    """Heights of so many places above each other."""
    return [_STEP * ((count - 1) / 2 - place) for place in range(count)]


def _layers(names: Sequence[str], pairs: Sequence[Pair], routes: Sequence[Sequence[str]]) -> dict[str, int]:
    """How far right each node is: behind all before it on the way of a flow, as far as flows do not contradict."""
    after: dict[str, set[str]] = {name: set() for name in names}
    for route in routes:
        for one, other in itertools.pairwise(route):
            if not _leads(after, other, one):
                after[one].add(other)
    on_routes = {name for route in routes for name in route}
    layer = dict.fromkeys((name for name in names if name in on_routes), 0)
    for _ in layer:
        for one in layer:
            for other in after[one]:
                layer[other] = max(layer[other], layer[one] + 1)
    beside: dict[str, list[str]] = {name: [] for name in names}
    for one, other in pairs:
        beside[one].append(other)
        beside[other].append(one)
    waiting = list(layer)
    for name in waiting:  # it grows: what no flow passes stands behind what it is joined to
        for other in beside[name]:
            if other not in layer:
                layer[other] = layer[name] + 1
                waiting.append(other)
    return {name: layer.get(name, 0) for name in names}


def _leads(after: Mapping[str, set[str]], start: str, end: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        name = waiting.pop()
        if name == end:
            return True
        waiting += after[name] - seen
        seen |= after[name]
    return False


def _untangle(columns: list[list[str]], joined: Mapping[str, list[str]]) -> None:
    """Sort every column by the mean height of what each entry is joined to (Sugiyama, Tagawa, Toda 1981)."""
    for sweep in range(_SWEEPS):
        order = range(len(columns)) if sweep % 2 == 0 else range(len(columns) - 1, -1, -1)
        for at in order:
            heights = {
                name: height for column in columns for name, height in zip(column, stacked(len(column)), strict=True)
            }

            def wanted(name: str, heights: Mapping[str, float] = heights) -> float:
                near = joined[name]
                return -sum(heights[other] for other in near) / len(near) if near else -heights[name]

            columns[at].sort(key=wanted)
