"""cases_hdf5.py - datasets of HDF5 and netCDF-4 files, and the arguments of the HDF5 filter.

SPDX-License-Identifier: BSD-3-Clause

A separate program makes the files with h5py and netCDF4, so that no other test needs these.
"""
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from harness import CliTest, wave

ABS = ["-m", "abs", "-e", "1e-3"]
SIGNATURE = b"\x89HDF\r\n\x1a\n"
LISTED = "a.h5:/attributed, a.h5:/fields/rho, a.h5:/fields/t, a.h5:/filled, a.h5:/nan"
MORE = f"{LISTED} and 10 more (h5ls -r)"

MAKE_HDF5 = """
import h5py, sys, numpy as np
sys.path.insert(0, sys.argv[1])
from harness import wave
with h5py.File('a.h5', 'w') as f:
    f['fields/rho'], f['fields/t'] = wave(10, 20), wave(10, 20, dtype='<f8')
    f['fields/deep/rho'], f['big'] = wave(3, 4, 5, dtype='>f4'), wave(2, 3, 4, 5, dtype='>f8')
    f['six'], f['six_ones'] = wave(1, 2, 1, 3, 4, 5), wave(1, 1, 1, 1, 7, 1)
    f['single'], f['five'] = np.float64(3.5), wave(2, 2, 2, 2, 2)
    f['same'], f['nowhere'] = h5py.SoftLink('/fields/rho'), h5py.SoftLink('/gone')
    f['integers'], f['complex'], f['half'] = np.arange(5), np.zeros(4, 'c8'), np.zeros(4, 'f2')
    f['text'], f['yes'], f['none'] = 'x', np.zeros(3, bool), h5py.Empty('f4')
    f['type'], f['no_rows'] = np.dtype('f4'), np.zeros((0, 3), 'f4')
    f.create_group('hollow')
    filled = wave(10, 20)
    filled[2:5, 3:9] = -9999
    f.create_dataset('filled', data=filled, fillvalue=-9999.0, chunks=(5, 10), compression=4)
    attributed = f.create_dataset('attributed', data=filled, fillvalue=1e20)
    attributed.attrs['_FillValue'] = np.float32(-9999)
    other = f.create_dataset('other_type', data=filled, fillvalue=1e20)
    other.attrs['_FillValue'] = np.float64(-9999)
    nan = f.create_dataset('nan', data=np.where(filled == -9999, np.nan, filled).astype('f8'))
    nan.attrs['_FillValue'] = [np.nan]
    f['w:at/10:00'] = wave(10, 20)
    two = f.create_dataset('two', data=filled)
    two.attrs['_FillValue'] = np.array([1, 2], 'f4')
with h5py.File('one.h5', 'w', userblock_size=512) as f:
    f['a b'] = wave(10, 20)
with h5py.File('no.h5', 'w') as f:
    f['a'] = np.arange(3)
with h5py.File('filter.h5', 'w') as f:
    d = f.create_dataset('a', (4,), 'f4', chunks=(4,), compression=32767, compression_opts=(1,),
                         allow_unknown_filter=True)
    d.id.write_direct_chunk((0,), bytes(16), 0)
with h5py.File('words.h5', 'w') as f:
    low, high = np.array(1e-3).reshape(1).view('u4').tolist()
    for name, dtype, words in (('right', 'f4', (0 | 2 << 8, 0, 0, 20, 30)),
                               ('filled', 'f4', (0 | 2 << 8 | 1 << 16, 0, 5, 20, 30)),
                               ('user', 'f4', ()), ('smaller', 'f4', (0 | 2 << 8, 0, 0, 2, 30)),
                               ('turned', 'f4', (0 | 2 << 8, 0, 0, 30, 20)),
                               ('flat', 'f4', (0 | 1 << 8, 0, 0, 600)),
                               ('twice', 'f4', (0 | 2 << 8, 0, 0, 2, 30)),
                               ('wide', 'f4', (1 | 2 << 8, 0, 0, 20, 30)),
                               ('narrow', 'f8', (0 | 2 << 8, 0, 0, 20, 30))):
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((20, 1, 30))
        if name == 'twice':
            properties.set_filter(480, h5py.h5z.FLAG_OPTIONAL,
                                  (1, 1, low, high, 0, 0 | 2 << 8, 0, 0, 20, 30))
        properties.set_filter(480, h5py.h5z.FLAG_OPTIONAL, (1, 1, low, high, 0, *words))
        space = h5py.h5s.create_simple((40, 1, 60))
        d = h5py.h5d.create(f.id, name.encode(), h5py.h5t.py_create(dtype), space, properties)
        d.write_direct_chunk((0, 0, 0), bytes(16), 0)
with h5py.File('large.h5', 'w') as f:
    f.create_dataset('a', (1 << 28,), 'f4', chunks=(1 << 20,))
"""

