"""test_adios2.py - ADIOS2 of PyPI writes and reads through the operator: types, blocks, damage.

SPDX-License-Identifier: BSD-3-Clause

usage: test_adios2.py FOLDER [unittest's options]
FOLDER has the plugin. Bounds are checked in exact arithmetic. Exit code 77: there is no adios2.
"""
import contextlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock
from fractions import Fraction

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
if __name__ == "__main__":
    os.environ["ADIOS2_PLUGIN_PATH"] = os.path.abspath(sys.argv.pop(1))
try:
    import adios2
    import adios2.bindings as bindings
    import numpy as np
except ImportError as error:
    print(f"skipped: {sys.executable} has no ADIOS2 ({error}); pip install adios2")
    sys.exit(77)

PLUGIN = {"PluginName": "szgpu", "PluginLibrary": "adios2_szgpu"}
BOUNDED = ["f4", "f8", "i1", "u1", "i2", "u2", "i4"]
OTHERS = ["u4", "i8", "u8", "c8", "c16"]
SHAPES = [(1,), (4099,), (1, 1), (53, 61), (7, 30, 20), (3, 8, 10, 12), (2, 3, 4, 5, 6, 7)]
ENGINES = ["BP5", "BP4"]
MAGICS = (b"\x89SZG", b"\x89SZP")  # of archives, and of blocks that are stored as they are


def waves(shape, dtype="f4", seed=1):
    total = np.zeros(shape)
    for axis, places in enumerate(np.ogrid[tuple(slice(0, n) for n in shape)]):
        total = total + np.sin(places * (0.07 + 0.05 * axis) + seed)
    scale = {"f": 1, "c": 1}.get(np.dtype(dtype).kind, 20)
    return (total * scale + (0 if np.dtype(dtype).kind in "fci" else 60)).astype(dtype)


def noise(shape, dtype="f8", seed=1):
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.random.default_rng(seed).integers(0, 256, count, dtype="u1")
    return raw.view(dtype).reshape(shape)


class Adios2Test(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "file.bp")

    def write(self, arrays, engine="BP5", **parameters):
        """A file of one step. Returns what its data take."""
        adios = adios2.Adios()
        io = adios.declare_io("out")
        io.set_engine(engine)
        operator = adios.define_operator("small", "plugin", {**PLUGIN, **parameters})
        file = io.open(self.path, bindings.Mode.Write)
        file.begin_step()
        for name, array in arrays.items():
            shape = list(array.shape)
            variable = io.define_variable(name, array, shape, [0] * array.ndim, shape)
            variable.add_operation(operator)
            file.put(variable, array)  # an exception of Put leaves the step unusable
        file.end_step()
        file.close()
        return os.path.getsize(os.path.join(self.path, "data.0"))

    def read(self, name="v", **selection):
        with adios2.FileReader(self.path) as file:
            return file.read(name, **selection)

    def round_trip(self, array, engine="BP5", **parameters):
        self.data_bytes = self.write({"v": array}, engine, **parameters)
        back = np.zeros_like(array)
        adios = adios2.Adios()
        io = adios.declare_io("in")  # FileReader knows no complex numbers
        with contextlib.closing(io.open(self.path, bindings.Mode.ReadRandomAccess)) as file:
            variable = io.inquire_variable("v")
            self.assertEqual(list(variable.shape()), list(array.shape))
            file.get(variable, back, bindings.Mode.Sync)
        return back

    def assert_same(self, array, back):
        self.assertEqual(array.tobytes(), back.tobytes())

    def assert_bound(self, array, back, bound):
        """abs: each value is within the bound, or bit-identical."""
        bound = Fraction(bound)
        for value, restored in zip(array.ravel().tolist(), back.ravel().tolist()):
            if value != restored and not (value != value and restored != restored):
                self.assertLessEqual(abs(Fraction(value) - Fraction(restored)), bound)

    def refusal(self, array=None, **parameters):
        with self.assertRaises((ValueError, RuntimeError)) as caught:
            self.write({"v": waves((20, 30)) if array is None else array}, **parameters)
        return str(caught.exception)

    def run_python(self, text, code=0, **variables):
        environment = {**os.environ, **variables}
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], cwd=self.folder,
                              env={k: v for k, v in environment.items() if v is not None},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        said = done.stdout.decode(errors="replace")
        self.assertEqual(done.returncode, code, said)
        return said


