"""test_cli.py - tests of the szgpu command: exact sentences, exit codes, files.

SPDX-License-Identifier: BSD-3-Clause

  python3 test_cli.py PATH/TO/szgpu a unittest selection, such as cases_npy, or cases_files.Npy -v

Needs numpy; cases_hdf5 also needs h5py and netCDF4. The tests make their fields in temporary folders
and pass for root and any other user. Only those of cases_gpu see a GPU. The exit code is 77 if every
test was skipped.
"""
import os
import sys
import unittest

import harness

if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    harness.szgpu = os.path.abspath(sys.argv[1])
    run = unittest.main(module=None, argv=["test_cli.py", *sys.argv[2:]], exit=False).result
    for test, reason in run.skipped:
        print(f"skipped {test}: {reason}")
    all_skipped = 0 < run.testsRun == len(run.skipped)
    sys.exit(77 if all_skipped else not run.wasSuccessful())
