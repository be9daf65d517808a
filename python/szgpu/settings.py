"""Bounds and other settings of all calls and containers, checked in one place."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from . import _core, errors, value_types

Fill: TypeAlias = float | Sequence[float] | None

MODES = ("rel", "abs", "psnr", "lossless", "pwrel")
"""The modes, as szgpu_mode numbers them."""

PREDICTORS = {"auto": 0, "lorenzo": 1, "interpolation": 2}
_MOST_ZSTD = 19
_MOST_FILLS = 4
_NOT_FINITE = ("nan", "inf", "-inf")  # JSON has no such numbers


def choice(choices: dict[str, int], value: str, what: str) -> int:
    if isinstance(value, str) and value in choices:
        return choices[value]
    raise ValueError(f"{what} is {value!r}, which is not one of {', '.join(choices)}")


def whole(value: int, most: int, what: str) -> int:
    try:
        number = operator.index(_no_truth_value(value, what))
    except TypeError:
        raise TypeError(f"{what} is {value!r}, which is not a whole number") from None
    if not 0 <= number <= most:
        raise errors.ArgumentError(f"{what} is {number}, which is not in the range 0 to {most}")
    return number


def real(value: Any, what: str) -> float:
    """Take any library's number, but no truth value, text, span of time or array of one."""
    _no_truth_value(value, what)
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    is_number = hasattr(value, "__float__") and kind not in "bOSUMmc" and np.ndim(value) == 0
    is_number = is_number and not np.ma.is_masked(value)
    if isinstance(value, (str, bytes, bytearray)) or not is_number:
        raise TypeError(f"{what} is {value!r}, which is not a number")
    try:
        with _core.Environment():
            return float(value)
    except OverflowError:
        raise errors.ArgumentError(
            f"{what} is beyond the range of a float64: give a smaller number"
        ) from None


def _no_truth_value(value: Any, what: str) -> Any:
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{what} is {bool(value)}, which is not a number: give one")
    return value


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of `szgpu.compress` that a container can state for all its chunks.

    They may be given as numbers of any library, and are Python's own afterwards. Settings are equal
    if they read the same: a NaN equals another one, and 0.0 differs from -0.0.
    """

    abs: float | None = None
    rel: float | None = None
    psnr: float | None = None
    lossless: bool = False
    fill: Fill = None
    predictor: str = "auto"
    zstd: int = 0
    pwrel: float | None = None
    valid: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        with _core.Environment():
            self._check()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def _check(self) -> None:
        if not isinstance(self.lossless, (int, np.bool_)) or self.lossless not in (0, 1):
            raise TypeError(f"lossless is {self.lossless!r}, which is neither True nor False")
        self._set("lossless", bool(self.lossless))
        for name in ("rel", "abs", "psnr", "pwrel"):
            if getattr(self, name) is not None:
                self._set(name, real(getattr(self, name), name))
        given = self._given()
        if len(given) != 1:
            raise ValueError(
                "say how exact the result must be by exactly one of abs=, rel=, psnr=, pwrel= "
                "and lossless=True" + (f": there are {', '.join(given)}" if given else "")
            )
        if not (math.isfinite(self.bound) and self.bound > 0):
            raise errors.BoundError(
                f"the bound is {self.bound}, which is not a finite positive number"
            )
        if self.pwrel is not None and not self.pwrel < 1:
            raise errors.BoundError(f"pwrel is {self.pwrel}, which is not below 1")
        choice(PREDICTORS, self.predictor, "predictor")
        self._set("zstd", whole(self.zstd, _MOST_ZSTD, "zstd"))
        self._set("fill", _fill_of(self.fill))
        if self.lossless and self.fill is not None:
            raise errors.ArgumentError(
                "fill goes with a bound: lossless=True keeps every value, so leave fill out"
            )
        if self.valid is not None:
            self._set("valid", _valid_of(self.valid))
            if self.lossless or self.pwrel is not None:
                raise errors.ArgumentError(
                    f"valid does not go with {self.mode}: use abs, rel or psnr, or leave it out"
                )

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _given(self) -> list[str]:
        given = {
            "rel": self.rel, "abs": self.abs, "psnr": self.psnr, "lossless": self.lossless or None,
            "pwrel": self.pwrel,
        }
        return [name for name, value in given.items() if value is not None]

    @property
    def mode(self) -> str:
        return self._given()[0]

    @property
    def bound(self) -> float:
        """In the mode's unit; 1 if lossless."""
        return float(getattr(self, self.mode))

    @property
    def fills(self) -> tuple[float, ...]:
        if self.fill is None:
            return ()
        return tuple(self.fill) if isinstance(self.fill, Sequence) else (self.fill,)

    def as_config(self) -> dict[str, Any]:
        """Give what differs from the defaults, as JSON can hold it."""
        defaults = {field.name: field.default for field in fields(self)}
        config = {name: value for name, value in asdict(self).items() if value != defaults[name]}
        if self.fills:
            kept = [fill if math.isfinite(fill) else str(fill) for fill in self.fills]
            config["fill"] = kept if len(kept) > 1 else kept[0]
        if self.valid is not None:
            config["valid"] = [end if math.isfinite(end) else str(end) for end in self.valid]
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Settings:
        """Read what `as_config` gave."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(config) - known)
        if unknown:
            raise ValueError(f"szgpu has no setting {unknown[0]!r}: a newer version may have it")
        return cls(**config)

    def require_type(self, dtype: np.dtype) -> None:
        """Refuse types of values that cannot be compressed so."""
        if self.lossless:
            return
        if dtype.kind in "SU" or dtype.type is np.void:
            raise TypeError(f"values of type {dtype} can be compressed with lossless=True only")
        value_types.bounded_type_of_name(dtype.name)
        if self.pwrel is not None and dtype.name not in ("float32", "float64"):
            raise TypeError(
                f"pwrel is for float32 and float64, and not for {dtype.name}: use abs, or "
                "lossless=True"
            )


def _real_of_json(value: Any, what: str) -> float:
    return real(float(value) if value in _NOT_FINITE else value, what)


def _valid_of(given: Any) -> tuple[float, float]:
    try:
        least, greatest = (_real_of_json(value, "valid") for value in given)
    except ValueError:
        raise ValueError(f"valid is {given!r}, which is not a pair of numbers") from None
    if not least <= greatest:
        raise errors.ArgumentError(f"valid is {given!r}, in which the least is not below the other")
    return least, greatest


def _fill_of(given: Any) -> float | tuple[float, ...] | None:
    """One number, or a tuple of 2 to 4 different ones."""
    if given is None:
        return None
    several = isinstance(given, (list, tuple)) or np.ndim(given) == 1
    numbers = (_real_of_json(value, "fill") for value in (given if several else [given]))
    values = tuple({repr(number): number for number in numbers}.values())  # 0.0 is not -0.0
    if len(values) > _MOST_FILLS:
        raise errors.ArgumentError(
            f"fill has {len(values)} different values: at most {_MOST_FILLS} are kept exactly"
        )
    if len(values) > 1:
        return values
    return values[0] if values else None
