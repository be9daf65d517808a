"""Many arrays in one call: on a GPU together if the library can, otherwise one after another."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from . import _core, arrays, errors

_ALIGNMENT = 16  # of archives
_HEADER_BYTES = 144  # of an archive of one frame

Batch = list[tuple[int, arrays.Field]]
"""Fields on one device, and where they stand among the arrays of the call."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class Readable:
    """An archive on a GPU that is restored together with others."""

    number: int  # where it stands among the archives of the call
    archive: Any
    info: dict[str, Any]  # what its header says


def parts_of(items: list[Item]) -> Iterable[list[Item]]:
    for first in range(0, len(items), _core.most_items):
        yield items[first : first + _core.most_items]


# --- Compression --------------------------------------------------------------------------------


def field_for_batch(array: Any, settings: dict[str, Any]) -> arrays.Field | None:
    """See an array on a GPU as a field to compress without loss, if all else is the default."""
    known = {"lossless": True, "layout": "tile", "frame_rows": 0, "zstd": 0, "predictor": "auto"}
    others = {name for name, value in settings.items() if value is not None} - set(known)
    if others or any(settings.get(name, known[name]) != known[name] for name in known):
        return None
    if not settings.get("lossless"):
        return None
    array = arrays.with_dlpack(array)
    if arrays.device_of(array) is None:
        return None
    return arrays.field_of(array, False)


def takes(context: _core.Context, field: arrays.Field) -> bool:
    """Whether a call takes the field: not if it has several frames."""
    return context.takes(_request(field.dtype, field.dims, 0))


def compress_batch(context: _core.Context, device: int, batch: Batch) -> list[Any]:
    """Compress fields of one device without loss. Gives arrays of uint8 there."""
    requests = [_request(field.dtype, field.dims, 0) for _, field in batch]
    maker = batch[0][1].maker
    places = [0]
    for request in requests:
        blocks = (context.capacity(request) + _ALIGNMENT - 1) // _ALIGNMENT
        places.append(places[-1] + blocks * _ALIGNMENT)
    room = arrays.empty(maker, device, (places[-1],), "uint8")
    outcomes, workspace = _memory(context, maker, device, requests)
    context.compress_many(
        requests,
        [field.buffer for _, field in batch],
        arrays.writable_bytes(room, "the archives"),
        places,
        arrays.writable_bytes(outcomes, "the outcomes"),
        arrays.writable_bytes(workspace, "the workspace"),
        arrays.CUDA_STREAM,
    )
    archives = []
    for place, (used, status) in zip(places[:-1], _read(outcomes), strict=True):
        _check(status)
        archives.append(arrays.given_back(arrays.copy(room[place : place + used]), maker))
    return archives


# --- Decompression ------------------------------------------------------------------------------


def by_device(archives: list[Any]) -> dict[tuple[int, str], list[int]]:
    """The numbers of the archives on each GPU, of each library; those on the CPU are left out."""
    numbers: dict[tuple[int, str], list[int]] = {}
    for number, archive in enumerate(archives):
        gpu = arrays.device_of(archive)
        if gpu is None:
            continue
        place = gpu, arrays.package_of(archive)
        numbers.setdefault(place, []).append(number)
    return numbers


def readable_together(
    context: _core.Context, archives: list[Any], numbers: list[int]
) -> Iterable[list[Readable]]:
    """Lists of lossless archives of one frame each, of one device, that one call restores."""
    aligned = [arrays.aligned(archives[number]).reshape(-1) for number in numbers]
    by_source: dict[int, list[Readable]] = {}
    for number, archive, info in zip(numbers, aligned, _headers(aligned), strict=True):
        if info is None or info["mode"] != _core.lossless or info["frame_count"] != 1:
            continue
        if context.takes(_request(info["dtype"], info["shape"], info["source"])):
            by_source.setdefault(info["source"], []).append(Readable(number, archive, info))
    for readable in by_source.values():
        yield from parts_of(readable)


def decompress_batch(
    context: _core.Context, device: int, part: list[Readable], targets: list[Any], library: str
) -> list[bool]:
    """Restore archives into targets. False: only `Compressor.decompress` restores the archive."""
    requests = [
        _request(archive.info["dtype"], archive.info["shape"], archive.info["source"])
        for archive in part
    ]
    outcomes, workspace = _memory(context, library, device, requests)
    context.decompress_many(
        requests,
        [arrays.archive_buffer(archive.archive)[0] for archive in part],
        [arrays.writable_bytes(target, "the result") for target in targets],
        arrays.writable_bytes(outcomes, "the outcomes"),
        arrays.writable_bytes(workspace, "the workspace"),
        arrays.CUDA_STREAM,
    )
    statuses = [status for _, status in _read(outcomes)]
    for status in statuses:
        if status != _core.other_params:
            _check(status)
    return [status == 0 for status in statuses]


def _headers(archives: list[Any]) -> list[dict[str, Any] | None]:
    """What archives say of themselves, by one copy; None: several frames, or unsound."""
    pieces = [archive[:_HEADER_BYTES] for archive in archives]
    read = arrays.to_host(arrays.joined(pieces))
    infos: list[dict[str, Any] | None] = []
    place = 0
    for piece in pieces:
        size = int(piece.shape[0])
        try:
            infos.append(_core.inspect(read[place : place + size]))
        except errors.Error:
            infos.append(None)
        place += size
    return infos


# --- Both ---------------------------------------------------------------------------------------


def _request(dtype: int, dims: tuple[int, ...], source: int) -> _core.Request:
    request = _core.Request()
    request.set_shape(dtype, dims)
    request.mode = _core.lossless
    request.source = source
    return request


def _memory(
    context: _core.Context, library: str, device: int, requests: list[_core.Request]
) -> tuple[Any, Any]:
    outcomes = arrays.empty(library, device, (_core.outcome_bytes * len(requests),), "uint8")
    workspace = arrays.empty(library, device, (context.many_bytes(requests),), "uint8")
    return outcomes, workspace


def _read(outcomes: Any) -> list[tuple[int, int]]:
    """Wait for the outcomes: bytes and a status each."""
    read = arrays.to_host_behind_work(outcomes).view(np.uint64).reshape(-1, 2)
    return [(int(size), int(status) & 0xFFFFFFFF) for size, status in read]


def _check(status: int) -> None:
    if status:
        raise errors.of_status(status, _core.status_text(status), "")
