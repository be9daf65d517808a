"""cases_classic.py - szgpu --repack of classic netCDF: whole, cut or damaged, with nccopy or without.

SPDX-License-Identifier: BSD-3-Clause

cases_classic.py in test/hdf5 looks at the files that it makes.
"""
import os
import random
import re
import resource
import shutil
import signal
import struct

from cases_hdf5 import Hdf5Test

ABS = ["-m", "abs", "-e", "0.01"]
FORMATS = {"1": "NETCDF3_CLASSIC", "2": "NETCDF3_64BIT_OFFSET", "5": "NETCDF3_64BIT_DATA"}

MAKE = """
import netCDF4, sys
sys.path.insert(0, sys.argv[1])
from harness import wave
for name, form in %r.items():
    for kind in ('', 'single', 'fixed'):
        with netCDF4.Dataset(f'{kind}{name}.nc', 'w', format=form) as f:
            f.title = 'odd'
            f.createDimension('time', None), f.createDimension('x', 101)
            f.createDimension('y', 99)
            if kind == 'single':  # its records are not padded
                f.createVariable('v', 'i2', ('time', 'y'))[:] = wave(7, 99).astype('i2')
                continue
            if kind == '':
                f.createVariable('v', 'f4', ('time', 'x', 'y'))[:] = wave(7, 101, 99)
                f.createVariable('s', 'i2', ('time', 'y'))[:] = 3
            f.createVariable('fixed', 'f8', ('x', 'y'))[:] = wave(101, 99, dtype='f8')
            f.createVariable('b', 'i1', ('y',))[:] = 1
""" % FORMATS


