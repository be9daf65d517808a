"""cases_changes.py - inputs that change, or become shorter, while the command reads them.

SPDX-License-Identifier: BSD-3-Clause

Inputs are mapped. An archive that somebody rewrote once crashed most runs.
"""
import json
import mmap
import os
import time

import numpy as np

from harness import CliTest

LOST = ("szgpu: {}: can no longer be read: it became shorter or its disk failed; run again when "
        "nothing writes to it\n")
TRIES = 20


class TestChanges(CliTest):
    def noise(self, name, byte_count):
        return self.write(name, np.random.default_rng(1).bytes(byte_count))

    def rough_field(self):
        """Of many tiles, none of which is short."""
        values = np.sin(np.arange(1 << 20) * 1e-3) * 100
        values += np.random.default_rng(1).integers(0, 256, 1 << 20)
        return self.write("a.f32", values.astype("<f4").tobytes())

    def wait_for_mappings(self, process, names):
        """False if the process has ended before."""
        while process.poll() is None:
            with open(f"/proc/{process.pid}/maps", "rb") as maps:
                text = maps.read()
            if all(self.path(name).encode() + b"\n" in text for name in names):
                return True
        return False

    def assert_lost(self, lost, mapped, byte_count, *arguments, times=1):
        """Cuts the input `lost` short as soon as the command has mapped its inputs, until `times`
        runs have lost it. A run that is quicker must be right, and not all of them are."""
        content, before = self.read(lost), sorted(os.listdir(self.folder))
        for _ in range(TRIES):
            self.write(lost, content)
            process = self.start(*arguments)
            if self.wait_for_mappings(process, mapped):
                os.truncate(self.path(lost), byte_count)
            out, err = process.communicate(timeout=60)
            self.assertIn(process.returncode, (0, 2), err)
            if process.returncode == 2:
                self.assertEqual(err.decode(), LOST.format(lost))
                self.assertEqual(out, b"")
                self.assertEqual(sorted(os.listdir(self.folder)), before)
                times -= 1
                if times == 0:
                    return
                continue
            self.assertEqual(err, b"")
            os.unlink(self.path("out"))
        self.fail(f"{TRIES} runs were quicker")

    def test_a_field_that_becomes_shorter_is_named_and_no_file_is_left(self):
        """With eight threads: once the second to lose the mapping ended the process unnamed."""
        self.noise("a", 1 << 25)
        self.assert_lost("a", ["a"], 4096, "-zq", "-t", "f32", "-m", "lossless", "-d", "8388608",
                         "-j", "8", "-o", "out", "a", times=10)

    def test_an_archive_that_becomes_shorter_is_named_and_no_file_is_left(self):
        self.noise("a", 1 << 25)
        self.succeed("-zq", "-m", "lossless", "a")
        os.unlink(self.path("a"))
        self.assert_lost("a.szg", ["a.szg"], 4096, "-xq", "-j", "2", "-o", "out", "a.szg")

    def test_of_two_inputs_the_right_one_is_named(self):
        self.noise("a", 1 << 25)
        self.succeed("-zq", "-m", "lossless", "-o", "b", "a")
        command = ["-xq", "-o", "out", "--compare", "a", "b"]
        self.assert_lost("b", ["a", "b"], 4096, *command)
        self.write("b", self.read("a"))
        self.succeed("-zqf", "-m", "lossless", "-o", "b", "a")
        self.assert_lost("a", ["a", "b"], 0, *command)

    def test_a_listed_archive_that_becomes_shorter_is_named(self):
        """The listing fills the pipe, so the run is in the middle of the archive's frames."""
        self.write("a.f32", np.arange(200_000, dtype="<f4").tobytes())
        self.succeed("-zq", "-e", "1e-3", "-d", "20000x10", "--frame", "16", "a.f32")
        process = self.start("-lv", "a.f32.szg")
        time.sleep(0.3)
        os.truncate(self.path("a.f32.szg"), 4096)
        _, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err.decode()), (2, LOST.format("a.f32.szg")))

    def test_an_archive_that_is_rewritten_does_no_harm(self):
        """The tile sizes change at some moment: each a tile's most, though the words are fewer."""
        self.rough_field()
        self.succeed("-zq", "-m", "abs", "-e", "0.1", "--predictor", "lorenzo", "a.f32")
        listing = json.loads(self.succeed("-l", "--json", "a.f32.szg").out)
        sizes = next(section for section in listing["frame_list"][0]["sections"]
                     if section["name"] == "tile sizes")
        place = slice(sizes["offset"], sizes["offset"] + sizes["stored_bytes"])
        command = ["-xqf", "-j", "1", "-b", "cpu", "-o", "out", "a.f32.szg"]
        before = set(os.listdir(self.folder)) | {"out"}
        begin = time.monotonic()
        self.succeed(*command)
        seconds = time.monotonic() - begin
        with open(self.path("a.f32.szg"), "r+b") as file, mmap.mmap(file.fileno(), 0) as archive:
            sound = archive[place]
            for run in range(TRIES):
                archive[place] = sound
                process = self.start(*command)
                if self.wait_for_mappings(process, ["a.f32.szg"]):
                    time.sleep(seconds * run / TRIES)
                    archive[place] = b"\x00\x10" * (len(sound) // 2)
                _, err = process.communicate(timeout=60)
                self.assertIn(process.returncode, (0, 3), err)
                self.assertEqual(err.count(b"\n"), process.returncode and 1)
                self.assertEqual(set(os.listdir(self.folder)) | {"out"}, before)
