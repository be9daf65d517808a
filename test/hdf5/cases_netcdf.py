"""cases_netcdf.py - netCDF-4 files: nccopy, ncgen, ncdump, and netCDF4 for Python.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import sys

import numpy as np

import harness
from harness import (ABS, LOSSLESS, NAMED, REL, coast, comma_separated, optional, sample, user_words,
                     waves)

h5py = optional("h5py")
netCDF4 = optional("netCDF4")
FILL = 9.969209968386869e36  # netCDF's default for floats


def filter_form(mode, bound):
    """What nccopy -F and _Filter take after the variable's name."""
    return f"{harness.filter_id},{comma_separated(user_words(mode, bound))}"


class NetcdfTest(harness.Hdf5Test):
    modules = {"h5py": "python3-h5py", "netCDF4": "python3-netcdf4"}

    def classic(self, name="plain.nc", kind="NETCDF3_CLASSIC"):
        """The sample in a file of the classic format, with another variable, of integers."""
        with netCDF4.Dataset(self.path(name), "w", format=kind) as file:
            for dim, size in (("time", None), ("lat", 73), ("lon", 144)):
                file.createDimension(dim, size)
            file.createVariable("time", "i4", ("time",))[:] = np.arange(36)
            file.createVariable("wind", "f4", ("time", "lat", "lon"))[:] = sample()

    def read(self, name, variable="wind"):
        with netCDF4.Dataset(self.path(name)) as file:
            file.set_auto_mask(False)
            return file[variable][:]


class Tools(NetcdfTest):
    def setUp(self):
        super().setUp()
        self.need("nccopy", "ncdump", "ncgen")

    def pack(self):
        self.run_tool("nccopy", "-4", "-c", "wind:12,73,144", "-F",
                      "wind," + filter_form(ABS, 0.01), "plain.nc", "packed.nc")

    def test_nccopy(self):
        self.classic()
        self.pack()
        self.assert_lossy(sample(), self.read("packed.nc"), 0.01)
        self.assertTrue((self.read("packed.nc", "time") == np.arange(36)).all())
        size = os.path.getsize(self.path("packed.nc"))
        self.assertLess(size, sample().nbytes / 3)
        self.run_tool("nccopy", "-3", "packed.nc", "back.nc")
        self.assert_same_bits(self.read("packed.nc"), self.read("back.nc"))

    def test_nccopy_takes_a_double(self):
        """A bound written as a double, with a d, gives the same two words."""
        self.classic()
        self.run_tool("nccopy", "-4", "-c", "wind:12,73,144", "-F",
                      f"wind,{harness.filter_id},1,1,0.01d", "plain.nc", "packed.nc")
        with h5py.File(self.path("packed.nc"), "r") as file:
            used = file["wind"].id.get_create_plist().get_filter(0)
        self.assertEqual(tuple(used[2])[:4], user_words(ABS, 0.01))
        self.assert_lossy(sample(), self.read("packed.nc"), 0.01)

    def test_nccopy_without_filters(self):
        self.classic()
        self.pack()
        self.run_tool("nccopy", "-F", "none", "packed.nc", "back.nc")
        self.assert_same_bits(self.read("packed.nc"), self.read("back.nc"))
        self.assertGreater(os.path.getsize(self.path("back.nc")), sample().nbytes)

    def test_ncdump(self):
        self.classic()
        self.pack()
        header = self.run_tool("ncdump", "-hs", "packed.nc")
        self.assertRegex(header, rf'wind:_Filter = "{filter_form(ABS, 0.01)}')
        dumped = self.run_tool("ncdump", "-p", "9,17", "-v", "wind", "packed.nc")
        body = dumped[dumped.index("wind =", dumped.index("data:")) + 6:]
        values = np.array(body.replace(";", " ").replace("}", " ").replace(",", " ").split(), "f4")
        self.assert_same_bits(values.reshape(36, 73, 144), self.read("packed.nc"))

    def test_ncgen(self):
        """A file described as text: the attribute _Filter."""
        cdl = ("netcdf made {\ndimensions: y = 64 ; x = 80 ;\nvariables:\n  float f(y, x) ;\n"
               f'    f:_Filter = "{filter_form(ABS, 1e-3)}" ;\n'
               "    f:_ChunkSizes = 32, 80 ;\n}\n")
        with open(self.path("made.cdl"), "w", encoding="utf-8") as file:
            file.write(cdl)
        self.run_tool("ncgen", "-4", "-o", "made.nc", "made.cdl")
        values = waves((64, 80))
        with netCDF4.Dataset(self.path("made.nc"), "r+") as file:
            file["f"][:] = values
        self.assert_lossy(values, self.read("made.nc", "f"), 1e-3)
        with h5py.File(self.path("made.nc"), "r") as file:
            masks = [file["f"].id.get_chunk_info(i).filter_mask for i in range(2)]
            self.assert_same_bits(file["f"][()], self.read("made.nc", "f"))
        self.assertEqual(masks, [0, 0])


