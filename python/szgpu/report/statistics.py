"""Figures of a field and of its errors, gathered slab by slab over all values."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from .sources import Source

CHUNK_VALUES = 1 << 20
HISTOGRAM_BINS = 80
SHOWN_VIOLATIONS = 5

Tick = Callable[[int], None]


def is_valid(values: np.ndarray, fill: float | None) -> np.ndarray:
    """Tell which values are finite and not fill."""
    valid = np.isfinite(values)
    if fill is not None and math.isfinite(fill):
        is_integer = np.issubdtype(values.dtype, np.integer)  # whose type may lack the fill value
        valid = valid & (values != (fill if is_integer else values.dtype.type(fill)))
    return np.asarray(valid)


def has_same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Compare bits, so that NaN equals NaN and +0 is not -0."""
    bits = f"u{a.dtype.itemsize}"
    same: np.ndarray = np.ascontiguousarray(a).view(bits) == np.ascontiguousarray(b).view(bits)
    return same


def is_beyond(a: np.ndarray, b: np.ndarray, bound: float) -> np.ndarray:
    """Tell, without a rounding error, where abs(a - b) of float64 arrays exceeds the bound.

    NaN is beyond. Rounding cannot carry a difference across the bound, only onto it: there the
    rest that a two-sum finds decides.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(a - b)
        beyond: np.ndarray = ~(difference <= bound)
        ties = difference == bound
        if ties.any():
            high, low = np.maximum(a[ties], b[ties]), np.minimum(a[ties], b[ties])
            rounded = high - low
            back = high - rounded
            rest = (high - (back + rounded)) + (back - low)
            beyond[ties] = rest > 0
    return beyond


def chunks(source: Source) -> Iterator[tuple[int, np.ndarray]]:
    """Give the rows of a field in small parts, read in slabs, each with its first row."""
    step = max(CHUNK_VALUES // source.row_values, 1)
    for slab_first in range(0, source.shape[0], source.slab_rows):
        slab_stop = min(slab_first + source.slab_rows, source.shape[0])
        slab = source.read_rows(slab_first, slab_stop)
        for first in range(0, slab_stop - slab_first, step):
            yield slab_first + first, slab[first : first + step]


@dataclass
class FieldStatistics:
    """The original: its values that are finite and not fill, and how many others there are."""

    valid_count: int = 0
    masked_count: int = 0
    low: float = math.inf
    high: float = -math.inf

    @property
    def range(self) -> float:
        return self.high - self.low


def field_statistics(original: Source, tick: Tick = lambda count: None) -> FieldStatistics:
    """Read the original once."""
    result = FieldStatistics()
    for _, part in chunks(original):
        valid = is_valid(part, original.fill)
        count = int(np.count_nonzero(valid))
        result.valid_count += count
        result.masked_count += part.size - count
        if count:
            values = part[valid] if count < part.size else part
            result.low = min(result.low, float(values.min()))
            result.high = max(result.high, float(values.max()))
        tick(part.size)
    return result


@dataclass
class Violation:
    """A value beyond the bound."""

    index: tuple[int, ...]
    original: float
    restored: float


@dataclass
class ErrorStatistics:
    """What came back against the original, over all values.

    An error is restored - original. Sums are of errors in units of `scale`, the bound or, if
    there is none, the largest error, so that no square underflows.
    """

    bound: float | None
    scale: float
    range: float
    value_count: int = 0
    valid_count: int = 0
    beyond_count: int = 0
    same_bits_count: int = 0
    max_error: float = 0.0
    max_index: tuple[int, ...] = ()
    sum_of_errors: float = 0.0
    sum_of_squares: float = 0.0
    histogram: np.ndarray = field(
        default_factory=lambda: np.zeros(HISTOGRAM_BINS, np.int64)
    )
    beyond_histogram: list[int] = field(default_factory=lambda: [0, 0])  # below, above
    violations: list[Violation] = field(default_factory=list)
    gradient_squares: np.ndarray = field(default_factory=lambda: np.zeros(4))
    gradient_error_squares: np.ndarray = field(default_factory=lambda: np.zeros(4))

    @property
    def bias(self) -> float:
        return self.scale * self.sum_of_errors / max(self.valid_count, 1)

    @property
    def rms_error(self) -> float:
        return self.scale * math.sqrt(self.sum_of_squares / max(self.valid_count, 1))

    @property
    def psnr(self) -> float:
        """In dB; infinite if there is no error."""
        rms = self.rms_error
        return 20 * math.log10(self.range / rms) if 0 < rms < math.inf else math.inf * (rms == 0)

    @property
    def gradient_errors(self) -> list[float]:
        """The RMS error of differences between neighbours, over their RMS, along each axis."""
        return [
            math.sqrt(e / g) if g > 0 else math.nan
            for e, g in zip(self.gradient_error_squares, self.gradient_squares, strict=True)
        ]


def error_statistics(
    original: Source, restored: Source, of_field: FieldStatistics, tick: Tick = lambda count: None
) -> ErrorStatistics:
    """Compare all values, slab by slab."""
    scale = restored.bound or _largest_error(original, restored) or 1.0
    result = ErrorStatistics(restored.bound, scale, of_field.range)
    axis_count = len(original.shape)
    result.gradient_squares = np.zeros(axis_count)
    result.gradient_error_squares = np.zeros(axis_count)
    before: tuple[np.ndarray, ...] = ()
    for first, part in chunks(restored):
        truth = original.read_rows(first, first + part.shape[0])
        same = has_same_bits(truth, part)
        valid = is_valid(truth, original.fill)
        a, b = truth.astype("f8"), part.astype("f8")
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.where(valid, b - a, 0.0)
            _count(result, first, a, b, error, same, valid)
            before = _gradients(result, before, np.where(valid, a, np.nan) / result.range, error)
        tick(part.size)
    return result


def _largest_error(original: Source, restored: Source) -> float:
    largest = 0.0
    for first, part in chunks(restored):
        truth = original.read_rows(first, first + part.shape[0])
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(part.astype("f8") - truth.astype("f8"))
        error = error[is_valid(truth, original.fill) & np.isfinite(error)]
        largest = max(largest, float(error.max(initial=0.0)))
    return largest


def _count(
    result: ErrorStatistics,
    first: int,
    a: np.ndarray,
    b: np.ndarray,
    error: np.ndarray,
    same: np.ndarray,
    valid: np.ndarray,
) -> None:
    result.value_count += a.size
    result.same_bits_count += int(np.count_nonzero(same))
    if result.bound is not None:
        beyond = ~same & is_beyond(a, b, result.bound) if result.bound else ~same
        result.beyond_count += int(np.count_nonzero(beyond))
        room = SHOWN_VIOLATIONS - len(result.violations)
        for flat in np.flatnonzero(beyond)[:room].tolist():
            place = np.unravel_index(flat, a.shape)
            index = (first + int(place[0]), *map(int, place[1:]))
            result.violations.append(Violation(index, float(a[place]), float(b[place])))
    size = np.abs(error)
    size[np.isnan(size)] = np.inf
    at = int(size.argmax())
    if size.flat[at] > result.max_error:
        result.max_error = float(size.flat[at])
        place = np.unravel_index(at, a.shape)
        result.max_index = (first + int(place[0]), *map(int, place[1:]))
    usable = valid & np.isfinite(error)
    scaled = (error if usable.all() else error[usable]) / result.scale
    result.valid_count += scaled.size
    result.sum_of_errors += float(scaled.sum())
    result.sum_of_squares += float(np.square(scaled).sum())
    inside = np.abs(scaled) <= 1
    result.beyond_histogram[0] += int(np.count_nonzero(scaled < -1))
    result.beyond_histogram[1] += int(np.count_nonzero(scaled > 1))
    kept = scaled.ravel() if inside.all() else scaled[inside]
    bins = np.minimum(((kept + 1) * (HISTOGRAM_BINS / 2)).astype(np.intp), HISTOGRAM_BINS - 1)
    result.histogram += np.bincount(bins, minlength=HISTOGRAM_BINS)


def _gradients(
    result: ErrorStatistics, before: tuple[np.ndarray, ...], values: np.ndarray, error: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Add differences between neighbours; `before` is the last row so far, and the result the next."""
    error = error / result.range
    for axis in range(values.ndim):
        value_steps, error_steps = np.diff(values, axis=axis), np.diff(error, axis=axis)
        _add_gradients(result, axis, value_steps, error_steps)
    if before:
        _add_gradients(result, 0, values[0] - before[0], error[0] - before[1])
    return values[-1], error[-1]


def _add_gradients(
    result: ErrorStatistics, axis: int, value_steps: np.ndarray, error_steps: np.ndarray
) -> None:
    usable = np.isfinite(value_steps) & np.isfinite(error_steps)
    if not usable.all():
        value_steps, error_steps = value_steps[usable], error_steps[usable]
    result.gradient_squares[axis] += float(np.square(value_steps).sum())
    result.gradient_error_squares[axis] += float(np.square(error_steps).sum())
