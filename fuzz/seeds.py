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
import subprocess
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
    for path in sorted(glob.glob(os.path.join(HERE, "..", "test", "golden", "compact", "*.szg"))):
        if os.path.getsize(path) <= MOST_ARCHIVE_BYTES:
            shutil.copy(path, os.path.join(folder, "compact_" + os.path.basename(path)))
    levels_seeds.write(szgpu, folder)


# --- series: of small golden archives ------------------------------------------------------------

def series(szgpu, folder):
    small = [path for path in sorted(glob.glob(os.path.join(HERE, "..", "test", "golden", "*.raw")))
             if os.path.getsize(path) <= 4000]
    for number, count in enumerate((1, 2, 5)):
        made = os.path.join(folder, f"steps_{count}")
        subprocess.run([szgpu, "-z", "-q", "--append", made, "-m", "lossless", "-t", "u8", "--time",
                        str(number), small[number]], check=True)
        if count > 1:
            subprocess.run([szgpu, "-z", "-q", "--append", made, "-m", "lossless", "-t", "u8",
                            *small[1:count]], check=True)
        with open(made, "rb") as file:
            data = file.read()
        last = data.rindex(b"\x89SZS")
        write(folder, f"unfinished_{count}", data[:last + 16] + bytes(8) + data[last + 24:])
        write(folder, f"begun_{count}", data[:last] + bytes(200))
        write(folder, f"joined_{count}", data[:last + 33] + data)


# --- roundtrip: as field_case.c reads them -------------------------------------------------------

LOSSLESS, LOSSY = 0, 1
LINEAR, TILE = 0, 1
ABSOLUTE = 1
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
        for dtype in range(10):
            kind = LOSSLESS if dtype > 8 or draw.random() < 0.3 else LOSSY
            header = roundtrip_header(
                kind, dtype, draw.randrange(3), layout, shape, flags=2 * draw.randrange(128),
                rows=draw.choice((0, 0, 3, 9, 33)), radius=draw.choice((0, 1, 2, 40, 2052)),
                fill=draw.choice((0, 0, 1, 5, 8, 9, 32, 65, 69, 97, 128, 161, 224, 233)),
                bound=draw.choice(((5, 0), (2, 3), (2, 6), (4, 60))),
                fill_bits=draw.choice((0, 0x60AD78EC, 0x7FC00000)))
            values = struct.pack("<BH", generator + draw.choice((0, 16, 32, 64, 128, 192)),
                                 draw.choice((128, 118, 100 + 256 * 100)))
            write(folder, f"{number:03}", header + values + draw.choice((noise, calm, spoilt)))
            number += 1
    # Levels frames: interpolation (a radius of 2), with values so much larger than the bound that
    # rounding takes a part of it.
    for shape, dtype, generator in itertools.product(SHAPES, range(2), (WALK, WAVE, STEPS)):
        header = roundtrip_header(LOSSY, dtype, ABSOLUTE, TILE, shape, radius=2,
                                  bound=(2, draw.randrange(6)))
        values = struct.pack("<BBB", generator + 8 + 16, draw.randrange(10),
                             draw.randrange(40, 50) if dtype else draw.randrange(13, 18))
        write(folder, f"levels_{number:03}", header + values + draw.choice((noise, calm)))
        number += 1


# --- field: as fuzz_field.c reads them -----------------------------------------------------------

NPY, FILE, OPTIONS = b"\0", b"\1", b"\2"
COMMAND_LINES = (
    "-z -e 1e-4 a.f32", "-z -m abs -e 0.5 -t f64 -d 2x3x4 -o out.szg field", "-x -f a.szg b.szg",
    "-x --slab 1:2 --decoder self-sync -b cpu a.szg", "-l --json a.szg", "-z -m psnr -e 60 -q -",
    "-z -m lossless --layout=linear --no-gap -t bf16 a.raw", "-x --level 2 -v a.szg",
    "--h5-args -m abs -e 1e-3 --predictor interpolation", "-z --fill nan --zstd=5 --frame 64 a.npy",
    "-x -V --compare a.f32 a.szg", "-z -T 4 --radius 512 --layout linear a.f64", "--help",
    "--version", "--sweep 1e-2,1e-3 --strict a.f32", "-z --target-ratio 20 a.npy",
    "--test -j 2 dir", "-z -e 1 --verfy -verify a", "-z -m absolute -b gpu a", "-z --slab : a",
    "-z -e nan -d 0x1 a", "-z -e 1e-3 -- -a.f32")
NAMES = ("a.f32", "a_2x3.f64", "dir/b_12x4_v2.bf16", "c.npy", "d_65536x65536x65536x65536.f32",
         "x\xc2\x9b31m.f32", "\u202etxt.f32", "e.raw", "f_7.u8", "g.h5", "h.nc", "-")


