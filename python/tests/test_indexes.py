"""test_indexes.py - HDF5 files through indexes of kerchunk, VirtualiZarr and Icechunk, as h5py reads.

SPDX-License-Identifier: BSD-3-Clause
"""

import json

import szgpu
import szgpu.hdf5
from szgpu.hdf5_codec import SzgpuHdf5

import h5py
import numcodecs
import numpy as np
import pytest
import xarray as xr
import zarr

pytest.importorskip("kerchunk")
from szgpu.kerchunk import SingleHdf5ToZarr  # noqa: E402

SHAPE, CHUNKS = (30, 40), (12, 16)  # two chunks out of three are cut off in each direction
NUMBERS = np.arange(1200).reshape(SHAPE) // 50
BOUNDED = [order + kind for kind in ("f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4") for order in "<>"]
OTHERS = ["<u4", ">u4", "<i8", ">i8", "<u8", ">u8", "?", "<c8", ">c16", "S5"]
NOISE = np.random.default_rng(1).integers(0, 256, SHAPE, "u1")


def waves(shape=SHAPE, dtype="f4"):
    y, x = np.mgrid[: shape[0], : shape[1]]
    return (np.sin(y / 9) + np.cos(x / 7)).astype(dtype)


def values_of(dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "S":
        raw = np.repeat(NUMBERS.astype("u1") + 65, dtype.itemsize)
        return np.frombuffer(raw.tobytes(), dtype).reshape(SHAPE)
    return NUMBERS.astype(dtype)


def index_of(path, **more):
    return SingleHdf5ToZarr(str(path), error="raise", **more).translate()


def opened(index):
    """The index as xarray opens it, with nothing decoded."""
    options = {"fo": index, "remote_protocol": "file", "remote_options": {"asynchronous": True}}
    return xr.open_dataset(
        "reference://", engine="zarr", mask_and_scale=False, decode_times=False,
        backend_kwargs={"consolidated": False, "storage_options": options},
    )


def assert_same(index, path, name="d"):
    """The index gives what h5py gives, bit for bit, in values of the same type."""
    with h5py.File(path) as file:
        wanted = file[name][...]
    found = opened(index)[name].values
    assert found.dtype.newbyteorder("=") == wanted.dtype.newbyteorder("=")
    assert found.astype(wanted.dtype).tobytes() == wanted.tobytes()
    return wanted


def add_filters(file, name, data, filters, chunks=CHUNKS):
    """A dataset with any filters: pairs of a number and its arguments; a third item is a flag."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(chunks)
    for number, words, *flags in filters:
        properties.set_filter(number, *(flags or [h5py.h5z.FLAG_OPTIONAL]), tuple(words))
    space = h5py.h5s.create_simple(data.shape)
    dataset = h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(data.dtype), space,
                              properties)
    h5py.Dataset(dataset)[...] = data


def ours(*flags, **settings):
    return (szgpu.hdf5.FILTER_ID, szgpu.hdf5.Filter(**settings).filter_options, *flags)


@pytest.mark.parametrize("settings", [{"abs": 2.0}, {"lossless": True}], ids=str)
@pytest.mark.parametrize("dtype", BOUNDED + OTHERS)
@pytest.mark.filterwarnings("ignore::szgpu.hdf5.FilterWarning")
def test_all_types(tmp_path, dtype, settings):
    path, values = tmp_path / "f.h5", values_of(dtype)
    with h5py.File(path, "w") as file:
        file.create_dataset("d", data=values, chunks=CHUNKS,
                            compression=szgpu.hdf5.Filter(**settings))
    index = index_of(path)
    assert json.loads(index["refs"]["d/.zarray"])["filters"][0]["id"] == "szgpu_hdf5"
    read = assert_same(index, path)
    is_exact = (read == values).all()
    assert is_exact == ("lossless" in settings or dtype not in BOUNDED)


@pytest.mark.parametrize("settings", [
    {"rel": 1e-3}, {"psnr": 60}, {"pwrel": 1e-3}, {"abs": 1e-3, "predictor": "interpolation"},
    {"abs": 1e-3, "zstd": 3}, {"abs": 1e-3, "fill": [-9.0, -8.0]},
], ids=str)  # fmt: skip
def test_all_settings(tmp_path, settings):
    values = waves()
    values[4:9, 4:9] = -9
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("d", data=values, chunks=CHUNKS, fillvalue=-9,
                            compression=szgpu.hdf5.Filter(**settings))
    read = assert_same(index_of(tmp_path / "f.h5"), tmp_path / "f.h5")
    assert (read != values).any() and ((read == -9) == (values == -9)).all()


@pytest.mark.parametrize("dtype", ["<u1", ">u2"])
@pytest.mark.parametrize("flag", [h5py.h5z.FLAG_OPTIONAL, h5py.h5z.FLAG_MANDATORY])
def test_chunks_that_do_not_shrink(tmp_path, dtype, flag):
    """Some of a dataset's chunks are not archives: as they are, or with a head before them."""
    values = (NOISE.astype("u4") * 257).astype(dtype)
    values[:12] = 7
    with h5py.File(tmp_path / "f.h5", "w") as file:
        add_filters(file, "d", values, [ours(flag, lossless=True)])
        masks = {file["d"].id.get_chunk_info(i).filter_mask for i in range(9)}
        assert masks == ({0, 1} if flag == h5py.h5z.FLAG_OPTIONAL else {0})
    assert (assert_same(index_of(tmp_path / "f.h5"), tmp_path / "f.h5") == values).all()


@pytest.mark.parametrize("after", [
    [(2, ())], [(1, (4,))], [(2, ()), (1, (4,))], [(3, ())], [(2, ()), (1, (4,)), (3, ())],
], ids=["shuffle", "deflate", "both", "fletcher32", "all"])  # fmt: skip
def test_filters_that_follow(tmp_path, after):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        add_filters(file, "d", waves(), [ours(abs=1e-3), *after])
    assert_same(index_of(tmp_path / "f.h5"), tmp_path / "f.h5")


def test_datasets_without_the_filter(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        add_filters(file, "d", waves(), [(2, ()), (1, (4,))])
        file["plain"] = waves()
    for name in ("d", "plain"):
        assert_same(index_of(tmp_path / "f.h5"), tmp_path / "f.h5", name)


def test_chunks_that_were_never_written(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        dataset = file.create_dataset("d", SHAPE, "f4", chunks=CHUNKS, fillvalue=-9,
                                      compression=szgpu.hdf5.Filter(abs=0.01))
        dataset[:12] = waves()[:12]
    read = assert_same(index_of(tmp_path / "f.h5"), tmp_path / "f.h5")
    assert (read[12:] == -9).all()


def netcdf_file(path):
    """A file with coordinates and attributes. Returns it as xarray reads it."""
    dataset = xr.Dataset(
        {"wind": (("time", "y", "x"), np.stack([waves(), waves() + 1]), {"units": "m s-1"})},
        {"time": [0.0, 6.0], "y": np.linspace(-30, 30, 30), "x": np.arange(40.0)},
        {"title": "waves"},
    )
    encoding = {"wind": {**szgpu.hdf5.Filter(abs=0.01), "chunksizes": (1, 12, 16)},
                "y": {"zlib": True}}
    dataset.to_netcdf(path, engine="h5netcdf", encoding=encoding)
    with xr.open_dataset(path, engine="h5netcdf") as file:
        return file.load()


def test_coordinates_and_attributes(tmp_path):
    wanted = netcdf_file(tmp_path / "f.nc")
    index = json.loads(json.dumps(index_of(tmp_path / "f.nc")))
    found = opened(index).load()
    xr.testing.assert_equal(wanted, found)
    assert found.attrs["title"] == "waves" and found.wind.attrs["units"] == "m s-1"


# ---- VirtualiZarr and Icechunk ----


@pytest.fixture
def virtual(tmp_path):
    """A netCDF-4 file as xarray reads it, and as VirtualiZarr sees it."""
    virtualizarr = pytest.importorskip("virtualizarr")
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import KerchunkJSONParser

    wanted = netcdf_file(tmp_path / "f.nc")
    (tmp_path / "f.json").write_text(json.dumps(index_of(tmp_path / "f.nc", inline_threshold=0)))
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    with virtualizarr.open_virtual_dataset(
        f"file://{tmp_path}/f.json", registry=registry, loadable_variables=["time", "x"],
        parser=KerchunkJSONParser(fs_root="file:///"),
    ) as dataset:
        yield wanted, dataset


def test_virtualizarr(tmp_path, virtual):
    """It writes an index of kerchunk's that is read as before."""
    wanted, dataset = virtual
    again = dataset.vz.to_kerchunk(format="dict")
    xr.testing.assert_equal(wanted, opened(json.loads(json.dumps(again))).load())


def test_icechunk(tmp_path, virtual):
    icechunk = pytest.importorskip("icechunk")
    wanted, dataset = virtual
    prefix = f"file://{tmp_path}/"
    config = icechunk.RepositoryConfig.default()
    config.set_virtual_chunk_container(
        icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(str(tmp_path)))
    )
    repository = icechunk.Repository.create(
        icechunk.local_filesystem_storage(str(tmp_path / "repo")), config,
        authorize_virtual_chunk_access={prefix: None},
    )
    session = repository.writable_session("main")
    dataset.vz.to_icechunk(session.store)
    session.commit("an index")
    store = repository.readonly_session("main").store
    found = xr.open_zarr(store, consolidated=False, zarr_format=3).load()
    xr.testing.assert_equal(wanted, found)
    codecs = [type(one).__name__ for one in zarr.open_group(store, mode="r")["wind"].metadata.codecs]
    assert "SzgpuHdf5Codec" in codecs


# ---- what is refused ----

WORDS = [1, 3, 0, 0, 0, 256, 0, 0, 64]  # 64 values of f32, losslessly


def test_nothing_is_written_through_an_index():
    with pytest.raises(TypeError, match="write to the file itself"):
        SzgpuHdf5(cd_values=WORDS).encode(np.zeros(64, "f4"))


@pytest.mark.parametrize("words, sentence", [
    ([], "do not say type and shape"),
    ([1, 3, 0, 0, 0], "do not say type and shape"),
    ([1, 3, 0, 0, 0, 99, 0, 0, 64], "do not say type and shape"),
    ([2, 3, 0, 0, 0, 256, 0, 0, 64], "a newer one"),
    (["x"], "not a list of whole numbers"),
    (None, "not a list of whole numbers"),
    ([1.5], "not a list of whole numbers"),
])  # fmt: skip
def test_bad_words(words, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        numcodecs.get_codec({"id": "szgpu_hdf5", "cd_values": words})


def test_damaged_chunks():
    codec = SzgpuHdf5(cd_values=WORDS)
    values = np.linspace(0, 1, 64, dtype="f4")
    archive = szgpu.compress(values, lossless=True)
    assert codec.decode(archive).tobytes() == values.tobytes()
    out = np.empty(64, "f4")
    codec.decode(archive, out=out)
    assert (out == values).all()
    plain = bytes.fromhex("89535a500d0a1a0a")
    for stored in (archive[:-1], archive + b"x", b"", b"x" * 255, plain + b"x" * 264, plain,
                   szgpu.compress(values[:63], lossless=True),
                   szgpu.compress(values.astype("f8"), lossless=True)):
        with pytest.raises((szgpu.Error, ValueError)):
            codec.decode(stored)
    with pytest.raises(szgpu.CorruptError, match="checksum"):
        codec.decode(plain + b"x" * 264)
