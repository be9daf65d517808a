"""harness.py - what the tests of the HDF5 filter share: fields, cd_values, exact comparisons.

SPDX-License-Identifier: BSD-3-Clause

Nothing here comes from the library. The words of cd_values are put together from docs/hdf5.md; the
comparison is that of check_bound.py, in exact arithmetic.
"""
import importlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import check_bound  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
SAMPLE = os.path.join(ROOT, "datasets", "sample", "navywind_u_36x73x144.f32")
FIELDS = os.environ.get("SZGPU_FIELDS") or os.path.join(ROOT, "..", "shared", "datasets")
REAL_FILL = -1e34  # of the one real field that has fill values

plugin_folder = szgpu = venv_folder = damage = None  # set by test_hdf5.py, like
filter_id = 480
other_id, other_is_known = 0, False  # of a second plugin; whether the command knows its number

REL, ABS, PSNR, LOSSLESS, PWREL = range(5)
MODES = {REL: "rel", ABS: "abs", PSNR: "psnr", LOSSLESS: "lossless"}
LINEAR, LORENZO, INTERPOLATION, NAMED = 0x100, 0x200, 0x400, 0x800  # bits of the word for options;
# below them is the level of zstd
KEEP = 7 << 18  # what chunks keep besides the bound: bits of the word for the type


def words(value):
    """A double as the two words of cd_values, low one first."""
    return struct.unpack("<II", struct.pack("<d", value))


def user_words(mode, bound=0.0, options=None):
    """The words that a user passes, by docs/hdf5.md."""
    return (1, mode) + words(bound) + (() if options is None else (options,))


def stored_words(mode, bound, dtype, chunk, fill=None, options=0):
    """The words that the filter stores with a dataset, by docs/hdf5.md."""
    dims = tuple(n for n in chunk if n != 1) or (1,)
    kind = {"f4": 0, "f8": 1}[np.dtype(dtype).str[1:]]
    head = user_words(mode, bound, options)
    kind |= 0 if mode == LOSSLESS else KEEP
    return head + (kind | len(dims) << 8 | (fill is not None) << 16,) + words(fill or 0.0) + dims


def comma_separated(values):
    return ",".join(str(value) for value in values)


# ---- fields ----

def waves(shape, dtype="f4", seed=1):
    """Smooth values with a little noise and a range of about 4; no long runs of one value."""
    random = np.random.default_rng(seed)
    total = 1e-3 * random.standard_normal(shape)
    for axis, places in enumerate(np.ogrid[tuple(slice(0, n) for n in shape)]):
        total = total + np.sin(places * (0.07 + 0.05 * axis) + seed) / len(shape) * 2
    return total.astype(dtype)


def coast(shape):
    """The mask of missing values in a field: two fifths of it, along a slanted line."""
    places = np.indices(shape)
    return (places.sum(axis=0) * 7 + places[-1] * 5) % 61 < 25


def sample():
    """The real field that the repository contains."""
    return np.fromfile(SAMPLE, "<f4").reshape(36, 73, 144)


def real_fields():
    """Names and values of the real fields on this machine; the first is always there."""
    yield "sample", sample()
    if not os.path.isdir(FIELDS) or not shutil.which("zstd"):
        print(f"\nskipped: real fields but the sample, for there is no {FIELDS} or no zstd")
        return
    entries = sorted(os.listdir(FIELDS))
    for entry in entries:
        found = re.fullmatch(r"(.+)_(\d+(?:x\d+)*)\.(f32|f64)\.zst", entry)
        if found:
            command = ["zstd", "-dcq", os.path.join(FIELDS, entry)]
            raw = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            values = np.frombuffer(raw, check_bound.TYPES[found[3]])
            yield found[1], values.reshape([int(n) for n in found[2].split("x")])


