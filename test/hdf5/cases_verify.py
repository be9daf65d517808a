"""cases_verify.py - szgpu --repack -V finds what is not as it should be in the new file.

SPDX-License-Identifier: BSD-3-Clause

damage.c damages what the command writes. That -V accepts whole files is in cases_repack.py.
"""
import json
import os
import subprocess

import numpy as np

import harness
from harness import Hdf5Test, optional, waves

h5py = optional("h5py")


class Verify(Hdf5Test):
    def setUp(self):
        super().setUp()
        if not os.path.exists(harness.damage):
            self.skipTest("this build has no library that damages what HDF5 writes")

    def make(self, **datasets):
        with h5py.File(self.path("in.h5"), "w") as file:
            for name, how in datasets.items():
                file.create_dataset(name, **how)

    def repack(self, damage, *arguments, options=("-V",)):
        preload = f"{os.environ.get('LD_PRELOAD', '')} {harness.damage}".strip()
        environment = dict(os.environ, LD_PRELOAD=preload, SZGPU_TEST_DAMAGE=damage)
        return subprocess.run(
            [harness.szgpu, "--repack", *options, *arguments, "in.h5", "out.h5"], cwd=self.folder,
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def refused(self, damage, code, sentence, *arguments):
        """Without -V nothing is noticed; with it there is no new file."""
        self.assertEqual(self.repack(damage, *arguments, options=("-f",)).returncode, 0)
        os.remove(self.path("out.h5"))
        for threads in ("1", "2"):
            done = self.repack(damage, "-j", threads, *arguments)
            self.assertEqual(done.returncode, code, done)
            self.assertRegex(done.stderr.decode(), rf"\Aszgpu: {sentence}\n\Z")
            self.assertEqual(os.listdir(self.folder), ["in.h5"])

    def test_compressed_values(self):
        self.make(v={"data": waves((40, 64, 80)), "chunks": (10, 64, 80)})
        over = (r"in\.h5:/v: \d+ values exceed the bound, by up to [\d.e+]+ times the bound, or are "
                r"missing in one file alone, so the new file was not written; please report this, "
                r"unless something wrote to the old one meanwhile")
        for bound in (("abs", "0.01"), ("rel", "0.001"), ("pwrel", "0.01"), ("psnr", "60")):
            how = ("--chunks", "keep", "-m", bound[0], "-e", bound[1])
            self.refused("exchange", 4, over, *how)
            self.refused("leave", 4, over, *how)
            self.refused("flip", 2, r"in\.h5:/v: has a damaged chunk in the new file, which was "
                         "therefore not written; check the disk and the memory of this machine",
                         *how)
        lossless = over.replace(r", by up to [\d.e+]+", r", by up to 0")
        self.refused("exchange", 4, lossless, "--chunks", "keep", "-m", "lossless")

    def test_kept_values(self):
        self.make(ids={"data": np.arange(9000), "chunks": (3000,), "compression": 1},
                  plain={"data": np.arange(9000)}, one={"data": np.float64(2.5)},
                  texts={"data": np.array(["a", "bc"], "S")})
        other = (r"in\.h5: has /%s, which is not the same in the new file, so that was not written; "
                 "check the disk and the memory of this machine, and that nothing writes to the file")
        for damage in ("flip", "exchange"):
            self.refused(damage, 2, other % "ids", "-m", "abs", "-e", "1")
        self.refused("leave", 2, other % "ids", "-m", "abs", "-e", "1")
        self.refused("values", 2, other % "(one|plain|texts)", "-m", "abs", "-e", "1")

    def test_missing_values(self):
        """A chunk with other missing values has hardly another error."""
        values = np.zeros((2, 64, 64), "f4") + waves((64, 64))
        values[1, :5] = -999
        self.make(v={"data": values, "chunks": (1, 64, 64), "fillvalue": -999})
        done = self.repack("exchange", "--chunks", "keep", "-m", "abs", "-e", "2000")
        self.assertEqual(done.returncode, 4, done)
        self.assertIn(b"320 values exceed the bound, by up to 0 times", done.stderr)

    def test_attributes(self):
        self.make(v={"data": waves((64, 80))})
        with h5py.File(self.path("in.h5"), "a") as file:
            file["v"].attrs["number"] = 2.5
        self.refused("attribute", 2, r"in\.h5: has /v, which is not the same .*", "-m", "abs", "-e",
                     "0.1")

    def test_it_is_told(self):
        self.make(v={"data": waves((64, 80))})
        done = self.repack("none", "-m", "abs", "-e", "0.1", "-f")
        self.assertIn(b"  verified  ", done.stdout)
        for options in ((), ("-V",)):
            done = self.repack("none", "-m", "abs", "-e", "0.1", "-f", "--json", options=options)
            self.assertEqual(json.loads(done.stdout)["is_verified"], bool(options))
