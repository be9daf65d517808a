"""Settings as Python gives them, buffers as Python has them, and warnings as the command gives."""

from __future__ import annotations

import array
import copy
import mmap
import pickle
import subprocess
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import szgpu
import szgpu.hdf5
from szgpu.numcodecs import Szgpu
from szgpu.zarr import SzgpuCodec

A = np.sin(np.linspace(0, 9, 64 * 64)).astype("f4").reshape(64, 64)
DOORS = {
    "compress": lambda **settings: szgpu.compress(A, **settings),
    "compress_many": lambda **settings: szgpu.compress_many([], **settings),
    "numcodecs": Szgpu,
    "zarr": SzgpuCodec,
}


# ---- settings ----


@pytest.mark.parametrize("door", DOORS)
def test_settings_are_numbers_of_any_library(door):
    for bound in (np.float32(1e-3), np.float64(1e-3), np.array(1e-3), 1, np.int64(1),
                  Decimal("0.001"), Fraction(1, 1000)):
        for mode in ("abs", "rel", "psnr"):
            DOORS[door](**{mode: bound}, zstd=np.int64(1), fill=np.int16(-99))
    for fill in (None, -99, [], [-99], (np.float32(-99),), np.array([-99.0]), [-99, -99.0]):
        DOORS[door](abs=1e-3, fill=fill)
    DOORS[door](lossless=np.bool_(True), zstd=np.uint8(3))
    DOORS[door](abs=1e-3, lossless=np.bool_(False))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({}, ValueError, "exactly one"),
        ({"abs": 1, "rel": 1}, ValueError, "exactly one"),
        ({"abs": True}, TypeError, "abs is True"),  # it was a bound of 1
        ({"rel": np.True_}, TypeError, "rel is True"),
        ({"abs": "0.1"}, TypeError, "'0.1', which is not a number"),
        ({"abs": [0.1]}, TypeError, "not a number"),
        ({"abs": 1j}, TypeError, "not a number"),
        ({"abs": 0}, szgpu.BoundError, "finite positive"),
        ({"abs": np.nan}, szgpu.BoundError, "finite positive"),
        ({"psnr": np.inf}, szgpu.BoundError, "finite positive"),
        ({"pwrel": 1}, szgpu.BoundError, "not below 1"),
        ({"lossless": "no"}, TypeError, "neither True nor False"),
        ({"abs": 1, "zstd": 20}, szgpu.ArgumentError, "zstd is 20"),
        ({"abs": 1, "zstd": 1.5}, TypeError, "zstd is 1.5"),
        ({"abs": 1, "predictor": "magic"}, ValueError, "lorenzo"),
        ({"abs": 1, "fill": "missing"}, TypeError, "fill is 'missing'"),
        ({"abs": 1, "fill": True}, TypeError, "fill is True"),
        ({"abs": 1, "fill": [1, 2, 3, 4, 5]}, szgpu.ArgumentError, "at most 4"),
        ({"lossless": True, "fill": 1}, szgpu.ArgumentError, "leave fill out"),
    ],
)
def test_settings_are_refused_by_the_same_sentence_everywhere(door, settings, error, words):
    with pytest.raises(error, match=words):
        DOORS[door](**settings)


def test_up_to_four_fill_values_come_back_exactly():
    fills = [-999, -888, 0.25, 1e30]
    array = np.linspace(-2, 3, 9000, dtype="float32").reshape(90, 100)
    array[10:20] = np.float32(fills[0])
    array[:, 7] = np.float32(fills[1])
    array[::9, ::11] = np.float32(fills[2])
    array[-1, -1] = np.float32(fills[3])
    codec = Szgpu(abs=0.1, fill=fills)
    assert codec.get_config()["fill"] == [float(fill) for fill in fills]
    archive = szgpu.compress(array, abs=0.1, fill=fills)
    assert szgpu.inspect(archive).fills == tuple(float(np.float32(fill)) for fill in fills)
    for restored in (szgpu.decompress(archive), codec.decode(codec.encode(array))):
        is_fill = np.isin(array, np.float32(fills))
        assert np.array_equal(restored[is_fill], array[is_fill])
        assert abs(restored - array).max() <= 0.1


