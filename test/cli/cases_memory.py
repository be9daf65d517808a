"""cases_memory.py - --memory: fields that do not fit, frame by frame.

SPDX-License-Identifier: BSD-3-Clause
"""
import io
import os
import random
import resource
import signal
import time

import numpy as np

import harness
from harness import CliTest, wave

SIZE = "32M"  # of which 18M are for frames of the fields below
DIMS = (256, 64, 80)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def peak_kilobytes(pid):
    """So far; 0 if the process has ended. Its rusage would count the test before the exec."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    except ProcessLookupError:
        return 0


def watch(process):
    """Waits for its end; returns the peak of its memory in KiB, and what it wrote to stderr."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, peak_kilobytes(process.pid))
        time.sleep(0.005)
    return peak, process.communicate()[1]


class InFrames(CliTest):
    def big(self, name="big_256x64x80.f32", dtype="<f4"):
        return self.field(name, dims=DIMS, dtype=dtype)

    def test_the_archive_is_that_of_the_same_frames(self):
        name = self.big()
        for options in ((), ("-m", "abs"), ("-m", "psnr"), ("--layout", "linear"), ("--zstd",),
                        ("--predictor", "interpolation"), ("--fill", "0")):
            bound = "60" if "psnr" in options else "1e-3"
            info = self.succeed_json("-zf", "-e", bound, *options, "--memory", SIZE, name)
            self.assertGreater(info["frames"], 2)
            self.succeed("-zf", "-e", bound, *options, "--frame", str(info["frame_rows"]),
                         "-o", "whole.szg", name)
            self.assertEqual(self.read(name + ".szg"), self.read("whole.szg"), options)
            self.succeed("-xf", "--memory", SIZE, "-o", "back.f32", name + ".szg")
            self.succeed("-xf", "-o", "whole.f32", "whole.szg")
            self.assertEqual(self.read("back.f32"), self.read("whole.f32"), options)

    def test_the_frames_that_the_option_asks_for(self):
        name = self.big()
        for rows in (16, 48, 500):
            self.succeed("-zf", "-e", "1e-3", "--memory", "200M", "--frame", str(rows), name)
            self.succeed("-zf", "-e", "1e-3", "--frame", str(rows), "-o", "whole.szg", name)
            self.assertEqual(self.read(name + ".szg"), self.read("whole.szg"))

    def test_numpy_files_and_lossless_ones_come_back(self):
        values = wave(*DIMS)
        files = {"c.npy": npy(values), "f.npy": npy(np.asfortranarray(values)),
                 "big_endian.npy": npy(values.astype(">f8")), "any.bin": bytes(range(256)) * 9999}
        for name, content in files.items():
            self.write(name, content)
            mode = ("-m", "lossless") + (() if "big" in name else ("--zstd",))
            self.succeed("-z", *mode, "--memory", "64M", name)
            os.remove(self.path(name))
            self.succeed("-x", "--memory", "64M", name + ".szg")
            self.assertEqual(self.read(name), content, name)

    def test_verify_restores_frame_by_frame(self):
        name = self.big()
        whole = self.succeed_json("-zVf", "-e", "1e-3", "--frame", "48", name)
        frames = self.succeed_json("-zVf", "-e", "1e-3", "--frame", "48", "--memory", "64M", name)
        for key in ("max_error", "max_error_over_bound", "psnr", "values_over_bound"):
            self.assertAlmostEqual(frames[key], whole[key], delta=1e-9, msg=key)
        self.write("f.npy", npy(wave(*DIMS).astype(">f8")))
        info = self.succeed_json("-zV", "-m", "lossless", "--memory", "128M", "f.npy")
        self.assertEqual((info["values_over_bound"], info["max_error"]), (0, 0))
        result = self.succeed("-zV", "-e", "1e-3", "-t", "f32", "-d", "256x64x80", "--memory", SIZE,
                              "-", stdin=self.read(name), binary=True)
        self.assertIn("max error/bound", result.err)

    def test_small_fields(self):
        for dims in ((1,), (3, 5), (1, 1, 70), (2, 2, 2, 2)):
            name = self.field("f_" + "x".join(map(str, dims)) + ".f32", dims=dims)
            self.succeed("-z", "-e", "1e-3", "--memory", SIZE, name)
            self.succeed("-z", "-e", "1e-3", "-o", "whole.szg", "-f", name)
            self.assertEqual(self.read(name + ".szg"), self.read("whole.szg"))

    def test_pipes(self):
        content = self.read(self.big())
        shape = ("-t", "f32", "-d", "256x64x80")
        packed = self.succeed("-z", "-e", "1e-3", *shape, "--memory", SIZE, "-", stdin=content,
                              binary=True).out
        self.succeed("-z", "-e", "1e-3", "--memory", SIZE, "-o", "file.szg", "big_256x64x80.f32")
        self.assertEqual(packed, self.read("file.szg"))
        back = self.succeed("-x", "--memory", SIZE, "-", stdin=packed, binary=True).out
        self.succeed("-x", "-o", "back.f32", "file.szg")
        self.assertEqual(back, self.read("back.f32"))

    def test_a_file_as_standard_input(self):
        """Before, only the first MiB of it was compressed."""
        content = self.read(self.big())
        self.write("f.npy", npy(wave(*DIMS)))
        self.write("behind.bin", b"x" * 1000 + content)
        self.succeed("-z", "-e", "1e-3", "--memory", SIZE, "-o", "whole.szg", "big_256x64x80.f32")
        shape = ("-t", "f32", "-d", "256x64x80")
        for name, offset, options in (("big_256x64x80.f32", 0, shape), ("f.npy", 0, ()),
                                      ("behind.bin", 1000, shape)):
            with open(self.path(name), "rb") as file:
                file.seek(offset)
                process = self.start("-z", "-e", "1e-3", *options, "--memory", SIZE, "-",
                                     stdin=file)
                packed, error = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, error)
            if name != "f.npy":
                self.assertEqual(packed, self.read("whole.szg"))
            self.write("packed.szg", packed)
            with open(self.path("packed.szg"), "rb") as file:
                process = self.start("-x", "-o", "-", "--memory", SIZE, "-", stdin=file)
                back, error = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, error)
            self.assertEqual(len(back), len(self.read(name)) - offset)
        with open(self.path("big_256x64x80.f32"), "rb") as file:
            process = self.start("-z", "-m", "lossless", "--memory", "64M", "-", stdin=file)
            packed, _ = process.communicate(timeout=60)
        back = self.succeed("-x", "--memory", "64M", "-", stdin=packed, binary=True).out
        self.assertEqual(back, content)

    def test_several_archives_one_after_the_other(self):
        """Before, what one left in memory could be too much for the next."""
        name = self.field("f_64x64x80.f32", dims=(64, 64, 80))
        names = []
        for i, options in enumerate((("-e", "1e-3", "--layout", "linear", "--zstd"),
                                     ("-m", "lossless"), ("-e", "1e-3"), ("-e", "1e-6"))):
            names.append(f"{i}.szg")
            self.succeed("-z", *options, "-o", names[-1], name)
        for least in range(2, 40):
            codes = [self.run_szgpu("-xf", "--memory", f"{least}M", one).code for one in names]
            if not any(codes):
                break
        self.succeed("-xf", "--memory", f"{least}M", *names)

    def test_warnings_come_from_a_sample(self):
        values = wave(*DIMS)
        values[::3] = -9999
        self.write("f_256x64x80.f32", values.tobytes())
        result = self.succeed("-z", "-e", "1e-3", "--memory", SIZE, "f_256x64x80.f32")
        self.assertIn("--fill -9999", result.err)

    def test_memory_stays_below_the_size(self):
        with open(harness.szgpu, "rb") as file:
            if b"__asan_init" in file.read():
                self.skipTest("sanitizers take memory of their own")
        name = "f_1600x200x200.f32"  # 256 MB
        plane = wave(200, 200)
        with open(self.path(name), "wb") as file:
            for z in range(1600):
                file.write((plane * np.float32(1 + z % 7)).tobytes())
        for arguments in (("-z", "-e", "1e-3", name), ("-x", "-f", name + ".szg")):
            process = self.start(*arguments, "-j", "2", "--memory", "64M")
            peak, error = watch(process)
            self.assertEqual((process.returncode, error), (0, b""))
            info = self.succeed_json("-l", name + ".szg")
            frame_kilobytes = info["field_bytes"] // info["frames"] >> 10
            self.assertGreater(info["frames"], 8)
            self.assertGreater(peak, frame_kilobytes)  # it has been measured
            self.assertLess(peak, (64 << 10) + (16 << 10))  # and the program itself


