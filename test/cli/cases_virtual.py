"""cases_virtual.py - virtual datasets of HDF5, and other ways to a dataset of another file.

SPDX-License-Identifier: BSD-3-Clause

HDF5 opens the sources of a virtual dataset by itself. One of them with lying cd_values once crashed
it, although the same dataset was refused under its own name.
"""
import os

import numpy as np

from cases_hdf5 import ABS, Hdf5Test

MAKE_VIRTUAL = """
import h5py, os, numpy as np
os.mkdir('sub')
low, high = np.array(1e-3).reshape(1).view('u4').tolist()

def with_words(f, name, chunk, words):
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(chunk)
    properties.set_filter(480, h5py.h5z.FLAG_OPTIONAL, (1, 1, low, high, 0, *words))
    space = h5py.h5s.create_simple((20, 30))
    d = h5py.h5d.create(f.id, name.encode(), h5py.h5t.py_create('f4'), space, properties)
    d.write_direct_chunk((0, 0), bytes(16), 0)

def make(f, name, shape, *parts, dtype='f4', fillvalue=None):
    layout = h5py.VirtualLayout(shape=shape, dtype=dtype)
    for place, file, path, source_shape, part in parts:
        layout[place] = h5py.VirtualSource(file, path, shape=source_shape)[part]
    f.create_virtual_dataset(name, layout, fillvalue=fillvalue)

a = np.arange(600, dtype='f4').reshape(20, 30)
with h5py.File('sub/one.h5', 'w') as f:
    f.create_dataset('a', data=a, chunks=(5, 30), compression=4)
    f['doubles'], f['whole'] = a.astype('f8') + 0.25, a.astype('i4')
    f['b'] = a
with h5py.File('two.h5', 'w') as f:
    f['g/b'] = -a
with h5py.File('lies.h5', 'w') as f:
    with_words(f, 'honest', (20, 30), (0 | 2 << 8, 0, 0, 20, 30))
    with_words(f, 'lying', (20, 30), (0 | 2 << 8, 0, 0, 2, 3))
    f['soft'] = h5py.SoftLink('/lying')
every, shape = np.s_[:, :], (20, 30)
with h5py.File('v.h5', 'w', libver='latest') as f:
    f['own'] = 2 * a
    make(f, 'joined', (40, 30), (np.s_[:20], 'sub/one.h5', 'a', shape, every),
         (np.s_[20:], 'two.h5', '/g/b', shape, every))
    make(f, 'strided', (20, 60), (np.s_[:, 1::2], 'sub/one.h5', 'a', shape, every),
         (np.s_[4:9, 0:40:4], '.', 'own', shape, np.s_[10:15, 3:23:2]), fillvalue=-7)
    make(f, 'converted', (40, 30), (np.s_[:20], 'sub/one.h5', 'doubles', shape, every),
         (np.s_[20:], 'sub/one.h5', 'whole', shape, every), dtype='f8')
    make(f, 'absolute', shape, (every, os.path.abspath('two.h5'), 'g/b', shape, every))
    make(f, 'hollow', shape, fillvalue=3)
    make(f, 'honest', shape, (every, 'lies.h5', 'honest', shape, every))
    make(f, 'lying', (40, 30), (np.s_[:20], 'sub/one.h5', 'a', shape, every),
         (np.s_[20:], 'lies.h5', 'lying', shape, every))
    make(f, 'soft', shape, (every, 'lies.h5', 'soft', shape, every))
    make(f, 'missing', shape, (every, 'gone.h5', 'a', shape, every))
    make(f, 'no_dataset', shape, (every, 'two.h5', 'a', shape, every))
    make(f, 'no_file', shape, (every, 'sub', 'a', shape, every))
    make(f, 'shrunk', shape, (every, 'two.h5', 'g/b', (20, 40), np.s_[:, 10:]))
    make(f, 'again', shape, (every, '.', 'joined', (40, 30), np.s_[:20]))
    make(f, 'escape', shape, (every, '\\x1b[31m.h5', 'a', shape, every))
    make(f, 'fifo', shape, (every, 'fifo', 'a', shape, every))
    growing = h5py.VirtualLayout(shape=shape, dtype='f4', maxshape=(None, 30))
    source = h5py.VirtualSource('.', 'growing', shape=shape, maxshape=(None, 30))
    f.create_dataset('growing', data=a, maxshape=(None, 30), chunks=shape)
    unlimited = h5py.h5s.UNLIMITED
    growing[:unlimited] = source[:unlimited]
    f.create_virtual_dataset('unlimited', growing)
with h5py.File('links.h5', 'w') as f:
    f['lying'], f['joined'] = h5py.ExternalLink('lies.h5', '/lying'), h5py.ExternalLink('v.h5', '/joined')
    f['soft'] = h5py.SoftLink('/lying')
"""

