"""Where fields come from: files, HDF5 datasets, archives and SZ3; all are read by slabs of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import szgpu

from .extras import ReportError, extra

ARCHIVE_MAGIC = b"\x89SZG"
RAW_TYPES = {
    "f32": "<f4", "f64": "<f8", "d64": "<f8", "f16": "<f2", "bf16": "bfloat16",
    "u8": "u1", "i8": "i1", "u16": "<u2", "i16": "<i2", "i32": "<i4",
}  # fmt: skip
BOUNDED_TYPES = ("float32", "float64", "float16", "bfloat16", "uint8", "int8", "uint16", "int16", "int32")
SLAB_BYTES = 1 << 26


@dataclass
class Source:
    """A field, or what came back of it.

    Attributes
    ----------
    name : str
        For people: the name of the file, or what was asked of SZ3.
    shape : tuple of int
        Without axes of length 1.
    dtype : numpy.dtype
    read_rows : callable
        Gives rows first to stop - 1 of the first axis of `shape`.
    slab_rows : int
        So many rows are best read at once.
    stored_bytes : int or None
        The size of the archive; None for a file of values.
    info : szgpu.Info or None
    archive : numpy.ndarray or None
        The bytes of szgpu's archive.
    bound : float or None
        What should hold for every value; 0 if all bits should come back; None if unknown.
    fill : float or None
        The value that means "nothing here".
    unit : str
        Of the values.
    axis_names : tuple of str
        Of the axes of `shape`, as the file has them; () if it has none.
    is_upward : bool
        The rows of a plane are latitudes from south to north.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    read_rows: Callable[[int, int], np.ndarray]
    slab_rows: int
    stored_bytes: int | None = None
    info: szgpu.Info | None = None
    archive: np.ndarray | None = None
    bound: float | None = None
    fill: float | None = None
    unit: str = ""
    axis_names: tuple[str, ...] = ()
    is_upward: bool = False

    def axis_name(self, axis: int) -> str:
        """The name of an axis, or its number."""
        return (self.axis_names[axis] if self.axis_names else "") or f"axis {axis}"

    @property
    def value_count(self) -> int:
        return math.prod(self.shape)

    @property
    def row_values(self) -> int:
        return math.prod(self.shape[1:])

    @property
    def ratio(self) -> float | None:
        """The size of the field over that of the archive."""
        if self.stored_bytes is None:
            return None
        return self.value_count * self.dtype.itemsize / self.stored_bytes

    @property
    def bits_a_value(self) -> float | None:
        return None if self.stored_bytes is None else 8 * self.stored_bytes / self.value_count

    @property
    def predictor(self) -> str:
        """What most rows were predicted by, "" if unknown."""
        if self.info is None:
            return ""
        rows: dict[str, int] = {}
        for frame in self.info.frames():
            rows[frame.predictor] = rows.get(frame.predictor, 0) + frame.row_count
        return max(rows, key=lambda name: rows[name])


def shape_text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def is_archive(path: Path) -> bool:
    """Tell whether a file begins as archives do, or is named as one."""
    with path.open("rb") as file:
        return file.read(len(ARCHIVE_MAGIC)) == ARCHIVE_MAGIC or path.suffix == ".szg"


def open_source(
    name: str, *, type_name: str | None, dims: tuple[int, ...] | None, like: Source | None
) -> Source:
    """Open a field by its name.

    Parameters
    ----------
    name : str
        A file, or FILE:DATASET for HDF5.
    type_name, dims : optional
        The type and the shape of raw files, if their names do not have them.
    like : Source, optional
        A raw file that says nothing else is as this one.
    """
    file, colon, dataset = name.rpartition(":")
    if colon and not Path(name).exists() and Path(file).is_file():
        return _open_dataset(name, file, dataset)
    path = Path(name)
    try:
        if path.is_dir():
            raise ReportError(f"{name}: this is a folder; name a file in it")
        if is_archive(path):
            return _open_archive(path, like)
        with path.open("rb") as start:
            is_npy = start.read(6) == b"\x93NUMPY"
        return _open_npy(path) if is_npy else _open_raw(path, type_name, dims, like)
    except OSError as error:
        raise ReportError(f"{name}: cannot be read: {error.strerror or error}") from error


