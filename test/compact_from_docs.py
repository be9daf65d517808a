"""compact_from_docs.py - the plain form of small archives, written from docs/format.md alone.

SPDX-License-Identifier: BSD-3-Clause

Section numbers are those of the page. decode_from_docs.py reads what plain() returns.
"""
import math
import struct
import sys

try:
    from xxhash import xxh3_64_intdigest as xxh3
except ImportError:
    xxh3 = None

WIDTHS = [4, 8, 1, 2, 2, 1, 1, 2, 2, 4]  # bytes of a value, by dtype
LINEAR, CONSTANT, RAW, TILE, PLANES, LEVELS = range(6)
LISTS = {1, 5, 7, 10, 20, 23, 25, 27}
RANKS = {  # section 21: the units by rank, after a length; "run" and "more": in a run
    0: "0 1 2 3 12 4 6 5 10 7 9 8 11 13 14 15",
    1: "0 2 4 3 5 6 7 8 13 1 9 10 11 12 14 15",
    2: "0 4 2 3 1 5 6 7 13 8 9 10 11 12 14 15",
    3: "0 3 4 5 2 6 7 13 1 8 9 10 11 12 14 15",
    4: "4 0 5 6 3 7 8 2 9 13 1 10 12 11 14 15",
    5: "5 0 6 7 4 8 3 9 2 10 13 1 12 11 14 15",
    6: "6 0 7 5 8 9 4 10 3 2 13 11 1 12 14 15",
    7: "7 0 8 6 9 5 10 4 11 3 2 12 13 1 14 15",
    8: "8 0 9 7 10 6 11 5 4 12 3 2 13 1 14 15",
    9: "9 0 10 8 7 11 6 12 5 4 3 2 13 1 14 15",
    10: "10 9 0 11 8 12 7 6 5 4 3 2 13 1 14 15",
    11: "11 10 0 12 9 8 7 6 5 4 3 2 13 1 14 15",
    12: "12 0 11 10 9 8 7 6 5 4 3 1 2 13 14 15",
    "run": "0 1 2 15 3 4 6 5 7 8 14 10 9 11 12 13",
    "more": "0 10 15 1 2 14 3 12 13 4 11 5 7 6 8 9"}
RANKS = {last: [int(unit) for unit in row.split()] for last, row in RANKS.items()}


def require(condition, sentence="The archive is damaged."):
    if not condition:
        sys.exit(sentence)


def tree(data, front=None):
    """The checksum of a section, or of what follows `front`."""
    if xxh3 is None:
        return 0
    leaves = [xxh3(data[i:i + 16384]) for i in range(0, len(data), 16384)]
    return xxh3((front or b"") + struct.pack(f"<{len(leaves)}Q", *leaves))


