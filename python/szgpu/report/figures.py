"""The report's figures, drawn with matplotlib as SVG."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import io
import logging
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .extras import extra
from .statistics import ErrorStatistics
from .text import number

COLORS = ("#0072b2", "#e08a00", "#009e73", "#9c4f8a", "#3fa0d8", "#7a6a00", "#444444", "#6a51a3")
INK, MUTED, GRID, MASKED, MISSED = "#1d2433", "#5b6475", "#e3e6ec", "#c4c7cd", "#d4002a"
WIDTH = 11.2  # inches; the page shows it 1120 px wide
LARGEST_IMAGE = 640
STYLE = {
    "font.family": ["Helvetica", "Arial", "Liberation Sans", "DejaVu Sans"],
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "szgpu",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titlepad": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.constrained_layout.use": True,
}


def new_figure(height: float, width: float = WIDTH) -> Any:
    """Start a figure. Sizes are in inches."""
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    return extra("matplotlib.figure").Figure(figsize=(width, height))


def as_svg(figure: Any) -> bytes:
    """Finish a figure."""
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def in_style(function: Any) -> Any:
    """Draw with the report's style, whatever the user's is."""

    def drawn(*args: Any, **kwargs: Any) -> Any:
        with extra("matplotlib").rc_context({**extra("matplotlib").rcParamsDefault, **STYLE}):
            return as_svg(function(*args, **kwargs))

    return drawn


def error_colors() -> Any:
    """Blue-green to white to ochre, of a lightness that is linear in the error; red beyond it."""
    colors = extra("matplotlib.colors")
    lab2rgb = extra("skimage.color").lab2rgb
    t = np.linspace(-1, 1, 257)
    lightness = 97 - 57 * np.abs(t)
    a = np.where(t < 0, 22 * t, 18 * t)
    b = np.where(t < 0, 24 * t, 52 * t)
    map_ = colors.ListedColormap(lab2rgb(np.stack([lightness, a, b], -1)), "error")
    map_ = map_.with_extremes(bad=MASKED, under=MISSED, over=MISSED)
    return map_


def field_colors(name: str = "viridis") -> Any:
    map_ = extra("matplotlib").colormaps[name]
    map_ = map_.with_extremes(bad=MASKED)
    return map_


def thinned(plane: np.ndarray, keeps_extremes: bool = False) -> tuple[np.ndarray, int]:
    """Take every n-th value so that an image stays small, or of each n x n the largest in size."""
    step = max(1, math.ceil(max(plane.shape) / LARGEST_IMAGE))
    if step == 1 or not keeps_extremes:
        return plane[::step, ::step], step
    pad = [(0, -n % step) for n in plane.shape]
    blocks = np.pad(plane, pad, constant_values=np.nan)
    rows, columns = blocks.shape[0] // step, blocks.shape[1] // step
    blocks = blocks.reshape(rows, step, columns, step).swapaxes(1, 2).reshape(rows, columns, -1)
    at = np.nan_to_num(np.abs(blocks), nan=-1.0).argmax(-1)
    return np.take_along_axis(blocks, at[..., None], -1)[..., 0], step


def _image(
    figure: Any, ax: Any, plane: np.ndarray, limits: tuple[float, float], colors: Any,
    label: str, region: tuple[slice, slice], bar: bool, is_upward: bool,
    keeps_extremes: bool = False,
) -> None:  # fmt: skip
    shown, _ = thinned(plane, keeps_extremes)
    rows, columns = region
    ends = (rows.start - 0.5, rows.stop - 0.5)
    extent = (columns.start - 0.5, columns.stop - 0.5, *(ends if is_upward else ends[::-1]))
    ratio = plane.shape[1] / plane.shape[0]
    image = ax.imshow(
        np.ma.masked_invalid(shown), cmap=colors, vmin=limits[0], vmax=limits[1],
        interpolation="none", origin="lower" if is_upward else "upper", extent=extent, aspect="equal" if 0.25 < ratio < 4 else "auto",
    )  # fmt: skip
    ax.spines[:].set_visible(False)
    ax.locator_params(nbins=5, integer=True)
    if not bar:
        return
    ticks = [limits[0], (limits[0] + limits[1]) / 2, limits[1]]
    color_bar = figure.colorbar(image, ax=ax, orientation="horizontal", fraction=0.05, pad=0.03,
                                aspect=36, ticks=ticks, label=label)  # fmt: skip
    color_bar.ax.set_xticklabels([number(x, 3) for x in ticks])
    color_bar.outline.set_visible(False)


def limits_of(plane: np.ndarray) -> tuple[float, float]:
    """Limits for colors: all except half a percent at each end."""
    values = plane[np.isfinite(plane)]
    if values.size == 0:
        return 0.0, 1.0
    low, high = np.percentile(values, [0.5, 99.5]).tolist()
    if low == high:
        low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - 0.5, low + 0.5)


@in_style
def slices(
    original: np.ndarray, restored: np.ndarray, error: np.ndarray, limit: float, name: str,
    unit: str, detail: tuple[slice, slice], beyond: np.ndarray, axes: tuple[str, str],
    is_upward: bool,
) -> Any:  # fmt: skip
    """Original, restored and error side by side: the plane, and a detail of it below."""
    height, width = original.shape
    tall = min(max(WIDTH / 3 * height / width, 1.0), 4.2) if 0.25 < width / height < 4 else 2.6
    figure = new_figure(tall + 4.6)
    grid = figure.subplots(2, 3, height_ratios=[tall, 3.4])
    limits = limits_of(original)
    suffix = f" ({unit})" if unit else ""
    titles = ("Original", f"Restored: {name}", "Error: restored − original")
    whole = (slice(0, height), slice(0, width))
    for row, region in enumerate((whole, detail)):
        for column, plane in enumerate((original, restored, error)):
            ax = grid[row, column]
            is_error = column == 2
            _image(
                figure, ax, plane[region], (-limit, limit) if is_error else limits,
                error_colors() if is_error else field_colors(),
                ("error" if is_error else "value") + suffix, region, row == 0, is_upward,
                is_error,
            )  # fmt: skip
            ax.set_title(titles[column] if row == 0 else "Detail", color=INK if row == 0 else MUTED)
            if column == 0:
                ax.set_ylabel(axes[0])
            if row == 1:
                ax.set_xlabel(axes[1])
            else:
                ax.add_patch(extra("matplotlib.patches").Rectangle(
                    (detail[1].start - 0.5, detail[0].start - 0.5),
                    detail[1].stop - detail[1].start, detail[0].stop - detail[0].start,
                    fill=False, edgecolor=INK, linewidth=0.8))  # fmt: skip
    if len(beyond):
        for ax in grid[:, 2]:
            x, y = ax.get_xlim(), ax.get_ylim()
            ax.plot(beyond[:, 1], beyond[:, 0], "o", markersize=13, markerfacecolor="none",
                    markeredgecolor=MISSED, markeredgewidth=1.8)  # fmt: skip
            ax.set_xlim(x)
            ax.set_ylim(y)
    return figure


@in_style
def lines(
    original: np.ndarray, restored: Sequence[np.ndarray], names: Sequence[str],
    bounds: Sequence[float | None], first: int, unit: str, axis: str,
) -> Any:  # fmt: skip
    """A piece of a field with one axis, and its errors below."""
    figure = new_figure(5.0)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    x = first + np.arange(original.size)
    top.plot(x, original, color=INK, linewidth=2.4, alpha=0.35, label="original")
    for i, (values, name, bound) in enumerate(zip(restored, names, bounds, strict=True)):
        color = COLORS[i % len(COLORS)]
        top.plot(x, values, color=color, linewidth=0.9, label=name)
        error = values - original
        bottom.plot(x, error, ".", color=color, markersize=3)
        if bound:
            bottom.axhline(bound, color=color, linewidth=0.8, linestyle="--")
            bottom.axhline(-bound, color=color, linewidth=0.8, linestyle="--")
            missed = np.abs(error) > bound
            bottom.plot(x[missed], error[missed], "o", markersize=9, markerfacecolor="none",
                        markeredgecolor=MISSED, markeredgewidth=1.8)  # fmt: skip
    top.set_ylabel("value" + (f" ({unit})" if unit else ""))
    bottom.set_ylabel("error")
    bottom.set_xlabel(axis)
    top.legend(ncols=4, loc="upper right")
    return figure


@in_style
def histograms(errors: Sequence[ErrorStatistics], names: Sequence[str]) -> Any:
    """How often each size of error occurs, in units of the bound."""
    columns = min(len(errors), 3)
    rows = -(-len(errors) // columns)
    figure = new_figure(2.9 * rows)
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    edges = np.linspace(-1, 1, errors[0].histogram.size + 1)
    for i, (ax, error, name) in enumerate(zip(panels, errors, names, strict=False)):
        share = error.histogram * (error.histogram.size / 2) / max(error.valid_count, 1)
        ax.stairs(share, edges, fill=True, color=COLORS[i % len(COLORS)], alpha=0.85)
        ax.plot([-1, -1, 1, 1], [0, 0.5, 0.5, 0], color=INK, linewidth=0.9, linestyle="--")
        ax.axvline(error.bias / error.scale, color=INK, linewidth=1.0)
        unit = "bound" if error.bound else "largest error"
        for side, found in zip((-1, 1), error.beyond_histogram, strict=True):
            if found:
                ax.plot([side * 1.14], [0.04], marker="v", color=MISSED, markersize=9, clip_on=False)
                ax.text(side * 1.28, 0.13, f"{found:,} beyond", color=MISSED, ha="right" if side > 0 else "left",
                        transform=ax.get_xaxis_transform(), fontsize=8.5, weight="bold")  # fmt: skip
        ax.set_xlim(-1.3, 1.3)
        ax.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−½", "0", "½", "1"])
        ax.set_title(name)
        ax.set_xlabel(f"error / {unit}")
        ax.set_ylim(bottom=0)
    for ax in panels[len(errors) :]:
        ax.set_visible(False)
    panels[0].set_ylabel("density")
    return figure


@in_style
def correlations(
    lags: Sequence[Sequence[np.ndarray]], names: Sequence[str], axes: Sequence[str]
) -> Any:
    """Autocorrelation of the error along each axis; one panel for each archive."""
    columns = min(len(lags), 3)
    rows = -(-len(lags) // columns)
    figure = new_figure(2.7 * rows)
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for ax, of_axes, name in zip(panels, lags, names, strict=False):
        for axis, values in enumerate(of_axes):
            ax.plot(values, color=COLORS[axis], marker=".", markersize=4, label=axes[axis])
        ax.axhline(0, color=MUTED, linewidth=0.7)
        ax.grid(axis="y")
        ax.set_title(name)
        ax.set_xlabel("lag (steps)")
        ax.set_ylim(-1.05 if any(np.nanmin(v, initial=0) < -0.4 for v in of_axes) else -0.45, 1.05)
        ax.legend(ncols=2, loc="upper right")
    for ax in panels[len(lags) :]:
        ax.set_visible(False)
    panels[0].set_ylabel("correlation")
    return figure


def _powers_of_ten(ax_axis: Any) -> None:
    ax_axis.set_major_formatter(extra("matplotlib.ticker").FuncFormatter(lambda x, _: number(x, 2)))
    ax_axis.set_minor_formatter(extra("matplotlib.ticker").NullFormatter())


@in_style
def spectra(
    original: tuple[np.ndarray, np.ndarray],
    restored: Sequence[tuple[np.ndarray, np.ndarray]],
    errors: Sequence[tuple[np.ndarray, np.ndarray]],
    names: Sequence[str],
) -> Any:
    """Power spectra on the left, and their ratio to the original's on the right."""
    figure = new_figure(3.8)
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    left.loglog(*original, color=INK, linewidth=3, alpha=0.3, label="original")
    lowest = 1.0
    for i, (back, error, name) in enumerate(zip(restored, errors, names, strict=True)):
        color = COLORS[i % len(COLORS)]
        left.loglog(*back, color=color, label=name)
        if error[1].max(initial=0) > 0:
            left.loglog(*error, color=color, linestyle=":", label=f"error of {name}")
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(original[1] > 0, back[1] / original[1], np.nan)
        right.semilogx(back[0], ratio, color=color, label=name)
        lowest = max(lowest, float(np.nanmax(np.abs(ratio - 1), initial=0.0)))
    right.axhspan(0.99, 1.01, color=GRID, zorder=0)
    right.axhline(1, color=MUTED, linewidth=0.7)
    low, high = right.get_ylim()
    right.set_ylim(max(min(low, 0.97), 0), min(max(high, 1.03), 3))
    for ax in (left, right):
        ax.set_xlabel("wavenumber (cycles per step of the grid)")
        _powers_of_ten(ax.xaxis)
    _powers_of_ten(left.yaxis)
    left.set_title("Power")
    right.set_title("Power restored / power original; grey: ±1 %")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=4)
    left.grid(axis="y")
    return figure


