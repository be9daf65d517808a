"""Compression and decompression of arrays."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, TypeAlias

import numpy as np

from . import _core, arrays, errors, indexing, many, value_types
from .arrays import SOURCE_FORTRAN
from .fill_guess import warn_of_fill
from .settings import MODES, PREDICTORS, Fill, Settings, choice, real, whole

Progress: TypeAlias = Callable[[int, int], object]

_BACKENDS = {"auto": 0, "cpu": 1, "cuda": 2}
LAYOUTS = {"linear": 0, "tile": 1}
MOST_LEVEL = 6
_MOST_THREADS = 1024
_MOST_INT = (1 << 31) - 1
_MOST_U64 = (1 << 64) - 1


class Compressor:
    """Compresses and restores many arrays with the same settings and the same workspace.

    The functions of the module keep one such object per thread. Make your own to choose where the
    work is done, or to control the lifetime of its memory, which is freed with the object. One
    thread at a time may use it.

    Parameters
    ----------
    threads : int, default 0
        The most CPU threads of a call. 0 means all cores that the process may use, or its share of
        them if an MPI launcher started several processes on the machine.
    backend : {"auto", "cpu", "cuda"}, default "auto"
        Where arrays in the memory of the CPU are processed. "auto" uses a GPU for large ones if
        there is one. Arrays on a GPU are always processed there. The result is the same.
    device : int, default 0
        The CUDA device for arrays in the memory of the CPU.
    memory_limit : int, default 0
        The most bytes of workspace of a call, for untrusted archives; a call that needs more raises
        `MemoryLimitError`. 0 means no limit. The restored array does not count: check its size with
        `inspect` first.
    """

    def __init__(
        self, *, threads: int = 0, backend: str = "auto", device: int = 0, memory_limit: int = 0
    ) -> None:
        self._threads = whole(threads, _MOST_THREADS, "threads")
        self._memory_limit = whole(memory_limit, _MOST_U64, "memory_limit")
        self._host = self._new_context(
            choice(_BACKENDS, backend, "backend"), whole(device, _MOST_INT, "device"), 0
        )
        self._devices: dict[int, _core.Context] = {}
        self._another = functools.partial(
            type(self), threads=threads, backend=backend, device=device, memory_limit=memory_limit
        )

    def __reduce__(self) -> tuple[Callable[[], Compressor], tuple[()]]:
        """Make copies and pickles of the settings; each has a workspace of its own."""
        return self._another, ()

    def _new_context(self, backend: int, device: int, stream: int) -> _core.Context:
        if backend == _BACKENDS["cuda"] and not _core.has_cuda:
            raise errors.UnsupportedError(
                "this szgpu was built without the CUDA backend: install one that has it, or copy "
                "the array to the CPU and use backend='cpu'"
            )
        return _core.Context(backend, device, self._threads, 0, stream, self._memory_limit)

    def _context(self, device: int | None) -> _core.Context:
        if device is None:
            return self._host
        if device not in self._devices:
            self._devices[device] = self._new_context(
                _BACKENDS["cuda"], device, arrays.CUDA_STREAM
            )
        return self._devices[device]

    def compress(
        self,
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
        progress: Progress | None = None,
    ) -> Any:
        """Compress an array of one to four axes. As `szgpu.compress`, with this object's settings."""
        settings = Settings(abs, rel, psnr, lossless, fill, predictor, zstd, pwrel)
        field = arrays.field_of(array, not settings.lossless)
        request = _request(field, settings, settings.fills)
        request.layout = choice(LAYOUTS, layout, "layout")
        request.frame_rows = whole(frame_rows, _MOST_U64, "frame_rows")
        request.greatest = real(greatest, "greatest")
        archive = self._compress(request, field, out, progress)
        warn_of_fill(request, field, archive)
        return archive

    def compress_chunk(
        self, field: arrays.Field, settings: Settings, fills: tuple[float, ...]
    ) -> Any:
        """Compress a field for a container. fills: what is kept exactly, of settings or not.

        What else is missing is found, values stay in their range, and parts may be written again.
        """
        return self._compress(_chunk_request(field, settings, fills), field, None, None)

    def foresee_chunk(
        self, field: arrays.Field, settings: Settings, fills: tuple[float, ...]
    ) -> dict[str, Any]:
        """Find what the archive of `compress_chunk` would state, of a field on the CPU."""
        return self._host.foresee(_chunk_request(field, settings, fills), field.buffer)

    def loses(
        self, field_of: Callable[[Any], arrays.Field], values: Any, archive: Any, ignores_zero: bool
    ) -> bool:
        """Whether other values of a chunk are restored as a fill value, and would be missing."""
        is_on_host = isinstance(archive, bytes)
        header = archive if is_on_host else _device_header(archive)
        if not _core.may_lose(header, ignores_zero):
            return False
        if not is_on_host:
            values, archive = arrays.to_host(values), arrays.to_host(archive)
        return self._host.loses(field_of(values).buffer, archive, ignores_zero)

    def decompress_chunk(self, archive: np.ndarray, memory: np.ndarray) -> None:
        """Restore a field into bytes of its size, both in the memory of the CPU."""
        self._host.decompress(archive, memory, 0, 0, 0, None, None)

    def _compress(
        self, request: _core.Request, field: arrays.Field, out: Any, progress: Progress | None
    ) -> Any:
        context = self._context(field.device)
        if out is None and field.device is None:
            return context.compress_bytes(request, field.buffer, progress)
        if out is None:
            capacity = context.capacity(request)
            room = arrays.empty(field.maker, field.device, (capacity,), "uint8")
            target = arrays.writable_bytes(room, "the archive")
            used = context.compress(request, field.buffer, target, progress)
            archive = arrays.without_spare_room(room[:used], capacity - used)
            return arrays.given_back(archive, field.maker)
        out = arrays.with_dlpack(out)
        if arrays.device_of(out) != field.device:
            raise ValueError("out is on another device than the array: pass one beside it")
        target = arrays.writable_bytes(out, "the archive")
        if field.device is not None and _type_of(out) != "uint8":
            raise TypeError(f"out is of type {_type_of(out)}: an archive on a GPU is one of uint8")
        used = context.compress(request, field.buffer, target, progress)
        return target[:used] if field.device is None else out.reshape(-1)[:used]

    def decompress(
        self,
        archive: Any,
        *,
        out: Any = None,
        dtype: str | np.dtype | type | None = None,
        slab: tuple[int, int] | slice | None = None,
        region: Any = None,
        level: int = 0,
        progress: Progress | None = None,
    ) -> Any:
        """Restore the array of an archive, or a part or preview of it. As `szgpu.decompress`, with this object's settings."""
        archive = arrays.aligned(arrays.with_dlpack(archive))
        buffer, library, device = arrays.archive_buffer(archive)
        if out is not None:
            arrays.require_native(out)
        header = buffer if device is None else _device_header(archive)
        info = _core.inspect(header)
        if slab is not None and region is not None:
            raise ValueError("slab and region cannot be used together: region=slice(...) gives rows")
        level = whole(level, MOST_LEVEL, "level")
        rows = _rows(info, slab, level)
        stored_dims = tuple(_core.level_shape(header, level)) if level else info["shape"]
        if rows:
            stored_dims = (rows[1], *stored_dims[1:])
        type_name, dims = _values(
            info, stored_dims, _asked_type(dtype) if out is None else _type_of(out)
        )
        is_fortran = bool(info["source"] & SOURCE_FORTRAN)
        box = numbers = None
        shape = dims[::-1] if is_fortran else dims
        if region is not None:
            box = indexing.box_of(region, shape)
            numbers = _numbers_of_box(box, is_fortran, stored_dims[-1] // dims[-1])
            dims = box.count[::-1] if is_fortran else box.count
            shape = box.shape
        if out is None:
            target = arrays.empty(library, device, dims, type_name)
            result = arrays.reversed_axes(target) if is_fortran else target
        else:
            result, out = out, arrays.with_dlpack(out)
            _require_shape(out, shape)
            if box and box.has_steps:
                raise ValueError("region has steps, which go with out=None only: leave one out")
            if arrays.device_of(out) != device:
                raise ValueError("out is on another device than the archive: copy one to the other")
            target = arrays.reversed_axes(out) if is_fortran else out
        if not (box and box.is_empty):
            place = room = arrays.writable_bytes(target, "the result")
            if device is None and not arrays.is_aligned(place, info["dtype"]):
                room = np.empty(place.size, np.uint8)
            self._context(device).decompress(
                buffer, room, *(rows or (0, 0)), level, numbers, progress
            )
            if room is not place:
                place[:] = room
        if out is not None:
            return result
        result = arrays.given_back(result, library)
        if box:
            result = result[box.picks]
        return arrays.copy(result) if box and box.has_steps else result

    def missing_ranges(
        self,
        archive: np.ndarray,
        region: Any,
        present: list[tuple[int, int]],
        *,
        level: int,
        dtype: str | np.dtype | type | None,
        gap_bytes: int,
        most: int,
    ) -> list[tuple[int, int]]:
        """Find what `decompress` with a region still needs of an archive whose header is there.

        present: first bytes and counts of the ranges that are there, as in the result, which has at
        most `most` ranges, more than gap_bytes apart. It is empty if nothing is missing.
        """
        info = _core.inspect(archive)
        stored_dims = tuple(_core.level_shape(archive, level)) if level else info["shape"]
        _, dims = _values(info, stored_dims, _asked_type(dtype))
        is_fortran = bool(info["source"] & SOURCE_FORTRAN)
        box = indexing.box_of(region, dims[::-1] if is_fortran else dims)
        if box.is_empty:
            return []
        numbers = _numbers_of_box(box, is_fortran, stored_dims[-1] // dims[-1])
        return self._host.region_ranges(archive, level, numbers, present, gap_bytes, most)

    def compress_many(self, given: Iterable[Any], **settings: Any) -> list[Any]:
        """Compress arrays. As `szgpu.compress_many`, with this object's settings."""
        checked = {field.name for field in fields(Settings)}
        Settings(**{name: value for name, value in settings.items() if name in checked})
        archives: list[Any] = []
        batches: dict[tuple[int, str], many.Batch] = {}
        for number, array in enumerate(given):
            field = many.field_for_batch(array, settings)
            device = field.device if field else None
            if not field or device is None or not many.takes(self._context(device), field):
                archives.append(self.compress(array, **settings))
                continue
            archives.append(None)
            batches.setdefault((device, field.maker), []).append((number, field))
        for (device, _), batch in batches.items():
            for part in many.parts_of(batch):
                made = many.compress_batch(self._context(device), device, part)
                for (number, _), archive in zip(part, made, strict=True):
                    archives[number] = archive
        return archives

    def decompress_many(
        self, archives: Iterable[Any], *, dtype: str | np.dtype | type | None = None
    ) -> list[Any]:
        """Restore the arrays of archives. As `szgpu.decompress_many`, with this object's settings."""
        given = [arrays.with_dlpack(archive) for archive in archives]
        restored: list[Any] = [None] * len(given)
        for (device, library), numbers in many.by_device(given).items():
            for part in many.readable_together(self._context(device), given, numbers):
                self._restore_part(device, library, part, dtype, restored)
        return [
            self.decompress(archive, dtype=dtype) if result is None else result
            for archive, result in zip(given, restored, strict=True)
        ]

    def _restore_part(
        self,
        device: int,
        library: str,
        part: list[many.Readable],
        dtype: str | np.dtype | type | None,
        restored: list[Any],
    ) -> None:
        targets = []
        for archive in part:
            name, dims = _values(archive.info, archive.info["shape"], _asked_type(dtype))
            targets.append(arrays.empty(library, device, dims, name))
        done = many.decompress_batch(self._context(device), device, part, targets, library)
        for archive, target, is_done in zip(part, targets, done, strict=True):
            if not is_done:
                continue
            is_fortran = archive.info["source"] & SOURCE_FORTRAN
            result = arrays.reversed_axes(target) if is_fortran else target
            restored[archive.number] = arrays.given_back(result, library)


def _request(
    field: arrays.Field, settings: Settings, fills: tuple[float, ...]
) -> _core.Request:
    request = _core.Request()
    request.set_shape(field.dtype, field.dims)
    request.mode = MODES.index(settings.mode)
    request.bound = settings.bound
    request.predictor = PREDICTORS[settings.predictor]
    request.zstd_level = settings.zstd
    request.source = field.source
    request.set_fills(fills)
    return request


def _chunk_request(
    field: arrays.Field, settings: Settings, fills: tuple[float, ...]
) -> _core.Request:
    request = _request(field, settings, fills)
    request.keep_all()
    if settings.valid is not None:
        request.set_valid(*settings.valid)
    return request


_of_thread = threading.local()


def compressor_of_thread(threads: int) -> Compressor:
    """This thread's compressor, so that calls share a workspace."""
    kept: dict[int, Compressor] = _of_thread.__dict__.setdefault("compressors", {})
    threads = whole(threads, _MOST_THREADS, "threads")
    if threads not in kept:
        kept[threads] = Compressor(threads=threads)
    return kept[threads]


def shape_of(
    archive: Any, dtype: str | np.dtype | type | None, level: int = 0
) -> tuple[str, tuple[int, ...], int]:
    """The name and the shape of the values that `Compressor.decompress` gives, and the source."""
    buffer, _, device = arrays.archive_buffer(archive)
    header = buffer if device is None else _device_header(archive)
    info = _core.inspect(header)
    level = whole(level, MOST_LEVEL, "level")
    dims = tuple(_core.level_shape(header, level))
    name, dims = _values(info, dims, _asked_type(dtype))
    source: int = info["source"]
    return name, dims[::-1] if source & SOURCE_FORTRAN else dims, source


def _numbers_of_box(box: indexing.Box, is_fortran: bool, units: int) -> list[int]:
    """First indices and counts along the archive's dims; of its values, `units` make one value."""
    order = -1 if is_fortran else 1
    first, count = list(box.first[::order]), list(box.count[::order])
    first[-1] *= units
    count[-1] *= units
    return first + count


def _type_of(out: Any) -> str:
    return arrays.name_of(out) if hasattr(out, "dtype") else "uint8"


def _device_header(archive: Any) -> np.ndarray:
    """Copy as much of an archive on a GPU as its header takes."""
    count = 4096
    while True:
        header = arrays.to_host(archive.reshape(-1)[:count])
        try:
            _core.inspect(header)
        except errors.TruncatedError:
            if header.nbytes < count:
                raise
            count *= 16
            continue
        return header


def _rows(
    info: dict[str, Any], slab: tuple[int, int] | slice | None, level: int
) -> tuple[int, int] | None:
    """First row and number of rows of a slab; None is the whole field."""
    if slab is None:
        return None
    if level:
        raise ValueError("slab and level cannot be used together: restore the preview, then cut it")
    if info["source"] & SOURCE_FORTRAN:
        raise ValueError(
            "the array was in Fortran order, so that its slabs do not lie together: use region, or "
            "restore it whole"
        )
    row_count = info["shape"][0]
    try:
        rows = slab if isinstance(slab, slice) else slice(*slab)
        start, stop, step = rows.indices(row_count)
    except TypeError:
        raise TypeError(
            f"slab is {slab!r}, which is neither a slice nor a pair (start, stop) of whole numbers"
        ) from None
    if step != 1:
        raise ValueError(f"slab has the step {step}: only 1 is possible")
    if start >= stop:
        raise ValueError(f"slab {rows.start}:{rows.stop} has none of the {row_count} rows")
    return start, stop - start


def _asked_type(dtype: str | np.dtype | type | None) -> str | None:
    """The name of a type, such as "float32" for "f4"; numpy alone does not know all of them."""
    if dtype is None:
        return None
    try:
        return np.dtype(dtype).name
    except TypeError:
        return dtype if isinstance(dtype, str) else repr(dtype)


def _values(
    info: dict[str, Any], dims: tuple[int, ...], name: str | None
) -> tuple[str, tuple[int, ...]]:
    """The name and the shape of the values that an archive's are, or are asked to be.

    Bytes that are kept losslessly may be values of any type. Those of bfloat16 and float8, which
    numpy does not have, are also given as unsigned integers with their bits.
    """
    dtype = info["dtype"]
    stored = value_types.TYPE_NAMES[dtype]
    if name is None or name == stored:
        return stored, dims
    try:
        kind, units = value_types.type_of_name(name)
    except TypeError:
        raise _other_type(stored, name) from None
    is_float8 = dtype == value_types.FP8 and kind == value_types.FP8
    if is_float8 or (dtype == value_types.BF16 and name == "uint16"):
        return name, dims
    size = value_types.VALUE_BYTES[kind] * units
    is_bytes = dtype == value_types.U8 and info["mode"] == _core.lossless
    if is_bytes and dims[-1] % size == 0:
        return name, (*dims[:-1], dims[-1] // size)
    raise _other_type(stored, name)


def _other_type(stored: str, name: str) -> TypeError:
    return TypeError(
        f"the archive has values of type {stored}, which are not {name}: restore them as {stored} "
        "first, then convert them"
    )


def _require_shape(out: Any, shape: tuple[int, ...]) -> None:
    found = tuple(int(n) for n in out.shape) if hasattr(out, "shape") else (len(out),)
    if found != shape:
        raise ValueError(f"out has the shape {found}, and the archive gives {shape}")
