"""cases_outputs.py - impossible outputs, missing memory, several files in one call.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import resource
import stat
import subprocess

import numpy as np

from harness import CliTest


class Outputs(CliTest):
    def test_an_output_that_exists(self):
        name = self.field()
        self.write("out.szg", b"mine")
        for target in ("out.szg", name + ".szg"):
            self.write(target, b"mine")
            self.assert_refused(["-z", "-e", "1e-3", "-o", target, name], 2,
                                f"{target}: already exists; use -f to overwrite")
        self.assert_refused(["-z", "-e", "1e-3", name], 2,
                            f"{name}.szg: already exists; use -f to overwrite")

    def test_a_restored_field_that_exists(self):
        name = self.archive()
        self.assert_refused(["-x", name], 2,
                            "wave_10x20.f32: already exists; use -f to overwrite")

    def test_a_link_to_nothing_gets_its_target(self):
        name = self.field()
        os.symlink("nothing", self.path("out.szg"))
        self.succeed("-zq", "-e", "1e-3", "-o", "out.szg", name)
        self.assertTrue(os.path.islink(self.path("out.szg")))
        self.assertEqual(os.listdir(self.folder).count("nothing"), 1)

    def test_no_output_replaces_another_of_the_same_call(self):
        """The last one was left, and each line said that all was well."""
        self.write("a.f32", bytes(400))
        self.write("b.f32", os.urandom(800))
        for name in ("a", "b"):
            os.symlink("target", self.path(f"{name}.f32.szg"))
        result = self.run_szgpu("-zfq", "-m", "lossless", "a.f32", "b.f32")
        self.assertEqual(result.code, 2)
        self.assertEqual(result.err, "szgpu: b.f32.szg: was written for another input of this call, and "
                         "is not replaced; name one of the outputs with -o in a call of its own\n")
        self.succeed("-xfq", "-o", "back", "a.f32.szg")
        self.assertEqual(self.read("back"), bytes(400))
        os.remove(self.path("a.f32.szg"))
        self.succeed("-zfq", "-m", "lossless", "a.f32", "b.f32")  # two files, replaced or not
        self.succeed("-zfq", "-m", "lossless", "a.f32", "b.f32")

    def test_an_output_that_is_the_input(self):
        name = self.field()
        os.link(self.path(name), self.path("alias"))
        for target in (name, "./" + name, "alias"):
            self.assert_refused(["-zf", "-e", "1e-3", "-o", target, name], 2,
                                f"{target}: is the same file as the input {name}; "
                                "name another output with -o")

    def test_an_output_that_is_the_original_of_compare(self):
        name = self.archive()
        self.assert_refused(["-xf", "--compare", "wave_10x20.f32", name], 2,
                            "wave_10x20.f32: is the same file as the input wave_10x20.f32; "
                            "name another output with -o")

    def test_an_output_that_is_a_folder(self):
        name = self.field()
        os.mkdir(self.path("out"))
        self.assert_refused(["-zf", "-e", "1e-3", "-o", "out", name], 2,
                            "out: is a folder; name a file with -o")

    def test_an_output_in_no_folder(self):
        name = self.field()
        self.assert_refused(["-z", "-e", "1e-3", "-o", "no/out", name], 2, "no/out: cannot be "
                            "written: No such file or directory; check the name")

    def test_a_full_disk(self):
        name = self.field()
        full = "cannot be written: No space left on device; free some space or name another " \
               "folder with -o"
        self.assert_refused(["-zf", "-e", "1e-3", "-o", "/dev/full", name], 2, f"/dev/full: {full}")
        archive = self.archive("b_10x20.f32")
        self.assert_refused(["-xf", "-o", "/dev/full", archive], 2, f"/dev/full: {full}")

    def test_a_full_disk_leaves_no_part_of_a_file(self):
        # A limit on file sizes makes a write fail half-way, like a full disk, for any user.
        self.write("noise.f32", np.random.default_rng(1).normal(size=50000).astype("<f4").tobytes())
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
        self.assert_refused(["-z", "-e", "1e-6", "-d", "50000", "noise.f32"], 2,
                            "noise.f32.szg: cannot be written: File too large; raise the limit on "
                            "file sizes or name another folder with -o", preexec_fn=limit)

    def test_a_full_standard_output(self):
        name = self.field()
        full = "szgpu: standard output: cannot be written: No space left on device; free some " \
               "space or name another folder with -o\n"
        with open("/dev/full", "wb") as device:
            for arguments in (["-z", "-e", "1e-3", "-o", "-", name], ["-z", "-e", "1e-3", name]):
                process = self.start(*arguments, stdout=device)
                _, err = process.communicate(timeout=60)
                self.assertEqual((process.returncode, err.decode()), (2, full))

    def test_a_closed_standard_output_does_not_become_the_output_file(self):
        name = self.field()
        process = self.start("-z", "-e", "1e-3", name, preexec_fn=lambda: os.close(1))
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 2)
        self.assertIn(b"szgpu: standard output: cannot be written", err)
        self.succeed("-x", "-q", "-o", "back", name + ".szg")

    def run_with_little_memory(self, *arguments, stdin):
        """Sets the limit, 16 MB more, once the output's temporary file shows that work begins."""
        # The sanitizer's search for leaks at the end of a run needs memory itself.
        environment = self.environment("allocator_may_return_null=1:detect_leaks=0")
        process = self.start(*arguments, stdin=subprocess.PIPE, env=environment)
        self.wait_for(lambda: any(name.startswith(".out.") for name in os.listdir(self.folder)))
        with open(f"/proc/{process.pid}/statm") as file:
            address_bytes = int(file.read().split()[0]) * resource.getpagesize()
        most = address_bytes + (16 << 20)
        resource.prlimit(process.pid, resource.RLIMIT_AS, (most, most))
        out, err = process.communicate(stdin, timeout=60)
        return process.returncode, out.decode(), err.decode()

    def test_memory_for_an_input_that_is_not_there(self):
        code, out, err = self.run_with_little_memory(
            "-z", "-e", "1e-3", "-t", "f32", "-o", "out", "-", stdin=bytes(64 << 20))
        self.assertEqual((code, out), (5, ""), err)
        self.assertRegex(err, r"\Aszgpu: standard input: out of memory: reading it needs "
                         r"[0-9.]+ MB; free some memory, or let -z and -x work frame by "
                         r"frame: --memory SIZE\n\Z")
        self.assertEqual(os.listdir(self.folder), [])

    def test_memory_for_a_field_that_is_not_there(self):
        self.write("zeros.f32", bytes(64 << 20))
        self.succeed("-z", "-q", "-e", "1e-3", "zeros.f32")
        content = self.read("zeros.f32.szg")
        before = self.snapshot()
        code, out, err = self.run_with_little_memory("-x", "-o", "out", "-", stdin=content)
        self.assertEqual((code, out, err), (5, "", "szgpu: standard input: out of memory: the "
                         "restored field needs 67.11 MB; free some memory, or let -z and -x "
                         "work frame by frame: --memory SIZE\n"))
        self.assertEqual(self.snapshot(), before)


