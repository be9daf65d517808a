"""cases_faults.py - for every n the n-th call to the system or the allocator fails.

SPDX-License-Identifier: BSD-3-Clause

Each run ends in one sentence, with its exit code, and no output, or with the whole output; ended by
a signal, it leaves its output whole or not there. These tests run if asked for by name, as the test
cli_faults does. SZGPU_TEST_FAULTS names the library of faults.c; by default it is the one that was
built with the command.
"""
import errno
import os
import re
import signal
import subprocess
import tempfile
import time

import numpy as np

import harness
from cases_hdf5 import Hdf5Test
from harness import CliTest, wave

MOST_CALLS = 300
SHORT = 0  # not an error: half of the bytes

# Of each sort: the errors, and the exit codes they may give. 0: the whole output is there.
FILES = {
    "open": {errno.EMFILE: {2}, errno.EACCES: {2}},
    "fstat": {errno.EIO: {0, 2}},  # 0: of standard output, if only to see where a line may go
    "read": {errno.EIO: {2}, errno.EINTR: {0}, SHORT: {0}},
    "write": {errno.ENOSPC: {2}, errno.EIO: {2}, errno.EINTR: {0}, SHORT: {0}},
    "fsync": {errno.ENOSPC: {2}, errno.EIO: {2}, errno.EINVAL: {0}},
    "close": {errno.EIO: {0, 2}},  # 0: of an input
    "rename": {errno.EIO: {2}, errno.EXDEV: {2}},
    "link": {errno.EPERM: {0}, errno.EIO: {0}, errno.EEXIST: {2}},  # then it tries rename
    "fchmod": {errno.EPERM: {0}},
    "fchown": {errno.EPERM: {0}},
    "mmap": {errno.ENOMEM: {0, 5}},  # 0: of an input, which is then read
}
MEMORY = {"malloc": {errno.ENOMEM: {5}}}
MEMORY_OF_LIBC = {"malloc": {errno.ENOMEM: {0, 5}}}  # 0: standard output can do without a buffer
# HDF5 makes calls that it can do without, and has sentences of its own.
LIBRARY = {
    "open": {errno.EMFILE: {2}, errno.EACCES: {2}},
    "pread": {errno.EIO: {2}, SHORT: {0, 2}},
    "fstat": {errno.EIO: {2}},
}


class FaultTest(CliTest):
    NO_MEMORY = "sanitizers have an allocator of their own, which cannot be made to fail"

    def setUp(self):
        super().setUp()
        default = os.path.join(os.path.dirname(harness.szgpu), "test", "libcli_faults.so")
        self.faults = os.environ.get("SZGPU_TEST_FAULTS", default)
        if not os.path.exists(self.faults):
            self.skipTest(f"there is no library of faults, {self.faults}")
        with open(harness.szgpu, "rb") as file:
            self.has_sanitizer = b"__asan_init" in file.read()

    def run_with_fault(self, sort, n, error, caller, arguments, stdin, also=None):
        """Returns whether the fault was met, and the run's result. also: a sort and an errno, with
        which every call of that sort fails in addition."""
        ours, theirs = os.pipe()
        environment = self.environment("allocator_may_return_null=1:verify_asan_link_order=0")
        environment["LD_PRELOAD"] = self.faults
        environment["SZGPU_TEST_FAULT"] = f"{sort}:{n}:{error}:{caller}:{theirs}"
        if also:
            environment["SZGPU_TEST_FAULT"] += f",{also[0]}:0:{also[1]}:own:-1"
        try:
            result = self.run_szgpu(*arguments, stdin=stdin, binary=True, env=environment,
                                    pass_fds=[theirs])
        finally:
            os.close(theirs)
            with open(ours, "rb") as pipe:
                was_met = pipe.read() != b""
        return was_met, result

    def contents(self):
        """By name; every file of the folder, hidden ones too."""
        return {name: self.read(name) for name in os.listdir(self.folder)}

    def fail_each_call(self, sorts, arguments, output=None, caller="own", stdin=b"", must_meet=()):
        """The command makes `output`, or prints. Its file is there before if there is -f."""
        if self.has_sanitizer and sorts in (MEMORY, MEMORY_OF_LIBC):
            self.skipTest(self.NO_MEMORY)
        arguments = [arguments[0] + "q", *arguments[1:]] if output else arguments
        before = self.contents()
        wanted = self.succeed(*arguments, stdin=stdin, binary=True).out
        after = self.contents()
        self.restore(before)
        met_sorts = set()
        for sort, errors in sorts.items():
            if sort == "malloc" and self.has_sanitizer:
                continue
            for error, codes in errors.items():
                for n in range(1, MOST_CALLS):
                    was_met, result = self.run_with_fault(sort, n, error, caller, arguments, stdin)
                    what = f"call {n} of {sort}, errno {error}: {result}"
                    self.assertIn(result.code, codes if was_met else {0}, what)
                    found = self.contents()
                    if result.code == 0:
                        self.assertEqual((result.err, found == after, result.out == wanted),
                                         ("", True, True), what)
                    else:
                        self.assertEqual(found, before, what)
                        self.assertRegex(result.err, r"\Aszgpu: [^\n]+: [^\n]+; [^\n]+\n\Z", what)
                        if result.code == 2 and caller == "own" and error != errno.EEXIST:
                            self.assertIn(os.strerror(error), result.err, what)
                        if result.code == 5:
                            self.assertIn("out of memory", result.err, what)
                    self.restore(before)
                    if not was_met:
                        break
                    met_sorts.add(sort)
                else:
                    self.fail(f"over {MOST_CALLS} calls of {sort}")
        if self.has_sanitizer:
            must_meet = set(must_meet) - {"malloc"}
        self.assertLessEqual(set(must_meet), met_sorts)

    def restore(self, contents):
        for name in os.listdir(self.folder):
            if name not in contents:
                os.remove(self.path(name))
        for name, content in contents.items():
            if not os.path.exists(self.path(name)) or self.read(name) != content:
                self.write(name, content)


