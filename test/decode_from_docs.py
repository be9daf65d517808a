"""decode_from_docs.py - a decoder of szgpu archives, written from docs/format.md alone.

SPDX-License-Identifier: BSD-3-Clause

  python3 decode_from_docs.py ARCHIVE OUTPUT
  python3 decode_from_docs.py SERIES OUTPUT STEP
Writes the restored field as raw little-endian values. Section numbers are those of the page. Needs
numpy and, for zstd, the command zstd; verifies checksums if the module xxhash is installed.
"""
import math
import struct
import sys
from fractions import Fraction
from itertools import accumulate, combinations, product
from pathlib import Path
from subprocess import PIPE, run
from types import SimpleNamespace

import numpy as np

from compact_from_docs import plain
try:
    from xxhash import xxh3_64_intdigest as xxh3
except ImportError:
    xxh3 = None

HEADER_NAMES = ("magic version flags dtype ndim mode layout source d0 d1 d2 d3 asked bound step "
                "range fill frame_rows frames bytes arithmetic reserved").split()
FRAME_NAMES = "kind axes escape_bytes reserved radius index count constant sections zero".split()
LINEAR, CONSTANT, RAW, TILE, PLANES, LEVELS = 0, 1, 2, 3, 4, 5
NEEDED = {LINEAR: {0, 1, 2}, CONSTANT: set(), RAW: {12},  # sections, by the frame's kind
          TILE: {0, 1, 2, 7, 8, 9, 10, 11}, PLANES: set(), LEVELS: {13}}
GAPS = {3, 4}  # of linear frames, unless a flag says otherwise
WIDTHS = [4, 8, 1, 2, 2, 1, 1, 2, 2, 4]  # bytes of a value, by dtype
INTEGERS = {2: "<u1", 6: "<i1", 7: "<u2", 8: "<i2", 9: "<i4"}
MANTISSA_BITS = {3: 7, 4: 10}  # of halves
STORED, CODED, ONE_SYMBOL = 0, 1, 2
TILES = {1: (1, 1, 1, 4096), 2: (1, 1, 64, 64), 3: (1, 16, 8, 32), 4: (1, 16, 8, 32)}  # b, z, y, x


def require(condition, sentence):
    if not condition:
        sys.exit(sentence)


def verify(data, checksum):
    require(xxh3 is None or xxh3(data) == checksum, "A checksum does not match.")


def read_header(data):
    """Section 3: the header's fields, and what follows from them."""
    require(data[:8] == b"\x89SZG\r\n\x1a\n", "This is not an szgpu archive.")
    version = int.from_bytes(data[8:12], "little")
    require(version <= 12, f"The archive has version {version}; this decoder knows 1 to 12.")
    require(version > 0 and len(data) >= 128, "The header is damaged or truncated.")
    h = SimpleNamespace(**dict(zip(HEADER_NAMES, struct.unpack_from("<8sIIBBBBI4Q4d4QII", data))))
    h.has_limits, more_fills, joined = h.flags >> 2 & 1, h.flags >> 3 & 3, h.flags >> 5
    require(joined <= 7, "The header is damaged.")
    size = (128 + 8 * h.frames + 16 * h.has_limits + 8 * more_fills + 8 + 15) // 16 * 16
    require(len(data) >= size, "The archive is truncated.")
    verify(data[:size - 8], struct.unpack_from("<Q", data, size - 8)[0])
    dims, lacks_gaps = (h.d0, h.d1, h.d2, h.d3), h.flags >> 1 & 1
    h.is_lossless, h.gaps = h.mode == 3, set() if lacks_gaps else GAPS
    h.is_log = h.mode == 4  # section 19
    h.is_narrow = not h.is_lossless and h.dtype > 1  # section 18
    require(not (h.layout and lacks_gaps) and h.dtype <= 9 and not (h.is_narrow and h.dtype == 5)
            and h.mode <= 4 and (not h.is_log or h.dtype <= 1) and h.layout <= 1 and not h.reserved
            and h.source <= 8
            and (version == 12 or (joined == 0) == (version < 11))
            and (h.layout == 1 and not h.is_lossless if version >= 10 else
                 version == 8 if h.has_limits or more_fills or h.source == 8 else
                 h.layout == 1 if version == 7 else
                 version == 6 if h.is_narrow or h.is_log or h.dtype > 5 else
                 version == 4 - h.layout if h.is_lossless else version == 3 if lacks_gaps else
                 version in (h.layout + 1, 3 * h.layout, 5 * h.layout)),
            "The header is damaged.")
    h.field_itemsize = WIDTHS[h.dtype]
    h.itemsize = (8 if h.dtype == 9 else 4) if h.is_narrow else h.field_itemsize  # as coded
    if h.is_log:
        h.itemsize = 8 if h.arithmetic >= 2 else 4
        require(h.itemsize >= h.field_itemsize and h.asked < 1, "The bound is damaged.")
    require(1 <= h.ndim <= 4 and min(dims) > 0 and set(dims[h.ndim:]) <= {1}
            and h.field_itemsize * math.prod(dims) < 2**63, "The shape is damaged.")
    h.is_empty = h.source == 8
    require(not h.is_empty or (h.mode, h.dtype, h.ndim, h.d0) == (3, 2, 1, 1),
            "An empty file has one byte in its place.")
    if h.is_lossless:
        require(not any((h.flags & ~2, h.asked, h.bound, h.step, h.range, h.fill, h.arithmetic)),
                "A lossless archive has a bound.")
    else:
        require(h.arithmetic // 2 == (h.itemsize == 8) and 0 < h.asked
                and h.fill >> 8 * (h.field_itemsize if h.is_log else h.itemsize) * (h.flags & 1) == 0
                and all(0 <= v < math.inf for v in (h.asked, h.bound, h.step, h.range)),
                "The bound or the fill value is damaged.")
    read_more(data, h, more_fills)
    h.own_fill = h.fill if h.flags & 1 else None
    if h.is_log:
        h.fill = 0xFFF0 << 48 if h.itemsize == 8 else 0xFF80 << 16  # -infinity
    h.extents = join(dims[:h.ndim], joined)
    h.tile, rows = TILES[len(h.extents)], h.extents[0]
    require(0 < h.frame_rows <= rows and h.frames == -(-rows // h.frame_rows) and (h.frames == 1 or
            not joined and h.frame_rows % h.tile[4 - len(h.extents)] == 0), "The rows of a frame are wrong.")
    sizes = struct.unpack_from(f"<{h.frames}Q", data, 128)
    h.ends = list(accumulate(sizes, initial=size))
    require(min(sizes) >= 48 and h.ends[-1] == h.bytes == len(data), "Sizes do not fit together.")
    return h


