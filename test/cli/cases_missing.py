"""cases_missing.py - what attributes say is missing stays missing; packed values are told.

SPDX-License-Identifier: BSD-3-Clause

Values come back as netCDF's rules want them: those that _FillValue and missing_value name, and those
outside valid_min, valid_max and valid_range, bit for bit; no other one becomes one of these.
"""
import os
import re
import subprocess
import sys

import numpy as np

from cases_hdf5 import Hdf5Test
from harness import CliTest, wave

MAKE = """
import h5py, sys, numpy as np
sys.path.insert(0, sys.argv[1])
from cases_missing import DATASETS
with h5py.File('m.h5', 'w') as f:
    for name, (values, attributes, options) in DATASETS.items():
        d = f.create_dataset(name, data=values, **options)
        for key, value in attributes.items():
            d.attrs[key] = value
"""

MAKE_NETCDF = """
import netCDF4, sys, numpy as np
sys.path.insert(0, sys.argv[1])
from cases_missing import DATASETS
with netCDF4.Dataset('m.nc', 'w') as f:
    for name, (values, attributes, options) in DATASETS.items():
        if options or values.dtype.str[1:] == 'f2' or values.dtype.str[0] == '>':
            continue
        attributes = dict(attributes)
        for axis, size in enumerate(values.shape):
            f.createDimension(f'{name}{axis}', size)
        fill = attributes.pop('_FillValue', None)
        if fill is not None and (np.ndim(fill) or np.asarray(fill).dtype != values.dtype):
            continue
        v = f.createVariable(name, values.dtype, [f'{name}{a}' for a in range(values.ndim)],
                             fill_value=fill)
        for key, value in attributes.items():
            v.setncattr(key, value)
        v.set_auto_maskandscale(False)
        v[:] = values
"""


def holes(values, *fills):
    """A third of the values are missing, in stripes that cut the others."""
    values = values.copy()
    for k, fill in enumerate(fills):
        values[k::3 * len(fills)] = fill
    return values


def rain(dtype="f4"):
    return np.maximum(wave(60, 80, dtype="f8") * 20, 0).astype(dtype)


def packed(dtype="i2"):
    return np.rint(wave(60, 80, dtype="f8") * 3000).astype(dtype)


