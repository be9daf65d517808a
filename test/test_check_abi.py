#!/usr/bin/env python3
"""test_check_abi.py - scripts/check_abi.py on szgpu.h with one planted change each.

SPDX-License-Identifier: BSD-3-Clause

usage: test_check_abi.py C_COMPILER
Needs gcc, as check_abi.py does, to read headers and to make small libraries of them.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = (ROOT / "include" / "szgpu.h").read_text()
compiler = None


def check(library, header, *options):
    command = [sys.executable, ROOT / "scripts" / "check_abi.py", library, "--cc", compiler,
               "--header", header, "--list", header.parent / "abi.txt", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class CheckAbi(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="szgpu-abi-"))
        self.addCleanup(shutil.rmtree, self.folder)
        code, printed = check(self.make_library(HEADER), self.folder / "szgpu.h", "--write")
        self.assertEqual((code, printed), (0, ""))

    def make_library(self, header, abi=0, hidden=()):
        """A library with the functions of a header, empty ones."""
        (self.folder / "szgpu.h").write_text(header)
        names = set(re.findall(r"\b(szgpu_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.S)))
        names -= set(hidden) | set(re.findall(r"\(\*(szgpu_\w+)\)", header))
        source = self.folder / "all.c"
        source.write_text("".join(f"void {name}(void) {{}}\n" for name in sorted(names)))
        library = self.folder / "libszgpu.so"
        subprocess.run([compiler, "-shared", "-fPIC", f"-Wl,-soname,libszgpu.so.{abi}", "-o",
                        library, source], check=True)
        return library

    def after(self, old, new, **how):
        """What it says of the header with this text replaced."""
        self.assertEqual(HEADER.count(old), 1, old)
        changed = HEADER.replace(old, new)
        return check(self.make_library(changed, **how), self.folder / "szgpu.h")

    def refuses(self, old, new, *sentences):
        code, printed = self.after(old, new)
        self.assertEqual(code, 1, printed)
        for sentence in sentences:
            self.assertIn(sentence, printed)

    def test_the_same_header_is_kept(self):
        self.assertEqual(check(self.make_library(HEADER), self.folder / "szgpu.h"), (0, ""))

    def test_a_function_may_be_added(self):
        code, printed = self.after("const char *szgpu_version(void);",
                                   "const char *szgpu_version(void);\nint szgpu_new(int x);")
        self.assertEqual(code, 0, printed)
        self.assertRegex(printed, r"^new since szgpu [0-9.]+: func _szgpu_new \(int32\) int32")

    def test_no_function_may_go(self):
        self.refuses("const char *szgpu_version(void);", "", "gone: func _szgpu_version ()")

    def test_no_argument_may_change(self):
        self.refuses("void szgpu_destroy(szgpu_ctx *ctx);",
                     "void szgpu_destroy(szgpu_ctx *ctx, int how);",
                     "was: func _szgpu_destroy (*_szgpu_ctx)",
                     "is:  func _szgpu_destroy (*_szgpu_ctx, int32)", "raise SZGPU_ABI")

    def test_another_soname_may_break(self):
        code, printed = self.after("const char *szgpu_version(void);", "", abi=1)
        self.assertEqual(code, 0, printed)
        self.assertIn("libszgpu.so.1 differs from libszgpu.so.0 of szgpu", printed)

    def test_structs_with_struct_bytes_grow_at_their_end(self):
        code, printed = self.after("} szgpu_params;", "  double new_member;\n} szgpu_params;")
        self.assertEqual((code, printed), (0, ""))
        self.refuses("} szgpu_shape;", "  int new_member;\n} szgpu_shape;",
                     "is:  type _szgpu_shape struct")

    def test_no_member_is_where_padding_was(self):
        """Programs leave anything there, and count it in struct_bytes."""
        padded = HEADER.replace("} szgpu_params;", "  int last;\n} szgpu_params;")
        code, printed = check(self.make_library(padded), self.folder / "szgpu.h", "--write")
        self.assertEqual((code, printed), (0, ""))
        for member, is_kept in (("int padding", False), ("double behind", True)):
            changed = padded.replace("} szgpu_params;", f"  {member};\n}} szgpu_params;")
            code, printed = check(self.make_library(changed), self.folder / "szgpu.h")
            self.assertEqual(code, 0 if is_kept else 1, printed)

    def test_no_member_comes_before_others(self):
        self.refuses("typedef struct szgpu_params {\n  size_t struct_bytes;",
                     "typedef struct szgpu_params {\n  size_t struct_bytes;\n  double new_member;",
                     "is:  type _szgpu_params struct { struct_bytes uint64; new_member float64;")

    def test_no_constant_changes(self):
        self.refuses("SZGPU_BACKEND_CPU = 1", "SZGPU_BACKEND_CPU = 3",
                     "was: const _SZGPU_BACKEND_CPU = 1")

    def test_the_set_of_all_bits_gains_some_and_loses_none(self):
        bits = int(re.search(r"SZGPU_SOURCE_ALL = (\d+)", HEADER)[1])
        code, printed = self.after(f"SZGPU_SOURCE_ALL = {bits}", f"SZGPU_SOURCE_ALL = {2 * bits + 1}")
        self.assertEqual((code, printed), (0, ""))
        self.refuses(f"SZGPU_SOURCE_ALL = {bits}", f"SZGPU_SOURCE_ALL = {2 * bits}",
                     f"was: const _SZGPU_SOURCE_ALL = {bits}")

    def test_what_is_declared_is_exported(self):
        library = self.make_library(HEADER, hidden=("szgpu_version",))
        code, printed = check(library, self.folder / "szgpu.h")
        self.assertEqual(code, 1, printed)
        self.assertIn("not exported: ['szgpu_version']", printed)
        source = self.folder / "all.c"
        source.write_text(source.read_text() + "void szgpu_version(void){} void szg_inside(void){}")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        code, printed = check(library, self.folder / "szgpu.h")
        self.assertEqual(code, 1, printed)
        self.assertIn("without a declaration: ['szg_inside']", printed)

    def test_a_library_that_is_not_there(self):
        code, printed = check(self.folder / "none.so", self.folder / "szgpu.h")
        self.assertEqual(code, 2, printed)
        self.assertIn("check_abi.py: nm failed", printed)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    compiler = sys.argv.pop(1)
    unittest.main()
