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
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from zarr.abc.codec import ArrayBytesCodec

from .compressor import compressor_of_thread
from .settings import Settings, folded

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer

__all__ = ["SzgpuCodec"]

NAME = "szgpu"


@dataclass(frozen=True)
class SzgpuCodec(ArrayBytesCodec):
    """The zarr v3 codec "szgpu".

    Say how exact the chunks must be by exactly one of `abs`, `rel`, `psnr`, `pwrel` and
    `lossless`. `rel`
    and `psnr` are by the range of each chunk, so `abs` is what you mostly want.

    Parameters
    ----------
    abs, rel, psnr, pwrel, lossless, predictor, zstd
        As in `szgpu.compress`.
    fill : float, optional
        The value that means "nothing here". By default the array's fill value if it is not 0.
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
        fill: float | None = None,
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
        self.settings.require_type(dtype.to_native_dtype().name)

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        raise NotImplementedError("the size of an archive depends on the values")

    def _fill(self, spec: ArraySpec) -> float | None:
        if self.settings.lossless:
            return None
        if self.settings.fill is not None:
            return self.settings.fill
        value = float(spec.fill_value)
        return None if value == 0 or not math.isfinite(value) else value

    def _encode_sync(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> Buffer | None:
        values = chunk_array.as_ndarray_like().reshape(folded(chunk_spec.shape))
        archive = self.settings.compress(
            compressor_of_thread(1), values, fill=self._fill(chunk_spec)
        )
        if isinstance(archive, bytes):
            archive = np.frombuffer(archive, np.uint8)
        return chunk_spec.prototype.buffer.from_array_like(archive)

    def _decode_sync(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        dtype = chunk_spec.dtype.to_native_dtype()
        values = compressor_of_thread(1).decompress(chunk_bytes.as_array_like(), dtype=dtype.name)
        if values.shape != folded(chunk_spec.shape):
            raise ValueError(
                f"the chunk's archive has the shape {values.shape}, and the array's chunks have "
                f"{chunk_spec.shape}: put the array's own chunk in its place, or write it again"
            )
        if not dtype.isnative:
            values = values.astype(dtype)
        return chunk_spec.prototype.nd_buffer.from_ndarray_like(values.reshape(chunk_spec.shape))

    async def _encode_single(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> Buffer | None:
        return await asyncio.to_thread(self._encode_sync, chunk_array, chunk_spec)

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        return await asyncio.to_thread(self._decode_sync, chunk_bytes, chunk_spec)
