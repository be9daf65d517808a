"""Numpy's basic indices as boxes: what has to be restored, and what of it the index picks."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Box:
    """The least box of an array that has all values of an index."""

    first: tuple[int, ...]
    count: tuple[int, ...]  # has a 0 if the index has no values
    picks: tuple[int | slice, ...]  # the index within the box
    shape: tuple[int, ...]  # of the result

    @property
    def is_empty(self) -> bool:
        return 0 in self.count

    @property
    def has_steps(self) -> bool:
        return any(isinstance(pick, slice) and pick.step != 1 for pick in self.picks)


def _with_all_axes(index: Any, ndim: int) -> tuple[Any, ...]:
    """Give every axis its part, as Ellipsis says."""
    parts = index if isinstance(index, tuple) else (index,)
    places = [i for i, part in enumerate(parts) if part is Ellipsis]
    given = len(parts) - len(places)
    if len(places) > 1:
        raise IndexError("an index can have one Ellipsis, not more")
    if given > ndim:
        raise IndexError(f"there are {given} indices for an array of {ndim} axes")
    at = places[0] if places else len(parts)
    return (*parts[:at], *[slice(None)] * (ndim - given), *parts[at + 1 :])


def _range_of(part: slice, axis: int, extent: int) -> range:
    try:
        start, stop, step = part.indices(extent)
    except TypeError:
        raise TypeError(f"the slice of axis {axis} is {part!r}: give it whole numbers") from None
    if step < 0:
        raise ValueError(
            f"the slice of axis {axis} has the step {step}: restore it forwards, then reverse it"
        )
    return range(start, stop, step)


def _number_of(part: Any, axis: int, extent: int) -> int:
    try:
        number = operator.index(part)
    except TypeError:
        number = None
    if number is None or isinstance(part, (bool, np.bool_)):
        raise TypeError(
            f"the index of axis {axis} is {part!r}: only whole numbers, slices and Ellipsis are "
            "possible"
        )
    if not -extent <= number < extent:
        raise IndexError(f"index {number} is out of bounds for axis {axis} with size {extent}")
    return number % extent


def box_of(index: Any, shape: tuple[int, ...]) -> Box:
    """Find the box of an index into an array of this shape."""
    first: list[int] = []
    count: list[int] = []
    picks: list[int | slice] = []
    result: list[int] = []
    for axis, part in enumerate(_with_all_axes(index, len(shape))):
        if not isinstance(part, slice):
            first.append(_number_of(part, axis, shape[axis]))
            count.append(1)
            picks.append(0)
            continue
        values = _range_of(part, axis, shape[axis])
        first.append(values.start)
        count.append(values[-1] - values.start + 1 if values else 0)
        picks.append(slice(None, None, values.step))
        result.append(len(values))
    return Box(tuple(first), tuple(count), tuple(picks), tuple(result))
