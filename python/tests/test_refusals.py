"""What is refused, by which exception, and whether the sentence says the remedy."""

from __future__ import annotations

import threading

import ml_dtypes
import numpy as np
import pytest
import szgpu

A = np.sin(np.linspace(0, 9, 64 * 64)).astype("f4").reshape(64, 64)
ARCHIVE = szgpu.compress(A, abs=1e-3)


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        (np.array(["a", "b"]), TypeError, "float32"),
        (np.array([object()]), TypeError, "float32"),
        (np.zeros(3, [("x", "f4")]), TypeError, "float32"),
        (np.zeros(4, "complex64"), TypeError, "axis of length 2"),
        (np.zeros(4, "longdouble"), TypeError, "float64"),
        (np.zeros(4, "M8[s]"), TypeError, "integers"),
        (np.float32(3), ValueError, r"shape \(1,\)"),
        (np.zeros((0, 4), "f4"), ValueError, "no values"),
        (np.zeros((1, 2, 1, 2, 1), "f4"), ValueError, "reshape"),
        (np.zeros(4, "u4"), TypeError, "lossless=True"),
        (np.zeros(4, "i8"), TypeError, "lossless=True"),
        (np.zeros(4, "?"), TypeError, "lossless=True"),
        ("abc", TypeError, "float32"),
        (None, TypeError, "float32"),
        (np.ma.masked_less(A, 0), TypeError, "filled"),  # the mask was dropped without a word
    ],
)
def test_arrays_that_cannot_be_compressed(array, error, words):
    with pytest.raises(error, match=words):
        szgpu.compress(array, abs=1)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({}, ValueError, "exactly one"),
        ({"abs": 1, "rel": 1}, ValueError, "exactly one"),
        ({"abs": 1, "lossless": True}, ValueError, "exactly one"),
        ({"abs": 0.0}, szgpu.BoundError, "bound"),
        ({"abs": float("nan")}, szgpu.BoundError, "bound"),
        ({"rel": float("inf")}, szgpu.BoundError, "bound"),
        ({"abs": 1, "predictor": "magic"}, ValueError, "lorenzo"),
        ({"abs": 1, "layout": "round"}, ValueError, "tile"),
        ({"abs": 1, "zstd": 99}, szgpu.ArgumentError, "zstd|level|range"),
        ({"abs": 1, "zstd": 1.5}, TypeError, "zstd is 1.5"),
        ({"abs": 1, "threads": -1}, szgpu.ArgumentError, "threads is -1"),
        ({"abs": 1, "threads": "2"}, TypeError, "threads is '2'"),
        ({"abs": 1, "frame_rows": -1}, szgpu.ArgumentError, "frame_rows is -1"),
        ({"abs": 1, "predictor": ["auto"]}, ValueError, "lorenzo"),
        ({"abs": 1, "layout": "linear", "predictor": "interpolation"}, szgpu.Error, "."),
        ({"lossless": True, "fill": 1.0}, szgpu.ArgumentError, "fill"),
        ({"abs": 1, "fill": 1e300}, szgpu.ArgumentError, r"fill value 1\.\d*e\+300 is not "
                                                         r"representable"),
    ],
)
def test_settings_that_make_no_sense(settings, error, words):
    with pytest.raises(error, match=words):
        szgpu.compress(A, **settings)


def test_out_must_be_writable_contiguous_and_of_the_right_shape():
    frozen = np.empty_like(A)
    frozen.flags.writeable = False
    for out, words in (
        (frozen, "read-only"),
        (np.empty((64, 128), "f4")[:, ::2], "contiguous"),
        (np.empty((64, 63), "f4"), "shape"),
    ):
        with pytest.raises(ValueError, match=words):
            szgpu.decompress(ARCHIVE, out=out)
    with pytest.raises(TypeError, match="float64"):
        szgpu.decompress(ARCHIVE, out=np.empty((64, 64)))
    with pytest.raises(TypeError, match=">f4"):
        szgpu.decompress(ARCHIVE, out=np.empty((64, 64), ">f4"))
    small = np.zeros(100, "u1")
    with pytest.raises(szgpu.CapacityError, match="larger out"):
        szgpu.compress(A, abs=1e-3, out=small)
    assert not small.any()


