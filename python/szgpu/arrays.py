"""Arrays of any library as the buffers that the C library reads and writes.

An array on the CPU is seen through numpy, without a copy. An array on a CUDA device is seen through
DLPack, whose exchange also puts our work behind the work that still produces the array. One that
has only __cuda_array_interface__ is seen through cupy or torch first.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .value_types import VALUE_BYTES, bounded_type_of_name, numpy_type, type_of_name

DEVICE_CPU, DEVICE_CUDA, DEVICE_CUDA_HOST, DEVICE_CUDA_MANAGED = 1, 2, 3, 13
"""Types of device, as DLPack numbers them."""

CUDA_STREAM = 1
"""The legacy default stream, as CUDA and DLPack number it. All work on GPUs is ordered as in it."""

SOURCE_FORTRAN, SOURCE_BIG_ENDIAN = 2, 4
"""Bits of szgpu_params.source: how values lay that an archive holds in C order, little-endian."""

_ARCHIVE_ALIGNMENT = 16  # of archives in GPU memory, in bytes
_MOST_SPARE_BYTES = 1 << 20  # that an archive may keep beside it: a copy costs some microseconds
_LIBRARIES = {"numpy": "numpy", "torch": "torch", "cupy": "cupy", "jax": "jax", "jaxlib": "jax"}


@dataclass(frozen=True)
class Field:
    """An array as the library sees it: a buffer, a type and dims."""

    buffer: Any  # one-dimensional for the CPU, a DLPack capsule for a GPU
    dtype: int  # of szgpu_dtype
    dims: tuple[int, ...]  # slowest axis first; of bytes, if an archive does not have the type
    source: int  # SOURCE_*; with SOURCE_FORTRAN dims are the reverse of the array's shape
    maker: str  # the library that it is of: "numpy", "torch", "cupy", "jax"
    device: int | None  # index of the CUDA device; None: the CPU

    @property
    def byte_count(self) -> int:
        return math.prod(self.dims) * VALUE_BYTES[self.dtype]


def package_of(array: Any) -> str:
    """Name the package that an array belongs to, also if its class is a subclass of the package's."""
    for kind in type(array).__mro__:
        name = kind.__module__.partition(".")[0]
        if name in _LIBRARIES:
            return _LIBRARIES[name]
    return type(array).__module__.partition(".")[0]


def _module_for_devices() -> Any:
    """Import a library that makes arrays on a GPU and lets us write to them."""
    for name in ("cupy", "torch"):
        if name in sys.modules or importlib.util.find_spec(name):
            return importlib.import_module(name)
    return None


def with_dlpack(array: Any) -> Any:
    """See an array that has __cuda_array_interface__, but not DLPack, as one of cupy or torch."""
    if hasattr(array, "__dlpack__") or not hasattr(array, "__cuda_array_interface__"):
        return array
    module = _module_for_devices()
    if module is None:
        raise TypeError(
            f"an array of {package_of(array)} on a GPU has no DLPack: install cupy or torch, "
            "through which szgpu sees it"
        )
    if module.__name__ == "cupy":
        return module.asarray(array)
    return module.as_tensor(array, device="cuda")


def device_of(array: Any) -> int | None:
    """Find the CUDA device that an array lies on; None is the CPU."""
    ask = getattr(array, "__dlpack_device__", None)
    if ask is None:
        return None
    kind, index = ask()
    kind = int(kind)
    if kind in (DEVICE_CPU, DEVICE_CUDA_HOST):
        return None
    if kind in (DEVICE_CUDA, DEVICE_CUDA_MANAGED):
        return int(index)
    raise TypeError(
        f"the array lies on a device that szgpu does not know (DLPack's type {kind}): "
        "copy it to the CPU or to a CUDA device first"
    )


def _require_plain(array: Any) -> None:
    if getattr(array, "requires_grad", False):
        raise TypeError("the tensor requires grad: pass tensor.detach()")


def require_no_mask(array: Any) -> None:
    """Refuse masked values, which numpy would show as if they were values."""
    if isinstance(array, (list, tuple)):
        for one in array:
            require_no_mask(one)
    elif isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise TypeError(
            "the array has masked values, and an archive has no mask: pass array.filled(value) "
            "with fill=value"
        )


@lru_cache(maxsize=64)  # numpy takes microseconds to make up a name
def _name_of_numpy_type(dtype: np.dtype) -> str:
    return dtype.name


