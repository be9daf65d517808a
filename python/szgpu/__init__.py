"""Error-bounded lossy compression of scientific arrays.

>>> import numpy as np
>>> import szgpu
>>> a = np.linspace(0, 1, 1_000_000, dtype=np.float32).reshape(100, 100, 100)
>>> archive = szgpu.compress(a, abs=1e-3)
>>> b = szgpu.decompress(archive)
>>> bool(abs(a - b).max() <= 1e-3)
True

Every restored value differs from the original by at most the bound, or is bit-identical to it,
including NaN, infinities and fill values. An archive is the same, byte for byte, whether the array
was on the CPU or on a GPU.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core, errors
from .compressor import Compressor, Progress, compressor_of_thread
from .dataset import Dataset, Mapping, dataset_of
from .errors import *  # noqa: F403
from .info import Frame, Info, inspect
from .ranges import read_region
from .series import Series, Step
from .settings import Fill
from .whole_files import repack, unpack

__version__: str = _core.version

__all__ = [
    "Compressor",
    "Dataset",
    "Frame",
    "Info",
    "Progress",
    "Series",
    "Step",
    "build_info",
    "compress",
    "compress_many",
    "decompress",
    "decompress_many",
    "inspect",
    "open",
    "read_region",
    "repack",
    "unpack",
    *errors.__all__,
]

def compress(
    array: Any,
    *,
    abs: float | None = None,
    rel: float | None = None,
    psnr: float | None = None,
    pwrel: float | None = None,
    lossless: bool = False,
    fill: Fill = None,
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

    Pass exactly one of `abs`, `rel`, `psnr`, `pwrel` and `lossless`.

    Parameters
    ----------
    array : array_like
        A numpy array, or any array on the CPU or a CUDA device that has the buffer protocol or
        DLPack. float32, float64, float16, bfloat16, uint8, int8, uint16, int16 and int32 can be
        compressed with a bound; these, the float8 types, all other numbers, dates and bytes can be
        compressed losslessly. Arrays in C or Fortran order are not copied; others on the CPU are.
    abs : float, optional
        The bound: no value changes by more than this, in the unit of the values.
    rel : float, optional
        The bound as a fraction of the range, max - min, of the finite values.
    psnr : float, optional
        The bound at which uniform errors have this PSNR, in dB.
    pwrel : float, optional
        The bound as a fraction of each value, below 1, for float32 and float64: no value changes by
        more than this times itself, and signs and zeros are kept.
    lossless : bool, default False
        Every bit comes back.
    fill : float or sequence of float, optional
        Up to four values that mean "nothing here". They are kept exactly and do not count for the
        range. By default well-known values, such as 1e20 and NaN, are found.
    greatest : float, default 0
        With `abs`: a promise that no magnitude exceeds this; the scan of the values is skipped. 0:
        no promise. The bound also holds for values beyond it.
    predictor : {"auto", "lorenzo", "interpolation"}, default "auto"
        How values are predicted. "lorenzo" is the fastest, "interpolation" usually the smallest.
    layout : {"tile", "linear"}, default "tile"
    frame_rows : int, default 0
        Rows of the slowest axis in a frame, which is coded independently; 0 is the default.
    zstd : int, default 0
        1 to 19 packs the archive with zstd if that saves space.
    out : array_like, optional
        Memory for the archive, on the array's device. By default the archive is a bytes object, or
        a uint8 array of the same library if the array is on a GPU.
    threads : int, default 0
        CPU threads; 0 means all cores.
    progress : callable, optional
        Called now and then with the number of finished values and the total. An exception stops the
        work.

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

    Warns
    -----
    UserWarning
        A value of an array on the CPU looks like fill, and is not named.
    """
    return compressor_of_thread(threads).compress(
        array,
        abs=abs,
        rel=rel,
        psnr=psnr,
        pwrel=pwrel,
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
        The result of `compress`, in the memory of the CPU or of a CUDA device.
    out : array_like, optional
        The array to restore into: contiguous in C order, of the right shape. By default the result
        is a new array on the archive's device.
    dtype : dtype, optional
        The type of the values, if archives do not have it, such as int64 and float8. Without it
        they are restored as uint8.
    slab : slice or (int, int), optional
        Only rows start to stop - 1 of the first axis; the step must be 1.
    region : int, slice, Ellipsis or a tuple of them, optional
        Only the values of a basic numpy index, such as ``np.s_[:16, 32:64, ..., 5]``, of the array
        or, with `level`, of the preview. Only the tiles that the box around it needs are decoded,
        on the CPU, and checksums of bulk data are not tested. Steps must be positive; the values in
        between are restored temporarily.
    level : int, default 0
        1 to 6: a preview, every 2**level-th value along each axis, read from the coarse
        levels only. Not every archive has one.
    threads : int, default 0
        CPU threads; 0 means all cores.
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


def compress_many(arrays: Iterable[Any], *, threads: int = 0, **settings: Any) -> list[Any]:
    """Compress arrays, each to its own archive.

    Arrays on a GPU that are compressed with `lossless`, without `zstd`, `frame_rows` and the linear
    layout, are compressed together, which is faster if they are small: 200 of 1 MiB take a fifth
    of the time. All others are compressed one after another. The archives are those of `compress`.

    Parameters
    ----------
    arrays : iterable of array_like
        As in `compress`.
    threads : int, default 0
        CPU threads; 0 means all cores.
    **settings
        The other keywords of `compress`, except `out`.

    Returns
    -------
    list of bytes or array_like
        The archives, where the arrays are.

    Raises
    ------
    TypeError, ValueError, szgpu.Error
        As `compress`, for any of the arrays.
    """
    if "out" in settings:
        raise TypeError("compress_many has no out: use compress for each array")
    return compressor_of_thread(threads).compress_many(arrays, **settings)


def decompress_many(
    archives: Iterable[Any],
    *,
    dtype: str | np.dtype | type | None = None,
    threads: int = 0,
) -> list[Any]:
    """Restore the arrays of archives, whole.

    Lossless archives on a GPU are restored together if they are of one frame each, without zstd and
    of the tile layout; all others one after another.

    Parameters
    ----------
    archives : iterable of bytes or array_like
        The results of `compress` and `compress_many`.
    dtype : dtype, optional
        As in `decompress`, for all archives.
    threads : int, default 0
        CPU threads; 0 means all cores.

    Returns
    -------
    list of array_like
        The arrays, where the archives are.

    Raises
    ------
    szgpu.CorruptError, szgpu.Error, TypeError, ValueError
        As `decompress`, for any of the archives.
    """
    return compressor_of_thread(threads).decompress_many(archives, dtype=dtype)


def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    dtype: str | np.dtype | type | None = None,
    threads: int = 0,
) -> Dataset | Series:
    """Open an archive or a series in a file. Only the values that are indexed are restored.

    Parameters
    ----------
    path : path-like
        The file, which is mapped.
    dtype : dtype, optional
        As in `decompress`.
    threads : int, default 0
        CPU threads; 0 means all cores.

    Returns
    -------
    Dataset or Series
        A read-only array, or the read-only arrays of the steps of a series. Close it, or use it in
        a with statement.

    Raises
    ------
    OSError
        The file cannot be read.
    szgpu.CorruptError
        The header is damaged; the subclasses say how.
    """
    with builtins.open(path, "rb") as file:
        mapping = Mapping(file)
    try:
        return dataset_of(mapping, dtype=dtype, threads=threads)
    except errors.NotAnArchiveError as no_archive:
        try:
            return Series(path, dtype=dtype, threads=threads)
        except errors.NotASeriesError:
            raise no_archive from None


def build_info() -> dict[str, Any]:
    """Describe this build of szgpu.

    Returns
    -------
    dict
        "version": the library's; "cuda": whether it has the CUDA backend (not whether there is a
        GPU); "hdf5_plugin": the folder of the HDF5 filter plugin, or None; "command": the path of
        the command, or None.
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