@pytest.mark.parametrize(
    ("damage", "error", "remedy"),
    [
        (lambda b: b[:-1], szgpu.TruncatedError, "intact copy"),
        (lambda b: b + b"x", szgpu.TrailingBytesError, "without the bytes that follow"),
        (lambda b: b"", szgpu.TruncatedError, "intact copy"),
        (lambda b: b"x" * 500, szgpu.NotAnArchiveError, "the result of szgpu.compress"),
        (lambda b: b[:8] + b"\xff\xff" + b[10:], szgpu.NewerVersionError, "newer szgpu"),
        (lambda b: b[:20] + bytes([b[20] ^ 1]) + b[21:], szgpu.ChecksumError, "intact copy"),
        (lambda b: b[:-40] + bytes([b[-40] ^ 1]) + b[-39:], szgpu.ChecksumError, "intact copy"),
    ],
)
def test_damaged_archives(damage, error, remedy):
    damaged = damage(ARCHIVE)
    with pytest.raises(error, match=remedy):
        szgpu.decompress(damaged)
    out = np.full_like(A, 7)
    with pytest.raises(error):
        szgpu.decompress(damaged, out=out)
    assert (out == 7).all()  # nothing is half-written


@pytest.mark.parametrize("slab", [(0, 0), (5, 5), (64, 70), slice(0, 64, 2), slice(9, 3)])
def test_slabs_that_are_none(slab):
    with pytest.raises(ValueError, match="slab"):
        szgpu.decompress(ARCHIVE, slab=slab)


@pytest.mark.parametrize("slab", [3, "ab", (0.5, 3)])
def test_slabs_that_are_no_rows(slab):
    with pytest.raises(TypeError, match="neither a slice nor a pair"):
        szgpu.decompress(ARCHIVE, slab=slab)


def test_frames_that_are_not_there():
    info = szgpu.inspect(ARCHIVE)
    for first, count in ((-1, None), (0, 2), (1, 1), (0, 1 << 62)):
        with pytest.raises(szgpu.ArgumentError, match="frame"):
            info.frames(first, count)


def test_slabs_of_arrays_in_fortran_order():
    with pytest.raises(ValueError, match="Fortran"):
        szgpu.decompress(szgpu.compress(np.asfortranarray(A), abs=1), slab=(0, 1))


def test_levels_that_are_not_there():
    with pytest.raises(szgpu.Error):
        szgpu.decompress(szgpu.compress(A, abs=1e-3, predictor="lorenzo"), level=1)
    with pytest.raises(szgpu.Error):
        szgpu.decompress(ARCHIVE, level=7)
    with pytest.raises(ValueError, match="slab and level"):
        szgpu.decompress(ARCHIVE, slab=(0, 1), level=1)


def test_types_that_the_archive_does_not_have():
    with pytest.raises(TypeError, match="float32"):
        szgpu.decompress(ARCHIVE, dtype="float64")
    assert szgpu.decompress(ARCHIVE, dtype="f4").dtype == np.float32  # was refused
    with pytest.raises(TypeError, match="int32"):
        szgpu.decompress(szgpu.compress(np.zeros(3, "u1"), lossless=True), dtype="int32")


def test_bits_are_not_values_of_another_type():
    """They came back as numbers of the type that was asked for."""
    i2, u1 = np.array([-1, -2], "i2"), np.array([2, 7], "u1")
    for a, settings, names in (
        (A, {"abs": 1e-3}, ("int32", "uint32", "float64", "datetime64[s]", "nonsense")),
        (A, {"lossless": True}, ("int32", "bool")),
        (A.astype("f2"), {"abs": 1e-3}, ("int16", "uint16", "bfloat16")),
        (A.astype(ml_dtypes.bfloat16), {"abs": 1e-3}, ("int16", "float16")),
        (i2, {"abs": 1}, ("uint16", "float16")),
        (u1, {"abs": 1}, ("bool", "int8", "float8_e4m3fn")),
    ):
        archive = szgpu.compress(a, **settings)
        for name in names:
            with pytest.raises(TypeError, match=name.partition("[")[0]):
                szgpu.decompress(archive, dtype=name)
            with pytest.raises(TypeError, match=name.partition("[")[0]):
                szgpu.decompress_many([archive], dtype=name)
            if name != "nonsense":
                dtype = getattr(ml_dtypes, name, name)
                with pytest.raises(TypeError, match=name.partition("[")[0]):
                    szgpu.decompress(archive, out=np.empty(a.shape, dtype))
    for a, name in ((A > 0, "bool"), (np.arange(9), "int64"), (u1.view(bool), "bool")):
        assert np.array_equal(szgpu.decompress(szgpu.compress(a, lossless=True), dtype=name), a)
    bits = szgpu.decompress(szgpu.compress(A.astype(ml_dtypes.bfloat16), lossless=True), dtype="u2")
    assert np.array_equal(bits, A.astype(ml_dtypes.bfloat16).view("u2"))


@pytest.mark.parametrize("value", [
    True, np.True_, np.array(True), np.ma.masked, "1", b"1", np.array([0.01]), np.timedelta64(1, "s"), np.complex64(1), 1j, {},
])
def test_what_is_no_number_is_refused(value):
    for name in ("abs", "fill", "zstd"):
        if name == "fill" and isinstance(value, np.ndarray):
            continue  # one of one value
        with pytest.raises(TypeError, match=f"{name} is .*not a (whole )?number"):
            szgpu.compress(A, **({"abs": 1} | {name: value}))


