"""cases_reports.py - what szgpu prints: lines, listings, JSON, figures, help, the progress bar.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import re
import signal
import subprocess
import time

import numpy as np

from harness import CliTest, wave

NUMBER = r"[0-9.]+(e[+-]?[0-9]+)?"


class Lines(CliTest):
    def test_compressing_prints_one_line(self):
        result = self.succeed("-z", "-e", "1e-3", self.field())
        self.assertEqual(result.err, "")
        self.assertRegex(result.out, rf"\Awave_10x20\.f32 -> wave_10x20\.f32\.szg  ratio {NUMBER}  "
                         rf"800 B -> {NUMBER} k?B  bound {NUMBER}  {NUMBER} GB/s\n\Z")

    def test_verifying_adds_the_figures(self):
        result = self.succeed("-z", "-V", "-e", "1e-3", self.field())
        self.assertRegex(result.out, rf"\A[^\n]+ GB/s  max error/bound {NUMBER}  PSNR "
                         rf"({NUMBER}|inf) dB\n\Z")

    def test_restoring_prints_one_line(self):
        name = self.archive()
        result = self.succeed("-x", "-o", "back", name)
        self.assertEqual(result.err, "")
        self.assertRegex(result.out, rf"\Awave_10x20\.f32\.szg -> back  ratio {NUMBER}  {NUMBER} k?B"
                         rf" -> 800 B  bound {NUMBER}  {NUMBER} GB/s\n\Z")

    def test_quiet_prints_nothing(self):
        name = self.field("a.f32")
        for arguments in (["-zV", name], ["-x", "--compare", name, "-o", "b", "a.f32.szg"],
                          ["-l", "a.f32.szg"]):
            options = ["-e", "1e-3"] if arguments[0] == "-zV" else []
            result = self.succeed("-q", *options, *arguments)
            self.assertEqual((result.out, result.err), ("", ""))

    def test_verbose_prints_a_second_line(self):
        result = self.succeed("-zv", "-e", "1e-3", self.field())
        self.assertRegex(result.out, r"\A[^\n]+\n  f32 10x20, shape from name, rel 0\.001, "
                         r"range [^\n]+\n\Z")

    def test_control_characters_of_a_name_are_not_printed(self):
        self.field("a\nb\033[31m.f32")
        result = self.run_szgpu("-z", "-e", "1e-3", "-d", "3", "a\nb\033[31m.f32")
        self.assertEqual(result.err, "szgpu: a?b?[31m.f32: has 800 bytes of values, but 3 f32 "
                         "values are 12 bytes; correct -d or -t\n")

    # What a name may hold, and what a terminal gets: C1 controls and overrides of the direction of
    # text reached it before, and lone bytes, which 8-bit terminals take as controls.
    NAMES = [
        ("c1\u009b31m.f32", "c1?31m.f32"),
        ("c1\u0080\u009f.f32", "c1??.f32"),
        ("del\x7f.f32", "del?.f32"),
        ("lines\u2028\u2029.f32", "lines??.f32"),
        ("over\u202ezgs\u202c.f32", "over?zgs?.f32"),
        ("every\u202a\u202b\u202c\u202d\u2066\u2067\u2068\u2069.f32", "every????????.f32"),
        (os.fsdecode(b"byte\x9b\xa0\xff.f32"), "byte???.f32"),
        (os.fsdecode(b"cut\xe2\x80.f32"), "cut??.f32"),
        (os.fsdecode(b"long\xc2\x1b.f32"), "long??.f32"),
        ("shown \u00a0\u00e9\u4e2d\U0001f30d\u2027\u2030\u206a.f32",) * 2,
    ]

    def test_what_could_steer_a_terminal_is_not_printed(self):
        for name, shown in self.NAMES:
            result = self.succeed("-z", "-q", "-e", "1e-3", self.field(name, dims=(200,)))
            self.assertEqual((result.out, result.err), ("", ""))
            for line in (self.succeed("-l", name + ".szg").out.splitlines()[0],
                         self.succeed("-xf", "-o", "out", name + ".szg").out.split(" -> ")[0]):
                self.assertEqual(line, shown + ".szg")
            self.assertEqual(self.run_szgpu("-l", name).err, f"szgpu: {shown}: the data are not "
                                                             f"an szgpu archive; name a file that "
                                                             f"szgpu -z made\n")

    def test_json_is_whole_and_holds_no_control_characters(self):
        for name, shown in self.NAMES:
            self.field(name, dims=(200,))
            text = self.run_szgpu("-z", "--json", "-f", "-e", "1e-3", name).out
            self.assertEqual(json.loads(text)["input"], name)
            told = json.loads(self.run_szgpu("-l", "--json", name).out)
            self.assertEqual(told["input"], name)
            if name != shown:
                for character in set(name) - set(shown):
                    self.assertNotIn(character, text)

    def test_an_archive_that_becomes_shorter_is_named_and_no_file_is_left(self):
        name = self.field("c1\u009b31m.f32", dims=(50_000,))
        self.succeed("-z", "-q", "-e", "1e-7", name)
        archive = name + ".szg"
        # Waits for the original with its archive mapped.
        process = self.start("-x", "-o", "out", "--compare", "-", archive, stdin=subprocess.PIPE)
        def is_mapped():
            with open(f"/proc/{process.pid}/maps", "rb") as maps:
                return archive.encode() in maps.read()
        self.wait_for(is_mapped)
        os.truncate(self.path(archive), 0)
        _, err = process.communicate(self.read(name), timeout=60)
        self.assertEqual((process.returncode, err.decode()), (2, "szgpu: c1?31m.f32.szg: can no "
                         "longer be read: it became shorter or its disk failed; run again when "
                         "nothing writes to it\n"))
        self.assertEqual(sorted(os.listdir(self.folder)), [name, archive])

    def test_the_version(self):
        result = self.succeed("--version")
        self.assertRegex(result.out, r"\Aszgpu [0-9]+\.[0-9]+\.[0-9]+\nCUDA: (yes|no)\nHDF5: (yes|no)\n\Z")

    def test_the_help_fits_a_terminal_and_names_every_decoder(self):
        text = self.succeed("--help").out
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertLessEqual(text.count("\n"), 80)
        for decoder in ("auto", "serial", "table", "gap-array", "chunked", "self-sync",
                        "all-offsets", "hierarchical"):
            self.assertRegex(text, rf"\n +{decoder} +[^\n]+\n")
        self.assertEqual(self.succeed("-h").out, text)


class Json(CliTest):
    def test_compressing_tells_numbers(self):
        told = self.succeed_json("-zV", "-e", "1e-3", "--fill", "-9999", self.field())
        self.assertEqual((told["command"], told["input"], told["output"]),
                         ("compress", "wave_10x20.f32", "wave_10x20.f32.szg"))
        self.assertEqual((told["dtype"], told["dims"], told["shape_from"]),
                         ("f32", [10, 20], "name"))
        self.assertEqual((told["mode"], told["bound"]), ("rel", 1e-3))
        self.assertEqual((told["has_fill"], told["fill"], told["fill_bits"]),
                         (True, -9999, "0xc61c3c00"))
        self.assertEqual((told["field_bytes"], told["archive_bytes"]),
                         (800, os.path.getsize(self.path("wave_10x20.f32.szg"))))
        self.assertAlmostEqual(told["ratio"], 800 / told["archive_bytes"])
        self.assertGreater(told["seconds"], 0)
        self.assertAlmostEqual(told["gb_per_s"], 800e-9 / told["seconds"])
        self.assertEqual((told["values_over_bound"], told["exit_code"]), (0, 0))
        self.assertLessEqual(told["max_error_over_bound"], 1)

    def test_compressing_tells_the_predictor(self):
        for options, predictor in (([], "auto"), (["--predictor", "lorenzo"], "lorenzo")):
            told = self.succeed_json("-zf", "-e", "1e-3", *options, self.field())
            self.assertEqual(told["predictor"], predictor)

    def test_the_figures_are_those_of_numpy(self):
        original = np.random.default_rng(2).normal(size=(40, 50)).astype("<f4")
        self.write("n_40x50.f32", original.tobytes())
        self.succeed("-z", "-q", "-e", "1e-2", "n_40x50.f32")
        told = self.succeed_json("-x", "-o", "back", "--compare", "n_40x50.f32", "n_40x50.f32.szg")
        restored = np.frombuffer(self.read("back"), "<f4").reshape(40, 50)
        error = np.abs(original.astype("f8") - restored.astype("f8"))
        value_range = float(original.max()) - float(original.min())
        self.assertEqual(told["max_error"], error.max())
        self.assertAlmostEqual(told["max_error_over_bound"], error.max() / told["absolute_bound"])
        if error.max() > 0:
            self.assertAlmostEqual(told["psnr"], 20 * np.log10(value_range) -
                                   10 * np.log10((error ** 2).mean()), 6)
        self.assertAlmostEqual(told["absolute_bound"], 1e-2 * value_range)

    def test_restoring_tells_numbers(self):
        name = self.archive()
        told = self.succeed_json("-x", "-o", "back", "--slab", "2:5", name)
        self.assertEqual((told["command"], told["output"], told["first_row"], told["row_count"],
                          told["restored_bytes"]), ("restore", "back", 2, 3, 240))

    def test_every_file_has_an_object(self):
        self.field("a.f32"), self.write("b.f32", b"odd")
        result = self.run_szgpu("-zq", "-e", "1", "--json", "b.f32")
        self.assertEqual((result.code, result.out), (1, ""))
        result = self.run_szgpu("-z", "-e", "1", "--json", "a.f32", "b.f32")
        first, second = map(json.loads, result.out.splitlines())
        self.assertEqual((first["input"], first["exit_code"]), ("a.f32", 0))
        self.assertEqual(second, {
            "command": "compress", "input": "b.f32", "exit_code": 1,
            "error": "has 3 bytes, which is not a whole number of f32 values; correct the file or -t"})

    def test_numbers_that_json_has_not_are_null(self):
        self.write("c.f32", np.full(100, 7, "<f4").tobytes())
        told = self.succeed_json("-zV", "-e", "1e-3", "-d", "100", "c.f32")
        self.assertEqual((told["max_error"], told["max_error_over_bound"], told["psnr"]),
                         (0, 0, None))
        self.write("n.f32", np.full(100, np.nan, "<f4").tobytes())
        self.succeed_json("-zV", "-e", "1e-3", "-d", "100", "n.f32")


class Listings(CliTest):
    def test_a_listing_names_the_field_the_bound_and_the_sections(self):
        out = self.succeed("-l", self.archive("wave_10x20.f32", "--predictor", "lorenzo")).out
        self.assertRegex(out, r"\Awave_10x20\.f32\.szg\n  field    f32 10x20\n  size     800 B -> "
                         r"[^\n]+, ratio [0-9.]+\n  bound    rel 0\.001, absolute [^\n]+\n")
        self.assertRegex(out, r"\n  limits   -0\.9998\d+ to 1\.000\d+\n  format   version 9, tile "
                         r"layout, 1 frame of [0-9]+ rows\n")
        self.assertRegex(out, r"\n  frame 0: rows 0:10, [^\n]+ bytes\n    [^\n]+ of +[0-9]+ bytes at "
                         r"[0-9]+\n")

    def test_a_listing_tells_the_limits(self):
        """Rain: restored values are not below 0, and both limits are the field's own."""
        field = np.maximum(np.sin(np.arange(20000) / 40), 0).astype("<f4")
        self.write("rain.f32", field.tobytes())
        self.succeed("-zq", "-e", "1e-2", "-d", "20000", "rain.f32")
        told, out = self.succeed_json("-l", "rain.f32.szg"), self.succeed("-l", "rain.f32.szg").out
        self.assertEqual((told["has_limits"], told["least"], told["greatest"]),
                         (True, 0, float(field.max())))
        self.assertIn(f"\n  limits   0 to {field.max():g}\n", out)
        self.succeed("-xq", "-o", "back", "rain.f32.szg")
        restored = np.frombuffer(self.read("back"), "<f4")
        self.assertEqual((restored.min(), restored.max() <= field.max()), (0, True))
        self.assertFalse(np.signbit(restored).any())
        for options in (("-m", "abs", "-e", "1e-2"), ("-m", "pwrel", "-e", "1e-2"),
                        ("-m", "lossless")):
            with self.subTest(options):
                self.succeed("-zqf", *options, "-d", "20000", "rain.f32")
                told = self.succeed_json("-l", "rain.f32.szg")
                self.assertEqual((told["has_limits"], "least" in told), (False, False))
                self.assertNotIn("limits", self.succeed("-l", "rain.f32.szg").out)

    def test_a_listing_tells_joined_axes(self):
        """A line that is stored as pairs of pairs."""
        steps = np.random.default_rng(3).normal(0, 1, 16384)
        self.write("line_4096x2x2.f32", steps.cumsum().astype("<f4").tobytes())
        for predictor, joined in (("auto", [16384]), ("lorenzo", None)):
            self.succeed("-zqf", "-m", "abs", "-e", "0.1", "--predictor", predictor,
                         "line_4096x2x2.f32")
            told = self.succeed_json("-l", "line_4096x2x2.f32.szg")
            self.assertEqual((told["dims"], told.get("joined_dims")), ([4096, 2, 2], joined))
            out = self.succeed("-l", "line_4096x2x2.f32.szg").out
            self.assertEqual("\n  joined   as 16384\n" in out, joined is not None)
            self.succeed("-xqf", "-o", "line.npy", "line_4096x2x2.f32.szg")
            self.succeed("-xqf", "--region", "7:9,1,0:2", "-o", "part.npy", "line_4096x2x2.f32.szg")
            line, part = np.load(self.path("line.npy")), np.load(self.path("part.npy"))
            self.assertEqual(part.ravel().tolist(), line[7:9, 1].ravel().tolist())

    def test_a_listing_tells_the_layout(self):
        told = {}
        for layout, version in (("tile", 2), ("linear", 1)):
            name = self.archive(f"{layout}_1100x300.f32", "-m", "abs", "--layout", layout,
                                "--predictor", "lorenzo", dims=(1100, 300))
            out = self.succeed("-l", name).out
            self.assertIn(f"\n  format   version {version}, {layout} layout, 1 frame of", out)
            self.assertIn(f"\n  frame 0: rows 0:1100, {layout} along ", out)
            told[layout] = self.succeed_json("-l", name)
            self.assertEqual((told[layout]["layout"], told[layout]["format_version"]),
                             (layout, version))
        tile, linear = (told[layout]["frame_list"][0] for layout in ("tile", "linear"))
        self.assertEqual((tile["kind"], tile["radius"], tile["lattice_bits"], len(tile["sections"])),
                         ("tile", 0, 16, 8))
        self.assertIn(tile["zero_groups"], (0, 4, 8))
        self.assertEqual((linear["kind"], linear["lattice_bits"], linear["zero_groups"]),
                         ("linear", 0, 0))
        self.assertGreater(linear["radius"], 0)

    def test_a_listing_tells_the_predictor(self):
        name = self.archive("a_130x200.f32", "-m", "abs", "--predictor", "interpolation",
                            dims=(130, 200))
        out, told = self.succeed("-l", name).out, self.succeed_json("-l", name)
        frame, = told["frame_list"]
        self.assertEqual((told["format_version"], frame["kind"], frame["predictor"],
                          frame["interpolated_axes"], frame["axes"], frame["fold"]),
                         (9, "levels", "interpolation", 2, "yx", 0))
        self.assertRegex(frame["stencil"], "^(blended )?(linear|cubic|quintic)$")
        count = frame["level_count"]
        self.assertIn(f"\n  frame 0: rows 0:130, levels, {frame['stencil']} interpolation along 2 "
                      f"axes, {count} levels and a base along yx, lattice of "
                      f"{frame['lattice_bits']} bits, ", out)
        self.assertEqual([section["name"] for section in frame["sections"]],
                         ["base"] + [f"level {level}" for level in reversed(range(count))])
        name = self.archive("b_130x200.f32", "--predictor", "lorenzo", dims=(130, 200))
        frame, = self.succeed_json("-l", name)["frame_list"]
        self.assertEqual((frame["kind"], frame["predictor"], frame["stencil"],
                          frame["level_count"]), ("tile", "differences", "", 0))

    def test_many_frames_are_counted_and_v_shows_them(self):
        name = self.archive("a_128x64.f32", "--frame", "1", dims=(128, 64))
        count = self.succeed_json("-l", name)["frames"]
        short, long = self.succeed("-l", name).out, self.succeed("-lv", name).out
        self.assertEqual(long.count("\n  frame "), count)
        if count > 4:
            self.assertEqual(short.count("\n  frame "), 3)
            self.assertTrue(short.endswith(f"\n  and {count - 3} more frames; -v shows them\n"))

    def seconds_to_list(self, frames):
        """The best of three."""
        name = self.field(f"boxes_{frames}.f32", dims=(1,))
        self.write(name, bytes(32 * frames))
        self.succeed("-z", "-q", "-f", "-e", "1", "-m", "abs", "-d", f"{frames}x2x2x2",
                     "--frame", "1", name)
        times = []
        for _ in range(3):
            begin = time.monotonic()
            self.succeed("-l", "-q", f"{name}.szg")
            times.append(time.monotonic() - begin)
        return min(times)

    def test_eight_times_as_many_frames_take_about_eight_times_as_long(self):
        # They took 64 times as long when every 64 frames the whole header was checked again.
        few, many = self.seconds_to_list(25_000), self.seconds_to_list(200_000)
        self.assertLess(many, 25 * few, f"{few} and {many} s")

    def test_json_has_every_section(self):
        name = self.archive("a_128x64.f32", "--frame", "1", "--zstd", dims=(128, 64))
        told = self.succeed_json("-l", name)
        self.assertEqual(told["archive_bytes"], os.path.getsize(self.path(name)))
        self.assertEqual(len(told["frame_list"]), told["frames"])
        self.assertEqual(sum(frame["row_count"] for frame in told["frame_list"]), 128)
        for frame in told["frame_list"]:
            self.assertEqual(set(frame), {"kind", "predictor", "axes", "radius", "planes",
                                          "lattice_bits", "zero_groups", "stencil",
                                          "interpolated_axes", "level_count", "fold", "first_row",
                                          "row_count", "frame_bytes", "sections"})
            for section in frame["sections"]:
                self.assertIn(section["codec"], ("stored", "zstd"))
                self.assertLessEqual(section["offset"] + section["stored_bytes"],
                                     told["archive_bytes"])

    def test_a_listing_of_standard_input(self):
        content = self.read(self.archive())
        self.assertTrue(self.succeed("-l", "-", stdin=content).out.startswith("standard input\n"))

    def test_the_source_is_told(self):
        np.save(self.path("a.npy"), np.asfortranarray(wave(4, 5, dtype=">f8")))
        self.succeed("-z", "-e", "1e-3", "a.npy")
        self.assertIn("\n  field    f64 5x4, from .npy in Fortran order, big-endian\n",
                      self.succeed("-l", "a.npy.szg").out)


