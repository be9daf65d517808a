"""The programs of examples/ and the notebook run, and what they write is right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import h5py
import nbclient
import nbformat
import numpy as np
import pytest
import safetensors
import xarray as xr

import szgpu.hdf5  # noqa: F401 (h5py finds the filter)

HERE = Path(__file__).resolve().parent
ROOT = next((p for p in HERE.parents if (p / "examples").exists()), None)

pytestmark = pytest.mark.skipif(ROOT is None, reason="examples is not beside the tests")


def run(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / name), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200)


def ratio_of(text: str) -> float:
    return float(re.findall(r"ratio ([0-9.]+)", text)[-1])


def test_netcdf_to_zarr(tmp_path):
    done = run(tmp_path, "netcdf_to_zarr.py", "--sample", "--abs", "u=0.1", "in.nc", "out.zarr")
    assert done.returncode == 0, done.stderr
    name, raw, stored, ratio, bound, error = done.stdout.splitlines()[1].split()
    assert (name, raw, float(bound)) == ("u", "1,513,728", 0.1)
    assert float(ratio) > 4 and 0.05 < float(error) <= 0.1
    with xr.open_dataset(tmp_path / "in.nc") as original:
        copy = xr.open_zarr(tmp_path / "out.zarr", consolidated=False)
        assert float(abs(copy.u - original.u).max()) <= 0.1
        assert np.array_equal(copy.u.isnull(), original.u.isnull())
        assert copy.days.identical(original.days) and copy.lat.identical(original.lat)
        assert copy.u.attrs == original.u.attrs


def test_netcdf_to_zarr_by_shares_of_ranges(tmp_path):
    """A constant field, and one without values, have no range."""
    values = np.linspace(0, 50, 600, dtype="f8").reshape(20, 30)
    variables = {
        "slope": (("y", "x"), values),
        "flat": (("y", "x"), np.full((20, 30), 3.0, "f4")),
        "none": (("y", "x"), np.full((20, 30), np.nan, "f4")),
    }
    xr.Dataset(variables).to_netcdf(tmp_path / "in.nc")
    done = run(tmp_path, "netcdf_to_zarr.py", "--rel", "1e-3", "in.nc", "out.zarr")
    assert done.returncode == 0, done.stderr
    copy = xr.open_zarr(tmp_path / "out.zarr", consolidated=False)
    assert 0 < abs(copy.slope.values - values).max() <= 0.05
    assert np.array_equal(copy.flat.values, variables["flat"][1])
    assert np.isnan(copy.none.values).all()


def test_netcdf_to_zarr_counts_packed_shorts_as_such(tmp_path):
    """They counted as the floats that xarray makes of them, at twice the ratio."""
    values = np.linspace(0, 50, 60000).reshape(200, 300)
    packing = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 20.0, "_FillValue": -32768}
    xr.Dataset({"t": (("y", "x"), values)}).to_netcdf(tmp_path / "in.nc", encoding={"t": packing})
    done = run(tmp_path, "netcdf_to_zarr.py", "--abs", "t=0.05", "in.nc", "out.zarr")
    assert done.returncode == 0, done.stderr
    name, raw, *_ = done.stdout.splitlines()[1].split()
    assert (name, raw) == ("t", "120,000")


def test_netcdf_to_zarr_explains_its_options(tmp_path):
    said = run(tmp_path, "netcdf_to_zarr.py", "--help").stdout
    for words in ("--rel SHARE", "default: 1e-4", "--abs NAME=BOUND", "in its unit", "datasets/sample",
                  "IN.nc OUT.zarr", "a packed short has 2 bytes"):
        assert words in said, said


def test_netcdf_to_zarr_names_what_is_not_there(tmp_path):
    done = run(tmp_path, "netcdf_to_zarr.py", "--sample", "--abs", "days=1", "in.nc", "out.zarr")
    assert done.returncode == 1
    assert done.stderr == "netcdf_to_zarr.py: not a variable of floats: days\n"
    assert not (tmp_path / "out.zarr").exists()


def test_snapshots(tmp_path):
    done = run(tmp_path, "snapshots.py", "--steps", "300", "--every", "100", "out.h5")
    assert done.returncode == 0, done.stderr
    assert ratio_of(done.stdout) > 4
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["v"].shape == (3, 256, 256)
        assert file["v"].id.get_create_plist().get_filter(0)[0] == szgpu.hdf5.FILTER_ID


def test_weights(tmp_path):
    done = run(tmp_path, "weights.py", "--sample", "plain.safetensors", "packed.safetensors")
    assert done.returncode == 0, done.stderr
    assert ratio_of(done.stdout) > 1.3
    with safetensors.safe_open(tmp_path / "packed.safetensors", "np") as file:
        assert len(list(file.keys())) == 16


def test_the_notebook(tmp_path, monkeypatch):
    notebook = nbformat.read(ROOT / "examples" / "first_steps.ipynb", as_version=4)
    kept = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    resources = {"metadata": {"path": str(ROOT / "examples")}}
    done = nbclient.NotebookClient(notebook, timeout=1200, resources=resources).execute()
    outputs = [output for cell in done.cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 2
    printed, committed = (
        "".join(output["text"] for output in found if output.output_type == "stream")
        for found in (outputs, kept)
    )
    assert printed == committed
    assert sum(len(str(output)) for output in kept) < 200_000
