"""zarr v3: a codec that turns each chunk into one archive.

zarr finds the codec by its name, "szgpu", once the package is installed; to write, pass it as the
serializer.

>>> import numpy as np
>>> import zarr
>>> from szgpu.zarr import SzgpuCodec
>>> store = zarr.storage.MemoryStore()
>>> wind = zarr.create_array(
...     store, shape=(128, 128), chunks=(64, 64), dtype="float32",
...     serializer=SzgpuCodec(abs=0.01), compressors=None,
... )
>>> wind[...] = np.ones((128, 128), "float32")
>>> bool(abs(wind[...] - 1).max() <= 0.01)
True
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import asyncio
import base64
import copy
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from zarr.abc.codec import ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin, Codec
from zarr.abc.store import RangeByteRequest
from zarr.codecs import ShardingCodec as ZarrShardingCodec
from zarr.codecs.sharding import ShardingCodecIndexLocation
from zarr.core.buffer import cpu
from zarr.core.metadata import ArrayV3Metadata

from . import arrays, ranges
from .arrays import SOURCE_BIG_ENDIAN
from .chunks import archive_of, folded, note_restored, require_unfiltered, warn_of_restored
from .compressor import compressor_of_thread, shape_of
from .settings import Fill, Settings
from .zarr_parts import ShardGetter, box_in, later_of, next_of

if TYPE_CHECKING:
    from zarr.abc.store import ByteGetter
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer

__all__ = ["ShardingCodec", "SzgpuCodec"]

NAME = "szgpu"


@dataclass(frozen=True)
class SzgpuCodec(ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin):
    """The zarr v3 codec "szgpu".

    If no other codec stands beside it, zarr reads only those bytes of a large chunk that a selection
    needs, by ranges; in shards, with `ShardingCodec` of this module.

    Pass exactly one of `abs`, `rel`, `psnr`, `pwrel` and `lossless`. `rel` and `psnr` depend on the
    range of each chunk, so `abs` is usually better. With a bound, the only filter before it may be
    `transpose`.

    Parameters
    ----------
    abs, rel, psnr, pwrel, lossless, predictor, zstd
        As in `szgpu.compress`.
    fill : float or sequence of float, optional
        Values that are kept exactly, in addition to the array's own fill value and its attributes
        `_FillValue` and `missing_value`.
    valid : pair of float, optional
        The least and the greatest valid value. Others are kept exactly, and valid ones stay valid.
    """

    is_fixed_size = False

    settings: Settings
    place: _Place | None = None

    def __init__(
        self,
        *,
        abs: float | None = None,
        rel: float | None = None,
        psnr: float | None = None,
        pwrel: float | None = None,
        lossless: bool = False,
        fill: Fill = None,
        predictor: str = "auto",
        zstd: int = 0,
        valid: tuple[float, float] | None = None,
    ) -> None:
        settings = Settings(abs, rel, psnr, lossless, fill, predictor, zstd, pwrel, valid)
        object.__setattr__(self, "settings", settings)
        object.__setattr__(self, "place", None)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        if data.get("name") != NAME:
            raise ValueError(f"the codec's name is {data.get('name')!r}, not {NAME!r}")
        codec = cls(**Settings.from_config(data.get("configuration", {})).__dict__)
        object.__setattr__(codec, "place", getattr(data, "place", None))
        return codec

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        """Note the codec's place in the array whose metadata are being made.

        zarr asks this of all the codecs of an array when it makes the metadata, and of some of them
        again later, when it no longer says where they stand.
        """
        place = _find_place(self)
        if place is None:
            return self
        if place.is_changed and self.place is not None:  # the codecs of before may go on being used
            self.place.attributes[0] = place.attributes[0]
            place = replace(place, attributes=self.place.attributes)
        elif self.place is not None:
            place = replace(place, is_other=not self.place.is_other)
        placed = copy.copy(self)
        object.__setattr__(placed, "place", place)
        return placed

    def to_dict(self) -> dict[str, Any]:
        return _Dict(self.place, name=NAME, configuration=self.settings.as_config())

    def validate(self, *, shape: Any, dtype: Any, chunk_grid: Any) -> None:
        try:
            self._name_of(dtype.to_native_dtype())
        except TypeError:
            if self.place is not None:  # a filter may have made the type what it is
                require_unfiltered(self.settings, self.place.filters)
            raise

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        raise NotImplementedError("the size of an archive depends on the values")

    def _name_of(self, dtype: np.dtype) -> str:
        """Name the type of the values that an archive of such a chunk has."""
        if dtype.hasobject or dtype.kind not in "biufcmMSUV":
            raise TypeError(
                f"szgpu cannot compress values of type {dtype}, which have no fixed size: use "
                "another codec"
            )
        self.settings.require_type(dtype)
        return "uint8" if dtype.kind in "SUV" else dtype.name

    def _encode_sync(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> Buffer | None:
        if not self.settings.lossless:
            self._require_unfiltered()
        given = chunk_array.as_ndarray_like()
        values = self._values(given, chunk_spec)
        warn_of_restored(self.settings, values)
        order = 0 if given.dtype.isnative else SOURCE_BIG_ENDIAN

        def field_of(values: Any) -> arrays.Field:
            chunk = arrays.field_of(values, not self.settings.lossless)
            return replace(chunk, source=chunk.source | order)

        named = _missing_values(self.place.attributes[0]) if self.place is not None else ()
        archive = archive_of(self.settings, values, field_of, chunk_spec.fill_value, named)
        if isinstance(archive, bytes):
            archive = np.frombuffer(archive, np.uint8)
        return chunk_spec.prototype.buffer.from_array_like(archive)

    def _require_unfiltered(self) -> None:
        if self.place is None:
            raise TypeError(
                "zarr does not say what stands before szgpu, so that a bound might not be one of "
                "the array's values: give the codec to an array, or use lossless=True"
            )
        require_unfiltered(self.settings, self.place.filters)

    def _values(self, given: Any, chunk_spec: ArraySpec) -> Any:
        """See what zarr or a filter hands over as the values of the chunk's type and shape."""
        dtype = _native(chunk_spec.dtype.to_native_dtype())
        name = self._name_of(dtype)
        if _native(given.dtype) == dtype:
            given = given.astype(dtype, copy=False)
        elif self.settings.lossless and given.dtype.itemsize == dtype.itemsize:
            given = given.reshape(-1).view(dtype)
        else:
            raise TypeError(
                f"a filter hands over values of type {given.dtype}, and not of {dtype} as it says: "
                "leave the filter out, or use lossless=True"
            )
        given = given.reshape(folded(chunk_spec.shape))
        return given if name == dtype.name else np.ascontiguousarray(given).view(np.uint8)

    def _decode_sync(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        dtype = _native(chunk_spec.dtype.to_native_dtype())
        name = self._name_of(dtype)
        shape = folded(chunk_spec.shape)
        if name != dtype.name:
            shape = (*shape[:-1], shape[-1] * dtype.itemsize)
        archive = chunk_bytes.as_array_like()
        source = _source_of(archive, name, shape, chunk_spec)
        values = compressor_of_thread(1).decompress(archive, dtype=name)
        note_restored(self.settings, values)
        if name != dtype.name:
            values = values.view(dtype)
        if source & SOURCE_BIG_ENDIAN:  # a filter may need the bytes as it gave them
            values = values.astype(dtype.newbyteorder(">"))
        return chunk_spec.prototype.nd_buffer.from_ndarray_like(values.reshape(chunk_spec.shape))

    async def _decode_partial_single(
        self, byte_getter: ByteGetter, selection: Any, chunk_spec: ArraySpec
    ) -> NDBuffer | None:
        source: Any = later_of(byte_getter) or byte_getter
        prototype = chunk_spec.prototype
        box = box_in(selection, chunk_spec)
        if box is None or not issubclass(prototype.buffer, cpu.Buffer):
            chunk_bytes = await source.get(prototype)
            if chunk_bytes is None:
                return None
            return (await self._decode_single(chunk_bytes, chunk_spec))[selection]

        async def read(start: int, stop: int | None) -> Any:
            byte_range = None if stop is None else RangeByteRequest(start, stop)
            found = await source.get(prototype, byte_range)
            return None if found is None else found.as_numpy_array()

        name = self._name_of(_native(chunk_spec.dtype.to_native_dtype()))
        steps = ranges.steps_of_region(
            lambda: compressor_of_thread(1),
            box.region,
            name,
            check=lambda archive: _source_of(archive, name, folded(chunk_spec.shape), chunk_spec),
        )
        answers = [await read(*next(steps)[0])]
        if answers[0] is None:
            return None  # there is no such chunk
        while True:
            step = await asyncio.to_thread(next_of, steps, answers)
            if isinstance(step, np.ndarray):
                break
            answers = await asyncio.gather(*(read(start, stop) for start, stop in step))
        values = step.reshape(box.shape)
        return prototype.nd_buffer.from_ndarray_like(values[box.picks])

    async def _encode_single(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> Buffer | None:
        return await asyncio.to_thread(self._encode_sync, chunk_array, chunk_spec)

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        return await asyncio.to_thread(self._decode_sync, chunk_bytes, chunk_spec)


def _source_of(archive: Any, name: str, shape: tuple[int, ...], chunk_spec: ArraySpec) -> int:
    """Read the source of an archive, which must be one of such chunks."""
    _, found, source = shape_of(archive, name)
    if found != shape:
        raise ValueError(
            f"the chunk's archive has the shape {found}, and the array's chunks have "
            f"{chunk_spec.shape}: put the array's own chunk in its place, or write it again"
        )
    return source


class ShardingCodec(ZarrShardingCodec):
    """zarr's codec for shards, which lets szgpu read parts of the chunks in them.

    zarr's own reads the chunks of a shard whole. To have this one in its place:

    >>> import zarr
    >>> with zarr.config.set({"codecs.sharding_indexed": "szgpu.zarr.ShardingCodec"}):
    ...     pass  # open and read arrays
    """

    async def _decode_partial_single(
        self, byte_getter: ByteGetter, selection: Any, shard_spec: ArraySpec
    ) -> NDBuffer | None:
        is_ours = len(self.codecs) == 1 and isinstance(self.codecs[0], SzgpuCodec)
        if not is_ours or box_in(selection, shard_spec) is None:
            return await super()._decode_partial_single(byte_getter, selection, shard_spec)
        codec = _ShardInParts(
            chunk_shape=self.chunk_shape,
            codecs=self.codecs,
            index_codecs=self.index_codecs,
            index_location=self.index_location,
        )
        is_first = self.index_location == ShardingCodecIndexLocation.start
        parts = cast("ByteGetter", ShardGetter(byte_getter, is_first))
        return await codec._decode_partial_single(parts, selection, shard_spec)


class _ShardInParts(ZarrShardingCodec):
    """Never reads the whole shard at once, even if a little of each chunk is selected."""

    def _is_total_shard(self, *_: Any) -> bool:
        return False


# ---- where a codec stands ----


def _native(dtype: np.dtype) -> np.dtype:
    return dtype.newbyteorder("=")


@dataclass(frozen=True)
class _Place:
    """Where a codec stands in an array of format 3."""

    filters: tuple[Codec, ...]  # those before it, also before the shards that it is in
    attributes: list[Mapping[str, Any]] = field(compare=False)  # one: the array's, as they change
    is_changed: bool = field(default=False, compare=False)  # metadata that take the place of others
    is_other: bool = False  # differs from the place before: ShardingCodec asks for a difference


class _Dict(dict[str, Any]):
    """A codec's dictionary, which keeps its place where zarr pickles it so, as in shards."""

    def __init__(self, place: _Place | None = None, **items: Any) -> None:
        super().__init__(**items)
        self.place = place


def _find_place(codec: SzgpuCodec) -> _Place | None:
    """Find a codec's place from the calls that lead to it; None if no array's metadata do.

    Up the stack, each call is one on a codec that has the one before among its own, such as
    ShardingCodec, or the call that makes the metadata.
    """
    inner: Codec = codec
    filters: tuple[Codec, ...] = ()
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        variables = frame.f_locals
        owner: Any = variables.get("self")
        is_of_metadata = isinstance(owner, ArrayV3Metadata)
        if is_of_metadata or (isinstance(owner, Codec) and owner is not inner):
            held = variables if is_of_metadata else vars(owner)
            before = _before(inner, held.values())
            if before is not None:
                filters = (*before, *filters)
                if is_of_metadata:
                    attributes = variables.get("attributes_parsed")
                    if attributes is None:  # another zarr than those known: nothing is sure
                        return None
                    return _Place(filters, [attributes], _is_changed(frame))
                inner = owner
        frame = frame.f_back
    return None


def _is_changed(frame: FrameType) -> bool:
    """Whether metadata are made from others, as when an array is resized."""
    made = frame.f_locals["self"]
    before = frame.f_back
    while before is not None and before.f_globals.get("__name__") in (
        "dataclasses",
        ArrayV3Metadata.__module__,
    ):
        variables = before.f_locals
        for name in ("self", "obj"):
            owner = variables.get(name)
            if isinstance(owner, ArrayV3Metadata) and owner is not made:
                return True
        before = before.f_back
    return False


def _before(codec: Codec, values: Iterable[Any]) -> tuple[Codec, ...] | None:
    """Find the codecs before one, in the first row of codecs that has it."""
    for row in values:
        if isinstance(row, (list, tuple)) and all(isinstance(one, Codec) for one in row):
            for i, one in enumerate(row):
                if one is codec:
                    return tuple(row[:i])
    return None


def _missing_values(attributes: Mapping[str, Any]) -> Iterator[float]:
    """Read the attributes that name missing values, as CF and xarray write them."""
    for name in ("_FillValue", "missing_value"):
        given = attributes.get(name)
        for value in given if isinstance(given, (list, tuple)) else (given,):
            number = _number(value)
            if number is not None:
                yield number


def _number(value: Any) -> float | None:
    """Read a number; xarray writes a float as the base64 of its 8 bytes."""
    try:
        if isinstance(value, (int, float)):
            return float(value)
        if isinstance(value, str):
            return float(struct.unpack("<d", base64.b64decode(value, validate=True))[0])
    except (ValueError, OverflowError, struct.error):
        pass  # a word, or a number that no value is
    return None