class Faults(FaultTest):
    WRITTEN = {"open", "fstat", "write", "fsync", "close", "link", "fchmod", "fchown", "mmap"}

    def big_endian(self):
        np.save(self.path("b.npy"), wave(10, 20).astype(">f4"))
        return "b.npy"

    def test_files_that_are_compressed(self):
        self.field("a_10x20.f32")
        self.fail_each_call(FILES, ["-z", "-e", "1e-3", "a_10x20.f32"], "a_10x20.f32.szg",
                            must_meet=self.WRITTEN)
        self.big_endian()
        self.fail_each_call(FILES, ["-z", "-m", "lossless", "b.npy"], "b.npy.szg")

    def test_files_that_are_replaced(self):
        self.field("a_10x20.f32")
        self.write("out", b"mine")
        self.fail_each_call(FILES, ["-zf", "-e", "1e-3", "-o", "out", "a_10x20.f32"], "out",
                            must_meet=self.WRITTEN - {"link"} | {"rename"})
        name = self.archive("a_10x20.f32")
        self.fail_each_call(FILES, ["-xf", "-o", "out", name], "out",
                            must_meet=self.WRITTEN - {"link"} | {"rename"})

    def test_links_whose_targets_are_replaced(self):
        self.field("a_10x20.f32")
        self.write("target", b"mine")
        with tempfile.TemporaryDirectory() as folder:
            link = os.path.join(folder, "link")
            os.symlink(self.path("target"), link)
            self.fail_each_call({**FILES, **MEMORY}, ["-zf", "-j1", "-b", "cpu", "-e", "1e-3", "-o",
                                                      link, "a_10x20.f32"], "target",
                                must_meet=self.WRITTEN - {"link"} | {"rename", "malloc"})
            self.assertEqual((os.listdir(folder), os.path.islink(link)), (["link"], True))

    def test_files_that_are_restored(self):
        name = self.archive("a_40x20.f32", "--frame", "16", dims=(40, 20))
        original = ["--compare", "a_40x20.f32"]
        for options in ([], ["--slab", "3:17"], original):
            self.fail_each_call(FILES, ["-x", *options, "-o", "out.npy", name], "out.npy",
                                must_meet=self.WRITTEN)

    def test_pipes(self):
        field = wave(10, 20).tobytes()
        read = {"read", "write"}
        self.fail_each_call(FILES, ["-zq", "-e", "1e-3", "-t", "f32", "-"], stdin=field,
                            must_meet=read)
        archive = self.read(self.archive())
        self.fail_each_call(FILES, ["-xq", "-"], stdin=archive, must_meet=read)
        self.fail_each_call(FILES, ["-l", "-"], stdin=archive, must_meet={"read"})

    def test_listings(self):
        name = self.archive()
        self.fail_each_call({**FILES, **MEMORY}, ["-l", name], must_meet={"open", "fstat", "mmap"})

    def test_tests_of_archives_and_folders(self):
        name = self.archive("a_40x20.f32", "--frame", "16", dims=(40, 20))
        for what in (name, "."):
            self.fail_each_call({**FILES, **MEMORY}, ["--test", "-j1", "-b", "cpu", what],
                                must_meet={"open", "fstat", "mmap", "malloc"})
        self.fail_each_call(MEMORY_OF_LIBC, ["--test", "-j1", "-b", "cpu", "."],
                            caller="libc", must_meet={"malloc"})

    def test_sweeps_and_searches_of_a_bound(self):
        self.field("a_10x20.f32")
        how = ["-j1", "-b", "cpu", "a_10x20.f32"]
        self.fail_each_call({**FILES, **MEMORY}, ["--sweep", "1e-2,1e-3", "-q", *how],
                            must_meet={"open", "fstat", "mmap", "malloc"})
        self.fail_each_call({**FILES, **MEMORY}, ["-z", "--target-ratio", "1.5", *how],
                            "a_10x20.f32.szg", must_meet=self.WRITTEN | {"malloc"})

    def test_memory_of_a_compression(self):
        self.field("a_10x20.f32")
        self.big_endian()
        for options in (["-e", "1e-3"], ["-m", "lossless"], ["-e", "1e-3", "--layout", "linear"],
                        ["-m", "lossless", "--layout", "linear"], ["-e", "1e-30", "-m", "abs"],
                        ["-e", "1e-3", "--predictor", "interpolation", "-V"],
                        ["-e", "1", "-m", "abs"], ["-e", "1e-3", "--zstd", "--frame", "4", "-V"]):
            for name in ("a_10x20.f32", "b.npy"):
                self.fail_each_call(MEMORY, ["-z", "-j1", "-b", "cpu", *options, name],
                                    name + ".szg", must_meet={"malloc"})

    def test_memory_of_a_restoration(self):
        self.field("a_30x40x50.f32", dims=(30, 40, 50))
        for options in (["-e", "1e-3"], ["-m", "lossless"], ["-e", "1e-3", "--layout", "linear"],
                        ["-m", "lossless", "--layout", "linear"], ["-e", "1e-30", "-m", "abs"],
                        ["-e", "1e-3", "--zstd", "--frame", "8"], ["-e", "2", "-m", "abs"]):
            self.succeed("-zqf", *options, "-o", "a.szg", "a_30x40x50.f32")
            for part in ([], ["--slab", "3:9"], ["--compare", "a_30x40x50.f32"]):
                self.fail_each_call(MEMORY, ["-x", "-j1", "-b", "cpu", *part, "-o", "out", "a.szg"],
                                    "out", must_meet={"malloc"})
        self.succeed("-zqf", "-e", "1e-3", "--predictor", "interpolation", "-o", "a.szg",
                     "a_30x40x50.f32")
        for part in ([], ["--level", "1"], ["--slab", "3:9"], ["--region", "3:9,:,2"]):
            self.fail_each_call(MEMORY, ["-x", "-j1", "-b", "cpu", *part, "-o", "out", "a.szg"],
                                "out", must_meet={"malloc"})

    def test_file_systems_without_hard_links(self):
        name = self.field("a_10x20.f32")
        self.succeed("-zq", "-e", "1e-3", "-o", "wanted", name)
        # Nor with a rename that leaves names alone.
        for n, error in ((1, errno.EPERM), (0, errno.EINVAL), (0, errno.ENOSYS)):
            was_met, result = self.run_with_fault(
                "link", n, error, "own", ["-zq", "-e", "1e-3", "-o", "out", name], b"")
            self.assertEqual((was_met, result.code, result.err), (True, 0, ""))
            self.assertEqual(self.read("out"), self.read("wanted"))
            os.remove(self.path("out"))
            self.assertEqual(sorted(os.listdir(self.folder)), [name, "wanted"])

    def test_one_of_several_files(self):
        for name in ("a_10x20.f32", "b_10x20.f32", "c_10x20.f32"):
            self.field(name)
        was_met, result = self.run_with_fault(
            "fsync", 2, errno.EIO, "own",
            ["-zq", "-e", "1e-3", "a_10x20.f32", "b_10x20.f32", "c_10x20.f32"], b"")
        self.assertTrue(was_met)
        self.assertEqual((result.code, result.err), (2, "szgpu: b_10x20.f32.szg: cannot be "
                         "written: Input/output error; check the file and its folder\n"))
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["a_10x20.f32", "a_10x20.f32.szg", "b_10x20.f32", "c_10x20.f32",
                          "c_10x20.f32.szg"])