MAKE_NETCDF = """
import netCDF4, sys
sys.path.insert(0, sys.argv[1])
from harness import wave
with netCDF4.Dataset('a.nc', 'w') as f:
    f.createDimension('y', 10)
    f.createDimension('x', 20)
    f.createVariable('v', 'f4', ('y', 'x'))[:] = wave(10, 20)
    values = wave(10, 20, dtype='f8')
    values[3, :7] = -1
    f.createGroup('g').createVariable('v', 'f8', ('y', 'x'), fill_value=-1.0)[:] = values
with netCDF4.Dataset('grid.nc', 'w') as f:
    for name, size in (('alpha', 2), ('beta', 3), ('lat', 4), ('lon', 5), ('time', 90)):
        f.createDimension(name, size)
        f.createVariable(name, 'f8', (name,))[:] = range(size)
    f.createVariable('mask', 'f4', ('lat', 'lon'))[:] = wave(4, 5)
    f.createVariable('mean', 'f4', ('lon', 'lat'))[:] = wave(5, 4)
    f.createVariable('row', 'f4', ('beta',))[:] = wave(3)
    f.createVariable('wind', 'f4', ('time', 'lat', 'lon'))[:] = wave(90, 4, 5)
with netCDF4.Dataset('classic.nc', 'w', format='NETCDF3_CLASSIC') as f:
    f.createDimension('x', 20)
    f.createVariable('v', 'f4', ('x',))[:] = wave(20)
"""


made = {}  # by program: the folder with its files, or why there are none


def make_files(program, module, package):
    """Runs a program that needs a module, in a folder that goes away after all tests."""
    python = [sys.executable, "-c"]
    environment = {"PATH": os.environ.get("PATH", "")}
    if subprocess.run([*python, f"import {module}"], capture_output=True, env=environment,
                      check=False).returncode != 0:
        return None, f"{sys.executable} has no {module} (package {package})"
    folder = tempfile.mkdtemp(prefix="szgpu-cli-")
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run([*python, program, os.path.dirname(os.path.abspath(__file__))], cwd=folder,
                   env=environment, check=True)
    return folder, None


MAKE_SHORT = """
import h5py, sys, numpy as np
sys.path.insert(0, sys.argv[1])
from harness import wave
values = wave(64, 64)
raw = values.tobytes()
with h5py.File('short.h5', 'w') as f:
    def dataset(name, filters, content, mask, place=(0, 0), dims=(64, 64)):
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((64, 64))
        for add in filters:
            getattr(properties, 'set_' + add)(*([1] if add == 'deflate' else []))
        d = h5py.h5d.create(f.id, name.encode(), h5py.h5t.IEEE_F32LE,
                            h5py.h5s.create_simple(dims), properties)
        d.write_direct_chunk(place, content, mask)
        return d
    for name, filters, mask in (('gzip', ['deflate'], 1), ('shuffle', ['shuffle', 'deflate'], 2),
                                ('none', [], 0), ('checksum', ['fletcher32'], 1),
                                ('three', ['shuffle', 'deflate', 'fletcher32'], 7)):
        dataset(name, filters, raw[:100], mask)
        dataset('whole_' + name, filters, raw, mask & ~1 if name == 'shuffle' else mask)
        dataset('long_' + name, filters, raw + bytes(4), mask)
    second = dataset('second', ['deflate'], raw, 1, dims=(128, 64))
    second.write_direct_chunk((64, 0), raw[:-1], 1)
    layout = h5py.VirtualLayout((64, 64), 'f4')
    layout[:] = h5py.VirtualSource('.', 'gzip', (64, 64))
    f.create_virtual_dataset('virtual', layout)
"""


