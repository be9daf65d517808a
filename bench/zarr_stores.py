"""zarr_stores.py - zarr stores of 1 GB by szgpu's codec and by others, written and read by turns.

SPDX-License-Identifier: BSD-3-Clause

  python3 zarr_stores.py FOLDER [--repeats 3]

Needs szgpu, as a wheel installs it, and zarr 3.1 or later; takes blosc2 if it is there. Writes a
field of 1 GB to zarr stores, and to a file of blosc2, in FOLDER, and reads them again. Every
repetition runs all, in rotating order; the median counts. Every result is checked. blosc's zstd is
lossless, so for one store the values are rounded before it (BitRound) to as few bits as keep the
largest value within the bound.
"""
import argparse
import os
import statistics
import tempfile
import time

from comparison import deviation, fields, peers, report

SIDE, CHUNK = 640, 128  # a field of 640^3 float32 is 1.05 GB
REL = "1e-4"


def folder_bytes(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(path) for name in names)


def stores(field, bound, folder):
    """{name: (path, write, read)}"""
    import zarr
    from szgpu.zarr import SzgpuCodec
    from zarr.codecs import BloscCodec, ZstdCodec
    from zarr.codecs.numcodecs import BitRound
    chunks = (CHUNK,) * 3

    def of_zarr(name, **codecs):
        path = os.path.join(folder, name + ".zarr")

        def write():
            zarr.create_array(path, data=field.values, chunks=chunks, overwrite=True, **codecs)

        return path, write, lambda: zarr.open_array(path, mode="r")[...]

    def of_szgpu(name, **settings):
        return of_zarr(name, serializer=SzgpuCodec(**settings), compressors=None)

    blosc = BloscCodec(cname="zstd", clevel=5, shuffle="shuffle")
    rounding = BitRound(keepbits=peers.kept_bits(field.values, bound, is_rounded=True))
    made = {
        f"zarr, szgpu, rel {REL}": of_szgpu("szgpu", abs=bound),
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
    field = fields.waves((SIDE,) * 3)
    bound = float(REL) * field.span
    with tempfile.TemporaryDirectory(prefix="zarr_stores_", dir=asked.folder) as folder:
        made = stores(field, bound, folder)
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
                    errors[name] = deviation.compare(field, restored, bound).over_bound
                else:
                    taken[name].append((middle - start, end - middle))
                del restored
        sizes = {name: folder_bytes(path) for name, (path, _, _) in made.items()}
    print(f"{SIDE}x{SIDE}x{SIDE} float32, {field.values.nbytes / 1e9:.2f} GB, chunks of "
          f"{CHUNK}x{CHUNK}x{CHUNK}, files in the page cache; {fields.machine()}; median of "
          f"{asked.repeats}\n")
    rows = []
    for name, times in taken.items():
        speeds = [field.mb_per_s(statistics.median(way)) for way in zip(*times)]
        rows.append([name, f"{sizes[name] / 1e6:.1f}", f"{field.values.nbytes / sizes[name]:.2f}",
                     f"{speeds[0]:.0f}", f"{speeds[1]:.0f}", f"{errors[name]:.3g}"])
    report.show_table(["store", "size, MB", "ratio", "write, MB/s", "read, MB/s",
                       "error over bound"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where the stores are made, and deleted after")
    parser.add_argument("--repeats", type=int, default=3)
    compare_stores(parser.parse_args())


if __name__ == "__main__":
    main()
