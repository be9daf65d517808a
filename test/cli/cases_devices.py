"""cases_devices.py - outputs that are no files: standard output by other names, pipes, devices, links.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import resource
import signal
import stat
import subprocess
import threading

import numpy as np

from harness import CliTest

NAMES = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1",
         "/dev/../dev/fd/1", "link", "link_to_link", "folder/link")
Z = ["-z", "-e", "1e-3"]
X = ["-x"]


class DeviceTest(CliTest):
    def setUp(self):
        super().setUp()
        self.number, self.leads_to = os.lstat("/dev/stdout").st_ino, os.readlink("/dev/stdout")
        self.addCleanup(self.check_stdout)
        os.symlink("/dev/stdout", self.path("link"))
        os.symlink("link", self.path("link_to_link"))
        os.mkdir(self.path("folder"))
        os.symlink("../link_to_link", self.path("folder/link"))
        self.links = self.state()

    def check_stdout(self):
        """A run as root replaced the link by a file."""
        found = os.lstat("/dev/stdout")
        if not stat.S_ISLNK(found.st_mode):
            os.remove("/dev/stdout")
            os.symlink(self.leads_to, "/dev/stdout")
        self.assertEqual(found.st_ino, self.number)

    def state(self):
        """What is a link, a device or a pipe; not the files."""
        kinds = {name: os.lstat(self.path(name)) for name in self.snapshot()}
        return {name: (kind.st_mode, kind.st_ino) for name, kind in kinds.items()
                if not stat.S_ISREG(kind.st_mode)}

    def assert_links_stay(self):
        self.assertEqual(self.state(), self.links)

    def into_file(self, arguments, name, before=b""):
        """stdout is a file, which has something already: a shell's >>, or { } > file."""
        self.write(name, before)
        with open(self.path(name), "ab") as file:
            process = self.start(*arguments, stdout=file)
            _, err = process.communicate(timeout=60)
        return process.returncode, self.read(name), err.decode()

    def into_pipe(self, arguments, **how):
        result = self.run_szgpu(*arguments, binary=True, **how)
        return result.code, result.out, result.err


