"""Puts the report together: opens the fields, gathers the figures, writes the page."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import _core
from ..value_types import VALUE_TYPES
from . import figures, samples
from .extras import Progress, ReportError
from .page import Result, Section, page
from .samples import Region, Sample
from .sources import Source, is_archive, open_source, shape_text, sz3_source
from .statistics import error_statistics, field_statistics, is_beyond, is_valid

LARGEST_COUNT = len(figures.COLORS)
LAG_COUNT = 24
DETAIL = 48
LINE_VALUES = 400
LEAST_RANGE, LARGEST = 1e-70, 1e70  # SSIM has fourth powers, and sums of them over a sample


@dataclass(frozen=True)
class Options:
    """What a report should look at.

    Attributes
    ----------
    type_name, dims
        Of raw files whose names do not have them.
    bound : float, optional
        What should hold for restored files, which do not say it themselves.
    fill : float, optional
        The value that means "nothing here".
    plane : tuple of int, optional
        Where to cut: an index for each axis except the last two.
    with_sz3 : bool
        Compress with SZ3 too, at each bound.
    is_quiet : bool
        Show no progress.
    """

    type_name: str | None = None
    dims: tuple[int, ...] | None = None
    bound: float | None = None
    fill: float | None = None
    plane: tuple[int, ...] | None = None
    with_sz3: bool = False
    is_quiet: bool = False


def write_report(original: str, others: Sequence[str], out: str, options: Options) -> bool:
    """Write the page to a file. Returns whether every bound holds."""
    with _core.Environment():
        text, holds = build(original, others, options)
    folder = Path(out).parent
    try:
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
            file.write(text)
        os.chmod(file.name, 0o666 & ~_umask())
        os.replace(file.name, out)
    except OSError as error:
        raise ReportError(f"{out}: cannot be written: {error.strerror or error}") from error
    return holds


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def build(original_name: str, names: Sequence[str], options: Options) -> tuple[str, bool]:
    """Make the page of an original and what came back of it.

    Returns
    -------
    page : str
        The HTML.
    holds : bool
        No bound is missed.
    """
    original, others = _open(original_name, names, options)
    values = original.value_count * (1 + len(others))
    progress = Progress(values, options.is_quiet)
    try:
        progress.say("original")
        of_field = field_statistics(original, progress.add)
        if of_field.valid_count == 0:
            raise ReportError(f"{original_name}: has no finite values, so that there is nothing to show")
        if max(-of_field.low, of_field.high) > LARGEST or 0 < of_field.range < LEAST_RANGE:
            raise ReportError(
                f"{original_name}: its values, {of_field.low:g} to {of_field.high:g}, are too "
                f"{'close together' if of_field.range < LEAST_RANGE else 'large'} for the report, "
                "whose figures need powers of them: multiply the field by a power of two; "
                "szgpu -x --compare compares the values as they are"
            )
        if of_field.range == 0:
            raise ReportError(
                f"{original_name}: is constant, so that there is nothing to show; "
                "szgpu -x --compare compares the values"
            )
        region = samples.sample_region(original, of_field)
        results, drawn = [], []
        for label, source in zip(_labels(others), others, strict=True):
            progress.say(label)
            errors = error_statistics(original, source, of_field, progress.add)
            if LARGEST < errors.max_error < math.inf:
                raise ReportError(
                    f"{source.name}: is off by {errors.max_error:g}, which is too much for the report; "
                    "szgpu -x --compare compares the values as they are"
                )
            sample = samples.sample_of(original, source, region)
            results.append(Result(label, source, errors, samples.ssim(sample, of_field.range)))
            drawn.append(sample)
        progress.say("figures")
        sections = _sections(original, results, drawn, options)
    finally:
        progress.close()
    notes = [
        "Bounds, errors, bias, PSNR and gradients are of all values. "
        + _sample_text(original, region),
    ]
    text = page(original, of_field, results, sections, notes)
    return text, not any(r.errors.beyond_count for r in results)


def _open(
    name: str, names: Sequence[str], options: Options
) -> tuple[Source, list[Source]]:
    if not names:
        raise ReportError("name an original and at least one archive or restored file")
    archive: Source | None = None
    for other in names:
        if Path(other).is_file() and is_archive(Path(other)):
            archive = open_source(other, type_name=None, dims=None, like=None)
            break
    type_name, dims = options.type_name, options.dims
    original = open_source(name, type_name=type_name, dims=dims, like=archive)
    others = [open_source(n, type_name=type_name, dims=dims, like=original) for n in names]
    kind = VALUE_TYPES[original.dtype.name]
    if options.fill is not None and not _core.has_value(kind, options.fill):
        raise ReportError(f"--fill {options.fill:g} does not fit {original.dtype}: correct it")
    fills = [options.fill, original.fill, *(s.fill for s in others)]
    original.fill = next((f for f in fills if f is not None and _core.has_value(kind, f)), None)
    for source in others:
        if (source.shape, source.dtype) != (original.shape, original.dtype):
            raise ReportError(
                f"{source.name}: is {shape_text(source.shape)} of {source.dtype}, and {name} is "
                f"{shape_text(original.shape)} of {original.dtype}: they must be alike"
            )
        if source.bound is None:
            source.bound = options.bound
    if options.with_sz3:
        bounds: list[float] = []
        for bound in sorted(s.bound for s in others if s.bound):
            if not bounds or bound > bounds[-1] * 1.001:
                bounds.append(bound)
        if not bounds:
            raise ReportError("--sz3 needs a bound: add an archive that has one, or --bound")
        others += [sz3_source(original, bound) for bound in bounds]
    if len(others) > LARGEST_COUNT:
        raise ReportError(f"{len(others)} are too many beside each other: name {LARGEST_COUNT} at most")
    return original, others


def _labels(others: Sequence[Source]) -> list[str]:
    short = [s.name.rpartition("/")[2] for s in others]
    return [s if short.count(s) == 1 else o.name for s, o in zip(short, others, strict=True)]


def _sample_text(original: Source, region: Region) -> str:
    sides = tuple(s.stop - s.start for s in region)
    what = "SSIM (up to 16 planes), spectra and autocorrelation are of "
    if sides == original.shape:
        return what + "the whole field."
    place = ", ".join(f"{s.start}:{s.stop}" for s in region)
    return f"{what}a sample of {shape_text(sides)} values, [{place}]."


def _sections(
    original: Source, results: list[Result], drawn: list[Sample], options: Options
) -> list[Section]:
    names = [r.label for r in results]
    is_plane = len(original.shape) > 1
    at = _place(original, results, options)
    sections = [_planes(original, results, at) if is_plane else _lines(original, results, at[0])]
    sections.append(_histograms(results))
    if any(r.errors.max_error > 0 for r in results):
        sections.append(_correlations(original, results, drawn))
    sections.append(_spectra(results, drawn))
    if is_plane:
        sections.append(_gradients(original, results, at[:-2]))
    archives = [r for r in results if r.source.info is not None]
    if archives:
        sections.append(_bits(original, archives, at[:-2]))
    points = [
        (r.source.bits_a_value, r.errors.psnr, n, i)
        for i, (r, n) in enumerate(zip(results, names, strict=True))
        if r.source.bits_a_value is not None and math.isfinite(r.errors.psnr)
    ]
    if len(points) > 1:
        svg = figures.rate_distortion(points)
        caption = "Up and to the left is better."
        alt = "PSNR over bits a value, a point for each archive"
        sections.append(
            Section("Size and quality", "What each archive makes of its bits.", [(svg, alt, caption)], True)
        )
    return sections


def _place(original: Source, results: list[Result], options: Options) -> tuple[int, ...]:
    """Choose the place that is shown: as asked, at a value beyond its bound, or in the middle."""
    middle = tuple(n // 2 for n in original.shape)
    if options.plane is not None:
        axes = original.shape[:-2]
        fits = len(options.plane) == len(axes) and all(
            0 <= i < n for i, n in zip(options.plane, axes, strict=True)
        )
        if not fits:
            raise ReportError(
                f"--plane needs {len(axes)} numbers for {shape_text(original.shape)} values, one for "
                "each axis except the last two, within their lengths"
            )
        return (*options.plane, *middle[-2:])
    for r in results:
        if r.errors.violations:
            return r.errors.violations[0].index
    return middle


def _plane_of(source: Source, at: tuple[int, ...]) -> np.ndarray:
    if not at:
        return source.read_rows(0, source.shape[0])
    plane: np.ndarray = source.read_rows(at[0], at[0] + 1)[(0, *at[1:])]
    return plane


def _shown(original: Source, values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return np.where(is_valid(truth, original.fill), values.astype("f8"), np.nan)


def _beyond(truth: np.ndarray, back: np.ndarray, bound: float | None) -> np.ndarray:
    """The first places in a plane whose values are beyond the bound."""
    if bound is None:
        return np.empty((0, 2))
    bits = f"u{truth.dtype.itemsize}"
    other = np.ascontiguousarray(truth).view(bits) != np.ascontiguousarray(back).view(bits)
    if bound:
        other &= is_beyond(truth.astype("f8"), back.astype("f8"), bound)
    return np.argwhere(other)[:40]


def _planes(original: Source, results: list[Result], at: tuple[int, ...]) -> Section:
    leading, axis_count = at[:-2], len(original.shape)
    truth = _plane_of(original, leading)
    region = tuple(
        slice(max(0, min(i - DETAIL // 2, n - DETAIL)), max(0, min(i - DETAIL // 2, n - DETAIL)) + min(n, DETAIL))
        for i, n in zip(at[-2:], truth.shape, strict=True)
    )
    place = f"the plane [{', '.join(map(str, leading))}, :, :]" if leading else "the whole field"
    _, step = figures.thinned(truth)
    text = f"Shown is {place}. Grey is fill or not finite."
    if step > 1:
        text += f" Of each {step} x {step} values one is drawn, and of errors the largest; the detail has all."
    section = Section("Original, restored and error", text)
    for r in results:
        back = _plane_of(r.source, leading)
        with np.errstate(invalid="ignore", over="ignore"):
            error = _shown(original, back.astype("f8") - truth.astype("f8"), truth)
        svg = figures.slices(
            _shown(original, truth, truth), _shown(original, back, truth), error, r.errors.scale, r.label,
            original.unit, region, _beyond(truth, back, r.errors.bound),
            (original.axis_name(axis_count - 2), original.axis_name(axis_count - 1)), original.is_upward,
        )  # fmt: skip
        limit = "the bound" if r.errors.bound else "the largest error"
        caption = (
            f"{r.label}. Original and restored have the same colors, without the outer half percent at "
            f"each end; the error's colors end at {limit}."
        )
        if r.errors.beyond_count:
            caption += " Red circles mark values beyond the bound."
        section.figures.append((svg, f"Slices of the original, of {r.label} and of its error", caption))
    return section


def _lines(original: Source, results: list[Result], at: int) -> Section:
    first = max(0, min(at - LINE_VALUES // 2, original.shape[0] - LINE_VALUES))
    stop = min(first + LINE_VALUES, original.shape[0])
    truth = original.read_rows(first, stop)
    back = [_shown(original, r.source.read_rows(first, stop), truth) for r in results]
    names = [r.label for r in results]
    bounds = [r.errors.bound for r in results]
    svg = figures.lines(
        _shown(original, truth, truth), back, names, bounds, first, original.unit, original.axis_name(0)
    )
    return Section(
        "Original, restored and error",
        f"Shown are the values {first:,} to {stop - 1:,}.",
        [(svg, "The original and what came back, and the errors below", "Dashed lines are the bounds.")],
    )


def _histograms(results: list[Result]) -> Section:
    svg = figures.histograms([r.errors for r in results], [r.label for r in results])
    return Section(
        "Errors against the bound",
        "Nothing should lie beyond −1 and 1. A bar at 0 alone means that no value changed.",
        [(svg, "Histograms of the error in units of the bound",
          "Dashed: errors uniform within the bound. The vertical line is the bias, the mean error.")],
    )  # fmt: skip


def _correlations(original: Source, results: list[Result], drawn: list[Sample]) -> Section:
    lags = [
        [
            samples.autocorrelation(s.error, s.valid, axis, min(LAG_COUNT, n - 1))
            for axis, n in enumerate(s.error.shape)
        ]
        for s in drawn
    ]
    axes = [original.axis_name(axis) for axis in range(len(original.shape))]
    svg = figures.correlations(lags, [r.label for r in results], axes)
    return Section(
        "Structure of the errors",
        "Errors that do not depend on each other fall to 0 at once, and averages then cancel them. "
        "Slow decay means patches of error with the same sign.",
        [(svg, "Autocorrelation of the error along each axis", f"The slowest axis is {axes[0]}. No line: no error.")],
    )


def _spectra(results: list[Result], drawn: list[Sample]) -> Section:
    # A value that is valid in the original may be NaN in one archive: the first sample speaks.
    svg = figures.spectra(
        samples.power_spectrum(drawn[0].original),
        [samples.power_spectrum(s.restored) for s in drawn],
        [samples.power_spectrum(s.error) for s in drawn],
        [r.label for r in results],
    )
    return Section(
        "Power spectra",
        "Large scales are on the left, the finest on the right. Where the error's power reaches that of "
        "the field, what came back is no longer the field at that scale.",
        [(svg, "Power spectra of original, restored and error, and the ratio of restored to original",
          "Averaged over directions, with a Hann window; fill is replaced by the mean.")],
    )  # fmt: skip


def _gradients(original: Source, results: list[Result], leading: tuple[int, ...]) -> Section:
    truth = _plane_of(original, leading)
    planes = [_shown(original, truth, truth)]
    planes += [_shown(original, _plane_of(r.source, leading), truth) for r in results]
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = [
            np.hypot(np.diff(p, axis=0)[:, :-1], np.diff(p, axis=1)[:-1]) for p in planes
        ]
    names = ["original", *(r.label for r in results)]
    more = "" if len(results) < 3 else " The first two are drawn as maps, and all in the diagram."
    return Section(
        "Gradients",
        "Differentiation amplifies errors: what the plane above looks like to it.",
        [(figures.gradients(sizes, names, original.is_upward), "Maps of the size of gradients, and their distribution",
          "The change from a value to its neighbours along both axes." + more)],
    )  # fmt: skip


def _bits(original: Source, archives: list[Result], leading: tuple[int, ...]) -> Section:
    steps, maps = [], []
    for r in archives:
        assert r.source.info is not None
        found = r.source.info.frames()
        edges = np.array([f.first_row for f in found] + [found[-1].first_row + found[-1].row_count])
        bits = np.array([8 * f.frame_bytes / (f.row_count * original.row_values) for f in found])
        steps.append((edges, bits))
        maps.append(samples.block_bits(original, r.source, leading))
    svg = figures.frames(steps, maps, [r.label for r in archives], original.is_upward)
    caption = "An archive states the sizes of its frames, which the left diagram shows."
    if maps[0] is not None:
        caption += (
            " The maps are estimates: each block around the plane is compressed by itself, with the same "
            "bound and predictor, which costs more than in the archive. Compare blocks with each other."
        )
    return Section(
        "Where the bits go",
        "Rough parts of a field take more bits than smooth ones.",
        [(svg, "Bits a value of each frame and, estimated, of each block of the plane", caption)],
    )


