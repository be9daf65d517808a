"""zarr v2 and everything else that takes a codec of numcodecs.

>>> import numpy as np
>>> from szgpu.numcodecs import Szgpu
>>> codec = Szgpu(abs=0.01)
>>> archive = codec.encode(np.ones((64, 64), "float32"))
>>> bool(abs(codec.decode(archive) - 1).max() <= 0.01)
True
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numcodecs.abc import Codec  # type: ignore[import-untyped]
from numcodecs.registry import register_codec  # type: ignore[import-untyped]

from . import arrays
from .compressor import compressor_of_thread
from .settings import Settings, folded

__all__ = ["Szgpu"]


class Szgpu(Codec):  # type: ignore[misc]
    """The codec "szgpu" of numcodecs, which turns each buffer into one archive.

    Parameters
    ----------
    abs, rel, psnr, pwrel, lossless, fill, predictor, zstd
        As in `szgpu.compress`.
    """

    codec_id = "szgpu"

    def __init__(
        self,
        *,
        abs: float | None = None,
        rel: float | None = None,
        psnr: float | None = None,
        pwrel: float | None = None,
        lossless: bool = False,
        fill: float | None = None,
        predictor: str = "auto",
        zstd: int = 0,
    ) -> None:
        self.settings = Settings(abs, rel, psnr, lossless, fill, predictor, zstd, pwrel)

    def encode(self, buf: Any) -> bytes:
        """Make the archive of an array."""
        arrays.require_no_mask(buf)
        values = np.asarray(buf)
        self.settings.require_type(values.dtype.name)
        archive: bytes = self.settings.compress(
            compressor_of_thread(1), values.reshape(folded(values.shape), order="A")
        )
        return archive

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Restore the array of an archive, into out if it is given."""
        compressor = compressor_of_thread(1)
        if out is None:
            return compressor.decompress(buf)
        target = np.asarray(out)
        if not target.flags.writeable:
            raise ValueError("out is read-only: the result needs memory to write to")
        restored = compressor.decompress(buf, dtype=target.dtype.newbyteorder("=").name)
        if restored.size != math.prod(target.shape):
            raise ValueError(
                f"the archive has {restored.size} values, and out has {math.prod(target.shape)}"
            )
        target[...] = restored.reshape(target.shape)
        return out

    def get_config(self) -> dict[str, Any]:
        return {"id": self.codec_id, **self.settings.as_config()}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Szgpu:
        settings = {name: value for name, value in config.items() if name != "id"}
        return cls(**Settings.from_config(settings).__dict__)

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={value!r}" for name, value in self.settings.as_config().items())
        return f"Szgpu({words})"


register_codec(Szgpu)
