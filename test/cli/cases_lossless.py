"""cases_lossless.py - lossless archives of any file; archives without gap arrays; decoders.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import re
import struct

import numpy as np

from harness import CliTest, wave

TYPES = {"f32": 4, "f64": 8, "u8": 1, "bf16": 2, "f16": 2, "fp8": 1}
LINEAR = ("--layout", "linear")
CPU_LINEAR_DECODERS = ("auto", "serial", "table", "self-sync", "all-offsets")


def weights(count, dtype="<u2"):
    """Weights from N(0, 0.02), in bf16 or f32."""
    values = (np.random.default_rng(5).normal(size=count) * 0.02).astype("<f4")
    return values if dtype == "<f4" else (values.view("<u4") >> 16).astype("<u2")


def safetensors(tensors):
    """A .safetensors file: the header's size, the header in JSON, the tensors' bytes."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


class ThereAndBack(CliTest):
    def restored(self, name, *options):
        """What the archive of a file gives back, by its listing and its bytes."""
        self.succeed("-z", "-q", "-f", "-m", "lossless", *options, name)
        self.succeed("-x", "-q", "-f", "-o", "back", name + ".szg")
        return self.succeed_json("-l", name + ".szg"), self.read("back")

    def test_every_type_by_option_and_by_extension(self):
        content = weights(4000).tobytes()
        for dtype, width in TYPES.items():
            for name, options in ((f"a.{dtype}", ()), ("a.dat", ("-t", dtype))):
                with self.subTest((dtype, name)):
                    self.write(name, content)
                    listing, back = self.restored(name, *options)
                    self.assertEqual(back, content)
                    self.assertEqual((listing["dtype"], listing["dims"], listing["mode"]),
                                     (dtype, [8000 // width], "lossless"))

    def test_options_that_it_has_use_for(self):
        self.write("a_80x50.bf16", weights(4000).tobytes())
        for options in (("--zstd",), ("--frame", "64"), ("-j", "3"), ("-V",), ("-b", "cpu"),
                        ("--layout", "tile"), ("--decoder", "table", "-V")):
            with self.subTest(options):
                listing, back = self.restored("a_80x50.bf16", *options)
                self.assertEqual(back, weights(4000).tobytes())
                self.assertEqual(listing["dims"], [80, 50])
        self.assertEqual(listing["frames"], 1)

    def test_a_slab(self):
        self.write("a_80x50.bf16", weights(4000).tobytes())
        self.succeed("-zq", "-m", "lossless", "a_80x50.bf16")
        self.succeed("-xq", "--slab", "7:30", "-o", "slab", "a_80x50.bf16.szg")
        self.assertEqual(self.read("slab"), weights(4000)[350:1500].tobytes())

    def test_safetensors(self):
        content = safetensors({
            "embed.weight": ("BF16", [100, 60], weights(6000).tobytes()),
            "norm.weight": ("F32", [300], weights(300, "<f4").tobytes())})
        self.write("model.safetensors", content)
        listing, back = self.restored("model.safetensors")
        self.assertEqual(back, content)
        self.assertEqual((listing["dtype"], listing["dims"]), ("u8", [len(content)]))
        self.assertLess(listing["archive_bytes"], len(content))

    def test_zstd_is_named_where_it_makes_a_file_smaller(self):
        text = b"".join(b"%d bottles of beer on the wall, take one down\n" % i for i in range(40000))
        numbers = np.arange(9000, dtype="<i4").tobytes()
        for name, content, options, note in (
                ("short.txt", text[:100000], (), "becomes "),
                ("long.txt", text, (), "its first 2^20 bytes become "),
                ("short.txt", text[:100000], ("--zstd",), None),
                ("weights.bf16", weights(9000).tobytes(), (), None),
                ("numbers.i32", numbers, (), None),
                ("noise.bin", np.random.default_rng(3).bytes(50000), (), None),
                ("tiny.txt", text[:4000], (), None)):
            with self.subTest((name, options)):
                self.write(name, content)
                result = self.succeed("-z", "-f", "-m", "lossless", *options, name)
                if note is None:
                    self.assertEqual(result.err, "")
                else:
                    self.assertRegex(result.err, f"^szgpu: note: {name}: {re.escape(note)}\\d+ % smaller "
                                                 "with --zstd, as text and programs often are, which are "
                                                 "no fields\n$")

    def test_any_file_is_bytes(self):
        for name, content in (("text", b"the quick brown fox\n" * 300), ("a.tar.gz", os.urandom(999)),
                              ("one.byte", b"\0"), ("odd.bin", bytes(4097))):
            with self.subTest(name):
                self.write(name, content)
                listing, back = self.restored(name)
                self.assertEqual(back, content)
                self.assertEqual(listing["dtype"], "u8")

    def test_standard_input(self):
        content = weights(2000).tobytes()
        archive = self.succeed("-z", "-q", "-m", "lossless", "-t", "bf16", "-", stdin=content,
                               binary=True).out
        self.assertEqual(self.succeed("-x", "-q", "-", stdin=archive, binary=True).out, content)

    def test_npy_files_of_floats(self):
        for array in (wave(30, 20), wave(30, 20, dtype=">f8"), np.asfortranarray(wave(8, 9, 7))):
            array[0, 1] = np.nan
            np.save(self.path("a.npy"), array)
            content = self.read("a.npy")
            self.succeed("-zqV", "-f", "-m", "lossless", "a.npy")
            os.remove(self.path("a.npy"))
            self.succeed("-xq", "a.npy.szg")
            self.assertEqual(self.read("a.npy"), content)
            self.assertIn(self.succeed_json("-l", "a.npy.szg")["dtype"], ("f32", "f64"))

    def test_npy_files_of_other_values_are_bytes(self):
        for dtype in ("<u4", "<i8", "|b1", "<c8"):
            with self.subTest(dtype):
                np.save(self.path("a.npy"), np.arange(300).astype(dtype))
                content = self.read("a.npy")
                self.succeed("-zqV", "-f", "-m", "lossless", "a.npy")
                self.succeed("-xqf", "--compare", "a.npy", "-o", "b.npy", "a.npy.szg")
                self.assertEqual(self.read("b.npy"), content)

    def test_an_npy_file_as_bytes_gets_no_second_header(self):
        np.save(self.path("a.npy"), wave(30, 20))
        content = self.read("a.npy")
        self.succeed("-zq", "-m", "lossless", "-t", "u8", "a.npy")
        for output in ([], ["-o", "b.npy"], ["-o", "c"]):
            self.succeed("-xqf", *output, "a.npy.szg")
            self.assertEqual(self.read(output[1] if output else "a.npy"), content)

    def test_types_that_are_not_written_as_npy(self):
        self.write("a.bf16", weights(400).tobytes())
        self.succeed("-zq", "-m", "lossless", "a.bf16")
        self.assert_refused(["-x", "-o", "b.npy", "a.bf16.szg"], 1, "a.bf16.szg: holds bf16 values, "
                            "which szgpu does not write as .npy; name another output with -o")


class LinearLayout(CliTest):
    """The lossless stream of codes, which every decoder of the layout reads."""

    def check(self, name, content, *options):
        for no_gap in ((), ("--no-gap",)):
            decoders = CPU_LINEAR_DECODERS + (() if no_gap else ("hierarchical",))
            self.succeed("-zqf", "-m", "lossless", *LINEAR, *no_gap, *options, name)
            for decoder in decoders:
                for threads in ("1", "3"):
                    with self.subTest((decoder, no_gap, threads)):
                        self.succeed("-xqf", "-o", "back", "--decoder", decoder, "-j", threads,
                                     name + ".szg")
                        self.assertEqual(self.read("back"), content)
                self.succeed("-zqVf", "-m", "lossless", *LINEAR, *no_gap, *options, "--decoder",
                             decoder, name)
        return self.succeed_json("-l", name + ".szg")

    def test_every_type(self):
        content = weights(4000).tobytes()
        for dtype, width in TYPES.items():
            self.write(f"a.{dtype}", content)
            told = self.check(f"a.{dtype}", content)
            self.assertEqual((told["dtype"], told["dims"], told["mode"], told["layout"]),
                             (dtype, [8000 // width], "lossless", "linear"))

    def test_options_that_it_has_use_for(self):
        self.write("a_80x50.bf16", weights(4000).tobytes())
        for options in (("--zstd",), ("--frame", "64")):
            self.check("a_80x50.bf16", weights(4000).tobytes(), *options)

    def test_slabs(self):
        self.write("a_80x50.bf16", weights(4000).tobytes())
        self.succeed("-zq", "-m", "lossless", *LINEAR, "a_80x50.bf16")
        for decoder in (*CPU_LINEAR_DECODERS, "hierarchical"):
            self.succeed("-xqf", "--slab", "7:30", "-o", "slab", "--decoder", decoder,
                         "a_80x50.bf16.szg")
            self.assertEqual(self.read("slab"), weights(4000)[350:1500].tobytes(), decoder)

    def test_any_file_and_npy_files(self):
        text = b"the quick brown fox\n" * 300
        self.write("text", text)
        self.assertEqual(self.check("text", text)["dtype"], "u8")
        np.save(self.path("a.npy"), wave(30, 20))
        content = self.read("a.npy")
        self.check("a.npy", content[-2400:], "-o", "a.npy.szg")
        self.succeed("-xqf", "-o", "b.npy", "a.npy.szg")
        self.assertEqual(self.read("b.npy"), content)

    def test_a_listing(self):
        self.write("a.bf16", weights(4000).tobytes())
        self.succeed("-zq", "-m", "lossless", *LINEAR, "a.bf16")
        out = self.succeed("-l", "a.bf16.szg").out
        self.assertRegex(out, r"\Aa\.bf16\.szg\n  field    bf16 4000\n  size     [^\n]+\n"
                         r"  bound    lossless: every bit is restored\n"
                         r"  format   version 9, linear layout, 1 frame of 4000 rows\n"
                         r"  decoders auto serial table gap-array chunked self-sync all-offsets "
                         r"hierarchical\n  frame 0: rows 0:4000, top plane cs, [0-9]+ bytes\n"
                         r"    codebook +stored +[0-9]+ of +[0-9]+ bytes at [0-9]+\n")
        told = self.succeed_json("-l", "a.bf16.szg")
        self.assertEqual((told["has_gaps"], told["format_version"]), (True, 9))
        frame = told["frame_list"][0]
        self.assertEqual((frame["kind"], frame["planes"], frame["axes"]), ("top plane", "cs", ""))
        self.assertEqual([section["name"] for section in frame["sections"]],
                         ["codebook", "tile sizes", "bitstream", "gap array", "sequence codes",
                          "raw values"])


class Reports(CliTest):
    def setUp(self):
        super().setUp()
        self.write("a.bf16", weights(4000).tobytes())

    def test_lines(self):
        number = r"[0-9.]+(e[+-]?[0-9]+)?"
        out = self.succeed("-z", "-m", "lossless", "a.bf16").out
        self.assertRegex(out, rf"\Aa\.bf16 -> a\.bf16\.szg  ratio {number}  8\.00 kB -> {number} kB"
                         rf"  lossless  {number} GB/s\n\Z")
        out = self.succeed("-zVf", "-m", "lossless", "a.bf16").out
        self.assertRegex(out, rf"  lossless  {number} GB/s  bit-identical\n\Z")
        out = self.succeed("-x", "-o", "b", "--compare", "a.bf16", "a.bf16.szg").out
        self.assertRegex(out, rf"  lossless  {number} GB/s  bit-identical\n\Z")

    def test_a_listing_has_planes_and_decoders(self):
        self.succeed("-zq", "-m", "lossless", "a.bf16")
        out = self.succeed("-l", "a.bf16.szg").out
        self.assertRegex(out, r"\Aa\.bf16\.szg\n  field    bf16 4000\n  size     [^\n]+\n"
                         r"  bound    lossless: every bit is restored\n"
                         r"  format   version 9, tile layout, 1 frame of 4000 rows\n"
                         r"  decoders auto table\n  frame 0: rows 0:4000, planes cs, [0-9]+ bytes\n"
                         r"    codebook +stored +128 of +128 bytes at [0-9]+\n")
        told = self.succeed_json("-l", "a.bf16.szg")
        self.assertEqual((told["decoders"], told["has_gaps"], told["format_version"]),
                         (["auto", "table"], False, 9))
        frame = told["frame_list"][0]
        self.assertEqual((frame["kind"], frame["planes"]), ("planes", "cs"))
        self.assertEqual([section["name"] for section in frame["sections"]],
                         ["codebook", "tile sizes", "raw values", "plane words"])

    def test_json_has_figures(self):
        told = self.succeed_json("-zV", "-m", "lossless", "a.bf16")
        self.assertEqual((told["mode"], told["bound"], told["absolute_bound"], told["max_error"],
                          told["values_over_bound"]), ("lossless", 0, 0, 0, 0))

    def test_another_file_is_not_the_original(self):
        self.succeed("-zq", "-m", "lossless", "a.bf16")
        other = weights(4000)
        other[77] ^= 1
        self.write("other.bf16", other.tobytes())
        result = self.run_szgpu("-x", "-o", "b", "--compare", "other.bf16", "a.bf16.szg")
        self.assertEqual((result.code, result.err), (4, "szgpu: a.bf16.szg: differs from "
                         "other.bf16 in 1 of 4000 values, by up to 0.000122; check that it is the "
                         "original\n"))
        self.assertTrue(result.out.endswith("  not bit-identical\n"), result)

    def test_signs_of_zero_and_nans_are_compared_by_their_bits(self):
        for field, other in ((0x80000000, 0), (0x7FC00001, 0x7FC00002)):
            self.write("z.f32", struct.pack("<I", field) * 9)
            self.write("other.f32", struct.pack("<I", other) * 9)
            self.succeed("-zqf", "-m", "lossless", "z.f32")
            result = self.run_szgpu("-xfq", "-o", "b", "--compare", "other.f32", "z.f32.szg")
            self.assertEqual(result.code, 4, result)


class Refusals(CliTest):
    def refused(self, *options, sentence, name="wave_10x20.f32"):
        self.field()
        self.assert_refused(["-z", *options, name], 1, f"{name}: {sentence}")

    def test_what_has_no_use_without_loss(self):
        for options, sentence in (
                (["-e", "1e-3"], "-e cannot be used with -m lossless; leave one of them out"),
                (["--fill", "1e20"], "--fill cannot be used with -m lossless; leave one of them "
                 "out"),
                (["--no-gap"],
                 "--no-gap is for the linear layout; add --layout linear or leave it out")):
            with self.subTest(options):
                self.refused("-m", "lossless", *options, sentence=sentence)

    def test_types_that_have_no_bound(self):
        sentence = "can only be compressed losslessly; add -m lossless"
        self.refused("-e", "1", "-t", "fp8", sentence=f"-t fp8 {sentence}")
        self.write("a.fp8", bytes(80))
        self.refused("-e", "1", name="a.fp8", sentence=f"holds fp8 values, which {sentence}")

    def test_safetensors_have_no_bound(self):
        self.write("a.safetensors", bytes(80))
        self.refused("-e", "1", name="a.safetensors", sentence="holds tensors, which can only be "
                     "compressed losslessly; add -m lossless")

    def test_no_gap_array_in_the_tile_layout(self):
        sentence = "--no-gap is for the linear layout; add --layout linear or leave it out"
        self.refused("-e", "1e-3", "--no-gap", sentence=sentence)
        self.refused("-e", "1e-3", "--no-gap", "--layout", "tile", sentence=sentence)

    def test_a_size_that_is_no_whole_number_of_values(self):
        self.write("a.bf16", bytes(801))
        self.refused("-m", "lossless", name="a.bf16", sentence="has 801 bytes, which is not a "
                     "whole number of bf16 values; correct the file or -t")

    def test_verifying_by_a_decoder_that_does_not_read_it(self):
        for options, decoder, why in (
                (("-m", "lossless"), "serial", "is lossless in the tile layout"),
                (("-m", "lossless"), "self-sync", "has the tile layout"),
                (("-m", "lossless"), "hierarchical", "has the tile layout"),
                (("-e", "1"), "all-offsets", "has the tile layout"),
                (("-e", "1", *LINEAR), "hierarchical", "is not lossless"),
                (("-m", "lossless", *LINEAR, "--no-gap"), "hierarchical", "has no gap array")):
            self.refused("-V", *options, "--decoder", decoder, sentence=f"--decoder {decoder} "
                         f"cannot read back for --verify what {why}; leave one of the two out")


class Decoders(CliTest):
    def test_all_read_linear_archives_alike(self):
        for no_gap in ((), ("--no-gap",)):
            name = self.archive("a_40x50.f32", "-f", *LINEAR, *no_gap, dims=(40, 50))
            self.succeed("-xqf", "-o", "back", name)
            expected = self.read("back")
            for decoder in CPU_LINEAR_DECODERS:
                for threads in ("1", "3"):
                    self.succeed("-xqf", "-o", "b", "--decoder", decoder, "-j", threads, name)
                    self.assertEqual(self.read("b"), expected, decoder)
                self.succeed("-xqf", "-o", "s", "--decoder", decoder, "--slab", "3:9", name)
                self.assertEqual(self.read("s"), expected[600:1800], decoder)
                self.succeed("-zqVf", "-e", "1e-3", *LINEAR, *no_gap, "--decoder", decoder,
                             "a_40x50.f32")

    def test_a_listing_says_which_ones_read_it(self):
        for options, decoders, has_gaps in (
                ((), "auto serial table", False),
                (LINEAR, "auto serial table gap-array chunked self-sync all-offsets", True),
                ((*LINEAR, "--no-gap"), "auto serial table chunked self-sync all-offsets", False)):
            name = self.archive("a.f32", "-f", *options)
            self.assertIn(f"\n  decoders {decoders}\n", self.succeed("-l", name).out)
            told = self.succeed_json("-l", name)
            self.assertEqual((told["decoders"], told["has_gaps"]), (decoders.split(), has_gaps))

    def test_one_that_does_not_read_it_is_refused(self):
        """Says why, and which decoders to choose: without CUDA or with -b, those that run there."""
        has_cuda = "\nCUDA: yes\n" in self.succeed("--version").out
        self.write("w.bf16", weights(400).tobytes())
        for options, decoder, why, others in (
                (("-e", "1e-3"), "self-sync", "has the tile layout", "auto serial table"),
                (("-e", "1e-3"), "hierarchical", "has the tile layout", "auto serial table"),
                (("-m", "lossless"), "serial", "is lossless in the tile layout", "auto table"),
                (("-e", "1e-3", *LINEAR), "hierarchical", "is not lossless",
                 "auto serial table self-sync all-offsets"),
                (("-m", "lossless", *LINEAR, "--no-gap"), "hierarchical", "has no gap array",
                 "auto serial table self-sync all-offsets")):
            name = "w.bf16" if "lossless" in options else self.field()
            self.succeed("-zqf", *options, name)
            for backend in ((), ("-b", "cpu")):
                if has_cuda and not backend:
                    continue
                self.assert_refused(
                    ["-x", "-o", "b", "--decoder", decoder, *backend, f"{name}.szg"], 1,
                    f"{name}.szg: {why}: --decoder {decoder} does not read it; choose from "
                    f"{others}, or leave it out")
                self.succeed("-xq", "-o", f"{decoder}{len(options)}{len(backend)}", "--decoder",
                             others.split()[-1], *backend, f"{name}.szg")

    def test_none_where_nothing_is_read(self):
        name = self.field()
        self.assert_refused(["-z", "-e", "1e-3", "--decoder", "table", name], 1, f"{name}: "
                            "--decoder is used with -z only for --verify; add --verify or leave "
                            "it out")
        self.assert_refused(["-l", "--decoder", "table", name], 1, f"{name}: --decoder cannot be "
                            "used with -l; leave it out")

    def test_an_archive_without_gaps_has_version_3_and_two_sections_less(self):
        gaps = {"gap array", "sequence codes"}
        options = ["-m", "abs", *LINEAR]
        with_gaps = self.succeed_json("-l", self.archive("a_600x500.f32", *options, dims=(600, 500)))
        without = self.succeed_json("-l", self.archive("b_600x500.f32", *options, "--no-gap",
                                                       dims=(600, 500)))
        self.assertEqual((with_gaps["format_version"], without["format_version"]), (1, 3))
        names = [{section["name"] for section in told["frame_list"][0]["sections"]}
                 for told in (with_gaps, without)]
        self.assertEqual(names[0] - names[1], gaps)
        self.assertEqual(names[0], names[1] | gaps)
