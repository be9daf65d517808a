"""peers.py - the compressors that packages of Python have, and szgpu among them.

SPDX-License-Identifier: BSD-3-Clause

Each has compress(values, bound), which gives what is stored, and decompress(packed, like), which
gives new values of the dtype and shape of `like`. bound is absolute, or a fraction of each value
for the peers of POINTWISE; None asks for every bit.
"""
import collections
import importlib
import importlib.metadata
import math
import tempfile
import zlib

import numpy as np

# A configuration that limits SZ3 to the first-order Lorenzo predictor. ALGO_LORENZO_REG also tries
# linear regression by default, and SZ3 without any settings uses ALGO_INTERP_LORENZO.
SZ3_LORENZO = """[GlobalSettings]
CmprAlgo = ALGO_LORENZO_REG
[AlgoSettings]
Lorenzo = YES
Lorenzo2ndOrder = NO
Regression = NO
Regression2ndOrder = NO
"""
SZ3_DEFAULT = "[GlobalSettings]\n"
MANTISSA_BITS = {4: 23, 8: 52}
SIGN_AND_EXPONENT_BITS = {4: 9, 8: 12}


def array_of(content, like):
    return np.frombuffer(content, like.dtype).reshape(like.shape)


class Szgpu:
    def __init__(self, threads, mode="abs", **settings):
        import szgpu
        self.compressor = szgpu.Compressor(threads=threads, backend="cpu")
        self.mode, self.settings = mode, settings

    def compress(self, values, bound):
        exact = {"lossless": True} if bound is None else {self.mode: bound}
        return self.compressor.compress(values, **exact, **self.settings)

    def decompress(self, packed, like):
        return self.compressor.decompress(packed)


class Sz3:
    def __init__(self, threads, settings=SZ3_DEFAULT):
        from pysz import sz, szConfig, szErrorBoundMode
        self.sz, self.config = sz, szConfig()
        with tempfile.NamedTemporaryFile("w", suffix=".config") as file:
            file.write(settings)
            file.flush()
            self.config.loadcfg(file.name)
        self.config.errorBoundMode = szErrorBoundMode.ABS
        self.config.openmp = False

    def compress(self, values, bound):
        self.config.absErrorBound = bound
        return self.sz.compress(values, self.config)[0]

    def decompress(self, packed, like):
        return self.sz.decompress(packed, like.dtype, like.shape)[0]


class Zfp:
    def __init__(self, threads):
        import zfpy
        self.zfpy = zfpy

    def compress(self, values, bound):
        tolerance = -1 if bound is None else bound  # -1: reversible
        return self.zfpy.compress_numpy(values, tolerance=tolerance, write_header=True)

    def decompress(self, packed, like):
        return self.zfpy.decompress_numpy(packed)


class Fpzip:
    """With a bound, which is a fraction of each value, it keeps as many bits as that needs."""

    def __init__(self, threads):
        import fpzip
        self.fpzip = fpzip

    def compress(self, values, bound):
        precision = 0  # lossless
        if bound is not None:
            precision = SIGN_AND_EXPONENT_BITS[values.itemsize] + bits_of_fraction(bound)
            if values.itemsize == 8:
                precision += precision % 2  # of doubles, fpzip keeps even numbers of bits
        return self.fpzip.compress(values, precision=precision, order="C")

    def decompress(self, packed, like):
        return self.fpzip.decompress(packed, order="C").reshape(like.shape)


class Pcodec:
    def __init__(self, threads):
        from pcodec import ChunkConfig, standalone
        self.standalone, self.config = standalone, ChunkConfig()

    def compress(self, values, bound):
        return self.standalone.simple_compress(values.reshape(-1), self.config)

    def decompress(self, packed, like):
        return self.standalone.simple_decompress(packed).reshape(like.shape)


class Blosc2:
    """zstd after a shuffle of bytes. With a bound, the values are first cut to as few bits as keep
    the largest of them within it, as HDF5's and zarr's users do, or all of them, if it is
    pointwise."""

    def __init__(self, threads, is_pointwise=False):
        import blosc2
        self.blosc2, self.threads, self.is_pointwise = blosc2, threads, is_pointwise

    def compress(self, values, bound):
        filters, meta = [self.blosc2.Filter.SHUFFLE], [0]
        if bound is not None:
            filters.insert(0, self.blosc2.Filter.TRUNC_PREC)
            meta.insert(0, bits_of_fraction(bound) if self.is_pointwise
                        else kept_bits(values, bound))
        return self.blosc2.compress2(
            values, codec=self.blosc2.Codec.ZSTD, clevel=5, filters=filters, filters_meta=meta,
            typesize=values.itemsize, nthreads=self.threads)

    def decompress(self, packed, like):
        return array_of(self.blosc2.decompress2(packed, nthreads=self.threads), like)


def kept_bits(values, bound, is_rounded=False):
    """How many bits of mantissas keep the values within the bound, if the others are cut off, or
    if the values are rounded to so many, which saves a bit."""
    counted = values[np.isfinite(values) & (np.abs(values) < 1e15)]  # above are values of fill
    largest = math.frexp(float(np.abs(counted).max()))[1] - 1  # 2^largest <= max
    needed = largest - math.floor(math.log2(bound)) - is_rounded
    return min(MANTISSA_BITS[values.itemsize], max(1, needed))


def bits_of_fraction(bound):
    """How many bits of a mantissa keep a value within this fraction of itself if the rest is cut."""
    return max(1, math.ceil(-math.log2(bound)))


class Zstd:
    def __init__(self, threads):
        import zstandard
        self.packer = zstandard.ZstdCompressor(level=3, threads=threads if threads > 1 else 0)
        self.unpacker = zstandard.ZstdDecompressor()

    def compress(self, values, bound):
        return self.packer.compress(values)

    def decompress(self, packed, like):
        return array_of(self.unpacker.decompress(packed), like)