class Hdf5Test(CliTest):
    def require_hdf5(self, is_wanted=True):
        has_hdf5 = "\nHDF5: yes\n" in self.succeed("--version").out
        if has_hdf5 != is_wanted:
            self.skipTest(f"this build has {'' if has_hdf5 else 'no '}HDF5")

    def make(self, *program):
        """Copies what a program made, once for all tests, into the test's folder."""
        self.require_hdf5()
        if program not in made:
            made[program] = make_files(*program)
        folder, reason = made[program]
        if reason:
            self.skipTest(reason)
        shutil.copytree(folder, self.folder, dirs_exist_ok=True)

    def make_hdf5(self):
        self.make(MAKE_HDF5, "h5py", "python3-h5py")

    def make_netcdf(self):
        self.make(MAKE_NETCDF, "netCDF4", "python3-netcdf4")

    def there_and_back(self, name, stem, original, *options):
        """Uses the names that szgpu chooses. Returns the line that -v prints about the field."""
        line = self.succeed("-zvV", *ABS, *options, name).out.splitlines()[1]
        self.succeed("-x", "--compare", name, f"{stem}.npy.szg")
        restored = np.load(self.path(f"{stem}.npy"))
        self.assertEqual((restored.shape, restored.dtype), (original.shape, original.dtype))
        exact = ~np.isfinite(original) | (original == -9999) | (original == -1)
        self.assertEqual(restored[exact].tobytes(), original[exact].tobytes())
        self.assert_within(original[~exact], restored[~exact], 1e-3)
        return line


def filled(fill, dtype="<f4"):
    values = wave(10, 20, dtype=dtype)
    values[2:5, 3:9] = fill
    return values