class Bits:
    """Section 21: fields one after the other."""

    def __init__(self, words):
        self.words, self.at = words, 0
        self.last, self.run = 0, None

    def take(self, count):
        taken = 0
        for _ in range(count):
            require(self.at < 32 * len(self.words))
            taken = 2 * taken + (self.words[self.at // 32] >> 31 - self.at % 32 & 1)
            self.at += 1
        return taken

    def number(self):
        count = self.take(5)
        return 1 << count - 1 | self.take(count - 1) if count else 0

    def double(self, form):
        require(form in (1, 2))
        return (struct.unpack("<f", struct.pack("<I", self.take(32)))[0] if form == 1 else
                struct.unpack("<d", struct.pack("<Q", self.take(64)))[0])

    def list(self):
        count, least, width = self.number(), self.number(), self.take(5)
        require(width <= 16 and count <= 1 << 20)
        return [least + self.take(width) for _ in range(count)]

    def begin_units(self):
        self.last, self.run = 0, None

    def unit(self):
        half = 0
        while self.take(1):
            half += 1
        require(half < 8)
        unit = RANKS[self.run or self.last][2 * half + self.take(1)]
        if self.run == "run":
            self.run, self.more = ("more", 2) if unit == 15 else (None, 0)
        elif self.run == "more":
            self.more -= 1
            self.run = "more" if self.more else None
        elif unit == 0:
            self.run = "run"
        else:
            self.last = 0 if unit == 13 else unit
        return unit

    def lengths(self, count, may_end):
        """The code lengths of a book of `count` symbols."""
        self.begin_units()
        lengths = []
        while len(lengths) < count:
            unit = self.unit()
            if unit == 13 and may_end:
                lengths += [0] * (count - len(lengths))
            elif unit == 0:
                run = self.unit()
                lengths += [0] * (16 + 16 * self.unit() + self.unit() if run == 15 else run + 1)
            else:
                require(unit <= 12)
                lengths.append(unit)
        require(len(lengths) == count)
        return lengths


def share(bound, value_range, is_rounded):
    bits = max(struct.unpack("<Q", struct.pack("<d", bound * value_range))[0] - 2, 0)
    if is_rounded:
        bits = bits + 511 & ~511
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def read_bound(bits, h):
    """What archives with a bound have in their headers."""
    h["arithmetic"] = bits.take(2)
    is_log = h["mode"] == 4
    coded = ((4 if h["arithmetic"] < 2 else 8) if is_log else
             {1: 8, 9: 8}.get(h["dtype"], 4))
    h["coded"] = coded
    own = WIDTHS[h["dtype"]]
    if bits.take(1):
        h["fills"] = [bits.take(8 * (own if is_log else coded))]
        h["fills"] += [bits.take(8 * own) for _ in range(bits.take(2))]
    form = bits.take(2)
    h["asked"] = bits.double(form) if form else bits.number() / 10.0 ** bits.take(4)
    h["limits"] = [bits.double(1 if coded == 4 else 2) for _ in range(2)] if bits.take(1) else []
    form = bits.take(2)
    h["step"] = bits.double(form) if form else 0.0
    form = bits.take(2)
    require(form < 3 or h["limits"])
    h["range"] = (h["limits"][1] - h["limits"][0] if form == 3 else
                  bits.double(form) if form else 0.0)
    form = bits.take(2)
    h["bound"] = (h["asked"] if form == 0 else bits.double(form) if form == 2 else
                  share(h["asked"], h["range"], form == 3))


def read_frame(bits, h):
    """The first 40 bytes of the frame's header but for the section count, and the usual mask."""
    kind = bits.take(3)
    axes = bits.take(3) if kind in (LINEAR, TILE, LEVELS) else 0
    second = third = radius = constant = 0
    usual = {CONSTANT: set(), RAW: {12}, TILE: {0, 1, 2}}.get(kind)
    h["modes"] = []
    if kind == LINEAR:
        second, radius = bits.take(4), bits.number()
        usual = {0, 1, 2} | ({3, 4} if h["has_gaps"] else set())
    elif kind == CONSTANT:
        constant = bits.take(8 * h.get("coded", WIDTHS[h["dtype"]]))
    elif kind == TILE:
        third = bits.take(2) + 4 * bits.take(1)
    elif kind == PLANES:
        second = bits.take(3) + 1
        radius = bits.take(2 * second)
        h["modes"] = [radius >> 2 * p & 3 for p in range(second)]
        for p, mode in enumerate(h["modes"]):
            constant |= bits.take(8) << 8 * p if mode == 2 else 0
        usual = ({0, 1, 22} if 1 in h["modes"] else set()) | ({12} if 0 in h["modes"] else set())
    elif kind == LEVELS:
        second = bits.take(2)
        third, second = (0, second) if second else (8 + 16 * bits.take(1), bits.take(2))
        levels, fine = bits.take(3), bits.take(4)
        third += bits.take(1) + 2 * bits.take(1) + (4 * bits.take(1) if second == 1 else 0)
        radius = levels | fine << 8 | sum(bits.take(2) << 16 + 2 * axis for axis in range(3))
        constant, usual = bits.number(), set(range(13, 14 + levels))
    require(usual is not None)
    return (kind, axes, second, third, radius, 0, math.prod(h["dims"]), constant), usual


def read_book(bits):
    """Section 6: a codebook section."""
    escape, first, count = bits.take(4), bits.number(), bits.number()
    section, lengths = struct.pack("<BBHH", escape, 0, first, count), bits.lengths(count, False)
    at = 0
    while at < count:
        run = 1
        while run < 8 and at + run < count and lengths[at + run] == lengths[at]:
            run += 1
        section += bytes([lengths[at] | run - 1 << 5])
        at += run
    return section


def read_stage(bits):
    """Section 16: what comes before the words, and their number of bytes."""
    mode, lane_groups, unit = bits.take(2), bits.take(3), bits.take(8) + 1
    books, sizes = b"", b""
    words = 0
    if mode:
        count = bits.number()
        bits.begin_units()
        units = [bits.unit() for _ in range(count)]
        units += [0] * (-len(units) % 8)
        books = bytes(16 * units[i] + units[i + 1] for i in range(0, len(units), 2))
        tiles = bits.list()
        sizes = struct.pack(f"<{len(tiles)}H", *tiles) + bytes(2 * (len(tiles) % 2))
        words = sum(tiles)
    head = struct.pack("<BBHIII", mode, lane_groups, 0, unit, len(books), 0)
    return head + books + sizes, 4 * words


def read_coded(bits, kind, section, modes):
    if section in LISTS:
        numbers = bits.list()
        return struct.pack(f"<{len(numbers)}H", *numbers), 0
    if 13 <= section <= 19:
        return read_stage(bits)
    require(section == 0 and kind in (TILE, PLANES))
    if kind == TILE:
        return read_book(bits), 0
    lengths = [length for mode in modes if mode == 1 for length in bits.lengths(256, True)]
    return bytes(lengths[i] | lengths[i + 1] << 4 for i in range(0, len(lengths), 2)), 0


def read_sections(bits, data, frame_kind, mask, modes):
    """(kind, codec, raw bytes, stored bytes) of the sections, by kind."""
    stated, copied = [], []
    for section in sorted(mask):
        form, front, count, raw = bits.take(2), b"", None, None
        require(form < 3)
        if form == 2:
            raw = bits.number()
        if form == 1:
            front, count = read_coded(bits, frame_kind, section, modes)
        elif section != max(mask):
            count = bits.number()
        stated.append((section, form, raw, front))
        copied.append(count)
    at = 16 + -(-bits.at // 32) * 4
    require(not any(bits.take(1) for _ in range(-bits.at % 32)))
    if copied and copied[-1] is None:
        copied[-1] = len(data) - at - sum(copied[:-1])
    require(at + sum(copied) == len(data) and min(copied, default=0) >= 0)
    sections = {}
    for (section, form, raw, front), count in zip(stated, copied):
        contents = front + data[at:at + count]
        at += count
        sections[section] = (int(form == 2), len(contents) if raw is None else raw, contents)
    return sections


def find_version(h, kind, flags, sections):
    """The table at the top of the page."""
    if kind == LEVELS and flags & 8:
        return 12
    if h["joined"]:
        return 11
    if kind == LEVELS and flags & 4:
        return 10
    if h["limits"] or h["fills"][1:] or h["source"] == 8:
        return 8
    if kind == PLANES and 22 in sections:
        return 7
    is_lossless = h["mode"] == 3
    if h["dtype"] > 5 or (h["dtype"] > 1 and not is_lossless) or h["mode"] == 4:
        return 6
    if kind == LEVELS:
        return 5
    if is_lossless and h["layout"] == 0:
        return 4
    if kind == PLANES or is_lossless or (h["layout"] == 0 and not h["has_gaps"]):
        return 3
    return 2 if h["layout"] else 1


def plain(data):
    """The archive outside of its compact form; any other archive as it is."""
    if data[:8] != b"\x89SZG\r\n\x1a\n" or data[8:9] != b"\x09":
        return data
    require(len(data) >= 16, "The archive is truncated.")
    size = int.from_bytes(data[9:12], "little")
    require(size > 16)
    require(len(data) == (size + 15) // 16 * 16, "The archive is truncated or too long.")
    checksum = tree(data[16:], data[:12] + bytes(4)) & 0xFFFFFFFF
    require(xxh3 is None or checksum == struct.unpack_from("<I", data, 12)[0],
            "A checksum does not match.")
    bits = Bits(struct.unpack_from(f"<{(size - 16) // 4}I", data, 16))
    h = {"limits": [], "fills": [], "arithmetic": 0, "has_gaps": False, "source": 0}
    h.update({name: 0.0 for name in ("asked", "bound", "step", "range")})
    h["dtype"], h["ndim"] = bits.take(4), bits.take(2) + 1
    h["dims"] = [bits.number() for _ in range(h["ndim"])]
    require(1 <= math.prod(h["dims"]) <= 1 << 18 and h["dtype"] <= 9)
    h["mode"], h["joined"] = bits.take(3), 0
    if h["mode"] == 7:
        h["joined"], h["mode"] = bits.take(3), bits.take(3)
        require(h["joined"] and h["joined"] >> h["ndim"] - 1 == 0)
    h["layout"] = bits.take(1)
    require(h["mode"] <= 4)
    h["has_gaps"] = h["layout"] == 0 and bits.take(1) == 1
    h["source"] = bits.take(4) if bits.take(1) else 0
    if h["mode"] != 3:
        read_bound(bits, h)
    frame, usual = read_frame(bits, h)
    mask = usual
    if bits.take(1):
        number = bits.take(29)
        mask = {28 - i for i in range(29) if number >> 28 - i & 1}
    sections = read_sections(bits, data[:size], frame[0], mask, h["modes"])
    if frame[0] == TILE:
        sections = {k: sections.get(k, (0, 0, b"")) for k in {0, 1, 2, 7, 8, 9, 10, 11} | mask}
    return write_plain(h, frame, sections)


def rows_of(h):
    """Section 4: the extent of the slowest axis longer than 1."""
    extents = [1]
    for i, dim in enumerate(h["dims"]):
        extents[-1] *= dim
        if not h["joined"] >> i & 1:
            extents.append(1)
    return next((d for d in extents if d > 1), 1)


def write_plain(h, frame, sections):
    """Sections 3 and 4."""
    table, contents = b"", b""
    for kind, (codec, raw, stored) in sorted(sections.items()):
        padded = stored + bytes(-len(stored) % 16)
        table += struct.pack("<IIQQQ", kind, codec, raw, len(stored), tree(padded))
        contents += padded
    head = struct.pack("<BBBBIQQQII", *frame, len(sections), 0) + table
    body = head + struct.pack("<Q", xxh3(head) if xxh3 else 0) + contents
    more = struct.pack(f"<{len(h['limits'])}d{len(h['fills'][1:])}Q", *h["limits"],
                       *h["fills"][1:])
    size = (128 + 8 + len(more) + 8 + 15) // 16 * 16
    flags = (bool(h["fills"]) | 2 * (h["layout"] == 0 and not h["has_gaps"])
             | 4 * bool(h["limits"]) | len(h["fills"][1:]) << 3 | h["joined"] << 5)
    dims = h["dims"] + [1] * (4 - h["ndim"])
    header = struct.pack(
        "<8sIIBBBBI4Q4d4QIIQ", b"\x89SZG\r\n\x1a\n", find_version(h, frame[0], frame[3], sections), flags,
        h["dtype"], h["ndim"], h["mode"], h["layout"], h["source"], *dims, h["asked"], h["bound"],
        h["step"], h["range"], h["fills"][0] if h["fills"] else 0,
        rows_of(h), 1, size + len(body), h["arithmetic"], 0, len(body))
    header = (header + more).ljust(size - 8, b"\0")
    return header + struct.pack("<Q", xxh3(header) if xxh3 else 0) + body
