"""cases_docs.py - docs/cli.md does what it says, docs/choosing.md has the figures of the sample.

SPDX-License-Identifier: BSD-3-Clause

The recipes run in the order of the page, in one folder with the sample field.
"""
import os
import re
import shutil
import subprocess
import sys

import numpy as np

import harness
from harness import CliTest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLE = os.path.join(ROOT, "datasets", "sample", "navywind_u_36x73x144.f32")
FIELD = "wind_36x73x144.f32"

MAKE_HDF5 = f"""
import h5py, numpy as np
with h5py.File('run.h5', 'w') as f:
    f['fields/rho'] = np.fromfile('{FIELD}', '<f4').reshape(36, 73, 144)
"""


def page(name):
    with open(os.path.join(ROOT, "docs", name), encoding="utf-8") as file:
        return file.read()


class Docs(CliTest):
    def setUp(self):
        super().setUp()
        shutil.copyfile(SAMPLE, self.path(FIELD))

    def recipes(self, of_datasets):
        text = page("cli.md")
        text = text[text.index("\n## Recipes\n"):text.index("\n## With -z")]
        blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        return [block for block in blocks if (".h5:" in block) == of_datasets]

    def test_the_recipes_run(self):
        blocks = self.recipes(of_datasets=False)
        self.assertGreaterEqual(len(blocks), 9)
        for block in blocks:
            self.run_block(block)
        for name in ("piped.f32", "back.f32", "same.bin"):
            self.assertEqual(os.path.getsize(self.path(name)), os.path.getsize(SAMPLE))
        self.assertEqual(self.read("dump.bin"), self.read("same.bin"))
        self.assertEqual(len(self.read("log.json").splitlines()), 2)

    def test_the_series_of_its_page_is_made_and_read(self):
        text = page("series.md")
        block, = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.run_block(block)
        self.assertEqual(self.succeed_json("-l", "run.szgs")["step_count"], 3)
        for name in ("one.f32", "run-0001.f32", "run-0002.f32"):
            self.assertEqual(os.path.getsize(self.path(name)), os.path.getsize(SAMPLE))
        self.assertEqual(np.load(self.path("last.npy")).shape, (6, 73, 1))

    def test_the_recipe_of_a_dataset_runs(self):
        if "\nHDF5: yes\n" not in self.succeed("--version").out:
            self.skipTest("this build has no HDF5")
        if subprocess.run([sys.executable, "-c", "import h5py"], stderr=subprocess.DEVNULL,
                          check=False).returncode != 0:
            self.skipTest("there is no h5py")
        subprocess.run([sys.executable, "-c", MAKE_HDF5], cwd=self.folder, check=True)
        block, = self.recipes(of_datasets=True)
        self.run_block(block)
        self.assertIn("run_fields_rho.npy", os.listdir(self.folder))

    def manual(self):
        """What the manual page has beyond --help, as plain text."""
        with open(os.path.join(ROOT, "apps", "szgpu", "szgpu.h2m"), encoding="utf-8") as file:
            return re.sub(r"\\f[BP]", "", file.read()).replace("\\-", "-")

    def test_the_manual_page_has_the_exit_codes_of_the_page(self):
        of_manual = re.findall(r"^\.B (\d)\n(.*)\.\n", self.manual(), re.MULTILINE)
        text = page("cli.md")
        of_page = re.findall(r"^\| (\d) \| (.*) \|$", text[text.index("\n## Exit codes"):], re.MULTILINE)
        self.assertEqual([(code, meaning.lower()) for code, meaning in of_manual],
                         [(code, meaning.replace("`", "").lower()) for code, meaning in of_page])
        self.assertEqual(len(of_page), 6)

    def test_the_examples_of_the_manual_page_run(self):
        commands = re.findall(r"^szgpu .*\n", self.manual(), re.MULTILINE)
        self.assertGreaterEqual(len(commands), 8)
        self.run_block("".join(commands))
        self.assertEqual(self.read("back.f32"), self.succeed("-x", "-o", "-", "any.szg", binary=True).out)

    def test_the_page_has_the_options_of_the_help(self):
        option = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")
        of_help = set(option.findall(self.succeed("--help").out))
        self.assertEqual(of_help - set(option.findall(page("cli.md"))), set())
        rows = re.findall(r"^\| ((?:`-[^`]*`(?:, )?)+) \|", page("cli.md"), re.MULTILINE)
        self.assertEqual(set(option.findall(" ".join(rows))) - of_help, set())
        self.assertGreaterEqual(len(rows), 25)

    def test_the_sweep_and_the_target_are_those_of_the_page(self):
        text = page("choosing.md")
        part = text[text.index("\n## Trying bounds\n"):text.index("\n## The predictor\n")]
        sweep, target = re.findall(r"^```sh\nszgpu (.*?)\n```", part, re.MULTILINE)
        printed = self.succeed(*sweep.split()).out.splitlines()
        shown = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
        self.assertEqual([[cell.strip() for cell in row] for row in shown[2:]],
                         [line.split()[:5] for line in printed[2:]])
        arguments, figures = target.split("  # ")
        told = self.succeed_json(*arguments.split())
        self.assertEqual(figures, f"ratio {told['ratio']:.2f}, bound {told['absolute_bound']:.3g} "
                         f"(rel {told['bound']:g})")

    def test_the_figures_are_those_of_the_sample(self):
        text = page("choosing.md")
        rows = re.findall(r"^\| (1e-\d) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", text,
                          re.MULTILINE)
        rows = [row for row in rows if float(row[1]) < 1]  # of the table with bounds in m/s
        self.assertEqual([row[0] for row in rows], ["1e-2", "1e-3", "1e-4", "1e-5"])
        for rel, bound, ratio, largest, psnr in rows:
            with self.subTest(rel):
                told = self.succeed_json("-z", "-f", "-V", "-e", rel, "--predictor", "lorenzo", FIELD)
                self.assertEqual(f"{told['absolute_bound']:.2g}", bound)
                self.assertEqual(f"{told['ratio']:.2f}", ratio)
                self.assertEqual(f"{told['max_error']:.3g}", largest)
                self.assertEqual(f"{told['psnr']:.1f}", psnr)