class Datasets(Hdf5Test):
    def test_an_archive_takes_the_mode_of_the_file(self):
        self.make_hdf5()
        os.chmod(self.path("a.h5"), 0o640)
        self.succeed("-zq", *ABS, "-o", "out", "a.h5:/fields/rho")
        self.assertEqual(os.stat(self.path("out")).st_mode & 0o7777, 0o640)

    def test_shape_and_type_come_from_the_file(self):
        self.make_hdf5()
        for path, stem, original in (
                ("/fields/rho", "fields_rho", wave(10, 20)),
                ("fields/t", "fields_t", wave(10, 20, dtype="<f8")),
                ("//fields/deep/rho", "fields_deep_rho", wave(3, 4, 5)),
                ("big", "big", wave(2, 3, 4, 5, dtype="<f8")),
                ("six", "six", wave(2, 3, 4, 5)),
                ("six_ones", "six_ones", wave(1, 1, 7, 1)),
                ("single", "single", np.full(1, 3.5)),
                ("same", "same", wave(10, 20))):
            with self.subTest(path):
                line = self.there_and_back(f"a.h5:{path}", f"a_{stem}", original)
                dtype, dims = f"f{original.itemsize * 8}", "x".join(map(str, original.shape))
                self.assertRegex(line, rf"\A  {dtype} {dims}, shape from dataset, abs 0\.001, ")

    def test_names_with_blanks_and_a_user_block(self):
        self.make_hdf5()
        self.there_and_back("one.h5:a b", "one_a b", wave(10, 20))

    def test_files_with_colons_in_their_names(self):
        self.make_hdf5()
        os.rename(self.path("one.h5"), self.path("wrfout_2005-08-28_00:00:00"))
        os.mkdir(self.path("sub"))
        os.rename(self.path("a.h5"), self.path("sub/x.y.HDF5"))
        self.there_and_back("wrfout_2005-08-28_00:00:00:a b", "wrfout_2005-08-28_00:00:00_a b",
                            wave(10, 20))
        self.there_and_back("sub/x.y.HDF5:w:at/10:00", "sub/x.y_w:at_10:00", wave(10, 20))
        self.there_and_back("sub/x.y.HDF5:/fields/rho", "sub/x.y_fields_rho", wave(10, 20))

    def test_a_file_that_is_there_is_no_dataset(self):
        self.make_hdf5()
        self.field("a.h5:big", dims=(7,))
        told = self.succeed_json("-z", *ABS, "-t", "f32", "a.h5:big")
        self.assertEqual((told["dims"], told["output"]), ([7], "a.h5:big.szg"))

    def test_another_name_gives_raw_values(self):
        self.make_hdf5()
        self.succeed("-z", *ABS, "-o", "a.szg", "a.h5:fields/rho")
        for name in ("back.f32", "back"):
            self.succeed("-x", "-o", name, "a.szg")
            self.assert_within(wave(10, 20), np.frombuffer(self.read(name), "<f4").reshape(10, 20),
                               1e-3)

    def test_d_gives_another_shape(self):
        self.make_hdf5()
        line = self.there_and_back("a.h5:same", "a_same", wave(4, 50), "-d", "4x50")
        self.assertIn(" 4x50, shape from -d, ", line)

    def test_without_loss(self):
        self.make_hdf5()
        self.succeed("-zV", "-m", "lossless", "a.h5:filled")
        self.succeed("-x", "--compare", "a.h5:filled", "a_filled.npy.szg")
        self.assertEqual(np.load(self.path("a_filled.npy")).tobytes(), filled(-9999).tobytes())

    def test_without_loss_the_file_itself_is_bytes(self):
        self.make_hdf5()
        self.succeed("-zV", "-m", "lossless", "a.h5")
        self.succeed("-x", "--compare", "a.h5", "-o", "b.h5", "a.h5.szg")
        self.assertEqual(self.read("a.h5"), self.read("b.h5"))

    def test_comparing_with_another_dataset(self):
        self.make_hdf5()
        self.succeed("-zq", *ABS, "a.h5:fields/rho")
        result = self.run_szgpu("-x", "-o", "b", "--compare", "a.h5:filled", "a_fields_rho.npy.szg")
        self.assertEqual((result.code, result.err[:61]),
                         (4, "szgpu: a_fields_rho.npy.szg: differs from a.h5:filled by more"))
        for original, sentence in (
                ("a.h5:big", "has 960 bytes of f64 values, but the archive holds 800 bytes of f32 "
                 "values; name the file that was compressed"),
                ("a.h5", f"is an HDF5 file; name one of its datasets: {MORE}"),
                ("a.h5:x", f"is not in the file; choose from {MORE}")):
            self.assert_refused(["-x", "-o", "c", "--compare", original, "a_fields_rho.npy.szg"], 1,
                                f"{original}: {sentence}")

    def test_a_raw_file_and_a_dataset_are_each_other_s_original(self):
        self.make_hdf5()
        self.succeed("-zq", *ABS, self.field())
        self.succeed("-xq", "-o", "b", "--compare", "a.h5:fields/rho", "wave_10x20.f32.szg")
        self.succeed("-zq", *ABS, "a.h5:fields/rho")
        self.succeed("-xq", "-o", "c", "--compare", "wave_10x20.f32", "a_fields_rho.npy.szg")

    def test_fortran_order_is_another(self):
        self.make_hdf5()
        np.save(self.path("f.npy"), np.asfortranarray(wave(10, 20)))
        self.succeed("-zq", *ABS, "f.npy")
        self.assert_refused(["-x", "-o", "b", "--compare", "a.h5:fields/rho", "f.npy.szg"], 1,
                            "a.h5:fields/rho: is not in the archive's order (C or Fortran); name "
                            "the file that was compressed")

    def test_several_datasets_in_one_call(self):
        self.make_hdf5()
        result = self.run_szgpu("-z", *ABS, "a.h5:fields/rho", "a.h5:x", "one.h5:a b")
        self.assertEqual((result.code, result.out.count("\n"), result.err.count("\n")), (1, 2, 1))

    def test_words_of_the_filter_that_are_not_of_the_chunks(self):
        """They would make HDF5 read beyond a buffer. With others HDF5 looks for the plugin, which only
        the command of a wheel brings."""
        self.make_hdf5()
        for name in ("smaller", "turned", "flat", "twice", "wide", "narrow"):
            self.assert_refused(["-z", *ABS, "-o", "b", f"words.h5:{name}"], 2, f"words.h5:{name}: "
                                "has cd_values of szgpu that do not match its chunks, so it was "
                                "not read; inspect them with h5dump -pH")
        for name in ("right", "filled", "user"):
            result = self.run_szgpu("-z", *ABS, "-o", "b", f"words.h5:{name}")
            self.assertRegex(result.err, rf"words\.h5:{name}: (needs the filter 480|cannot be read "
                             r"\(HDF5 says: szgpu: )")

    def test_chunks_of_a_size_that_no_filter_explains(self):
        """HDF5 read beyond those that are too short, and an archive had what lay in memory there."""
        self.make(MAKE_SHORT, "h5py", "python3-h5py")
        lossless = ["-f", "-m", "lossless", "-o", "b"]
        whole = wave(64, 64)
        for options in (["-z"], ["-z", "--memory", "64M"]):
            for name, found in [("second", 16383)] + [
                    (start + name, count) for start, count in (("", 100), ("long_", 16388))
                    for name in ("gzip", "shuffle", "none", "checksum", "three")]:
                self.assert_refused([*options, *lossless, f"short.h5:{name}"], 2,
                                    f"short.h5:{name}: has an uncompressed chunk of {found} bytes, "
                                    "which should have 16384, so it was not read; replace the "
                                    "file with an intact copy")
            for name in ("gzip", "none", "checksum", "three"):
                self.succeed(*options, "-q", *lossless, f"short.h5:whole_{name}")
                self.succeed("-xqf", "-o", "c.npy", "b")
                self.assertEqual(np.load(self.path("c.npy")).tobytes(), whole.tobytes(), name)
        self.assert_refused(["-z", *lossless, "short.h5:virtual"], 2,
                            "short.h5:virtual: is a virtual dataset whose source .:gzip has an "
                            "uncompressed chunk of 100 bytes, which should have 16384, so it was "
                            "not read; replace the file with an intact copy")
        self.assert_refused(["-x", "-o", "d", "--compare", "short.h5:gzip", "b"], 2,
                            "short.h5:gzip: has an uncompressed chunk of 100 bytes, which should "
                            "have 16384, so it was not read; replace the file with an intact copy")

    def test_standard_input_cannot_be_a_file_of_datasets(self):
        self.make_hdf5()
        self.assert_refused(["-z", *ABS, "-t", "f32", "-o", "b", "-"], 1, "-: is HDF5, which "
                            "cannot be read from standard input; name the file",
                            stdin=self.read("a.h5"))

    def test_standard_output(self):
        self.make_hdf5()
        archive = self.succeed("-z", *ABS, "-o", "-", "a.h5:fields/rho", binary=True).out
        self.succeed("-zq", *ABS, "a.h5:fields/rho")
        self.assertEqual(archive, self.read("a_fields_rho.npy.szg"))

    def test_an_archive_is_that_of_the_npy_file(self):
        self.make_hdf5()
        np.save(self.path("a.npy"), wave(10, 20))
        self.succeed("-zq", *ABS, "a.npy", "a.h5:fields/rho")
        self.assertEqual(self.read("a.npy.szg"), self.read("a_fields_rho.npy.szg"))

    def test_signals_leave_no_temporary_file(self):
        self.make_hdf5()
        before = sorted(os.listdir(self.folder))
        for _ in range(50):
            process = self.start("-z", *ABS, "large.h5:a")
            self.wait_for(lambda: sorted(os.listdir(self.folder)) != before)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            if process.returncode != 0:
                break
            os.remove(self.path("large_a.npy.szg"))  # the signal came too late
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(sorted(os.listdir(self.folder)), before)


