"""Archives in files as arrays of which only what is asked for is restored."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
import mmap
import os
from functools import cached_property
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from . import arrays
from .compressor import MOST_LEVEL, compressor_of_thread, shape_of
from .info import Info, inspect


class Mapping:
    """Bytes of a file, by default all that follow `offset`, until it is closed.

    Calls that are at work then keep them until they end.
    """

    def __init__(self, file: BinaryIO, offset: int = 0, count: int | None = None) -> None:
        if count is None:
            count = os.fstat(file.fileno()).st_size - offset
        before = offset % mmap.ALLOCATIONGRANULARITY
        content = b"" if count == 0 else mmap.mmap(  # nothing cannot be mapped
            file.fileno(), count + before, access=mmap.ACCESS_READ, offset=offset - before
        )
        self._bytes: np.ndarray | None = np.frombuffer(content, np.uint8)[before if count else 0 :]

    @property
    def bytes(self) -> np.ndarray:
        if self._bytes is None:
            raise ValueError("the archive is closed: open it again")
        return self._bytes

    def close(self) -> None:
        self._bytes = None


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

    Indexing restores what the index asks for: whole numbers, slices with positive steps and
    Ellipsis, as in numpy. Only the tiles that the box around it needs are decoded, and only they
    and a few tables are read from the file. So checksums of bulk data are not tested:
    `szgpu.decompress` tests everything.

    Attributes
    ----------
    info : Info
        What the archive says of itself.
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
        name, self.shape = shape_of(mapping.bytes, dtype, level)
        self.dtype = arrays.numpy_type(name)

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
        """The preview of every 2**level-th value along each axis, as an array of its own.

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
        """Close the file. Arrays that were restored stay."""
        self._mapping.close()


def dataset_of(
    mapping: Mapping, *, dtype: str | np.dtype | type | None, threads: int
) -> Dataset:
    """The array of an archive that is mapped."""
    return Dataset(mapping, inspect(mapping.bytes), dtype=dtype, level=0, threads=threads)
