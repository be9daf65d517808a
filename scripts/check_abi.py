#!/usr/bin/env python3
"""check_abi.py - the shared library still has all that programs linked with the last release use.

SPDX-License-Identifier: BSD-3-Clause

usage: scripts/check_abi.py LIBRARY [--cc GCC] [--list FILE] [--header FILE] [--write]
  LIBRARY        libszgpu.so
  --cc GCC       reads the headers; gcc by default, for clang has no such option
  --list FILE    in place of packaging/abi.txt
  --header FILE  in place of include/szgpu.h and szgpu_series.h
  --write        makes the list anew, at a release; docs/release.md says when

The list has the functions that the last release exports with the types of their arguments, the
layout of every public struct, and the value of every public constant, as gcc's -fdump-go-spec
prints them. What is on the list must be the same now, unless the library has another soname; a
struct that begins with struct_bytes may have grown at its end, but not into its padding, in which
programs leave anything, and a constant that ends in _ALL, the set of all bits, may have gained
some. What is new is printed, and is no fault. The exported functions must be those of the headers.
Exits with 1 if anything is wrong, with 2 if it cannot read something.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = [ROOT / "include" / name for name in ("szgpu.h", "szgpu_series.h")]
# Numbers of the release itself, which every release changes.
NOT_ABI = re.compile(r"const _SZGPU_VERSION_")


def run(*command):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as failure:
        said = getattr(failure, "stderr", None) or failure
        print(f"check_abi.py: {command[0]} failed: {said}".rstrip(), file=sys.stderr)
        sys.exit(2)


def declared(headers, compiler):
    """What the headers declare, one line each, without macros that are no numbers."""
    with tempfile.TemporaryDirectory() as folder:
        spec, source = pathlib.Path(folder, "spec"), pathlib.Path(folder, "headers.c")
        source.write_text("".join(f'#include "{header.resolve()}"\n' for header in headers))
        run(compiler, "-std=c11", f"-fdump-go-spec={spec}", "-I", str(headers[0].parent), "-c", "-g",
            "-o", str(pathlib.Path(folder, "unused.o")), str(source))
        lines = spec.read_text().splitlines()
    wanted = re.compile(r"(func _szgpu_|type _szgpu_|const _SZGPU_|const _sizeof_szgpu_)")
    return sorted(line for line in lines if wanted.match(line) and not NOT_ABI.match(line))


def exported(library):
    """Names of the functions that the library exports, and its soname."""
    symbols = run("nm", "-D", "--defined-only", "--without-symbol-versions", str(library))
    found = (line.split() for line in symbols.splitlines())
    names = {name for _, kind, name in found if kind != "A"}  # A: the version node itself
    soname = re.search(r"\(SONAME\).*\[(.+)\]", run("readelf", "-d", str(library)))
    return names, soname[1] if soname else "none"


def key(line):
    """What a line is about: "type _szgpu_params"."""
    return " ".join(line.split()[:2])


def members(line):
    """The members of a struct with struct_bytes, which may grow, and whether padding follows them;
    None for anything else."""
    body = re.search(r" struct \{ (struct_bytes .*?)(; Godump_0_pad \[\d\]byte)?; \}$", line)
    return body and (body[1].split("; "), bool(body[2]))


def is_kept(old, new):
    """Whether programs that know the old line can use the new one."""
    if old == new:
        return True
    before, after = (re.match(r"const _\w+_ALL = (\d+)$", line) for line in (old, new))
    if before and after:
        return int(before[1]) & ~int(after[1]) == 0
    if not members(old) or not members(new):
        return False
    (before, has_padding), (after, _) = members(old), members(new)
    added = after[len(before):]
    leaves_padding = not has_padding or not added or re.search(r" (u?int64|float64|\*.*)$", added[0])
    return after[:len(before)] == before and bool(leaves_padding)


def compare(old, new):
    """Sentences on what is gone or changed, and the lines that are new."""
    now = {key(line): line for line in new}
    growing = {key(line).split("_", 1)[1] for line in old if members(line)}
    faults = []
    for line in old:
        size_of = re.match(r"const _sizeof_(\w+)", line)
        if size_of and size_of[1] in growing:
            continue  # the members say more
        if key(line) not in now:
            faults.append(f"gone: {line}")
        elif not is_kept(line, now[key(line)]):
            faults.append(f"was: {line}\n  is:  {now[key(line)]}")
    before = {key(line) for line in old}
    return faults, [line for line in new if key(line) not in before]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[2][7:])
    parser.add_argument("shared_object", metavar="LIBRARY", type=pathlib.Path)
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--list", type=pathlib.Path, default=ROOT / "packaging" / "abi.txt")
    parser.add_argument("--header", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()

    names, soname = exported(arguments.shared_object)
    headers = [arguments.header] if arguments.header else HEADERS
    lines = declared(headers, arguments.cc)
    functions = {key(line)[len("func _"):] for line in lines if line.startswith("func ")}
    alien, missing = sorted(names - functions), sorted(functions - names)
    if alien or missing:
        print(f"{arguments.shared_object} exports other functions than the headers declare: "
              f"without a declaration: {alien}; not exported: {missing}")
        return 1
    version = re.search(r'VERSION_STRING "(.+)"', headers[0].read_text())[1]
    if arguments.write:
        arguments.list.write_text("\n".join([f"{soname} of szgpu {version}", *lines, ""]))
        return 0
    first, *listed = arguments.list.read_text().splitlines()
    faults, added = compare(listed, lines)
    release = first.split(" of ")[1]
    for line in added:
        print(f"new since {release}: {line}")
    if not faults:
        return 0
    if first.split()[0] != soname:
        print(f"{soname} differs from {first}, as it may:")
        print("\n".join(faults))
        return 0
    print(f"Programs linked with {first} would break. Keep what they use, or raise SZGPU_ABI in "
          "CMakeLists.txt (docs/release.md):")
    print("\n".join(faults))
    return 1


if __name__ == "__main__":
    sys.exit(main())