def _of_array(name: str, array: Any, fill: float | None = None, unit: str = "") -> Source:
    """Make a source of anything that can be sliced."""
    dtype = np.dtype(array.dtype).newbyteorder("=")
    if dtype.name not in BOUNDED_TYPES:
        raise ReportError(
            f"{name}: holds values of type {dtype}; the report is of {', '.join(BOUNDED_TYPES)}"
        )
    if math.prod(array.shape) == 0:
        raise ReportError(f"{name}: holds no values")
    shape = tuple(n for n in array.shape if n > 1) or (1,)
    leading = 0
    while leading < len(array.shape) - 1 and array.shape[leading] == 1:
        leading += 1

    def read_rows(first: int, stop: int) -> np.ndarray:
        part = np.asarray(array[(0,) * leading + (slice(first, stop),)])
        return part.reshape(stop - first, *shape[1:]).astype(dtype, copy=False)

    row_bytes = math.prod(shape[1:]) * dtype.itemsize
    slab_rows = max(1, SLAB_BYTES // row_bytes)
    return Source(name, shape, dtype, read_rows, slab_rows, fill=fill, unit=unit)


def _open_npy(path: Path) -> Source:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ReportError(f"{path}: is no .npy file of numbers: {error}") from error
    return _of_array(str(path), array)


def _open_dataset(name: str, file: str, dataset: str) -> Source:
    h5py = extra("h5py", "pip install h5py")
    try:
        found = h5py.File(file, "r")[dataset]
        shape = found.shape
    except (OSError, KeyError, AttributeError) as error:
        raise ReportError(f"{name}: there is no such dataset in an HDF5 file") from error
    from ..hdf5 import require_sound_chunks  # which imports h5py

    try:
        require_sound_chunks(found)
    except (szgpu.Error, OSError, KeyError) as error:
        raise ReportError(f"{name}: {error}") from error
    if shape is None:
        raise ReportError(f"{name}: holds no values")
    fill = found.attrs.get("_FillValue", found.attrs.get("missing_value"))
    fill = None if fill is None else float(np.ravel(fill)[0])
    source = _of_array(name, found, fill, _text_of(found, "units"))
    axes = [axis for axis, length in enumerate(shape) if length > 1]
    source.axis_names = tuple(_axis_name(found, axis) for axis in axes)
    source.is_upward = len(axes) > 1 and _rises_northward(found, axes[-2])
    return source


def _text_of(dataset: Any, attribute: str) -> str:
    text = dataset.attrs.get(attribute, "")
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text)


def _axis_name(dataset: Any, axis: int) -> str:
    """The label of an axis, or the name of its dimension scale, as netCDF has; "" without."""
    found = dataset.dims[axis]
    return found.label or (found[0].name.rpartition("/")[2] if len(found) else "")


def _rises_northward(dataset: Any, axis: int) -> bool:
    """Whether an axis has latitudes as its coordinate, by CF's rules or its name, south first."""
    found = dataset.dims[axis]
    if not len(found) or found[0].shape != dataset.shape[axis : axis + 1]:
        return False
    is_latitude = (
        _text_of(found[0], "standard_name") == "latitude"
        or re.fullmatch(r"degrees?_?N(orth)?", _text_of(found[0], "units"), re.IGNORECASE)
        or _axis_name(dataset, axis).lower() in ("lat", "latitude")
    )
    return bool(is_latitude and found[0].dtype.kind in "fiu" and found[0][0] < found[0][-1])


def _dims_of_name(path: Path, value_count: int) -> tuple[int, ...] | None:
    """Find the last part of a name, such as 36x73x144, that gives the number of values."""
    for part in reversed(re.findall(r"(?<!\d)\d+(?:x\d+)*(?!\d)", path.name)):
        dims = tuple(int(n) for n in part.split("x"))
        if math.prod(dims) == value_count:
            return dims
    return None


