"""seeds.py - makes the inputs that the fuzz targets begin with, the same ones in every run.

SPDX-License-Identifier: BSD-3-Clause

  python3 seeds.py SZGPU FOLDER

SZGPU is the command. Writes FOLDER/<target>/<name> for each target.
"""
import glob
import itertools
import os
import random
import shutil
import struct
import sys

try:
    import levels_seeds
except ImportError:
    print("skipped: this python3 has no numpy (Debian: python3-numpy)")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_ARCHIVE_BYTES = 12000


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


# --- archive: golden archives and those of levels frames -----------------------------------------

def archives(szgpu, folder):
    for path in sorted(glob.glob(os.path.join(HERE, "..", "test", "golden", "*.szg"))):
        if os.path.getsize(path) <= MOST_ARCHIVE_BYTES:
            shutil.copy(path, folder)
    levels_seeds.write(szgpu, folder)


# --- roundtrip: as field_case.c reads them -------------------------------------------------------

LOSSLESS, LOSSY = 0, 1
LINEAR, TILE = 0, 1
BYTES, WALK, WAVE, STEPS = range(4)
SHAPES = ((1, (200, 0, 0, 0), 0), (1, (0, 0, 0, 0), 8999), (2, (70, 65, 0, 0), 0),
          (3, (16, 9, 33, 0), 0), (4, (2, 4, 10, 34), 0))


def roundtrip_header(kind, dtype, mode, layout, shape, flags=0, rows=0, radius=1, fill=0,
                     bound=(5, 0), fill_bits=0):
    ndim, dims, line = shape
    return struct.pack("<6BHBQQ4BH", kind, dtype, mode + 4 * (ndim - 1), layout + flags, fill, rows,
                       radius, *bound, fill_bits, *dims, line) + b"\\0"


def roundtrips(folder):
    draw = random.Random(17)
    noise, calm = draw.randbytes(400), bytes(draw.choice((0, 0, 0, 1, 255)) for _ in range(700))
    spoilt = bytes(127 if i % 23 == 0 else draw.choice((0, 1, 2, 255)) for i in range(600))
    number = 0
    for layout, shape, generator in itertools.product((LINEAR, TILE), SHAPES, range(4)):
        for dtype in range(6):
            kind = LOSSLESS if dtype > 1 or draw.random() < 0.3 else LOSSY
            header = roundtrip_header(
                kind, dtype, draw.randrange(3), layout, shape, flags=2 * draw.randrange(128),
                rows=draw.choice((0, 0, 3, 9, 33)), radius=draw.choice((0, 1, 2, 40, 2052)),
                fill=draw.choice((0, 0, 1, 5)), bound=draw.choice(((5, 0), (2, 3), (2, 6), (4, 60))),
                fill_bits=draw.choice((0, 0x60AD78EC, 0x7FC00000)))
            values = struct.pack("<BH", generator + draw.choice((0, 16, 32, 64, 128, 192)),
                                 draw.choice((128, 118, 100 + 256 * 100)))
            write(folder, f"{number:03}", header + values + draw.choice((noise, calm, spoilt)))
            number += 1


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    szgpu, out = sys.argv[1:]
    for target, make in (("archive", lambda folder: archives(szgpu, folder)),
                         ("roundtrip", roundtrips)):
        folder = os.path.join(out, target)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        make(folder)
        print(f"{target}: {len(os.listdir(folder))} inputs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
