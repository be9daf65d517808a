#!/usr/bin/env python3
"""coverage.py - prints which share of the lines the tests run, for each folder of src/ and apps/.

SPDX-License-Identifier: BSD-3-Clause

Builds the preset coverage, which needs gcc, in build/coverage, and runs its tests of the tier fast,
or those that ctest's options choose, such as -L 'fast|full'. A line of a body that is compiled for
several types counts once, as run if it ran for any. Lines of CUDA are not counted. Exits with 1 if
a test fails.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
TARGETS = ("szgpu_objects", "szgpu_cli", "h5zszgpu")  # the product, not its tests


def build_and_test(options):
    """Whether all tests passed."""
    parallel = ["--parallel", str(os.cpu_count())]
    shutil.rmtree(BUILD, ignore_errors=True)  # old objects would count, too
    subprocess.run(["cmake", "--preset", "coverage"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "coverage", *parallel], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    done = subprocess.run(["ctest", "--preset", "coverage", *parallel, *options], cwd=ROOT,
                          check=False)
    return done.returncode == 0


def gcov_of(notes):
    """(file, line, times run) of what one object was compiled from."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", notes], cwd=BUILD, check=True,
                          capture_output=True, text=True)
    for text in done.stdout.splitlines():
        for file in json.loads(text)["files"]:
            path = pathlib.Path(BUILD, file["file"]).resolve()
            if path.is_relative_to(ROOT / "src") or path.is_relative_to(ROOT / "apps"):
                name = path.relative_to(ROOT).as_posix()
                for line in file["lines"]:
                    yield name, line["line_number"], line["count"]


def lines_of_all():
    """{file: {line: times run}}"""
    notes = [path for path in sorted(BUILD.rglob("*.gcno"))
             if any(f"{target}.dir" in path.parts for target in TARGETS)]
    found = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for rows in pool.map(lambda path: list(gcov_of(path)), notes):
            for name, number, count in rows:
                found[name][number] += count
    return found


def print_table(found):
    folders = collections.defaultdict(lambda: [0, 0])
    for name, lines in found.items():
        run = sum(count > 0 for count in lines.values())
        parent = name.rpartition("/")[0]
        for folder in {parent, name.partition("/")[0] + " in all"}:
            folders[folder][0] += run
            folders[folder][1] += len(lines)
    print(f"{'folder':<24} {'lines':>7} {'run':>7} {'share':>8}")
    for folder in sorted(folders, key=lambda name: (name.split()[0].split("/")[0],
                                                    name.endswith(" in all"), name)):
        run, lines = folders[folder]
        print(f"{folder:<24} {lines:>7} {run:>7} {100 * run / lines:>6.1f} %")


def print_lines_not_run(name, lines):
    text = (ROOT / name).read_text(encoding="utf-8").splitlines()
    for number, count in sorted(lines.items()):
        if count == 0:
            print(f"{name}:{number}: {text[number - 1].strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 2)[2],
                                     usage="%(prog)s [--keep] [--lines FILE]... [CTEST OPTION...]",
                                     allow_abbrev=False)
    parser.add_argument("--keep", action="store_true", help="run no tests, count what ran before")
    parser.add_argument("--lines", metavar="FILE", action="append", default=[],
                        help="instead of the table print the lines of this file that did not run")
    arguments, options = parser.parse_known_args()
    has_passed = arguments.keep or build_and_test(options or ["-L", "^fast$"])
    found = lines_of_all()
    if not found:
        sys.exit(f"coverage.py: {BUILD} has no counts; run it without --keep.")
    for name in arguments.lines:
        if name not in found:
            sys.exit(f"coverage.py: no line of {name} was compiled.")
        print_lines_not_run(name, found[name])
    if not arguments.lines:
        print_table(found)
    return 0 if has_passed else 1


if __name__ == "__main__":
    sys.exit(main())
