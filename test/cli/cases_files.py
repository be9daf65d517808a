"""cases_files.py - names, shapes, pipes, slabs, outputs that are complete or absent.

SPDX-License-Identifier: BSD-3-Clause
"""
import io
import os
import signal
import subprocess
import sys
import time

import numpy as np

from harness import CliTest, wave

BOUND = ["-m", "abs", "-e", "1e-3"]
# A program that gives a file the values of another one and its own, by turns, until it is killed.
KEEPS_WRITING = """
import mmap, sys
with open(sys.argv[1], "r+b") as file, open(sys.argv[2], "rb") as other:
    mapped = mmap.mmap(file.fileno(), 0)
    versions = [mapped[:], other.read()]
    while True:
        for version in versions:
            mapped[:] = version
"""
NOTE = "warning: no dims given, so its {} values are treated as one row; give them with -d"


class Names(CliTest):
    def test_an_archive_is_named_after_its_field_and_back(self):
        name = self.field("dir.f32_10x20.f32")
        self.succeed("-z", *BOUND, name)
        os.remove(self.path(name))
        self.succeed("-x", name + ".szg")
        self.assertEqual(sorted(os.listdir(self.folder)), [name, name + ".szg"])
        self.assert_within(wave(200), np.frombuffer(self.read(name), "<f4"), 1e-3)

    def test_outputs_lie_beside_their_inputs(self):
        os.mkdir(self.path("sub"))
        self.field("sub/a_10x20.f32")
        self.succeed("-z", *BOUND, "sub/a_10x20.f32")
        self.assertEqual(sorted(os.listdir(self.path("sub"))), ["a_10x20.f32", "a_10x20.f32.szg"])

    def test_options_and_files_may_be_mixed_and_flags_joined(self):
        name = self.field()
        self.succeed(name, "-zfq", "-e1e-3", "-mabs", "--frame=10", "-o", "out")
        self.succeed("out", "--decoder=serial", "-xo", "back", "--slab", "0:3", "-j1")
        self.assertEqual(len(self.read("back")), 240)

    def test_choices_that_are_here_are_taken(self):
        name = self.field()
        for options in (["-b", "cpu"], ["-b", "auto"], ["--layout=linear"], ["--layout=tile"],
                        ["--zstd"], ["-j", "0"], ["--zstd=19"], ["-m", "psnr"], ["-m", "rel"],
                        ["--fill", "0x1p3"],
                        ["--fill", "nan"], ["--frame", "3"], ["-d", "200", "-t", "f32"]):
            self.succeed("-zfqV", "-e", "1e-3", *options, name)
            for decoder in ("auto", "serial", "table"):
                self.succeed("-xfq", "--decoder", decoder, "-o", "b", "--compare", name,
                             name + ".szg")

    def test_two_dashes_end_the_options(self):
        self.field("-e.f32")
        self.succeed("-z", *BOUND, "-d", "10x20", "--", "-e.f32")
        self.assertIn("-e.f32.szg", os.listdir(self.folder))

    def test_a_name_that_is_not_utf8(self):
        name = os.fsdecode(b"caf\xe9_10x20.f32")
        self.field(name)
        told = self.succeed_json("-z", *BOUND, name)
        self.assertEqual(os.fsencode(told["input"]), b"caf\xe9_10x20.f32")

    def test_the_longest_name_there_is(self):
        name = "a" * 247 + ".f32"
        self.field(name)
        self.succeed("-z", *BOUND, "-d", "200", name)
        self.assertIn(name + ".szg", os.listdir(self.folder))


