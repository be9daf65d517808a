"""cases_memory_hdf5.py - --memory: datasets that do not fit, frame by frame.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np

import harness
from cases_hdf5 import Hdf5Test
from cases_memory import DIMS, watch

SIZE = "52M"  # for fields of 5 MB

MAKE_BIG = f"""
import h5py, sys, numpy as np
sys.path.insert(0, sys.argv[1])
from harness import wave
dims = {DIMS}
values = wave(*dims)
with h5py.File('big.h5', 'w') as f:
    f['contiguous'] = values
    f['swapped'] = values.astype('>f4')
    for name, chunk in (('blocks', (48, 32, 24)), ('planes', (1, 64, 80)), ('row', (256, 8, 8)),
                        ('whole', dims)):
        f.create_dataset(name, data=values, chunks=chunk)
    f.create_dataset('packed', data=values, chunks=(20, 64, 80), compression=1, shuffle=True,
                     fletcher32=True)
    f.create_dataset('scaled', data=values, chunks=(20, 64, 80), scaleoffset=3)
    f.create_dataset('columns', data=values.astype('f8'), chunks=(256, 8, 8), compression=1)
    f['swapped_columns'] = values.astype('>f8')
    f.create_dataset('holes', dims, 'f4', chunks=(16, 64, 80), fillvalue=-9999)[100:140] = \\
        values[100:140]
    for dtype in ('f2', 'f8', 'u1', 'i1', '>u2', '<i2', '>i4'):
        scaled = values * (100 if dtype != 'u1' else 50) + (120 if 'u' in dtype else 0)
        f.create_dataset(dtype[-2:], data=scaled.astype(dtype), chunks=(40, 64, 80))
    f['ones'] = values.reshape(1, *dims, 1)
    f['five'] = values.reshape(1, 1, *dims)
    f['line'] = values.reshape(-1)
    f['single'] = np.float64(3.5)
    f['small'] = wave(10, 20)
    layout = h5py.VirtualLayout(dims, 'f4')
    layout[:] = h5py.VirtualSource('.', 'contiguous', dims)
    f.create_virtual_dataset('virtual', layout)
    low, high = np.array(1e-3).reshape(1).view('u4').tolist()
    for name, filters in (('lying', (480, 1, 1, low, high, 0, 0 | 2 << 8, 0, 0, 2, 30)),
                          ('unknown', (32767, 1))):
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((20, 30))
        properties.set_filter(filters[0], h5py.h5z.FLAG_OPTIONAL, filters[1:])
        space = h5py.h5s.create_simple((40, 60))
        d = h5py.h5d.create(f.id, name.encode(), h5py.h5t.py_create('f4'), space, properties)
        d.write_direct_chunk((0, 0), bytes(16), 0)
    damaged = f.create_dataset('damaged', data=values, chunks=(16, 64, 80), compression=1)
    place = damaged.id.get_chunk_info(7).byte_offset
with open('big.h5', 'r+b') as file:
    file.seek(place + 100)
    file.write(bytes(1000))
"""

MAKE_LARGE = """
import h5py, sys, numpy as np
sys.path.insert(0, sys.argv[1])
from harness import wave
plane = wave(200, 200)
with h5py.File('large.h5', 'w') as f:
    for name, options in (('chunks', {'chunks': (32, 50, 40), 'compression': 1}), ('lines', {}),
                          ('columns', {'chunks': (800, 20, 25), 'compression': 1})):
        d = f.create_dataset(name, (800, 200, 200), 'f4', **options)
        for z in range(0, 800, 200):
            d[z:z + 200] = np.stack([plane * np.float32(1 + k % 7) for k in range(z, z + 200)])
"""

MAKE_BIG_NETCDF = f"""
import netCDF4, sys
sys.path.insert(0, sys.argv[1])
from harness import wave
with netCDF4.Dataset('big.nc', 'w') as f:
    for name, size in zip('tyx', {(None, *DIMS[1:])}):
        f.createDimension(name, size)
    values = wave(*{DIMS})
    values[40:42] = -7
    f.createGroup('g').createVariable('v', 'f4', ('t', 'y', 'x'), zlib=True,
                                      fill_value=-7.0)[:] = values
