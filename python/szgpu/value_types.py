"""The types of values, by their names and as the C library numbers them."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import importlib
from functools import lru_cache

import numpy as np

F32, F64, U8, BF16, F16, FP8, I8, U16, I16, I32 = range(10)
"""The types of szgpu_dtype."""

VALUE_BYTES = {F32: 4, F64: 8, U8: 1, BF16: 2, F16: 2, FP8: 1, I8: 1, U16: 2, I16: 2, I32: 4}
VALUE_TYPES = {
    "float32": F32, "float64": F64, "float16": F16, "bfloat16": BF16,
    "uint8": U8, "int8": I8, "uint16": U16, "int16": I16, "int32": I32,
}
"""The types whose values an archive knows, by name."""

TYPE_NAMES = {number: name for name, number in VALUE_TYPES.items()} | {FP8: "uint8"}


@lru_cache(maxsize=64)
def type_of_name(name: str) -> tuple[int, int]:
    """Find the szgpu_dtype of a type of values, and how many of its values one such value takes.

    Types that an archive does not have are bytes in it, so an int64 takes eight values of type U8.
    """
    if name in VALUE_TYPES:
        return VALUE_TYPES[name], 1
    if name.startswith("float8_"):
        return FP8, 1
    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind in "iubfcmM":
        return U8, dtype.itemsize
    raise TypeError(
        f"szgpu cannot compress values of type {name}: convert them to float32, float64 or "
        "integers first"
    )


def bounded_type_of_name(name: str) -> int:
    """Find the szgpu_dtype of a type of values that can have a bound."""
    if name in VALUE_TYPES:
        return VALUE_TYPES[name]
    type_of_name(name)  # refuses what cannot be compressed at all
    remedy = "convert them to float32 or float64"
    if "complex" in name:
        remedy = "view them as floats with one more axis of length 2"
    elif "64[" in name:  # dates and spans of time
        remedy = "convert them to integers or floats, such as hours since a day"
    raise TypeError(
        f"values of type {name} can be compressed with lossless=True only: for a bound {remedy}"
    )


def numpy_type(name: str) -> np.dtype:
    """Find numpy's dtype of a name; bfloat16 and float8 types come from ml_dtypes."""
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        found: np.dtype = np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
        return found
    except ImportError:
        raise TypeError(
            f"numpy has no type {name} of its own: install ml_dtypes, or pass dtype='uint16' (or "
            "'uint8') for the bits"
        ) from None
    except AttributeError:
        raise TypeError(f"there is no type {name}") from None