@in_style
def gradients(planes: Sequence[np.ndarray], names: Sequence[str], is_upward: bool) -> Any:
    """The size of gradients in the plane: maps with equal colors, and how often each size occurs."""
    shown = min(len(planes), 3)
    figure = new_figure(3.3)
    panels = figure.subplots(1, shown + 1)
    high = limits_of(planes[0])[1]
    for ax, plane, name in zip(panels, planes, names, strict=False):
        region = (slice(0, plane.shape[0]), slice(0, plane.shape[1]))
        _image(figure, ax, plane, (0, high), field_colors("magma"), "change per step", region, True,
               is_upward)  # fmt: skip
        ax.set_title(name)
    edges = np.linspace(0, high, 61)
    for i, (plane, name) in enumerate(zip(planes, names, strict=True)):
        counts, _ = np.histogram(plane[np.isfinite(plane)], edges)
        panels[-1].stairs(counts, edges, color=COLORS[(i - 1) % len(COLORS)] if i else INK,
                          linewidth=1.4 if i else 3, alpha=1 if i else 0.3, label=name)  # fmt: skip
    panels[-1].set_yscale("log")
    panels[-1].set_title("Number of values")
    panels[-1].set_xlabel("change per step")
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=4)
    _powers_of_ten(panels[-1].yaxis)
    return figure