class Lz4:
    def __init__(self, threads):
        import lz4.frame
        self.frame = lz4.frame

    def compress(self, values, bound):
        return self.frame.compress(values)

    def decompress(self, packed, like):
        return array_of(self.frame.decompress(packed), like)


class Zlib:
    def __init__(self, threads):
        self.level = 4  # what HDF5's and netCDF's users take

    def compress(self, values, bound):
        return zlib.compress(values, self.level)

    def decompress(self, packed, like):
        return array_of(zlib.decompress(packed), like)


class Hdf5:
    """A filter of hdf5plugin. The field is one chunk of a file in memory, and that whole file is
    what is passed on; what counts is the size of the chunk in it."""

    def __init__(self, threads, filter_of):
        import h5py
        import hdf5plugin
        self.h5py, self.plugin, self.filter_of = h5py, hdf5plugin, filter_of

    def compress(self, values, bound):
        file = self.h5py.File("field.h5", "w", driver="core", backing_store=False)
        dataset = file.create_dataset("field", values.shape, values.dtype, chunks=values.shape,
                                      **self.filter_of(self.plugin, bound))
        dataset.write_direct(values)
        dataset.flush()  # a filter that fails says so here
        del dataset  # closes it, so that decompression does not find the values in its cache
        chunk = file["field"].id.get_chunk_info(0)
        if chunk.filter_mask != 0:
            raise RuntimeError("the filter left the chunk as it was")
        return InFile(file, chunk.size)

    def decompress(self, packed, like):
        return packed.file["field"][()]


class InFile:
    def __init__(self, file, stored_bytes):
        self.file, self.stored_bytes = file, stored_bytes

    def __len__(self):
        return self.stored_bytes


LOSSY, LOSSLESS = "lossy", "lossless"

# packages: what pip calls them; is_threaded: whether it uses the threads asked for (all others use
# one); stands_in_for: the peer in whose absence it takes part, because it is the same compressor.
Entry = collections.namedtuple("Entry", "name kind packages make is_threaded stands_in_for",
                               defaults=(False, None))


def h5_entry(name, kind, filter_of, stands_in_for=None):
    return Entry(name, kind, "hdf5plugin h5py", lambda threads: Hdf5(threads, filter_of), False,
                 stands_in_for)


EXACT = (
    Entry("szgpu lossless", LOSSLESS, "szgpu", Szgpu, True),
    Entry("zfp reversible", LOSSLESS, "zfpy", Zfp),
    Entry("fpzip", LOSSLESS, "fpzip", Fpzip),
    Entry("pcodec", LOSSLESS, "pcodec", Pcodec),
    Entry("blosc2 zstd", LOSSLESS, "blosc2", Blosc2, True),
    h5_entry("blosc2 in HDF5", LOSSLESS,
             lambda plugin, bound: plugin.Blosc2(cname="zstd", clevel=5), "blosc2 zstd"),
    Entry("zstd", LOSSLESS, "zstandard", Zstd, True),
    Entry("lz4", LOSSLESS, "lz4", Lz4),
    Entry("zlib", LOSSLESS, "", Zlib),
)

ABSOLUTE = (
    Entry("szgpu", LOSSY, "szgpu", Szgpu, True),
    Entry("szgpu lorenzo", LOSSY, "szgpu",
          lambda threads: Szgpu(threads, predictor="lorenzo"), True),
    Entry("SZ3", LOSSY, "pysz", Sz3),
    Entry("SZ3 Lorenzo", LOSSY, "pysz", lambda threads: Sz3(threads, SZ3_LORENZO)),
    h5_entry("SZ3 in HDF5", LOSSY, lambda plugin, bound: plugin.SZ3(absolute=bound), "SZ3"),
    h5_entry("SZ2 in HDF5", LOSSY, lambda plugin, bound: plugin.SZ(absolute=bound)),
    # swap: SPERR takes dims fastest first; without it, archives are 2 to 6 times as large
    h5_entry("SPERR in HDF5", LOSSY, lambda plugin, bound: plugin.Sperr(absolute=bound, swap=True)),
    Entry("zfp", LOSSY, "zfpy", Zfp),
    h5_entry("zfp in HDF5", LOSSY, lambda plugin, bound: plugin.Zfp(accuracy=bound), "zfp"),
    Entry("blosc2, cut", LOSSY, "blosc2", Blosc2, True),
)

# A bound that is a fraction of each value; SZ3 and zfp have none.
POINTWISE = (
    Entry("szgpu", LOSSY, "szgpu", lambda threads: Szgpu(threads, "pwrel"), True),
    Entry("szgpu lorenzo", LOSSY, "szgpu",
          lambda threads: Szgpu(threads, "pwrel", predictor="lorenzo"), True),
    h5_entry("SZ2 in HDF5", LOSSY, lambda plugin, bound: plugin.SZ(pointwise_relative=bound)),
    Entry("fpzip, cut", LOSSY, "fpzip", Fpzip),
    Entry("blosc2, cut", LOSSY, "blosc2", lambda threads: Blosc2(threads, True), True),
)

MODES = {"rel": "relative", "abs": "absolute", "pwrel": "pointwise relative"}


def entries_of(mode):
    return (POINTWISE if mode == "pwrel" else ABSOLUTE) + EXACT


def version(name):
    """By pip's metadata, or by the module's own word: distributions may leave the former out."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return getattr(importlib.import_module(name), "__version__", "of an unknown version")


def versions(entries):
    """The versions of the packages of the entries, such as ["pysz 1.1.0"]."""
    names = dict.fromkeys(name for entry in entries for name in entry.packages.split())
    return [f"{name} {version(name)}" for name in names]