class Appends(FaultTest):
    """An append adds a step, or leaves the series as it was; if even that fails, the next mends it."""

    APPEND = ["-z", "-m", "lossless", "-j1", "-b", "cpu", "--append", "run.szgs", "a_10x20.f32"]
    STEPS = {
        "open": {errno.EMFILE: {2}, errno.EACCES: {2}},
        "fstat": {errno.EIO: {0, 2}},
        "flock": {errno.EIO: {0, 2}, errno.ENOSYS: {0}},  # 0: given back, as closing does, too
        "pread": {errno.EIO: {2}, errno.EINTR: {0}, SHORT: {0}},
        "pwrite": {errno.ENOSPC: {2}, errno.EIO: {2}, errno.EINTR: {0}, SHORT: {0}},
        "fsync": {errno.ENOSPC: {2}, errno.EIO: {2}, errno.EINVAL: {0}},
        "mmap": {errno.ENOMEM: {0, 5}},
    }

    def setUp(self):
        super().setUp()
        self.field("a_10x20.f32")

    def append(self):
        return self.succeed(self.APPEND[0] + "q", *self.APPEND[1:])

    def test_a_step_of_a_series(self):
        self.append()
        self.fail_each_call(self.STEPS, self.APPEND, "run.szgs", must_meet=set(self.STEPS))
        self.fail_each_call(MEMORY, self.APPEND, "run.szgs", must_meet={"malloc"})
        was_met, result = self.run_with_fault("flock", 1, errno.EIO, "own", self.APPEND, b"")
        self.assertEqual((was_met, result.code), (True, 2))

    def test_the_first_step(self):
        new = {sort: dict(errors) for sort, errors in self.STEPS.items()}
        new["open"][errno.EACCES] = {0, 2}  # 0: of a folder that may not be read
        del new["flock"][errno.EIO]  # without the lock, the new file is left: another may have it
        self.fail_each_call(new, self.APPEND, "run.szgs", must_meet=set(self.STEPS))

    def test_steps_that_are_read(self):
        self.append()
        self.append()
        faults = {**FILES, "pread": self.STEPS["pread"]}
        for arguments, output in ((["-x", "--step", "1", "-o", "out.f32", "run.szgs"], "out.f32"),
                                  (["-l", "run.szgs"], None), (["--test", "run.szgs"], None)):
            self.fail_each_call(faults, arguments, output, must_meet={"open", "fstat", "pread"})

    def test_what_cannot_be_cut_off_is_told_and_mended(self):
        self.append()
        before = self.read("run.szgs")
        for n in (2, 3):  # the archive, and the bytes that finish the step
            was_met, result = self.run_with_fault("pwrite", n, errno.ENOSPC, "own", self.APPEND,
                                                  b"", ("ftruncate", errno.EIO))
            self.assertTrue(was_met)
            self.assertEqual(result.err, "szgpu: run.szgs: cannot be written: No space left on "
                             "device; free some space or name a series in another folder\n")
            self.assertEqual(self.read("run.szgs")[:len(before)], before)
            self.assertFalse(self.succeed_json("-l", "run.szgs")["is_finished"])
            self.append()
            self.assertEqual(self.succeed("--test", "run.szgs").out, "run.szgs: OK, 2 of 2 steps\n")
            self.write("run.szgs", before)

    def test_a_kill_before_any_call_to_the_system(self):
        self.append()
        before = self.read("run.szgs")
        self.append()
        after, ends = self.read("run.szgs"), set()
        for sort in ("open", "fstat", "flock", "pread", "pwrite", "fsync", "malloc"):
            for n in range(1, MOST_CALLS):
                self.write("run.szgs", before)
                was_met, _ = self.run_with_fault(sort, n, -signal.SIGKILL, "own", self.APPEND, b"")
                if not was_met:
                    break
                found = self.read("run.szgs")
                ends.add("after" if found == after else "before" if found == before else "part")
                self.assertEqual(found[:len(before)], before)
                self.append()
                steps = self.succeed_json("-l", "run.szgs")
                self.assertEqual((steps["step_count"], steps["is_finished"]),
                                 (3 if found == after else 2, True), f"call {n} of {sort}")
                self.succeed("--test", "run.szgs")
        self.assertEqual(ends, {"after", "before", "part"})


