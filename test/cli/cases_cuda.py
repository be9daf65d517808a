"""cases_cuda.py - the choice of a backend, a decoder and a GPU on a machine without one.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os

from harness import CUDA_DECODERS, MOST_DEVICE, NOTE, WHY, CliTest

CPU_DECODERS = ("serial", "table")
BOUND = ["-m", "abs", "-e", "1e-3"]


class Choices(CliTest):
    """What no build accepts, and what every build does."""

    def test_a_decoder_of_the_other_backend(self):
        name, archive = self.field("a_10x20.f32"), self.archive("b_10x20.f32")
        for decoder in CUDA_DECODERS:
            for arguments in (["-x", "-o", "c", archive], ["-zV", *BOUND, name]):
                self.assert_refused(
                    ["-b", "cpu", "--decoder", decoder, *arguments], 1, f"{arguments[-1]}: "
                    f"--decoder {decoder} needs CUDA, not -b cpu; leave one of the two out")
        for decoder in CPU_DECODERS:
            self.assert_refused(
                ["-x", "-o", "c", "--decoder", decoder, "-b", "cuda", archive], 1, f"{archive}: "
                f"--decoder {decoder} is for the CPU, not for -b cuda; leave one of the two out")

    def test_an_unknown_backend(self):
        name = self.field()
        self.assert_refused(["-z", *BOUND, "-b", "gpu", name], 1,
                            f"{name}: -b gpu is not known (did you mean cuda?); choose from auto "
                            "cpu cuda")

    def test_a_device_that_is_no_index(self):
        name = self.field()
        for text in ("-1", "x", "", "1.5", "0x0", " 0", str(MOST_DEVICE + 1), str(1 << 64)):
            with self.subTest(text):
                self.assert_refused(
                    ["-z", *BOUND, f"--device={text}", name], 1, f"{name}: --device {text} is not "
                    "the index of a GPU; give a whole number, 0 for the first")

    def test_lists_of_devices_that_are_none(self):
        name = self.field()
        none = "is not a list of GPUs; give it as in --device 0,1, or all"
        twice = "names a GPU twice; give each index once"
        for text, why in (("0,", none), (",", none), ("0,,1", none), ("0,x", none), ("0, 1", none),
                          ("0,-1", none), ("all,0", none), (f"0,{MOST_DEVICE + 1}", none),
                          ("0," + "1" * 40, none), ("0,0", twice), ("2,1,2", twice)):
            with self.subTest(text):
                self.assert_refused(["-z", *BOUND, "--frame", "8", f"--device={text}", name], 1,
                                    f"{name}: --device {text} {why}")
        self.assert_refused(["-z", *BOUND, "--frame", "8", "--device",
                             ",".join(map(str, range(33))), name], 1,
                            f"{name}: --device takes up to 32 GPUs; leave some out")

    def test_what_several_devices_cannot_do(self):
        name, archive = self.field("a_10x20.f32"), self.archive("b_10x20.f32")
        for devices in ("0,1", "all"):
            said = f"--device {devices}"
            listed = ["--device", devices]
            self.assert_refused(["-z", *BOUND, *listed, name], 1,
                                f"{name}: {said} works frame by frame; add --frame or --memory, "
                                "which say how large frames are")
            for arguments in (["-z", *BOUND, "--frame", "8", name], ["-x", "-o", "c", archive]):
                self.assert_refused([*listed, "-b", "cpu", *arguments], 1, f"{arguments[-1]}: "
                                    f"{said} cannot be used with -b cpu; leave one of them out")
            for arguments in (["-l", archive], ["--test", archive], ["--sweep", "1e-3", name]):
                self.assert_refused([*listed, *arguments], 1,
                                    f"{arguments[-1]}: {said} is for -z and -x; name one GPU")
            for option, *value in (["--slab", "0:1"], ["--region", "0,:"], ["--level", "0"],
                                   ["--compare", name], ["--memory-limit", "1G"]):
                self.assert_refused(["-x", *listed, "-o", "c", option, *value, archive], 1,
                                    f"{archive}: {said} cannot be used with {option}; leave one of "
                                    "them out")
            for decoder in CPU_DECODERS:
                self.assert_refused(["-x", *listed, "-o", "c", "--decoder", decoder, archive], 1,
                                    f"{archive}: --decoder {decoder} is for the CPU, not for "
                                    "--device with several GPUs; leave one of the two out")

    def test_the_last_device_counts(self):
        name = self.field()
        self.assertEqual(self.succeed("-z", *BOUND, "--device", "0,1", "--device", "1", name).err,
                         "")

    def test_a_device_is_not_looked_for_by_the_cpu(self):
        name = self.field()
        for options in (["-b", "cpu"], ["-b", "auto"], []):
            for device in ("0", "7", str(MOST_DEVICE)):
                result = self.succeed("-zf", *BOUND, *options, "--device", device, name)
                self.assertEqual(result.err, "")


class WithoutCuda(CliTest):
    """A build without CUDA."""

    def setUp(self):
        super().setUp()
        self.require_cuda(False)

    def test_the_backend(self):
        name, archive = self.field("a_10x20.f32"), self.archive("b_10x20.f32")
        for arguments in (["-z", *BOUND, name], ["-x", "-o", "c", archive]):
            self.assert_refused(["-b", "cuda", *arguments], 5,
                                f"{arguments[-1]}: this build has no CUDA; use -b cpu")

    def test_its_decoders(self):
        archive = self.archive()
        for decoder in CUDA_DECODERS:
            options = ["-x", "-o", "c", "--decoder", decoder]
            self.assert_refused([*options, archive], 5, f"{archive}: this build has no CUDA, which "
                                f"--decoder {decoder} needs; leave --decoder out")
            self.assert_refused([*options, "-b", "cuda", archive], 5, f"{archive}: this build has "
                                "no CUDA; use -b cpu and leave --decoder out")

    def test_several_devices(self):
        name, archive = self.field("a_10x20.f32"), self.archive("b_10x20.f32")
        for devices in ("0,1", "all"):
            for arguments in (["-z", *BOUND, "--frame", "8", name],
                              ["-z", *BOUND, "--memory", "32M", name], ["-x", "-o", "c", archive]):
                self.assert_refused(["--device", devices, *arguments], 5,
                                    f"{arguments[-1]}: this build has no CUDA; leave --device out")

    def test_several_files_are_refused_once(self):
        self.field("a.f32"), self.field("b.f32")
        self.assert_refused(["-z", *BOUND, "-b", "cuda", "a.f32", "b.f32"], 5,
                            "this build has no CUDA; use -b cpu")

    def test_a_listing_needs_no_backend(self):
        self.succeed("-l", "-b", "cuda", self.archive())

    def test_a_large_field_goes_to_the_cpu_without_a_note(self):
        name = self.large_field("a_1000x90000.f32")
        self.assertEqual(self.succeed("-z", *BOUND, name).err, "")


class WithoutADevice(CliTest):
    """A build with CUDA and no visible GPU: the harness hides those of the machine."""

    def setUp(self):
        super().setUp()
        self.require_cuda()

    def refused(self, *arguments, why, remedy):
        before = self.snapshot()
        result = self.run_szgpu(*arguments)
        self.assertRegex(result.err, rf"\Aszgpu: {arguments[-1]}: {why}; {remedy}\n\Z")
        self.assertEqual((result.code, result.out), (5, ""), result)
        self.assertEqual(self.snapshot(), before)

    def test_the_backend(self):
        name, archive = self.field("a_10x20.f32"), self.archive("b_10x20.f32")
        for arguments in (["-z", *BOUND, name], ["-zV", *BOUND, name], ["-x", "-o", "c", archive],
                          ["-x", "-o", "c", "--slab", "2:3", archive]):
            self.refused("-b", "cuda", *arguments, why=WHY.format(0), remedy="use -b cpu")
        self.refused("-b", "cuda", "--device", "3", *arguments, why=WHY.format(3),
                     remedy="use -b cpu")

    def test_its_decoders(self):
        archive = self.archive("wave_10x20.f32", "--layout", "linear")
        for decoder in CUDA_DECODERS:
            options = ["-x", "-o", "c", "--decoder", decoder]
            self.refused(*options, archive, why=WHY.format(0), remedy="leave --decoder out")
            self.refused(*options, "-b", "cuda", archive, why=WHY.format(0),
                         remedy="use -b cpu and leave --decoder out")

    def test_several_devices(self):
        name, archive = self.field("a_10x20.f32"), self.archive("b_10x20.f32")
        for devices, first in (("3,1", 3), ("all", 0)):
            for arguments in (["-z", *BOUND, "--frame", "8", name],
                              ["-z", *BOUND, "--memory", "32M", name], ["-x", "-o", "c", archive]):
                self.refused("--device", devices, *arguments, why=WHY.format(first),
                             remedy="leave --device out")

    def test_every_file_is_told_of(self):
        self.field("a.f32"), self.field("b.f32")
        result = self.run_szgpu("-z", *BOUND, "-d", "200", "-b", "cuda", "a.f32", "b.f32")
        self.assertRegex(result.err, rf"\Aszgpu: a\.f32: {WHY.format(0)}; use -b cpu\n"
                         rf"szgpu: b\.f32: {WHY.format(0)}; use -b cpu\n\Z")
        self.assertEqual((result.code, result.out), (5, ""))
        result = self.run_szgpu("-z", "--json", *BOUND, "-d", "200", "-b", "cuda", "a.f32")
        told = json.loads(result.out)
        self.assertEqual((result.code, told["input"], told["exit_code"]), (5, "a.f32", 5))
        self.assertRegex(told["error"], rf"\A{WHY.format(0)}; use -b cpu\Z")

    def test_what_is_no_archive_is_refused_as_such(self):
        self.write("bad.szg", bytes(200))
        self.assert_refused(["-x", "-b", "cuda", "bad.szg"], 3, "bad.szg: the data are not an "
                                                                "szgpu archive; name a file that "
                                                                "szgpu -z made")

    def test_small_fields_go_to_the_cpu_without_a_note(self):
        name = self.field()
        self.assertEqual(self.succeed("-zV", *BOUND, name).err, "")
        self.assertEqual(self.succeed("-xf", name + ".szg").err, "")

    def test_large_fields_go_to_the_cpu_with_one_note(self):
        names = [self.large_field("a_1000x90000.f32"), "b_1000x90000.f32"]
        os.link(self.path(names[0]), self.path(names[1]))
        cpu = self.succeed("-z", *BOUND, "-b", "cpu", "-o", "cpu.szg", names[0])
        self.assertEqual(cpu.err, "")
        result = self.succeed("-z", *BOUND, "-j", "1", *names)
        self.assertRegex(result.err, rf"\A{NOTE.format(0)}\Z")
        self.assertEqual(result.out.count("\n"), 2)
        result = self.succeed("-zV", *BOUND, "-j", "1", "--json", "--device", "1", "-o", "v.szg",
                              names[0])
        self.assertRegex(result.err, rf"\A{NOTE.format(1)}\Z")
        self.assertEqual(json.loads(result.out)["values_over_bound"], 0)
        for archive in (names[0] + ".szg", names[1] + ".szg", "v.szg"):
            self.assertEqual(self.read(archive), self.read("cpu.szg"))

        cpu = self.succeed("-x", "-b", "cpu", "-o", "cpu.f32", "cpu.szg")
        self.assertEqual(cpu.err, "")
        result = self.succeed("-xf", "-j", "1", *(name + ".szg" for name in names))
        self.assertRegex(result.err, rf"\A{NOTE.format(0)}\Z")
        for name in names:
            self.assertEqual(self.read(name), self.read("cpu.f32"))
        for options in (["-q"], ["--decoder", "table"], ["--slab", "0:10"]):
            self.assertEqual(self.succeed("-xf", "-j", "1", "-o", "back", *options, "cpu.szg").err, "")
