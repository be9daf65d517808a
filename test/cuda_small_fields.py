#!/usr/bin/env python3
"""cuda_small_fields.py - small fields of every kind, for runs under compute-sanitizer.

SPDX-License-Identifier: BSD-3-Clause

usage: cuda_small_fields.py DIR
"""

import os
import sys

import numpy as np


def waves(random, shape):
    """Smooth, with a little noise."""
    axes = np.meshgrid(*[np.linspace(0, 9, extent) for extent in shape], indexing="ij")
    return sum(np.sin(x + i) for i, x in enumerate(axes)) + 0.01 * random.standard_normal(shape)


def main(folder):
    random = np.random.default_rng(1)
    full = waves(random, (48, 64, 64))  # full tiles, with NaN, fill values and outliers
    full[3, 5, 7] = np.nan
    full[10:12] = 1e20
    full[20, 20, ::5] = 1e9
    double = waves(random, (300, 333))
    double[4, 4] = np.inf
    fields = {"full_48x64x64.f32": full, "ragged_45x61x67.f32": waves(random, (45, 61, 67)),
              "plane_300x333.f64": double, "line_100003.f32": waves(random, (100003,))}
    for name, values in fields.items():
        values.astype("<f8" if name.endswith("f64") else "<f4").tofile(os.path.join(folder, name))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