class Signals(FaultTest):
    """Whatever ends the command, an output has its name when it is whole, and not before."""

    ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    SORTS = ("open", "fstat", "mmap", "write", "fchmod", "fsync", "close", "link", "unlink",
             "rename", "malloc")

    def setUp(self):
        super().setUp()
        # A field whose archive takes a few writes' time.
        self.write("a.f32", np.random.default_rng(3).normal(size=100_000).astype("<f4").tobytes())
        self.succeed("-zq", "-m", "lossless", "-o", "a.szg", "a.f32")
        self.inputs = self.contents()
        self.archive_bytes = self.inputs["a.szg"]

    # Arguments, the file that the output must equal, and what fails in addition.
    COMMANDS = ((["-zq", "-m", "lossless", "-o", "out", "a.f32"], "a.szg", None),
                (["-xq", "-o", "out", "a.szg"], "a.f32", None),
                (["-xqf", "-o", "out", "a.szg"], "a.f32", None),
                # An empty file took the name first where there are no hard links.
                (["-xq", "-o", "out", "a.szg"], "a.f32", ("link", errno.EINVAL)))

    def assert_whole_or_absent(self, number, whole, old, what):
        """At most, SIGKILL leaves a temporary file."""
        found = self.contents()
        left = [name for name in found if re.fullmatch(r"\.out\.[a-z0-9]{6}", name)]
        self.assertLessEqual(len(left), number == signal.SIGKILL, what)
        for name in left:
            del found[name]
        out = found.pop("out", None)
        self.assertTrue(out == old or out == whole, what)
        self.assertEqual(found, self.inputs, what)
        return out == whole

    def test_a_signal_before_any_call_to_the_system(self):
        endings = set()
        for arguments, original, also in self.COMMANDS:
            before = dict(self.inputs)
            if "f" in arguments[0]:
                before["out"] = b"mine"
            for number in self.ENDINGS:
                for sort in self.SORTS:
                    for n in range(1, MOST_CALLS):
                        self.restore(before)
                        was_met, result = self.run_with_fault(sort, n, -number, "own", arguments,
                                                              b"", also)
                        what = f"signal {number} at call {n} of {sort}: {result}"
                        if not was_met:
                            self.assertEqual(result.code, 0, what)
                            break
                        # Before main has its handlers, SIGINT ends it all the same.
                        self.assertEqual((result.code, result.err), (-number, ""), what)
                        endings.add((number, self.assert_whole_or_absent(
                            number, self.inputs[original], before.get("out"), what)))
        self.assertEqual(endings, {(number, is_whole) for number in self.ENDINGS
                                   for is_whole in (False, True)})

    def test_signals_at_random_times(self):
        seed = int(os.environ.get("SZGPU_TEST_SEED", "1"))
        random = np.random.default_rng(seed)
        for arguments, original, _ in self.COMMANDS[:2]:
            self.restore(self.inputs)
            started = time.monotonic()
            self.succeed(*arguments)
            seconds = time.monotonic() - started
            for number in self.ENDINGS * 10:
                self.restore(self.inputs)
                # A search for leaks at the end says so if the signal ends it.
                process = self.start(*arguments, env=self.environment("detect_leaks=0"))
                time.sleep(random.uniform(0, 1.2 * seconds))
                process.send_signal(number)
                _, err = process.communicate(timeout=60)
                what = f"seed {seed}: {process.returncode} {err!r}"
                self.assertIn((process.returncode, err), ((-number, b""), (0, b"")), what)
                is_whole = self.assert_whole_or_absent(number, self.inputs[original], None, what)
                self.assertTrue(is_whole or process.returncode != 0, what)


