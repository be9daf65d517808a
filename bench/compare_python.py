"""compare_python.py - the package szgpu beside other compressors that Python has, in turns.

SPDX-License-Identifier: BSD-3-Clause

  python3 compare_python.py [--fields DIR] [--repeats 5] [--only TEXT] [--store DIR]

Needs szgpu, as a wheel installs it, and takes what else is installed of zfpy, pysz (SZ3), blosc2,
numcodecs and zarr; it names what is missing. (numcodecs 0.16 cannot be imported beside zfpy
1.0.1.post0: take 1.0.1.) All run in one process, in memory, with new results as users get them.
Every repetition runs all, in rotating order; the median counts. Every result is checked.

With a bound all get the same absolute one: rel * (max - min) over the values that are not fill.
blosc2 and zarr's zstd are lossless, so before them the values are cut (TRUNC_PREC) or rounded
(BitRound) to as few bits as keep the largest value within the bound. A fill value that is larger
than all others then changes, by more than the bound: a star shows it.

With --store the script writes a field of 1 GB to zarr stores, and to a file of blosc2, in DIR, and
reads them again. Speeds are MB/s, 10^6 bytes of the field.
"""
import argparse
import importlib
import importlib.metadata
import math
import os
import shutil
import statistics
import sys
import time

import numpy as np

from compare_cpu import FILL, HERE, Field, Sz3, label, machine, real_fields, table

RELS = ("1e-2", "1e-3", "1e-4")
LOSSLESS = "lossless"
SAMPLE = ("../datasets/sample/navywind_u_36x73x144.f32", (36, 73, 144))
SIDE, CHUNK = 640, 128  # a field of 640^3 float32 is 1.05 GB
STORE_REL = "1e-4"
MANTISSA_BITS = {"f32": 23, "f64": 52}
THREADS = (1, 2)
BLOCK = 1 << 20  # values that are compared at once


def bound_of(field, rel):
    return float(rel) * field.span


def kept_bits(field, bound, is_rounded):
    """How many bits of mantissas keep the values within the bound, if the others are cut off or
    the values are rounded to so many, which saves a bit."""
    is_fill = field.values == field.values.dtype.type(FILL)
    values = field.values[np.isfinite(field.values) & ~is_fill]
    largest = math.frexp(float(np.abs(values).max()))[1] - 1  # 2^largest <= max < 2^(largest + 1)
    needed = largest - math.floor(math.log2(bound)) - is_rounded
    return min(MANTISSA_BITS[field.kind], max(1, needed))


# ---- tools: pack(field, rel) gives what is stored, unpack(packed, field) the values ----

class Szgpu:
    modes = (*RELS, LOSSLESS)

    def __init__(self, predictor, threads):
        import szgpu
        self.name = "szgpu" if predictor == "auto" else f"szgpu, {predictor}"
        self.threads, self.predictor = threads, predictor
        self.compressor = szgpu.Compressor(threads=threads, backend="cpu")

    def pack(self, field, rel):
        exact = {"lossless": True} if rel == LOSSLESS else {"abs": bound_of(field, rel)}
        return self.compressor.compress(field.values, predictor=self.predictor, **exact)

    def unpack(self, packed, field):
        return self.compressor.decompress(packed)


class SzThree:
    name, threads, modes = "pysz (SZ3)", 1, RELS

    def __init__(self):
        self.sz3 = Sz3(self.name, "[GlobalSettings]\n")

    def pack(self, field, rel):
        self.sz3.config.absErrorBound = bound_of(field, rel)
        return self.sz3.sz.compress(field.values, self.sz3.config)[0]

    def unpack(self, packed, field):
        return self.sz3.sz.decompress(packed, field.values.dtype, field.values.shape)[0]


class Zfp:
    name, threads, modes = "zfpy", 1, (*RELS, LOSSLESS)

    def __init__(self):
        import zfpy
        self.zfpy = zfpy

    def pack(self, field, rel):
        tolerance = -1 if rel == LOSSLESS else bound_of(field, rel)
        return self.zfpy.compress_numpy(field.values, tolerance=tolerance, write_header=True)

    def unpack(self, packed, field):
        return self.zfpy.decompress_numpy(packed)