class Values(Adios2Test):
    def test_types_with_a_bound_keep_it(self):
        for engine in ENGINES:
            for dtype in BOUNDED:
                bound = 0.01 if np.dtype(dtype).kind == "f" else 2
                for shape in SHAPES:
                    with self.subTest(engine=engine, dtype=dtype, shape=shape):
                        array = waves(shape, dtype)
                        back = self.round_trip(array, engine, mode="abs", bound=str(bound))
                        self.assert_bound(array, back, bound)
                        if array.size > 2000 and array.itemsize > 1 and engine == "BP5":
                            self.assertLess(self.data_bytes, array.nbytes * 0.7)
                            self.assertTrue((back != array).any(), "the bound was not used")

    def test_other_types_come_back_exactly(self):
        for engine in ENGINES:
            for dtype in OTHERS:
                for shape in SHAPES:
                    with self.subTest(engine=engine, dtype=dtype, shape=shape):
                        array = waves(shape, dtype)
                        self.assert_same(array, self.round_trip(array, engine, mode="abs",
                                                                bound="0.01"))
        array = np.arange(20000, dtype="u8")
        self.assert_same(array, self.round_trip(array, mode="rel", bound="1e-3"))
        self.assertLess(self.data_bytes, array.nbytes * 0.5)

    def test_lossless_keeps_every_bit(self):
        for dtype in BOUNDED + OTHERS:
            array = noise((40, 50), dtype)
            self.assert_same(array, self.round_trip(array, mode="lossless"))
        array = waves((60, 70))
        self.assert_same(array, self.round_trip(array, mode="lossless"))
        self.assertLess(self.data_bytes, array.nbytes)

    def test_blocks_that_do_not_shrink_take_little_more(self):
        for engine in ENGINES:
            for count in (1, 2, 7, 100, 5000):
                array = noise((count,))
                self.assert_same(array, self.round_trip(array, engine, mode="lossless"))
                self.assertLess(self.data_bytes, array.nbytes + (4096 if engine == "BP5" else 600))

    def test_modes(self):
        array = waves((30, 40, 20), "f8")
        span = Fraction(array.max()) - Fraction(array.min())
        back = self.round_trip(array, mode="rel", bound="1e-3")
        self.assert_bound(array, back, Fraction("1e-3") * span)
        back = self.round_trip(array, mode="pwrel", bound="1e-2")
        for value, restored in zip(array.ravel().tolist(), back.ravel().tolist()):
            self.assertLessEqual(abs(Fraction(value) - Fraction(restored)),
                                 Fraction("1e-2") * abs(Fraction(value)))
        back = self.round_trip(array, mode="psnr", bound="60")
        error = np.sqrt(np.mean((array - back) ** 2))
        self.assertGreater(20 * np.log10(float(span) / error), 55)
        self.assertLess(20 * np.log10(float(span) / error), 75)

    def test_settings_change_the_archive(self):
        array, seen = waves((64, 80), "f4"), set()
        for more in ({}, {"predictor": "lorenzo"}, {"predictor": "interpolation"},
                     {"layout": "linear"}, {"layout": "linear", "zstd": "3"}):
            back = self.round_trip(array, mode="abs", bound="0.001", **more)
            self.assert_bound(array, back, 0.001)
            with open(os.path.join(self.path, "data.0"), "rb") as file:
                seen.add(file.read())
        self.assertGreaterEqual(len(seen), 4)

    def test_threads_do_not_change_the_archive(self):
        array, seen = waves((300, 1000), "f4"), []
        for threads in "1", "4":
            self.write({"v": array}, mode="abs", bound="1e-3", threads=threads)
            with open(os.path.join(self.path, "data.0"), "rb") as file:
                seen.append(file.read())
        self.assertEqual(*seen)
        self.assertEqual(self.run_python(f"""
            import adios2
            with adios2.FileReader({self.path!r}) as file:
                print(file.read("v").shape)
            """, SZGPU_ADIOS2_THREADS="4"), "(300, 1000)\n")  # and the process ends


