"""compare_h5.py - compares szgpu's HDF5 filter with hdf5plugin's SZ3 filter and with the library.

SPDX-License-Identifier: BSD-3-Clause

  python3 compare_h5.py --plugin DIR [--bench PATH] [--fields DIR] [--repeats 9]
                        [--statistic min|median] [--clock wall|cpu] [--only TEXT] [--predictors]

DIR of --plugin holds libh5zszgpu.so. Needs h5py and hdf5plugin, which are among the packages of
compare_requirements.txt. Both filters get the same values, the same chunks and the same absolute
bound, rel * (max - min) over the values that are not fill. They use one thread and files in memory
(HDF5's core driver, no disk). Every repetition runs both, in rotating order, before the next
begins, so that a slow spell of the machine affects both; the median (or best) repetition counts.
The time to write includes closing the dataset, and the time to read includes opening it. Each real
field is one chunk; the larger field has chunks of 1, 4 and 16 MiB. With --bench, the path of
bench_h5, the script also runs that on the larger field.

With --predictors it compares szgpu's predictors with each other instead, in chunks of 128 KiB and
1 MiB of every field: bytes of all chunks, and speeds. Speeds are MB/s, 10^6 bytes of the field;
they need an otherwise idle machine, or CPU time (--clock cpu).
"""
import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile

from comparison import deviation, fields
from comparison.fields import MIB
from comparison.report import show_table
from comparison.runners import CLOCKS

RELS = ("1e-2", "1e-3", "1e-4")
FILL = -1e34  # of the one real field that has one
CHUNK_MIB = (1, 4, 16)
SMALL_CHUNK_KIB = (128, 1024)
PREDICTORS = {"lorenzo": 1 << 9, "auto": 0, "interpolation": 1 << 10}  # bits of the filter's options


# ---- filters: arguments of create_dataset for a bound ----

class Szgpu:
    def __init__(self, filter_id, name="szgpu", options=0):
        self.filter_id, self.name, self.options = filter_id, name, options

    def arguments(self, bound):
        low, high = struct.unpack("<II", struct.pack("<d", bound))
        return {"compression": self.filter_id,
                "compression_opts": (1, 1, low, high, self.options)}


class Sz3:
    name = "SZ3"

    def arguments(self, bound):
        import hdf5plugin
        return dict(hdf5plugin.SZ3(absolute=bound))


# ---- measuring ----

def cut(shape, itemsize, most_bytes):
    """Chunk dims: halves the longest dim (of several, the slowest) until a chunk is small."""
    dims, byte_count = list(shape), itemsize
    for size in dims:
        byte_count *= size
    while byte_count > most_bytes:
        longest = dims.index(max(dims))
        dims[longest] //= 2
        byte_count //= 2
    return tuple(dims)


def measure(one, field, bound, chunk, clock):
    """Seconds to write and to read, bytes in the file, the values read."""
    import h5py
    import numpy as np
    values = field.values
    fill = FILL if (values == values.dtype.type(FILL)).any() else None
    restored = np.empty_like(values)
    with h5py.File("compare_h5.h5", "w", driver="core", backing_store=False) as file:
        dataset = file.create_dataset("field", values.shape, values.dtype, chunks=chunk,
                                      fillvalue=fill, **one.arguments(bound))
        start = clock()
        dataset.write_direct(values)
        del dataset  # closes it, which writes the chunk cache
        middle = clock()
        dataset = file["field"]
        dataset.read_direct(restored)
        seconds = middle - start, clock() - middle
        stored_bytes = dataset.id.get_storage_size()
        masks = {dataset.id.get_chunk_info(i).filter_mask
                 for i in range(dataset.id.get_num_chunks())}
        if masks != {0}:
            sys.exit(f"compare_h5.py: {one.name} left chunks out: {masks}")
    return seconds + (stored_bytes, restored)


class Cell:
    """The result of one filter: ratio, MB/s both ways, whether the bound held."""

    def __init__(self, field, bound, samples, statistic):
        best = min if statistic == "min" else statistics.median
        self.stored_bytes = samples[0][2]
        self.ratio = field.values.nbytes / self.stored_bytes
        self.write = field.mb_per_s(best(s[0] for s in samples))
        self.read = field.mb_per_s(best(s[1] for s in samples))
        self.kept = deviation.compare(field, samples[0][3], bound).is_kept


def race(tools, field, bound, chunk, asked):
    """{filter's name: Cell}; every repetition runs all filters."""
    samples = {tool.name: [] for tool in tools}
    for turn in range(asked.repeats):
        for place in range(len(tools)):
            tool = tools[(place + turn) % len(tools)]
            sample = measure(tool, field, bound, chunk, CLOCKS[asked.clock])
            samples[tool.name].append(sample if turn == 0 else sample[:3])
    return {name: Cell(field, bound, taken, asked.statistic) for name, taken in samples.items()}


# ---- the report ----

HEAD = ["field", "rel", "chunk, MiB", "szgpu, bytes", "SZ3, bytes", "szgpu, ratio", "SZ3, ratio",
        "szgpu, write / read", "SZ3, write / read", "szgpu over SZ3"]


def row(field, rel, chunk_bytes, cells):
    ours, theirs = cells["szgpu"], cells["SZ3"]
    star = {True: "", False: "*"}
    return [field.file_name(), rel, f"{chunk_bytes / MIB:.1f}",
            str(ours.stored_bytes), str(theirs.stored_bytes),
            f"{ours.ratio:.2f}{star[ours.kept]}", f"{theirs.ratio:.2f}{star[theirs.kept]}",
            f"{ours.write:.0f} / {ours.read:.0f}", f"{theirs.write:.0f} / {theirs.read:.0f}",
            f"{ours.write / theirs.write:.2f} / {ours.read / theirs.read:.2f}"]


