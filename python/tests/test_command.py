"""The command of the wheel reads HDF5 and netCDF by the HDF5 that h5py or netCDF4 brought."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import szgpu
import szgpu.hdf5
from szgpu import __main__ as command
from szgpu.libhdf5 import find_libhdf5

BOUND = 1e-3
FIELD = (np.sin(np.arange(12_000) * 0.01) * 5).astype("f4").reshape(60, 200)

# Hides packages from the launcher, as if they were not installed.
WITHOUT = """
import sys
for name in {hidden}:
    sys.modules[name] = None
from szgpu.__main__ import main
sys.argv = ["szgpu", *sys.argv[1:]]
main()
"""


def run(
    *arguments: str, hidden: tuple[str, ...] = (), cwd: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    """The command, in an environment that szgpu.hdf5 has not changed."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("HDF5_PLUGIN_PATH", command.HDF5_LIBRARY)
    }
    program = ["-c", WITHOUT.format(hidden=hidden)] if hidden else ["-m", "szgpu"]
    return subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=cwd,
        env={**environment, **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("command")
    with h5py.File(folder / "a.h5", "w") as file:
        file["plain"] = FIELD
        file["big"] = FIELD.astype(">f8")
        file.create_dataset(
            "deflated", data=FIELD, chunks=(7, 60), compression=4, shuffle=True, fletcher32=True
        )
        file.create_dataset("ours", data=FIELD, chunks=(30, 200), **szgpu.hdf5.Filter(lossless=True))
        missing = FIELD.copy()
        missing[::3], missing[1::7] = -999, -888
        named = file.create_dataset("group/missing", data=missing)
        named.attrs["_FillValue"] = np.float32(-999)
        named.attrs["missing_value"] = np.float32(-888)
    with netCDF4.Dataset(folder / "a.nc", "w") as dataset:
        dataset.createDimension("y", 60)
        dataset.createDimension("x", 200)
        for name, options in (
            ("plain", {}),
            ("deflated", {"zlib": True, "shuffle": True, "complevel": 6}),
        ):
            dataset.createVariable(name, "f4", ("y", "x"), **options)[:] = FIELD
        packed = dataset.createVariable("packed", "i2", ("y", "x"), zlib=True, fill_value=-32768)
        packed.scale_factor, packed.add_offset = 0.01, 273.15
        packed.set_auto_maskandscale(False)
        packed[:] = np.rint(FIELD * 1000)
    return folder


@pytest.mark.parametrize("hidden", [(), ("netCDF4",), ("h5py",)], ids=["both", "h5py", "netCDF4"])
@pytest.mark.parametrize(
    "name", ["a.h5:plain", "a.h5:big", "a.h5:deflated", "a.h5:ours", "a.nc:plain", "a.nc:deflated"]
)
def test_datasets_come_back(
    files: Path, tmp_path: Path, name: str, hidden: tuple[str, ...]
) -> None:
    for more in ([], ["--memory", "100M"]):
        archive = str(tmp_path / "a.szg")
        done = run(
            "-zVqf", "-m", "abs", "-e", str(BOUND), *more, "-o", archive, name,
            hidden=hidden, cwd=files,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        done = run("-xqf", "-o", str(tmp_path / "a.npy"), "--compare", name, archive, cwd=files)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        restored = np.load(tmp_path / "a.npy")
        assert restored.dtype == ("f8" if "big" in name else "f4")
        assert np.abs(restored - FIELD).max() <= BOUND


def test_what_is_missing_stays_missing(files: Path, tmp_path: Path) -> None:
    archive = str(tmp_path / "a.szg")
    done = run("-zq", "-e", "1e-2", "-o", archive, "a.h5:/group/missing", cwd=files)
    assert (done.returncode, done.stderr) == (0, "")
    run("-xq", "-o", str(tmp_path / "a.npy"), archive, cwd=files)
    with h5py.File(files / "a.h5") as file:
        original = file["group/missing"][...]
    restored = np.load(tmp_path / "a.npy")
    for fill in (-999, -888):
        assert np.array_equal(original == fill, restored == fill)


def test_a_whole_file_is_repacked(files: Path, tmp_path: Path) -> None:
    target = tmp_path / "small.nc"
    made = szgpu.repack(files / "a.nc", target, abs=BOUND, variables={"packed": "abs=0.05"})
    assert {one["name"] for one in made["datasets"] if one["is_compressed"]} == {
        "/plain", "/deflated", "/packed"
    }  # fmt: skip
    with h5py.File(target) as file:
        assert np.abs(file["plain"][...] - FIELD).max() <= BOUND
        assert np.abs(file["packed"][...] - np.rint(FIELD * 1000)).max() <= 5
    back = tmp_path / "plain.nc"
    assert szgpu.unpack(target, back, verify=True, threads=1)["restored_count"] == 3
    with h5py.File(target) as file, h5py.File(back) as plain:
        assert np.array_equal(file["plain"][...], plain["plain"][...])
        assert plain["plain"].id.get_create_plist().get_nfilters() == 0
    with pytest.raises(OSError, match="already exists"):
        szgpu.repack(files / "a.nc", target, abs=BOUND)
    with pytest.raises(OSError, match="already exists"):
        szgpu.unpack(target, back)
    with pytest.raises(ValueError, match="has no variable for --var gone:abs=1"):
        szgpu.repack(files / "a.nc", tmp_path / "b.nc", variables={"gone": "abs=1"})
    with pytest.raises(ValueError, match="at most one"):
        szgpu.repack(files / "a.nc", tmp_path / "b.nc", abs=1, lossless=True)
    assert not (tmp_path / "b.nc").exists()
    told = szgpu.repack(files / "a.nc", rel=1e-3, dry_run=True, threads=1, memory="200M")
    assert told["is_estimate"] and told["compressed_count"] == 2


@pytest.mark.parametrize("hidden", [(), ("netCDF4",), ("h5py",)], ids=["both", "h5py", "netCDF4"])
def test_the_command_repacks(files: Path, tmp_path: Path, hidden: tuple[str, ...]) -> None:
    target = str(tmp_path / "small.h5")
    done = run("--repack", "-q", "-m", "abs", "-e", str(BOUND), "a.h5", target,
               hidden=hidden, cwd=files)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with h5py.File(target) as file:
        for name in ("plain", "big", "deflated"):
            assert np.abs(file[name][...] - FIELD).max() <= BOUND
        original = h5py.File(files / "a.h5")["group/missing"][...]
        for fill in (-999, -888):
            assert np.array_equal(original == fill, file["group/missing"][...] == fill)
    assert "5 datasets, 5 by szgpu" in run("-l", target, hidden=hidden, cwd=files).stdout


def test_packed_values_are_told(files: Path, tmp_path: Path) -> None:
    archive = str(tmp_path / "a.szg")
    done = run("-z", "-m", "abs", "-e", "50", "-o", archive, "a.nc:packed", cwd=files)
    assert "(0.01 * stored + 273.15): the bound of 50 is 0.5 unpacked" in done.stderr


def test_names_are_listed_and_versions_told(files: Path) -> None:
    for hidden in ((), ("h5py",), ("netCDF4",)):
        done = run("-z", "-e", "1e-3", "a.h5", hidden=hidden, cwd=files)
        assert done.returncode == 1
        assert "name one of its datasets: a.h5:/big, a.h5:/deflated, a.h5:/group/missing" in done.stderr
        assert run("--version", hidden=hidden, cwd=files).stdout.endswith("HDF5: yes\n")


def test_libhdf5_is_that_of_the_packages() -> None:
    library = find_libhdf5()
    assert library is not None and "libhdf5" in Path(library).name and Path(library).exists()
    package = Path(h5py.__file__).parent
    if (package.parent / "h5py.libs").is_dir():
        assert Path(library).parent == package.parent / "h5py.libs"


def test_a_libhdf5_that_cannot_be_loaded(files: Path, tmp_path: Path) -> None:
    text = tmp_path / "libhdf5.so"
    text.write_text("no library")
    libc = next(line.split()[-1] for line in open("/proc/self/maps") if "/libc.so" in line)
    for library, reason in (
        ("/nowhere/libhdf5.so", "/nowhere/libhdf5.so: cannot open shared object file"),
        (str(text), "invalid ELF header"),
        (libc, "it is not a libhdf5 of version 1.10.5 or later"),
    ):
        more: dict[str, Any] = {command.HDF5_LIBRARY: library}
        done = run("-z", "-e", "1e-3", "a.h5:plain", cwd=files, **more)
        assert done.returncode == 1
        assert done.stderr.startswith("szgpu: a.h5:plain: needs the HDF5 of h5py or netCDF4 (")
        assert reason in done.stderr or "file too short" in done.stderr
        assert done.stderr.endswith("); pip install h5py, or save the field as .npy\n")
        assert run("--version", cwd=files, **more).stdout.endswith("HDF5: no\n")
        # What needs no HDF5 works.
        field = tmp_path / "a_60x200.f32"
        FIELD.tofile(field)
        assert run("-zqf", "-e", "1e-3", str(field), cwd=files, **more).returncode == 0


def test_the_folder_of_plugins_is_added_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = szgpu.hdf5.PLUGIN_PATH
    assert plugin is not None
    for before, after in (
        (None, plugin),
        ("", plugin),
        ("/a:/b", f"{plugin}:/a:/b"),
        (f"/a:{plugin}", f"{plugin}:/a"),
    ):
        monkeypatch.delenv("HDF5_PLUGIN_PATH", raising=False)
        if before is not None:
            monkeypatch.setenv("HDF5_PLUGIN_PATH", before)
        assert command.environment()["HDF5_PLUGIN_PATH"] == after
    monkeypatch.setenv(command.HDF5_LIBRARY, "/mine")
    assert command.environment()[command.HDF5_LIBRARY] == "/mine"