def join(dims, joined):
    """Section 4: the extents of the axes, without those of 1."""
    require(joined >> len(dims) - 1 == 0, "There is no axis behind the last one.")
    extents = [1]
    for i, dim in enumerate(dims):
        extents[-1] *= dim
        if not joined >> i & 1:
            extents.append(1)
    return [d for d in extents if d > 1] or [1]


def read_more(data, h, more_fills):
    """Section 3: what follows the frame table: limits, and further fill values."""
    at, real = 128 + 8 * h.frames, np.float32 if h.itemsize == 4 else np.float64
    h.limits = struct.unpack_from("<2d", data, at) if h.has_limits else (0, 0)
    h.more_fills = struct.unpack_from(f"<{more_fills}Q", data, at + 16 * h.has_limits)
    require(h.flags & 1 or not more_fills, "There are further fill values, but no first one.")
    require(not any(fill >> 8 * h.field_itemsize for fill in h.more_fills),
            "A further fill value has more bits than a value.")
    with np.errstate(over="ignore"):
        are_of_the_type = all(float(real(v)) == v for v in h.limits)  # false for NaN
    require(are_of_the_type and h.limits[0] <= h.limits[1]
            and all(math.isfinite(v) and str(v) != "-0.0" for v in h.limits),
            "The limits are damaged.")


def limit(values, h):
    """Section 8: brings restored values between the limits."""
    if not h.has_limits:
        return values
    least, greatest = (values.dtype.type(limit) for limit in h.limits)
    values = np.where(values > least, values, least)
    return np.where(values > greatest, greatest, values)


def read_frame(data, h, index, count):
    """Section 4: the fields of a frame's header, and the contents of its sections by kind."""
    f = SimpleNamespace(**dict(zip(FRAME_NAMES, struct.unpack_from("<BBBBIQQQII", data))))
    place, last, f.contents = 48 + 32 * f.sections, -1, {}
    require(f.sections <= 29 and place <= len(data), "A frame's section table does not fit.")
    verify(data[:place - 8], struct.unpack_from("<Q", data, place - 8)[0])
    kinds = ({RAW, PLANES if h.layout else LINEAR} if h.is_lossless else
             {RAW, CONSTANT, *((TILE, PLANES, LEVELS)[:h.version - 1] if h.layout else (LINEAR,))})
    require(f.kind in kinds and f.index == index and f.count == count and f.escape_bytes <= 8
            and f.constant >> (64 if f.kind in (PLANES, LEVELS) else 8 * h.itemsize) == f.zero == 0
            and (0 < f.axes < 1 << min(3, len(h.extents) if f.kind != LEVELS else f.escape_bytes)
                 and h.step > 0
                 if f.kind in (LINEAR, TILE, LEVELS) and not h.is_lossless else f.axes == 0)
            and (f.kind != LINEAR or 2 <= f.radius <= 32768), "A frame header is damaged.")
    f.groups, f.short_lattice = f.reserved & 3, f.reserved >> 2  # section 13
    require(f.groups <= 2 and f.short_lattice <= (h.arithmetic in (0, 2)) if f.kind == TILE
            else f.reserved <= (0 if f.kind != LEVELS else 3 if h.version < 10 else
                                7 if h.version < 12 else 31),
            "A frame header is damaged.")
    allowed = {*range(13), *(range(13, 20) if f.kind == LEVELS else ()),
               *((20, 21) if h.is_log and f.kind not in (RAW, PLANES) else ()),
               *((22,) if f.kind == PLANES else ()),
               *(range(23, 23 + 2 * len(h.more_fills)) if f.kind not in (RAW, PLANES) else ())}
    for i in range(f.sections):
        kind, codec, raw, stored, checksum = struct.unpack_from("<IIQQQ", data, 40 + 32 * i)
        end = place + (stored + 15) // 16 * 16
        require(last < kind and kind in allowed and codec <= 1
                and (stored <= raw if codec else raw == stored) and end <= len(data),
                "A section table is damaged.")
        blocks = [data[b:min(b + 16384, end)] for b in range(place, end, 16384)]
        verify(b"".join(struct.pack("<Q", xxh3(block)) for block in blocks if xxh3), checksum)
        contents, place, last = data[place:place + stored], end, kind
        if codec:
            contents = run(["zstd", "-dcq"], input=contents, stdout=PIPE).stdout
        require(len(contents) == raw, "A section has not the size that it says.")
        f.contents[kind] = contents
    raw_sizes = [len(f.contents[kind]) - 16 * (13 <= kind <= 19) for kind in f.contents]
    f.signs, *f.more_masks = [[f.contents.pop(kind) for kind in (first, first + 1)
                               if kind in f.contents] for first in (20, 23, 25, 27)]
    more = len(f.signs) + sum(map(len, f.more_masks))
    require(sum(raw_sizes) <= f.count * h.field_itemsize, "A frame is larger than its values.")
    require(place == len(data) and NEEDED[f.kind] <= set(f.contents)
            and set(f.contents) & GAPS == (h.gaps if f.kind == LINEAR else set())
            and all(len(pair) in (0, 2) for pair in (f.signs, *f.more_masks))
            and (f.kind != TILE or f.sections == 8 + more), "A frame lacks something or has too much.")
    return f


def read_shares(f, tiles, counted, *parts):
    """Section 5: each tile's share of sections; parts: (kind, bytes per counted item)."""
    counts = f.contents.get(counted) or bytes(2 * len(parts) * tiles)
    require(len(counts) == 2 * len(parts) * tiles, "A section of counts has a wrong size.")
    for column, (kind, width) in enumerate(parts):
        data, taken = f.contents.get(kind, b""), np.frombuffer(counts, "<u2")[column::len(parts)]
        ends = np.cumsum(taken.astype(int) * width).tolist()
        require(ends[-1] == len(data), "A section has not the size that its counts say.")
        yield [data[begin:end] for begin, end in zip([0] + ends, ends)]


def read_codebook(data, radius):
    """Section 6: symbol and code length for each value of the 16 bits where a code begins."""
    escape_length, zero, first, count = struct.unpack_from("<BBHH", data)
    runs = np.frombuffer(data, np.uint8, offset=6)
    lengths = [escape_length, *np.repeat(runs & 31, (runs >> 5) + 1).tolist()]
    require(zero == 0 < first <= 2 * radius - count and len(lengths) == count + 1
            and max(lengths) <= 16, "A codebook is damaged.")
    book = sorted(b for b in zip(lengths, [0, *range(first, first + count)]) if b[0])
    starts = np.cumsum([0] + [1 << 16 - length for length, _ in book])  # codes, shifted to 16 bits
    require(starts[-1] == 1 << 16 or [b[0] for b in book] == [1], "A code is not complete.")
    mask = next((start for start, (_, symbol) in zip(starts, book) if symbol == radius), 0)
    table = np.zeros((2, 1 << 16), np.int64)
    for start, (length, symbol) in zip(starts, book):
        begin = start ^ (mask >> 16 - length << 16 - length)
        table[:, begin:begin + (1 << 16 - length)] = [[symbol], [length]]
    return table


