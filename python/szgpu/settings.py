"""How exact and how small: what containers keep with their data."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from numbers import Integral
from typing import Any

from . import arrays
from .compressor import Compressor, mode_of


@dataclass(frozen=True)
class Settings:
    """The settings of `szgpu.compress` that a container states for all its chunks."""

    abs: float | None = None
    rel: float | None = None
    psnr: float | None = None
    lossless: bool = False
    fill: float | None = None
    predictor: str = "auto"
    zstd: int = 0
    pwrel: float | None = None

    def __post_init__(self) -> None:
        mode, bound = mode_of(
            {"rel": self.rel, "abs": self.abs, "psnr": self.psnr, "pwrel": self.pwrel}, self.lossless
        )
        if not (math.isfinite(bound) and bound > 0):
            raise ValueError(f"the bound is {bound}, which is not a finite positive number")
        if self.pwrel is not None and not bound < 1:
            raise ValueError(f"pwrel is {bound}, which is not below 1")
        if self.predictor not in ("auto", "lorenzo", "interpolation"):
            raise ValueError(
                f"predictor is {self.predictor!r}, which is not one of auto, lorenzo, interpolation"
            )
        if not isinstance(self.zstd, Integral):
            raise TypeError(f"zstd is {self.zstd!r}, which is not a whole number")
        if not 0 <= self.zstd <= 19:
            raise ValueError(f"zstd is {self.zstd}, which is not 0 to 19")

    def as_config(self) -> dict[str, Any]:
        """Give what differs from the defaults, as JSON can hold it."""
        defaults = {field.name: field.default for field in fields(self)}
        config = {name: value for name, value in asdict(self).items() if value != defaults[name]}
        if self.fill is not None and not math.isfinite(self.fill):
            config["fill"] = str(self.fill)  # JSON has no NaN
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Settings:
        """Read what `as_config` gave."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(config) - known)
        if unknown:
            raise ValueError(f"szgpu has no setting {unknown[0]!r}: a newer version may have it")
        values = dict(config)
        if isinstance(values.get("fill"), str):
            values["fill"] = float(values["fill"])
        return cls(**values)

    def require_type(self, name: str) -> None:
        """Refuse types of values that cannot be compressed so."""
        if self.lossless:
            arrays.type_of_name(name)
        else:
            arrays.bounded_type_of_name(name)

    def compress(self, compressor: Compressor, array: Any, **more: Any) -> Any:
        return compressor.compress(array, **{**asdict(self), **more})


def folded(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Find at most four axes for an array of any shape.

    Axes of length 1 go, and the first ones are joined. An archive made so has these dims.
    """
    dims = tuple(n for n in shape if n != 1) or (1,)
    return dims if len(dims) <= 4 else (math.prod(dims[:-3]), *dims[-3:])
