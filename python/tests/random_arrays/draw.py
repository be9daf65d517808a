"""draw.py - random types, shapes, contents, missing values and settings."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

FLOATS = ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]
BOUNDED_INTEGERS = ["|i1", "|u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4"]
OTHER_INTEGERS = ["<u4", ">u4", "<i8", ">i8", "<u8", ">u8"]
INTEGERS = BOUNDED_INTEGERS + OTHER_INTEGERS
DATES = ["<M8[s]", ">M8[ns]", "<M8[D]", "<m8[ms]", ">m8[h]"]
TEXTS = ["|S1", "|S5", "<U1", "<U4", ">U3"]
OTHERS = ["|b1", "<c8", ">c8", "<c16", ">c16", "|V3", "record"]
BFLOAT16 = "bfloat16"

_MOST_OF_AXIS = (1, 3000, 90, 26, 12, 7)  # by the number of axes
_MARKERS = {
    "f": (-9999.0, -999.0, -888.0, 1e20, 9.969209968386869e36, -32767.0, -1e30, 99999.0),
    "i": (-9999, -999, -128, -127, 127, -32768, -32767, 32767, -(2**31), 2**31 - 1),
    "u": (255, 254, 65535, 65534, 9999),
}


@dataclass
class Case:
    """One array, and how it is handed to a door."""

    rng: np.random.Generator
    dtype: np.dtype = field(default_factory=lambda: np.dtype("f4"))
    shape: tuple[int, ...] = ()
    chunks: tuple[int, ...] = ()
    order: str = "C"
    values: np.ndarray = field(default_factory=lambda: np.zeros(()))
    content: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    fill: Any = None  # the container's own fill value; None: what it takes by default
    missing: tuple[Any, ...] = ()  # values among the data that mean "nothing here"
    parts: list[Any] = field(default_factory=list)  # regions that are written again, in this order
    is_fresh: bool = False  # read by another process
    how: dict[str, Any] = field(default_factory=dict)  # what only the door knows of
    excuses: list[str] = field(default_factory=list)  # why it may be refused or declined

    @property
    def is_lossless(self) -> bool:
        return "lossless" in self.settings

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def one(self, choices: Any) -> Any:
        choices = list(choices)
        return choices[int(self.rng.integers(len(choices)))]

    def __str__(self) -> str:
        words = {name: value for name, value in self.how.items() if value not in (None, [], False)}
        return (
            f"{self.dtype.str if self.dtype.kind != 'V' else self.dtype} {self.shape} in chunks of "
            f"{self.chunks}, order {self.order}, {', '.join(self.content)}; fill {self.fill!r}, "
            f"missing {self.missing!r}; {self.settings}; {words or ''}"
            + (f" written again: {self.parts}" if self.parts else "")
            + (" read by a new process" if self.is_fresh else "")
        )


def dtype_of(name: str) -> np.dtype:
    if name == BFLOAT16:
        return np.dtype(ml_dtypes.bfloat16)
    if name == "record":
        return np.dtype([("a", "<i4"), ("b", "<f8")])
    return np.dtype(name)


def is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or dtype == ml_dtypes.bfloat16


def is_bounded(dtype: np.dtype) -> bool:
    return is_float(dtype) or dtype.newbyteorder("<").str in ("|i1", "|u1", "<i2", "<u2", "<i4")


def draw(case: Case, types: list[str], most_axes: int = 5) -> Case:
    """Draw all that doors have in common. Floats, and what can have a bound, come more often."""
    pools = [FLOATS, FLOATS, FLOATS, BOUNDED_INTEGERS, OTHER_INTEGERS, types]
    pool = [name for name in case.one(pools) if name in types] or types
    case.dtype = dtype_of(case.one(pool))
    _draw_shape(case, most_axes)
    case.order = "F" if case.chance(0.3) else "C"
    base = _base(case)
    case.values = _typed(case, base)
    _draw_missing(case)
    _draw_settings(case)
    case.is_fresh = case.chance(0.01) and case.dtype.kind != "V"  # what .npy files can hold
    return case


def _draw_shape(case: Case, most_axes: int) -> None:
    rng = case.rng
    axes = int(rng.choice(most_axes + 1, p=_shares(most_axes)))
    most = _MOST_OF_AXIS[axes]
    lengths = [int(rng.integers(1, most + 1)) for _ in range(axes)]
    for axis in range(axes):
        if case.chance(0.12):
            lengths[axis] = int(case.one([0, 1, 1, 2, 32, 33, 64] if axes < 4 else [0, 1, 2]))
    case.shape = tuple(lengths)
    chunks = []
    for n in lengths:
        kind = case.one(["whole", "half", "any", "any", "large"])
        least = max(1, n // 6)
        chunks.append(
            {
                "whole": max(n, 1),
                "half": max(1, -(-n // 2)),
                "any": int(rng.integers(least, max(n, 1) + 1)),
                "large": max(n, 1) + int(rng.integers(0, 5)),
            }[kind]
        )
    if np.prod([-(-max(n, 1) // c) for n, c in zip(lengths, chunks)]) > 60:
        chunks = [max(n, 1) for n in lengths]
    case.chunks = tuple(chunks)


def _shares(most_axes: int) -> list[float]:
    shares = np.array([0.03, 0.25, 0.32, 0.22, 0.1, 0.08][: most_axes + 1])
    return list(shares / shares.sum())


def _base(case: Case) -> np.ndarray:
    """Draw numbers of about -1 to 1, in doubles."""
    rng, shape = case.rng, case.shape
    kind = case.one(["smooth", "smooth", "walk", "noise", "constant", "ramp", "steps", "sparse"])
    case.content.append(kind)
    grid = [np.linspace(0, 1 + 6 * rng.random(), n) for n in shape]
    mesh = np.meshgrid(*grid, indexing="ij", sparse=True) if shape else [np.float64(rng.random())]
    wave = np.asarray(sum(mesh), "f8").reshape(shape) if shape else np.asarray(mesh[0])
    if kind == "smooth":
        return np.asarray(np.sin(wave) + rng.choice([0, 1e-3, 1e-2]) * rng.normal(size=shape))
    if kind == "walk":
        flat = rng.normal(size=shape)
        return np.asarray(flat.cumsum(-1) / 30 if shape else flat)
    if kind == "noise":
        return np.asarray(rng.normal(size=shape))
    if kind == "constant":
        return np.full(shape, rng.normal())
    if kind == "ramp":
        return np.asarray(wave / 7)
    if kind == "steps":
        return np.asarray(np.round(3 * np.sin(3 * wave)) / 3)
    return np.where(rng.random(shape) < 0.1, rng.random(shape), 0.0)


def _typed(case: Case, base: np.ndarray) -> np.ndarray:
    """Make values of the case's type of numbers."""
    rng, dtype, shape = case.rng, case.dtype, case.shape
    native = dtype.newbyteorder("=")
    with np.errstate(all="ignore"):
        if is_float(dtype):
            return np.array(_floats(case, base).astype(native), dtype)
        if dtype.kind in "iu":
            return np.array(_integers(case, base, native), native).astype(dtype)
        if dtype.kind == "b":
            return np.asarray(base > 0)
        if dtype.kind == "c":
            return np.array(base + 1j * rng.normal(size=shape), dtype)
        if dtype.kind in "Mm":
            return np.array((base * 1e5).astype("i8"), native).astype(dtype)
    if dtype.kind in "SU":
        words = np.array(["", "a", "bb", "Zürich" if dtype.kind == "U" else "Zurich", "x y"])
        return np.array(rng.choice(words, size=shape), dtype)
    raw = rng.bytes(int(np.prod(shape)) * dtype.itemsize)
    return np.frombuffer(raw, dtype).reshape(shape).copy()


