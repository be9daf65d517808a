"""Stores that are larger than memory, and Dask's workers in other processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("xarray")
pytest.importorskip("zarr")
pytest.importorskip("dask.array")

# Chunks of 2 MiB. copy() is the recipe of docs/python.md.
BEGINNING = """
import resource, sys, warnings
from pathlib import Path
import dask, dask.array as da, numpy as np, xarray as xr
import szgpu.xarray
warnings.simplefilter("ignore")
ZARR_FORMAT = int(sys.argv[1])

def wave(block_info):
    first, last = block_info[None]["array-location"][0]
    k, y, x = np.ogrid[first:last, 0:512, 0:1024]
    return (np.sin(k / 7 + y / 40) * np.cos(x / 55)).astype("f4") * 20 + 280

def make(store, count):
    chunks = ((1,) * count, (512,), (1024,))
    values = da.map_blocks(wave, chunks=chunks, dtype="f4", meta=np.empty((0, 0, 0), "f4"))
    field = (("time", "y", "x"), values, {"units": "K"})
    xr.Dataset({"t": field}, {"x": np.arange(1024.0)}).to_zarr(store, zarr_format=ZARR_FORMAT)

def copy(source, target):
    ds = xr.open_zarr(source)
    encoding = ds.szgpu.encoding(abs={"t": 0.01}, zarr_format=ZARR_FORMAT)
    ds.to_zarr(target, encoding=encoding, zarr_format=ZARR_FORMAT)

def size_of(store):
    return sum(path.stat().st_size for path in Path(store).rglob("*") if path.is_file())

def check(source, target):
    ds, back = xr.open_zarr(source), xr.open_zarr(target)
    assert 0 < float(abs(back.t - ds.t).max()) <= 0.01
    assert (back.x == ds.x).all() and back.x.dtype == "f8"
    assert size_of(target) < size_of(source) / 3
    print("copied")
"""

IN_LITTLE_MEMORY = """
dask.config.set(scheduler="threads", num_workers=2)
make("first", 4)
make("a", 150)
copy("first", "second")  # loads what it needs
status = dict(line.split(":") for line in open("/proc/self/status"))
room = 128 << 20
limit = int(status["VmSize"].split()[0]) * 1024 + room
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
shape = xr.open_zarr("a").t.shape
assert 4 * np.prod(shape) > 2 * room
try:
    np.empty(shape, "f4")
    sys.exit("the limit does not work")
except MemoryError:
    pass
copy("a", "b")
check("a", "b")
"""

WITH_WORKERS = """
from dask.distributed import Client
if __name__ == "__main__":
    make("a", 8)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        copy("a", "b")
        check("a", "b")
"""


def require_copied(folder, script, zarr_format):
    (folder / "script.py").write_text(BEGINNING + script)
    done = subprocess.run(
        [sys.executable, "script.py", str(zarr_format)], capture_output=True, text=True, cwd=folder,
        env={**os.environ, "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}, timeout=500,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "copied\n"), done.stderr[-3000:]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and a limit of memory")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_store_larger_than_memory(zarr_format, tmp_path):
    require_copied(tmp_path, IN_LITTLE_MEMORY, zarr_format)


def test_workers_in_other_processes(tmp_path):
    pytest.importorskip("distributed")
    require_copied(tmp_path, WITH_WORKERS, 3)
