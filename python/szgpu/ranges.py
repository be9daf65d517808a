"""Parts of archives that are read by ranges of bytes, from an object store for instance."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from . import _core, errors
from .compressor import Compressor, compressor_of_thread

Range = tuple[int, int | None]
"""The first byte and the one after the last; None: the end."""

# docs/benchmarks.md, "Parts of chunks in object stores", has the measurements.
FIRST_BYTES = 1 << 15  # header, frame headers and coarse levels of most archives
WHOLE_BYTES = 1 << 21  # archives up to this are read whole: it takes fewer rounds
GAP_BYTES = 1 << 15  # read rather than left out by another request
MOST_RANGES = 16  # of a round

Steps = Generator[list[Range], list[Any], np.ndarray]
"""Yields the ranges of a round, is sent their bytes, and returns the values."""


def steps_of_region(
    compressor_of: Callable[[], Compressor],
    region: Any,
    dtype: Any,
    level: int = 0,
    check: Callable[[np.ndarray], Any] = lambda archive: None,
) -> Steps:
    """Restore a region of an archive from as few bytes as it takes.

    What answers a range with the whole archive, as web servers without ranges do, is understood.
    Each step may run in another thread. `check` gets archives whose header is there.
    """
    (head,) = yield [(0, FIRST_BYTES)]
    head = np.frombuffer(head, np.uint8)
    archive = head
    if head.size == FIRST_BYTES:  # otherwise this is all of it
        archive = yield from _part_of(head, compressor_of, region, dtype, level, check)
    check(archive)
    values: np.ndarray = compressor_of().decompress(
        archive, region=region, dtype=dtype, level=level
    )
    return values


def _part_of(
    head: np.ndarray,
    compressor_of: Callable[[], Compressor],
    region: Any,
    dtype: Any,
    level: int,
    check: Callable[[np.ndarray], Any],
) -> Generator[list[Range], list[Any], np.ndarray]:
    """Read the bytes that the region needs into memory for the whole archive."""
    try:
        byte_count: int = _core.inspect(head)["archive_bytes"]
    except errors.TruncatedError:  # a table of thousands of frames
        return np.frombuffer((yield [(0, None)])[0], np.uint8)
    check(head)
    if byte_count <= head.size:
        return head
    archive = np.empty(byte_count, np.uint8)  # untouched memory takes no room
    archive[: head.size] = head
    present = [(0, head.size)]
    while True:
        missing = (
            [(head.size, byte_count - head.size)] * (len(present) == 1)
            if byte_count <= WHOLE_BYTES
            else compressor_of().missing_ranges(
                archive,
                region,
                present,
                level=level,
                dtype=dtype,
                gap_bytes=GAP_BYTES,
                most=MOST_RANGES,
            )
        )
        if not missing:
            return archive
        answers = yield [(first, first + count) for first, count in missing]
        for (first, count), answer in zip(missing, answers, strict=True):
            got = np.frombuffer(b"" if answer is None else answer, np.uint8)
            if got.size == byte_count != count:
                return got
            if got.size != count:
                raise errors.of_status(
                    errors.TruncatedError.status,
                    _core.status_text(errors.TruncatedError.status),
                    f"{got.size} bytes came for the {count} from byte {first} on: the archive "
                    "was replaced or cut, or what reads it does not know ranges",
                )
            archive[first : first + count] = got
        present += missing


def read_region(
    read: Callable[[int, int | None], Any],
    region: Any,
    *,
    level: int = 0,
    dtype: str | np.dtype | type | None = None,
    threads: int = 0,
) -> np.ndarray:
    """Restore a region of an archive that is read by ranges, from wherever it is.

    The bytes are those that the region needs, and some between them: for a small region of a large
    archive, a few percent of it. They come in two or three rounds.

    Parameters
    ----------
    read : callable
        `read(start, stop)` gives bytes `start` to `stop - 1` of the archive, or fewer if it ends
        before them. It is called for one range after the other. If `stop` is None, it gives all to
        the end.
    region : int, slice, Ellipsis or a tuple of them
        As in `decompress`.
    level : int, default 0
        As in `decompress`: the region is one of the preview.
    dtype : dtype, optional
        As in `decompress`.
    threads : int, default 0
        CPU threads; 0 means all cores.

    Returns
    -------
    numpy.ndarray
        The values.

    Raises
    ------
    szgpu.CorruptError
        The archive is damaged, as far as its tables tell; `decompress` checks everything.
    szgpu.Error, TypeError, ValueError
        As `decompress`.
    """
    steps = steps_of_region(lambda: compressor_of_thread(threads), region, dtype, level)
    ranges = next(steps)
    while True:
        try:
            ranges = steps.send([read(start, stop) for start, stop in ranges])
        except StopIteration as done:
            values: np.ndarray = done.value
            return values