class Fill(Hdf5Test):
    def fill(self, name, *options):
        """What an archive says about its fill value, and where that came from."""
        told = self.succeed_json("-zVf", "-e", "1e-3", *options, name)
        fill = struct.unpack("!f" if told["dtype"] == "f32" else "!d",
                             bytes.fromhex(told["fill_bits"][2:]))[0] if told["has_fill"] else None
        return fill, told.get("fill_from"), round(told["value_range"])

    def test_it_comes_from_the_file(self):
        self.make_hdf5()
        for name, expected in (("filled", (-9999, "HDF5's fill value", 2)),
                               ("attributed", (-9999, "_FillValue", 2)),
                               ("other_type", (-9999, "_FillValue", 2))):
            with self.subTest(name):
                self.assertEqual(self.fill(f"a.h5:{name}"), expected)
        fill, origin, value_range = self.fill("a.h5:nan")
        self.assertTrue(np.isnan(fill))
        self.assertEqual((origin, value_range), ("_FillValue", 2))

    def test_none(self):
        self.make_hdf5()
        self.assertIsNone(self.fill("a.h5:fields/rho")[1])

    def test_several(self):
        """cases_missing has the rest."""
        self.make_hdf5()
        told = self.succeed_json("-z", "-e", "1e-3", "a.h5:two")
        self.assertEqual(([told["fill"], *told["more_fills"]], told["fills_from"]),
                         ([1, 2, -9999], ["_FillValue"] * 2))
        told = self.succeed_json("-zf", "-e", "1e-3", "a.h5:attributed")
        self.assertEqual(told["fills_from"], ["_FillValue", "HDF5's fill value"])

    def test_values_come_back_and_fills_exactly(self):
        self.make_hdf5()
        for name, fill in (("filled", "-9999 from HDF5's fill value"),
                           ("attributed", "-9999 from _FillValue, fill 1e+20 from HDF5's fill "
                            "value")):
            line = self.there_and_back(f"a.h5:{name}", f"a_{name}", filled(-9999))
            self.assertIn(f", shape from dataset, fill {fill}, abs 0.001, ", line)
        line = self.there_and_back("a.h5:nan", "a_nan", filled(np.nan, "<f8"))
        self.assertIn(", fill nan from _FillValue, ", line)

    def test_the_option_goes_first(self):
        self.make_hdf5()
        self.assertEqual(self.fill("a.h5:attributed", "--fill", "7")[:2], (7, "_FillValue"))

    def test_without_loss_there_is_none(self):
        self.make_hdf5()
        told = self.succeed_json("-z", "-m", "lossless", "a.h5:attributed")
        self.assertEqual((told["has_fill"], told.get("fill_from")), (False, None))
        self.assertNotIn("fill", self.succeed("-zvf", "-m", "lossless", "a.h5:filled").out
                         .replace("filled", ""))


