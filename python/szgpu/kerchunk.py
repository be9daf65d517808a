"""kerchunk: indexes of HDF5 and netCDF-4 files whose chunks are compressed by szgpu's filter.

>>> import h5py
>>> import numpy as np
>>> import szgpu.hdf5
>>> from szgpu.kerchunk import SingleHdf5ToZarr
>>> with h5py.File("indexed.h5", "w") as file:
...     dataset = file.create_dataset(
...         "wind", data=np.ones((64, 64), "f4"), chunks=(32, 64),
...         compression=szgpu.hdf5.Filter(abs=0.01),
...     )
>>> index = SingleHdf5ToZarr("indexed.h5").translate()
>>> "szgpu_hdf5" in index["refs"]["wind/.zarray"]
True
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kerchunk.hdf  # type: ignore[import-untyped]

from .hdf5 import is_filter
from .hdf5_codec import SzgpuHdf5

__all__ = ["SingleHdf5ToZarr"]

_FLETCHER32 = "fletcher32"


class SingleHdf5ToZarr(kerchunk.hdf.SingleHdf5ToZarr):  # type: ignore[misc]
    """kerchunk's `SingleHdf5ToZarr`, which also knows szgpu's filter.

    It takes the same arguments. kerchunk has no list of filters to which one could be added.
    """

    def _decode_filters(self, h5obj: Any) -> list[Any]:
        words = _words(h5obj)
        if words is None:
            others: list[Any] = super()._decode_filters(h5obj)
            return others
        return [SzgpuHdf5(cd_values=words), *super()._decode_filters(_OtherFilters(h5obj))]

    def _storage_info_and_adj_filters(self, dset: Any, filters: list[Any]) -> dict[Any, Any]:
        if _words(dset) is not None:
            dset = _Chunks(dset)
        found: dict[Any, Any] = super()._storage_info_and_adj_filters(dset, filters)
        return found


def _words(dataset: Any) -> tuple[int, ...] | None:
    """The cd_values of szgpu's filter, which is the first one; None: the dataset has it not."""
    for name, words in dataset._filters.items():
        if is_filter(name):
            return tuple(words)
    return None


class _View:
    """An object of h5py, of which some attributes are seen otherwise."""

    def __init__(self, seen: Any) -> None:
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._seen, name)

    def __getitem__(self, key: Any) -> Any:
        return self._seen[key]


class _OtherFilters(_View):
    """A dataset without szgpu's filter, and without a checksum after all filters.

    kerchunk cuts that checksum off, but refuses it among the filters.
    """

    @property
    def _filters(self) -> dict[str, Any]:
        names = [name for name in self._seen._filters if not is_filter(name)]
        if names and names[-1] == _FLETCHER32:
            names.pop()
        return {name: self._seen._filters[name] for name in names}


class _Chunks(_View):
    """A dataset whose chunks all seem to have gone through szgpu's filter.

    An optional filter leaves out chunks that would grow, and kerchunk refuses a dataset in which
    only some chunks went through a filter. The codec reads both kinds.
    """

    @property
    def id(self) -> Any:
        return _ChunkInfos(self._seen.id)


class _ChunkInfos(_View):
    def chunk_iter(self, callback: Callable[[Any], Any]) -> Any:
        return self._seen.chunk_iter(lambda info: callback(_as_filtered(info)))

    def get_chunk_info(self, index: int) -> Any:
        return _as_filtered(self._seen.get_chunk_info(index))


def _as_filtered(info: Any) -> Any:
    return info._replace(filter_mask=info.filter_mask & ~1)