def _open_raw(
    path: Path, type_name: str | None, dims: tuple[int, ...] | None, like: Source | None
) -> Source:
    byte_count = path.stat().st_size
    suffix = path.suffix[1:]
    if type_name is None and suffix in RAW_TYPES:
        type_name = suffix
    if type_name is None and like is None:
        raise ReportError(f"{path}: its name does not say the type of its values: add -t f32 or f64")
    dtype = raw_type(type_name) if type_name or like is None else like.dtype
    value_count, rest = divmod(byte_count, dtype.itemsize)
    if like is not None and (rest or value_count != like.value_count):
        raise ReportError(
            f"{path}: is no archive, and its {byte_count:,} bytes are not {shape_text(like.shape)} "
            f"values of type {dtype} ({like.value_count * dtype.itemsize:,} bytes)"
        )
    if dims is None:
        dims = _dims_of_name(path, value_count) or (like.shape if like else None)
    if dims is None:
        raise ReportError(f"{path}: its name does not say the shape of the field: add -d, slowest first")
    if rest or math.prod(dims) != value_count or value_count == 0:
        raise ReportError(
            f"{path}: has {byte_count:,} bytes, and {shape_text(dims)} values of type {dtype} take "
            f"{math.prod(dims) * dtype.itemsize:,}: correct -d or -t"
        )
    return _of_array(str(path), np.memmap(path, dtype, "r", shape=dims))


def raw_type(name: str | None) -> np.dtype:
    """Find the type that -t names."""
    if name not in RAW_TYPES:
        raise ReportError(f"-t is {name}, which is not one of {', '.join(RAW_TYPES)}")
    if name == "bf16":
        extra("ml_dtypes", "pip install ml_dtypes")
    return np.dtype(RAW_TYPES[name])


def _open_archive(path: Path, like: Source | None) -> Source:
    if path.stat().st_size == 0:
        raise ReportError(f"{path}: is empty")
    archive = np.memmap(path, np.uint8, "r")
    try:
        info = szgpu.inspect(archive)
        info.frames(0, 1)
    except szgpu.Error as error:
        raise ReportError(f"{path}: {error}") from error
    if info.dtype not in BOUNDED_TYPES:
        raise ReportError(
            f"{path}: holds values of type {info.dtype}; the report is of {', '.join(BOUNDED_TYPES)}"
        )
    if info.dtype == "bfloat16":
        extra("ml_dtypes", "pip install ml_dtypes")
    return archive_source(str(path), archive, info)


def archive_source(name: str, archive: np.ndarray, info: szgpu.Info) -> Source:
    """Make a source of an archive's bytes."""
    shape = tuple(n for n in info.shape if n > 1) or (1,)
    row_bytes = info.field_bytes // shape[0]
    slab_rows = max(SLAB_BYTES // row_bytes, 1)
    slab_rows -= slab_rows % 32 if slab_rows > 32 else 0  # no tile is restored twice
    # Slabs are of the first axis; they do not exist in Fortran order, nor if that axis has length 1.
    is_whole = info.is_fortran or info.shape[0] == 1 or slab_rows >= shape[0]
    kept: list[np.ndarray] = []

    def read_rows(first: int, stop: int) -> np.ndarray:
        try:
            if not is_whole:
                return np.asarray(szgpu.decompress(archive, slab=(first, stop)))
            if not kept:
                kept.append(np.asarray(szgpu.decompress(archive)).reshape(shape))
        except szgpu.Error as error:
            raise ReportError(f"{name}: {error}") from error
        return kept[0][first:stop]

    return Source(
        name,
        shape,
        np.dtype(info.dtype),
        read_rows,
        slab_rows,
        stored_bytes=info.archive_bytes,
        info=info,
        archive=archive,
        bound=absolute_bound_of(info),
        fill=info.fill,
    )


def absolute_bound_of(info: szgpu.Info) -> float | None:
    """What no error exceeds; None if the bound is one of each value."""
    if info.mode == "pwrel":
        return None
    return 0.0 if info.mode == "lossless" else info.absolute_bound


def sz3_source(original: Source, bound: float) -> Source:
    """Compress and restore a field with SZ3, whole and in memory, at an absolute bound."""
    pysz = extra("pysz", "pip install pysz")
    if original.dtype not in (np.dtype("f4"), np.dtype("f8")):
        raise ReportError(f"SZ3 takes float32 and float64, not {original.dtype}: leave --sz3 out")
    config = pysz.szConfig(original.shape)
    config.errorBoundMode = pysz.szErrorBoundMode.ABS
    config.absErrorBound = bound
    field = np.ascontiguousarray(original.read_rows(0, original.shape[0]))
    packed, _ = pysz.sz.compress(field, config)
    restored, _ = pysz.sz.decompress(packed, field.dtype, field.shape)
    source = _of_array(f"SZ3 at {bound:g}", restored)
    source.stored_bytes = packed.nbytes
    source.bound = bound
    source.fill = original.fill
    return source
