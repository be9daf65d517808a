"""cases_golden.py - files of every released version are still read, and written the same.

SPDX-License-Identifier: BSD-3-Clause

golden/hdf5/NAME.h5 must restore to golden/hdf5/NAME.raw, and writing the same field again must give
the same cd_values and, outside of their compact form, the same bytes of every chunk, except those
that zstd compressed. The fields
are those of test_golden.py, made of integers. To write new files, which is a change of format:

  SZGPU_UPDATE_GOLDEN=1 python3 test_hdf5.py PLUGIN_FOLDER SZGPU cases_golden
"""
import os
import shutil

import numpy as np

import harness
from compact_from_docs import plain
from harness import ABS, LINEAR, LORENZO, LOSSLESS, PSNR, REL, optional, user_words
from test_golden import plain_pair, waves, with_fill, with_specials

h5py = optional("h5py")
FOLDER = os.path.join(os.path.dirname(harness.HERE), "golden", "hdf5")

CASES = {  # name: field, chunk, user's words, fill value, earliest or latest format of the file
    "abs_f32": (waves((11, 13, 21), 70).astype("f4"), (8, 8, 16), user_words(ABS, 0.01), None,
                "earliest"),
    "abs_f64": (waves((40, 37), 71), (40, 32), user_words(ABS, 1e-3, 0), None, "latest"),
    "rel_f32": (waves((3, 20, 1, 30), 72).astype("f4"), (1, 20, 1, 30), user_words(REL, 1e-3), None,
                "latest"),
    "psnr_f64": (waves((2, 4, 9, 17), 73), (2, 4, 9, 17), user_words(PSNR, 70.0), None, "latest"),
    "lossless_f32": (with_specials(waves((800,), 74).astype("f4")), (500,),
                     user_words(LOSSLESS), None, "earliest"),
    "lossless_f64": (waves((10, 70), 75), (10, 70), user_words(LOSSLESS), -9999.0, "latest"),
    "fill_f32": (with_fill(waves((12, 15, 20), 76).astype("f4"), -9999), (8, 15, 20),
                 user_words(REL, 1e-3), -9999.0, "latest"),
    "fill_nan_f64": (with_fill(waves((30, 31), 77), np.nan), (16, 31), user_words(ABS, 1e-4),
                     float("nan"), "earliest"),
    "specials_f32": (with_specials(waves((20, 40), 78).astype("f4")), (20, 40),
                     user_words(ABS, 0.05), None, "latest"),
    "linear_f32": (waves((30, 40), 79).astype("f4"), (30, 40), user_words(ABS, 0.01, LINEAR), None,
                   "latest"),
    "zstd_f32": (np.floor(waves((10, 30, 16), 80)).astype("f4"), (10, 30, 16),
                 user_words(ABS, 0.5, 3), None, "latest"),
}
# Integers under a bound, by a version that needed no bit for them.
INTEGERS = {"integers_i16": (np.round(100 * waves((20, 37), 81)).astype("i2"), (16, 37),
                             user_words(ABS, 4.0), None, "earliest")}
# Chunks of format version 3, whose fields later ones write in another order.
ONLY_READ = {**INTEGERS, "lossless_v3_f32": CASES["lossless_f32"], "lossless_v3_f64": CASES["lossless_f64"]}


def is_of_tiles(opts):
    """Whether the chunks of these words were tile frames before there was a choice."""
    return opts[1] != LOSSLESS and not (opts[4:] and opts[4] & LINEAR)


def with_option(opts, bit):
    """The words with the bit in their word for options."""
    words = tuple(opts) + (0,) * (5 - len(opts))
    return words[:4] + (words[4] | bit,) + words[5:] if bit else tuple(opts)


def write(path, values, chunk, opts, fill, version):
    with h5py.File(path, "w", libver=version) as file:
        file.create_dataset("field", data=values, chunks=chunk, fillvalue=fill, track_times=False,
                            compression=harness.filter_id, compression_opts=opts)


def chunks(path):
    """The words stored with the dataset, and the mask and the bytes of every chunk."""
    with h5py.File(path, "r") as file:
        dataset = file["field"].id
        places = [dataset.get_chunk_info(i).chunk_offset for i in range(dataset.get_num_chunks())]
        words = dataset.get_create_plist().get_filter(0)[2]
        return words, {place: dataset.read_direct_chunk(place) for place in places}


