"""Chunks of HDF5 files as a codec of numcodecs, for indexes that kerchunk makes of such files.

>>> from numcodecs import get_codec
>>> get_codec({"id": "szgpu_hdf5", "cd_values": [1, 3, 0, 0, 0, 256, 0, 0, 4000]})
SzgpuHdf5(cd_values=[1, 3, 0, 0, 0, 256, 0, 0, 4000])

A chunk of HDF5 is not always an archive: what does not shrink is stored as it is, and archives do
not state the byte order of the file. `cd_values`, which the file has, state what is needed.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numcodecs.abc import Codec  # type: ignore[import-untyped]
from numcodecs.compat import ensure_contiguous_ndarray  # type: ignore[import-untyped]
from numcodecs.registry import register_codec  # type: ignore[import-untyped]

from . import _core, errors
from .compressor import compressor_of_thread
from .hdf5_words import VERSION, stored_chunk
from .numcodecs import _given_to
from .value_types import VALUE_BYTES

__all__ = ["SzgpuHdf5"]

_PLAIN_HEAD_BYTES = 16


class SzgpuHdf5(Codec):  # type: ignore[misc]
    """The codec "szgpu_hdf5" of numcodecs, which restores what the HDF5 filter stored.

    Parameters
    ----------
    cd_values : sequence of int
        The filter's arguments, as the file has them. They state the type and the shape of a chunk.
    """

    codec_id = "szgpu_hdf5"

    def __init__(self, *, cd_values: Iterable[int]) -> None:
        try:
            self.cd_values = tuple(operator.index(word) for word in cd_values)
        except TypeError:
            raise TypeError(
                f"cd_values are {cd_values!r}, which is not a list of whole numbers"
            ) from None
        if self.cd_values[:1] not in ((), (VERSION,)):
            raise ValueError(
                f"cd_values are of version {self.cd_values[0]}, which this szgpu does not know: "
                "install a newer one"
            )
        found = stored_chunk(self.cd_values)
        if found is None:
            raise ValueError(
                "cd_values do not say type and shape of a chunk: give all those that the dataset has"
            )
        self._chunk = found

    def encode(self, buf: Any) -> Any:
        raise TypeError(
            "chunks of an HDF5 file cannot be written through an index: write to the file itself"
        )

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Restore the bytes of a chunk, as HDF5 does, into out if it is given."""
        stored = ensure_contiguous_ndarray(buf).view(np.uint8)
        fault = _core.plain_chunk_fault(stored, self._chunk.byte_count)
        if fault:
            raise errors.CorruptError(f"a chunk cannot be read: {fault}; get an intact copy")
        if fault is not None:
            return _given_to(out, stored[_PLAIN_HEAD_BYTES:].copy())
        try:
            info = _core.inspect(stored)
        except errors.NotAnArchiveError:
            if stored.nbytes != self._chunk.byte_count:
                raise
            return _given_to(out, stored.copy())  # an optional filter left the chunk as it was
        return _given_to(out, self._restored(stored, info))

    def _restored(self, archive: np.ndarray, info: dict[str, Any]) -> np.ndarray:
        found = info["dtype"], tuple(info["shape"])
        if found != (self._chunk.dtype, self._chunk.shape):
            raise ValueError(
                f"a chunk's archive has the shape {found[1]}, and cd_values state "
                f"{self._chunk.shape} or another type: make the index again"
            )
        memory = np.empty(self._chunk.byte_count, np.uint8)
        compressor_of_thread(1).decompress_chunk(archive, memory)
        width = VALUE_BYTES[self._chunk.dtype]
        if self._chunk.is_big_endian and width > 1:
            memory.view(f"u{width}").byteswap(inplace=True)
        return memory

    def get_config(self) -> dict[str, Any]:
        return {"id": self.codec_id, "cd_values": list(self.cd_values)}

    def __repr__(self) -> str:
        return f"SzgpuHdf5(cd_values={list(self.cd_values)})"


register_codec(SzgpuHdf5)
