#!/usr/bin/env python3
"""test_check_figures.py - scripts/check_figures.py on small pages, with commands that print tables.

SPDX-License-Identifier: BSD-3-Clause

usage: test_check_figures.py
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "scripts" / "check_figures.py"

PRINTED = """## Ratio

| field | bound | szgpu | other |
|---|---|---|---|
| wind | 1e-2 | 10.0 | 5.00* |
| wind | 1e-3 | 8.0 | 4.00 |

## Speed

| field | bound | szgpu | other |
|---|---|---|---|
| wind | 1e-2 | 100 / 200 | 50 / 60 |
| wind | 1e-3 | 90 / 180 | 40 / 50 |
"""


class CheckFiguresTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="szgpu-figures-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "printed").write_text(PRINTED, encoding="utf-8")

    def check(self, *changes, code, page=PRINTED, mark=None, options=()):
        """The output for a page on which each (old, new) of changes was replaced."""
        for old, new in changes:
            self.assertIn(old, page)
            page = page.replace(old, new, 1)
        mark = mark or f"<!-- figures: cat {self.folder}/printed -->"
        page = page.replace("| field", mark + "\n| field")
        (self.folder / "page.md").write_text(page, encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, *options, self.folder / "page.md"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_passes_figures_that_are_the_same_or_close(self):
        self.assertIn("8 cells compared", self.check(code=0))
        self.assertIn("8 cells compared", self.check(("| 8.0", "| 7.0"), code=0))

    def test_names_figures_that_moved_by_more_than_a_fifth(self):
        self.assertIn("wind, 1e-3, szgpu: 6.6 -> 8.0", self.check(("| 8.0", "| 6.6"), code=1))
        self.assertIn("wind, 1e-2, other: 50 / 80 -> 50 / 60",
                      self.check(("50 / 60", "50 / 80"), code=1))
        self.check(("| 8.0", "| 6.6"), code=0, options=["--share", "0.3"])

    def test_names_a_star_that_came_or_went(self):
        self.assertIn("wind, 1e-2, other: 5.00 -> 5.00*", self.check(("5.00*", "5.00"), code=1))

    def test_names_rows_and_tables_that_are_gone(self):
        self.assertIn("sea, 1e-2: the row is not printed any more",
                      self.check(("| wind | 1e-2", "| sea | 1e-2"), code=1))
        self.assertIn("the command prints no such table any more",
                      self.check(("## Speed", "## Else"), code=1))
        self.assertIn("the command prints no such table any more",
                      self.check(("| other", "| peer"), code=1))

    def test_compares_the_columns_that_the_mark_names(self):
        printed = "| field | bound | other |\n|---|---|---|\n| wind | 1e-2 | 5.00* |\n| wind | 1e-3 | 4.00 |\n"
        (self.folder / "printed").write_text(printed, encoding="utf-8")
        ratios = PRINTED[:PRINTED.index("## Speed")]
        mark = f"<!-- figures of other: cat {self.folder}/printed -->"
        self.assertIn("2 cells compared", self.check(code=0, page=ratios, mark=mark))
        self.assertIn("wind, 1e-3, other: 9.00 -> 4.00",
                      self.check(("4.00", "9.00"), code=1, page=ratios, mark=mark))
        self.assertIn("has no table with all of the columns peer",
                      self.check(code=2, page=ratios, mark=mark.replace("other", "peer")))

    def test_names_a_command_that_fails(self):
        self.assertIn("failed: it ended with 3", self.check(code=1, mark="<!-- figures: exit 3 -->"))

    def test_runs_a_command_once_and_lists_it(self):
        mark = f"<!-- figures: echo ran >> {self.folder}/log; cat {self.folder}/printed -->"
        self.check(code=0, mark=mark)
        self.assertEqual((self.folder / "log").read_text(encoding="utf-8"), "ran\n")
        self.assertIn("cat ", self.check(code=0, mark=mark, options=["--list"]))
        self.assertEqual((self.folder / "log").read_text(encoding="utf-8"), "ran\n")

    def test_refuses_pages_without_tables_to_check(self):
        self.assertIn("no page has a table with a command",
                      self.check(code=2, mark="<!-- a comment -->"))
        self.assertIn("not on the line above a table",
                      self.check(code=2, mark="<!-- figures: true -->\n"))


if __name__ == "__main__":
    unittest.main()
