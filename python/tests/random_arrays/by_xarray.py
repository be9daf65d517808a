"""by_xarray.py - xarray's to_zarr and to_netcdf, with encodings."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from pathlib import Path
from typing import Any

import draw
import numpy as np
import szgpu.hdf5

import xarray as xr
import zarr
from by_hdf5 import is_first, is_left_out
from doors import Door, in_new_process
from draw import Case
from szgpu.numcodecs import Szgpu
from szgpu.zarr import SzgpuCodec


class Xarray(Door):
    """Datasets in which NaN is missing, or packed as integers, or of any other type.

    A case's values are what is stored: as xarray decodes them they go to the library again.
    """

    def draw(self, case: Case) -> None:
        draw.draw(case, self.types())
        case.order, case.is_fresh = "C", case.chance(0.004)
        case.chunks = tuple(min(c, max(n, 1)) for c, n in zip(case.chunks, case.shape))
        case.how["attribute"] = case.one(["_FillValue", "missing_value"])
        if case.missing:
            case.missing = case.missing[:1]  # xarray writes no more than one
            self._only_one_missing(case)
        if case.dtype.kind in "iu" and case.missing and case.chance(0.5):
            case.how["scale_factor"] = float(case.one([0.5, 0.01, 2]))
            case.how["add_offset"] = float(case.one([0, 273.15, -5]))
        if ("abs" in case.settings or case.is_lossless) and case.shape and case.chance(0.25):
            case.how["appends"] = int(case.rng.integers(1, 6))
        self.draw_more(case)
        draw.name_missing(case, self.told(case))

    def types(self) -> list[str]:
        return [*draw.FLOATS, *draw.INTEGERS, "|b1", "<M8[s]", ">M8[ns]", "<m8[ms]"]

    def _only_one_missing(self, case: Case) -> None:
        """What is stored must come of NaN: so all other markers, and NaNs, become the first."""
        if draw.is_float(case.dtype):
            values = case.values.copy()
            values[np.isnan(values)] = case.missing[0]
            case.values = values

    def draw_more(self, case: Case) -> None:
        """Draw what one of the doors takes."""

    def dataset(self, case: Case) -> xr.Dataset:
        values: Any = case.values.astype(case.dtype.newbyteorder("="))
        if case.missing and (draw.is_float(case.dtype) or "scale_factor" in case.how):
            is_missing = values == case.missing[0]
            if case.dtype.kind in "iu":
                scaled = values.astype("f8") * case.how["scale_factor"] + case.how["add_offset"]
                values = np.where(is_missing, np.nan, scaled)
            else:
                values = np.where(is_missing, values.dtype.type(np.nan), values)
        names = [f"d{i}" for i in range(len(case.shape))]
        return xr.Dataset({"a": (names, values)})

    def encoding(self, case: Case) -> dict[str, Any]:
        found: dict[str, Any] = {"dtype": case.dtype} if case.dtype.kind not in "Mm" else {}
        if case.missing and (draw.is_float(case.dtype) or case.dtype.kind in "iu"):
            found[case.how["attribute"]] = case.missing[0]
            if case.how["attribute"] == "missing_value" and draw.is_float(case.dtype):
                found["_FillValue"] = None
        for name in ("scale_factor", "add_offset"):
            if name in case.how:
                found[name] = case.how[name]
        return found

    def pieces(self, case: Case) -> list[xr.Dataset]:
        """Cut the dataset along its first axis, for appends of rows that share chunks."""
        whole = self.dataset(case)
        count = case.how.get("appends", 0)
        if not count or case.shape[0] < 2:
            return [whole]
        cuts = sorted({int(i) for i in case.rng.integers(1, case.shape[0], size=count)})
        ends = zip([0, *cuts], [*cuts, case.shape[0]])
        return [whole.isel(d0=slice(start, stop)) for start, stop in ends]

    def open(self, handle: Any, **settings: Any) -> xr.Dataset:
        raise NotImplementedError

    def read(self, case: Case, handle: Any) -> np.ndarray:
        if case.is_fresh:
            code = f"import xarray as xr; return_({self.opening}['a'].values)"
            return in_new_process(code, handle)
        with self.open(handle, mask_and_scale=False, decode_times=False) as back:
            return np.asarray(back["a"].values)

    def mask(self, case: Case, handle: Any) -> np.ndarray | None:
        with self.open(handle, decode_times=False) as back:
            return np.asarray(back["a"].isnull().values)

    def told(self, case: Case) -> tuple[Any, ...]:
        return case.missing if case.how["attribute"] == "_FillValue" else ()


class Zarr(Xarray):
    def __init__(self, version: int) -> None:
        self.version = version
        self.opening = (
            "xr.open_zarr(path, consolidated=False, mask_and_scale=False, decode_times=False)"
        )

    def write(self, case: Case, folder: Path, codec: bool) -> Any:
        path = str(folder / "a.zarr")
        self.left = path
        encoding = {"chunks": case.chunks, **self.encoding(case)}
        if codec and self.version == 2:
            encoding["compressors"] = (Szgpu(**case.settings),)
        elif codec:
            encoding |= {"serializer": SzgpuCodec(**case.settings), "compressors": None}
        how: dict[str, Any] = {"consolidated": False, "zarr_format": self.version}
        rng_state = case.rng.bit_generator.state
        for number, piece in enumerate(self.pieces(case)):
            if number:
                piece.to_zarr(path, append_dim="d0", **how)
            else:
                piece.to_zarr(path, mode="w", encoding={"a": encoding}, **how)
        case.rng.bit_generator.state = rng_state
        return path

    def open(self, handle: Any, **settings: Any) -> xr.Dataset:
        return xr.open_zarr(handle, consolidated=False, **settings)

    def told(self, case: Case) -> tuple[Any, ...]:
        return case.missing if self.version == 3 else super().told(case)  # attributes, too

    def leavings(self, case: Case) -> np.ndarray | None:
        try:
            return np.asarray(zarr.open_array(f"{self.left}/a", mode="r")[...])
        except Exception:  # noqa: BLE001 - nothing that can be read is what should be left
            return None


class Netcdf(Xarray):
    opening = "xr.open_dataset(path, engine='h5netcdf', mask_and_scale=False, decode_times=False)"

    def draw_more(self, case: Case) -> None:
        case.how.pop("appends", None)
        case.how["reader"] = case.one(["h5netcdf", "netcdf4"])
        if case.dtype.itemsize == 2 and case.dtype.kind == "f" or case.dtype.kind == "b":
            case.how["reader"] = "h5netcdf"  # netCDF has no such type
        if case.chance(0.1):
            case.how["shuffle"] = True
        case.how["fletcher32"] = case.chance(0.2)

    def write(self, case: Case, folder: Path, codec: bool) -> Any:
        self.reader = case.how["reader"]
        path = str(folder / "a.nc")
        encoding = self.encoding(case)
        if case.shape:
            encoding["chunksizes"] = case.chunks
        for name in ("shuffle", "fletcher32"):
            if case.how.get(name):
                encoding[name] = True
        if codec:
            encoding |= dict(szgpu.hdf5.Filter(**case.settings))
        self.dataset(case).to_netcdf(path, engine="h5netcdf", encoding={"a": encoding})
        return path

    def open(self, handle: Any, **settings: Any) -> xr.Dataset:
        return xr.open_dataset(handle, engine=self.reader, **settings)

    def warns(self, case: Case, handle: Any) -> bool:
        if not case.shape:
            return False  # HDF5 has no filters for single values, and xarray drops them
        return not is_first(handle)

    def is_declined(self, case: Case, handle: Any) -> bool:
        return is_left_out(handle)
