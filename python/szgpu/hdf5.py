"""HDF5 and netCDF-4: importing this module lets h5py read and write with szgpu's filter.

>>> import h5py
>>> import numpy as np
>>> import szgpu.hdf5
>>> with h5py.File("wind.h5", "w", driver="core", backing_store=False) as file:
...     wind = file.create_dataset(
...         "wind", data=np.ones((64, 64), "f4"), chunks=(64, 64),
...         compression=szgpu.hdf5.Filter(abs=0.01),
...     )
...     bool(abs(wind[...] - 1).max() <= 0.01)
True
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import atexit
import ctypes
import math
import os
import struct
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from . import _core, build_info
from .errors import CorruptError
from .hdf5_words import FILLS_UNIT, VERSION, stored_chunk
from .libhdf5 import loaded_libhdf5s
from .settings import MODES, Fill, Settings

FILTER_ID: int = _core.hdf5_filter_id
"""The number of the filter in HDF5 files."""

_NUMBERS = {FILTER_ID, _core.hdf5_other_filter_id or FILTER_ID}  # of the plugins of this build

_SHUFFLE, _FLETCHER32, _CHECKSUM_BYTES = 2, 3, 4  # HDF5's filters that keep the size, or add to it
_LORENZO, _INTERPOLATION, _NAMED = 0x200, 0x400, 0x800

PLUGIN_PATH: str | None = build_info()["hdf5_plugin"]
"""The folder of the plugin; None if this build has none."""


def register() -> None:
    """Let HDF5 find the plugin.

    This sets the plugin's folder in every libhdf5 of this process, such as those of h5py and
    netCDF4. It also sets the environment variable HDF5_PLUGIN_PATH, for libraries that are loaded
    later and for child processes. Importing this module calls it.
    """
    if PLUGIN_PATH is None:
        return
    folders = os.environ.get("HDF5_PLUGIN_PATH", "")
    if PLUGIN_PATH not in folders.split(os.pathsep):
        os.environ["HDF5_PLUGIN_PATH"] = (
            f"{PLUGIN_PATH}{os.pathsep}{folders}" if folders else PLUGIN_PATH
        )
    for library in loaded_libhdf5s():
        _tell(ctypes.PyDLL(library), PLUGIN_PATH.encode())


def _tell(library: ctypes.PyDLL, folder: bytes) -> None:
    """Put a folder first where a libhdf5 looks for plugins."""
    count = ctypes.c_uint()
    library.H5PLsize(ctypes.byref(count))
    library.H5PLget.restype = ctypes.c_ssize_t
    known = ctypes.create_string_buffer(len(folder) + 2)  # longer ones are cut, and so differ
    for i in range(count.value):
        library.H5PLget(ctypes.c_uint(i), known, ctypes.c_size_t(len(known)))
        if known.value == folder:
            return
    library.H5PLprepend(folder)


def require_sound_chunks(dataset: Any) -> None:
    """Refuse a dataset of h5py whose chunks have a wrong size, before it is read.

    HDF5 does not check how many bytes filters produce for a chunk, and reads beyond them. This
    function checks the arguments of szgpu's filter, and the size of chunks that went through no
    filter, or only through shuffle and fletcher32; for a virtual dataset, it checks each source.
    The output size of other filters is unknown until HDF5 has read the chunk.

    Parameters
    ----------
    dataset : h5py.Dataset

    Raises
    ------
    szgpu.CorruptError
        The dataset must not be read.
    FileNotFoundError
        The source of a virtual dataset is missing; HDF5 would give fill values.
    """
    if dataset.is_virtual:
        for source in dataset.virtual_sources():
            _require_sound_source(dataset.file, source)
    if dataset.chunks is None:
        return
    chunk_bytes = math.prod(dataset.chunks) * dataset.id.get_type().get_size()
    properties = dataset.id.get_create_plist()
    filters = [properties.get_filter(i) for i in range(properties.get_nfilters())]
    for number, _, words, _ in filters:
        stated = stored_chunk(words) if number in _NUMBERS else None
        if stated is not None and stated.byte_count != chunk_bytes:
            raise CorruptError(
                f"{dataset.name} has cd_values of szgpu that do not match its chunks, so it was not "
                "read; replace the file with an intact copy"
            )
    for chunk in _chunks_of(dataset):
        used = [f[0] for i, f in enumerate(filters) if not chunk.filter_mask >> i & 1]
        expected = chunk_bytes + used.count(_FLETCHER32) * _CHECKSUM_BYTES
        if set(used) <= {_SHUFFLE, _FLETCHER32} and chunk.size != expected:
            raise CorruptError(
                f"{dataset.name} has an uncompressed chunk of {chunk.size} bytes, which should have "
                f"{expected}, so it was not read; replace the file with an intact copy"
            )


def is_filter(name: str) -> bool:
    """Whether h5py's name of a filter, such as "480", is that of szgpu's."""
    return name.isdecimal() and int(name) in _NUMBERS


def has_bound(dataset: Any) -> bool:
    """Whether a dataset of h5py is compressed with a bound by szgpu's filter."""
    properties = dataset.id.get_create_plist()
    filters = (properties.get_filter(i) for i in range(properties.get_nfilters()))
    words = [words for number, _, words, _ in filters if number in _NUMBERS]
    return any(len(one) > 1 and one[1] != MODES.index("lossless") for one in words)


