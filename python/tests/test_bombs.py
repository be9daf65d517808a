"""Archives that claim more than their container: refused by name, before memory is taken.

Each door is opened in a process of its own, whose peak of memory is measured. An archive of 192 bytes is of a
constant array of half a gigabyte.
"""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import szgpu

BOMB_VALUES = 1 << 27
MOST_MIB = 64

MAKE = """
import os, sys
import numpy as np
import szgpu
bomb = open(sys.argv[1], "rb").read()
folder = os.path.dirname(sys.argv[1])
small = np.ones((10, 10), "f4")

def replace(store):
    key = next(key for key in store._store_dict if key.endswith("0"))
    store._store_dict[key] = type(store._store_dict[key]).from_bytes(bomb)
    return store

def peak():  # in MiB; of getrusage it would be at least that of the process that started this one
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) >> 10
"""

READ = """
before, told = peak(), ""
try:
    read()
except Exception as error:
    told = f"{type(error).__name__}: {error}"
print(peak() - before)
print(told.replace(chr(10), " "))
"""

ZARR = """
import zarr
from szgpu.zarr import SzgpuCodec
from szgpu.numcodecs import Szgpu
store = zarr.storage.MemoryStore()
zarr.create_array(store, data=small, chunks=(10, 10), {how})
replace(store)
read = lambda: zarr.open_array(store, mode="r")[...]
"""

