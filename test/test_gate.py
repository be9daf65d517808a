#!/usr/bin/env python3
"""test_gate.py - what scripts/gate.py finds too large or too slow, on made-up figures.

SPDX-License-Identifier: BSD-3-Clause

usage: test_gate.py
"""
import contextlib
import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "scripts" / "gate.py"
spec = importlib.util.spec_from_file_location("gate", SCRIPT)
gate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gate)


def cell(name="wave 1e-3 auto", size=1.0, compress=(1.0,), decompress=(1.0,)):
    return gate.Cell(name, size, list(compress), list(decompress))


def gpu_case(field="turb", size=1000, compress=1.0, decompress=2.0):
    return {"field": field, "mode": "rel", "bound": 0.001, "predictor": "lorenzo",
            "archive_bytes": size, "compress": {"whole": {"median_ms": compress}},
            "decompress": {"whole": {"median_ms": decompress}}}


class GateTest(unittest.TestCase):
    def assert_faults(self, cells, *sentences):
        faults = gate.faults_of(cells)
        self.assertEqual(len(faults), len(sentences), faults)
        for fault, sentence in zip(faults, sentences):
            self.assertIn(sentence, fault)

    def measured(self, *ratios):
        """The cell of runs that compress in 1 s before and in these times now, and how many
        measurements it took."""
        times = iter(ratios)
        efforts = []

        def run_both(effort):
            efforts.append(effort)
            return gate.Run(1000, 1.0, 1.0), gate.Run(1000, next(times), 1.0)

        made = gate.measure("wave 1e-3 auto", run_both)
        self.assertEqual(efforts, [1, 2, 4][:len(efforts)])
        return made, len(efforts)

    # --- One cell ---

    def test_passes_what_is_equal_or_better(self):
        self.assert_faults([cell(), cell(size=0.5, compress=[0.5], decompress=[0.5])])

    def test_passes_three_per_cent_and_refuses_more(self):
        better = [cell(compress=[0.9], decompress=[0.9])] * 9
        self.assert_faults([cell(size=1.03, compress=[1.03], decompress=[1.03])])
        self.assert_faults([cell(size=1.031), *better], "the archive is 3.1 % larger")
        self.assert_faults([cell(compress=[1.031]), *better], "compress takes 3.1 % longer")
        self.assert_faults([cell(decompress=[1.031]), *better], "decompress takes 3.1 % longer")

    def test_names_the_cell(self):
        self.assert_faults([cell(name="noise 1e-2 lorenzo", size=1.1)], "noise 1e-2 lorenzo: ")

    # --- Measuring again ---

    def test_measures_a_good_cell_once(self):
        made, count = self.measured(1.03, 2.0)
        self.assertEqual(count, 1)
        self.assertEqual(made.compress, [1.03])

    def test_measures_a_slow_cell_again_until_it_passes(self):
        made, count = self.measured(1.2, 1.0, 2.0)
        self.assertEqual(count, 2)
        self.assert_faults([made] + [cell()] * 9)

    def test_refuses_a_cell_that_is_slow_three_times(self):
        made, count = self.measured(1.2, 1.1, 1.04, 1.0)
        self.assertEqual(count, 3)
        self.assert_faults([made] + [cell()] * 9, "compress takes 20.0 %, 10.0 %, 4.0 % longer")

    def test_passes_a_cell_in_which_either_time_was_slow_once(self):
        times = iter([(1.2, 1.0), (1.0, 1.2)])
        made = gate.measure("wave", lambda effort: (
            gate.Run(1, 1.0, 1.0), gate.Run(1, *next(times))))
        self.assert_faults([made] + [cell()] * 9)

    def test_takes_the_least_time_of_all_turns(self):
        runs = [gate.Run(7, 3.0, 1.0), gate.Run(7, 2.0, 4.0)]
        self.assertEqual(gate.least(runs), gate.Run(7, 2.0, 1.0))

    # --- All cells ---

    def test_refuses_a_column_that_is_slower_on_the_whole(self):
        fast = cell(decompress=[0.99])
        self.assert_faults([cell(decompress=[1.2, 1.1, 1.0])] + [fast] * 4)
        self.assert_faults([cell(decompress=[1.2, 1.1, 1.0])] * 4 + [fast],
                           "all cells: decompress takes 7.7 % longer")

    def test_a_fast_cell_does_not_hide_a_slow_one(self):
        self.assert_faults([cell(compress=[1.1, 1.1, 1.1])] + [cell(compress=[0.5])] * 9,
                           "compress takes 10.0 %, 10.0 %, 10.0 % longer")

    def test_the_mean_is_geometric(self):
        self.assertAlmostEqual(gate.mean_of([cell(size=2.0), cell(size=0.5)], "bytes"), 1.0)

    # --- The exit code, and files of a GPU ---

    def conclude(self, cells):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            return gate.conclude(cells), printed.getvalue()

    def test_says_by_its_exit_code(self):
        self.assertEqual(self.conclude([cell()])[0], 0)
        code, printed = self.conclude([cell(size=1.1)])
        self.assertEqual(code, 1)
        self.assertIn("1 cells, 1 faults:\n  wave 1e-3 auto: the archive is 10.0 % larger", printed)

    def compare(self, *files, code):
        """The output for files of these cases; None is a file that is not there."""
        with tempfile.TemporaryDirectory(prefix="szgpu-gate-") as folder:
            paths = [pathlib.Path(folder, f"{i}.json") for i in range(len(files))]
            for path, cases in zip(paths, files):
                if cases is not None:
                    path.write_text(json.dumps(cases), encoding="utf-8")
            done = subprocess.run([sys.executable, SCRIPT, "--gpu", *paths], capture_output=True,
                                  text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_compares_files_of_a_gpu(self):
        old, fast, slow = [gpu_case()], [gpu_case(compress=0.8)], [gpu_case(compress=1.2)]
        self.assertIn("turb rel 0.001 lorenzo", self.compare(old, fast, code=0))
        self.assertIn("compress takes 20.0 % longer", self.compare(old, slow, code=1))
        self.assertIn("takes 20.0 %, 20.0 % longer", self.compare(old, slow, old, slow, code=1))
        self.compare(old, slow, old, fast, code=0)
        self.compare(old, [gpu_case(size=1040)], code=1)

    def test_names_a_new_cell_and_refuses_to_lose_one(self):
        one, both = [gpu_case()], [gpu_case(), gpu_case(field="wave")]
        self.assertIn("skipped: wave rel", self.compare(one, both, code=0))
        self.assertIn("lacks wave rel", self.compare(both, one, code=2))

    def test_keeps_apart_the_files_of_a_folder(self):
        with tempfile.TemporaryDirectory(prefix="szgpu-gate-") as folder:
            for way in ("tile", "linear"):
                path = pathlib.Path(folder, f"bench_stages.{way}.json")
                path.write_text(json.dumps([gpu_case()]), encoding="utf-8")
            self.assertEqual(set(gate.gpu_runs(pathlib.Path(folder))),
                             {"tile turb rel 0.001 lorenzo", "linear turb rel 0.001 lorenzo"})

    def test_does_not_pass_what_it_cannot_compare(self):
        self.assertIn("no cells to compare", self.compare([], [], code=2))
        self.assertIn("pairs", self.compare([gpu_case()], code=2))
        self.assertIn("No such file", self.compare([gpu_case()], None, code=2))
        self.assertIn("'mode'", self.compare([gpu_case()], [{"field": "turb"}], code=2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
