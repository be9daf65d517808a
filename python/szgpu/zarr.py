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
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from zarr.abc.codec import ArrayBytesCodec

from . import arrays
from .arrays import SOURCE_BIG_ENDIAN
from .chunks import fills_of, folded, require_unfiltered
from .compressor import compressor_of_thread, shape_of
from .settings import Fill, Settings

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer

__all__ = ["SzgpuCodec"]

NAME = "szgpu"


@dataclass(frozen=True)
class SzgpuCodec(ArrayBytesCodec):
    """The zarr v3 codec "szgpu".

    Pass exactly one of `abs`, `rel`, `psnr`, `pwrel` and `lossless`. `rel` and `psnr` depend on the
    range of each chunk, so `abs` is usually better. With a bound, the only filter before it may be
    `transpose`.

    Parameters
    ----------
    abs, rel, psnr, pwrel, lossless, predictor, zstd
        As in `szgpu.compress`.
    fill : float or sequence of float, optional
        Values that are kept exactly, in addition to the array's own fill value.
    """

    is_fixed_size = False

    settings: Settings

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
    ) -> None:
        settings = Settings(abs, rel, psnr, lossless, fill, predictor, zstd, pwrel)
        object.__setattr__(self, "settings", settings)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        if data.get("name") != NAME:
            raise ValueError(f"the codec's name is {data.get('name')!r}, not {NAME!r}")
        return cls(**Settings.from_config(data.get("configuration", {})).__dict__)

    def to_dict(self) -> dict[str, Any]:
        return {"name": NAME, "configuration": self.settings.as_config()}

    def validate(self, *, shape: Any, dtype: Any, chunk_grid: Any) -> None:
        self._name_of(dtype.to_native_dtype())

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

    def encode(self, chunks_and_specs: Iterable[tuple[NDBuffer | None, ArraySpec]]) -> Any:
        pipeline = sys._getframe(1).f_locals.get("self")  # zarr does not say what stands before
        if getattr(pipeline, "array_bytes_codec", None) is self:
            require_unfiltered(self.settings, getattr(pipeline, "array_array_codecs", ()))
        return super().encode(chunks_and_specs)

    def _encode_sync(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> Buffer | None:
        given = chunk_array.as_ndarray_like()
        values = self._values(given, chunk_spec)
        field = arrays.field_of(values, not self.settings.lossless)
        fills = fills_of(self.settings, chunk_spec.fill_value, field.dtype)
        if not given.dtype.isnative:
            field = replace(field, source=field.source | SOURCE_BIG_ENDIAN)
        archive = compressor_of_thread(1).compress_chunk(field, self.settings, fills)
        if isinstance(archive, bytes):
            archive = np.frombuffer(archive, np.uint8)
        return chunk_spec.prototype.buffer.from_array_like(archive)

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
        _, found, source = shape_of(archive, name)
        if found != shape:
            raise ValueError(
                f"the chunk's archive has the shape {found}, and the array's chunks have "
                f"{chunk_spec.shape}: put the array's own chunk in its place, or write it again"
            )
        values = compressor_of_thread(1).decompress(archive, dtype=name)
        if name != dtype.name:
            values = values.view(dtype)
        if source & SOURCE_BIG_ENDIAN:  # a filter may need the bytes as it gave them
            values = values.astype(dtype.newbyteorder(">"))
        return chunk_spec.prototype.nd_buffer.from_ndarray_like(values.reshape(chunk_spec.shape))

    async def _encode_single(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> Buffer | None:
        return await asyncio.to_thread(self._encode_sync, chunk_array, chunk_spec)

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        return await asyncio.to_thread(self._decode_sync, chunk_bytes, chunk_spec)


def _native(dtype: np.dtype) -> np.dtype:
    return dtype.newbyteorder("=")
