"""cases_json.py - every member of every JSON object has the name and type of docs/cli.md.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import re

import numpy as np

from cases_docs import page
from harness import CliTest, wave

IS_TYPE = {
    "text": lambda x: isinstance(x, str),
    "count": lambda x: type(x) is int and x >= 0,
    "number": lambda x: type(x) in (int, float),
    "number or null": lambda x: x is None or type(x) in (int, float),
    "boolean": lambda x: isinstance(x, bool),
    "list of texts": lambda x: isinstance(x, list) and all(isinstance(each, str) for each in x),
    "list of numbers or null": lambda x: isinstance(x, list) and all(
        each is None or type(each) in (int, float) for each in x),
    "list of counts": lambda x: isinstance(x, list) and all(type(each) is int for each in x),
    "list of objects": lambda x: isinstance(x, list) and all(isinstance(each, dict) for each in x),
}
COUNTS_OF_BOUND = ("archive_bytes", "values_over_bound")
TEXTS_OF_FRAME = ("kind", "predictor", "axes", "planes", "stencil")


def documented(first="\n## JSON\n", end="\n### Lines of progress\n"):
    """The type of each member, by the table of the page between these headings."""
    text = page("cli.md")
    text = text[text.index(first):text.index(end)]
    types = {}
    for names, kind in re.findall(r"^\| (`[^|]*`) \| ([a-z ]+) \|", text, re.MULTILINE):
        types.update(dict.fromkeys(re.findall(r"`(\w+)`", names), kind))
    return types


OF_WHOLE_FILES = {"datasets", "dataset_count", "in_bytes", "out_bytes", "compressed_count",
                  "restored_count", "is_verified", "is_estimate"}


class Json(CliTest):
    def objects(self):
        """One of each kind."""
        values = wave(10, 20)
        values[0] = np.nan
        np.save(self.path("a.npy"), np.asfortranarray(values.astype(">f8")))
        self.field("b.f32")
        self.write("c_10x20.f32", bytes(800))
        self.write("bad.szg", b"bad")
        for arguments in (["-z", "-V", "-e", "1e-3", "--fill", "nan", "--predictor",
                           "interpolation", "a.npy"],
                          ["-z", "-e", "0.5", "b.f32"],
                          ["-z", "-V", "-m", "lossless", "c_10x20.f32"],
                          ["-z", "-V", "-m", "pwrel", "-e", "0.01", "-o", "p.szg", "b.f32"],
                          ["-z", "--strict", "-f", "-e", "0.5", "b.f32"],
                          ["-x", "-o", "r.npy", "-f", "--compare", "a.npy", "--slab", "0:3", "a.npy.szg"],
                          ["-x", "-f", "--level", "1", "-o", "s", "a.npy.szg"],
                          ["-x", "-f", "--compare", "c_10x20.f32", "c_10x20.f32.szg"],
                          ["-l", "a.npy.szg"], ["-l", "c_10x20.f32.szg"], ["--test", "a.npy.szg"],
                          ["-z", "--append", "s.szgs", "--time", "2", "-e", "0.5", "b.f32"],
                          ["-l", "s.szgs"], ["--test", "s.szgs"], ["-x", "-o", "s", "-f", "s.szgs"],
                          ["--sweep", "0.1,1e-3", "b.f32"], ["--sweep", "1", "none"],
                          ["-z", "-f", "--target-ratio", "2", "c_10x20.f32"], ["-l", "bad.szg"], ["--test", "bad.szg"], ["-x", "bad.szg"],
                          ["-z", "-e", "x", "b.f32"], ["b.f32"]):
            result = self.run_szgpu("--json", *arguments)
            line, = result.out.splitlines()
            found = json.loads(line, parse_constant=self.fail)
            self.assertEqual(found["exit_code"], result.code, arguments)
            yield arguments, found

    def test_members_have_the_documented_types(self):
        types, seen = documented(), set()
        self.assertGreater(len(types), 40)
        for arguments, found in self.objects():
            for name, value in found.items():
                with self.subTest(arguments=arguments, name=name):
                    self.assertTrue(IS_TYPE[types[name]](value), (types[name], value))
            seen |= set(found)
        # Of datasets: see cases_missing; of whole files: cases_repack; joined: cases_reports.
        self.assertEqual(set(types) - seen, OF_WHOLE_FILES | {
            "fill_from", "joined_dims", "fills_from", "valid_least", "valid_greatest", "scale_factor",
            "add_offset", "unpacked_bound"})

    def test_errors_have_these_members_alone(self):
        for arguments, found in self.objects():
            if "error" in found:
                has_command = arguments != ["b.f32"]
                self.assertEqual(set(found), {"input", "error", "exit_code"} |
                                 ({"command"} if has_command else set()))
                self.assertGreater(found["exit_code"], 0)

    def test_no_text_holds_a_number_or_a_list(self):
        for arguments, found in self.objects():
            for frame in found.get("frame_list", []):
                kinds = {name: type(value) for name, value in frame.items()}
                self.assertEqual({kinds.pop(name) for name in TEXTS_OF_FRAME}, {str})
                self.assertEqual(kinds.pop("sections"), list)
                self.assertEqual(set(kinds.values()), {int})
            for outcome in found.get("bounds", []):
                self.assertEqual({type(outcome.pop(name)) for name in COUNTS_OF_BOUND}, {int})
                self.assertTrue({type(value) for value in outcome.values()} <= {int, float})
                self.assertEqual(len(outcome), 10)
            for name, value in found.items():
                if isinstance(value, str) and name not in ("input", "output", "original", "error"):
                    with self.subTest(arguments=arguments, name=name):
                        self.assertNotRegex(value, r"^[0-9.]+$|^(true|false|null)$|[ ,]")

    def test_lines_of_progress_have_the_documented_members(self):
        types = documented("\n### Lines of progress\n", "\n## --h5-args")
        result = self.succeed("-z", "-e", "1e-3", "--json", "--progress=json", self.field("b.f32"))
        lines = [json.loads(line, parse_constant=self.fail) for line in result.out.splitlines()]
        events = [line for line in lines if "event" in line]
        self.assertGreaterEqual(len(events), 2)
        for event in events:
            self.assertEqual(set(event), set(types))
            for member, value in event.items():
                self.assertTrue(IS_TYPE[types[member]](value), (member, value))
