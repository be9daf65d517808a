"""cases_gpu.py - the command gives the same on a GPU as on the CPU. Run by name only.

SPDX-License-Identifier: BSD-3-Clause
"""
import io
import os
import re

import numpy as np

from harness import CUDA_DECODERS, MOST_DEVICE, NOTE, WHY, CliTest, wave

BOUND = ["-m", "abs", "-e", "1e-3"]
LINEAR = ["--layout", "linear"]
LOSSLESS = ["-m", "lossless"]
STREAM_DECODERS = ("chunked", "self-sync", "all-offsets")  # without a gap array


class OnAGpu(CliTest):
    """A build with CUDA and a GPU. With SZGPU_REQUIRE_GPU set, a missing one is a failure."""

    def setUp(self):
        super().setUp()
        self.require_cuda()
        name = self.field("probe_10x20.f32")
        probe = self.run_szgpu("-z", *BOUND, "-b", "cuda", name)
        if "no usable GPU" in probe.err:
            self.assertNotIn("SZGPU_REQUIRE_GPU", os.environ, probe)
            self.skipTest(probe.err.strip())
        self.assertEqual(probe.code, 0, probe)

    def environment(self, *arguments):
        shown = {name: os.environ[name] for name in ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")
                 if name in os.environ}
        environment = super().environment(*arguments)
        del environment["CUDA_VISIBLE_DEVICES"]
        return {**environment, **shown}

    def test_archives_are_those_of_the_cpu(self):
        noise = np.random.default_rng(5).normal(size=40 * 50 * 60).astype("<f8")
        noise[::977] = -9999
        self.write("noise_40x50x60.f64", noise.tobytes())
        for name in (self.field("a_40x50x60.f32", (40, 50, 60)), "noise_40x50x60.f64"):
            for options in ([], ["--frame", "8"], ["--zstd"], ["-m", "psnr", "-e", "70"],
                            ["-m", "rel"], ["--fill", "-9999"]):
                with self.subTest((name, options)):
                    told = [self.succeed("-zVf", *BOUND, *options, "-b", backend, "-o", backend,
                                         name) for backend in ("cpu", "cuda")]
                    self.assertEqual(self.read("cuda"), self.read("cpu"))
                    figures = [result.out.split("max error/bound")[1] for result in told]
                    self.assertEqual(figures[0], figures[1])

    def test_every_decoder_restores_the_same(self):
        for layout, decoders in (("tile", ()), ("linear", CUDA_DECODERS)):
            name = self.archive(f"{layout}_40x50x60.f32", "--frame", "8", "--zstd", "--layout",
                                layout, dims=(40, 50, 60))
            for rows in ("0:40", "0:1", "7:33"):
                options = ["-xfq", "--slab", rows, "--compare", name.removesuffix(".szg")]
                self.succeed(*options, "-b", "cpu", "-o", "cpu", name)
                for decoder in ("auto", *decoders):
                    for backend in ("auto", "cuda"):
                        with self.subTest((layout, rows, decoder, backend)):
                            self.succeed(*options, "-b", backend, "--decoder", decoder, "-o",
                                         "cuda", name)
                            self.assertEqual(self.read("cuda"), self.read("cpu"))

    def test_decoders_without_a_gap_array(self):
        name = self.archive("a_40x50x60.f32", "--frame", "8", *LINEAR, "--no-gap",
                            dims=(40, 50, 60))
        self.succeed("-xfq", "-b", "cpu", "-o", "cpu", name)
        for decoder in ("auto", *STREAM_DECODERS):
            with self.subTest(decoder):
                self.succeed("-xfq", "-b", "cuda", "--decoder", decoder, "-o", "cuda", name)
                self.assertEqual(self.read("cuda"), self.read("cpu"))
        result = self.run_szgpu("-xfq", "-b", "cuda", "--decoder", "gap-array", "-o", "b", name)
        self.assertEqual(result.code, 1, result)

    def lossless_fields(self):
        """Contents by file name: weights of every type, and text."""
        weights = np.random.default_rng(7).normal(0, 0.02, 200 * 300).astype("<f4")
        upper = (weights.view("<u4") >> 16).astype("<u2")
        values = {"f32": weights, "f64": weights.astype("<f8"), "bf16": upper,
                  "f16": weights.astype("<f2"), "fp8": (upper >> 8).astype("u1")}
        fields = {f"a_200x300.{dtype}": values[dtype].tobytes() for dtype in values}
        fields["text"] = b"".join(b"%d little lines, " % i for i in range(9000))
        for name, content in fields.items():
            self.write(name, content)
        return fields

    def check_lossless(self, options, decoders):
        """Archives are the same as the CPU's, and every decoder of the GPU restores the files."""
        fields = self.lossless_fields()
        archives = [name + ".szg" for name in fields]
        made = []
        for backend in ("cpu", "cuda"):
            self.succeed("-zfq", *LOSSLESS, *options, "-b", backend, *fields)
            made.append([self.read(name) for name in archives])
        self.assertEqual(made[0], made[1])
        for decoder in ("auto", *decoders):
            for name in fields:
                self.write(name, b"")
            with self.subTest((options, decoder)):
                self.succeed("-xfq", "-b", "cuda", "--decoder", decoder, *archives)
                self.assertEqual({name: self.read(name) for name in fields}, fields)

    def test_lossless_archives_are_those_of_the_cpu_and_come_back(self):
        for more in ([], ["--frame", "64"], ["--zstd"]):
            self.check_lossless(more, ())
            self.check_lossless([*LINEAR, *more], ("gap-array", "hierarchical", *STREAM_DECODERS))
            self.check_lossless([*LINEAR, "--no-gap", *more], STREAM_DECODERS)

    def test_verify_by_every_decoder(self):
        name = [field for field in self.lossless_fields() if field.endswith("bf16")][0]
        for decoder in ("auto", "gap-array", "hierarchical", *STREAM_DECODERS):
            self.succeed("-zVfq", *LOSSLESS, *LINEAR, "-b", "cuda", "--decoder", decoder, name)

    def test_slabs_of_lossless_archives(self):
        name = [field for field in self.lossless_fields() if field.endswith("bf16")][0]
        content = self.read(name)
        self.succeed("-zq", *LOSSLESS, *LINEAR, "--frame", "64", "-b", "cuda", name)
        for decoder in ("auto", "gap-array", "hierarchical", *STREAM_DECODERS):
            for first, end in ((0, 1), (7, 133), (199, 200)):
                with self.subTest((decoder, first, end)):
                    self.succeed("-xfq", "-b", "cuda", "--decoder", decoder, "--slab",
                                 f"{first}:{end}", "-o", "slab", name + ".szg")
                    self.assertEqual(self.read("slab"), content[600 * first:600 * end])

    def test_another_field_is_over_the_bound(self):
        name = self.archive()
        self.write("other.f32", bytes(800))
        result = self.run_szgpu("-x", "-b", "cuda", "-o", "b", "--compare", "other.f32", name)
        self.assertEqual(result.code, 4, result)

    def test_npy_files_and_pipes(self):
        array = np.asfortranarray(wave(6, 7, 8, dtype=">f8"))
        file = io.BytesIO()
        np.save(file, array)
        made = self.succeed("-z", *BOUND, "-b", "cuda", "-", stdin=file.getvalue(), binary=True)
        back = self.succeed("-x", "-b", "cuda", "-", stdin=made.out, binary=True)
        restored = np.load(io.BytesIO(back.out))
        self.assertEqual((restored.dtype.str, restored.flags.f_contiguous), (">f8", True))
        self.assert_within(array, restored, 1e-3)

    def test_several_files_share_the_gpu(self):
        names = [self.field(f"{letter}_{rows}x{rows}.f32", (rows, rows))
                 for letter, rows in (("a", 3), ("b", 300), ("c", 30))]
        self.write("bad_10x20.f32", b"odd")
        result = self.run_szgpu("-zV", *BOUND, "-b", "cuda", names[0], "bad_10x20.f32", *names[1:])
        self.assertEqual((result.code, result.out.count("\n")), (1, 3), result)

    def test_a_damaged_section(self):
        content = bytearray(self.read(self.archive()))
        content[-1] ^= 1
        self.write("bad.szg", bytes(content))
        before = self.snapshot()
        result = self.run_szgpu("-x", "-b", "cuda", "bad.szg")
        self.assertRegex(result.err, r"\Aszgpu: bad\.szg: a checksum does not match: the archive "
                         r"is damaged( \([^\n]*\))?; replace it with an intact copy\n\Z")
        self.assertEqual((result.code, result.out), (3, ""))
        self.assertEqual(self.snapshot(), before)

    def test_large_fields_go_there_without_a_note(self):
        name = self.large_field("a_1000x90000.f32")
        self.succeed("-z", *BOUND, "-b", "cpu", "-o", "cpu.szg", name)
        result = self.succeed("-zV", *BOUND, "-j", "1", name)
        self.assertEqual(result.err, "")
        self.assertEqual(self.read(name + ".szg"), self.read("cpu.szg"))
        self.assertEqual(self.succeed("-x", "-o", "back", "--compare", name, "cpu.szg").err, "")

    def test_several_gpus_give_the_bytes_of_one(self):
        name = self.field("a_96x50x60.f32", (96, 50, 60))
        lists = ["all", "0,1", "1,0"] if self.gpu_count() > 1 else ["all"]
        for size in (["--frame", "16"], ["--memory", "512M"], ["--memory", "512M", "--frame", "16"]):
            self.succeed("-zf", *BOUND, "-b", "cpu", *size, "-o", "cpu.szg", name)
            for devices in lists:
                with self.subTest((size, devices)):
                    made = self.succeed("-zVf", *BOUND, *size, "--device", devices, name)
                    self.assertEqual(made.err, "")
                    self.assertEqual(self.read(name + ".szg"), self.read("cpu.szg"))
        self.succeed("-xf", "-b", "cpu", "-o", "cpu", "cpu.szg")
        for devices in lists:
            for size in ([], ["--memory", "512M"]):
                self.succeed("-xf", "--device", devices, *size, "-o", "cuda", "cpu.szg")
                self.assertEqual(self.read("cuda"), self.read("cpu"))

    def gpu_count(self):
        """How many the command finds: the first index that it refuses."""
        name = self.field("count_64x8.f32", (64, 8))
        result = self.run_szgpu("-z", *BOUND, "--frame", "64", "--device", f"0,{MOST_DEVICE}", name)
        self.assertEqual(result.code, 5, result)
        found = re.search(r"no usable GPU \(GPU 2147483647: there are ([0-9]+)\); leave --device "
                          r"out\n\Z", result.err)
        self.assertTrue(found, result)
        return int(found[1])

    def test_a_device_that_is_not_there(self):
        name = self.field()
        result = self.run_szgpu("-z", *BOUND, "-b", "cuda", "--device", str(MOST_DEVICE), name)
        self.assertRegex(result.err, rf"\Aszgpu: {name}: {WHY.format(MOST_DEVICE)}; use -b cpu\n\Z")
        self.assertEqual((result.code, result.out), (5, ""))
        large = self.large_field("a_1000x90000.f32")
        result = self.succeed("-z", *BOUND, "-j", "1", "--device", str(MOST_DEVICE), large)
        self.assertRegex(result.err, rf"\A{NOTE.format(MOST_DEVICE)}\Z")
