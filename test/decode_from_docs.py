"""decode_from_docs.py - a decoder of szgpu archives, written from docs/format.md alone.

SPDX-License-Identifier: BSD-3-Clause

  python3 decode_from_docs.py ARCHIVE OUTPUT

Writes the restored field as raw little-endian values. It shares no code with szgpu, to prove that
the page is enough; the sections named below are the page's. Needs numpy; for archives under zstd
the module zstandard or the command zstd. Checksums are verified where the module xxhash is there.
"""
import itertools
import math
import struct
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
try:
    from xxhash import xxh3_64_intdigest as xxh3
except ImportError:
    xxh3 = None
try:
    import zstandard
except ImportError:
    zstandard = None

HEADER = struct.Struct("<8sIIBBBBI4Q4d4QII")
HEADER_NAMES = ("magic version flags dtype ndim mode layout source dim0 dim1 dim2 dim3 asked bound "
                "step range fill frame_rows frame_count archive_bytes arithmetic reserved").split()
FRAME = struct.Struct("<BBBBIQQQII")
FRAME_NAMES = "kind axes escape_bytes reserved radius index count constant sections zero".split()
LINEAR, CONSTANT, RAW = 0, 1, 2
NEEDED = {LINEAR: {0, 1, 2, 3, 4}, CONSTANT: set(), RAW: {12}}  # kinds of sections, by frame kind
GROUPS = {LINEAR: ({5, 6}, {7, 8, 9}, {10, 11}), CONSTANT: ({7, 8, 9}, {10, 11}), RAW: ()}
TILES = {1: (1, 1, 1, 4096), 2: (1, 1, 64, 64), 3: (1, 16, 8, 32), 4: (1, 16, 8, 32)}  # b, z, y, x


def require(condition, sentence):
    if not condition:
        sys.exit(sentence)


def verify(data, checksum):
    require(xxh3 is None or xxh3(data) == checksum, "A checksum does not match.")


def read_header(data):
    """Section 3: the fields, and what follows from them."""
    require(data[:8] == b"\x89SZG\r\n\x1a\n", "This is not an szgpu archive.")
    version = int.from_bytes(data[8:12], "little")
    require(version <= 1, f"The archive has version {version}; this decoder knows version 1.")
    require(version == 1 and len(data) >= 128, "The header is damaged or truncated.")
    h = SimpleNamespace(**dict(zip(HEADER_NAMES, HEADER.unpack_from(data))))
    size = (128 + 8 * h.frame_count + 8 + 15) // 16 * 16
    require(len(data) >= size, "The archive is truncated.")
    verify(data[:size - 8], struct.unpack_from("<Q", data, size - 8)[0])
    dims, h.itemsize = (h.dim0, h.dim1, h.dim2, h.dim3), 8 if h.dtype else 4
    require(h.flags <= 1 and h.dtype <= 1 and 1 <= h.ndim <= 4 and h.mode <= 2 and not h.layout
            and not h.reserved and h.arithmetic // 2 == h.dtype and 0 < h.asked
            and all(0 <= v < math.inf for v in (h.asked, h.bound, h.step, h.range))
            and min(dims) > 0 and set(dims[h.ndim:]) <= {1} and math.prod(dims) < 2**63 // h.itemsize
            and h.fill >> 8 * h.itemsize * h.flags == 0, "The header is damaged.")
    h.extents = [d for d in dims if d > 1] or [1]
    h.tile, rows = TILES[len(h.extents)], h.extents[0]
    require(0 < h.frame_rows <= rows and h.frame_count == -(-rows // h.frame_rows)
            and (h.frame_rows == rows or h.frame_rows % h.tile[4 - len(h.extents)] == 0),
            "The rows of a frame are wrong.")
    h.ends = list(itertools.accumulate(struct.unpack_from(f"<{h.frame_count}Q", data, 128),
                                       initial=size))
    require(h.ends[-1] == h.archive_bytes == len(data), "The archive is not as long as it says.")
    return h


def read_section(stored, padding, codec, raw_bytes, checksum):
    """Contents of one section (section 4)."""
    blocks = [(stored + padding)[i:i + 16384] for i in range(0, len(stored), 16384)]
    verify(b"".join(struct.pack("<Q", xxh3(b)) for b in blocks if xxh3), checksum)
    if codec and zstandard:
        stream = zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True)
        stored = stream.read(raw_bytes + 1)
    elif codec:
        stored = subprocess.run(["zstd", "-dcq"], input=stored, stdout=subprocess.PIPE).stdout
    require(len(stored) == raw_bytes, "A section has not the size that it says.")
    return stored


