"""test_hdf5.py - szgpu.hdf5: what h5py is given comes back, and what is not compressed is told.

SPDX-License-Identifier: BSD-3-Clause
"""

import copy
import pickle
import struct
import subprocess
import sys
import textwrap
import warnings

import szgpu
import szgpu.hdf5
from szgpu.hdf5 import Filter, FilterWarning

import h5netcdf
import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

NUMBERS = np.arange(6000).reshape(60, 100) // 50
BOUNDED = [order + kind for kind in ("f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4") for order in "<>"]
OTHERS = ["<u4", ">u4", "<i8", ">i8", "<u8", ">u8", "?", "<c8", ">c8", "<c16", ">c16"]
BYTES = ["S5", "S1", "V7", [("a", "<i4"), ("b", ">f8"), ("c", "S3")], [("p", "<f4", (3,))]]


def values_of(dtype):
    dtype = np.dtype(dtype)
    if dtype.kind in "SV":
        raw = np.repeat(NUMBERS.astype("u1"), dtype.itemsize)
        return np.frombuffer(raw.tobytes(), dtype).reshape(60, 100)
    return NUMBERS.astype(dtype)


def written(path, data, how, **more):
    """The dataset's values, its type and its first chunk, after they went through a file."""
    with h5py.File(path, "w") as file:
        file.create_dataset("d", data=data, **{"chunks": data.shape, "compression": how, **more})
    with h5py.File(path) as file:
        dataset = file["d"]
        filters = dataset.id.get_create_plist()
        assert filters.get_filter(0)[0] == szgpu.hdf5.FILTER_ID
        return dataset[...], dataset.dtype, dataset.id.read_direct_chunk((0,) * data.ndim)


@pytest.fixture
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", FilterWarning)
        yield


# ---- types ----


@pytest.mark.parametrize("dtype", BOUNDED + OTHERS + BYTES, ids=str)
def test_every_type_is_lossless(tmp_path, dtype, no_warning):
    data = values_of(dtype)
    back, kind, (mask, chunk) = written(tmp_path / "d.h5", data, Filter(lossless=True))
    assert kind == data.dtype and back.tobytes() == data.tobytes()
    assert mask == 0 and len(chunk) < data.nbytes


@pytest.mark.parametrize("dtype", BOUNDED)
def test_types_with_a_bound_keep_it(tmp_path, dtype, no_warning):
    data = values_of(dtype)
    back, kind, (mask, chunk) = written(tmp_path / "d.h5", data, Filter(abs=2))
    assert kind == data.dtype
    assert 0 < abs(back.astype("f8") - data.astype("f8")).max() <= 2
    assert mask == 0 and len(chunk) < data.nbytes


@pytest.mark.parametrize("dtype", OTHERS + BYTES, ids=str)
def test_types_without_a_bound_are_lossless_and_told(tmp_path, dtype):
    data = values_of(dtype)
    with pytest.warns(FilterWarning, match="compressed losslessly: a bound is for") as told:
        back, kind, (mask, chunk) = written(tmp_path / "d.h5", data, Filter(abs=2))
    assert len(told) == 1 and told[0].filename == __file__
    assert kind == data.dtype and back.tobytes() == data.tobytes()
    assert mask == 0 and len(chunk) < data.nbytes


@pytest.mark.parametrize("dtype", BOUNDED + OTHERS)
@pytest.mark.parametrize("how", [{"lossless": True}, {"abs": 1e-9}, {"rel": 1e-4}], ids=str)
def test_as_hdf5plugin_tests_filters(tmp_path, dtype, how):
    data = np.ones((1000,), dtype=dtype).reshape(100, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FilterWarning)
        back, kind, (_, chunk) = written(tmp_path / "d.h5", data, Filter(**how))
    assert kind == data.dtype and len(chunk) < data.nbytes
    assert np.allclose(back, data) and (how != {"lossless": True} or np.array_equal(back, data))


def test_netcdf4_reads_what_h5py_wrote(tmp_path):
    names = [name for name in BOUNDED + OTHERS[:6] if name[1:] != "f2"]
    for how, bound in ((Filter(lossless=True), 0), (Filter(abs=2), 2)):
        with h5py.File(tmp_path / "t.nc", "w") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", FilterWarning)
            for name in names:
                file.create_dataset(name, data=values_of(name), chunks=(60, 100), compression=how)
        with netCDF4.Dataset(tmp_path / "t.nc") as file:
            file.set_auto_mask(False)
            for name in names:
                assert abs(file[name][:].astype("f8") - NUMBERS).max() <= bound, name


