"""cases_sweep.py - --sweep tells what bounds give, --target-ratio finds a bound for a ratio.

SPDX-License-Identifier: BSD-3-Clause
"""
import itertools
import json
import os

import numpy as np

from harness import CliTest, wave


def rough(*dims, dtype="<f4"):
    """A smooth field with noise: its ratio grows with the bound, without jumps."""
    noise = np.random.default_rng(1).normal(size=dims) * 0.01
    return (np.cumsum(np.ones(dims), axis=0) * 0.1 + wave(*dims, dtype="<f8") + noise).astype(dtype)


class Sweep(CliTest):
    def rough_field(self, name="a_40x50x60.f32"):
        return self.write(name, rough(40, 50, 60).tobytes())

    def test_each_bound_gives_what_compressing_does(self):
        name = self.rough_field()
        for options in ([], ["-m", "abs", "--zstd"], ["-m", "abs", "--predictor", "lorenzo"],
                        ["-m", "abs", "--greatest", "40"],
                        ["--layout", "linear", "--frame", "7", "--fill", "3"]):
            swept = self.succeed_json("--sweep", "1e-1,1e-2,1e-3", *options, name)
            self.assertEqual((swept["command"], swept["dims"], len(swept["bounds"])),
                             ("sweep", [40, 50, 60], 3))
            for outcome in swept["bounds"]:
                told = self.succeed_json("-z", "-f", "-V", "-e", str(outcome["bound"]), *options, name)
                for member in ("bound", "absolute_bound", "archive_bytes", "ratio", "psnr",
                               "max_error", "max_error_over_bound", "values_over_bound"):
                    self.assertEqual(outcome[member], told[member], member)
                self.assertGreater(min(outcome["seconds"], outcome["gb_per_s"],
                                       outcome["restore_seconds"], outcome["restore_gb_per_s"]), 0)

    def test_the_table(self):
        name = self.rough_field()
        before = self.snapshot()
        lines = self.succeed("--sweep", "0.05,1e-3", "-m", "abs", name).out.splitlines()
        self.assertEqual(self.snapshot(), before)
        self.assertEqual(lines[0], f"{name}: f32 40x50x60, 480.00 kB, -m abs")
        self.assertEqual(lines[1].split(), "-e bound ratio PSNR, dB error/bound -z, GB/s -x, "
                         "GB/s".split())
        told = self.succeed_json("--sweep", "0.05,1e-3", "-m", "abs", name)["bounds"]
        self.assertEqual([line.split()[:5] for line in lines[2:]], [
            [f"{row['bound']:g}", f"{row['absolute_bound']:.3g}", f"{row['ratio']:.2f}",
             f"{row['psnr']:.1f}", f"{row['max_error_over_bound']:.3f}"] for row in told])
        self.assertEqual(len({len(line) for line in lines[1:]}), 1)
        self.assertEqual(self.succeed("-q", "--sweep", "1e-3", name).out, "")

    def test_several_fields_and_standard_input(self):
        a, b = self.rough_field("a_40x50x60.f32"), self.field("b_10x20.f32")
        out = self.succeed("--sweep", "1e-3", a, b).out
        self.assertEqual([line.split(":")[0] for line in out.splitlines() if ":" in line], [a, b])
        out = self.succeed("--sweep", "1e-3", "-t", "f32", "-d", "10x20", "-", stdin=self.read(b)).out
        self.assertIn("standard input: f32 10x20", out)

    def test_fill_is_warned_of_once(self):
        values = rough(40, 50, 60)
        values[:10] = -9999
        name = self.write("a_40x50x60.f32", values.tobytes())
        result = self.succeed("--sweep", "1e-2,1e-3,0.5", name)
        self.assertEqual(result.err.count("add --fill -9999: the bound is then "), 1)
        self.assertEqual(result.err.count("\n"), 1)
        self.assertEqual(len(self.succeed_json("--sweep", "1e-2,1e-3", name)["warnings"]), 1)
        result = self.run_szgpu("--sweep", "1e-2", "--strict", name)
        self.assertEqual((result.code, result.out), (1, ""))

    def test_each_bound_over_the_range_is_warned_of(self):
        """Only the first bound was looked at."""
        name = self.field()
        over = "is more than the range of the values, 2, so nothing of them is left; give a smaller bound"
        for bounds, wrong in (("1e-3,5,0.1,7", (5, 7)), ("5,1e-3", (5,)), ("1e-3,1", ())):
            sentences = [f"-m abs -e {bound} {over}" for bound in wrong]
            result = self.succeed("--sweep", bounds, "-m", "abs", name)
            self.assertEqual(result.err.splitlines(),
                             [f"szgpu: {name}: warning: {sentence}" for sentence in sentences])
            found = self.succeed_json("--sweep", bounds, "-m", "abs", name)["warnings"]
            self.assertEqual(found, sentences)
            result = self.run_szgpu("--sweep", bounds, "-m", "abs", "--strict", name)
            self.assertEqual((result.code, result.out == ""), (bool(wrong), bool(wrong)))

    def test_fill_is_warned_of_at_the_first_bound_that_suffers(self):
        values = (rough(40, 50, 60) * 100).astype("i2")
        values[:10] = -9999
        name = self.write("a_40x50x60.i16", values.tobytes())
        result = self.succeed("--sweep", "0.1,2,3", "-m", "abs", name)
        self.assertEqual(result.err.count("add --fill -9999: otherwise"), 1)
        self.assertEqual(result.err.count("\n"), 1)

    def test_bounds_that_are_none(self):
        name = self.field()
        for text, word, what in (("", "", "number"), ("1e-3,", "", "number"), ("x", "x", "number"),
                                 ("1e-3,,1e-2", "", "number"), ("1e-3 1e-2", "1e-3 1e-2", "number"),
                                 ("1e-3,0", "0", "finite number above zero"),
                                 ("-1,1", "-1", "finite number above zero"),
                                 ("inf", "inf", "finite number above zero")):
            with self.subTest(text):
                self.assert_refused([f"--sweep={text}", name], 1,
                                    f"{name}: --sweep {word} is not a {what}; give bounds as in "
                                    "--sweep 1e-2,1e-3")
        self.succeed("--sweep", ",".join(["0.01"] * 32), name)
        self.assert_refused(["--sweep", ",".join(["0.01"] * 33), name], 1,
                            f"{name}: --sweep takes up to 32 bounds; leave some out")

    def test_options_of_others(self):
        name = self.field()
        for option in (["-e", "1"], ["-o", "x"], ["-f"], ["--slab", "0:1"], ["--target-ratio", "9"]):
            self.assert_refused(["--sweep", "1e-3", *option, name], 1,
                                f"{name}: {option[0]} cannot be used with --sweep; leave it out")
        self.assert_refused(["--sweep", "1e-3", "-z", name], 1,
                            f"{name}: --sweep and -z cannot be used together; give one of them")
        self.assert_refused(["--sweep", "1e-3", "-m", "lossless", name], 1,
                            f"{name}: --sweep cannot be used with -m lossless; leave one of them "
                            "out")
        self.assert_refused(["--sweep", "1e-3", "none.f32"], 2, "none.f32: cannot be read: "
                            "No such file or directory; check the name")