class Compare(CliTest):
    def test_another_field_is_over_the_bound(self):
        name = self.archive()
        other = wave(10, 20)
        other[2, 3] += 1
        self.write("other.f32", other.tobytes())
        result = self.run_szgpu("-x", "-o", "back", "--compare", "other.f32", name)
        self.assertEqual(result.code, 4)
        self.assertRegex(result.err, r"\Aszgpu: wave_10x20\.f32\.szg: differs from other\.f32 by "
                         rf"more than the bound in 1 of 200 values, by up to {NUMBER} times the "
                         r"bound; check that it is the original\n\Z")
        self.assertEqual(len(self.read("back")), 800)

    def test_a_slab_is_compared_with_its_rows_only(self):
        name = self.archive()
        other = wave(10, 20)
        other[2, 3] = np.nan
        self.write("other.f32", other.tobytes())
        for rows, code in (("0:2", 0), ("2:3", 4), ("3:10", 0)):
            result = self.run_szgpu("-xfq", "-o", "b", "--slab", rows, "--compare", "other.f32", name)
            self.assertEqual(result.code, code)

    def test_json_has_one_object_for_a_field_over_the_bound(self):
        name = self.archive()
        self.write("other.f32", bytes(800))
        result = self.run_szgpu("-x", "--json", "-o", "b", "--compare", "other.f32", name)
        told = json.loads(result.out)
        self.assertEqual((result.code, told["exit_code"]), (4, 4))
        self.assertGreater(told["values_over_bound"], 100)

    def test_a_file_of_another_size_is_not_the_original(self):
        name = self.archive()
        self.write("other.f32", bytes(804))
        self.assert_refused(["-x", "-o", "b", "--compare", "other.f32", name], 1,
                            "other.f32: has 804 bytes of f32 values, but the archive holds 800 "
                            "bytes of f32 values; name the file that was compressed")

    def test_an_array_in_another_order_is_not_the_original(self):
        name = self.archive()
        np.save(self.path("other.npy"), np.asfortranarray(wave(10, 20)))
        self.assert_refused(["-x", "-o", "b", "--compare", "other.npy", name], 1,
                            "other.npy: is not in the archive's order (C or Fortran); name the "
                            "file that was compressed")


