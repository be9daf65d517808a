"""There and back: every kind of array, mode and part, with the bound checked exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import hypothesis.extra.numpy as npst
import ml_dtypes
import numpy as np
import pytest
import szgpu
from hypothesis import given, settings
from hypothesis import strategies as st

RNG = np.random.default_rng(7)


def smooth(*shape: int, dtype: str = "float32") -> np.ndarray:
    axes = np.meshgrid(*(np.linspace(0, 3, n) for n in shape), indexing="ij")
    return (np.sin(sum(axes)) + 0.01 * RNG.normal(size=shape)).astype(dtype)


def beyond(a: np.ndarray, b: np.ndarray, bound: float) -> int:
    """Count values that are neither bit-identical nor within the bound, in exact arithmetic."""
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[a.dtype.itemsize]
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    with np.errstate(invalid="ignore", over="ignore"):
        suspects = (a.view(bits) != b.view(bits)) & ~(abs(a.astype("f8") - b) < bound * 0.999)
    limit = Fraction(bound)
    return sum(
        not (math.isfinite(x) and math.isfinite(y) and abs(Fraction(x) - Fraction(y)) <= limit)
        for x, y in zip(a[suspects].tolist(), b[suspects].tolist(), strict=True)
    )


@settings(max_examples=150, deadline=None)
@given(
    a=npst.arrays(
        st.sampled_from(["float32", "float64"]),
        npst.array_shapes(min_dims=1, max_dims=4, max_side=9),
    ),
    bound=st.floats(1e-30, 1e30),
    mode=st.sampled_from(["abs", "rel"]),
    layout=st.sampled_from(["tile", "linear"]),
)
def test_any_float_array_comes_back_within_the_bound(a, bound, mode, layout):
    archive = szgpu.compress(a, layout=layout, **{mode: bound})
    b = szgpu.decompress(archive)
    assert b.dtype == a.dtype and b.shape == a.shape
    assert beyond(a, b, szgpu.inspect(archive).absolute_bound) == 0


@settings(max_examples=150, deadline=None)
@given(
    a=npst.arrays(
        st.sampled_from(["f2", "i1", "u1", "i2", "u2", "i4"]),
        npst.array_shapes(min_dims=1, max_dims=4, max_side=9),
    ),
    bound=st.floats(1e-6, 1e6),
    mode=st.sampled_from(["abs", "rel"]),
)
def test_any_array_of_halves_and_integers_comes_back_within_the_bound(a, bound, mode):
    archive = szgpu.compress(a, **{mode: bound})
    b = szgpu.decompress(archive)
    assert b.dtype == a.dtype and b.shape == a.shape
    assert beyond(a, b, szgpu.inspect(archive).absolute_bound) == 0


def test_bfloat16_has_a_bound():
    a = smooth(40, 50).astype(ml_dtypes.bfloat16)
    b = szgpu.decompress(szgpu.compress(a, abs=0.03125))
    assert b.dtype == a.dtype and abs(b.astype("f8") - a.astype("f8")).max() <= 0.03125
    assert (a != b).any()


def test_integers_in_fortran_order_keep_it_with_a_bound():
    a = np.asfortranarray((smooth(40, 50) * 1000).astype("i2"))
    b = szgpu.decompress(szgpu.compress(a, abs=3))
    assert b.flags.f_contiguous and b.dtype == a.dtype and abs(b.astype(int) - a).max() <= 3


@settings(max_examples=100, deadline=None)
@given(
    a=npst.arrays(
        st.sampled_from(
            ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?", ">f4", ">i2"]
        ),
        npst.array_shapes(min_dims=1, max_dims=4, max_side=9),
    )
)
def test_any_array_comes_back_bit_for_bit_without_loss(a):
    b = szgpu.decompress(szgpu.compress(a, lossless=True), dtype=a.dtype.newbyteorder("="))
    native = a.astype(a.dtype.newbyteorder("="))
    assert b.dtype == native.dtype and b.shape == a.shape
    assert np.ascontiguousarray(native).tobytes() == b.tobytes()


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_types_of_ml_dtypes_come_back_bit_for_bit(name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    bits = RNG.integers(0, 256, size=(33, 40 * dtype.itemsize), dtype=np.uint8)
    a = bits.view(dtype)
    archive = szgpu.compress(a, lossless=True)
    b = szgpu.decompress(archive, dtype=name)
    assert b.dtype == dtype and a.tobytes() == b.tobytes()
    out = np.empty_like(a)
    assert szgpu.decompress(archive, out=out) is out and a.tobytes() == out.tobytes()


def test_psnr_is_reached():
    a = smooth(40, 50, 60)
    b = szgpu.decompress(szgpu.compress(a, psnr=80))
    mse = np.mean((a.astype("f8") - b) ** 2)
    assert 20 * np.log10(np.ptp(a)) - 10 * np.log10(mse) >= 75.2


def test_fortran_order_is_kept_without_a_copy():
    a = np.asfortranarray(smooth(20, 30, 40))
    archive = szgpu.compress(a, abs=1e-3)
    assert szgpu.inspect(archive).shape == a.shape and szgpu.inspect(archive).is_fortran
    b = szgpu.decompress(archive)
    assert b.flags.f_contiguous and b.shape == a.shape and beyond(a, b, 1e-3) == 0
    out = np.empty_like(a)
    szgpu.decompress(archive, out=out)
    assert np.array_equal(out, b)
    assert archive[40:] != szgpu.compress(np.ascontiguousarray(a), abs=1e-3)[40:]


def test_cut_arrays_and_big_endian_ones_are_copied():
    a = smooth(40, 50)
    for view in (a[::2, ::3], a[:, 10:20], a.astype(">f4"), a[::-1]):
        assert beyond(view.astype("f4"), szgpu.decompress(szgpu.compress(view, abs=1e-3)), 1e-3) == 0


def test_slabs_are_rows_of_the_whole():
    a = smooth(50, 40, 30)
    archive = szgpu.compress(a, abs=1e-3, frame_rows=16)
    whole = szgpu.decompress(archive)
    for slab in ((0, 50), (7, 9), slice(16, 33), slice(-3, None), slice(None, 1)):
        cut = slab if isinstance(slab, slice) else slice(*slab)
        assert np.array_equal(szgpu.decompress(archive, slab=slab), whole[cut])


def test_previews_are_samples_of_the_whole():
    a = smooth(65, 64, 50)
    archive = szgpu.compress(a, abs=1e-2, predictor="interpolation")
    whole = szgpu.decompress(archive)
    for level in (1, 2):
        step = 2**level
        preview = szgpu.decompress(archive, level=level)
        assert np.array_equal(preview, whole[::step, ::step, ::step])


def test_out_gets_the_archive_and_the_array():
    a = smooth(64, 64)
    room = np.empty(1 << 16, np.uint8)
    archive = szgpu.compress(a, abs=1e-3, out=room)
    assert np.shares_memory(archive, room)
    assert bytes(archive) == szgpu.compress(a, abs=1e-3)
    as_bytearray = bytearray(1 << 16)
    used = szgpu.compress(a, abs=1e-3, out=as_bytearray)
    assert bytes(used) == bytes(as_bytearray[: len(used)]) == bytes(archive)
    out = np.empty_like(a)
    assert szgpu.decompress(archive, out=out) is out and beyond(a, out, 1e-3) == 0


def test_archives_may_be_any_bytes():
    a = smooth(64, 64)
    archive = szgpu.compress(a, abs=1e-3)
    shifted = (b"x" + archive)[1:]
    for kind in (archive, bytearray(archive), memoryview(archive), np.frombuffer(archive, "u1")):
        assert np.array_equal(szgpu.decompress(kind), szgpu.decompress(shifted))


def test_threads_and_objects_make_no_difference():
    a = smooth(64, 64, 64)
    archive = szgpu.compress(a, abs=1e-3, threads=1)
    assert archive == szgpu.compress(a, abs=1e-3, threads=4)
    mine = szgpu.Compressor(threads=2, backend="cpu")
    assert archive == mine.compress(a, abs=1e-3) == mine.compress(a, abs=1e-3)
    assert np.array_equal(mine.decompress(archive), szgpu.decompress(archive))


def test_fill_values_come_back_exactly():
    a = smooth(64, 64)
    a[10:20] = -9999
    b = szgpu.decompress(szgpu.compress(a, rel=1e-3, fill=-9999))
    assert (b[10:20] == -9999).all() and beyond(a, b, 4e-3) == 0


def test_no_value_leaves_the_range():
    """Rain is never negative, and an archive says what its values stay within."""
    a = np.maximum(smooth(64, 64) - smooth(64, 64).mean(), 0)
    a[5] = np.nan
    for settings in ({"rel": 2e-2}, {"psnr": 40}, {"rel": 2e-2, "predictor": "interpolation"}):
        archive = szgpu.compress(a, **settings)
        least, greatest = szgpu.inspect(archive).limits
        assert (least, greatest) == (0, np.nanmax(a))
        b = szgpu.decompress(archive)
        assert np.nanmin(b) >= 0 and np.nanmax(b) <= greatest and not np.signbit(b).any()
        assert (np.isnan(a) == np.isnan(b)).all()
    for settings in ({"abs": 1e-3}, {"pwrel": 1e-3}, {"lossless": True}):
        assert szgpu.inspect(szgpu.compress(a, **settings)).limits is None


def test_a_declared_magnitude_saves_a_look():
    a = smooth(64, 64)
    a[3, 3] = 1e6
    archive = szgpu.compress(a, abs=1e-3, greatest=10)
    assert szgpu.inspect(archive).value_range == 20
    assert beyond(a, szgpu.decompress(archive), 1e-3) == 0
    with pytest.raises(ValueError, match="absolute"):
        szgpu.compress(a, rel=1e-3, greatest=10)


def test_inspect_says_what_was_asked():
    a = smooth(100, 60)
    info = szgpu.inspect(szgpu.compress(a, rel=1e-3, frame_rows=64))
    assert (info.dtype, info.shape, info.mode, info.bound) == ("float32", (100, 60), "rel", 1e-3)
    assert info.absolute_bound == pytest.approx(1e-3 * np.ptp(a), rel=1e-5)
    assert info.field_bytes == a.nbytes and info.ratio == a.nbytes / info.archive_bytes
    frames = info.frames()
    assert [(f.first_row, f.row_count) for f in frames] == [(0, 64), (64, 36)]
    assert sum(f.frame_bytes for f in frames) < info.archive_bytes


def test_progress_reports_and_stops():
    a = smooth(128, 128, 128)
    seen = []
    archive = szgpu.compress(a, abs=1e-3, progress=lambda done, total: seen.append((done, total)))
    assert seen and all(0 <= done <= total for done, total in seen)

    def stop(done: int, total: int) -> None:
        raise KeyError("enough")

    for call in (
        lambda: szgpu.compress(a, abs=1e-3, progress=stop),
        lambda: szgpu.decompress(archive, progress=stop),
    ):
        with pytest.raises(KeyError, match="enough"):
            call()
    assert archive == szgpu.compress(a, abs=1e-3)