def test_codecs_keep_what_stands_far_from_all_others_and_the_range():
    array = 10 + np.sin(np.arange(9000, dtype="float32") / 50)
    array[::7], array[5] = -9999, -888
    restored = Szgpu(abs=0.01).decode(Szgpu(abs=0.01).encode(array))
    assert np.array_equal(restored == -9999, array == -9999) and restored[5] == -888
    data = array > 0
    assert restored[data].min() >= array[data].min() and restored[data].max() <= array[data].max()


def test_compressors_are_copied_and_pickled():
    mine = szgpu.Compressor(threads=np.int64(1), backend="cpu", memory_limit=1000)
    for other in (copy.copy(mine), copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert other is not mine
        with pytest.raises(szgpu.MemoryLimitError):
            other.compress(A, abs=1e-3)
    codec = pickle.loads(pickle.dumps(Szgpu(abs=1e-3)))
    assert codec.encode(A) == Szgpu(abs=1e-3).encode(A)


# ---- buffers ----


def test_bytes_come_back_without_loss():
    data = b"some text, many times. " * 99
    pages = mmap.mmap(-1, len(data))
    pages.write(data)
    for buffer in (data, bytearray(data), memoryview(data), pages, array.array("b", data)):
        assert szgpu.decompress(szgpu.compress(buffer, lossless=True)).tobytes() == data
        with pytest.raises(TypeError, match="np.frombuffer"):
            szgpu.compress(buffer, abs=1)
    with pytest.raises(ValueError, match="no values"):
        szgpu.compress(b"", lossless=True)


def test_buffers_know_their_types():
    for numbers in (array.array("d", [1, 2.5]), memoryview(np.array([[1, 2.5]])), [1, 2.5]):
        b = szgpu.decompress(szgpu.compress(numbers, abs=0.1))
        assert b.dtype == np.float64 and abs(b - np.asarray(numbers)).max() <= 0.1


def test_memory_that_is_not_aligned_is_read_and_written():
    def shifted(a: np.ndarray) -> np.ndarray:
        b = np.frombuffer(bytearray(a.nbytes + 1), "u1")[1:].view(a.dtype).reshape(a.shape)
        b[...] = a
        assert not b.flags.aligned
        return b

    for a in (A, A.astype("f8"), (A * 99).astype("i2")):
        archive = szgpu.compress(shifted(a), abs=1e-2)
        assert archive == szgpu.compress(a, abs=1e-2)
        out = shifted(np.zeros_like(a))
        assert szgpu.decompress(archive, out=out) is out
        assert np.array_equal(out, szgpu.decompress(archive))
    packed = np.zeros(99, np.dtype([("flag", "u1"), ("value", "f8")]))
    packed["value"] = np.arange(99)
    b = szgpu.decompress(szgpu.compress(packed["value"], abs=0.1))
    assert abs(b - np.arange(99)).max() <= 0.1


@pytest.mark.parametrize("name", ["i1", "u1", "i2", "u2", "i4"])
def test_integers_need_no_type_to_come_back_without_loss(name):
    """They came back as bytes."""
    a = np.random.default_rng(1).integers(0, 1 << 40, size=(20, 30)).astype(name)
    for values in (a, np.asfortranarray(a), a.astype(a.dtype.newbyteorder(">"))):
        b = szgpu.decompress(szgpu.compress(values, lossless=True))
        assert b.dtype == a.dtype and np.array_equal(a, b)
        assert b.flags.f_contiguous == values.flags.f_contiguous


@pytest.mark.parametrize("name", ["u4", "i8", "u8", "?", "c8", "c16", "M8[ns]", "m8[D]", "g"])
def test_other_types_come_back_as_what_they_are_said_to_be(name):
    a = np.random.default_rng(1).integers(0, 1 << 40, size=(20, 30)).astype(name)
    archive = szgpu.compress(a, lossless=True)
    assert szgpu.decompress(archive).dtype == np.uint8
    b = szgpu.decompress(archive, dtype=name)
    assert b.dtype == a.dtype and a.tobytes() == b.tobytes()
    assert np.array_equal(szgpu.decompress(archive, dtype=name, region=np.s_[3:9, 5]), a[3:9, 5])


def test_archives_of_integers_as_bytes_are_read():
    """Python made such archives before it kept these types."""
    a = np.arange(600, dtype="i4").reshape(20, 30)
    archive = szgpu.compress(a.view("u1"), lossless=True)
    assert np.array_equal(szgpu.decompress(archive, dtype="i4"), a)
    assert np.array_equal(Szgpu(lossless=True).decode(archive).view("i4"), a)


# ---- warnings ----


def ocean(fill: float = -9999, dtype: str = "f4") -> np.ndarray:
    a = (A + 280).astype(dtype)
    a[:9] = fill
    return a


def warned(call) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(one.category is UserWarning and one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


def test_values_that_look_like_fill_are_warned_of():
    a = ocean()
    for call in (
        lambda: szgpu.compress(a, abs=0.01),
        lambda: szgpu.Compressor().compress(a, abs=0.01, out=np.empty(1 << 16, "u1")),
        lambda: szgpu.compress_many([a], abs=0.01),
    ):
        (sentence,) = warned(call)
        assert sentence == (
            "14 % of its values are -9999, far from all others; if that means missing, add "
            "fill=-9999: otherwise it may not be restored exactly"
        )
    (sentence,) = warned(lambda: szgpu.compress(a, rel=1e-3))
    assert sentence.endswith("add fill=-9999: the bound is then 0.002, not 10.3")
    (sentence,) = warned(lambda: szgpu.compress(ocean(99.5, "f8"), psnr=80))
    assert "add fill=99.5" in sentence


def test_a_series_warns_too(tmp_path):
    with szgpu.Series(tmp_path / "run.szgs", "a") as series:
        assert len(warned(lambda: series.append(ocean(), abs=0.01))) == 1


def test_nothing_is_warned_of_where_nothing_is_lost():
    a = ocean()
    for settings in ({"abs": 0.01, "fill": -9999}, {"lossless": True}, {"pwrel": 1e-3},
                     {"abs": 1e-4}):
        assert warned(lambda: szgpu.compress(a, **settings)) == []  # noqa: B023
    assert warned(lambda: szgpu.compress(A, abs=0.01)) == []
    assert warned(lambda: szgpu.compress(ocean(np.nan), abs=0.01)) == []


def test_the_command_warns_by_the_same_rule(tmp_path):
    rng = np.random.default_rng(3)
    command = szgpu.build_info()["command"]
    seen = set()
    for number in range(40):
        dtype = str(rng.choice(["f4", "f8", "i2", "f2"]))
        a = np.asarray(rng.normal(size=(40, 50)) * 10 + 50).astype(dtype)
        a[rng.random(a.shape) < rng.choice([0, 0.001, 0.01, 0.3])] = rng.choice([-999, 0, 9000])
        np.save(tmp_path / "a.npy", a)
        words, settings = (["-m", "abs", "-e", "1"], {"abs": 1}) if number % 2 else (
            ["-e", "0.01"], {"rel": 0.01})
        printed = subprocess.run([command, "-z", "-f", *words, str(tmp_path / "a.npy")],
                                 capture_output=True, text=True, check=True).stderr
        told = [line.split("warning: ")[1] for line in printed.splitlines() if "far from" in line]
        found = warned(lambda: szgpu.compress(a, **settings))  # noqa: B023
        assert [line.replace("--fill ", "fill=") for line in told] == found
        seen.add(len(found))
    assert seen == {0, 1}
