"""cases_series.py - series: --append, --step, and what a cut leaves.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import random
import resource
import signal
import subprocess
import time

import numpy as np

from harness import CliTest, wave

BASE = ("-e", "1e-3", "-m", "abs")


class SeriesTest(CliTest):
    def steps(self, count=3, series="run.szgs"):
        """A series of small steps, the contents of whose fields this gives."""
        fields = []
        for i in range(count):
            name = f"rho_{i}_10x20.f32"
            self.write(name, (wave(10, 20) + i).tobytes())
            self.succeed("-zq", "--append", series, *BASE, name)
            self.succeed("-zf", *BASE, name)
            self.succeed("-xf", "-o", "one.f32", name + ".szg")
            fields.append(self.read("one.f32"))
        return fields

    def assert_steps(self, fields, series="run.szgs"):
        self.assertEqual(self.succeed_json("-l", series)["step_count"], len(fields))
        for i, field in enumerate(fields):
            self.succeed("-xf", "--step", str(i), "-o", "step.f32", series)
            self.assertEqual(self.read("step.f32"), field, i)


class Series(SeriesTest):
    def test_steps_come_back(self):
        fields = self.steps()
        self.assert_steps(fields)
        self.assertEqual(self.succeed("--test", "run.szgs").out, "run.szgs: OK, 3 of 3 steps\n")
        self.succeed("-x", "run.szgs")
        for i, field in enumerate(fields):
            self.assertEqual(self.read(f"run-{i:04}.f32"), field)
        self.assertEqual(self.succeed("--test", ".").out.count("OK"), 4)

    def test_several_files_are_several_steps(self):
        self.steps()
        self.succeed("-z", "--append", "two.szgs", *BASE, *(f"rho_{i}_10x20.f32" for i in range(3)))
        self.assertEqual(self.read("two.szgs"), self.read("run.szgs"))

    def test_an_append_leaves_what_is_there(self):
        self.steps()
        before = self.read("run.szgs")
        self.write("a.f64", wave(7, 9, dtype="<f8").tobytes())
        self.write("b.npy", b"any bytes")
        self.succeed("-z", "--append", "run.szgs", "-m", "lossless", "-t", "u8", "b.npy")
        self.succeed("-z", "--append", "run.szgs", "-e", "60", "-m", "psnr", "-d", "7x9", "a.f64")
        self.assertEqual(self.read("run.szgs")[:len(before)], before)
        listing = self.succeed_json("-l", "run.szgs")["steps"]
        self.assertEqual([step["dtype"] for step in listing], ["f32"] * 3 + ["u8", "f64"])
        self.succeed("-x", "--step", "3:", "run.szgs")
        self.assertEqual(self.read("run-0003.u8"), b"any bytes")
        self.assertEqual(len(self.read("run-0004.f64")), 7 * 9 * 8)

    def test_step_takes_ranges_from_either_end(self):
        self.steps(4)
        for text, wanted in (("2", [2]), ("1:3", [1, 2]), ("-1", [3]), (":-2", [0, 1]),
                             (":", [0, 1, 2, 3]), ("-2:", [2, 3])):
            out = self.succeed("-xf", "--json", "--step", text, "run.szgs").out
            self.assertEqual([json.loads(line)["step_index"] for line in out.splitlines()], wanted)

    def test_parts_of_a_step(self):
        fields = self.steps()
        field = np.frombuffer(fields[1], "<f4").reshape(10, 20)
        self.succeed("-x", "--step", "1", "--region", "2:5,3", "-o", "box.f32", "run.szgs")
        self.assertEqual(self.read("box.f32"), field[2:5, 3:4].tobytes())
        self.succeed("-x", "--step", "1", "--slab", "4:6", "-o", "slab.f32", "run.szgs")
        self.assertEqual(self.read("slab.f32"), field[4:6].tobytes())
        self.write("big_40x50.f32", wave(40, 50).tobytes())
        self.succeed("-z", "--append", "run.szgs", "--predictor", "interpolation", *BASE,
                     "big_40x50.f32")
        self.succeed("-x", "--step", "3", "-o", "whole.f32", "run.szgs")
        self.succeed("-x", "--step", "3", "--level", "1", "-o", "half.f32", "run.szgs")
        whole = np.frombuffer(self.read("whole.f32"), "<f4").reshape(40, 50)
        self.assertEqual(self.read("half.f32"), whole[::2, ::2].tobytes())
        result = self.succeed("-x", "--step", "3", "--compare", "big_40x50.f32", "-o", "c.f32",
                              "run.szgs")
        self.assertIn("max error/bound", result.out)

    def test_names_and_times_are_kept(self):
        os.mkdir(self.path("deep"))
        self.field("deep/" + "n" * 250 + ".f32")
        self.field()
        self.succeed("-z", "--append", "run.szgs", "--time", "-2.5e-7", *BASE, "wave_10x20.f32")
        self.succeed("-z", "--append", "run.szgs", *BASE, "deep/" + "n" * 250 + ".f32")
        self.succeed("-z", "--append", "run.szgs", *BASE, "-t", "f32", "-",
                     stdin=self.read("wave_10x20.f32"))
        steps = self.succeed_json("-l", "run.szgs")["steps"]
        self.assertEqual([step["step_name"] for step in steps],
                         ["wave_10x20.f32", "n" * 250 + ".f32", ""])
        self.assertEqual(steps[0]["time"], -2.5e-7)
        self.assertNotIn("time", steps[1])

    def test_numpy_files_come_back_as_such(self):
        np.save(self.path("f.npy"), np.asfortranarray(wave(10, 20)))
        self.succeed("-z", "--append", "run.szgs", *BASE, "f.npy")
        self.succeed("-x", "run.szgs")
        back = np.load(self.path("run-0000.npy"))
        self.assertTrue(back.flags.f_contiguous and back.shape == (10, 20))

    def test_frame_by_frame(self):
        self.write("big_256x64x80.f32", wave(256, 64, 80).tobytes())
        for options in ((), ("--memory", "100M", "--frame", "48", "--verify")):
            series = f"run{len(options)}.szgs"
            self.succeed("-z", "--append", series, "--frame", "48", *options, *BASE,
                         "big_256x64x80.f32")
        self.assertEqual(self.read("run0.szgs"), self.read("run5.szgs"))
        self.succeed("-x", "--memory", "100M", "run0.szgs")
        self.succeed("-x", "run5.szgs")
        self.assertEqual(self.read("run0-0000.f32"), self.read("run5-0000.f32"))

    def test_joined_series_are_one(self):
        fields = self.steps()
        self.write("joined.szgs", self.read("run.szgs") * 2)
        self.assert_steps(fields * 2, "joined.szgs")


class Refusals(CliTest):
    def test_options(self):
        self.field()
        for arguments, sentence in (
                (("-z", *BASE, "--append", "a.szgs", "-o", "b", "wave_10x20.f32"),
                 "wave_10x20.f32: -o cannot be used with --append; leave one of them out"),
                (("-z", *BASE, "--append", "-", "wave_10x20.f32"),
                 "wave_10x20.f32: --append - is not a file; name the series"),
                (("-z", *BASE, "--time", "1", "wave_10x20.f32"),
                 "wave_10x20.f32: --time belongs to a step of a series; add --append or leave it "
                 "out"),
                (("-z", *BASE, "--append", "a.szgs", "--time", "nan", "wave_10x20.f32"),
                 "wave_10x20.f32: --time nan is not a finite number; give the time of the step as "
                 "in --time 0.25"),
                (("-z", *BASE, "--append", "a.szgs", "--time", "1", "a", "b"),
                 "--time is for one step; append the files one by one"),
                (("-x", "--step", "1,2", "a.szgs"),
                 "a.szgs: --step 1,2 is not a step or a range of steps; give them as in --step 7, "
                 "--step 3:8 or --step -1"),
                (("-x", "--append", "a.szgs", "b.szg"),
                 "b.szg: --append cannot be used with -x; leave it out"),
                (("-z", *BASE, "--step", "1", "wave_10x20.f32"),
                 "wave_10x20.f32: --step cannot be used with -z; leave it out")):
            self.assert_refused(arguments, 1, sentence)

    def test_what_is_no_series(self):
        archive = self.archive()
        not_a_series = ("the data are not a series of steps; name a file that szgpu "
                        "-z --append made")
        self.write("zeros", bytes(4096))
        for name in (archive, "zeros", "wave_10x20.f32"):
            self.assert_refused(("-z", *BASE, "--append", name, "wave_10x20.f32"), 3,
                                f"{name}: {not_a_series}")
            self.assert_refused(("-x", "--step", "0", "-o", "b", name), 1,
                                f"{name}: is not a series file; leave out --step")
        os.mkdir(self.path("folder"))
        self.assert_refused(("-z", *BASE, "--append", "folder", "wave_10x20.f32"), 2,
                            "folder: cannot be written: Is a directory; check the file and its "
                            "folder")
        os.mkfifo(self.path("pipe"))
        self.assert_refused(("-z", *BASE, "--append", "pipe", "wave_10x20.f32"), 2,
                            "pipe: is not a file; name an existing series or a new file")

    def test_a_failing_input_makes_no_series(self):
        self.assert_refused(("-z", *BASE, "--append", "a.szgs", "none.f32"), 2,
                            "none.f32: cannot be read: No such file or directory; check the name")
        self.write("odd.f32", b"abc")
        result = self.run_szgpu("-z", *BASE, "--append", "a.szgs", "odd.f32")
        self.assertNotEqual(result.code, 0)
        self.assertFalse(os.path.exists(self.path("a.szgs")))

    def test_series_as_inputs(self):
        self.field()
        self.succeed("-z", "--append", "run.szgs", *BASE, "wave_10x20.f32", "wave_10x20.f32")
        self.assert_refused(("-z", *BASE, "run.szgs"), 1,
                            "run.szgs: already ends in .szgs; use -x to restore it, or -f to "
                            "compress it again")
        self.assert_refused(("-x", "-o", "b", "run.szgs"), 1,
                            "run.szgs: has 2 steps to restore, and -o names one output; choose a "
                            "step with --step N")
        self.assert_refused(("-x", "--step", "2", "run.szgs"), 1,
                            "run.szgs: has 2 steps, but --step asks for 2; choose from 0:2")
        os.rename(self.path("run.szgs"), self.path("run"))
        self.assert_refused(("-x", "run"), 1,
                            "run: does not end in .szgs; name the output with -o")
        self.assert_refused(("-l", "-"), 1, "standard input: is a series, which cannot be read "
                            "from a pipe; name the file", stdin=self.read("run"))


UNFINISHED = ("is unfinished: an append is running or was interrupted; the next --append replaces "
              "it\n")


class Cuts(SeriesTest):
    def begun(self):
        """A series whose last step lacks the 16 bytes that finish it."""
        fields = self.steps(2)
        content = bytearray(self.read("run.szgs"))
        start = content.rindex(b"\x89SZS")
        content[start + 16:start + 32] = bytes(16)
        self.write("run.szgs", bytes(content))
        return fields[:1]

    def test_an_unfinished_step_is_told_and_replaced(self):
        fields = self.begun()
        self.assert_steps(fields)
        listing = self.succeed("-l", "run.szgs").out
        self.assertTrue(listing.endswith("  step 1 is unfinished: an append is running or was "
                                         "interrupted\n"), listing)
        self.assertFalse(self.succeed_json("-l", "run.szgs")["is_finished"])
        for arguments in (("--test",), ("-xf",)):
            result = self.run_szgpu(*arguments, "run.szgs")
            self.assertEqual((result.code, result.err),
                             (3, f"szgpu: run.szgs: step 1 {UNFINISHED}"), result)
        self.assert_refused(("-x", "--step", "1", "run.szgs"), 3,
                            f"run.szgs: step 1 {UNFINISHED[:-1]}")
        result = self.succeed("-z", "--append", "run.szgs", *BASE, "rho_1_10x20.f32")
        self.assertEqual(result.err, "szgpu: note: run.szgs: step 1 was unfinished; this append "
                                     "replaced it\n")
        self.assertEqual(self.succeed("--test", "run.szgs").out, "run.szgs: OK, 2 of 2 steps\n")

    def test_killed_at_any_moment(self):
        """kill -9: what was finished stays, and the next append mends the rest."""
        self.write("big_100x160x200.f32", np.random.default_rng(1).random(3200000, "f4").tobytes())
        begin = time.monotonic()
        fields = self.steps(1)
        self.succeed("-z", "--append", "time.szgs", "-j", "1", *BASE, "big_100x160x200.f32")
        whole = time.monotonic() - begin
        size = os.path.getsize(self.path("run.szgs"))
        draw, finished = random.Random(3), 0
        for _ in range(20):
            process = self.start("-z", "--append", "run.szgs", "-j", "1", *BASE,
                                 "big_100x160x200.f32")
            time.sleep(draw.random() * whole)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            count = self.succeed_json("-l", "run.szgs")["step_count"]
            self.assertIn(count, (1, 2))
            finished += count == 2
            self.succeed("-xf", "--step", "0", "-o", "step.f32", "run.szgs")
            self.assertEqual(self.read("step.f32"), fields[0])
            result = self.run_szgpu("--test", "run.szgs")
            self.assertEqual(result.err.endswith(UNFINISHED), result.code == 3, result)
            self.assertIn(result.code, (0, 3))
            self.succeed("-zq", "--append", "run.szgs", *BASE, "rho_0_10x20.f32")
            self.succeed("--test", "run.szgs")
            os.truncate(self.path("run.szgs"), size)
        self.assertLess(finished, 20)  # cut short, not all let through

    def test_killed_while_it_writes(self):
        """As above, but the kill waits until the step has begun."""
        self.write("big_100x160x200.f32", np.random.default_rng(1).random(3200000, "f4").tobytes())
        fields = self.steps(1)
        size = os.path.getsize(self.path("run.szgs"))
        told = 0
        for round_ in range(20):
            process = self.start("-z", "--append", "run.szgs", "-m", "lossless",
                                 "big_100x160x200.f32")
            self.wait_for(lambda: process.poll() is not None or
                          os.path.getsize(self.path("run.szgs")) > size)
            time.sleep(0.0005 * round_)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            result = self.run_szgpu("--test", "run.szgs")
            told += result.code == 3
            if result.code == 3:
                self.assertEqual(result.err, f"szgpu: run.szgs: step 1 (big_100x160x200.f32) "
                                 f"{UNFINISHED}")
            self.assertEqual(self.read("run.szgs")[:size].count(b"\x89SZS"), 1)
            self.succeed("-zq", "--append", "run.szgs", *BASE, "rho_0_10x20.f32")
            self.assert_steps_begin(fields)
            os.truncate(self.path("run.szgs"), size)
        self.assertGreater(told, 0)

    def assert_steps_begin(self, fields):
        self.assertGreater(self.succeed_json("-l", "run.szgs")["step_count"], len(fields))
        self.succeed("--test", "run.szgs")
        for i, field in enumerate(fields):
            self.succeed("-xf", "--step", str(i), "-o", "step.f32", "run.szgs")
            self.assertEqual(self.read("step.f32"), field)

    def test_a_full_disk(self):
        """A limit on the size of files stands for it: the write fails in the same way."""
        fields = self.steps(2)
        before = self.read("run.szgs")
        self.write("noise_10x10000.f32", np.random.default_rng(1).random(100000, "f4").tobytes())
        limit = len(before) + 50000

        def limit_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        result = self.run_szgpu("-z", "--append", "run.szgs", *BASE, "noise_10x10000.f32",
                                preexec_fn=limit_files)
        self.assertEqual((result.code, result.err),
                         (2, "szgpu: run.szgs: cannot be written: File too large; raise the limit "
                          "on file sizes or name a series in another folder\n"), result)
        self.assertEqual(self.read("run.szgs"), before)
        self.assert_steps(fields)

    def test_a_full_disk_of_temporary_files(self):
        """-o was the remedy, which --append refuses."""
        self.steps(1)
        self.write("noise_10x10000.f32", np.random.default_rng(1).random(100000, "f4").tobytes())

        def limit_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))

        for options, stdin in ((["noise_10x10000.f32"], b""),
                               (["-d", "10x10000", "-t", "f32", "-"],
                                self.read("noise_10x10000.f32"))):
            result = self.run_szgpu("-z", "--append", "run.szgs", *BASE, "--memory", "100M", *options,
                                    stdin=stdin, preexec_fn=limit_files)
            self.assertEqual(result.code, 2)
            self.assertRegex(result.err, "temporary file: File too large; raise the limit on file "
                             "sizes or name another folder with TMPDIR\n$")

    def test_a_full_standard_output(self):
        """The exit code was 2, as if the step were not there."""
        fields = self.steps(1)
        for options, warning in (((), True), (("--json",), True), (("-q",), False)):
            with open("/dev/full", "wb") as device:
                process = self.start("-z", "--append", "run.szgs", *options, *BASE,
                                     "rho_0_10x20.f32", stdout=device)
                _, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, err.decode()), (
                0, "szgpu: warning: standard output cannot be written: No space left on device; "
                "steps appended all the same: 1; see szgpu -l\n" if warning else ""))
            fields += fields[:1]
            self.assert_steps(fields)

    def test_a_listing_that_does_not_fit(self):
        """The reason was lost when the text was longer than the buffer: EIO."""
        self.steps(1)
        self.write("many.szgs", self.read("run.szgs") * 400)
        with open("/dev/full", "wb") as device:
            for options, full in (((), True), (("--json",), True)):
                process = self.start("-l", *options, "many.szgs", stdout=device)
                _, err = process.communicate(timeout=60)
                self.assertEqual((process.returncode, err.decode()), (
                    2, "szgpu: standard output: cannot be written: No space left on device; free "
                    "some space\n"))

    def test_what_is_refused_leaves_the_end(self):
        """A note said that the step's place is taken, and -f cut it off, before the refusal."""
        self.begun()
        before = self.read("run.szgs")
        self.write("odd_3.f32", b"abc")
        for end in (before, before + before, before[:-16]):
            self.write("run.szgs", end)
            for options in ((), ("-f",)):
                result = self.run_szgpu("-z", "--append", "run.szgs", *options, *BASE, "odd_3.f32")
                self.assertNotEqual(result.code, 0)
                self.assertNotIn("replaced it", result.err)
                self.assertEqual(self.read("run.szgs"), end)
        self.write("run.szgs", before + before)
        self.assert_refused(("-z", "--append", "run.szgs", *BASE, "rho_0_10x20.f32"), 3,
                            "run.szgs: finished steps follow the unfinished step 1, so nothing "
                            "was appended; discard all of them with -f")

    def test_an_unfinished_copy_of_a_series_gives_way(self):
        """Its own bytes were taken for steps that would be lost, so that nothing was appended."""
        fields = self.steps(2)
        self.write("noise_10x1000.f32", np.random.default_rng(1).random(10000, "f4").tobytes())
        self.succeed("-zq", "--append", "copied.szgs", "-m", "lossless", "noise_10x1000.f32")
        os.rename(self.path("copied.szgs"), self.path("copied.u8"))
        before = len(self.read("run.szgs"))
        self.succeed("-zq", "--append", "run.szgs", "-m", "lossless", "-t", "u8", "copied.u8")
        content = bytearray(self.read("run.szgs"))
        self.assertEqual(content.count(b"\x89SZS"), 4)
        content[before + 16:before + 32] = bytes(16)
        self.write("run.szgs", bytes(content))
        self.succeed("-zq", "--append", "run.szgs", *BASE, "rho_0_10x20.f32")
        self.assert_steps(fields + fields[:1])

    def test_two_at_once(self):
        self.steps(1)
        holder = self.start("-z", "--append", "run.szgs", *BASE, "-t", "f32", "-",
                            stdin=subprocess.PIPE)
        try:
            time.sleep(0.05)
            self.wait_for(lambda: self.run_szgpu("-z", "--append", "run.szgs", *BASE,
                                                 "rho_0_10x20.f32").code == 2)
            self.assert_refused(("-z", "--append", "run.szgs", *BASE, "rho_0_10x20.f32"), 2,
                                "run.szgs: another program is appending to the series; append "
                                "again when it has finished")
        finally:
            holder.communicate(wave(5).tobytes(), timeout=60)
        self.assertEqual(holder.returncode, 0)
        self.succeed("--test", "run.szgs")

    def test_a_copy_that_was_cut_short(self):
        fields = self.steps(3)
        self.write("run.szgs", self.read("run.szgs")[:-16])
        result = self.run_szgpu("-xf", "run.szgs")
        self.assertEqual((result.code, result.err), (
            3, "szgpu: run.szgs: cannot be read from step 2 (rho_2_10x20.f32) on: "
            "the archive is shorter than its header says; replace the series with an intact "
            "copy\n"))
        for i in range(2):
            self.assertEqual(self.read(f"run-{i:04}.f32"), fields[i])
        self.assert_refused(
            ("-z", "--append", "run.szgs", *BASE, "rho_2_10x20.f32"), 3,
            "run.szgs: cannot be read from step 2 (rho_2_10x20.f32) on (the archive is shorter "
            "than its header says), so nothing was appended; replace the series with an intact "
            "copy, or discard that part with -f")
        self.succeed("-zf", "--append", "run.szgs", *BASE, "rho_2_10x20.f32")
        self.assert_steps(fields)

    def test_damage_in_a_step_spares_the_others(self):
        fields = self.steps(3)
        content = bytearray(self.read("run.szgs"))
        middle = self.succeed_json("-l", "run.szgs")["steps"][1]
        content[middle["archive_offset"] + middle["archive_bytes"] - 20] ^= 1
        self.write("run.szgs", bytes(content))
        for arguments in (("--test",), ("-xf",)):
            result = self.run_szgpu(*arguments, "run.szgs")
            self.assertEqual(result.code, 3)
            self.assertIn("szgpu: run.szgs: step 1: a checksum does not match", result.err)
        for i in (0, 2):
            self.assertEqual(self.read(f"run-{i:04}.f32"), fields[i])
        self.assertFalse(os.path.exists(self.path("run-0001.f32")))

    def test_every_cut_of_a_small_series(self):
        self.steps(2)
        content = self.read("run.szgs")
        start = content.rindex(b"\x89SZS")
        for end in [*range(0, 100, 3), *range(start - 20, start + 100, 3), start, len(content) - 1]:
            self.write("cut.szgs", content[:end])
            result = self.run_szgpu("--test", "cut.szgs")
            is_whole = end == start
            self.assertEqual((result.code, result.err.count("\n")), (0, 0) if is_whole else (3, 1),
                             (end, result))