class Blosc2:
    name, modes = "blosc2 zstd", (*RELS, LOSSLESS)

    def __init__(self, threads):
        import blosc2
        self.blosc2, self.threads = blosc2, threads

    def pack(self, field, rel):
        filters, meta = [self.blosc2.Filter.SHUFFLE], [0]
        if rel != LOSSLESS:
            filters.insert(0, self.blosc2.Filter.TRUNC_PREC)
            meta.insert(0, kept_bits(field, bound_of(field, rel), False))
        return self.blosc2.compress2(
            field.values, codec=self.blosc2.Codec.ZSTD, clevel=5, filters=filters,
            filters_meta=meta, typesize=field.values.itemsize, nthreads=self.threads)

    def unpack(self, packed, field):
        restored = self.blosc2.decompress2(packed, nthreads=self.threads)
        return np.frombuffer(restored, field.values.dtype).reshape(field.values.shape)


class ZarrZstd:
    """What zarr does to a chunk: zstd at level 0, which is 3, as it is by default."""
    name, threads, modes = "zarr's zstd", 1, (*RELS, LOSSLESS)

    def __init__(self):
        import numcodecs
        self.zstd, self.round = numcodecs.Zstd(level=0), numcodecs.BitRound

    def pack(self, field, rel):
        values = field.values
        if rel != LOSSLESS:
            values = self.round(kept_bits(field, bound_of(field, rel), True)).encode(values)
        return self.zstd.encode(values)

    def unpack(self, packed, field):
        restored = self.zstd.decode(packed)
        return np.frombuffer(restored, field.values.dtype).reshape(field.values.shape)


def tools_there_are():
    """All tools whose package can be imported; those that cannot are printed."""
    makers = [("szgpu", lambda n=n, p=p: Szgpu(p, n))
              for p in ("auto", "lorenzo") for n in THREADS]
    makers += [("pysz", SzThree), ("zfpy", Zfp)]
    makers += [("blosc2", lambda n=n: Blosc2(n)) for n in THREADS] + [("numcodecs", ZarrZstd)]
    tools, versions, missing = [], {}, []
    for package, make in makers:
        try:
            importlib.import_module(package)
        except Exception as error:  # numcodecs has a ValueError for some versions of zfpy
            missing.append(f"{package} ({error})")
            continue
        tools.append(make())
        versions[package] = importlib.metadata.version(package)
    for one in dict.fromkeys(missing):
        print(f"Left out: {one}.\n")
    return tools, versions


# ---- measuring ----

class Cell:
    """One tool on one field: ratio, MB/s both ways, and the largest error over the bound."""

    def __init__(self, field, rel, stored_bytes, error, times):
        self.ratio, self.error = field.values.nbytes / stored_bytes, error
        self.speeds = [field.mb_per_s(statistics.median(way)) for way in zip(*times)]
        self.kept = error <= (0 if rel == LOSSLESS else 1)

    def shown_ratio(self):
        return f"{self.ratio:.2f}" + ("" if self.kept else "*")

    def shown_speeds(self):
        return f"{self.speeds[0]:.0f} / {self.speeds[1]:.0f}"


def error_over_bound(values, restored, bound):
    """The largest error over the bound; without a bound 0 if every bit came back. Both are of the
    same type, and in extended precision, so that the difference is exact or nearly so."""
    if restored.dtype != values.dtype or restored.shape != values.shape:
        sys.exit(f"compare_python.py: got {restored.dtype} {restored.shape} back")
    if bound is None:
        return 0.0 if restored.tobytes() == values.tobytes() else math.inf
    most = np.longdouble(0)
    for first in range(0, values.size, BLOCK):
        x, y = (a.reshape(-1)[first:first + BLOCK] for a in (values, restored))
        differs = ~((x == y) | (np.isnan(x) & np.isnan(y)))
        if differs.any():
            most = max(most, np.abs(x[differs].astype(np.longdouble) - y[differs]).max())
    return float(most / np.longdouble(bound))