DOORS = {
    "zarr v2": (ZARR.format(how="zarr_format=2, compressors=Szgpu(abs=.1)"), "write it again"),
    "zarr v2, filters": (
        "import numcodecs\n" + ZARR.format(
            how="zarr_format=2, compressors=Szgpu(lossless=True), filters=[numcodecs.Shuffle(4)]"
        ), "write it again"),
    "zarr v3": (ZARR.format(how="serializer=SzgpuCodec(abs=.1), compressors=None"),
                "write it again"),
    "zarr v3, transposed": (
        "from zarr.codecs import TransposeCodec\n" + ZARR.format(
            how="serializer=SzgpuCodec(abs=.1), compressors=None, "
            "filters=[TransposeCodec(order=(1, 0))]"
        ), "write it again"),
    "zarr v3, filters": (
        "from zarr.codecs.numcodecs import Delta\n" + ZARR.format(
            how="serializer=SzgpuCodec(lossless=True), compressors=None, "
            "filters=[Delta(dtype='f4')]"
        ), "write it again"),
    "zarr v3, one value": (
        "small = small[0, 0].reshape(1, 1)\n" + ZARR.replace("(10, 10)", "(1, 1)").format(
            how="serializer=SzgpuCodec(abs=.1), compressors=None"
        ), "write it again"),
    "xarray": ("""
        import xarray, zarr
        from szgpu.zarr import SzgpuCodec
        store = zarr.storage.MemoryStore()
        xarray.Dataset({"a": (("y", "x"), small)}).to_zarr(
            store, consolidated=False,
            encoding={"a": {"serializer": SzgpuCodec(abs=.1), "compressors": None}})
        replace(store)
        read = lambda: xarray.open_zarr(store, consolidated=False).a.values
        """, "write it again"),
    "numcodecs, out": ("""
        from szgpu.numcodecs import Szgpu
        read = lambda: Szgpu(abs=.1).decode(bomb, out=np.empty((10, 10), "f4"))
        """, "are wanted"),
    "out": ("read = lambda: szgpu.decompress(bomb, out=np.empty((10, 10), 'f4'))",
            "out has the shape (10, 10)"),
    "out in Fortran order": (
        "read = lambda: szgpu.decompress(bomb, out=np.empty((10, 10), 'f4', 'F'))", "out"),
    "out of bytes": ("read = lambda: szgpu.decompress(bomb, out=bytearray(400))", "float32"),
    "out of another type": ("read = lambda: szgpu.decompress(bomb, out=np.empty(400, 'u1'))",
                            "float32"),
    "out of a slab": ("""
        read = lambda: szgpu.decompress(bomb, out=np.empty(10, "f4"), slab=slice(0, 1 << 26))
        """, "out has the shape (10,)"),
    "out of a region": ("""
        read = lambda: szgpu.decompress(bomb, out=np.empty(10, "f4"), region=slice(0, 1 << 26))
        """, "out has the shape (10,)"),
    "out of a preview": (
        "read = lambda: szgpu.decompress(bomb, out=np.empty(10, 'f4'), level=1)", ""),
    "a region": ("read = lambda: szgpu.decompress(bomb, region=slice(0, 10))", None),
    "a file": ("""
        data = szgpu.open(sys.argv[1])
        read = lambda: data[:10]
        """, None),
    "a series": ("""
        with szgpu.Series(folder + "/s.szgs", "a") as series:
            series._series.append(np.frombuffer(bomb, "u1"), b"", None)
        series = szgpu.Series(folder + "/s.szgs")
        read = lambda: series[0][:10]
        """, None),
    "safetensors": ("""
        import json, safetensors.numpy
        from szgpu.safetensors import load_file
        said = {"version": 1, "tensors": {"a": {"dtype": "float32", "shape": [10, 10]}}}
        safetensors.numpy.save_file({"a": np.frombuffer(bomb, "u1")}, folder + "/a.safetensors",
                                    {"szgpu": json.dumps(said)})
        read = lambda: load_file(folder + "/a.safetensors")
        """, "write the file again"),
    "safetensors that claim": ("""
        import json, safetensors.numpy
        from szgpu.safetensors import load_file
        said = {"version": 1, "tensors": {"a": {"dtype": "float32", "shape": [1 << 27]}}}
        archive = szgpu.compress(small, abs=.1)
        safetensors.numpy.save_file({"a": np.frombuffer(archive, "u1")}, folder + "/a.safetensors",
                                    {"szgpu": json.dumps(said)})
        read = lambda: load_file(folder + "/a.safetensors")
        """, "write the file again"),
    "h5py": ("""
        import h5py, szgpu.hdf5
        file = h5py.File("a.h5", "w", driver="core", backing_store=False)
        dataset = file.create_dataset("a", data=np.zeros((64, 64), "f4"), chunks=(64, 64),
                                      compression=szgpu.hdf5.Filter(abs=.1))
        dataset.id.write_direct_chunk((0, 0), bomb)
        file.flush()
        read = lambda: dataset[...]
        """, "its archive holds f32 134217728, not f32 64 x 64 as cd_values state"),
    "a chunk of h5py": ("""
        import h5py
        file = h5py.File("a.h5", "w", driver="core", backing_store=False)
        dataset = file.create_dataset("a", (64, 64), "f4", chunks=(64, 64), compression=480,
                                      compression_opts=(1, 3, 0, 0, 0), allow_unknown_filter=True)
        dataset.id.write_direct_chunk((0, 0), bomb)
        def read():
            _, chunk = dataset.id.read_direct_chunk((0, 0))
            szgpu.decompress(chunk, out=np.empty((64, 64), "f4"))
        """, "out has the shape (64, 64)"),
    "the report": ("""
        from szgpu.report.assembly import Options, write_report
        np.save(folder + "/small.npy", small)
        read = lambda: write_report(folder + "/small.npy", [sys.argv[1]], folder + "/r.html",
                                    Options(is_quiet=True))
        """, "they must be alike"),
}


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    path = tmp_path_factory.mktemp("bombs") / "bomb.szg"
    path.write_bytes(szgpu.compress(np.full(BOMB_VALUES, 7, "f4"), abs=0.1))
    assert path.stat().st_size < 1000
    return str(path)


@pytest.mark.parametrize("door", DOORS)
def test_a_door_takes_no_memory_for_a_bomb(bomb, door):
    """A chunk of 192 bytes took a gigabyte before its shape was looked at."""
    open_door, sentence = DOORS[door]
    code = MAKE + textwrap.dedent(open_door) + READ
    done = subprocess.run([sys.executable, "-c", code, bomb], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    grown, told = done.stdout.splitlines()
    assert int(grown) < MOST_MIB
    if sentence is None:
        assert not told
    else:
        assert told and sentence in told, told


def test_the_bomb_would_be_seen(bomb):
    """Where nobody knows the size, it is what the header says."""
    code = MAKE + "read = lambda: szgpu.decompress(bomb)" + READ
    done = subprocess.run([sys.executable, "-c", code, bomb], capture_output=True, text=True)
    grown, told = done.stdout.splitlines()
    assert int(grown) >= BOMB_VALUES * 4 >> 20 and not told
