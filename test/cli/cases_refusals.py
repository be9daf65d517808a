"""cases_refusals.py - bad input: one sentence, the exit code, no output, the input untouched.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import struct

from harness import CliTest

DIMS_HELP = "write the dims slowest first, as in -d 100x500x500"
BOUND_HELP = "give the bound as in -e 1e-4"


class Values(CliTest):
    """Impossible values of options."""

    def refused(self, *options, sentence):
        name = self.field()
        self.assert_refused(["-z", *options, name], 1, f"{name}: {sentence}")

    def test_a_bound_of_zero(self):
        self.refused("-e", "0", sentence=f"-e 0 is not a finite number above zero; {BOUND_HELP}")

    def test_a_negative_bound(self):
        self.refused("-e", "-1", sentence=f"-e -1 is not a finite number above zero; {BOUND_HELP}")

    def test_a_bound_of_nan(self):
        self.refused("-e", "nan",
                     sentence=f"-e nan is not a finite number above zero; {BOUND_HELP}")

    def test_an_infinite_bound(self):
        self.refused("-e1e999",
                     sentence=f"-e 1e999 is not a finite number above zero; {BOUND_HELP}")

    def test_a_bound_that_is_no_number(self):
        for text in ("", "x", "1e-3x", " 1", "1 "):
            with self.subTest(text):
                self.refused("-e", text, sentence=f"-e {text} is not a number; {BOUND_HELP}")

    def test_no_bound(self):
        self.refused(sentence="no bound was given; give one, as in -e 1e-4")

    def test_more_than_4_dims(self):
        self.refused("-e", "1e-3", "-d", "1x2x5x4x5",
                     sentence="-d 1x2x5x4x5 has more than 4 dims; join or drop some")

    def test_a_dim_of_zero(self):
        self.refused("-e", "1e-3", "-d", "10x0x20",
                     sentence="-d 10x0x20 has a dim of zero; give dims of at least 1")

    def test_dims_whose_product_overflows(self):
        for dims in ("4294967296x4294967296x4", "18446744073709551616", "4611686018427387904"):
            with self.subTest(dims):
                self.refused("-e", "1e-3", "-d", dims,
                             sentence=f"-d {dims} does not fit in 64 bits; give smaller dims")

    def test_dims_that_are_no_dims(self):
        for dims in ("", "x", "10x", "x10", "10,20", "-10x20", "10x20 ", "0x10z", "1e2"):
            with self.subTest(dims):
                self.refused("-e", "1e-3", "-d", dims,
                             sentence=f"-d {dims} is not a shape; {DIMS_HELP}")

    def test_an_unknown_type(self):
        self.refused("-e", "1e-3", "-t", "f8", sentence="-t f8 is not known; choose from f32 f64 u8 "
                     "bf16 f16 fp8 i8 u16 i16 i32")

    def test_an_unknown_mode(self):
        self.refused("-e", "1e-3", "-m", "pw", sentence="-m pw is not known (did you mean pwrel?); "
                     "choose from rel abs psnr pwrel lossless")

    def test_an_unknown_predictor(self):
        self.refused("-e", "1e-3", "--predictor", "x", sentence="--predictor x is not known; choose "
                     "from auto lorenzo interpolation")

    def test_predictors_that_do_not_apply(self):
        self.refused("-e", "1e-3", "--predictor", "interpolation", "--layout", "linear",
                     sentence="--predictor interpolation cannot be used with --layout linear; "
                     "leave one of them out")
        for name in ("lorenzo", "interpolation"):
            self.refused("-m", "lossless", "--predictor", name, sentence="--predictor cannot be "
                         "used with -m lossless; leave one of them out")
        self.succeed("-zq", "-e", "1e-3", "--predictor", "lorenzo", "--layout", "linear",
                     self.field("a.f32"))

    def test_an_unknown_decoder(self):
        self.refused("-e", "1e-3", "--decoder=x",
                     sentence="--decoder x is not known; choose from auto serial table "
                     "gap-array chunked self-sync all-offsets hierarchical")

    def test_threads_out_of_range(self):
        for text in ("-1", "x", "5000", "18446744073709551616"):
            with self.subTest(text):
                self.refused("-e", "1e-3", "-j", text, sentence=f"-j {text} is out of range; "
                             "give a whole number from 0 to 1024")

    def test_a_zstd_level_out_of_range(self):
        for text in ("0", "20", "x", ""):
            with self.subTest(text):
                self.refused("-e", "1e-3", f"--zstd={text}", sentence=f"--zstd {text} is out of "
                             "range; give a whole number from 1 to 19")

    def test_frames_of_no_rows(self):
        self.refused("-e", "1e-3", "--frame", "0", sentence="--frame 0 is not a number of rows; "
                     "give a whole number above zero")

    def test_a_fill_value_that_is_no_number(self):
        self.refused("-e", "1e-3", "--fill", "none", sentence="--fill none is not a number; "
                     "give it as in --fill -9999 or --fill nan,1e20")

    def test_a_greatest_magnitude_that_is_none(self):
        for text in ("-3", "0", "inf", "nan", "x"):
            with self.subTest(text):
                self.refused("-e", "1e-3", "-m", "abs", "--greatest", text,
                             sentence=f"--greatest {text} is not a finite number above zero; "
                             "give it as in --greatest 1e3")
        self.refused("-e", "1e-3", "--greatest", "3",
                     sentence="--greatest is for absolute bounds; add -m abs")

    def test_a_fill_value_that_an_f32_cannot_be(self):
        self.refused("-e", "1e-3", "--fill", "1e300",
                     sentence="holds f32 values, and --fill 1e+300 does not fit f32; correct it")

    def test_only_the_first_fault_is_told(self):
        self.refused("-e", "0", "-d", "0", "-m", "x",
                     sentence=f"-e 0 is not a finite number above zero; {BOUND_HELP}")


class Usage(CliTest):
    def test_no_mode(self):
        name = self.field()
        sentence = "no mode was given; use -z, -x, -l or --test, or see szgpu --help"
        self.assert_refused([name], 1, f"{name}: {sentence}")
        self.assert_refused([], 1, sentence)

    def test_a_usage_error_for_standard_input_says_so(self):
        self.assert_refused(["-z", "-e", "0", "-"], 1, "standard input: -e 0 is not a finite "
                            f"number above zero; {BOUND_HELP}")

    def test_two_modes(self):
        name = self.field()
        for options, both in ((["-z", "-x"], "-z and -x"), (["-xl"], "-x and -l"),
                              (["--h5-args", "--test"], "--h5-args and --test")):
            self.assert_refused([*options, name], 1,
                                f"{name}: {both} cannot be used together; give one of them")

    def test_no_file(self):
        self.assert_refused(["-z", "-e", "1e-3"], 1,
                            "no file was given; name at least one, or - for standard input")

    def test_unknown_options(self):
        self.assert_refused(["-zu"], 1, "-u is not an option; see szgpu --help")
        self.assert_refused(["--quick"], 1, "--quick is not an option; see szgpu --help")
        self.assert_refused(["--quick=1"], 1, "--quick=1 is not an option; see szgpu --help")

    def test_options_without_their_value(self):
        self.assert_refused(["-z", "-e"], 1, "-e needs a value; see szgpu --help")
        self.assert_refused(["-z", "--frame"], 1, "--frame needs a value; see szgpu --help")
        self.assert_refused(["-z", "--device"], 1, "--device needs a value; see szgpu --help")

    def test_a_value_for_an_option_that_takes_none(self):
        self.assert_refused(["--json=1"], 1, "--json=1 takes no value; leave the value out")

    def test_options_of_another_mode(self):
        name = self.archive()
        self.assert_refused(["-x", "-e", "1", name], 1,
                            f"{name}: -e cannot be used with -x; leave it out")
        self.assert_refused(["-l", "-o", "x", name], 1,
                            f"{name}: -o cannot be used with -l; leave it out")
        self.assert_refused(["-x", "-V", name], 1,
                            f"{name}: --verify cannot be used with -x; leave it out or use "
                            "--compare with -x")

    def test_one_output_for_several_files(self):
        self.field("a.f32"), self.field("b.f32")
        self.assert_refused(["-z", "-e", "1", "-o", "c", "a.f32", "b.f32"], 1,
                            "-o names the output of a single file; give the files one by one")

    def test_standard_input_twice(self):
        self.assert_refused(["-l", "-", "-"], 1, "- is given more than once; standard input can "
                            "be read only once")

    def test_slabs_that_are_none(self):
        name = self.archive()
        # ":" was every row, as was an end of 2^64 - 1.
        for text in ("3", "a:b", "3-4", "-1:2", "1:2:3", "", ":", "::", ":3:", " 1:2", "1: 2",
                     "0:18446744073709551615", "0:18446744073709551616", "99999999999999999999:"):
            with self.subTest(text):
                self.assert_refused(["-x", f"--slab={text}", "-o", "s", name], 1,
                                    f"{name}: --slab {text} is not a range of rows; "
                                    "give first:end, as in --slab 10:20")
        self.assert_refused(["-x", "--slab", "4:4", "-o", "s", name], 1, f"{name}: --slab 4:4 is "
                            "empty; the end is the row after the last one to restore")

    def test_slabs_outside_the_field(self):
        name = self.archive()
        for text in ("0:11", "10:", "10:11", "3:18446744073709551614"):
            with self.subTest(text):
                self.assert_refused(["-x", "--slab", text, "-o", "s", name], 1,
                                    f"{name}: has 10 rows, but --slab asks for others; give a "
                                    "range within 0:10")


    def test_regions_that_are_none(self):
        name = self.archive()
        for text in ("a:b", "3-4", "", ",", "0:1,", ",0:1", " 1:2,:", "1.5,:", "--1,:", "-,:",
                     "9223372036854775807,:", "0:18446744073709551616,:"):
            with self.subTest(text):
                self.assert_refused(["-x", f"--region={text}", "-o", "s", name], 1,
                                    f"{name}: --region {text} is not a region; give a slice for "
                                    "each axis, as in --region 0:16,32:64,:")
        for text in ("::2,:", "0:9:3,1", ":,::"):
            self.assert_refused(["-x", "--region", text, "-o", "s", name], 1,
                                f"{name}: --region {text} has steps, which --region does not take; "
                                "restore the box and take values from it")
        self.assert_refused(["-x", "--region", "1,1,1,1,1", "-o", "s", name], 1,
                            f"{name}: --region 1,1,1,1,1 has more than 4 slices; a field has at "
                            "most 4 dims")

    def test_regions_outside_the_field(self):
        name = self.archive()
        for text, axis, extent, shown in (
                ("0:11,:", 0, 10, "0:11"), ("10,:", 0, 10, "10"), (":,21:", 1, 20, "21:"),
                (":,-21", 1, 20, "-21"), (":,:-21", 1, 20, ":-21"), ("-11:,:", 0, 10, "-11:"),
                (":,9223372036854775806", 1, 20, "9223372036854775806")):
            with self.subTest(text):
                self.assert_refused(["-x", f"--region={text}", "-o", "s", name], 1,
                                    f"{name}: has {extent} values along axis {axis}, but --region "
                                    f"asks for {shown} there; give a range within 0:{extent}")
        for text, axis, shown in (("4:4,:", 0, "4:4"), (":,7:3", 1, "7:3"), ("10:,:", 0, "10:"),
                                  (":,-3:-3", 1, "-3:-3"), (":,-3:4", 1, "-3:4")):
            with self.subTest(text):
                self.assert_refused(["-x", f"--region={text}", "-o", "s", name], 1,
                                    f"{name}: has no values in {shown} of --region, for axis "
                                    f"{axis}; the end is the index after the last one to restore")

    def test_regions_with_other_dims(self):
        name = self.archive()
        for text, count in (("0:1", "1 slice"), (":,:,:", "3 slices")):
            self.assert_refused(["-x", "--region", text, "-o", "s", name], 1,
                                f"{name}: has 2 dims, but --region has {count}; give one for each "
                                "dim, : for all of it")

    def test_regions_of_a_preview_are_within_it(self):
        name = self.archive("a_100x200.f32", "--predictor", "interpolation", dims=(100, 200))
        self.assert_refused(["-x", "--level", "1", "--region", "0:51,:", "-o", "s", name], 1,
                            f"{name}: as a preview has 50 values along axis 0, but --region asks "
                            "for 0:51 there; give a range within 0:50")
        self.assert_refused(["-x", "--level", "6", "--region", "0,0", "-o", "s", name], 1,
                            f"{name}: frame 0 goes up to level 4, not to 6; give a lower --level "
                            "or leave it out")

    def test_regions_do_not_go_with_slabs_and_comparisons(self):
        name = self.archive()
        for option, value in (("--slab", "0:1"), ("--compare", "wave_10x20.f32")):
            self.assert_refused(["-x", "--region", "1,1", option, value, "-o", "s", name], 1,
                                f"{name}: --region cannot be used with {option}; leave one of "
                                "them out")
        self.assert_refused(["-z", "-e", "1", "--region", "1,1", "wave_10x20.f32"], 1,
                            "wave_10x20.f32: --region cannot be used with -z; leave it out")

    def test_memory_limits_that_are_none(self):
        for text in ("", "0", "x", "-1", "1.5G", "10k", "10MB", "16777216T", "1e9"):
            with self.subTest(text):
                self.assert_refused(["-x", "--memory-limit", text, "x.szg"], 1,
                                    f"x.szg: --memory-limit {text} is not a size; "
                                    "give it as in --memory-limit 500M or 4G")

    def test_memory_limits_that_are_too_low(self):
        name = self.archive()
        self.assert_refused(["-x", "-f", "--memory-limit", "700", name], 5,
                            f"{name}: would take more memory than --memory-limit: the restored "
                            "field needs 800 B; give a larger --memory-limit")
        result = self.run_szgpu("-x", "-f", "--memory-limit", "10K", name)
        self.assertEqual(result.code, 5)
        self.assertIn("the call would take more memory than its limit (it needs ", result.err)
        self.succeed("-x", "-f", "--memory-limit", "1G", name)
        result = self.run_szgpu("-x", "-f", "--memory-limit", "10K", "-o", "x.f32", "-",
                                stdin=self.read(name))
        self.assertEqual(result.code, 5)
        self.assertIn("standard input: would take more memory than --memory-limit: reading it",
                      result.err)

    def test_levels_that_are_none(self):
        name = self.archive()
        for text in ("7", "9", "-1", "x", "1:2", ""):
            with self.subTest(text):
                self.assert_refused(["-x", f"--level={text}", "-o", "s", name], 1,
                                    f"{name}: --level {text} is out of range; give a whole number "
                                    "from 0 to 6")

    def test_levels_do_not_go_with_slabs_and_comparisons(self):
        name = self.archive()
        for option, value in (("--slab", "0:1"), ("--compare", "wave_10x20.f32")):
            self.assert_refused(["-x", "--level", "1", option, value, "-o", "s", name], 1,
                                f"{name}: --level cannot be used with {option}; leave one of them "
                                "out")
        self.assert_refused(["-l", "--level", "1", name], 1,
                            f"{name}: --level cannot be used with -l; leave it out")

    def test_levels_that_an_archive_does_not_have(self):
        tail = "; give a lower --level or leave it out"
        for options, level, sentence in (
                (["--predictor", "lorenzo"], 1, "frame 0 is a tile frame: it has no levels"),
                (["--layout", "linear"], 1, "frame 0 is a linear frame: it has no levels"),
                (["--predictor", "interpolation"], 6, "frame 0 goes up to level 4, not to 6")):
            name = self.archive("a_100x200.f32", "-f", *options, dims=(100, 200))
            self.assert_refused(["-x", "--level", str(level), "-o", "s", name], 1,
                                f"{name}: {sentence}{tail}")
        self.write("bytes", bytes(100))
        self.succeed("-zq", "-m", "lossless", "bytes")
        self.assert_refused(["-x", "--level", "1", "-o", "s", "bytes.szg"], 1, "bytes.szg: frame 0 "
                            f"is a planes frame: it has no levels{tail}")


class Inputs(CliTest):
    def test_a_size_that_is_not_dims_times_type(self):
        name = self.field()
        self.assert_refused(["-z", "-e", "1e-3", "-d", "10x21", name], 1,
                            f"{name}: has 800 bytes of values, but 10x21 f32 values are 840 "
                            "bytes; correct -d or -t")
        self.assert_refused(["-z", "-e", "1e-3", "-d", "10x20", "-t", "f64", name], 1,
                            f"{name}: has 800 bytes of values, but 10x20 f64 values are 1600 "
                            "bytes; correct -d or -t")

    def test_dims_that_overflow_only_as_f64(self):
        name = self.field("a.f64", (4,), "<f8")
        self.assert_refused(["-z", "-e", "1e-3", "-d", "2305843009213693952x1", name], 1,
                            f"{name}: cannot hold 2305843009213693952x1 f64 values: their size "
                            "does not fit in 64 bits; give smaller dims")

    def test_a_size_that_is_no_whole_number_of_values(self):
        self.write("a.f64", bytes(20))
        self.assert_refused(["-z", "-e", "1e-3", "a.f64"], 1,
                            "a.f64: has 20 bytes, which is not a whole number of f64 values; "
                            "correct the file or -t")

    def test_a_type_that_nothing_tells(self):
        for name in ("field", "field.dat", ".f32"):
            with self.subTest(name):
                self.field(name)
                self.assert_refused(["-z", "-e", "1e-3", name], 1, f"{name}: has an unknown type; "
                                    "give it with -t, as in -t f32")

    def test_an_empty_file(self):
        self.write("a.f32", b"")
        for options, reason in ((["-z", "-e", "1e-3", "-d", "4"], "it has none of the values of "
                                 "-d; leave -d out"),
                                (["-z", "--target-ratio", "3"], "no bound gives a ratio; use -e"),
                                (["--sweep", "1e-2"], "there are no bounds to compare; leave it "
                                 "out")):
            self.assert_refused([*options, "a.f32"], 1, f"a.f32: is empty, so {reason}")
        self.assert_refused(["-z", "-e", "1e-3", "--strict", "a.f32"], 1,
                            "a.f32: is empty, and restored as such; check it, or leave it out")
        self.write("a.dat", b"")
        self.assert_refused(["-z", "-e", "1e-3", "a.dat"], 1, "a.dat: has an unknown type; give it "
                            "with -t, as in -t f32")

    def test_a_file_that_is_not_there(self):
        self.assert_refused(["-z", "-e", "1e-3", "a.f32"], 2, "a.f32: cannot be read: "
                            "No such file or directory; check the name")

    def test_a_folder(self):
        os.mkdir(self.path("a.f32"))
        self.assert_refused(["-z", "-e", "1e-3", "a.f32"], 2,
                            "a.f32: is a folder; name the files in it")

    def test_a_file_that_cannot_be_read(self):
        # Fails for root too: address 0 of the reading process.
        self.assert_refused(["-z", "-e", "1e-3", "-t", "f32", "-o", "a.szg", "/proc/self/mem"], 2,
                            "/proc/self/mem: cannot be read: Input/output error; check the file "
                            "and its folder")

    def test_compressing_an_archive_again(self):
        name = self.archive()
        self.assert_refused(["-z", "-e", "1e-3", name], 1, f"{name}: already ends in .szg; use -x "
                            "to restore it, or -f to compress it again")

    def test_restoring_a_name_without_szg(self):
        name = self.archive()
        os.rename(self.path(name), self.path("archive"))
        self.assert_refused(["-x", "archive"], 1,
                            "archive: does not end in .szg; name the output with -o")


class Archives(CliTest):
    """Archives that szgpu did not write so, with -x, -l and --slab."""

    def refused(self, content, sentence):
        self.write("bad.szg", content)
        self.assert_refused(["-x", "bad.szg"], 3, f"bad.szg: {sentence}")
        self.assert_refused(["-l", "bad.szg"], 3, f"bad.szg: {sentence}")
        self.assert_refused(["-x", "--slab", "0:1", "bad.szg"], 3, f"bad.szg: {sentence}")

    def test_another_file(self):
        self.refused(b"no archive, but a text that is long enough to be one" * 4,
                     "the data are not an szgpu archive; name a file that szgpu -z "
                     "made")

    def test_an_archive_of_a_newer_version(self):
        content = bytearray(self.read(self.archive()))
        content[8:12] = struct.pack("<I", 99)
        self.refused(bytes(content), "the archive was written by a newer format version; read it "
                     "with a newer szgpu")

    def test_trailing_bytes(self):
        self.refused(self.read(self.archive()) + b"\0",
                     "there are bytes after the end of the archive; copy it again, without the "
                     "bytes that follow it")

    def test_sections_that_reach_past_the_file(self):
        content = self.read(self.archive())
        for kept_bytes in (len(content) - 1, len(content) // 2, 40, 8, 1, 0):
            with self.subTest(kept_bytes):
                self.refused(content[:kept_bytes], "the archive is shorter than its header says; "
                             "replace it with an intact copy")

    def test_a_damaged_header(self):
        content = bytearray(self.read(self.archive()))
        content[24] ^= 1
        self.refused(bytes(content), "a checksum does not match: the archive is damaged; replace "
                     "it with an intact copy")

    def test_a_damaged_section(self):
        content = bytearray(self.read(self.archive()))
        content[-1] ^= 1
        self.write("bad.szg", bytes(content))
        before = self.snapshot()
        result = self.run_szgpu("-x", "bad.szg")
        self.assertRegex(result.err, r"^szgpu: bad\.szg: a checksum does not match: the archive is "
                         r"damaged( \([^\n]*\))?; replace it with an intact copy\n$")
        self.assertEqual((result.code, result.out), (3, ""))
        self.assertEqual(self.snapshot(), before)
