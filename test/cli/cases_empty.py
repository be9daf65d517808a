"""cases_empty.py - empty files come back as empty files.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import stat

import numpy as np

from harness import CliTest

WARNING = "szgpu: {}: warning: is empty, and restored as such; check it, or leave it out\n"


class Empty(CliTest):
    def check(self, archive, *more):
        """Every way back gives an empty file."""
        for options in ([], ["--memory", "100M"], ["--decoder", "serial"], ["-j", "1"], *more):
            self.succeed("-x", "-f", *options, "-o", "back", archive)
            self.assertEqual(self.read("back"), b"")
        self.assertEqual(self.succeed("-x", "-o", "-", archive, binary=True).out, b"")
        self.assertEqual(self.succeed("--test", archive).out, f"{archive}: OK\n")

    def test_losslessly(self):
        for name in ("a", "a.bin", "a.f32", "a.npy", "a.h5", "x_10x20.f64", "a.safetensors"):
            self.write(name, b"")
            for options in ([], ["-V"], ["-V", "--zstd"], ["--memory", "100M", "-V"],
                            ["--layout", "linear"], ["--frame", "7"], ["-t", "u8"]):
                result = self.succeed("-z", "-f", "-m", "lossless", *options, name)
                self.assertEqual(result.err, "")
                self.check(name + ".szg", ["--compare", name])
            os.remove(self.path(name))
            self.succeed("-x", name + ".szg")
            self.assertEqual(self.read(name), b"")

    def test_with_a_bound(self):
        """Nothing is over it; but an empty field may be a mistake."""
        self.write("a.f32", b"")
        for options in (["-e", "1e-3"], ["-m", "abs", "-e", "1", "--fill", "-999"],
                        ["-e", "1e-3", "--predictor", "interpolation", "--zstd", "-V"],
                        ["-m", "pwrel", "-e", "1e-3"], ["-e", "1e-3", "--memory", "100M"],
                        ["-m", "abs", "-e", "1", "--greatest", "9"]):
            result = self.succeed("-z", "-f", *options, "a.f32")
            self.assertEqual(result.err, WARNING.format("a.f32"))
            self.check("a.f32.szg")

    def test_pipes(self):
        archive = self.succeed("-z", "-m", "lossless", "-", binary=True).out
        self.write("a", b"")
        self.succeed("-z", "-m", "lossless", "a")
        self.assertEqual(archive, self.read("a.szg"))
        self.assertEqual(self.succeed("-x", "-", stdin=archive, binary=True).out, b"")
        self.assertEqual(self.succeed("-z", "-m", "lossless", "--memory", "100M", "-",
                                      binary=True).out, archive)

    def test_what_is_said_of_it(self):
        self.write("a.f32", b"")
        self.assertRegex(self.succeed("-z", "-m", "lossless", "a.f32").out,
                         r"\Aa\.f32 -> a\.f32\.szg  ratio 0\.00  0 B -> \d+ B  lossless  0 GB/s\n\Z")
        self.assertRegex(self.succeed("-l", "a.f32.szg").out,
                         r"\Aa\.f32\.szg\n  field    none: an empty file\n  size     0 B -> \d+ B")
        self.assertRegex(self.succeed("-x", "-f", "a.f32.szg").out, r"  \d+ B -> 0 B  lossless  0 ")
        told = self.succeed_json("-l", "a.f32.szg")
        self.assertEqual((told["dims"], told["field_bytes"], told["ratio"]), ([0], 0, 0))
        self.assertEqual(self.succeed_json("-x", "-f", "a.f32.szg")["restored_bytes"], 0)
        self.assertEqual(self.succeed_json("-z", "-f", "-m", "lossless", "a.f32")["shape_from"],
                         "file")

    def test_steps_of_a_series(self):
        self.write("a.f32", b"")
        field = self.field()
        self.succeed("-zq", "-m", "lossless", "--append", "run.szgs", "a.f32", field)
        self.assertIn("step 0: u8 0  ratio 0.00  0 B -> ", self.succeed("-l", "run.szgs").out)
        self.succeed("--test", "run.szgs")
        self.succeed("-x", "run.szgs")
        self.assertEqual((self.read("run-0000.u8"), self.read("run-0001.f32")),
                         (b"", self.read(field)))

    def test_it_has_no_parts_and_no_other_original(self):
        self.write("a", b"")
        self.write("b", b"b")
        self.succeed("-zq", "-m", "lossless", "a", "b")
        for part in (["--slab", "0:1"], ["--region", "0"], ["--level", "0"]):
            self.assert_refused(["-x", "-o", "c", *part, "a.szg"], 1, "a.szg: holds an empty file, "
                                f"which has no parts; leave {part[0]} out")
        self.assert_refused(["-x", "-o", "c", "--compare", "b", "a.szg"], 1, "b: is not empty, but "
                            "what was compressed was; name the file that was compressed")
        self.assert_refused(["-x", "-o", "c", "--compare", "a", "b.szg"], 1, "a: has 0 bytes of u8 "
                            "values, but the archive holds 1 bytes of u8 values; name the file "
                            "that was compressed")

    def test_the_archive_takes_its_mode(self):
        """That of a copy of it, in a temporary file, was taken with --memory."""
        self.write("a", b"")
        os.chmod(self.path("a"), 0o644)
        for options in ([], ["--memory", "100M"]):
            self.succeed("-zfq", "-m", "lossless", *options, "a")
            self.assertEqual(stat.S_IMODE(os.stat(self.path("a.szg")).st_mode), 0o644)

    def test_other_files_without_values_are_refused(self):
        np.save(self.path("a.npy"), np.zeros((0, 3), "f4"))
        self.assert_refused(["-z", "-e", "1e-3", "a.npy"], 1,
                            "a.npy: has no values; there is nothing to compress")
        self.succeed("-zq", "-m", "lossless", "a.npy")  # as bytes
        self.succeed("-xq", "-o", "b.npy", "a.npy.szg")
        self.assertEqual(self.read("a.npy"), self.read("b.npy"))
        self.write("b.npy", b"")
        self.assert_refused(["-z", "-e", "1e-3", "b.npy"], 1, "b.npy: has no .npy header; rename it "
                            "and use -t if its values are raw")