class Shapes(CliTest):
    def dims_of(self, name, *options, count=200, dtype="<f4"):
        self.field(name, (count,), dtype)
        result = self.succeed("-z", "-f", *BOUND, *options, name)
        note = f"szgpu: {name}: {NOTE.format(count)}\n"
        told = self.succeed_json("-l", name + ".szg")
        self.assertEqual("treated as one row" in result.err, result.err == note)
        return told["dims"], result.err == note

    def test_the_option_comes_first(self):
        self.assertEqual(self.dims_of("a_10x20.f32", "-d", "2x100"), ([2, 100], False))

    def test_the_name_comes_next(self):
        self.assertEqual(self.dims_of("a_10x20.f32"), ([10, 20], False))
        self.assertEqual(self.dims_of("a_200.f32"), ([200], False))
        self.assertEqual(self.dims_of("a.5x2x4x5.f32"), ([5, 2, 4, 5], False))
        self.assertEqual(self.dims_of("10x20.f32"), ([10, 20], False))
        self.assertEqual(self.dims_of("u_10x20.f64", dtype="<f8"), ([10, 20], False))
        self.assertEqual(self.dims_of("u_10x20.d64", dtype="<f8"), ([10, 20], False))

    def test_the_last_token_that_fits_counts(self):
        self.assertEqual(self.dims_of("a_20x10_10x20_007.f32"), ([10, 20], False))

    def test_dims_that_do_not_fit_are_not_taken_from_the_name(self):
        for name in ("a_10x21.f32", "a_10x20b.f32", "a_0x200.f32", "a_1x1x1x1x200.f32", "a_x.f32",
                     "a_99999999999999999999x1.f32", "a-10x20.f32"):
            with self.subTest(name):
                self.assertEqual(self.dims_of(name), ([200], True))

    def test_the_note_is_not_for_quiet_runs(self):
        self.assertEqual(self.dims_of("a.f32"), ([200], True))
        self.assertEqual(self.dims_of("b.f32", "-q"), ([200], False))

    def test_the_type_of_the_option_comes_first(self):
        self.field("a.f32", (200,), "<f8")
        self.succeed("-z", "-q", *BOUND, "-t", "f64", "a.f32")
        self.assertEqual(self.succeed_json("-l", "a.f32.szg")["dtype"], "f64")


class Pipes(CliTest):
    def test_a_field_through_two_pipes(self):
        field = wave(10, 20).tobytes()
        made = self.succeed("-z", *BOUND, "-t", "f32", "-d", "10x20", "-", stdin=field, binary=True)
        self.assertRegex(made.err, r"\Astandard input -> standard output  ratio [^\n]+\n\Z")
        back = self.succeed("-x", "-q", "-", stdin=made.out, binary=True)
        self.assertEqual(back.err, "")
        self.assert_within(wave(200), np.frombuffer(back.out, "<f4"), 1e-3)

    def test_an_npy_file_through_two_pipes(self):
        file = io.BytesIO()
        np.save(file, np.asfortranarray(wave(10, 20)))
        made = self.succeed("-z", *BOUND, "-", stdin=file.getvalue(), binary=True)
        back = self.succeed("-x", "-", stdin=made.out, binary=True)
        restored = np.load(io.BytesIO(back.out))
        self.assertTrue(restored.flags.f_contiguous)
        self.assert_within(wave(10, 20), restored, 1e-3)

    def test_a_pipe_of_unknown_type(self):
        self.assert_refused(["-z", *BOUND, "-"], 1, "standard input: has an unknown type; give it "
                            "with -t, as in -t f32", stdin=bytes(16))

    def test_a_pipe_without_dims_is_one_row(self):
        result = self.succeed("-z", *BOUND, "-t", "f32", "-o", "a.szg", "-", stdin=bytes(800))
        self.assertEqual(result.err, f"szgpu: standard input: {NOTE.format(200)}\n")
        self.assertRegex(result.out, r"\Astandard input -> a\.szg  ")

    def test_output_to_a_named_pipe_and_to_a_device(self):
        name = self.field()
        os.mkfifo(self.path("fifo"))
        process = self.start("-z", *BOUND, "-o", "fifo", name)
        content = self.read("fifo")
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.succeed("-z", *BOUND, "-o", "/dev/null", name)
        self.succeed("-z", "-q", *BOUND, name)
        self.assertEqual(content, self.read(name + ".szg"))

    def test_standard_input_from_the_middle_of_a_file(self):
        self.write("f", bytes(100) + wave(10, 20).tobytes())
        with open(self.path("f"), "rb", buffering=0) as file:
            file.seek(100)
            process = self.start("-z", *BOUND, "-t", "f32", "-d", "10x20", "-o", "out", "-",
                                 stdin=file)
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.succeed("-x", "-q", "-o", "back", "out")
        self.assert_within(wave(200), np.frombuffer(self.read("back"), "<f4"), 1e-3)

    def test_binary_data_are_not_written_to_a_terminal(self):
        name = self.field()
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)
        for arguments in (["-o", "-"], ["-o", os.ttyname(theirs)]):
            process = self.start("-z", *BOUND, *arguments, name, stdout=theirs)
            _, err = process.communicate(timeout=60)
            shown = "standard output" if arguments[1] == "-" else arguments[1]
            self.assertEqual((process.returncode, err.decode()), (1, f"szgpu: {shown}: is a "
                             "terminal, and the data are binary; use -o FILE, or -f to write them "
                             "anyway\n"))
        os.close(theirs)


