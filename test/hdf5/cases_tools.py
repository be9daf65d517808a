"""cases_tools.py - HDF5's own tools: h5repack there and back, h5diff, h5dump, h5ls.

SPDX-License-Identifier: BSD-3-Clause
"""
import os

import numpy as np

import harness
from harness import ABS, LOSSLESS, REL, coast, comma_separated, optional, sample, user_words, waves

h5py = optional("h5py")


def repack_form(mode, bound, options=None, flag=0):
    """What h5repack -f takes: flag 0 is mandatory, 1 optional."""
    opts = user_words(mode, bound, options)
    return f"UD={harness.filter_id},{flag},{len(opts)},{comma_separated(opts)}"


class Tools(harness.Hdf5Test):
    def setUp(self):
        super().setUp()
        self.need("h5repack", "h5diff", "h5dump", "h5ls")

    def plain(self, **fields):
        with h5py.File(self.path("plain.h5"), "w") as file:
            for name, values in fields.items():
                file.create_dataset(name, data=values)

    def read(self, name, dataset="wind"):
        with h5py.File(self.path(name), "r") as file:
            return file[dataset][()]

    def test_there_and_back(self):
        wind = sample()
        self.plain(wind=wind)
        self.run_tool("h5repack", "-l", "CHUNK=12x73x144", "-f", repack_form(ABS, 0.01),
                      "plain.h5", "packed.h5")
        self.run_tool("h5diff", "-d", "0.01", "plain.h5", "packed.h5")
        self.run_tool("h5diff", "-d", "0.005", "plain.h5", "packed.h5", code=1)
        self.run_tool("h5repack", "-f", "NONE", "packed.h5", "back.h5")
        self.run_tool("h5diff", "packed.h5", "back.h5")
        packed = self.read("packed.h5")
        self.assert_lossy(wind, packed, 0.01)
        self.assert_same_bits(packed, self.read("back.h5"))
        sizes = [os.path.getsize(self.path(name)) for name in ("plain.h5", "packed.h5", "back.h5")]
        self.assertLess(sizes[1], sizes[0] / 3)
        self.assertGreater(sizes[2], wind.nbytes)

    def test_what_the_tools_say(self):
        self.plain(wind=sample())
        self.run_tool("h5repack", "-l", "CHUNK=12x73x144", "-f", repack_form(ABS, 0.01),
                      "plain.h5", "packed.h5")
        dumped = self.run_tool("h5dump", "-p", "-H", "packed.h5")
        self.assertRegex(dumped, rf"FILTER_ID {harness.filter_id}\s+COMMENT .*szgpu")
        listed = self.run_tool("h5ls", "-v", "packed.h5")
        self.assertRegex(listed, rf"Filter-0: +.*szgpu.*-{harness.filter_id} ")
        values = self.run_tool("h5dump", "-d", "/wind", "-s", "0,0,0", "-c", "1,1,3", "packed.h5")
        self.assertRegex(values, r"\(0,0,0\): -?\d")

    def test_one_dataset_by_name(self):
        wind, count = waves((40, 50)), np.arange(2000).reshape(40, 50)
        self.plain(wind=wind, count=count)
        self.run_tool("h5repack", "-l", "wind:CHUNK=40x50", "-f", "wind:" + repack_form(REL, 1e-3),
                      "plain.h5", "packed.h5")
        span = float(wind.max()) - float(wind.min())
        self.assert_lossy(wind, self.read("packed.h5"), 1e-3 * span * (1 + 1e-12))
        self.assertTrue((self.read("packed.h5", "count") == count).all())

    def test_mixed_types(self):
        """The optional form, on a file with some datasets that cannot be compressed."""
        wind, count = waves((400, 500)), np.arange(200000).reshape(400, 500)
        self.plain(wind=wind, count=count)
        self.run_tool("h5repack", "-l", "CHUNK=100x100", "-f", repack_form(ABS, 1e-3, 0, flag=1),
                      "plain.h5", "packed.h5")
        self.assert_lossy(wind, self.read("packed.h5"), 1e-3)
        self.assertTrue((self.read("packed.h5", "count") == count).all())

    def test_a_whole_file(self):
        """h5repack over all datasets: ids, masks, coordinates and all that is no number are exact; the
        field is within the bound, and its fill value stays. Before, a mask became zeros."""
        wind, fill = waves((40, 50), "f8") * 30, -999.0
        wind[coast((40, 50))] = fill
        cells = np.arange(2000).reshape(40, 50)
        exact = {"mask": (cells % 3 == 0).astype("i4"), "flags": (cells % 5).astype("i1"), "id": cells,
                 "count": cells.astype("u4"), "is_land": cells % 3 == 0, "phase": np.exp(1j * cells),
                 "time": np.arange(31) * 6.0, "steps": np.arange(31, dtype="i2"),
                 "latitude": np.linspace(-90, 90, 91, dtype="f4"), "level": 1000.0 - 7 * np.arange(30),
                 "longitude": (np.arange(720) * 0.5 + 180) % 360 - 180, "weight": np.sin(cells[0]),
                 "time_bounds": np.stack((np.arange(31) * 6.0, np.arange(1, 32) * 6.0), 1),
                 "big_endian": cells.astype(">i4"), "name": np.array([b"north", b"south"] * 9),
                 "record": np.array([(1, 0.3)] * 99, [("a", "i4"), ("b", "f8")]), "one": np.array(7)}
        with h5py.File(self.path("plain.h5"), "w") as file:
            file.create_dataset("wind", data=wind, fillvalue=fill)
            file.create_dataset("text", data=["a", "bc"] * 30, dtype=h5py.string_dtype())
            for name, values in exact.items():
                file[name] = values
        for flag in (0, 1):
            self.run_tool("h5repack", "-f", repack_form(ABS, 4.0, 0, flag), "plain.h5", "packed.h5")
            for name, values in exact.items():
                restored = self.read("packed.h5", name)
                self.assertEqual((restored.dtype, restored.tobytes()),
                                 (values.dtype, values.tobytes()), name)
            self.assertEqual(list(self.read("packed.h5", "text")), [b"a", b"bc"] * 30)
            packed = self.read("packed.h5")
            self.assert_lossy(wind, packed, 4.0)
            self.assertTrue(((packed == fill) == (wind == fill)).all())

    def test_without_loss(self):
        wind = waves((40, 50), "f8")
        self.plain(wind=wind)
        self.run_tool("h5repack", "-l", "CHUNK=20x50", "-f", repack_form(LOSSLESS, 0.0),
                      "plain.h5", "packed.h5")
        self.run_tool("h5diff", "plain.h5", "packed.h5")
        self.assert_same_bits(wind, self.read("packed.h5"))

    def test_fill_value(self):
        """h5repack keeps a dataset's fill value, and the filter uses it."""
        wind = waves((40, 50)) + np.float32(100)
        wind[coast((40, 50))] = -9999
        with h5py.File(self.path("plain.h5"), "w") as file:
            file.create_dataset("wind", data=wind, chunks=(20, 50), fillvalue=-9999)
        self.run_tool("h5repack", "-f", repack_form(REL, 1e-3), "plain.h5", "packed.h5")
        packed = self.read("packed.h5")
        self.assert_modes_bound(wind, packed, REL, 1e-3, (20, 50), -9999.0)
        self.assertFalse((wind == packed).all())

    def test_from_another_filter(self):
        """On a file compressed with another filter: -f replaces it."""
        wind = waves((40, 50))
        with h5py.File(self.path("plain.h5"), "w") as file:
            file.create_dataset("wind", data=wind, chunks=(20, 50), shuffle=True, compression=4)
        self.run_tool("h5repack", "-f", repack_form(ABS, 1e-3), "plain.h5", "packed.h5")
        self.assert_lossy(wind, self.read("packed.h5"), 1e-3)

    def test_what_the_command_prints(self):
        """szgpu --h5-args prints what h5repack takes."""
        printed = self.run_tool(harness.szgpu, "--h5-args", "-m", "abs", "-e", "1e-3")
        found = [word.strip("'\"") for word in printed.split() if "UD=" in word]
        self.assertTrue(found, printed)
        self.assertIn(comma_separated(user_words(ABS, 1e-3)), found[0])
        wind = waves((40, 50))
        self.plain(wind=wind)
        self.run_tool("h5repack", "-l", "CHUNK=20x50", "-f", found[0], "plain.h5", "packed.h5")
        self.assert_lossy(wind, self.read("packed.h5"), 1e-3)