f4, f8, i2 = np.float32, np.float64, np.int16
DATASETS = {
    "one": (holes(wave(60, 80), -999), {"_FillValue": f4(-999)}, {}),
    "other": (holes(wave(60, 80), -999), {"missing_value": f4(-999)}, {}),
    "both": (holes(wave(60, 80), -999, -888), {"_FillValue": f4(-999), "missing_value": f4(-888)}, {}),
    "same": (holes(wave(60, 80), 1e20), {"_FillValue": f4(1e20), "missing_value": f4(1e20)}, {}),
    "list": (holes(wave(60, 80), 5, 6, 7),
             {"_FillValue": f4(5), "missing_value": np.array([6, 7], f4)}, {}),
    "near": (holes(wave(60, 80), 0.5, 0.25), {"missing_value": np.array([0.5, 0.25], f4)}, {}),
    "fills": (holes(wave(60, 80), 5, 6), {"_FillValue": np.array([5, 6], f4)}, {}),
    "wider": (holes(wave(60, 80), f4(1e20), f4(-9999.9)),
              {"_FillValue": f8(1e20), "missing_value": f8(-9999.9)}, {}),
    "narrower": (holes(wave(60, 80, dtype="f8"), f8(f4(-99.9)), -1e30),
                 {"_FillValue": f4(-99.9), "missing_value": f8(-1e30)}, {}),
    "integer": (holes(wave(60, 80), -999, -32768),
                {"_FillValue": np.int64(-999), "missing_value": i2(-32768)}, {}),
    "text": (holes(wave(60, 80), -999), {"missing_value": "-999.0"}, {}),
    "nan": (holes(wave(60, 80), np.nan, -999),
            {"_FillValue": f4(np.nan), "missing_value": f4(-999)}, {}),
    "unfit": (holes(packed(), -32767),
              {"_FillValue": i2(-32767), "missing_value": np.array([1e20, np.nan, 0.5, -40000])}, {}),
    "six": (holes(wave(60, 80), 5, 6, 7, 8),
            {"_FillValue": f4(5), "missing_value": np.array([1, 6, 2, 7, 3, 8, 4], f4) * [
                100, 1, 100, 1, 100, 1, 100]}, {}),
    "min": (holes(rain(), -1), {"valid_min": f4(0)}, {}),
    "max": (holes(rain(), 99), {"valid_max": f4(20)}, {}),
    "range": (holes(rain(), -5, 99), {"valid_range": np.array([0, 20], f4)}, {}),
    "all": (holes(rain(), -5, 99, 7, np.nan),
            {"_FillValue": f4(7), "missing_value": f4(-5), "valid_range": np.array([0, 20], f4),
             "valid_min": f4(0.125), "valid_max": f4(19)}, {}),
    "double_range": (holes(rain(), 21), {"valid_range": np.array([0, 20.0])}, {}),
    "integer_range": (holes(rain("f8"), 21, -1), {"valid_range": np.array([0, 20])}, {}),
    "packed": (holes(packed(), -32767), {"_FillValue": i2(-32767), "scale_factor": f8(0.01),
                                         "add_offset": f8(273.15)}, {}),
    "packed_range": (holes(packed(), -32767, 5000), {
        "_FillValue": i2(-32767), "valid_range": np.array([-3000, 3000], i2),
        "scale_factor": f4(0.01), "add_offset": f4(-40)}, {}),
    "unpacked_range": (holes(packed(), 3500), {
        "valid_range": np.array([-30, 30.0]), "scale_factor": f8(0.01)}, {}),
    "turned_range": (holes(packed(), 3500), {
        "valid_min": f8(-30), "valid_max": f8(30.0), "scale_factor": f8(-0.01)}, {}),
    "bytes": (holes(np.abs(packed() // 16).astype("u1"), 255, 254),
              {"_FillValue": np.uint8(255), "valid_max": np.uint8(253)}, {}),
    "signed": (holes(packed() // 30, -128, -127).astype("i1"),
               {"_FillValue": np.int8(-128), "missing_value": np.int8(-127)}, {}),
    "unsigned": (holes(np.abs(packed() * 20).astype("u2"), 65535, 65534).view("i2"),
                 {"_FillValue": i2(-1), "_Unsigned": "true", "valid_range": np.array([0, -6], i2)}, {}),
    "long": (holes(packed("i4") * 1000, -2**31, 2**31 - 1),
             {"_FillValue": np.int32(-2**31), "missing_value": np.int32(2**31 - 1)}, {}),
    "half": (holes(wave(60, 80, dtype="f2"), -999, 5),
             {"_FillValue": np.float16(-999), "missing_value": np.float16(5)}, {}),
    "swapped": (holes(wave(60, 80, dtype=">f4"), -999, -888),
                {"_FillValue": np.array(-999, ">f4"), "missing_value": np.array([-888], ">f8")}, {}),
    "filled": (holes(wave(60, 80), -999, -888, -777), {"missing_value": f4(-888)},
               {"fillvalue": -777.0, "chunks": (20, 80)}),
    "chunks": (holes(wave(60, 80), -999, -888), {"_FillValue": f4(-999), "missing_value": f4(-888)},
               {"chunks": (7, 33), "compression": 4, "shuffle": True}),
}


def numbers(attributes, key):
    value = attributes.get(key)
    if isinstance(value, str):
        return np.array([float(value)])
    return np.array([]) if value is None else np.atleast_1d(value).astype("f8")


def missing(values, attributes, options=()):
    """By each rule, apart from NaN: where the values are missing."""
    scale = attributes.get("scale_factor", 1)
    found = np.zeros((3, *values.shape), bool)
    wide = values.astype("f8")
    fills = [*numbers(attributes, "_FillValue"), *numbers(attributes, "missing_value")]
    if "fillvalue" in options:
        fills.append(options["fillvalue"])
    if attributes.get("_Unsigned") == "true":
        fills = [fill % 65536 for fill in fills]
    for fill in fills:
        with np.errstate(over="ignore"):
            as_type = np.float64(fill).astype(values.dtype) if values.dtype.kind == "f" else fill
        found[0] |= wide == as_type
    unpacked = wide
    limits = [numbers(attributes, key) for key in ("valid_min", "valid_max", "valid_range")]
    if values.dtype.kind in "iu" and any(np.asarray(attributes.get(key, 0)).dtype.kind == "f" for key
                                         in ("valid_min", "valid_max", "valid_range")):
        unpacked = wide * scale
    least = max([-np.inf, *limits[0], *limits[2][:1]])
    greatest = min([np.inf, *limits[1], *(limits[2][1:] % 65536 if "_Unsigned" in attributes
                                          else limits[2][1:])])
    found[1] = unpacked < least - 1e-9
    found[2] = unpacked > greatest + 1e-9
    return found


class MissingTest(Hdf5Test):
    def make_missing(self):
        self.make(MAKE, "h5py", "python3-h5py")

    def assert_right(self, name, original, restored, bound=None):
        _, attributes, options = DATASETS[name]
        if attributes.get("_Unsigned") == "true":
            original = original.view("u2")
        original = original.astype(original.dtype.newbyteorder("=")).ravel()
        restored = restored.ravel()
        before, after = (missing(each, attributes, options) for each in (original, restored))
        self.assertTrue(np.array_equal(before, after), name)
        exact = before.any(0) | np.isnan(original.astype("f8"))
        self.assertGreater(exact.sum(), 0, name)
        self.assertEqual(original[exact].tobytes(), restored[exact].tobytes(), name)
        if bound is not None:
            difference = np.abs(original[~exact].astype("f8") - restored[~exact].astype("f8"))
            self.assertLessEqual(difference.max(), bound, name)
            self.assertTrue(difference.max() > 0 or original.itemsize == 1, name)


class Attributes(MissingTest):
    OPTIONS = (["-e", "1e-2"], ["-m", "psnr", "-e", "50"], ["-e", "1e-2", "--layout", "linear"],
               ["-e", "1e-2", "--predictor", "interpolation", "--frame", "16"],
               ["-e", "1e-2", "--memory", "100M"])

    def assert_range(self, name, original, value_range):
        """It is that of what is not missing; nobody has named -999 in one of them."""
        _, attributes, options = DATASETS[name]
        if attributes.get("_Unsigned") == "true":
            original = original.view("u2")
        kept = original[~missing(original, attributes, options).any(0)].astype("f8")
        kept = kept[np.isfinite(kept) & ((name != "filled") | (kept != -999))]
        self.assertAlmostEqual(value_range, kept.max() - kept.min(), places=4)

    def check(self, file, name, original, ways=OPTIONS):
        for options in ways:
            with self.subTest(name, options=options):
                told = self.succeed_json("-zVf", *options, "-o", "a.szg", f"{file}:/{name}")
                self.assertEqual(told["values_over_bound"], 0)
                self.succeed("-x", "-q", "-f", "-o", "a.npy", "--compare", f"{file}:/{name}",
                             "a.szg")
                self.assert_right(name, original, np.load(self.path("a.npy")),
                                  told["absolute_bound"])
                self.assert_range(name, original, told["value_range"])

    def test_every_kind_in_hdf5(self):
        self.make_missing()
        for name, (values, _, _) in DATASETS.items():
            self.check("m.h5", name, values.ravel())

    def test_every_kind_in_netcdf(self):
        self.make(MAKE_NETCDF, "netCDF4", "python3-netcdf4")
        for name, (values, attributes, options) in DATASETS.items():
            fill = attributes.get("_FillValue", values.dtype.type(0))
            is_there = not options and np.asarray(fill).dtype == values.dtype and not np.ndim(
                fill) and values.dtype.str[0] != ">" and values.dtype.str[1:] != "f2"
            if is_there:
                self.check("m.nc", name, values.ravel(), [["-e", "1e-2"]])

    def test_absolute_bounds_and_what_is_near(self):
        """A fill value among the others, or next to the end of the valid ones."""
        self.make_missing()
        for name in ("near", "min", "max", "range", "all", "packed_range", "bytes", "list"):
            values = DATASETS[name][0]
            for bound in (0.3, 3) if values.dtype.kind == "f" else (2, 40):
                self.succeed("-zqfV", "-m", "abs", "-e", str(bound), "-o", "a.szg", f"m.h5:/{name}")
                self.succeed("-xqf", "-o", "a.npy", "a.szg")
                self.assert_right(name, values, np.load(self.path("a.npy")), bound)

    def test_bounds_of_each_value(self):
        self.make_missing()
        for name in ("one", "both", "list", "nan", "narrower"):
            self.succeed("-zqfV", "-m", "pwrel", "-e", "1e-2", "-o", "a.szg", f"m.h5:/{name}")
            self.succeed("-xqf", "-o", "a.npy", "a.szg")
            self.assert_right(name, DATASETS[name][0], np.load(self.path("a.npy")))
        self.assert_refused(["-z", "-m", "pwrel", "-e", "1e-2", "m.h5:/range"], 1, "m.h5:/range: has "
                            "valid values from 0 to 20 by its attributes, which -m pwrel cannot keep "
                            "to; use -m rel or -m abs")

    def test_steps_of_a_series(self):
        self.make_missing()
        names = ("both", "list", "range", "packed_range")
        self.succeed("-zq", "-e", "1e-2", "--append", "run.szgs",
                     *[f"m.h5:/{name}" for name in names])
        self.succeed("-xq", "run.szgs")
        for k, name in enumerate(names):
            self.assert_right(name, DATASETS[name][0], np.load(self.path(f"run-{k:04}.npy")))

    def test_losslessly_nothing_is_asked(self):
        self.make_missing()
        for name in ("six", "range", "unsigned"):
            self.succeed("-zqfV", "-m", "lossless", "-o", "a.szg", f"m.h5:/{name}")
            self.succeed("-xqf", "-o", "a.npy", "a.szg")
            self.assertEqual(np.load(self.path("a.npy")).tobytes(), DATASETS[name][0].tobytes())

    def test_what_is_said_of_them(self):
        self.make_missing()
        lines = self.succeed("-zv", "-e", "1e-2", "-o", "a.szg", "m.h5:/all").out
        self.assertIn(", fill 7 from _FillValue, fill -5 from missing_value, valid 0.125 to 19, ", lines)
        # 99 is far from all valid values.
        self.assertRegex(self.succeed("-l", "a.szg").out, r"\n  fill     7 \(0x40e00000\), -5 "
                         r"\(0xc0a00000\), 99 \(0x42c60000\)\n  limits   [0-9.]+ to [0-9.]+\n")
        told = self.succeed_json("-zf", "-e", "1e-2", "m.h5:/all")
        self.assertEqual((told["fill"], told["more_fills"], told["more_fill_bits"]),
                         (7, [-5, 99], ["0xc0a00000", "0x42c60000"]))
        self.assertEqual((told["fill_from"], told["fills_from"]),
                         ("_FillValue", ["_FillValue", "missing_value"]))
        self.assertEqual((told["valid_least"], told["valid_greatest"]), (0.125, 19))
        told = self.succeed_json("-l", "m_all.npy.szg")
        self.assertEqual((told["fill"], told["more_fills"], told["has_limits"]), (7, [-5, 99], True))
        self.assertGreaterEqual(told["least"], 0.125)
        self.assertLessEqual(told["greatest"], 19)


MAKE_FAULTS = """
import h5py, numpy as np
with h5py.File('f.h5', 'w') as f:
    values = np.arange(4000, dtype='f4').reshape(40, 100)
    for name, key, value in (('five', 'missing_value', np.arange(5, dtype='f4') * 100),
                             ('many', 'missing_value', np.arange(65, dtype='f4')),
                             ('turned', 'valid_range', np.array([5, 3], 'f4')),
                             ('apart', 'valid_range', np.array([0, 3], 'f4')),
                             ('record', 'missing_value', np.zeros((), 'f4,f4')),
                             ('words', 'missing_value', 'none'),
                             ('unset', 'missing_value', h5py.Empty('f4')),
                             ('three', 'valid_range', np.arange(3, dtype='f4'))):
        d = f.create_dataset(name, data=values)
        d.attrs[key] = value
    f['apart'].attrs['valid_min'] = np.float32(4)
    f['five'][0, :5] = np.arange(5) * 100
"""


class Refusals(Hdf5Test):
    def test_what_cannot_be_kept(self):
        self.make(MAKE_FAULTS, "h5py", "python3-h5py")
        none = "has no valid values, according to its valid_range, valid_min and valid_max; " \
               "correct these, or compress it losslessly"
        for name, sentence in (
                ("five", "has 5 kinds of missing values, and 4 can be kept; compress it losslessly, "
                 "or write some of them as another"),
                ("many", "has an attribute with more than 64 missing values; compress it "
                 "losslessly"), ("turned", none), ("apart", none)):
            for options in ([], ["--memory", "100M"]):
                self.assert_refused(["-z", "-e", "1e-2", *options, f"f.h5:/{name}"], 1,
                                    f"f.h5:/{name}: {sentence}")
            self.succeed("-zqf", "-m", "lossless", f"f.h5:/{name}")

    def test_attributes_without_numbers_say_nothing(self):
        self.make(MAKE_FAULTS, "h5py", "python3-h5py")
        for name in ("record", "words", "unset", "three"):
            told = self.succeed_json("-z", "-e", "1e-2", f"f.h5:/{name}")
            self.assertEqual((told["has_fill"], "valid_least" in told), (False, False))


class Option(CliTest):
    def test_several_values(self):
        values = holes(wave(60, 80), -999, -888, -777, 5)
        values.tofile(self.path("a_60x80.f32"))
        for given in (["--fill", "-999,-888,-777,5"],
                      ["--fill", "-999", "--fill", "-888", "--fill", "-777,5"],
                      ["--fill=-999,-888", "--fill=-777,5,-999,5"]):
            for options in (["-e", "1e-3"], ["-m", "abs", "-e", "9"], ["-m", "pwrel", "-e", "1e-2"],
                            ["-e", "1e-3", "--memory", "100M"], ["-m", "psnr", "-e", "60"]):
                told = self.succeed_json("-zVf", *options, *given, "a_60x80.f32")
                self.assertEqual((told["fill"], told["more_fills"]), (-999, [-888, -777, 5]))
                self.assertNotIn("fill_from", told)
                self.succeed("-xqf", "-o", "back", "a_60x80.f32.szg")
                restored = np.fromfile(self.path("back"), "<f4").reshape(60, 80)
                for fill in (-999, -888, -777, 5):
                    self.assertTrue(np.array_equal(values == fill, restored == fill), options)
        told = self.succeed_json("-zf", "-e", "1e-3", "--fill", "nan,-999", "a_60x80.f32")
        self.assertEqual((told["fill"], told["more_fills"]), (None, [-999]))

    def test_it_adds_to_what_attributes_name(self):
        Attributes.make_missing(self)
        told = self.succeed_json("-z", "-e", "1e-2", "--fill", "0.5", "m.h5:/both")
        self.assertEqual((told["fill"], told["more_fills"], told["fill_from"], told["fills_from"]),
                         (0.5, [-999, -888], "_FillValue",
                          ["--fill", "_FillValue", "missing_value"]))

    require_hdf5, make = Hdf5Test.require_hdf5, Hdf5Test.make

    def test_what_it_does_not_take(self):
        name = self.field()
        for wrong in ("none", "1,,2", "1,", ",1", "1 2", "1;2"):
            self.assert_refused(["-z", "-e", "1e-3", "--fill", wrong, name], 1, f"{name}: --fill "
                                f"{wrong} is not a number; give it as in --fill -9999 or --fill "
                                "nan,1e20")
        for given in (["--fill", "1,2,3,4,5"], ["--fill", "1,2,3", "--fill", "4,5"]):
            self.assert_refused(["-z", "-e", "1e-3", *given, name], 1, f"{name}: --fill takes up to "
                                "4 values; leave some out")
        self.assert_refused(["-z", "-e", "1e-3", "--fill", "1,300", "-t", "u8", "-d", "800", name],
                            1, f"{name}: holds u8 values, and --fill 300 does not fit u8; correct it")
        self.assert_refused(["-z", "-m", "abs", "-e", "1", "--greatest", "9", "--fill", "1,2", name],
                            1, f"{name}: has several missing values, which --greatest does not look "
                            "for; leave it out")

    def test_one_that_nobody_named_is_warned_of(self):
        """A second one was not, if the first was the farthest."""
        holes(wave(60, 80), -9999, -888).tofile(self.path("a_60x80.f32"))
        told = self.succeed_json("-z", "-e", "1e-3", "--fill", "-9999", "a_60x80.f32")
        self.assertIn("add --fill -888", told["warnings"][0])
        self.assertEqual(self.succeed_json("-zf", "-e", "1e-3", "--fill", "-9999,-888",
                                           "a_60x80.f32")["warnings"], [])


class Packed(MissingTest):
    NOTE = "szgpu: note: {}: its values are packed ({}): the bound of {} is {} unpacked\n"

    def test_scale_and_offset_are_told_with_the_bound(self):
        self.make_missing()
        for name, how, options, packed_bound, unpacked in (
                ("packed", "0.01 * stored + 273.15", ["-m", "abs", "-e", "50"], "50", "0.5"),
                ("packed_range", "0.01 * stored - 40", ["-m", "abs", "-e", "50"], "50", "0.5"),
                ("turned_range", "-0.01 * stored + 0", ["-m", "abs", "-e", "7"], "7", "0.07"),
                ("packed", "0.01 * stored + 273.15", ["-e", "1e-2"], "60.1", "0.601"),
                ("packed", "0.01 * stored + 273.15", ["-e", "1e-2", "--memory", "100M"], "60.1",
                 "0.601"),
                ("packed", "0.01 * stored + 273.15", ["-e", "1e-2", "-o", "-"], "60.1",
                 "0.601")):
            result = self.succeed("-z", "-f", *options, f"m.h5:/{name}", binary=True)
            self.assertTrue(result.err.startswith(self.NOTE.format(
                f"m.h5:/{name}", how, packed_bound, unpacked)), result.err)
        result = self.succeed("--sweep", "1e-2,1e-3", "m.h5:/packed")
        self.assertEqual(result.err, self.NOTE.format("m.h5:/packed", "0.01 * stored + 273.15", "60.1",
                                                      "0.601"))

    def test_json(self):
        self.make_missing()
        told = self.succeed_json("-z", "-m", "abs", "-e", "50", "m.h5:/packed")
        self.assertEqual((told["scale_factor"], told["add_offset"], told["unpacked_bound"]),
                         (0.01, 273.15, 0.5))
        told = self.succeed_json("-zf", "-m", "lossless", "m.h5:/packed")
        self.assertEqual((told["scale_factor"], "unpacked_bound" in told), (0.01, False))
        told = self.succeed_json("-zf", "-e", "1e-2", "m.h5:/one")
        self.assertFalse({"scale_factor", "unpacked_bound"} & set(told))

    def test_nothing_is_told_of_others(self):
        self.make_missing()
        for options in (["-q", "-e", "1e-2", "m.h5:/packed"], ["-e", "1e-2", "m.h5:/one"],
                        ["-m", "lossless", "m.h5:/packed"]):
            self.assertEqual(self.succeed("-zf", *options).err, "")
