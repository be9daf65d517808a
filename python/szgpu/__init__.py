"""Error-bounded lossy compression of scientific floating-point arrays.

>>> import numpy as np
>>> import szgpu
>>> a = np.linspace(0, 1, 1_000_000, dtype=np.float32).reshape(100, 100, 100)
>>> archive = szgpu.compress(a, abs=1e-3)
>>> b = szgpu.decompress(archive)
>>> bool(abs(a - b).max() <= 1e-3)
True

Every value that comes back differs from the original by at most the bound, or is bit-identical to
it: this holds for NaN, infinities and fill values too. An archive is the same, byte for byte,
whether the array was on the CPU or on a GPU.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core, arrays, dataset, errors
from .compressor import (
    LAYOUTS,
    MODES,
    SOURCE_FORTRAN,
    TYPE_NAMES,
    Compressor,
    Progress,
    compressor_of_thread,
)
from .dataset import Dataset
from .errors import *  # noqa: F403

__version__: str = _core.version

__all__ = [
    "Compressor",
    "Dataset",
    "Frame",
    "Info",
    "Progress",
    "build_info",
    "compress",
    "decompress",
    "inspect",
    "open",
    *errors.__all__,
]

def compress(
    array: Any,
    *,
    abs: float | None = None,
    rel: float | None = None,
    psnr: float | None = None,
    lossless: bool = False,
    fill: float | None = None,
    greatest: float = 0.0,
    predictor: str = "auto",
    layout: str = "tile",
    frame_rows: int = 0,
    zstd: int = 0,
    out: Any = None,
    threads: int = 0,
    progress: Progress | None = None,
) -> Any:
    """Compress an array of one to four axes.

    Say how exact the result must be by exactly one of `abs`, `rel`, `psnr` and `lossless`.

    Parameters
    ----------
    array : array_like
        A numpy array, or any array on the CPU or a CUDA device that has the buffer protocol or
        DLPack. float32 and float64 can be compressed with a bound; these, float16, bfloat16,
        the float8 types, integers and booleans can be compressed without loss. Arrays in C or
        Fortran order are not copied; others on the CPU are.
    abs : float, optional
        The bound: no value changes by more than this, in the unit of the values.
    rel : float, optional
        The bound as a fraction of the range, max - min, of the finite values.
    psnr : float, optional
        The bound at which uniform errors have this PSNR, in dB.
    lossless : bool, default False
        Every bit comes back.
    fill : float, optional
        The value that means "nothing here". It is kept exactly and left out of the range. By
        default well-known ones, such as 1e20 and NaN, are found.
    greatest : float, default 0
        With `abs`: what you say that no magnitude exceeds, so that the values are not looked at
        first; 0 looks. The bound holds for values beyond it too.
    predictor : {"auto", "lorenzo", "interpolation"}, default "auto"
        How values are predicted. "lorenzo" is fastest, "interpolation" mostly smallest.
    layout : {"tile", "linear"}, default "tile"
    frame_rows : int, default 0
        Rows of the slowest axis in a frame, which is coded by itself; 0 takes the default.
    zstd : int, default 0
        1 to 19 packs the archive with zstd where that saves space.
    out : array_like, optional
        Memory for the archive, where the array is. By default the archive is a bytes object,
        or a uint8 array of the same library if the array is on a GPU.
    threads : int, default 0
        CPU threads; 0 takes all cores.
    progress : callable, optional
        Called with the values done and the values in all from time to time. What it raises
        stops the work.

    Returns
    -------
    bytes or array_like
        The archive. With `out`, the part of it that is used, as a uint8 array.

    Raises
    ------
    TypeError, ValueError
        The array or an argument is not one that szgpu takes.
    szgpu.Error
        The library's own errors.
    """
    return compressor_of_thread(threads).compress(
        array,
        abs=abs,
        rel=rel,
        psnr=psnr,
        lossless=lossless,
        fill=fill,
        greatest=greatest,
        predictor=predictor,
        layout=layout,
        frame_rows=frame_rows,
        zstd=zstd,
        out=out,
        progress=progress,
    )


def decompress(
    archive: Any,
    *,
    out: Any = None,
    dtype: str | np.dtype | type | None = None,
    slab: tuple[int, int] | slice | None = None,
    region: Any = None,
    level: int = 0,
    threads: int = 0,
    progress: Progress | None = None,
) -> Any:
    """Restore the array of an archive, or a part or preview of it.

    Parameters
    ----------
    archive : bytes or array_like
        What `compress` gave, in the memory of the CPU or of a CUDA device.
    out : array_like, optional
        The array to restore into: contiguous in C order, of the right shape. By default the
        result is a new array where the archive is.
    dtype : dtype, optional
        The type of the values, for archives of integers and float8 values, which are bytes to
        an archive; without it they come back as uint8.
    slab : slice or (int, int), optional
        Only rows start to stop - 1 of the first axis; the step must be 1.
    region : int, slice, Ellipsis or a tuple of them, optional
        Only what numpy's basic index gives, such as ``np.s_[:16, 32:64, ..., 5]``, of the array
        or, with `level`, of the preview. Only the tiles that the box around it needs are decoded,
        on the CPU, and checksums of bulk data are not tested. Steps must be positive; all that
        lies between is restored for a while.
    level : int, default 0
        1 to 6: a preview, every 2**level-th value along each axis, read from the coarse
        levels only. Not every archive has one.
    threads : int, default 0
        CPU threads; 0 takes all cores.
    progress : callable, optional
        As in `compress`.

    Returns
    -------
    array_like
        The restored array, or `out`.

    Raises
    ------
    szgpu.CorruptError
        The archive is damaged; its subclasses say how.
    szgpu.Error
        The library's other errors.
    TypeError, ValueError
        An argument does not fit the archive.
    """
    return compressor_of_thread(threads).decompress(
        archive, out=out, dtype=dtype, slab=slab, region=region, level=level, progress=progress
    )


def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    dtype: str | np.dtype | type | None = None,
    threads: int = 0,
) -> Dataset:
    """Open an archive in a file as a read-only array, of which only what is indexed is restored.

    Parameters
    ----------
    path : path-like
        The file, which is mapped.
    dtype : dtype, optional
        As in `decompress`.
    threads : int, default 0
        CPU threads; 0 takes all cores.

    Returns
    -------
    Dataset
        Close it, or use it in a with statement.

    Raises
    ------
    OSError
        The file cannot be read.
    szgpu.CorruptError
        The header is damaged; the subclasses say how.
    """
    mapping = dataset.Mapping(path)
    return Dataset(mapping, inspect(mapping.bytes), dtype=dtype, level=0, threads=threads)


@dataclass(frozen=True)
class Frame:
    """A slab of rows, which is coded by itself.

    Attributes
    ----------
    kind : str
        "tile", "levels", "linear", "planes", "top plane", "constant" or "raw".
    first_row, row_count : int
        Its rows of the slowest axis that is longer than 1.
    frame_bytes : int
        Its size in the archive.
    predictor : str
        "differences", "interpolation" or "".
    level_count : int
        How many previews it has: 0 if it is no levels frame.
    fold : int
        A 1-D array that repeats itself may be treated as rows of so many values, and then has no
        previews; else 0.
    sections : dict
        The bytes of each part.
    """

    kind: str
    first_row: int
    row_count: int
    frame_bytes: int
    predictor: str
    level_count: int
    fold: int
    sections: dict[str, int]


@dataclass(frozen=True)
class Info:
    """What an archive says of itself.

    Attributes
    ----------
    dtype : str
        "float32", "float64", "float16", "bfloat16", or "uint8" for integers and float8 values,
        which are bytes to an archive.
    shape : tuple of int
        The shape of what `decompress` gives.
    mode : str
        "rel", "abs", "psnr" or "lossless".
    bound : float
        As it was asked for, in the mode's unit; 0 if lossless.
    absolute_bound : float
        What holds for every value, in the values' unit.
    layout : str
        "tile" or "linear".
    value_range : float
        max - min of the values that are finite and not fill. If the mode is "abs", perhaps of a
        sample of them.
    fill : float or None
    frame_rows, frame_count : int
        Rows of every frame except the last, and the number of frames.
    field_bytes, archive_bytes : int
    format_version : int
    is_fortran : bool
        The array was in Fortran order, and comes back in it.
    """

    dtype: str
    shape: tuple[int, ...]
    mode: str
    bound: float
    absolute_bound: float
    layout: str
    value_range: float
    fill: float | None
    frame_rows: int
    frame_count: int
    field_bytes: int
    archive_bytes: int
    format_version: int
    is_fortran: bool
    _header: np.ndarray = field(repr=False, compare=False)

    @property
    def ratio(self) -> float:
        """The size of the array over that of the archive."""
        return self.field_bytes / self.archive_bytes

    def frames(self, first: int = 0, count: int | None = None) -> list[Frame]:
        """Describe frames, by default all of them."""
        if count is None:
            count = self.frame_count - first
        if not 0 <= first <= first + count <= self.frame_count:
            raise errors.ArgumentError(
                f"{count} frames from frame {first} on are not there: the archive has "
                f"{self.frame_count}"
            )
        return [Frame(**frame) for frame in _core.inspect_frames(self._header, first, count)]


def inspect(archive: Any) -> Info:
    """Read what an archive says of itself, without restoring anything.

    Parameters
    ----------
    archive : bytes or array_like
        In the memory of the CPU. Its first bytes are enough, up to the end of its header; those of
        the frames that `Info.frames` is asked for must be there too.

    Raises
    ------
    szgpu.CorruptError
        The header is damaged; the subclasses say how.
    """
    buffer, _, device = arrays.archive_buffer(archive)
    if device is not None:
        raise TypeError("inspect reads the memory of the CPU: copy the archive, or its header, there")
    info = _core.inspect(buffer)
    is_fortran = bool(info.pop("source") & SOURCE_FORTRAN)
    info["dtype"] = TYPE_NAMES[info["dtype"]]
    info["mode"] = MODES[info["mode"]]
    info["layout"] = next(name for name, number in LAYOUTS.items() if number == info["layout"])
    if is_fortran:
        info["shape"] = info["shape"][::-1]
    return Info(**info, is_fortran=is_fortran, _header=buffer)


def build_info() -> dict[str, Any]:
    """Say what this build of szgpu has.

    Returns
    -------
    dict
        "version": the library's; "cuda": whether it has the CUDA backend, which says nothing about
        whether there is a GPU; "hdf5_plugin": the folder of the HDF5 filter plugin, or None;
        "command": the path of the command, or None.
    """
    from pathlib import Path

    home = Path(__file__).parent
    plugin = home / "hdf5" / "plugin"
    command = home / "bin" / "szgpu"
    return {
        "version": _core.version,
        "cuda": _core.has_cuda,
        "hdf5_plugin": str(plugin) if plugin.is_dir() else None,
        "command": str(command) if command.is_file() else None,
    }