class StandardOutput(DeviceTest):
    """By any name, it is what `-` is: data alone, and the line on standard error."""

    def commands(self):
        field = self.field()
        archive = self.archive("b_30x40.f64", dims=(30, 40), dtype="<f8")
        self.succeed("-zq", "-e", "1e-3", "--append", "run.szgs", field, field)
        np.save(self.path("n.npy"), np.ones((4, 5), "f4"))
        self.succeed("-zq", "-e", "1e-3", "-o", "n.szg", "n.npy")
        yield from ([*Z, field], [*Z, "-V", field], [*Z, "--json", field], [*Z, "-v", field],
                    [*Z, "--memory", "500M", field], ["-z", "-m", "lossless", field],
                    [*X, archive], [*X, "--json", archive], [*X, "--slab", "3:7", archive],
                    [*X, "--memory", "500M", archive], [*X, "--step", "1", "run.szgs"],
                    [*X, "n.szg"])

    def same(self, name, wanted, got):
        """Times differ."""
        for result in (wanted, got):
            self.assertEqual(result[0], 0, result)
        self.assertEqual(got[1], wanted[1])
        self.assertEqual(got[2].split()[:6], wanted[2].split()[:6], name)

    def names(self, arguments):
        """All of them for some commands; that each name is found does not depend on these."""
        return NAMES if arguments[:3] == Z and len(arguments) == 4 else NAMES[::4]

    def test_a_pipe(self):
        for arguments in self.commands():
            wanted = self.into_pipe([*arguments, "-o", "-"])
            for name in self.names(arguments):
                for force in ([], ["-f"]):
                    with self.subTest(f"{arguments} {name} {force}"):
                        got = self.into_pipe([*arguments, *force, "-o", name])
                        self.same(name, wanted, got)
                        self.assert_links_stay()

    def test_a_file(self):
        for arguments in self.commands():
            wanted = self.into_file([*arguments, "-o", "-"], "wanted", b"head")
            self.assertTrue(wanted[1].startswith(b"head"))
            for name in self.names(arguments):
                for force in ([], ["-f"]):
                    with self.subTest(f"{arguments} {name} {force}"):
                        got = self.into_file([*arguments, *force, "-o", name], "got", b"head")
                        self.same(name, wanted, got)
                        self.assert_links_stay()

    def test_the_descriptor_of_the_process_by_its_number(self):
        name = self.field()
        wanted = self.into_pipe([*Z, "-o", "-", name])
        from harness import szgpu
        for line in (f"exec {szgpu} -z -e 1e-3 -o /proc/$$/fd/1 {name}",
                     f"exec {szgpu} -zf -e 1e-3 -o /proc/$$/task/$$/fd/1 {name}",
                     f"{szgpu} -zf -e 1e-3 -o /proc/$$/fd/1 {name}; true"):  # of the shell
            with open(self.path("got"), "wb") as file:
                done = subprocess.run(["bash", "-c", line], cwd=self.folder, stdout=file,
                                      stderr=subprocess.PIPE, env=self.environment(), check=True)
            self.assertEqual(self.read("got"), wanted[1], line)
            self.assertIn(b"standard output", done.stderr)
            piped = subprocess.run(["bash", "-c", line], cwd=self.folder, capture_output=True,
                                   env=self.environment(), check=True)
            self.assertEqual(piped.stdout, wanted[1], line)

    def test_a_pipe_by_its_name_gets_no_line(self):
        """The line went to standard output, which was the same pipe."""
        name = self.field()
        wanted = self.into_pipe([*Z, "-o", "-", name])[1]
        ours, theirs = os.pipe()
        os.mkfifo(self.path("fifo"))
        for output, out in ((f"/dev/fd/{theirs}", theirs), ("fifo", None)):
            for options in ([], ["--json"], ["-f", "-v"]):
                got = []
                reader = threading.Thread(target=lambda: got.append(self.read("fifo")))
                if out is None:
                    reader.start()
                    stdout = os.open(self.path("fifo"), os.O_WRONLY)
                else:
                    stdout = os.dup(theirs)
                process = self.start(*Z, *options, "-o", output, name, stdout=stdout,
                                     pass_fds=[theirs])
                os.close(stdout)
                _, err = process.communicate(timeout=60)
                if out is None:
                    reader.join()
                else:
                    got.append(os.read(ours, 1 << 16))
                self.assertEqual((process.returncode, got[0]), (0, wanted), err)
                self.assertIn(b"wave_10x20.f32", err)
        os.close(ours)
        os.close(theirs)

    def test_messages_that_go_there_too_are_left_out(self):
        """Of 2>&1 the line was among the data."""
        name = self.archive()
        for arguments in ([*Z, name[:-4]], [*X, name], [*X, "--json", name],
                          ["-z", "-m", "rel", "-e", "0.5", name[:-4]]):  # with a warning
            wanted = self.into_pipe([*arguments, "-q", "-o", "-"])[1]
            for output in ("-", "/dev/stdout", "link"):
                with open(self.path("got"), "wb") as file:
                    process = self.start(*arguments, "-o", output, stdout=file, stderr=file)
                    self.assertEqual(process.wait(60), 0)
                self.assertEqual(self.read("got"), wanted, (arguments, output))

    def test_standard_input(self):
        name = self.field()
        content, archive = self.read(name), self.read(self.archive())
        wanted = self.into_pipe([*Z, "-t", "f32", "-d", "10x20", "-"], stdin=content)
        os.symlink("/proc/self/fd/0", self.path("in"))
        for given in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "in"):
            got = self.into_pipe([*Z, "-t", "f32", "-d", "10x20", given], stdin=content)
            self.same(given, wanted, got)
            self.assertEqual(self.into_pipe([*X, "-q", given], stdin=archive),
                             self.into_pipe([*X, "-q", "-"], stdin=archive))
            self.assertIn("standard input: OK", "".join(
                self.succeed("--test", given, stdin=archive).out))
            self.succeed("-x", "-o", "back.f32", "--compare", given, "-f", name + ".szg",
                         stdin=content)
        self.assert_refused([*Z, "-t", "f32", "-o", "out", "/dev/stdin", "-"], 1, "-o names the "
                            "output of a single file; give the files one by one")
        self.assert_refused([*Z, "-t", "f32", "/dev/stdin", "-"], 1, "- is given more than once; "
                            "standard input can be read only once")

    def test_a_terminal_needs_force(self):
        name = self.field()
        ours, theirs = os.openpty()
        for output in ("-", "/dev/stdout", "link", os.ttyname(theirs)):
            process = self.start(*Z, "-o", output, name, stdout=theirs)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1)
            self.assertIn(b"is a terminal, and the data are binary; use -o FILE", err)
        os.close(ours)
        os.close(theirs)
        self.assert_links_stay()

    def test_failures_leave_links_and_no_files(self):
        self.write("noise.f32", np.random.default_rng(1).normal(size=50000).astype("<f4").tobytes())
        self.write("bad.szg", b"no archive" * 20)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
        for name in NAMES:
            for arguments in ([*Z, "noise.f32"], [*Z, "--memory", "500M", "noise.f32"]):
                with open(self.path("got"), "wb") as file:
                    process = self.start(*arguments, "-f", "-o", name, stdout=file,
                                         preexec_fn=limit)
                    _, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 2)
                self.assertIn(b"File too large", err)
            self.assertEqual(self.into_file([*X, "-f", "-o", name, "bad.szg"], "got"),
                             (3, b"", "szgpu: bad.szg: the data are not an szgpu archive; name a "
                                      "file that szgpu -z made\n"))
            self.assert_links_stay()
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(
            ["bad.szg", "folder", "got", "link", "link_to_link", "noise.f32"]))

    def test_signals_leave_links_and_no_files(self):
        """The command waits for its input, with the output open."""
        os.symlink("target", self.path("dangling"))
        os.mkfifo(self.path("fifo"))
        links = self.state()
        for name in (*NAMES, "dangling", "fifo", "/dev/null"):
            for number in (signal.SIGINT, signal.SIGTERM):
                reader = os.open(self.path("fifo"), os.O_RDONLY | os.O_NONBLOCK)
                with open(self.path("got"), "wb") as file:
                    process = self.start(*Z, "-f", "-t", "f32", "-o", name, "-", stdout=file,
                                         stdin=subprocess.PIPE)
                    process.stdin.write(bytes(1 << 17))  # more than a pipe holds: it is being read
                    process.stdin.flush()
                    process.send_signal(number)
                    process.communicate(timeout=60)
                os.close(reader)
                self.assertEqual(process.returncode, -number)
                self.assertEqual(self.state(), links)
                self.assertEqual([left for left in os.listdir(self.folder)
                                  if left.startswith(".")], [])
        self.assertFalse(os.path.exists(self.path("target")))