def test_whole_numbers_are_not_truth_values_and_numbers_have_ends():
    for call in (
        lambda: szgpu.compress(A, abs=1, frame_rows=True),
        lambda: szgpu.Compressor(threads=True),
        lambda: szgpu.decompress(ARCHIVE, level=True),
    ):
        with pytest.raises(TypeError, match="True, which is not a whole number"):
            call()
    for name in ("abs", "fill"):
        with pytest.raises(szgpu.ArgumentError, match=f"{name} is beyond the range"):
            szgpu.compress(A, **({"abs": 1} | {name: 10**400}))


def test_lists_of_masked_arrays_are_refused():
    """Their masks were lost."""
    with pytest.raises(TypeError, match="no mask"):
        szgpu.compress([A[0], np.ma.array(A[1], mask=A[1] > 0)], abs=1)


@pytest.mark.parametrize("settings", [{"abs": 0.01}, {"lossless": True}])
def test_the_field_and_the_archive_may_not_share_memory(settings):
    """The archive restored to other values."""
    room = np.empty(4 * A.nbytes, "u1")
    for first in (0, A.nbytes // 2, A.nbytes - 4):
        field = room[first : first + A.nbytes].view("f4").reshape(A.shape)
        field[...] = A
        with pytest.raises(szgpu.ArgumentError, match="share memory"):
            szgpu.compress(field, out=room[: A.nbytes], **settings)
        assert np.array_equal(field, A)
    archive = np.frombuffer(szgpu.compress(A, **settings), "u1")
    room[: archive.size] = archive
    for first in (0, archive.size // 8 * 4):
        out = room[first : first + A.nbytes].view("f4").reshape(A.shape)
        for part in ({}, {"region": np.s_[:, :32]}, {"slab": (0, 8)}):
            target = out[:8] if "slab" in part else out.reshape(-1)[:2048].reshape(64, 32)
            with pytest.raises(szgpu.ArgumentError, match="share memory"):
                szgpu.decompress(room[: archive.size], out=target if part else out, **part)
    apart = room[-A.nbytes :].view("f4").reshape(A.shape)
    assert abs(szgpu.decompress(room[: archive.size], out=apart) - A).max() <= 0.01


def test_both_zeros_are_kept_if_both_are_named():
    a = np.linspace(-1, 1, 2000, dtype="f4")
    a[::5], a[1::5] = 0.0, -0.0
    b = szgpu.decompress(szgpu.compress(a, abs=0.3, fill=[0.0, -0.0]))
    assert np.array_equal(b[a == 0].view("u4"), a[a == 0].view("u4"))


def test_big_endian_integers_keep_their_values():
    """They came back with their bytes reversed, into out= and by dtype=."""
    counts = np.arange(12, dtype=">i4")
    archive = szgpu.compress(counts, lossless=True)
    assert np.array_equal(szgpu.decompress(archive, dtype=">i4"), counts)
    with pytest.raises(TypeError, match="order"):
        szgpu.decompress(archive, out=np.empty(12, ">i4"))


def test_errors_know_their_status_and_are_ordinary_ones():
    with pytest.raises(szgpu.CorruptError) as caught:
        szgpu.decompress(ARCHIVE[:-1])
    assert caught.value.status == 9 and isinstance(caught.value, ValueError)
    with pytest.raises(TypeError, match="bytes"):
        szgpu.decompress(object())


def test_one_object_is_not_for_two_threads_at_once():
    mine = szgpu.Compressor(threads=1)
    big = np.random.default_rng(1).normal(size=(64, 256, 256)).astype("f4")
    entered, leave = threading.Event(), threading.Event()

    def wait(done: int, total: int) -> None:
        entered.set()
        leave.wait(60)

    worker = threading.Thread(target=lambda: mine.compress(big, abs=1e-3, progress=wait))
    worker.start()
    assert entered.wait(60)
    try:
        with pytest.raises(ValueError, match="thread"):
            mine.compress(A, abs=1e-3)
    finally:
        leave.set()
        worker.join()
    assert mine.compress(A, abs=1e-3) == ARCHIVE


@pytest.mark.skipif(szgpu.build_info()["cuda"], reason="this build has the CUDA backend")
def test_a_build_without_cuda_says_so():
    with pytest.raises(szgpu.UnsupportedError, match="without the CUDA backend"):
        szgpu.Compressor(backend="cuda")


def test_a_limit_of_memory_is_kept():
    small = szgpu.Compressor(memory_limit=1000)
    for call in (lambda: small.compress(A, abs=1e-3), lambda: small.decompress(ARCHIVE)):
        with pytest.raises(szgpu.MemoryLimitError) as caught:
            call()
        assert isinstance(caught.value, MemoryError)
