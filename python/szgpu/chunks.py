"""What the codecs of zarr and numcodecs have in common: axes, filters before them, fill values."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from . import _core
from .settings import Settings


def folded(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Find at most four axes for an array of any shape.

    Axes of length 1 go, and the first ones are joined. An archive made so has these dims.
    """
    dims = tuple(n for n in shape if n != 1) or (1,)
    return dims if len(dims) <= 4 else (math.prod(dims[:-3]), *dims[-3:])


_MOST_GROWTH, _MOST_MORE_BYTES = 32, 1 << 16  # of a chunk, by filters


@dataclass(frozen=True)
class Chunk:
    """What zarr knows of a chunk of format 2 that it hands to a codec of numcodecs."""

    filters: tuple[Any, ...]  # those before the codec
    fill_value: Any
    byte_count: int | None  # of its values; None: they are objects, or nothing is known

    def require_size(self, byte_count: int) -> None:
        """Refuse an archive that is not one of this chunk, before it takes memory.

        Filters before the codec may make the values longer: each of them into a text, at most.
        """
        if self.byte_count is None:
            return
        most = self.byte_count
        if self.filters:
            most = most * _MOST_GROWTH + _MOST_MORE_BYTES
        if byte_count > most or (byte_count < most and not self.filters):
            at_most = "at most " if self.filters else ""
            raise ValueError(
                f"the archive is of {byte_count} bytes, and {at_most}{most} are wanted: put the "
                "array's own chunk in its place, or write it again"
            )


class told_of_chunk:  # noqa: N801
    """A method of a codec that gets zarr's chunk as `chunk`; None if something else calls.

    zarr tells a codec neither which filters stand before it nor the fill value. Without filters a
    bound is right, and behind some it is not, so the codec looks at who calls. zarr calls methods
    in another thread, so that it is the look-up that sees the caller.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method

    def __get__(self, codec: Any, kind: type | None = None) -> Callable[..., Any]:
        if codec is None:
            return self._method
        variables = sys._getframe(1).f_locals
        owner: Any = variables.get("self")
        filters = tuple(getattr(owner, "filters", None) or ())
        stages = (*filters, getattr(owner, "compressor", None))
        places = [i for i, stage in enumerate(stages) if stage is codec]
        spec: Any = variables.get("chunk_spec")
        chunk = None
        if places and hasattr(owner, "filters"):
            before, size = stages[: places[-1]], None
            dtype = spec.dtype.to_native_dtype() if spec else None
            if dtype is not None and not dtype.hasobject:
                size = math.prod(spec.shape) * dtype.itemsize
            chunk = Chunk(before, spec and spec.fill_value, size)
        return partial(self._method, codec, chunk=chunk)


def require_unfiltered(settings: Settings, filters: Iterable[Any]) -> None:
    """Refuse a bound behind filters that hand over something else than the values."""
    if settings.lossless:
        return
    for one in filters:
        config = one.get_config() if hasattr(one, "get_config") else one.to_dict()
        name = (config.get("id") or config["name"]).removeprefix("numcodecs.")
        if name != "transpose" and not (name == "astype" and _keeps_values(config)):
            raise TypeError(
                f"the filter {name} stands before szgpu, so that a bound would not be one of the "
                "array's values: leave the filter out, or use lossless=True"
            )


def _keeps_values(config: Mapping[str, Any]) -> bool:
    """Whether numcodecs' AsType changes no more than the order of bytes.

    Behind others, what is off by a bound may be rounded, or wrap around, when it is read.
    """
    types = config.get("configuration", config)
    here, there = np.dtype(types["encode_dtype"]), np.dtype(types["decode_dtype"])
    return bool(here.newbyteorder("=") == there.newbyteorder("="))


def fills_of(settings: Settings, fill_value: Any, dtype: int) -> tuple[float, ...]:
    """Find what of a chunk is kept exactly: the settings' fill values and the array's.

    NaN and infinities always come back, and so does 0 if the bound is one of each value. An array's
    fill value that its type does not have is none of its values.
    """
    if settings.lossless or np.asarray(fill_value).dtype.kind not in "biuf":
        return settings.fills
    with _core.Environment():
        fill = float(fill_value)
        is_kept_anyway = not math.isfinite(fill) or (fill == 0 and settings.pwrel is not None)
        if is_kept_anyway or fill in settings.fills or not _core.has_value(dtype, fill):
            return settings.fills
    return (*settings.fills, fill)
