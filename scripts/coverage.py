#!/usr/bin/env python3
"""coverage.py - prints which share of the lines the tests run, for each folder of src/ and apps/.

SPDX-License-Identifier: BSD-3-Clause

usage: scripts/coverage.py [--lines FILE...] [--keep] [CTEST OPTION...]
  --lines FILE  instead prints the lines of this file that did not run
  --keep        runs no tests, and prints what ran before

Builds the preset coverage, which needs gcc, in build/coverage, and runs its tests of the tier fast,
or those that ctest's options choose, such as -L 'fast|full'. A line of a body that is compiled for
several types counts once, as run if it ran for any. Lines of CUDA are not counted. Exits with 1 if
a test fails.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
TARGETS = ("szgpu_objects", "szgpu_cli", "h5zszgpu")  # the product, not its tests


def build_and_test(options):
    """Whether all tests passed."""
    parallel = ["--parallel", str(os.cpu_count())]
    subprocess.run(["cmake", "--preset", "coverage"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "coverage", *parallel], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    for counts in BUILD.rglob("*.gcda"):
        counts.unlink()
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


def main(arguments):
    names = []
    while "--lines" in arguments:
        at = arguments.index("--lines")
        names.append(arguments[at + 1])
        del arguments[at:at + 2]
    keeps = "--keep" in arguments
    options = [word for word in arguments if word != "--keep"]
    passed = keeps or build_and_test(options or ["-L", "^fast$"])
    found = lines_of_all()
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8").splitlines()
        for number, count in sorted(found[name].items()):
            if count == 0:
                print(f"{name}:{number}: {text[number - 1].strip()}")
    if not names:
        print_table(found)
    return 0 if passed else 1


if __name__ == "__main__":
    if {"-h", "--help"} & set(sys.argv):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
