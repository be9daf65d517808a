"""Series in files: the arrays of a simulation's steps, one archive after the other."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
import operator
import os
import weakref
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from . import _core, arrays, errors
from .compressor import compressor_of_thread
from .dataset import Closable, Dataset, Mapping, dataset_of
from .settings import real


@dataclass(frozen=True)
class Step:
    """The record of a step in a series.

    Attributes
    ----------
    name : str
        "" if it has none.
    time : float or None
    archive_offset, archive_bytes : int
        Where its archive is in the file.
    """

    name: str
    time: float | None
    archive_offset: int
    archive_bytes: int


class Series(Closable):
    """The arrays of a simulation's steps in one file. `szgpu.open` gives one to read.

    `series[k]` is step k, from the end if k is negative, as a `Dataset`, which restores only
    indexed values; `len(series)` is the number of steps, and `series[a:b]` a list of them. When
    `append` returns, the step is on disk and stays readable, even if the program is killed or the
    power fails during a later one.

    Threads may share a series: its calls wait for each other, but arrays are compressed at the same
    time. A forked process may not use it; it must open the file itself.

    Parameters
    ----------
    path : path-like
    mode : {"r", "a"}, default "r"
        "r" reads the steps that the file had when it was opened. "a" also appends; it creates a
        missing file, and no other program can append to it until it is closed.
    dtype : dtype, optional
        As in `szgpu.decompress`, for the steps that are read.
    threads : int, default 0
        CPU threads; 0 means all cores.

    Raises
    ------
    OSError
        The file cannot be read or written.
    szgpu.NotASeriesError
        It is not a series.
    szgpu.LockedError
        Another program is appending to it.
    szgpu.OtherProcessError
        By all calls, in a process forked from the one that opened it.
    szgpu.CorruptError
        The first step is damaged; the subclasses say how.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: str = "r",
        *,
        dtype: str | np.dtype | type | None = None,
        threads: int = 0,
    ) -> None:
        if mode not in ("r", "a"):
            raise ValueError(f"mode is {mode!r}, which is not one of r, a")
        self._type = dtype
        self._threads = threads
        self._series = _core.Series(os.fsencode(path), mode == "a")
        _open_series.add(self)

    def __len__(self) -> int:
        return self._series.count()

    @overload
    def __getitem__(self, index: int) -> Dataset: ...
    @overload
    def __getitem__(self, index: slice) -> list[Dataset]: ...
    def __getitem__(self, index: int | slice) -> Dataset | list[Dataset]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        place = self._series.step(self._number_of(index))
        with os.fdopen(self._series.descriptor(), "rb") as file:
            mapping = Mapping(file, place["archive_offset"], place["archive_bytes"])
        return dataset_of(mapping, dtype=self._type, threads=self._threads)

    def _number_of(self, index: int) -> int:
        number = operator.index(index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no step {number}: the series has {len(self)}")
        return number % len(self)

    @property
    def steps(self) -> list[Step]:
        """Name and time of each step, and where its archive is."""
        return [_step_of(self._series.step(k)) for k in range(len(self))]

    @property
    def end(self) -> errors.Error | None:
        """What is wrong after the last step, or None: an exception that is not raised.

        `UnfinishedError`: an append is running or was interrupted; the next one replaces the step.
        `TruncatedError` and others: the file is damaged there. Earlier steps are unaffected.
        """
        status, text, count, found = self._series.end()
        if status == 0:
            return None
        step = _step_of(found)
        name = f" ({step.name})" if step.name else ""
        return errors.of_status(status, text, f"step {count}{name}")

    def append(
        self, array: Any, *, name: str = "", time: float | None = None, **settings: Any
    ) -> None:
        """Compress an array and append it as the next step. When the call returns, it is on disk.

        Parameters
        ----------
        array : array_like
            On the CPU or a CUDA device; of any type and shape that `szgpu.compress` takes.
        name : str, optional
            Up to 255 bytes of UTF-8.
        time : float, optional
        **settings
            Those of `szgpu.compress`, such as ``abs=1e-3``; not `out`.

        Raises
        ------
        OSError
            The file could not be written; it is as it was before.
        szgpu.SeriesChangedError
            Another program has written to the file or replaced it; nothing was appended.
        szgpu.CorruptError
            The series is damaged after its last step, so nothing was appended; see `end`.
        TypeError, ValueError, szgpu.Error
            As `szgpu.compress`; also if the series was opened for reading.
        """
        if "out" in settings:
            raise TypeError("append takes no out: the archive goes to the series")
        self._series.count()  # an unusable series is reported before the work
        if not isinstance(name, str):
            raise TypeError(f"name is {name!r}: it must be a str")
        label = name.encode("utf-8", "surrogateescape")
        if b"\0" in label:
            raise ValueError(f"name is {name!r}: it cannot have the character 0")
        if len(label) > 255:
            raise errors.ArgumentError(f"name has {len(label)} bytes in UTF-8, which are more than 255")
        seconds = None if time is None else real(time, "time")
        if seconds is not None and not math.isfinite(seconds):
            raise errors.ArgumentError(f"time is {time}: it must be finite")
        archive = compressor_of_thread(self._threads).compress(array, **settings)
        buffer, _, device = arrays.archive_buffer(archive)
        if device is not None:
            buffer, _, _ = arrays.archive_buffer(arrays.to_host(archive))
        self._series.append(buffer, label, seconds)

    def cut(self) -> None:
        """Discard the part that `end` describes, so that appends work again. It is lost."""
        self._series.cut()

    def close(self) -> None:
        """Close the file. Datasets of its steps stay open."""
        self._series.close()

    def __repr__(self) -> str:
        return f"<szgpu.Series: {len(self)} steps>"


_open_series: weakref.WeakSet[Series] = weakref.WeakSet()


def _close_inherited() -> None:
    """Close what a forked process cannot use, which would hold the lock as long as it lives."""
    for series in _open_series:
        series._series.close()


os.register_at_fork(after_in_child=_close_inherited)


def _step_of(found: dict[str, Any]) -> Step:
    name = found.pop("name").decode("utf-8", "surrogateescape")
    return Step(name=name, **found)
