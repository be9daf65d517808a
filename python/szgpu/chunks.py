"""What the codecs of zarr and numcodecs have in common: axes, filters before them, fill values."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from . import _core, arrays, value_types
from .compressor import compressor_of_thread
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
        chunk = None
        if places and hasattr(owner, "filters"):
            spec: Any = variables.get("chunk_spec")
            if spec is not None:
                dtype, shape, fill_value = spec.dtype.to_native_dtype(), spec.shape, spec.fill_value
            else:  # the library zarr 2, whose arrays encode chunks themselves
                dtype, shape, fill_value = owner.dtype, owner.chunks, owner.fill_value
            size = None if dtype.hasobject else math.prod(shape) * dtype.itemsize
            chunk = Chunk(stages[: places[-1]], fill_value, size)
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


def fills_of(settings: Settings, missing: Iterable[Any], dtype: int) -> tuple[float, ...]:
    """Find what of a chunk is kept exactly: the settings' fill values and what the array names.

    NaN and infinities always come back, and so does 0 if the bound is one of each value. What the
    array's type does not have is none of its values.
    """
    if settings.lossless:
        return settings.fills
    with _core.Environment():
        fills = {_nearest(dtype, fill): fill for fill in settings.fills}
        for value in missing:
            if np.asarray(value).dtype.kind not in "biuf":
                continue
            fill = float(value)
            name = _nearest(dtype, fill)
            is_kept_anyway = name in ("nan", "inf", "-inf") or (
                fill == 0 and settings.pwrel is not None
            )
            if not is_kept_anyway and _core.has_value(dtype, fill):
                fills.setdefault(name, fill)
    return tuple(fills.values())


def _nearest(dtype: int, fill: float) -> str:
    """Name the value of a type that a number stands for; 0.0 is not -0.0."""
    name = value_types.TYPE_NAMES[dtype]
    if not name.startswith("float"):
        return repr(fill)
    with np.errstate(over="ignore"):
        return repr(float(np.dtype(name).type(fill)))


def archive_of(
    settings: Settings,
    values: Any,
    field_of: Callable[[Any], arrays.Field],
    fill_value: Any,
    named: Iterable[Any] = (),
) -> Any:
    """Compress a chunk, so that no value of it is missing when it is restored.

    If other values would be restored as a fill value that lies among them, the archive is lossless.
    A fill value of 0 does not mean missing unless it is named: it is zarr's default.

    Parameters
    ----------
    values : the chunk
    field_of : what sees the chunk as the library does, also a copy of it on the CPU
    fill_value : the array's own, or None
    named : what else means missing, besides `settings.fill`
    """
    named = tuple(named)
    field = field_of(values)
    compressor = compressor_of_thread(1)
    fills = fills_of(settings, (fill_value, *named), field.dtype)
    archive = compressor.compress_chunk(field, settings, fills)
    ignores_zero = 0 not in (*settings.fills, *named)
    if settings.lossless or not compressor.loses(field_of, values, archive, ignores_zero):
        return archive
    lossless = Settings(lossless=True, zstd=settings.zstd)
    return compressor.compress_chunk(field_of(values), lossless, ())


_SAMPLED_VALUES = 512  # of a chunk, at random places
_ENOUGH_EQUAL = 4  # different values of a sample: by chance a restored value equals another's

_restored: deque[np.ndarray] = deque(maxlen=256)
"""Samples of chunks that were restored lately, with bounds that follow from the values."""


def note_restored(settings: Settings, values: np.ndarray) -> None:
    """Remember a restored chunk, for `warn_of_restored`."""
    if settings.mode not in ("lossless", "abs"):
        _restored.append(_sample(values))


def warn_of_restored(settings: Settings, values: np.ndarray) -> None:
    """Warn if a chunk holds values of a restored one, which the bound does not keep where they are.

    Who writes a part of a chunk restores it, changes the part and compresses the whole again. With
    abs the other values stay; with other modes they move each time, and errors add up.
    """
    if settings.mode in ("lossless", "abs"):
        return
    found = _sample(values)
    for known in tuple(_restored):
        if known.shape == found.shape and known.dtype == found.dtype:
            equal = found[(known == found) & np.isfinite(found)]
            if np.unique(equal).size >= _ENOUGH_EQUAL:
                mode = settings.mode
                warnings.warn(
                    "the chunk has values that were restored, because a part of it is written "
                    f"again, or it is copied: with {mode} they move by up to one more bound each "
                    "time: write original values in whole chunks, or use abs",
                    UserWarning,
                    stacklevel=2,
                )
                return


def _sample(values: np.ndarray) -> np.ndarray:
    """Take values in the order of the archive, in this machine's order of bytes."""
    sample: np.ndarray = values.reshape(-1, order="A")[_places(values.size)]
    return sample.astype(sample.dtype.newbyteorder("="), copy=False)


@lru_cache(maxsize=64)
def _places(size: int) -> np.ndarray:
    count = min(size, _SAMPLED_VALUES)
    return np.random.default_rng(size).choice(size, count, replace=size > 1 << 20)
