"""cases_unpack.py - szgpu --unpack gives files that h5py and netCDF4 read without the plugin.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import struct
import subprocess
import sys

import numpy as np

import harness
from harness import Hdf5Test, optional, waves

h5py = optional("h5py")
netCDF4 = optional("netCDF4")
if h5py is not None:
    import whole_files

BOUND = 0.01


def make_mandatory(file, name, values, chunks):
    """A dataset with the filter, lossless and mandatory: it puts a head before noise."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(chunks)
    properties.set_filter(harness.filter_id, 0, (1, harness.LOSSLESS, 0, 0))
    h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(values.dtype),
                    h5py.h5s.create_simple(values.shape), properties)
    file[name][...] = values
    first = file[name].id.read_direct_chunk((0,) * values.ndim)
    assert first[0] == 0 and first[1].startswith(b"\x89SZP\r\n"), first[1][:8]


class Unpack(Hdf5Test):
    modules = {"h5py": "python3-h5py", "netCDF4": "python3-netcdf4"}

    def run_without_plugin(self, *command, code=0):
        os.makedirs(self.path("no plugins"), exist_ok=True)
        environment = dict(os.environ, HDF5_PLUGIN_PATH=self.path("no plugins"))
        done = subprocess.run([str(part) for part in command], cwd=self.folder, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, code, done)
        return done.stdout.decode() if code == 0 else done.stderr.decode()

    def unpack(self, *arguments, code=0):
        return self.run_without_plugin(harness.szgpu, "--unpack", *arguments, code=code)

    def check(self, path, before, after):
        self.assertEqual(after.id.get_create_plist().get_nfilters(), 0, path)
        self.assertEqual((before.chunks, before.dtype), (after.chunks, after.dtype), path)
        self.assert_same_bits(before[()], after[()], path)

    def test_whole_files(self):
        for maker in whole_files.FILES:
            for options in ((), ("-j", "1"), ("-V", "--memory", "300M")):
                with self.subTest(maker.__name__, options=options):
                    compressed = maker(self.path("in.nc"))
                    self.run_tool(harness.szgpu, "--repack", "-f", "-m", "abs", "-e", BOUND, "in.nc",
                                  "small.nc")
                    told = json.loads(self.unpack("-f", "--json", *options, "small.nc", "out.nc"))
                    self.assertEqual(told["command"], "unpack")
                    restored = {one["name"] for one in told["datasets"] if one["is_compressed"]}
                    self.assertEqual(len(restored), len(compressed))
                    self.assertEqual(told["restored_count"], len(restored))
                    whole_files.Comparison(self, self.path("small.nc"), self.path("out.nc"),
                                           compressed, self.check)

    def test_readers_without_the_plugin(self):
        whole_files.ocean(self.path("in.nc"))
        self.run_tool(harness.szgpu, "--repack", "-m", "abs", "-e", BOUND, "in.nc", "small.nc")
        line = self.unpack("small.nc", "out.nc")
        self.assertRegex(line, r"\Asmall\.nc -> out\.nc  [\d.]+ kB -> [\d.]+ MB  1 of \d+ datasets "
                         r"restored  \S+ GB/s\n\Z")
        read = ("import netCDF4, sys; f = netCDF4.Dataset(sys.argv[1]); v = f['tos']; "
                "v[:].filled(0).tofile('values'); print(v.quantization_maximum_absolute_error, "
                "v[:].mask.sum()); print(f.history)")
        said = self.run_without_plugin(sys.executable, "-c", read, "out.nc").splitlines()
        with netCDF4.Dataset(self.path("in.nc")) as file:
            values = file["tos"][:]
        self.assertEqual(said[0], f"{BOUND} {values.mask.sum()}")
        self.assertIn("szgpu --unpack small.nc out.nc (szgpu", said[1])
        self.assertIn("szgpu --repack", said[2])
        made = np.fromfile(self.path("values"), "f4").reshape(values.shape)
        self.assert_lossy(values.filled(0), made, BOUND)
        self.run_without_plugin(sys.executable, "-c", read, "small.nc", code=1)

    def test_what_the_filter_itself_writes(self):
        """Chunks that are stored as they are, or with other filters behind, both byte orders, chunks
        that the edge cuts or that were never written, integers."""
        noise = np.random.default_rng(1).integers(0, 2**32, (64, 64), "u4").view("f4")
        bound = {"compression": harness.filter_id,
                 "compression_opts": (1, harness.ABS, *harness.words(BOUND), harness.NAMED)}
        with h5py.File(self.path("in.h5"), "w") as file:
            make_mandatory(file, "noise", noise, (32, 64))
            make_mandatory(file, "big noise", noise.astype(">f4"), (32, 64))
            file.create_dataset("big", data=waves((70, 90), ">f8"), chunks=(32, 40), **bound)
            file.create_dataset("checked", data=waves((70, 90)), chunks=(32, 40), fletcher32=True,
                                **bound)
            file.create_dataset("ids", data=np.arange(6400, dtype="i2").reshape(64, 100),
                                chunks=(64, 50), **bound)
            grown = file.create_dataset("grown", (0, 50), "f4", chunks=(8, 50), maxshape=(None, 50),
                                        fillvalue=-9, **bound)
            grown.resize((37, 50))
            grown[:5], grown[30:] = waves((5, 50)), waves((7, 50))
            file.create_dataset("none", (0, 50), "f4", chunks=(8, 50), maxshape=(None, 50), **bound)
            file.create_dataset("unwritten", (80, 50), "f4", chunks=(8, 50), fillvalue=3, **bound)
            plain = file.create_dataset("spared", data=waves((64, 64)), chunks=(32, 64), **bound)
            plain.id.write_direct_chunk((0, 0), waves((32, 64)).tobytes(), 1)  # by no filter
            self.assertEqual(file["checked"].id.get_create_plist().get_nfilters(), 2)
            names = {f"/{name}" for name in file}
        for threads in ("1", "3"):
            told = json.loads(self.unpack("-f", "--json", "-V", "-j", threads, "in.h5", "out.h5"))
            self.assertEqual(told["restored_count"], len(names))
            whole_files.Comparison(self, self.path("in.h5"), self.path("out.h5"), names, self.check)
            with h5py.File(self.path("out.h5"), "a") as file:
                file["grown"].resize((45, 50))
                self.assertTrue((file["grown"][37:] == -9).all())
                self.assertEqual(file["unwritten"].id.get_storage_size(), 0)

    def test_damaged_files(self):
        noise = np.random.default_rng(1).integers(0, 2**32, (64, 64), "u4").view("f4")
        with h5py.File(self.path("in.h5"), "w") as file:
            bound = (1, harness.ABS, *harness.words(BOUND), harness.NAMED)
            for name in ("flipped", "plain", "other"):
                if name == "plain":
                    make_mandatory(file, name, noise, (64, 64))
                else:
                    file.create_dataset(name, data=waves((64, 64)), chunks=(64, 64),
                                        compression=harness.filter_id, compression_opts=bound)
                stored = bytearray(file[name].id.read_direct_chunk((0, 0))[1])
                stored[len(stored) // 2] ^= 4
                if name == "other":  # an archive of another shape
                    more = file.create_dataset("more", data=waves((32, 64)), chunks=(32, 64),
                                               compression=harness.filter_id, compression_opts=bound)
                    stored = more.id.read_direct_chunk((0, 0))[1]
                file[name].id.write_direct_chunk((0, 0), bytes(stored), 0)
        sentence = ("has a damaged chunk, so it was not read; replace the file with an intact copy")
        for name in ("flipped", "plain", "other"):
            with h5py.File(self.path("in.h5")) as file, h5py.File(self.path("one.h5"), "w") as one:
                file.copy(name, one)
            said = self.unpack("one.h5", "out.h5", code=2)
            self.assertEqual(said, f"szgpu: one.h5:/{name}: {sentence}\n")
            self.assertFalse(os.path.exists(self.path("out.h5")))

    def test_a_later_version(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file.create_dataset("v", data=waves((64, 64)), chunks=(64, 64),
                                compression=harness.filter_id,
                                compression_opts=(1, harness.ABS, *harness.words(BOUND)))
        with open(self.path("in.h5"), "r+b") as file:
            content = file.read()
            place = content.find(struct.pack("<4I", 1, harness.ABS, *harness.words(BOUND)))
            file.seek(place)
            file.write(struct.pack("<I", 99))
        self.assertEqual(self.unpack("in.h5", "out.h5", code=3),
                         "szgpu: in.h5:/v: was compressed by a later version of szgpu; use that one\n")

    def test_the_command_line(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["v"] = waves((64, 64))
        with netCDF4.Dataset(self.path("classic.nc"), "w", format="NETCDF3_CLASSIC"):
            pass
        for arguments, said in (
                (("in.h5",), "in.h5: --unpack takes two files; give it as in --unpack IN.nc OUT.nc"),
                (("-", "out.h5"), "standard input: - cannot be used with --unpack; name files"),
                (("-e", "1", "in.h5", "out.h5"), "-e cannot be used with --unpack; leave it out"),
                (("--var", "v:keep", "in.h5", "o"), "--var cannot be used with --unpack; leave it out"),
                (("classic.nc", "out.nc"), "classic.nc: is a netCDF file in the classic format, which "
                 "holds no archives; there is nothing to unpack")):
            self.assertEqual(self.unpack(*arguments, code=1), f"szgpu: {said}\n")
        self.assertIn("0 of 1 dataset restored", self.unpack("in.h5", "out.h5"))
        whole_files.Comparison(self, self.path("in.h5"), self.path("out.h5"), set(), None)
        self.assertIn("already exists", self.unpack("in.h5", "out.h5", code=2))
        self.unpack("-fq", "-o", "out.h5", "in.h5")
