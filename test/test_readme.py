#!/usr/bin/env python3
"""test_readme.py - the code of README.md runs, from top to bottom, in a fresh copy of the tree.

SPDX-License-Identifier: BSD-3-Clause

usage: test_readme.py BUILD_DIR

The copy holds the files that git tracks, and BUILD_DIR in place of the build/release that
scripts/quickstart.sh makes. All sh blocks run in one shell, whose user has a new home. A text block
shows what the block before it prints; "..." stands for a word that differs from run to run.

A comment above an sh block keeps it from running here, or says what it needs:
  <!-- run by FILE -->        FILE, a test, runs each of its lines, by readme_line
  <!-- not run: REASON -->    no test can
  <!-- needs: HDF5 h5diff --> a build with HDF5 and the command h5diff; without them it is skipped
The Python block is run by python/tests/test_docs.py, and scripts/check_style.sh compares the C block
with examples/compress.c, which test/install/test_install.sh builds.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$",
                   re.MULTILINE | re.DOTALL)
RUN_ELSEWHERE = {"python", "c"}
build_dir = None  # set below

Block = collections.namedtuple("Block", "line mark language text")


def blocks():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    return [Block(page.count("\n", 0, found.start("language")) + 1, found["mark"] or "",
                  found["language"], found["text"])
            for found in BLOCK.finditer(page)]


def files_of_the_tree():
    if not (ROOT / ".git").exists():  # the sources of a release
        return [path.relative_to(ROOT) for path in ROOT.rglob("*")
                if path.is_file() and not path.relative_to(ROOT).parts[0].startswith("build")]
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True,
                             stdout=subprocess.PIPE).stdout.decode().split("\0")
    return [name for name in tracked if (ROOT / name).is_file()]  # some may be about to be removed


def copy_the_tree(folder):
    for name in files_of_the_tree():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    (folder / "build").mkdir()
    (folder / "build" / "release").symlink_to(build_dir)


def missing(needs):
    """What of it this build or this machine lacks."""
    version = subprocess.run([build_dir / "szgpu", "--version"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    return [need for need in needs
            if not ("\nHDF5: yes\n" in version if need == "HDF5" else shutil.which(need))]


class Readme(unittest.TestCase):
    maxDiff = None

    def to_run(self):
        """The sh blocks that run here; says why others do not."""
        chosen = []
        for block in blocks():
            if block.language != "sh":
                continue
            kind, _, rest = block.mark.partition(": ")
            lacks = missing(rest.split()) if kind == "needs" else []
            if kind == "not run":
                print(f"README.md:{block.line} is not run: {rest}")
            elif block.mark.startswith("run by "):
                print(f"README.md:{block.line} is {block.mark}")
            elif lacks:
                print(f"skipped: README.md's section on HDF5, for there is no {', '.join(lacks)}")
            else:
                self.assertIn(kind, ("", "needs"), f"README.md:{block.line}")
                chosen.append(block)
        return chosen

    def test_the_blocks_run_in_order(self):
        chosen = self.to_run()
        self.assertGreaterEqual(len(chosen), 3)
        with tempfile.TemporaryDirectory(prefix="szgpu-readme-") as folder:
            tree, home = pathlib.Path(folder, "tree"), pathlib.Path(folder, "home")
            tree.mkdir()
            home.mkdir()
            copy_the_tree(tree)
            script = "".join(f"echo '@@ README.md:{block.line}'\n{block.text}" for block in chosen)
            left_out = ("DESTDIR", "HDF5_PLUGIN_PATH")
            environment = {name: value for name, value in os.environ.items() if name not in left_out}
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=tree,
                                  env={**environment, "HOME": str(home)}, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", check=False)
        parts = re.split(r"^@@ (README\.md:\d+)\n", done.stdout, flags=re.MULTILINE)
        self.assertEqual(done.returncode, 0, f"{parts[-2]} failed:\n{parts[-1]}")
        printed = dict(zip(parts[1::2], parts[2::2]))
        self.assertEqual(len(printed), len(chosen))
        self.compare(printed)

    def compare(self, printed):
        """What blocks printed with the text blocks behind them."""
        found = blocks()
        shown = [pair for pair in zip(found, found[1:]) if pair[1].language == "text"]
        self.assertGreaterEqual(len(shown), 1)
        for block, text in shown:
            pattern = re.escape(text.text).replace(re.escape("..."), r"\S+")
            out = printed[f"README.md:{block.line}"]
            self.assertTrue(re.fullmatch(pattern, out),
                            f"README.md:{text.line} shows\n{text.text}\nbut this is printed:\n{out}")

    def test_every_block_is_run_or_compared(self):
        for block in blocks():
            self.assertIn(block.language, {"sh", "text"} | RUN_ELSEWHERE, f"README.md:{block.line}")
            if block.mark.startswith("run by "):
                test = (ROOT / block.mark.removeprefix("run by ")).read_text(encoding="utf-8")
                taken = re.findall(r"^ *readme_line '?([^'\n]+)'?$", test, re.MULTILINE)
                for line in block.text.splitlines():
                    self.assertTrue(line.startswith(tuple(taken)), f"{block.mark}: {line}")

    def test_quickstart_prints_the_block_that_follows_it(self):
        found = [block for block in blocks() if block.language == "sh"]
        self.assertIn("scripts/quickstart.sh", found[0].text)
        self.assertTrue(found[1].text.startswith("PATH="), found[1].text)

    def test_it_is_short(self):
        lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        self.assertLess(len(lines), 150)


if __name__ == "__main__":
    build_dir = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
