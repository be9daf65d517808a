"""cases_meant.py - names written wrong: the sentence has the one that was meant, if one is near.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re

from harness import CliTest

MODES = "rel abs psnr pwrel lossless"
TYPES = "f32 f64 u8 bf16 f16 fp8 i8 u16 i16 i32"
BACKENDS = "auto cpu cuda"
LAYOUTS = "tile linear"
PREDICTORS = "auto lorenzo interpolation"
DECODERS = "auto serial table gap-array chunked self-sync all-offsets hierarchical"


class Options(CliTest):
    def refused(self, wrong, meant, *more):
        hint = f" (did you mean {meant}?)" if meant else ""
        self.assert_refused([wrong, *more], 1, f"{wrong} is not an option{hint}; see szgpu --help")

    def test_letters_missing_added_exchanged_and_swapped(self):
        for wrong in ("--verfy", "--verrify", "--varify", "--vreify", "--VERIFY"):
            with self.subTest(wrong):
                self.refused(wrong, "--verify")

    def test_the_value_is_no_part_of_the_name(self):
        self.refused("--predicter=lorenzo", "--predictor")

    def test_a_beginning_that_several_have(self):
        self.refused("--ver", "--verify")
        self.refused("--de", "--device")

    def test_names_that_other_programs_have(self):
        for wrong, meant in (("--threads", "-j"), ("--output", "-o"), ("--error=1", "-e"),
                             ("--decompress", "-x"), ("--uncompress", "-x"),
                             ("--info", "-l"), ("--tolerance=1", "-e"), ("--nodata", "--fill"),
                             ("-X", "-x"), ("-Z", "-z"), ("-O", "-o")):
            with self.subTest(wrong):
                self.refused(wrong, meant)

    def test_nothing_is_near(self):
        for wrong in ("--quick", "--qqq", "--" + "verify" * 9, "-u"):
            with self.subTest(wrong):
                self.refused(wrong, None)

    def test_a_long_option_with_one_dash(self):
        for wrong in ("-verify", "-zstd=3", "-level", "-fill", "-memory-limit"):
            with self.subTest(wrong):
                self.refused(wrong, f"-{wrong.split('=')[0]}")

    def test_a_value_that_looks_like_an_option_is_one(self):
        name = self.field()
        self.succeed("-zq", "-e", "1e-3", "-o", "-json", name)
        self.succeed("-x", "-q", "-o", "back.f32", "--", "-json")

    def test_every_long_option_is_found(self):
        names = set(re.findall(r"--([a-z0-9][a-z0-9-]+)", self.succeed("--help").out))
        self.assertGreater(len(names), 12)
        for name in names:
            for wrong in (name[:-1] + "#", name[1:] if len(name) > 4 else name + "q"):
                with self.subTest(wrong):
                    self.refused(f"--{wrong}", f"--{name}")


class Habits(CliTest):
    """What users of gzip, zstd, tar, zfp, SZ and h5repack write: the sentence has the right call."""

    COMPRESS = "szgpu -z -e 1e-4 FILE"

    def assert_calls_work(self, sentence):
        """Those that it names."""
        for call in re.findall(r"szgpu ((?:--?[a-z0-9].*?)?)(?= prints| says|;|\n|$)", sentence):
            if not call.startswith("-"):
                continue
            words = [{"FILE": "wave_10x20.f32", "FILE...": "wave_10x20.f32",
                      "FILE.szg": "wave_10x20.f32.szg"}.get(word, word) for word in call.split()]
            self.archive("wave_10x20.f32", "-f")
            if words[0] in ("-z", "-x"):
                words.insert(1, "-f")
            self.succeed(*words)

    def refused(self, arguments, sentence):
        with self.subTest(arguments):
            self.assert_refused(arguments, 1, sentence)
            self.assert_calls_work(sentence)

    def test_options_that_others_have(self):
        for option, remedy in (
                ("-c", "use -o - for standard output"), ("--stdout", "use -o - for standard output"),
                ("-k", "inputs are always kept, so leave it out"),
                ("--rm", "inputs are always kept; remove them when szgpu --test FILE.szg says OK"),
                ("-9", "give a level with --zstd=9"),
                ("-3", "give dims with -d 100x500x500, and a level with --zstd=9"),
                ("--best", "szgpu is smallest with --predictor interpolation --zstd=19"),
                ("--fast=3", "szgpu is fast with --predictor lorenzo"),
                ("-r", f"name the files, as in {self.COMPRESS}..."),
                ("-T", "give the number of threads with -j 8"),
                ("-i", f"inputs are named without one, as in {self.COMPRESS}"),
                ("-a", "give an absolute bound with -m abs -e 0.01"),
                ("--rel=1e-3", "give a relative bound with -m rel -e 1e-4"),
                ("--lossless", "compress losslessly with -m lossless"),
                ("--filter=480", "szgpu --h5-args -e 1e-4 prints what h5repack and nccopy take")):
            self.refused([option], f"{option} is not an option; {remedy}")
            self.refused(["-z", "-e", "1e-3", option, "a.f32"],
                         f"a.f32: {option} is not an option; {remedy}")
        self.refused(["-zck9", "a.f32"], "a.f32: -c is not an option; use -o - for standard output")
        self.refused(["-T0", "a.f32"], "a.f32: -T is not an option; give the number of threads with "
                     "-j 8")

    def test_words_in_place_of_a_mode(self):
        for word, call in (("compress", f"-z, as in {self.COMPRESS}"),
                           ("decompress", "-x, as in szgpu -x FILE.szg"),
                           ("extract", "-x, as in szgpu -x FILE.szg"),
                           ("list", "-l, as in szgpu -l FILE.szg"),
                           ("info", "-l, as in szgpu -l FILE.szg"),
                           ("test", "--test, as in szgpu --test FILE.szg"),
                           ("sweep", "--sweep, as in szgpu --sweep 1e-2,1e-3 FILE"),
                           ("x", "-x, as in szgpu -x FILE.szg"),
                           ("help", "--help, as in szgpu --help"),
                           ("version", "--version, as in szgpu --version")):
            self.refused([word], f"{word} is not a mode; use {call}")
            self.refused([word, "f"], f"f: {word} is not a mode; use {call}")
            self.refused([word, "f", "g"], f"{word} is not a mode; use {call}")
        self.refused(["-f", "UD=480,1,5,1,1,0,0,0", "a.h5", "b.h5"], "UD=480,1,5,1,1,0,0,0 is for "
                     "h5repack; szgpu --h5-args -e 1e-4 prints what it takes")

    def test_a_file_of_such_a_name_is_one(self):
        self.write("compress", bytes(8))
        self.assert_refused(["compress"], 1, "compress: no mode was given; use -z, -x, -l or "
                            "--test, or see szgpu --help")
        self.assert_refused(["-z", "-e", "1", "decompress"], 2, "decompress: cannot be read: No "
                            "such file or directory; check the name")

    def test_letters_that_mean_something_else_there(self):
        restore = "to restore an archive, use szgpu -x FILE.szg"
        for option, value, what in (("-d", "x.szg", "a shape"), ("-d", "RUN.SZGS", "a shape"),
                                    ("-d", "c", "a shape"), ("-d", "kf", "a shape"),
                                    ("-e", "x.szg", "a bound")):
            self.refused([option, value], f"{option} {value} is not {what}; {restore}")
        self.refused(["-dc", "x.szg"], f"x.szg: -d c is not a shape; {restore}")
        for arguments in (["-t", "x.szg"], ["-tv", "x.szg"]):
            name, value = ("", "x.szg") if arguments[0] == "-t" else ("x.szg: ", "v")
            self.refused(arguments, f"{name}-t {value} is not a type; to test archives, use szgpu "
                         "--test FILE.szg")

    def test_a_field_that_is_to_be_restored(self):
        self.refused(["-x", self.field()], "wave_10x20.f32: is not an szgpu archive; to compress "
                     f"it, use {self.COMPRESS}")
        name = self.archive("wave_10x20.f32", "-f")
        os.rename(self.path(name), self.path("archive"))
        self.assert_refused(["-x", "archive"], 1, "archive: does not end in .szg; name the output "
                            "with -o")


class Values(CliTest):
    def refused(self, option, wrong, meant, names):
        file = self.field()
        hint = f" (did you mean {meant}?)" if meant else ""
        self.assert_refused(["-z", "-e", "1e-3", option, wrong, file], 1,
                            f"{file}: {option} {wrong} is not known{hint}; choose from {names}")

    def test_modes(self):
        for wrong, meant in (("REL", "rel"), ("absolute", "abs"), ("lossles", "lossless"),
                             ("pnsr", "psnr"), ("loss", "lossless"), ("pw", "pwrel"), ("", None)):
            with self.subTest(wrong):
                self.refused("-m", wrong, meant, MODES)

    def test_types(self):
        for wrong, meant in (("float32", "f32"), ("double", "f64"), ("f23", "f32"), ("F64", "f64"),
                             ("bf61", "bf16"), ("int16", "i16"), ("int", "i32"), ("f8", None)):
            with self.subTest(wrong):
                self.refused("-t", wrong, meant, TYPES)

    def test_backends(self):
        for wrong, meant in (("gpu", "cuda"), ("CUDA", "cuda"), ("cud", "cuda"), ("hip", None)):
            with self.subTest(wrong):
                self.refused("-b", wrong, meant, BACKENDS)

    def test_layouts(self):
        self.refused("--layout", "tiles", "tile", LAYOUTS)
        self.refused("--layout", "liner", "linear", LAYOUTS)
        self.refused("--layout", "block", None, LAYOUTS)

    def test_predictors(self):
        self.refused("--predictor", "interp", "interpolation", PREDICTORS)
        self.refused("--predictor", "lorentz", "lorenzo", PREDICTORS)
        self.refused("--predictor", "zfp", None, PREDICTORS)

    def test_decoders(self):
        self.refused("--decoder", "tabel", "table", DECODERS)
        self.refused("--decoder", "selfsync", "self-sync", DECODERS)
        self.refused("--decoder", "ans", None, DECODERS)