def test_many_axes(tmp_path, no_warning):
    data = np.sin(np.arange(20 * 720.0)).reshape(4, 5, 6, 5, 4, 6)
    back, _, (mask, _) = written(tmp_path / "d.h5", data, Filter(abs=1e-3))
    assert mask == 0 and 0 < abs(back - data).max() <= 1e-3


def test_random_datasets(tmp_path):
    """Types, shapes, chunks that do not divide, fill values and other filters, drawn at random."""
    random = np.random.default_rng(1)
    types = BOUNDED + OTHERS
    for number in range(300):
        name = types[random.integers(len(types))]
        dtype = np.dtype(name)
        shape = tuple(random.integers(1, 30, random.integers(1, 6)))
        chunks = tuple(int(random.integers(1, n + 1)) for n in shape)
        data = (random.normal(60, 15, shape)).astype(dtype)
        bound = float(random.choice((0, 1e-3, 0.5, 4)))
        how = Filter(abs=bound) if bound else Filter(lossless=True)
        fill = random.choice((None, 0, 7)) if dtype.kind in "fiub" else None
        if fill is not None:
            data[random.random(shape) < 0.3] = fill
        more = {other: bool(random.integers(2)) for other in ("shuffle", "fletcher32")}
        with warnings.catch_warnings(), h5py.File(tmp_path / "r.h5", "w") as file:
            warnings.simplefilter("ignore", FilterWarning)
            file.create_dataset("d", data=data, chunks=chunks, fillvalue=fill, compression=how, **more)
        with h5py.File(tmp_path / "r.h5") as file:
            back = file["d"][...]
        assert back.dtype == dtype
        if bound == 0 or name not in BOUNDED:
            assert back.tobytes() == data.tobytes(), (number, dtype)
        else:
            assert abs(back.astype("f8") - data.astype("f8")).max() <= bound, (number, dtype)
        if fill is not None:
            assert (back[data == fill] == fill).all()


def test_no_value_becomes_the_fill_value_among_the_data(tmp_path):
    y, x = np.indices((128, 128))
    data = np.rint(900 * np.sin(x / 19) * np.cos(y / 23) + 3 * np.sin(x * y)).astype("i2")
    how = Filter(abs=50, predictor="interpolation")
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file.create_dataset("d", data=data, chunks=(64, 64), fillvalue=100, compression=how)
    with h5py.File(tmp_path / "d.h5") as file:
        assert ((file["d"][...] == 100) == (data == 100)).all()


# ---- told ----


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"shuffle": True}, "must be the first filter"),
        ({"chunks": (4, 4)}, "less than 512 bytes"),
    ],
)
def test_what_is_not_compressed_is_told(tmp_path, more, words):
    data = np.random.default_rng(0).normal(size=(64, 64)).astype("f4")
    for how in ({"compression": Filter(abs=0.01)}, {**Filter(abs=0.01)}):
        with h5py.File(tmp_path / "d.h5", "w") as file:
            with pytest.warns(FilterWarning, match=words) as told:
                dataset = file.create_dataset("d", data=data, **{"chunks": (64, 64), **more, **how})
            assert len(told) == 1 and told[0].filename == __file__
            assert (dataset[...] == data).all()
            assert dataset.id.get_storage_size() == data.nbytes


def test_a_warning_can_be_an_error(tmp_path):
    with h5py.File(tmp_path / "d.h5", "w") as file, warnings.catch_warnings():
        warnings.simplefilter("error", FilterWarning)
        with pytest.raises((ValueError, OSError), match="must be the first filter.*leave that one out"):
            file.create_dataset("d", data=np.ones((64, 64)), shuffle=True, compression=Filter(abs=1))
        assert "d" not in file
        file.create_dataset("d", data=np.ones((64, 64)), compression=Filter(abs=1))


def test_warned_at_the_line_that_creates(tmp_path):
    ds = xr.Dataset({"w": (("y", "x"), NUMBERS.astype("i8"))})
    with pytest.warns(FilterWarning, match="compressed losslessly") as told:
        ds.to_netcdf(tmp_path / "w.nc", engine="h5netcdf", encoding={"w": {**Filter(abs=2)}})
    assert [w.filename for w in told if w.category is FilterWarning] == [__file__]
    with h5netcdf.File(tmp_path / "n.nc", "w") as file:
        file.dimensions = {"y": 60, "x": 100}
        with pytest.warns(FilterWarning, match="compressed losslessly"):
            file.create_variable("w", ("y", "x"), data=NUMBERS, compression=Filter(abs=2))