class Golden(harness.Hdf5Test):
    def assert_same_chunks(self, made, then):
        self.assertEqual(made.keys(), then.keys())
        for place, (mask, chunk) in made.items():
            mask_then, chunk_then = then[place]
            self.assertEqual(mask, mask_then)
            self.assertEqual(*plain_pair(chunk, chunk_then))

    def setUp(self):
        super().setUp()
        if harness.filter_id != 480:
            self.skipTest("this build's filter id is not the golden files' 480")
        if os.environ.get("SZGPU_UPDATE_GOLDEN"):
            os.makedirs(FOLDER, exist_ok=True)
            for name, case in CASES.items():
                path = os.path.join(FOLDER, name + ".h5")
                write(path, *case)
                with h5py.File(path, "r") as file:
                    file["field"][()].tofile(os.path.join(FOLDER, name + ".raw"))

    def test_read(self):
        for name, (values, _, opts, _, _) in {**CASES, **ONLY_READ}.items():
            with self.subTest(name):
                with h5py.File(os.path.join(FOLDER, name + ".h5"), "r") as file:
                    restored = file["field"][()]
                expected = np.fromfile(os.path.join(FOLDER, name + ".raw"), values.dtype)
                self.assert_same_bits(expected.reshape(values.shape), restored)
                if opts[1] == LOSSLESS:
                    self.assert_same_bits(values, restored)
                if opts[1] == ABS:
                    bound = np.array(opts[2:4], "<u4").view("<f8")[0]
                    self.assert_within(values, restored, float(bound))

    def test_written_anew(self):
        """The words say in addition what chunks keep; lossless ones are as ever."""
        for name, case in CASES.items():
            with self.subTest(name):
                values, chunk, opts, *others = case
                bit = LORENZO if is_of_tiles(opts) else 0
                write(self.path(name + ".h5"), values, chunk, with_option(opts, bit), *others)
                words, made = chunks(self.path(name + ".h5"))
                words_then, then = chunks(os.path.join(FOLDER, name + ".h5"))
                kept = 0 if opts[1] == LOSSLESS else harness.KEEP
                words_now = list(with_option(words_then, bit))
                words_now[5] |= kept
                self.assertEqual(words, tuple(words_now))
                self.assertEqual(made.keys(), then.keys())
                self.assertTrue(all(mask == 0 for mask, _ in made.values()))
                if not kept:
                    self.assert_same_chunks(made, then)

    def test_written_on(self):
        """Into a file of an earlier version: its words stay, and its chunks have nothing new but the
        compact form."""
        for name, (values, _, opts, *_) in CASES.items():
            with self.subTest(name):
                path = shutil.copy(os.path.join(FOLDER, name + ".h5"), self.path(name + ".h5"))
                words_then, then = chunks(path)
                with h5py.File(path, "r+") as file:
                    file["field"][...] = values
                words, made = chunks(path)
                self.assertEqual((words, made.keys()), (words_then, then.keys()))
                for mask, chunk in made.values():
                    self.assertEqual(mask, 0)
                    if opts[1] == ABS:  # rel and psnr keep the range in any case
                        version = int.from_bytes(plain(chunk)[8:12], "little")
                        self.assertLess(version, 8)
                if opts[1] == LOSSLESS or not is_of_tiles(opts) and not name.startswith("zstd"):
                    self.assert_same_chunks(made, then)

    def test_integers_are_written_on(self):
        """The words in the file go on meaning what they did: a bound, and nothing that is kept."""
        (name, (values, *_)), = INTEGERS.items()
        path = shutil.copy(os.path.join(FOLDER, name + ".h5"), self.path("old.h5"))
        words_then, then = chunks(path)
        with h5py.File(path, "r+") as file:
            file["field"][...] = values
        words, made = chunks(path)
        self.assertEqual((words, made.keys()), (words_then, then.keys()))
        for mask, chunk in made.values():
            self.assertEqual(mask, 0)
            self.assertLess(int.from_bytes(plain(chunk)[8:12], "little"), 8)
        with h5py.File(path, "r+") as file:
            file["field"][3:5, 7:] = 9
        with h5py.File(path, "r") as file:
            restored = file["field"][()]
        values = values.copy()
        values[3:5, 7:] = 9
        self.assertLessEqual(abs(restored.astype("i4") - values).max(), 8)

    def test_integers_are_copied(self):
        """h5repack passes the old words on; without the bit the copy is lossless."""
        self.need("h5repack")
        (name, (values, *_)), = INTEGERS.items()
        self.run_tool("h5repack", "-l", "CHUNK=10x37", os.path.join(FOLDER, name + ".h5"), "copy.h5")
        restored = np.fromfile(os.path.join(FOLDER, name + ".raw"), "i2").reshape(values.shape)
        with h5py.File(self.path("copy.h5"), "r") as file:
            self.assert_same_bits(file["field"][()], restored)
            words = file["field"].id.get_create_plist().get_filter(0)[2]
        self.assertEqual(words[1], LOSSLESS)

    def test_nothing_is_missing(self):
        names = {name + ending for name in [*CASES, *ONLY_READ] for ending in (".h5", ".raw")}
        self.assertEqual(names, set(os.listdir(FOLDER)))
