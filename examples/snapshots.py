"""snapshots.py - a simulation that writes compressed snapshots while it runs.

SPDX-License-Identifier: BSD-3-Clause

usage: python snapshots.py [--steps COUNT] [--every COUNT] [--abs BOUND] [OUT.h5]

The simulation is the Gray-Scott model of two substances that react and diffuse, on a square of
256 x 256 cells. Its snapshots go to a dataset of HDF5 that grows by one chunk each. Then the file
is read back as an analysis would: how much of the second substance there is, snapshot by snapshot,
and how steep its fronts are, beside the same from the exact values.
"""
import argparse

import h5py
import numpy as np
import szgpu.hdf5

SIDE = 256
FEED, KILL, DIFFUSION_U, DIFFUSION_V = 0.035, 0.062, 0.16, 0.08


def start():
    random = np.random.default_rng(0)
    u, v = np.ones((SIDE, SIDE), "f4"), np.zeros((SIDE, SIDE), "f4")
    for y, x in random.integers(0, SIDE - 12, (20, 2)):
        u[y : y + 12, x : x + 12], v[y : y + 12, x : x + 12] = 0.5, 0.25
    return u, v


def spread(a):
    return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a


def step(u, v):
    reaction = u * v * v
    u += DIFFUSION_U * spread(u) - reaction + FEED * (1 - u)
    v += DIFFUSION_V * spread(v) + reaction - (FEED + KILL) * v


def steepness(v):
    return float(np.sqrt(sum(g**2 for g in np.gradient(v.astype("f8")))).mean())


def simulate(path, steps, every, bound):
    """Writes the file; returns what the analysis finds in the exact values."""
    exact = []
    u, v = start()
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset(
            "v", shape=(0, SIDE, SIDE), maxshape=(None, SIDE, SIDE), chunks=(1, SIDE, SIDE),
            dtype="f4", **szgpu.hdf5.Filter(abs=bound),
        )
        for i in range(1, steps + 1):
            step(u, v)
            if i % every == 0:
                dataset.resize(len(dataset) + 1, axis=0)
                dataset[-1] = v
                file.flush()  # what is written so far survives a crash
                exact.append((float(v.sum(dtype="f8")), steepness(v), v.copy()))
    return exact


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--every", type=int, default=400)
    parser.add_argument("--abs", type=float, default=1e-4, metavar="BOUND")
    parser.add_argument("path", nargs="?", default="snapshots.h5", metavar="OUT.h5")
    arguments = parser.parse_args()

    exact = simulate(arguments.path, arguments.steps, arguments.every, arguments.abs)
    print(f"{'snapshot':>8}{'sum of v':>12}{'exact':>12}{'steepness':>12}{'exact':>12}{'error':>12}")
    with h5py.File(arguments.path) as file:
        dataset = file["v"]
        for i, (total, slope, values) in enumerate(exact):
            v = dataset[i]
            error = float(abs(v.astype("f8") - values).max())
            print(f"{i:>8}{v.sum(dtype='f8'):>12.3f}{total:>12.3f}", end="")
            print(f"{steepness(v):>12.6f}{slope:>12.6f}{error:>12.3g}")
            if error > arguments.abs:
                raise SystemExit("snapshots.py: a value is not within its bound")
        stored = dataset.id.get_storage_size()
        print(f"{dataset.nbytes:,} bytes of values in {stored:,}: ratio {dataset.nbytes / stored:.1f}")


if __name__ == "__main__":
    main()
