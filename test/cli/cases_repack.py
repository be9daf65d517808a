"""cases_repack.py - szgpu --repack and -l of HDF5 files: sentences, exit codes, what is left behind.

SPDX-License-Identifier: BSD-3-Clause

cases_repack.py in test/hdf5 looks at the files that it makes.
"""
import fcntl
import os
import resource
import signal

import cases_json
from cases_hdf5 import Hdf5Test

ABS = ["-m", "abs", "-e", "0.01"]

MAKE = """
import h5py, sys, numpy as np
sys.path.insert(0, sys.argv[1])
from harness import wave
with h5py.File('a.h5', 'w') as f:
    f['t'], f['u'] = wave(60, 200), wave(70, 300, dtype='f8')
    f['count'], f['g/t'] = np.arange(20000).reshape(100, 200), wave(60, 200)
    f['x'] = np.linspace(0, 1, 9000)
    f['t'].attrs['units'] = f['u'].attrs['units'] = 'K'
    f['u'].attrs['valid_range'] = [-5.0, 5.0]
    f['strange'] = wave(60, 200)
    f['strange'].attrs['_FillValue'] = np.arange(70.0)
with h5py.File('odd.h5', 'w') as f:
    f['t'] = wave(60, 200)
    d = f.create_dataset('unknown', (100, 100), 'f4', chunks=(100, 100), compression=32767,
                         compression_opts=(1,), allow_unknown_filter=True)
    d.id.write_direct_chunk((0, 0), bytes(40000), 0)
    f.create_dataset('damaged', data=wave(100, 100), chunks=(50, 100), compression=1)
    f.create_dataset('short', data=wave(100, 100), chunks=(100, 100), compression=1)
    f['short'].id.write_direct_chunk((0, 0), bytes(100), 1)
    f.create_dataset('long', data=wave(100, 100), chunks=(100, 100), compression=1)
    f['long'].id.write_direct_chunk((0, 0), bytes(60000), 1)
    place = f['damaged'].id.get_chunk_info(1).byte_offset
with open('odd.h5', 'r+b') as file:
    file.seek(place + 100)
    file.write(bytes(500))
with h5py.File('large.h5', 'w') as f:
    f.create_dataset('a', data=np.sin(np.arange(1 << 24)).reshape(1 << 12, 1 << 12).astype('f4'))
"""


