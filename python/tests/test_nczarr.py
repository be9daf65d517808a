"""test_nczarr.py - netCDF-C reads and writes zarr with the plugin as a codec, and zarr-python agrees.

SPDX-License-Identifier: BSD-3-Clause

netCDF4's own libnetcdf is called by ctypes, because netCDF4 cannot select filters. Debian's cannot
load codecs; then these tests are skipped.
"""

import ctypes
import importlib.util
import json
import os
import re
import subprocess
import sys
import textwrap

_netcdf4 = importlib.util.find_spec("netCDF4")
if _netcdf4 is not None and _netcdf4.submodule_search_locations:  # its wheel's filters for zarr
    _plugins = os.path.join(_netcdf4.submodule_search_locations[0], "plugins")
    os.environ.setdefault("HDF5_PLUGIN_PATH", _plugins)

import szgpu
import szgpu.hdf5  # before netCDF4, whose netCDF-C reads the folders of plugins once
from szgpu.numcodecs import Szgpu

import netCDF4
import numpy as np
import pytest
import zarr

with open("/proc/self/maps", encoding="utf-8") as maps:
    LIBRARY = re.search(r"/\S*/libnetcdf[-.][^/\s]*", maps.read()).group()
NETCDF = ctypes.CDLL(LIBRARY)
NETCDF.nc_strerror.restype = ctypes.c_char_p
NO_FILTER, BAD_FILTER, NETCDF4, CLOBBER, WRITE = -136, -132, 0x1000, 0, 1
BIG_ENDIAN = 2
ABS, LOSSLESS = 1, 3
NAMED = 2048
TYPES = {"i1": 1, "i2": 3, "i4": 4, "f4": 5, "f8": 6, "u1": 7, "u2": 8, "u4": 9, "i8": 10, "u8": 11}
BOUNDED = {"i1", "u1", "i2", "u2", "i4", "f4", "f8"}
CHUNKS = (12, 16)  # of (30, 40): two chunks out of three are cut off in each direction


class NetcdfError(Exception):
    def __init__(self, status):
        super().__init__(status, NETCDF.nc_strerror(status).decode())
        self.status = status


def call(name, *arguments):
    status = getattr(NETCDF, name)(*arguments)
    if status:
        raise NetcdfError(status)


def url(path):
    return f"file://{path}#mode=nczarr,file".encode()


def vector(kind, values):
    return (kind * max(len(values), 1))(*values)


def words(mode, bound=0.0, options=NAMED, fills=()):
    halves = np.array([bound, *fills], "<f8").view("<u4").tolist()
    return [1, mode, *halves[:2], options | len(fills) << 12, *halves[2:]]


class Store:
    """A store that netCDF-C makes or opens."""

    def __init__(self, path, mode=None):
        self.file = ctypes.c_int()
        if mode is None:
            call("nc_create", url(path), NETCDF4 | CLOBBER, ctypes.byref(self.file))
        else:
            call("nc_open", url(path), mode, ctypes.byref(self.file))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        call("nc_close", self.file)

    def define(self, name, dtype, shape, chunks, cd_values, fill=None, filters_before=()):
        """A variable with the filter. The metadata are not written yet."""
        dtype = np.dtype(dtype)
        dims, variable = (ctypes.c_int * len(shape))(), ctypes.c_int()
        for i, n in enumerate(shape):
            place = ctypes.byref(dims, i * ctypes.sizeof(ctypes.c_int))
            call("nc_def_dim", self.file, f"{name}{i}".encode(), ctypes.c_size_t(n), place)
        kind = TYPES[dtype.str[1:]]
        call("nc_def_var", self.file, name.encode(), kind, len(shape), dims, ctypes.byref(variable))
        call("nc_def_var_chunking", self.file, variable, 0, vector(ctypes.c_size_t, chunks))
        if dtype.byteorder == ">":
            call("nc_def_var_endian", self.file, variable, BIG_ENDIAN)
        if fill is not None:
            value = np.array(fill, dtype.newbyteorder("="))
            call("nc_def_var_fill", self.file, variable, 0, value.ctypes.data_as(ctypes.c_void_p))
        for number, arguments in (*filters_before, (szgpu.hdf5.FILTER_ID, cd_values)):
            call("nc_def_var_filter", self.file, variable, number, ctypes.c_size_t(len(arguments)),
                 vector(ctypes.c_uint, arguments))
        return variable

    def variable(self, name):
        variable = ctypes.c_int()
        call("nc_inq_varid", self.file, name.encode(), ctypes.byref(variable))
        return variable

    def put(self, variable, values, start=None):
        values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
        call("nc_put_vara", self.file, variable,
             vector(ctypes.c_size_t, start or (0,) * values.ndim),
             vector(ctypes.c_size_t, values.shape), values.ctypes.data_as(ctypes.c_void_p))

    def get(self, variable, shape, dtype):
        values = np.empty(shape, np.dtype(dtype).newbyteorder("="))
        call("nc_get_var", self.file, variable, values.ctypes.data_as(ctypes.c_void_p))
        return values

    def cd_values(self, variable):
        count = ctypes.c_size_t()
        number = szgpu.hdf5.FILTER_ID
        call("nc_inq_var_filter_info", self.file, variable, number, ctypes.byref(count), None)
        found = vector(ctypes.c_uint, [0] * count.value)
        call("nc_inq_var_filter_info", self.file, variable, number, None, found)
        return list(found)[: count.value]