def boxes(shape, chunk):
    """The slices of a dataset's chunks, cut off at its end."""
    for place in np.ndindex(*(-(-n // c) for n, c in zip(shape, chunk))):
        yield tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in zip(place, chunk, shape))


def padded(part, chunk, padding):
    """A chunk as the filter gets it, with padding beyond the dataset's edge."""
    whole = np.full(chunk, padding, part.dtype)
    whole[tuple(slice(0, n) for n in part.shape)] = part
    return whole


def same_bits(one, other):
    kind = "u%d" % one.dtype.itemsize
    return np.ascontiguousarray(one).view(kind) == np.ascontiguousarray(other).view(kind)


# ---- a test ----

def optional(name):
    """A module, or None if it is missing; Hdf5Test.modules then skips the tests that need it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class Hdf5Test(unittest.TestCase):
    modules = {"h5py": "python3-h5py"}  # that the class needs: Debian's packages of them

    def setUp(self):
        for name, package in self.modules.items():
            if optional(name) is None:
                self.skipTest(f"{sys.executable} has no {name} (Debian: {package})")
        self.folder = tempfile.mkdtemp(prefix="szgpu-hdf5-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def need(self, *tools):
        """Skips the test if a command is missing."""
        packages = {"h5repack": "hdf5-tools", "h5dump": "hdf5-tools", "h5ls": "hdf5-tools",
                    "h5diff": "hdf5-tools", "nccopy": "netcdf-bin", "ncdump": "netcdf-bin",
                    "ncgen": "netcdf-bin", "ncks": "nco", "ncra": "nco", "ncrcat": "nco",
                    "octave-cli": "octave"}
        if "h5repack" in tools and "asan" in os.environ.get("LD_PRELOAD", ""):
            self.skipTest("Debian's h5repack stands still under AddressSanitizer, plugin or not")
        for tool in tools:
            if not shutil.which(tool):
                self.skipTest(f"there is no {tool} (Debian: {packages.get(tool, tool)})")

    def run_tool(self, *command, code=0):
        """Runs a command, which must end with this exit code. Returns stdout, and stderr if code is
        not 0."""
        done = subprocess.run([str(part) for part in command], cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        out, err = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
        said = f"{' '.join(map(str, command))}: exit code {done.returncode}\n{out}{err}"
        if code == 0:
            self.assertEqual(done.returncode, 0, said)
            return out
        self.assertEqual(done.returncode, code, said)
        return out + err

    def assert_same_bits(self, original, restored, where=""):
        self.assertEqual((original.shape, original.dtype), (restored.shape, restored.dtype), where)
        self.assertEqual(int((~same_bits(original, restored)).sum()), 0, where)

    def assert_within(self, original, restored, bound, where=""):
        """Every value is bit-identical or, in exact arithmetic, within the bound. Returns how many
        are not bit-identical."""
        self.assertEqual((original.shape, original.dtype), (restored.shape, restored.dtype), where)
        differ = np.flatnonzero(~same_bits(original, restored))
        x, y = (a.ravel()[differ].astype(np.longdouble) for a in (original, restored))
        with np.errstate(invalid="ignore"):  # NaN
            bad = differ[check_bound.over(x, y, x - y, Fraction(bound))]
        if bad.size:
            first = (original.ravel()[bad[0]], restored.ravel()[bad[0]])
            self.fail(f"{where} {bad.size} values over {float(bound)!r}, the first at {bad[0]}: "
                      f"{first[0]!r} came back as {first[1]!r}")
        return differ.size

    def assert_lossy(self, original, restored, bound, where=""):
        """The same, and some value changed: a filter that does nothing does not pass."""
        self.assertGreater(self.assert_within(original, restored, bound, where), 0, where)

    def assert_modes_bound(self, original, restored, mode, bound, chunk, fill=None, padding=0):
        """Checks each chunk against its bound; REL and PSNR derive it from the chunk's range, and
        PWREL from each value."""
        if mode == PWREL:
            x, r = (array.astype(np.longdouble) for array in (original, restored))
            with np.errstate(invalid="ignore"):
                is_within = np.abs(x - r) <= np.longdouble(bound) * np.abs(x)
            self.assertTrue((is_within | same_bits(original, restored)).all(), f"pwrel {bound!r}")
            return
        for box in boxes(original.shape, chunk):
            part = np.ascontiguousarray(original[box])
            back = np.ascontiguousarray(restored[box])
            span = check_bound.exact_range(padded(part, chunk, padding), fill)
            asked = check_bound.asked_bound(MODES[mode], repr(bound), span)
            self.assert_within(part, back, asked, f"{MODES[mode]} {bound!r} at {box}:")