class StandardError(DeviceTest):
    def test_it_gets_no_data(self):
        name = self.archive()
        os.symlink("/dev/stderr", self.path("err"))
        for output in ("/dev/stderr", "/dev/fd/2", "/proc/self/fd/2", "err"):
            for force in ([], ["-f"]):
                self.assert_refused([*Z, *force, "-o", output, name[:-4]], 1,
                                    f"{name[:-4]}: -o {output} is for messages, which would mix "
                                    f"with the data; name another output")
                self.assert_refused([*X, *force, "-o", output, name], 1,
                                    f"{name}: -o {output} is for messages, which would mix with "
                                    f"the data; name another output")
            self.assert_refused([*Z, "--append", output, name[:-4]], 1,
                                f"{name[:-4]}: --append {output} is for messages, which would mix "
                                f"with the data; name another output")


class Descriptors(DeviceTest):
    def test_others_are_written_where_they_are(self):
        name = self.field()
        wanted = self.into_pipe([*Z, "-o", "-", name])[1]
        self.write("three", b"")
        for force in ([], ["-f"]):
            with open(self.path("three"), "wb") as file:
                file.write(b"head")
                file.flush()
                number = file.fileno()
                result = self.run_szgpu(*Z, *force, "-o", f"/dev/fd/{number}", name,
                                        pass_fds=[number])
                file.write(b"tail")
            self.assertEqual(result.code, 0, result)
            self.assertEqual(self.read("three"), b"head" + wanted + b"tail")

    def test_one_that_is_not_open(self):
        name = self.field()
        self.assert_refused([*Z, "-f", "-o", "/dev/fd/77", name], 2, "/dev/fd/77: cannot be "
                            "written: Bad file descriptor; check the file and its folder")

    def test_one_of_the_input(self):
        name = self.field()
        with open(self.path(name), "r+b") as file:
            number = file.fileno()
            self.assert_refused([*Z, "-f", "-o", f"/dev/fd/{number}", name], 2, f"/dev/fd/{number}:"
                                f" is the same file as the input {name}; name another output with "
                                "-o", pass_fds=[number])
        before = self.read(name)
        with open(self.path(name), "ab") as file:
            process = self.start(*Z, name, "-o", "-", stdout=file)
            _, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, self.read(name)), (2, before))
        self.assertEqual(err.decode(), f"szgpu: standard output: is the same file as the input "
                         f"{name}; name another output with -o\n")

    def test_files_of_other_processes(self):
        """They have names, which are replaced as ever; one without a name is refused."""
        name = self.field()
        wanted = self.into_pipe([*Z, "-o", "-", name])[1]
        with open(self.path("other"), "wb") as file:
            output = f"/proc/{os.getpid()}/fd/{file.fileno()}"
            self.assert_refused([*Z, "-o", output, name], 2,
                                f"{output}: already exists; use -f to overwrite")
            self.succeed("-zfq", "-e", "1e-3", "-o", output, name)
            self.assertEqual(self.read("other"), wanted)
        with open(self.path("gone"), "wb") as file:
            os.remove(self.path("gone"))
            output = f"/proc/{os.getpid()}/fd/{file.fileno()}"
            self.assert_refused([*Z, "-f", "-o", output, name], 2, f"{output}: is an open file "
                                "without a name of its own; name another output with -o")
        ours, theirs = os.pipe()
        self.succeed("-zq", "-e", "1e-3", "-o", f"/proc/{os.getpid()}/fd/{theirs}", name)
        self.assertEqual(os.read(ours, 1 << 16), wanted)
        os.close(ours)
        os.close(theirs)


