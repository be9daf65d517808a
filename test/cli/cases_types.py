"""cases_types.py - halves and integers with a bound: .npy, raw files, HDF5, fill values, reports.

SPDX-License-Identifier: BSD-3-Clause
"""
import os

import numpy as np

from harness import CliTest, wave

# numpy's type, the command's, the scale of a wave, and a bound
TYPES = (("|u1", "u8", 60, 2), ("|i1", "i8", 60, 1.5), ("<u2", "u16", 9000, 20.7),
         ("<i2", "i16", 9000, 20), ("<i4", "i32", 1e8, 1e4), ("<f2", "f16", 30, 0.05),
         (">i2", "i16", 9000, 20), (">f2", "f16", 30, 0.05), (">i4", "i32", 1e8, 0.5))


def made(dtype, scale, dims=(40, 50)):
    values = (wave(*dims, dtype="<f8") + (2 if np.dtype(dtype).kind == "u" else 0)) * scale
    return (np.rint(values) if np.dtype(dtype).kind in "iu" else values).astype(dtype)


def apart(a, b):
    return np.abs(a.astype("f8") - b.astype("f8")).max()


class Types(CliTest):
    def test_npy_files_come_back_within_the_bound(self):
        for dtype, name, scale, bound in TYPES:
            for order in "CF":
                with self.subTest((dtype, order)):
                    array = np.asarray(made(dtype, scale), order=order)
                    np.save(self.path("a.npy"), array)
                    told = self.succeed_json("-zfV", "-m", "abs", "-e", str(bound), "a.npy")
                    self.assertEqual((told["dtype"], told["values_over_bound"]), (name, 0))
                    self.assertLess(told["max_error"], bound + 1e-12)
                    self.succeed("-xqf", "-o", "b.npy", "--compare", "a.npy", "a.npy.szg")
                    back = np.load(self.path("b.npy"))
                    self.assertEqual((back.dtype.str, back.shape), (array.dtype.str, array.shape))
                    self.assertLessEqual(apart(array, back), bound)
                    self.assertEqual(back.flags.f_contiguous, order == "F")

    def test_npy_files_of_these_types_come_back_without_loss(self):
        for dtype, name, scale, _ in TYPES:
            with self.subTest(dtype):
                np.save(self.path("a.npy"), made(dtype, scale))
                content = self.read("a.npy")
                self.succeed("-zqfV", "-m", "lossless", "a.npy")
                self.assertEqual(self.succeed_json("-l", "a.npy.szg")["dtype"], name)
                os.remove(self.path("a.npy"))
                self.succeed("-xq", "a.npy.szg")
                self.assertEqual(self.read("a.npy"), content)

    def test_raw_files_have_the_type_of_their_name(self):
        for dtype, name, scale, bound in TYPES[:6]:
            with self.subTest(name):
                array = made(dtype, scale)
                file = f"a_40x50.{name}"
                self.write(file, array.tobytes())
                self.succeed("-zqV", "-m", "abs", "-e", str(bound), file)
                self.succeed("-xqf", "--compare", file, "-o", "back", f"{file}.szg")
                back = np.frombuffer(self.read("back"), dtype).reshape(40, 50)
                self.assertLessEqual(apart(array, back), bound)
                self.succeed("-xqf", "-o", "back.npy", f"{file}.szg")
                self.assertEqual(np.load(self.path("back.npy")).tobytes(), back.tobytes())

    def test_bf16(self):
        bits = (wave(40, 50).view("<u4") >> 16).astype("<u2")
        self.write("a_40x50.bf16", bits.tobytes())
        self.succeed("-zqV", "-e", "0.01", "a_40x50.bf16")
        self.succeed("-xqf", "--compare", "a_40x50.bf16", "-o", "b", "a_40x50.bf16.szg")
        back = np.frombuffer(self.read("b"), "<u2")
        self.assertGreater((back != bits.ravel()).sum(), 100)

    def test_parts_are_those_of_the_whole(self):
        array = made("<i2", 9000, (64, 48, 40))
        np.save(self.path("a.npy"), array)
        self.succeed("-zq", "-e", "1e-2", "--predictor", "interpolation", "--frame", "32", "a.npy")
        self.succeed("-xq", "-o", "whole.npy", "a.npy.szg")
        whole = np.load(self.path("whole.npy"))
        for options, part in ((["--slab", "5:41"], whole[5:41]), (["--level", "1"], whole[::2, ::2, ::2]),
                              (["--region", "3:60,:,7:9"], whole[3:60, :, 7:9])):
            self.succeed("-xqf", *options, "-o", "part.npy", "a.npy.szg")
            np.testing.assert_array_equal(np.load(self.path("part.npy")), part)

    def test_frame_by_frame_gives_the_same_archive(self):
        np.save(self.path("a.npy"), made(">i2", 9000, (300, 200)))
        self.succeed("-zq", "-e", "1e-3", "--frame", "64", "-o", "whole.szg", "a.npy")
        self.succeed("-zqV", "-e", "1e-3", "--frame", "64", "--memory", "40M", "-o", "frames.szg",
                     "a.npy")
        self.assertEqual(self.read("whole.szg"), self.read("frames.szg"))

    def test_sweep_and_target_ratio(self):
        np.save(self.path("a.npy"), made("<u2", 9000, (200, 300)))
        told = self.succeed_json("--sweep", "1e-2,1e-4", "a.npy")
        self.assertEqual(told["dtype"], "u16")
        told = self.succeed_json("-z", "--target-ratio", "6", "a.npy")
        self.assertGreaterEqual(told["ratio"], 6)

    def test_fill_values(self):
        array = made("<i2", 300)
        array[5:20, 7:30] = -32768
        np.save(self.path("a.npy"), array)
        result = self.succeed("-zf", "-e", "1e-3", "a.npy")
        self.assertIn("--fill -32768", result.err)
        told = self.succeed_json("-zf", "-e", "1e-3", "--fill", "-32768", "a.npy")
        self.assertEqual((told["has_fill"], told["fill"]), (True, -32768))
        self.succeed("-xq", "-o", "b.npy", "a.npy.szg")
        back = np.load(self.path("b.npy"))
        np.testing.assert_array_equal(back == -32768, array == -32768)
        self.assertIn("fill     -32768 (0x8000)", self.succeed("-l", "a.npy.szg").out)

    def test_fill_values_that_the_type_does_not_have(self):
        for dtype, name, fill in (("<i2", "i16", "1e20"), ("|u1", "u8", "-1"), ("<i4", "i32", "0.5"),
                                  ("<f2", "f16", "1e20"), ("<u2", "u16", "nan")):
            with self.subTest(name):
                np.save(self.path("a.npy"), made(dtype, 5))
                self.assert_refused(["-z", "-e", "1e-3", "--fill", fill, "a.npy"], 1,
                                    f"a.npy: holds {name} values, and --fill {float(fill):g} does "
                                    f"not fit {name}; correct it")

    def test_a_bound_below_one_keeps_integers(self):
        array = made("<u2", 900)
        np.save(self.path("a.npy"), array)
        told = self.succeed_json("-zV", "-m", "abs", "-e", "0.9", "a.npy")
        self.assertEqual(told["max_error"], 0)

    def test_u8_is_a_number_with_a_bound_and_a_byte_without(self):
        np.save(self.path("a.npy"), made("|u1", 60))
        self.succeed("-zqf", "-e", "1e-2", "-t", "u8", "a.npy")
        self.assertEqual(self.succeed_json("-l", "a.npy.szg")["dims"], [40, 50])
        self.succeed("-zqf", "-m", "lossless", "-t", "u8", "a.npy")
        self.assertEqual(self.succeed_json("-l", "a.npy.szg")["dims"], [128 + 2000])

    def test_damage_is_found(self):
        np.save(self.path("a.npy"), made("<u2", 9000))
        self.succeed("-zq", "-e", "1e-3", "a.npy")
        content = bytearray(self.read("a.npy.szg"))
        content[16] = 5  # fp8 has no bound; and the checksum does not match
        self.write("bad.szg", bytes(content))
        self.assertEqual(self.run_szgpu("-x", "bad.szg", "-o", "c").code, 3)
