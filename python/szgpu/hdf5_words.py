"""What the HDF5 filter stores with a dataset about its chunks, in cd_values (docs/hdf5.md)."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .value_types import VALUE_BYTES

VERSION = 1
FILLS_UNIT = 0x1000
_OPTIONS, _USER_WORDS, _DIMS = 4, 5, 3  # places of words, and how many come before others
_BIG_ENDIAN = 1 << 17


@dataclass(frozen=True)
class StoredChunk:
    """The values of a chunk, as its archive has them."""

    dtype: int
    shape: tuple[int, ...]
    is_big_endian: bool  # in the file; those of the archive are not

    @property
    def byte_count(self) -> int:
        return math.prod(self.shape) * VALUE_BYTES[self.dtype]


def stored_chunk(words: Sequence[int]) -> StoredChunk | None:
    """Read the words that the filter added to the user's; None: the filter will refuse them."""
    user_count = len(words)
    if user_count > _OPTIONS:
        user_count = _USER_WORDS + 2 * (words[_OPTIONS] // FILLS_UNIT & 7)
    kind, dims = words[user_count : user_count + 1], words[user_count + _DIMS :]
    if not dims or kind[0] & 0xFF not in VALUE_BYTES:
        return None
    return StoredChunk(kind[0] & 0xFF, tuple(dims), bool(kind[0] & _BIG_ENDIAN))