class FullDisks(FaultTest):
    def test_a_file_system_without_space(self):
        field = np.random.default_rng(4).normal(size=100_000).astype("<f4").tobytes()
        self.write("a.f32", field)
        self.succeed("-zq", "-m", "lossless", "a.f32")
        os.mkdir(self.path("disk"))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", "disk"],
                                 cwd=self.folder, capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"a small disk cannot be mounted: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", self.path("disk")], check=True)
        for arguments in (["-z", "-m", "lossless", "-o", "disk/out", "a.f32"],
                          ["-x", "-o", "disk/out", "a.f32.szg"]):
            self.assert_refused(arguments, 2, "disk/out: cannot be written: No space left on "
                                "device; free some space or name another folder with -o")
            self.assertEqual(os.listdir(self.path("disk")), [])


MAKE_WHOLE = """
import h5py, sys, numpy as np
sys.path.insert(0, sys.argv[1])
from harness import wave
with h5py.File('r.h5', 'w') as f:
    f['t'], f['lat2'], f['n'] = wave(60, 200), wave(60, 200), np.arange(5)
    f['t'].attrs['coordinates'] = 'lat2'
    f['t'].attrs['units'] = np.bytes_('K')
    f.create_group('g').attrs['main'] = f['t'].ref
    f['g/same'] = f['t']
"""


