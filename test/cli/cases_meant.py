"""cases_meant.py - names written wrong: the sentence has the one that was meant, if one is near.

SPDX-License-Identifier: BSD-3-Clause
"""
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
                             ("--decompress", "-x"), ("--nodata", "--fill")):
            with self.subTest(wrong):
                self.refused(wrong, meant)

    def test_nothing_is_near(self):
        for wrong in ("--fast", "--qqq", "--" + "verify" * 9, "-k"):
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
