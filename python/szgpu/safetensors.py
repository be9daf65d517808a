"""Tensors in safetensors files, one archive each.

The file is a valid safetensors file: each tensor is stored as bytes, its archive, and the metadata
describe it. Each tensor can be read alone, and without a bound it is restored bit for bit.

>>> import numpy as np
>>> from szgpu.safetensors import load_file, save_file
>>> save_file({"weight": np.ones((64, 64), "float16")}, "model.safetensors")
>>> load_file("model.safetensors")["weight"].shape
(64, 64)
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import importlib
import importlib.util
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from . import arrays, value_types
from .chunks import folded
from .compressor import compressor_of_thread, shape_of
from .errors import CorruptError
from .settings import Settings

__all__ = ["TensorFile", "load_file", "open_file", "save_file"]

_KEY = "szgpu"


def _shape(tensor: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in tensor.shape)


def save_file(
    tensors: Mapping[str, Any],
    filename: str | PathLike[str],
    metadata: Mapping[str, str] | None = None,
    *,
    abs: float | None = None,
    rel: float | None = None,
    predictor: str = "auto",
    zstd: int = 0,
) -> None:
    """Write tensors, compressed, to a safetensors file.

    Parameters
    ----------
    tensors : mapping of str to array_like
        Arrays of any library that `szgpu.compress` takes, of any number of axes.
    filename : path
    metadata : mapping of str to str, optional
        Further metadata of the file.
    abs, rel : float, optional
        A bound for the float32 and float64 tensors. By default all tensors are restored bit for
        bit; the others always are.
    predictor, zstd
        As in `szgpu.compress`.
    """
    lossless = Settings(lossless=True, zstd=zstd)
    bounded = lossless
    if abs is not None or rel is not None:
        bounded = Settings(abs=abs, rel=rel, predictor=predictor, zstd=zstd)
    archives: dict[str, np.ndarray] = {}
    kinds: dict[str, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        if not hasattr(tensor, "dtype"):
            raise TypeError(f"tensor {name!r} is a {type(tensor).__name__}: pass an array")
        type_name = str(tensor.dtype).rpartition(".")[2]
        if isinstance(tensor.dtype, np.dtype):
            type_name = tensor.dtype.name  # big-endian values come back in this machine's order
        shape = _shape(tensor)
        kinds[name] = {"dtype": type_name, "shape": list(shape)}
        if math.prod(shape) == 0:
            archives[name] = np.empty(0, np.uint8)
            continue
        settings = bounded if type_name in ("float32", "float64") else lossless
        field = arrays.field_of(tensor.reshape(folded(shape)), not settings.lossless)
        archive = compressor_of_thread(0).compress_chunk(field, settings, ())
        host = archive if isinstance(archive, bytes) else arrays.to_host(archive)
        archives[name] = np.frombuffer(host, np.uint8)
    if metadata and _KEY in metadata:
        raise ValueError(
            f"metadata has the key {_KEY!r}, under which szgpu keeps its own: choose another"
        )
    more = {**(metadata or {}), _KEY: json.dumps({"version": 1, "tensors": kinds})}
    safetensors.numpy.save_file(archives, filename, more)


class TensorFile:
    """A safetensors file of archives, open for reading. Made by `open_file`."""

    def __init__(self, file: Any, framework: str, device: str) -> None:
        metadata = dict(file.metadata() or {})
        said = metadata.pop(_KEY, None)
        if said is None:
            raise ValueError(
                "the file was not written by szgpu.safetensors: read it with safetensors itself"
            )
        try:
            said = json.loads(said)
            version, kinds = said["version"], dict(said["tensors"])
        except (ValueError, TypeError, KeyError):
            raise CorruptError(
                "the file does not say what its tensors are: replace it with an intact copy"
            ) from None
        if version != 1:
            raise ValueError("the file was written by a newer szgpu: use that one")
        self.metadata: dict[str, str] = metadata
        self._file = file
        self._kinds: dict[str, dict[str, Any]] = kinds
        self._framework = framework
        self._device = device

    def keys(self) -> list[str]:
        """Name the tensors."""
        return list(self._kinds)

    def _said_of(self, name: str) -> tuple[tuple[int, ...], str]:
        kind = self._kinds[name]
        try:
            shape, dtype = tuple(kind["shape"]), kind["dtype"]
            if isinstance(dtype, str) and all(type(n) is int and n >= 0 for n in shape):
                return shape, dtype
        except (TypeError, KeyError):
            pass
        raise CorruptError(
            f"the file does not say what tensor {name!r} is: replace it with an intact copy"
        )

    def get_tensor(self, name: str) -> Any:
        """Restore one tensor; the others are not read."""
        if name not in self._kinds:
            raise KeyError(f"the file has no tensor {name!r}")
        shape, dtype = self._said_of(name)
        archive = self._file.get_tensor(name)
        if math.prod(shape):
            _, found, _ = shape_of(archive, dtype)
            if found != folded(shape):
                raise ValueError(
                    f"the archive of tensor {name!r} has the shape {found}, and the file says "
                    f"{shape}: write the file again"
                )
        if self._framework == "numpy":
            if math.prod(shape) == 0:
                return np.empty(shape, value_types.numpy_type(dtype))
            return compressor_of_thread(0).decompress(archive, dtype=dtype).reshape(shape)
        torch = importlib.import_module("torch")
        result = torch.empty(shape, dtype=getattr(torch, dtype), device=self._device)
        if math.prod(shape):
            if result.is_cuda:
                archive = torch.from_numpy(archive).to(result.device)
            compressor_of_thread(0).decompress(archive, out=result.view(folded(shape)))
        return result


@contextmanager
def open_file(
    filename: str | PathLike[str], *, framework: str = "numpy", device: str = "cpu"
) -> Iterator[TensorFile]:
    """Open a file that `save_file` wrote.

    Parameters
    ----------
    filename : path
    framework : {"numpy", "torch"}, default "numpy"
        The library of the tensors. A device other than "cpu" needs "torch".
    device : str, default "cpu"
        The device of the tensors; on "cuda" they are restored on that GPU.
    """
    if framework not in ("numpy", "torch"):
        raise ValueError(f"framework is {framework!r}, which is not one of numpy, torch")
    if framework == "numpy" and device != "cpu":
        raise ValueError(f"numpy has no arrays on {device!r}: pass framework='torch'")
    if framework == "torch" and importlib.util.find_spec("torch") is None:
        raise ModuleNotFoundError(
            "torch is missing, whose tensors were asked for: install it, or restore arrays of "
            "numpy with framework='numpy' on device='cpu'"
        )
    with safetensors.safe_open(filename, framework="numpy") as file:
        yield TensorFile(file, framework, device)


def load_file(
    filename: str | PathLike[str], *, framework: str | None = None, device: str = "cpu"
) -> dict[str, Any]:
    """Restore all tensors of a file that `save_file` wrote.

    Parameters
    ----------
    filename, framework, device
        As in `open_file`; the framework is "torch" if the device is not "cpu".
    """
    framework = framework or ("numpy" if device == "cpu" else "torch")
    with open_file(filename, framework=framework, device=device) as file:
        return {name: file.get_tensor(name) for name in file.keys()}
