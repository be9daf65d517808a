"""cases_readme.py - every command of README.md is run by a test, most of them here.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np

from cases_docs import FIELD, MAKE_HDF5, ROOT, SAMPLE
from harness import CliTest, wave

# Lines that are not run here: how they begin, and the file that runs them, or the program that they
# are about, with a text that it has. Nothing of the tests installs peers from PyPI, needs a GPU, or
# has Spack or conda.
ELSEWHERE = (
    ("python3 -m venv build/compare", "test/test_compare.py", '"compare.py")'),
    ("build/compare/bin/", "test/test_compare.py", '"compare.py")'),
    ("scripts/test.sh", ".ci/run", "scripts/test.sh"),
    ("scripts/quickstart.sh", "test/install/test_install.sh", "readme_line scripts/quickstart.sh"),
    ("cmake --preset release", "test/install/test_install.sh", "readme_line 'cmake --preset rel"),
    ("cmake --install", "test/install/test_install.sh", "readme_line 'cmake --install"),
    ("cmake --preset cuda", "scripts/test.sh", "configure cuda "),
    ("scripts/gpu_check.sh", "scripts/gpu_check.sh", "export SZGPU_REQUIRE_GPU=1"),
    ("scripts/make_deb.sh", "test/install/test_package.sh", "dpkg -i"),
    ("pip install .", "scripts/test_python.sh", "-m build --wheel"),
    ("spack ", "test/test_recipes.py", "class Spack"),
    ("conda ", "test/test_recipes.py", "class Conda"),
)


def blocks(language):
    """(heading, lines without comments) of each block of this language."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        sections = re.split(r"^## ", file.read(), flags=re.MULTILINE)
    return [(section.splitlines()[0], [re.sub(r"\s+#.*", "", line) for line in text.splitlines() if line])
            for section in sections
            for text in re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)]


class Readme(CliTest):
    def test_every_line_is_run_by_a_test(self):
        here = {"On the command line", "HDF5 and netCDF"}  # the latter by test/hdf5/cases_docs.py
        used = set()
        for heading, lines in blocks("sh"):
            for line in lines if heading not in here else ():
                row = next((row for row in ELSEWHERE if line.startswith(row[0])), None)
                self.assertIsNotNone(row, f"no test runs this line of README.md: {line}")
                used.add(row)
                with open(os.path.join(ROOT, row[1]), encoding="utf-8") as file:
                    self.assertIn(row[2], file.read(), row)
        self.assertEqual(used, set(ELSEWHERE))
        self.assertEqual({heading for heading, _ in blocks("sh")} & here, here)

    def test_cmake_is_asked_as_in_the_example(self):
        """examples/CMakeLists.txt, which test_install.sh builds."""
        with open(os.path.join(ROOT, "examples", "CMakeLists.txt"), encoding="utf-8") as file:
            text = file.read().splitlines()
        (_, lines), = blocks("cmake")
        self.assertEqual(len(lines), 2)
        self.assertLessEqual(set(lines), set(text))

    def test_the_commands_run(self):
        shutil.copyfile(SAMPLE, self.path(FIELD))
        np.save(self.path("field.npy"), wave(30, 40, 50))
        self.write("model.safetensors", os.urandom(5000))
        os.mkdir(self.path("archives"))
        self.succeed("-z", "-q", "-e", "1e-3", "-o", "archives/field.szg", "field.npy")
        has_hdf5 = "\nHDF5: yes\n" in self.succeed("--version").out
        made = has_hdf5 and subprocess.run([sys.executable, "-c", MAKE_HDF5], cwd=self.folder,
                                           stderr=subprocess.DEVNULL, check=False).returncode == 0
        (_, lines), = [block for block in blocks("sh") if block[0] == "On the command line"]
        self.assertGreaterEqual(len(lines), 11)
        for line in lines:
            if "run.h5:" in line and not made:
                print("skipped: README.md's dataset, for there is no HDF5 or h5py")
            elif "-b cuda" in line:  # no GPU is to be seen here; cases_gpu has one
                self.assertEqual(self.run_szgpu(*line.split()[1:]).code, 5)
            else:
                self.run_block(line)
        told = json.loads(self.succeed("-l", "--json", "field.npy.szg").out)
        self.assertLessEqual(told["bound"], 1e-4)  # the last of its bounds
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            region = re.search(r"`(szgpu -x --region [^`]+)`", file.read())[1]
        self.run_block(f"{region} -o part.npy {FIELD}.szg")
        self.assertEqual(np.load(self.path("part.npy")).shape, (16, 32, 1))