class Whole(CliTest):
    """An output is complete or absent."""

    def test_f_overwrites(self):
        name = self.field()
        self.write(name + ".szg", b"old")
        self.succeed("-zf", *BOUND, name)
        self.succeed("-xf", name + ".szg")
        self.assertEqual(sorted(os.listdir(self.folder)), [name, name + ".szg"])

    def test_a_failure_with_f_leaves_the_old_output(self):
        self.write("bad.szg", bytes(200))
        self.write("out", b"old")
        self.assertEqual(self.run_szgpu("-xf", "-o", "out", "bad.szg").code, 3)
        self.assertEqual(self.read("out"), b"old")

    def start_that_waits(self, number, action):
        """A run that has made its temporary file and waits for its pipe."""
        process = self.start("-z", *BOUND, "-t", "f32", "-d", "200", "-o", "out", "-",
                             stdin=subprocess.PIPE,
                             preexec_fn=lambda: signal.signal(number, action))
        self.wait_for(lambda: os.listdir(self.folder))
        made, = os.listdir(self.folder)
        self.assertRegex(made, r"\A\.out\.[a-z0-9]{6}\Z")
        return process

    def test_signals_leave_no_temporary_file(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                process = self.start_that_waits(number, signal.SIG_DFL)
                process.send_signal(number)
                process.communicate(timeout=60)
                self.assertEqual(process.returncode, -number)
                self.assertEqual(os.listdir(self.folder), [])

    def test_a_signal_that_was_ignored_stays_ignored(self):
        process = self.start_that_waits(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        process.send_signal(signal.SIGHUP)
        process.communicate(bytes(800), timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(os.listdir(self.folder), ["out"])

    def test_an_output_that_appears_during_the_work_is_not_overwritten(self):
        process = self.start("-z", *BOUND, "-t", "f32", "-d", "200", "-o", "out", "-",
                             stdin=subprocess.PIPE)
        self.wait_for(lambda: os.listdir(self.folder))
        self.write("out", b"mine")
        out, err = process.communicate(bytes(800), timeout=60)
        self.assertEqual((process.returncode, out, err),
                         (2, b"", b"szgpu: out: already exists; use -f to overwrite\n"))
        self.assertEqual(os.listdir(self.folder), ["out"])
        self.assertEqual(self.read("out"), b"mine")

    def test_an_input_that_gets_shorter_is_told(self):
        with open(self.path("a.f32"), "wb") as file:
            file.truncate(1 << 20)
        # The named pipe stops the run after it opened the input and before it maps it. A file that
        # becomes shorter then is a file of that size or an error, never a crash.
        os.mkfifo(self.path("fifo"))
        process = self.start("-z", *BOUND, "-d", "262144", "-o", "fifo", "a.f32")
        time.sleep(0.2)
        os.truncate(self.path("a.f32"), 0)
        with open(self.path("fifo"), "rb") as file:
            file.read()
        _, err = process.communicate(timeout=60)
        self.assertIn(process.returncode, (1, 2))
        self.assertRegex(err.decode(), r"\Aszgpu: a\.f32: [^\n]+; [^\n]+\n\Z")

    def test_an_input_that_changes_is_restorable_or_told(self):
        """Another process writes to the file, which is mapped. Lossless archives of such files used
        to be cut off or not to decode, and the command to crash."""
        name, count, runs = "a.f32", 1 << 18, 5
        calm = wave(count)
        rough = np.random.default_rng(1).integers(0, 1 << 32, count, "u4").view("f4")
        self.write(name, calm.tobytes())
        self.write("rough", rough.tobytes())
        writer = subprocess.Popen([sys.executable, "-c", KEEPS_WRITING, name, "rough"],
                                  cwd=self.folder)
        try:
            for options in (["-m", "lossless"], BOUND, [*BOUND, "--predictor", "interpolation"],
                            ["-m", "abs", "-e", "1e-30"], ["-m", "lossless", "--layout", "linear"]):
                for _ in range(runs):
                    result = self.run_szgpu("-zfq", "-b", "cpu", "-j1", "-o", "out", *options, name)
                    if result.code:
                        self.assertEqual((result.code, result.err), (2, f"szgpu: {name}: the field "
                            "changed while it was compressed; compress it when nothing writes to "
                            "it, or a copy of it\n"))
                        self.assertEqual(sorted(os.listdir(self.folder)), [name, "rough"])
                    else:
                        self.succeed("-xfq", "-o", "back", "out")
                        os.remove(self.path("out"))
                        os.remove(self.path("back"))
        finally:
            writer.kill()
            writer.wait()

    def test_the_input_is_untouched(self):
        name = self.field()
        os.chmod(self.path(name), 0o444)
        before = self.snapshot()[name]
        self.succeed("-zV", *BOUND, name)
        self.succeed("-x", "-o", "back", "--compare", name, name + ".szg")
        self.assertEqual(self.snapshot()[name], before)


class Slabs(CliTest):
    def test_rows_of_a_raw_field(self):
        name = self.archive("a_40x20.f32", "--frame", "16", dims=(40, 20))
        self.succeed("-x", "-o", "whole", name)
        whole = np.frombuffer(self.read("whole"), "<f4").reshape(40, 20)
        for text, rows in (("0:1", slice(0, 1)), ("3:17", slice(3, 17)), ("39:40", slice(39, 40)),
                           ("30:", slice(30, 40)), (":5", slice(0, 5)), ("0:40", slice(0, 40))):
            with self.subTest(text):
                result = self.succeed("-xf", "-o", "slab", "--slab", text, "--compare",
                                      "a_40x20.f32", name)
                self.assertIn(f" (rows {rows.start}:{rows.stop} of 40)  ", result.out)
                self.assertEqual(self.read("slab"), whole[rows].tobytes())

    def test_rows_of_npy_files(self):
        for order in "CF":
            for dtype in ("<f4", ">f8"):
                with self.subTest((order, dtype)):
                    array = np.array(wave(6, 7, 8, dtype=dtype), order=order)
                    np.save(self.path("a.npy"), array)
                    self.succeed("-zf", *BOUND, "a.npy")
                    self.succeed("-xf", "-o", "b.npy", "--slab", "2:5", "a.npy.szg")
                    slab = np.load(self.path("b.npy"))
                    wanted = array[2:5] if order == "C" else array[:, :, 2:5]
                    self.assertEqual(slab.dtype.str, dtype)
                    self.assertEqual(slab.shape, wanted.shape)
                    self.assert_within(wanted, slab, 1e-3)


class Regions(CliTest):
    """Boxes, as numpy slices the whole."""

    SLICES = ("0:16,32:40,:", "3,-5:,7", ":5,5:6,-20:-3", "-1,-1,-1", "39:,:1,0:50", ":,:,:")

    @staticmethod
    def box(array, text):
        """array[text], with an index as a range of one."""
        slices = []
        for axis, part in enumerate(text.split(",")):
            if ":" in part:
                slices.append(slice(*(int(n) if n else None for n in part.split(":"))))
            else:
                index = int(part) % array.shape[axis]
                slices.append(slice(index, index + 1))
        return array[tuple(slices)]

    def test_raw_fields(self):
        for options in ([], ["--predictor", "interpolation"], ["--layout", "linear"], ["--zstd"]):
            name = self.archive("a_40x42x50.f32", "-f", "--frame", "16", *options,
                                dims=(40, 42, 50))
            self.succeed("-xf", "-o", "whole", name)
            whole = np.frombuffer(self.read("whole"), "<f4").reshape(40, 42, 50)
            for text in self.SLICES:
                with self.subTest((options, text)):
                    result = self.succeed("-xf", "-o", "box", f"--region={text}", name)
                    self.assertRegex(result.out, r" \(region [0-9:,]+ of 40x42x50\)  ")
                    self.assertEqual(self.read("box"), self.box(whole, text).tobytes())

    def test_npy_files(self):
        for order in "CF":
            for dtype in ("<f4", ">f8"):
                with self.subTest((order, dtype)):
                    np.save(self.path("a.npy"), np.array(wave(33, 70, 50, dtype=dtype), order=order))
                    self.succeed("-zf", *BOUND, "a.npy")
                    self.succeed("-xf", "-o", "whole.npy", "a.npy.szg")
                    self.succeed("-xf", "-o", "b.npy", "--region", "2:9,7,-4:", "a.npy.szg")
                    whole, box = np.load(self.path("whole.npy")), np.load(self.path("b.npy"))
                    wanted = (self.box(whole, "2:9,7,-4:") if order == "C" else
                              self.box(whole.T, "2:9,7,-4:").T)  # the archive's dims
                    self.assertEqual((box.dtype.str, box.shape), (dtype, wanted.shape))
                    np.testing.assert_array_equal(box, wanted)

    def test_regions_of_previews(self):
        np.save(self.path("a.npy"), wave(3, 40, 62, 80))
        self.succeed("-z", *BOUND, "--predictor", "interpolation", "a.npy")
        self.succeed("-x", "-o", "preview.npy", "--level", "2", "a.npy.szg")
        preview = np.load(self.path("preview.npy"))
        told = self.succeed_json("-x", "-o", "b.npy", "--level", "2", "--region", "1:,:7,3,-9:",
                                 "a.npy.szg")
        box = np.load(self.path("b.npy"))
        np.testing.assert_array_equal(box, self.box(preview, "1:,:7,3,-9:"))
        self.assertEqual((told["level"], told["level_dims"], told["region_first"],
                          told["region_dims"], told["restored_bytes"], told["dims"]),
                         (2, [3, 10, 16, 20], [1, 0, 3, 11], [2, 7, 1, 9], 4 * 2 * 7 * 9,
                          [3, 40, 62, 80]))

    def test_through_pipes(self):
        name = self.archive("a_40x30.f32", dims=(40, 30))
        self.succeed("-x", "-o", "whole", name)
        whole = np.frombuffer(self.read("whole"), "<f4").reshape(40, 30)
        result = self.run_szgpu("-x", "--region", "5:9,-3:", "-", stdin=self.read(name), binary=True)
        self.assertEqual((result.code, result.out), (0, whole[5:9, -3:].tobytes()))

    def test_damage_elsewhere_does_not_matter(self):
        name = self.archive("a_80x64x64.f32", "--predictor", "lorenzo", dims=(80, 64, 64))
        self.succeed("-x", "-o", "good", "--region", "0:8,0:8,0:8", name)
        content = bytearray(self.read(name))
        sections = self.succeed_json("-l", name)["frame_list"][0]["sections"]
        stream, = (s for s in sections if s["name"] == "bitstream")
        content[stream["offset"] + stream["stored_bytes"] - 9] ^= 1
        self.write(name, bytes(content))
        self.succeed("-x", "-o", "box", "--region", "0:8,0:8,0:8", name)
        self.assertEqual(self.read("box"), self.read("good"))
        self.assert_refused(["-x", "-o", "s", name], 3, f"{name}: a checksum does not match: the "
                            "archive is damaged (section 'bitstream' of frame 0); replace it with "
                            "an intact copy")


class Levels(CliTest):
    """Previews: every 2^N-th value, as the whole field has it."""

    INTERPOLATION = ("--predictor", "interpolation")

    def test_raw_fields(self):
        name = self.archive("a_40x30x50.f32", *self.INTERPOLATION, "--frame", "16",
                            dims=(40, 30, 50))
        self.succeed("-x", "-o", "whole", name)
        whole = np.frombuffer(self.read("whole"), "<f4").reshape(40, 30, 50)
        for level, dims in (("0", "40x30x50"), ("1", "20x15x25"), ("2", "10x8x13")):
            with self.subTest(level):
                result = self.succeed("-xf", "-o", "preview", "--level", level, name)
                self.assertIn(f" (level {level}, {dims})  ", result.out)
                step = 2 ** int(level)
                self.assertEqual(self.read("preview"), whole[::step, ::step, ::step].tobytes())

    def test_npy_files(self):
        for order in "CF":
            for dtype in ("<f4", ">f8"):
                with self.subTest((order, dtype)):
                    array = np.array(wave(33, 70, 50, dtype=dtype), order=order)
                    np.save(self.path("a.npy"), array)
                    self.succeed("-zf", *BOUND, *self.INTERPOLATION, "a.npy")
                    self.succeed("-xf", "-o", "whole.npy", "a.npy.szg")
                    self.succeed("-xf", "-o", "b.npy", "--level", "2", "a.npy.szg")
                    wanted, preview = np.load(self.path("whole.npy")), np.load(self.path("b.npy"))
                    self.assertEqual(preview.dtype.str, dtype)
                    np.testing.assert_array_equal(preview, wanted[::4, ::4, ::4])

    def test_a_batch_keeps_its_first_axis(self):
        np.save(self.path("a.npy"), wave(3, 20, 31, 40))
        self.succeed("-z", *BOUND, *self.INTERPOLATION, "a.npy")
        told = self.succeed_json("-x", "-o", "b.npy", "--level", "1", "a.npy.szg")
        self.assertEqual((told["level"], told["level_dims"], told["restored_bytes"]),
                         (1, [3, 10, 16, 20], 4 * 3 * 10 * 16 * 20))
        self.assertEqual(np.load(self.path("b.npy")).shape, (3, 10, 16, 20))

    def test_finer_levels_may_be_damaged(self):
        name = self.archive("a_80x64x64.f32", *self.INTERPOLATION, dims=(80, 64, 64))
        self.succeed("-x", "-o", "good", "--level", "1", name)
        content = bytearray(self.read(name))
        sections = self.succeed_json("-l", name)["frame_list"][0]["sections"]
        self.assertEqual([sections[-2]["name"], sections[-1]["name"]], ["level 1", "level 0"])
        content[sections[-1]["offset"]] ^= 1
        self.write(name, bytes(content))
        self.succeed("-x", "-o", "preview", "--level", "1", name)
        self.assertEqual(self.read("preview"), self.read("good"))
        self.assert_refused(["-x", "-o", "s", name], 3, f"{name}: a checksum does not match: the "
                            "archive is damaged (section 'level 0' of frame 0); replace it with an "
                            "intact copy")
