"""cases_endless.py - inputs that do not end: no more is read than it takes to refuse them.

SPDX-License-Identifier: BSD-3-Clause
"""
import io
import os
import subprocess
import threading

import numpy as np

from harness import CliTest, wave

BOUND = ("-e", "1e-3")
MOST_BYTES = 1 << 20  # that a pipe and the first reads may take beyond what is wanted
DAMAGED = "a checksum does not match: the archive is damaged; replace it with an intact copy"
TRAILING = ("there are bytes after the end of the archive; copy it again, without the bytes that "
            "follow it")


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


class Endless(CliTest):
    """Before, the command read until memory was out, and only then looked at the first bytes."""

    def feed(self, pipe, head, tail):
        """Writes head, then tail over and over until nobody reads on or it is clearly too much."""
        written = 0
        try:
            with pipe:
                for piece in (head, *(MOST_BYTES // len(tail) * 2) * (tail,)):
                    pipe.write(piece)
                    pipe.flush()
                    written += len(piece)
        except BrokenPipeError:
            pass
        self.fed_bytes = written

    def assert_refused_early(self, arguments, code, sentence, head, tail=bytes(4096)):
        process = self.start(*arguments, stdin=subprocess.PIPE)
        feeder = threading.Thread(target=self.feed, args=(process.stdin, head, tail))
        feeder.start()
        feeder.join(60)
        out, err = process.stdout.read(), process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        process.wait(60)
        self.assertEqual((process.returncode, out, err.decode()),
                         (code, b"", f"szgpu: standard input: {sentence}\n"))
        self.assertLess(self.fed_bytes, len(head) + MOST_BYTES)

    def test_no_archive(self):
        for arguments in (["-l", "-"], ["-xo", "out", "-"]):
            self.assert_refused_early(arguments, 3, "the data are not an szgpu archive; name a "
                                                    "file that szgpu -z made", b"", b"y\n" * 1000)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_device(self):
        for arguments in (["-l"], ["-xo", "out"]):
            self.assert_refused([*arguments, "/dev/zero"], 3, "/dev/zero: the data are not an "
                                                              "szgpu archive; name a file that "
                                                              "szgpu -z made")

    def test_bytes_after_an_archive(self):
        archive = self.read(self.archive())
        for arguments in (["-l", "-"], ["-xo", "out", "-"]):
            self.assert_refused_early(arguments, 3, TRAILING, archive)

    def test_a_damaged_header(self):
        archive = bytearray(self.read(self.archive()))
        archive[40] ^= 1
        for arguments in (["-l", "-"], ["-xo", "out", "-"]):
            self.assert_refused_early(arguments, 3, DAMAGED, archive)

    def test_more_values_than_the_dims_say(self):
        sentence = "has more than 800 bytes of values, but 10x20 f32 values are 800 bytes; " \
                   "correct -d or -t"
        for head in (b"", wave(10, 20).tobytes()):
            self.assert_refused_early(["-z", *BOUND, "-t", "f32", "-d", "10x20", "-o", "out", "-"],
                                      1, sentence, head)
        self.assert_refused_early(["-zm", "lossless", "-d", "800", "-o", "out", "-"], 1,
                                  "has more than 800 bytes of values, but 800 u8 values are 800 "
                                  "bytes; correct -d or -t", b"")

    def test_an_unknown_type(self):
        self.assert_refused_early(["-z", *BOUND, "-o", "out", "-"], 1, "has an unknown type; give "
                                  "it with -t, as in -t f32", b"")

    def test_an_npy_header(self):
        for options, dims in (([], "10x20"), (["-d", "20x10"], "20x10")):
            self.assert_refused_early(
                ["-z", *BOUND, *options, "-o", "out", "-"], 1, "has more than 800 bytes of values, "
                f"but {dims} f32 values are 800 bytes; write the file again, or correct -d",
                npy(wave(10, 20)))
        self.assert_refused_early(["-z", *BOUND, "-o", "out", "-"], 1, "has a damaged .npy header; "
                                  "write it again with numpy.save",
                                  b"\x93NUMPY\x02\x00\xff\xff\xff\xff", b" " * 4096)

    def test_an_original(self):
        name = self.archive()
        for head in (wave(10, 20).tobytes(), npy(wave(10, 20)), npy(wave(3))):
            self.assert_refused_early(
                ["-xo", "out", "--compare", "-", name], 1, "has more than 800 bytes of f32 values, "
                "but the archive holds 800 bytes of f32 values; name the file that was compressed",
                head)


class InPieces(CliTest):
    """Every byte arrives alone, so each part of a header is cut once."""

    def run_in_pieces(self, arguments, content):
        process = self.start(*arguments, stdin=subprocess.PIPE)
        for i in range(len(content)):
            os.write(process.stdin.fileno(), content[i:i + 1])
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err), (0, b""))
        return out

    def test_an_archive_a_field_and_an_original(self):
        field = wave(10, 20)
        archive = self.run_in_pieces(["-zq", *BOUND, "-t", "f32", "-d", "10x20", "-"],
                                     field.tobytes())
        self.assertEqual(archive, self.read(self.archive()))
        back = self.run_in_pieces(["-xq", "-"], archive)
        self.assert_within(wave(200), np.frombuffer(back, "<f4"), 2.1e-3)
        self.assertIn(b"f32 10x20", self.run_in_pieces(["-l", "-"], archive))
        self.write("a.szg", archive)
        for original in (field.tobytes(), npy(field)):
            self.run_in_pieces(["-xqf", "-o", "out", "--compare", "-", "a.szg"], original)

    def test_npy_files(self):
        for mode in (["-e", "1e-3"], ["-m", "lossless"]):
            for order in "CF":
                content = npy(np.array(wave(10, 20), order=order))
                archive = self.run_in_pieces(["-zq", *mode, "-"], content)
                self.write("a.szg", archive)
                self.succeed("-xqf", "-o", "back.npy", "a.szg")
                self.assert_within(wave(10, 20), np.load(self.path("back.npy")), 2.1e-3)

    def test_bytes_that_begin_like_a_header(self):
        for content in (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", b"\x93NUM", b"\x93NUMPY\x01\x00",
                        npy(wave(10, 20))[:100]):
            archive = self.run_in_pieces(["-zqm", "lossless", "-"], content)
            self.assertEqual(self.run_in_pieces(["-xq", "-"], archive), content)

    def test_an_archive_that_ends_early(self):
        archive = self.read(self.archive())
        for kept in (3, 8, 11, 100, 137, 143, 144, len(archive) - 1):
            result = self.run_szgpu("-l", "-", stdin=archive[:kept])
            self.assertEqual((result.code, result.err), (3, "szgpu: standard input: the archive "
                                                            "is shorter than its header says; "
                                                            "replace it with an intact copy\n"))