@pytest.fixture(scope="module", autouse=True)
def netcdf_has_codecs(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("any") / "any.zarr") as store:
        if NETCDF.nc_inq_filter_avail(store.file, szgpu.hdf5.FILTER_ID) == NO_FILTER:
            pytest.skip(f"{os.path.basename(LIBRARY)} was built without codecs for zarr")


def waves(dtype, shape=(30, 40)):
    y, x = np.mgrid[: shape[0], : shape[1]]
    field = np.sin(y / 9) + np.cos(x / 7)
    dtype = np.dtype(dtype)
    return (field * 40 + 80 if dtype.kind == "u" else field * 40).astype(dtype)


def config_of(path, name):
    return json.loads((path / name / ".zarray").read_text())["compressor"]


def array_of_zarr(path):
    """netCDF-C writes `<i1`, and zarr-python takes `|i1` only."""
    metadata = path / "v" / ".zarray"
    text = re.sub('"dtype": "[<>]([iu]1)"', r'"dtype": "|\1"', metadata.read_text())
    metadata.write_text(text)
    return zarr.open_array(path / "v", mode="r")


def written(path, values, cd_values, **more):
    with Store(path) as store:
        variable = store.define("v", values.dtype, values.shape, CHUNKS, cd_values, **more)
        call("nc_enddef", store.file)
        store.put(variable, values)


def read(path, values):
    with Store(path, 0) as store:
        return store.get(store.variable("v"), values.shape, values.dtype)


# ---- what netCDF-C writes ----


@pytest.mark.parametrize("mode", [ABS, LOSSLESS])
@pytest.mark.parametrize("dtype", [order + kind for kind in TYPES for order in "<>"])
def test_zarr_reads_what_netcdf_wrote(tmp_path, dtype, mode):
    values = waves(dtype)
    written(tmp_path / "made.zarr", values, words(mode, 0.5 if mode == ABS else 0))
    by_zarr = array_of_zarr(tmp_path / "made.zarr")
    assert by_zarr.shape == values.shape and by_zarr.dtype.newbyteorder("=") == values.dtype.newbyteorder("=")
    by_netcdf = read(tmp_path / "made.zarr", values)
    assert by_zarr[...].tobytes() == by_netcdf.astype(by_zarr.dtype).tobytes()
    error = abs(by_netcdf.astype("f8") - values.astype("f8")).max()
    is_bounded = mode == ABS and dtype[1:] in BOUNDED
    assert 0 < error <= 0.5 if is_bounded and dtype[1] == "f" else error == 0 or is_bounded
    wanted = {"abs": 0.5} if is_bounded else {"lossless": True}
    assert config_of(tmp_path / "made.zarr", "v") == {"id": "szgpu", **wanted}


def test_the_command_of_the_netcdf4_package_reads_it(tmp_path):
    values = waves("f4")
    written(tmp_path / "made.zarr", values, words(ABS, 0.01))
    with netCDF4.Dataset(url(tmp_path / "made.zarr").decode()) as file:
        assert abs(file["v"][...] - values).max() <= 0.01


def test_a_chunk_that_does_not_shrink(tmp_path):
    values = np.random.default_rng(1).integers(0, 256, (30, 40), "u1")
    written(tmp_path / "made.zarr", values, words(LOSSLESS))
    assert (array_of_zarr(tmp_path / "made.zarr")[...] == values).all()
    assert (read(tmp_path / "made.zarr", values) == values).all()


def test_the_fill_value_is_kept(tmp_path):
    values = waves("f4")
    values[3:9, 4:30] = -1
    written(tmp_path / "made.zarr", values, words(ABS, 0.5), fill=-1)
    by_zarr = array_of_zarr(tmp_path / "made.zarr")
    assert by_zarr.fill_value == -1
    restored = by_zarr[...]
    assert ((restored == -1) == (values == -1)).all() and abs(restored - values).max() <= 0.5


