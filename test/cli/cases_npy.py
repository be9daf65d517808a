"""cases_npy.py - .npy files are restored for numpy, and bad ones are refused.

SPDX-License-Identifier: BSD-3-Clause
"""
import io
import os

import numpy as np

from harness import CliTest, wave

BOUND = ["-m", "abs", "-e", "1e-3"]


class Npy(CliTest):
    def there_and_back(self, array, *options, name="a.npy"):
        np.save(self.path(name), array)
        original = self.read(name)
        self.succeed("-z", "-V", *BOUND, *options, name)
        self.assertEqual(self.read(name), original)
        self.succeed("-x", "-o", "back.npy", "--compare", name, name + ".szg")
        restored = np.load(self.path("back.npy"))
        self.assertEqual(restored.dtype.str, array.dtype.str)
        self.assert_within(array, restored, 1e-3)
        return restored

    def test_c_order(self):
        for dims in ((200,), (10, 20), (5, 4, 10), (2, 5, 4, 5), (1,), (1, 1, 200)):
            for dtype in ("<f4", "<f8", ">f4", ">f8"):
                with self.subTest((dims, dtype)):
                    array = wave(*dims, dtype=dtype)
                    restored = self.there_and_back(array, "-f")
                    self.assertEqual(restored.shape, array.shape)
                    self.assertTrue(restored.flags.c_contiguous)
                    os.remove(self.path("back.npy"))

    def test_fortran_order(self):
        for dims in ((10, 20), (5, 4, 10), (2, 5, 4, 5)):
            for dtype in ("<f4", ">f8"):
                with self.subTest((dims, dtype)):
                    array = np.asfortranarray(wave(*dims, dtype=dtype))
                    restored = self.there_and_back(array, "-f")
                    self.assertEqual(restored.shape, array.shape)
                    self.assertTrue(restored.flags.f_contiguous)
                    self.assertEqual(self.succeed_json("-l", "a.npy.szg")["dims"],
                                     list(reversed(dims)))
                    os.remove(self.path("back.npy"))

    def test_values_that_must_come_back_bit_for_bit(self):
        array = wave(10, 20, dtype=">f8")
        array[3, :4] = [np.nan, np.inf, -np.inf, 1e300]
        restored = self.there_and_back(array.copy(order="F"))
        self.assertEqual(restored[3, :4].tobytes(), array[3, :4].tobytes())

    def assert_within(self, original, restored, bound):
        finite = np.isfinite(original)
        super().assert_within(original[finite], restored[finite], bound)

    def test_an_array_without_dims_comes_back_with_one(self):
        self.assertEqual(self.there_and_back(np.float32(3.5)).shape, (1,))

    def test_a_header_is_what_numpy_writes_and_aligned(self):
        self.there_and_back(wave(10, 20))
        content = self.read("back.npy")
        self.assertEqual(len(content), 128 + 800)
        self.assertEqual(content[:8], b"\x93NUMPY\x01\x00")
        self.assertEqual(content[127:128], b"\n")
        self.assertEqual(content[10:].split(b"}")[0],
                         b"{'descr': '<f4', 'fortran_order': False, 'shape': (10, 20), ")

    def test_versions_2_and_3_are_read(self):
        for version in ((2, 0), (3, 0)):
            with self.subTest(version), open(self.path("v.npy"), "wb") as file:
                np.lib.format.write_array(file, wave(10, 20), version=version)
            self.succeed("-zf", *BOUND, "v.npy")
            self.succeed("-x", "-o", f"back{version[0]}.npy", "v.npy.szg")
            self.assert_within(wave(10, 20), np.load(self.path(f"back{version[0]}.npy")), 1e-3)

    def test_values_that_are_not_aligned_in_the_file(self):
        text = b"{'shape': (200L,), 'fortran_order': False, 'descr': \"<f8\"}"
        self.write("a.npy", npy_file(text, wave(200, dtype="<f8").tobytes()))
        self.succeed("-zV", *BOUND, "a.npy")
        self.succeed("-x", "-o", "b.npy", "--compare", "a.npy", "a.npy.szg")
        self.assertEqual(np.load(self.path("b.npy")).shape, (200,))

    def test_the_default_name_gives_npy_and_another_name_raw(self):
        np.save(self.path("a.npy"), np.asfortranarray(wave(10, 20, dtype=">f4")))
        self.succeed("-z", *BOUND, "-o", "a.szg", "a.npy")
        self.succeed("-x", "a.szg")
        restored = np.load(self.path("a"))
        self.succeed("-x", "-o", "a.raw", "a.szg")
        raw = np.frombuffer(self.read("a.raw"), "<f4").reshape(20, 10).T
        self.assertTrue(np.array_equal(raw, restored))

    def test_a_raw_field_is_restored_as_npy_by_name(self):
        name = self.archive()
        self.succeed("-x", "-o", "b.npy", name)
        self.assertEqual(np.load(self.path("b.npy")).shape, (10, 20))

    def test_d_gives_an_npy_file_another_shape(self):
        self.assertEqual(self.reshaped(wave(10, 20), "4x50"), (4, 50))
        self.assertEqual(self.reshaped(np.asfortranarray(wave(10, 20)), "4x50"), (4, 50))

    def reshaped(self, array, dims):
        np.save(self.path("a.npy"), array)
        self.succeed("-zf", *BOUND, "-d", dims, "a.npy")
        self.succeed("-xf", "-o", "b.npy", "a.npy.szg")
        restored = np.load(self.path("b.npy"))
        order = "C" if array.flags.c_contiguous else "F"
        self.assert_within(array.reshape(restored.shape, order=order), restored, 1e-3)
        return restored.shape


