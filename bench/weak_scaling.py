"""weak_scaling.py - parallel HDF5 with and without the filter, as ranks and field grow together.

SPDX-License-Identifier: BSD-3-Clause

  python3 weak_scaling.py --app szgpu_parallel --plugin DIR [--store DIR ...] [--ranks 1,2,4]
                          [--block 256x256x256] [--chunk 64x64x64] [-e 1e-3] [--repeats 5]
                          [--statistic median|min] [--mpiexec "mpirun --oversubscribe"]

DIR of --plugin holds libh5zszgpu.so. Every rank has one block (--block) of f32 values, so the field
grows with the number of ranks. The script writes a file of one snapshot to each store in
turn (for example a folder in memory and one on disk): without the filter, with it, and with
--direct, which compresses the chunks and leaves HDF5 their archives. The time to
write ends when H5Fflush, which syncs the file, returns. As many ranks then read the file, from the
system's cache, and check every value against the bound. Every repetition runs all of these cases
before the next begins; the median (or best) repetition counts. GB/s are 10^9 bytes of the field.
Needs numpy, and an otherwise idle machine.
"""
import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

from comparison.fields import MIB, machine
from comparison.report import show_table

LINE = re.compile(r"(?:write|read): \d+ ranks, .+, (\d+) bytes as (\d+), "
                  r"ratio [\d.]+, ([\d.]+) seconds")
GROWTH = (0, 1, 2)  # the axes that grow, one after the other, as ranks double
CODINGS = ("raw", "szgpu", "direct")  # without the filter, with it, and as archives


def grown(block, ranks):
    """Dims of a field of block_count blocks."""
    dims, axis = list(block), 0
    while ranks > 1:
        if ranks % 2:
            sys.exit("weak_scaling.py: numbers of ranks are powers of two")
        dims[GROWTH[axis % len(GROWTH)]] *= 2
        ranks, axis = ranks // 2, axis + 1
    return dims


def times(numbers):
    return "x".join(map(str, numbers))


def run(asked, ranks, *command):
    """Seconds, and bytes of the field and in the file."""
    parts = [*shlex.split(asked.mpiexec), "-n", str(ranks), asked.app, *command]
    done = subprocess.run(parts, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "HDF5_PLUGIN_PATH": os.path.abspath(asked.plugin)})
    found = LINE.match(done.stdout)
    if done.returncode or not found:
        sys.exit(f"weak_scaling.py: {shlex.join(parts)}: {done.stdout}{done.stderr}")
    return float(found[3]), int(found[1]), int(found[2])


class Cell:
    """The results for one store, number of ranks and coding."""

    def __init__(self, asked, store, ranks, coding):
        self.asked, self.store, self.ranks, self.coding = asked, store, ranks, coding
        self.seconds = {"write": [], "read": []}
        self.field_bytes = self.stored_bytes = 0

    def measure(self):
        with tempfile.TemporaryDirectory(prefix="weak-scaling-", dir=self.store) as folder:
            path = os.path.join(folder, "snapshot.h5")
            bounded = ["-m", "abs", "-e", self.asked.bound]
            coding = {"raw": ["--raw"], "szgpu": bounded, "direct": [*bounded, "--direct"]}
            dims = times(grown(self.asked.block, self.ranks))
            seconds, self.field_bytes, self.stored_bytes = run(
                self.asked, self.ranks, "write", path, "--dims", dims, "--chunk",
                times(self.asked.chunk), *coding[self.coding])
            self.seconds["write"].append(seconds)
            self.seconds["read"].append(run(self.asked, self.ranks, "read", path)[0])

    def result(self, command):
        pick = min if self.asked.statistic == "min" else statistics.median
        return pick(self.seconds[command])

    def gb_per_s(self, command):
        return self.field_bytes / 1e9 / self.result(command)


def show(asked, store, cells):
    head = ["ranks", "field", "MiB", "ratio", *(f"write {coding}" for coding in CODINGS),
            "read raw", "read szgpu", "seconds to write, raw", "szgpu", "direct"]
    rows = []
    for ranks in asked.ranks:
        raw, ours, direct = (cells[store, ranks, coding] for coding in CODINGS)
        rows.append([str(ranks), times(grown(asked.block, ranks)),
                     f"{ours.field_bytes / MIB:.0f}",
                     f"{ours.field_bytes / ours.stored_bytes:.2f}"] +
                    [f"{cell.gb_per_s('write'):.2f}" for cell in (raw, ours, direct)] +
                    [f"{cell.gb_per_s('read'):.2f}" for cell in (raw, ours)] +
                    [f"{cell.result('write'):.3f}" for cell in (raw, ours, direct)])
    print(f"{store}, GB/s\n")
    show_table(head, rows)


def numbers(text):
    return [int(part) for part in re.split("[x,]", text)]


def main():
    parser = argparse.ArgumentParser(description="weak scaling of the HDF5 filter, in markdown")
    parser.add_argument("--app", required=True, help="path of szgpu_parallel")
    parser.add_argument("--plugin", required=True, help="folder of libh5zszgpu.so")
    parser.add_argument("--store", action="append", help="folder for files; may be given often")
    parser.add_argument("--ranks", type=numbers, default=[1, 2, 4])
    parser.add_argument("--block", type=numbers, default=[256, 256, 256], help="of a rank")
    parser.add_argument("--chunk", type=numbers, default=[64, 64, 64])
    parser.add_argument("-e", dest="bound", default="1e-3", help="the absolute bound")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--statistic", choices=("median", "min"), default="median")
    parser.add_argument("--mpiexec", default="mpirun --oversubscribe")
    asked = parser.parse_args()
    stores = asked.store or [tempfile.gettempdir()]
    cells = {(store, ranks, coding): Cell(asked, store, ranks, coding)
             for store in stores for ranks in asked.ranks for coding in CODINGS}
    for _ in range(asked.repeats):
        for cell in cells.values():
            cell.measure()
    print(f"Measured by bench/weak_scaling.py on: {machine()}; a block of {times(asked.block)} f32 "
          f"values a rank, chunks of {times(asked.chunk)}, abs {asked.bound}, {asked.statistic} of "
          f"{asked.repeats}.\n")
    for store in stores:
        show(asked, store, cells)


if __name__ == "__main__":
    main()
