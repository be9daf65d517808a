"""cases_wheels.py - the plugin with h5py and netCDF4 from PyPI, each with its own libhdf5.

SPDX-License-Identifier: BSD-3-Clause

The first run makes a virtual environment from PyPI in the folder --venv; the other cases run with
its Python. Skipped, with the reason, if PyPI cannot be reached.
"""
import os
import re
import subprocess
import sys

import harness

PACKAGES = ["numpy", "h5py", "netCDF4"]
PROBE = "import h5py, netCDF4; print(h5py.version.hdf5_version, netCDF4.__hdf5libversion__)"


def run(*command):
    """Exit code and output, stdout and stderr together."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode(errors="replace")


def last_lines(text):
    return " / ".join(text.strip().splitlines()[-3:])


class Wheels(harness.Hdf5Test):
    modules = {}
    python = why_not = None

    @classmethod
    def setUpClass(cls):
        if not harness.venv_folder:
            cls.why_not = "no folder was given for the virtual environment: --venv DIR"
            return
        cls.python = os.path.join(harness.venv_folder, "bin", "python")
        if os.path.exists(cls.python) and run(cls.python, "-c", PROBE)[0] == 0:
            return
        code, out = run(sys.executable, "-m", "venv", "--clear", harness.venv_folder)
        if code != 0:
            cls.why_not = f"no virtual environment (Debian: python3-venv): {last_lines(out)}"
            return
        code, out = run(cls.python, "-m", "pip", "install", "-q", "--retries", "1", "--timeout",
                        "20", "--disable-pip-version-check", "--only-binary", ":all:", *PACKAGES)
        if code != 0:
            cls.why_not = f"pip could not install {' '.join(PACKAGES)}: {last_lines(out)}"

    def setUp(self):
        super().setUp()
        if self.why_not:
            self.skipTest(self.why_not)

    def run_cases(self, *selection):
        code, out = run(self.python, os.path.join(harness.HERE, "test_hdf5.py"),
                        harness.plugin_folder, harness.szgpu, "--filter", str(harness.filter_id),
                        *selection)
        self.assertEqual(code, 0, out)
        self.assertNotRegex(out, r"\(skipped=")  # as unittest counts them
        return out

    def test_h5py(self):
        self.run_cases("cases_h5py")

    def test_golden(self):
        if harness.filter_id != 480:
            self.skipTest("this build's filter id is not the golden files' 480")
        self.run_cases("cases_golden.Golden.test_read")

    def test_damage(self):
        self.run_cases("cases_damage.Chunks.test_flipped_bits")

    def test_netcdf(self):
        self.run_cases("cases_netcdf.Python.test_what_h5py_wrote",
                       "cases_netcdf.Python.test_types_that_h5py_wrote")

    def test_one_process(self):
        """Both wheels at once: two libhdf5, and each calls the plugin."""
        out = self.run_cases("cases_netcdf.OneProcess")
        loaded = re.search("libhdf5 in this process: (.*)", out)[1].split()
        libraries = [name for name in loaded if not name.startswith("libhdf5_hl")]
        self.assertEqual(len(libraries), 2, loaded)
