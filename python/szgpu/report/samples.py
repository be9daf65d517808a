"""Figures that a sample of a field gives: spectra, autocorrelation and SSIM; and the bits of blocks."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

import szgpu

from .extras import extra
from .sources import Source
from .statistics import FieldStatistics, is_valid

SAMPLE_VALUES = 1 << 21
SSIM_WINDOW = 7
SSIM_PLANES = 16
BLOCK_VALUES = 1 << 15

Region = tuple[slice, ...]


def sample_region(original: Source, of_field: FieldStatistics) -> Region:
    """Choose a block of at most SAMPLE_VALUES values: the central one, or the least masked one."""
    shape = original.shape
    side = max(shape)
    while math.prod(min(n, side) for n in shape) > SAMPLE_VALUES:
        side = int(side * 0.9)
    sides = [min(n, side) for n in shape]
    middle = tuple(slice((n - s) // 2, (n - s) // 2 + s) for n, s in zip(shape, sides, strict=True))
    if of_field.masked_count == 0 or list(shape) == sides:
        return middle
    starts = [sorted({0, (n - s) // 2, n - s}) for n, s in zip(shape, sides, strict=True)]
    regions = [
        tuple(slice(b, b + s) for b, s in zip(begin, sides, strict=True))
        for begin in itertools.product(*starts)
    ]
    return max([middle, *regions], key=lambda region: _valid_count(original, region))


def _valid_count(original: Source, region: Region) -> int:
    return int(np.count_nonzero(is_valid(read_region(original, region), original.fill)))


def read_region(source: Source, region: Region) -> np.ndarray:
    """Read a block in the type of its values."""
    return source.read_rows(region[0].start, region[0].stop)[(slice(None), *region[1:])]


@dataclass
class Sample:
    """The same block of the original and of what came back, as float64."""

    original: np.ndarray
    restored: np.ndarray
    valid: np.ndarray

    @property
    def error(self) -> np.ndarray:
        return np.where(self.valid, self.restored - self.original, 0.0)


def sample_of(original: Source, restored: Source, region: Region) -> Sample:
    """Read both; a value that is not finite in either is not valid."""
    truth, part = read_region(original, region), read_region(restored, region)
    valid = is_valid(truth, original.fill) & np.isfinite(part)
    mean = float(truth[valid].astype("f8").mean()) if valid.any() else 0.0
    a = np.where(valid, truth.astype("f8"), mean)
    return Sample(a, np.where(valid, part.astype("f8"), mean), valid)


def power_spectrum(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Average the power of a block over directions.

    The mean is taken off and a Hann window applied along each axis.

    Returns
    -------
    wavenumber : numpy.ndarray
        In cycles per step of the grid, up to 0.5.
    power : numpy.ndarray
        Scaled so that white noise has its variance at every wavenumber.
    """
    fft = extra("scipy.fft")
    values = block - block.mean()
    wavenumber_squares = np.zeros((1,) * block.ndim)
    weight = 1.0
    for axis, n in enumerate(block.shape):
        window = np.hanning(n + 2)[1:-1]
        along = [1] * block.ndim
        along[axis] = n
        values = values * window.reshape(along)
        weight *= float(np.square(window).sum())
        frequency = np.fft.rfftfreq(n) if axis == block.ndim - 1 else np.fft.fftfreq(n)
        along[axis] = frequency.size
        wavenumber_squares = wavenumber_squares + np.square(frequency).reshape(along)
    squares = np.square(np.abs(fft.rfftn(values, workers=-1))) / weight
    wavenumber = np.sqrt(wavenumber_squares)
    lowest = 1.0 / max(block.shape)
    edges = np.geomspace(lowest * 0.999, 0.5 * 1.001, 49)
    multiplicity = np.full(squares.shape[-1], 2.0)
    multiplicity[0] = 1.0
    if block.shape[-1] % 2 == 0:
        multiplicity[-1] = 1.0
    bins = np.digitize(wavenumber, edges).ravel()
    weights = np.broadcast_to(multiplicity, squares.shape).ravel()
    count = np.bincount(bins, weights, 50)[1:49]
    power = np.bincount(bins, squares.ravel() * weights, 50)[1:49]
    center = np.bincount(bins, wavenumber.ravel() * weights, 50)[1:49]
    filled = count > 0
    return center[filled] / count[filled], power[filled] / count[filled]


