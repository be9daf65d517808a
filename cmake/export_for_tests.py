"""export_for_tests.py - makes hidden symbols of an object visible, so that a library exports them.

usage: export_for_tests.py OBJECT PREFIX...

OBJECT, a relocatable ELF object, is changed in place: each symbol that it defines and hides gets
the default visibility if its name begins with a PREFIX. No linker option does that. Nothing else
changes, so tests run the machine code that users get.
"""
# SPDX-License-Identifier: BSD-3-Clause

import os
import struct
import sys

SYMBOL_TABLE = 2  # SHT_SYMTAB
SYMBOL_BYTES = 24
UNDEFINED = 0  # SHN_UNDEF
LOCAL = 0  # STB_LOCAL
HIDDEN = 2  # STV_HIDDEN


def sections(image):
    """For each section: its type, offset, size and the index of the section it is linked to."""
    table, = struct.unpack_from("<Q", image, 0x28)
    header_bytes, count = struct.unpack_from("<HH", image, 0x3A)
    for header in range(table, table + count * header_bytes, header_bytes):
        kind, = struct.unpack_from("<I", image, header + 4)
        yield (kind, *struct.unpack_from("<QQI", image, header + 0x18))


def export(image, prefixes):
    """How many symbols it made visible."""
    found = list(sections(image))
    exported = 0
    for kind, offset, size, names in found:
        if kind != SYMBOL_TABLE:
            continue
        for symbol in range(offset, offset + size, SYMBOL_BYTES):
            name, info, other, section = struct.unpack_from("<IBBH", image, symbol)
            is_hidden = info >> 4 != LOCAL and other & 3 == HIDDEN and section != UNDEFINED
            if is_hidden and image.startswith(prefixes, found[names][1] + name):
                image[symbol + 5] = other & ~3
                exported += 1
    return exported


def main():
    path, prefixes = sys.argv[1], tuple(prefix.encode() for prefix in sys.argv[2:])
    with open(path, "rb") as file:
        image = bytearray(file.read())
    if image[:6] != b"\x7fELF\x02\x01":
        raise SystemExit(f"export_for_tests.py: {path} is no ELF file of 64 bits, little-endian")
    if not export(image, prefixes):
        os.remove(path)  # so that the next build does not take it for done
        raise SystemExit(f"export_for_tests.py: nothing that {path} hid has such a name")
    with open(path, "wb") as file:
        file.write(image)


main()