"""


class MemoryDatasets(Hdf5Test):
    def make_big(self):
        self.make(MAKE_BIG, "h5py", "python3-h5py")

    def assert_same_archive(self, name, *options, least_frames=2, memory=SIZE):
        info = self.succeed_json("-zf", *options, "--memory", memory, "-o", "frames.szg", name)
        self.assertGreaterEqual(info["frames"], least_frames, name)
        self.succeed("-zf", *options, "--frame", str(info["frame_rows"]), "-o", "whole.szg", name)
        self.assertEqual(self.read("frames.szg"), self.read("whole.szg"), (name, options))

    def test_the_archive_is_that_of_the_same_frames(self):
        self.make_big()
        for path in ("contiguous", "swapped", "blocks", "planes", "row", "whole", "packed",
                     "scaled", "columns", "swapped_columns", "holes", "ones", "five", "line"):
            self.assert_same_archive(f"big.h5:/{path}", "-e", "1e-3")
        for options in (("-m", "abs", "-e", "1e-4"), ("-m", "psnr", "-e", "60"), ("-m", "lossless"),
                        ("-e", "1e-3", "--layout", "linear"), ("-e", "1e-3", "--zstd")):
            self.assert_same_archive("big.h5:/packed", *options, memory="32M")
        for path in ("single", "small"):
            self.assert_same_archive(f"big.h5:/{path}", "-m", "abs", "-e", "1e-3", least_frames=1)

    def test_all_types(self):
        self.make_big()
        for path in ("f2", "f8", "u1", "i1", "u2", "i2", "i4"):
            for options in (("-m", "abs", "-e", "2"), ("-m", "lossless")):
                self.assert_same_archive(f"big.h5:/{path}", *options, least_frames=1,
                                         memory="40M")

    def test_frames_that_do_not_end_at_chunks(self):
        self.make_big()
        for rows in (16, 48, 112):
            for path in ("blocks", "columns"):
                name = f"big.h5:/{path}"
                self.succeed("-zf", "-e", "1e-3", "--memory", "200M", "--frame", str(rows), "-o",
                             "frames.szg", name)
                self.succeed("-zf", "-e", "1e-3", "--frame", str(rows), "-o", "whole.szg", name)
                self.assertEqual(self.read("frames.szg"), self.read("whole.szg"))

    def test_it_is_verified_and_restored(self):
        self.make_big()
        name = "big.h5:/packed"
        whole = self.succeed_json("-zVf", "-e", "1e-3", "--frame", "48", name)
        frames = self.succeed_json("-zVf", "-e", "1e-3", "--frame", "48", "--memory", "64M", name)
        self.assertEqual(frames["output"], "big_packed.npy.szg")
        for key in ("max_error", "psnr", "values_over_bound"):
            self.assertAlmostEqual(frames[key], whole[key], delta=1e-9, msg=key)
        self.succeed("-x", "--memory", "64M", "big_packed.npy.szg")
        original = harness.wave(*DIMS)
        self.assert_within(original, np.load(self.path("big_packed.npy")),
                           1e-3 * float(np.ptp(original)))

    def test_fill_values_and_warnings(self):
        self.make_big()
        told = self.succeed_json("-z", "-e", "1e-3", "--memory", SIZE, "big.h5:/holes")
        self.assertEqual((told["fill_from"], told["warnings"]), ("HDF5's fill value", []))
        told = self.succeed_json("-zf", "-e", "1e-3", "--fill", "7", "--memory", SIZE,
                                 "big.h5:/holes")
        self.assertEqual((told["fill"], told["more_fills"], told["warnings"]), (7, [-9999], []))

    def test_a_variable_of_netcdf_that_can_grow(self):
        self.make(MAKE_BIG_NETCDF, "netCDF4", "python3-netcdf4")
        self.assert_same_archive("big.nc:g/v", "-e", "1e-3")
        told = self.succeed_json("-zf", "-e", "1e-3", "--memory", SIZE, "big.nc:g/v")
        self.assertEqual((told["fill_from"], told["dims"]), ("_FillValue", list(DIMS)))

    def test_steps_of_a_series(self):
        self.make_big()
        for path in ("packed", "contiguous"):
            self.succeed("-z", "-e", "1e-3", "--memory", SIZE, "--append", "run.szgs",
                         f"big.h5:/{path}")
        listed = self.succeed("--json", "-l", "run.szgs").out
        self.assertIn('"step_index": 1', listed)

    def test_memory_stays_below_the_size(self):
        with open(harness.szgpu, "rb") as file:
            if b"__asan_init" in file.read():
                self.skipTest("sanitizers take memory of their own")
        self.make(MAKE_LARGE, "h5py", "python3-h5py")
        for path, size in (("lines", 64), ("chunks", 64), ("columns", 96)):  # 128 MB each
            process = self.start("-zf", "-e", "1e-3", "-j", "2", "--memory", f"{size}M", "-o",
                                 "a.szg", f"large.h5:/{path}")
            peak, error = watch(process)
            self.assertEqual((process.returncode, error), (0, b""))
            self.assertGreater(peak, 16 << 10)  # it has been measured
            self.assertLess(peak, (size << 10) + (20 << 10), path)  # and the program itself

    def test_refusals(self):
        self.make_big()
        for arguments, code, sentence in (
                (("big.h5:/virtual",), 1,
                 "is a virtual dataset, which is not read frame by frame; copy it to a dataset "
                 "with values of its own, and name that"),
                (("big.h5:/lying",), 2,
                 "has cd_values of szgpu that do not match its chunks, so it was not read; "
                 "inspect them with h5dump -pH"),
                (("big.h5:/nothing",), 1, "is not in the file; choose from ")):
            result = self.run_szgpu("-z", "-e", "1e-3", "--memory", SIZE, *arguments)
            self.assertEqual((result.code, result.out), (code, ""))
            self.assertTrue(result.err.startswith(f"szgpu: {arguments[-1]}: {sentence}"), result)
        result = self.run_szgpu("-z", "-e", "1e-3", "--memory", SIZE, "big.h5:/unknown")
        self.assertEqual(result.code, 2)
        self.assertIn("needs the filter 32767", result.err)

    def test_damage_leaves_no_file(self):
        self.make_big()
        before = self.snapshot()
        for options in ((), ("-m", "abs"), ("-m", "lossless", "-V")):
            bound = () if "lossless" in options else ("-e", "1e-3")
            result = self.run_szgpu("-z", *options, *bound, "--memory", "64M", "--frame", "16",
                                    "big.h5:/damaged")
            self.assertEqual((result.code, result.out), (2, ""))
            self.assertRegex(result.err, r"\Aszgpu: big.h5:/damaged: cannot be read \(HDF5 says: "
                             r".+\); check the file with h5dump\n\Z")
            self.assertEqual(self.snapshot(), before)

    def test_too_little(self):
        self.make_big()
        for size in ("3M", "8M"):
            result = self.run_szgpu("-z", "-e", "1e-3", "--memory", size, "big.h5:/packed")
            self.assertEqual((result.code, result.out), (5, ""))
        self.assertRegex(result.err, r"\Aszgpu: big.h5:/packed: needs --memory \d+M at least; give "
                         r"more\n")

    def test_what_it_names_suffices(self):
        self.make_big()
        for path, size in (("packed", "8M"), ("columns", "16M"), ("whole", "25M"), ("line", "8M")):
            result = self.run_szgpu("-z", "-e", "1e-3", "--memory", size, f"big.h5:/{path}")
            least = result.err.split("needs --memory ")[1].split("M at least; give more\n")[0]
            self.assert_same_archive(f"big.h5:/{path}", "-e", "1e-3", memory=f"{least}M",
                                     least_frames=1)
