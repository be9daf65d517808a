#!/usr/bin/env python3
"""check_layers.py - no file includes or calls what is above it, and no files do so in a circle.

SPDX-License-Identifier: BSD-3-Clause

usage: scripts/check_layers.py [--list] [--root FOLDER]
  --list         also prints which folder uses which, and how many pairs of files do
  --root FOLDER  checks src/, apps/ and include/ in FOLDER instead of those beside this script

Prints each include or call that breaks a rule below, each cycle, and a summary. Exits with 1 if
there is any, with 2 if it cannot read a file or knows no row for it.
"""
import argparse
import collections
import pathlib
import posixpath
import sys

import c_source
from c_source import is_header

# --- The rules ----------------------------------------------------------------------------------

# Lowest first. A file may use, that is include or call, files of its own folder and of the rows
# before. Folders of one row do not use each other. A folder without a row belongs to the one it is
# in, as src/huffman/decoders to src/huffman.
ORDER = (
    ("include",),  # what users see
    ("src/container/format.h",),  # the format's constants, open to all
    ("src/core",),  # status, memory, threads, tiles, device; knows no stage
    ("src/container",),  # headers, sections, checksums, zstd
    ("src/values",),  # values of other types to those that are coded
    ("src/quant", "src/rle", "src/huffman"),  # bound and lattice; runs; codes to bits
    ("src/predict", "src/outlier"),  # values to codes; the values that codes cannot hold
    ("src/study",),  # codecs that no archive reaches: a library for the benches
    ("src/codecs",),  # the kinds of frames, a folder each, and what they share
    ("src/frames",),  # the table of kinds, and values that are mapped before they are coded
    ("src/pipeline",),  # the order of things; names no kind
    ("src/szgpu.c", "src/szgpu_async.c", "src/szgpu_stream.c"),  # the public functions
    ("src/szgpu_region.c",),  # and those for parts of a field
    ("src/series",),  # archives one after the other in a file; the public functions on them
    ("apps/chunks",),  # what the HDF5 filter and the command do with chunks
    ("apps/szgpu", "apps/hdf5"),
    ("apps/hdf5/parallel",),  # a program with the filter's settings
    ("apps/adios2",),  # reads its parameters as the command does its options
)

# Stages share arithmetic and little else, and leave the rest to codecs, frames and pipeline, which
# may include everything below them. Other stages and szgpu.c may include these headers only.
OPEN_HEADERS = {
    "src/container": (),
    "src/values": ("log.cuh", "map_values.cuh", "mapping.h"),
    "src/quant": ("quant_core.h", "arithmetic.cuh"),
    "src/rle": ("rle.h", "rle.cuh"),
    "src/huffman": ("decoders/decoders.h",),
    "src/predict": (),
    "src/outlier": (),
}
SEE_OPEN_HEADERS = tuple(OPEN_HEADERS) + (
    "src/szgpu.c",
    "src/szgpu_async.c",
    "src/szgpu_region.c",
    "src/szgpu_stream.c",
)

# Folders in src/codecs: a kind of frame each. A kind uses no other kind, except that interpolation
# has Lorenzo's frame measured, to take the smaller one.
KINDS = "src/codecs"
KIND_USES = {("interpolation", "lorenzo")}

# The library and the apps do without these; they are for bench/ and test/.
BESIDE = ("src/study",)


def refusal(user, used, is_public):
    """Why the file `user` may not use the file `used`, or None. is_public: it calls a public
    function there."""
    own, other = unit_of(user), unit_of(used)
    if own == other:
        kinds = kind_of(user), kind_of(used)
        if None not in kinds and kinds[0] != kinds[1] and kinds not in KIND_USES:
            return "a kind of frame does not use another kind"
        return None
    if own.startswith("apps/") and other.startswith("src") and not is_public:
        return "apps see only what is public"
    if other in BESIDE:
        return f"{other} is not part of the product"
    if row_of(other) > row_of(own):
        return f"{other} is above {own}"
    if row_of(other) == row_of(own):
        return f"{other} and {own} stand beside each other"
    header = used[len(other) + 1:]
    if own in SEE_OPEN_HEADERS and is_header(header):
        if header not in OPEN_HEADERS.get(other, (header,)):
            return f"{other} does not open {header} to other stages"
    return None