class Missing(Adios2Test):
    def test_missing_values_come_back_exactly(self):
        for fill in (np.nan, 1e20, -9999.0, np.inf):
            array = 10 * waves((50, 60))
            array[10:20, 5:50] = fill
            back = self.round_trip(array, mode="abs", bound="0.7")  # spacing at -9999: 0.001
            gaps = array == np.float32(fill) if fill == fill else np.isnan(array)
            self.assert_same(array[gaps], back[gaps])
            self.assert_bound(array[~gaps], back[~gaps], 0.7)

    def test_a_named_fill_value_is_kept(self):
        array = waves((50, 60), "f8")
        array[3, 4] = -7.25  # once, and not far away
        back = self.round_trip(array, mode="abs", bound="0.3", fill="nan,-7.25")
        self.assertEqual(back[3, 4], -7.25)
        self.assertEqual((back == -7.25).sum(), 1)

    def test_no_value_becomes_missing(self):
        array = waves((50, 60), "i4")
        for fill in range(-2, 3):  # means missing, and lies among the others
            back = self.round_trip(array, mode="abs", bound="2", fill=str(fill))
            self.assert_same(array == fill, back == fill)

    def test_the_range_is_kept(self):
        array = np.maximum(waves((80, 90)) - 0.5, 0).astype("f4")  # rain
        back = self.round_trip(array, mode="abs", bound="0.1")
        self.assertGreaterEqual(back.min(), 0)
        self.assertLessEqual(back.max(), array.max())


class Blocks(Adios2Test):
    STEPS, SHAPE, PARTS = 3, (24, 30, 20), ((0, 10), (10, 24))

    def write_series(self, engine):
        steps = [waves(self.SHAPE, "f8", seed) for seed in range(self.STEPS)]
        adios = adios2.Adios()
        io = adios.declare_io("out")
        io.set_engine(engine)
        variable = io.define_variable("v", steps[0], list(self.SHAPE), [0] * 3,
                                      list(self.SHAPE))
        local = io.define_variable("local", steps[0], [], [], [1, 1])
        operator = adios.define_operator("o", "plugin",
                                         {**PLUGIN, "mode": "abs", "bound": "0.01"})
        variable.add_operation(operator)
        local.add_operation(operator)
        with contextlib.closing(io.open(self.path, bindings.Mode.Write)) as file:
            for step in steps:
                file.begin_step()
                for low, high in self.PARTS:
                    for left, right in ((0, 1), (1, 30)):
                        variable.set_selection([[low, left, 0],
                                                [high - low, right - left, 20]])
                        file.put(variable, step[low:high, left:right].copy(),
                                 bindings.Mode.Sync)
                for count in (5, 0, 9):
                    local.set_selection([[], [count, 4]])
                    file.put(local, step[:count, :4, 0].copy(), bindings.Mode.Sync)
                file.end_step()
        return steps

    def test_boxes_of_steps_of_blocks(self):
        for engine in ENGINES:
            steps = self.write_series(engine)
            for index, step in enumerate(steps):
                for start, count in (((0, 0, 0), self.SHAPE), ((9, 0, 3), (2, 2, 5)),
                                     ((23, 29, 19), (1, 1, 1)), ((5, 1, 0), (1, 29, 20))):
                    with self.subTest(engine=engine, step=index, start=start):
                        back = self.read(start=list(start), count=list(count),
                                         step_selection=[index, 1])
                        box = tuple(slice(a, a + n) for a, n in zip(start, count))
                        self.assertEqual(back.shape, count)
                        self.assert_bound(step[box], back, 0.01)

    def test_local_blocks_of_any_size(self):
        for engine in ENGINES:
            steps = self.write_series(engine)
            for block, count in enumerate((5, 0, 9)):
                adios = adios2.Adios()
                io = adios.declare_io("in")
                with contextlib.closing(io.open(self.path, bindings.Mode.ReadRandomAccess)) as file:
                    variable = io.inquire_variable("local")
                    variable.set_step_selection([1, 1])
                    variable.set_block_selection(block)
                    back = np.full((10, 4), -8.0)
                    file.get(variable, back, bindings.Mode.Sync)
                self.assert_bound(steps[1][:count, :4, 0], back[:count], 0.01)
                self.assertTrue((back[count:] == -8).all())


