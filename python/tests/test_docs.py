"""The code of docs/python.md and README.md runs, and so do the examples of docstrings."""

from __future__ import annotations

import doctest
import importlib
import re
import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = next((p for p in HERE.parents if (p / "docs" / "python.md").exists()), None)


@pytest.mark.skipif(ROOT is None, reason="docs/python.md is not beside the tests")
def test_the_page_runs(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 10
    shutil.copy(ROOT / "datasets" / "sample" / "navywind_u_36x73x144.f32", tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"block {number} of python.md", "exec"), names)
    assert (tmp_path / "wind.nc").exists()


@pytest.mark.skipif(ROOT is None, reason="README.md is not beside the tests")
def test_the_readme_runs(tmp_path, monkeypatch):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), names)
    assert abs(names["restored"] - names["wind"]).max() <= 0.01
    monkeypatch.chdir(tmp_path)
    Path("run.szg").write_bytes(names["archive"])
    (region,) = re.findall(r"`(szgpu\.open[^`]+)`", page)
    assert eval(region, names).shape == (16, 32)


@pytest.mark.parametrize(
    "name",
    ["szgpu", "szgpu.hdf5", "szgpu.hdf5_codec", "szgpu.kerchunk", "szgpu.numcodecs",
     "szgpu.safetensors", "szgpu.xarray", "szgpu.zarr"],
)
def test_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0
