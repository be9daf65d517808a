"""cases_h5py.py - datasets written and read with h5py.

SPDX-License-Identifier: BSD-3-Clause

Also run by cases_wheels, with the h5py of PyPI, which brings a libhdf5 of its own.
"""
import os
import subprocess

import numpy as np

import harness
from harness import (ABS, INTERPOLATION, LINEAR, LORENZO, LOSSLESS, NAMED, PSNR, REL, boxes, coast,
                     optional, padded, real_fields, same_bits, stored_words, user_words, waves)

h5py = optional("h5py")


class H5pyTest(harness.Hdf5Test):
    def write(self, values, name="field.h5", mode=ABS, bound=1e-3, options=None, **how):
        """A file with the dataset "field"; h5py makes the filter optional."""
        path = self.path(name)
        with h5py.File(path, "w") as file:
            file.create_dataset("field", data=values, compression=harness.filter_id,
                                compression_opts=user_words(mode, bound, options), **how)
        return path

    def read(self, path, selection=()):
        with h5py.File(path, "r") as file:
            return file["field"][selection]

    def there_and_back(self, values, **how):
        return self.read(self.write(values, **how))

    def filters(self, path):
        """The dataset's filters, and for each chunk the mask of those left out."""
        with h5py.File(path, "r") as file:
            dataset = file["field"]
            plist = dataset.id.get_create_plist()
            used = [plist.get_filter(i) for i in range(plist.get_nfilters())]
            return used, [dataset.id.get_chunk_info(i).filter_mask
                          for i in range(dataset.id.get_num_chunks())]

    def assert_filtered(self, path):
        """Every chunk went through the filter."""
        used, masks = self.filters(path)
        self.assertIn(harness.filter_id, [entry[0] for entry in used])
        self.assertEqual(set(masks), {0})

    def assert_left_out(self, path):
        """No chunk did."""
        used, masks = self.filters(path)
        places = [i for i, entry in enumerate(used) if entry[0] == harness.filter_id]
        self.assertTrue(not places or all(mask >> places[0] & 1 for mask in masks), (used, masks))


