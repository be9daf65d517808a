"""zarr, numcodecs, xarray, HDF5, netCDF, safetensors and Dask, with the real libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import h5py
import numcodecs
import numpy as np
import pytest
import safetensors.numpy
import szgpu
import szgpu.hdf5
import xarray as xr
import zarr
from szgpu.numcodecs import Szgpu
from szgpu.safetensors import load_file, open_file, save_file
from szgpu.zarr import SzgpuCodec

RNG = np.random.default_rng(3)


def wind(*shape: int) -> np.ndarray:
    axes = np.meshgrid(*(np.linspace(0, 3, n) for n in shape), indexing="ij")
    return (np.sin(sum(axes)) + 0.01 * RNG.normal(size=shape)).astype("float32")


# ---- zarr ----


def test_zarr_chunks_come_back_within_the_bound(tmp_path):
    a = wind(100, 70, 50)
    z = zarr.create_array(
        tmp_path / "w.zarr",
        shape=a.shape,
        chunks=(32, 32, 32),
        dtype=a.dtype,
        serializer=SzgpuCodec(abs=1e-3),
        compressors=None,
        fill_value=-9999.0,
    )
    z[...] = a
    stored = sum(f.stat().st_size for f in (tmp_path / "w.zarr").rglob("*") if f.is_file())
    assert stored < a.nbytes / 2
    said = json.loads((tmp_path / "w.zarr" / "zarr.json").read_text())
    assert said["codecs"] == [{"name": "szgpu", "configuration": {"abs": 1e-3}}]
    again = zarr.open_array(tmp_path / "w.zarr", mode="r")
    assert abs(again[...] - a).max() <= 1e-3
    assert np.array_equal(again[5:9, 3, ::7], again[...][5:9, 3, ::7])


def test_zarr_finds_the_codec_without_an_import(tmp_path):
    a = wind(64, 64)
    zarr.create_array(
        tmp_path / "w.zarr", data=a, chunks=(32, 32), serializer=SzgpuCodec(abs=1e-3)
    )
    code = f"import zarr; print(zarr.open_array({str(tmp_path / 'w.zarr')!r}, mode='r')[3, 4])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert abs(float(printed.stdout) - a[3, 4]) <= 1e-3


def test_zarr_shards(tmp_path):
    a = wind(128, 128)
    z = zarr.create_array(
        tmp_path / "w.zarr",
        data=a,
        chunks=(32, 32),
        shards=(64, 128),
        serializer=SzgpuCodec(rel=1e-3),
        compressors=None,
    )
    assert abs(z[...] - a).max() <= 1e-3 * np.ptp(a)
    assert np.array_equal(z[40:50, 7], z[...][40:50, 7])


@pytest.mark.parametrize("dtype", ["i2", "u8", "f2", "?", "f8", ">f4"])
def test_zarr_without_loss(tmp_path, dtype):
    a = RNG.integers(0, 100, size=(3, 4, 5, 6, 7)).astype(dtype)
    z = zarr.create_array(
        tmp_path / "w.zarr",
        data=a,
        chunks=(2, 4, 5, 3, 7),
        serializer=SzgpuCodec(lossless=True),
        compressors=None,
    )
    assert np.array_equal(z[...], a)


def test_zarr_refuses_integers_that_have_no_bound(tmp_path):
    with pytest.raises(TypeError, match="lossless=True"):
        zarr.create_array(
            tmp_path / "w.zarr", shape=(4,), dtype="u4", serializer=SzgpuCodec(abs=1)
        )


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "i4", "f2", ">i2"])
def test_containers_keep_the_bound_of_halves_and_integers(tmp_path, dtype):
    a = (wind(70, 90) * 30 + 40).astype(dtype)
    z = zarr.create_array(
        tmp_path / "w.zarr", data=a, chunks=(32, 48), serializer=SzgpuCodec(abs=2),
        compressors=None,
    )
    assert z[...].dtype == a.dtype and abs(z[...].astype("f8") - a).max() <= 2
    codec, native = Szgpu(abs=2), a.astype(a.dtype.newbyteorder("="))
    back = codec.decode(codec.encode(native))
    assert back.dtype == native.dtype and abs(back.astype("f8") - a).max() <= 2
    out = np.empty_like(native)
    codec.decode(codec.encode(native), out=out)
    assert np.array_equal(out, back)
    if dtype[0] == ">":
        return  # the filter has none of the other byte order
    with h5py.File(tmp_path / "w.h5", "w") as file:
        filled = file.create_dataset(
            "w", data=a, chunks=(32, 48), fillvalue=a[0, 0], **szgpu.hdf5.Filter(abs=2)
        )
        assert filled[...].dtype == a.dtype and abs(filled[...].astype("f8") - a).max() <= 2
        assert np.array_equal(filled[...] == a[0, 0], a == a[0, 0]) or dtype == "f2"


def test_zarr_names_an_archive_of_another_shape(tmp_path):
    z = zarr.create_array(
        tmp_path / "w.zarr", data=wind(32, 32), chunks=(32, 32), serializer=SzgpuCodec(abs=1e-3),
        compressors=None,
    )
    (tmp_path / "w.zarr" / "c" / "0" / "0").write_bytes(szgpu.compress(wind(16, 16), abs=1))
    with pytest.raises(ValueError, match=r"shape \(16, 16\).* write it again"):
        z[...]
    (tmp_path / "w.zarr" / "c" / "0" / "0").write_bytes(b"damaged" * 100)
    with pytest.raises(szgpu.NotAnArchiveError):
        z[...]


def test_a_codec_of_a_newer_version_is_named():
    with pytest.raises(ValueError, match="newer"):
        SzgpuCodec.from_dict({"name": "szgpu", "configuration": {"abs": 1.0, "magic": 1}})


def test_numcodecs_and_zarr_of_version_2(tmp_path):
    a = wind(64, 64)
    codec = numcodecs.get_codec(json.loads(json.dumps(Szgpu(abs=1e-3, fill=np.nan).get_config())))
    assert codec == Szgpu(abs=1e-3, fill=np.nan) or codec.get_config()["abs"] == 1e-3
    with pytest.raises(TypeError, match="filled"):
        codec.encode(np.ma.masked_less(a, 0.5))
    with pytest.raises(ValueError, match="read-only"):
        codec.decode(codec.encode(a), out=np.frombuffer(bytes(a.nbytes), "f4").reshape(a.shape))
    out = np.empty_like(a)
    codec.decode(codec.encode(a), out=out)
    assert abs(out - a).max() <= 1e-3
    z = zarr.create_array(
        tmp_path / "w.zarr",
        shape=a.shape,
        dtype=a.dtype,
        chunks=(32, 32),
        zarr_format=2,
        compressors=Szgpu(abs=1e-3),
    )
    z[...] = a
    assert abs(zarr.open_array(tmp_path / "w.zarr", mode="r")[...] - a).max() <= 1e-3


# ---- xarray ----


def dataset() -> xr.Dataset:
    return xr.Dataset(
        {"wind": (("time", "y", "x"), wind(10, 60, 70))}, {"time": np.arange(10), "x": np.arange(70)}
    )


def test_xarray_to_zarr(tmp_path):
    ds = dataset()
    encoding = {"wind": {"serializer": SzgpuCodec(abs=1e-3), "compressors": None}}
    ds.to_zarr(tmp_path / "w.zarr", encoding=encoding, zarr_format=3)
    back = xr.open_zarr(tmp_path / "w.zarr")
    assert float(abs(back.wind - ds.wind).max()) <= 1e-3
    xr.testing.assert_equal(back.time, ds.time)


def test_xarray_to_netcdf_and_both_engines_read_it(tmp_path):
    ds = dataset()
    encoding = {"wind": {**szgpu.hdf5.Filter(abs=1e-3), "chunksizes": (5, 60, 70)}}
    ds.to_netcdf(tmp_path / "w.nc", engine="h5netcdf", encoding=encoding)
    assert (tmp_path / "w.nc").stat().st_size < ds.wind.nbytes / 2
    with xr.open_dataset(tmp_path / "w.nc", engine="h5netcdf") as back:
        assert float(abs(back.wind - ds.wind).max()) <= 1e-3
    for first in ("szgpu.hdf5", "netCDF4", "netCDF4; netCDF4.Dataset('0', 'w', diskless=True)"):
        code = textwrap.dedent(f"""
            import {first}
            import szgpu.hdf5, xarray
            print(float(xarray.open_dataset({str(tmp_path / "w.nc")!r}, engine="netcdf4").wind.mean()))
        """)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert abs(float(done.stdout) - float(ds.wind.mean())) <= 1e-3


# ---- HDF5 ----


@pytest.mark.parametrize("first", ["", "import hdf5plugin", "import h5py", "import netCDF4"])
@pytest.mark.parametrize("last", ["", "import hdf5plugin"])
def test_h5py_writes_and_reads_whatever_was_imported(tmp_path, first, last):
    code = textwrap.dedent(f"""
        {first}
        import szgpu.hdf5
        {last}
        import h5py, numpy as np
        a = np.sin(np.arange(4096, dtype="f4")).reshape(64, 64)
        with h5py.File({str(tmp_path / "w.h5")!r}, "w") as file:
            file.create_dataset("w", data=a, chunks=(32, 64), **szgpu.hdf5.Filter(abs=1e-3))
        with h5py.File({str(tmp_path / "w.h5")!r}) as file:
            assert file["w"].id.get_create_plist().get_filter(0)[0] == 480
            assert abs(file["w"][...] - a).max() <= 1e-3
    """)
    environment = {k: v for k, v in os.environ.items() if k != "HDF5_PLUGIN_PATH"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_settings_of_containers_that_make_no_sense():
    for make in (SzgpuCodec, Szgpu, szgpu.hdf5.Filter):
        for settings, error, words in (
            ({}, ValueError, "exactly one"),
            ({"abs": 0}, ValueError, "finite positive"),
            ({"abs": 1, "zstd": 20}, ValueError, "zstd is 20"),
            ({"abs": 1, "zstd": 1.5}, TypeError, "zstd is 1.5"),
            ({"abs": 1, "predictor": "magic"}, ValueError, "lorenzo"),
        ):
            with pytest.raises(error, match=words):
                make(**settings)


# ---- safetensors ----


def test_tensors_come_back_bit_for_bit_and_alone(tmp_path):
    import ml_dtypes

    tensors = {
        "weight": RNG.normal(size=(64, 32, 3, 3, 2)).astype("float16"),
        "bias": RNG.normal(size=7).astype(ml_dtypes.bfloat16),
        "scale": np.array(3.5, "f4"),
        "ids": RNG.integers(0, 1 << 40, size=(5, 3)),
        "none": np.empty((0, 4), "f4"),
        "mask": RNG.integers(0, 2, size=(4, 4)).astype(bool),
    }
    save_file(tensors, tmp_path / "m.safetensors", {"who": "me"})
    back = load_file(tmp_path / "m.safetensors")
    for name, tensor in tensors.items():
        assert back[name].dtype == tensor.dtype and back[name].shape == tensor.shape, name
        assert back[name].tobytes() == tensor.tobytes(), name
    with open_file(tmp_path / "m.safetensors") as file:
        assert file.metadata == {"who": "me"} and set(file.keys()) == set(tensors)
        assert file.get_tensor("bias").tobytes() == tensors["bias"].tobytes()
        with pytest.raises(KeyError, match="no tensor 'other'"):
            file.get_tensor("other")
    plain = safetensors.numpy.load_file(tmp_path / "m.safetensors")
    assert plain["weight"].dtype == np.uint8


def test_tensors_with_a_bound(tmp_path):
    w = wind(200, 100)
    ids = np.arange(10)
    save_file({"w": w, "ids": ids}, tmp_path / "m.safetensors", abs=1e-3)
    back = load_file(tmp_path / "m.safetensors")
    assert 0 < abs(back["w"] - w).max() <= 1e-3 and np.array_equal(back["ids"], ids)


def test_big_endian_tensors_keep_their_values(tmp_path):
    """Integers came back with their bytes reversed, and floats not at all."""
    tensors = {"ids": np.arange(9, dtype=">i8"), "w": wind(20, 10).astype(">f4")}
    save_file(tensors, tmp_path / "m.safetensors")
    for name, tensor in load_file(tmp_path / "m.safetensors").items():
        assert np.array_equal(tensor, tensors[name]) and tensor.dtype.isnative, name


def test_what_is_no_tensor_leaves_no_file(tmp_path):
    for tensors, words in (({"w": "x"}, "'w' is a str"), ({"w": np.array([None])}, "object")):
        with pytest.raises(TypeError, match=words):
            save_file({"a": wind(4, 4), **tensors}, tmp_path / "m.safetensors")
    assert not list(tmp_path.iterdir())


def test_an_archive_that_is_not_the_tensor_is_refused_before_it_is_restored(tmp_path):
    archive = np.frombuffer(szgpu.compress(np.full(1 << 20, 7, "f4"), abs=0.1), "u1")
    said = {"version": 1, "tensors": {"w": {"dtype": "float32", "shape": [10]}}}
    safetensors.numpy.save_file(
        {"w": archive}, tmp_path / "m.safetensors", {"szgpu": json.dumps(said)}
    )
    with pytest.raises(ValueError, match="write the file again"):
        load_file(tmp_path / "m.safetensors")


def test_other_safetensors_files_are_named(tmp_path):
    safetensors.numpy.save_file({"w": np.ones(3)}, tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match="safetensors itself"):
        load_file(tmp_path / "m.safetensors")


# ---- Dask ----

DASK = """
import os
import dask.array as da
import numpy as np
from dask.distributed import Client, get_worker
import zarr
from szgpu.zarr import SzgpuCodec