class Progress(CliTest):
    def on_a_terminal(self, *arguments, meanwhile=lambda process: None):
        """What standard error shows on a terminal, and the exit code."""
        ours, theirs = os.openpty()
        process = self.start(*arguments, stderr=theirs, stdout=subprocess.DEVNULL)
        os.close(theirs)
        meanwhile(process)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # EIO: the other end is closed
                break
            if not piece:
                break
            shown += piece
        os.close(ours)
        return process.wait(timeout=60), shown.decode()

    def test_short_work_has_no_bar(self):
        self.assertEqual(self.on_a_terminal("-z", "-e", "1e-3", self.field()), (0, ""))

    def pause(self, process):
        self.wait_for(lambda: process.poll() is not None or
                      any(name.startswith(".out.") for name in os.listdir(self.folder)))
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.2)
        process.send_signal(signal.SIGCONT)

    def test_work_of_over_a_second_has_a_bar_that_is_erased(self):
        # The work takes some tenths of a second and is stopped in the middle for longer than the
        # bar waits. If the stop misses the middle, or comes before the pace is known, the test tries
        # again.
        noise = np.random.default_rng(3).normal(size=8_000_000).astype("<f4")
        self.write("noise.f32", noise.tobytes())
        self.succeed("-zq", "-e", "1e-4", "--layout", "linear", "-d", "8000000", "noise.f32")
        arguments = ["-xf", "-o", "out", "--decoder=serial", "-j1", "noise.f32.szg"]
        pace = r"([0-9.]+ [kMG]?B/s  [0-9]+:[0-9]{2} left  )"
        for _ in range(8):
            code, shown = self.on_a_terminal(*arguments, meanwhile=self.pause)
            self.assertEqual(code, 0)
            if re.search(pace, shown):
                break
        self.assertRegex(shown, rf"\A(\rrestoring \[=* *\] +[0-9]+ %  {pace}?noise\.f32\.szg"
                         r"\033\[K)+\r\033\[K\Z")
        self.assertRegex(shown, pace)
        for quiet in ("-q", "--json", "--progress=none"):
            self.assertEqual(self.on_a_terminal(*arguments, quiet, meanwhile=self.pause), (0, ""))

    def events_and_objects(self, result):
        """Lines that say how far the work is, and the other lines."""
        lines = [json.loads(line, parse_constant=self.fail) for line in result.out.splitlines()]
        events = [line for line in lines if "event" in line]
        return events, [line for line in lines if "event" not in line]

    def check_events(self, events, command, work, file, byte_count):
        done = [event["done_bytes"] for event in events]
        self.assertEqual(done, sorted(done))
        self.assertEqual((done[0], done[-1]), (0, byte_count))
        self.assertEqual(done.count(byte_count), 1)
        seconds = [event["seconds"] for event in events]
        self.assertEqual(seconds, sorted(seconds))
        for event in events:
            self.assertEqual(list(event), ["command", "input", "event", "work", "done_bytes",
                                           "total_bytes", "seconds", "gb_per_s", "seconds_left"])
            self.assertEqual([event[key] for key in ("command", "input", "event", "work",
                                                     "total_bytes")],
                             [command, file, "progress", work, byte_count])
        self.assertIsNone(events[0]["gb_per_s"])
        self.assertEqual(events[-1]["seconds_left"], 0)

    def test_lines_of_json(self):
        name, byte_count = self.field("a_64x50x60.f32", (64, 50, 60)), 4 * 64 * 50 * 60
        archive = name + ".szg"
        compress = ["-zf", "-e", "1e-3", "--frame", "16", name]
        restore = ["-xf", "-o", "back", archive]
        for arguments, command, work, file in (
                (compress, "compress", "compressing", name),
                ([*compress, "--memory", "64M"], "compress", "compressing", name),
                (restore, "restore", "restoring", archive),
                ([*restore, "--memory", "64M"], "restore", "restoring", archive),
                (["--test", archive], "test", "testing", archive)):
            with self.subTest(arguments):
                plain = self.succeed_json(*arguments)
                result = self.succeed("--json", "--progress=json", *arguments)
                events, objects = self.events_and_objects(result)
                self.check_events(events, command, work, file, byte_count)
                self.assertEqual(len(objects), 1)
                timed = ("seconds", "gb_per_s")
                self.assertEqual({key: plain[key] for key in plain if key not in timed},
                                 {key: objects[0][key] for key in objects[0] if key not in timed})
                self.assertEqual("event" in result.out.splitlines()[-1], False)
                self.assertEqual(self.succeed("-q", "--json", "--progress=json", *arguments).out,
                                 "")

    def test_lines_of_json_for_every_pass_and_file(self):
        names = [self.field(f"{letter}_64x50x60.f32", (64, 50, 60)) for letter in "ab"]
        events, objects = self.events_and_objects(self.succeed(
            "-zV", "-e", "1e-3", "--json", "--progress", "json", *names))
        self.assertEqual(len(objects), 2)
        for name in names:
            for work in ("compressing", "verifying"):
                own = [event for event in events if (event["input"], event["work"]) == (name, work)]
                self.check_events(own, "compress", work, name, 4 * 64 * 50 * 60)

    def test_a_slab_counts_its_own_bytes(self):
        archive = self.archive("a_64x50x60.f32", dims=(64, 50, 60))
        events, _ = self.events_and_objects(self.succeed(
            "-x", "-o", "b", "--slab", "3:13", "--json", "--progress=json", archive))
        self.check_events(events, "restore", "restoring", archive, 4 * 10 * 50 * 60)

    def test_work_that_fails_is_never_complete(self):
        # A test takes parts of 16 MiB, of which the last is damaged.
        archive = self.archive("a_64x256x512.f32", "--frame", "16", dims=(64, 256, 512))
        content = bytearray(self.read(archive))
        content[-1] ^= 1
        self.write(archive, bytes(content))
        result = self.run_szgpu("--test", "--json", "--progress=json", archive)
        events, objects = self.events_and_objects(result)
        self.assertEqual((result.code, len(objects)), (3, 1), result)
        self.assertEqual(events[0]["done_bytes"], 0)
        for event in events:
            self.assertLess(event["done_bytes"], event["total_bytes"])

    def test_what_it_cannot_be(self):
        name = self.field()
        compress = ["-z", "-e", "1e-3", name]
        self.assert_refused(["--progress", "jsn", *compress], 1,
                            f"{name}: --progress jsn is not known (did you mean json?); choose "
                            "from auto json none")
        self.assert_refused(["--progress", "json", *compress], 1,
                            f"{name}: --progress json is for --json; add it")
        self.assert_refused(["-l", "--progress", "none", name], 1,
                            f"{name}: --progress cannot be used with -l; leave it out")
