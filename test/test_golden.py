"""test_golden.py - archives of every released format are still written and read the same.

SPDX-License-Identifier: BSD-3-Clause

  python3 test_golden.py SZGPU DECODER [--update]

The cases tile_* have the tile layout and the predictor lorenzo, levels_* the tile layout and the
predictor interpolation unless they name one, lossless_* are lossless, top_plane_* are lossless in
the linear layout, and the others have the linear layout. *_v3_* and *_v6_* are archives of format
versions 3 and 6 with the fields of the cases without that in their names.
For each case: a field made of integers (no libm, so the same everywhere) is compressed and must
give golden/NAME.szg byte for byte; that archive must restore to golden/NAME.raw, by the command
with each of the CPU decoders that read it and by DECODER, a Python program written from
docs/format.md alone. Fields of cases are so small that what is compressed has the compact form of
version 9; it must stand for golden/NAME.szg, and for the cases of COMPACT be golden/compact/NAME.szg,
which all decoders must restore to the same values. An archive of a version before 8 has no limits: if those are all that the new
one has in addition, it is compared without them, and all decoders must restore it alike. All of
them must read the archives printed on that page alike. sizes.csv lists the sizes, so that a change
of ratio is a visible diff. Archives with zstd sections are only read, because their bytes depend on
the version of libzstd; so are those of ONLY_READ. --update rewrites the files, but not those that
differ in limits alone, which is a change of format: docs/format.md, src/container/format.h and
CHANGELOG.md change with it.
"""
import json
import os
import re
import runpy
import struct
import subprocess
import sys
import tempfile

import numpy as np

from compact_from_docs import plain, xxh3

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")


def waves(shape, seed):
    """Smooth and rough parts, multiples of 2^-10: exact in f32 and f64."""
    index = np.indices(shape, dtype=np.int64)
    total = np.zeros(shape, np.int64)
    for axis, i in enumerate(index):
        phase = (i * (37 + 11 * axis) + seed * 101) % 512
        total += np.minimum(phase, 512 - phase) * (40 - 9 * axis)
    flat = np.arange(total.size, dtype=np.int64).reshape(shape)
    noise = ((flat * 1103515245 + seed * 12345) >> 7) % 97 - 48
    return (total + noise).astype(np.float64) / 1024