if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None) as client:
        a = da.random.default_rng(1).normal(size=(256, 256), chunks=(64, 64)).astype("f4")
        a = a.cumsum(axis=0).persist()
        store = zarr.create_array(
            {path!r}, shape=a.shape, chunks=(64, 64), dtype="f4", serializer=SzgpuCodec(abs=1e-2),
            compressors=None,
        )
        a.store(store, lock=False)
        back = da.from_zarr({path!r})
        assert float(abs(back - a).max().compute()) <= 1e-2
        workers = set(client.run(os.getpid).values())
        assert len(workers) == 2 and os.getpid() not in workers
        print("mean", float(back.mean().compute()))
"""


def test_dask_workers_in_other_processes_write_and_read(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(DASK.format(path=str(tmp_path / "w.zarr")))
    printed = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=1200
    )
    assert printed.returncode == 0, printed.stderr[-3000:]
    assert printed.stdout.startswith("mean")


# ---- processes ----


def test_a_forked_child_compresses_with_threads():
    code = textwrap.dedent("""
        import multiprocessing, numpy as np, szgpu
        a = np.sin(np.arange(1 << 20, dtype="f4"))
        archive = szgpu.compress(a, abs=1e-3, threads=4)
        def work(_):
            return szgpu.compress(a, abs=1e-3, threads=4) == archive
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(work, range(4)) == [True] * 4
    """)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_command_is_there():
    for command in (["szgpu"], [sys.executable, "-m", "szgpu"]):
        path = os.path.join(os.path.dirname(sys.executable), command[0])
        full = [path if os.path.exists(path) else command[0], *command[1:]]
        printed = subprocess.run([*full, "--version"], capture_output=True, text=True, check=True)
        assert szgpu.__version__ in printed.stdout