class Modes(CliTest):
    """An output takes the mode of its input: that of a 0600 input was 0644."""

    MODES = (0o600, 0o640, 0o400, 0o644, 0o664, 0o666, 0o755, 0o7777)

    def mode_of(self, name):
        return stat.S_IMODE(os.stat(self.path(name)).st_mode)

    def test_archives_and_fields_take_the_mode_of_what_they_were_made_of(self):
        for mask in (0o022, 0o077, 0):
            for mode in self.MODES:
                name = self.field()
                os.chmod(self.path(name), mode)
                how = {"preexec_fn": lambda: os.umask(mask)}
                self.succeed("-zfq", "-e", "1e-3", name, **how)
                self.assertEqual(self.mode_of(name + ".szg"), mode & 0o777)
                self.succeed("-xfq", "-o", "back.npy", name + ".szg", **how)
                self.assertEqual(self.mode_of("back.npy"), mode & 0o777)
                os.chmod(self.path(name), 0o600)
                for made in (name, name + ".szg", "back.npy"):
                    os.remove(self.path(made))

    def test_each_of_several_files_takes_its_own(self):
        names = [self.field(f"{mode:o}_10x20.f32") for mode in self.MODES]
        for name, mode in zip(names, self.MODES):
            os.chmod(self.path(name), mode)
        self.succeed("-zq", "-e", "1e-3", *names)
        for name, mode in zip(names, self.MODES):
            self.assertEqual(self.mode_of(name + ".szg"), mode & 0o777)

    def test_a_file_that_is_replaced_gets_the_mode_of_the_input(self):
        name = self.field()
        os.chmod(self.path(name), 0o600)
        self.write("out", b"mine")
        os.chmod(self.path("out"), 0o666)
        self.succeed("-zfq", "-e", "1e-3", "-o", "out", name)
        self.assertEqual(self.mode_of("out"), 0o600)

    def test_standard_input(self):
        name = self.field()
        os.chmod(self.path(name), 0o600)
        arguments = ["-zfq", "-e", "1e-3", "-t", "f32", "-o", "out", "-"]
        for mask in (0o022, 0o077):
            how = {"preexec_fn": lambda: os.umask(mask)}
            self.succeed(*arguments, stdin=bytes(800), **how)  # a pipe has no mode to take
            self.assertEqual(self.mode_of("out"), 0o666 & ~mask)
            with open(self.path(name), "rb") as file:
                process = self.start(*arguments, stdin=file, **how)
                process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0)
            self.assertEqual(self.mode_of("out"), 0o600)

    def test_a_device_keeps_its_mode(self):
        name = self.field()
        os.chmod(self.path(name), 0o600)
        os.mkfifo(self.path("fifo"), 0o622)
        before = self.mode_of("fifo")
        process = self.start("-z", "-e", "1e-3", "-o", "fifo", name)
        self.read("fifo")
        process.communicate(timeout=60)
        self.assertEqual((process.returncode, self.mode_of("fifo")), (0, before))

    def test_only_the_owner_may_read_the_temporary_file(self):
        name = self.archive()
        os.chmod(self.path(name), 0o644)
        # Waits for the original with its output open.
        process = self.start("-xq", "-o", "out", "--compare", "-", name, stdin=subprocess.PIPE,
                             preexec_fn=lambda: os.umask(0))
        made = lambda: [file for file in os.listdir(self.folder) if file.startswith(".out.")]
        self.wait_for(made)
        self.assertEqual(self.mode_of(made()[0]), 0o600)
        process.communicate(self.read("wave_10x20.f32"), timeout=60)
        self.assertEqual((process.returncode, self.mode_of("out")), (0, 0o644))

    def require_root(self):
        if os.geteuid() != 0:
            self.skipTest("only root may give files away")

    def test_root_gives_the_output_to_the_owner_of_the_input(self):
        self.require_root()
        name = self.field()
        os.chown(self.path(name), 12345, 23456)
        os.chmod(self.path(name), 0o640)
        self.succeed("-zq", "-e", "1e-3", name)
        made = os.stat(self.path(name + ".szg"))
        self.assertEqual((made.st_uid, made.st_gid, stat.S_IMODE(made.st_mode)),
                         (12345, 23456, 0o640))

    def test_another_group_gets_no_more_rights_than_all_others(self):
        self.require_root()
        os.chmod(self.folder, 0o777)
        name = self.field()
        def become_another_user():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        for mode, wanted in ((0o664, 0o644), (0o674, 0o644), (0o604, 0o604), (0o646, 0o646)):
            os.chmod(self.path(name), mode)
            try:
                self.succeed("-zfq", "-e", "1e-3", name, preexec_fn=become_another_user)
            except PermissionError:
                self.skipTest("another user cannot run this build")
            made = os.stat(self.path(name + ".szg"))
            self.assertEqual((made.st_uid, made.st_gid, stat.S_IMODE(made.st_mode)),
                             (65534, 65534, wanted))


class SeveralFiles(CliTest):
    def test_each_file_has_its_line_and_the_worst_code_is_returned(self):
        self.field("a.f32")
        self.write("b.f32", b"odd")
        self.field("c.f32")
        result = self.run_szgpu("-z", "-e", "1e-3", "-d", "10x20", "a.f32", "missing.f32", "b.f32",
                                "c.f32")
        self.assertEqual(result.code, 2)
        self.assertRegex(result.out, r"\Aa\.f32 -> a\.f32\.szg  [^\n]+\nc\.f32 -> c\.f32\.szg  "
                         r"[^\n]+\n\Z")
        self.assertEqual(result.err, "szgpu: missing.f32: cannot be read: No such file or "
                         "directory; check the name\nszgpu: b.f32: has 3 bytes of values, but "
                         "10x20 f32 values are 800 bytes; correct -d or -t\n")
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["a.f32", "a.f32.szg", "b.f32", "c.f32", "c.f32.szg"])

    def test_a_bad_archive_outranks_a_missing_one(self):
        self.write("bad.szg", bytes(200))
        self.assertEqual(self.run_szgpu("-l", "bad.szg", "missing.szg").code, 3)
        self.assertEqual(self.run_szgpu("-l", "missing.szg", "bad.szg").code, 3)
