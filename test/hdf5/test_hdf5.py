"""test_hdf5.py - tests of the HDF5 filter with h5py, netCDF4, the tools of both, and golden files.

SPDX-License-Identifier: BSD-3-Clause

  python3 test_hdf5.py PLUGIN_FOLDER SZGPU [--filter ID] [--other ID:FOLDER] [--other-is-known]
                       [--venv DIR] [--damage LIBRARY] [--skip REASON] CASES [unittest's options]

PLUGIN_FOLDER holds libh5zszgpu.so, SZGPU is the command. CASES is a module here, or a unittest
selection such as cases_h5py.Modes -v. --filter: the id that the plugin was built with. --other: the
id of a second plugin and its folder, for cases_other; --other-is-known: the command was built with
it. --venv: where cases_wheels makes a virtual environment. --damage: the library of damage.c. Tests skip, with a reason, what a machine
lacks; the exit code is 77 if every test was skipped. --skip: skips all, for this reason.
"""
import argparse
import os
import sys
import unittest


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("plugin_folder")
    parser.add_argument("szgpu")
    parser.add_argument("--filter", type=int, default=480)
    parser.add_argument("--other", default="0:")
    parser.add_argument("--other-is-known", action="store_true")
    parser.add_argument("--venv", default="")
    parser.add_argument("--damage", default="")
    parser.add_argument("--skip", default="")
    asked, selection = parser.parse_known_args()
    if asked.skip:
        print(f"test_hdf5: skipped, {asked.skip}")
        return 77
    if not os.path.exists(os.path.join(asked.plugin_folder, "libh5zszgpu.so")):
        parser.error(f"{asked.plugin_folder} has no libh5zszgpu.so: build the target h5zszgpu")
    # HDF5 reads it when it is loaded, so this must come before any import of h5py.
    other_id, _, other_folder = asked.other.partition(":")
    folders = [asked.plugin_folder, other_folder] if other_folder else [asked.plugin_folder]
    os.environ["HDF5_PLUGIN_PATH"] = ":".join(os.path.abspath(folder) for folder in folders)
    try:
        import harness
    except ImportError as problem:
        print(f"test_hdf5: skipped, {problem} (Debian: python3-numpy)")
        return 77
    harness.plugin_folder = os.path.abspath(asked.plugin_folder)
    harness.szgpu = os.path.abspath(asked.szgpu)
    harness.filter_id = asked.filter
    harness.other_id, harness.other_is_known = int(other_id), asked.other_is_known
    harness.damage = asked.damage and os.path.abspath(asked.damage)
    harness.venv_folder = asked.venv and os.path.abspath(asked.venv)
    run = unittest.main(module=None, argv=["test_hdf5.py", *selection], exit=False).result
    for test, reason in run.skipped:
        print(f"skipped {test}: {reason}")
    all_skipped = 0 < run.testsRun == len(run.skipped)
    return 77 if all_skipped else int(not run.wasSuccessful() or run.testsRun == 0)


if __name__ == "__main__":
    sys.exit(main())