class NetCdf(Hdf5Test):
    def test_variables_of_the_root_and_of_groups(self):
        self.make_netcdf()
        line = self.there_and_back("a.nc:v", "a_v", wave(10, 20))
        self.assertIn(", fill 9.96921e+36 from HDF5's fill value, ", line)
        values = wave(10, 20, dtype="<f8")
        values[3, :7] = -1
        for name in ("a.nc:g/v", "a.nc:/g/v"):
            line = self.there_and_back(name, "a_g_v", values, "-f")
            self.assertIn(", fill -1 from _FillValue, ", line)
            os.remove(self.path("a_g_v.npy"))

    def test_dimensions_are_not_listed(self):
        self.make_netcdf()
        self.assert_refused(["-z", *ABS, "a.nc"], 1, "a.nc: is an HDF5 file; name one of its "
                            "datasets: a.nc:/g/v, a.nc:/v")

    def test_fields_are_listed_before_coordinates(self):
        """The list was in the order of names, and a field's was behind "and 4 more"."""
        self.make_netcdf()
        self.assert_refused(["-z", *ABS, "grid.nc"], 1, "grid.nc: is an HDF5 file; name one of its "
                            "datasets: grid.nc:/wind, grid.nc:/mask, grid.nc:/mean, grid.nc:/row, "
                            "grid.nc:/time and 4 more (h5ls -r)")

    def test_the_classic_format(self):
        self.make_netcdf()
        for name in ("classic.nc", "classic.nc:v"):
            self.assert_refused(["-z", *ABS, name], 1, f"{name}: is a netCDF file in the classic "
                                "format; convert it with nccopy -k nc4, or save the field as .npy")


class Refusals(Hdf5Test):
    def refused(self, name, sentence, *options, code=1):
        with self.subTest(name):
            self.assert_refused(["-z", *ABS, *options, name], code, f"{name}: {sentence}")

    def test_a_file_without_a_dataset_s_name(self):
        self.make_hdf5()
        self.refused("a.h5", f"is an HDF5 file; name one of its datasets: {MORE}")
        self.refused("one.h5", "is an HDF5 file; name its dataset: one.h5:/a b")
        self.refused("no.h5", "has no dataset of values that szgpu compresses; there is nothing to "
                     "compress")
        os.rename(self.path("one.h5"), self.path("one.f32"))
        self.refused("one.f32", "is an HDF5 file; name its dataset: one.f32:/a b")

    def test_names_of_nothing(self):
        self.make_hdf5()
        for name in ("a.h5:x", "a.h5:/fields/x", "a.h5:x/y", "a.h5:fields/rho/x"):
            self.refused(name, f"is not in the file; choose from {MORE}")
        self.refused("no.h5:x", "is not in the file, which has no dataset of values that szgpu "
                     "compresses; "
                     "name another file")
        self.refused("away.h5:x", "cannot be read: No such file or directory; check the name",
                     code=2)
        self.refused("a.h5:nowhere", "cannot be opened (HDF5 says: component not found); check "
                     "a.h5 with h5ls -r", code=2)

    def test_groups(self):
        self.make_hdf5()
        for name in ("a.h5:", "a.h5:/"):
            self.refused(name, f"is a group; choose from {MORE}")
        self.refused("a.h5:fields/", "is a group; choose from a.h5:fields/rho, a.h5:fields/t, "
                     "a.h5:fields/deep/rho")
        self.refused("a.h5:/hollow", "is a group without datasets of values that szgpu compresses; "
                     "name another")

    def test_values_of_other_types(self):
        self.make_hdf5()
        for name, held in (("integers", "other integers"), ("complex", "records or complex numbers"),
                           ("text", "text"), ("yes", "an enumeration")):
            self.refused(f"a.h5:{name}", f"holds {held}, not floats of 2, 4 or 8 bytes or integers of "
                         "1, 2 or, signed, 4; convert them with numpy's astype")
        self.refused("a.h5:type", "is a type, not a dataset; name a dataset")

    def test_shapes_that_cannot_be_compressed(self):
        self.make_hdf5()
        self.refused("a.h5:five", "has more than 4 dims other than 1; join some with numpy's "
                     "reshape")
        for name in ("none", "no_rows"):
            self.refused(f"a.h5:{name}", "has no values; there is nothing to compress")

    def test_options_that_contradict_the_file(self):
        self.make_hdf5()
        self.refused("a.h5:fields/rho", "holds f32 values, but -t says f64; leave -t out",
                     "-t", "f64")
        self.refused("a.h5:fields/rho", "has 800 bytes of values, but 10x21 f32 values are 840 "
                     "bytes; correct -d", "-d", "10x21")

    def test_what_is_no_hdf5(self):
        self.require_hdf5()
        self.write("bad.h5", bytes(4096))
        self.refused("bad.h5", "is not an HDF5 file, although it is named like one; if its values "
                     "are raw, rename it and use -t")
        self.write("empty.h5", b"")
        for name in ("bad.h5:/x", "empty.h5:x", f"{self.field()}:x"):
            self.refused(name, "does not exist, and the file before the colon is not an HDF5 file; "
                         "correct the name")

    def test_what_is_damaged(self):
        self.make_hdf5()
        whole = self.read("one.h5")
        self.write("one.h5", whole[:-300])
        result = self.run_szgpu("-z", *ABS, "one.h5:a b")
        self.assertRegex(result.err, r"\Aszgpu: one\.h5:a b: cannot be read \(HDF5 says: truncated "
                         r"file: [^\n;]+\); check one\.h5 with h5ls -r\n\Z")
        self.assertEqual(result.code, 2)

    def test_random_damage_is_no_crash(self):
        self.make_hdf5()
        whole, random = self.read("one.h5"), np.random.default_rng(6)
        environment = self.environment("allocator_may_return_null=1:detect_leaks=0")  # HDF5's own
        for _ in range(25):
            damaged = bytearray(whole)
            for at in random.integers(520, 2600, 6):
                damaged[at] = random.integers(256)
            self.write("d.h5", damaged)
            result = self.run_szgpu("-zf", *ABS, "d.h5:a b", env=environment)
            self.assertIn(result.code, (0, 1, 2, 5), result)
            self.assertEqual(result.err.count("\n"), result.code != 0, result)

    def test_a_filter_without_its_plugin(self):
        self.make_hdf5()
        result = self.run_szgpu("-z", *ABS, "filter.h5:a")
        self.assertRegex(result.err, r"\Aszgpu: filter\.h5:a: needs the filter 32767[^\n;]* \(HDF5 "
                         r"says: [^\n;]+\); add its plugin's folder to HDF5_PLUGIN_PATH\n\Z")
        self.assertEqual(result.code, 2)

    def test_an_output_that_is_the_file_itself(self):
        self.make_hdf5()
        self.assert_refused(["-zf", *ABS, "-o", "a.h5", "a.h5:fields/rho"], 2, "a.h5: is the same "
                            "file as the input a.h5:fields/rho; name another output with -o")


