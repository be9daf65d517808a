"""cases_other.py - a second plugin, with another number, for the same chunks.

SPDX-License-Identifier: BSD-3-Clause
"""
import sys

import harness
from harness import ABS, optional, sample, stored_words, user_words

h5py = optional("h5py")

# Without the plugin, which would mend the words.
LYING = """
import h5py, sys
number, *words = map(int, sys.argv[1:])
with h5py.File("lying.h5", "w") as file:
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((20, 30))
    properties.set_filter(number, h5py.h5z.FLAG_OPTIONAL, tuple(words))
    dataset = h5py.h5d.create(file.id, b"a", h5py.h5t.IEEE_F32LE,
                              h5py.h5s.create_simple((40, 60)), properties)
    dataset.write_direct_chunk((0, 0), bytes(16), 0)
"""


class OtherNumber(harness.Hdf5Test):
    def write(self, name, number):
        """The sample under the filter of this number; returns its stored words."""
        words = user_words(ABS, 0.01)
        with h5py.File(self.path(name), "w") as file:
            wind = file.create_dataset("wind", data=sample(), chunks=(12, 73, 144),
                                       compression=number, compression_opts=words)
            found, _, stored, _ = wind.id.get_create_plist().get_filter(0)
        self.assertEqual(found, number)
        return stored

    def chunks(self, name):
        with h5py.File(self.path(name), "r") as file:
            return [file["wind"].id.read_direct_chunk((row, 0, 0))[1] for row in (0, 12, 24)]

    def read(self, name):
        with h5py.File(self.path(name), "r") as file:
            return file["wind"][()]

    def test_both_numbers_give_the_same_chunks(self):
        numbers = (harness.filter_id, harness.other_id)
        stored = [self.write(f"{number}.h5", number) for number in numbers]
        self.assertEqual(stored, 2 * [stored_words(ABS, 0.01, "f4", (12, 73, 144))])
        first, other = (f"{number}.h5" for number in numbers)
        self.assertEqual(self.chunks(first), self.chunks(other))
        self.assert_lossy(sample(), self.read(other), 0.01)
        self.assert_same_bits(self.read(first), self.read(other))

    def test_h5repack_moves_a_file_to_the_other_number(self):
        self.need("h5repack")
        self.write("old.h5", harness.filter_id)
        self.run_tool("h5repack", "-f", f"UD={harness.other_id},0,0", "old.h5", "new.h5")
        with h5py.File(self.path("new.h5"), "r") as file:
            properties = file["wind"].id.get_create_plist()
            self.assertEqual((properties.get_nfilters(), properties.get_filter(0)[0]),
                             (1, harness.other_id))
        self.assert_same_bits(self.read("old.h5"), self.read("new.h5"))

    def test_the_command_distrusts_words_under_either_number(self):
        """HDF5 reads beyond its buffer if the words state larger chunks than the dataset has."""
        numbers = [harness.filter_id] + [harness.other_id] * harness.other_is_known
        for number in numbers:
            self.run_tool("env", f"HDF5_PLUGIN_PATH={self.folder}", sys.executable, "-c", LYING,
                          number, *stored_words(ABS, 0.01, "f4", (2, 30)))
            said = self.run_tool(harness.szgpu, "-z", "-e", "1e-3", "lying.h5:a", code=2)
            self.assertIn("has cd_values of szgpu that do not match its chunks", said, number)
