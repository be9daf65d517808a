"""cases_pwrel.py - -m pwrel: a bound of each value, by the command.

SPDX-License-Identifier: BSD-3-Clause
"""
import numpy as np

from harness import CliTest


def ranging(*dims, dtype="<f4"):
    """Smooth values of both signs over ten orders of magnitude, and zeros, -0, NaN, infinities."""
    place = sum(np.indices(dims)) / 9
    field = (np.sin(place) * np.exp(12 * np.cos(place / 2))).astype(dtype)
    flat = field.reshape(-1)
    for at, value in ((3, 0), (4, -0.0), (50, np.nan), (51, np.inf), (52, -np.inf), (60, 1e-42)):
        flat[at::97] = value
    return field


class PwRel(CliTest):
    def check(self, original, restored, bound):
        """In extended precision, without the library."""
        bits = original.dtype.str.replace("f", "u")
        changed = original.view(bits) != restored.view(bits)
        x, r = original[changed].astype(np.longdouble), restored[changed].astype(np.longdouble)
        self.assertTrue((np.abs(x - r) <= np.longdouble(bound) * np.abs(x)).all())
        self.assertTrue((x * r > 0).all())
        self.assertTrue((np.abs(x) >= np.finfo(original.dtype).tiny).all())

    def test_fields_keep_the_bound_in_all_ways(self):
        for dtype, name in (("<f4", "a_20x30x40.f32"), ("<f8", "a_20x30x40.f64")):
            field = ranging(20, 30, 40, dtype=dtype)
            self.write(name, field.tobytes())
            for options in ([], ["--layout", "linear"], ["--zstd", "--frame", "16"],
                            ["--predictor", "lorenzo", "--fill", "-9999"]):
                for bound in ("0.05", "1e-4", "1e-6"):
                    told = self.succeed_json("-z", "-f", "-V", "-m", "pwrel", "-e", bound, *options,
                                             name)
                    self.assertEqual((told["mode"], told["values_over_bound"]), ("pwrel", 0))
                    self.assertLessEqual(told["max_relative_error"], float(bound))
                    self.succeed("-x", "-f", "-o", "out", name + ".szg")
                    restored = np.frombuffer(self.read("out"), dtype).reshape(field.shape)
                    self.check(field, restored, float(bound))
                    self.succeed("--test", name + ".szg")
                    self.succeed("-x", "-f", "-o", "box", "--region", "2:9,5:,:31", name + ".szg")
                    self.assertEqual(self.read("box"), restored[2:9, 5:, :31].tobytes())

    def test_frame_by_frame_the_bytes_are_the_same(self):
        name = self.write("a_64x50x60.f32", ranging(64, 50, 60).tobytes())
        options = ["-m", "pwrel", "-e", "1e-3", "--frame", "16", name]
        self.succeed("-z", "-o", "whole.szg", *options)
        self.succeed("-z", "-o", "parts.szg", "--memory", "64M", *options)
        self.assertEqual(self.read("whole.szg"), self.read("parts.szg"))
        self.succeed("-x", "-o", "whole", "whole.szg")
        self.succeed("-x", "-o", "parts", "--memory", "64M", "whole.szg")
        self.assertEqual(self.read("whole"), self.read("parts"))
        self.succeed("-z", "-q", "--append", "run.szgs", *options)
        self.succeed("-x", "-o", "step", "--step", "0", "run.szgs")
        self.assertEqual(self.read("step"), self.read("whole"))

    def test_a_comparison_finds_what_is_over_the_bound(self):
        field = ranging(20, 30)
        name = self.write("a_20x30.f32", field.tobytes())
        self.succeed("-z", "-m", "pwrel", "-e", "1e-2", name)
        for place, value in ((0, 1.02 * field.flat[0]), (3, -0.0), (7, -field.flat[7])):
            other = field.copy()
            other.flat[place] = value if value else np.float32(-0.0)
            self.write("other.f32", other.tobytes())
            result = self.run_szgpu("-x", "-f", "-o", "out", "--compare", "other.f32", name + ".szg")
            self.assertEqual(result.code, 4, result)
            self.assertIn("in 1 of 600 values", result.err)

    def test_listing_and_sweep_state_the_bound_of_each_value(self):
        name = self.write("a_20x30x40.f32", ranging(20, 30, 40).tobytes())
        self.succeed("-z", "-m", "pwrel", "-e", "1e-3", name)
        self.assertIn("bound    pwrel 0.001 of each value, step", self.succeed("-l", name + ".szg").out)
        lines = self.succeed("--sweep", "1e-2,1e-3", "-m", "pwrel", name).out.splitlines()
        self.assertEqual([line.split()[:2] for line in lines[2:]],
                         [["0.01", "0.01"], ["0.001", "0.001"]])

    def test_what_the_mode_does_not_have_is_refused(self):
        name = self.write("a_20x30x40.f32", ranging(20, 30, 40).tobytes())
        for sentence, *options in (
                ("a bound relative to each value of 1 is not below 1", "-e", "1"),
                ("leave -m pwrel out", "--target-ratio", "9"),
                ("--greatest is for absolute bounds", "-e", "1e-3", "--greatest", "4"),
                ("which is for f32 and f64", "-e", "1e-3", "-t", "i16"),
                ("-m pwrel -e 0.5 lets each value be off by 0.5 times itself", "-e", "0.5",
                 "--strict")):
            result = self.run_szgpu("-z", "-m", "pwrel", *options, name)
            self.assertEqual(result.code, 1, result)
            self.assertIn(sentence, result.err)