def read_frame(data, h, index, count):
    """Section 4: the fields of a frame's header, and the contents of its sections by kind."""
    require(len(data) >= 48 and len(data) % 16 == 0, "A frame has a wrong size.")
    f = SimpleNamespace(**dict(zip(FRAME_NAMES, FRAME.unpack_from(data))))
    place, last, f.contents = 48 + 32 * f.sections, -1, {}
    require(f.sections <= 13 and place <= len(data), "A frame's section table does not fit.")
    verify(data[:place - 8], struct.unpack_from("<Q", data, place - 8)[0])
    require(f.kind <= RAW and f.index == index and f.count == count and f.escape_bytes <= 8
            and (f.kind != LINEAR or (0 < f.axes < 1 << min(3, len(h.extents))
                                      and 2 <= f.radius <= 32768)), "A frame header is damaged.")
    for i in range(f.sections):
        kind, codec, raw, stored, checksum = struct.unpack_from("<IIQQQ", data, 40 + 32 * i)
        end = place + (stored + 15) // 16 * 16
        require(last < kind <= 12 and codec <= 1 and (codec or raw == stored) and end <= len(data),
                "A section table is damaged.")
        f.contents[kind] = read_section(data[place:place + stored], data[place + stored:end],
                                        codec, raw, checksum)
        place, last = end, kind
    groups = [g for g in GROUPS[f.kind] if g & set(f.contents)]
    require(place == len(data) and set(f.contents) == NEEDED[f.kind].union(*groups),
            "The sections of a frame are wrong.")
    return f


def read_shares(f, tiles, counted, *parts):
    """Section 5: the shares of sections, tile by tile; parts: (kind, bytes for each counted)."""
    counts = f.contents.get(counted, bytes(2 * len(parts) * tiles))
    require(len(counts) == 2 * len(parts) * tiles, "A section of counts has a wrong size.")
    for column, (kind, width) in enumerate(parts):
        data, taken = f.contents.get(kind, b""), np.frombuffer(counts, "<u2")[column::len(parts)]
        ends = np.cumsum(taken.astype(int) * width).tolist()
        require(ends[-1] == len(data), "A section has not the size that its counts say.")
        yield [data[begin:end] for begin, end in zip([0] + ends, ends)]


def read_codebook(data, radius):
    """Section 6: symbol and code length for each value of the 16 bits where a code begins."""
    require(len(data) >= 6, "A codebook is too short.")
    escape_length, zero, first, count = struct.unpack_from("<BBHH", data)
    runs = np.frombuffer(data, np.uint8, offset=6)
    lengths = [escape_length, *np.repeat(runs & 31, (runs >> 5) + 1).tolist()]
    require(zero == 0 < first <= 2 * radius - count and len(lengths) == count + 1
            and max(lengths) <= 16, "A codebook is damaged.")
    book = sorted(b for b in zip(lengths, [0, *range(first, first + count)]) if b[0])
    starts = np.cumsum([0] + [1 << 16 - length for length, _ in book])  # codes, moved up to 16 bits
    require(starts[-1] == 1 << 16 or [b[0] for b in book] == [1], "A code is not complete.")
    mask = next((start for start, (_, symbol) in zip(starts, book) if symbol == radius), 0)
    table = np.zeros((2, 1 << 16), np.int64)
    for start, (length, symbol) in zip(starts, book):
        begin = start ^ (mask >> 16 - length << 16 - length)
        table[:, begin:begin + (1 << 16 - length)] = [[symbol], [length]]
    return table


def read_deltas(f, bits, n, table, escapes):
    """Sections 6: the deltas of a tile from its bits and escapes."""
    padded = np.append(bits, np.zeros(16, np.uint8)).astype(np.int64)
    symbols, lengths = table[:, sum(padded[i:i + len(bits)] << 15 - i for i in range(16))]
    places, place, lengths = [], 0, lengths.tolist()
    while len(places) < n and place < len(bits) and lengths[place]:
        places.append(place)
        place += lengths[place]
    symbols, width = symbols[places], f.escape_bytes
    require(len(places) == n and place == len(bits)
            and np.count_nonzero(symbols == 0) * width == len(escapes), "A tile's codes are wrong.")
    deltas = symbols - f.radius
    deltas[symbols == 0] = [int.from_bytes(escapes[i:i + width], "little", signed=True)
                            for i in range(0, len(escapes), width or 1)]
    return deltas


def restore(deltas, axes, h):
    """Section 8: values of a tile, z by y by x, from its deltas."""
    differenced = [a for a in range(3) if axes >> 2 - a & 1]
    edge = deltas[tuple(slice(1 if a in differenced else None) for a in range(3))]
    for part, summed in ((edge, {0, 1, 2} - set(differenced)), (deltas, differenced)):
        for a in summed:
            np.cumsum(part, axis=a, out=part)
    q = deltas if h.arithmetic == 3 else deltas.astype(np.int32)
    product = q.astype("f4" if h.arithmetic == 0 else "f8")
    product *= product.dtype.type(h.step)
    return product.astype("f8" if h.dtype else "f4").view(f"u{h.itemsize}")


def read_mask(data, n, distance=0):
    """Section 9: which of a tile's values are marked."""
    mask, place, symbol = np.zeros(n, bool), 0, False
    for b in data:
        mask[place:place + b], place, symbol = symbol, place + b, symbol ^ (b < 255)
    require(place <= n, "A mask is longer than its tile.")
    mask[place:] = symbol and len(data) > 0
    for i in range(distance, n if distance else 0):
        mask[i] ^= mask[i - distance]
    return mask