def unit_of(path):
    """The longest name in ORDER that `path` is or is in; None if there is none."""
    names = [name for row in ORDER for name in row
             if path == name or path.startswith(name + "/")]
    return max(names, key=len) if names else None


def kind_of(path):
    """The kind of frame that has the folder of `path` for itself; None: there is none."""
    kind, _, name = path.removeprefix(KINDS + "/").partition("/")
    return kind if name and path.startswith(KINDS + "/") else None


def row_of(unit):
    return next(index for index, row in enumerate(ORDER) if unit in row)


# --- Who uses whom ------------------------------------------------------------------------------

Use = collections.namedtuple("Use", "user line used what")  # what: '#include' or a name


class Tree:
    """The files under `root` and each use that one makes of another."""

    def __init__(self, root):
        texts = {path.relative_to(root).as_posix(): path.read_text(errors="replace")
                 for folder in ("include", "src", "apps")
                 for path in sorted((root / folder).rglob("*"))
                 if path.is_file() and path.name.endswith(c_source.SUFFIXES)}
        static_macros = c_source.static_macros(texts.values())
        self.sources = {path: c_source.Source(path, text, static_macros)
                        for path, text in texts.items()}
        for path in texts:
            if not unit_of(path):
                raise ValueError(f"{path} has no row in the order of folders: add one")
        if not texts:
            raise ValueError(f"{root} has no C or CUDA files in src/, apps/ and include/")
        self.lost_includes = []  # (file, line, what stands in the quotes)
        self.includes = [use for path in self.sources for use in self._includes_of(path)]
        self._included = collections.defaultdict(set)
        for use in self.includes:
            self._included[use.user].add(use.used)
        self._definers = collections.defaultdict(list)
        for path, source in self.sources.items():
            for name in source.defined:
                self._definers[name].append(path)
        self.calls = [use for path in self.sources for use in self._calls_of(path)]
        self.public_functions = {name for path, source in self.sources.items()
                                 if unit_of(path) == "include" for name in source.functions}
        # A public header may call what public headers declare.
        self.calls = [use for use in self.calls if unit_of(use.user) != "include" or
                      use.what not in self.public_functions]
        private = {name for source in self.sources.values() for name in source.private}
        self.undefined = [(path, name) for path, source in self.sources.items()
                          for name in sorted(source.functions)
                          if name not in self._definers and name not in private]

    def _includes_of(self, path):
        folder = path.rpartition("/")[0]
        for line, name in self.sources[path].includes:
            beside = posixpath.normpath(f"{folder}/{name}")
            places = (beside, f"src/{name}", f"include/{name}", f"include/{name}.in")
            used = next((place for place in places if place in self.sources), None)
            if used:
                yield Use(path, line, used, "#include")
            else:
                self.lost_includes.append((path, line, name))

    def _calls_of(self, path):
        source, seen = self.sources[path], self._all_included_by(path)
        for name, line in self._uses_of(source, seen).items():
            if name not in self._definers or name in source.private or name in source.defined:
                continue
            # Prefixed names are unique. Others mean what the headers that this file includes say.
            folders = {header.rpartition("/")[0] for header in seen
                       if name in self.sources[header].declared}
            for used in self._definers[name]:
                if (name.startswith(c_source.PREFIXES) or used in seen or
                        used.rpartition("/")[0] in folders and not is_header(used)):
                    yield Use(path, line, used, name)

    def _uses_of(self, source, seen):
        """The names that a file uses, also by macros of the files that it includes."""
        macros, words = collections.defaultdict(set), dict(source.words)
        for included in (self.sources[path] for path in seen):
            for name, body in included.macros.items():
                macros[name] |= body
            if included.path.endswith(".inc"):  # uses the macros that this file defines
                words.update(dict.fromkeys(included.words, 1))
        uses, done = dict(source.uses), set()
        new = [(name, line) for name, line in words.items() if name in macros]
        while new:
            name, line = new.pop()
            done.add(name)
            for word in macros[name]:
                uses.setdefault(word, line)
                if word in macros and word not in done:
                    new.append((word, line))
        return uses

    def _all_included_by(self, path):
        found, new = set(), {path}
        while new:
            found |= new
            new = {used for user in new for used in self._included[user]} - found
        return found