class Devices(DeviceTest):
    def test_they_are_written_in_place(self):
        name = self.archive()
        os.symlink("/dev/null", self.path("null"))
        kinds = lambda: [(os.lstat(name).st_mode, os.lstat(name).st_ino, os.lstat(name).st_rdev)
                         for name in ("/dev/null", "/dev/full")]
        before = kinds()
        for output in ("/dev/null", "null"):
            for force in ([], ["-f"]):
                for arguments in ([*Z, name[:-4]], [*X, name]):
                    self.succeed(*arguments, *force, "-o", output)
        os.symlink("/dev/full", self.path("full"))
        for output in ("/dev/full", "full"):
            for force in ([], ["-f"]):
                for arguments in ([*Z, name[:-4]], [*X, name], [*Z, "--memory", "500M", name[:-4]]):
                    self.assert_refused([*arguments, *force, "-o", output], 2, f"{output}: cannot "
                                        "be written: No space left on device; free some space or "
                                        "name another folder with -o")
        self.assertEqual(kinds(), before)
        self.assertTrue(os.path.islink(self.path("null")) and os.path.islink(self.path("full")))

    def test_pipes_and_links_to_them(self):
        name = self.archive()
        os.mkfifo(self.path("fifo"))
        os.symlink("fifo", self.path("to_fifo"))
        before = self.state()
        for output in ("fifo", "to_fifo"):
            for arguments in ([*Z, name[:-4]], [*Z, "--memory", "500M", name[:-4]], [*X, name],
                              [*X, "--memory", "500M", name]):
                wanted = self.into_pipe([*arguments, "-o", "-"])[1]
                for force in ([], ["-f"]):
                    process = self.start(*arguments, *force, "-o", output)
                    got = self.read("fifo")
                    out, err = process.communicate(timeout=60)
                    self.assertEqual((process.returncode, got, err), (0, wanted, b""), out)
                    self.assertEqual(self.state(), before)

    def test_default_names_that_are_devices(self):
        self.archive("a.f32")
        os.remove(self.path("a.f32"))
        os.symlink("/dev/null", self.path("a.f32"))
        before = self.state()
        self.succeed("-x", "-f", "a.f32.szg")
        self.assertEqual(self.state(), before)