def race(tools, field, rel, repeats):
    """{(tool's name, threads): Cell}; a run that does not count comes first, and is checked."""
    times, first = {tool: [] for tool in tools}, {}
    bound = None if rel == LOSSLESS else bound_of(field, rel)
    for turn in range(repeats + 1):
        for place in range(len(tools)):
            tool = tools[(place + turn) % len(tools)]
            start = time.perf_counter()
            packed = tool.pack(field, rel)
            middle = time.perf_counter()
            restored = tool.unpack(packed, field)
            end = time.perf_counter()
            if turn == 0:
                first[tool] = len(packed), error_over_bound(field.values, restored, bound)
            else:
                times[tool].append((middle - start, end - middle))
            del packed, restored  # before the next tool asks for memory
    return {(tool.name, tool.threads): Cell(field, rel, *first[tool], times[tool])
            for tool in tools}


def fields_of(asked):
    path, shape = SAMPLE
    sample = np.fromfile(os.path.join(HERE, path), "f4").reshape(shape)
    found = [Field("sample", sample)] if asked.only in "sample" else []
    if os.path.isdir(asked.fields):
        found += real_fields(asked.fields, asked.only)
    return found


# ---- the tables ----

def title(name, threads):
    return f"{name}, {threads} threads" if threads > 1 else name


def show(results, keys, modes, repeats):
    chosen = [one for one in results if one[1] in modes]
    keys = [key for key in keys if key in chosen[0][2]]
    kinds = [key for key in keys if key[1] == 1]
    lossless = modes == (LOSSLESS,)
    lead = ["field"] if lossless else ["field", "rel"]

    def cells(show_one, of):
        return [[label(field)] + ([] if lossless else [rel]) + [show_one(got[key]) for key in of]
                for field, rel, got in chosen]

    print("### " + ("Lossless: ratio" if lossless else "Ratio with a bound") + "\n")
    table(lead + [title(*key) for key in kinds], cells(Cell.shown_ratio, kinds))
    if not lossless:
        words = []
        for key in kinds:
            errors = [got[key].error for _, _, got in chosen if got[key].kept]
            broken = len(chosen) - len(errors)
            words.append(f"{title(*key)} {max(errors, default=0):.6f}"
                         + (f" (and {broken} rows beyond it)" if broken else ""))
        print("Largest error over the bound: " + ", ".join(words) + ".\n")
    print(f"### {'Lossless' if lossless else 'With a bound'}: compress / restore, MB/s "
          f"(median of {repeats})\n")
    table(lead + [title(*key) for key in keys], cells(Cell.shown_speeds, keys))
    medians = []
    for key in keys:
        ways = [statistics.median(got[key].speeds[way] for _, _, got in chosen) for way in (0, 1)]
        mean = statistics.geometric_mean(got[key].ratio for _, _, got in chosen)
        medians.append([title(*key), f"{mean:.2f}", f"{ways[0]:.0f} / {ways[1]:.0f}"])
    print("Of all rows:\n")
    table(["", "geometric mean of ratios", "median of speeds, MB/s"], medians)


def compare(asked):
    tools, versions = tools_there_are()
    said = ", ".join(f"{name} {version}" for name, version in versions.items())
    print(f"Measured by bench/compare_python.py on: {machine()}. {said}.\n", flush=True)
    fields = fields_of(asked)
    results = []
    for field in fields:
        for rel in (*RELS, LOSSLESS):
            able = [tool for tool in tools if rel in tool.modes]
            results.append((field, rel, race(able, field, rel, asked.repeats)))
    keys = [(tool.name, tool.threads) for tool in tools]
    show(results, keys, RELS, asked.repeats)
    exact = [key for key in keys if key[0] != "szgpu, lorenzo"]  # lossless frames do not predict
    show(results, exact, (LOSSLESS,), asked.repeats)


# ---- stores of 1 GB ----

def store_field():
    """Waves of several lengths and a little noise, from fixed random numbers."""
    rng = np.random.default_rng(256)
    values = 2e-3 * rng.standard_normal((SIDE,) * 3, dtype=np.float32)
    z, y, x = np.ogrid[:SIDE, :SIDE, :SIDE]
    for _ in range(8):
        kz, ky, kx = rng.uniform(0.01, 0.12, 3)
        phase, height = rng.uniform(0, 2 * np.pi), rng.uniform(0.2, 1)
        plane = (height * np.sin(kz * z + phase) * np.sin(ky * y + 1)).astype(np.float32)
        values += plane * np.sin(kx * x + 2).astype(np.float32)
    return Field("waves", values)


def folder_bytes(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(path) for name in names)