def autocorrelation(error: np.ndarray, valid: np.ndarray, axis: int, lag_count: int) -> np.ndarray:
    """Correlate errors with those some steps along an axis from them, for 0 to lag_count steps.

    Only pairs of valid values count. NaN if there is no error.
    """
    fft = extra("scipy.fft")
    if not valid.any():
        return np.full(lag_count + 1, np.nan)
    values = np.where(valid, error - error[valid].mean(), 0.0)
    values = values / (np.abs(values).max() or 1.0)
    length = fft.next_fast_len(values.shape[axis] + lag_count, real=True)
    others = tuple(i for i in range(values.ndim) if i != axis)

    def lagged(a: np.ndarray) -> np.ndarray:
        power = np.square(np.abs(fft.rfft(a, length, axis=axis, workers=-1))).sum(axis=others)
        return np.asarray(fft.irfft(power, length))[: lag_count + 1]

    pairs = np.round(lagged(valid.astype("f8")))
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = np.where(pairs > 0, lagged(values) / pairs, np.nan)
        result: np.ndarray = covariance / covariance[0] if covariance[0] > 0 else covariance * np.nan
    return result


def ssim(sample: Sample, value_range: float) -> float:
    """Average the structural similarity over planes of the sample; NaN if it is too small."""
    a, b, valid = sample.original, sample.restored, sample.valid
    if min(a.shape[-2:]) < SSIM_WINDOW:
        return math.nan
    metrics = extra("skimage.metrics", "pip install 'szgpu[report]'")
    if a.ndim > 2:
        planes = [x.reshape(-1, *x.shape[-2:]) for x in (a, b, valid)]
        picked = np.unique(np.linspace(0, len(planes[0]) - 1, SSIM_PLANES).astype(int))
    else:
        planes, picked = [a[None], b[None], valid[None]], np.array([0])
    total, count = 0.0, 0
    for i in picked:
        _, similarity = metrics.structural_similarity(
            planes[0][i], planes[1][i], data_range=value_range, win_size=SSIM_WINDOW, full=True
        )
        kept = similarity[planes[2][i]]
        total, count = total + float(kept.sum()), count + kept.size
    return total / count if count else math.nan


def block_bits(original: Source, restored: Source, plane: tuple[int, ...]) -> np.ndarray | None:
    """Estimate bits a value over the plane that is shown, the same for all values of a block.

    Each block, as thick as makes it large enough to be worth its header, is compressed by itself
    with the bound and the predictor of the archive.
    """
    info = restored.info
    if info is None or len(original.shape) < 2:
        return None
    height, width = original.shape[-2:]
    side = int(min(max(min(height, width) / 12, 16), 64))
    grid = np.full((-(-height // side), -(-width // side)), np.nan)
    thickness = max(1, min(BLOCK_VALUES // side**2, original.shape[0])) if plane else 1
    rows: np.ndarray
    if plane:
        first = min(max(plane[0] - thickness // 2, 0), original.shape[0] - thickness)
        rows = original.read_rows(first, first + thickness)
        for i in plane[1:]:
            rows = rows[:, i]
    else:
        rows = original.read_rows(0, height)[None]
    is_lossless = info.mode == "lossless"
    predictor = "interpolation" if restored.predictor == "interpolation" else "lorenzo"
    for i, j in np.ndindex(*grid.shape):
        block = rows[:, i * side : (i + 1) * side, j * side : (j + 1) * side]
        block = np.ascontiguousarray(block)
        packed = szgpu.compress(
            block,
            abs=info.absolute_bound if info.mode not in ("lossless", "pwrel") else None,
            pwrel=info.bound if info.mode == "pwrel" else None,
            lossless=is_lossless,
            fill=info.fill,
            predictor=predictor,
        )
        grid[i, j] = 8 * len(packed) / block.size
    return np.repeat(np.repeat(grid, side, 0), side, 1)[:height, :width]
