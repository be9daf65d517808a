"""by_calls.py - the package's own calls: layouts, frames, decoders, parts, and what archives state."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import check
import draw
import numpy as np
import szgpu
from doors import Door
from draw import Case
from szgpu import _core

_CPU = 1  # of szgpu_backend
_DECODERS = {"serial": 1, "table": 2, "self-sync": 5, "all-offsets": 6, "hierarchical": 7}
_LIST = (1e20, 9.969209968386869e36, -1e34, 1e36, 1e30, 1e35, 1e15, -3.4028234663852886e38)


class Calls(Door):
    """szgpu.compress and szgpu.decompress, every way to restore, and the bound that is stated."""

    def draw(self, case: Case) -> None:
        types = draw.FLOATS + draw.INTEGERS + [draw.BFLOAT16]
        draw.draw(case, [name for name in types if name[0] != ">"], most_axes=4)
        case.chunks = case.shape
        if not case.shape or case.values.size == 0:
            case.excuses.append("an array without axes or values")
        self._draw_calls(case)
        self._name_missing(case)
        self._draw_bound(case)

    def _draw_bound(self, case: Case) -> None:
        """Draw bounds near a unit of integers, and of any PSNR."""
        spread = draw.spread_of(case)
        if "rel" in case.settings and case.dtype.kind in "iu" and spread and case.chance(0.8):
            case.settings["rel"] = float(case.rng.integers(1, min(spread, 40) + 1)) / spread
        if "psnr" in case.settings and case.chance(0.2):
            case.settings["psnr"] = float(case.rng.uniform(130, 7000))

    def _draw_calls(self, case: Case) -> None:
        how = case.how
        how["threads"] = int(case.one([1, 1, 2, 3]))
        if case.chance(0.3):
            how["layout"] = "linear"
            if case.settings.get("predictor") == "interpolation":
                case.excuses.append("interpolation in the linear layout")
        if case.shape and case.chance(0.3):
            how["frame_rows"] = int(case.rng.integers(1, max(case.shape[0], 1) + 2))
        if "abs" in case.settings and draw.is_bounded(case.dtype) and case.chance(0.15):
            data = draw.data_of(case)
            reach = float(np.abs(data).max()) if data.size else 1.0
            how["greatest"] = min(max(reach * case.one([0.1, 1, 1, 3]), 1e-300), 1e308)

    def _name_missing(self, case: Case) -> None:
        """Name some far values. Nobody else knows of them: the others are ordinary ones."""
        told = [m for m in case.missing if draw.is_far(case, m) and case.chance(0.8)]
        case.missing = ()
        if told and not case.is_lossless and draw.is_bounded(case.dtype):
            fills = [float(m) if draw.is_float(case.dtype) else int(m) for m in told]
            if "greatest" not in case.how or len(fills) == 1:
                case.settings["fill"] = fills[0] if len(fills) == 1 else fills

    def write(self, case: Case, folder: Path, codec: bool) -> Any:
        if not codec:
            return None
        calls = {name: case.how[name] for name in ("layout", "frame_rows", "greatest", "threads")
                 if name in case.how}
        values = case.values.copy(order=case.order)
        archive = bytes(szgpu.compress(values, **case.settings, **calls))
        again = bytes(szgpu.compress(values, **case.settings, **{**calls, "threads": 1}))
        if again != archive:
            raise check.Wrong("another archive by another number of threads")
        return archive

    def read(self, case: Case, handle: Any) -> np.ndarray:
        if handle is None:
            return case.values
        info = szgpu.inspect(handle)
        known = case.dtype if info.dtype == "uint8" else None
        whole = np.asarray(szgpu.decompress(handle, dtype=known, threads=case.how["threads"]))
        if not case.is_lossless:
            self._check_missing(case, info, whole)
            self._check_stated(case, info, whole)
        if known is None or case.dtype == np.uint8:
            self._check_parts(case, info, handle, whole)
            self._check_decoders(info, handle, whole)
        return whole

    def _check_missing(self, case: Case, info: szgpu.Info, whole: np.ndarray) -> None:
        named = case.settings.get("fill", [])
        named = [float(value) for value in (named if isinstance(named, list) else [named])]
        for value in info.fills:
            listed = any(np.isclose(value, one, rtol=1e-6) for one in _LIST) or not np.isfinite(value)
            if value not in named and (named or not listed):
                raise check.Wrong("a fill value that nobody asked for", f"{value!r}")
        x = check.numbers(case.values)
        for value in named:
            there = x == value
            if check.differs(case.values[there], whole[there]).any():
                raise check.Wrong("a fill value was lost", f"{value!r}")
        # Under `abs` and `pwrel` a value may become one; what counts for the range is checked below.
        case.missing = tuple(v for v in info.fills if np.isfinite(v))
        if "abs" in case.settings or "pwrel" in case.settings:
            case.missing = ()

    def _check_stated(self, case: Case, info: szgpu.Info, whole: np.ndarray) -> None:
        """Compare the stated bound with the one in exact arithmetic, and values with the former."""
        if "pwrel" in case.settings:
            return
        stated = Fraction(info.absolute_bound)
        limit = check.limit_of(check.numbers(case.values), case.settings, case.shape, case.missing)
        if stated > limit:
            raise check.Wrong("the bound stated is above the exact one",
                              f"{float(stated)!r}, {float(limit)!r}")
        if case.dtype.kind in "iu" and "rel" in case.settings and int(stated) != int(limit):
            raise check.Wrong("the bound stated loses a unit", f"{float(stated)!r}, {float(limit)!r}")
        if "abs" in case.settings and stated != limit:
            raise check.Wrong("the bound stated is not the one given", f"{float(stated)!r}")
        check.require_within(case.values, whole, {"abs": info.absolute_bound}, case.shape, (), None)

    def _check_parts(
        self, case: Case, info: szgpu.Info, archive: bytes, whole: np.ndarray
    ) -> None:
        stored = whole.T if info.is_fortran else whole
        rows = stored.shape[0]
        first = int(case.rng.integers(rows))
        end = int(case.rng.integers(first, rows)) + 1
        if not info.is_fortran:
            part = np.asarray(szgpu.decompress(archive, slab=slice(first, end)))
            self._require_equal("a slab", whole[first:end], part)
        box = tuple(
            slice(start, int(case.rng.integers(start, n)) + 1)
            for start, n in ((int(case.rng.integers(n)), n) for n in whole.shape)
        )
        self._require_equal("a region", whole[box], np.asarray(szgpu.decompress(archive, region=box)))
        for level in (1, 3):
            try:
                preview = np.asarray(szgpu.decompress(archive, level=level))
            except (ValueError, szgpu.Error):  # not every archive has one
                continue
            steps = tuple(
                slice(None, None, 1 if n == m else 1 << level)
                for n, m in zip(whole.shape, preview.shape)
            )
            self._require_equal("a preview", whole[steps], preview)

    def _check_decoders(self, info: szgpu.Info, archive: bytes, whole: np.ndarray) -> None:
        read = 0
        for name, number in _DECODERS.items():
            context = _core.Context(_CPU, 0, 1, number, 0, 0)
            order = "F" if info.is_fortran else "C"
            field = np.zeros(whole.shape, whole.dtype, order=order)
            memory = field.reshape(-1, order=order).view("u1")
            try:
                context.decompress(np.frombuffer(archive, "u1"), memory, 0, 0, 0, None, None)
            except szgpu.UnsupportedError:
                continue
            read += 1
            self._require_equal(f"decoder {name}", whole, field)
        if not read:
            raise check.Wrong("no decoder reads it")

    def _require_equal(self, what: str, want: np.ndarray, got: np.ndarray) -> None:
        if want.shape != got.shape or check.differs(
            np.ascontiguousarray(want), np.ascontiguousarray(got)
        ).any():
            raise check.Wrong(f"{what} differs from the whole")

    def padding(self, case: Case) -> Any:
        return None