def _floats(case: Case, base: np.ndarray) -> np.ndarray:
    rng, shape = case.rng, case.shape
    a = np.array(base * 10.0 ** rng.integers(-3, 5) + case.one([0, 0, 280, -5, 1e4]))
    kind = case.one(["plain"] * 6 + ["whole", "decimal", "special", "zeros", "extreme", "bits"])
    case.content.append(kind)
    some = rng.random(shape) < case.one([0.01, 0.2])
    if kind == "whole":
        a = np.round(a)
    elif kind == "decimal":
        a = np.round(a, 1)
    elif kind == "special":
        a = np.where(some, rng.choice([np.inf, -np.inf, np.nan, -np.nan], size=shape), a)
    elif kind == "zeros":
        a = np.where(some, rng.choice([0.0, -0.0], size=shape), a)
    elif kind == "extreme":
        info = np.finfo(case.dtype) if case.dtype.kind == "f" else ml_dtypes.finfo(case.dtype)
        least = float(info.smallest_subnormal)
        values = [float(info.max), float(info.min), float(info.tiny), least, -least, 0.0]
        a = np.where(some, rng.choice(values, size=shape), a)
    elif kind == "bits":
        native = case.dtype.newbyteorder("=")
        raw = np.frombuffer(rng.bytes(a.size * native.itemsize), native).reshape(shape)
        return np.where(some, raw, a.astype(native))
    return np.asarray(a)


