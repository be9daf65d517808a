"""test_cli.py - tests of the szgpu command: exact sentences, exit codes, files.

SPDX-License-Identifier: BSD-3-Clause

  python3 test_cli.py PATH/TO/szgpu [a unittest selection, such as cases_files.Npy -v]

Needs numpy; cases_hdf5 also needs h5py and netCDF4. The tests make their fields in temporary folders
and pass for root and any other user. Only those of cases_gpu see a GPU; they run if asked for by
name. The exit code is 77 if every test was skipped.
"""
import os
import sys
import unittest

import harness

CASES = ["cases_changes", "cases_completion", "cases_cuda", "cases_docs", "cases_endless",
         "cases_files", "cases_hdf5", "cases_json", "cases_lossless", "cases_meant",
         "cases_memory", "cases_memory_hdf5", "cases_mistakes", "cases_npy", "cases_outputs",
         "cases_pwrel", "cases_readme", "cases_refusals", "cases_reports", "cases_series",
         "cases_sweep", "cases_test", "cases_virtual", "cases_warnings"]

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    harness.szgpu = os.path.abspath(sys.argv[1])
    selection = sys.argv[2:]
    if not any(not argument.startswith("-") for argument in selection):
        selection += CASES
    run = unittest.main(module=None, argv=["test_cli.py", *selection], exit=False).result
    for test, reason in run.skipped:
        print(f"skipped {test}: {reason}")
    all_skipped = 0 < run.testsRun == len(run.skipped)
    sys.exit(77 if all_skipped else not run.wasSuccessful())