def cycles_of(pairs):
    """The strongly connected sets of two nodes or more, largest first (Tarjan, 1972)."""
    graph = collections.defaultdict(set)
    for user, used in pairs:
        graph[user].add(used)
    order, lowest, path, is_on_path, found = {}, {}, [], set(), []

    def visit(node):
        order[node] = lowest[node] = len(order)
        path.append(node)
        is_on_path.add(node)
        for used in sorted(graph.get(node, ())):
            if used not in order:
                visit(used)
            if used in is_on_path:
                lowest[node] = min(lowest[node], lowest[used])
        if lowest[node] == order[node]:
            members = set(path[path.index(node):])
            del path[path.index(node):]
            is_on_path.difference_update(members)
            if len(members) > 1:
                found.append(members)

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return sorted(found, key=lambda members: (-len(members), min(members)))


# --- The verdict --------------------------------------------------------------------------------

def breaches(tree):
    """A line for each include and each pair of files with calls that the rules refuse."""
    for path, line, name in tree.lost_includes:
        yield f'{path}:{line}: includes "{name}", which is not in src/, include/ or beside it'
    told = set()
    for use in tree.includes + tree.calls:
        reason = refusal(use.user, use.used, use.what in tree.public_functions)
        is_call = use.what != "#include"
        if reason and not (is_call and (use.user, use.used) in told):
            told.add((use.user, use.used))
            what = f"uses {use.what} of" if is_call else "includes"
            yield f"{use.user}:{use.line}: {what} {use.used}: {reason}"
    # If this script failed to see a function, it would also fail to see the calls to it.
    for path, name in tree.undefined:
        yield f"{path}: declares {name}, which no file defines"


def print_cycle(members, uses):
    print(f"cycle of {len(members)} files:")
    names = collections.defaultdict(set)
    for use in uses:
        if use.user in members and use.used in members:
            names[use.user, use.used].add(use.what)
    for (user, used), whats in sorted(names.items()):
        print(f"  {user} -> {used}: {', '.join(sorted(whats))}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    options = parser.parse_args()
    try:
        tree = Tree(options.root)
    except ValueError as error:
        print(f"check_layers.py: {error}", file=sys.stderr)
        return 2

    found = list(breaches(tree))
    for line in found:
        print(line)
    uses = tree.includes + tree.calls
    edges = {(use.user, use.used) for use in uses}
    folder_edges = collections.Counter((unit_of(user), unit_of(used)) for user, used in edges
                                       if unit_of(user) != unit_of(used))
    folder_cycles = cycles_of(folder_edges)
    for members in folder_cycles:
        print(f"cycle between folders: {', '.join(sorted(members))}")
    file_cycle_count = 0
    for same_uses in (tree.includes, tree.calls):
        for members in cycles_of((use.user, use.used) for use in same_uses):
            print_cycle(members, same_uses)
            file_cycle_count += 1

    if options.list:
        for (user, used), count in sorted(folder_edges.items()):
            print(f"{user} -> {used}  {count}")
    print(f"{len(tree.sources)} files, {len(edges)} edges, {len(found)} against the order, "
          f"{len(folder_cycles)} cycles between folders, {file_cycle_count} cycles of files")
    return 1 if found or folder_cycles or file_cycle_count else 0


if __name__ == "__main__":
    sys.exit(main())
