"""cases_warnings.py - what is allowed but seldom meant: a warning, and an error with --strict.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import subprocess
import sys

import numpy as np

from harness import CliTest, wave

ONE_ROW = "no dims given, so its 200 values are treated as one row; give them with -d"
LOOSE = ("-e {0} lets values be off by {0} times their range; if the bound is in the field's unit, "
         "add -m abs")
OTHER_DIMS = "has dims {} by its {}, but -d says {}; leave -d out unless that is intended"


class WarningTest(CliTest):
    def warned(self, options, name, *sentences):
        """The sentences, on stderr and in the JSON; the archive is written. --strict refuses."""
        result = self.succeed("-z", "-f", *options, name)
        self.assertEqual(result.err, "".join(f"szgpu: {name}: warning: {sentence}\n"
                                             for sentence in sentences))
        self.assertEqual(self.succeed("-z", "-f", "-q", *options, name).err, "")
        self.assertEqual(self.succeed_json("-z", "-f", *options, name)["warnings"],
                         list(sentences))
        os.remove(self.path(name + ".szg"))
        if sentences:
            self.assert_refused(["-z", "--strict", *options, name], 1, f"{name}: {sentences[0]}")
            self.assert_refused(["-z", "--strict", "-q", *options, name], 1,
                                f"{name}: {sentences[0]}")
        else:
            self.succeed("-z", "-q", "--strict", *options, name)

    def raw(self, values, name=None):
        dims = "x".join(str(dim) for dim in values.shape)
        kind = {4: "f32", 8: "f64"}[values.dtype.itemsize]
        return self.write(name or f"a_{dims}.{kind}", values.tobytes())


class Before(WarningTest):
    def test_warnings_come_before_the_work(self):
        """They did not: the work fails here, for lack of memory."""
        plain = self.raw(wave(64, 64, 64), "plain_64x64x64.f32")
        filled = wave(64, 64, 64)
        filled[:, :20] = -9999
        filled = self.raw(filled)
        for options, name, sentence in (
                (["-e", "1e-3"], filled, "add --fill -9999"),
                (["-m", "abs", "-e", "1e6"], plain, "is more than the range")):
            arguments = ["-z", *options, "--memory-limit", "100K", name]
            result = self.run_szgpu(*arguments)
            self.assertEqual(result.code, 5, result)
            warning, failure = result.err.splitlines()
            self.assertIn(sentence, warning)
            self.assertIn("would take more memory", failure)
            self.assertEqual(self.run_szgpu("--strict", *arguments).code, 1)


class Fill(WarningTest):
    @staticmethod
    def ocean(fill, dtype="<f4", dims=(50, 60, 70), share=0.28):
        """Values from 1 to 3, and fill in a corner of each plane."""
        values = wave(*dims, dtype=dtype) + 2
        edge = int(round((share * dims[1] * dims[2]) ** 0.5))
        values[:, :edge, :edge] = fill
        return values

    def sentence(self, share, fill, end):
        return (f"{share} % of its values are {fill}, far from all others; if that means missing, "
                f"add --fill {fill}: {end}")

    def test_a_relative_bound_and_a_psnr_follow_from_it(self):
        values = self.ocean(-9999)
        name = self.raw(values)
        real = values[values > 0].astype("f8")
        span, span_without = values.max() - -9999., real.max() - real.min()
        for options, part in ((["-e", "1e-3"], 1e-3), (["-m", "psnr", "-e", "80"], 3**.5 * 1e-4)):
            bounds = f"the bound is then {span_without * part:.3g}, not {span * part:.3g}"
            self.warned(options, name, self.sentence(28, "-9999", bounds))
            told = self.succeed_json("-z", "-f", *options, "--fill", "-9999", name)
            self.assertEqual(f"{told['absolute_bound']:.3g}", f"{span_without * part:.3g}")

    def test_an_absolute_bound_does_not_keep_it(self):
        name = self.raw(self.ocean(-9999))
        self.warned(["-m", "abs", "-e", "0.01"], name,
                    self.sentence(28, "-9999", "otherwise it may not be restored exactly"))

    def test_an_absolute_bound_that_is_finer_than_its_spacing_keeps_it(self):
        self.warned(["-m", "abs", "-e", "1e-4"], self.raw(self.ocean(-9999)))

    def test_an_absolute_bound_does_not_keep_zero(self):
        values = self.ocean(0.)
        values[values != 0] += 100
        name = self.raw(values)
        options = ["-m", "abs", "-e", "0.01", "--predictor", "interpolation"]
        self.warned(options, name,
                    self.sentence(28, "0", "otherwise it may not be restored exactly"))
        for fill, is_kept in (([], False), (["--fill", "0"], True)):
            self.succeed("-z", "-q", "-f", *options, *fill, name)
            self.succeed("-x", "-q", "-f", "-o", "back.f32", name + ".szg")
            back = np.frombuffer(self.read("back.f32"), "<f4").reshape(values.shape)
            self.assertEqual((back[values == 0] == 0).all(), is_kept)

    def test_values_and_shares_of_any_kind(self):
        for fill, text, dtype, share in (
                (-9999.9, "-9999.9", "<f4", 0.3), (32767, "32767", "<f4", 0.3),
                (1e10, "1e+10", "<f8", 0.9), (-99.99, "-99.99", "<f8", 0.3),
                (-3.3e38, "-3.3e+38", "<f4", 0.3), (-9999, "-9999", "<f4", 0.006)):
            with self.subTest(fill=fill, share=share):
                values = self.ocean(np.dtype(dtype).type(fill), dtype, share=share)
                name = self.raw(values)
                result = self.succeed("-z", "-f", "-e", "1e-3", name)
                self.assertRegex(result.err, rf"^szgpu: {name}: warning: ")
                self.assertIn(f"add --fill {text}: ", result.err)
                found = float(result.err.split(" %")[0].split()[-1])
                self.assertAlmostEqual(found, 100 * (values == values.flat[0]).mean(), delta=0.5)
                self.assertEqual(self.succeed("-z", "-f", "-e", "1e-3", "--fill", text, name).err,
                                 "")

    def test_small_fields(self):
        values = wave(4, 5)
        values[0, :3] = -9999
        self.assertIn("15 % of its values are -9999", self.succeed(
            "-z", "-e", "1e-3", self.raw(values)).err)
        values[0, :1] = 0
        self.warned(["-e", "1e-3"], self.raw(values))  # two values may be anything

    def test_what_is_no_fill(self):
        generator = np.random.default_rng(1)
        shape = (30, 40, 50)
        rain = np.where(generator.random(shape) < 0.9, 0, generator.exponential(3, shape))
        classes = generator.integers(0, 20, shape)
        clipped = np.minimum(wave(*shape), 0.5)
        spike = wave(*shape)
        spike[3, 4, 5] = 1e6
        rare = wave(*shape)
        rare[0, 0, :20] = -9999  # 0.03 %: too few to be sure
        two_ends = np.where(generator.random(shape) < 0.5, wave(*shape), 1000 - wave(*shape))
        for field in (rain, classes, clipped, spike, rare, two_ends, rain > 0, wave(*shape) * 0):
            self.warned(["-e", "1e-3"], self.raw(np.ascontiguousarray(field, "<f4"), "a_30x40x50.f32"))

    def test_a_fill_value_that_is_known(self):
        name = self.raw(self.ocean(np.float32(1e20)))
        self.warned(["-e", "1e-3"], name)  # the library knows it
        name = self.raw(self.ocean(-9999))
        self.warned(["-e", "1e-3", "--fill", "-9999"], name)
        self.warned(["-m", "lossless"], name)

    def test_nan_beside_it(self):
        values = self.ocean(-9999)
        values[:, -1, -1] = np.nan
        name = self.raw(values)
        self.assertIn("add --fill -9999: the bound is then 0.00", self.succeed(
            "-z", "-e", "1e-3", name).err)

    def test_one_patch_of_it_in_a_large_field(self):
        values = wave(256, 64, 64)
        values[100:103] = -9999
        self.assertIn("1.2 % of its values are -9999, ", self.succeed(
            "-z", "-e", "1e-3", self.raw(values)).err)

    def test_columns_of_it(self):
        values = wave(1024, 1024)
        for column in (0, 511, 1016):
            with self.subTest(column):
                values = wave(1024, 1024)
                values[:, column:column + 8] = -9999
                self.assertIn("of its values are -9999, ", self.succeed(
                    "-z", "-f", "-e", "1e-3", self.raw(values)).err)


class Type(WarningTest):
    def test_a_type_other_than_the_names(self):
        name = self.field("a_10x20.f32")
        self.warned(["-m", "lossless", "-t", "f64", "-d", "10x10"], name,
                    "is named like a file of f32 values, but -t says f64; leave -t out unless "
                    "that is intended")
        name = self.field("a_10x20.d64", dtype="<f8")
        self.warned(["-e", "1e-3", "-t", "f32", "-d", "20x20"], name,
                    "is named like a file of f64 values, but -t says f32; leave -t out unless "
                    "that is "
                    "intended")

    def test_the_names_type_bytes_and_containers(self):
        name = self.field("a_10x20.f32")
        self.warned(["-e", "1e-3", "-t", "f32"], name)
        self.warned(["-m", "lossless", "-t", "u8"], name)
        self.write("model.safetensors", bytes(800))
        self.warned(["-m", "lossless", "-t", "bf16"], "model.safetensors")

    def test_a_npy_header_among_the_values(self):
        np.save(self.path("a.npy"), wave(10, 20))
        os.rename(self.path("a.npy"), self.path("a.dat"))
        header = "begins like a .npy file, but -t f32 treats its header as values; leave -t out"
        self.warned(["-e", "1e-3", "-t", "f32", "-d", "29x8"], "a.dat", header)
        self.warned(["-m", "lossless", "-t", "f32"], "a.dat", header)
        self.warned(["-e", "1e-3"], "a.dat")
        self.warned(["-m", "lossless", "-t", "u8"], "a.dat")


class Dims(WarningTest):
    def test_other_dims_than_the_names(self):
        name = self.field("a_4x5x10.f32", (4, 5, 10))
        for dims in ("10x5x4", "4x50", "5x4x10", "200", "4x5x5x2"):
            with self.subTest(dims):
                self.warned(["-e", "1e-3", "-d", dims], name,
                            OTHER_DIMS.format("4x5x10", "name", dims))

    def test_the_same_dims(self):
        name = self.field("a_4x5x10.f32", (4, 5, 10))
        for dims in ("4x5x10", "1x4x5x10", "4x5x10x1"):
            self.warned(["-e", "1e-3", "-d", dims], name)
        name = self.field("b_200.f32", (10, 20))  # the name says only how many there are
        self.warned(["-e", "1e-3", "-d", "10x20"], name)

    def test_other_dims_than_the_headers(self):
        np.save(self.path("a.npy"), wave(4, 50))
        self.warned(["-e", "1e-3", "-d", "50x4"], "a.npy", OTHER_DIMS.format("4x50", "header", "50x4"))
        self.warned(["-e", "1e-3", "-d", "4x50"], "a.npy")
        np.save(self.path("f.npy"), np.asfortranarray(wave(4, 50)))
        self.warned(["-e", "1e-3", "-d", "50x4"], "f.npy", OTHER_DIMS.format("4x50", "header", "50x4"))
        self.warned(["-e", "1e-3", "-d", "4x50"], "f.npy")
        np.save(self.path("flat.npy"), wave(200))
        self.warned(["-e", "1e-3", "-d", "4x50"], "flat.npy")

    def test_other_dims_than_the_datasets(self):
        if "\nHDF5: yes\n" not in self.succeed("--version").out:
            self.skipTest("this build has no HDF5")
        code = ("import h5py, numpy as np\n"
                "with h5py.File('a.h5', 'w') as f: f['v'] = np.arange(200, dtype='f4').reshape(4, 50)")
        if subprocess.run([sys.executable, "-c", code], cwd=self.folder, stderr=subprocess.DEVNULL,
                          check=False).returncode != 0:
            self.skipTest("there is no h5py")
        sentence = OTHER_DIMS.format("4x50", "dataset", "50x4")
        result = self.succeed("-z", "-e", "1e-3", "-d", "50x4", "a.h5:v")
        self.assertEqual(result.err, f"szgpu: a.h5:v: warning: {sentence}\n")
        self.assertEqual(self.succeed("-z", "-f", "-e", "1e-3", "-d", "4x50", "a.h5:v").err, "")

    def test_no_dims(self):
        name = self.field("a.f32")
        self.warned(["-e", "1e-3"], name, ONE_ROW)
        self.warned(["-e", "1e-3", "-d", "200"], name)
        self.warned(["-m", "lossless"], name)


class Bound(WarningTest):
    def test_a_relative_bound_of_a_tenth_or_more(self):
        name = self.field()
        for bound in ("0.1", "2", "5000"):
            self.warned(["-e", bound], name, LOOSE.format(bound))
        self.warned(["-e", "0.0999"], name)

    def test_a_psnr_that_was_meant_as_a_fraction(self):
        name = self.field()
        self.warned(["-m", "psnr", "-e", "1e-3"], name, "-m psnr -e 0.001 asks for 0.001 dB, which "
                    "leaves little of the values; give a target in dB, such as 80")
        self.warned(["-m", "psnr", "-e", "25"], name)

    def test_an_absolute_bound_above_the_range(self):
        name = self.raw(wave(10, 20) * np.float32(1e-6))
        self.warned(["-m", "abs", "-e", "0.001"], name, "-m abs -e 0.001 is more than the range of "
                    "the values, 2e-06, so nothing of them is left; give a smaller bound")
        self.warned(["-m", "abs", "-e", "1e-6"], name)
        self.warned(["-m", "abs", "-e", "0.001"], self.raw(wave(10, 20) * 0, "zero_10x20.f32"))

    def test_arguments_of_the_filter(self):
        result = self.succeed("--h5-args", "-e", "2")
        self.assertEqual(result.err, f"szgpu: warning: {LOOSE.format(2)}\n")
        self.assertIn("h5repack", result.out)
        self.assert_refused(["--h5-args", "--strict", "-e", "2"], 1, LOOSE.format(2))
        self.assertEqual(self.succeed("--h5-args", "-e", "1e-3").err, "")


class Several(WarningTest):
    def test_all_are_told(self):
        values = wave(10, 20)
        values[:3] = -9999
        name = self.raw(values, "a_10x20.f32")
        result = self.succeed_json("-z", "-f", "-e", "0.5", "-d", "20x10", name)
        self.assertEqual(len(result["warnings"]), 3)

    def test_strict_keeps_an_older_archive_and_goes_on_with_other_files(self):
        good, bad = self.field("good_10x20.f32"), self.field("bad.f32")
        self.write("bad.f32.szg", b"older")
        result = self.run_szgpu("-z", "-f", "-q", "--strict", "-e", "1e-3", bad, good)
        self.assertEqual((result.code, result.err), (1, f"szgpu: bad.f32: {ONE_ROW}\n"))
        self.assertEqual(self.read("bad.f32.szg"), b"older")
        self.assertIn("good_10x20.f32.szg", os.listdir(self.folder))

    def test_strict_is_for_compressing(self):
        name = self.archive()
        self.assert_refused(["-x", "--strict", name], 1,
                            f"{name}: --strict cannot be used with -x; leave it out")

    def test_a_strict_failure_has_json(self):
        result = self.run_szgpu("-z", "--json", "--strict", "-e", "2", self.field())
        self.assertIn('"exit_code": 1', result.out)
        self.assertIn("add -m abs", result.out)
