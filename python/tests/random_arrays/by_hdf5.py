"""by_hdf5.py - the doors of HDF5: h5py, and netCDF4, which has a libhdf5 of its own."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import draw
import numpy as np
import szgpu.hdf5  # before netCDF4, which then finds the filter

import h5py
import netCDF4
from doors import Door, in_new_process
from draw import Case

_NBIT = 5  # the number of HDF5's own filter
_WAYS = ["compression=Filter", "**Filter", "words", "properties", "mandatory"]


def filters_of(dataset: h5py.h5d.DatasetID) -> list[int]:
    properties = dataset.get_create_plist()
    return [properties.get_filter(i)[0] for i in range(properties.get_nfilters())]


def is_left_out(path: str) -> bool:
    """Whether dataset a has no filter of szgpu, or none of its chunks went through it."""
    with h5py.File(path) as file:
        dataset = file["a"].id
        filters = filters_of(dataset)
        if szgpu.hdf5.FILTER_ID not in filters:
            return True
        bit = 1 << filters.index(szgpu.hdf5.FILTER_ID)
        chunks = [dataset.get_chunk_info(i) for i in range(dataset.get_num_chunks())]
        return bool(chunks) and all(chunk.filter_mask & bit for chunk in chunks)


def is_first(path: str) -> bool:
    """Whether the filter is the first one: it is then left out of chunks that would grow."""
    with h5py.File(path) as file:
        return filters_of(file["a"].id)[:1] == [szgpu.hdf5.FILTER_ID]


class H5py(Door):
    """Datasets of h5py: with szgpu.hdf5.Filter, with bare words, with other filters around it."""

    def draw(self, case: Case) -> None:
        types = draw.FLOATS + draw.INTEGERS + draw.DATES + draw.TEXTS[:2] + draw.OTHERS
        draw.draw(case, [*types, draw.BFLOAT16])
        case.order = "C"
        case.how["way"] = case.one(_WAYS)
        is_low = case.how["way"] in _WAYS[3:]
        case.how["before"] = self._before(case, is_low) if case.chance(0.15) else []
        behind = ["fletcher32", "gzip", "gzip, fletcher32"] if is_low else ["fletcher32"]
        case.how["behind"] = case.one(behind) if case.chance(0.25) else None
        if case.missing and case.chance(0.7):
            case.fill = case.one(case.missing)
        elif case.dtype.kind in "iuf" and case.chance(0.3):
            case.fill = draw.as_type(case, case.one([0, 1, 100]))
        if case.how["before"]:
            case.missing = ()  # a filter before may be lossy
        if ("abs" in case.settings or case.is_lossless) and case.chance(0.3):
            case.parts = draw.draw_parts(case)
        if case.shape and not case.parts and case.chance(0.1):
            case.how["first rows"] = case.shape[0] // 2 // case.chunks[0] * case.chunks[0]
        if not case.shape:
            case.excuses.append("HDF5 has no filters for a single value")
        is_taken = draw.is_bounded(case.dtype) and len(case.shape) <= 4 and not case.how["before"]
        if case.how["way"] == "mandatory" and not is_taken:
            case.excuses.append("the filter does not take it, and is mandatory")
        draw.name_missing(case, () if case.fill is None else (case.fill,))

    def _before(self, case: Case, is_low: bool) -> list[str]:
        if is_low:
            return [case.one(["shuffle", "nbit", "fletcher32", "gzip"])]
        return [case.one(["shuffle", "scaleoffset"] if case.dtype.kind in "iu" else ["shuffle"])]

    def _keywords(self, case: Case, codec: bool) -> dict[str, Any]:
        found: dict[str, Any] = {name: True for name in case.how["before"]}
        if case.how["behind"]:
            found["fletcher32"] = True
        if not codec:
            return found
        filter_ = szgpu.hdf5.Filter(**case.settings)
        if case.how["way"] == "compression=Filter":
            return {"compression": filter_, **found}
        return {**dict(filter_), **found}

    def _properties(self, case: Case, codec: bool) -> h5py.h5p.PropDCID:
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_chunk(case.chunks)
        if case.fill is not None:
            made.set_fill_value(np.asarray(case.fill, case.dtype))
        makers = {
            "shuffle": made.set_shuffle,
            "fletcher32": made.set_fletcher32,
            "gzip": lambda: made.set_deflate(1),
            "nbit": lambda: made.set_filter(_NBIT, h5py.h5z.FLAG_OPTIONAL, ()),
        }
        for name in case.how["before"]:
            makers[name]()
        if codec:
            is_optional = case.how["way"] == "properties"
            words = dict(szgpu.hdf5.Filter(**case.settings))["compression_opts"]
            flag = h5py.h5z.FLAG_OPTIONAL if is_optional else h5py.h5z.FLAG_MANDATORY
            made.set_filter(szgpu.hdf5.FILTER_ID, flag, words)
        for name in (case.how["behind"] or "").split(", "):
            if name:
                makers[name]()
        return made

    def write(self, case: Case, folder: Path, codec: bool) -> Any:
        path = str(folder / "a.h5")
        self.left = path
        values = case.values
        if case.dtype.kind in "Mm":
            values = values.astype(h5py.opaque_dtype(case.dtype))
        rows = case.how.get("first rows")
        shape = case.shape if rows is None else (rows, *case.shape[1:])
        most = tuple(None for _ in shape)
        with h5py.File(path, "w") as file:
            if case.how["way"] in _WAYS[3:]:
                kind = h5py.h5t.py_create(values.dtype, logical=True)
                space = h5py.h5s.create_simple(shape, (h5py.h5s.UNLIMITED,) * len(shape))
                made = h5py.Dataset(
                    h5py.h5d.create(file.id, b"a", kind, space, self._properties(case, codec))
                )
            else:
                more = {} if case.fill is None else {"fillvalue": case.fill}
                made = file.create_dataset(
                    "a", shape, values.dtype, chunks=case.chunks, maxshape=most,
                    **self._keywords(case, codec), **more,
                )
            if rows is not None:
                made[...] = values[:rows]
                made.resize(case.shape)
                made[rows:] = values[rows:]
            elif not case.parts:
                made[...] = values
            for part in case.parts:
                made[part] = values[part]
        return path

    def read(self, case: Case, handle: Any) -> np.ndarray:
        if case.is_fresh:
            return in_new_process("import h5py; return_(h5py.File(path)['a'][...])", handle)
        with h5py.File(handle) as file:
            return np.asarray(file["a"][...])

    def is_declined(self, case: Case, handle: Any) -> bool:
        return is_left_out(handle)

    def warns(self, case: Case, handle: Any) -> bool:
        return case.how["way"] in _WAYS[:2] and not is_first(handle)

    def leavings(self, case: Case) -> np.ndarray | None:
        try:
            return self.read(case, self.left)
        except Exception:  # noqa: BLE001 - nothing that can be read is what should be left
            return None

    def told(self, case: Case) -> tuple[Any, ...]:
        return (case.fill,) if case.fill else ()

    def padding(self, case: Case) -> Any:
        return case.fill if case.fill is not None else 0


class Netcdf4(Door):
    """Files that h5py or nccopy wrote, read by netCDF4 with its own rules of what is missing."""

    def draw(self, case: Case) -> None:
        types = ["<f4", ">f4", "<f8", ">f8", *draw.INTEGERS]
        draw.draw(case, types)
        case.order = "C"
        case.how["by"] = case.one(["h5py", "nccopy"])
        if case.how["by"] == "nccopy":
            case.chunks = tuple(min(c, max(n, 1)) for c, n in zip(case.chunks, case.shape))
            if not (draw.is_bounded(case.dtype) and len(case.shape) <= 4):
                case.excuses.append("the filter does not take it, and netCDF's are mandatory")
        if case.how["by"] == "h5py" and not case.shape:
            case.excuses.append("HDF5 has no filters for a single value")
        case.how["attribute"] = case.one(["_FillValue", "missing_value", "both"])
        if case.missing and case.how["attribute"] != "missing_value":
            case.fill = case.missing[0]
        if case.chance(0.15) and case.values.size and not case.missing:
            data = draw.data_of(case)
            has_both_signs = data.size and data.min() < 0 < data.max()
            # Logarithms know no sign: of both, only the side of greater magnitude is kept.
            case.how["valid_range"] = not ("pwrel" in case.settings and has_both_signs)
        if case.how["by"] == "nccopy" and "abs" in case.settings and case.chance(0.4):
            case.parts = draw.draw_parts(case)
        told = () if case.fill is None or case.how["by"] == "nccopy" else (case.fill,)
        draw.name_missing(case, told)

    def _attributes(self, case: Case) -> dict[str, Any]:
        found: dict[str, Any] = {}
        native = case.dtype.newbyteorder("=")
        if case.missing and case.how["attribute"] != "_FillValue":
            found["missing_value"] = np.array(case.missing, native)
        if case.how.get("valid_range"):
            data = case.values[np.isfinite(case.values)]
            if data.size:
                found["valid_range"] = np.array([data.min(), data.max()], native)
        return found

    def write(self, case: Case, folder: Path, codec: bool) -> Any:
        self.left = path = str(folder / "a.nc")
        words = dict(szgpu.hdf5.Filter(**case.settings))["compression_opts"]
        if case.how["by"] == "h5py":
            more: dict[str, Any] = {} if case.fill is None else {"fillvalue": case.fill}
            if codec:
                more.update(szgpu.hdf5.Filter(**case.settings))
            with h5py.File(path, "w") as file:
                made = file.create_dataset(
                    "a", data=case.values, chunks=case.chunks or None, maxshape=case.shape, **more
                )
                if case.fill is not None:
                    made.attrs["_FillValue"] = np.array([case.fill], case.dtype)
                made.attrs.update(self._attributes(case))
            return path
        plain = str(folder / "plain.nc")
        self._write_plain(case, plain)
        self._nccopy(case, plain, path, ",".join(str(word) for word in words) if codec else None)
        if case.parts:
            with netCDF4.Dataset(path, "a") as file:
                file.set_auto_maskandscale(False)
                for part in case.parts:
                    file["a"][part] = case.values[part]
        return path

    def _write_plain(self, case: Case, path: str) -> None:
        with netCDF4.Dataset(path, "w") as file:
            names = [f"d{i}" for i in range(len(case.shape))]
            for name, n in zip(names, case.shape):
                file.createDimension(name, n)
            made = file.createVariable(
                "a", case.dtype.newbyteorder("="), names, fill_value=case.fill,
                endian="big" if case.dtype.str[0] == ">" else "little",
                **({"chunksizes": case.chunks} if case.shape else {}),
            )
            made.setncatts(self._attributes(case))
            made.set_auto_maskandscale(False)
            made[...] = case.values

    def _nccopy(self, case: Case, plain: str, path: str, words: str | None) -> None:
        asked = ["-F", f"a,{szgpu.hdf5.FILTER_ID},{words}"] if words else ["-F", "none"]
        if case.shape:
            asked += ["-M", "0", "-c", "a:" + ",".join(str(n) for n in case.chunks)]
        done = subprocess.run(
            [shutil.which("nccopy") or "nccopy", "-4", *asked, plain, path],
            capture_output=True, text=True,
        )
        if done.returncode:
            Path(path).unlink(missing_ok=True)
            raise RuntimeError(f"nccopy ended with {done.returncode}: {done.stderr.strip()}")

    def read(self, case: Case, handle: Any) -> np.ndarray:
        if case.is_fresh:
            code = (
                "import netCDF4; f = netCDF4.Dataset(path); f.set_auto_maskandscale(False); "
                "return_(f['a'][...])"
            )
            return in_new_process(code, handle)
        with netCDF4.Dataset(handle) as file:
            file.set_auto_maskandscale(False)
            return np.asarray(file["a"][...])

    def mask(self, case: Case, handle: Any) -> np.ndarray | None:
        with netCDF4.Dataset(handle) as file:
            return np.ma.getmaskarray(np.ma.asarray(file["a"][...]))

    def is_declined(self, case: Case, handle: Any) -> bool:
        return is_left_out(handle)

    def warns(self, case: Case, handle: Any) -> bool:
        return case.how["by"] == "h5py" and not is_first(handle)

    def told(self, case: Case) -> tuple[Any, ...]:
        if case.fill is None or case.how["by"] == "nccopy":
            return ()
        return (case.fill,)

    def padding(self, case: Case) -> Any:
        return case.fill if case.fill is not None and case.how["by"] == "h5py" else 0