def _integers(case: Case, base: np.ndarray, native: np.dtype) -> np.ndarray:
    rng, shape, info = case.rng, case.shape, np.iinfo(native)
    kind = case.one(["field", "field", "small", "mask", "full", "ids", "edges"])
    case.content.append(kind)
    if kind == "field":
        middle = 0 if info.min < 0 else info.max / 2
        wave = base * info.max / case.one([3, 100, 1e4]) + middle
        return np.clip(wave, info.min / 2, info.max * 0.8)
    if kind == "small":
        return rng.integers(0, 100, size=shape)
    if kind == "mask":
        return np.asarray(base > 0)
    if kind == "full":
        return np.asarray(rng.integers(info.min, info.max, size=shape, dtype=native, endpoint=True))
    if kind == "ids":
        return (np.arange(int(np.prod(shape)), dtype="u8") % info.max).reshape(shape)
    return np.asarray(rng.choice(np.array([info.min, info.max, 0, 1], native), size=shape))


# ---- what is missing ----


def _draw_missing(case: Case) -> None:
    """Put values that mean "nothing here" into numbers, in patterns of fields."""
    if not (is_float(case.dtype) or case.dtype.kind in "iu") or case.values.size == 0:
        return
    if not case.chance(0.45):
        return
    kinds = [m for m in (as_type(case, v) for v in _markers_of(case.dtype)) if m is not None]
    count = int(case.rng.choice([1, 2], p=[0.75, 0.25]))
    markers = [case.one(kinds) for _ in range(count)]
    case.missing = tuple({float(m): m for m in markers}.values())
    values = case.values.copy()
    for marker in case.missing:
        values[_pattern(case)] = marker
    case.values = values
    if is_float(case.dtype) and case.chance(0.15):
        case.values[_pattern(case)] = case.dtype.type(np.nan)
        case.content.append("NaN")


def _markers_of(dtype: np.dtype) -> tuple[Any, ...]:
    return _MARKERS["f" if is_float(dtype) else dtype.kind]


def as_type(case: Case, value: Any) -> Any:
    """Give a number as a value of the case's type, or None if the type has none near it."""
    if case.dtype.kind in "iu":
        info = np.iinfo(case.dtype)
        return case.dtype.type(value) if info.min <= value <= info.max else None
    with np.errstate(over="ignore"):
        number = case.dtype.type(value)
    return number if np.isfinite(np.float64(number)) else None