class Refusals(Adios2Test):
    def test_each_is_a_sentence(self):
        good = {"mode": "abs", "bound": "0.1"}
        names = ("choose from mode bound predictor layout zstd fill threads backend device "
                 "memory_limit")
        for parameters, sentence in (
                ({}, "the parameter mode is missing; give abs, rel, psnr or pwrel with a bound, or "
                     "lossless"),
                ({"mode": "abs"}, "the parameter bound is missing; mode lossless alone needs none"),
                ({"mode": "lossless", "bound": "1"},
                 "mode lossless takes no bound; leave bound out"),
                ({"mode": "lossles"}, "mode lossles is not known (did you mean lossless?); choose "
                                      "from rel abs psnr pwrel lossless"),
                ({**good, "bound": "-1"}, "bound -1 is not a finite number above zero"),
                ({**good, "bound": "nan"}, "bound nan is not a finite number above zero"),
                ({**good, "bound": "1e-3x"}, "bound 1e-3x is not a finite number above zero"),
                ({**good, "Tolerance": "1"}, "parameter tolerance is not known; " + names),
                ({**good, "predictr": "auto"}, "parameter predictr is not known (did you mean "
                                               "predictor?); " + names),
                ({**good, "predictor": "spline"},
                 "predictor spline is not known; choose from auto lorenzo interpolation"),
                ({**good, "layout": "x"}, "layout x is not known; choose from tile linear"),
                ({**good, "zstd": "20"}, "zstd 20 is not a whole number from 0 to 19"),
                ({**good, "threads": "0"}, "threads 0 is not a whole number from 1 to 1024"),
                ({**good, "device": "-1"}, "device -1 is not a whole number from 0 to 1023"),
                ({**good, "memory_limit": "much"},
                 "memory_limit much is not a size, such as 500M or 4G"),
                ({**good, "fill": "1,,2"},
                 "fill 1,,2 is not a list of numbers, such as -9999 or nan,1e20"),
                ({**good, "fill": "1,2,3,4,5"},
                 "fill 1,2,3,4,5 has more than four values; leave some out")):
            with self.subTest(parameters=parameters):
                self.assertEqual(self.refusal(**parameters), "szgpu: " + sentence)

    def test_what_the_library_refuses(self):
        self.assertRegex(self.refusal(mode="pwrel", bound="2"), "^szgpu: block: .*not below 1")
        self.assertRegex(self.refusal(waves((9, 9), "i4"), mode="pwrel", bound="0.1"),
                         "^szgpu: block: ")
        self.assertRegex(self.refusal(waves((9, 9), "i4"), mode="abs", bound="2", fill="nan"),
                         "^szgpu: block: .*fill")
        self.assertRegex(self.refusal(mode="abs", bound="1", memory_limit="1K"),
                         "^szgpu: block: the call would take more memory than its limit")

    def test_text_is_left_alone(self):
        said = self.run_python(f"""
            import adios2, contextlib
            adios = adios2.Adios()
            io = adios.declare_io("out")
            name = io.define_variable("name")
            name.add_operation(adios.define_operator("o", "plugin",
                               {({**PLUGIN, "mode": "lossless"})!r}))
            with contextlib.closing(io.open("text.bp", adios2.bindings.Mode.Write)) as file:
                file.begin_step()
                file.put(name, "wind")
                file.end_step()
            with adios2.FileReader("text.bp") as file:
                print("read:", file.read("name"))
            """)
        self.assertIn("does not support data type string, operator not added", said)
        self.assertIn("read: wind", said)

    def test_a_wrong_variable_is_named(self):
        self.write({"v": waves((20, 30))}, mode="abs", bound="0.1")
        with unittest.mock.patch.dict(os.environ, SZGPU_ADIOS2_THREADS="many"):
            with self.assertRaisesRegex(ValueError, "szgpu: threads many is not a whole number "
                                        r"from 1 to 1024 \(SZGPU_ADIOS2_THREADS\)"):
                self.read()

    def test_a_folder_without_the_plugin(self):
        self.write({"v": waves((20, 30))}, mode="abs", bound="0.1")
        for folder in None, self.folder:
            said = self.run_python(f"""
                import adios2
                try:
                    with adios2.FileReader({self.path!r}) as file:
                        file.read("v")
                except RuntimeError as error:
                    print(error)
                """, ADIOS2_PLUGIN_PATH=folder, LD_LIBRARY_PATH=None)
            self.assertRegex(said, "Failed to load library|Couldn't find operator plugin")

    def test_an_older_adios2_is_refused(self):
        """Before, it called the functions of the operator by other numbers, and crashed."""
        if not importlib.util.find_spec("openpmd_api"):
            self.skipTest("skipped: no openPMD-api, whose wheels have an ADIOS2 2.11 inside")
        configuration = {"adios2": {"dataset": {"operators": [
            {"type": "plugin", "parameters": {**PLUGIN, "mode": "abs", "bound": "0.1"}}]}}}
        said = self.run_python(f"""
            import openpmd_api as io, numpy as np
            series = io.Series("old_%T.bp", io.Access.create, {json.dumps(configuration)!r})
            x = series.iterations[0].meshes["E"]["x"]
            x.reset_dataset(io.Dataset(np.dtype("f8"), [20, 30]))
            x.store_chunk(np.zeros((20, 30)))
            series.flush()
            """, code=-6)
        self.assertIn("szgpu: this program has an ADIOS2 before 2.12", said)


