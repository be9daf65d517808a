"""What a variable of xarray says of its values, and the encoding of one that is compressed."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from . import _core, arrays, value_types
from .compressor import compressor_of_thread
from .roles import NAMING, Rule
from .settings import Settings

_PACKING = ("scale_factor", "add_offset")
_MISSING = ("_FillValue", "missing_value")
_KEPT_ENCODING = (*_MISSING, *_PACKING, "dtype", "_Unsigned", "units", "calendar", *NAMING[1:])
"""What an encoding says of values and not of storage. xarray drops what is not passed again, except
the first of `NAMING`, which it has taken by then."""

_CODECS = ("serializer", "compressors", "compressor", "filters")
_CHUNK_BYTES = 1 << 23  # of variables without chunks: to which szgpu --repack joins small ones
_LEAST_CHUNK_BYTES = 1 << 18  # smaller ones of netCDF are joined, because they compress less
_VALID_SLACK = 1e-6  # of an integer, in valid values that are divided by a scale


class About:
    """A variable, decoded by xarray or not: what its attributes and its encoding say.

    Missing values and packing are in the encoding if xarray has decoded them, else in the
    attributes. Both are in the unit of what is stored.
    """

    def __init__(self, name: str, variable: xr.Variable) -> None:
        self.name, self.variable = name, variable
        self.attributes: Mapping[str, Any] = {**variable.encoding, **variable.attrs}

    @cached_property
    def stored(self) -> np.dtype:
        """The type of the values that are stored."""
        given = self.variable.encoding.get("dtype", self.variable.dtype)
        is_other = self.variable.dtype.kind in "mM" or given is str
        stored: np.dtype = np.dtype("V" if is_other else given)
        return stored

    @property
    def is_number(self) -> bool:
        """Whether values of this type can have a bound."""
        try:
            value_types.bounded_type_of_name(self.stored.name)
        except TypeError:
            return False
        return self.variable.dtype.kind in "iuf"

    @property
    def is_unsigned(self) -> bool:
        is_marked = str(self.attributes.get("_Unsigned", "false")).lower() == "true"
        return is_marked and self.stored.name in ("int8", "int16")

    @cached_property
    def packing(self) -> tuple[float, float]:
        """Scale and offset; 1 and 0 if they are no packing."""
        scale, offset = (
            next(iter(_numbers(self.attributes.get(name))), default)
            for name, default in zip(_PACKING, (1.0, 0.0), strict=True)
        )
        is_sound = math.isfinite(scale) and scale != 0 and math.isfinite(offset)
        return (scale, offset) if is_sound else (1.0, 0.0)

    @property
    def is_packed(self) -> bool:
        return self.packing != (1.0, 0.0)

    @cached_property
    def fills(self) -> tuple[float, ...]:
        """The values that mean missing; NaN and infinities are restored anyway."""
        found: dict[str, float] = {}
        kind = value_types.VALUE_TYPES[self.stored.name]
        for name in _MISSING:
            for value in _numbers(self.attributes.get(name)):
                if math.isfinite(value) and _core.has_value(kind, value):
                    rounded = float(np.array(value).astype(self.stored))
                    found.setdefault(repr(rounded), rounded)
        return tuple(found.values())

    def count_fills(self, zarr_format: int | None) -> int:
        """Count what is kept exactly, with the array's own fill value in a store of format 3."""
        own = self.variable.encoding.get("fill_value")
        if own is None:
            own = math.nan if self.stored.kind == "f" else 0  # xarray's, and zarr's for integers
        is_one_more = zarr_format == 3 and math.isfinite(own) and own not in self.fills
        return len(self.fills) + is_one_more

    @cached_property
    def valid(self) -> tuple[float, float] | None:
        """The least and the greatest valid value, if they are stated."""
        ends = [-math.inf, math.inf]
        is_stated = False
        for name, places in (("valid_min", (0,)), ("valid_max", (1,)), ("valid_range", (0, 1))):
            given = self.attributes.get(name)
            numbers = tuple(_numbers(given))
            if len(numbers) != len(places) or any(math.isnan(number) for number in numbers):
                continue
            limits = [-math.inf, math.inf]
            for place, number in zip(places, numbers, strict=True):
                limits[place] = number
            are_floats = np.asarray(given).dtype.kind not in "iu"
            if are_floats and self.is_packed and self.stored.kind in "iu":
                limits = self._packed_limits(limits)
            ends = [max(ends[0], limits[0]), min(ends[1], limits[1])]
            is_stated = True
        return (ends[0], ends[1]) if is_stated else None

    def _packed_limits(self, limits: list[float]) -> list[float]:
        """See limits of unpacked values as the integers between them."""
        scale, offset = self.packing
        least, greatest = sorted((limit - offset) / scale for limit in limits)
        return [
            math.ceil(least - _VALID_SLACK) if math.isfinite(least) else least,
            math.floor(greatest + _VALID_SLACK) if math.isfinite(greatest) else greatest,
        ]

    @property
    def had_bound(self) -> bool:
        """Whether szgpu has compressed the values with a bound where they were read."""
        return any(
            type(codec).__module__ in ("szgpu.zarr", "szgpu.numcodecs")
            and not codec.settings.lossless
            for codec in _codecs_of(self.variable.encoding)
        ) or _has_bound_in_file(self.name, self.variable.encoding.get("source"))

    def settings(self, rule: Rule) -> dict[str, Any]:
        """Make the settings of the codec: what a rule means for what is stored."""
        mode, bound = rule.mode, rule.bound
        if mode in ("rel", "psnr"):
            share = bound if mode == "rel" else math.sqrt(3) * 10 ** (-bound / 20)
            mode, bound = "abs", share * self._width()
        if mode == "abs":
            bound = bound / abs(self.packing[0])
            is_rounded = self.is_packed or mode != rule.mode
            for _ in range(3 if is_rounded else 0):  # a little below
                bound = math.nextafter(bound, 0)
        if mode == "lossless" or not (bound > 0 and math.isfinite(bound)):
            return {"lossless": True}
        found: dict[str, Any] = {mode: bound}
        if self.fills:
            found["fill"] = list(self.fills)
        if self.valid is not None:
            found["valid"] = self.valid
        return found

    # ---- what the values themselves say ----

    def _of_blocks(self, function: Callable[..., Any], *more: Any) -> list[Any]:
        """Call a function with each of Dask's chunks, or with all values."""
        if self.variable.chunks is None:
            return [function(np.asarray(self.variable.data), *more)]
        dask: Any = importlib.import_module("dask")
        blocks = self.variable.data.to_delayed().ravel()
        return list(dask.compute(*(dask.delayed(function)(block, *more) for block in blocks)))

    def _width(self) -> float:
        """Find the range of the values that are neither missing nor invalid, in their own unit."""
        scale, offset = self.packing
        is_unpacked = any(name in self.variable.encoding for name in _PACKING)
        valid = self.valid
        if valid is not None and is_unpacked:
            low, high = sorted(limit * scale + offset for limit in valid)
            valid = (low, high)
        ends = [pair for pair in self._of_blocks(_find_ends, self.fills, valid) if pair is not None]
        if not ends:
            return 0.0
        least, greatest = (f(pair[i] for pair in ends) for i, f in enumerate((min, max)))
        return float(greatest - least) * (1 if is_unpacked else abs(scale))

    @cached_property
    def stays_valid(self) -> bool:
        """Whether HDF5's filter, which is not told of valid values, restores none that are not.

        It keeps values in the range of their chunk, which has the fill value, or 0, beyond the
        array's edge.
        """
        if self.valid is None:
            return True
        least, greatest = self.valid
        has_own_fill = self.attributes.get("_FillValue") is not None
        if self.is_packed or self.stored != self.variable.dtype:
            return False
        if not (has_own_fill or least <= 0 <= greatest):
            return False
        return all(self._of_blocks(_are_within, self.fills, self.valid))

    # ---- encodings ----

    def zarr_encoding(
        self, settings: Mapping[str, Any] | None, zarr_format: int
    ) -> dict[str, Any] | None:
        """Make the encoding for `to_zarr`; None if the variable's own is right."""
        own = self.variable.encoding
        if settings is None and self.had_bound:
            settings = {"lossless": True}
        if settings is None and all(_fits(codec, zarr_format) for codec in _codecs_of(own)):
            return None
        made = {name: own[name] for name in (*_KEPT_ENCODING, "fill_value") if name in own}
        if zarr_format == 2:
            made.pop("fill_value", None)
        made.update(self._zarr_chunks(is_chosen=settings is not None))
        if settings is None:
            return made
        if zarr_format == 3:
            from .zarr import SzgpuCodec

            return {**made, "serializer": SzgpuCodec(**settings), "compressors": None}
        from .numcodecs import Szgpu

        return {**made, "compressors": Szgpu(**settings)}

    def _zarr_chunks(self, *, is_chosen: bool) -> dict[str, Any]:
        """Choose chunks: the store's own, if Dask's do not cut them, else Dask's."""
        own = {name: self.variable.encoding.get(name) for name in ("chunks", "shards")}
        own = {name: chunks for name, chunks in own.items() if chunks is not None}
        parts = self.variable.chunks
        if own and (parts is None or _are_whole(own.get("shards", own.get("chunks")), parts)):
            return own
        if parts is not None:
            return {"chunks": tuple(lengths[0] for lengths in parts)}
        return {"chunks": self._chosen_chunk()} if is_chosen else {}

    def hdf5_encoding(self, settings: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Make the encoding for `to_netcdf` by h5netcdf; None if the variable's own is right."""
        if settings is None:
            return None
        from .hdf5 import Filter

        own = self.variable.encoding
        made = {name: own[name] for name in _KEPT_ENCODING if name in own}
        kept = dict(settings)
        kept.pop("valid", None)  # they stay so: see stays_valid
        own_fill = tuple(_numbers(self.attributes.get("_FillValue")))
        fills = [fill for fill in kept.pop("fill", ()) if fill not in own_fill]
        return {**made, **Filter(**kept, fill=fills or None), "chunksizes": self._hdf5_chunk()}

    def _hdf5_chunk(self) -> tuple[int, ...]:
        """Choose chunks: the file's own unless they are small, and none that Dask's chunks cut.

        Dask writes its chunks one after the other. HDF5 would restore, change and compress a chunk
        of the file that has parts of two, and with rel, for instance, errors would add up.
        """
        own = self.variable.encoding.get("chunksizes")
        if own and math.prod(own) * self.stored.itemsize < _LEAST_CHUNK_BYTES:
            own = None
        parts = self.variable.chunks
        if parts is None:
            chunk = own or self._chosen_chunk()
            return tuple(min(a, b) for a, b in zip(chunk, self.variable.shape, strict=True))
        if own and _are_whole(own, parts):
            return tuple(own)
        chunk = tuple(lengths[0] for lengths in parts)
        if not _are_whole(chunk, parts):
            raise ValueError(
                f"the chunks of Dask of {self.name} are of different lengths, {parts}: make them "
                "alike with chunk()"
            )
        return _divided(chunk, _CHUNK_BYTES // self.stored.itemsize)

    def _chosen_chunk(self) -> tuple[int, ...]:
        """Choose chunks of at most 8 MiB, of whole rows along the last axes."""
        room = max(1, _CHUNK_BYTES // self.stored.itemsize)
        chunk: list[int] = []
        for length in reversed(self.variable.shape):
            chunk.append(max(1, min(length, room)))
            room //= chunk[-1]
        return tuple(reversed(chunk))


def _find_ends(
    values: np.ndarray, fills: tuple[float, ...], valid: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Find the least and the greatest value that count for a range, as an archive states them."""
    line = np.ascontiguousarray(values).reshape(-1)
    line = line.astype(line.dtype.newbyteorder("="), copy=False)
    if line.size == 0:
        return None
    settings = Settings(rel=1.0, valid=valid)
    stated = compressor_of_thread(1).foresee_chunk(arrays.field_of(line, True), settings, fills)
    if stated["limits"] is not None:
        return float(stated["limits"][0]), float(stated["limits"][1])
    numbers = line.astype("f8")  # all are equal, for instance
    is_one = np.isfinite(numbers) & ~np.isin(numbers, stated["fills"])
    if valid is not None:
        is_one &= (numbers >= valid[0]) & (numbers <= valid[1])
    numbers = numbers[is_one]
    return (float(numbers.min()), float(numbers.max())) if numbers.size else None


def _are_within(values: np.ndarray, fills: tuple[float, ...], valid: tuple[float, float]) -> bool:
    """Whether all values are valid or missing."""
    is_right = (values >= valid[0]) & (values <= valid[1]) | np.isnan(values)
    return bool((is_right | np.isin(values, fills)).all())


def _numbers(given: Any) -> Iterator[float]:
    """Read the numbers of an attribute: one, several, or one as a text."""
    if given is None:
        return
    for value in np.atleast_1d(np.asarray(given)).reshape(-1):
        try:
            yield float(value.split()[0] if isinstance(value, str) else value)
        except (TypeError, ValueError, IndexError):
            return  # a text that is no number


def _codecs_of(encoding: Mapping[str, Any]) -> list[Any]:
    """List the codecs of zarr that an encoding names."""
    found: list[Any] = []
    for name in _CODECS:
        given = encoding.get(name)
        found += given if isinstance(given, (list, tuple)) else [given]
    return [codec for codec in found if codec is not None and not isinstance(codec, str)]


def _fits(codec: Any, zarr_format: int) -> bool:
    """Whether a codec is one of the format: those of format 2 are numcodecs'."""
    return hasattr(codec, "codec_id") == (zarr_format == 2)


def _are_whole(chunk: Any, parts: tuple[tuple[int, ...], ...]) -> bool:
    """Whether each of Dask's chunks, except the last along an axis, has whole chunks of a store."""
    if not all(isinstance(length, int) for length in chunk):
        return False  # of different lengths
    return all(
        part % length == 0
        for length, lengths in zip(chunk, parts, strict=True)
        for part in lengths[:-1]
    )


def _divided(chunk: tuple[int, ...], most_values: int) -> tuple[int, ...]:
    """Divide a chunk into equal parts of at most so many values, along its first axes."""
    parts = list(chunk)
    for axis, length in enumerate(chunk):
        divisor = 2
        while math.prod(parts) > most_values and divisor <= length:
            if parts[axis] % divisor == 0:
                parts[axis] //= divisor
            else:
                divisor += 1
    return tuple(parts)


def _has_bound_in_file(name: str, source: Any) -> bool:
    """Whether a file of HDF5, which a variable was read from, has it with a bound of szgpu."""
    if not isinstance(source, str):
        return False
    try:
        import h5py  # type: ignore[import-untyped]

        from . import hdf5

        if not h5py.is_hdf5(source):
            return False
        with h5py.File(source) as file:
            found = file.get(name)
            return isinstance(found, h5py.Dataset) and hdf5.has_bound(found)
    except (ImportError, OSError):
        return False  # another reader's: a URL, for instance
