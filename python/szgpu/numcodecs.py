"""zarr v2 and everything else that takes a codec of numcodecs.

>>> import numpy as np
>>> from szgpu.numcodecs import Szgpu
>>> codec = Szgpu(abs=0.01)
>>> archive = codec.encode(np.ones((64, 64), "float32"))
>>> bool(abs(codec.decode(archive) - 1).max() <= 0.01)
True

`decode` restores the same bytes in memory that `encode` was given, whatever the order of axes and
bytes; with a bound, it restores values of the same type in the same places. An archive states
whether the values were big-endian or in Fortran order. A type that archives do not have follows as
a note, for example ``numpy <M8[ns]``.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numcodecs.abc import Codec  # type: ignore[import-untyped]
from numcodecs.compat import (  # type: ignore[import-untyped]
    ensure_contiguous_ndarray,
    ensure_ndarray,
)
from numcodecs.registry import register_codec  # type: ignore[import-untyped]

from . import _core, arrays, errors, value_types
from .arrays import SOURCE_BIG_ENDIAN, SOURCE_FORTRAN
from .chunks import (
    Chunk,
    archive_of,
    folded,
    note_restored,
    require_unfiltered,
    told_of_chunk,
    warn_of_restored,
)
from .compressor import compressor_of_thread
from .settings import Fill, Settings

__all__ = ["Szgpu"]

_NOTE = b"numpy "
_NOTED_TYPE = re.compile(
    r"[<>|][biufcmMSUV]\d{0,9}(\[\d{0,9}[A-Za-z]{1,2}\])?"  # numpy's own
    r"|[a-z]{3,6}\d{1,2}(_\w{1,16})?"  # those of ml_dtypes
)


class Szgpu(Codec):  # type: ignore[misc]
    """The codec "szgpu" of numcodecs, which turns each buffer into one archive.

    A bound needs arrays of a type that can have one, unchanged by filters. Bytes, and a row of
    uint8, which filters such as Shuffle produce, need `lossless`.

    Parameters
    ----------
    abs, rel, psnr, pwrel, lossless, fill, predictor, zstd
        As in `szgpu.compress`. In zarr the array's fill value is kept exactly, too.
    valid : pair of float, optional
        The least and the greatest valid value. Others are kept exactly, and valid ones stay valid.
    """

    codec_id = "szgpu"

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
        self.settings = Settings(abs, rel, psnr, lossless, fill, predictor, zstd, pwrel, valid)

    @told_of_chunk
    def encode(self, buf: Any, *, chunk: Chunk | None) -> bytes:
        """Make the archive of a buffer."""
        require_unfiltered(self.settings, chunk.filters if chunk else ())
        arrays.require_no_mask(buf)
        values = ensure_ndarray(buf)
        if not self.settings.lossless:
            self._require_bound(buf, values, may_be_filtered=chunk is None)
        warn_of_restored(self.settings, values)
        field, note = _field_of_memory(values)
        if field is None:
            return note
        fill_value = chunk.fill_value if chunk else None
        archive: bytes = archive_of(self.settings, values, lambda _: field, fill_value)
        return archive + note

    def _require_bound(self, buf: Any, values: np.ndarray, may_be_filtered: bool) -> None:
        self.settings.require_type(values.dtype)
        arrays.require_values(buf, values)
        if may_be_filtered and values.ndim <= 1 and values.dtype == np.uint8:
            raise TypeError(
                "a row of uint8 may be the bytes of other values, such as a filter's: if it is "
                "not, give it as an array of shape (1, n), else use lossless=True"
            )

    @told_of_chunk
    def decode(self, buf: Any, out: Any = None, *, chunk: Chunk | None) -> Any:
        """Restore the buffer of an archive, into out if it is given."""
        buffer = ensure_contiguous_ndarray(buf).view(np.uint8)
        if buffer[: len(_NOTE)].tobytes() == _NOTE:
            return _given_to(out, np.empty(0, _noted_type(buffer)))
        info = _core.inspect(buffer)
        archive, note = buffer[: info["archive_bytes"]], buffer[info["archive_bytes"] :]
        if out is not None:
            Chunk((), None, _target(out).nbytes).require_size(info["field_bytes"])
        elif chunk:
            chunk.require_size(info["field_bytes"])
        own_type = value_types.TYPE_NAMES[info["dtype"]]
        dtype = _noted_type(note) if note.size else value_types.numpy_type(own_type)
        size = info["shape"][-1] * value_types.VALUE_BYTES[info["dtype"]]
        if dtype.itemsize == 0 or size % dtype.itemsize:
            raise errors.CorruptError(
                f"the archive is not one of values of type {dtype}; replace it with an intact copy"
            )
        memory = np.empty(info["field_bytes"], np.uint8)
        compressor_of_thread(1).decompress_chunk(archive, memory)
        values = memory.view(dtype).reshape(*info["shape"][:-1], size // dtype.itemsize)
        note_restored(self.settings, values)
        if info["source"] & SOURCE_BIG_ENDIAN:
            values = values.byteswap(inplace=True).view(dtype.newbyteorder(">"))
        return _given_to(out, values.transpose() if info["source"] & SOURCE_FORTRAN else values)

    def get_config(self) -> dict[str, Any]:
        return {"id": self.codec_id, **self.settings.as_config()}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Szgpu:
        settings = {name: value for name, value in config.items() if name != "id"}
        return cls(**Settings.from_config(settings).__dict__)

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={value!r}" for name, value in self.settings.as_config().items())
        return f"Szgpu({words})"


def _field_of_memory(values: np.ndarray) -> tuple[arrays.Field | None, bytes]:
    """See an array as the field that its memory is, and make the note; no values are no field."""
    dtype = values.dtype
    if dtype.hasobject:
        raise TypeError(
            f"szgpu cannot compress values of type {dtype}: let a filter, such as VLenUTF8, make "
            "bytes of them first"
        )
    is_known = dtype.name in value_types.VALUE_TYPES
    name = dtype.name if dtype.isbuiltin == 2 else dtype.str  # 2: one of ml_dtypes
    note = b"" if is_known and values.size else _NOTE + name.encode()
    if values.nbytes == 0:
        return None, note
    source = 0
    if values.flags.f_contiguous and not values.flags.c_contiguous:
        source |= SOURCE_FORTRAN
        values = values.transpose()
    values = np.require(values, requirements=["C", "A"]).reshape(folded(values.shape))
    if is_known and not dtype.isnative:
        source |= SOURCE_BIG_ENDIAN
        values = values.byteswap()
    kind = value_types.VALUE_TYPES.get(dtype.name, value_types.U8)
    dims = (*values.shape[:-1], values.shape[-1] * dtype.itemsize // value_types.VALUE_BYTES[kind])
    memory = values.reshape(-1).view(np.uint8)
    return arrays.Field(memory, kind, dims, source, "numpy", None), note


def _noted_type(note: np.ndarray) -> np.dtype:
    text = note[len(_NOTE) :].tobytes().decode("ascii", "replace")
    if note[: len(_NOTE)].tobytes() != _NOTE or not _NOTED_TYPE.fullmatch(text):
        raise errors.TrailingBytesError(
            "there are bytes after the end of the archive; pass it without the bytes that follow it"
        )
    return value_types.numpy_type(text)


def _target(out: Any) -> Any:
    """See out as memory for values."""
    target = ensure_ndarray(out)
    if target.dtype.hasobject:
        raise TypeError(f"out is of type {target.dtype}: pass memory for the values themselves")
    if not target.flags.writeable:
        raise ValueError("out is read-only: the result needs memory to write to")
    return target


def _given_to(out: Any, values: np.ndarray) -> Any:
    """Copy what lies in memory into out, as numcodecs does."""
    if out is None:
        return values
    target = _target(out)
    if target.nbytes != values.nbytes:
        raise ValueError(f"the archive is of {values.nbytes} bytes, and out of {target.nbytes}")
    given = values.reshape(-1, order="A").view(target.dtype)
    order = "F" if target.flags.f_contiguous and not target.flags.c_contiguous else "C"
    target[...] = given.reshape(target.shape, order=order)
    return out


register_codec(Szgpu)