class Damage(Adios2Test):
    def payloads(self, data):
        return [match.start() for match in re.finditer(b"|".join(map(re.escape, MAGICS)), data)]

    def test_damage_is_found(self):
        arrays = {"archive": (waves((40, 50)), {"mode": "abs", "bound": "0.01"}),
                  "plain": (noise((60,)), {"mode": "lossless"})}
        for name, (array, parameters) in arrays.items():
            self.write({"v": array}, **parameters)
            data_file = os.path.join(self.path, "data.0")
            with open(data_file, "rb") as file:
                data = file.read()
            (start,) = self.payloads(data)
            with adios2.FileReader(self.path) as file:
                self.assertEqual(file.read("v").shape, array.shape)
            end = start + (len(data.rstrip(b"\0")) - start)
            for place in range(start, end, max(1, (end - start) // 60)):
                changed = bytearray(data)
                changed[place] ^= 0x41
                with open(data_file, "wb") as file:
                    file.write(changed)
                with self.subTest(name=name, place=place - start):
                    with self.assertRaisesRegex((RuntimeError, ValueError), "szgpu: block: "):
                        self.read()


class Docs(Adios2Test):
    def test_the_page(self):
        """The Python of docs/adios2.md, in its order."""
        with open(os.path.join(ROOT, "docs", "adios2.md"), encoding="utf-8") as file:
            found = re.findall(r"^```python\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(found), 2)
        os.symlink(os.path.join(ROOT, "datasets"), os.path.join(self.folder, "datasets"))
        self.run_python("\n".join(found))
        self.assertTrue(os.path.isdir(os.path.join(self.folder, "wind.bp")))

    def test_the_example(self):
        program = os.path.join(ROOT, "examples", "openpmd_adios2.py")
        done = subprocess.run([sys.executable, program, "series"], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout.decode(errors="replace"))
        self.assertLess(os.path.getsize(os.path.join(self.folder, "series_0.bp", "data.0")), 60000)
        if not importlib.util.find_spec("openpmd_api"):
            self.skipTest("skipped: no openPMD-api to look at the series")
        self.assertEqual(self.run_python("""
            import openpmd_api as io
            series = io.Series("series_%T.bp", io.Access.read_only)
            for index in series.iterations:
                iteration = series.iterations[index].open()
                mesh = iteration.meshes["E"]
                print(index, iteration.time, mesh.axis_labels, mesh["x"].shape, mesh["x"].dtype)
            """), "".join(f"{step} {0.5 * step} ['z', 'y', 'x'] [40, 60, 50] float64\n"
                          for step in range(4)))


if __name__ == "__main__":
    unittest.main()
