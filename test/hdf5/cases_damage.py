"""cases_damage.py - damaged chunks and hostile cd_values: an error that names szgpu, or the values.

SPDX-License-Identifier: BSD-3-Clause

The test's own process reads them, so a bad access ends the test; sanitizers also find those that
would go unseen. SZGPU_TEST_SEED repeats a run with its random numbers.
"""
import os
import random
import struct
import time

import numpy as np

import harness
from harness import (ABS, LINEAR, LOSSLESS, PSNR, PWREL, REL, coast, optional, stored_words,
                     user_words, waves)

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
        """Flips bits of a stored chunk, in the file itself."""
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
        """Chunks cut short anywhere, or with bytes appended."""
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
        """Intact archives of another type, size or shape than the dataset's chunks."""
        path = self.write("field.h5", waves((20, 30)), user_words(ABS, 1e-3), (20, 30))
        for shape, dtype in (((20, 29), "f4"), ((20, 31), "f4"), ((20, 30), "f8"), ((20, 15), "f8"),
                             ((30, 20), "f4"), ((600,), "f4"), ((2, 10, 30), "f4"),
                             ((400, 300), "f4"), ((1,), "f4"), ((1,), "f8")):
            other = self.write("other.h5", waves(shape, dtype), user_words(ABS, 1e-3), shape)
            with h5py.File(other, "r") as file:
                _, archive = file["field"].id.read_direct_chunk((0,) * len(shape))
            self.replaced(path, lambda chunk: archive, f"an archive of {shape} {dtype}")


def double_of(low, high):
    return struct.unpack("<d", struct.pack("<II", low, high))[0]


class Words(DamageTest):
    """cd_values of a file, changed where they are stored."""
    SHAPE = CHUNK = (20, 30)
    OWN = stored_words(ABS, 1e-3, "f4", CHUNK, 7.5)

    def changed(self, words):
        """Replaces the file's words by as many others."""
        values = waves(self.SHAPE)
        path = self.write("hostile.h5", values, user_words(ABS, 1e-3, 0), self.CHUNK, 7.5)
        good = self.read(path)
        before, after = (struct.pack(f"<{len(w)}I", *w) for w in (self.OWN, words))
        with open(path, "rb") as file:
            content = file.read()
        self.assertEqual(content.count(before), 1)
        with open(path, "wb") as file:
            file.write(content.replace(before, after))
        return path, good

    def hostile(self):
        """The words with one or two replaced, or with another mode and bound."""
        own, most = self.OWN, 0xFFFFFFFF
        yield from ((own[:place] + (word,) + own[place + 1:])
                    for place in range(len(own))
                    for word in (0, 1, 2, 3, 4, 5, 255, 256, 0x300, 0x400, 0x600,
                                 0x20000, 0x7FFFFFFF, most)
                    if own[place] != word)
        for dims in ((most, most), (0, 30), (1 << 31, 1 << 31), (1 << 30, 4), (30, 20), (20, 31)):
            yield own[:8] + dims
        for mode, bound in ((REL, 1e-2), (PSNR, 40.0), (PWREL, 1e-2)):
            yield user_words(mode, bound, 0) + own[5:]
        for _ in range(100):
            yield tuple(self.random.choice((word, self.random.randrange(1 << 32)))
                        for word in own)

    def is_of_the_chunk(self, words):
        """Whether docs/hdf5.md gives the words a meaning and they fit this chunk."""
        version, mode, low, high, options, kind = words[:6]
        bound = double_of(low, high)
        end = 1 if mode == PWREL else float("inf")
        return (version == 1 and mode <= PWREL and (mode == LOSSLESS or 0 < bound < end) and
                options & 0xFF <= 19 and options >> 9 <= 2 and
                kind & ~(harness.KEEP | 1 << 16) == 0x200 and words[8:] == self.CHUNK)

    def assert_refused_or(self, good, path, is_right, what):
        if not is_right:
            self.assert_refused(path, what)
            return
        self.assert_same_bits(good, self.read(path), what)

    def test_read(self):
        """If the words do not fit the chunk, szgpu reports an error. Otherwise the values are the
        same, whatever the words say about bound and fill: the archive says enough itself."""
        right = 0
        for words in self.hostile():
            path, good = self.changed(words)
            is_right = self.is_of_the_chunk(words)
            self.assert_refused_or(good, path, is_right, words)
            right += is_right
        self.assertGreater(right, 10)

    def test_written_through(self):
        """Writing values into such a dataset is an error, or keeps the bound that the words state,
        or keeps the values exactly (HDF5 leaves out an optional filter that fails)."""
        values, lossy = waves(self.SHAPE, seed=2), dict.fromkeys((REL, ABS, PSNR, PWREL), 0)
        values[3, 4:14] = 7.5  # far from the others, so that it shows whether ranges include it
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
            mode, bound = words[1], double_of(*words[2:4])
            fill = double_of(*words[6:8]) if words[5] >> 16 else None
            self.assertIn(mode, lossy, words)
            with np.errstate(over="ignore"):  # a fill value that does not fit f32
                self.assert_modes_bound(values, restored, mode, bound, self.CHUNK, fill)
            if fill == 7.5:
                self.assert_same_bits(values[3, 4:14], restored[3, 4:14], words)
            lossy[mode] += 1
        self.assertTrue(all(lossy.values()), lossy)

    def with_words(self, words, archive):
        """A file whose only chunk is this archive, with words that no filter has checked: h5py
        makes it with an optional filter that does not exist, then the test changes its number."""
        path, other = self.path("other.h5"), harness.filter_id ^ 1
        with h5py.File(path, "w", libver="earliest") as file:
            properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            properties.set_chunk(self.CHUNK)
            properties.set_filter(other, h5py.h5z.FLAG_OPTIONAL, words)
            dataset = h5py.h5d.create(file.id, b"field", h5py.h5t.IEEE_F32LE,
                                      h5py.h5s.create_simple(self.SHAPE), properties)
            dataset.write_direct_chunk((0, 0), archive)
        # Version 1 of the message: id, bytes of the name, flags, words (all u16), words.
        before, after = (struct.pack(f"<4H{len(words)}I", number, 0, 1, len(words), *words)
                         for number in (other, harness.filter_id))
        with open(path, "rb") as file:
            content = file.read()
        self.assertEqual(content.count(before), 1, words)
        with open(path, "wb") as file:
            file.write(content.replace(before, after))
        return path

    def test_fewer_or_more_words(self):
        path = self.write("good.h5", waves(self.SHAPE), user_words(ABS, 1e-3, 0), self.CHUNK, 7.5)
        good = self.read(path)
        with h5py.File(path, "r") as file:
            _, archive = file["field"].id.read_direct_chunk((0, 0))
        for more in ((0,) * 300, (1,) * 300, self.OWN[8:] * 150, self.OWN * 30):
            for count in (*range(30), 300):
                words = (self.OWN + more)[:count]
                self.assert_refused_or(good, self.with_words(words, archive), words == self.OWN,
                                       words)

    def test_other_ranks(self):
        """The right number of words for the rank, and of bytes for the chunk."""
        path = self.write("good.h5", waves(self.SHAPE), user_words(ABS, 1e-3, 0), self.CHUNK, 7.5)
        with h5py.File(path, "r") as file:
            _, archive = file["field"].id.read_direct_chunk((0, 0))
        for dims in ((600,), (30, 20), (2, 10, 30), (2, 10, 3, 10)):
            words = stored_words(ABS, 1e-3, "f4", dims, 7.5)
            self.assert_refused(self.with_words(words, archive), words)
