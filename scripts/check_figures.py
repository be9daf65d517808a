#!/usr/bin/env python3
"""check_figures.py - measures tables of the documents again, and says which figures have moved.

SPDX-License-Identifier: BSD-3-Clause

usage: check_figures.py [--list] [--share 0.2] [PAGE...]

PAGE is a Markdown file; by default README.md and all of docs/. A table takes part if the line above
it names the command that printed it, which needs no GPU:

  <!-- figures: python3 bench/compare.py datasets/sample -->
  | field | bound | szgpu |

If the command prints some of the columns only, the line names them:

  <!-- figures of tile, linear: python3 bench/ratios.py build/release/szgpu -->

Every command runs once, in bash at the root of the checkout, and prints tables of Markdown. A table
of the page is compared with the one of the same head, and if there are several, under the same
heading too. Rows are matched by their first columns (field, bound, and so on). The script prints
each figure that has moved by more than the share, and each row or column that is not printed any
more. Ratios and sizes move if the code does; speeds also if the machine is another or is busy.
--list prints the commands and does not run them. $SZGPU_FIELDS in commands is the folder of real
fields; if it is not in the environment, the one that datasets/README.md names.

Exit code: 0 nothing moved, 1 something did or a command failed, 2 an argument or a page is bad.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = re.compile(r"<!-- figures(?: of ([^:]+))?: (.+) -->")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
KEYS = ("", "field", "bound", "rel", "chunk, MiB", "threads")  # columns that say which row it is

# rows: {the cells of the key columns: {head of a column: cell}}
Table = collections.namedtuple("Table", "heading head rows command line")


class PageError(Exception):
    """A page or a table that cannot be used, in one sentence."""


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables_of(text):
    """All tables of a page, with the heading above, and the command named in the line before."""
    lines = text.splitlines()
    heading, found = "", []
    for number, line in enumerate(lines):
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
        is_first = line.startswith("|") and not (number and lines[number - 1].startswith("|"))
        if not is_first:
            continue
        head, rows = cells_of(line), {}
        key_count = next((place for place, name in enumerate(head) if name not in KEYS), len(head))
        for row in lines[number + 2:]:
            if not row.startswith("|"):
                break
            cells = cells_of(row)
            key = tuple(cell.replace("*", "") for cell in cells[:key_count])  # bold or not
            rows[key] = dict(zip(head[key_count:], cells[key_count:]))
        mark = MARK.fullmatch(lines[number - 1].strip()) if number else None
        if mark and mark[1]:
            columns = mark[1].split(", ")
            if not set(columns) <= set(head[key_count:]):
                raise PageError(f"has no table with all of the columns {mark[1]}")
            head = head[:key_count] + columns
            rows = {key: {name: row[name] for name in columns} for key, row in rows.items()}
        found.append(Table(heading, tuple(head), rows, mark and mark[2], number + 1))
    marks = sum(bool(MARK.fullmatch(line.strip())) for line in lines)
    if marks != sum(table.command is not None for table in found):
        raise PageError("has a mark for figures that is not on the line above a table")
    return found


def twin_of(table, printed):
    """The table that was printed where `table` was copied from; None if there is none."""
    same = [other for other in printed if other.head == table.head]
    if len(same) > 1:
        same = [other for other in same if other.heading == table.heading]
    return same[0] if len(same) == 1 else None


def has_moved(old, new, share):
    """Whether a cell's words changed, or one of its numbers by more than the share."""
    if NUMBER.sub("", old) != NUMBER.sub("", new):
        return True
    pairs = zip(map(float, NUMBER.findall(old)), map(float, NUMBER.findall(new)))
    return any(abs(b - a) > share * abs(a) for a, b in pairs)


def compare(table, printed, share):
    """(sentences on what moved, how many cells were compared)"""
    twin = twin_of(table, printed)
    if twin is None:
        return ["the command prints no such table any more"], 0
    said, count = [], 0
    for key, row in table.rows.items():
        name = ", ".join(key)
        if key not in twin.rows:
            said.append(f"{name}: the row is not printed any more")
            continue
        for column, old in row.items():
            new = twin.rows[key][column]
            count += 1
            if has_moved(old, new, share):
                said.append(f"{name}, {column}: {old} -> {new}")
    return said, count


def read_pages(paths):
    """{path: its tables with a command}"""
    pages = {}
    for path in paths:
        try:
            tables = tables_of(pathlib.Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise PageError(f"{path} cannot be read: {error.strerror}.") from error
        except PageError as error:
            raise PageError(f"{path} {error}.") from error
        pages[path] = [table for table in tables if table.command]
    return pages


def run(command):
    """The tables that a command prints, or None if it failed; what it says to stderr is shown."""
    print(f"== {command}", flush=True)
    environment = {"SZGPU_FIELDS": str(ROOT.parent / "shared" / "datasets"), **os.environ}
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, check=False,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"   failed: it ended with {done.returncode}")
        return None
    return tables_of(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the commands, run none")
    parser.add_argument("--share", type=float, default=0.2, help="of a figure, that is no move")
    parser.add_argument("page", nargs="*")
    asked = parser.parse_args()
    paths = asked.page or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    try:
        pages = read_pages(paths)
    except PageError as error:
        print(f"check_figures.py: {error}", file=sys.stderr)
        return 2
    commands = dict.fromkeys(table.command for tables in pages.values() for table in tables)
    if not commands:
        print("check_figures.py: no page has a table with a command.", file=sys.stderr)
        return 2
    if asked.list:
        print("\n".join(commands))
        return 0
    is_same, total = True, 0
    for command in commands:
        printed = run(command)
        is_same = is_same and printed is not None
        for path, tables in pages.items():
            for table in (one for one in tables if one.command == command and printed is not None):
                said, count = compare(table, printed, asked.share)
                total += count
                is_same = is_same and not said
                for sentence in said:
                    print(f"{os.path.relpath(path, ROOT)}:{table.line}: {sentence}")
    print(f"{total} cells compared.")
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