class WithoutHdf5(Hdf5Test):
    def test_it_is_said(self):
        self.require_hdf5(is_wanted=False)
        self.write("a.h5", SIGNATURE + bytes(800))
        name = self.archive()
        for arguments in (["-z", *ABS, "a.h5"], ["-z", *ABS, "a.h5:/x"],
                          ["-x", "-o", "b", "--compare", "a.h5:/x", name]):
            file = "a.h5" if "a.h5" in arguments else "a.h5:/x"
            self.assert_refused(arguments, 1, f"{file}: needs HDF5, which this build of szgpu "
                                "lacks; build szgpu with -DSZGPU_HDF5=ON, or save the field as "
                                ".npy")

    def test_without_loss_the_file_is_bytes(self):
        self.require_hdf5(is_wanted=False)
        self.write("a.h5", SIGNATURE + bytes(800))
        self.succeed("-zV", "-m", "lossless", "a.h5")


def words_of(mode, bound, options=0):
    low, high = struct.unpack("<II", struct.pack("<d", bound))
    return [1, mode, low, high, options]


class Arguments(CliTest):
    """--h5-args, which every build has."""

    def forms(self, *options):
        lines = self.succeed("--h5-args", *options).out.splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], ["h5repack", "nccopy", "h5py", "C"])
        return [line[10:] for line in lines]

    def check(self, words, call, *options):
        repack, copy, h5py, in_c = self.forms(*options)
        identity = copy.split(",")[1]
        text = ",".join(map(str, words))
        self.assertEqual(repack, f"-f UD={identity},1,{len(words)},{text}")
        self.assertEqual(copy, f"-F VARIABLE,{identity},{text}")
        self.assertEqual(eval(f"dict({h5py})"),
                         {"compression": int(identity), "compression_opts": tuple(words)})
        self.assertEqual(in_c, call)

    def test_modes(self):
        self.check(words_of(1, 1e-3), "H5Pset_szgpu_abs(dcpl, 0.001)", *ABS)
        self.check(words_of(0, 1e-4), "H5Pset_szgpu_rel(dcpl, 0.0001)", "-e", "1e-4")
        self.check(words_of(2, 80), "H5Pset_szgpu_psnr(dcpl, 80)", "-m", "psnr", "-e", "80")
        self.check(
            words_of(4, 0.5), "H5Pset_szgpu_pwrel(dcpl, 0.5)", "-m", "pwrel", "-e", "0.5"
        )
        self.check(words_of(3, 0), "H5Pset_szgpu_lossless(dcpl)", "-m", "lossless")

    def test_the_call_has_the_very_bound(self):
        call = self.forms("-m", "abs", "-e", "0.1000000000000000123")[3]
        self.assertEqual(call, "H5Pset_szgpu_abs(dcpl, 0.10000000000000001)")
        self.assertEqual(float(call.split()[1][:-1]), 0.1)

    def test_options(self):
        for given, bits in ((["--zstd"], 3), (["--zstd=19"], 19), (["--layout", "linear"], 256),
                            (["--layout", "linear", "--zstd=7"], 263),
                            (["--predictor", "lorenzo"], 512),
                            (["--predictor=interpolation", "--zstd=2"], 1026)):
            words = words_of(1, 1e-3, bits)
            text = ", ".join(f"{word}u" for word in words)
            self.check(words, "H5Pset_filter(dcpl, SZGPU_H5_FILTER_ID, H5Z_FLAG_MANDATORY, 5, "
                       f"(unsigned[]){{{text}}})", *ABS, *given)
        self.check(words_of(1, 1e-3), "H5Pset_szgpu_abs(dcpl, 0.001)", *ABS, "--layout", "tile")
        self.check(words_of(1, 1e-3), "H5Pset_szgpu_abs(dcpl, 0.001)", *ABS, "--predictor", "auto")

    def test_named(self):
        """In C, a property names its dataset by itself."""
        self.check(words_of(1, 1e-3, 0x800), "H5Pset_szgpu_abs(dcpl, 0.001)", *ABS, "--named")
        self.check(words_of(3, 0), "H5Pset_szgpu_lossless(dcpl)", "-m", "lossless", "--named")
        self.assert_refused(["-z", *ABS, "--named", "a.f32"], 1,
                            "a.f32: --named cannot be used with -z; leave it out")

    def test_fill(self):
        low, high = struct.unpack("<II", struct.pack("<d", -9999.0))
        words = words_of(1, 1e-3, 0x1800) + [low, high]
        text = ", ".join(f"{word}u" for word in words)
        self.check(words, "H5Pset_filter(dcpl, SZGPU_H5_FILTER_ID, H5Z_FLAG_MANDATORY, 7, "
                   f"(unsigned[]){{{text}}})", *ABS, "--named", "--fill", "-9999")

    def test_several_fills(self):
        fills = [-9999.0, 1e20, -1.0, 7.0]
        bits = [word for fill in fills for word in struct.unpack("<II", struct.pack("<d", fill))]
        words = words_of(1, 1e-3, 0x4000) + bits
        text = ", ".join(f"{word}u" for word in words)
        for given in (["--fill", "-9999,1e20,-1,7"], ["--fill", "-9999,1e20", "--fill=-1,7"]):
            self.check(words, "H5Pset_filter(dcpl, SZGPU_H5_FILTER_ID, H5Z_FLAG_MANDATORY, 13, "
                       f"(unsigned[]){{{text}}})", *ABS, *given)
        self.assert_refused(["--h5-args", *ABS, "--fill", "1,2,3,4,5"], 1, "--fill takes up to 4 "
                            "values; leave some out")

    def test_what_cannot_be_said(self):
        for option in (["--frame", "7"], ["-d", "7"], ["-t", "f32"], ["-V"],
                       ["--no-gap"], ["--level", "1"], ["--slab", "1:2"], ["--compare", "a"], ["-o", "a"],
                       ["-b", "cuda"], ["-j", "1"], ["--device", "0"], ["--decoder", "auto"],
                       ["--json"], ["-f"], ["-q"], ["-v"]):
            shown = "--verify" if option == ["-V"] else option[0]
            self.assert_refused(["--h5-args", *ABS, *option], 1, f"{shown} cannot be used with "
                                "--h5-args; leave it out")
        self.assert_refused(["--h5-args"], 1, "no bound was given; give one, as in -e 1e-4")
        self.assert_refused(["--h5-args", *ABS, "a.h5"], 1, "a.h5: --h5-args takes no files; leave "
                            "them out")
        self.assert_refused(["-z", "--h5-args", *ABS], 1, "-z and --h5-args cannot be used "
                            "together; give one of them")
        self.assert_refused(["--h5-args", "-m", "lossless", "-e", "1"], 1, "-e cannot be used with "
                            "-m lossless; leave one of them out")
