"""check.py - whether an array came back right, in exact arithmetic and without szgpu."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import itertools
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

_PSNR_DIGITS = Context(prec=60)
_DOUBTFUL = 2.0**-40  # relative: far more than what rounding does to an error or a limit
_SAFE = (1e-290, 1e290)  # limits that are no subnormals and do not overflow


class Wrong(Exception):
    """What came back is not right. `kind` names the fault in a few words, to group by."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind = kind


def require_same(want: np.ndarray, got: np.ndarray) -> None:
    """Require the same type, byte order, shape and bits."""
    _require_form(want, got)
    differing = differs(want, got)
    if differing.any():
        raise Wrong("bits changed", _first(want, got, differing))


def require_within(
    want: np.ndarray,
    got: np.ndarray,
    settings: dict[str, Any],
    chunks: tuple[int, ...],
    missing: tuple[Any, ...],
    padding: Any,
) -> None:
    """Require what a bound promises.

    missing: values that mean "nothing here"; they come back, and no other value becomes one.
    padding: what stands in chunks beyond the array's edge, and counts for the range of a chunk.
    """
    _require_form(want, got)
    differing = differs(want, got)
    if not differing.any():
        return
    x, r = numbers(want), numbers(got)
    finite = is_finite(x) & is_finite(r)
    if (differing & ~finite).any():
        raise Wrong("NaN or infinity changed", _first(want, got, differing & ~finite))
    for value in missing:
        was, became = x == numbers(value), r == numbers(value)
        if (was & ~became).any():
            raise Wrong("a missing value was lost", _first(want, got, was & ~became))
        if (became & ~was).any():
            raise Wrong("a value became missing", _first(want, got, became & ~was))
    if "pwrel" in settings:
        _require_relative(want, got, x, r, differing, Fraction(float(settings["pwrel"])))
        return
    for box in boxes(want.shape, chunks):
        here = differing[box]
        if not here.any():
            continue
        limit = limit_of(x[box], settings, chunks, missing, padding)
        over = _over(x[box][here], r[box][here], limit)
        if over.any():
            ratio = max(
                abs(exact(a) - exact(b)) / limit if limit else Fraction(10**9)
                for a, b in zip(x[box][here][over], r[box][here][over])
            )
            where = np.zeros(here.shape, bool)
            where[here] = over
            raise Wrong(
                "over the bound",
                f"{float(ratio):.9g} bounds, {_first(want[box], got[box], where)}",
            )


def _require_form(want: np.ndarray, got: np.ndarray) -> None:
    if want.dtype != got.dtype:
        raise Wrong("another type", f"{got.dtype.str} instead of {want.dtype.str}")
    if want.shape != got.shape:
        raise Wrong("another shape", f"{got.shape} instead of {want.shape}")


def differs(want: np.ndarray, got: np.ndarray) -> np.ndarray:
    size = want.dtype.itemsize
    if want.size == 0 or size == 0:
        return np.zeros(want.shape, bool)
    a, b = (np.frombuffer(v.tobytes(), np.uint8).reshape(-1, size) for v in (want, got))
    return (a != b).any(axis=1).reshape(want.shape)


def numbers(values: Any) -> np.ndarray:
    """Give values as numpy's own type of their exact numbers: floats as f8, integers as such."""
    values = np.asarray(values)
    if values.dtype.kind in "iu":
        return values.astype(values.dtype.newbyteorder("="))
    return values.astype("f8")


def is_finite(x: np.ndarray) -> np.ndarray:
    return np.isfinite(x) if x.dtype.kind == "f" else np.ones(x.shape, bool)


def exact(value: Any) -> Fraction:
    return Fraction(value.item())


def boxes(shape: tuple[int, ...], chunks: tuple[int, ...]) -> Any:
    """Find the slices of the array that chunks hold."""
    starts = (range(0, n, size) for n, size in zip(shape, chunks))
    for corner in itertools.product(*starts):
        yield tuple(slice(at, at + size) for at, size in zip(corner, chunks))


def limit_of(
    x: np.ndarray,
    settings: dict[str, Any],
    chunks: tuple[int, ...],
    missing: tuple[Any, ...],
    padding: Any = None,
) -> Fraction:
    """Compute the greatest error of a chunk's values."""
    if "abs" in settings:
        return Fraction(float(settings["abs"]))
    counts = is_finite(x)
    for value in missing:
        counts &= x != numbers(value)
    values = [exact(v) for v in (x[counts].min(), x[counts].max())] if counts.any() else []
    if padding is not None and x.shape != chunks:
        beyond = numbers(padding)
        if is_finite(beyond) and not any(beyond == numbers(value) for value in missing):
            values.append(exact(beyond))
    spread = max(values) - min(values) if values else Fraction(0)
    if "rel" in settings:
        return Fraction(float(settings["rel"])) * spread
    decibels = Decimal(float(settings["psnr"]))
    power = _PSNR_DIGITS.power(10, decibels / -20)
    room = 1 + Fraction(1, 2**50) + Fraction(decibels) / 2**54  # docs/guarantees.md
    return spread * Fraction(_PSNR_DIGITS.multiply(power, _PSNR_DIGITS.sqrt(Decimal(3)))) * room


def _over(x: np.ndarray, r: np.ndarray, limit: Fraction) -> np.ndarray:
    """Find the errors above a limit, in fractions where longdouble leaves a doubt."""
    near = float(limit) if limit < Fraction(_SAFE[1]) else np.inf
    if not _SAFE[0] < near < _SAFE[1]:
        doubtful, over = np.ones(x.shape, bool), np.zeros(x.shape, bool)
    else:
        error = abs(x.astype(np.longdouble) - r.astype(np.longdouble))
        over = error > near * (1 + _DOUBTFUL)
        doubtful = ~over & (error >= near * (1 - _DOUBTFUL))
    over[doubtful] = [
        abs(exact(a) - exact(b)) > limit for a, b in zip(x[doubtful], r[doubtful])
    ]
    return over


def _require_relative(
    want: np.ndarray,
    got: np.ndarray,
    x: np.ndarray,
    r: np.ndarray,
    differing: np.ndarray,
    share: Fraction,
) -> None:
    """Require of each value that differs that it is off by at most this share of itself."""
    bad = differing & ((x == 0) | (np.signbit(x) != np.signbit(r)))
    if bad.any():
        raise Wrong("a zero or a sign changed", _first(want, got, bad))
    with np.errstate(all="ignore"):
        error = abs(x.astype(np.longdouble) - r.astype(np.longdouble))
        near = float(share) * abs(x).astype(np.longdouble)
    doubtful = differing & ~(error < near * (1 - _DOUBTFUL))
    over = np.zeros(x.shape, bool)
    over[doubtful] = [
        abs(exact(a) - exact(b)) > share * abs(exact(a)) for a, b in zip(x[doubtful], r[doubtful])
    ]
    if over.any():
        raise Wrong("over the bound", _first(want, got, over))


def _first(want: np.ndarray, got: np.ndarray, where: np.ndarray) -> str:
    at = tuple(int(i) for i in np.argwhere(where)[0])
    return (
        f"{int(where.sum())} of {where.size} values, first at {list(at)}: "
        f"{want[at]!r} came back as {got[at]!r}"
    )
