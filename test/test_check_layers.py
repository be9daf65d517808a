#!/usr/bin/env python3
"""test_check_layers.py - scripts/check_layers.py on small trees, each with one planted fault.

SPDX-License-Identifier: BSD-3-Clause

usage: test_check_layers.py
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "scripts" / "check_layers.py"

# A tree without faults: each test adds or replaces files.
CLEAN = {
    "include/szgpu.h": "int szgpu_compress(int x);\n",
    "src/container/format.h": "enum { SZG_TILE = 4096 };\n",
    "src/core/tiles.h": '#include "container/format.h"\nint szg_tiles(int x);\n',
    "src/core/tiles.c": '#include "core/tiles.h"\nint szg_tiles(int x) { return x / SZG_TILE; }\n',
    "src/huffman/huffman.h": '#include "core/tiles.h"\nint szg_encode(int x);\n',
    "src/huffman/encode.c": '#include "huffman/huffman.h"\n'
                            "int szg_encode(int x) { return szg_tiles(x); }\n",
    "src/codecs/simple/raw.h": "int szg_raw(int x);\n",
    "src/codecs/simple/raw.c": '#include "codecs/simple/raw.h"\n#include "huffman/huffman.h"\n'
                        "int szg_raw(int x) { return szg_encode(x); }\n",
    "src/szgpu.c": '#include "szgpu.h"\n#include "codecs/simple/raw.h"\n'
                   "int szgpu_compress(int x) { return szg_raw(x); }\n",
    "apps/szgpu/main.c": '#include "szgpu.h"\nint main(void) { return szgpu_compress(1); }\n',
}


def check(files, *options):
    """(exit code, output) for CLEAN with these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**CLEAN, **files}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, SCRIPT, "--root", folder, *options],
                              capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class CheckLayers(unittest.TestCase):
    def passes(self, files):
        code, printed = check(files)
        self.assertEqual(code, 0, printed)
        self.assertIn("0 against the order, 0 cycles between folders, 0 cycles of files", printed)

    def fails(self, files, *sentences):
        code, printed = check(files)
        self.assertEqual(code, 1, printed)
        for sentence in sentences:
            self.assertIn(sentence, printed)

    def test_clean_tree_passes(self):
        self.passes({})

    def test_a_kind_uses_no_other_kind(self):
        used = {"src/codecs/lorenzo/frame.h": "int szg_measure(int x);\n",
                "src/codecs/lorenzo/frame.c": '#include "codecs/lorenzo/frame.h"\n'
                                              "int szg_measure(int x) { return x; }\n"}
        user = ('#include "codecs/lorenzo/frame.h"\n'
                "int szg_use(int x) { return szg_measure(x); }\n")
        head = "int szg_use(int x);\n"
        self.fails({**used, "src/codecs/planes/use.h": head,
                    "src/codecs/planes/use.c": '#include "codecs/planes/use.h"\n' + user},
                   "a kind of frame does not use another kind")
        interpolation = "src/codecs/interpolation/use"
        self.passes({**used, interpolation + ".h": head,
                     interpolation + ".c": '#include "codecs/interpolation/use.h"\n' + user})

    def test_lists_which_folder_uses_which(self):
        code, printed = check({}, "--list")
        self.assertEqual(code, 0, printed)
        self.assertIn("src/core -> src/container/format.h  1\n", printed)
        self.assertIn("src/szgpu.c -> src/codecs  2\n", printed)

    # --- The order of folders ---

    def test_refuses_upward_include(self):
        self.fails({"src/core/up.h": '#include "huffman/huffman.h"\n'},
                   "src/core/up.h:1: includes src/huffman/huffman.h: src/huffman is above src/core",
                   "1 against the order")

    def test_refuses_upward_call_without_include(self):
        self.fails({"src/core/up.c": "int szg_encode(int x);\n\n"
                                     "int szg_up(int x) { return szg_encode(x); }\n"},
                   "src/core/up.c:3: uses szg_encode of src/huffman/encode.c")

    def test_refuses_include_within_a_row(self):
        self.fails({"src/rle/rle.h": '#include "huffman/huffman.h"\n'},
                   "src/huffman and src/rle stand beside each other")

    def test_refuses_a_header_that_its_stage_does_not_open(self):
        tables = {"src/huffman/tables.h": "enum { SZG_TABLES = 2 };\n"}
        self.fails({**tables, "src/predict/planes.h": '#include "huffman/tables.h"\n'},
                   "src/huffman does not open tables.h to other stages")
        self.passes({**tables, "src/pipeline/plan.h": '#include "huffman/tables.h"\n'})

    def test_nothing_of_the_product_uses_study(self):
        study = {"src/study/rows.h": '#include "huffman/huffman.h"\n'}
        self.passes(study)
        self.fails({**study, "src/pipeline/plan.h": '#include "study/rows.h"\n'},
                   "src/study is not part of the product")

    def test_apps_see_what_is_public(self):
        self.fails({"apps/szgpu/main.c": '#include "core/tiles.h"\n'},
                   "apps/szgpu/main.c:1: includes src/core/tiles.h: apps see only")
        self.fails({"apps/szgpu/main.c": "int szg_tiles(int);\n"
                                         "int main(void) { return szg_tiles(1); }\n"},
                   "apps/szgpu/main.c:2: uses szg_tiles of src/core/tiles.c: apps see")

    def test_a_folder_in_a_folder_belongs_to_it(self):
        self.passes({"src/huffman/decoders/gap.c": '#include "huffman/huffman.h"\n'})

    def test_refuses_include_of_nothing(self):
        self.fails({"src/core/tiles.c": '#include "core/tile.h"\n'},
                   'includes "core/tile.h", which is not in src/')

    def test_refuses_a_function_that_is_nowhere(self):
        self.fails({"src/core/tiles.c": "int szg_other;\n"},
                   "src/core/tiles.h: declares szg_tiles, which no file defines")

    # --- Cycles ---

    def test_refuses_cycle_between_folders(self):
        self.fails({"src/core/tiles.c": "int szg_encode(int);\n"
                                        "int szg_tiles(int x) { return szg_encode(x); }\n"},
                   "cycle between folders: src/core, src/huffman", "cycle of 2 files:",
                   "  src/core/tiles.c -> src/huffman/encode.c: szg_encode\n",
                   "  src/huffman/encode.c -> src/core/tiles.c: szg_tiles\n",
                   "1 cycles between folders, 1 cycles of files")

    def test_refuses_cycle_between_folders_through_different_files(self):
        self.fails({"src/core/other.c": "int szg_encode(int);\n"
                                        "int szg_other(int x) { return szg_encode(x); }\n"},
                   "1 cycles between folders, 0 cycles of files")

    def test_refuses_call_cycle_within_a_folder(self):
        self.refuses_call_of_odd("int szg_even(int x) { return x ? szg_odd(x - 1) : 1; }\n")

    def test_sees_a_call_by_pointer(self):
        self.refuses_call_of_odd("function *const szg_even = szg_odd;\n")
        self.refuses_call_of_odd("struct row const szg_even[] = {{.name = 1, .run = szg_odd}};\n")

    def test_sees_a_call_in_a_macro(self):
        self.refuses_call_of_odd("#define CALL(x) \\\n  szg_odd(x)\n"
                                 "int szg_even(int x) { return CALL(x); }\n")
        self.refuses_call_of_odd("#define INNER(x) szg_odd(x)\n#define CALL(x) INNER(x)\n"
                                 "int szg_even(int x) { return CALL(x); }\n")

    def test_sees_a_call_in_a_macro_of_an_included_body(self):
        self.fails({"src/core/even.c": '#define CALL szg_odd\n#include "core/body.inc"\n'
                    "int szg_even(int x) { return step(x); }\n",
                    "src/core/body.inc": "static int step(int x) { return CALL(x); }\n",
                    "src/core/odd.c": "int szg_odd(int x) { return szg_even(x); }\n"},
                   "  src/core/even.c -> src/core/odd.c: szg_odd\n")

    def test_a_table_in_a_macro_is_used_where_the_macro_is(self):
        rows = {"src/core/rows.h": "#define ROWS(X) X(szg_odd)\nint szg_even(int);\n",
                "src/core/odd.c": '#include "core/rows.h"\n'
                                  "int szg_odd(int x) { return szg_even(x); }\n"}
        self.passes({**rows, "src/core/table.c": '#include "core/rows.h"\n'
                     "static function *const table[] = {ROWS(ROW)};\n",
                     "src/core/even.c": "int szg_even(int x) { return x; }\n"})
        self.fails({**rows, "src/core/even.c": '#include "core/rows.h"\n'
                    "static function *const table[] = {ROWS(ROW)};\n"
                    "int szg_even(int x) { return table[0](x); }\n"},
                   "  src/core/even.c -> src/core/odd.c: szg_odd\n")

    def test_sees_a_call_in_each_branch(self):
        even = "#ifdef A\nint szg_even(int x) {{{}\n#else\nint szg_even(int x) {{{}\n#endif\n}}\n"
        self.refuses_call_of_odd(even.format("return szg_odd(x);", ""))
        self.refuses_call_of_odd(even.format("", "return szg_odd(x);"))

    def test_sees_a_call_in_a_method(self):
        self.refuses_call_of_odd(
            "namespace szg {\nnamespace {\ntemplate <class T = int>\nstruct A {\n"
            "  int run() const { return szg_odd(1); }\n};\n}\n}\n"
            "int szg_even(int x) { return A<>().run(); }\n", ".cu")

    def test_sees_a_template_with_a_default(self):
        self.refuses_call_of_odd("template <int kDims = 1>\n"
                                 "int szg_even(int x) { return szg_odd(x); }\n", ".cu")

    def refuses_call_of_odd(self, even, suffix=".c"):
        self.fails({"src/core/even" + suffix: even,
                    "src/core/odd.c": "int szg_odd(int x) { return szg_even(x); }\n"},
                   f"  src/core/even{suffix} -> src/core/odd.c: szg_odd\n", "0 against the order",
                   "0 cycles between folders, 1 cycles of files")

    def test_a_name_in_passing_is_no_call(self):
        odd = {"src/core/odd.c": "int szg_odd(int x) { return szg_even(x); }\n"}
        even = "\nint szg_even(int x) { return x; }\n"
        for line in ("/* szg_odd */", "// szg_odd", "int szg_odd(int x);",
                     'static char *text = "szg_odd";',
                     "static int f(struct s *s) { return s->szg_odd; }"):
            self.passes({**odd, "src/core/even.c": line + even})

    def test_a_type_is_no_call(self):
        self.passes({"src/core/a.cu": "int limits(int x) { return szg_b(x); }\n",
                     "src/core/b.cu": "struct limits { int most; };\n"
                                      "int szg_b(int x) { limits l; return l.most; }\n"})

    def test_a_header_s_constant_is_no_call(self):
        self.passes({"src/core/a.cuh": "constexpr int kA = 1;\n"
                                       "inline int szg_a(int x) { return szg_b(x); }\n",
                     "src/core/b.cu": '#include "core/a.cuh"\nint szg_b(int x) { return kA; }\n'})

    def test_a_static_function_is_its_file_s_own(self):
        self.passes({"src/core/even.c": "static int szg_odd(int x) { return x; }\n"
                                        "int szg_even(int x) { return szg_odd(x); }\n",
                     "src/core/odd.c": "int szg_odd(int x) { return szg_even(x); }\n"})
        self.passes({"src/core/a.c": "static int szg_half(int x) { return szg_third(x); }\n",
                     "src/core/b.c": "int szg_third(int x) { return szg_half(x); }\n",
                     "src/core/c.c": "int szg_half(int x) { return x / 2; }\n"})

    def test_names_without_a_prefix_are_those_of_the_headers(self):
        app = {"apps/szgpu/a.h": "int go(void);\n",
               "apps/szgpu/a.c": '#include "b.h"\nint go(void) { return stop(); }\n',
               "apps/szgpu/b.h": "int stop(void);\n",
               "apps/szgpu/b.c": '#include "a.h"\nint stop(void) { return go(); }\n'}
        self.fails(app, "  apps/szgpu/a.c -> apps/szgpu/b.c: stop\n",
                   "0 cycles between folders, 1 cycles of files")
        self.passes({**app, "apps/szgpu/b.c": "int stop(void) { int go = 1; return go; }\n"})

    def test_refuses_include_cycle(self):
        self.fails({"src/core/a.h": '#include "core/b.h"\n',
                    "src/core/b.h": '#include "core/a.h"\n'},
                   "  src/core/a.h -> src/core/b.h: #include\n", "1 cycles of files")

    def test_an_inline_function_may_call_what_its_header_declares(self):
        self.passes({"src/core/a.h": "int szg_a(int x);\n"
                                     "static inline int szg_b(int x) { return szg_a(x); }\n",
                     "src/core/a.c": '#include "core/a.h"\nint szg_a(int x) { return x; }\n'})

    # --- What cannot be checked ---

    def test_stops_at_a_folder_without_a_row(self):
        code, printed = check({"src/wavelet/wavelet.c": "\n"})
        self.assertEqual(code, 2, printed)
        self.assertIn("src/wavelet/wavelet.c has no row in the order of folders", printed)

    def test_stops_at_braces_that_do_not_match(self):
        for text in ("int f(void) { return 1;\n", "int f(void) { return 1; }}\n"):
            code, printed = check({"src/core/tiles.c": text})
            self.assertEqual(code, 2, printed)
            self.assertIn("src/core/tiles.c: the braces do not match", printed)


if __name__ == "__main__":
    unittest.main(verbosity=2)
