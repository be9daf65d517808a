"""Archives in files as arrays that are restored in parts, on request."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
import mmap
import os
from functools import cached_property
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from . import _core, errors, value_types
from .compressor import MOST_LEVEL, compressor_of_thread, shape_of
from .info import Info, inspect


class Mapping:
    """Bytes of a file, by default all that follow `offset`, until it is closed.

    Calls that are running then keep them until they end.
    """

    def __init__(self, file: BinaryIO, offset: int = 0, count: int | None = None) -> None:
        if count is None:
            count = os.fstat(file.fileno()).st_size - offset
        _require_bytes(os.fstat(file.fileno()).st_size, offset + count)
        before = offset % mmap.ALLOCATIONGRANULARITY
        content = b"" if count == 0 else mmap.mmap(  # nothing cannot be mapped
            file.fileno(), count + before, access=mmap.ACCESS_READ, offset=offset - before
        )
        self._content: Any = content  # a mapping, or no bytes
        self._before = before
        self._end = offset + count

    @property
    def bytes(self) -> np.ndarray:
        content = self._content  # another thread may close it at any moment
        if content is None:
            raise ValueError("the archive is closed: open it again")
        if isinstance(content, mmap.mmap):
            _require_bytes(content.size(), self._end)
        return np.frombuffer(content, np.uint8)[self._before if content else 0 :]

    def close(self) -> None:
        self._content = None


def _require_bytes(found: int, expected: int) -> None:
    """Refuse a file that became shorter: what is mapped of it can no longer be read (SIGBUS)."""
    if found < expected:
        status = errors.TruncatedError.status
        raise errors.of_status(
            status,
            _core.status_text(status),
            f"the file has {found} bytes, of which {expected} were there when it was opened",
        )


class Closable:
    """What a with statement closes."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Dataset(Closable):
    """The array of an archive in a file, read-only. `szgpu.open` gives one.

    Indexing restores the indexed values. Indices are whole numbers, slices with positive steps and
    Ellipsis, as in numpy. Only the tiles that the box around them needs are decoded, and only these
    and a few tables are read from the file. So checksums of bulk data are not tested;
    `szgpu.decompress` tests everything.

    Attributes
    ----------
    info : Info
        The header of the archive.
    shape : tuple of int
    dtype : numpy.dtype
    ndim, size, nbytes : int
    levels : int
        The levels that `level` takes.
    """

    def __init__(
        self,
        mapping: Mapping,
        info: Info,
        *,
        dtype: str | np.dtype | type | None,
        level: int,
        threads: int,
    ) -> None:
        self._mapping = mapping
        self._type = dtype
        self._level = level
        self._threads = threads
        self.info = info
        name, self.shape, _ = shape_of(mapping.bytes, dtype, level)
        self.dtype = value_types.numpy_type(name)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @cached_property
    def levels(self) -> int:
        own = [
            0 if frame.fold else frame.level_count
            for frame in self.info.frames()
            if frame.kind != "constant"
        ]
        return max(0, min(own, default=MOST_LEVEL) - self._level)

    def level(self, level: int) -> Dataset:
        """The preview of every 2**level-th value along each axis, as a separate array.

        It ends when this one is closed.
        """
        return Dataset(
            self._mapping,
            self.info,
            dtype=self._type,
            level=self._level + level,
            threads=self._threads,
        )

    def __getitem__(self, index: Any) -> Any:
        region = index if isinstance(index, tuple) else (index,)  # None is no region
        return compressor_of_thread(self._threads).decompress(
            self._mapping.bytes, region=region, level=self._level, dtype=self._type
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an archive gives a new array: copy=False is not possible")
        return np.asarray(self[...], dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<szgpu.Dataset: shape {self.shape}, type {self.dtype}, levels {self.levels}>"

    def close(self) -> None:
        """Close the file. Restored arrays stay valid."""
        self._mapping.close()


def dataset_of(
    mapping: Mapping, *, dtype: str | np.dtype | type | None, threads: int
) -> Dataset:
    """The array of an archive that is mapped."""
    return Dataset(mapping, inspect(mapping.bytes), dtype=dtype, level=0, threads=threads)
