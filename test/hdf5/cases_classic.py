"""cases_classic.py - szgpu --repack of classic netCDF: each variable as netCDF4 reads it.

SPDX-License-Identifier: BSD-3-Clause

cases_classic.py in test/cli has its sentences.
"""
import os

import numpy as np

import harness
from harness import Hdf5Test, optional, waves

netCDF4 = optional("netCDF4")

BOUND = 0.01
FORMATS = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA")


def make(path, form):
    """Records, fill values that are named or the type's own, packed values, text, all types."""
    with netCDF4.Dataset(path, "w", format=form) as f:
        f.Conventions, f.history, f.empty = "CF-1.6", "Mon Jan  1 00:00:00 2024: made", ""
        f.numbers = np.array([1, 2, 3], "i2")
        for name, size in (("time", None), ("lat", 60), ("lon", 80), ("chars", 12)):
            f.createDimension(name, size)
        f.createVariable("lat", "f4", ("lat",))[:] = np.linspace(-90, 90, 60)
        time = f.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        named = f.createVariable("named", "f4", ("time", "lat", "lon"), fill_value=np.float32(-999))
        named.units = "K"
        default = f.createVariable("default", "f8", ("time", "lat", "lon"))
        packed = f.createVariable("packed", "i2", ("time", "lat", "lon"))
        packed.scale_factor, packed.add_offset = 0.01, 273.15
        text = f.createVariable("text", "S1", ("time", "chars"))
        f.createVariable("single", "f4", ())[...] = 2.5
        f.createVariable("mean", "f4", ("lat", "lon"))[:] = waves((60, 80))
        types = ("i1", "i2", "i4", "f4", "f8") + ("u1", "u2", "u4", "i8", "u8") * (form == FORMATS[2])
        for name in types:
            f.createVariable(f"as_{name}", name, ("time",))
        for k in range(9):
            time[k] = 2.5 * k
            text[k, :3] = np.array(list("abc"), "S1")
            if k == 4:  # the rest of this record is never written
                continue
            values = waves((60, 80), "f8", k)
            named[k] = np.ma.masked_where(harness.coast((60, 80)), values)
            default[k, :50] = values[:50]
            packed[k, :, 3:] = 273 + values[:, 3:]
            for name in types:
                f[f"as_{name}"][k] = k
    return {"named": BOUND, "default": BOUND, "packed": 0.05, "mean": BOUND}


class Classic(Hdf5Test):
    modules = {"h5py": "python3-h5py", "netCDF4": "python3-netcdf4"}

    def setUp(self):
        super().setUp()
        self.need("nccopy")

    def repack(self, *arguments):
        return self.run_tool(harness.szgpu, "--repack", "-m", "abs", "-e", BOUND, "--var",
                             "packed:abs=0.05", *arguments)

    def compare(self, bounds):
        with netCDF4.Dataset(self.path("in.nc")) as one, \
                netCDF4.Dataset(self.path("out.nc")) as other:
            self.assertEqual(other.data_model, "NETCDF4")
            self.assertEqual([(d.name, d.size, d.isunlimited()) for d in one.dimensions.values()],
                             [(d.name, d.size, d.isunlimited()) for d in other.dimensions.values()])
            for name in one.ncattrs():
                before, after = one.getncattr(name), other.getncattr(name)
                if name == "history":
                    lines = after.split("\n")
                    self.assertEqual(lines[1:], [before])
                    self.assertRegex(lines[0], r": szgpu --repack -m abs .* in\.nc out\.nc \(szgpu")
                else:
                    self.assertTrue(np.array_equal(before, after), name)
            self.assertEqual([*one.variables, "szgpu_quantization"], [*other.variables])
            for name, before in one.variables.items():
                self.compare_variables(before, other[name], bounds.get(name))

    def compare_variables(self, before, after, bound):
        name = before.name
        self.assertEqual((before.dtype, before.dimensions), (after.dtype, after.dimensions), name)
        own = {"quantization", "quantization_maximum_absolute_error", "szgpu_maximum_absolute_error"}
        self.assertEqual({a: str(before.getncattr(a)) for a in before.ncattrs()},
                         {a: str(after.getncattr(a)) for a in after.ncattrs() if a not in own}, name)
        one, other = before[...], after[...]
        self.assertTrue(np.array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(other)), name)
        before.set_auto_maskandscale(False)
        after.set_auto_maskandscale(False)
        if bound is None:
            self.assert_same_bits(np.asarray(before[...]), np.asarray(after[...]), name)
        else:
            self.assertTrue(np.ma.is_masked(one) or name == "mean", name)
            error = np.abs(one.astype("f8") - other.astype("f8")).max()
            self.assertTrue(0 < error <= bound * (1 + 1e-12), (name, error))
            hidden = np.ma.getmaskarray(one)
            self.assert_same_bits(before[...][hidden], after[...][hidden], name)

    def test_each_format(self):
        for form in FORMATS:
            for options in ((), ("--chunks", "keep"), ("-j", "1")):
                with self.subTest(form, options=options):
                    bounds = make(self.path("in.nc"), form)
                    self.repack("-f", *options, "in.nc", "out.nc")
                    self.compare(bounds)

    def test_nothing_names_the_copy(self):
        make(self.path("in.nc"), FORMATS[0])
        said = self.repack("-v", "in.nc", "out.nc")
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.nc", "out.nc"])
        with open(self.path("out.nc"), "rb") as file:
            made = file.read()
        for part in (b".out.nc.", b"/dev/fd", b"/proc/", self.folder.encode()):
            self.assertNotIn(part, made)
            self.assertNotIn(part.decode(), said)

    def test_records_of_the_new_file_are_joined_and_can_be_added(self):
        make(self.path("in.nc"), FORMATS[1])
        self.repack("in.nc", "out.nc")
        with netCDF4.Dataset(self.path("out.nc"), "a") as file:
            self.assertEqual(file["named"].chunking(), [9, 60, 80])
            file["time"][11] = 11
            self.assertEqual(file["named"].shape, (12, 60, 80))
            for name in ("named", "default", "packed", "as_i4"):
                self.assertTrue(np.ma.getmaskarray(file[name][9:]).all(), name)

    def test_a_file_with_nothing_to_compress_is_converted(self):
        with netCDF4.Dataset(self.path("in.nc"), "w", format=FORMATS[0]) as file:
            file.createDimension("x", 4)
            file.createVariable("x", "f4", ("x",))[:] = np.arange(4)
        self.run_tool(harness.szgpu, "--repack", "-m", "lossless", "in.nc", "out.nc")
        with netCDF4.Dataset(self.path("out.nc")) as file:
            self.assertEqual(file.data_model, "NETCDF4")
            self.assertEqual(file["x"][:].tolist(), [0, 1, 2, 3])