def stores(field, folder):
    """{name: (path, write, read, whether the bound is kept exactly)}"""
    import zarr
    from szgpu.zarr import SzgpuCodec
    from zarr.codecs import BloscCodec, ZstdCodec
    from zarr.codecs.numcodecs import BitRound
    bound = bound_of(field, STORE_REL)
    chunks = (CHUNK,) * 3

    def of_zarr(name, **codecs):
        path = os.path.join(folder, name + ".zarr")

        def write():
            zarr.create_array(path, data=field.values, chunks=chunks, overwrite=True, **codecs)

        return path, write, lambda: zarr.open_array(path, mode="r")[...]

    def of_szgpu(name, **settings):
        return of_zarr(name, serializer=SzgpuCodec(**settings), compressors=None)

    blosc = BloscCodec(cname="zstd", clevel=5, shuffle="shuffle")
    rounding = BitRound(keepbits=kept_bits(field, bound, True))
    made = {
        f"zarr, szgpu, rel {STORE_REL}": of_szgpu("szgpu", abs=bound),
        "zarr, szgpu, the same, lorenzo": of_szgpu("lorenzo", abs=bound, predictor="lorenzo"),
        "zarr, blosc zstd, rounded": of_zarr("rounded", filters=[rounding], compressors=blosc),
        "zarr, szgpu, lossless": of_szgpu("lossless", lossless=True),
        "zarr, blosc zstd": of_zarr("blosc", compressors=blosc),
        "zarr, zstd": of_zarr("zstd", compressors=ZstdCodec(level=0)),
    }
    try:
        import blosc2
    except ImportError:
        print("Left out: blosc2.\n")
        return made
    path = os.path.join(folder, "blosc2.b2nd")
    settings = {"codec": blosc2.Codec.ZSTD, "clevel": 5, "filters": [blosc2.Filter.SHUFFLE],
                "filters_meta": [0]}

    def write():
        blosc2.asarray(field.values, urlpath=path, mode="w", chunks=chunks, cparams=settings)

    made["blosc2's own file, zstd"] = path, write, lambda: blosc2.open(path)[...]
    return made


def compare_stores(asked):
    field = store_field()
    folder = os.path.join(asked.store, "compare_python_stores")
    os.makedirs(folder, exist_ok=True)
    try:
        made = stores(field, folder)
        taken, errors = {name: [] for name in made}, {}
        names = list(made)
        for turn in range(asked.repeats + 1):
            for name in names[turn % len(names):] + names[:turn % len(names)]:
                _, write, read = made[name]
                start = time.perf_counter()
                write()
                middle = time.perf_counter()
                restored = read()
                end = time.perf_counter()
                if turn == 0:
                    errors[name] = error_over_bound(field.values, restored,
                                                    bound_of(field, STORE_REL))
                else:
                    taken[name].append((middle - start, end - middle))
                del restored
        sizes = {name: folder_bytes(path) for name, (path, _, _) in made.items()}
    finally:
        shutil.rmtree(folder)
    print(f"{SIDE}x{SIDE}x{SIDE} float32, {field.values.nbytes / 1e9:.2f} GB, chunks of "
          f"{CHUNK}x{CHUNK}x{CHUNK}, files in the page cache; {machine()}; median of "
          f"{asked.repeats}\n")
    rows = []
    for name, times in taken.items():
        speeds = [field.mb_per_s(statistics.median(way)) for way in zip(*times)]
        rows.append([name, f"{sizes[name] / 1e6:.1f}", f"{field.values.nbytes / sizes[name]:.2f}",
                     f"{speeds[0]:.0f}", f"{speeds[1]:.0f}", f"{errors[name]:.3g}"])
    table(["store", "size, MB", "ratio", "write, MB/s", "read, MB/s", "error over bound"], rows)


def main():
    default_fields = os.environ.get("SZGPU_FIELDS") or os.path.join(HERE, "../../shared/datasets")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fields", default=default_fields, help="folder of the real fields")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="only fields whose name has this in it")
    parser.add_argument("--store", help="stores of 1 GB in this folder, instead of the tables")
    asked = parser.parse_args()
    if asked.store:
        compare_stores(asked)
    else:
        compare(asked)


if __name__ == "__main__":
    main()
