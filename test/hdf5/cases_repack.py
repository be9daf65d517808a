"""cases_repack.py - szgpu --repack keeps all that a file has, and fields within their bounds.

SPDX-License-Identifier: BSD-3-Clause

cases_repack.py in test/cli has its sentences.
"""
import json
import os
import re
import subprocess

import numpy as np

import harness
from harness import Hdf5Test, optional, waves

h5py = optional("h5py")
netCDF4 = optional("netCDF4")
if h5py is not None:
    import whole_files

BOUND = 0.01


class Repack(Hdf5Test):
    modules = {"h5py": "python3-h5py", "netCDF4": "python3-netcdf4"}

    def repack(self, *arguments, code=0):
        return self.run_tool(harness.szgpu, "--repack", *arguments, code=code)

    def make(self, maker):
        compressed = maker(self.path("in.nc"))
        return compressed, {"/ocean/temp": (1e20, -99, -98), "/tos": (-999,),
                            "/radiance": (np.nan,), "/holes": (-1,)}

    def compare(self, compressed, fills, bound=BOUND, after="out.nc"):
        def check(path, before, after):
            one, other = before[()], after[()]
            whole_files.missing_stay(self, path, one, other, fills.get(path, ()))
            native = one.dtype.newbyteorder("=")
            one, other = one.astype(native), other.astype(native)
            if native == np.float16:
                one, other = one.astype("f4"), other.astype("f4")
            self.assert_lossy(one, other, bound, path)
            self.assertEqual(after.id.get_create_plist().get_filter(0)[0], harness.filter_id)
        whole_files.Comparison(self, self.path("in.nc"), self.path(after), compressed, check)

    def test_whole_files(self):
        for maker in whole_files.FILES:
            for options in ((), ("--chunks", "keep", "-V"), ("-j", "1"), ("--memory", "300M", "-V"), ("-V",)):
                with self.subTest(maker.__name__, options=options):
                    compressed, fills = self.make(maker)
                    self.repack("-f", "-m", "abs", "-e", BOUND, *options, "in.nc", "out.nc")
                    self.compare(compressed, fills)

    def test_valid_values_stay_valid(self):
        self.make(whole_files.curvilinear)
        self.repack("-m", "abs", "-e", 0.5, "in.nc", "out.nc")
        with h5py.File(self.path("in.nc")) as one, h5py.File(self.path("out.nc")) as other:
            before, after = one["ocean/temp"][()], other["ocean/temp"][()]
        is_valid = (before >= -2) & (before <= 2)
        self.assertTrue(np.array_equal(is_valid, (after >= -2) & (after <= 2)))
        self.assertTrue(np.array_equal(before[~is_valid], after[~is_valid]))

    def test_a_missing_value_among_the_others_stays(self):
        """Nothing but its attribute tells it from them."""
        values = waves((40, 50, 60))
        values[::3, 4] = 0.625
        with h5py.File(self.path("in.nc"), "w") as file:
            file["v"] = values
            file["v"].attrs["missing_value"] = np.float64(0.625)
        self.repack("-m", "abs", "-e", 0.25, "in.nc", "out.nc")
        with h5py.File(self.path("out.nc")) as file:
            made = file["v"][()]
        whole_files.missing_stay(self, "v", values, made, [0.625])
        self.assert_lossy(values, made, 0.25)

    def test_no_value_becomes_a_missing_one_among_them(self):
        """Some values of a chunk were restored as 100, as those are which 50 is the bound for."""
        y, x = np.indices((128, 128))
        values = np.rint(900 * np.sin(x / 19) * np.cos(y / 23) + 3 * np.sin(x * y)).astype("i2")
        with h5py.File(self.path("in.nc"), "w") as file:
            file.create_dataset("v", data=values, chunks=(64, 64), fillvalue=100)
            file["v"].attrs["scale_factor"] = 0.5
        self.repack("--var", "v:abs=25", "--predictor", "interpolation", "--chunks", "keep", "in.nc",
                    "out.nc")
        with h5py.File(self.path("out.nc")) as file:
            made = file["v"][()]
        whole_files.missing_stay(self, "v", values, made, [100])
        self.assert_lossy(values.astype("f8"), made.astype("f8"), 50)

    def test_missing_values_at_the_ends_of_the_range(self):
        """Whether a chunk has any is told from its least and its greatest value."""
        for dtype in ("f4", "f8"):
            values = waves((6, 40, 50), dtype).clip(-0.5, 0.5)
            for chunk, first in enumerate((-7, -0.5, 0, 0.5, np.inf, np.nan)):
                values[chunk, 3, ::7] = first
            one = np.dtype(dtype).type(0.5)
            for fill in (-7, -0.5, np.nextafter(-one, -one * 2), 0, 0.5, np.nextafter(one, one * 2),
                         np.nextafter(one, 0 * one), np.inf, -np.inf, np.nan, 9.969209968386869e36):
                with self.subTest(dtype, fill=fill):
                    with h5py.File(self.path("in.nc"), "w") as file:
                        data = file.create_dataset("v", data=values, chunks=(1, 40, 50))
                        data.attrs["missing_value"] = np.dtype(dtype).type(fill)
                        data.attrs["valid_min"] = np.dtype(dtype).type(-0.5)
                    self.repack("-f", "-V", "--chunks", "keep", "-m", "abs", "-e", 0.25, "in.nc",
                                "out.nc")
                    with h5py.File(self.path("out.nc")) as file:
                        made = file["v"][()]
                    whole_files.missing_stay(self, "v", values, made, [fill])
                    changed = self.assert_within(values, made, 0.25)
                    self.assertEqual(changed > 0, fill != 0, "chunks with values at 0 are lossless")
                    is_valid = values >= -0.5
                    self.assertTrue(np.array_equal(is_valid, made >= -0.5))
                    self.assert_same_bits(values[~is_valid], made[~is_valid])

    def test_more_kinds_of_missing_values_than_an_archive_has(self):
        """Those that occur count."""
        values = waves((40, 50, 60))
        with h5py.File(self.path("in.nc"), "w") as file:
            for name, kinds in (("four", 4), ("five", 5)):
                for k in range(kinds):
                    values[k] = 0.5 + 0.01 * k
                file[name] = values
                file[name].attrs["missing_value"] = 0.5 + 0.01 * np.arange(20)
        told = json.loads(self.repack("--json", "-m", "abs", "-e", 0.25, "in.nc", "out.nc"))
        why = {dataset["name"]: dataset["why"] for dataset in told["datasets"]}
        self.assertEqual(why["/five"], "5 kinds of missing values, and 4 can be kept")
        with h5py.File(self.path("in.nc")) as one, h5py.File(self.path("out.nc")) as other:
            self.assert_same_bits(one["five"][()], other["five"][()])
            self.assert_same_bits(one["four"][:4], other["four"][:4])
            self.assert_lossy(one["four"][()], other["four"][()], 0.25)

    def test_tools_read_it(self):
        self.need("ncdump", "h5dump")
        compressed, _ = self.make(whole_files.curvilinear)
        self.repack("-m", "abs", "-e", BOUND, "in.nc", "out.nc")
        header = self.run_tool("ncdump", "-h", "out.nc")
        original = self.run_tool("ncdump", "-h", "in.nc")
        for line in original.splitlines()[1:]:
            if ":history" not in line:
                self.assertIn(line, header)
        for line in ('temp:quantization = "szgpu_quantization" ;',
                     "temp:quantization_maximum_absolute_error = 0.01 ;",
                     'szgpu_quantization:algorithm = "szgpu" ;',
                     'szgpu_quantization:implementation = "szgpu version '):
            self.assertIn(line, header)
        self.run_tool("ncdump", "-v", "temp", "out.nc")
        with netCDF4.Dataset(self.path("in.nc")) as one, \
                netCDF4.Dataset(self.path("out.nc")) as other:
            lines = other.history.split("\n")
            self.assertEqual(lines[1], one.history)
            self.assertRegex(lines[0], r"^\w{3} \w{3} \d\d [\d:]{8} \d{4}: szgpu --repack -m abs -e "
                             r"0\.01 in\.nc out\.nc \(szgpu [\d.]+\)$")
            before, after = one["ocean/temp"][:], other["ocean/temp"][:]
            self.assertTrue(np.array_equal(before.mask, after.mask))
            self.assertLessEqual(np.abs(before - after).max(), BOUND)
            self.assertEqual(one["kind"].datatype.enum_dict, other["kind"].datatype.enum_dict)
        self.assertTrue(compressed)

    def test_bounds_of_variables(self):
        self.make(whole_files.curvilinear)
        with open(self.path("rules"), "w") as file:
            file.write("# bounds\n\nstandard_name=*temperature:abs=0.5\n packed:abs=0.05\n")
        said = self.repack("--var", "ocean/temp:pwrel=1e-3", "in.nc", "out.nc", code=1)
        self.assertIn("in.nc:/ocean/temp: cannot get a bound: pwrel does not keep to its valid", said)
        told = json.loads(self.repack("--json", "--bounds", "rules", "--var", "nav_lat:rel=1e-3",
                                      "in.nc", "out.nc"))
        made = {dataset["name"]: dataset for dataset in told["datasets"]
                if dataset["is_compressed"]}
        self.assertEqual(set(made), {"/ocean/temp", "/packed", "/nav_lat"})
        with h5py.File(self.path("in.nc")) as one, h5py.File(self.path("out.nc")) as other:
            self.assert_lossy(one["packed"][()].astype("f8"), other["packed"][()].astype("f8"), 5)
            width = float(np.ptp(one["nav_lat"][()].astype("f8")))
            self.assert_lossy(one["nav_lat"][()], other["nav_lat"][()], width * 1e-3)
            self.assertAlmostEqual(made["/nav_lat"]["absolute_bound"] / width, 1e-3, 9)
            self.assertEqual(other["packed"].attrs["szgpu_maximum_absolute_error"], 0.05)
            self.assertNotIn("quantization", other["packed"].attrs)

    def test_like_another(self):
        compressed, fills = self.make(whole_files.wrf)
        self.repack("--var", "U:abs=0.02", "--var", "RAINNC:abs=0.01", "in.nc", "model.nc")
        self.repack("--like", "model.nc", "in.nc", "out.nc")
        with h5py.File(self.path("model.nc")) as one, h5py.File(self.path("out.nc")) as other:
            for name in ("U", "RAINNC"):
                self.assertEqual(one[name].id.get_create_plist().get_filter(0),
                                 other[name].id.get_create_plist().get_filter(0))
        self.compare(compressed, fills, 0.02)

    def test_modes(self):
        values = waves((30, 40, 50), "f8") + 5
        with h5py.File(self.path("in.nc"), "w") as file:
            file["v"] = values
        width = float(np.ptp(values))
        for mode, bound, most in (("rel", 1e-3, width * 1e-3), ("abs", 1e-3, 1e-3),
                                  ("psnr", 60, width * 10 ** -3 * 3 ** 0.5), ("pwrel", 1e-3, None)):
            with self.subTest(mode):
                self.repack("-f", "-m", mode, "-e", bound, "in.nc", "out.nc")
                with h5py.File(self.path("out.nc")) as file:
                    made = file["v"][()]
                if most is None:
                    self.assert_modes_bound(values, made, harness.PWREL, bound, (30, 40, 50))
                else:
                    self.assert_lossy(values, made, most)
        self.repack("-f", "-m", "lossless", "in.nc", "out.nc")
        with h5py.File(self.path("out.nc")) as file:
            self.assert_same_bits(values, file["v"][()])
            self.assertNotIn("quantization", file["v"].attrs)
            self.assertEqual(file["v"].id.get_create_plist().get_filter(0)[0], harness.filter_id)

    def test_a_second_time_nothing_is_lost(self):
        compressed, fills = self.make(whole_files.ocean)
        self.repack("-m", "abs", "-e", BOUND, "in.nc", "once.nc")
        self.repack("-m", "abs", "-e", 0.5, "once.nc", "out.nc")
        self.compare(compressed, fills)
        self.repack("--var", "tos:abs=0.5", "once.nc", "again.nc", code=1)

    def test_without_the_plugin(self):
        """The command needs none to write."""
        compressed, fills = self.make(whole_files.ocean)
        environment = dict(os.environ, HDF5_PLUGIN_PATH=self.folder)
        command = [harness.szgpu, "--repack", "-m", "abs", "-e", str(BOUND), "in.nc", "out.nc"]
        subprocess.run(command, cwd=self.folder, env=environment, check=True,
                       stdout=subprocess.DEVNULL)
        self.compare(compressed, fills)

    def test_an_archive_of_a_chunk_that_may_grow_is_the_filter_s(self):
        """Others are made without what is for writing parts of a chunk, so only their words are."""
        shape = {"shape": (30, 64, 80), "maxshape": (None, 64, 80), "chunks": (20, 64, 80),
                 "fillvalue": -9}
        with h5py.File(self.path("in.nc"), "w") as file:
            file.create_dataset("v", data=waves((30, 64, 80)), **shape)
        self.repack("--chunks", "keep", "-m", "abs", "-e", BOUND, "in.nc", "out.nc")
        with h5py.File(self.path("by_filter.h5"), "w") as file:
            words = (1, 1, *harness.words(BOUND), harness.NAMED)
            file.create_dataset("v", data=waves((30, 64, 80)), **shape,
                                compression=harness.filter_id, compression_opts=words)
        with h5py.File(self.path("out.nc")) as one, h5py.File(self.path("by_filter.h5")) as other:
            self.assertEqual(one["v"].id.read_direct_chunk((20, 0, 0)),
                             other["v"].id.read_direct_chunk((20, 0, 0)))
            self.assertEqual(one["v"].id.get_create_plist().get_filter(0)[2],
                             other["v"].id.get_create_plist().get_filter(0)[2])

    def test_the_page(self):
        """The commands of docs/netcdf.md do what it says, and it has the attributes of a file."""
        self.need("ncdump")
        with open(os.path.join(harness.ROOT, "docs", "netcdf.md"), encoding="utf-8") as file:
            page = file.read()
        block, = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(block.splitlines()), 8)
        whole_files.ocean(self.path("ocean.nc"))
        path = os.path.dirname(harness.szgpu) + os.pathsep + os.environ["PATH"]
        done = subprocess.run(["bash", "-euo", "pipefail"], input=block.encode(), cwd=self.folder,
                              env={**os.environ, "PATH": path}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        said = done.stdout.decode()
        self.assertEqual(done.returncode, 0, said)
        shown, = re.findall(r"^```\n(float tos.*?)^```", page, re.MULTILINE | re.DOTALL)
        header = self.run_tool("ncdump", "-h", "small.nc")
        for line in shown.splitlines():
            if "implementation" not in line:  # it has a version
                self.assertIn(line.strip(), header)
        with h5py.File(self.path("ocean.nc")) as one, h5py.File(self.path("plain.nc")) as other:
            self.assert_lossy(one["tos"][()], other["tos"][()], BOUND)
            self.assertEqual(other["tos"].id.get_create_plist().get_nfilters(), 0)

    def test_a_list_of_the_new_file(self):
        self.make(whole_files.ocean)
        self.repack("-q", "-m", "abs", "-e", BOUND, "in.nc", "out.nc")
        told = json.loads(self.run_tool(harness.szgpu, "-l", "--json", "out.nc"))
        tos, = [dataset for dataset in told["datasets"] if dataset["is_compressed"]]
        self.assertEqual((tos["name"], tos["mode"], tos["bound"], tos["dims"]),
                         ("/tos", "abs", BOUND, [31, 91, 180]))
        with h5py.File(self.path("out.nc")) as file:
            self.assertEqual(tos["written_bytes"], file["tos"].id.get_storage_size())
        self.assertRegex(self.run_tool(harness.szgpu, "-l", "out.nc"),
                         r"/tos +f32 +31x91x180 .* ratio \d.* abs 0\.01")

    def test_a_dry_run_writes_nothing(self):
        self.make(whole_files.ocean)
        before = sorted(os.listdir(self.folder))
        told = json.loads(self.repack("--dry-run", "--json", "-m", "abs", "-e", BOUND, "in.nc"))
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.repack("-m", "abs", "-e", BOUND, "in.nc", "out.nc")
        with h5py.File(self.path("out.nc")) as file:
            size = file["tos"].id.get_storage_size()
        tos, = [dataset for dataset in told["datasets"] if dataset["is_compressed"]]
        self.assertLess(abs(tos["written_bytes"] - size), 0.2 * size)
        why = {dataset["name"]: dataset["why"] for dataset in told["datasets"]}
        self.assertEqual(why["/lat"], "a dimension scale")
        self.assertEqual(why["/land_mask"], "a mask by its name")
