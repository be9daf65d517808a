"""zarr_ranges.py - what a box of a large chunk takes from a web server: bytes, requests, time.

SPDX-License-Identifier: BSD-3-Clause

  python3 zarr_ranges.py FOLDER [--side 512] [--latency 0.02] [--speed 100] [--limit]

Needs szgpu, as a wheel installs it, zarr 3.1 or later, fsspec and aiohttp. Writes arrays of one
chunk (and of one shard of eight chunks) in FOLDER, and serves them by a web server with ranges on
this machine, which waits `latency` seconds before each answer and sends `speed` MB/s. Reads boxes
of 64^3 values at four places, and checks them. The chunk is read whole for comparison.
--limit: smaller chunks, each read whole and by ranges, to see from which size on ranges pay.
"""
import argparse
import pathlib
import statistics
import sys
import tempfile
import time

from comparison import fields, report

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python" / "tests"))
BOX = 64
REL = 1e-4


def write(path, values, bound, predictor, **more):
    import zarr
    from szgpu.zarr import SzgpuCodec
    zarr.create_array(str(path), data=values, serializer=SzgpuCodec(abs=bound, predictor=predictor),
                      compressors=None, **more)


def boxes(side):
    """Boxes at the start, in the middle, across tiles and at the end."""
    last = side - BOX
    for first in (0, side // 2, min(side * 3 // 8 + 13, last), last):
        yield (slice(first, first + BOX),) * 3


def read_boxes(server, name, side):
    """Medians over the boxes: share of the bytes, requests, milliseconds; the largest share."""
    import numpy as np
    import zarr
    local = zarr.open_array(str(server.folder / name), mode="r")
    chunk_bytes = sum(file.stat().st_size for file in (server.folder / name / "c").rglob("*")
                      if file.is_file())
    shares, requests, times = [], [], []
    for box in boxes(side):
        array = zarr.open_array(f"{server.url}/{name}", mode="r")
        server.chunks_sent()
        start = time.perf_counter()
        found = array[box]
        times.append(1e3 * (time.perf_counter() - start))
        sizes = server.chunks_sent()
        shares.append(100 * sum(sizes) / chunk_bytes)
        requests.append(len(sizes))
        if not np.array_equal(found, local[box]):
            sys.exit(f"zarr_ranges.py: {name} {box} is restored wrong.")
    return chunk_bytes, max(shares), statistics.median(requests), statistics.median(times)


def compare(asked, server, folder):
    import zarr
    from szgpu import ranges
    side = asked.side
    field = fields.waves((side,) * 3)
    bound = REL * field.span
    half = (side // 2,) * 3
    made = {"interpolation": {"chunks": field.values.shape},
            "lorenzo": {"chunks": field.values.shape},
            "interpolation, in shards": {"chunks": half, "shards": field.values.shape}}
    rows = []
    for name, more in made.items():
        predictor = name.partition(",")[0]
        write(folder / name.replace(", ", "_").replace(" ", "_"), field.values, bound, predictor,
              **more)
    for name in made:
        path = name.replace(", ", "_").replace(" ", "_")
        with zarr.config.set({"codecs.sharding_indexed": "szgpu.zarr.ShardingCodec"}):
            found = read_boxes(server, path, side)
        kept, ranges.WHOLE_BYTES = ranges.WHOLE_BYTES, 1 << 60
        whole = read_boxes(server, path, side)
        ranges.WHOLE_BYTES = kept
        rows.append([name, f"{found[0] / 1e6:.1f}", f"{found[1]:.2f}", f"{found[2]:g}",
                     f"{found[3]:.0f}", f"{whole[1]:.0f}", f"{whole[3]:.0f}"])
    print(f"{side}^3 float32, waves, rel {REL:g}; boxes of {BOX}^3; latency {asked.latency} s, "
          f"{asked.speed} MB/s; {fields.machine()}\n")
    report.show_table(["chunk", "size, MB", "read, %", "requests", "ms", "whole: read, %", "ms"],
                      rows)


def find_limit(server, folder):
    from szgpu import ranges
    rows = []
    for side in (96, 128, 160, 192, 256):
        field = fields.waves((side,) * 3)
        name = f"limit_{side}"
        write(folder / name, field.values, 1e-5 * field.span, "auto", chunks=field.values.shape)
        kept = ranges.WHOLE_BYTES
        ranges.WHOLE_BYTES = 0
        parts = read_boxes(server, name, side)
        ranges.WHOLE_BYTES = 1 << 60
        whole = read_boxes(server, name, side)
        ranges.WHOLE_BYTES = kept
        rows.append([str(side), f"{parts[0] / 1e6:.2f}", f"{parts[1]:.1f}", f"{parts[2]:g}",
                     f"{parts[3]:.0f}", f"{whole[3]:.0f}"])
    report.show_table(["side", "archive, MB", "read, %", "requests", "ms", "whole, ms"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where the stores are made, and deleted after")
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--latency", type=float, default=0.02)
    parser.add_argument("--speed", type=float, default=100)
    parser.add_argument("--limit", action="store_true")
    asked = parser.parse_args()
    from ranges_server import Server
    with tempfile.TemporaryDirectory(prefix="zarr_ranges_", dir=asked.folder) as made:
        folder = pathlib.Path(made)
        server = Server(folder, asked.latency, 1e-6 / asked.speed)
        if asked.limit:
            find_limit(server, folder)
        else:
            compare(asked, server, folder)
        server.shutdown()


if __name__ == "__main__":
    main()
