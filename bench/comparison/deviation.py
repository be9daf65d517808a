"""deviation.py - how far restored values are from the field, and whether the bound was kept.

SPDX-License-Identifier: BSD-3-Clause
"""
import fractions
import math

import numpy as np

BLOCK = 1 << 20  # values that are compared at once


class Deviation:
    """over_bound: the largest error over the bound (0 for lossless, if every bit came back).
    is_kept: whether every value is within the bound, exactly. psnr: in dB, of counted values."""

    def __init__(self, over_bound, is_kept, psnr):
        self.over_bound, self.is_kept, self.psnr = over_bound, is_kept, psnr

    def is_worse_than(self, other):
        return (not self.is_kept, self.over_bound) > (not other.is_kept, other.over_bound)


def exact_difference(x, y):
    """(rounded, rest): x - y in f64, and what the rounding lost, by Knuth's two-sum. Their sum is
    exact unless it overflows."""
    rounded = x - y
    of_y = rounded - x
    return rounded, (x - (rounded - of_y)) - (y + of_y)


def differing(values, restored):
    """Yields pairs of arrays of f64, block by block: the values that did not come back, and what
    came. A value that came back bit for bit, or a NaN as a NaN, has no error."""
    for first in range(0, values.size, BLOCK):
        x, y = (a.reshape(-1)[first:first + BLOCK] for a in (values, restored))
        differs = ~((x == y) | (np.isnan(x) & np.isnan(y)))
        if differs.any():
            yield x[differs].astype(np.float64), y[differs].astype(np.float64)


def largest_error(values, restored, bound):
    """(the largest error in f64, whether the exact error of every value is within the bound).

    A NaN or an infinity that did not come back has an infinite one. If the rounded difference is
    not the bound itself, it is on the same side of the bound as the exact one; if it is, the rest
    decides."""
    most, is_kept = 0.0, True
    for x, y in differing(values, restored):
        with np.errstate(invalid="ignore", over="ignore"):
            rounded, rest = exact_difference(x, y)
        error = np.abs(rounded)
        error[np.isnan(error)] = math.inf
        is_over = (error > bound) | ((error == bound) & (rest * np.sign(rounded) > 0))
        most, is_kept = max(most, float(error.max())), is_kept and not is_over.any()
    return most, is_kept


def are_over_exactly(x, y, bound):
    """Whether |x - y| > bound |x|, in rational numbers, of pairs of finite values."""
    pairs, places = np.unique(np.stack((x, y), axis=1), axis=0, return_inverse=True)
    bound = fractions.Fraction(bound)
    is_over = [abs(a - b) > bound * abs(a)
               for a, b in (map(fractions.Fraction, pair) for pair in pairs.tolist())]
    return np.array(is_over, bool)[places.reshape(-1)]


def largest_relative_error(values, restored, bound):
    """(the largest error over its value's own limit, bound |x|, in f64; whether the exact error of
    every value is within it).

    Error and limit are each rounded once in f64, so where they differ by more than four units in
    the last place, or than the smallest numbers, the comparison is right; else fractions decide."""
    most, is_kept = 0.0, True
    for x, y in differing(values, restored):
        if not (np.isfinite(x) & np.isfinite(y)).all():
            return math.inf, False
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            error, limit = np.abs(x - y), bound * np.abs(x)
            over = error / limit
            is_near = np.abs(error - limit) <= 4 * np.spacing(np.maximum(error, limit))
        is_over = error > limit
        is_over[is_near] = are_over_exactly(x[is_near], y[is_near], bound)
        most, is_kept = max(most, float(over.max())), is_kept and not is_over.any()
    return most, is_kept


def psnr(field, restored):
    """20 log10(span / root mean square error) over the values that are finite and no fill."""
    with np.errstate(invalid="ignore", over="ignore"):
        errors = (field.values[field.is_counted].astype(np.float64)
                  - restored[field.is_counted].astype(np.float64))
        mean_square = float(np.mean(errors**2))
    if mean_square == 0:
        return math.inf
    if not math.isfinite(mean_square) or field.span == 0:
        return math.nan
    return 10 * math.log10(field.span**2 / mean_square)


def compare(field, restored, bound, is_pointwise=False):
    """The Deviation of restored values. A bound of None asks for every bit; one that is pointwise
    is a fraction of each value."""
    if bound is None:
        is_same = restored.tobytes() == field.values.tobytes()
        return Deviation(0.0 if is_same else math.inf, is_same, psnr(field, restored))
    if is_pointwise:
        over, is_kept = largest_relative_error(field.values, restored, bound)
        return Deviation(over, is_kept, psnr(field, restored))
    most, is_kept = largest_error(field.values, restored, bound)
    return Deviation(most / bound, is_kept, psnr(field, restored))
