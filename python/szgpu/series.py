"""Series in files: the arrays of a simulation's steps, one archive after the other."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import builtins
import operator
import os
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from . import _core, arrays, errors
from .compressor import compressor_of_thread
from .dataset import Closable, Dataset, Mapping, dataset_of


@dataclass(frozen=True)
class Step:
    """What a series says of a step.

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

    `series[k]` is step k, from the end if k is negative, as a `Dataset`, of which only what is
    indexed is restored; `len(series)` is the number of steps, and `series[a:b]` a list of them. A
    step whose `append` has returned is on disk and stays readable, even if the program is killed or
    the power fails during a later one.

    Parameters
    ----------
    path : path-like
    mode : {"r", "a"}, default "r"
        "r" reads; the steps are those that the file had when it was opened. "a" also appends, to a
        file that is made if it is not there, and that no other program can append to until it is
        closed.
    dtype : dtype, optional
        As in `szgpu.decompress`, for the steps that are read.
    threads : int, default 0
        CPU threads; 0 takes all cores.

    Raises
    ------
    OSError
        The file cannot be read or written.
    szgpu.NotASeriesError
        It begins with something else.
    szgpu.LockedError
        Another program is appending to it.
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
        self._file = builtins.open(path, "rb")

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
        mapping = Mapping(self._file, place["archive_offset"], place["archive_bytes"])
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
        """What is wrong behind the last step, if anything is: an exception that is not raised.

        `UnfinishedError`: an append is at work, or was cut off; the next one takes its place.
        `TruncatedError` and others: the file is damaged there. The steps before it are as ever.
        """
        status, text, found = self._series.end()
        if status == 0:
            return None
        step = _step_of(found)
        name = f" ({step.name})" if step.name else ""
        return errors.of_status(status, text, f"step {len(self)}{name}")

    def append(
        self, array: Any, *, name: str = "", time: float | None = None, **settings: Any
    ) -> None:
        """Compress an array and add it as the next step. It is on disk then.

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
        szgpu.CorruptError
            The series is damaged behind its last step, so nothing was appended: see `end`.
        TypeError, ValueError, szgpu.Error
            As `szgpu.compress`; also if the series was opened to read.
        """
        if "out" in settings:
            raise TypeError("append takes no out: the archive goes to the series")
        label = name.encode("utf-8", "surrogateescape")
        if b"\0" in label:
            raise ValueError(f"name is {name!r}: it cannot have the character 0")
        archive = compressor_of_thread(self._threads).compress(array, **settings)
        buffer, _, device = arrays.archive_buffer(archive)
        if device is not None:
            buffer, _, _ = arrays.archive_buffer(arrays.to_host(archive))
        self._series.append(buffer, label, None if time is None else float(time))

    def cut(self) -> None:
        """Cut off what `end` is about, so that the series can be appended to. It is lost."""
        self._series.cut()

    def close(self) -> None:
        """Close the file. Datasets of its steps stay open."""
        self._series.close()
        self._file.close()

    def __repr__(self) -> str:
        return f"<szgpu.Series: {len(self)} steps>"


def _step_of(found: dict[str, Any]) -> Step:
    name = found.pop("name").decode("utf-8", "surrogateescape")
    return Step(name=name, **found)