def show_filters(tools, asked):
    print(f"## Beside the SZ3 filter ({asked.statistic} of {asked.repeats})\n\n"
          "A star: the bound was broken on at least one value.\n")
    rows, gains = [], []
    cases = [(field, rel, field.values.shape)
             for field in fields.real_fields(asked.fields, asked.only) for rel in RELS]
    large = fields.waves()
    cases += [(large, rel, cut(large.values.shape, large.values.itemsize, size * MIB))
              for rel in RELS[1:] for size in CHUNK_MIB if asked.only in large.name]
    for field, rel, chunk in cases:
        chunk_bytes = field.values.itemsize
        for size in chunk:
            chunk_bytes *= size
        cells = race(tools, field, float(rel) * field.span, chunk, asked)
        rows.append(row(field, rel, chunk_bytes, cells))
        gains.append([getattr(cells["szgpu"], way) / getattr(cells["SZ3"], way)
                      for way in ("write", "read")])
    show_table(HEAD, rows)
    for way, word in ((0, "writing"), (1, "reading")):
        sizes = [pair[way] for pair in gains]
        print(f"- {word}, szgpu over SZ3: min {min(sizes):.2f}, median "
              f"{statistics.median(sizes):.2f}, 3 or more in "
              f"{sum(size >= 3 for size in sizes)} of {len(sizes)}")
    print(flush=True)


def show_predictors(asked):
    tools = [Szgpu(asked.filter, name, options) for name, options in PREDICTORS.items()]
    print(f"## Predictors, by size of the chunks ({asked.statistic} of {asked.repeats})\n\n"
          "Ratio; write / read, MB/s. A star: the bound was broken on at least one value.\n")
    rows, sizes = [], []
    for field in fields.real_fields(asked.fields, asked.only):
        for kib in SMALL_CHUNK_KIB:
            chunk = cut(field.values.shape, field.values.itemsize, kib << 10)
            for rel in RELS:
                cells = race(tools, field, float(rel) * field.span, chunk, asked)
                lorenzo, auto = cells["lorenzo"], cells["auto"]
                sizes.append(auto.stored_bytes / lorenzo.stored_bytes)
                rows.append([field.file_name(), rel, "x".join(map(str, chunk))] + [
                    f"{cells[name].ratio:.2f}{'' if cells[name].kept else '*'}; "
                    f"{cells[name].write:.0f} / {cells[name].read:.0f}" for name in PREDICTORS] + [
                    f"{sizes[-1]:.3f}", f"{auto.write / lorenzo.write:.2f}"])
    show_table(["field", "rel", "chunk"] + list(PREDICTORS) + ["auto over lorenzo: bytes",
                                                          "write speed"], rows)
    print(f"- bytes, auto over lorenzo: {min(sizes):.3f} to {max(sizes):.3f}, geometric mean "
          f"{statistics.geometric_mean(sizes):.3f}\n", flush=True)


def show_bench(asked):
    field = fields.waves()
    print(f"## Beside the library alone (bench_h5, median of {asked.repeats})\n")
    rows = []
    with tempfile.TemporaryDirectory(prefix="compare_h5_") as folder:
        path = field.save(folder)
        for rel in RELS[1:]:
            command = [asked.bench, path, "x".join(map(str, field.values.shape)),
                       repr(float(rel) * field.span), str(asked.repeats)]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            for one in json.loads(done.stdout)["chunks"]:
                speeds = [f"{one[way + '_write_mb_per_s']:.0f} / {one[way + '_read_mb_per_s']:.0f}"
                          for way in ("library", "filter", "filter_by_chunks", "plain")]
                shares = [" / ".join(f"{one[f'{way}_{direction}_of_library{clock}']:.2f}"
                                     for direction in ("write", "read"))
                          for way in ("filter", "filter_by_chunks")
                          for clock in ("", "_by_cpu_time")]
                size = f"{one['chunk_bytes'] / MIB:.0f}"
                rows.append([rel, size, f"{one['ratio']:.2f}"] + speeds + shares)
    show_table(["rel", "chunk, MiB", "ratio", "library", "filter", "by chunks", "no filter",
           "filter, of the library", "by processor time", "by chunks, of the library",
           "by processor time"], rows)


def main():
    parser = argparse.ArgumentParser(description="szgpu's HDF5 filter beside SZ3's, in markdown")
    parser.add_argument("--plugin", required=True, help="folder of libh5zszgpu.so")
    parser.add_argument("--filter", type=int, default=480, help="the id that it was built with")
    parser.add_argument("--bench", help="path of bench_h5; without it the filters alone")
    parser.add_argument("--fields", default=fields.REAL_FIELDS,
                        help="folder of the real fields")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--statistic", choices=("min", "median"), default="median")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--only", default="", help="only fields whose name has this in it")
    parser.add_argument("--predictors", action="store_true", help="szgpu's predictors instead")
    asked = parser.parse_args()
    os.environ["HDF5_PLUGIN_PATH"] = os.path.abspath(asked.plugin)
    import h5py
    import hdf5plugin
    print(f"Measured by bench/compare_h5.py on: {fields.machine()}. hdf5plugin {hdf5plugin.version}, "
          f"h5py {h5py.version.version}, HDF5 {h5py.version.hdf5_version}.\n", flush=True)
    if asked.predictors:
        show_predictors(asked)
        return
    show_filters([Szgpu(asked.filter), Sz3()], asked)
    if asked.bench:
        asked.bench = os.path.abspath(asked.bench)
        show_bench(asked)


if __name__ == "__main__":
    main()
