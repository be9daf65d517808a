"""cases_test.py - szgpu --test: archives and folders of them are tested, nothing is written.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import struct

import numpy as np

from harness import CliTest, wave


class Test(CliTest):
    def told(self, arguments, code, out, err="", **how):
        before = self.snapshot()
        result = self.run_szgpu("--test", *arguments, **how)
        self.assertEqual((result.code, result.out, result.err), (code, out, err))
        self.assertEqual(self.snapshot(), before)

    def test_good_archives(self):
        a, b = self.archive("a_10x20.f32"), self.archive("b_10x20.f32")
        self.told([a, b], 0, f"{a}: OK\n{b}: OK\n")
        self.told(["-q", a, b], 0, "")
        self.told(["-"], 0, "standard input: OK\n", stdin=self.read(a))
        facts = self.succeed_json("--test", a)
        self.assertEqual((facts["command"], facts["input"], facts["dims"], facts["exit_code"]),
                         ("test", a, [10, 20], 0))
        out = self.succeed("--test", "-v", a).out.splitlines()
        self.assertEqual(out[0], f"{a}: OK")
        self.assertRegex(out[1], r"^  f32 10x20, 800 B, \S+ s, \S+ GB/s$")

    def test_the_field_need_not_be_there_or_its_name_be_free(self):
        name = self.archive()
        self.told([name], 0, f"{name}: OK\n")
        os.remove(self.path("wave_10x20.f32"))
        os.rename(self.path(name), self.path("x"))
        self.told(["x"], 0, "x: OK\n")

    def test_every_damage_has_the_sentence_and_code_of_restoring(self):
        values = wave(40, 30, 20)
        values[5, 6, :] = np.nan
        self.write("a_40x30x20.f32", values.tobytes())
        self.write("b_1x40x30x20.f32", values.tobytes())
        for name, options in (("a_40x30x20.f32", ["--predictor", "lorenzo"]),
                              ("a_40x30x20.f32", ["--predictor", "interpolation"]),
                              ("a_40x30x20.f32", ["--layout", "linear", "--zstd"]),
                              ("b_1x40x30x20.f32", [])):
            self.succeed("-z", "-f", "-q", "-e", "1e-3", "--frame", "16", *options, name)
            good = self.read(name + ".szg")
            for at in range(0, len(good), len(good) // 20):
                with self.subTest(options=options, at=at):
                    bad = bytearray(good)
                    bad[at] ^= 0x10
                    self.write("bad.szg", bytes(bad))
                    restored = self.run_szgpu("-x", "-q", "-o", "back", "bad.szg")
                    if restored.code == 0:
                        os.remove(self.path("back"))
                    out = "" if restored.code else "bad.szg: OK\n"
                    self.told(["bad.szg"], restored.code, out, restored.err)

    def test_what_is_no_whole_archive(self):
        name = self.archive()
        good = self.read(name)
        newer = good[:8] + struct.pack("<I", 6) + good[12:]
        for bad in (b"", b"x" * 200, good[:-1], good + b"\0", good[:20], newer):
            self.write("bad.szg", bad)
            restored = self.run_szgpu("-x", "-q", "-o", "back", "bad.szg")
            self.assertEqual(restored.code, 3)
            self.told(["bad.szg"], 3, "", restored.err)
        self.told(["none.szg"], 2, "", "szgpu: none.szg: cannot be read: No such file or "
                    "directory; check the name\n")

    def test_frames_go_one_after_another(self):
        values = np.random.default_rng(1).normal(size=(1000, 8192)).astype("<f4")
        self.write("a_1000x8192.f32", values.tobytes())  # 33 MB; parts of 16 MiB at most
        self.succeed("-z", "-q", "-e", "1e-2", "--frame", "10", "a_1000x8192.f32")
        name = "a_1000x8192.f32.szg"
        limit = ["-j", "1", "--memory-limit", "25M"]
        self.assertEqual(self.run_szgpu("-x", *limit, "-o", "back", name).code, 5)
        self.told([*limit, name], 0, f"{name}: OK\n")
        content = bytearray(self.read(name))
        for at in (len(content) // 3, len(content) // 2, len(content) - 1):
            content[at] ^= 1
            self.write("bad.szg", bytes(content))
            result = self.run_szgpu("--test", *limit, "bad.szg")
            self.assertEqual((result.code, result.out), (3, ""))
            content[at] ^= 1

    def test_too_little_memory(self):
        name = self.archive()
        self.told(["--memory-limit", "700", name], 5, "",
                    f"szgpu: {name}: would take more memory than --memory-limit: the restored "
                    "field needs 800 B; give a larger --memory-limit\n")

    def test_decoders(self):
        name = self.archive()
        self.told(["--decoder", "serial", name], 0, f"{name}: OK\n")
        result = self.run_szgpu("--test", "--decoder", "self-sync", name)
        self.assertEqual(result.code, 1)
        self.assertIn("--decoder self-sync does not read it", result.err)

    def test_options_of_others(self):
        name = self.archive()
        for option in (["-o", "x"], ["-f"], ["-e", "1"], ["--slab", "0:1"], ["--compare", "x"]):
            self.assert_refused(["--test", *option, name], 1,
                                f"{name}: {option[0]} cannot be used with --test; leave it out")


class Folders(CliTest):
    def setUp(self):
        super().setUp()
        self.good = self.read(self.archive("good_10x20.f32"))
        os.remove(self.path("good_10x20.f32.szg"))
        os.makedirs(self.path("runs/b/deep"))

    def test_all_archives_below_in_order(self):
        for name in ("runs/z.szg", "runs/a.szg", "runs/b/2.szg", "runs/b/10.SZG",
                     "runs/b/deep/x.szg"):
            self.write(name, self.good)
        self.write("runs/readme.txt", b"no archive")
        self.write("runs/.hidden.szg", self.good)
        result = self.succeed("--test", "runs")
        self.assertEqual(result.out.splitlines(), [
            f"runs/{name}: OK" for name in (".hidden.szg", "a.szg", "b/10.SZG", "b/2.szg",
                                            "b/deep/x.szg", "z.szg")])
        self.assertEqual(self.succeed("--test", "runs/", "runs/a.szg").out.count(": OK\n"), 7)

    def test_a_damaged_one_does_not_hide_the_others(self):
        self.write("runs/a.szg", self.good)
        self.write("runs/b.szg", self.good[:-1])
        self.write("runs/c.szg", self.good)
        result = self.run_szgpu("--test", "runs")
        self.assertEqual((result.code, result.out), (3, "runs/a.szg: OK\nruns/c.szg: OK\n"))
        self.assertEqual(result.err, "szgpu: runs/b.szg: the archive is shorter than its header "
                                     "says; replace it with an intact copy\n")
        told = [json.loads(line) for line in
                self.run_szgpu("--test", "--json", "runs").out.splitlines()]
        self.assertEqual([(each["input"], each["exit_code"]) for each in told],
                         [("runs/a.szg", 0), ("runs/b.szg", 3), ("runs/c.szg", 0)])

    def test_a_folder_without_archives(self):
        self.write("runs/readme.txt", b"no archive")
        self.assert_refused(["--test", "runs"], 2,
                            "runs: is a folder without archives; name one with files in .szg or .szgs")

    def test_links(self):
        self.write("x.szg", self.good)
        os.symlink("../x.szg", self.path("runs/link.szg"))
        os.symlink("../runs", self.path("runs/again"))  # not followed: it has no end
        os.symlink("runs", self.path("given"))
        self.assertEqual(self.succeed("--test", "runs").out, "runs/link.szg: OK\n")
        self.assertEqual(self.succeed("--test", "given").out, "given/link.szg: OK\n")
        os.remove(self.path("x.szg"))
        self.assert_refused(["--test", "runs"], 2, "runs/link.szg: cannot be read: No such file or "
                            "directory; check the name")

    def test_a_folder_that_cannot_be_read(self):
        self.write("runs/a.szg", self.good)
        os.chmod(self.path("runs/b"), 0)
        self.addCleanup(os.chmod, self.path("runs/b"), 0o700)
        how = {}
        if os.getuid() == 0:  # who may read every folder
            os.chmod(self.folder, 0o755)
            how["preexec_fn"] = lambda: os.setuid(65534)
        result = self.run_szgpu("--test", "runs", **how)
        self.assertEqual((result.code, result.out), (2, "runs/a.szg: OK\n"))
        self.assertEqual(result.err, "szgpu: runs/b: cannot be read: Permission denied; check the "
                         "permissions\n")

    def test_names_are_shown_safely(self):
        self.write("runs/a\n.szg", self.good)
        self.assertEqual(self.succeed("--test", "runs").out, "runs/a?.szg: OK\n")
