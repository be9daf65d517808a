"""tile_shapes.py - models what tile shapes and edge rules cost in the linear layout.

SPDX-License-Identifier: BSD-3-Clause

  python3 tile_shapes.py FOLDER_OF_FIELDS

For each field (NAME_100x500x500.f32 or .f64, raw or .zst), bound and tile shape the script prints
the ratio, from exact Huffman lengths of the best set of axes, with gaps and tile bits but without
zstd. "no edge" does not predict the values with coordinate 0 on the differenced axes along the
other axes.
"""
import heapq
import itertools
import os
import subprocess
import sys

import numpy as np

SHAPES = {3: [(8, 8, 32), (16, 8, 32), (32, 8, 32), (16, 16, 16), (8, 16, 32)],
          2: [(64, 32), (64, 64), (128, 32), (32, 128)], 1: [(2048,), (4096,)]}
FILLS = np.array([1e20, -1e34])
RADIUS, GAP_SHARE = 512, 4 / 256


def huffman_bits(counts):
    heap = [int(c) for c in counts if c]
    if len(heap) == 1:
        return heap[0]
    heapq.heapify(heap)
    total = 0
    while len(heap) > 1:
        pair = heapq.heappop(heap) + heapq.heappop(heap)
        total += pair
        heapq.heappush(heap, pair)
    return total


def difference(values, axis, tile):
    inner = np.arange(1, values.shape[axis])
    inner = inner[inner % tile != 0]
    result = values.copy()
    at = [slice(None)] * values.ndim
    before = list(at)
    at[axis], before[axis] = inner, inner - 1
    result[tuple(at)] -= values[tuple(before)]
    return result


def deltas(points, axes, shape, has_edge):
    result = points
    for axis in axes:
        result = difference(result, axis, shape[axis])
    others = [axis for axis in range(points.ndim) if axis not in axes]
    if has_edge and others:
        edge = tuple(slice(None, None, shape[a]) if a in axes else slice(None)
                     for a in range(points.ndim))
        part = result[edge]
        for axis in others:
            part = difference(part, axis, shape[axis])
        result = result.copy()
        result[edge] = part
    return result


def coded_bits(values):
    escaped = np.abs(values) >= RADIUS
    counts = np.bincount((values[~escaped] + RADIUS).astype(np.int64), minlength=2 * RADIUS)
    counts[0] = escaped.sum()
    return huffman_bits(counts) + 24 * int(escaped.sum())


def ratio(field, points, shape, has_edge):
    sets = [axes for count in range(1, points.ndim + 1)
            for axes in itertools.combinations(range(points.ndim), count)]
    bits, axes = min((coded_bits(deltas(points, axes, shape, has_edge)), axes) for axes in sets)
    tiles = np.prod([-(-n // t) for n, t in zip(points.shape, shape)])
    names = "".join("zyx"[3 - points.ndim:][axis] for axis in axes)
    return field.nbytes * 8 / (bits * (1 + GAP_SHARE) + 16 * tiles), names


def load(path):
    name = os.path.basename(path).removesuffix(".zst")
    stem, kind = name.rsplit(".", 1)
    if path.endswith(".zst"):
        data = subprocess.run(["zstd", "-dqc", path], stdout=subprocess.PIPE, check=True).stdout
    else:
        with open(path, "rb") as file:
            data = file.read()
    dims = [int(n) for n in stem.rsplit("_", 1)[1].split("x")]
    return stem, np.frombuffer(data, {"f32": np.float32, "f64": np.float64}[kind]).reshape(dims)


def lattice(field, rel):
    """Points of step 2 b; NaN, infinite and fill values take the point before in their row."""
    good = np.isfinite(field) & ~np.isin(field, FILLS.astype(field.dtype))
    values = field[good].astype(np.float64)
    step = 2 * rel * (values.max() - values.min())
    flat = np.where(good, np.rint(np.where(good, field, 0) / step), 0).astype(np.int64).reshape(-1)
    last = np.maximum.accumulate(np.where(good.reshape(-1), np.arange(flat.size), 0))
    return flat[last].reshape(field.shape)


def main():
    folder = sys.argv[1]
    for name in sorted(os.listdir(folder)):
        if not name.removesuffix(".zst").endswith((".f32", ".f64")):
            continue
        stem, field = load(os.path.join(folder, name))
        for rel in (1e-2, 1e-3, 1e-4):
            points = lattice(field, rel)
            cells = []
            for shape in SHAPES[field.ndim]:
                with_edge, axes = ratio(field, points, shape, True)
                without, _ = ratio(field, points, shape, False)
                cells.append(f"{'x'.join(map(str, shape))} {with_edge:.2f} {axes} "
                             f"(no edge {without:.2f})")
            print(f"{stem} {rel:g}: " + "; ".join(cells), flush=True)


if __name__ == "__main__":
    main()
