"""cases_damage.py - damaged chunks and hostile cd_values: an error that names szgpu, or the values.

SPDX-License-Identifier: BSD-3-Clause

The process itself reads them, so one bad access ends the test; in the build with sanitizers also
one that would go unseen. SZGPU_TEST_SEED repeats a run with its random numbers.
"""
import os
import random
import struct
import time

import numpy as np

import harness
from harness import ABS, LINEAR, LOSSLESS, REL, coast, optional, stored_words, user_words, waves

h5py = optional("h5py")
FLIPS = 150  # in each of four files


class DamageTest(harness.Hdf5Test):
    def setUp(self):
        super().setUp()
        seed = int(os.environ.get("SZGPU_TEST_SEED", time.time_ns() % 1000000))
        self.random = random.Random(seed)
        print(f"SZGPU_TEST_SEED={seed} repeats {self.id()}")

    def write(self, name, values, opts, chunk, fill=None):
        path = self.path(name)
        with h5py.File(path, "w") as file:
            file.create_dataset("field", data=values, chunks=chunk, fillvalue=fill,
                                compression=harness.filter_id, compression_opts=opts)
        return path

    def read(self, path):
        with h5py.File(path, "r") as file:
            return file["field"][()]

    def assert_refused(self, path, what):
        with self.assertRaises(OSError, msg=what) as caught:
            self.read(path)
        self.assertIn("szgpu", str(caught.exception), what)


class Chunks(DamageTest):
    def files(self):
        values = waves((20, 33, 47))
        gaps = values.copy()
        gaps[coast(values.shape)] = 1e20
        yield self.write("tile.h5", values, user_words(ABS, 1e-3), (20, 33, 47)), values
        yield self.write("linear.h5", values, user_words(REL, 1e-4, LINEAR), (8, 33, 30)), values
        yield self.write("fill.h5", gaps, user_words(ABS, 1e-2, 3), (20, 33, 47), 1e20), gaps
        yield self.write("exact.h5", values.astype("f8"), user_words(LOSSLESS), (8, 33, 30)), values

    def test_flipped_bits(self):
        """Bits of a stored chunk, in the file itself."""
        for path, _ in self.files():
            good = self.read(path)
            with h5py.File(path, "r") as file:
                dataset = file["field"].id
                places = [dataset.get_chunk_info(i) for i in range(dataset.get_num_chunks())]
            for _ in range(FLIPS):
                place = self.random.choice(places)
                inside = self.random.choice((self.random.randrange(min(256, place.size)),
                                             self.random.randrange(place.size)))
                bit = 1 << self.random.randrange(8)
                with open(path, "r+b") as file:
                    file.seek(place.byte_offset + inside)
                    byte = file.read(1)[0]
                    file.seek(place.byte_offset + inside)
                    file.write(bytes([byte ^ bit]))
                self.assert_refused(path, f"{path}: bit {bit} of byte {inside} flipped")
                with open(path, "r+b") as file:
                    file.seek(place.byte_offset + inside)
                    file.write(bytes([byte]))
            self.assert_same_bits(good, self.read(path))

    def replaced(self, path, change, what):
        """The first chunk with its bytes changed."""
        with h5py.File(path, "r+") as file:
            dataset = file["field"].id
            first = (0,) * file["field"].ndim
            _, chunk = dataset.read_direct_chunk(first)
            dataset.write_direct_chunk(first, change(chunk))
        self.assert_refused(path, what)
        with h5py.File(path, "r+") as file:
            file["field"].id.write_direct_chunk(first, chunk)

    def test_other_sizes(self):
        """Cut short anywhere, or with bytes behind."""
        for path, _ in self.files():
            good = self.read(path)
            with h5py.File(path, "r") as file:
                size = file["field"].id.get_chunk_info(0).size
            cuts = {0, 1, 3, 4, 7, 8, 15, 16, 64, 100, size - 8, size - 1}
            cuts |= {self.random.randrange(size) for _ in range(40)}
            for cut in sorted(cuts - {0}):
                self.replaced(path, lambda chunk: chunk[:cut], f"{path}: cut to {cut} bytes")
            for more in (1, 4, 8, 5000):
                self.replaced(path, lambda chunk: chunk + bytes(more), f"{path}: {more} bytes more")
            self.assert_same_bits(good, self.read(path))

    def test_not_archives(self):
        path = self.write("noise.h5", waves((20, 30)), user_words(ABS, 1e-3), (20, 30))
        for size in (1, 4, 20, 100, 2400, 100000):
            self.replaced(path, lambda chunk: self.random.randbytes(size), f"{size} random bytes")
            self.replaced(path, lambda chunk: bytes(size), f"{size} zeros")

    def test_archives_of_other_chunks(self):
        """Whole archives, but of another type or size than the dataset's chunks."""
        path = self.write("field.h5", waves((20, 30)), user_words(ABS, 1e-3), (20, 30))
        for shape, dtype in (((20, 29), "f4"), ((20, 31), "f4"), ((20, 30), "f8"), ((20, 15), "f8"),
                             ((400, 300), "f4"), ((1,), "f4"), ((1,), "f8")):
            other = self.write("other.h5", waves(shape, dtype), user_words(ABS, 1e-3), shape)
            with h5py.File(other, "r") as file:
                _, archive = file["field"].id.read_direct_chunk((0,) * len(shape))
            self.replaced(path, lambda chunk: archive, f"an archive of {shape} {dtype}")


