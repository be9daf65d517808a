"""cases_mistakes.py - docs/mistakes.md says what the command says.

SPDX-License-Identifier: BSD-3-Clause

The commands run in the order of the page, in one folder. The page shows what each prints on standard
error, and the exit code if it is not 0.
"""
import os
import re
import shutil

import numpy as np

from cases_docs import FIELD, SAMPLE, page
from harness import CliTest


def make_files(folder):
    """Those that the page describes."""
    path = lambda name: os.path.join(folder, name)
    shutil.copyfile(SAMPLE, path(FIELD))
    shutil.copyfile(SAMPLE, path("dump.dat"))
    wind = np.fromfile(SAMPLE, "<f4").reshape(36, 73, 144)
    np.save(path("wind.npy"), wind)
    shutil.copyfile(path("wind.npy"), path("array.dat"))
    ocean = wind.copy()
    ocean[:, 20:50, 30:100] = -9999
    ocean.tofile(path("ocean_36x73x144.f32"))
    os.mkdir(path("runs"))


class Mistakes(CliTest):
    def make_series(self):
        self.succeed("-z", "-q", "-e", "1e-3", "--append", "run.szgs", FIELD, FIELD, FIELD)
        whole = self.read("run.szgs")
        self.write("short.szgs", whole[:-1000])
        self.write("killed.szgs", whole + whole[:16])

    def test_each_gets_the_sentence_of_the_page(self):
        make_files(self.folder)
        self.succeed("-z", "-q", "-e", "1e-3", "-o", "cut.szg", FIELD)
        self.write("cut.szg", self.read("cut.szg")[:100_000])
        self.succeed("-z", "-q", "-e", "1e-3", "wind.npy")
        self.make_series()
        text = page("mistakes.md")
        blocks = re.findall(r"^```console\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
        shown = [entry for block in blocks for entry in block.split("\n\n")]
        self.assertGreaterEqual(len(shown), 30)
        for entry in shown:
            command, *lines = entry.splitlines()
            self.assertTrue(command.startswith("$ szgpu "), command)
            with self.subTest(command):
                result = self.run_szgpu(*command.split()[2:])
                code = [f"[exit code {result.code}]"] if result.code else []
                self.assertEqual(result.err.splitlines() + code, lines)
                self.assertTrue(code or ": warning: " in result.err, "no mistake")
