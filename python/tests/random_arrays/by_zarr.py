"""by_zarr.py - the doors of numcodecs and of zarr, formats 2 and 3."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import array
import json
import mmap
from dataclasses import replace
from pathlib import Path
from typing import Any

import check
import draw
import numcodecs
import numpy as np
import zarr
import zarr.codecs
import zarr.codecs.numcodecs as filters3
from doors import Door, in_new_process
from draw import Case
from numcodecs.compat import ensure_ndarray
from szgpu.numcodecs import Szgpu
from szgpu.zarr import SzgpuCodec

_ARRAYS = ["array", "array", "array", "strided", "read-only", "unaligned"]
_BUFFERS = ["bytes", "bytearray", "memoryview", "array.array", "mmap"]


class Numcodecs(Door):
    """encode and decode of the codec, as other tools than zarr call them."""

    def draw(self, case: Case) -> None:
        types = draw.FLOATS + draw.INTEGERS + draw.DATES + draw.TEXTS + draw.OTHERS
        draw.draw(case, [*types, draw.BFLOAT16])
        case.chunks = case.shape
        is_buffer = case.chance(0.15) and case.values.nbytes > 0
        case.how = {"given": case.one(_BUFFERS if is_buffer else _ARRAYS)}
        case.how["by its config"] = case.chance(0.5)
        case.how["into"] = case.one([None, None, "C", "F", "bytearray", "bytes as an array"])
        if is_buffer:
            case.values = np.frombuffer(case.values.tobytes(), "B")
            case.dtype, case.shape, case.chunks = case.values.dtype, *2 * (case.values.shape,)
            case.missing = ()
            case.excuses.append("a bound of bytes")
        if case.how["given"] == "strided":
            case.excuses.append("values that do not lie together")
        if case.dtype == np.uint8 and len(case.shape) <= 1:
            case.excuses.append("a bound of a row of bytes")
        draw.name_missing(case, ())

    def write(self, case: Case, folder: Path, codec: bool) -> Any:
        if not codec:
            return None
        made = Szgpu(**case.settings)
        if case.how["by its config"]:
            made = numcodecs.get_codec(json.loads(json.dumps(made.get_config())))
        return made, bytes(made.encode(self._given(case, folder)))

    def _given(self, case: Case, folder: Path) -> Any:
        values, given = case.values, case.how["given"]
        if given in _BUFFERS:
            return self._buffer(values.tobytes(), given, folder)
        if given == "strided":
            wide = np.zeros((*values.shape, 2), values.dtype)
            wide[..., 0] = values
            return wide[..., 0]
        if given == "unaligned":
            memory = np.zeros(values.nbytes + 1, "u1")
            there = memory[1:].view(values.dtype).reshape(values.shape)
            there[...] = values
            return there
        values = values.copy(order=case.order)
        values.flags.writeable = given != "read-only"
        return values

    def _buffer(self, content: bytes, given: str, folder: Path) -> Any:
        if given == "mmap":
            path = folder / "memory"
            path.write_bytes(content)
            with path.open("rb") as file:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if given == "array.array":
            return array.array("b", content)
        return {"bytes": bytes, "bytearray": bytearray, "memoryview": memoryview}[given](content)

    def read(self, case: Case, handle: Any) -> np.ndarray:
        if handle is None:
            return case.values
        codec, archive = handle
        out = self._room(case)
        back = codec.decode(archive) if out is None else codec.decode(archive, out=out)
        memory = ensure_ndarray(back if out is None else out)
        if memory.dtype not in (np.dtype("u1"), np.dtype("i1"), case.dtype):
            raise check.Wrong("another type", f"{memory.dtype} instead of {case.dtype}")
        is_fortran = case.how["given"] in _ARRAYS[:3] + _ARRAYS[4:5] and case.order == "F"
        is_fortran = is_fortran and len(case.shape) > 1
        flat = memory.reshape(-1, order="A")
        if flat.nbytes != case.values.nbytes:
            raise check.Wrong("another shape", f"{flat.nbytes} bytes, not {case.values.nbytes}")
        if flat.size == 0:
            return np.zeros(case.shape, case.dtype)
        return flat.view(case.dtype).reshape(case.shape, order="F" if is_fortran else "C")

    def _room(self, case: Case) -> Any:
        into = case.how["into"]
        if into is None or case.values.nbytes == 0:
            return None
        if into == "bytearray":
            return bytearray(case.values.nbytes)
        if into == "bytes as an array":
            return np.zeros(case.values.nbytes, "u1")
        is_fortran = case.order == "F" and case.how["given"] in ("array", "read-only")
        return np.zeros(case.shape, case.dtype, order="F" if is_fortran else "C")

    def padding(self, case: Case) -> Any:
        return None


class Zarr(Door):
    """Arrays of zarr, written as a whole, in parts, and longer and longer."""

    def __init__(self, version: int) -> None:
        self.version = version

    def draw(self, case: Case) -> None:
        types = draw.FLOATS + draw.INTEGERS + draw.DATES + draw.TEXTS + draw.OTHERS
        draw.draw(case, types)
        self._draw_fill(case)
        case.how["filters"] = self._filters(case) if case.chance(0.25) else []
        case.how["behind"] = self._behind(case)
        if case.how["filters"] and not case.is_lossless:
            case.excuses.append("a bound behind a filter")
        if self.version == 2 and case.how["behind"] and case.dtype == np.uint8:
            case.excuses.append("a bound of what may be the bytes of another filter")
        if self.version == 3 and case.shape and case.chance(0.2):
            case.how["shards"] = tuple(c * int(case.rng.integers(1, 4)) for c in case.chunks)
            case.how["filters before shards"] = bool(case.how["filters"]) and case.chance(0.5)
        is_safe = "abs" in case.settings or case.is_lossless
        if is_safe and not case.how["filters"] and case.chance(0.3):
            case.parts = draw.draw_parts(case)
        if case.shape and not case.parts and case.chance(0.08):
            case.how["first rows"] = int(case.rng.integers(1, case.shape[0] + 2)) - 1
            if not is_safe:  # rows that come later share chunks, which are compressed again
                case.how["first rows"] -= case.how["first rows"] % case.chunks[0]
        draw.name_missing(case, () if case.fill is None else (case.fill,))

    def _draw_fill(self, case: Case) -> None:
        if case.missing and case.chance(0.6):
            case.fill = case.one(case.missing).item()
        elif draw.is_float(case.dtype) and case.chance(0.4):
            case.fill = case.one([float("nan"), -9999.0, 0.0, 1e4, 1.0])
        elif case.dtype.kind in "iu" and case.chance(0.3):
            case.fill = int(case.one([0, 1, 100]))

    def _filters(self, case: Case) -> list[str]:
        kind, names = case.dtype.kind, ["Zlib", "CRC32", "Shuffle", "Fletcher32"]
        if self.version == 3:
            names = ["transpose", "transpose"]
        if kind in "iuf":
            names += ["Delta", "AsType", "AsType to the other byte order"]
        if kind == "f":
            names += ["FixedScaleOffset", "FixedScaleOffset to i4", "Quantize", "BitRound"]
        if kind == "b":
            names += ["PackBits"]
        found = [case.one(names)]
        if self.version == 3 and found != ["transpose"] and case.chance(0.2):
            found.insert(0, "transpose")
        if self.version == 2 and case.chance(0.2):
            found.append("Shuffle")
        return found

    def _behind(self, case: Case) -> str | None:
        if self.version == 2:  # the codec is a filter then
            return case.one([None] * 6 + ["Zstd"])
        return case.one([None, None, None, "Crc32c", "Zstd", "Blosc", "Gzip", "Crc32c and Zstd"])

    def _made_filters(self, case: Case) -> list[Any]:
        dtype, of = case.dtype.str, filters3 if self.version == 3 else numcodecs
        other = ("<" if dtype[0] == ">" else ">") + dtype[1:]
        scaled = {"offset": 1.0, "scale": 10, "dtype": dtype}
        wide = "<i8" if case.dtype.kind in "iu" else "<f8" if case.dtype.itemsize < 8 else "<f4"
        makers = {
            "transpose": lambda: zarr.codecs.TransposeCodec(
                order=tuple(range(len(case.shape)))[::-1]
            ),
            "Zlib": lambda: of.Zlib(level=1),
            "CRC32": lambda: of.CRC32(),
            "Fletcher32": lambda: of.Fletcher32(),
            "Shuffle": lambda: of.Shuffle(elementsize=case.dtype.itemsize),
            "Delta": lambda: of.Delta(dtype=dtype),
            "AsType": lambda: of.AsType(encode_dtype=wide, decode_dtype=dtype),
            "AsType to the other byte order": lambda: of.AsType(
                encode_dtype=other, decode_dtype=dtype
            ),
            "FixedScaleOffset": lambda: of.FixedScaleOffset(**scaled),
            "FixedScaleOffset to i4": lambda: of.FixedScaleOffset(**scaled, astype="<i4"),
            "Quantize": lambda: of.Quantize(digits=2, dtype=dtype),
            "BitRound": lambda: of.BitRound(keepbits=5),
            "PackBits": lambda: of.PackBits(),
        }
        return [makers[name]() for name in case.how["filters"]]

    def _codecs(self, case: Case, codec: bool) -> dict[str, Any]:
        filters = self._made_filters(case)
        behind = case.how["behind"]
        if self.version == 2:
            ours = [Szgpu(**case.settings)] if codec else []
            if behind:
                return {"filters": filters + ours, "compressors": numcodecs.Zstd(level=1)}
            return {"filters": filters or None, "compressors": (ours or [None])[0],
                    "order": case.order}
        makers = {
            "Crc32c": lambda: zarr.codecs.Crc32cCodec(),
            "Zstd": lambda: zarr.codecs.ZstdCodec(level=1),
            "Blosc": lambda: zarr.codecs.BloscCodec(cname="lz4", shuffle="noshuffle", typesize=1),
            "Gzip": lambda: zarr.codecs.GzipCodec(level=1),
        }
        found: dict[str, Any] = {
            "filters": filters or None,
            "compressors": [makers[name]() for name in behind.split(" and ")] if behind else None,
            "config": {"order": case.order},
        }
        if codec:
            found["serializer"] = SzgpuCodec(**case.settings)
        if case.how.get("shards"):
            found["shards"] = case.how["shards"]
        return found

    def write(self, case: Case, folder: Path, codec: bool) -> Any:
        handle = self._write(case, folder, codec)
        if not codec and case.how["filters"]:
            self._require_sense(case, folder, self.read(case, handle))
        return handle

    def _require_sense(self, case: Case, folder: Path, found: np.ndarray) -> None:
        """Pass over what zarr itself garbles: some filters of big-endian or Fortran arrays."""
        native = case.dtype.newbyteorder("=")
        values = case.values.astype(native)
        plain = replace(case, dtype=native, values=values, order="C", is_fresh=False)
        wanted = self.read(plain, self._write(plain, folder, codec=False))
        check.require_same(wanted, found.astype(native))

    def _write(self, case: Case, folder: Path, codec: bool) -> Any:
        store = str(folder / "a.zarr") if case.is_fresh else zarr.storage.MemoryStore()
        self.left = store if codec else None
        more = {} if case.fill is None else {"fill_value": case.fill}
        rows = case.how.get("first rows")
        shape = case.shape if rows is None else (rows, *case.shape[1:])
        codecs = self._codecs(case, codec)
        if case.how.get("filters before shards"):
            made = self._before_shards(store, shape, case, codecs, more)
        else:
            made = zarr.create_array(
                store, shape=shape, chunks=case.chunks, dtype=case.dtype,
                zarr_format=self.version, **codecs, **more,
            )
        values = case.values.copy(order=case.order)
        if rows is not None:
            made[...] = values[:rows]
            made.append(values[rows:], axis=0)
        elif not case.parts:
            made[...] = values
        for part in case.parts:
            made[part] = values[part]
        return store

    def _before_shards(
        self, store: Any, shape: tuple[int, ...], case: Case, codecs: dict[str, Any], more: Any
    ) -> Any:
        within = [codecs.get("serializer", zarr.codecs.BytesCodec()), *(codecs["compressors"] or ())]
        shards = zarr.codecs.ShardingCodec(chunk_shape=case.chunks, codecs=within)
        return zarr.create(
            store=store, shape=shape, chunks=codecs["shards"], dtype=case.dtype, zarr_format=3,
            codecs=[*(codecs["filters"] or ()), shards], config=codecs["config"], **more,
        )

    def read(self, case: Case, handle: Any) -> np.ndarray:
        if case.is_fresh:
            code = "import zarr; return_(zarr.open_array(path, mode='r')[...])"
            return in_new_process(code, handle)
        return np.asarray(zarr.open_array(handle, mode="r")[...])

    def leavings(self, case: Case) -> np.ndarray | None:
        try:
            return np.asarray(zarr.open_array(self.left, mode="r")[...])
        except Exception:  # noqa: BLE001 - nothing that can be read is what should be left
            return None

    def told(self, case: Case) -> tuple[Any, ...]:
        return (case.fill,) if case.fill else ()

    def padding(self, case: Case) -> Any:
        return case.fill if case.fill is not None else 0