def _pattern(case: Case) -> Any:
    shape, rng = case.shape, case.rng
    kinds = ["scattered", "scattered", "block", "rows", "one", "all but one", "all"]
    kind = case.one(kinds) if shape else "all"
    case.content.append(f"missing: {kind}")
    where = np.zeros(shape, bool)
    anywhere = tuple(int(rng.integers(n)) for n in shape)
    if kind == "scattered":
        where = np.asarray(rng.random(shape) < case.one([0.02, 0.3, 0.9]))
    elif kind == "block":
        where[tuple(slice(at // 2, at + 1) for at in anywhere)] = True
    elif kind == "rows":
        where[: shape[0] // 3 + 1] = True
    elif kind == "one":
        where[anywhere] = True
    else:
        where[...] = True
        where[anywhere] = kind == "all"
    return where


def spread_of(case: Case) -> float:
    """Compute the range of what is neither missing nor infinite, in doubles."""
    data = data_of(case)
    return float(data.max() - data.min()) if data.size else 0.0


def data_of(case: Case) -> np.ndarray:
    with np.errstate(all="ignore"):
        x = case.values.astype("f8").reshape(-1)
    counts = np.isfinite(x)
    for marker in case.missing:
        counts &= x != float(marker)
    return x[counts]


def is_far(case: Case, marker: Any) -> bool:
    """Whether a codec that is told nothing can see that a value means something else than data.

    The data, and 0, which stands beyond edges of arrays, lie closer together than it lies to them.
    """
    data = np.append(data_of(case), 0.0)
    reach = data.max() / 2 - data.min() / 2
    return bool(min(abs(float(marker) / 2 - data / 2)) >= 1.01 * reach)


def name_missing(case: Case, told: tuple[Any, ...]) -> None:
    """See to it that the codec can know what is missing.

    told: what the door tells it. What is not told and not far from the data is named by fill=.
    """
    known = {float(value) for value in told}
    near = [m for m in case.missing if float(m) not in known and not is_far(case, m)]
    named = near or ([case.one(case.missing)] if case.missing and case.chance(0.2) else [])
    if named and not case.is_lossless:
        fills = [float(m) if is_float(case.dtype) else int(m) for m in named]
        case.settings["fill"] = fills[0] if len(fills) == 1 and case.chance(0.7) else fills


# ---- settings ----


def _draw_settings(case: Case) -> None:
    rng, dtype = case.rng, case.dtype
    modes = ["abs", "rel", "psnr", "pwrel", "lossless"]
    if not is_bounded(dtype):
        shares = [0.1, 0.02, 0.02, 0.01, 0.85]
    elif dtype.kind == "f" and dtype.itemsize > 2:
        shares = [0.5, 0.09, 0.07, 0.12, 0.22]
    else:
        shares = [0.52, 0.12, 0.1, 0.02, 0.24]
    mode = str(rng.choice(modes, p=shares))
    bound: Any = True
    if mode == "abs":
        spread = spread_of(case) if is_bounded(dtype) else 1.0
        scale = spread if 0 < spread < 1e300 else 1.0
        bound = scale * 10.0 ** rng.uniform(-7, 0.5)
        if dtype.kind in "iu" and case.chance(0.8):
            bound = float(case.one([1, 2, 3, 7, 50, 0.5, 1.5]))
        elif case.chance(0.3):
            bound = float(f"1e{np.floor(np.log10(bound)):.0f}")
    elif mode != "lossless":
        bound = {"rel": 10.0 ** rng.uniform(-6, -0.5), "psnr": rng.uniform(20, 130),
                 "pwrel": 10.0 ** rng.uniform(-6, -0.3)}[mode]
    if mode != "lossless" and case.chance(0.05) and 1e-37 < bound < 1e37:
        bound = np.float32(bound)
    case.settings = {mode: bound}
    if mode != "lossless":
        predictor = case.one(["auto", "auto", "auto", "lorenzo", "interpolation"])
        if predictor != "auto":
            case.settings["predictor"] = predictor
    if case.chance(0.2):
        case.settings["zstd"] = int(case.one([1, 3, 6]))
    if mode != "lossless" and not is_bounded(dtype):
        case.excuses.append("a bound of values that have none")
    if mode == "pwrel" and not (dtype.kind == "f" and dtype.itemsize > 2):
        case.excuses.append("pwrel of another type than float32 and float64")


def draw_parts(case: Case) -> list[Any]:
    """Draw regions to write one after the other; the last ones make sure that all is written."""
    parts: list[Any] = []
    if not case.shape or 0 in case.shape:
        return parts
    for _ in range(int(case.rng.integers(1, 9))):
        part = []
        for n in case.shape:
            start, stop = sorted(int(i) for i in case.rng.integers(0, n + 1, size=2))
            part.append(slice(start, max(stop, start + 1) if start < n else n))
        if all(s.start < s.stop for s in part):
            parts.append(tuple(part))
    return parts
