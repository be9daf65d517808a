"""The headers of archives."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core, arrays, errors
from .arrays import SOURCE_FORTRAN
from .compressor import LAYOUTS
from .settings import MODES
from .value_types import TYPE_NAMES


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
        The number of its previews; 0 if it is not a levels frame.
    fold : int
        The row length if a 1-D array that repeats itself is treated as rows, and then has no
        previews; otherwise 0.
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
    """The header of an archive.

    Attributes
    ----------
    dtype : str
        "float32", "float64", "float16", "bfloat16", "uint8", "int8", "uint16", "int16", "int32".
        "uint8" also stands for types that an archive does not have.
    shape : tuple of int
        The shape of the result of `decompress`.
    mode : str
        "rel", "abs", "psnr", "lossless" or "pwrel".
    bound : float
        As requested, in the mode's unit; 0 if lossless.
    absolute_bound : float
        The bound of every value, in the values' unit; if the mode is "pwrel", that of the
        logarithms to base 2 of their magnitudes.
    layout : str
        "tile" or "linear".
    value_range : float
        max - min of the values that are finite and not fill. If the mode is "abs", it may be that
        of a sample.
    fills : tuple of float
        The fill values, which are kept exactly; at most four.
    limits : tuple of float, or None
        The least and the greatest value of the array; no restored value is below or above, except
    frame_rows, frame_count : int
        Rows of every frame except the last, and the number of frames.
    field_bytes, archive_bytes : int
    format_version : int
    is_fortran : bool
        The array was in Fortran order, and is restored in it.
    """

    dtype: str
    shape: tuple[int, ...]
    mode: str
    bound: float
    absolute_bound: float
    layout: str
    value_range: float
    fills: tuple[float, ...]
    limits: tuple[float, float] | None
    frame_rows: int
    frame_count: int
    field_bytes: int
    archive_bytes: int
    format_version: int
    is_fortran: bool
    _header: np.ndarray = field(repr=False, compare=False)

    @property
    def fill(self) -> float | None:
        """The first fill value, if there is one."""
        return self.fills[0] if self.fills else None

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
    """Read the header of an archive, without restoring anything.

    Parameters
    ----------
    archive : bytes or array_like
        In the memory of the CPU. Its first bytes suffice, up to the end of its header; for
        `Info.frames`, also those of the frames.

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