def npy_file(text, values, version=1):
    size = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + values


class NpyRefusals(CliTest):
    def refused(self, content, sentence, *options):
        self.write("a.npy", content)
        self.assert_refused(["-z", *BOUND, *options, "a.npy"], 1, f"a.npy: {sentence}")

    def refused_array(self, array, sentence):
        file = io.BytesIO()
        np.save(file, array)
        self.refused(file.getvalue(), sentence)

    def test_values_of_other_types(self):
        for dtype in ("f16", "u4", "i8", "c8", "b1", "S5", "M8[s]"):
            with self.subTest(dtype):
                self.refused_array(np.zeros(4, dtype), "holds values that are neither floats of 2, 4 "
                                   "or 8 bytes nor integers of 1, 2 or, signed, 4; convert them with "
                                   "numpy's astype")

    def test_records(self):
        self.refused_array(np.zeros(4, [("a", "f4")]), "holds records, not numbers; save one field "
                           "of them as an array of its own")

    def test_no_values(self):
        self.refused_array(np.zeros((3, 0), "f4"), "has no values; there is nothing to compress")

    def test_more_than_4_dims(self):
        self.refused_array(np.zeros((1, 2, 1, 2, 1), "f4"), "has more than 4 dims; join some with "
                           "numpy's reshape")

    def test_dims_over_64_bits(self):
        text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }"
        self.refused(npy_file(text % 2**64, bytes(16)), "has a dim that does not fit in 64 bits; "
                     "write it again with numpy.save")
        self.refused(npy_file(text % 2**63, bytes(16)), "cannot hold 9223372036854775808 f32 "
                     "values: their size does not fit in 64 bits; give smaller dims")

    def test_values_that_are_missing_or_too_many(self):
        text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
        for value_bytes in (0, 15, 17, 32):
            with self.subTest(value_bytes):
                self.refused(npy_file(text, bytes(value_bytes)), f"has {value_bytes} bytes of "
                             "values, but 4 f32 values are 16 bytes; write the file again, or "
                             "correct -d")

    def test_a_type_that_contradicts_the_option(self):
        text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
        self.refused(npy_file(text, bytes(16)), "holds f32 values according to its header, but -t "
                     "says f64; leave -t out", "-t", "f64")

    def test_a_file_without_the_header(self):
        self.refused(bytes(800), "has no .npy header; rename it and use -t if its values are raw")

    def test_a_version_of_the_future(self):
        self.refused(npy_file(b"{}", bytes(16), version=4), "has an unknown .npy version; write it "
                     "again with numpy.save")

    def test_damaged_headers(self):
        good = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
        damaged = [
            b"", b"{", b"}", b"{}", good[:-1], good + b"x", good * 2, good[1:], b"[" + good,
            b"{'descr': '<f4', 'fortran_order': False, }",
            b"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
            b"{'descr': '<f4', 'fortran_order': 0, 'shape': (4,), }",
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (4), }",
            b"{'descr': '<f4', 'fortran_order': False, 'shape': 4, }",
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (-4,), }",
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,, ), }",
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (4 4), }",
            b"{'descr': '<f4' 'fortran_order': False, 'shape': (4,), }",
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'more': 1, }",
            b"{'descr': <f4', 'fortran_order': False, 'shape': (4,), }",
            b"{'descr': " + b"'" + b"f" * 500 + b"', 'fortran_order': False, 'shape': (4,)}",
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), \0}",
        ]
        for text in damaged:
            with self.subTest(text):
                self.refused(npy_file(text, bytes(16)), "has a damaged .npy header; write it again "
                             "with numpy.save")

    def test_a_header_cut_anywhere(self):
        whole = npy_file(b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", b"")
        for kept_bytes in range(6, len(whole), 3):
            self.refused(whole[:kept_bytes], "has a damaged .npy header; write it again with "
                         "numpy.save")

    def test_a_header_that_claims_4_gigabytes(self):
        content = b"\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr': '<f4'"
        self.refused(content, "has a damaged .npy header; write it again with numpy.save")