def _require_sound_source(file: Any, source: Any) -> None:
    if source.file_name == ".":
        require_sound_chunks(file[source.dset_name])
        return
    path = os.path.join(os.path.dirname(file.filename), source.file_name)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{path}, a source of a virtual dataset, is not there")
    with type(file)(path, "r") as other:
        require_sound_chunks(other[source.dset_name])


def _chunks_of(dataset: Any) -> Iterable[Any]:
    if hasattr(dataset.id, "chunk_iter"):
        chunks: list[Any] = []
        dataset.id.chunk_iter(chunks.append)
        return chunks
    return map(dataset.id.get_chunk_info, range(dataset.id.get_num_chunks()))


# h5py takes such an object as `compression`; as a mapping it serves those who unpack it.
if TYPE_CHECKING:
    _Filter = Mapping[str, Any]
else:
    try:
        import h5py

        _Filter = h5py.filters.FilterRefBase
    except ImportError:
        _Filter = Mapping

if sys.platform == "linux":
    register()


class FilterWarning(UserWarning):
    """A dataset is not compressed, or not as requested; the warning says why.

    HDF5 itself does not report this. ``warnings.simplefilter("error", szgpu.hdf5.FilterWarning)``
    makes the creation of such a dataset fail.
    """


_BETWEEN = {"szgpu", "h5py", "h5netcdf", "xarray"}  # us and the line that creates a dataset


def _warn(sentence: bytes) -> int:
    """Warn at the line that creates the dataset. Nonzero: it shall not be created."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    try:
        warnings.warn(f"szgpu: {sentence.decode()}", FilterWarning, stacklevel=level)
    except FilterWarning:
        return 1
    return 0


_LISTENER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
_listener = _LISTENER(_warn)


@cache
def _listen(folder: str) -> None:
    """Hear what the plugin has to say when a dataset is created."""
    plugin = ctypes.CDLL(os.path.join(folder, "libh5zszgpu.so"))
    plugin.szgpu_h5_listen.argtypes = [_LISTENER]
    plugin.szgpu_h5_listen.restype = None
    plugin.szgpu_h5_listen(_listener)
    atexit.register(plugin.szgpu_h5_listen, _LISTENER())


def _double_words(value: float) -> tuple[int, int]:
    low, high = struct.unpack("<II", struct.pack("<d", value))
    return low, high


class Filter(_Filter):
    """The argument of h5py's ``create_dataset`` that compresses a dataset.

    Use `abs`: a filter sees one chunk at a time, so `rel` and `psnr` depend on the chunk's range.
    The dataset's own fill value, if it has one, is restored exactly. A dataset that cannot be
    compressed that way is stored losslessly or uncompressed, with a `FilterWarning` that says why.

    Parameters
    ----------
    abs, rel, psnr, pwrel, lossless, predictor, zstd
        As in `szgpu.compress`.
    fill : float or up to four of them, optional
        Values that are restored exactly, such as those that mean "missing", in addition to the
        dataset's own fill value.

    Examples
    --------
    ``file.create_dataset("wind", data=wind, compression=szgpu.hdf5.Filter(abs=0.01))``

    ``**szgpu.hdf5.Filter(abs=0.01)`` is the same, also in xarray's encoding for the engine h5netcdf:
    ``dataset.to_netcdf(path, engine="h5netcdf", encoding={"wind": {**szgpu.hdf5.Filter(abs=0.01)}})``
    """

    filter_id = FILTER_ID

    def __init__(
        self,
        *,
        abs: float | None = None,
        rel: float | None = None,
        psnr: float | None = None,
        pwrel: float | None = None,
        lossless: bool = False,
        fill: Fill = None,
        predictor: str = "auto",
        zstd: int = 0,
    ) -> None:
        if PLUGIN_PATH is None:
            raise RuntimeError(
                "this build of szgpu has no HDF5 plugin: install HDF5's headers (Debian: "
                "libhdf5-dev) and install szgpu again"
            )
        settings = Settings(abs, rel, psnr, lossless, fill, predictor, zstd, pwrel)
        options = settings.zstd | len(settings.fills) * FILLS_UNIT
        options |= {"auto": 0, "lorenzo": _LORENZO, "interpolation": _INTERPOLATION}[predictor]
        options |= 0 if settings.lossless else _NAMED
        bound = 0.0 if settings.lossless else settings.bound
        words = [VERSION, MODES.index(settings.mode), *_double_words(bound), options]
        for value in settings.fills:
            words += _double_words(value)
        self.filter_options = tuple(words)
        _listen(PLUGIN_PATH)

    @property
    def _kwargs(self) -> dict[str, Any]:
        return {"compression": self.filter_id, "compression_opts": self.filter_options}

    def __getitem__(self, key: str) -> Any:
        return self._kwargs[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kwargs)

    def __len__(self) -> int:
        return len(self._kwargs)

    def __repr__(self) -> str:
        return f"Filter({self.filter_options})"