class Refusals(CliTest):
    def test_what_does_not_go_with_it(self):
        name = self.field()
        archive = self.archive("other_10x20.f32")
        for bound, option in (("-e1e-3", "--memory-limit=1G"), ("--target-ratio=5",) * 2):
            shown = option.split("=")[0]
            self.assert_refused(["-z", bound, "--memory", "1G", option, name], 1,
                                f"{name}: --memory cannot be used with {shown}; leave one of "
                                "them out")
        for option in ("--slab=1:2", "--region=1:2,:", "--level=1", f"--compare={name}"):
            shown = option.split("=")[0]
            self.assert_refused(["-xf", "--memory", "1G", option, archive], 1,
                                f"{archive}: --memory cannot be used with {shown}; leave one of "
                                "them out")
        self.assert_refused(["-l", "--memory", "1G", archive], 1,
                            f"{archive}: --memory cannot be used with -l; leave it out")
        for size in ("0", "x", "-1", "5Q", "99999999999T"):
            self.assert_refused(["-x", "--memory", size, archive], 1,
                                f"{archive}: --memory {size} is not a size; give it as in "
                                "--memory 500M or 4G")

    def test_too_little(self):
        name = self.field("f_256x64x80.f32", dims=DIMS)
        self.assert_refused(["-z", "-e", "1e-3", "--memory", "1M", name], 5,
                            f"{name}: would take more memory than --memory: reading it needs "
                            "1.05 MB; give a larger --memory")
        result = self.run_szgpu("-z", "-e", "1e-3", "--memory", "4M", name)
        self.assertEqual(result.code, 5)
        self.assertRegex(result.err, rf"\Aszgpu: {name}: needs --memory \d+M at least; give more\n")
        result = self.run_szgpu("-z", "-e", "1e-3", "--memory", "20M", "--frame", "128", name)
        self.assertEqual(result.code, 5)
        self.assertRegex(result.err, rf"\Aszgpu: {name}: needs --memory \d+M for frames of 128 "
                         r"rows; give more, or a smaller --frame\n")
        least = int(result.err.split("--memory ")[1].split("M")[0])
        self.succeed("-z", "-e", "1e-3", "--memory", f"{least}M", "--frame", "128", name)
        result = self.run_szgpu("-x", "-f", "--memory", "1M", name + ".szg")
        self.assertEqual(result.code, 5)
        self.assertRegex(result.err, rf"\Aszgpu: {name}.szg: it needs \d+ bytes or more, and its "
                         r"limit is \d+; give a larger --memory\n")

    def test_what_it_names_suffices(self):
        for dims, options in (((16, 512, 512), ("-m", "lossless")), ((3, 300, 2000), ("-e", "1e-3")),
                              ((20, 500, 700), ("-e", "1e-3", "--zstd")),
                              ((100, 9000), ("-e", "1e-3"))):
            name = self.field("f_" + "x".join(map(str, dims)) + ".f32", dims=dims)
            result = self.run_szgpu("-z", *options, "--memory", "4M", name)
            least = result.err.split("--memory ")[1].split("M")[0]
            self.succeed("-z", *options, "--memory", f"{least}M", name)

    def test_a_header_that_claims_much(self):
        """An archive of 2^27 frames, of which there is nothing but zeros."""
        self.archive("small_9000.f32", "--frame", "4096", dims=(9000,))
        head = bytearray(self.read("small_9000.f32.szg")[:128])
        frames = 1 << 27
        head[24:32] = (frames * 4096).to_bytes(8, "little")
        head[104:112] = frames.to_bytes(8, "little")
        with open(self.path("claims.szg"), "wb") as file:
            file.write(head)
            file.truncate(1 << 30)
        self.assert_refused(["-x", "-o", "out", "--memory", "16M", "claims.szg"], 5,
                            "claims.szg: would take more memory than --memory: reading it needs "
                            "16.78 MB; give a larger --memory")

    def test_damage_leaves_no_file(self):
        name = self.field("f_256x64x80.f32", dims=DIMS)
        self.succeed("-z", "-e", "1e-3", "--memory", SIZE, name)
        content = self.read(name + ".szg")
        end = len(content)
        cases = ((content[:end // 2], "the archive is shorter than its header says"),
                 (content + b"x", "there are bytes after the end of the archive"),
                 (content[:end - 9] + b"?" + content[end - 8:], "a checksum does not match"),
                 (b"x" + content[1:], "the data are not an szgpu archive"),
                 (content[:100], "the archive is shorter than its header says"),
                 (b"", "the archive"))
        for damaged, sentence in cases:
            self.write("damaged.szg", damaged)
            before = self.snapshot()
            for arguments in (("damaged.szg",), ("-o", "out.f32", "-")):
                result = self.run_szgpu("-x", "--memory", SIZE, *arguments, stdin=damaged)
                self.assertEqual((result.code, result.out), (3, ""), result)
                self.assertIn(sentence, result.err)
                self.assertEqual(self.snapshot(), before)

    def test_a_size_that_is_not_the_dims(self):
        self.write("f.f32", bytes(4000))
        self.assert_refused(["-z", "-e", "1e-3", "--memory", SIZE, "-d", "10x99", "f.f32"], 1,
                            "f.f32: has 4000 bytes of values, but 10x99 f32 values are 3960 "
                            "bytes; correct -d or -t")

    def test_a_full_disk(self):
        name = self.field("f_256x64x80.f32", dims=DIMS)
        archive = name + ".szg"
        self.succeed("-z", "-e", "1e-6", name)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        sentence = ("{}: cannot be written: File too large; raise the limit on file sizes or name "
                    "another folder with -o")
        self.assert_refused(["-z", "-e", "1e-6", "--memory", SIZE, "-o", "a.szg", name], 2,
                            sentence.format("a.szg"), preexec_fn=limit)
        self.assert_refused(["-x", "--memory", SIZE, "-o", "b.f32", archive], 2,
                            sentence.format("b.f32"), preexec_fn=limit)

    def test_a_reader_that_leaves(self):
        archive = self.archive("f_256x64x80.f32", dims=DIMS)
        process = self.start("-x", "--memory", SIZE, "-o", "-", archive)
        process.stdout.read(1000)
        process.stdout.close()
        error = process.stderr.read().decode()
        process.stderr.close()
        process.wait(60)
        self.assertIn(process.returncode, (2, -signal.SIGPIPE))
        self.assertNotIn("Traceback", error)

    def test_killed_at_any_moment_it_leaves_no_half_file(self):
        name = self.field("f_256x64x80.f32", dims=DIMS)
        self.succeed("-z", "-e", "1e-3", "--memory", SIZE, "-o", "whole.szg", name)
        whole = self.read("whole.szg")
        moments = random.Random(20)
        for _ in range(20):
            process = self.start("-z", "-e", "1e-3", "--memory", SIZE, "-o", "a.szg", name)
            time.sleep(moments.random() * 0.06)
            process.kill()
            process.communicate()
            if os.path.exists(self.path("a.szg")):
                self.assertEqual(self.read("a.szg"), whole)
                os.remove(self.path("a.szg"))