def test_what_is_not_named_is_spared(tmp_path):
    """Integers are lossless unless the words name the variable, as in HDF5."""
    values = waves("i2")
    written(tmp_path / "made.zarr", values, words(ABS, 5, options=0))
    assert config_of(tmp_path / "made.zarr", "v") == {"id": "szgpu", "lossless": True}
    assert (read(tmp_path / "made.zarr", values) == values).all()


def test_a_part_is_written_again(tmp_path):
    values = waves("f4")
    written(tmp_path / "made.zarr", values, words(ABS, 0.01))
    with Store(tmp_path / "made.zarr", WRITE) as store:
        store.put(store.variable("v"), values[5:7] + 1, start=(5, 0))
    values[5:7] += 1
    assert abs(read(tmp_path / "made.zarr", values) - values).max() <= 0.01
    assert config_of(tmp_path / "made.zarr", "v") == {"id": "szgpu", "abs": 0.01}


def test_a_chunk_that_becomes_shorter(tmp_path):
    """netCDF-C leaves the end of the longer file behind, and the codec reads past it."""
    noise = np.random.default_rng(1).random((30, 40), "f4")
    written(tmp_path / "made.zarr", noise, words(ABS, 1e-5))
    size = (tmp_path / "made.zarr" / "v" / "0.0").stat().st_size
    with Store(tmp_path / "made.zarr", WRITE) as store:
        store.put(store.variable("v"), np.zeros((30, 40), "f4"))
    assert (tmp_path / "made.zarr" / "v" / "0.0").stat().st_size == size
    assert (read(tmp_path / "made.zarr", noise) == 0).all()


# ---- what zarr-python writes ----