class Classic(Hdf5Test):
    def setUp(self):
        super().setUp()
        self.make(MAKE, "netCDF4", "python3-netcdf4")

    def need_nccopy(self):
        if not shutil.which("nccopy"):
            self.skipTest("there is no nccopy (Debian: netcdf-bin)")

    def refused(self, sentence, *arguments, code=2, **how):
        self.assert_refused(["--repack", *ABS, *arguments], code, sentence, **how)

    def fake(self, text):
        """A program of the name nccopy; returns the environment that has it first."""
        os.mkdir(self.path("bin"))
        with open(self.path("bin/nccopy"), "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(self.path("bin/nccopy"), 0o755)
        path = self.path("bin") + os.pathsep + os.environ.get("PATH", "")
        return {**self.environment(), "PATH": path}

    def test_whole_files(self):
        self.need_nccopy()
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".nc"):
                told = self.succeed_json("--repack", *ABS, name, name + "4")
                self.assertEqual((told["input"], told["output"]), (name, name + "4"))
                self.assertEqual(told["in_bytes"], os.path.getsize(self.path(name)))
                self.assertEqual(told["compressed_count"] > 0, not name.startswith("single"))
                dry = self.succeed_json("--repack", "--dry-run", *ABS, name)
                self.assertEqual(dry["compressed_count"], told["compressed_count"])
        left = [name for name in os.listdir(self.folder) if name.startswith(".")]
        self.assertEqual(left, [])

    def test_a_dry_run_takes_the_folder_for_temporary_files(self):
        environment = self.fake('ls -A "$TMPDIR" >&2; exit 1\n')
        os.mkdir(self.path("aside"))
        result = self.run_szgpu("--repack", "--dry-run", *ABS, "1.nc",
                                env={**environment, "TMPDIR": self.path("aside")})
        self.assertRegex(result.err, r"\(nccopy says: \.1\.nc\.[a-z0-9]{6}\)")
        self.assertEqual(os.listdir(self.path("aside")), [])

    def test_odd_names(self):
        self.need_nccopy()
        for name in ("a b.nc", "http:x#mode=bytes.nc", "-k.nc", "ä[1]*.nc"):
            shutil.copy(self.path("1.nc"), self.path(name))
            self.succeed("--repack", *ABS, "--", name, name + "4")

    def test_a_file_that_is_cut(self):
        """nccopy would put zeros in place of what is missing."""
        for name in FORMATS:
            for kind in ("", "single", "fixed"):
                whole = self.read(f"{kind}{name}.nc")
                for kept in (len(whole) - 5, len(whole) // 2):
                    self.write("cut.nc", whole[:kept])
                    result = self.run_szgpu("--repack", *ABS, "cut.nc", "out.nc")
                    found = re.fullmatch(
                        r"szgpu: cut\.nc: ends too early: its header says that it has (\d+) bytes at "
                        r"least, and there are (\d+); replace the file with an intact copy\n",
                        result.err)
                    self.assertTrue(found and result.code == 2, result)
                    self.assertIn(len(whole) - int(found[1]), range(4))  # it ends with padding
                    self.assertEqual(int(found[2]), kept)
        for kept in (4, 8, 60, 200):
            self.write("cut.nc", self.read("5.nc")[:kept])
            self.refused("cut.nc: has a damaged header of classic netCDF; replace the file with an "
                         "intact copy", "cut.nc", "out.nc")

    def test_the_end_is_where_the_header_says(self):
        """One byte less than what netCDF wrote last is too few."""
        self.need_nccopy()
        for name in FORMATS:
            for kind, padding in (("", 2), ("single", 0), ("fixed", 1)):
                whole = self.read(f"{kind}{name}.nc")
                self.write("cut.nc", whole[:len(whole) - padding])
                self.succeed("--repack", "-fq", *ABS, "cut.nc", "out.nc")
                self.write("cut.nc", whole[:len(whole) - padding - 1])
                self.assertEqual(self.run_szgpu("--repack", "-f", *ABS, "cut.nc", "out.nc").code, 2)

    def test_a_damaged_header(self):
        """One sentence, or a copy, whatever the header says."""
        self.need_nccopy()
        draw = random.Random(1)
        for name in FORMATS:
            whole = bytearray(self.read(f"{name}.nc"))
            for _ in range(40):
                changed = bytearray(whole)
                for _ in range(draw.randint(1, 3)):
                    changed[draw.randrange(4, 400)] = draw.choice((0, 1, 12, 127, 128, 255))
                self.write("odd.nc", bytes(changed))
                result = self.run_szgpu("--repack", "-f", *ABS, "odd.nc", "out.nc")
                self.assertIn(result.code, (0, 1, 2, 5), result)
                self.assertEqual(result.err.count("\n"), 0 if result.code == 0 else 1, result)
        self.write("odd.nc", b"CDF\1" + struct.pack(">iii", 0, 10, 2**31 - 1) + bytes(100))
        self.refused("odd.nc: has a damaged header of classic netCDF; replace the file with an "
                     "intact copy", "odd.nc", "out2.nc")

    def test_without_nccopy(self):
        os.mkdir(self.path("none"))
        sentence = ("1.nc: is a netCDF file in the classic format, and the program nccopy, which "
                    "converts it, is not in PATH; install it (Debian: netcdf-bin)")
        self.refused(sentence, "1.nc", "out.nc", code=1,
                     env={**self.environment(), "PATH": self.path("none")})

    def test_nccopy_fails(self):
        remedy = ("); see that the disk of the output has room for a copy, and check the file with "
                  "ncdump")
        before = "1.nc: cannot be converted to netCDF-4 (nccopy says: "
        for text, said in (("echo NetCDF: odd >&2; echo more; exit 1\n", "NetCDF: odd"),
                           ("exit 3\n", "exit code 3"), ("kill -9 $$\n", "it ended by signal 9"),
                           ("yes | head -c 1000000; exit 1\n", "y")):
            environment = self.fake(text)
            self.refused(before + said + remedy, "1.nc", "out.nc", env=environment)
            shutil.rmtree(self.path("bin"))

    def test_no_space_is_left(self):
        self.need_nccopy()
        size = os.path.getsize(self.path("1.nc"))
        for limit in (1024, size // 2):
            before = sorted(os.listdir(self.folder))
            result = self.run_szgpu(
                "--repack", *ABS, "1.nc", "out.nc", preexec_fn=lambda: resource.setrlimit(
                    resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertEqual(result.code, 2, result)
            self.assertRegex(result.err, r"\Aszgpu: 1\.nc: cannot be converted to netCDF-4 \(nccopy "
                             r"says: .+\); see that the disk of the output has room .*\n\Z")
            self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_a_signal_leaves_nothing(self):
        """Neither files nor the program."""
        environment = self.fake(
            f"echo $$ > {self.path('pid')}; exec sleep 60\n")
        process = self.start("--repack", *ABS, "1.nc", "out.nc", env=environment)
        self.wait_for(lambda: os.path.exists(self.path("pid")) and self.read("pid"))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(self.read("pid")), 0)
        left = [name for name in os.listdir(self.folder) if "out" in name]
        self.assertEqual(left, [])


class WithoutHdf5(Hdf5Test):
    def test_such_a_build_says_so(self):
        self.require_hdf5(is_wanted=False)
        self.write("a.nc", b"CDF\1" + bytes(100))
        result = self.run_szgpu("--repack", *ABS, "a.nc", "b.nc")
        self.assertEqual(result.code, 1)
        self.assertIn("needs HDF5, which this build of szgpu lacks", result.err)