class Words(DamageTest):
    """cd_values of a file, changed where they are stored."""
    SHAPE, CHUNK = (20, 30), (20, 30)

    def changed(self, words):
        """The file with these words in the place of its own; as many of them."""
        values = waves(self.SHAPE)
        path = self.write("hostile.h5", values, user_words(ABS, 1e-3, 0), self.CHUNK, 7.5)
        good = self.read(path)
        own = stored_words(ABS, 1e-3, "f4", self.CHUNK, 7.5)
        before, after = (struct.pack(f"<{len(w)}I", *w) for w in (own, words))
        with open(path, "rb") as file:
            content = file.read()
        self.assertEqual(content.count(before), 1)
        with open(path, "wb") as file:
            file.write(content.replace(before, after))
        return path, good

    def hostile(self):
        """The words with one or two replaced."""
        own = stored_words(ABS, 1e-3, "f4", self.CHUNK, 7.5)
        most = 0xFFFFFFFF
        yield from ((own[:place] + (word,) + own[place + 1:])
                    for place in range(len(own))
                    for word in (0, 1, 2, 3, 4, 5, 255, 256, 0x300, 0x20000, 0x7FFFFFFF, most)
                    if own[place] != word)
        for dims in ((most, most), (0, 30), (1 << 31, 1 << 31), (1 << 30, 4), (30, 20), (20, 31)):
            yield own[:8] + dims
        for _ in range(100):
            yield tuple(self.random.choice((word, self.random.randrange(1 << 32)))
                        for word in own)

    def test_read(self):
        """An error of szgpu's, or the very values: the archive says enough by itself."""
        refused = 0
        for words in self.hostile():
            path, good = self.changed(words)
            try:
                restored = self.read(path)
            except OSError as problem:
                self.assertIn("szgpu", str(problem), words)
                refused += 1
            else:
                self.assert_same_bits(good, restored, words)
        self.assertGreater(refused, 0)

    def test_written_through(self):
        """Values written into such a dataset: an error, or within the bound that is then there, or
        exactly as they were (an optional filter that fails is left out)."""
        values = waves(self.SHAPE, seed=2)
        for words in self.hostile():
            path, _ = self.changed(words)
            try:
                with h5py.File(path, "r+") as file:
                    file["field"][...] = values
                restored = self.read(path)
            except (OSError, RuntimeError) as problem:
                self.assertIn("szgpu", str(problem), words)
                continue
            if harness.same_bits(values, restored).all():
                continue
            self.assertIn(words[1], (0, 1, 2), words)
            bound = np.array(words[2:4], "<u4").view("<f8")[0]
            if words[1] == ABS:
                self.assert_within(values, restored, float(bound), words)

    def test_fewer_or_more_words(self):
        """The filter's message says how many words there are; here in a message of its own."""
        values = waves(self.SHAPE)
        path = self.write("hostile.h5", values, user_words(ABS, 1e-3, 0), self.CHUNK, 7.5)
        own = stored_words(ABS, 1e-3, "f4", self.CHUNK, 7.5)
        with open(path, "rb") as file:
            content = file.read()
        at = content.index(struct.pack(f"<{len(own)}I", *own))
        # Version 1 of the message: id, bytes of the name, flags, words (all u16), name, words.
        name_at = content.rindex(struct.pack("<H", harness.filter_id), 0, at)
        self.assertEqual(struct.unpack_from("<H", content, name_at + 6)[0], len(own))
        for count in range(len(own)):
            with open(path, "wb") as file:
                file.write(content[:name_at + 6] + struct.pack("<H", count) +
                           content[name_at + 8:])
            try:
                restored = self.read(path)
            except OSError as problem:
                self.assertIn("szgpu", str(problem), count)
            else:
                self.assertLessEqual(np.abs(values - restored).max(), 1.001e-3)