def smooth(shape, seed):
    """Bumps without corners: products of parabolas that turn over, all of them exact in f32."""
    total = np.zeros(shape, np.int64)
    for axis, i in enumerate(np.indices(shape, dtype=np.int64)):
        width = 23 + 6 * axis + seed % 7
        place = (i * 3 + seed * 5) % (2 * width) - width
        side = np.where((i * 3 + seed * 5) // (2 * width) % 2 == 0, 1, -1)
        total += side * (width * width - place * place) * 16
    return (total.astype(np.float64) / 1024).astype(np.float32)


def swell(shape, seed):
    """Waves along the axes and across them all, of Euler's polynomials of degree 4: very smooth."""
    index = np.indices(shape, dtype=np.int64)
    total = np.zeros(shape, np.int64)
    for wave, i in enumerate([*index, sum(index)]):
        width = 29 + 7 * wave + seed % 5
        place = (i * 3 + seed * 5) % (2 * width) - width
        side = np.where((i * 3 + seed * 5) // (2 * width) % 2 == 0, 1, -1)
        total += side * (width**2 - place**2) * (5 * width**2 - place**2)
    return (total.astype(np.float64) / 2**20).astype(np.float32)


def with_specials(field):
    """NaNs of two kinds, infinities, -0, a denormal and an outlier, at fixed places."""
    flat = field.reshape(-1)
    tiny = np.finfo(field.dtype).smallest_subnormal
    for place, value in ((3, np.inf), (40, -np.inf), (77, -0.0), (78, tiny), (150, 3e11)):
        flat[place] = value
    bits = flat.view(np.uint32 if field.dtype == np.float32 else np.uint64)
    bits[200] = np.array(np.nan, field.dtype).view(bits.dtype) | bits.dtype.type(5)
    return field


def with_no_numbers(field):
    field.reshape(-1)[[3, 40, 77, 200]] = np.inf, -np.inf, -np.inf, np.nan
    return field


def with_fill(field, fill):
    """A coast: the fill value in a slanted half."""
    index = np.indices(field.shape, dtype=np.int64)
    field[(sum(index) * 7 + index[-1] * 5) % 61 < 25] = fill
    return field


def with_lake(field, fill):
    """The fill value at all places near the middle."""
    index = np.indices(field.shape, dtype=np.int64)
    field[sum((i - n // 2) ** 2 for i, n in zip(index, field.shape)) < 60] = fill
    return field


def with_fills(field, *fills):
    """Islands of each fill value; the last one lies alone."""
    index = np.indices(field.shape, dtype=np.int64)
    places = (sum(index) * 7 + index[-1] * 5) // 3 % 41
    for i, fill in enumerate(fills[:-1]):
        field[(places > 9 * i + 2) & (places < 9 * i + 7)] = fill
    field.reshape(-1)[[5, field.size // 2, field.size - 2]] = fills[-1]
    return field


def walk(shape):
    """From value to value, whatever the axes; multiples of 2^-40."""
    steps = np.arange(int(np.prod(shape)), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (((steps >> np.uint64(24)).astype(np.float64) - 2.0**39) / 2.0**40).cumsum().reshape(shape)


def noise(shape, dtype):
    words = np.arange(int(np.prod(shape)), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mantissa = (words >> np.uint64(12)).astype(np.float64) / 2.0**52
    return (mantissa + 1.0).astype(dtype).reshape(shape)


def steps(shape, seed):
    """Plateaus: whole tiles and lanes with deltas 0 only."""
    return np.floor(waves(shape, seed) / 8) * 8


def sparse(shape, seed):
    """Lone spikes on a plane."""
    flat = np.arange(int(np.prod(shape)), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    hashed = (flat + np.uint64(seed)) >> np.uint64(40)
    return np.where(hashed % np.uint64(61) == 0, hashed % np.uint64(7), 0).astype(f64).reshape(shape)


def off_grid(field):
    """The same, each value up to 2^-12 above its multiple of 2^-10."""
    more = (hashed(field.size, 7) >> np.uint64(12)).astype(f64).reshape(field.shape) / 2.0**64
    return (field + more).astype(field.dtype)


def numbers(shape, seed):
    """Whole numbers, up to a few hundred."""
    return np.floor(waves(shape, seed) * 16)


def rain(shape, seed, of=waves):
    """Nothing is below 0, and much is 0, of either sign."""
    field = of(shape, seed)
    dry = np.floor(field) % 2 == 0
    return np.where(field > field.mean(), field - field.mean(), np.where(dry, 0.0, -0.0)).astype(
        field.dtype)


def burst(shape, seed):
    """Many small tiles, and noise in one that encoders do not count for the codebook: they count
    every other one of 512 tiles."""
    field = np.floor(waves(shape, seed) / 4) * 4
    field[2] = noise(shape[1:], f64) * 200
    return field


def lone_peak(unit, height):
    """Noise in 512 tiles; one that is not counted has a value far off, with deltas that escape."""
    field = (np.arange(512 * 20, dtype=np.int64) * 1103515245 >> 7) % 7 * unit
    field[256 * 20] = height
    return field.reshape(512, 2, 2, 5)


def hashed(count, seed):
    """Pseudorandom words of 64 bits."""
    words = np.arange(count, dtype=np.uint64) + np.uint64(seed << 32)
    words = words * np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return words ^ words >> np.uint64(31)


def halving(count, most, seed):
    """Random numbers: 0 in half of the cases, 1 in half of the others, and so on to `most`."""
    words = hashed(count, seed)
    return sum((words % np.uint64(2**k) == 0).astype(np.uint64) for k in range(1, most + 1))


def weights(count, dtype, exponent_bits, seed):
    """Bits of floats with few exponents: every mantissa, both signs."""
    mantissa_bits = 8 * np.dtype(dtype).itemsize - 1 - exponent_bits
    words = hashed(count, seed + 1) >> np.uint64(64 - 1 - mantissa_bits)
    sign, mantissa = words >> np.uint64(mantissa_bits), words % np.uint64(2**mantissa_bits)
    exponent = np.uint64(2**(exponent_bits - 1) - 3) - halving(count, 5, seed)
    bits = (sign << np.uint64(exponent_bits) | exponent) << np.uint64(mantissa_bits) | mantissa
    return bits.astype(dtype)


def fibonacci(count, seed):
    """Symbols with Fibonacci numbers as counts, which give the longest codes."""
    numbers = [1, 1]
    while len(numbers) < count:
        numbers.append(numbers[-1] + numbers[-2])
    symbols = np.repeat(np.arange(116, 116 + count, dtype=u8), numbers)
    return symbols[np.argsort(hashed(len(symbols), seed), kind="stable")]


def parts(*arrays):
    """Bytes of several kinds, one after the other."""
    return np.concatenate([np.ascontiguousarray(array).view(u8) for array in arrays])


f32, f64, u8, u16, u32 = np.float32, np.float64, np.uint8, np.uint16, np.uint32
CASES = {  # name: field, options
    "one_value": (lambda: np.array([2.5], f32), "-e 1e-3"),
    "row_f32": (lambda: waves((9001,), 1).astype(f32), "-e 1e-3"),
    "plane_f32": (lambda: waves((70, 131), 2).astype(f32), "-e 1e-2"),
    "box_f32": (lambda: waves((19, 21, 37), 3).astype(f32), "-e 1e-4"),
    "box_f64": (lambda: waves((19, 21, 37), 4), "-e 1e-5"),
    "batch_f32": (lambda: waves((3, 5, 9, 33), 5).astype(f32), "-m abs -e 0.01"),
    "unit_dims_f64": (lambda: waves((1, 33, 1, 65), 6), "-e 1e-3"),
    "frames_f32": (lambda: waves((40, 9, 34), 7).astype(f32), "-e 1e-3 --frame 16"),
    "batch_frames_f32": (lambda: waves((5, 3, 9, 33), 8).astype(f32), "-e 1e-3 --frame 2"),
    "specials_f32": (lambda: with_specials(waves((20, 9, 35), 9).astype(f32)), "-m abs -e 0.05"),
    "specials_f64": (lambda: with_specials(waves((20, 9, 35), 10)), "-m abs -e 0.05"),
    "fill_3d_f32": (lambda: with_fill(waves((18, 17, 40), 11).astype(f32), 1e20), "-e 1e-3"),
    "fill_thin_f32": (lambda: with_fill(waves((17, 9, 40), 42).astype(f32), 1e20), "-e 1e-3"),
    "fill_2d_f64": (lambda: with_fill(waves((70, 90), 12), np.nan), "-e 1e-3"),
    "fill_named_f32": (lambda: with_fill(waves((5000,), 13).astype(f32), -9999),
                       "-e 1e-3 --fill -9999"),
    "close_f32": (lambda: (waves((17, 9, 33), 14) + 4096).astype(f32), "-m abs -e 0.0006"),
    "wide_f64": (lambda: waves((17, 9, 33), 15), "-m abs -e 1e-11"),
    "large_radius_f32": (lambda: waves((12000,), 16).astype(f32), "-e 1e-5"),
    "psnr_f32": (lambda: waves((33, 65), 17).astype(f32), "-m psnr -e 70"),
    "constant_f32": (lambda: np.full((7, 8, 9), -3.25, f32), "-e 1e-3"),
    "constant_nan_f64": (lambda: with_specials(np.full((300,), 1e300))[:75], "-e 1e-3"),
    "raw_f32": (lambda: noise((50, 41), f32), "-m abs -e 1e-9"),
    "raw_f64": (lambda: noise((50, 41), f64), "-m abs -e 1e-18"),
    "zstd_f32": (lambda: np.floor(waves((40, 30, 64), 18)).astype(f32), "-e 5e-2 --zstd"),
    # The tile layout.
    "tile_one_value": (lambda: np.array([2.5], f32), "-e 1e-3"),
    "tile_row_f32": (lambda: waves((9001,), 21).astype(f32), "-e 1e-3"),
    "tile_row_f64": (lambda: waves((5003,), 22), "-e 1e-6"),
    "tile_plane_f32": (lambda: waves((70, 131), 23).astype(f32), "-e 1e-2"),
    "tile_plane_f64": (lambda: waves((66, 97), 24), "-e 1e-7"),
    "tile_box_f32": (lambda: waves((19, 21, 37), 25).astype(f32), "-e 1e-4"),
    "tile_box_f64": (lambda: waves((19, 21, 37), 26), "-e 1e-5"),
    "tile_batch_f32": (lambda: waves((3, 5, 9, 33), 27).astype(f32), "-m abs -e 0.01"),
    "tile_frames_f32": (lambda: waves((40, 9, 34), 28).astype(f32), "-e 1e-3 --frame 16"),
    "tile_specials_f32": (lambda: with_specials(waves((20, 9, 35), 29).astype(f32)),
                          "-m abs -e 0.05"),
    "tile_specials_f64": (lambda: with_specials(waves((20, 9, 35), 30)), "-m abs -e 0.05"),
    "tile_fill_3d_f32": (lambda: with_fill(waves((18, 17, 40), 31).astype(f32), 1e20), "-e 1e-3"),
    "tile_fill_thin_f32": (lambda: with_fill(waves((17, 9, 40), 43).astype(f32), 1e20), "-e 1e-3"),
    "tile_fill_2d_f64": (lambda: with_fill(waves((70, 90), 32), np.nan), "-e 1e-3"),
    "tile_fill_named_f32": (lambda: with_fill(waves((5000,), 33).astype(f32), -9999),
                            "-e 1e-3 --fill -9999"),
    "tile_close_f32": (lambda: (waves((17, 9, 33), 34) + 4096).astype(f32), "-m abs -e 0.0006"),
    "tile_wide_f64": (lambda: waves((17, 9, 33), 35), "-m abs -e 1e-11"),
    "tile_groups_4_f32": (lambda: steps((20, 17, 40), 36).astype(f32), "-e 1e-3"),
    "tile_groups_8_f32": (lambda: sparse((33, 12, 40), 37).astype(f32), "-e 1e-3"),
    "tile_groups_8_f64": (lambda: sparse((9001,), 38), "-e 1e-4"),
    "tile_raw_tile_f32": (lambda: burst((512, 2, 2, 5), 39).astype(f32), "-m abs -e 5e-4"),
    "tile_raw_tile_f64": (lambda: burst((512, 2, 2, 5), 40), "-m abs -e 1e-11"),
    "tile_escape_f32": (lambda: lone_peak(1.0, 65536.0).astype(f32), "-m abs -e 0.5"),
    "tile_escape_f64": (lambda: lone_peak(2.0**-10, 2.0**23), "-m abs -e 0.0005"),
    "tile_constant_f32": (lambda: np.full((7, 8, 9), -3.25, f32), "-e 1e-3"),
    "tile_raw_f32": (lambda: noise((50, 41), f32), "-m abs -e 1e-9"),
    "tile_zstd_f32": (lambda: np.floor(waves((20, 30, 64), 41)).astype(f32), "-e 5e-2 --zstd"),
    # The linear layout without gap arrays.
    "linear_no_gap_box_f32": (lambda: waves((19, 21, 37), 44).astype(f32), "-e 1e-4 --no-gap"),
    "linear_no_gap_specials_f64": (lambda: with_specials(waves((20, 9, 35), 45)),
                                   "-m abs -e 0.05 --no-gap"),
    "linear_no_gap_fill_frames_f32": (lambda: with_fill(waves((40, 9, 34), 46).astype(f32), 1e20),
                                      "-e 1e-3 --frame 16 --no-gap"),
    "linear_no_gap_one_symbol_f32": (lambda: (np.arange(5000) % 2).astype(f32),
                                     "-m abs -e 10 --no-gap"),
    # Lossless.
    "lossless_bf16": (lambda: weights(9001, u16, 8, 50), "-t bf16"),
    "lossless_f16": (lambda: weights(70 * 131, u16, 5, 51).reshape(70, 131), "-t f16"),
    "lossless_fp8": (lambda: weights(5003, u8, 4, 52), "-t fp8"),
    "lossless_f32": (lambda: waves((19, 21, 37), 53).astype(f32), ""),
    "lossless_f64": (lambda: waves((17, 9, 33), 54), ""),
    "lossless_specials_f64": (lambda: with_specials(waves((20, 9, 35), 55)), ""),
    "lossless_batch_frames_f16": (lambda: weights(5 * 3 * 9 * 33, u16, 5, 56).reshape(5, 3, 9, 33),
                                  "-t f16 --frame 2"),
    "lossless_u8": (lambda: (halving(9000, 5, 57) * np.uint64(37)).astype(u8), "-t u8"),
    "lossless_limit_u8": (lambda: halving(30000, 20, 58).astype(u8), "-t u8"),  # 12 bits bite
    "lossless_u8_of_2": (lambda: parts(weights(9000, u16, 8, 59)), "-t u8"),
    "lossless_u8_of_4": (lambda: parts(weights(3000, u32, 8, 60)), "-t u8"),
    "lossless_u8_of_8": (lambda: parts(waves((1500,), 61)), "-t u8"),
    "lossless_u8_frames": (lambda: parts(weights(4096, u16, 8, 62), halving(8192, 4, 63).astype(u8),
                                         hashed(100, 64)), "-t u8 --frame 8192"),
    "lossless_raw_u8": (lambda: parts(hashed(100, 65))[:777], "-t u8"),
    "lossless_raw_f32": (lambda: hashed(999, 66).astype(u32), "-t f32"),
    "lossless_stored_f32": (lambda: noise((50, 41), f32), ""),  # and a constant exponent
    "lossless_constant_f64": (lambda: np.full((7, 8, 9), -3.25), ""),
    "lossless_empty_file": (lambda: np.zeros(0, u8), "-t u8"),
    "lossless_one_value": (lambda: np.array([2.5], f32), ""),
    "tile_exact_f32": (lambda: noise((50, 41), f32), "-m abs -e 1e-9"),  # a bound, but lossless
    "tile_exact_frames_f64": (lambda: np.concatenate([waves((64, 41), 69), noise((64, 41), f64)]),
                              "-m abs -e 1e-18 --frame 64"),
    "tile_raw_bits_f32": (lambda: hashed(999, 70).astype(u32).view(f32), "-m abs -e 1e-40"),
    # Lossless, linear layout.
    "top_plane_bf16": (lambda: weights(9001, u16, 8, 71), "-t bf16"),
    "top_plane_u8": (lambda: (halving(40000, 5, 72) * np.uint64(37)).astype(u8), "-t u8"),
    "top_plane_limit_u8": (lambda: fibonacci(22, 73), "-t u8"),  # 16 bits bite
    "top_plane_fp8": (lambda: weights(5003, u8, 4, 74), "-t fp8"),
    "top_plane_f16": (lambda: weights(70 * 131, u16, 5, 75).reshape(70, 131), "-t f16 --no-gap"),
    "top_plane_f32": (lambda: waves((19, 21, 37), 76).astype(f32), ""),
    "top_plane_specials_f64": (lambda: with_specials(waves((20, 9, 35), 77)), ""),
    "top_plane_batch_frames_f16": (lambda: weights(5 * 3 * 9 * 33, u16, 5, 78).reshape(5, 3, 9, 33),
                                   "-t f16 --frame 2"),
    "top_plane_frames_u8": (lambda: parts(hashed(1024, 79), halving(8192, 4, 80).astype(u8),
                                          hashed(3, 81)), "-t u8 --frame 8192 --no-gap"),
    "top_plane_one_symbol_f32": (lambda: noise((50, 41), f32), ""),
    "top_plane_raw_bf16": (lambda: hashed(999, 82).astype(u16), "-t bf16"),
    "top_plane_one_value": (lambda: np.array([2.5], f32), ""),
    "top_plane_zstd_bf16": (lambda: np.repeat(weights(300, u16, 8, 83), 30), "-t bf16 --zstd"),
    "lossless_zstd_bf16": (lambda: np.repeat(weights(300, u16, 8, 67), 30), "-t bf16 --zstd"),
    "levels_1d_f32": (lambda: smooth((9001,), 90), "-m abs -e 0.01"),
    "levels_1d_linear_f64": (lambda: np.repeat(waves((150,), 91), 33), "-m abs -e 0.5"),
    "levels_fold_f32": (lambda: np.tile(waves((70,), 92), 131)[:9111].astype(f32) +
                        smooth((9111,), 93), "-m abs -e 0.01"),
    "levels_2d_f32": (lambda: smooth((131, 97), 94), "-m abs -e 0.002"),
    "levels_2d_dense_f32": (lambda: waves((67, 129), 95).astype(f32), "-e 1e-3"),
    "levels_3d_f32": (lambda: smooth((35, 41, 70), 96), "-m abs -e 0.01"),
    "levels_3d_sparse_f32": (lambda: smooth((49, 33, 130), 97), "-e 1e-2"),
    "levels_3d_f64": (lambda: smooth((18, 17, 67), 98).astype(f64), "-m psnr -e 90"),
    "levels_wide_f64": (lambda: smooth((17, 40, 33), 99).astype(f64), "-m abs -e 1e-9"),
    "levels_wide_f32": (lambda: smooth((17, 40, 33), 100), "-m abs -e 1e-6"),
    "levels_planes_f32": (lambda: np.concatenate([smooth((1, 45, 77), 101 + 7 * i)
                                                  for i in range(9)]), "-m abs -e 0.01"),
    "levels_batch_f32": (lambda: smooth((3, 9, 20, 37), 102), "-m abs -e 0.01 --frame 2"),
    "levels_specials_f32": (lambda: with_specials(smooth((19, 22, 41), 103)), "-m abs -e 0.01"),
    "levels_fill_f32": (lambda: with_fill(smooth((33, 40, 50), 104), f32(-9999)),
                        "-m abs -e 0.01 --fill -9999"),
    "levels_frames_f64": (lambda: smooth((50, 20, 66), 105).astype(f64), "-e 1e-4 --frame 16"),
    "levels_differences_f32": (lambda: np.repeat(np.repeat(waves((20, 30), 106), 9, 0), 7, 1)
                               .astype(f32), "-m abs -e 0.3 --predictor auto"),
    "levels_zeros_f32": (lambda: smooth((64, 64), 107), "-m abs -e 20"),
    # Bounds relative to each value.
    "row_pwrel_f32": (lambda: (waves((9001,), 130) - 9).astype(f32), "-m pwrel -e 1e-2"),
    "tile_pwrel_f32": (lambda: (waves((66, 97), 131) - 20).astype(f32) ** 3, "-m pwrel -e 1e-3"),
    "tile_pwrel_f64": (lambda: (waves((19, 21, 37), 132) - 25) ** 5, "-m pwrel -e 1e-4"),
    "tile_pwrel_close_f32": (lambda: with_specials((waves((70, 67), 133) - 9).astype(f32)),
                             "-m pwrel -e 1e-6"),
    "tile_pwrel_specials_f64": (lambda: with_specials(waves((20, 9, 35), 134) - 25),
                                "-m pwrel -e 1e-3 --frame 16"),
    "tile_pwrel_fill_f32": (lambda: with_fill(np.maximum(waves((70, 90), 135) - 9, 0).astype(f32),
                                              f32(-9999)), "-m pwrel -e 1e-2 --fill -9999"),
    "tile_pwrel_exact_f32": (lambda: hashed(999, 136).astype(u32).view(f32), "-m pwrel -e 1e-8"),
    "levels_pwrel_f32": (lambda: smooth((35, 41, 70), 137), "-m pwrel -e 1e-2"),
    "levels_pwrel_known_f64": (lambda: with_fill(smooth((33, 40, 50), 138).astype(f64), 1e20),
                               "-m pwrel -e 1e-3"),
    "levels_pwrel_negative_f32": (lambda: -np.abs(smooth((131, 97), 139)) - f32(1),
                                  "-m pwrel -e 1e-2"),
    # Halves and integers.
    "row_u8": (lambda: np.rint(waves((9001,), 110) * 6 + 90).astype(u8), "-m abs -e 2 -t u8"),
    "fill_i16": (lambda: with_fill(np.rint(waves((70, 90), 111) * 300).astype(np.int16), -32768),
                 "-e 1e-2 --fill -32768 -t i16"),
    "tile_u16": (lambda: np.rint(waves((19, 21, 37), 112) * 40 + 900).astype(u16),
                 "-m abs -e 3.7 -t u16"),
    "tile_i32": (lambda: np.rint(waves((66, 97), 113) * 1e7).astype(np.int32),
                 "-m abs -e 1000 -t i32"),
    "tile_i32_wide": (lambda: np.rint(waves((66, 97), 114) * 1.2e8).astype(np.int32),
                      "-m abs -e 0.5 -t i32"),
    "tile_i8_fill": (lambda: with_fill(np.rint(waves((18, 17, 40), 115)).astype(np.int8), -128),
                     "-m abs -e 1 --fill -128 -t i8"),
    "tile_bf16": (lambda: (with_specials(waves((20, 9, 35), 116).astype(f32)).view(u32) >> 16)
                  .astype(u16), "-m abs -e 0.5 -t bf16"),
    "tile_patterns_f16": (lambda: np.arange(65536).astype(u16), "-m abs -e 1000 -t f16"),
    "tile_exact_u8": (lambda: parts(hashed(1000, 117), halving(8192, 4, 118).astype(u8)),
                      "-m abs -e 0.4 -t u8 --frame 4096"),
    "tile_constant_f16": (lambda: np.full((7, 8, 9), 0x3C01, u16), "-e 1e-3 -t f16"),
    "levels_i16": (lambda: np.rint(smooth((35, 41, 70), 119) * 20).astype(np.int16),
                   "-m abs -e 4 -t i16"),
    "levels_u16_frames": (lambda: np.rint(smooth((70, 40, 66), 120) * 90 + 2000).astype(u16),
                          "-m psnr -e 50 --frame 32 -t u16"),
    "levels_f16": (lambda: smooth((49, 33, 130), 121).astype(np.float16).view(u16),
                   "-e 2e-3 -t f16"),
    "levels_bf16": (lambda: (smooth((131, 97), 122).view(u32) >> 16).astype(u16),
                    "-m abs -e 0.2 -t bf16"),
    "levels_i32": (lambda: np.rint(smooth((18, 17, 67), 123) * 1e5).astype(np.int32),
                   "-m abs -e 500 -t i32"),
    "lossless_i8": (lambda: (halving(9000, 5, 124) * np.uint64(37)).astype(u8), "-t i8"),
    "lossless_u16": (lambda: weights(9001, u16, 8, 125), "-t u16"),
    "lossless_i16_frames": (lambda: np.rint(waves((70, 131), 126) * 300).astype(np.int16),
                            "-t i16 --frame 64"),
    "lossless_i32": (lambda: np.rint(waves((19, 21, 37), 127) * 1e5).astype(np.int32), "-t i32"),
    "top_plane_i32": (lambda: np.rint(waves((19, 21, 37), 128) * 1e5).astype(np.int32), "-t i32"),
    "levels_zstd_f32": (lambda: np.tile(smooth((10, 40, 70), 108), (4, 1, 1)),
                        "-m abs -e 0.001 --zstd"),
    # Limits: restored values would leave the field's range without them.
    "linear_limits_f32": (lambda: rain((19, 21, 37), 150).astype(f32), "-m psnr -e 40"),
    "linear_limits_wide_f64": (lambda: waves((5003,), 151), "-e 1e-12 --no-gap"),
    "tile_limits_f32": (lambda: (rain((18, 17, 40), 152) + 3).astype(f32), "-e 2e-2"),
    "tile_limits_f64": (lambda: -1 - rain((66, 97), 153), "-e 3e-2"),
    "tile_limits_close_f32": (lambda: (rain((17, 9, 33), 154) + 4096).astype(f32), "-e 1.3e-4"),
    "tile_limits_wide_f64": (lambda: rain((17, 9, 33), 155) + 0.1, "-e 1e-12"),
    "tile_limits_zeros_f32": (lambda: (waves((70, 131), 156) + 5).astype(f32), "-e 3"),
    "tile_limits_outside_f32": (lambda: with_no_numbers(with_fill(
        (rain((32, 9, 35), 157) + 3).astype(f32), -9999)), "-e 2e-2 --fill -9999 --frame 16"),
    "tile_limits_i16": (lambda: np.rint(rain((70, 131), 158) * 300 + 77).astype(np.int16),
                        "-e 1e-2 -t i16"),
    "levels_limits_f32": (lambda: rain((20, 21, 40), 159, smooth), "-e 2e-2"),
    "levels_limits_f64": (lambda: -rain((67, 129), 160, smooth).astype(f64), "-e 2e-2"),
    "levels_limits_wide_f32": (lambda: rain((17, 20, 33), 161, smooth) + f32(3), "-e 1e-6"),
    "levels_limits_wide_f64": (lambda: rain((17, 20, 33), 162, smooth).astype(f64) + 0.1,
                              "-e 1e-10"),
    "levels_limits_frames_f16": (lambda: rain((34, 17, 40), 163, smooth).astype(np.float16)
                                 .view(u16), "-e 1e-2 -t f16 --frame 16"),
    "levels_limits_u8": (lambda: np.rint(rain((9001,), 164, smooth) * 4).astype(u8),
                         "-e 5e-2 -t u8"),
    # Several fill values.
    "linear_fills_f32": (lambda: with_fills(waves((19, 21, 37), 170).astype(f32), -999, 7e8),
                         "-e 1e-2 --fill -999,7e8"),
    "tile_fills_f32": (lambda: with_fills(waves((32, 9, 35), 171).astype(f32), -999, -888, 5e5, -1),
                       "-e 1e-3 --fill -999,-888,5e5,-1 --frame 16"),
    "tile_fills_known_f64": (lambda: with_fills(waves((66, 97), 172), 1e20, -9999),
                             "-e 1e-3 --fill 1e20,-9999"),
    "tile_fills_constant_f32": (lambda: with_fills(np.full((70, 131), 4, f32), -999, 99, -888),
                                "-e 1e-3 --fill -999,99,-888"),
    "tile_fills_pwrel_f32": (lambda: with_fills(waves((20, 21, 40), 173).astype(f32), -999, 1e20),
                             "-m pwrel -e 1e-2 --fill -999,1e20"),
    "levels_fills_f32": (lambda: with_fills(smooth((20, 21, 40), 174), -999, -888, np.nan),
                         "-e 1e-3 --fill -999,-888,nan"),
    "levels_fills_i16": (lambda: with_fills(np.rint(smooth((70, 131), 175) * 900).astype(np.int16),
                                            -32768, 32767), "-m abs -e 3 -t i16 --fill -32768,32767"),
    # What only containers ask for (SZGPU_KEEP_ALL); their codec of numcodecs wrote these.
    "tile_pwrel_limits_f32": (lambda: (waves((20, 21, 40), 176) - 60).astype(f32), "-m pwrel -e 0.2"),
    "levels_pwrel_limits_f64": (lambda: smooth((20, 21, 40), 177).astype(f64) + 9,
                                "-m pwrel -e 1e-3"),
    "tile_restored_f32": (lambda: with_fills(waves((66, 97), 178).astype(f32), -999, -888),
                          "-m abs -e 0.01"),
    "levels_restored_f64": (lambda: smooth((20, 21, 40), 179).astype(f64), "-m abs -e 1e-4"),
    # Planes frames in archives with a bound: beside levels frames, and of the dtype's bits.
    "levels_exact_frames_f32": (lambda: np.concatenate([smooth((16, 20, 33), 140),
                                                        noise((16, 20, 33), f32) * f32(1e20)]),
                                "-m abs -e 0.01 --frame 16"),
    "tile_exact_bf16": (lambda: weights(9001, u16, 8, 141), "-m abs -e 1e-30 -t bf16"),
    "tile_pwrel_exact_f64": (lambda: weights(5003, np.uint64, 11, 142).view(f64),
                             "-m pwrel -e 1e-13"),
    "tile_raster_f32": (lambda: (numbers((19, 21, 37), 161) / 100).astype(f32), "-m abs -e 1e-4"),
    "tile_raster_odd_f32": (lambda: numbers((70, 131), 162).astype(f32), "-m abs -e 1"),
    "tile_raster_parts_f64": (lambda: numbers((19, 21, 37), 163) / 50 + 0.01, "-m abs -e 1e-4"),
    "tile_raster_shifted_f32": (lambda: (numbers((9001,), 164) / 20 + 273.17).astype(f32),
                                "-m abs -e 2e-3"),
    "tile_raster_i16": (lambda: (12 * numbers((40, 9, 34), 165)).astype(np.int16),
                        "-m abs -e 2 -t i16 --frame 16"),
    "tile_raster_fill_f64": (lambda: with_fill(with_specials(numbers((40, 9, 34), 166)), 1e20),
                             "-m abs -e 1e-3"),
    "levels_raster_auto_f32": (lambda: numbers((40, 9, 34), 167).astype(f32),
                               "-e 1e-5 --predictor auto"),
    "linear_raster_f64": (lambda: numbers((66, 97), 168) / 8, "-m psnr -e 90 --no-gap"),
}
# Archives of versions before 1.1: their fields are multiples of 2^-10, which is their step now. The
# fields of the cases *_off_* are not.
BEFORE_RASTERS = ["box_f32", "box_f64", "wide_f64", "large_radius_f32", "tile_row_f64",
                  "tile_plane_f64", "tile_box_f32", "tile_box_f64", "tile_wide_f64",
                  "tile_groups_4_f32", "tile_groups_8_f32", "tile_groups_8_f64",
                  "linear_no_gap_box_f32", "linear_limits_wide_f64"]


def case_off_grid(name):
    field, options = CASES[name]
    kind, dtype = name.rsplit("_", 1)
    return f"{kind}_off_{dtype}", (lambda: off_grid(field()), options)


CASES.update(case_off_grid(name) for name in BEFORE_RASTERS)
# Lines of format versions before 10, whose bases are differences.
BEFORE_HALVES = ["levels_1d_f32", "levels_1d_linear_f64", "levels_fold_f32"]
CASES.update((name.replace("levels_", "levels_halved_"), CASES[name]) for name in BEFORE_HALVES)
# Frames of format versions before 12, whose points of several odd axes have no blended predictions.
BEFORE_BLENDS = ["levels_2d_f32", "levels_2d_dense_f32", "levels_3d_f32", "levels_3d_sparse_f32",
                 "levels_3d_f64", "levels_wide_f64", "levels_planes_f32", "levels_batch_f32",
                 "levels_specials_f32", "levels_frames_f64", "levels_pwrel_f32", "levels_i16",
                 "levels_f16", "levels_bf16", "levels_i32", "levels_limits_f32",
                 "levels_limits_wide_f32", "levels_limits_wide_f64", "levels_fills_i16",
                 "levels_exact_frames_f32"]
# Their new forms. Of those that are left out there are smaller ones below.
LARGE = ["levels_3d_f32", "levels_3d_sparse_f32", "levels_frames_f64", "levels_pwrel_f32",
         "levels_f16"]
CASES.update((name.replace("levels_", "levels_blended_"), CASES[name]) for name in BEFORE_BLENDS
             if name not in LARGE)
CASES.update({
    "levels_blended_large_u8": (lambda: np.rint(smooth((50, 70, 78), 180) * 2 + 128).astype(u8),
                                "-m abs -e 2 -t u8"),  # too large for the compact form
    "levels_blended_joined_f32": (lambda: smooth((24, 20, 40), 181).reshape(24, 20, 20, 2),
                                  "-m abs -e 0.002"),
    "levels_blended_fold_f32": (lambda: smooth((131, 97), 182).ravel()[:-40], "-m abs -e 0.5"),
    "levels_blended_linear_3d_f32": (lambda: waves((18, 17, 70), 201).astype(f32),
                                     "-m abs -e 0.05"),
    # Blended and quintic.
    "levels_quintic_2d_f32": (lambda: swell((67, 97), 190), "-m abs -e 0.002"),
    "levels_quintic_2d_low_f32": (lambda: swell((3, 167), 190), "-m abs -e 0.0005"),
    "levels_quintic_2d_thin_f32": (lambda: swell((167, 6), 192), "-m abs -e 0.002"),
    "levels_quintic_odd_f32": (lambda: swell((17, 21, 69), 191), "-m abs -e 0.002"),
    "levels_quintic_even_f32": (lambda: swell((18, 20, 66), 190), "-m abs -e 0.0005"),
    "levels_quintic_low_f32": (lambda: swell((40, 3, 67), 190), "-m abs -e 0.0005"),
    "levels_quintic_flat_f32": (lambda: swell((1, 40, 67), 190) * (
        f32(1) + f32(0.125) * np.arange(4, dtype=f32).reshape(4, 1, 1)), "-m abs -e 0.0005"),
    "levels_quintic_thin_f32": (lambda: swell((40, 30, 5), 192), "-m abs -e 0.002"),
    "levels_quintic_f64": (lambda: swell((18, 17, 37), 192).astype(f64), "-m abs -e 1e-4"),
    "levels_quintic_wide_f64": (lambda: swell((17, 20, 33), 193).astype(f64), "-m abs -e 1e-6"),
    "levels_quintic_wide_f32": (lambda: swell((17, 20, 33), 190), "-m abs -e 1e-5"),
    "levels_quintic_fill_f32": (lambda: with_lake(swell((20, 21, 40), 190), f32(-9999)),
                                "-m abs -e 0.01 --fill -9999"),
    "levels_quintic_fills_f32": (lambda: with_fills(swell((67, 97), 190), -999, -888, np.nan),
                                 "-m abs -e 0.001 --fill -999,-888,nan"),
    "levels_quintic_pwrel_f32": (lambda: swell((20, 21, 40), 197) + f32(30), "-m pwrel -e 1e-4"),
    "levels_quintic_frames_f32": (lambda: swell((35, 18, 37), 190),  # and a blended cubic one
                                  "-m abs -e 0.001 --frame 16"),
    "levels_quintic_waves_f32": (lambda: np.concatenate(  # and others
        [swell((64, 37), 190), (waves((66, 37), 190) / 8).astype(f32)]),
                                 "-m abs -e 0.001 --frame 64"),
})
# Axes of few values, which are joined with their neighbours.
CASES["joined_f32"] = (lambda: walk((1100, 2, 1, 4)).astype(f32), "-m abs -e 0.05")
CASES["joined_f64"] = (lambda: walk((2, 2100, 3)), "-m rel -e 1e-4")
# Planes frames as encoders wrote them up to format version 6: words before stored planes.
OLD_WORDS = {name.replace("_", f"_v{version}_", 1): name for version, names in {
    3: ["lossless_bf16", "lossless_fp8", "lossless_f32", "lossless_specials_f64",
        "lossless_batch_frames_f16", "lossless_u8_frames", "lossless_u8_of_4",
        "lossless_stored_f32", "lossless_zstd_bf16", "tile_exact_frames_f64"],
    6: ["lossless_i16_frames", "lossless_i8"]}.items() for name in names}
CASES.update((old, CASES[name]) for old, name in OLD_WORDS.items())

# The command does not write these. Encoders since version 3 write planes frames instead of the first.
ONLY_READ = ["tile_raw_f32", "tile_pwrel_limits_f32", "levels_pwrel_limits_f64",
             "tile_restored_f32", "levels_restored_f64", *BEFORE_RASTERS, *BEFORE_HALVES,
             *BEFORE_BLENDS, *OLD_WORDS]
# Of all kinds of frame, with and without outliers, books and zstd.
COMPACT = ["constant_f32", "linear_limits_f32", "linear_fills_f32", "tile_box_off_f32",
           "tile_exact_bf16", "tile_pwrel_exact_f64", "tile_limits_f64",
           "tile_fills_constant_f32", "tile_fills_pwrel_f32", "levels_halved_1d_f32", "levels_2d_f32",
           "levels_3d_f32", "levels_3d_f64", "levels_fills_i16", "levels_halved_fold_f32",
           "levels_blended_2d_f32", "levels_blended_2d_dense_f32", "levels_blended_3d_f64",
           "levels_blended_fills_i16", "levels_blended_joined_f32", "levels_blended_fold_f32",
           "levels_quintic_2d_f32", "levels_quintic_odd_f32", "levels_quintic_wide_f64",
           "levels_quintic_fill_f32",
           "levels_limits_f64", "joined_f32", "lossless_bf16", "lossless_stored_f32", "top_plane_bf16"]
SUFFIXES = {np.dtype(f32): ".f32", np.dtype(f64): ".f64"}  # -t gives the other types


def mode_of(name):
    """The options for the kind of archive that a case has."""
    if name.startswith("lossless_"):
        return ["-m", "lossless"]
    if name.startswith("top_plane_"):
        return ["-m", "lossless", "--layout", "linear"]
    is_tile = name.startswith(("tile_", "levels_"))
    return ["--layout", "tile" if is_tile else "linear"]


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}: {done.stdout.decode()}")
    return done.stdout


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def without_limits(archive):
    """The header without limits and what follows from them, its frame table, and the frames."""
    header, frames = bytearray(archive[:128]), struct.unpack_from("<Q", archive, 104)[0]
    flags, = struct.unpack_from("<I", archive, 12)
    table_end, more = 128 + 8 * frames, 16 * (flags >> 2 & 1) + 8 * (flags >> 3 & 3)
    header[8:12], header[112:120] = bytes(4), bytes(8)  # version, archive bytes
    header[12] &= ~4
    return header, archive[128:table_end], archive[(table_end + more + 8 + 15) // 16 * 16:]


def has_other_bytes(made, then):
    """Whether the archives differ otherwise than in limits that only `made` has."""
    versions = struct.unpack_from("<I", made, 8) + struct.unpack_from("<I", then, 8)
    is_then_limitless = versions[0] == 8 and versions[1] < 8
    return made != then and not (is_then_limitless and without_limits(made) == without_limits(then))


def compress(szgpu, folder, name):
    field, options = CASES[name][0](), CASES[name][1].split()
    raw = os.path.join(folder, name + SUFFIXES.get(field.dtype, ".bits"))
    np.ascontiguousarray(field).tofile(raw)
    dims = ["-d", "x".join(map(str, field.shape))] if field.size else []
    if name.startswith("tile_"):  # their frames, not whatever is smaller
        options += ["--predictor", "lorenzo"]
    if name.startswith("levels_") and "--predictor" not in options:
        options += ["--predictor", "interpolation"]
    run(szgpu, "-z", "-q", "-f", *mode_of(name), *dims, *options, raw, "-o",
        os.path.join(folder, name + ".szg"))
    return raw


def restore(szgpu, decoder, archive, folder):
    """What each decoder restores from an archive, by the decoder's name."""
    listing = json.loads(run(szgpu, "-l", "--json", archive))
    commands = {how: [szgpu, "-x", "-q", "-f", "--decoder", how, archive, "-o"]
                for how in listing["decoders"] if how not in ("gap-array", "chunked")}
    restored, fields = os.path.join(folder, "restored"), {}
    for how, command in commands.items():
        run(*command, restored)
        fields[how] = contents(restored)
        os.remove(restored)
    decoder(archive, restored)
    fields["docs/format.md"] = contents(restored)
    os.remove(restored)
    return fields


def forget_checksums(archive):
    """Without the module xxhash, the plain form that docs/format.md gives has none."""
    archive, frame = bytearray(archive), 0
    frames, = struct.unpack_from("<Q", archive, 104)
    flags, = struct.unpack_from("<I", archive, 12)
    frame = (128 + 8 * frames + 16 * (flags >> 2 & 1) + 8 * (flags >> 3 & 3) + 8 + 15) // 16 * 16
    sections, = struct.unpack_from("<I", archive, frame + 32)
    archive[frame - 8:frame] = bytes(8)
    for entry in range(sections + 1):
        at = frame + 40 + 32 * entry + (24 if entry < sections else 0)
        archive[at:at + 8] = bytes(8)
    return bytes(archive)


def plain_pair(made, then):
    """Both archives outside of their compact forms, to be compared."""
    return plain(made), forget_checksums(then) if made[8] == 9 and xxh3 is None else then


def compact_complaints(szgpu, decoder, folder, name, made):
    """What is wrong with the compact form of a case, and the archive that it stands for."""
    golden, complaints = os.path.join(FOLDER, "compact", name + ".szg"), []
    if name not in COMPACT:
        return []
    is_written = "--zstd" not in CASES[name][1] and name not in ONLY_READ
    if is_written and contents(golden) != made:
        complaints.append("has other bytes in its compact form")
    for how, field in restore(szgpu, decoder, golden, folder).items():
        if field != contents(os.path.join(FOLDER, name + ".raw")):
            complaints.append(f"is restored from its compact form to other values by {how}")
    return complaints


def check(szgpu, decoder, folder, name):
    """The complaints about one case."""
    golden = os.path.join(FOLDER, name)
    complaints = []
    raw = compress(szgpu, folder, name)
    made = os.path.join(folder, name + ".szg")
    complaints += compact_complaints(szgpu, decoder, folder, name, contents(made))
    if "--zstd" not in CASES[name][1] and name not in ONLY_READ:
        now, then = plain_pair(contents(made), contents(golden + ".szg"))
        if has_other_bytes(now, then):
            complaints.append("compresses to other bytes")
        elif now != then:
            if len(set(restore(szgpu, decoder, made, folder).values())) != 1:
                complaints.append("has limits, which decoders take differently")
    if "lossless" in mode_of(name) and contents(golden + ".raw") != contents(raw):
        complaints.append("is not lossless")
    for how, field in restore(szgpu, decoder, golden + ".szg", folder).items():
        if field != contents(golden + ".raw"):
            complaints.append(f"is restored to other values by {how}")
    return complaints


# Series of cases: the time of each step, if it has one, and the versions of the archives in it.
SERIES = {"series.szgs": {"linear_limits_f32": 0.25, "tile_limits_f64": None,
                          "lossless_bf16": -1e300},
          "series_v8.szgs": {"linear_limits_f32": 0.25, "tile_limits_f64": None,
                             "lossless_bf16": -1e300},
          "series_v7.szgs": {"box_f32": 0.25, "tile_plane_f64": None, "lossless_bf16": -1e300}}


def write_series(szgpu, folder, series):
    for name, time in SERIES["series.szgs"].items():
        field, options = CASES[name][0](), CASES[name][1].split()
        raw = os.path.join(folder, name + SUFFIXES.get(field.dtype, ".bits"))
        np.ascontiguousarray(field).tofile(raw)
        options += ["--predictor", "lorenzo"] if name.startswith("tile_") else []
        options += [] if time is None else ["--time", str(time)]
        run(szgpu, "-z", "-q", "--append", series, *mode_of(name),
            "-d", "x".join(map(str, field.shape)), *options, raw)
        os.remove(raw)


def check_series(szgpu, decoder, folder):
    """The complaints about the golden series."""
    complaints = []
    again, restored = os.path.join(folder, "series.szgs"), os.path.join(folder, "restored")
    write_series(szgpu, folder, again)
    if contents(again) != contents(os.path.join(FOLDER, "series.szgs")):
        complaints.append("series.szgs is written in other bytes")
    for series, steps in SERIES.items():
        golden = os.path.join(FOLDER, series)
        for step, name in enumerate(steps):
            run(szgpu, "-x", "-q", "-f", "--step", str(step), golden, "-o", restored)
            if contents(restored) != contents(os.path.join(FOLDER, name + ".raw")):
                complaints.append(f"{series}: step {step} is restored to other values")
            decoder(golden, restored, step)
            if contents(restored) != contents(os.path.join(FOLDER, name + ".raw")):
                complaints.append(f"{series}: step {step} is restored to other values by "
                                  "docs/format.md")
    return complaints


def check_page(szgpu, decoder, folder):
    """Complaints about the archives printed in docs/format.md: all decoders must agree."""
    page = contents(os.path.join(FOLDER, "../../docs/format.md")).decode()
    printed = re.findall(r"^```\n(000  .*?)^```", page, re.MULTILINE | re.DOTALL)
    complaints = [] if len(printed) == 3 else [f"has {len(printed)} archives, not 3"]
    archive = os.path.join(folder, "printed.szg")
    for number, block in enumerate(printed):
        with open(archive, "wb") as file:
            file.write(bytes.fromhex("".join(line[5:] for line in block.splitlines())))
        if len(set(restore(szgpu, decoder, archive, folder).values())) != 1:
            complaints.append(f"archive {number}: decoders differ")
    return complaints


def size_line(name, field_bytes):
    return f"{name},{field_bytes},{os.path.getsize(os.path.join(FOLDER, name + '.szg'))}\n"


def update(szgpu):
    lines = ["name,field_bytes,archive_bytes\n"]
    series = os.path.join(FOLDER, "series.szgs")
    if os.path.exists(series):
        os.remove(series)
    write_series(szgpu, FOLDER, series)
    for name in CASES:
        archive = os.path.join(FOLDER, name + ".szg")
        if name in ONLY_READ:
            lines.append(size_line(name, os.path.getsize(os.path.join(FOLDER, name + ".raw"))))
            continue
        then = contents(archive) if os.path.exists(archive) else b""
        raw = compress(szgpu, FOLDER, name)
        field_bytes = os.path.getsize(raw)
        os.remove(raw)
        made = contents(archive)
        if name in COMPACT:
            with open(os.path.join(FOLDER, "compact", name + ".szg"), "wb") as file:
                file.write(made)
        if not then:
            then = plain(made)
        if not has_other_bytes(*plain_pair(made, then)):
            with open(archive, "wb") as file:
                file.write(then)
        run(szgpu, "-x", "-q", "-f", archive, "-o", os.path.join(FOLDER, name + ".raw"))
        lines.append(size_line(name, field_bytes))
    with open(os.path.join(FOLDER, "sizes.csv"), "w", encoding="utf-8") as file:
        file.writelines(lines)


def main():
    szgpu, decoder = sys.argv[1:3]
    if "--update" in sys.argv:
        return update(szgpu)
    decoder = runpy.run_path(decoder)["main"]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in CASES:
            complaints = check(szgpu, decoder, folder, name)
            failed += bool(complaints)
            for complaint in complaints:
                print(f"{name} {complaint}")
        for complaint in check_series(szgpu, decoder, folder):
            failed += 1
            print(complaint)
        for complaint in check_page(szgpu, decoder, folder):
            failed += 1
            print(f"docs/format.md {complaint}")
    listed = contents(os.path.join(FOLDER, "sizes.csv")).decode().splitlines(keepends=True)[1:]
    for line in listed:
        name, field_bytes, _ = line.split(",")
        if line != size_line(name, field_bytes):
            failed += 1
            print(f"sizes.csv is not what the golden files are: {name}")
    if len(listed) != len(CASES):
        raise SystemExit("sizes.csv does not list every case")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
