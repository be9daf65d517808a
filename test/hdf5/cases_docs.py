"""cases_docs.py - every command of docs/hdf5.md does what it says.

SPDX-License-Identifier: BSD-3-Clause

The blocks run in the order of the page, whose first ones make wind.h5 and wind.nc from the sample.
Left out are the lines that build, install and set paths, which this build replaces, and those with
MPI, which test_parallel.py runs.
"""
import os
import re
import subprocess

import harness
from harness import comma_separated, optional, sample, user_words

h5py = optional("h5py")


def blocks(page):
    """Language and text of the page's blocks."""
    with open(os.path.join(harness.ROOT, page), encoding="utf-8") as file:
        return re.findall(r"^```(sh|python)\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)


class Docs(harness.Hdf5Test):
    def setUp(self):
        super().setUp()
        self.need("h5repack", "h5diff", "h5dump", "h5ls", "nccopy", "ncdump")
        if harness.filter_id != 480:
            self.skipTest("this build's filter id is not the pages' 480")

    def run_blocks(self, found):
        """Returns how many it ran."""
        path = os.path.dirname(harness.szgpu) + os.pathsep + os.environ["PATH"]
        count = 0
        for language, text in found:
            left_out = re.compile("(cmake|export|sudo|mpirun) |app=")
            lines = [line for line in text.splitlines() if not left_out.match(line)]
            if not any(lines):
                continue
            text = "\n".join(lines) + "\n"
            command = {"sh": ["bash", "-euo", "pipefail"], "python": ["/usr/bin/python3"]}[language]
            done = subprocess.run(command, input=text.encode(), cwd=self.folder, timeout=120,
                                  env={**os.environ, "PATH": path}, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, text + done.stdout.decode(errors="replace"))
            count += 1
        return count

    def assert_filtered(self, name):
        with h5py.File(self.path(name), "r") as file:
            dataset = file["wind"]
            self.assertEqual(dataset.id.get_create_plist().get_filter(0)[0], 480)
            self.assertEqual(dataset.id.get_chunk_info(0).filter_mask, 0)
            self.assert_lossy(sample(), dataset[()], 0.01, name)

    def test_the_page(self):
        os.symlink(os.path.join(harness.ROOT, "datasets"), self.path("datasets"))
        self.assertGreaterEqual(self.run_blocks(blocks("docs/hdf5.md")), 6)
        for name in ("small.h5", "small.nc", "by_h5py.h5", "one.h5", "packed.nc"):
            self.assert_filtered(name)
        for name in ("back.h5", "plain.nc"):
            with h5py.File(self.path(name), "r") as file:
                self.assertIsNone(file["wind"].compression)
                self.assertEqual(file["wind"].id.get_create_plist().get_nfilters(), 0)
                self.assert_lossy(sample(), file["wind"][()], 0.01, name)

    def test_numbers_are_of_the_bound(self):
        """The cd_values on the pages are those of a bound of 0.01."""
        self.assertEqual(comma_separated(user_words(1, 0.01, 0)), "1,1,1202590843,1065646817,0")
        printed = self.run_tool(harness.szgpu, "--h5-args", "-m", "abs", "-e", "0.01")
        self.assertIn("1,1,1202590843,1065646817,0", printed)
