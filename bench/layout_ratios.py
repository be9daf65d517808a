"""layout_ratios.py - ratios of real fields by Lorenzo prediction, in both layouts.

SPDX-License-Identifier: BSD-3-Clause

  python3 layout_ratios.py SZGPU [FOLDER]

SZGPU is the command; FOLDER holds the fields, by default $SZGPU_FIELDS. Prints a table of Markdown.
Ratios depend on the code and on nothing else.
"""
import json
import subprocess
import sys
import tempfile

from comparison.fields import REAL_FIELDS, real_fields
from comparison.report import show_table

RELS = ("1e-2", "1e-3", "1e-4")
LAYOUTS = ("tile", "linear")


def ratio(szgpu, path, rel, layout):
    command = [szgpu, "-z", "-f", "--json", "--predictor", "lorenzo", "-e", rel, "--layout", layout,
               "-o", path + ".szg", path]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["ratio"]


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    szgpu, folder = sys.argv[1], (sys.argv[2:] or [REAL_FIELDS])[0]
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for field in real_fields(folder):
            path = field.save(scratch)
            for rel in RELS:
                ratios = [f"{ratio(szgpu, path, rel, layout):.2f}" for layout in LAYOUTS]
                rows.append([f"{field.name} {field.kind}", rel, *ratios])
    show_table(["field", "rel", *LAYOUTS], rows)


if __name__ == "__main__":
    main()