class Target(CliTest):
    def compressed(self, name, ratio, *options):
        """The archive has the ratio, and its bound is what -e makes the same archive of."""
        told = self.succeed_json("-z", "-f", "-V", "--target-ratio", str(ratio), *options, name)
        self.assertGreaterEqual(told["ratio"], ratio)
        self.assertEqual(told["target_ratio"], ratio)
        self.assertEqual(told["values_over_bound"], 0)
        self.assertEqual(told["bound"], float(f"{told['bound']:.2e}"))
        found = self.read(name + ".szg")
        self.succeed("-z", "-f", "-q", "-e", repr(told["bound"]), *options, name)
        self.assertEqual(self.read(name + ".szg"), found)
        return told

    def test_the_bound_is_the_tightest(self):
        name = self.write("a_40x50x60.f32", rough(40, 50, 60).tobytes())
        for options in ([], ["-m", "abs"], ["--predictor", "lorenzo", "--zstd"],
                        ["--layout", "linear"]):
            for ratio in (3, 8.5, 15):
                with self.subTest(options=options, ratio=ratio):
                    told = self.compressed(name, ratio, *options)
                    self.assertLessEqual(told["ratio"], 1.03 * ratio)
                    tighter = self.succeed_json("-z", "-f", "-e", repr(told["bound"] * 0.95),
                                                *options, name)
                    self.assertLess(tighter["ratio"], ratio)
                    self.assertLess(told["trials"], 15)

    def test_a_large_field_is_sampled_and_verified(self):
        values = rough(1024, 128, 70)
        values[:100] = 0  # what the sample does not have in the same share
        name = self.write("a_1024x128x70.f32", values.tobytes())
        for options in ([], ["-m", "abs"]):
            told = self.compressed(name, 10, *options)
            self.assertLessEqual(told["ratio"], 10.2)
            self.assertLessEqual(told["trials"], 7)

    def test_f64_and_fill(self):
        values = rough(40, 50, 60, dtype="<f8")
        values[:, :9] = -9999
        name = self.write("a_40x50x60.f64", values.tobytes())
        told = self.compressed(name, 12, "--fill", "-9999")
        self.assertLessEqual(told["ratio"], 12.4)
        self.assertLess(told["absolute_bound"], 1)

    def test_a_ratio_that_every_bound_gives(self):
        name = self.write("a_100x100.f32", bytes(40000))
        self.compressed(name, 5)
        self.compressed(name, 5, "-m", "abs")
        name = self.write("b_100x100.f32", np.repeat(wave(100, 1), 100, axis=1).tobytes())
        told = self.compressed(name, 1.5)
        self.assertEqual(told["bound"], 1e-9)

    def test_values_so_small_that_bounds_are_too_small_for_a_double(self):
        """Before, -m abs tried a bound of 0, which is none."""
        values = wave(60, 50, dtype="<f8")
        for dtype, exponents in (("<f8", (-300, -308, -310, -315, -320, -322)),
                                 ("<f4", (-36, -40, -44))):
            for exponent in exponents:
                small = (values / np.abs(values).max() * 10.0**exponent).astype(dtype)
                name = self.write(f"a_60x50.f{8 * np.dtype(dtype).itemsize}", small.tobytes())
                for options, ratio in itertools.product(([], ["-m", "abs"]), (1.2, 3, 9)):
                    with self.subTest(exponent=exponent, options=options, ratio=ratio):
                        result = self.run_szgpu("-z", "-f", "--target-ratio", str(ratio), *options,
                                                name)
                        if result.code:
                            self.assertIn("a ratio of ", result.err)
                            self.assertGreater(ratio, 1.3)
                        else:
                            self.compressed(name, ratio, *options)

    def test_a_ratio_that_no_bound_gives(self):
        name = self.write("a_40x50x60.f32", rough(40, 50, 60).tobytes())
        before = self.snapshot()
        result = self.run_szgpu("-z", "--target-ratio", "1e7", name)
        self.assertRegex(result.err, rf"^szgpu: {name}: reaches a ratio of [0-9.]+ at most, with a "
                         r"bound of half its range; give a lower --target-ratio\n$")
        self.assertEqual((result.code, result.out), (1, ""))
        self.assertEqual(self.snapshot(), before)

    def test_a_bound_that_is_loose_is_warned_of(self):
        name = self.write("a_40x50x60.f32", rough(40, 50, 60).tobytes())
        most = self.succeed_json("--sweep", "0.05,0.3", name)["bounds"]
        ratio = str((most[0]["ratio"] + most[1]["ratio"]) / 2)
        result = self.succeed("-z", "--target-ratio", ratio, name)
        self.assertIn("lets values be off by 0.", result.err)
        os.remove(self.path(name + ".szg"))
        result = self.run_szgpu("-z", "--strict", "--target-ratio", ratio, name)
        self.assertEqual(result.code, 1)
        self.assertNotIn(name + ".szg", os.listdir(self.folder))

    def test_ratios_that_are_none(self):
        name = self.field()
        for text in ("1", "0", "-5", "x", "", "inf", "nan", "20:1"):
            with self.subTest(text):
                self.assert_refused(["-z", f"--target-ratio={text}", name], 1,
                                    f"{name}: --target-ratio {text} is not a number above one; "
                                    "give the ratio as in --target-ratio 20")

    def test_what_it_does_not_go_with(self):
        name = self.field()
        self.assert_refused(["-z", "--target-ratio", "5", "-e", "1", name], 1, f"{name}: -e cannot "
                            "be used with --target-ratio; leave one of them out")
        self.assert_refused(["-z", "--target-ratio", "5", "-m", "psnr", name], 1, f"{name}: "
                            "--target-ratio finds a bound for -m rel or -m abs; leave -m psnr out")
        self.assert_refused(["-z", "--target-ratio", "5", "-m", "lossless", name], 1, f"{name}: "
                            "--target-ratio cannot be used with -m lossless; leave one of them out")
        self.assert_refused(["-x", "--target-ratio", "5", name], 1, f"{name}: --target-ratio "
                            "cannot be used with -x; leave it out")

    def test_too_little_memory(self):
        name = self.write("a_1024x128x70.f32", rough(1024, 128, 70).tobytes())
        result = self.run_szgpu("-z", "--target-ratio", "5", "--memory-limit", "50M", name)
        self.assertEqual(result.code, 5)
        self.assertRegex(result.err, r"memory")
        result = self.run_szgpu("--json", "-z", "--target-ratio", "5", "--memory-limit", "50M", name)
        self.assertEqual(json.loads(result.out)["exit_code"], 5)