class WholeFiles(NetcdfTest):
    """A file with a field, coordinates, times, a mask and ids, through tools that apply the filter to
    all of it. What the field's bound is not meant for comes back as it was."""
    BOUND = 0.01
    EXACT = ("time", "time_bnds", "lat", "lon", "land_mask", "station")

    def setUp(self):
        super().setUp()
        self.need("nccopy")
        shape = (31, 40, 50)
        cells = np.add.outer(np.arange(40), np.arange(50))
        self.field = (280 + 10 * np.sin(np.add.outer(np.arange(31), cells) / 20)).astype("f4")
        self.field[:, cells % 3 == 0] = -999
        with netCDF4.Dataset(self.path("plain.nc"), "w") as file:
            for dim, size in zip(("time", "lat", "lon", "two"), (None, *shape[1:], 2)):
                file.createDimension(dim, size)
            for name, dtype, dims, values in (
                    ("time", "f8", ("time",), np.arange(31) * 6.0),
                    ("time_bnds", "f8", ("time", "two"), np.add.outer(np.arange(31) * 6.0, (0, 6))),
                    ("lat", "f4", ("lat",), np.linspace(-90, 90, 40)),
                    ("lon", "f4", ("lon",), (np.arange(50) * 7.2 + 180) % 360 - 180),
                    ("land_mask", "i4", ("lat", "lon"), cells % 3 == 0),
                    ("station", "i8", ("lat", "lon"), cells)):
                file.createVariable(name, dtype, dims)[:] = values
            file.createVariable("crs", "i4", ())
            field = file.createVariable("tos", "f4", ("time", "lat", "lon"), fill_value=-999,
                                        chunksizes=shape)
            field.set_auto_mask(False)
            field[:] = self.field

    def assert_whole(self, name, field, bound):
        for variable in self.EXACT:
            self.assert_same_bits(self.read("plain.nc", variable), self.read(name, variable), variable)
        restored = self.read(name, "tos")
        self.assert_within(field, restored, bound)
        return restored

    def words(self, name, variable):
        with h5py.File(self.path(name), "r") as file:
            return file[variable].id.get_create_plist().get_filter(0)[2]

    def repacked(self):
        words = comma_separated(user_words(ABS, self.BOUND, 0))
        self.run_tool("h5repack", "-f", f"UD={harness.filter_id},1,5,{words}", "plain.nc", "packed.nc")
        return self.assert_whole("packed.nc", self.field, self.BOUND)

    def test_h5repack(self):
        self.need("h5repack")
        restored = self.repacked()
        self.assertTrue(((restored == -999) == (self.field == -999)).all())
        self.assertFalse((restored == self.field).all())

    def test_nccopy(self):
        """Its filters are mandatory. Before, it failed for the variables of 64-bit integers."""
        self.run_tool("nccopy", "-4", "-F", "*," + filter_form(ABS, self.BOUND), "plain.nc", "all.nc")
        self.assert_whole("all.nc", self.field, self.BOUND)
        self.run_tool("nccopy", "-4", "-F", f"*,{harness.filter_id}", "plain.nc", "lossless.nc")
        self.assert_whole("lossless.nc", self.field, 0)
        self.assertLess(os.path.getsize(self.path("lossless.nc")),
                        os.path.getsize(self.path("plain.nc")))

    def test_nco(self):
        """NCO passes the first filtered variable's words, and to the others only the last of them,
        which the filter takes for lossless. Before, it failed with 'HDF error'."""
        self.need("h5repack", "ncks", "ncra", "ncrcat")
        restored = self.repacked()
        self.run_tool("ncks", "-O", "packed.nc", "copied.nc")
        self.assert_whole("copied.nc", restored, 0)
        self.assertEqual(self.words("copied.nc", "tos")[1], LOSSLESS)
        self.run_tool("ncks", "-O", "-v", "tos", "packed.nc", "one.nc")
        self.assert_same_bits(self.read("one.nc", "tos"), restored)
        self.run_tool("ncrcat", "-O", "packed.nc", "packed.nc", "joined.nc")
        self.assert_same_bits(self.read("joined.nc", "tos"), np.concatenate([restored] * 2))
        self.assert_same_bits(self.read("joined.nc", "land_mask"), self.read("plain.nc", "land_mask"))
        self.run_tool("ncra", "-O", "packed.nc", "mean.nc")
        with netCDF4.Dataset(self.path("mean.nc")) as mean:
            expected = np.ma.masked_equal(restored, -999).astype("f8").mean(axis=0)
            self.assertLess(abs(mean["tos"][0] - expected).max(), 1e-3)
        self.run_tool("ncks", "-O", "--cmp=none", "packed.nc", "bare.nc")
        self.assert_whole("bare.nc", restored, 0)

    def test_nco_with_the_field_first(self):
        """If the field is the first variable that has the filter, it keeps its bound."""
        self.need("ncks")
        self.run_tool("nccopy", "-4", "-F", "tos," + filter_form(ABS, self.BOUND), "plain.nc", "one.nc")
        restored = self.assert_whole("one.nc", self.field, self.BOUND)
        self.run_tool("ncks", "-O", "one.nc", "copied.nc")
        self.assert_whole("copied.nc", restored, self.BOUND)
        self.assertEqual(self.words("copied.nc", "tos")[:4], user_words(ABS, self.BOUND))

    def test_cdo(self):
        self.need("h5repack", "cdo")
        restored = self.repacked()
        self.run_tool("cdo", "-s", "-O", "copy", "packed.nc", "copied.nc")
        self.assert_same_bits(self.read("copied.nc", "tos"), restored)


