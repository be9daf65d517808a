"""Stores that are larger than memory, and Dask's workers in other processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("xarray")
pytest.importorskip("zarr")
pytest.importorskip("dask.array")

COPY = """
import sys, warnings
warnings.simplefilter("ignore")
import xarray as xr
import szgpu.xarray

def copy(source, target, zarr_format):
    ds = xr.open_zarr(source)
    ds.to_zarr(target, encoding=ds.szgpu.encoding(abs={"t": 0.01}, zarr_format=zarr_format),
               zarr_format=zarr_format)
"""

MAKE = """
import numpy as np, dask.array as da, xarray as xr
def wave(block_info):
    first, last = block_info[None]["array-location"][0]
    k, y, x = np.ogrid[first:last, 0:512, 0:1024]
    return (np.sin(k / 7 + y / 40) * np.cos(x / 55)).astype("f4") * 20 + 280
values = da.map_blocks(wave, chunks=((4,) * COUNT, (512,), (1024,)), dtype="f4", meta=np.empty((0, 0, 0), "f4"))
xr.Dataset({"t": (("time", "y", "x"), values, {"units": "K"})}, {"x": np.arange(1024.0)}).to_zarr(
    sys.argv[1], zarr_format=int(sys.argv[3]))
"""

IN_LITTLE_MEMORY = """
import dask, resource, numpy as np
dask.config.set(scheduler="threads", num_workers=2)
copy(sys.argv[1] + ".first", sys.argv[2] + ".first", int(sys.argv[3]))  # loads what it needs
status = dict(line.split(":") for line in open("/proc/self/status"))
limit = int(status["VmSize"].split()[0]) * 1024 + (256 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
ds = xr.open_zarr(sys.argv[1])
assert ds.t.nbytes > 2 * (256 << 20)
try:
    np.empty(ds.t.shape, "f4")
    sys.exit("the limit does not work")
except MemoryError:
    pass
copy(sys.argv[1], sys.argv[2], int(sys.argv[3]))
back = xr.open_zarr(sys.argv[2])
print(float(abs(back.t - ds.t).max()), (back.x == ds.x).all().item())
"""

WITH_WORKERS = """
import dask
from dask.distributed import Client
if __name__ == "__main__":
    dask.config.set({"distributed.worker.daemon": False})
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        copy(sys.argv[1], sys.argv[2], int(sys.argv[3]))
        back, ds = xr.open_zarr(sys.argv[2]), xr.open_zarr(sys.argv[1])
        print(float(abs(back.t - ds.t).max()), (back.x == ds.x).all().item())
"""


def run(folder, script, *arguments):
    path = folder / "script.py"
    path.write_text(script)
    environment = {**os.environ, "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, path, *map(str, arguments)], capture_output=True, text=True,
        cwd=folder, env=environment, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


def size_of(store):
    return sum(path.stat().st_size for path in Path(store).rglob("*") if path.is_file())


def require_copied(printed, folder, ratio):
    error, is_same = printed
    assert 0 < float(error) <= 0.01 and is_same == "True"
    assert size_of(folder / "b") < size_of(folder / "a") / ratio


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and a limit of memory")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_store_larger_than_memory(zarr_format, tmp_path):
    names = [tmp_path / "a", tmp_path / "b", zarr_format]
    run(tmp_path, COPY + MAKE.replace("COUNT", "2"), tmp_path / "a.first", "", zarr_format)
    run(tmp_path, COPY + MAKE.replace("COUNT", "70"), *names)
    require_copied(run(tmp_path, COPY + IN_LITTLE_MEMORY, *names), tmp_path, 3)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_workers_in_other_processes(zarr_format, tmp_path):
    pytest.importorskip("distributed")
    names = [tmp_path / "a", tmp_path / "b", zarr_format]
    run(tmp_path, COPY + MAKE.replace("COUNT", "4"), *names)
    require_copied(run(tmp_path, COPY + WITH_WORKERS, *names), tmp_path, 3)
