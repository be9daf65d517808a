#!/usr/bin/env python3
"""kinds.py - bytes by szgpu and by SZ3 for kinds of data that are made, not simulated.

SPDX-License-Identifier: BSD-3-Clause

  build/compare/bin/python bench/kinds.py [KIND...]

Prints the table of docs/comparison.md, "Kinds of data", and restores each archive of
szgpu to check its bound. Needs szgpu, numpy and pysz (bench/compare_requirements.txt).
"""
import sys

import numpy as np
import szgpu
from pysz import sz, szAlgorithm, szConfig, szErrorBoundMode


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(0, 1, shape)


def cube():
    return np.indices((128, 128, 128))


def steps():
    """Four axes: 24 steps in time of a noisy field that changes smoothly."""
    z, y, x = np.indices((12, 64, 128))
    first = np.sin(x / 5) * np.cos(y / 4 + z) + 0.1 * noise(0, *x.shape)
    return np.stack([first + 0.003 * k * np.cos(x / 9 + z) * np.sin(y / 6) for k in range(24)])


N = np.arange(10**6)
KINDS = {  # name: what, values, absolute bounds
    "ramp": ("0.37 i, i up to 10^6", lambda: 0.37 * N, (1e-3,)),
    "parabola": ("(i / 1000)^2", lambda: (N / 1000) ** 2, (1e-3,)),
    "sine": ("sin(i / 1000)", lambda: np.sin(N / 1000).astype("f4"), (1e-3, 1e-5)),
    "walk": ("a random walk", lambda: noise(0, 2**20).cumsum().astype("f4"), (0.05,)),
    "decimals": ("temperatures with two decimals",
                 lambda: np.round(20 + 5 * np.sin(N / 1000) + (0.02 * noise(0, 10**6)).cumsum(), 2),
                 (1e-4, 1e-2)),
    "counts": ("Poisson counts, mean 50, in 128^3",
               lambda: np.random.default_rng(0).poisson(50, (128,) * 3).astype("f4"), (1e-3, 1)),
    "labels": ("a rounded wave in 128^3",
               lambda: sum(np.sin(a / n) for a, n in zip(cube(), (9, 7, 8))).round().astype("f4"),
               (1e-3,)),
    "boxes": ("boxes of one value in 128^3",
              lambda: sum(n * (a // w) for a, n, w in zip(cube(), (3, 7, 11), (17, 23, 29))
                          ).astype("f4"), (1e-3,)),
    "image": ("an 8-bit image with noise", lambda: np.clip(
        128 + 50 * np.sin(np.arange(1024)[:, None] / 40) + 40 * np.cos(np.arange(1024) / 30)
        + 2 * noise(3, 1024, 1024), 0, 255).round().astype("f4"), (0.4, 2)),
    "points": ("uniform random numbers to 100",
               lambda: np.random.default_rng(5).uniform(0, 100, 2**20).astype("f4"), (0.01,)),
    "sparse": ("1 % normal numbers, else 0, in 128^3", lambda: np.where(
        np.random.default_rng(6).random((128,) * 3) < 0.01, noise(7, *(128,) * 3), 0).astype("f4"),
               (1e-3,)),
    "rain": ("normal numbers above 1, less 1, else 0",
             lambda: np.maximum(0, noise(8, 256, 512) - 1).astype("f4"), (1e-3, 0.1)),
    "patch": ("a smooth patch of 16^3", lambda: sum(
        np.sin(a / 5) for a in np.indices((16,) * 3)).astype("f4"), (1e-3, 1e-5)),
    "steps": ("24 steps of 12 x 64 x 128", lambda: steps().astype("f4"), (1e-3, 1e-2)),
    "thin": ("a random walk as 32768 x 2 x 2 x 2",
             lambda: noise(0, 2**18).cumsum().astype("f4").reshape(-1, 2, 2, 2), (0.05,)),
    "components": ("three random walks, components last",
                   lambda: noise(9, 2**18, 3).cumsum(axis=0).astype("f4"), (0.05,)),
}


def bytes_by_sz3(values, bound):
    config = szConfig()
    config.errorBoundMode = szErrorBoundMode.ABS
    config.absErrorBound = bound
    sizes = []
    for algorithm in (szAlgorithm.INTERP_LORENZO, szAlgorithm.LORENZO_REG):
        config.cmprAlgo = algorithm
        sizes.append(len(sz.compress(values, config)[0]))
    return sizes


def main():
    print("| field | type | bound | szgpu | SZ3 | SZ3 Lorenzo | share |")
    print("|---" * 7 + "|")
    for name in sys.argv[1:] or KINDS:
        what, make, bounds = KINDS[name]
        values = np.ascontiguousarray(make())
        for bound in bounds:
            archive = szgpu.compress(values, abs=bound)
            error = np.abs(szgpu.decompress(archive).astype("f8") - values).max()
            if error > bound:
                sys.exit(f"{name}: an error of {error} exceeds {bound}")
            ours, theirs = len(archive), bytes_by_sz3(values, bound)
            print(f"| {what} | {values.dtype.kind}{8 * values.itemsize} | {bound:g} | {ours:,} | "
                  f"{theirs[0]:,} | {theirs[1]:,} | {ours / min(theirs):.2f} |", flush=True)


if __name__ == "__main__":
    main()
