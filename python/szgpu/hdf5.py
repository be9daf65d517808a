"""HDF5 and netCDF-4: importing this module lets h5py read and write with szgpu's filter.

>>> import h5py
>>> import numpy as np
>>> import szgpu.hdf5
>>> with h5py.File("wind.h5", "w", driver="core", backing_store=False) as file:
...     wind = file.create_dataset(
...         "wind", data=np.ones((64, 64), "f4"), chunks=(64, 64), **szgpu.hdf5.Filter(abs=0.01)
...     )
...     bool(abs(wind[...] - 1).max() <= 0.01)
True
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from . import build_info
from .settings import Settings

FILTER_ID = 480
"""The number of the filter in HDF5 files."""

_VERSION = 1
_LORENZO, _INTERPOLATION = 0x200, 0x400

PLUGIN_PATH: str | None = build_info()["hdf5_plugin"]
"""The folder of the plugin; None if this build has none."""


class Filter(Mapping[str, Any]):
    """What ``create_dataset`` of h5py takes to compress a dataset.

    Take `abs`: a filter sees one chunk at a time, so `rel` and `psnr` are by the chunk's range.
    The dataset's own fill value, if it has one, comes back exactly.

    Parameters
    ----------
    abs, rel, psnr, pwrel, lossless, predictor, zstd
        As in `szgpu.compress`.

    Examples
    --------
    ``file.create_dataset("wind", data=wind, **szgpu.hdf5.Filter(abs=0.01))``

    For xarray with the engine h5netcdf:
    ``dataset.to_netcdf(path, engine="h5netcdf", encoding={"wind": {**szgpu.hdf5.Filter(abs=0.01)}})``
    """

    def __init__(
        self,
        *,
        abs: float | None = None,
        rel: float | None = None,
        psnr: float | None = None,
        pwrel: float | None = None,
        lossless: bool = False,
        predictor: str = "auto",
        zstd: int = 0,
    ) -> None:
        if PLUGIN_PATH is None:
            raise RuntimeError(
                "this build of szgpu has no HDF5 plugin: install HDF5's headers (Debian: "
                "libhdf5-dev) and install szgpu again"
            )
        settings = Settings(abs, rel, psnr, lossless, None, predictor, zstd, pwrel)
        mode, bound = 3, 0.0
        for number, value in ((0, rel), (1, abs), (2, psnr), (4, pwrel)):
            if value is not None:
                mode, bound = number, float(value)
        options = settings.zstd
        options |= {"auto": 0, "lorenzo": _LORENZO, "interpolation": _INTERPOLATION}[predictor]
        words = (_VERSION, mode, *struct.unpack("<II", struct.pack("<d", bound)), options)
        self._arguments: dict[str, Any] = {"compression": FILTER_ID, "compression_opts": words}

    def __getitem__(self, key: str) -> Any:
        return self._arguments[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arguments)

    def __len__(self) -> int:
        return len(self._arguments)

    def __repr__(self) -> str:
        return f"Filter({self._arguments['compression_opts']})"


def register() -> None:
    """Let HDF5 find the plugin.

    h5py is told at once. The environment variable HDF5_PLUGIN_PATH is for libraries that read it
    later: netCDF4 if it is imported after this module, and processes that are started from here.
    Importing this module calls it.
    """
    if PLUGIN_PATH is None:
        return
    folders = os.environ.get("HDF5_PLUGIN_PATH", "")
    if PLUGIN_PATH not in folders.split(os.pathsep):
        os.environ["HDF5_PLUGIN_PATH"] = (
            f"{PLUGIN_PATH}{os.pathsep}{folders}" if folders else PLUGIN_PATH
        )
    try:
        import h5py  # type: ignore[import-untyped]
    except ImportError:
        return
    known = {h5py.h5pl.get(i) for i in range(h5py.h5pl.size())}
    if PLUGIN_PATH.encode() not in known:
        h5py.h5pl.prepend(PLUGIN_PATH.encode())


if sys.platform == "linux":
    register()