class Repack(Hdf5Test):
    def setUp(self):
        super().setUp()
        self.make(MAKE, "h5py", "python3-h5py")

    def refused(self, sentence, *arguments, code=1, **how):
        before = sorted(os.listdir(self.folder))
        with self.subTest(arguments):
            self.assert_refused(["--repack", *arguments], code, sentence, **how)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def repack(self, *arguments):
        return self.succeed("--repack", *arguments).out

    def test_two_files_are_named(self):
        two = "--repack takes two files; give it as in --repack -m abs -e 0.01 IN.nc OUT.nc"
        self.refused(two, *ABS)
        self.refused(f"a.h5: {two}", *ABS, "a.h5")
        self.refused(two, *ABS, "a.h5", "b.h5", "c.h5")
        self.refused(f"{two}", *ABS, "-o", "c.h5", "a.h5", "b.h5")
        self.refused("standard input: - cannot be used with --repack; name files", *ABS, "-", "b.h5")
        self.refused("a.h5: - cannot be used with --repack; name files", *ABS, "a.h5", "-")
        self.repack(*ABS, "a.h5", "b.h5")
        self.repack(*ABS, "-o", "c.h5", "a.h5")

    def test_other_files(self):
        with open(self.path("text"), "w") as file:
            file.write("hello\n")
        self.write("empty", b"")
        self.write("cut.h5", self.read("a.h5")[:5000])
        os.mkdir(self.path("folder"))
        self.refused("text: is not a file of HDF5 or netCDF; use szgpu -z for other files", *ABS,
                     "text", "b.h5")
        self.refused("empty: is empty, not a file of HDF5 or netCDF; check the name", *ABS,
                     "empty", "b.h5")
        size = os.path.getsize(self.path("a.h5"))
        self.refused("cut.h5: cannot be read (HDF5 says: truncated file: eof = 5000, "
                     f"sblock->base_addr = 0, stored_eof = {size}); check it with h5ls -r", *ABS,
                     "cut.h5", "b.h5", code=2)
        self.refused("folder: is a folder; name the files in it", *ABS, "folder", "b.h5", code=2)
        self.refused("gone.h5: cannot be read: No such file or directory; check the name", *ABS,
                     "gone.h5", "b.h5", code=2)
        os.mkfifo(self.path("pipe"))
        keep_open = os.open(self.path("pipe"), os.O_RDWR)
        self.refused("pipe: is not a file, which HDF5 needs; save it as one first", *ABS, "pipe",
                     "b.h5")
        os.close(keep_open)

    def test_a_file_that_another_program_writes_to(self):
        with open(self.path("a.h5"), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.refused("a.h5: is locked: another program writes to it; wait until that has ended",
                         *ABS, "a.h5", "b.h5", code=2)

    def test_outputs(self):
        self.write("there.h5", b"there")
        os.link(self.path("a.h5"), self.path("same.h5"))
        os.symlink("a.h5", self.path("link.h5"))
        self.refused("there.h5: already exists; use -f to overwrite", *ABS, "a.h5", "there.h5",
                     code=2)
        for name in ("a.h5", "same.h5", "link.h5"):
            self.refused(f"{name}: is the same file as the input a.h5; name another output with -o",
                         *ABS, "-f", "a.h5", name, code=2)
        self.refused("away/b.h5: cannot be written: No such file or directory; check the name", *ABS,
                     "a.h5", "away/b.h5", code=2)
        self.refused("/dev/null: is not a file, which HDF5 needs; name a file", *ABS, "a.h5",
                     "/dev/null")
        self.repack(*ABS, "-f", "a.h5", "there.h5")
        self.assertTrue(self.read("there.h5").startswith(b"\x89HDF"))

    def test_no_space_is_left(self):
        size = os.path.getsize(self.path("a.h5"))
        for limit in (1024, 8192, 60000, 150000, size // 2):
            before = sorted(os.listdir(self.folder))
            result = self.run_szgpu(
                "--repack", *ABS, "a.h5", "b.h5", preexec_fn=lambda: resource.setrlimit(
                    resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertEqual((result.code, result.err),
                             (2, "szgpu: b.h5: cannot be written: File too large; raise the limit on "
                              "file sizes or name another folder with -o\n"), limit)
            self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_a_signal_leaves_nothing(self):
        before = sorted(os.listdir(self.folder))
        for _ in range(50):
            process = self.start("--repack", *ABS, "large.h5", "b.h5")
            self.wait_for(lambda: sorted(os.listdir(self.folder)) != before)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            if process.returncode != 0:
                break
            os.remove(self.path("b.h5"))  # the signal came too late
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_bounds_are_needed(self):
        none = "a.h5: no bound was given; give one, as in -e 1e-4"
        self.refused(none, "a.h5", "b.h5")
        self.refused(none, "-m", "abs", "a.h5", "b.h5")
        self.refused("a.h5: -e cannot be used with -m lossless; leave one of them out", "-m",
                     "lossless", "-e", "1", "a.h5", "b.h5")
        for option, name in (("--fill", "--fill"), ("-b", "-b"), ("-t", "-t")):
            self.refused(f"{name} cannot be used with --repack; leave it out", *ABS, option,
                         {"--fill": "1", "-b": "cpu", "-t": "f32"}[option], "a.h5", "b.h5")
        self.assert_refused(["-z", "--var", "t:keep", "x"], 1,
                            "x: --var cannot be used with -z; leave it out")

    def test_rules(self):
        form = ("is not a rule; give it as in --var tos:abs=0.01, with abs= rel= pwrel= psnr= lossless "
                "or keep")
        wrong = "has a bound that is not a finite number above zero; correct it"
        for rule, sentence in (("t", form), ("t:abs", form), ("t:5", form), ("t:abs=", wrong),
                               ("t:abs=x", wrong), ("t:abs=0", wrong), ("t:rel=-1", wrong),
                               ("t:psnr=inf", wrong), (":abs=1", "names no variable; give one before "
                                "the colon"), ("units=:abs=1", "names no variable; give one before the "
                                               "colon"),
                               ("t:pwrel=1", "has a bound of each value that is not below 1; correct "
                                "it")):
            self.refused(f"--var {rule} {sentence}", "--var", rule, "a.h5", "b.h5")
            self.write("rules", f"\n# rules\n  {rule} \n".encode())
            self.refused(f"rules: line 3: {rule} {sentence}", "--bounds", "rules", "a.h5", "b.h5")
        self.refused("--var t:abs=2 gives the same variable a second bound; leave one of them out",
                     "--var", "t:abs=1", "--var", "t:abs=2", "a.h5", "b.h5")
        self.refused("a.h5:/t: has two bounds, by units=K:abs=1 and t*:abs=2; leave one of them out",
                     "--var", "units=K:abs=1", "--var", "t*:abs=2", "a.h5", "b.h5")
        self.refused("a.h5: has no variable for --var v:abs=1; choose from a.h5:/u, a.h5:/g/t, "
                     "a.h5:/strange, a.h5:/t, a.h5:/x", "--var", "v:abs=1", "a.h5", "b.h5")
        self.refused("gone: cannot be read: No such file or directory; check the name", "--bounds",
                     "gone", "a.h5", "b.h5", code=2)
        self.refused("gone: cannot be read: No such file or directory; check the name", "--like",
                     "gone", "a.h5", "b.h5", code=2)

    def test_a_rule_that_cannot_be_followed(self):
        for rule, why in (("u:pwrel=1e-3", "pwrel does not keep to its valid values"),
                          ("count:abs=2", "no numbers that it takes"),
                          ("strange:abs=1", "has an attribute with more than 64 missing values; "
                           "compress it losslessly")):
            name = rule.split(":")[0]
            self.refused(f"a.h5:/{name}: cannot get a bound: {why}; leave it out of the rules",
                         "--var", rule, "a.h5", "b.h5")
        self.refused("odd.h5:/unknown: cannot get a bound: its filter 32767 is missing; leave it out "
                     "of the rules", "--var", "unknown:abs=1", "odd.h5", "b.h5")

    def test_which_rule_counts(self):
        """The name before a pattern, the command line before a file."""
        self.write("rules", b"t:abs=0.5\nu:abs=0.25\n*:keep\nnowhere:abs=1\n")
        told = self.succeed_json("--repack", "--bounds", "rules", "--var", "t:abs=0.125", "a.h5",
                                 "b.h5")
        found = {dataset["name"]: dataset.get("bound") for dataset in told["datasets"]}
        self.assertEqual(found, {"/t": 0.125, "/g/t": 0.125, "/u": 0.25, "/count": None, "/x": None,
                                 "/strange": None})
        told = self.succeed_json("--repack", "-f", "--var", "g/t:abs=0.125", "a.h5", "b.h5")
        self.assertEqual([dataset["name"] for dataset in told["datasets"]
                          if dataset["is_compressed"]], ["/g/t"])

    def test_what_cannot_be_compressed_is_copied(self):
        told = self.succeed_json("--repack", "--var", "t:abs=0.01", "--var", "unknown:keep",
                                 "odd.h5", "b.h5")
        self.assertEqual(told["compressed_count"], 1)
        told = self.succeed_json("--repack", *ABS, "a.h5", "c.h5")
        why = {dataset["name"]: dataset["why"] for dataset in told["datasets"]}
        self.assertEqual(why["/count"], "no numbers that it takes")
        self.assertEqual(why["/x"], "a coordinate: it rises or falls throughout")
        self.assertIn("more than 64 missing values", why["/strange"])

    def test_damaged_chunks(self):
        for name, sentence in (
                ("damaged", "has a damaged chunk, so it was not read; replace the file with an intact "
                 "copy"),
                ("short", "has a damaged chunk, so it was not read; replace the file with an intact "
                 "copy"),
                ("long", "has a chunk that is stored with more bytes than it can have; replace the "
                 "file with an intact copy")):
            for threads in ("1", "2"):
                self.refused(f"odd.h5:/{name}: {sentence}", "-j", threads, "--var",
                             f"{name}:abs=0.01", "odd.h5", "b.h5", code=2)

    def test_memory(self):
        before = sorted(os.listdir(self.folder))
        result = self.run_szgpu("--repack", *ABS, "--memory", "1M", "a.h5", "b.h5")
        self.assertEqual(result.code, 5)
        self.assertRegex(result.err, r"\Aszgpu: a\.h5:/\w+: needs --memory \d\dM at least; give more\n\Z")
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.repack(*ABS, "--memory", "100M", "large.h5", "b.h5")

    def test_the_lines(self):
        self.assertRegex(self.repack(*ABS, "a.h5", "b.h5"),
                         r"\Aa\.h5 -> b\.h5  ratio \d+\.\d\d  [\d.]+ [kM]B -> [\d.]+ [kM]B  3 of 6 "
                         r"datasets compressed, their ratio [\d.]+  \S+ GB/s\n\Z")
        self.assertEqual(self.repack("-qf", *ABS, "a.h5", "b.h5"), "")
        lines = self.repack("--dry-run", *ABS, "a.h5").splitlines()
        self.assertEqual(len(lines), 7)
        self.assertRegex(lines[-1], r"\Aa\.h5  3 of 6 datasets compressed, estimated ratio [\d.]+\Z")
        self.assertEqual(sorted(line.split()[0] for line in lines[:-1]),
                         ["/count", "/g/t", "/strange", "/t", "/u", "/x"])
        listed = self.succeed("-l", "b.h5").out
        self.assertRegex(listed, r"\Ab\.h5\n  HDF5     6 datasets, 3 by szgpu  ratio ")
        self.assertEqual(len(listed.splitlines()), 8)

    def test_json_has_the_documented_members(self):
        types, seen = cases_json.documented(), set()
        for arguments in (["--repack", "-V", *ABS, "a.h5", "b.h5"], ["--unpack", "b.h5", "c.h5"],
                          ["--repack", "--dry-run", *ABS, "a.h5"], ["-l", "b.h5"]):
            told = self.succeed_json(*arguments)
            for name, value in told.items():
                self.assertTrue(cases_json.IS_TYPE[types[name]](value), (arguments, name, value))
            seen |= set(told)
        self.assertEqual(cases_json.OF_WHOLE_FILES - seen, set())

    def test_a_list_of_a_file_without_archives(self):
        self.assertRegex(self.succeed("-l", "large.h5").out,
                         r"\Alarge\.h5\n  HDF5     1 dataset, 0 by szgpu\n  /a ")

    def test_warnings(self):
        result = self.succeed("--repack", "-e", "2", "a.h5", "b.h5")
        self.assertEqual(result.err, "szgpu: a.h5: warning: -e 2 lets values be off by 2 times their "
                         "range; if the bound is in the field's unit, add -m abs\n")


class WithoutHdf5(Hdf5Test):
    def test_such_a_build_says_so(self):
        self.require_hdf5(is_wanted=False)
        self.write("a.h5", b"\x89HDF\r\n\x1a\n" + bytes(100))
        sentence = "a.h5: needs HDF5, which this build of szgpu lacks"
        for command in (["--repack", *ABS, "a.h5", "b.h5"], ["-l", "a.h5"]):
            result = self.run_szgpu(*command)
            self.assertEqual((result.code, result.err[:len(sentence) + 7]), (1, f"szgpu: {sentence}"))