class Hdf5Faults(Hdf5Test, FaultTest):
    def test_a_dataset(self):
        self.make_hdf5()
        for name in os.listdir(self.folder):
            if name != "a.h5":
                os.remove(self.path(name))
        for name in ("fields/rho", "attributed"):
            arguments = ["-z", "-j1", "-b", "cpu", "-m", "abs", "-e", "1e-3", "-o", "out",
                         f"a.h5:/{name}"]
            self.fail_each_call({**FILES, **MEMORY}, arguments, "out",
                                must_meet={"malloc", "write"})
            self.fail_each_call(LIBRARY, arguments, "out", caller="any", must_meet=set(LIBRARY))


    def test_a_whole_file(self):
        """A file that lacks an attribute or a dataset, or has a coordinate compressed, is another."""
        self.make(MAKE_WHOLE, "h5py", "python3-h5py")
        bound = ["-m", "abs", "-e", "1e-3"]
        self.succeed("--repack", "-q", *bound, "r.h5", "small.h5")
        memory = {"malloc": {errno.ENOMEM: {0, 5}}}  # 0: the input's first bytes take more than needed
        library = {sort: {error: {0, *codes} for error, codes in errors.items()}
                   for sort, errors in LIBRARY.items()}  # 0: HDF5 looks whether there is a file
        for command in (["--repack", *bound, "r.h5"], ["--repack", "-V", *bound, "r.h5"],
                        ["--unpack", "-V", "small.h5"]):
            with self.subTest(command):
                arguments = ["-f", "-j1", *command, "out"]
                self.fail_each_call({**FILES, **memory}, arguments, "out",
                                    must_meet={"malloc", "open"})
                self.fail_each_call(library, arguments, "out", caller="any", must_meet=set(library))


class FilterFaults(FaultTest):
    """Allocations of the HDF5 filter, in a program that tries again."""

    def test_memory_of_the_filter(self):
        program = os.path.join(os.path.dirname(self.faults), "hdf5", "h5_faults")
        if not os.path.exists(program):
            self.skipTest("this build has no HDF5")
        if self.has_sanitizer:
            self.skipTest(self.NO_MEMORY)
        environment = {**self.environment(), "LD_PRELOAD": self.faults, "SZGPU_H5_THREADS": "1",
                       "HDF5_PLUGIN_PATH": os.environ.get("HDF5_PLUGIN_PATH", os.path.join(
                           os.path.dirname(harness.szgpu), "hdf5", "plugin"))}
        failures = 0
        for n in range(1, MOST_CALLS):
            ours, theirs = os.pipe()
            environment["SZGPU_TEST_FAULT"] = f"malloc:{n}:{errno.ENOMEM}:h5zszgpu:{theirs}"
            run = subprocess.run([program], cwd=self.folder, env=environment, pass_fds=[theirs],
                                 capture_output=True, check=False)
            os.close(theirs)
            with open(ours, "rb") as pipe:
                was_met = pipe.read() != b""
            what = f"allocation {n}: {run.returncode} {run.stderr.decode()[-1500:]}"
            if not was_met:
                self.assertEqual(run.returncode, 0, what)
                break
            if run.returncode == 0:  # it can do without a list of cores
                continue
            self.assertEqual(run.returncode, 3, what)
            if n > 1:  # the first is needed to find the functions of HDF5 that take sentences
                self.assertIn(b"szgpu: chunk: out of memory", run.stderr, what)
            failures += 1
        self.assertGreater(failures, 10)
        self.assertLess(n, MOST_CALLS - 1)
        self.assertLessEqual(n - 1 - failures, 1)
