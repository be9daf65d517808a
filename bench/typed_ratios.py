"""typed_ratios.py - ratios of halves and integers: with a bound, and lossless.

SPDX-License-Identifier: BSD-3-Clause

  python3 typed_ratios.py SZGPU [FOLDER]

SZGPU is the command; FOLDER holds the fields, by default $SZGPU_FIELDS. Some are converted to the
types that instruments and models store, and a stack of detector images is made up: peaks on a
background that photons count. Prints a table of Markdown. Ratios depend on the code and on nothing
else.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from comparison.fields import REAL_FIELDS, real_fields
from comparison.report import show_table

RELS = ("-e 1e-4", "-e 1e-3", "-e 1e-2")
MISSING = -32767


def packed(field):
    """As netCDF packs: 65,534 steps over the range, and one number for what is missing."""
    there = field.is_counted
    low = field.values[there].min()
    steps = np.rint((np.where(there, field.values, low) - low) / field.span * 65533) - 32766
    return np.where(there, steps, MISSING).astype("<i2")


def detector():
    """64 images: rings and peaks, counted by photons."""
    random = np.random.default_rng(7)
    y, x = np.indices((256, 256)) - 127.5
    distance = np.hypot(x, y)
    images = []
    for image in range(64):
        rate = 40 + 300 * np.exp(-distance / 60) * (1 + np.cos(distance / 6))
        for peak in range(40):
            angle, place = 2.4 * peak + 0.02 * image, 15 + 2.8 * peak
            from_peak = np.hypot(x - place * np.cos(angle), y - place * np.sin(angle))
            rate += 4000 * np.exp(-(from_peak / 1.6)**2)
        images.append(random.poisson(rate))
    return np.array(images).clip(0, 65535).astype("<u2")


def bf16(field):
    bits = field.astype("<f4").view("<u4")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")


def cases(fields):
    """What it is, the type, the values, and options of bounds."""
    head = fields["cranium_ct"].values
    yield "detector", "u16", detector(), bounds_of(0.9, 3, 10, 30)
    yield "etopo5", "i16", np.rint(fields["etopo5"].values).astype("<i2"), bounds_of(0.9, 1, 10, 50)
    yield "cranium_ct", "i16", np.rint(head).astype("<i2"), bounds_of(0.9, 1, 5, 20)
    yield "cranium_ct / 16", "u8", np.rint((head - head.min()) / 16).astype("u1"), bounds_of(
        0.9, 1, 2, 5)
    yield "oceantemp_fill, packed", "i16", packed(fields["oceantemp_fill"]), tuple(
        f"{rel} --fill {MISSING}" for rel in RELS)
    yield "navywind_u, packed", "i16", packed(fields["navywind_u"]), RELS
    for name in ("navywind_u", "meep_ez14", "cosmo_rho"):
        yield name, "f16", fields[name].values.astype("<f2").view("<u2"), RELS
        yield name, "bf16", bf16(fields[name].values), RELS


def bounds_of(*bounds):
    return tuple(f"-m abs -e {bound}" for bound in bounds)


def ratio(szgpu, path, options):
    done = subprocess.run([szgpu, "-z", "-f", "-V", "--json", *options.split(), path], check=True,
                          stdout=subprocess.PIPE, text=True)
    return f"{json.loads(done.stdout)['ratio']:.2f}"


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    szgpu, folder = sys.argv[1], (sys.argv[2:] or [REAL_FIELDS])[0]
    fields, rows = {field.name: field for field in real_fields(folder)}, []
    with tempfile.TemporaryDirectory() as scratch:
        for name, kind, values, bounds in cases(fields):
            path = os.path.join(scratch, f"a_{'x'.join(map(str, values.shape))}.{kind}")
            values.tofile(path)
            lossless = ", ".join(ratio(szgpu, path, f"-m lossless {more}") for more in ("", "--zstd"))
            shown = ", ".join(bound.replace("-m abs ", "").replace("-e ", "").split(" ")[0]
                              for bound in bounds)
            rows.append([name, kind, lossless, ("abs " if "abs" in bounds[0] else "rel ") + shown,
                         ", ".join(ratio(szgpu, path, bound) for bound in bounds)])
    show_table(["field", "type", "lossless, with zstd", "bounds", "ratios"], rows)


if __name__ == "__main__":
    main()