class Modes(H5pyTest):
    """Every mode with both types, and with shapes that chunks divide evenly or not."""
    SHAPES = [((5000,), (1024,)), ((70, 131), (64, 64)), ((20, 33, 47), (8, 33, 20)),
              ((3, 9, 20, 33), (2, 9, 11, 33)), ((16, 16, 16), (16, 16, 16))]

    def check_all(self, mode, bound):
        for shape, chunk in self.SHAPES:
            for dtype in ("f4", "f8"):
                values = waves(shape, dtype)
                path = self.write(values, mode=mode, bound=bound, chunks=chunk)
                self.assert_filtered(path)
                restored = self.read(path)
                self.assert_modes_bound(values, restored, mode, bound, chunk)
                self.assertFalse(same_bits(values, restored).all())
                self.assertLess(os.path.getsize(path), values.nbytes)

    def test_abs(self):
        self.check_all(ABS, 1e-3)

    def test_rel(self):
        self.check_all(REL, 1e-3)

    def test_psnr(self):
        self.check_all(PSNR, 60.0)

    def test_lossless(self):
        for shape, chunk in self.SHAPES:
            for dtype in ("f4", "f8"):
                values = waves(shape, dtype)
                values.ravel()[::97] = -0.0
                path = self.write(values, mode=LOSSLESS, chunks=chunk)
                self.assert_filtered(path)
                self.assert_same_bits(values, self.read(path))

    def test_options(self):
        values = np.repeat(waves((40, 30, 8)), 8, axis=2)
        for options in (0, LINEAR, 3, LINEAR | 19, LORENZO, INTERPOLATION, INTERPOLATION | 3,
                        LINEAR | LORENZO):
            path = self.write(values, options=options, chunks=(20, 30, 64))
            self.assert_filtered(path)
            self.assert_lossy(values, self.read(path), 1e-3)

    def test_chunks_of_unit_dims(self):
        for shape, chunk in (((3, 4, 20, 30, 40, 2), (1, 1, 20, 30, 40, 1)), ((9, 1), (4, 1)),
                             ((4, 5), (1, 1))):
            values = waves(shape)
            path = self.write(values, bound=1e-2, chunks=chunk)
            if np.prod(chunk) > 100:
                self.assert_filtered(path)
            else:
                self.assert_left_out(path)  # an archive would be larger
            self.assert_within(values, self.read(path), 1e-2)

    def test_real_fields(self):
        for name, values in real_fields():
            fill = harness.REAL_FILL if (values == np.float32(harness.REAL_FILL)).any() else None
            kept = values if fill is None else values[values != np.float32(fill)]
            bound = 1e-3 * (float(kept.max()) - float(kept.min()))
            chunk = tuple(-(-n // 2) if n > 3 else n for n in values.shape)
            path = self.write(values, bound=bound, chunks=chunk, fillvalue=fill)
            self.assert_filtered(path)
            restored = self.read(path)
            self.assert_lossy(values, restored, bound, name)
            if fill is not None:
                self.assert_same_bits(values[values == np.float32(fill)],
                                      restored[values == np.float32(fill)])
            self.assertLess(os.path.getsize(path), values.nbytes / 3, name)


class Values(H5pyTest):
    def test_fill_values(self):
        """The dataset's fill value is restored bit-identically and does not count for a chunk's
        range, even as the padding of a chunk at the edge."""
        shape, chunk = (20, 33, 47), (8, 33, 20)
        for dtype in ("f4", "f8"):
            for fill in (1e20, -9999.0, 0.0, 9.969209968386869e36):
                values = waves(shape, dtype) + np.array(500, dtype)
                gaps = coast(shape)
                values[gaps] = fill
                fill_here = float(np.array(fill, dtype))
                for mode, bound in ((ABS, 1e-3), (REL, 1e-3), (PSNR, 60.0)):
                    path = self.write(values, mode=mode, bound=bound, chunks=chunk, fillvalue=fill)
                    self.assert_filtered(path)
                    restored = self.read(path)
                    self.assert_modes_bound(values, restored, mode, bound, chunk, fill_here, fill)
                    self.assert_same_bits(values[gaps], restored[gaps])

    def test_fill_value_that_is_not_a_number(self):
        values = waves((20, 40))
        values[coast((20, 40))] = np.nan
        path = self.write(values, mode=REL, bound=1e-3, chunks=(16, 16), fillvalue=np.nan)
        self.assert_filtered(path)
        restored = self.read(path)
        self.assert_modes_bound(values, restored, REL, 1e-3, (16, 16), None, np.nan)
        self.assert_same_bits(values[np.isnan(values)], restored[np.isnan(values)])

    def test_specials(self):
        """NaN with a payload, infinities, denormals and outliers: the bound holds, and values that
        cannot be coded are bit-identical."""
        for dtype, kind in (("f4", "u4"), ("f8", "u8")):
            values = waves((20, 33, 47), dtype)
            flat = values.ravel()
            top, tiny = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
            special = [np.nan, np.inf, -np.inf, -0.0, top, -top, tiny]
            flat[::101] = np.resize(np.array(special, dtype), flat[::101].size)
            not_a_number = np.array(np.inf, dtype).view(kind) + np.array(5, kind)
            values.view(kind).ravel()[5:900:7] = not_a_number
            for mode in (ABS, LOSSLESS):
                path = self.write(values, mode=mode, chunks=(8, 33, 20))
                self.assert_filtered(path)
                restored = self.read(path)
                self.assert_within(values, restored, 1e-3 if mode == ABS else 0)
                gone = ~np.isfinite(values)
                self.assert_same_bits(values[gone], restored[gone])

    def test_bounds_below_the_spacing(self):
        """Values that cannot be compressed lose nothing."""
        values = waves((64, 64))
        self.assert_same_bits(values, self.there_and_back(values, bound=1e-30, chunks=(32, 64)))

    def test_padding_at_the_edge(self):
        """rel refers to a chunk's own range, with the zeros beyond the dataset's edge unless they are
        far from all values. If the dataset has a fill value, that is there instead and does not
        count."""
        for offset, fill in ((1000.0, None), (2.0, None), (1000.0, -1.0)):
            values = waves((40, 100), "f8") + offset
            path = self.write(values, mode=REL, bound=1e-4, chunks=(32, 64), fillvalue=fill)
            restored = self.read(path)
            padding = 0 if fill is None else fill
            self.assert_modes_bound(values, restored, REL, 1e-4, (32, 64), fill, padding)
            self.assertLess(np.abs(values - restored).max(), 1e-3)


class Datasets(H5pyTest):
    def test_resizable(self):
        path = self.path("growing.h5")
        values = waves((50, 30, 20))
        with h5py.File(path, "w") as file:
            dataset = file.create_dataset(
                "field", (0, 30, 20), "f4", maxshape=(None, 30, None), chunks=(10, 30, 20),
                compression=harness.filter_id, compression_opts=user_words(ABS, 1e-3))
            for step in range(0, 50, 10):
                dataset.resize(step + 10, axis=0)
                dataset[step:step + 10] = values[step:step + 10]
        self.assert_lossy(values, self.read(path), 1e-3)
        with h5py.File(path, "r+") as file:
            file["field"].resize((35, 30, 40))
        grown = self.read(path)
        self.assert_within(values[:35], grown[:, :, :20], 2e-3)
        self.assertFalse(grown[:, :, 20:].any())

    def test_partial_reads(self):
        values = waves((30, 40, 50))
        path = self.write(values, chunks=(16, 16, 16))
        whole = self.read(path)
        for part in (np.s_[3], np.s_[:, 5:37:3], np.s_[29, 39, 49], np.s_[15:17, :, 47:],
                     np.s_[5:5]):
            self.assert_same_bits(np.asarray(whole[part]), np.asarray(self.read(path, part)))

    def test_part_of_a_chunk_rewritten(self):
        """A changed chunk goes through the filter again, so its values may move by the bound once
        more. Other chunks stay bit-identical."""
        values = waves((32, 64))
        path = self.write(values, chunks=(32, 32))
        before = self.read(path)
        with h5py.File(path, "r+") as file:
            file["field"][3:9, 5:30] = 7.0
        after = self.read(path)
        values[3:9, 5:30] = before[3:9, 5:30] = 7.0
        self.assert_within(before, after, 1e-3)
        self.assert_within(values, after, 2e-3)
        self.assert_same_bits(before[:, 32:], after[:, 32:])

    def test_never_written(self):
        path = self.path("empty.h5")
        with h5py.File(path, "w") as file:
            file.create_dataset("field", (30, 40), "f4", chunks=(16, 16), fillvalue=2.5,
                                compression=harness.filter_id,
                                compression_opts=user_words(ABS, 1e-3))
            file["field"][:5, :5] = 1.0
        restored = self.read(path)
        self.assertTrue((restored[:5, :5] == 1.0).all() or abs(restored[:5, :5] - 1).max() <= 1e-3)
        self.assertTrue((restored[5:] == 2.5).all() and (restored[:, 5:] == 2.5).all())

    def test_opened_again_with_a_fill_value(self):
        """Before the first write to a dataset that was opened, not created, HDF5 calls the filter's
        can_apply again; to ask HDF5 1.10 for the fill value then ends the process."""
        values = waves((30, 40))
        path = self.path("made.h5")
        with h5py.File(path, "w") as file:
            file.create_dataset("field", (30, 40), "f4", chunks=(16, 16), fillvalue=-9999,
                                compression=harness.filter_id,
                                compression_opts=user_words(ABS, 1e-3))
        with h5py.File(path, "r+") as file:
            file["field"][...] = values
        self.assert_filtered(path)
        self.assert_lossy(values, self.read(path), 1e-3)

    def test_with_a_checksum_behind(self):
        """Another filter may follow."""
        values = waves((40, 50))
        path = self.write(values, chunks=(40, 50), fletcher32=True)
        self.assert_filtered(path)
        self.assert_lossy(values, self.read(path), 1e-3)

    def test_with_a_shuffle_before(self):
        """The filter would get shuffled bytes, which are not the values: the bound still holds."""
        values = waves((40, 50))
        try:
            path = self.write(values, chunks=(40, 50), shuffle=True)
        except (OSError, ValueError) as refusal:
            self.assertIn("szgpu", str(refusal))
            return
        self.assert_within(values, self.read(path), 1e-3)


class Archives(H5pyTest):
    """A chunk is an archive, which the command restores to the dataset's values. Losslessly it is the
    archive that the command makes of them; under a bound the filter keeps more (docs/hdf5.md)."""

    def check(self, values, chunk, arguments, mode=ABS, bound=1e-3, options=None, fill=None):
        path = self.write(values, mode=mode, bound=bound, options=options, chunks=chunk,
                          fillvalue=fill)
        kind = "f32" if values.dtype.itemsize == 4 else "f64"
        restored = self.read(path)
        for box in boxes(values.shape, chunk):
            with h5py.File(path, "r") as file:
                mask, stored = file["field"].id.read_direct_chunk([edge.start for edge in box])
            self.assertEqual(mask, 0)
            with open(self.path("chunk.szg"), "wb") as file:
                file.write(stored)
            if mode == LOSSLESS:
                part = padded(np.ascontiguousarray(values[box]), chunk, 0 if fill is None else fill)
                part.tofile(self.path("chunk." + kind))
                dims = "x".join(str(n) for n in chunk if n != 1)
                subprocess.run([harness.szgpu, "-z", "-q", "-f", "-d", dims, "-t", kind, *arguments,
                                "-o", self.path("own.szg"), self.path("chunk." + kind)], check=True)
                with open(self.path("own.szg"), "rb") as file:
                    self.assertEqual(stored, file.read(), box)
            subprocess.run([harness.szgpu, "-x", "-q", "-f", "-o", self.path("back." + kind),
                            self.path("chunk.szg")], check=True)
            back = np.fromfile(self.path("back." + kind), values.dtype).reshape(chunk)
            cut = tuple(slice(0, edge.stop - edge.start) for edge in box)
            self.assert_same_bits(np.ascontiguousarray(back[cut]),
                                  np.ascontiguousarray(restored[box]))

    def test_modes(self):
        values, chunk = waves((20, 33, 47), "f8"), (16, 33, 30)
        self.check(values, chunk, ["-m", "abs", "-e", "1e-3"])
        self.check(values, chunk, ["-m", "rel", "-e", "1e-3"], mode=REL)
        self.check(values, chunk, ["-m", "psnr", "-e", "60"], mode=PSNR, bound=60.0)
        self.check(values, chunk, ["-m", "lossless"], mode=LOSSLESS, bound=0.0)

    def test_options(self):
        values, chunk = waves((3, 70, 131)), (1, 70, 131)
        self.check(values, chunk, ["-m", "abs", "-e", "1e-3", "--layout", "linear"], options=LINEAR)
        self.check(values, chunk, ["-m", "abs", "-e", "1e-3", "--zstd=3"], options=3)
        for name, bit in (("lorenzo", LORENZO), ("interpolation", INTERPOLATION)):
            self.check(values, chunk, ["-m", "abs", "-e", "1e-3", "--predictor", name], options=bit)

    def test_fill(self):
        values = waves((40, 50)) + np.float32(100)
        values[coast((40, 50))] = -9999
        self.check(values, (32, 32), ["-m", "rel", "-e", "1e-3", "--fill", "-9999"], mode=REL,
                   fill=-9999)

    def test_stored_words(self):
        """The file stores what docs/hdf5.md says."""
        for dtype, shape, chunk, fill, options in (
                ("f4", (20, 33, 47), (8, 33, 20), None, None),
                ("f8", (5, 20, 1, 40), (1, 20, 1, 30), -9999.0, 3 | LINEAR),
                ("f4", (4, 5), (1, 1), 1e20, 0)):
            path = self.write(waves(shape, dtype), options=options, chunks=chunk, fillvalue=fill)
            (used,), _ = self.filters(path)
            fill_here = None if fill is None else float(np.array(fill, dtype))
            words = stored_words(ABS, 1e-3, dtype, chunk, fill_here, options or 0)
            self.assertEqual(used[0], harness.filter_id)
            self.assertEqual(tuple(used[2]), words)
            self.assertIn(b"szgpu", used[3])


class Types(H5pyTest):
    """Every type that h5py writes comes back: those that have a bound within it, all others, and all
    of them in mode lossless, bit by bit; filtered, and in fewer bytes."""
    BOUNDED = ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", ">f2", ">f4", ">f8", ">i2", ">u2", ">i4"]
    OTHERS = ["u4", "i8", "u8", ">u4", ">i8", ">u8", "?", "c8", "c16", ">c8", ">c16", "S5", "S1", "V7",
              "V16", [("a", "<i4"), ("b", "<f8"), ("c", "S3")], [("p", "<f4", (3,)), ("q", "u1")]]

    def values(self, dtype):
        """As many different values as a type of one byte has without an overflow."""
        numbers = np.arange(6000).reshape(60, 100) // 50
        if np.dtype(dtype).kind in "SV":
            raw = np.repeat(numbers.astype("u1"), np.dtype(dtype).itemsize)
            return np.frombuffer(raw.tobytes(), dtype).reshape(60, 100)
        return numbers.astype(dtype)

    def assert_comes_back(self, dtype, options, mode, bound, greatest):
        values = self.values(dtype)
        path = self.write(values, mode=mode, bound=bound, options=options, chunks=(60, 100))
        self.assert_filtered(path)
        restored = self.read(path)
        self.assertEqual((restored.dtype, restored.shape), (values.dtype, values.shape))
        with h5py.File(path, "r") as file:
            self.assertLess(file["field"].id.get_chunk_info(0).size, values.nbytes)
        if greatest == 0:
            self.assertEqual(restored.tobytes(), values.tobytes())
        else:
            error = abs(restored.astype("f8") - values.astype("f8")).max()
            self.assertTrue(0 < error <= greatest, error)

    def test_lossless(self):
        for dtype in self.BOUNDED + self.OTHERS:
            with self.subTest(dtype):
                self.assert_comes_back(dtype, 0, LOSSLESS, 0.0, 0)

    def test_with_a_bound(self):
        """Without the bit for named datasets integers are exact, too."""
        for dtype in self.BOUNDED:
            for options in (None, NAMED):
                with self.subTest(dtype, options=options):
                    # These values only rise, so that they are spared like coordinates.
                    self.assert_comes_back(dtype, options, ABS, 4.0, 0 if options is None else 4)

    def test_types_without_a_bound(self):
        for dtype in self.OTHERS:
            for options in (None, NAMED):
                with self.subTest(dtype, options=options):
                    self.assert_comes_back(dtype, options, ABS, 4.0, 0)

    def test_ones(self):
        """As hdf5plugin tests filters."""
        for dtype in self.BOUNDED + self.OTHERS[:11]:
            values = np.ones((100, 10), dtype)
            for mode, bound in ((LOSSLESS, 0.0), (ABS, 1e-9)):
                with self.subTest(dtype, mode=mode):
                    path = self.write(values, mode=mode, bound=bound, chunks=values.shape)
                    restored = self.read(path)
                    self.assertEqual(restored.dtype, values.dtype)
                    self.assertTrue(np.allclose(restored.astype("c16"), 1, rtol=0, atol=1e-9))
                    with h5py.File(path, "r") as file:
                        mask, chunk = file["field"].id.read_direct_chunk((0, 0))
                    self.assertEqual(mask, 0)
                    self.assertLess(len(chunk), values.nbytes)

    def test_big_endian_fill_value(self):
        values = waves((40, 50)).astype(">f4")
        values[coast((40, 50))] = -9999
        path = self.write(values, mode=REL, bound=1e-3, chunks=(32, 50), fillvalue=-9999)
        self.assert_filtered(path)
        restored = self.read(path)
        self.assert_modes_bound(values.astype("f4"), restored.astype("f4"), REL, 1e-3, (32, 50),
                                -9999.0, -9999)
        self.assertFalse((restored == values).all())

    def test_many_dims(self):
        values = waves((4, 6, 8, 10, 12))
        path = self.write(values, chunks=(2, 6, 8, 5, 12))
        self.assert_filtered(path)
        self.assert_lossy(values, self.read(path), 1e-3)

    def test_text_of_variable_length(self):
        """HDF5 leaves all filters out itself."""
        path = self.path("text.h5")
        with h5py.File(path, "w") as file:
            file.create_dataset("field", data=["north", "south"] * 50, dtype=h5py.string_dtype(),
                                chunks=(50,), compression=harness.filter_id,
                                compression_opts=user_words(ABS, 1.0))
        self.assertEqual(list(self.read(path)), [b"north", b"south"] * 50)


class Spared(H5pyTest):
    """Without the bit for named datasets, what may be a coordinate is exact, as the page says."""

    def test_coordinates(self):
        cells = np.arange(90.0)
        for name, values in (("latitude", np.linspace(-90, 90, 91)), ("level", 1000 - 7.3 * cells),
                             ("time", 6 * np.arange(31.0)), ("one time", np.array([17.3])),
                             ("bounds", np.stack((cells, cells + 1), 1) * 0.7),
                             ("mask", np.repeat((0.0, 1.0), 100))):
            for dtype in ("f4", "f8", ">f4"):
                for fill in (None, -999):
                    with self.subTest(name, dtype=dtype, fill=fill):
                        array = values.astype(dtype)
                        path = self.write(array, bound=4.0, fillvalue=fill,
                                          chunks=(64,) + array.shape[1:], maxshape=(None,) * array.ndim)
                        self.assertEqual(self.read(path).tobytes(), array.tobytes())

    def test_time_that_grows(self):
        path = self.path("grown.h5")
        with h5py.File(path, "w") as file:
            time = file.create_dataset("field", (0,), "f8", maxshape=(None,), chunks=(20,),
                                       compression=harness.filter_id,
                                       compression_opts=user_words(ABS, 4.0))
            for step in range(50):
                time.resize((step + 1,))
                time[step] = 6.0 * step
        self.assertTrue((self.read(path) == 6.0 * np.arange(50)).all())

    def test_named(self):
        values = np.linspace(-90, 90, 910)
        path = self.write(values, bound=4.0, options=NAMED, chunks=(910,))
        self.assert_lossy(values, self.read(path), 4.0)


class Refusals(H5pyTest):
    """What the filter cannot do is left out if it is optional, and refused with a sentence if it is
    mandatory."""

    def mandatory(self, values, chunk, opts, before=()):
        """A dataset with the mandatory filter, made through h5py's low-level interface."""
        path = self.path("mandatory.h5")
        with h5py.File(path, "w") as file:
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk(chunk)
            for action in before:
                action(plist)
            plist.set_filter(harness.filter_id, h5py.h5z.FLAG_MANDATORY, opts)
            dataset = h5py.h5d.create(file.id, b"field", h5py.h5t.py_create(values.dtype),
                                      h5py.h5s.create_simple(values.shape), plist)
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(values))
        return path

    def test_mandatory_where_it_is_for(self):
        values = waves((60, 100))
        path = self.mandatory(values, (32, 32), user_words(ABS, 1e-3))
        self.assert_filtered(path)
        self.assert_lossy(values, self.read(path), 1e-3)

    def test_mandatory_behind_a_shuffle(self):
        values = waves((60, 100))
        with self.assertRaises((ValueError, OSError, RuntimeError)) as caught:
            self.mandatory(values, (32, 32), user_words(ABS, 1e-3), [lambda p: p.set_shuffle()])
        self.assertIn("szgpu", str(caught.exception))

    def test_words_that_mean_nothing(self):
        """Words without a meaning make the creation fail, even with an optional filter, as here:
        otherwise the dataset would silently be stored as it is."""
        good = user_words(ABS, 1e-3, 0)
        for opts in (good[:2], good[:3], (0,) + good[1:], (2,) + good[1:], (1, 5) + good[2:],
                     good[:4] + (20,), good[:4] + (0x600,), good[:4] + (0x1000,),
                     good[:4] + (0x8000,), good[:4] + (LINEAR | INTERPOLATION,), user_words(ABS, 0.0),
                     user_words(ABS, -1.0), user_words(REL, np.inf), user_words(PSNR, np.nan)):
            with self.subTest(opts), h5py.File(self.path("made.h5"), "w") as file:
                with self.assertRaises((ValueError, OSError, RuntimeError)) as caught:
                    file.create_dataset("field", (60, 100), "f4", chunks=(32, 32),
                                        compression=harness.filter_id, compression_opts=opts)
                self.assertIn("szgpu", str(caught.exception))