class Python(NetcdfTest):
    """netCDF4 has no name for the filter: h5py or nccopy make the variable, netCDF4 fills it."""

    def made(self, name, shape, chunk, opts, fill=FILL):
        """A netCDF-4 file with an unlimited dim and a variable that goes through the filter."""
        with netCDF4.Dataset(self.path("empty.nc"), "w") as file:
            for i, size in enumerate(shape):
                file.createDimension(f"d{i}", None if i == 0 else size)
            dims = tuple(f"d{i}" for i in range(len(shape)))
            file.createVariable("wind", "f4", dims, chunksizes=chunk, fill_value=fill)
        self.run_tool("nccopy", "-F", f"wind,{harness.filter_id},{comma_separated(opts)}",
                      "empty.nc", name)

    def test_written_step_by_step(self):
        self.need("nccopy")
        values = waves((24, 30, 40))
        values[:, coast((30, 40))] = FILL
        self.made("grown.nc", values.shape, (8, 30, 40), user_words(ABS, 1e-3))
        with netCDF4.Dataset(self.path("grown.nc"), "r+") as file:
            for step in range(0, 24, 8):
                file["wind"][step:step + 8] = values[step:step + 8]
        restored = self.read("grown.nc")
        self.assert_lossy(values, restored, 1e-3)
        self.assert_same_bits(values[values == np.float32(FILL)],
                              restored[values == np.float32(FILL)])
        with netCDF4.Dataset(self.path("grown.nc")) as file:
            masked = file["wind"][:]
        self.assertTrue((np.ma.getmaskarray(masked) == (values == np.float32(FILL))).all())

    def test_fill_is_left_out_of_the_range(self):
        """_FillValue, with a value that the library would not find itself, in a file made by netCDF
        and compressed by h5repack; nccopy would make datasets without a fill value."""
        self.need("h5repack")
        values = waves((8, 30, 40))
        values[:, coast((30, 40))] = -9999
        with netCDF4.Dataset(self.path("made.nc"), "w") as file:
            for name, size in zip("zyx", values.shape):
                file.createDimension(name, size)
            made = file.createVariable("wind", "f4", tuple("zyx"), chunksizes=values.shape,
                                       fill_value=-9999)
            made[:] = values
        opts = user_words(REL, 1e-3)
        self.run_tool("h5repack", "-f", f"wind:UD={harness.filter_id},0,{len(opts)},"
                      f"{comma_separated(opts)}", "made.nc", "packed.nc")
        restored = self.read("packed.nc")
        self.assert_modes_bound(values, restored, REL, 1e-3, (8, 30, 40), -9999.0)
        self.assertFalse((values == restored).all())
        with netCDF4.Dataset(self.path("packed.nc")) as file:
            masked = file["wind"][:]
        self.assertTrue((np.ma.getmaskarray(masked) == (values == -9999)).all())

    def test_types_that_h5py_wrote(self):
        """Losslessly and under a bound, in both byte orders."""
        numbers = np.arange(6000).reshape(60, 100) // 50
        names = [order + kind for kind in ("f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
                 for order in "<>"]
        for mode, options in ((LOSSLESS, 0), (ABS, NAMED), (ABS, 0)):
            with h5py.File(self.path("types.nc"), "w") as file:
                for name in names:
                    file.create_dataset(name, data=numbers.astype(name), chunks=(60, 100),
                                        compression=harness.filter_id,
                                        compression_opts=user_words(mode, 2.0, options))
            with netCDF4.Dataset(self.path("types.nc")) as file:
                file.set_auto_mask(False)
                for name in names:
                    with self.subTest(name, mode=mode, options=options):
                        error = abs(file[name][:].astype("f8") - numbers).max()
                        self.assertEqual(file[name].dtype.newbyteorder("="),
                                         np.dtype(name).newbyteorder("="))
                        is_bounded = options == NAMED and name[1:] not in ("u4", "i8", "u8")
                        self.assertTrue(0 < error <= 2 if is_bounded else error == 0, error)

    def test_what_h5py_wrote(self):
        """netCDF4 reads a file that h5py made with dimension scales."""
        values = waves((24, 30, 40), "f8")
        with h5py.File(self.path("made.nc"), "w") as file:
            dataset = file.create_dataset("wind", data=values, chunks=(8, 30, 40),
                                          compression=harness.filter_id,
                                          compression_opts=user_words(ABS, 1e-5))
            for i, name in enumerate(("time", "lat", "lon")):
                file[name] = np.arange(values.shape[i], dtype="f8")
                file[name].make_scale(name)
                dataset.dims[i].attach_scale(file[name])
        restored = self.read("made.nc")
        self.assert_lossy(values, restored, 1e-5)
        with h5py.File(self.path("made.nc"), "r") as file:
            self.assert_same_bits(restored, file["wind"][()])


class OneProcess(NetcdfTest):
    """h5py and netCDF4 take turns in one process and read each other's files. Those of PyPI each
    bring their own libhdf5; cases_wheels runs this with them. netCDF4 writes to a file that tracks
    the order in which objects were created."""

    def test_both(self):
        values = waves((24, 30, 40))
        path = self.path("shared.nc")
        for turn in range(3):
            with h5py.File(path, "w", track_order=True) as file:
                for name in ("first", "second"):
                    file.create_dataset(name, data=values + turn, chunks=(8, 30, 40),
                                        compression=harness.filter_id,
                                        compression_opts=user_words(ABS, 1e-3))
            with netCDF4.Dataset(path, "r+") as file:
                self.assert_lossy(values + turn, file["first"][:].data, 1e-3)
                file["second"][:] = values + turn + 1
            with h5py.File(path, "r") as file:
                self.assert_lossy(values + turn + 1, file["second"][()], 1e-3)
                self.assert_lossy(values + turn, file["first"][()], 1e-3)

    def test_both_open_at_once(self):
        values = waves((24, 30, 40))
        for name in ("one.nc", "two.nc"):
            with h5py.File(self.path(name), "w", track_order=True) as file:
                file.create_dataset("wind", data=values, chunks=(8, 30, 40),
                                    compression=harness.filter_id,
                                    compression_opts=user_words(ABS, 1e-3))
        with h5py.File(self.path("one.nc"), "r+") as one, \
                netCDF4.Dataset(self.path("two.nc"), "r+") as two:
            for step in range(0, 24, 8):
                one["wind"][step:step + 8] = values[step:step + 8] + 1
                two["wind"][step:step + 8] = values[step:step + 8] + 2
                self.assert_within(values[step:step + 8] + 1, one["wind"][step:step + 8], 1e-3)
                self.assert_within(values[step:step + 8] + 2, two["wind"][step:step + 8].data, 1e-3)
        self.assert_lossy(values + 1, self.read("one.nc"), 1e-3)
        with h5py.File(self.path("two.nc"), "r") as file:
            self.assert_lossy(values + 2, file["wind"][()], 1e-3)

    def test_errors_reach_whose_they_are(self):
        """The library that reads a damaged chunk reports it, and both go on working."""
        values = waves((8, 30, 40))
        path = self.path("damaged.nc")
        with h5py.File(path, "w") as file:
            dataset = file.create_dataset("wind", data=values, chunks=(8, 30, 40),
                                          compression=harness.filter_id,
                                          compression_opts=user_words(ABS, 1e-3))
            dataset.id.write_direct_chunk((0, 0, 0), b"\0" * 100)
            file["sound"] = values
        for turn in range(3):
            with h5py.File(path, "r") as file:
                with self.assertRaisesRegex(OSError, "szgpu"):
                    file["wind"][()]
                self.assert_same_bits(values, file["sound"][()])
            with netCDF4.Dataset(path) as file:
                with self.assertRaises((OSError, RuntimeError)):
                    file["wind"][:]
                self.assert_same_bits(values, file["sound"][:].data)

    def test_each_has_its_own_library(self):
        """Prints the loaded libraries, so that the log shows whether there were one or two."""
        with open("/proc/self/maps", encoding="utf-8") as file:
            loaded = sorted({line.split()[-1] for line in file if "libhdf5" in line})
        print("libhdf5 in this process:", *(os.path.basename(p) for p in loaded), file=sys.stderr)
        self.assertTrue(loaded)
