#!/usr/bin/env python3
"""test_compare.py - bench/compare.py on the sample, with szgpu's command and peers made for this.

SPDX-License-Identifier: BSD-3-Clause

usage: test_compare.py SZGPU
"""
import importlib.util
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPT = os.path.join(ROOT, "bench", "compare.py")
sys.path.insert(0, os.path.join(ROOT, "bench"))
from comparison import deviation, fields  # noqa: E402, after the path

PICTURES = ("comparison_ratio.png", "comparison_rate_distortion.png", "comparison_speed.png")
szgpu = None  # the path of the command, set at the end

# Programs that peers are made of: python(PROGRAM, places).
COPY = "import shutil, sys; shutil.copy(*sys.argv[1:3])"
COPY_TIMED = COPY + "; print({}, file=open(sys.argv[3], 'w'))"
BREAK = ("import sys, numpy as np; values = np.fromfile(sys.argv[1], 'f4'); "
         "values[7] += 2 * float(sys.argv[3]); values.tofile(sys.argv[2])")
MAKE_EMPTY = "import sys; open(sys.argv[2], 'w').close()"

# A zfpy that keeps every bit, and of which no metadata are found.
NO_METADATA = """\
import importlib.metadata
import pickle
def version(name):
    raise importlib.metadata.PackageNotFoundError(name)
importlib.metadata.version = version
def compress_numpy(values, **how):
    return pickle.dumps(values)
decompress_numpy = pickle.loads
"""


def python(program, *places):
    """The words of a template for a program in Python, whose braces are no places."""
    return " ".join([shlex.join([sys.executable, "-c", program]), *places])


PACK = python(COPY, "{input} {archive}")
BACK = python(COPY, "{archive} {output}")
COPIER = (python(COPY_TIMED.format(0.5), "{input} {archive} {seconds}") + " ; "
          + python(COPY_TIMED.format(0.25), "{archive} {output} {seconds}"))


class CompareTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="szgpu-compare-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def small(self, name="small", values=None):
        values = np.sin(np.arange(600) * 0.05).reshape(20, 30) if values is None else values
        path = self.path(f"{name}_{'x'.join(map(str, values.shape))}.f32")
        values.astype("<f4").tofile(path)
        return path

    def run_script(self, *words, code=0, environment=None):
        command = [sys.executable, SCRIPT, "--out", self.folder, "--repeats", "1", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def json(self):
        with open(self.path("comparison.json"), encoding="utf-8") as file:
            return json.load(file)

    def cells(self, peer):
        return [cell for cell in self.json()["cells"] if cell["peer"] == peer]

    def refused(self, sentence, *words):
        self.assertIn(f"compare.py: {sentence}", self.run_script(*words, code=2).stderr)

    def test_compares_the_sample_with_all_that_is_there(self):
        command = shlex.quote(szgpu)
        twin = (f"twin={command} -z -q -m abs -e {{bound}} -o {{archive}} {{input}} ; "
                f"{command} -x -q -o {{output}} {{archive}}")
        done = self.run_script("--szgpu", szgpu, "--bounds", "1e-2,1e-3", "--peer", twin)
        for peer in ("szgpu", "szgpu lorenzo", "twin"):
            self.assertEqual([cell["bound"] for cell in self.cells(peer)], ["1e-2", "1e-3"])
            for cell in self.cells(peer):
                self.assertTrue(cell["bound_kept"])
                self.assertTrue(0.5 < cell["max_error_over_bound"] <= 1)
                self.assertGreater(cell["ratio"], 5)
        self.assertEqual([cell["bytes"] for cell in self.cells("twin")],
                         [cell["bytes"] for cell in self.cells("szgpu")])
        for peer in ("szgpu lossless", "zlib"):
            cell, = self.cells(peer)
            self.assertEqual((cell["bound"], cell["bound_kept"], cell["psnr_db"]),
                             ("lossless", True, None))
        page = done.stdout
        with open(self.path("comparison.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), page)
        self.assertIn("\n## Ratio\n", page)
        self.assertIn("\n| navywind_u_36x73x144.f32 | 1e-3 | ", page)
        self.assertIn("twin (whole process, with files)", page)
        named = {peer["name"] for peer in self.json()["peers"] + self.json()["missing"]}
        self.assertLessEqual({"SZ3", "zfp", "SPERR in HDF5", "blosc2 zstd", "zstd", "lz4"}, named)
        for missing in self.json()["missing"]:
            self.assertIn(f"- {missing['name']}: {missing['why']}", page)

    def test_draws_pictures_or_says_why_not(self):
        page = self.run_script("--szgpu", szgpu, self.small(), "--only", "szgpu,zlib").stdout
        if importlib.util.find_spec("matplotlib") is None:
            self.assertIn("There are no pictures: No module named 'matplotlib'", page)
            print("skipped: the pictures of compare.py: this python3 has no matplotlib")
            return
        for name in PICTURES:
            with open(self.path(name), "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
            self.assertIn(f"]({name})", page)

    def test_says_that_pictures_are_missing_without_matplotlib(self):
        os.mkdir(self.path("none"))
        with open(self.path("none/matplotlib.py"), "w", encoding="utf-8") as file:
            file.write("raise ImportError('there is none')\n")
        page = self.run_script(self.small(), "--only", "zlib",
                               environment={"PYTHONPATH": self.path("none")}).stdout
        self.assertIn("There are no pictures: there is none", page)
        self.assertNotIn("](comparison", page)

    def test_a_package_may_lack_metadata(self):
        """As Debian's zfpy does."""
        for name, version in (("with", "__version__ = '9.8'"), ("without", "")):
            os.mkdir(self.path(name))
            with open(self.path(f"{name}/zfpy.py"), "w", encoding="utf-8") as file:
                file.write(f"{NO_METADATA}\n{version}\n")
        for name, shown in (("with", "zfpy 9.8"), ("without", "zfpy of an unknown version")):
            page = self.run_script(self.small(), "--only", "zfp",
                                   environment={"PYTHONPATH": self.path(name)}).stdout
            self.assertIn(f"{shown}, numpy", page)

    def test_names_a_peer_that_breaks_the_bound(self):
        breaker = f"breaker={PACK} ; {python(BREAK, '{archive} {output} {bound}')}"
        page = self.run_script("--szgpu", szgpu, self.small(), "--bounds", "1e-3",
                               "--only", "szgpu,breaker", "--peer", breaker).stdout
        cell, = self.cells("breaker")
        self.assertFalse(cell["bound_kept"])
        self.assertAlmostEqual(cell["max_error_over_bound"], 2, places=3)
        self.assertIn("- breaker: small_20x30.f32, 1e-3 (2)", page)
        self.assertRegex(page, r"\| small_20x30.f32 \| 1e-3 \| .* \| 1.00\* \|\n")
        self.assertRegex(page, r"\| breaker † \| 1 \| .* \| 0 of 1 \|\n")

    def test_names_peers_that_fail_and_goes_on(self):
        fails = python("import sys; sys.exit('out of luck')", "{input} {archive}")
        peers = {"fails": f"{fails} ; {BACK}",
                 "absent": f"/no/such/command {{input}} {{archive}} ; {BACK}",
                 "lazy": f"{PACK} ; {python('pass', '{archive} {output}')}",
                 "short": f"{PACK} ; {python(MAKE_EMPTY, '{archive} {output}')}",
                 "slow": f"{PACK} ; {python('import time; time.sleep(60)', '{archive} {output}')}"}
        words = [f"--peer={name}={commands}" for name, commands in peers.items()]
        page = self.run_script("--szgpu", szgpu, self.small(), "--bounds", "1e-3",
                               "--only", ",".join(["szgpu", "zlib", *peers]),
                               "--timeout", "5", *words).stdout
        for name, why in (("fails", f"{sys.executable} ended with 1: out of luck"),
                          ("absent", "/no/such/command cannot be run: No such file or directory"),
                          ("lazy", "it made no output"),
                          ("short", "it restored 0 bytes, not 2400"),
                          ("slow", "it took more than 5 s")):
            self.assertIn(f"- {name}: small_20x30.f32, 1e-3 ({why})\n", page)
        self.assertTrue(self.cells("szgpu")[0]["bound_kept"])
        self.assertTrue(self.cells("zlib")[0]["bound_kept"])

    def test_takes_the_seconds_that_commands_write(self):
        self.run_script(self.small(), "--peer", f"copy={COPIER}", "--only", "copy",
                        "--bounds", "1")
        cell, = self.cells("copy")
        self.assertEqual((cell["compress_seconds"], cell["decompress_seconds"]), ([0.5], [0.25]))
        self.assertEqual(self.json()["peers"][0]["seconds"], "by its own clock")

    def test_ends_with_1_if_szgpu_itself_fails(self):
        done = self.run_script("--szgpu", "/no/such/szgpu", self.small(), "--bounds", "1",
                               "--only", "szgpu,zlib", code=1)
        self.assertIn("szgpu on small_20x30.f32 at 1: /no/such/szgpu cannot be run", done.stderr)

    def test_reads_npy_and_bounds_that_are_absolute(self):
        np.save(self.path("wave.npy"), np.sin(np.arange(900.0)).reshape(30, 30))
        self.run_script("--szgpu", szgpu, self.path("wave.npy"), "--mode", "abs",
                        "--bounds", "0.01", "--only", "szgpu")
        self.assertEqual([cell["absolute_bound"] for cell in self.cells("szgpu")], [0.01])
        self.assertEqual(self.cells("szgpu")[0]["field"], "wave_30x30.f64")

    def test_takes_bounds_of_each_value(self):
        values = np.exp(np.sin(np.arange(600) * 0.05) * 20).reshape(20, 30)
        values[3, :9] = 0.0
        values[0, 7] = 0.5  # so the breaker's error, two bounds, is four of this value's limits
        values[5:9] *= -1
        breaker = f"breaker={PACK} ; {python(BREAK, '{archive} {output} {bound}')}"
        page = self.run_script("--szgpu", szgpu, self.small(values=values), "--mode", "pwrel",
                               "--bounds", "1e-2,1e-3", "--peer", breaker).stdout
        for peer in ("szgpu", "szgpu lorenzo"):
            for cell in self.cells(peer):
                self.assertTrue(cell["bound_kept"])
                self.assertTrue(0.5 < cell["max_error_over_bound"] <= 1)
                self.assertIsNone(cell["absolute_bound"])
        for cell in self.cells("breaker"):
            self.assertFalse(cell["bound_kept"])
            self.assertAlmostEqual(cell["max_error_over_bound"], 4, places=3)
        self.assertIn("The bounds are pointwise relative.", page)
        named = {peer["name"] for peer in self.json()["peers"] + self.json()["missing"]}
        self.assertLessEqual({"SZ2 in HDF5", "fpzip, cut", "blosc2, cut", "zlib"}, named)
        self.assertFalse({"SZ3", "zfp"} & named)

    def test_takes_names_one_by_one_or_in_a_list(self):
        odd = f"odd, indeed={COPIER}"
        self.run_script(self.small(), "--bounds", "1", "--peer", odd, "--only", "odd, indeed",
                        "--only", "zlib,szgpu", "--szgpu", szgpu)
        self.assertEqual({peer["name"] for peer in self.json()["peers"]},
                         {"odd, indeed", "zlib", "szgpu"})

    def test_refuses_bad_arguments(self):
        self.refused("--peer 'x' has no name before a '='.", "--peer", "x")
        self.refused("--peer 'x=a' must have two commands with a ';' between them.",
                     "--peer", "x=a")
        self.refused("--peer 'x=a {what} ; b' has the unknown place {what};", "--peer",
                     "x=a {what} ; b")
        self.refused("--peer 'x=a {input} ; b {output}' does not say where {archive} goes.",
                     "--peer", "x=a {input} ; b {output}")
        self.refused("Two peers have the name 'zlib'.", "--peer", f"zlib={COPIER}")
        self.refused("--only 'gzip' is no peer; there are szgpu,", "--only", "gzip")
        self.refused("/no/such is no file.", "/no/such")
        self.refused(f"{self.folder} has no file like", self.folder)
        constant = self.small("constant", np.ones((4, 5)))
        self.refused("constant is constant, so a relative bound is 0", constant, "--only", "zlib")
        os.truncate(constant, 60)
        self.refused(f"{constant} has 60 bytes, but its name says 80.", constant)
        for words in (("--bounds", "0"), ("--bounds", "1,1.0"), ("--threads", "0"),
                      ("--clock", "cpu", "--threads", "2")):
            self.run_script(*words, code=2)


class DeviationTest(unittest.TestCase):
    def kept(self, values, restored, bound, dtype="f8"):
        values, restored = (np.array(a, dtype) for a in (values, restored))
        return deviation.largest_error(values, restored, bound)[1]

    def test_is_exact_where_the_difference_rounds_to_the_bound(self):
        # 1 + 2^-60 is over a bound of 1, though it is 1 in f64; 1 - 2^-60 is within.
        self.assertTrue(self.kept([1.0], [0.0], 1.0))
        self.assertFalse(self.kept([1.0], [-2.0**-60], 1.0))
        self.assertFalse(self.kept([-1.0], [2.0**-60], 1.0))
        self.assertTrue(self.kept([1.0], [2.0**-60], 1.0))
        self.assertFalse(self.kept([1.0], [-2.0**-60], 1.0, "f4"))

    def test_takes_nan_and_infinity_only_as_they_were(self):
        self.assertTrue(self.kept([math.nan, math.inf], [math.nan, math.inf], 1.0))
        self.assertFalse(self.kept([math.nan], [0.0], 1.0))
        self.assertFalse(self.kept([0.0], [math.nan], 1.0))
        self.assertFalse(self.kept([math.inf], [-math.inf], 1.0))

    def kept_of_each(self, values, restored, bound):
        values, restored = (np.array(a, "f8") for a in (values, restored))
        return deviation.largest_relative_error(values, restored, bound)

    def test_a_fraction_of_each_value_is_exact(self):
        self.assertEqual(self.kept_of_each([1.0, -8.0], [1.25, -6.0], 0.25), (1.0, True))
        # 3 * 0.1 is 2^-54 above 0.3 in f64, and 0.1 itself is above a tenth.
        self.assertTrue(self.kept_of_each([3.0], [3.3], 0.1)[1])
        self.assertFalse(self.kept_of_each([3.0], [np.nextafter(3.3, 4)], 0.1)[1])
        # The error is 2^-60 more than the limit, and both round to 0.5.
        self.assertFalse(self.kept_of_each([1.0], [0.5 - 2.0**-60], 0.5 - 2.0**-54)[1])
        self.assertFalse(self.kept_of_each([2.0**-1074], [2.0**-1073], 0.5)[1])
        self.assertTrue(self.kept_of_each([2.0**-1074], [2.0**-1073], 1.0)[1])

    def test_a_fraction_of_each_value_keeps_zeros_and_infinities(self):
        self.assertEqual(self.kept_of_each([0.0, math.nan, math.inf], [0.0, math.nan, math.inf],
                                           0.1), (0.0, True))
        self.assertEqual(self.kept_of_each([0.0], [1e-300], 0.1), (math.inf, False))
        self.assertEqual(self.kept_of_each([math.inf], [1e300], 0.1), (math.inf, False))
        self.assertEqual(self.kept_of_each([1.0], [math.nan], 0.1), (math.inf, False))

    def test_sees_one_bit_of_a_lossless_field(self):
        field = fields.Field("x", np.array([0.0, 1.0], "f4"))
        self.assertFalse(deviation.compare(field, np.array([-0.0, 1.0], "f4"), None).is_kept)
        self.assertTrue(deviation.compare(field, np.array([0.0, 1.0], "f4"), None).is_kept)

    def test_leaves_fill_out_of_the_range_and_the_psnr(self):
        field = fields.Field("x", np.array([0.0, 1.0, -1e34], "f4"))
        self.assertEqual(field.span, 1.0)
        found = deviation.compare(field, np.array([0.1, 1.1, 7.0], "f4"), 1.0)
        self.assertAlmostEqual(found.psnr, 20, places=4)
        self.assertFalse(found.is_kept)


if __name__ == "__main__":
    szgpu = os.path.abspath(sys.argv.pop(1))
    unittest.main()
