"""ratios.py - ratios of real fields, without zstd: of both layouts, and of predictors.

SPDX-License-Identifier: BSD-3-Clause

  python3 ratios.py SZGPU [FOLDER]

SZGPU is the command; FOLDER holds the fields, by default $SZGPU_FIELDS. Prints two tables of
Markdown. Ratios depend on the code and on nothing else.
"""
import json
import subprocess
import sys
import tempfile

from comparison.fields import REAL_FIELDS, real_fields
from comparison.report import show_table

RELS = ("1e-2", "1e-3", "1e-4")


def told(szgpu, *arguments):
    done = subprocess.run([szgpu, "--json", *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def ratio(szgpu, path, rel, *options):
    """Leaves the archive in path.szg."""
    return f"{told(szgpu, '-z', '-f', '-e', rel, *options, path)['ratio']:.2f}"


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    szgpu, folder = sys.argv[1], (sys.argv[2:] or [REAL_FIELDS])[0]
    layouts, predictors = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for field in real_fields(folder):
            path = field.save(scratch)
            for rel in RELS:
                linear = ratio(szgpu, path, rel, "--layout", "linear")
                lorenzo = ratio(szgpu, path, rel, "--predictor", "lorenzo")
                auto = ratio(szgpu, path, rel, "--predictor", "auto")
                kind = told(szgpu, "-l", path + ".szg")["frame_list"][0]["kind"]
                layouts.append([f"{field.name} {field.kind}", rel, lorenzo, linear])
                predictors.append([field.name, rel, lorenzo, auto, kind])
    show_table(["field", "rel", "tile", "linear"], layouts)
    print()
    show_table(["field", "rel", "lorenzo", "auto", "auto took"], predictors)


if __name__ == "__main__":
    main()