SETTINGS = [
    {"abs": 0.01}, {"rel": 1e-3}, {"psnr": 60.0}, {"pwrel": 0.01}, {"lossless": True},
    {"abs": 0.01, "fill": -999.0}, {"abs": 0.01, "fill": (-999.0, 1e20, float("nan"))},
    {"abs": 0.01, "predictor": "lorenzo"}, {"abs": 0.01, "predictor": "interpolation"},
    {"abs": 1e-300, "zstd": 19}, {"lossless": True, "zstd": 3}, {"abs": 0.1 + 0.2},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_netcdf_reads_what_zarr_wrote(tmp_path, settings):
    values = waves("f8")
    array = zarr.create_array(tmp_path / "made.zarr", name="v", data=values, chunks=CHUNKS,
                              zarr_format=2, compressors=Szgpu(**settings))
    with Store(tmp_path / "made.zarr", 0) as store:
        variable = store.variable("v")
        assert store.get(variable, values.shape, "f8").tobytes() == array[...].tobytes()
        found = store.cd_values(variable)
    if not settings.get("lossless"):
        assert tuple(found) == szgpu.hdf5.Filter(**settings).filter_options
    # And back: netCDF-C writes the same configuration for these words.
    written(tmp_path / "again.zarr", values, found)
    assert Szgpu.from_config(config_of(tmp_path / "again.zarr", "v")) == Szgpu(**settings)


@pytest.mark.parametrize("dtype", [order + kind for kind in TYPES for order in "<>"])
def test_netcdf_reads_all_types(tmp_path, dtype):
    values = waves(dtype)
    settings = {"abs": 0.5} if dtype[1:] in BOUNDED else {"lossless": True}
    array = zarr.create_array(tmp_path / "made.zarr", name="v", data=values, chunks=CHUNKS,
                              zarr_format=2, compressors=Szgpu(**settings))
    restored = read(tmp_path / "made.zarr", values)
    assert (restored == array[...]).all()
    assert abs(restored.astype("f8") - values.astype("f8")).max() <= 0.5


# ---- what is refused, in one sentence ----

SAID = """
import ctypes, re, sys
import szgpu.hdf5, netCDF4
with open("/proc/self/maps") as maps:
    netcdf = ctypes.CDLL(re.search(r"/\\S*/libnetcdf[-.][^/\\s]*", maps.read()).group())
netcdf.ncsetloglevel(1)
file = ctypes.c_int()
status = netcdf.nc_open(sys.argv[1].encode(), 0, ctypes.byref(file))
if status == 0:
    variable = ctypes.c_int()
    status = netcdf.nc_inq_varid(file, b"v", ctypes.byref(variable))
    values = ctypes.create_string_buffer(1 << 20)
    status = status or netcdf.nc_get_var(file, variable, values)
print(status)
"""


def refused(path):
    """What netCDF-C's log says, and its status."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(SAID), url(path).decode()],
                          capture_output=True, text=True, check=True)
    said = [line for line in done.stderr.splitlines() if "szgpu" in line]
    return int(done.stdout), said


@pytest.mark.parametrize("config, sentence", [
    ({}, "does not say how exact"),
    ({"abs": 0.1, "rel": 0.1}, "does not say how exact"),
    ({"abs": 0.1, "new": 1}, "no setting 'new'"),
    ({"abs": 0.1, "valid": [0, 1]}, "no setting 'valid'"),
    ({"abs": "0.1"}, "abs is not a number"),
    ({"abs": True}, "abs is not a number"),
    ({"abs": [1]}, "abs is not a number"),
    ({"abs": 0}, "not a finite positive number"),
    ({"abs": -1.5}, "not a finite positive number"),
    ({"pwrel": 1}, "not below 1"),
    ({"lossless": 1}, "neither true nor false"),
    ({"lossless": True, "fill": 1}, "fill values are named for modes with a bound"),
    ({"abs": 1, "fill": "x"}, "fill is not a number or a list"),
    ({"abs": 1, "fill": [1, 2, 3, 4, 5]}, "more than four values"),
    ({"abs": 1, "fill": [1, "x"]}, "fill is not a number or a list"),
    ({"abs": 1, "predictor": "best"}, "predictor is not one of"),
    ({"abs": 1, "predictor": 1}, "predictor is not one of"),
    ({"abs": 1, "zstd": 20}, "zstd is not a whole number"),
    ({"abs": 1, "zstd": 1.5}, "zstd is not a whole number"),
    ({"lossless": True, "predictor": "interpolation"}, "interpolation is for the tile layout"),
], ids=str)  # fmt: skip
def test_bad_configurations(tmp_path, config, sentence):
    path = tmp_path / "made.zarr"
    zarr.create_array(path, name="v", data=waves("f4"), chunks=CHUNKS, zarr_format=2,
                      compressors=Szgpu(abs=0.01))
    metadata = json.loads((path / "v" / ".zarray").read_text())
    metadata["compressor"] = {"id": "szgpu", **config}
    (path / "v" / ".zarray").write_text(json.dumps(metadata))
    status, said = refused(path)
    assert status == BAD_FILTER and len(said) == 1 and sentence in said[0]


def test_damaged_chunks(tmp_path):
    path = tmp_path / "made.zarr"
    values = waves("f4")
    zarr.create_array(path, name="v", data=values, chunks=CHUNKS, zarr_format=2,
                      compressors=Szgpu(abs=0.01))
    chunk = path / "v" / "1.1"
    sound = chunk.read_bytes()
    for bytes_, sentence in [
        (sound[:-1], "shorter than its header says"),
        (b"x" * 200, "not an szgpu archive"),
        (sound[:100] + bytes([sound[100] ^ 1]) + sound[101:], "checksum"),
        (szgpu.compress(waves("f4", (12, 17)), abs=0.01), "another size"),
        (szgpu.compress(np.asfortranarray(values[:12, :16]), abs=0.01), "Fortran order"),
    ]:
        chunk.write_bytes(bytes_)
        status, said = refused(path)
        assert status == BAD_FILTER and len(said) == 1 and sentence in said[0], (said, sentence)
    chunk.write_bytes(sound)
    assert refused(path) == (0, [])


def test_a_bound_behind_another_filter(tmp_path):
    """shuffle hands over bytes, which have no bound; losslessly it may stand before."""
    values = waves("f4")
    shuffle = [(2, [4])]
    with Store(tmp_path / "any.zarr") as store:
        if NETCDF.nc_inq_filter_avail(store.file, shuffle[0][0]) == NO_FILTER:
            pytest.skip(f"{os.path.basename(LIBRARY)} has no shuffle for zarr")
    with pytest.raises(NetcdfError) as error:
        written(tmp_path / "made.zarr", values, words(ABS, 0.01), filters_before=shuffle)
    assert error.value.status == BAD_FILTER
    written(tmp_path / "good.zarr", values, words(LOSSLESS), filters_before=shuffle)
    assert read(tmp_path / "good.zarr", values).tobytes() == values.tobytes()
    by_zarr = array_of_zarr(tmp_path / "good.zarr")
    assert by_zarr[...].tobytes() == values.tobytes()


@pytest.mark.parametrize("bad", [
    [2, 1, 0, 0, 0], [1, 9, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 0], words(ABS, 0.1, options=1 << 20),
    words(ABS, 0.1, options=256),
], ids=str)  # fmt: skip
def test_bad_words(tmp_path, bad):
    with pytest.raises(NetcdfError):
        written(tmp_path / "made.zarr", waves("f4"), bad)


def test_no_words_are_lossless(tmp_path):
    values = waves("f4")
    written(tmp_path / "made.zarr", values, [])
    assert config_of(tmp_path / "made.zarr", "v") == {"id": "szgpu", "lossless": True}
    assert read(tmp_path / "made.zarr", values).tobytes() == values.tobytes()