class Links(DeviceTest):
    """A link stays, and what it leads to is written, as a shell and cp do."""

    def test_its_target_is_replaced(self):
        name = self.archive()
        os.mkdir(self.path("far"))
        for target in ("far/out", self.path("far/out")):
            os.symlink(target, self.path("to_out"))
            os.symlink("to_out", self.path("to_link"))
            for output in ("to_out", "to_link"):
                for arguments, wanted in (([*Z, name[:-4]], self.read(name)),
                                          ([*X, name], self.read(name[:-4]))):
                    self.write("far/out", b"mine")
                    wanted = self.into_pipe([*arguments, "-o", "-"])[1]
                    before = self.state()
                    self.assert_refused([*arguments, "-o", output], 2,
                                        f"{output}: already exists; use -f to overwrite")
                    self.succeed(*arguments, "-q", "-f", "-o", output)
                    self.assertEqual(self.read("far/out"), wanted)
                    self.assertEqual(self.state(), before)
                    self.assertEqual(os.listdir(self.path("far")), ["out"])
            os.remove(self.path("to_out"))
            os.remove(self.path("to_link"))

    def test_a_target_that_is_not_there_is_made(self):
        name = self.archive()
        os.mkdir(self.path("far"))
        os.symlink("far/new", self.path("to_new"))
        before = self.state()
        self.succeed("-zq", "-e", "1e-3", "-o", "to_new", name[:-4])
        self.assertEqual(self.read("far/new"), self.read(name))
        self.assertEqual(self.state(), before)
        self.assert_refused([*Z, "-o", "to_new", name[:-4]], 2,
                            "to_new: already exists; use -f to overwrite")
        os.remove(self.path("far/new"))
        self.succeed("-zfq", "-e", "1e-3", "-o", "to_new", name[:-4])
        self.assertEqual(self.read("far/new"), self.read(name))
        self.assertEqual(self.state(), before)
        os.symlink("nowhere/new", self.path("to_nowhere"))
        self.assert_refused([*Z, "-f", "-o", "to_nowhere", name[:-4]], 2, "to_nowhere: cannot be "
                            "written: No such file or directory; check the name")

    def test_a_failure_leaves_the_target(self):
        self.write("noise.f32", np.random.default_rng(1).normal(size=50000).astype("<f4").tobytes())
        self.write("out", b"mine")
        os.symlink("out", self.path("to_out"))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
        self.assert_refused([*Z, "-f", "-d", "50000", "-o", "to_out", "noise.f32"], 2, "to_out: "
                            "cannot be written: File too large; raise the limit on file sizes or "
                            "name another folder with -o", preexec_fn=limit)

    def test_a_link_to_the_input(self):
        name = self.field()
        os.symlink(name, self.path("to_input"))
        self.assert_refused([*Z, "-f", "-o", "to_input", name], 2, "to_input: is the same file as "
                            f"the input {name}; name another output with -o")

    def test_links_in_a_circle(self):
        name = self.field()
        os.symlink("b", self.path("a"))
        os.symlink("a", self.path("b"))
        for force in ([], ["-f"]):
            self.assert_refused([*Z, *force, "-o", "a", name], 2, "a: cannot be written: Too many "
                                "levels of symbolic links; check the file and its folder")

    def test_names_that_no_file_can_have(self):
        name = self.field()
        for output, reason in (("", "No such file or directory; check the name"),
                               ("x" * 300, "File name too long; check the file and its folder"),
                               ("x/" * 3000, "File name too long; check the file and its folder")):
            for force in ([], ["-f"]):
                self.assert_refused([*Z, *force, "-o", output, name], 2,
                                    f"{output}: cannot be written: {reason}")


class Series(DeviceTest):
    def test_a_series_is_no_stream(self):
        name = self.field()
        for output in NAMES:
            for force in ([], ["-f"]):
                for start in (b"", b"mine"):
                    self.assertEqual(
                        self.into_file([*Z, *force, "--append", output, name], "got", start),
                        (1, start, f"szgpu: {name}: --append - is not a file; name the series\n"))
                self.assertEqual(self.into_pipe([*Z, *force, "--append", output, name])[:2],
                                 (1, b""))
                self.assert_links_stay()

    def test_devices_and_pipes_are_refused_and_stay(self):
        name = self.field()
        os.mkfifo(self.path("fifo"))
        os.symlink("/dev/null", self.path("null"))
        for output in ("/dev/null", "/dev/full", "fifo", "null"):
            for force in ([], ["-f"]):
                self.assert_refused([*Z, *force, "--append", output, name], 2, f"{output}: is not "
                                                                               f"a file; name an "
                                                                               f"existing series "
                                                                               f"or a new file")

    def test_the_line_is_not_appended_to_the_series(self):
        name = self.field()
        self.succeed("-zq", "-e", "1e-3", "--append", "run.szgs", name)
        for output in ("run.szgs", "./run.szgs"):
            code, _, err = self.into_file([*Z, "--append", output, name], "run.szgs",
                                          self.read("run.szgs"))
            self.assertEqual(code, 0, err)
            self.assertIn("run.szgs step", err)
            self.succeed("--test", "run.szgs")

    def test_a_link_to_a_series(self):
        name = self.field()
        os.mkdir(self.path("far"))
        self.succeed("-zq", "-e", "1e-3", "--append", "far/run.szgs", name)
        os.symlink("far/run.szgs", self.path("run.szgs"))
        before = self.state()
        self.succeed("-zq", "-e", "1e-3", "--append", "run.szgs", name)
        self.assertEqual(self.succeed_json("-l", "far/run.szgs")["step_count"], 2)
        self.assertEqual(self.state(), before)
