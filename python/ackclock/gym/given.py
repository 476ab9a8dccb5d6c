"""What functions of one's own return: numbers in the shape that is needed, or a line that says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ackclock.errors import InputError
from ackclock.gym.measures import Array


def called(function: Callable[..., Any]) -> str:
    """What a function is called in a message."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _expected(shape: tuple[int, ...]) -> str:
    return "a number" if shape in ((), (1,)) else f"a number for all, or an array of shape {shape}"


def each(found: Any, shape: tuple[int, ...], key: str, function: Callable[..., Any]) -> Array:
    """A number for each interval: as many as `shape` has, axes of length 1 aside, or one for all.

    Raises :class:`~ackclock.errors.InputError` for anything else, naming `key` and the function that returned it.
    """
    if isinstance(found, np.ndarray) and found.shape == shape and found.dtype == np.float64:
        return found
    try:
        values = np.asarray(found)
    except ValueError:
        values = np.empty((), np.object_)
    if values.dtype.kind not in "biuf":
        problem = f"{called(function)} returned {found!r}, which is no number"
        raise InputError(problem, f"return {_expected(shape)}", key=key)
    long = tuple(length for length in values.shape if length != 1)
    if long not in ((), tuple(length for length in shape if length != 1)):
        problem = f"{called(function)} returned numbers of shape {values.shape}"
        raise InputError(problem, f"return {_expected(shape)}", key=key)
    return np.broadcast_to(values.astype(np.float64).reshape(shape if long else ()), shape)


def several(found: Any, count: int, shape: tuple[int, ...], key: str, function: Callable[..., Any]) -> list[Array]:
    """`count` items, each as by :func:`each`: of a list or tuple, of an array with an axis for them, or the only."""
    if not isinstance(found, list | tuple):
        array = np.asarray(found)
        axes = array.ndim - len(shape) + (shape == (1,) and array.shape == (count,))
        found = list(array) if axes > 0 else [found]
    if len(found) != count:
        problem = f"{called(function)} returned {len(found)} item{'' if len(found) == 1 else 's'}"
        raise InputError(problem, f"return {count}, each {_expected(shape)}", key=key)
    return [each(item, shape, key, function) for item in found]
