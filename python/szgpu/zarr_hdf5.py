"""Chunks of HDF5 files as a codec of zarr v3, for virtual stores of VirtualiZarr and Icechunk.

zarr finds the codec by its name, "numcodecs.szgpu_hdf5", once the package is installed.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from zarr.abc.codec import BytesBytesCodec

from .hdf5_codec import SzgpuHdf5

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer

__all__ = ["SzgpuHdf5Codec"]

NAME = "numcodecs.szgpu_hdf5"  # as VirtualiZarr names the codec "szgpu_hdf5" of numcodecs


@dataclass(frozen=True)
class SzgpuHdf5Codec(BytesBytesCodec):
    """The zarr v3 codec "numcodecs.szgpu_hdf5", which restores what the HDF5 filter stored."""

    is_fixed_size = False

    cd_values: tuple[int, ...]

    def __init__(self, *, cd_values: Any) -> None:
        object.__setattr__(self, "cd_values", SzgpuHdf5(cd_values=cd_values).cd_values)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        if data.get("name") != NAME:
            raise ValueError(f"the codec's name is {data.get('name')!r}, not {NAME!r}")
        return cls(**data.get("configuration", {}))

    def to_dict(self) -> dict[str, Any]:
        return {"name": NAME, "configuration": {"cd_values": list(self.cd_values)}}

    @property
    def codec_config(self) -> dict[str, Any]:
        """The codec in format 2, for VirtualiZarr's `to_kerchunk`."""
        return SzgpuHdf5(cd_values=self.cd_values).get_config()

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        raise NotImplementedError("the size of an archive depends on the values")

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        codec = SzgpuHdf5(cd_values=self.cd_values)
        restored = await asyncio.to_thread(codec.decode, chunk_bytes.as_numpy_array())
        return chunk_spec.prototype.buffer.from_bytes(restored.tobytes())

    async def _encode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer | None:
        SzgpuHdf5(cd_values=self.cd_values).encode(chunk_bytes)
        return None
