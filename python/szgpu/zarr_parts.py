"""Parts of the chunks of a zarr array: which box a selection needs, and reading of shards in parts."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from zarr.abc.store import RangeByteRequest

from . import ranges
from .chunks import folded

if TYPE_CHECKING:
    from zarr.abc.store import ByteGetter, ByteRequest
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, BufferPrototype


@dataclass(frozen=True)
class ChunkBox:
    """The box of a chunk that has all values of a selection."""

    region: tuple[slice, ...]  # of the archive's axes
    shape: tuple[int, ...]  # of the chunk's
    picks: Any  # the selection within it


def box_in(selection: Any, chunk_spec: ArraySpec) -> ChunkBox | None:
    """Find the box of a selection if it pays to read that alone; None: read the whole chunk."""
    shape = chunk_spec.shape
    dtype = chunk_spec.dtype.to_native_dtype()
    value_count = math.prod(shape)
    parts = selection if isinstance(selection, tuple) else (selection,)
    if (
        value_count * dtype.itemsize <= ranges.WHOLE_BYTES
        or dtype.kind in "SUV"  # the archive's values are their bytes
        or len(folded(shape)) < sum(n > 1 for n in shape)  # its axes are not the chunk's
        or len(parts) != len(shape)
    ):
        return None
    first, end = [], []
    picks: list[Any] = []
    for part, extent in zip(parts, shape, strict=True):
        if isinstance(part, slice):
            numbers = range(extent)[part]
            low, high = min(numbers, default=0), max(numbers, default=-1)
            step = part.step or 1
            picks.append(slice(0, high + 1 - low, step) if step > 0 else None)
        elif isinstance(part, (int, np.integer)) and not isinstance(part, bool):
            low = high = int(part) % extent
            picks.append(0)
        elif isinstance(part, np.ndarray) and part.dtype.kind in "iu" and part.size:
            low, high = int(part.min()), int(part.max())
            picks.append(part - low)
        else:
            return None
        if picks[-1] is None or not 0 <= low <= high < extent:
            return None
        first.append(low)
        end.append(high + 1)
    counts = tuple(b - a for a, b in zip(first, end, strict=True))
    if 2 * math.prod(counts) > value_count:
        return None
    region = tuple(
        slice(a, b) for a, b, n in zip(first, end, shape, strict=True) if n != 1
    ) or (slice(0, 1),)
    return ChunkBox(region, counts, tuple(picks))


def next_of(steps: ranges.Steps, answers: list[Any]) -> list[ranges.Range] | np.ndarray:
    try:
        return steps.send(answers)
    except StopIteration as done:  # which no coroutine may raise
        values: np.ndarray = done.value
        return values


@dataclass(frozen=True)
class Later:
    """Bytes of a shard that are read when it is known which of them are needed."""

    shard: ByteGetter
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    async def get(
        self, prototype: BufferPrototype, byte_range: RangeByteRequest | None = None
    ) -> Buffer | None:
        start, stop = self.start, self.stop
        if byte_range is not None:
            start, stop = start + byte_range.start, min(stop, start + byte_range.end)
        return await self.shard.get(prototype, RangeByteRequest(start, stop))


def later_of(byte_getter: ByteGetter) -> Later | None:
    """Find what `ShardGetter` gave zarr in place of a chunk's bytes."""
    chunks = getattr(byte_getter, "shard_dict", None)
    if chunks is None:
        return None
    found = chunks.get(getattr(byte_getter, "chunk_coords", None))
    return found if isinstance(found, Later) else None


@dataclass(frozen=True)
class ShardGetter:
    """A shard whose index is read at once, and whose chunks are read later."""

    shard: ByteGetter
    index_is_first: bool

    async def get(
        self, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | Later | None:
        is_chunk = isinstance(byte_range, RangeByteRequest) and not (
            self.index_is_first and byte_range.start == 0
        )
        if is_chunk and isinstance(byte_range, RangeByteRequest):
            return Later(self.shard, byte_range.start, byte_range.end)
        return await self.shard.get(prototype, byte_range)
