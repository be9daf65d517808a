"""cases_readers.py - NCO, CDO and Octave read what szgpu --repack writes, by the plugin.

SPDX-License-Identifier: BSD-3-Clause

h5py, netCDF4 and ncdump are in cases_repack.py.
"""
import subprocess

import numpy as np

import harness
from harness import Hdf5Test, optional

netCDF4 = optional("netCDF4")
if netCDF4 is not None and optional("h5py") is not None:
    import whole_files

BOUND = 0.01


class Readers(Hdf5Test):
    modules = {"h5py": "python3-h5py", "netCDF4": "python3-netcdf4"}

    def repack(self, maker):
        maker(self.path("in.nc"))
        self.run_tool(harness.szgpu, "--repack", "-m", "abs", "-e", BOUND, "in.nc", "out.nc")

    def values(self, name, variable):
        with netCDF4.Dataset(self.path(name)) as file:
            return file[variable][:]

    def assert_same(self, one, other):
        self.assertTrue(np.array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(other)))
        self.assert_same_bits(np.ma.filled(one, 0), np.ma.filled(other, 0))

    def test_nco(self):
        self.need("ncks", "ncra")
        self.repack(whole_files.ocean)
        self.run_tool("ncks", "-O", "--cmp=none", "out.nc", "copied.nc")
        self.assert_same(self.values("out.nc", "tos"), self.values("copied.nc", "tos"))
        # NCO would compress the mean with the filter that the values had.
        self.run_tool("ncra", "-O", "--cmp=none", "-v", "tos", "out.nc", "mean.nc")
        mean = self.values("in.nc", "tos").astype("f8").mean(axis=0)
        found = self.values("mean.nc", "tos")[0]
        self.assertTrue(np.array_equal(mean.mask, found.mask))
        self.assertLess(np.abs(mean - found).max(), BOUND)

    def test_cdo(self):
        self.need("cdo")
        self.repack(whole_files.ocean)
        self.run_tool("cdo", "-s", "copy", "out.nc", "copied.nc")
        self.run_tool("cdo", "-s", "timmax", "-selname,tos", "out.nc", "most.nc")
        values = self.values("out.nc", "tos")
        self.assert_same(values, self.values("copied.nc", "tos"))
        self.assert_same(values.max(axis=0), self.values("most.nc", "tos")[0])
        with netCDF4.Dataset(self.path("copied.nc")) as file:
            self.assertAlmostEqual(file["tos"].quantization_maximum_absolute_error, BOUND)

    def test_octave(self):
        """Its package netcdf has the functions of MATLAB, and its own `load` reads HDF5."""
        self.need("octave-cli")
        if subprocess.run(["octave-cli", "-qf", "--eval", "pkg load netcdf"], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("Octave has no package netcdf (Debian: octave-netcdf)")
        self.repack(whole_files.ocean)
        self.run_tool("octave-cli", "-qf", "--eval",
                      "pkg load netcdf; file = fopen('values', 'w'); v = ncread('out.nc', 'tos'); "
                      "fwrite(file, v, 'single'); fclose(file); loaded = load('-hdf5', 'out.nc'); "
                      "file = fopen('loaded', 'w'); fwrite(file, loaded.tos, 'single'); "
                      "fclose(file); printf('%s %g\\n', class(v), ncreadatt('out.nc', 'tos', "
                      "'quantization_maximum_absolute_error'));")
        values = self.values("out.nc", "tos")
        for name, fill in (("values", np.nan), ("loaded", -999)):
            found = np.fromfile(self.path(name), "f4").reshape(values.shape)
            self.assert_same_bits(values.filled(np.float32(fill)), found, name)