def read_linear_tiles(f, sizes):
    """Section 6: the bits of each tile, and the code; sizes: the number of values of each."""
    require(len(f.contents[1]) == 2 * len(sizes) and len(f.contents[0]) >= 6,
            "Tile bits or a codebook have a wrong size.")
    ends = np.cumsum(np.frombuffer(f.contents[1], "<u2") + sizes)
    require(len(f.contents[2]) == (ends[-1] + 31) // 32 * 4, "A bitstream has a wrong size.")
    words = np.frombuffer(f.contents[2], "<u4").astype(">u4")
    bits = np.split(np.unpackbits(words.view(np.uint8))[:ends[-1]], ends[:-1])
    return bits, read_codebook(f.contents[0], f.radius)


def read_linear_symbols(count, bits, table):
    """Section 6: a tile's symbols from its bits."""
    row = np.append(bits, np.zeros(16, np.uint8)).astype(np.int64)
    symbols, lengths = table[:, sum(row[i:i + len(bits)] << 15 - i for i in range(16))]
    places, place, lengths = [], 0, lengths.tolist()
    while place < len(bits) and lengths[place]:
        places.append(place)
        place += lengths[place]
    require(len(places) == count and place == len(bits), "A tile's codes are wrong.")
    return symbols[places]


def read_linear_deltas(f, shape, bits, table, escapes):
    """Section 6: a tile's deltas, z by y by x, from its bits and escapes."""
    symbols, width = read_linear_symbols(math.prod(shape), bits, table), f.escape_bytes or 1
    symbols = symbols.reshape(shape)
    require(sum(symbols.flat == 0) * width == len(escapes), "A tile's escapes are wrong.")
    deltas = symbols - f.radius
    deltas[symbols == 0] = [int.from_bytes(escapes[i:i + width], "little", signed=True)
                            for i in range(0, len(escapes), width)]
    return deltas


def read_tile_delta(take, table, lattice_bits):
    """Section 13: one delta; take(n) reads n bits, take(n, 0) looks at them."""
    symbol, length = table[:, take(16, 0)].tolist()
    take(length)
    delta, k = symbol - 640, symbol - 1152 if symbol >= 1152 else 128 - symbol
    if symbol == 0:
        delta = take(lattice_bits)
    elif not 129 <= symbol <= 1151:
        magnitude = 1 if k < 2 else ((2 + k % 2) << k // 2 - 1) + take(max(k // 2 - 1, 0))
        delta = magnitude if symbol >= 1152 else -magnitude
    half = 1 << lattice_bits - 1
    return (delta + half) % (2 * half) - half


def read_coded_tile(f, h, shape, words, table, lattice_bits):
    """Section 13: a tile's deltas, z by y by x, from its words."""
    text = "".join(f"{word:032b}" for word in words.tolist())
    deltas, place = np.zeros(math.prod(shape), np.int64), 0

    def take(count, step=None):
        nonlocal place
        begin, place = place, place + (count if step is None else step)
        return int("0" + text[begin:begin + count].ljust(count, "0"), 2)

    least, width, masked = take(14), take(4), take(1)
    mask = take(32) if masked else 2**32 - 1
    lengths = [least + take(width) if mask >> 31 - lane & 1 else 0 for lane in range(32)]
    require(mask and least > 0 and width <= 14 and -(-(place + sum(lengths)) // 32) == len(words),
            "The head of a tile is damaged.")
    z, y, x = (i.ravel() for i in np.indices(shape))
    row = 8 * z + y * (2 if len(h.extents) == 2 else 1) + x // 32
    order = row // 8 * 8 + np.array([0, 2, 4, 6, 1, 3, 5, 7])[row % 8]  # rows 0 4 1 5 2 6 3 7
    part = order // (4 if f.groups == 2 else 8)
    for lane, length in enumerate(lengths):
        values, last, end, there = np.flatnonzero(x % 32 == lane), -1, place + length, 1
        for i in values[np.argsort(order[values])] if length else ():
            if f.groups and part[i] != last:
                last, there = part[i], take(1)
            if there:
                deltas[i] = read_tile_delta(take, table, lattice_bits)
        require(place == end, "A lane's codes do not end at its last bit.")
    require(take(len(text) - place) == 0, "Bits after the last lane are not 0.")
    return deltas.reshape(shape)


def read_tile_words(f, h, sizes):
    """Section 13: the words of each tile, and the code; checks the sizes of tiles."""
    taken, words = np.frombuffer(f.contents[1], "<u2"), np.frombuffer(f.contents[2], "<u4")
    require(len(taken) == len(sizes) and np.all(taken <= np.array(sizes) * (h.itemsize // 4))
            and taken.sum() == len(words), "Tile sizes or a bitstream are wrong.")
    table = read_codebook(f.contents[0], 640)
    require(table[0, 0] == 640 and 0 in table[0] and table[1].max() <= 12,
            "A codebook lacks the escape or delta 0, or has codes over 12 bits.")
    return np.split(words, np.cumsum(taken)[:-1]), table


def decode_tile_words(f, h, shape, words, table):
    """Section 13: a tile's bit patterns from its words."""
    if len(words) * 4 == math.prod(shape) * h.itemsize:
        return words.view(f"<u{h.itemsize}").reshape(shape)
    bits = 16 if f.short_lattice else 64 if h.arithmetic == 3 else 32
    if not len(words):
        return restore_tile(f, h, np.zeros(shape, np.int64), bits)
    return restore_tile(f, h, read_coded_tile(f, h, shape, words, table, bits), bits)


def restore_tile(f, h, deltas, lattice_bits):
    """Section 8: a tile's bit patterns from its deltas."""
    axes = [axis for axis in range(3) if f.axes >> 2 - axis & 1]  # of deltas: 0 is z
    edge = deltas[tuple(slice(1 if axis in axes else None) for axis in range(3))]
    for part, summed in ((edge, {0, 1, 2} - set(axes)), (deltas, axes)):
        for axis in summed:
            np.cumsum(part, axis=axis, out=part)
    real = np.float32 if h.arithmetic == 0 else np.float64
    values = deltas.astype(f"i{lattice_bits // 8}").astype(real) * real(h.step)
    return limit(values.astype(f"<f{h.itemsize}"), h).view(f"<u{h.itemsize}")


def read_mask(data, n, distance=0):
    """Section 9: which of a tile's values are marked."""
    mask, place, symbol = np.zeros(n, bool), 0, False
    for b in data:
        mask[place:place + b] = symbol
        place, symbol = place + b, symbol ^ (b < 255)
    require(place <= n, "A mask is longer than its tile.")
    mask[place:] = symbol
    for i in range(distance, n if distance else 0):
        mask[i] ^= mask[i - distance]
    return mask


def read_planes_book(data):
    """Section 15: symbol and code length for each value of the 12 bits where a code begins."""
    lengths = [length for byte in data for length in (byte & 15, byte >> 4)]
    book = sorted((length, symbol) for symbol, length in enumerate(lengths) if length)
    require(max(lengths) <= 12 and sum(4096 >> length for length, _ in book) == 4096,
            "A plane's code is not complete.")
    return [entry for entry in book for _ in range(4096 >> entry[0])]


def read_plane(words, n, book):
    """Section 15: the symbols of a coded plane of a tile, and the words that come after it."""
    require(len(words) > 0 and words[0] >> 16 <= 11, "The head of a plane is damaged.")
    least, width = words[0] & 65535, words[0] >> 16
    require(len(words) > width, "The head of a plane is cut.")
    text = "".join(f"{word:032b}" for word in words[1:])
    lengths = [least + int("0" + text[lane * width:][:width], 2) for lane in range(32)]
    symbols, place = [0] * n, 32 * width
    for lane, length in enumerate(lengths):
        end = place + length
        for i in (i for row in range(0, n, 128) for i in range(row + 4 * lane, row + 4 * lane + 4)
                  if i < n):
            length, symbols[i] = book[int(text[place:place + 12].ljust(12, "0"), 2)]
            place += length
        require(place == end, "A lane's codes do not end at its last bit.")
    used = 1 + -(-place // 32)
    require(used <= len(words) and "1" not in text[place:32 * (used - 1)],
            "A plane's words are wrong.")
    return symbols, words[used:]


def decode_planes(f, h):
    """Section 15: a planes frame's bytes, in field order."""
    w, kinds = f.escape_bytes, [f.radius >> 2 * p & 3 for p in range(16)]
    width = h.field_itemsize
    require((w in (1, 2, 4, 8) if h.dtype == 2 else w == width) and max(kinds) <= ONE_SYMBOL
            and f.radius >> 2 * w == 0 and f.count * width % w == 0, "Planes are damaged.")
    n, constants = f.count * width // w, list(f.constant.to_bytes(8, "little"))
    tiles, coded, stored = -(-n // 4096), kinds[:w].count(CODED), kinds[:w].count(STORED)
    words_kind = 22 if h.version >= 7 else 2
    require(set(f.contents) == ({0, 1, words_kind} if coded else set()) | ({12} if stored else set())
            and not any(c for c, kind in zip(constants, kinds) if kind != ONE_SYMBOL)
            and len(f.contents.get(0, b"")) == 128 * coded
            and len(f.contents.get(12, b"")) == -(-n // 16) * 16 * stored
            and (not coded or len(f.contents[1]) == 2 * tiles),
            "A planes frame's sections are wrong.")
    planes = np.repeat(np.array([constants[:w]], np.uint8), n, axis=0)  # values by planes
    planes[:, [p for p in range(w) if kinds[p] == STORED]] = np.frombuffer(
        f.contents.get(12, b""), np.uint8).reshape(stored, -1 if stored else n).T[:n]
    if coded:
        sizes = np.frombuffer(f.contents[1], "<u2")
        words = np.frombuffer(f.contents[words_kind], "<u4")
        require(sizes.sum() == len(words), "Tile sizes are not those of the words.")
        books = [read_planes_book(f.contents[0][i:i + 128]) for i in range(0, 128 * coded, 128)]
        for t, own in enumerate(np.split(words, np.cumsum(sizes)[:-1])):
            own, tile = own.tolist(), planes[4096 * t:4096 * (t + 1)]
            for p, book in zip((p for p in range(w) if kinds[p] == CODED), books):
                tile[:, p], own = read_plane(own, len(tile), book)
            require(not own, "A tile has words that no plane has.")
    return turn_back(planes)


def turn_back(planes):
    """Section 15: the bytes of values from their planes, values by planes."""
    w = planes.shape[1]
    turned = planes.view(f"<u{w}").ravel()
    one = turned.dtype.type(1)
    return (turned if w == 1 else turned >> one | turned << turned.dtype.type(8 * w - 1)).tobytes()


def decode_top_plane(f, h):
    """Section 15, linear frames: a frame's bytes, in field order."""
    n, w = f.count, h.itemsize
    require(set(f.contents) == {0, 1, 2} | h.gaps | ({12} if w > 1 else set()) and f.radius == 128
            and f.escape_bytes == f.constant == 0
            and len(f.contents.get(12, b"")) == -(-n // 16) * 16 * (w - 1),
            "A linear frame without loss is damaged.")
    sizes = [min(4096, n - first) for first in range(0, n, 4096)]
    bits, table = read_linear_tiles(f, sizes)
    planes = np.zeros((n, w), np.uint8)
    planes[:, :w - 1] = np.frombuffer(f.contents.get(12, b""), np.uint8).reshape(
        w - 1, -1 if w > 1 else n).T[:n]
    planes[:, w - 1] = np.concatenate([read_linear_symbols(size, own, table)
                                       for size, own in zip(sizes, bits)])
    return turn_back(planes)


class Bits:
    """Section 6: the bits of words, the highest first."""

    def __init__(self, words):
        self.text, self.place = "".join(f"{word:032b}" for word in words.tolist()), 0

    def look(self, count):
        return int("0" + self.text[self.place:self.place + count].ljust(count, "0"), 2)

    def take(self, count):
        bits, self.place = self.look(count), self.place + count
        return bits

    def take_symbol(self, book):
        """Section 16: a symbol of a book, which has length and symbol by the next 12 bits."""
        length, symbol = book[self.look(12)]
        require(length > 0, "Bits are not a code.")
        self.place += length
        return symbol


def read_level_books(data, sizes):
    """Section 16: for each book, length and symbol for each value of the 12 bits of a code."""
    units, books = [unit for byte in data for unit in (byte >> 4, byte & 15)] + [0] * 8, []
    place = 0
    for size in sizes:
        lengths, unit = [], 0
        while len(lengths) < size and unit != 13:
            require(place < 2 * len(data), "The books of a level are cut.")
            unit, n, a, b = units[place:place + 4]
            require(unit <= 13, "A book has a unit that is not allowed.")
            zeros = 0 if unit else 16 + 16 * a + b if n == 15 else n + 1
            lengths += [unit] if 0 < unit < 13 else [0] * zeros
            place += 1 if unit else 4 if n == 15 else 2
        require(len(lengths) <= size, "A book has lengths for too many symbols.")
        book = sorted((length, symbol) for symbol, length in enumerate(lengths) if length)
        table = [entry for entry in book for _ in range(4096 >> entry[0])]
        require(len(table) == 4096 or [entry[0] for entry in book] in ([], [1]),
                "A level's code is not complete.")
        books.append(table + [(0, 0)] * (4096 - len(table)))
    require(-(-place // 8) * 4 == len(data) and not any(units[place:]),
            "The books of a level have a wrong size.")
    return books


def read_level_code(bits, values, width):
    """Section 16: a code; width: the bits of a lattice value."""
    symbol = bits.take_symbol(values)
    if symbol < 255:
        magnitude, c = (symbol + 1) // 2, (symbol - 63) // 2
        if c >= 0:
            raw = 4 + c // 2
            magnitude = (2 + c % 2 << raw) + bits.take(raw)
        code = magnitude if symbol % 2 else -magnitude
    else:
        code = bits.take(width)
    half = 1 << width - 1
    return (code + half) % (2 * half) - half


def read_plain_group(bits, exists, books, width):
    """Section 16: the codes of a group of 64 places, mode 1."""
    return [read_level_code(bits, books[0], width) if there else 0 for there in exists]


def read_pairs_group(bits, exists, books, width):
    """Section 16: the codes of a group of 64 places, mode 2."""
    codes = []
    for i in range(0, 64, 2):
        pair = bits.take_symbol(books[0]) if exists[i] or exists[i + 1] else 7 * 15 + 7
        codes += ([read_level_code(bits, books[1], width) for _ in range(2)] if pair == 225 else
                  [pair // 15 - 7, pair % 15 - 7])
    return codes


def read_masks_group(bits, _, books, width):
    """Section 16: the codes of a group of 64 places, mode 3."""
    octets, places = bits.take_symbol(books[0]), []
    octets = bits.take(8) if octets == 256 else octets
    for j in (j for j in range(8) if octets >> j & 1):
        mask = bits.take_symbol(books[1]) or bits.take(8)
        require(mask > 0, "A mask of a level is 0.")
        places += [8 * j + i for i in range(8) if mask >> i & 1]
    codes = [0] * 64
    for place in places:
        codes[place] = read_level_code(bits, books[2], width)
        require(codes[place] != 0, "A code that is set is 0.")
    return codes


READ_GROUP = [None, read_plain_group, read_pairs_group, read_masks_group]  # by mode
BOOK_SIZES = [[], [256], [226, 256], [257, 256, 256]]
STENCILS = np.array([(-1, 9, 9, -1), (0, 6, 12, -2), (-2, 12, 6, 0), (0, 8, 8, 0),
                     (-8, 24, 0, 0), (0, 16, 0, 0)])  # weights of w(v - 3), w(v - 1), ...
FAR = (0, 1, 1, 0)  # far planes that a tile sees along box, z, y and x


def read_level_tile(words, exists, section, width):
    """Section 16: the codes of a tile's places."""
    bits, codes, places = Bits(words), [], 64 << section.g
    lanes = -(-len(exists) // places)
    least, size, masked = bits.take(17), bits.take(5), bits.take(1)
    mask = [bits.take(masked) == masked for _ in range(lanes)]
    lengths = [least + bits.take(size) if there else 0 for there in mask]
    require(least > 0 and size <= 17 and any(mask)
            and -(-(bits.place + sum(lengths)) // 32) == len(words), "A tile's head is damaged.")
    for lane, length in enumerate(lengths):
        end, own = bits.place + length, exists[lane * places:(lane + 1) * places]
        for first in range(0, len(own), 64):
            codes += (READ_GROUP[section.mode](bits, own[first:first + 64], section.books, width)
                      if length else [0] * 64)
        require(bits.place == end, "A lane's codes do not end at its last bit.")
    require(bits.take(32 * len(words) - bits.place) == 0, "Bits after the last lane are not 0.")
    require(not any(code for code, there in zip(codes, exists) if not there),
            "A place that does not exist has a code.")
    return codes


def slice_class(odd, first=1):
    """Section 16: the points of a class, of box, z, y, x; odd: the odd ones of the axes 1 to 3."""
    return tuple(slice(int(a in odd), None, 2 if a else 1) for a in range(first, 4))


def list_classes(v):
    """Section 16: the classes with codes, each as the set of its odd axes."""
    return [{a for a in (1, 2, 3) if m >> 3 - a & 1} for m in range(1, 1 << v.d)]


def shape_tile(v, level):
    """Section 16: the extents of a level's tiles, or of the base's, along z, y and x."""
    if level == v.count:
        return {1: (1, 1, 4096), 2: (1, 64, 64), 3: (16, 8, 32)}[v.d]
    return {1: (1, 1, 4096), 2: (1, max(64 >> level, 8), 64), 3: (max(16 >> level, 4), 8, 64)}[v.d]


def read_level(data, v, tiles, places, level):
    """Section 16: a level's section: what its head says, its books, and the words of its tiles."""
    require(len(data) >= 16, "A level's section is cut.")
    s = SimpleNamespace(**dict(zip("mode g zero unit book_bytes zeros".split(),
                                   struct.unpack_from("<BBHIII", data))))
    require(s.mode <= 3 and s.g <= 4 and s.zero == s.zeros == s.book_bytes % 4 == 0
            and 1 <= s.unit <= 1 << v.fine and (level != 0 or s.unit == 1 << v.fine),
            "The head of a level's section is damaged.")
    begin, s.words = 16 + s.book_bytes, [()] * tiles
    end = begin + (2 * tiles + 3) // 4 * 4
    if s.mode == 0:
        require(len(data) == begin == 16, "A level without codes has some.")
        return s
    require(places <= 32 * 64 << s.g and len(data) >= end and len(data) % 4 == 0,
            "A level's section is cut, or has too many lanes.")
    sizes, words = np.frombuffer(data[begin:end], "<u2"), np.frombuffer(data[end:], "<u4")
    require(sizes.sum() == len(words) and not any(sizes[tiles:]), "Tile sizes are wrong.")
    s.books = read_level_books(data[16:begin], BOOK_SIZES[s.mode])
    s.words = np.split(words, np.cumsum(sizes[:tiles])[:-1])
    return s


def read_corrections(data, v, extents, level):
    """Section 16: the codes of a level, or of the base, times its unit, as points of its grid."""
    tile, codes = shape_tile(v, level), np.zeros(extents, f"i{v.width // 8}")
    corners = list(product(*map(range, (0, 0, 0, 0), extents, (1, *tile))))
    is_base = level == v.count
    classes = [(slice(None),) * 3] if is_base else [slice_class(odd) for odd in list_classes(v)]
    spans = tile if is_base else [-(-t // 2) for t in tile]
    block = 1 if v.d == 1 else 8 if is_base else 4  # so many neighbours along y before the next x
    shape = (len(classes), spans[0], spans[1] // block, block, spans[2])
    section = read_level(data, v, len(corners), math.prod(shape), level)
    for words, (b, *first) in zip(section.words, corners):
        if len(words):
            tile_codes = codes[(b, *(slice(c, c + t) for c, t in zip(first, tile)))]
            parts = [tile_codes[points] for points in classes]
            insides = [(i, *map(slice, part.shape)) for i, part in enumerate(parts)]
            exists = np.zeros((len(classes), *spans), bool)
            for inside in insides:
                exists[inside] = True
            places = exists.reshape(shape).swapaxes(3, 4)
            read = read_level_tile(words, places.ravel().tolist(), section, v.width)
            read = np.array(read, codes.dtype).reshape(places.shape).swapaxes(3, 4)
            for part, inside in zip(parts, insides):
                part[...] = read.reshape(exists.shape)[inside]
    if is_base and not v.is_halved:
        sum_base(codes, v)
    points = codes * codes.dtype.type(section.unit)
    if is_base and v.is_halved:
        restore_halves(points[0, 0, 0], v)
    return points


def restore_halves(points, v):
    """Section 16: changes the corrections of a halved base to its points' lattice values."""
    for start in range(0, len(points), 4096):
        tile = points[start:start + 4096]
        for h in (2048 >> i for i in range(12)):
            if h < len(tile):
                own = tile[None, None, None, ::h]
                own[..., 1::2] += predict_class(own, {3}, v, 1)


def sum_base(codes, v):
    """Section 16: changes the codes of the base to its points' multiples of the unit."""
    for corner in product(*map(range, (0, 0, 0), codes.shape[1:], shape_tile(v, v.count))):
        part = codes[(slice(None), *(slice(c, c + t) for c, t in zip(
            corner, shape_tile(v, v.count))))]
        for axis in v.base_axes:
            np.cumsum(part, axis=axis, out=part, dtype=part.dtype)


def apply_stencil(values, axis, extent, v, is_lone):
    """Section 16: sums at the odd points along an axis, and which of them have both neighbours.

    values: those of the even points, 0, 2, ... on an axis that has the extent. is_lone: the axis
    is the point's only odd one.
    """
    i = np.arange(extent // 2)  # of the odd points 2 i + 1
    both, first, last = 2 * i + 2 < extent, i == 0, 2 * i + 4 >= extent
    which = np.where(both, np.where(v.is_linear, 3, first + 2 * last), 4 + (first | (not is_lone)))
    shape = [-1 if a == axis else 1 for a in range(4)]
    total = sum(weights[which].reshape(shape)
                * values.take(np.clip(i + shift, 0, (extent - 1) // 2), axis)
                for shift, weights in zip((-1, 0, 1, 2), STENCILS.T.astype(values.dtype)))
    return total, both.reshape(shape)


def predict_used(values, odd, v):
    """Section 16: predictions from the sums over the stencils of the used axes."""
    sums = {a: apply_stencil(values[slice_class(odd - {a}, 0)], a, values.shape[a], v,
                             len(odd) == 1) for a in odd}
    highest, total, n = -1, np.zeros_like(values[slice_class(odd, 0)]), 0
    for a, (_, both) in sums.items():
        highest = np.maximum(highest, np.where(both, v.ranks[a], -1))
    for a, (own, both) in sums.items():
        used = (highest == -1) | both & (highest == v.ranks[a])
        total, n = total + np.where(used, own, own.dtype.type(0)), n + used
    third = total
    if len(odd) == 3:
        magic = 0x2AAAAAAB if v.width == 32 else 0x2AAAAAAAAAAAAAAB
        third = (total.astype(object) * magic >> v.width).astype(total.dtype)
    return np.where(n == 1, total + 8 >> 4, np.where(n == 2, total + 16 >> 5, third + 4 >> 3))


def predict_quintic(values, axis):
    """Section 16: predictions of the points that are odd along the axis alone, by six points."""
    even = np.moveaxis(values[slice_class({}, 0)], axis, 0)  # w(0), w(2), ..
    count, odd_count = len(even), values.shape[axis] // 2
    w = [*even]
    if count < 3:
        sums = [128 * (w[i] + w[i + 1]) for i in range(count - 1)]
    else:
        for _ in range(2):
            w = [w[2] + 3 * (w[0] - w[1]), *w, w[-3] + 3 * (w[-1] - w[-2])]
        sums = [150 * (w[i + 2] + w[i + 3]) - 25 * (w[i + 1] + w[i + 4]) + 3 * (w[i] + w[i + 5])
                for i in range(count - 1)]
    if odd_count == count:  # the last one lacks a neighbour
        sums.append(16 * (24 * even[-1] - 8 * even[-2] if count > 1 else 16 * even[-1]))
    sums = np.array(sums, values.dtype).reshape(odd_count, *even.shape[1:])
    return np.moveaxis(sums + 128 >> 8, 0, axis)


def predict_blended(values, odd):
    """Section 16: predictions of points with several odd axes, by a Coons patch."""
    total, n = np.zeros_like(values[slice_class(odd, 0)]), len(odd)
    for size in range(1, n + 1):
        for axes in combinations(odd, size):
            own = values[slice_class(odd - {*axes}, 0)]
            for a in axes:  # own has the even points along it
                i = np.arange(values.shape[a] // 2)
                own = own.take(i, a) + own.take(np.minimum(i + 1, own.shape[a] - 1), a)
            total = total + own * (-(-1) ** size << n - size)
    return total + (1 << n - 1) >> n


def predict_class(values, odd, v, level):
    """Section 16: the predictions of a class's points from values, which are by box, z, y, x."""
    predicted = (predict_blended(values, odd) if v.is_blended and len(odd) > 1 else
                 predict_quintic(values, *odd) if v.is_quintic else predict_used(values, odd, v))
    limit = 1 << (22 if v.width == 32 else 50)
    return np.clip(predicted, -limit, limit) if level else predicted


def restore_level(coarse, corrections, v, level):
    """Section 16: the lattice values of a level's grid."""
    tile = (corrections.shape[0], *shape_tile(v, level))
    several = sorted((odd for odd in list_classes(v) if len(odd) > 1), key=len)
    predicted = np.zeros_like(corrections)  # of points with at most one odd axis
    predicted[slice_class({}, 0)] = coarse
    for odd in (odd for odd in list_classes(v) if len(odd) == 1):
        predicted[slice_class(odd, 0)] = predict_class(predicted, odd, v, level)
    restored = predicted + corrections
    for corner in product(*map(range, (0, 0, 0, 0), corrections.shape, tile)):
        own = restored[tuple(slice(c, c + t) for c, t in zip(corner, tile))]
        box = predicted[tuple(slice(c, c + t + far) for c, t, far in zip(corner, tile, FAR))].copy()
        inside = box[tuple(map(slice, own.shape))]
        inside[...] = own
        for odd in several:
            points = slice_class(odd, 0)
            box[points] = predict_class(box, odd, v, level)
            inside[points] += own[points]  # these are corrections still
        own[...] = inside
    return restored


def read_levels_header(f, h, shape):
    """Section 16: what the frame header says, the view, and the fine step."""
    b, z, y, x = shape
    v = SimpleNamespace(d=f.escape_bytes, count=f.radius & 255, fine=f.radius >> 8 & 255,
                        is_linear=f.reserved & 1, width=64 if f.reserved & 2 else 32,
                        is_halved=f.reserved >> 2 & 1, is_blended=f.reserved >> 3 & 1,
                        is_quintic=f.reserved >> 4)
    v.ranks = [0] + [f.radius >> shift & 3 for shift in (20, 18, 16)]  # by axis: 1 is z
    v.view = {(4, 3): shape, (3, 3): shape, (4, 2): [b * z, 1, y, x], (3, 2): [b * z, 1, y, x],
              (2, 2): shape, (1, 1): shape}.get((len(h.extents), v.d))
    if len(h.extents) == 1 and v.d == 2 and 2 <= f.constant <= x // 2:
        v.view = [1, 1, -(-x // f.constant), f.constant]
    require(v.view and (f.constant == 0) == (len(h.extents) >= v.d) and f.radius >> 22 == 0
            and v.count <= 6 and v.fine <= 8 and (v.count == 0) == (v.fine == 0)
            and max(v.ranks) <= 2 and not any(v.ranks[:4 - v.d])
            and (v.count or not (v.is_linear or any(v.ranks)))
            and (not v.is_halved or v.count and v.d == 1)
            and (not v.is_blended or v.count and v.d > 1 and not any(v.ranks))
            and (not v.is_quintic or v.is_blended and not v.is_linear),
            "The header of a levels frame is damaged.")
    v.base_axes = [axis for axis in (1, 2, 3) if f.axes >> 3 - axis & 1]
    exact = Fraction(h.step) / ((1 << v.fine) + 1 if v.fine else 1)
    fine = float(exact)
    v.h = np.float64(fine if fine <= exact else np.nextafter(fine, 0))
    if h.itemsize == 4 and v.width == 32:
        real = np.float32(v.h)
        v.h = np.nextafter(real, np.float32(0)) if real > v.h else real
    return v


def decode_levels(f, h, shape):
    """Section 16: a levels frame's bit patterns, without exact and fill values."""
    v, grid = read_levels_header(f, h, shape), None
    require(set(range(13, 14 + v.count)) == {kind for kind in f.contents if kind > 12}
            and {kind for kind in f.contents if kind <= 12} <= {7, 8, 9, 10, 11},
            "A levels frame lacks sections or has too many.")
    for level in range(v.count, -1, -1):
        extents = [v.view[0]] + [-(-e >> level) for e in v.view[1:]]
        own = read_corrections(f.contents[13 + v.count - level], v, extents, level)
        grid = own if level == v.count else restore_level(grid, own, v, level)
    values = (grid.ravel()[:f.count].astype(v.h.dtype) * v.h).astype(f"<f{h.itemsize}")
    return limit(values, h).view(f"<u{h.itemsize}").reshape(shape)


def decode_frame(f, h, shape):
    """Bit patterns of a frame's values, in field order."""
    if f.kind == PLANES:
        return decode_planes(f, h)
    if f.kind == LINEAR and h.is_lossless:
        return decode_top_plane(f, h)
    if f.kind == RAW:
        width = h.field_itemsize
        require(len(f.contents[12]) == f.count * width, "Raw values have a wrong size.")
        return np.frombuffer(f.contents[12], np.uint8).reshape(width, -1).T.tobytes()
    field = (decode_levels(f, h, shape) if f.kind == LEVELS else
             np.full(shape, f.constant, f"<u{h.itemsize}"))
    tiles = [field[tuple(slice(c, c + t) for c, t in zip(corner, h.tile))][0]
             for corner in product(*map(range, (0, 0, 0, 0), shape, h.tile))]
    escapes, = read_shares(f, len(tiles), 5, (6, f.escape_bytes))
    masks, patterns = read_shares(f, len(tiles), 7, (8, 1), (9, h.itemsize))
    fills, = read_shares(f, len(tiles), 10, (11, 1))
    if f.kind == LINEAR:
        bits, table = read_linear_tiles(f, [tile.size for tile in tiles])
    elif f.kind == TILE:
        words, table = read_tile_words(f, h, [tile.size for tile in tiles])
    for t, tile in enumerate(tiles):
        if f.kind == LINEAR:
            deltas = read_linear_deltas(f, tile.shape, bits[t], table, escapes[t])
            tile[...] = restore_tile(f, h, deltas, 64 if h.arithmetic == 3 else 32)
        elif f.kind == TILE:
            tile[...] = decode_tile_words(f, h, tile.shape, words[t], table)
        exact = read_mask(masks[t], tile.size).reshape(tile.shape)
        require(exact.sum() * h.itemsize == len(patterns[t]), "Exact values are too many or few.")
        tile[exact] = np.frombuffer(patterns[t], field.dtype)
        plane = {1: 0, 2: tile.shape[2]}.get(len(h.extents), tile[0].size)
        tile[read_mask(fills[t], tile.size, plane).reshape(tile.shape)] = h.fill
    if h.is_log:
        return raise_logarithms(field.ravel(), read_runs(f, f.signs), h)
    return narrow(field.ravel(), h) if h.is_narrow else field.tobytes()


def narrow(patterns, h):
    """Section 18: values of the dtype from bit patterns of the coded type."""
    if h.dtype in INTEGERS:
        numbers, limits = patterns.view(f"<f{h.itemsize}"), np.iinfo(INTEGERS[h.dtype])
        numbers = np.where(np.isnan(numbers), limits.min, numbers).clip(limits.min, limits.max)
        return np.rint(numbers).astype(INTEGERS[h.dtype]).tobytes()
    kept = MANTISSA_BITS[h.dtype]
    infinity = (1 << 15) - (1 << kept)
    halves = np.arange(infinity + 1)  # the finite ones, and what would follow the largest
    exponents, mantissas = halves >> kept, halves & (1 << kept) - 1
    bias = (1 << 14 - kept) - 1
    numbers = np.ldexp(mantissas + (exponents > 0) * (1 << kept),
                       np.maximum(exponents, 1) - bias - kept)
    sign, magnitude = patterns >> 31 << 15, patterns & 0x7FFFFFFF
    values = np.where(magnitude < 0x7F800000, magnitude, 0).view("<f4").astype(float)
    below = np.minimum(np.searchsorted(numbers, values, "right") - 1, infinity - 1)
    to_below, to_above = values - numbers[below], numbers[below + 1] - values
    found = below + ((to_above < to_below) | ((to_above == to_below) & (below % 2 == 1)))
    found = np.minimum(found, infinity - 1)
    payload = magnitude >> (23 - kept) & (1 << kept) - 1
    payload = np.where((magnitude > 0x7F800000) & (payload == 0), 1 << kept - 1, payload)
    found = np.where(magnitude >= 0x7F800000, infinity + payload, found)
    return (sign.astype(int) | found).astype("<u2").tobytes()


def read_runs(f, pair):
    """Sections 19 and 20: which values of a frame are marked."""
    if not pair:
        return np.zeros(f.count, bool)
    runs = -(-f.count // 4096)
    require(len(pair[0]) == 2 * runs and pair[1], "Runs have a wrong size.")
    sizes, place, marked = struct.unpack(f"<{runs}H", pair[0]), 0, []
    for run, size in enumerate(sizes):
        n = min(4096, f.count - 4096 * run)
        share, place = pair[1][place:place + size], place + size
        require(size <= (n + 7) // 8, "A run is too long.")
        marked.append(np.unpackbits(np.frombuffer(share, np.uint8), bitorder="little")[:n] > 0
                      if size == (n + 7) // 8 else read_mask(share, n))
    require(place == len(pair[1]), "Runs have a wrong size.")
    return np.concatenate(marked)


def write_further_fills(field, f, h):
    """Section 20: the bytes of a frame's values, with fill values 2 to 4 among them."""
    values = np.frombuffer(field, f"<u{h.field_itemsize}").copy()
    for fill, pair in zip(h.more_fills, f.more_masks):
        values[read_runs(f, pair)] = fill
    return values.tobytes()


POWERS = {4: """
    0x1.ca8f0ap-13 0x1.f0ca76p-10 0x1.bdb5bap-7 0x1.418262p-4
    0x1.5be298p-2 0x1.f5e466p-1 0x1.6a09e6p+0
    """, 8: """
    0x1.5a6d6b99eb4a1p-31 0x1.57bfd282ad6ebp-27 0x1.351b8e996a62fp-23 0x1.f5b0e17599b55p-20
    0x1.69e51ee002859p-16 0x1.c8d7530547b4bp-13 0x1.ee4fd234a73e9p-10 0x1.bdb696e8987b7p-7
    0x1.41839eb881567p-4 0x1.5be298adf0369p-2 0x1.f5e46537ab907p-1 0x1.6a09e667f3bcdp+0
    """}  # by bytes of the coded type


def raise_logarithms(patterns, negative, h):
    """Section 19: values of the dtype from bit patterns of logarithms and signs."""
    width, mantissa_bits = 8 * h.itemsize, {4: 23, 8: 52}[h.itemsize]
    real, limit = np.dtype(f"<f{h.itemsize}").type, {4: 128, 8: 1024}[h.itemsize]
    signless, mantissas = (1 << width - 1) - 1, (1 << mantissa_bits) - 1
    infinity = signless & ~mantissas
    patterns = patterns.astype(object if width == 64 else np.int64)
    magnitudes, lows = patterns & signless, patterns >> width - 1
    specials = magnitudes >= infinity
    plain = np.where(specials, 0, patterns).astype(f"<u{h.itemsize}").view(f"<f{h.itemsize}")
    y = np.clip(plain, -np.nextafter(real(limit), real(0)), np.nextafter(real(limit), real(0)))
    e = np.trunc(y + real(limit)) - real(limit)
    t, p = (y - e) - real(0.5), np.zeros_like(y)
    for c in POWERS[h.itemsize].split():
        p = p * t + real(float.fromhex(c))
    bits = p.view(f"<i{h.itemsize}") + e.astype(np.int64) * (1 << mantissa_bits)
    bits = np.clip(bits, 1 << mantissa_bits, infinity - 1).astype(patterns.dtype)
    found = np.where(specials, np.where(lows == 1, magnitudes & mantissas, magnitudes), bits)
    is_zero = patterns == {4: 0x71800000, 8: 0x7E70 << 48}[h.itemsize]
    if h.own_fill is not None:
        found = np.where(is_zero, 0, found)
    if h.itemsize != h.field_itemsize:
        found = np.array([to_f32(int(m)) for m in found], np.int64)
    sign = 1 << 8 * h.field_itemsize - 1
    values = found + negative.astype(int).astype(found.dtype) * sign
    if h.own_fill is not None:
        values = np.where(patterns == h.fill, np.where(negative, 0, h.own_fill), values)
    return values.astype(f"<u{h.field_itemsize}").tobytes()


def to_f32(magnitude):
    """Section 19, step 3."""
    exponent, mantissa = magnitude >> 52, magnitude >> 29 & 0x7FFFFF
    if exponent in (0, 0x7FF):
        return (0x7F800000 if exponent else 0) | mantissa
    least, most = 2.0**-126, (2 - 2.0**-23) * 2.0**127
    number = np.float32(min(max(struct.unpack("<d", struct.pack("<Q", magnitude))[0], least), most))
    return struct.unpack("<I", struct.pack("<f", number))[0]


def read_series(data):
    """Section 17: each step's time (or None), name and archive."""
    steps, at = [], 0
    while at < len(data):
        magic, version, flags, size, checksum, time, name_bytes, reserved = struct.unpack_from(
            "<8sIIQQdII", data, at)
        require(magic == b"\x89SZS\r\n\x1a\n" and version == 1, "This is not a series of version 1.")
        record = data[at:at + 48 + (name_bytes + 15) // 16 * 16]
        require(size > 0, f"Step {len(steps)} is not finished.")
        verify(record[:24] + bytes(8) + record[32:], checksum)
        name, padding = record[48:48 + name_bytes], record[48 + name_bytes:]
        require(flags <= 1 and reserved == 0 and name_bytes <= 255 and size % 16 == 0
                and (flags or record[32:40] == bytes(8)) and math.isfinite(time)
                and 0 not in name and not any(padding), "A record is damaged.")
        at += len(record) + size
        require(at <= len(data), "The series is truncated.")
        steps.append((time if flags else None, name.decode(), data[at - size:at]))
    return steps


def main(archive, output, step=None):
    data, field = Path(archive).read_bytes(), []
    if step is not None:
        _, _, data = read_series(data)[int(step)]
    data = plain(data)
    h = read_header(data)  # also compares the sizes that record and archive state
    for index in range(h.frames):
        rows = min(h.frame_rows, h.extents[0] - index * h.frame_rows)
        shape = [1] * (4 - len(h.extents)) + [rows] + h.extents[1:]
        f = read_frame(data[h.ends[index]:h.ends[index + 1]], h, index, math.prod(shape))
        field.append(write_further_fills(decode_frame(f, h, shape), f, h))
    Path(output).write_bytes(b"" if h.is_empty else b"".join(field))


if __name__ == "__main__":
    main(*sys.argv[1:])