@lru_cache(maxsize=64)
def _name_of_type(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def name_of(array: Any) -> str:
    """Name the type of an array's values; numpy's that are big-endian have names of their own."""
    return _name_of_type(array.dtype)


def _seen(array: Any) -> np.ndarray:
    """See an array, a buffer or what numpy makes an array of."""
    if hasattr(array, "__array__") or hasattr(array, "__dlpack__"):
        return np.asarray(array)
    try:
        return np.asarray(memoryview(array))  # bytes would be text to numpy
    except TypeError:
        return np.asarray(array)


def require_values(array: Any, seen: np.ndarray) -> None:
    """Refuse a bound on bytes, which may be anything's."""
    is_array = hasattr(array, "__array__") or hasattr(array, "__dlpack__")
    if seen.dtype.itemsize == 1 and not is_array and not isinstance(array, (list, tuple)):
        raise TypeError(
            f"the bytes in a {type(array).__name__} object may be values of any type: for a bound pass an "
            "array of them, such as np.frombuffer(buffer, 'float32'); lossless=True takes bytes"
        )


def _as_numpy(array: Any) -> tuple[np.ndarray, str]:
    """See an array on the CPU through numpy, and name its type.

    Types that numpy does not have become unsigned integers of their size.
    """
    _require_plain(array)
    if package_of(array) == "torch":
        name = name_of(array)
        if name == "bfloat16" or name.startswith("float8_"):
            torch = sys.modules["torch"]
            bits = array.view(torch.int16 if name == "bfloat16" else torch.uint8)
            return bits.numpy(), name
    seen = _seen(array)
    if seen.dtype.hasobject or seen.dtype.names or seen.dtype.kind not in "fiubcmMV":
        raise TypeError(
            f"szgpu cannot compress values of type {seen.dtype}: convert them to float32, float64 "
            "or integers first"
        )
    return seen, _name_of_numpy_type(seen.dtype)


def _require_dims(shape: tuple[int, ...]) -> None:
    if not shape:
        raise ValueError("szgpu compresses arrays, not single values: make it one of shape (1,)")
    if math.prod(shape) == 0:
        raise ValueError(
            f"the array has no values: its shape is {shape}, and an archive has at least one value"
        )
    if len(shape) > 4:
        raise ValueError(
            f"the array has {len(shape)} axes, and an archive has at most 4: reshape it, for "
            "instance so that the first axes become one"
        )


def _bytes_of(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1, order="A").view(np.uint8)


def _dims(shape: tuple[int, ...], units: int) -> tuple[int, ...]:
    return (*shape[:-1], shape[-1] * units)


def field_of(array: Any, has_bound: bool) -> Field:
    """See an array as a field to read from.

    A contiguous array is not copied, whether its last axis (C order) or its first one (Fortran
    order) is the fastest. Other arrays on the CPU, and big-endian or unaligned ones, are copied.
    """
    array = with_dlpack(array)
    device = device_of(array)
    if device is not None:
        return _device_field(array, device, has_bound)
    require_no_mask(array)
    values, name = _as_numpy(array)
    _require_dims(values.shape)
    dtype, units = (bounded_type_of_name(name), 1) if has_bound else type_of_name(name)
    if has_bound:
        require_values(array, values)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    is_fortran = values.flags.f_contiguous and not values.flags.c_contiguous
    # Types that are bytes are so along the last axis: their Fortran order is not kept.
    if (is_fortran and units > 1) or not (is_fortran or values.flags.c_contiguous):
        values = np.ascontiguousarray(values)
        is_fortran = False
    if not values.flags.aligned:
        values = values.copy(order="A")
    shape = values.shape[::-1] if is_fortran else values.shape
    source = SOURCE_FORTRAN if is_fortran else 0
    return Field(_bytes_of(values), dtype, _dims(shape, units), source, "numpy", None)


def _device_bits(array: Any, name: str) -> Any:
    """View float8 tensors as bytes, because DLPack of older libraries does not know them."""
    if name.startswith("float8_") and package_of(array) == "torch":
        return array.view(sys.modules["torch"].uint8)
    return array


def _capsule(array: Any) -> Any:
    # The stream makes the array's library let ours wait until the array is there.
    return array.__dlpack__(stream=CUDA_STREAM)


def _device_field(array: Any, device: int, has_bound: bool) -> Field:
    _require_plain(array)
    name = name_of(array)
    dtype, units = (bounded_type_of_name(name), 1) if has_bound else type_of_name(name)
    shape = tuple(int(n) for n in array.shape)
    _require_dims(shape)
    return Field(
        _capsule(_device_bits(array, name)),
        dtype,
        _dims(shape, units),
        0,
        package_of(array),
        device,
    )


def archive_buffer(archive: Any) -> tuple[Any, str, int | None]:
    """See an archive, bytes or an array of them, as a buffer; its library and device."""
    device = device_of(archive)
    if device is not None:
        return _capsule(archive), package_of(archive), device
    if hasattr(archive, "__array__") or hasattr(archive, "__dlpack__"):
        seen, _ = _as_numpy(archive)
        return _bytes_of(np.ascontiguousarray(seen)), "numpy", None
    try:
        return np.frombuffer(archive, np.uint8), "numpy", None
    except (TypeError, ValueError, BufferError) as error:
        raise TypeError(
            f"an archive is bytes or an array of bytes, not {type(archive).__name__}"
        ) from error


def require_native(out: Any) -> None:
    """Refuse numpy arrays to write to whose bytes are in the opposite order."""
    if isinstance(out, np.ndarray) and not out.dtype.isnative:
        raise TypeError(
            f"out has the type {out.dtype}, whose bytes are in the opposite order of this "
            "machine's: pass an array in its order"
        )


def writable_bytes(out: Any, what: str) -> Any:
    """See an array to write to as a buffer of bytes."""
    device = device_of(out)
    if device is not None:
        _require_plain(out)
        if package_of(out) == "jax":
            raise ValueError("out is read-only, as all arrays of jax: pass one of cupy or torch")
        return _capsule(_device_bits(out, name_of(out)))
    if not hasattr(out, "dtype"):
        out = np.frombuffer(out, np.uint8)
    _require_plain(out)
    seen, _ = _as_numpy(out)
    if not seen.flags.writeable:
        raise ValueError(f"out is read-only: {what} needs memory to write to")
    if not seen.flags.c_contiguous:
        raise ValueError("out is not contiguous in C order: pass an array that is")
    return _bytes_of(seen)


def is_aligned(buffer: np.ndarray, dtype: int) -> bool:
    """Whether a buffer on the CPU begins where values of a szgpu_dtype may."""
    address: int = buffer.__array_interface__["data"][0]
    return address % VALUE_BYTES[dtype] == 0


def empty(library: str, device: int | None, shape: tuple[int, ...], type_name: str) -> Any:
    """Make an array whose values are not set.

    It is one of the library, on its device. Arrays of jax cannot be written, so there it is one of
    cupy or torch, which `given_back` makes one of jax.
    """
    if device is None:
        return np.empty(shape, numpy_type(type_name))
    module = sys.modules[library] if library in ("cupy", "torch") else _module_for_devices()
    if module is None:
        raise TypeError(
            f"szgpu cannot make arrays of {library} on a GPU: install cupy or torch, whose memory "
            "it can take"
        )
    if module.__name__ == "torch":
        return module.empty(shape, dtype=getattr(module, type_name), device=f"cuda:{device}")
    with module.cuda.Device(device):
        return module.empty(shape, numpy_type(type_name))


def given_back(array: Any, library: str) -> Any:
    """See an array of `empty` as one of the library that the caller uses."""
    if library == "jax" and package_of(array) != "numpy":
        return importlib.import_module("jax.dlpack").from_dlpack(array)
    return array


def copy(array: Any) -> Any:
    return array.clone() if package_of(array) == "torch" else array.copy()


def without_spare_room(array: Any, spare_bytes: int) -> Any:
    """Copy the used part of an array on a GPU, if that frees much memory."""
    return copy(array) if spare_bytes > _MOST_SPARE_BYTES else array


def aligned(archive: Any) -> Any:
    """Copy an archive on a GPU that does not begin where the library needs it to."""
    library = package_of(archive)
    if library == "torch":
        address = archive.data_ptr()
    elif library == "cupy":
        address = archive.data.ptr
    else:
        return archive
    return copy(archive) if address % _ARCHIVE_ALIGNMENT else archive


def reversed_axes(array: Any) -> Any:
    """See an array with its axes in the opposite order."""
    if package_of(array) == "torch":
        return array.permute(*reversed(range(array.ndim)))
    return array.transpose()


def joined(pieces: list[Any]) -> Any:
    """Copy one-dimensional arrays of one device behind each other."""
    library = package_of(pieces[0])
    if library == "torch":
        return sys.modules["torch"].cat(pieces)
    if library == "cupy":
        return sys.modules["cupy"].concatenate(pieces)
    return importlib.import_module("jax.numpy").concatenate(pieces)


def to_host_behind_work(array: Any) -> np.ndarray:
    """Copy an array of `empty` to numpy's memory once the library's work in CUDA_STREAM is done."""
    if package_of(array) == "torch":
        torch = sys.modules["torch"]
        with torch.cuda.stream(torch.cuda.default_stream(array.device)):
            return to_host(array)
    with array.device, sys.modules["cupy"].cuda.Stream.null:
        return to_host(array)


def to_host(array: Any) -> np.ndarray:
    """Copy an array of bytes from a GPU into numpy's memory."""
    if package_of(array) == "torch":
        return np.asarray(array.cpu())
    return np.asarray(array.get() if hasattr(array, "get") else array)