COPY = "copy it to a dataset with values of its own, and name that"
LIES = ("has cd_values of szgpu that do not match its chunks, so it was not read; inspect them with "
        "h5dump -pH")


class TestVirtual(Hdf5Test):
    def make_virtual(self):
        self.make(MAKE_VIRTUAL, "h5py", "python3-h5py")
        os.mkfifo(self.path("fifo"))

    def values_of(self, name):
        self.succeed("-zqf", "-m", "lossless", "-o", "out.szg", name)
        self.succeed("-xqf", "-o", "out.npy", "out.szg")
        return np.load(self.path("out.npy"))

    def assert_values(self, name, expected):
        values = self.values_of(name)
        self.assertEqual((values.dtype, values.shape), (expected.dtype, expected.shape))
        self.assertEqual(values.tobytes(), expected.tobytes())

    def test_sources_come_together(self):
        self.make_virtual()
        a = np.arange(600, dtype="f4").reshape(20, 30)
        joined = np.concatenate([a, -a])
        strided = np.full((20, 60), -7, "f4")
        strided[:, 1::2] = a
        strided[4:9, 0:40:4] = 2 * a[10:15, 3:23:2]
        self.assert_values("v.h5:joined", joined)
        self.assert_values("v.h5:strided", strided)
        self.assert_values("v.h5:converted",
                           np.concatenate([a.astype("f8") + 0.25, a.astype("f8")]))
        self.assert_values("v.h5:hollow", np.full((20, 30), 3, "f4"))
        self.assert_values("links.h5:joined", joined)
        self.succeed("-zqf", *ABS, "-o", "out.szg", "v.h5:joined")
        self.succeed("-xq", "-o", "back.npy", "--compare", "v.h5:joined", "out.szg")

    def test_names_are_relative_to_the_file(self):
        self.make_virtual()
        a = np.arange(600, dtype="f4").reshape(20, 30)
        folder = os.path.abspath(self.folder)
        self.assert_values(f"{folder}/v.h5:joined", np.concatenate([a, -a]))
        self.assert_values("v.h5:absolute", -a)

    def test_sources_are_checked_as_datasets_are(self):
        self.make_virtual()
        for name in ("lying", "soft"):
            self.assert_refused(["-z", *ABS, "-o", "b", f"v.h5:{name}"], 2, f"v.h5:{name}: is a "
                                f"virtual dataset whose source lies.h5:{name} {LIES}")
        for name in ("lying", "soft"):
            self.assert_refused(["-z", *ABS, "-o", "b", f"links.h5:{name}"], 2,
                                f"links.h5:{name}: {LIES}")
        result = self.run_szgpu("-z", *ABS, "-o", "b", "v.h5:honest")
        self.assertRegex(result.err, r"v\.h5:honest: (needs the filter 480|is a virtual dataset whose "
                         r"source lies\.h5:honest cannot be read \(HDF5 says: szgpu: chunk: the data)")

    def test_what_cannot_be_checked_is_refused_by_name(self):
        self.make_virtual()
        for name, source, problem in (
                ("missing", "gone.h5:a", "does not exist; restore the file"),
                ("no_dataset", "two.h5:a", "cannot be opened; check it with h5ls -r"),
                ("no_file", "sub:a", f"is not in a file; {COPY}"),
                ("fifo", "fifo:a", f"is not in a file; {COPY}"),
                ("shrunk", "two.h5:g/b", "is smaller than it says; check both with h5ls -rv"),
                ("again", ".:joined", f"is virtual, too; {COPY}"),
                ("unlimited", ".:growing", f"has an unlimited mapping to it; {COPY}"),
                ("escape", "?[31m.h5:a", "does not exist; restore the file")):
            with self.subTest(name):
                self.assert_refused(["-z", *ABS, "-o", "b", f"v.h5:{name}"], 2, f"v.h5:{name}: is "
                                    f"a virtual dataset whose source {source} {problem}")