@in_style
def frames(
    of_archives: Sequence[tuple[np.ndarray, np.ndarray]],
    maps: Sequence[np.ndarray | None],
    names: Sequence[str],
    is_upward: bool,
) -> Any:
    """Bits a value of each frame, and estimates for blocks of the plane."""
    drawn = [(m, n) for m, n in zip(maps, names, strict=True) if m is not None][:3]
    figure = new_figure(3.2)
    panels = figure.subplots(1, 1 + len(drawn), squeeze=False)[0]
    for i, ((edges, bits), name) in enumerate(zip(of_archives, names, strict=True)):
        panels[0].stairs(bits, edges, color=COLORS[i % len(COLORS)], linewidth=1.8, label=name,
                         baseline=None)  # fmt: skip
    panels[0].set_ylim(bottom=0)
    panels[0].set_title("By frame, from the archive")
    panels[0].set_xlabel("row of the slowest axis")
    panels[0].set_ylabel("bits a value")
    panels[0].grid(axis="y")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=4)
    low = min((float(np.nanmin(m)) for m, _ in drawn), default=0.0)
    high = max((float(np.nanmax(m)) for m, _ in drawn), default=1.0)
    low, high = (low, high) if high > low else (low - 0.5, low + 0.5)
    for ax, (blocks, name) in zip(panels[1:], drawn, strict=True):
        whole = (slice(0, blocks.shape[0]), slice(0, blocks.shape[1]))
        _image(figure, ax, blocks, (low, high), field_colors("cividis"),
               "bits a value", whole, True, is_upward)  # fmt: skip
        ax.set_title(f"By block, estimated: {name}")
    return figure


@in_style
def rate_distortion(points: Sequence[tuple[float, float, str, int]]) -> Any:
    """PSNR over bits a value, a point for each archive."""
    figure = new_figure(3.2, WIDTH * 0.6)
    ax = figure.subplots()
    for bits, psnr, name, i in points:
        ax.plot([bits], [psnr], "o", markersize=8, color=COLORS[i % len(COLORS)])
        ax.annotate(name, (bits, psnr), xytext=(8, -3), textcoords="offset points")
    ax.margins(x=0.25, y=0.2)
    ax.grid()
    ax.set_xlabel("bits a value")
    ax.set_ylabel("PSNR (dB)")
    return figure