def test_bare_words_are_told_of_too(tmp_path):
    """Integers in words without the bit for named datasets, once somebody listens."""
    words = (1, 1, *struct.unpack("<II", struct.pack("<d", 4.0)))
    Filter(abs=1)
    with pytest.warns(FilterWarning, match="they may be ids or masks"):
        back, *_ = written(tmp_path / "d.h5", NUMBERS.astype("i4"), 480, compression_opts=words)
    assert (back == NUMBERS).all()


def test_threads_and_the_end_of_the_process(tmp_path):
    code = textwrap.dedent(f"""
        import threading, warnings
        import szgpu.hdf5, h5py, numpy as np
        warnings.simplefilter("always")
        file = h5py.File({str(tmp_path / "t.h5")!r}, "w")
        def make(i):
            for k in range(20):
                file.create_dataset(f"{{i}}_{{k}}", data=np.ones((8, 8)), shuffle=True, chunks=(8, 8),
                                    compression=szgpu.hdf5.Filter(abs=1))
        threads = [threading.Thread(target=make, args=(i,)) for i in range(4)]
        [t.start() for t in threads]; [t.join() for t in threads]
        print(len(file))
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout == "80\n", done.stderr
    assert done.stderr.count("must be the first filter") == 80


# ---- settings ----


def test_filter_is_a_filter_of_h5py_and_a_mapping():
    one = Filter(abs=np.float32(0.5), zstd=np.int64(3), predictor="lorenzo")
    low, high = struct.unpack("<II", struct.pack("<d", 0.5))
    assert isinstance(one, h5py.filters.FilterRefBase)
    assert dict(one) == {"compression": 480, "compression_opts": (1, 1, low, high, 0x803 | 0x200)}
    assert Filter(lossless=True).filter_options == (1, 3, 0, 0, 0)
    for other in (copy.copy(one), pickle.loads(pickle.dumps(one))):
        assert other == one and hash(other) == hash(one)
    assert one != Filter(abs=0.5) and len({one, Filter(abs=0.5), copy.copy(one)}) == 2


def test_arguments_are_those_of_the_command():
    command = szgpu.build_info()["command"]
    for words, how in (
        (["-m", "abs", "-e", "0.01"], Filter(abs=0.01)),
        (["-m", "psnr", "-e", "80", "--zstd"], Filter(psnr=80, zstd=3)),
        (["-m", "lossless"], Filter(lossless=True)),
        (["-e", "1e-4", "--predictor", "lorenzo"], Filter(rel=1e-4, predictor="lorenzo")),
        (["-m", "abs", "-e", "2", "--fill", "-9999"], Filter(abs=2, fill=-9999)),
    ):
        printed = subprocess.run(
            [command, "--h5-args", "--named", *words], capture_output=True, text=True, check=True
        )
        assert f"compression_opts={how.filter_options}\n" in printed.stdout


@pytest.mark.parametrize("fill", [-9999, np.float32(-9999), [-9999.0], (np.int16(-9999),)], ids=str)
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "<i2", ">i4"])
def test_a_named_fill_value_comes_back(tmp_path, dtype, fill, no_warning):
    data = (280 + 10 * np.sin(np.arange(6000.0) / 9)).reshape(60, 100).astype(dtype)
    data[::7] = -9999
    back, _, (mask, _) = written(tmp_path / "d.h5", data, Filter(abs=4, fill=fill))
    assert mask == 0 and (back[::7] == -9999).all() and (back != data).any()
    assert abs(back.astype("f8") - data.astype("f8")).max() <= 4


def test_settings_that_make_no_sense():
    for settings, error, words in (
        ({"abs": 1, "fill": (1, 2, 3, 4, 5)}, ValueError, "5 different values"),
        ({"abs": 1, "fill": "no"}, TypeError, "not a number"),
        ({"abs": 1, "fill": object()}, TypeError, "not a number"),
        ({"lossless": True, "fill": 1}, ValueError, "leave fill out"),
        ({"abs": 1, "rel": 1}, ValueError, "exactly one"),
    ):
        with pytest.raises(error, match=words):
            Filter(**settings)


def test_a_fill_value_that_the_type_lacks_is_refused(tmp_path):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        with pytest.raises((ValueError, OSError), match="szgpu.*70000"):
            file.create_dataset("d", data=NUMBERS.astype("i2"), compression=Filter(abs=2, fill=70000))
        assert "d" not in file