def npy(descr, order, shape, values=b"", version=1):
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    size = struct.pack("<H" if version == 1 else "<I", len(text) + 1)
    return b"\x93NUMPY" + bytes((version, 0)) + size + text.encode() + b"\n" + values


def fields(folder):
    arrays = [npy(descr, order, shape, bytes(48), version) for descr, order, shape, version in (
        ("<f4", False, "(3, 4)", 1), (">f4", True, "(3, 4)", 1), ("<f8", False, "(6,)", 2),
        ("|u1", False, "()", 3), ("<f4", False, "(2, 0)", 1), ("<i4", False, "(12,)", 1),
        ("<f8", True, "(1, 2, 3, 1)", 1), ("<f4", False, "(18446744073709551615, 2)", 1),
        ("<f2", False, "(2L, 12L)", 1))]
    inputs = [NPY + array for array in arrays]
    inputs += [FILE + bytes((flags, flags // 3)) + name.encode() + b"\n" + bytes(range(1, 25))
               for name in NAMES for flags in (0, 1, 3, 65, 71, 129, 224)]
    inputs += [FILE + bytes((flags, 6)) + b"a.npy\n" + array
               for array in arrays for flags in (0, 1, 128)]
    inputs += [OPTIONS + line.replace(" ", "\n").encode() for line in COMMAND_LINES]
    for number, data in enumerate(inputs):
        write(folder, f"{number:03}", data)


# --- h5: as fuzz_h5.c reads them -----------------------------------------------------------------

IS_REVERSE, IS_OPTIONAL, MOST_WORDS = 1, 2, 21
BIG_ENDIAN = 1 << 17  # a bit of the word for the type
PLAIN, PLAIN_SUM = b"as it is" * 3, "4fbff57a88fc3ff9"  # values stored as they are, and their XXH3


def h5_input(flags, words, chunk):
    padded = words + [0] * (MOST_WORDS - len(words))
    return struct.pack(f"<BB{MOST_WORDS}I", flags, len(words), *padded) + chunk


def words(value):
    return struct.unpack("<II", struct.pack("<d", value))


def cd_values(mode, bound, dtype, dims, options=0, fill=None, named_fills=(), order=0):
    named = [word for value in named_fills for word in words(value)]
    kind = dtype | len(dims) << 8 | (fill is not None) << 16 | order
    return [1, mode, *words(bound), options | len(named_fills) << 12, *named, kind,
            *words(fill or 0.0), *dims]


def chunks(folder):
    for path in sorted(glob.glob(os.path.join(HERE, "..", "test", "golden", "*.szg"))):
        with open(path, "rb") as file:
            archive = file.read()
        dtype, ndim, mode = archive[16], archive[17], archive[18]
        if dtype > 1 or len(archive) > MOST_ARCHIVE_BYTES:
            continue
        dims = struct.unpack_from("<4Q", archive, 24)[:ndim]
        write(folder, os.path.basename(path)[:-4],
              h5_input(IS_REVERSE, cd_values(mode, 1.0, dtype, dims), archive))
    draw = random.Random(23)
    for number, dtype in enumerate((0, 1, 2, 3, 4, 6, 7, 8, 9)):  # all but fp8, also big-endian
        for name, named, values in (("named", 0x800, range(256)), ("spared", 0, range(256)),
                                    ("noise", 0x800, draw.randbytes(4096))):
            order = BIG_ENDIAN * (number % 2)
            list_ = cd_values(1, 2.0, dtype, (40, 13), named, None, () if number % 3 else (7.0,), order)
            flags = IS_OPTIONAL if number % 4 == 1 else 0
            write(folder, f"{name}_{dtype}", h5_input(flags, list_, bytes(values)))
    plain = b"\x89SZP\r\n\x1a\n" + bytes.fromhex(PLAIN_SUM) + PLAIN
    write(folder, "plain", h5_input(IS_REVERSE, cd_values(3, 0.0, 1, (len(PLAIN) // 8,)), plain))
    for number, (mode, dtype, options) in enumerate(itertools.product(
            range(4), range(2), (0, 3, 0x100, 0x200, 0x400))):
        list_ = cd_values(mode, draw.choice((0.5, 1e-3, 40.0)), dtype, draw.choice(
            ((700,), (30, 40), (9, 10, 20), (2, 3, 4, 50))), options, draw.choice((None, -1.0)))
        write(folder, f"there_{number:02}", h5_input(0, list_, draw.randbytes(300)))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    szgpu, out = sys.argv[1:]
    for target, make in (("archive", lambda folder: archives(szgpu, folder)),
                         ("stream", lambda folder: archives(szgpu, folder)),
                         ("series", lambda folder: series(szgpu, folder)),
                         ("roundtrip", roundtrips), ("field", fields), ("h5", chunks)):
        folder = os.path.join(out, target)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        make(folder)
        print(f"{target}: {len(os.listdir(folder))} inputs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
